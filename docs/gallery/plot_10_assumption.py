"""
Which assumption fits?
======================

Unlabeled data help if something is true of them: classes are clusters, or curves, or nothing of the kind. You need not
know. `Classifier` lets several ways to learn race on held-out labels, and keeps the table of what it saw.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import Classifier
from accord.datasets import gaussian_clusters, two_moons

tasks = {
    "two moons": two_moons(200, random_state=0),
    "classes are clusters": gaussian_clusters(200, aligned=1.0, random_state=0),
    "classes cut through clusters": gaussian_clusters(200, aligned=0.0, random_state=0),
}
figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axes, (name, (X, truth)) in zip(panels, tasks.items()):
    few = [c if i < 20 else None for i, c in enumerate(truth)]
    model = Classifier(random_state=0).fit(X, few)
    found = np.asarray(model.predict(X))
    for kind, colour in zip(sorted(set(truth)), ("#0072B2", "#D55E00", "#009E73", "#CC79A7")):
        axes.plot(*X[found == kind][:, :2].T, ".", color=colour, markersize=5)
    axes.plot(*X[:20, :2].T, "o", color="#111111", markerfacecolor="none", markersize=9)
    axes.set_title(f"{name}: {100 * model.score(X, truth):.0f} % right", fontsize=10)
    print(name, "-", model.report_[0])
plt.show()
