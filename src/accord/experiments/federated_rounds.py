"""How many rounds sites need until they have the centralised optimum, having exchanged predictions only.

[thesis 4.3, Table 4.1: one site after another, the error falls geometrically; no figures]
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from accord.evaluation import Metric, Results, Task
from accord.evaluation.panels import Line, plot_lines
from accord.experiments.base import DataFolder, Experiment, Figures, grid, mean_of
from accord.experiments.regression_data import LAMBDA, RULES, Examples, load_sets
from accord.federated import LocalSites, Site, agree
from accord.learners.co_regression import CoRLSR
from accord.learners.regression import RLSR
from accord.views.select import Select

SETS = ("housing", "wine", "cpu_act")
SITES = (2, 3, 4, 5)
MODES = ("semiparametric", "exact")
METHODS = ("accelerated", "jacobi", "gauss-seidel")
N_LABELED, N_SHARED = 40, 200
MAX_ROUNDS = 60
GOAL = 1e-6
TINY = 1e-16  # a logarithmic axis has no zero
TOLERANCE = 1e-10  # of answers against what was supposed; where an agreement ends
RAW: dict[str, Any] = {**RULES, "standardize": False}
ROUNDS = Metric("rounds", f"rounds to {GOAL:g}", None, False)


class Witness(LocalSites):
    """Sites in this process, and how far from the optimum their predictions are whenever all have answered.

    Parameters
    ----------
    sites : dict of Site
    optimum : dict of arrays (m,), the predictions of each site at the optimum
    """

    def __init__(self, sites: Mapping[str, Site], optimum: Mapping[str, np.ndarray]) -> None:
        super().__init__(sites)
        self.optimum = optimum
        self.last: dict[str, np.ndarray] = {}
        self.errors: list[float] = []

    def ask(self, questions: Mapping[str, np.ndarray], lambda_: float) -> dict[str, np.ndarray | Exception]:
        found = super().ask(questions, lambda_)
        for name, answer in found.items():
            if isinstance(answer, Exception):
                raise answer
            self.last[name] = answer
        return found

    def close_round(self, _: Any) -> None:
        """Note the largest relative error of any site."""
        distances = [
            np.linalg.norm(self.last[name][:, 0] - best) / np.linalg.norm(best) for name, best in self.optimum.items()
        ]
        self.errors.append(float(max(distances)))


class FederatedRounds(Experiment):
    """Distance to the centralised optimum after every round, of three ways to ask sites."""

    name = "federated-rounds"
    title = "Federated co-regression: rounds to the centralised optimum"
    description = (
        f"V sites have random parts of the attributes and {N_LABELED} labeled examples each, no two the same. They "
        f"agree on {N_SHARED} unlabeled ones (columns standardised beforehand). Width and eta by the papers' rules, "
        f"lambda = {LAMBDA:g}. After every round the predictions of all sites are compared with those of the "
        f"centralised solution; rounds are counted until the largest relative error is below {GOAL:g} ({MAX_ROUNDS} at "
        "most: then it was not reached). gauss-seidel is the thesis' algorithm: sites are asked one after another, so "
        "a round takes V messages in turn; in a round of the other two all are asked at once. jacobi takes answers as "
        "they are; accelerated combines all former answers."
    )
    data_sets = ("regression",)
    methods = METHODS
    repetitions = 5
    settings = grid(data=SETS, mode=MODES, n_sites=SITES)
    quick_settings = grid(data=SETS[:1], mode=MODES, n_sites=SITES)
    metrics = (ROUNDS,)
    x = "n_sites"

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Examples]:
        return load_sets(data, self.values("data", quick))

    def run_task(self, task: Task, loaded: dict[str, Examples]) -> Mapping[str, float]:
        s = task.setting
        witness = make_sites(loaded[s["data"]], s["n_sites"], s["mode"], [task.root_seed, task.repetition])
        found = agree(
            witness, LAMBDA, method=task.method, tol=TOLERANCE, max_rounds=MAX_ROUNDS, on_round=witness.close_round
        )
        errors = dict(enumerate(witness.errors, 1))
        reached = next((k for k, error in errors.items() if error < GOAL), MAX_ROUNDS + 1)
        by_round = {f"error_{k}": max(error, TINY) for k, error in errors.items()}
        return {ROUNDS.name: reached, "rounds_run": len(found.rounds), **by_round}

    def figures(self, results: Results) -> Figures:
        runs: dict[tuple[str, str], dict[tuple[str, int], list[float]]] = {}
        for row in results.rows:
            if row["metric"].startswith("error_"):
                group = runs.setdefault((f"{row['mode']}, V = {row['n_sites']}", row["method"]), {})
                group.setdefault((row["data"], row["repetition"]), []).append(row["value"])
        panels: dict[str, dict[str, Line]] = {}
        for (title, method), found in runs.items():
            length = max(map(len, found.values()))
            # a run that has ended stays where it is
            table = [[*errors, *errors[-1:] * (length - len(errors))] for errors in found.values()]
            middle = np.exp(np.mean(np.log(table), axis=0))
            panels.setdefault(title, {})[method] = Line(range(1, length + 1), middle.tolist())
        label = "relative error (geometric mean)"
        return {ROUNDS.name: lambda dark: plot_lines(panels, "round", label, columns=min(4, len(panels)), dark=dark)}

    def notes(self, results: Results) -> list[str]:
        sentences = []
        for mode, n_sites in product(MODES, sorted({s["n_sites"] for s in results.settings})):
            told = []
            here = results.where(metric=ROUNDS.name, mode=mode, n_sites=n_sites)
            for method in METHODS:
                values = [row["value"] for row in here.where(method=method).rows]
                missed = sum(value > MAX_ROUNDS for value in values)
                mean = mean_of(here, method, ROUNDS.name)
                most = "not reached" if missed == len(values) else f"{mean:.1f} (most {max(values):.0f})"
                told.append(f"{method} {most}" + (f", {missed} of {len(values)} not reached" if missed else ""))
            sentences.append(f"{mode}, {n_sites} sites, rounds to {GOAL:g}: {'; '.join(told)}.")
        return [*sentences, "A round of gauss-seidel takes as many messages in turn as there are sites."]


def make_sites(examples: Examples, n_sites: int, mode: str, seed: int | list[int]) -> Witness:
    """Sites with a part of the attributes and labeled examples of their own, and the solution for all data at once."""
    rng = np.random.default_rng(seed)
    X = (examples.X - examples.X.mean(axis=0)) / np.maximum(examples.X.std(axis=0), 1e-12)
    y = (examples.y - examples.y.mean()) / examples.y.std()
    n_attributes = int(examples.attribute.max()) + 1
    site_of = (rng.permutation(n_attributes) % n_sites)[examples.attribute]
    rows = rng.permutation(len(examples))[: N_SHARED + n_sites * N_LABELED]
    shared, own = rows[:N_SHARED], np.split(rows[N_SHARED:], n_sites)
    names = [f"site{k}" for k in range(n_sites)]
    columns = [np.flatnonzero(site_of == k) for k in range(n_sites)]
    sites = {
        name: Site(X[np.ix_(mine, c)], y[mine], X[np.ix_(shared, c)], RLSR(**RAW), mode=mode)
        for name, mine, c in zip(names, own, columns)
    }
    targets = {name: np.where(np.isin(rows, mine), y[rows], np.nan) for name, mine in zip(names, own)}
    views = {name: Select(c) for name, c in zip(names, columns)}
    central = CoRLSR(views, mode=mode, disagreement_weight=LAMBDA, **RAW).fit(X[rows], targets)
    return Witness(sites, central.predict_views(X[shared]))
