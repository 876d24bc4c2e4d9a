"""Machines that look for violated constraints in other ways, against a list of all outputs."""

import itertools

import numpy as np
import pytest

from accord import ArrayFeatures, Sequence, StructuredSVM
from accord.experiments.constraint_search import ByScore, FixedOrder, WithoutRoot
from accord.solvers import cutting_plane

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(n, 3)) for n in (2, 3, 4, 1, 3)]
Y = [["ab"[int(t)] for t in np.sum(x, axis=1) + RNG.normal(size=len(x)) > 0] for x in X]
VIEW = ArrayFeatures(bias=False)


def machine(make, rescaling, loss="hamming", **settings):
    structure = Sequence(loss=loss, normalize=False)
    return make(structure, VIEW, C=0.5, norm=2, rescaling=rescaling, random_state=0, **settings)


def visits(monkeypatch, model):
    """(true output, what was found, its violation and offset, scores of all outputs) of every visit of a fit."""
    seen = []
    visit = cutting_plane.CuttingPlane.visit

    def spy(self, i, optimise):
        problem = self.problem
        violation, offset, found = problem.violator(i, self.weights, self._chain)
        true = problem.y[problem.offsets[i] : problem.offsets[i + 1]]
        outputs = [np.array(o, np.int32) for o in itertools.product(range(2), repeat=len(true))]
        margins = {}
        for o in outputs:
            indices, values = problem.constraint(i, o, 1.0, self.work)
            margins[tuple(o.tolist())] = float(values @ self.w[indices])
        seen.append((tuple(true.tolist()), tuple(found.tolist()), violation, offset, margins))
        return visit(self, i, optimise)

    monkeypatch.setattr(cutting_plane.CuttingPlane, "visit", spy)
    model.fit(X, Y)
    return seen


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize(("make", "power"), [(ByScore, 0.5), (WithoutRoot, 1.0), (StructuredSVM, 0.5)])
def test_what_is_found(make, power, rescaling, monkeypatch):
    seen = visits(monkeypatch, machine(make, rescaling))
    different = 0
    for true, found, violation, offset, margins in seen:
        loss = {o: sum(a != b for a, b in zip(o, true)) ** power for o in margins}
        violated = {o: loss[o] - margins[o] * (loss[o] if rescaling == "slack" else 1.0) for o in margins}
        assert (violation, offset) == pytest.approx((violated[found], loss[found]), abs=1e-9)
        if make is ByScore:
            assert margins[found] == pytest.approx(min(m for o, m in margins.items() if o != true), abs=1e-9)
        else:
            assert violation == pytest.approx(max(violated.values()), abs=1e-9)
        different += violated[found] < max(violated.values()) - 1e-6
    assert (different > 0) == (make is ByScore)


def test_the_order_is_that_of_the_examples(monkeypatch):
    seen = visits(monkeypatch, machine(FixedOrder, "margin"))
    numbers = [tuple("ab".index(c) for c in y) for y in Y]
    assert [s[0] for s in seen[: len(Y)]] == numbers
    plain = machine(StructuredSVM, "margin", tol=1e-5).fit(X, Y)
    assert machine(FixedOrder, "margin", tol=1e-5).fit(X, Y).objective_ == pytest.approx(plain.objective_, rel=1e-3)


def test_with_losses_that_are_one_all_are_the_same():
    values = [machine(make, "slack", "zero-one", tol=1e-5).fit(X, Y).objective_ for make in (StructuredSVM, ByScore)]
    assert values[1] == pytest.approx(values[0], rel=1e-3)
