"""
Labels that are probably wrong
==============================

People make mistakes. Here a tenth of the labels was swapped on purpose. `suspects` asks models that have not seen a
label what they think of it, and lists the least probable ones first.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import suspects
from accord.datasets import gaussian_classes

X, truth = gaussian_classes(200, n_features=2, separation=5.0, random_state=0)
rng = np.random.default_rng(0)
swapped = set(rng.choice(200, size=20, replace=False).tolist())
kinds = sorted(set(truth))
given = [kinds[(kinds.index(c) + 1) % len(kinds)] if i in swapped else c for i, c in enumerate(truth)]

found = suspects(X, given, random_state=0)
right = [one.example in swapped for one in found]
print(f"{sum(right)} of {len(swapped)} swapped labels are among {len(found)} suspects")

# %%
# Crosses are swapped labels, circles what `suspects` names.

figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
for kind, colour in zip(kinds, ("#0072B2", "#D55E00", "#009E73", "#CC79A7")):
    axes.plot(*X[[c == kind for c in given]][:, :2].T, ".", color=colour, label=f"labeled {kind}")
axes.plot(*X[sorted(swapped)][:, :2].T, "x", color="#111111", label="swapped")
axes.plot(
    *X[[one.example for one in found]][:, :2].T, "o", color="#111111", markerfacecolor="none", markersize=10,
    label="suspect",
)  # fmt: skip
axes.legend(loc="best", fontsize=8)
plt.show()
