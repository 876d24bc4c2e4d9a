"""Co-SVMs whose views disagree about nearly everything: every fit ends at an optimum, or says how far from it.

The optimum of each view, for what its peer teaches, is found with all constraints written out.
"""

import itertools
import warnings

import numpy as np
import piqp
import pytest
import scipy.sparse as sp
from co_svm_helpers import fit_or_be_warned
from sklearn.exceptions import ConvergenceWarning

from accord import ArrayFeatures, CoSVM, MultiClass, Select
from accord.structures.chains.consensus import ChainConsensusProblem

TOL, C, K = 0.01, 1.0, 3
COLUMNS = [0, 1], [2, 3]
RUNS = list(itertools.product(range(3), (0.3, 1.0, 3.0), (1, 2)))  # seed, C_u, norm
MACHINES = {"default": {}, "papers": {"freeze": False}, "printed": {"against": "prediction"}}


def quarrel(seed):
    """Two labeled points of each class, and 18 others, of which the second view sees another class than the first."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([np.tile(np.arange(K), 2), rng.integers(K, size=18)])
    second = np.where(np.arange(24) < 2 * K, first, (first + 1) % K)
    centres = rng.normal(size=(2, K, 2))
    X = np.hstack([centres[0][first], centres[1][second]]) + 0.3 * rng.normal(size=(24, 4))
    return X, [int(c) if i < 2 * K else None for i, c in enumerate(first)]


def view_objective(X, targets, weight, norm, w=None):
    """Value at ``w`` (K, 2), or the least, of ``|w|^2 / 2 + (C / norm) sum weight xi^norm`` with 0/1 losses."""
    n = len(X)
    if w is not None:
        scores = X @ w.T
        others = np.where(np.arange(K) == targets[:, None], -np.inf, scores).max(axis=1)
        xi = np.maximum(0.0, 1.0 - scores[np.arange(n), targets] + others)
        return 0.5 * np.sum(w**2) + C / norm * weight @ xi**norm
    rows = []
    for i, c in itertools.product(range(n), range(K)):
        if c != targets[i]:
            d = np.zeros((K, 2))
            d[targets[i]], d[c] = -X[i], X[i]
            rows.append(np.concatenate([d.ravel(), -np.eye(n)[i]]))
    share = np.concatenate([np.zeros(2 * K), C * weight])
    quadratic = np.concatenate([np.ones(2 * K), np.zeros(n)]) + share * (norm == 2)
    lower = np.concatenate([np.full(2 * K, -np.inf), np.zeros(n)])
    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-8
    P, G, h = sp.diags(quadratic, format="csc"), sp.csc_matrix(np.array(rows)), -np.ones(len(rows))
    solver.setup(P, share * (norm == 1), None, None, G, None, h, lower)
    assert solver.solve() == piqp.PIQP_SOLVED
    return view_objective(X, targets, weight, norm, np.asarray(solver.result.x)[: 2 * K].reshape(K, 2))


@pytest.mark.parametrize(
    ("seed", "C_u", "norm", "machine"),
    [
        pytest.param(*run, machine, marks=[] if machine == "default" or i % 6 == 3 else [pytest.mark.long])
        for i, run in enumerate(RUNS)
        for machine in MACHINES
    ],
)
def test_every_fit_ends_at_an_optimum_or_says_how_far_from_it(seed, C_u, norm, machine, monkeypatch):
    taught = []
    predictions = ChainConsensusProblem.predictions
    monkeypatch.setattr(
        ChainConsensusProblem, "predictions", lambda *args: taught.append(predictions(*args)) or taught[-1]
    )
    X, y = quarrel(seed)
    views = [Select(columns, ArrayFeatures(bias=False)) for columns in COLUMNS]
    model = CoSVM(
        MultiClass(), views, C=C, unlabeled_weight=C_u, norm=norm, ramp=3, max_iter=30, tol=TOL, random_state=0,
        **MACHINES[machine],
    )  # fmt: skip
    fit_or_be_warned(model, X, y)
    assert len(taught) == 1
    hidden = np.array([c is None for c in y])
    for v, columns in enumerate(COLUMNS):
        targets, margin = taught[0][0][1 - v], taught[0][1][1 - v]
        weight = np.where(hidden, C_u * np.minimum(margin, 1.0), 1.0)
        w = model.view_weights_[v].unary[columns].T
        value, least = (view_objective(X[:, columns], targets, weight, norm, at) for at in (w, None))
        assert (value - least) / value <= model.view_gaps_[v] + 1e-6
        assert machine == "papers" or model.view_gaps_[v] <= TOL or model.n_frozen_ == 60


def test_some_views_never_come_to_rest():
    """Else the suite would show nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        views = [Select(columns, ArrayFeatures(bias=False)) for columns in COLUMNS]
        model = CoSVM(MultiClass(), views, unlabeled_weight=3.0, ramp=3, max_iter=30, freeze=False, random_state=0)
        model.fit(*quarrel(0))
    assert not model.converged_
    assert min(model.view_gaps_) > 0.1
