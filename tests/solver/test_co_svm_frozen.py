"""The co-support vector machine's last passes: targets stay, and every view comes to the optimum of what is stated.

The duality gaps are computed once more with all outputs listed.
"""

import itertools
import warnings

import numpy as np
import pytest
from co_svm_cases import EVERY, make
from plain_co_svm import Visit
from sklearn.exceptions import ConvergenceWarning

from accord import CoSVM, MultiClass, RandomSplit, Sequence, TokenFeatures
from accord.datasets import embedded_ner
from accord.solvers.co_svm import CoMachine, Schedule

C, C_U, TOL = 0.7, 0.5, 3e-3
MACHINES = [("margin", 1), ("slack", 1), ("margin", 2), ("slack", 2)]


def machine_of(case, given, rescaling, norm, **changes):
    problem = case.problem(given, rescaling=rescaling, norm=norm)
    labeled = [
        problem.structure.problem(*problem.labeled_part(v), n_jobs=1, rescaling=rescaling, norm=norm)
        for v in range(case.n_views)
    ]
    passes = {"max_iter": 300, "max_repeats": 20, "ramp": 2, "balance": False}
    schedule = Schedule(**{**passes, "own": False, "freeze": True, "certify": True, **changes})
    return CoMachine(problem, labeled, C, C_U, TOL, schedule, np.random.default_rng(0))


def slack(phi, loss, target, w, rescaling, norm):
    """The largest violation of any output, all of them listed."""
    delta = loss[target] ** (1.0 / norm)
    score = phi @ w
    factor = delta if rescaling == "slack" else np.ones_like(delta)
    return max(0.0, float(np.max(delta - factor * (score[target] - score))))


def listed_objectives(case, machine, given, before, rescaling, norm):
    """Primal and dual objective of every view, by definition; ``before``: weights that chose the frozen targets."""
    examples = case.data.examples
    weights = [case.data.listed(machine.weights.view(v)) * case.mask(v) for v in range(case.n_views)]
    listed = [case.unlabeled(i, given[i]) for i in range(len(examples))]
    hidden = [i for i, y in enumerate(given) if None in y]
    primal, weight_of = [0.5 * float(w @ w) for w in weights], {}
    for i, e in enumerate(listed):
        if i in hidden:
            teacher = Visit([w.copy() for w in before], e, C, C_U, TOL, 1, rescaling, norm)
            told = [teacher.predict(v) for v in range(case.n_views)]
            share = np.mean([g is not None for g in given[i]])
            blocks = [(v, *told[u]) for v, u in machine.problem.pairs]
            terms = [(v, target, share + (1 - share) * C_U * min(margin, 1.0)) for v, target, margin in blocks]
        else:
            terms = [(v, examples[i].true, 1.0) for v in range(case.n_views)]
        for p, (v, target, weight) in enumerate(terms):
            xi = slack(e.phi[v], e.loss, target, weights[v], rescaling, norm)
            primal[v] += C * weight * xi**norm / norm
            weight_of[i, p] = weight
    dual = [-0.5 * float(w @ w) for w in weights]
    blocks = machine.blocks
    for v in range(case.n_views):
        for working_set in machine.solvers[v].sets:
            dual[v] += sum(c.alpha * c.offset for c in working_set)
            if norm == 2:
                dual[v] -= sum(c.alpha for c in working_set) ** 2 / (2 * C)
    for i, p in itertools.product(hidden, range(len(machine.problem.pairs))):
        v, kept = blocks.learner[p], slice(0, blocks.size[i, p])
        dual[v] += float(blocks.alpha[i, p, kept] @ blocks.offset[i, p, kept])
        if norm == 2 and weight_of[i, p] > 1e-12:
            dual[v] -= blocks.alpha[i, p, kept].sum() ** 2 / (2 * C * weight_of[i, p])
    return primal, dual


@pytest.mark.parametrize(
    ("name", "n_views", "rescaling", "norm"),
    [
        pytest.param(*case, *machine, marks=[] if (i + j) % 8 == 0 else [pytest.mark.long])
        for i, case in enumerate(EVERY)
        for j, machine in enumerate(MACHINES)
    ],
)
def test_gaps_are_those_of_all_outputs_listed_and_small(name, n_views, rescaling, norm):
    case = make(name, n_views)
    hidden = case.hidden(1 if case.data.structure.single_row else 0.6, seed=1)
    n = len(hidden)
    given = [y if i >= n // 2 else list(e.outputs[e.true]) for i, (y, e) in enumerate(zip(hidden, case.data.examples))]
    machine = machine_of(case, given, rescaling, norm, max_iter=150 if "F1" in name else 50)
    machine.move(lambda info: None)
    before = [case.data.listed(machine.weights.view(v)) * case.mask(v) for v in range(n_views)]
    machine.freeze(lambda info: None)
    primal, dual = listed_objectives(case, machine, given, before, rescaling, norm)
    gaps = [(p - d) / p for p, d in zip(primal, dual)]
    np.testing.assert_allclose(machine.result.gaps, gaps, atol=1e-7)
    assert max(gaps) <= TOL
    assert min(gaps) >= -1e-9, "weak duality"


def co_svm(**settings):
    split = RandomSplit(TokenFeatures(window=1))
    return CoSVM(Sequence(), split, unlabeled_weight=0.5, ramp=2, random_state=0, **settings)


X, Y = embedded_ner(35, random_state=1)
SOME = Y[:8] + [None] * 27


def test_a_fit_that_goes_in_circles_says_so_with_the_gaps():
    with pytest.warns(ConvergenceWarning, match=r"3 passes.*frozen.*duality gaps of .* %, .* %"):
        model = co_svm(max_iter=3, tol=1e-4).fit(X, SOME)
    assert not model.converged_
    assert model.n_iter_ == 3
    assert len(model.view_gaps_) == 2
    assert [entry.get("gap") for entry in model.history_[:3]] == [None] * 3
    assert len(model.history_) == 3 + model.n_frozen_


def test_frozen_passes_can_be_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        papers, frozen = (co_svm(C=0.05, max_iter=20, freeze=f).fit(X, SOME) for f in (False, True))
    assert papers.n_frozen_ == 0
    assert max(papers.view_gaps_) > 2 * max(frozen.view_gaps_)
    assert max(frozen.view_gaps_) <= 0.01 or frozen.n_frozen_ == 40
    assert max(frozen.view_gaps_) < 0.5 * frozen.history_[papers.n_iter_]["gap"]
    assert frozen.history_[: papers.n_iter_] == papers.history_


def test_what_converges_has_small_gaps():
    points = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, 0.5], [-1.0, -0.4]])
    model = CoSVM(MultiClass(), RandomSplit(), unlabeled_weight=0.5, ramp=0, random_state=0)
    model.fit(points, ["a", "b", None, None])
    assert model.converged_
    assert max(model.view_gaps_) <= 0.01
