"""
Two instruments, one truth
==========================

Twenty-five places have a known value; two noisy instruments have measured three hundred more. `CoRLSR` learns one curve
from each instrument, and asks both to agree where nobody knows the value. Held-out values say whether to believe it.
Here they say no: the learner goes back to the known values, and both curves are the same.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import RLSR, CoRLSR, Select

rng = np.random.default_rng(0)
place = rng.uniform(-3, 3, size=725)
X = place[:, None] + 0.3 * rng.normal(size=(725, 2))
y = np.sin(1.5 * place) + 0.3 * place
known, unlabeled, test = slice(0, 25), slice(0, 325), slice(325, 725)
few = np.where(np.arange(325) < 25, y[unlabeled], np.nan)

alone = RLSR().fit(X[known], y[known])
both = CoRLSR({"one": Select([0]), "two": Select([1])}, random_state=0).fit(X[unlabeled], few)

# %%

grid = np.linspace(-3, 3, 100)
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.plot(grid, np.sin(1.5 * grid) + 0.3 * grid, ":", color="#444444", label="the truth")
for name, model, colour in (("25 values", alone, "#D55E00"), ("and 300 readings", both, "#0072B2")):
    error = np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))
    axes.plot(grid, model.predict(np.stack([grid, grid], axis=1)), color=colour, label=f"{name}, off by {error:.2f}")
axes.plot(place[known], y[known], "o", color="#111111", markersize=4, label="known values")
axes.legend()
axes.set(xlabel="place", ylabel="value")
plt.show()
