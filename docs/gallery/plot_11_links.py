"""
Labels that travel along links
==============================

Forty notes with links between them, in two groups that mostly link to their own kind. Four notes have a label, and the
words say next to nothing. `LinkedFeatures` passes on what is known from neighbour to neighbour.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import Classifier, LinkedFeatures

rng = np.random.default_rng(3)
group = np.repeat([0, 1], 20)
place = np.column_stack([np.cos(np.arange(40) * 2 * np.pi / 20), np.sin(np.arange(40) * 2 * np.pi / 20)])
place += np.where(group[:, None] == 0, [-1.4, 0], [1.4, 0]) + 0.08 * rng.normal(size=(40, 2))
chance = np.where(group[:, None] == group, 0.22, 0.015)
links = [(i, j) for i in range(40) for j in range(i) if rng.random() < chance[i, j]]
notes = [{"length": float(rng.normal()), "hint": float(g + 3 * rng.normal())} for g in group]
kinds = np.array(["food", "travel"])[group].tolist()
few = [kinds[i] if i in (0, 5, 20, 25) else None for i in range(40)]

figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
with_links = Classifier(view=LinkedFeatures(links, table=notes), random_state=0).fit(list(range(40)), few)
without = Classifier(random_state=0).fit(notes, few)
for axes, name, found in (
    (panels[0], "words alone", without.predict(notes)),
    (panels[1], "words and links", with_links.predict(list(range(40)))),
):
    for i, j in links:
        axes.plot(*place[[i, j]].T, color="#bbbbbb", linewidth=0.7, zorder=1)
    colours = ["#0072B2" if kind == "food" else "#D55E00" for kind in found]
    sizes = [160 if label else 45 for label in few]
    axes.scatter(*place.T, c=colours, s=sizes, zorder=2)
    axes.set_title(f"{name}: {100 * np.mean(np.asarray(found) == kinds):.0f} % right")
    axes.set_axis_off()
plt.show()
