"""Cutting planes stop after a bounded number of constraints [svm_interdependent.txt, Theorem 6].

A constraint violated by more than tol raises the dual by at least a certain amount, and the dual cannot pass the primal
value of w = 0. The chapter divides C by the number of examples, so its C is n times ours.
"""

import numpy as np
import plain_chain
import pytest
from solver_cases import EVERY_DATA, multiclass, sequence, with_one_machine

from accord import StructuredSVM


def bound(examples, C, tol, rescaling, norm):
    """How many constraints can be added. Margin rescaling does not multiply feature differences by the loss."""
    n = len(examples)
    chapters_C = n * C
    delta = max(e.loss.max() for e in examples)
    radius = max(np.linalg.norm(e.phi[e.true] - e.phi, axis=1).max() for e in examples)
    scale = delta if rescaling == "slack" else 1.0
    if norm == 1:
        return max(2 * n * delta / tol, 8 * chapters_C * delta * (scale * radius) ** 2 / tol**2)
    # the 2-norm machine has the root of the loss in its constraints
    return (chapters_C * delta * scale * radius**2 + n * delta) / tol**2


def test_the_bound_is_the_printed_one():
    data = multiclass("cost")
    n, delta, C, tol = len(data.Y), 2.5, 3.0, 0.1
    radius = max(2**0.5 * np.linalg.norm(x) for x in data.X)
    printed_1 = max(2 * n * delta / tol, 8 * (n * C) * delta**3 * radius**2 / tol**2)
    printed_2 = ((n * C) * delta**2 * radius**2 + n * delta) / tol**2
    assert bound(data.examples, C, tol, "slack", 1) == pytest.approx(printed_1)
    assert bound(data.examples, C, tol, "slack", 2) == pytest.approx(printed_2)


@pytest.mark.parametrize("reoptimize", ["example", "all"])
@pytest.mark.parametrize(("name", "rescaling", "norm"), with_one_machine(EVERY_DATA))
def test_no_more_constraints_than_the_theorem_allows(name, rescaling, norm, reoptimize):
    data = EVERY_DATA[name]()
    for C, tol in ((0.01, 0.01), (1.0, 0.3), (1.0, 0.03)):
        svm = StructuredSVM(
            data.structure,
            view=data.view,
            C=C,
            tol=tol,
            rescaling=rescaling,
            norm=norm,
            reoptimize=reoptimize,
            random_state=0,
        ).fit(data.X, data.Y)
        assert svm.converged_
        assert 1 <= svm.n_constraints_added_ <= bound(data.examples, C, tol, rescaling, norm)
        assert svm.n_constraints_ <= svm.n_constraints_added_
        listed = data.listed(svm.weights_)
        slack = plain_chain.slacks(data.examples, listed, rescaling, norm)
        # nothing is violated by more than tol beyond the slack that the working sets imply
        held = slack_of_working_sets(svm, data, listed, rescaling, norm)
        assert np.all(slack <= held + tol + 1e-9)


def slack_of_working_sets(svm, data, w, rescaling, norm):
    """Slack of each example if its support outputs were its only wrong ones."""
    held = np.zeros(len(data.X))
    for i, output, _ in svm.support_outputs():
        e = data.examples[i]
        labels = [output] if svm.structure_.single_row else output
        k = e.outputs.index(tuple(svm.structure_.labels_.index(label) for label in labels))
        delta = e.loss[k] ** (1.0 / norm)
        margin = (e.phi[e.true] - e.phi[k]) @ w
        held[i] = max(held[i], delta - margin if rescaling == "margin" else delta * (1.0 - margin))
    return held


def test_nothing_is_added_when_tol_exceeds_every_violation():
    data = sequence("hamming")
    svm = StructuredSVM(data.structure, view=data.view, tol=1.0, random_state=0).fit(data.X, data.Y)
    assert svm.n_constraints_added_ == 0
    assert not np.any(svm.weights_.flat())
