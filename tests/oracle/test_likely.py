"""Outputs of probable parts: of all allowed outputs, listed one by one, none has a smaller expected loss."""

import math
from collections import Counter

import enumerate_trees as et
import numpy as np
import pytest
from chain_cases import EVERY_STRUCTURE, sequence
from enumerate_chain import feasible, probabilities
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tree_cases import EVERY_KIND, array, key

from accord import CRF, HMM, PCFG, InputError, MultiClass, Sequence, Tree
from accord.packed.rows import Rows
from accord.structures.trees import tree as tree_module

ADDED_UP = ["hamming", "count", "weights with levels", "real weights", "zero weights"]


def rows_of(n_rows):
    return Rows.from_matrix(np.zeros((n_rows, 1)), np.array([0, n_rows]))


def transitions_of(case):
    """The transition weights that a case was made with, from the decoder's arrays of an unconstrained chain."""
    chain = case.chain
    if chain.start is None:
        return np.empty(0)
    n = chain.n_labels
    parts = [*([chain.start, chain.end] if case.structure.ends_ else []), np.ravel(chain.pair)]
    if chain.triple is not None:
        before = [*range(n), -1]
        parts.append([chain.triple[a, b, c] for a in before for b in range(n) for c in range(n)])
    return np.concatenate([np.asarray(part, float) for part in parts])


def assert_least_expected_loss(case, given=None):
    if given:
        case.chain.given = {t: c for t, c in enumerate(given) if c is not None}
    outputs = feasible(case.chain)
    assume(outputs and len(case.chain.unary) > 0)
    chances = probabilities(case.chain)
    risk = {y: math.fsum(p * case.loss(z, y) for p, z in chances) for _, y in outputs}
    labels = case.structure.labels_
    asked = None if given is None else [[None if c is None else labels[c] for c in given]]
    if asked is not None and case.structure.single_row:
        asked = [asked[0][0]]
    unary = case.parts.unary
    found = case.structure.likely_outputs(rows_of(len(unary)), unary.copy(), transitions_of(case), asked)
    assert tuple(found.tolist()) in risk, "the constraints hold"
    assert risk[tuple(found.tolist())] <= min(risk.values()) + 1e-9


@settings(max_examples=80)
@given(data=st.data(), loss=st.sampled_from(ADDED_UP))
def test_sequences_have_the_least_expected_hamming_loss(data, loss):
    # where a score is minus infinity, all labels of a row may be excluded though the constraints allow some
    assert_least_expected_loss(data.draw(sequence(loss=loss, styles=["real", "ties", "huge"])))


@settings(max_examples=50)
@given(data=st.data())
def test_given_labels_are_kept(data):
    case = data.draw(sequence(loss="hamming", styles=["real", "ties"]))
    n = case.chain.n_labels
    labels = [int(case.rng.integers(n)) if case.rng.random() < 0.4 else None for _ in case.chain.unary]
    assert_least_expected_loss(case, labels)


@pytest.mark.parametrize("kind", [kind for kind in EVERY_STRUCTURE if not kind.startswith("sequence")])
@settings(max_examples=20)
@given(data=st.data())
def test_classes_have_the_least_expected_cost(kind, data):
    case = data.draw(EVERY_STRUCTURE[kind])
    assume(np.isfinite(case.chain.unary).all())
    assert_least_expected_loss(case)


@pytest.mark.parametrize("kind", EVERY_KIND)
@settings(max_examples=20)
@given(data=st.data(), doubt=st.sampled_from([0.0, 0.3, 0.5]))
def test_trees_have_the_most_right_constituents_that_can_be_expected(kind, data, doubt):
    """Right ones minus ``doubt`` for each; with 1/2 that is the least expected Hamming loss."""
    case = data.draw(EVERY_KIND[kind])
    ranking, s = case.ranking, case.structure
    assume(ranking and len(case.tokens))
    log_z = et.log_sum(ranking)
    constituents = [Counter(et.counted(case.nested(tree))) for _, tree in ranking]
    chances = [(math.exp(score - log_z), own) for (score, _), own in zip(ranking, constituents)]
    worth = {}
    for (_, tree), own in zip(ranking, constituents):
        right = math.fsum(p * (own & other).total() for p, other in chances)
        worth[key(array(tree))] = right - doubt * own.total()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tree_module.DOUBTS, s.loss, doubt)
        found = s.likely_outputs(with_tokens(case), case.nodes, case.transitions)
    assert key(found) in worth
    assert worth[key(found)] >= max(worth.values()) - 1e-5 * len(case.tokens)  # ties are broken by small numbers


@settings(max_examples=20)
@given(data=st.data())
def test_trees_have_the_given_brackets(data):
    case = data.draw(EVERY_KIND["no spans, tags"])
    assume(case.ranking and len(case.tokens))
    _, tree = case.ranking[case.rng.integers(len(case.ranking))]
    spans = et.counted(case.nested(tree))
    asked = [spans[case.rng.integers(len(spans))]] if spans else []
    found = case.structure.likely_outputs(with_tokens(case), case.nodes, case.transitions, [asked])
    (nested,) = case.structure.outputs(found, [0, len(case.tokens)], case.tokens)
    assert et.has_brackets(nested, asked)


def with_tokens(case):
    rows = rows_of(len(case.tokens))
    tokens = np.empty(len(case.tokens), object)
    tokens[:] = case.tokens
    return Rows(**{**rows.__dict__, "tokens": tokens})


# -- learners ---------------------------------------------------------------------------------------------------------

X = [["a", "b", "a"], ["b", "b"], ["a", "a", "b"], ["b", "a"]]
Y = [["x", "y", "x"], ["y", "x"], ["x", "x", "y"], ["x", "x"]]


@pytest.mark.parametrize("learner", [CRF, HMM])
def test_the_loss_decides_how_sequences_are_decoded(learner):
    model = learner(Sequence()).fit(X, Y)
    assert model.predict(X) == model.set_params(decode="marginal").predict(X)
    argmax = [[model.structure_.labels_[c] for c in table.argmax(axis=1)] for table in model.predict_marginals(X)]
    assert model.predict(X) == argmax
    for structure in (Sequence("zero-one"), Sequence("f1"), Sequence(constraints="iob2"), Sequence(outside="x")):
        model = learner(structure).fit(X, Y)
        assert model.predict(X) == model.set_params(decode="viterbi").predict(X)
        assert not model.structure_.prefers_likely


@pytest.mark.parametrize(
    ("labels", "likely"), [("C E H", True), ("NOUN VERB", True), ("B-PER NOUN", False), ("O GENE", False)]
)
def test_labels_of_spans_are_decoded_as_a_whole(labels, likely):
    assert Sequence().fit([labels.split()]).prefers_likely == likely


def test_the_decoders_differ():
    """Two outputs share a first label that neither the best output nor anything else of it has."""
    structure = Sequence(labels=["p", "q", "r"]).fit([])
    unary = np.log([[0.4, 0.6, 1e-9], [1.0, 1.0, 1.0]])
    moves = np.log(np.full((3, 3), 1e-9))
    moves[0, 0], moves[1, 1], moves[1, 2] = 0.0, math.log(0.5), math.log(0.5)
    transitions = np.concatenate([np.zeros(6), moves.ravel()])
    rows = rows_of(2)
    assert structure.best_outputs(rows, unary.copy(), transitions).tolist() == [0, 0]
    assert structure.likely_outputs(rows, unary.copy(), transitions).tolist() == [1, 0]


def test_decode_is_checked_and_kept(tmp_path):
    import accord

    with pytest.raises(InputError, match=r'decode is .*; expected "auto", "viterbi" or "marginal"'):
        CRF(Sequence(), decode="best").fit(X, Y)
    model = CRF(Sequence(), decode="viterbi").fit(X, Y)
    model.save(tmp_path / "model")
    assert accord.load(tmp_path / "model").decode == "viterbi"
    with pytest.raises(InputError, match="decode"):
        model.set_params(decode="best").predict(X)
    numbers = [[0.0, 1.0], [1.0, 0.0]]
    classes = CRF(MultiClass(), decode="marginal").fit(numbers, ["a", "b"])
    assert list(classes.predict(numbers)) == ["a", "b"]


def test_grammars_are_decoded_by_their_constituents():
    trees = ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (D a) (N cat)) (V sleeps))", "(S (N dog) (V barks))"]
    sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dog", "barks"]]
    model = PCFG(Tree(rare=0)).fit(sentences, trees)
    assert model.structure_.prefers_likely
    assert model.predict(sentences) == model.set_params(decode="marginal").predict(sentences)
    assert [len(tree) for tree in model.predict(sentences)] == [3, 3, 3]
    assert not Tree("zero-one").prefers_likely
    nothing = model.predict([["barks", "barks", "the"]])  # no parse: pieces, as ever
    assert nothing == model.set_params(decode="viterbi").predict([["barks", "barks", "the"]])
