"""
Mistakes that are not far off
=============================

Classes in a taxonomy: to take a dog for a wolf is not as bad as to take it for a car. With the tree loss, a machine
makes more of the near mistakes and fewer of the far ones. Sisters share what is learned about their parents.
"""

import matplotlib.pyplot as plt

from accord import MultiClass, StructuredSVM, Taxonomy, plots
from accord.datasets import taxonomy_documents

X, y, tree = taxonomy_documents(1200, depth=2, branching=3, share_own=0.35, random_state=0)
few, test = slice(0, 54), slice(400, 1200)  # six documents of each class
models = {
    "flat classes": StructuredSVM(MultiClass(), random_state=0),
    "taxonomy, tree loss": StructuredSVM(Taxonomy(tree, loss="tree"), random_state=0),
}
order = sorted(set(y))
short = [name.removeprefix("root/") for name in order]
figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
for axes, (name, model) in zip(panels, models.items()):
    found = list(model.fit(X[few], y[few]).predict(X[test]))
    right = sum(a == b for a, b in zip(found, y[test])) / len(found)
    far = sum(a.rsplit("/", 1)[0] != b.rsplit("/", 1)[0] for a, b in zip(found, y[test])) / len(found)
    plots.confusion(y[test], found, labels=order, ax=axes)
    axes.set_xticks(range(9), short)
    axes.set_yticks(range(9), short)
    for edge in (2.5, 5.5):
        axes.axhline(edge, color="#111111", linewidth=1)
        axes.axvline(edge, color="#111111", linewidth=1)
    axes.set_title(f"{name}: {100 * right:.0f} % right, {100 * far:.0f} % in the wrong branch", fontsize=10)
plt.show()
