"""
Views that agree and disagree
=============================

A web page has a text, and other pages link to it with words of their own. Two views of one thing, and both have to say
the same. Co-learning asks exactly that of unlabeled examples. Where the views disagree, at least one is wrong, so their
disagreement is an estimate of the error that needs no labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import ArrayFeatures, CoPerceptron, MultiClass, Select

rng = np.random.default_rng(1)
truth = rng.integers(2, size=300)
page = 2.2 * truth[:, None] + rng.normal(size=(300, 3))
links = 2.2 * truth[:, None] + rng.normal(size=(300, 3))
X = np.hstack([page, links])
names = np.array(["other", "course"])[truth]
few = [str(name) if i < 8 else None for i, name in enumerate(names)]
views = {"page": Select(slice(0, 3), ArrayFeatures()), "links": Select(slice(3, 6), ArrayFeatures())}

# %%
# Every point is a page without a label. Circles are pages about which the two views disagree.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axes, weight in zip(panels, (0.0, 0.1)):
    model = CoPerceptron(MultiClass(), views=views, unlabeled_weight=weight, balance=weight > 0, random_state=0)
    model.fit(X, few)
    one, two = (np.asarray(found) for found in model.predict_views(X))
    apart = one != two
    for kind, colour in (("other", "#0072B2"), ("course", "#D55E00")):
        axes.plot(page[names == kind].sum(axis=1), links[names == kind].sum(axis=1), ".", color=colour, label=kind)
    axes.plot(page[apart].sum(axis=1), links[apart].sum(axis=1), "o", color="#111111", markerfacecolor="none")
    axes.set_xlabel("what the page says")
    title = "views of their own" if weight == 0 else "views that have to agree"
    axes.set_title(f"{title}: {100 * np.mean(apart):.0f} % apart, {100 * model.score(X, names):.0f} % right")
panels[0].set_ylabel("what its links say")
panels[0].legend()
plt.show()
