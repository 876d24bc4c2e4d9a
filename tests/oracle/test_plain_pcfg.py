"""With all siblings remembered and no pseudo-counts, PCFG is the grammar of n-ary rules: trees, best trees, sums."""

import numpy as np
import pytest
from plain_pcfg import PlainPCFG
from tree_cases import ROOTS, random_treebank, words_and_tags

from accord import PCFG, Tree


def figures(model, X, trees):
    """Log probabilities of the given trees, of the best ones, and of all, as Accord has them."""
    s, rows = model.structure_, model._rows(X)
    parts = s.parts_of(rows, model._label_scores(rows), model.weights_.transitions)
    given = [s.score(p, s.encode([tree])) for p, tree in zip(parts, trees)]
    return given, [found[0][1] for found in model.predict_k_best(X, 1)], model.log_probability(X)


def check(trees, terminals, n=None):
    X = [[pair[terminals == "tags"] for pair in words_and_tags(tree)] for tree in trees]
    model = PCFG(Tree(terminals=terminals, horizontal=None, rare=0), smoothing=0).fit(X, trees)
    plain = PlainPCFG(trees, model.structure_.grammar_.root, terminals == "words")
    given, best, total = figures(model, X[:n], trees[:n])
    assert given == pytest.approx([plain.log_tree(tree) for tree in trees[:n]], abs=1e-9)
    expected = np.array([plain.best_and_sum(x) for x in X[:n]])
    np.testing.assert_allclose(np.column_stack([best, total]), expected, atol=1e-9)
    return total - best


@pytest.mark.parametrize("terminals", ["words", "tags"])
@pytest.mark.parametrize("root", ROOTS)
def test_relative_counts_of_whole_right_hand_sides(root, terminals):
    """Chains, tags with the names of phrases, and roots that are taken off or not."""
    rng = np.random.default_rng(len(root))
    ambiguous = [np.any(check(random_treebank(rng, root), terminals) > 1e-9) for _ in range(15)]
    assert sum(ambiguous) > 3


def test_a_chain_shares_nothing_with_its_last_label():
    """Of three-word phrases, pp are always a b c and fcl+pp a b d or e b c: a shared memory would let both be mixed."""
    trees = ["(S (pp (a 1) (b 2) (c 3)) (x 0))", "(S (fcl (pp (a 1) (b 2) (d 4))) (x 0))",
             "(S (fcl (pp (e 5) (b 2) (c 3))) (x 0))"]  # fmt: skip
    X = [["1", "2", "3", "0"], ["1", "2", "4", "0"], ["5", "2", "3", "0"]]
    model = PCFG(Tree(horizontal=None, rare=0), smoothing=0).fit(X, trees)
    assert np.exp(model.log_probability(X)).tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(("label", "tag"), [("A", "A"), ("A+B", "B")])
def test_names_do_not_mix_siblings(label, tag):
    """A phrase with the name of a tag, and a label that looks like a chain: each is followed by its own."""
    trees = [f"(S ({label} (x 1) (x 1)) (y 2) (z 3))", f"(S (A ({tag} 1)) (y 2) (w 4))"]
    X = [["1", "1", "2", "3"], ["1", "2", "4"]]
    model = PCFG(Tree(horizontal=None, rare=0), smoothing=0).fit(X, trees)
    assert np.exp(model.log_probability([*X, ["1", "1", "2", "4"]])).tolist() == pytest.approx([1 / 2, 1 / 2, 0])


def test_trees_by_grammars_of_older_files():
    """These remembered the labels of all siblings and no chains; their trees are still known."""
    trees = ["(S (pp (a 1) (b 2) (c 3)) (x 0))", "(S (fcl (pp (a 1) (pp (b 2)) (c 3))) (x 0))"]
    older = Tree(horizontal=10**6, rare=0).fit(trees)
    expected = older.encode(trees)
    older.grammar_.horizontal = None
    assert np.array_equal(older.encode(trees), expected)
    assert len(Tree(horizontal=None).fit(trees).grammar_.symbols) > len(older.grammar_.symbols)
