"""
A border in the gap
===================

Two labeled points and two long clusters. Labels alone put the border half way between the two points, across both
clusters. A transductive machine looks for a border that keeps away from *all* points, and finds the gap.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import GradientSVM, MultiClass, TransductiveSVM

rng = np.random.default_rng(0)
low, high = (np.column_stack([rng.uniform(-3, 3, 60), rng.normal(c, 0.15, 60)]) for c in (-1, 1))
X = np.concatenate([[[-0.5, -1.0], [0.5, 1.0]], low, high])
truth = ["low", "high"] + ["low"] * 60 + ["high"] * 60
few = truth[:2] + [None] * 120

models = {
    "labels alone": GradientSVM(MultiClass()).fit(X, few),
    "with 120 unlabeled points": TransductiveSVM(MultiClass(), unlabeled_weight=0.5).fit(X, few),
}

# %%
# Shades are what each machine predicts everywhere; the large points have labels.

grid = np.stack(np.meshgrid(np.linspace(-3.2, 3.2, 160), np.linspace(-2, 2, 120)), axis=-1)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for axes, (name, model) in zip(panels, models.items()):
    side = (model.predict(grid.reshape(-1, 2)) == "high").reshape(grid.shape[:2])
    axes.contourf(grid[..., 0], grid[..., 1], side, levels=[-0.5, 0.5, 1.5], colors=["#ffd9b8", "#c5e1f5"])
    axes.plot(*X[2:].T, ".", color="#555555", markersize=4)
    axes.plot(*X[0], "o", color="#D55E00", markersize=11)
    axes.plot(*X[1], "o", color="#0072B2", markersize=11)
    axes.set_title(f"{name}: {100 * model.score(X, truth):.0f} % right")
plt.show()
