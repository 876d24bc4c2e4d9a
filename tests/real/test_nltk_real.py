"""Plain maximum likelihood of both treebanks is the grammar of n-ary rules that NLTK's `induce_pcfg` reads off them.

Needs a local data folder (ACCORD_DATA) and NLTK, which is not among the packages of the tests: ``pip install nltk``.
"""

import math

import pytest
from test_plain_pcfg import figures
from test_treebanks_real import FILES, bank
from tree_cases import words_and_tags

from accord import PCFG, Tree
from accord.datasets.trees import leaves

nltk = pytest.importorskip("nltk", reason="NLTK is not installed")

CLEAN = [file for file in FILES if "clean" in file]
N_TREES = 1000  # the shortest sentences of two tokens or more
N_PARSED = 60  # NLTK goes over every rule for every span


def as_nltk(tree, root, terminals):
    """NLTK's tree: a root that all share is taken off, chains are one node, and leaves have their tag above them."""
    while tree[0] == root and len(tree) == 2:
        tree = tree[1]
    found = nltk.Tree.fromstring("(TOP )")
    found.append(nested(tree))
    nltk.Tree.collapse_unary(found, collapsePOS=True)
    for leaf, pair in zip(list(found.subtrees(lambda node: node.height() == 2)), words_and_tags(tree)):
        token = pair[terminals == "tags"]
        leaf[:] = [nltk.Tree(f"tag {pair[1]}", [token])] if terminals == "words" else [token]
    return found


def nested(tree):
    return nltk.Tree(tree[0], [child if isinstance(child, str) else nested(child) for child in tree[1:]])


@pytest.mark.parametrize("terminals", ["words", "tags"])
@pytest.mark.parametrize("file", CLEAN)
def test_trees_and_best_trees_have_the_log_probabilities_of_nltk(file, terminals):
    """All trees, and the best trees of the shortest sentences."""
    trees = sorted((tree for tree in bank(file) if len(leaves(tree)) > 1), key=lambda tree: len(leaves(tree)))[:N_TREES]
    X = [[pair[terminals == "tags"] for pair in words_and_tags(tree)] for tree in trees]
    model = PCFG(Tree(terminals=terminals, horizontal=None, rare=0), smoothing=0).fit(X, trees)
    given, best, _ = figures(model, X, trees)

    theirs = [as_nltk(tree, model.structure_.grammar_.root, terminals) for tree in trees]
    rules = [rule for tree in theirs for rule in tree.productions()]
    grammar = nltk.induce_pcfg(nltk.Nonterminal("TOP"), rules)
    log_of = {(rule.lhs(), rule.rhs()): math.log(rule.prob()) for rule in grammar.productions()}
    expected = [math.fsum(log_of[rule.lhs(), rule.rhs()] for rule in tree.productions()) for tree in theirs]
    assert given == pytest.approx(expected, abs=1e-9)
    parser = nltk.ViterbiParser(grammar, max_time=None)
    parsed = [math.log(next(parser.parse(x)).prob()) for x in X[:N_PARSED]]
    assert best[:N_PARSED] == pytest.approx(parsed, abs=1e-9)
