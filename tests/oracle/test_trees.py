"""Trees: every operation against enumeration of all trees of small grammars."""

import math

import enumerate_trees as et
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tree_cases import EVERY_KIND, SMOOTH, array, close, key

from accord.exceptions import InfeasibleError, InputError
from accord.kernels.trees import best_trees as cky_trees
from accord.kernels.trees import inside_outside

each_kind = pytest.mark.parametrize("kind", EVERY_KIND)


def check_tree(case, y, value):
    """An array that came back is one of the sentence's trees and has the score that came with it."""
    assert key(y) in case.by_rows, "no tree of the grammar"
    tree = case.by_rows[key(y)]
    assert close(et.score(case.grammar, case.scores, tree), value)
    return tree


# -- grammars and trees ---------------------------------------------------------------------------------------------
@each_kind
@settings(max_examples=9)
@given(data=st.data())
def test_grammar_arrays_and_nested_trees(kind, data):
    case = data.draw(EVERY_KIND[kind])
    check_grammar(case)
    check_arrays(case)


def check_grammar(case):
    """Symbols and rules are those of the treebank, as often as they occur there."""
    s, g = case.structure, case.structure.grammar_
    root, leaves, rules, tops = et.read_off(case.treebank, s.horizontal, s.vertical)
    symbols = [(tuple(symbol), i < g.n_leaves) for i, symbol in enumerate(g.symbols)]
    assert g.root == root
    assert {symbols[i][0] for i in range(g.n_leaves)} == set(leaves)
    found = {(symbols[p][0], symbols[a], symbols[b]): n for (p, a, b), n in zip(g.rules.tolist(), g.rule_counts)}
    assert found == rules
    assert {symbol: n for symbol, n in zip(symbols, g.start_counts) if n} == tops
    assert g.rules[:, [1, 2, 0]].tolist() == sorted(g.rules[:, [1, 2, 0]].tolist())
    shown = [et.phrases(tree)[root is not None and tree[0] == root :] for tree in case.treebank]
    assert {label for tree in shown for label, _, _ in tree} <= {*g.labels, root}


def check_arrays(case):
    """Array to tree and back is the identity for every tree of the sentence and of the treebank; scores add up."""
    s = case.structure
    for tree in case.trees:
        shown = case.nested(tree)
        assert s.outputs(array(tree), [0, len(case.tokens)], case.tokens) == [shown]
        assert key(s.encode([shown])) == key(et.as_rows(tree))
        assert close(s.score(case.parts, array(tree)), et.score(case.grammar, case.scores, tree))
    for tree in case.treebank:
        words = [str(i) for i in range(et.brackets(tree)[0][2])]
        y = s.encode([tree])
        (back,) = s.outputs(y, [0, len(words)], words)
        assert et.brackets(back) == et.brackets(tree)
    lengths = [et.brackets(tree)[0][2] for tree in case.treebank]
    together = s.encode(case.treebank)
    assert key(together) == tuple(row for tree in case.treebank for row in key(s.encode([tree])))
    assert len(together) == sum(lengths)


@each_kind
@settings(max_examples=10)
@given(data=st.data(), pick=st.integers(0, 1000))
def test_losses(kind, data, pick):
    case = data.draw(EVERY_KIND[kind])
    assume(case.trees)
    s, true = case.structure, case.trees[pick % len(case.trees)]
    for other in case.trees:
        expected = et.losses(case.nested(true), case.nested(other))
        for s.loss in ("zero-one", "hamming", "f1"):
            assert close(s.loss_between(array(true), array(other)), expected[s.loss]), s.loss
    no_parse = np.full((len(case.tokens), 4), -1, np.int32)
    n = len(et.counted(case.nested(true)))
    for s.loss, expected in (("zero-one", 1.0), ("hamming", n / len(case.tokens)), ("f1", float(n > 0))):
        assert close(s.loss_between(array(true), no_parse), expected), s.loss


# -- best trees -----------------------------------------------------------------------------------------------------
@each_kind
@settings(max_examples=15)
@given(data=st.data(), k=st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 1000]))
def test_best_tree_k_best_and_sums(kind, data, k):
    """All that is asked of the same scores."""
    case = data.draw(EVERY_KIND[kind])
    ranking = case.ranking
    check_best_tree(case, ranking)
    found = case.structure.k_best(case.parts, k)
    if case.tokens:
        check_k_best(case, found, ranking, k)
    else:
        assert [(len(y), value) for y, value in found] == [(0, 0.0)]
    check_sums(case, ranking)


def check_best_tree(case, ranking):
    """The best tree, its score, and how far ahead of the next it is."""
    if not case.tokens:
        y, value, margin = case.structure.parse(case.parts)
        assert (y.shape, value, margin) == ((0, 4), 0.0, math.inf)
        return
    y, value, margin = case.structure.parse(case.parts)
    if not ranking:
        assert value == -math.inf
        assert (y == -1).all()
        with pytest.raises(InfeasibleError, match="no parse"):
            case.structure.decode(case.parts)
        return
    assert close(value, ranking[0][0])
    check_tree(case, y, value)
    assert close(margin, ranking[0][0] - ranking[1][0] if len(ranking) > 1 else math.inf)
    y, value = case.structure.decode(case.parts)
    check_tree(case, y, value)


@each_kind
@settings(max_examples=10)
@given(data=st.data())
def test_ties_go_to_the_smallest_split_and_the_first_rule(kind, data):
    case = data.draw(SMOOTH[kind])
    case.nodes, case.transitions = np.sign(np.round(case.nodes)), np.sign(np.round(case.transitions))
    assume(case.trees)
    parts = case.parts
    scored = [(case.structure.score(parts, array(tree)), tree) for tree in case.trees]
    best = max(s for s, _ in scored)
    first = min((tree for s, tree in scored if s == best), key=et.tie_order)
    assert key(case.structure.decode(parts)[0]) == key(et.as_rows(first))


@each_kind
@settings(max_examples=10)
@given(data=st.data(), pick=st.integers(0, 1000))
def test_best_other_tree(kind, data, pick):
    """The best tree but one, if that one is the best, any other, or no tree of the sentence at all."""
    case = data.draw(EVERY_KIND[kind])
    assume(case.tokens)
    ranking, s = case.ranking, case.structure
    best = key(s.parse(case.parts)[0])
    avoided = [np.array(best, np.int32), np.full((len(case.tokens), 4), -2, np.int32)]
    avoided += [array(ranking[pick % len(ranking)][1])] if ranking else []
    for avoid in avoided:
        left = [pair for pair in ranking if key(et.as_rows(pair[1])) != key(avoid)]
        found = np.empty_like(avoid)
        value = cky_trees.parse_other(
            s.arrays_, case.parts, s.given(len(avoid), []), s.new_chart(len(avoid)), avoid, found
        )
        if left:
            assert close(value, left[0][0])
            check_tree(case, found, value)
            assert key(found) != key(avoid)
        else:
            assert value == -math.inf
            assert (found == -1).all()


def check_k_best(case, found, ranking, k):
    values = [value for _, value in found]
    assert len(found) == min(k, len(ranking))
    assert values == sorted(values, reverse=True)
    assert len({key(y) for y, _ in found}) == len(found), "a tree is listed twice"
    for (y, value), (expected, _) in zip(found, ranking):
        assert close(value, expected)
        check_tree(case, y, value)


def random_spans(case):
    """Some brackets of one of the trees, and sometimes any others."""
    rng, n, spans = case.rng, len(case.tokens), []
    if case.trees:
        shown = case.nested(case.trees[rng.integers(len(case.trees))])
        spans += [span for span in et.phrases(shown) if rng.random() < 0.4]
        spans += [span[1:] for span in et.brackets(shown) if rng.random() < 0.2]
    for _ in range(rng.choice([0, 0, 1, 2])):
        left, right = sorted(rng.choice(n + 1, 2, replace=False).tolist())
        spans.append((left, right))
        if rng.random() < 0.5 and case.structure.labels_:
            spans.append((str(rng.choice(case.structure.labels_)), left, right))
    root = case.structure.grammar_.root, 0, n
    return [span for k, span in enumerate(spans) if span != root or root not in spans[:k]]


@each_kind
@settings(max_examples=12)
@given(data=st.data(), k=st.integers(1, 5))
def test_given_brackets(kind, data, k):
    """Decoding, k-best and sums see only the trees that have the brackets."""
    case = data.draw(EVERY_KIND[kind])
    assume(case.tokens)
    s, spans = case.structure, random_spans(case)
    ends = [span[-2:] for span in spans]
    if any(a < c < b < d for a, b in ends for c, d in ends):
        with pytest.raises(InputError, match="cross"):
            s.given(len(case.tokens), spans)
        return
    brackets = s.given(len(case.tokens), spans)
    ranking = [pair for pair in case.ranking if et.has_brackets(case.nested(pair[1]), spans)]
    y, value, margin = s.parse(case.parts, brackets)
    assert close(value, ranking[0][0] if ranking else -math.inf), spans
    if ranking:
        check_tree(case, y, value)
        assert close(margin, ranking[0][0] - ranking[1][0] if len(ranking) > 1 else math.inf)
    check_k_best(case, s.k_best(case.parts, k, brackets), ranking, k)
    log_z, *tables = s.inside(case.parts, brackets)
    assert close(log_z, et.log_sum(ranking))
    if ranking:
        check_expected(case, log_z, tables, ranking, 1.0)


# -- sums over trees ------------------------------------------------------------------------------------------------
def check_expected(case, log_z, tables, ranking, weight):
    s = case.structure
    expected = s.zero_expected(len(case.tokens))
    inside_outside.outside(s.arrays_, case.parts, *tables, log_z, weight, expected)
    for key_, value in et.expected_parts(case.grammar, ranking).items():
        counts = getattr(expected, key_[0])
        assert counts[key_[1:]] == pytest.approx(weight * value, rel=1e-8, abs=1e-9), key_
        counts[key_[1:]] = 0.0
    for counts in expected:
        np.testing.assert_allclose(counts, 0.0, atol=1e-9, err_msg="a count of a part that no tree has")


def check_sums(case, ranking):
    """Partition function, marginals of constituents, expected counts of all parts."""
    s = case.structure
    if not case.tokens:
        assert s.log_partition(case.parts) == 0.0
        assert s.marginals(case.parts) == {}
        return
    log_z = s.log_partition(case.parts)
    assert type(log_z) is float
    assert close(log_z, et.log_sum(ranking))
    if not ranking:
        with pytest.raises(InfeasibleError, match="no parse"):
            s.marginals(case.parts)
        return
    marginals = dict.fromkeys((span for _, tree in ranking for span in et.counted(case.nested(tree))), 0.0)
    for value, tree in ranking:
        for span in et.counted(case.nested(tree)):
            marginals[span] += math.exp(value - log_z)
    found = s.marginals(case.parts)
    assert {*found} <= {*marginals}
    assert {span: found.get(span, 0.0) for span in marginals} == pytest.approx(marginals, rel=1e-8, abs=1e-9)
    log_z, *tables = s.inside(case.parts)
    check_expected(case, log_z, tables, ranking, case.rng.normal())


@each_kind
@settings(max_examples=10)
@given(data=st.data())
def test_gradient_of_the_partition_function(kind, data):
    """The derivative by the score of a part is its expected count."""
    case = data.draw(SMOOTH[kind])
    assume(case.trees)
    s, parts, step = case.structure, case.parts, 1e-6
    log_z, *tables = s.inside(parts)
    expected = s.zero_expected(len(case.tokens))
    inside_outside.outside(s.arrays_, parts, *tables, log_z, 1.0, expected)
    for name in parts._fields:
        scores, counts = getattr(parts, name), getattr(expected, name)
        for at in case.rng.permutation(scores.size)[:4]:
            index = np.unravel_index(at, scores.shape)
            kept, values = scores[index], []
            for move in (step, -step):
                scores[index] = kept + move
                values.append(s.log_partition(parts))
            scores[index] = kept
            assert counts[index] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-7), (name, index)
