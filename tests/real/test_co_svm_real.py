"""Co-SVMs on pages and the links to them: every fit ends at an optimum of each view, or says how far from it.

The optimum of each view, for what its peer teaches, is LIBLINEAR's. Needs a local data folder; set ACCORD_DATA.
"""

import itertools

import numpy as np
import pytest
from co_svm_helpers import fit_or_be_warned
from sklearn.svm import LinearSVC

from accord import CoSVM, MultiClass
from accord.datasets import available
from accord.experiments import consensus_classes as classes
from accord.solvers.co_svm import CoMachine

TOL, C = 0.01, 1.0
RUNS = list(itertools.product(range(2), (0.1, 1.0), (False, True), (1, 2)))  # draw, C_u, balance, norm
MACHINES = {"default": {}, "papers": {"freeze": False}, "printed": {"against": "prediction"}}


@pytest.fixture(scope="module")
def pool(data_dir):
    if "webkb_course" not in available(data_dir):
        pytest.skip("the data folder has no webkb_course")
    return classes.load_pool("webkb_course", data_dir)


def view_objective(X, signs, weight, norm, direction=None):
    """Value at ``direction`` (second class minus first), or the least, of an SVM of two classes with 0/1 loss."""
    if direction is None:
        share = C * weight * (2 / norm)  # LIBLINEAR minimises |d|^2 / 2 + sum share xi^norm, twice our function
        loss = "hinge" if norm == 1 else "squared_hinge"
        machine = LinearSVC(loss=loss, fit_intercept=False, dual=True, tol=1e-6, max_iter=100_000, random_state=0)
        direction = machine.fit(X, signs, sample_weight=share).coef_[0]
    slack = np.maximum(0.0, 1.0 - signs * (X @ direction))
    return direction @ direction / 4 + C / norm * weight @ slack**norm


@pytest.mark.parametrize(
    ("draw", "C_u", "balance", "norm", "machine"),
    [
        pytest.param(*run, machine, marks=[] if i % 5 == k else [pytest.mark.long])
        for i, run in enumerate(RUNS)
        for k, machine in enumerate(MACHINES)
    ],
)
def test_every_fit_ends_at_an_optimum_or_says_how_far_from_it(pool, draw, C_u, balance, norm, machine, monkeypatch):
    taught = []
    what_views_teach = CoMachine._taught
    monkeypatch.setattr(CoMachine, "_taught", lambda machine: taught.append(what_views_teach(machine)) or taught[-1])
    parts = classes.draw_examples(pool.Y, classes.SETS["webkb_course"], draw)
    X, Y = parts.training(pool.X, pool.Y)
    model = CoSVM(
        MultiClass(), pool.views(), C=C, norm=norm, unlabeled_weight=C_u, balance=balance, tol=TOL, random_state=draw,
        **MACHINES[machine],
    )  # fmt: skip
    fit_or_be_warned(model, X, Y)
    assert len(taught) == 1
    hidden = np.array([y is None for y in Y])
    halves = slice(0, pool.n_first), slice(pool.n_first, None)
    for v, columns in enumerate(halves):
        targets, margin = taught[0][0][1 - v], taught[0][1][1 - v]
        weight = np.where(hidden, C_u * np.minimum(margin, 1.0), 1.0)
        w = model.view_weights_[v].unary[columns]
        signs, page = 2.0 * targets - 1.0, X[:, columns]
        value, least = (view_objective(page, signs, weight, norm, d) for d in (w[:, 1] - w[:, 0], None))
        assert (value - least) / value <= model.view_gaps_[v] + 1e-6
        assert machine == "papers" or model.view_gaps_[v] <= TOL
