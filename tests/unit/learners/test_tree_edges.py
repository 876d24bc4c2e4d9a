"""Learners of trees at the edges: unknown words, deep trees, brackets that cannot be had, odd arguments."""

import random
import string
import warnings

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import clone

from accord import CRF, PCFG, InputError, NoParseWarning, StructuredPerceptron, Tree
from accord.datasets.trees import as_tree, bracketed, leaves

TREES = [
    "(S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat))))",
    "(S (NP (D a) (N cat)) (VP (V barks)))",
    "(S (NP (D the) (N cat)) (VP (V sees) (NP (D the) (N dog))))",
]
SENTENCES = [leaves(as_tree(tree)) for tree in TREES]


@pytest.fixture(scope="module")
def parser():
    return PCFG(Tree(rare=0)).fit(SENTENCES, TREES)


def rare_nouns(n, extra):
    """Sentences with a noun each that occurs once, and ``extra`` ones: (X, Y)."""
    rng = random.Random(0)
    nouns = ["".join(rng.choice(string.ascii_lowercase) for _ in range(6)) for _ in range(n)]
    Y = [*extra, *(f"(S (NP (NN {noun})) (VP (V runs)))" for noun in nouns)]
    return [leaves(as_tree(tree)) for tree in Y], Y


@pytest.mark.parametrize("smoothing", [0.001, 0.1, 1.0])
@pytest.mark.parametrize("short", [[], ["(S (XP (DT teh)) (VP (V runs)))"]])
def test_unknown_words_have_the_tags_of_rare_words(smoothing, short):
    """Also if their ending was never seen, and although the tag of one short rare word is frequent."""
    X, Y = rare_nouns(60, ["(S (XP (DT the)) (VP (V runs)))"] * 300 + short)
    model = PCFG(Tree(), smoothing=smoothing).fit(X, Y)
    assert bracketed(model.predict([["zzzqqqxx", "runs"]])[0]) == "(S (NP (NN zzzqqqxx)) (VP (V runs)))"


def test_unknown_words_without_rare_ones():
    """Then the grammar alone decides: what tags are frequent after what."""
    Y = ["(S (XP (DT the)) (VP (V runs)))"] * 9 + ["(S (NP (NN dogs)) (VP (V runs)))"] * 3
    model = PCFG(Tree(rare=1), smoothing=0.01).fit([leaves(as_tree(tree)) for tree in Y], Y)
    found = model.predict_marginals([["cats", "runs"]])[0]
    assert found["XP", 0, 1] == pytest.approx(0.75, abs=0.02)


@each_row("vertical", [1, 2, 3, 4])
@each_row("horizontal", [None, 0, 1])
def test_a_tree_has_one_derivation(vertical, horizontal):
    """Chains of single children do not make two symbols of what is below them."""
    trees = ["(T (A (S (V a) (V b) (V c))) (V a))", "(T (S (V a) (V b) (V c)) (V a))", "(T (S (V a) (V a) (V b)))"]
    X = [leaves(as_tree(tree)) for tree in trees]
    model = PCFG(Tree(horizontal=horizontal, vertical=vertical, rare=0)).fit(X, trees)
    for found in model.predict_k_best(X, 20):
        assert len({bracketed(tree) for tree, _ in found}) == len(found)


def test_deep_treebanks_are_shared_by_clones():
    deep = ["N", "w"]
    for _ in range(3000):
        deep = ["X", deep]
    model = PCFG(Tree(grammar=[deep]))
    assert clone(model).structure.grammar is model.structure.grammar
    assert clone(model).fit(SENTENCES, TREES).predict(SENTENCES) == [as_tree(tree) for tree in TREES]


def test_unlabeled_roots_of_pieces():
    trees = ["( (S (N a) (V b)))", "( (S (N c) (V d)))"]
    model = PCFG(Tree(rare=0)).fit([["a", "b"], ["c", "d"]], trees)
    with pytest.warns(NoParseWarning):
        assert model.predict([["a", "b", "c", "d"]])[0][0] == ""


@each_row("n_jobs", [1, 2])
def test_one_warning_names_all_sentences(parser, n_jobs):
    X = [SENTENCES[0] if i % 2 else ["sees", "sees"] for i in range(14)]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        clone(parser).set_params(n_jobs=n_jobs).fit(SENTENCES, TREES).predict(X)
    (only,) = seen
    assert only.message.indices == list(range(0, 14, 2))
    assert only.message.bracketed == []
    assert "X[0], X[2], X[4], X[6], X[8] and 2 more" in str(only.message)
    assert only.filename == __file__


def test_brackets_that_no_tree_has(parser):
    with pytest.warns(NoParseWarning, match=r"no parse for X\[0\] with the brackets given\[0\]") as seen:
        parser.predict(SENTENCES[:1], given=[[(1, 3)]])
    assert seen[0].message.indices == seen[0].message.bracketed == [0]
    with pytest.raises(InputError, match=r"given\[0\]\[0\] and given\[0\]\[2\] cross"):
        parser.predict(SENTENCES[:1], given=[[(0, 2), (2, 5), (1, 3)]])


@each_row(
    ("call", "message"),
    [
        (lambda m: m.predict(SENTENCES[:1], given=[5]), r"given\[0\] is 5; expected a list of brackets"),
        (lambda m: m.predict(SENTENCES[:1], given=[[(["NP"], 0, 2)]]), r"given\[0\]\[0\] is .*expected a bracket"),
        (lambda m: m.predict(SENTENCES[:1], given=[[(True, 2)]]), r"given\[0\]\[0\] is .*expected a bracket"),
        (lambda m: m.predict(SENTENCES[:1], given={0: [(0, 2)]}), "given is a dict; expected a list"),
        (lambda m: m.predict_k_best(SENTENCES[:1], 1.5), "k is 1.5; expected a whole number"),
        (lambda m: m.predict_k_best(SENTENCES[:1], "a"), "k is 'a'; expected a whole number"),
        (lambda m: PCFG(Tree(grammar=5)).fit(SENTENCES, TREES), "grammar is a int; expected a list of trees"),
        (lambda m: PCFG(Tree(rare=True)).fit(SENTENCES, TREES), "rare is True; expected a whole number"),
        (lambda m: PCFG(Tree(), smoothing="a").fit(SENTENCES, TREES), "smoothing is 'a'; expected a number, 0 or more"),
        (lambda m: PCFG(Tree(), max_iter=-1).fit(SENTENCES, TREES), "max_iter is -1; expected a whole number"),
    ],
)
def test_odd_arguments(parser, call, message):
    with pytest.raises(InputError, match=message):
        call(parser)


def test_more_trees_than_there_are(parser):
    assert len(parser.predict_k_best(SENTENCES[:1], 10**12)[0]) == 1


def test_many_best_trees_equal_few():
    """Room grows with what is found: the first of many are those of few."""
    pair = "(A (x a) (x a))"
    trees = [f"(A {pair} (x a))", f"(A (x a) {pair})", f"(A {pair} {pair})"]
    X = [leaves(as_tree(tree)) for tree in trees]
    model = PCFG(Tree(rare=0)).fit(X, trees)
    few, many = (model.predict_k_best([["a"] * 9], k)[0] for k in (5, 2000))
    assert len(many) == 1430  # the eighth Catalan number
    assert len({bracketed(tree) for tree, _ in many}) == 1430
    np.testing.assert_allclose([score for _, score in few], [score for _, score in many[:5]])


@pytest.mark.parametrize("learner", [StructuredPerceptron(Tree(rare=0)), CRF(Tree(rare=0))])
def test_later_batches_with_tags_that_cannot_be(learner):
    model = clone(learner)
    model.partial_fit(SENTENCES, TREES)
    with pytest.raises(InputError, match=r"Y\[0\] has the tag 'N' for the word 'barks'"):
        model.partial_fit([["the", "barks", "sees"]], ["(S (NP (D the) (N barks)) (VP (V sees)))"])
