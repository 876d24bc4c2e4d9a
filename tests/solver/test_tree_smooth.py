"""The smooth machines on trees: gradients, margins and optima, against lists of all trees."""

import warnings

import numpy as np
import plain_chain
import pytest
from smooth_cases import assert_gradients
from tree_data import KINDS, WORDS, treebank

from accord import GradientCoSVM, GradientSVM, InputError, TransductiveSVM
from accord.learners.inputs import with_tokens
from accord.packed.spaces import ExpansionSpace, PrimalSpace
from accord.structures.generic.working_sets import ExampleWorkingSet
from accord.views.gram import products

each_kind = pytest.mark.parametrize("kind", KINDS)


def make_space(data, expansion=False):
    """The parameters of a treebank, and its trees as arrays."""
    structure = data.structure.fit(data.Y)
    rows = with_tokens(structure, WORDS.fit_rows(structure.view_inputs(data.X)), data.X)
    matrix = rows.matrix().toarray()
    space = ExpansionSpace(structure, rows, products(matrix, matrix)) if expansion else PrimalSpace(structure, rows)
    return space, structure.encode(data.Y)


def full_set(space, y, rng, rounds=4):
    """A working set with trees that are worst for random scores."""
    s = space.structure
    entries = ExampleWorkingSet(s, space.rows, space.rows.offsets, y)
    for _ in range(rounds):
        wrong = entries.find(rng.normal(size=(len(y), s.n_columns_)), rng.normal(size=s.n_transitions_))
        entries.add(wrong, rng.random(wrong.example.size) < 0.8)
    return entries


@each_kind
def test_margins_are_differences_of_scores(kind):
    rng = np.random.default_rng(0)
    space, y = make_space(treebank(n=3, **KINDS[kind]))
    entries, s = full_set(space, y, rng), space.structure
    assert entries.size > 2
    nodes, transitions = rng.normal(size=(len(y), s.n_columns_)), rng.normal(size=s.n_transitions_)
    margins = entries.matrix(space.n_rows) @ np.concatenate([nodes.ravel(), transitions])
    at = 0
    for i, margin, delta in zip(entries.example, margins, entries.delta):
        lo, hi = entries.offsets[i], entries.offsets[i + 1]
        tree, target = entries.labels[at : at + hi - lo], y[lo:hi]
        parts = s.part_scores(s.context(space.rows.tokens[lo:hi]), nodes[lo:hi], transitions)
        assert margin == pytest.approx(s.score(parts, target) - s.score(parts, tree), abs=1e-9)
        assert delta == s.loss_between(target, tree) > 0
        at += hi - lo


@pytest.mark.parametrize("expansion", [False, True])
@pytest.mark.parametrize("tree_loss", ["zero-one", "hamming", "f1"])
def test_gradients_are_those_of_finite_differences(tree_loss, expansion):
    space, y = make_space(treebank(n=3, rare=0, loss=tree_loss), expansion)
    assert_gradients(space, full_set(space, y, np.random.default_rng(0)), 0.3)


@pytest.mark.parametrize(
    ("kind", "loss", "solver"),
    [
        (kind, loss, solver)
        for k, kind in enumerate(KINDS)
        for loss, solver in zip(("zero-one", "hamming"), ("primal", "expansion")[:: 1 if k % 2 else -1])
    ],
)
def test_a_sharp_machine_is_the_svm(kind, loss, solver):
    data, C = treebank(loss=loss, **KINDS[kind]), 1.4
    best, w = plain_chain.svm_solve(data.examples, C / 2, "margin", 1)
    assert best > 0.1
    model = GradientSVM(
        data.structure, WORDS, C=C, epsilon=1e-4, rho=1e4, solver=solver, tol=1e-6, max_iter=2000, random_state=0
    ).fit(data.X, data.Y)
    found = plain_chain.svm_primal(data.examples, model.weights_.flat(), C / 2, "margin", 1)
    assert model.solver_ == solver
    assert found == pytest.approx(best, rel=2e-3)
    assert model.objective_ == pytest.approx(2 * best, rel=2e-3)
    assert 0.5 * np.sum((model.weights_.flat() - w) ** 2) <= 2 * (found - best) + 1e-7


def test_without_unlabeled_sentences_it_is_the_supervised_machine():
    data = treebank(rare=0, loss="hamming")
    options = {"view": WORDS, "random_state": 0}
    alone = GradientSVM(data.structure, **options).fit(data.X, data.Y)
    for weight in (0.0, 1.0, "auto"):
        other = TransductiveSVM(data.structure, unlabeled_weight=weight, **options).fit(data.X, data.Y)
        assert np.array_equal(alone.weights_.flat(), other.weights_.flat())
    one_view = GradientCoSVM(data.structure, views=[WORDS], C=2.0, unlabeled_weight=0.0, random_state=0)
    flat = one_view.fit(data.X, data.Y).weights_.flat()  # its norm counts half
    twice = GradientSVM(data.structure, WORDS, C=4.0, random_state=0).fit(data.X, data.Y)
    assert np.allclose(flat, twice.weights_.flat(), atol=0.05)


def test_unlabeled_sentences_take_part_and_a_fit_can_be_continued():
    data = treebank(n=6, rare=0, loss="hamming")
    Y = [y if i < 6 else None for i, y in enumerate(data.Y)]
    options = {"unlabeled_weight": 0.5, "ramp": 3, "random_state": 0}
    whole = TransductiveSVM(data.structure, WORDS, **options).fit(data.X, Y)
    assert not np.array_equal(
        whole.weights_.flat(), GradientSVM(data.structure, WORDS, random_state=0).fit(data.X[:6], Y[:6]).weights_.flat()
    )
    assert len(whole.transduction_) == 6
    assert whole.history_[-1]["unlabeled_weight"] == 0.5
    pieces = TransductiveSVM(data.structure, WORDS, warm_start=True, max_iter=2, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is stopped early on purpose
        while not getattr(pieces, "converged_", False):
            pieces.fit(data.X, Y)
    assert np.array_equal(pieces.weights_.flat(), whole.weights_.flat())
    assert pieces.history_ == whole.history_


def test_trees_cannot_be_balanced():
    data = treebank(rare=0)
    with pytest.raises(InputError, match="balance=True needs a label for every row"):
        TransductiveSVM(data.structure, WORDS, unlabeled_weight=1.0, balance=True).fit(data.X, [*data.Y[:-1], None])
