"""Checks of a structure of your own: everything it promises, held against a list of all outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from accord.learners.consensus import CoPerceptron, CoSVM
from accord.learners.inputs import default_view, with_tokens
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.svm import StructuredSVM
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.packed.weights import Weights

TOLERANCE = 1e-9


def check_structure(
    structure: Structure, X: Sequence[Any], Y: Sequence[Any], every: Callable[[Any], Sequence[Any]], *,
    view: Any = None, random_state: int = 0,
) -> None:  # fmt: skip
    """Raise an AssertionError unless the structure keeps the contract of :class:`accord.packed.structure.Structure`.

    Outputs survive the way to numbers and back; decoder, k best outputs and the most violating output are those that
    enumeration finds, for random weights; scores are linear in the joint features that solvers see; the likelihood, if
    there is one, is that of the enumeration; and learners of labeled and unlabeled examples run.

    Parameters
    ----------
    structure : a structure, not fitted
    X, Y : list of inputs, list of their outputs
        Two at least, and small: every output of each is looked at.
    every : callable
        ``every(x)`` lists all outputs of an input, as users write them.
    view : View, optional
        Features of the inputs; default: the view that fits their look.
    random_state : int
        Seed of the weights.

    Examples
    --------
    >>> from accord import MultiClass
    >>> from accord.evaluation import check_structure
    >>> check_structure(MultiClass(), [[1.0, 0.0], [0.0, 2.0]], ["a", "b"], lambda x: ["a", "b"])
    """
    fitted: Any = clone(structure)
    outputs = fitted.check_outputs(list(Y))
    fitted.fit(outputs)
    fitted.check_inputs(X, outputs)
    seen = fitted.view_inputs(X)
    rows = with_tokens(fitted, (default_view(fitted, seen) if view is None else clone(view)).fit_rows(seen), X)
    rng = np.random.default_rng(random_state)
    weights = Weights(
        rng.normal(size=(rows.n_dims, fitted.n_nodes_)), rng.normal(size=fitted.zero_weights(0).transitions.size)
    )
    lists = rows.token_lists()
    tokens: list[Any] = [None] * rows.n_inputs if lists is None else [*lists]
    y = fitted.encode(outputs, lists)
    unary = fitted.label_scores(rows.scores(weights.unary))
    all_parts = list(fitted.parts_of(rows, unary, weights.transitions))
    all_candidates = []
    for i, x in enumerate(X):
        truth = y[rows.offsets[i] : rows.offsets[i + 1]]
        candidates = [_encoded(fitted, output, tokens[i], f"every(X[{i}])[{k}]") for k, output in enumerate(every(x))]
        assert any(np.array_equal(truth, c) for c in candidates), f"Y[{i}] is not among every(X[{i}])"
        _check_decoding(fitted, all_parts[i], candidates, f"X[{i}]")
        _check_violator(fitted, all_parts[i], truth, candidates, f"X[{i}]")
        all_candidates.append(candidates)
    _check_problem(fitted, rows, y, weights, all_parts, all_candidates)
    _check_learners(structure, X, Y, every, view)


def _encoded(structure: Structure, output: Any, tokens: Any, where: str) -> np.ndarray:
    """An output as numbers, which lead back to it."""
    [checked] = structure.check_outputs([output])
    y = structure.encode([checked], None if tokens is None else [tokens])
    [back] = structure.outputs(y, np.array([0, len(y)]), tokens)
    assert structure.check_outputs([back]) == [checked], f"{where}: outputs(encode({output!r})) is {back!r}"
    assert not np.any(structure.is_hidden(y)), f"{where}: some rows of {output!r} count as hidden"
    assert np.all(structure.is_hidden(structure.hidden(len(y)))), "hidden(n) is not hidden"
    return y


def _check_decoding(structure: Structure, parts: Any, candidates: list[np.ndarray], where: str) -> None:
    scores = np.sort([structure.score(parts, c) for c in candidates])[::-1]
    y, score = structure.decode(parts)
    assert abs(score - scores[0]) < TOLERANCE, f"{where}: decode has {score}, the best output {scores[0]}"
    assert abs(structure.score(parts, y) - score) < TOLERANCE, f"{where}: decode names another score than its output's"
    best = structure.k_best(parts, min(len(candidates), 7) + 1)
    expected = scores[: len(best)]
    assert len(best) == min(len(candidates), 8), f"{where}: k_best finds {len(best)} of {len(candidates)} outputs"
    assert np.allclose([s for _, s in best], expected, atol=TOLERANCE), f"{where}: k_best has not the best scores"
    assert len({y.tobytes() for y, _ in best}) == len(best), f"{where}: k_best lists an output twice"


def _check_violator(
    structure: Structure, parts: Any, truth: np.ndarray, candidates: list[np.ndarray], where: str
) -> None:
    of_truth = structure.score(parts, truth)
    violations = [structure.loss_between(truth, c) - of_truth + structure.score(parts, c) for c in candidates]
    assert structure.loss_between(truth, truth) == 0.0, f"{where}: the loss of the truth is not 0"
    assert min(structure.loss_between(truth, c) for c in candidates) >= 0.0, f"{where}: a loss is negative"
    found, violation = structure.oracle(parts, truth)
    own = structure.loss_between(truth, found) - of_truth + structure.score(parts, found)
    assert abs(own - violation) < TOLERANCE, f"{where}: oracle names another violation than its output's"
    if structure.exact():
        assert abs(violation - max(violations)) < TOLERANCE, f"{where}: an output violates the margin more than that"


def _check_problem(
    structure: Structure, rows: Rows, y: np.ndarray, weights: Weights, all_parts: list[Any],
    all_candidates: list[list[np.ndarray]],
) -> None:  # fmt: skip
    """What solvers see agrees with the scores."""
    problem = structure.problem(rows, y)
    flat, total = weights.flat(), 0.0
    for i, (lo, hi) in enumerate(pairwise(rows.offsets)):
        of_truth, *scores = (structure.score(all_parts[i], output) for output in (y[lo:hi], *all_candidates[i]))
        for candidate, score in zip(all_candidates[i], scores):
            indices, values = problem.constraint(i, candidate, 1.0, np.zeros_like(weights.unary))
            margin = of_truth - score
            assert abs(flat[indices] @ values - margin) < TOLERANCE, f"X[{i}]: joint features do not give the scores"
        total += of_truth - float(np.logaddexp.reduce(scores))
    if "likelihood" in structure.capabilities:
        value, gradient = problem.log_likelihood(weights)
        assert abs(value - total) < TOLERANCE * max(1.0, abs(total)), "log_likelihood is not that of the enumeration"
        step = 1e-6 * np.random.default_rng(0).normal(size=flat.size)
        moved = [
            problem.log_likelihood(Weights.from_flat(flat + sign * step, *weights.unary.shape))[0] for sign in (1, -1)
        ]
        slope = float(gradient.flat() @ step)
        assert abs(moved[0] - moved[1] - 2 * slope) < 1e-4 * max(abs(slope), 1e-6), "log_likelihood: wrong gradient"


def _check_learners(
    structure: Structure, X: Sequence[Any], Y: Sequence[Any], every: Callable[[Any], Sequence[Any]], view: Any
) -> None:
    """Learners of labeled and unlabeled examples predict outputs that there are."""
    learners: list[Any] = [
        StructuredPerceptron(structure, view, random_state=0),
        StructuredSVM(structure, view, random_state=0),
        CoPerceptron(structure, view, unlabeled_weight=0.5, random_state=0),
        CoSVM(structure, view, unlabeled_weight=0.5, max_iter=5, ramp=2, random_state=0),
    ]
    for learner in learners:
        predicted = learner.fit([*X, X[0]], [*Y, None]).predict(X)
        for i, (x, output) in enumerate(zip(X, predicted)):
            known = structure.check_outputs(list(every(x)))
            [found] = structure.check_outputs([output])
            assert found in known, f"{type(learner).__name__}: {output!r} is not among every(X[{i}])"
