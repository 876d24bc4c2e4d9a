"""
Sites that share no data
========================

Three sites measure the same quantity with instruments of their own. They show each other nothing but what they predict
for agreed unlabeled examples. At first they confuse each other; after a few rounds they agree, and the average error
is lower than before. None has seen another's data.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord.federated import LocalSites, Site, agree

rng = np.random.default_rng(0)
state = rng.normal(size=(700, 2))
y = np.sin(state[:, 0]) + state[:, 1]
names = ("north", "east", "south")
seen = {name: state + 0.3 * rng.normal(size=state.shape) for name in names}
sites = {
    name: Site(X[15 * k : 15 * (k + 1)], y[15 * k : 15 * (k + 1)], unlabeled=X[100:300])
    for k, (name, X) in enumerate(seen.items())
}


def errors() -> list[float]:
    found = {name: site.model.predict(seen[name][300:]) for name, site in sites.items()}
    return [float(np.sqrt(np.mean((one - y[300:]) ** 2))) for one in found.values()]


history = [errors()]
agree(LocalSites(sites), lambda_=0.02, tol=1e-4, on_round=lambda _: history.append(errors()))

# %%

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name, row, colour in zip(names, np.array(history).T, ("#0072B2", "#D55E00", "#009E73")):
    axes.plot(row, "o-", color=colour, label=name, markersize=4)
axes.set_xticks(range(len(history)), ["alone", *map(str, range(1, len(history)))])
axes.set(xlabel="round", ylabel="error on new examples")
axes.legend()
plt.show()
