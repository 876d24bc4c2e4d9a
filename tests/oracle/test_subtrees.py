"""Sub-trees of several depths as features: their counts in trees, scores, best trees and expectations, by listing."""

from collections import Counter

import enumerate_trees as et
import numpy as np
import pytest
from tree_cases import array, close, make_case, random_treebank, words_and_tags

from accord import PCFG, Tree


def name(symbol):
    """As Accord writes a symbol."""
    (labels, siblings, parents), _ = symbol
    shown = "+".join(labels)
    if siblings is not None:
        shown = f"@{shown}|{','.join(s.rstrip(chr(9)).replace(chr(9), '+') for s in siblings)}"
    return "^".join((shown, *parents))


def shallower(case, tree):
    """How often the sub-trees of a tree occur, of depths below the deepest, from its rules with fewer ancestors."""
    found, root = Counter(), case.grammar.root
    shown = case.nested(tree)
    bare = shown[1] if root is not None and shown[0] == root and len(shown) == 2 and shown[1][0] != root else shown
    for depth in range(1, 1 + max(len(parents) for _, _, parents in case.grammar.symbols)):
        rules, tops, leaves = Counter(), Counter(), Counter()
        tops[et._read(bare, case.structure.horizontal, depth, [], leaves, rules)] += 1
        for (parent, left, right), count in rules.items():
            found[f"{name((parent, False))} -> {name(left)} {name(right)}"] += count
    return found


@pytest.mark.parametrize("span_features", ["label", None])
@pytest.mark.parametrize(("horizontal", "vertical"), [(0, 2), (1, 3), (None, 2)])
def test_sub_trees_by_listing_all_trees(horizontal, vertical, span_features):
    several = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        case = make_case(rng, root=["free", "TOP"][seed % 2], horizontal=horizontal, vertical=vertical,
                         span_features=span_features, terminals="tags", subtrees=True)  # fmt: skip
        s, n = case.structure, len(case.structure.subtrees_)
        scored, expected = [], np.zeros(n)
        for tree in case.trees:
            counts = np.zeros(s.n_transitions_)
            s.count_parts(array(tree), counts)
            by_name = Counter()
            for k in np.flatnonzero(counts[s.n_transitions_ - n :]):
                by_name[s.subtrees_[k]] += counts[s.n_transitions_ - n + k]
            assert by_name == shallower(case, tree)
            plain = et.score(case.grammar, case.scores, tree)
            scored.append(plain + counts[s.n_transitions_ - n :] @ case.transitions[s.n_transitions_ - n :])
            assert close(s.score(case.parts, array(tree)), scored[-1])
        if len(scored) > 1:
            several += 1
            assert close(s.decode(case.parts)[1], max(scored))
            shares = np.exp(np.array(scored) - np.logaddexp.reduce(scored))
            for share, tree in zip(shares, case.trees):
                counts = np.zeros(s.n_transitions_)
                s.count_parts(array(tree), counts)
                expected += share * counts[s.n_transitions_ - n :]
            np.testing.assert_allclose(s.expectations(case.parts)[2][s.n_transitions_ - n :], expected, atol=1e-9)
    assert several > 2


@pytest.mark.parametrize("horizontal", [None, 0, 1])
def test_sub_trees_forbid_nothing(horizontal):
    """A sentence has the trees that it has without ancestors; what was seen is part of that, and counted as it was."""
    several = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        treebank = random_treebank(rng, ["free", "TOP", "some TOP"][seed % 3])
        plain = Tree(horizontal=horizontal, terminals="tags").fit(treebank)
        deep = Tree(horizontal=horizontal, vertical=3, terminals="tags", subtrees=True).fit(treebank)
        tokens = [tag for _, tag in words_and_tags(treebank[0])][:5]
        a, b = (
            [s.outputs(y, [0, len(tokens)], tokens)[0] for y, _ in s.k_best(s.parts(tokens), 300)]
            for s in (plain, deep)
        )
        if len(a) < 300:
            several += len(a) > 1
            assert sorted(map(str, a)) == sorted(map(str, b))
        seen = Tree(horizontal=horizontal, vertical=3, terminals="tags").fit(treebank).grammar_
        assert sum(deep.grammar_.rule_counts) == sum(seen.rule_counts)
    assert several > 2


def test_a_pcfg_knows_nothing_of_sub_trees():
    trees = random_treebank(np.random.default_rng(5), "TOP")
    X = [[tag for _, tag in words_and_tags(tree)] for tree in trees]
    a, b = (
        PCFG(Tree(vertical=2, terminals="tags", subtrees=on)).fit(X, trees).log_probability(X) for on in (True, False)
    )
    np.testing.assert_allclose(a, b, atol=1e-12)
