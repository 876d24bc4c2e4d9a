"""A problem for sites that share no data, and sites whose answers can be changed or lost."""

import numpy as np

from accord import RLSR, CoRLSR, Select
from accord.federated import LocalSites, Site

EVERYONE = ["a", "b", "c", "d", "e"]


class Problem:
    """Five sites at most, each with two columns, labels of its own, and the same unlabeled examples."""

    def __init__(self, mode="semiparametric", n_views=2, n=12, m=30, seed=0, differ=True, n_outputs=1, lambda_=0.1):
        rng = np.random.default_rng(seed)
        self.mode, self.lambda_, self.names = mode, lambda_, EVERYONE[:n_views]
        self.X = rng.normal(size=(2 * n + m, 2 * n_views))
        y = np.sin(self.X @ rng.normal(size=(2 * n_views, n_outputs))) + 0.1 * rng.normal(size=(2 * n + m, n_outputs))
        self.truth = y[2 * n :, 0].copy()  # of the agreed examples
        y[2 * n :] = np.nan
        self.y = {}
        for v, name in enumerate(self.names):
            own = y.copy()
            own[rng.choice(2 * n, n + v, replace=False) if differ else np.arange(n, 2 * n)] = np.nan
            self.y[name] = own if n_outputs > 1 else own[:, 0]
        used = ~np.all([np.isnan(own).reshape(len(y), -1)[:, 0] for own in self.y.values()], axis=0)
        keep = used | (np.arange(len(y)) >= 2 * n)
        self.X, self.y = self.X[keep], {name: own[keep] for name, own in self.y.items()}
        self.hidden = np.flatnonzero(~used[keep])

    def columns(self, v):
        return [2 * v, 2 * v + 1]

    def site(self, v, **settings):
        own = self.X[:, self.columns(v)]
        regressor = RLSR(**{"gamma": None, "eta": None, "standardize": False, **settings})
        return Site(own, self.y[self.names[v]], own[self.hidden], regressor, self.mode)

    def sites(self):
        return {name: self.site(v) for v, name in enumerate(self.names)}

    def central(self):
        """The same problem where all data are in one place."""
        views = {name: Select(self.columns(v)) for v, name in enumerate(self.names)}
        model = CoRLSR(views, mode=self.mode, disagreement_weight=self.lambda_, gamma=None, eta=None, standardize=False)
        return model.fit(self.X, self.y)

    def optimum(self):
        model = self.central()
        return {name: p.reshape(len(self.hidden), -1) for name, p in model.predict_views(self.X[self.hidden]).items()}

    def lone(self, v):
        """What a site predicts without the others."""
        return self.site(v).predict(np.empty((0, *self.site(v).shape)), 0.0)


class Watched(LocalSites):
    """Sites whose answers can be changed or lost; remembers all of them by round."""

    def __init__(self, sites, change=None):
        super().__init__(sites)
        self.change = change or (lambda name, number, answer: answer)
        self.asked = []

    def ask(self, questions, lambda_):
        answers = super().ask(questions, lambda_)
        self.asked.append(sorted(questions))
        changed = {name: self.change(name, len(self.asked), answer) for name, answer in answers.items()}
        return {name: answer for name, answer in changed.items() if answer is not None}


def distance(found, optimum):
    """Largest relative distance of a site from the optimum."""
    return max(np.linalg.norm(found[name] - own) / np.linalg.norm(own) for name, own in optimum.items())


def silent(who, *numbers):
    """Lose the answers of a site in some rounds."""
    return lambda name, number, answer: None if name == who and number in numbers else answer
