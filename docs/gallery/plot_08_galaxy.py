"""
The galaxy
==========

Sequences of points that come from two spiral arms; neighbours in a sequence mostly come from the same arm. Three
sequences have labels. The graph kernel follows the arms, and the chain of states mends single mistakes.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import GraphFeatures, KernelFeatures, Sequence, StructuredSVM
from accord.datasets import galaxy

X, Y = galaxy(60, random_state=0)
few = Y[:3] + [None] * 57
width = 1 / (2 * 0.35**2)

figure, panels = plt.subplots(1, 2, figsize=(9, 4.3), sharey=True, layout="constrained")
views = {"RBF kernel": KernelFeatures(gamma=width), "graph kernel": GraphFeatures(gamma=width)}
for axes, (name, view) in zip(panels, views.items()):
    model = StructuredSVM(Sequence(), view=view, tol=0.05, random_state=0).fit(X, few)
    found, truth = np.concatenate(model.predict(X)), np.concatenate(Y)
    points = np.concatenate(X)
    for state, colour in (("s0", "#0072B2"), ("s1", "#D55E00")):
        axes.plot(*points[found == state].T, ".", color=colour, markersize=4)
    axes.plot(*points[found != truth].T, "x", color="#111111", markersize=5, label="wrong")
    axes.set_title(f"{name}: {100 * np.mean(found == truth):.0f} % right")
    axes.set_aspect("equal")
panels[0].legend(loc="lower left")
plt.show()
