"""
A graph kernel on two moons
===========================

Six labeled points on two curves. A usual kernel measures distances through the air, and cuts the curves. A graph kernel
walks from neighbour to neighbour, so it follows them.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import GraphFeatures, KernelFeatures, MultiClass, StructuredSVM
from accord.datasets import two_moons

X, truth = two_moons(300, random_state=0)
first = [[i for i, c in enumerate(truth) if c == kind][:3] for kind in ("c0", "c1")]
known = sorted(first[0] + first[1])
few = [c if i in known else None for i, c in enumerate(truth)]

views = {"distances (RBF kernel)": KernelFeatures(gamma=2.0), "paths (graph kernel)": GraphFeatures(gamma=2.0)}
grid = np.stack(np.meshgrid(np.linspace(-1.4, 2.4, 120), np.linspace(-0.9, 1.4, 90)), axis=-1)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for axes, (name, view) in zip(panels, views.items()):
    model = StructuredSVM(MultiClass(), view=view, C=10.0, random_state=0).fit(X, few)
    side = (model.predict(grid.reshape(-1, 2)) == "c1").reshape(grid.shape[:2])
    axes.contourf(grid[..., 0], grid[..., 1], side, levels=[-0.5, 0.5, 1.5], colors=["#c5e1f5", "#ffd9b8"])
    axes.plot(*X.T, ".", color="#555555", markersize=4)
    for indices, colour in zip(first, ("#0072B2", "#D55E00")):
        axes.plot(*X[indices].T, "o", color=colour, markersize=10)
    axes.set_title(f"{name}: {100 * model.score(X, truth):.0f} % right")
plt.show()
