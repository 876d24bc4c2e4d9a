"""EVALB's figures, against cases that were counted by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.evaluation import (
    COLLINS,
    PAPERS,
    BracketOptions,
    bootstrap_metric,
    bracket_f1,
    bracket_scores,
    corpus_bracket_f1,
)
from accord.evaluation.brackets import bracket_statistics
from accord.exceptions import InputError

# S(0,5) NP(0,1) VP(1,5) NP(2,5) PP(3,5): "with" attached to the noun, or to the verb
NOUN = "(TOP (S (NP (N she)) (VP (V saw) (NP (N dogs) (PP (P with) (N hats))))))"
VERB = "(TOP (S (NP (N she)) (VP (V saw) (NP (N dogs)) (PP (P with) (N hats)))))"


def counts(true, pred, options=PAPERS):
    scores = bracket_scores([true], [pred], options=options)
    return scores.totals  # true, predicted, matched


def test_attachment():
    # TOP is out. Both have S, NP(0,1), VP(1,5), PP(3,5); only NP(2,5) and NP(2,3) differ.
    scores = bracket_scores([NOUN], [VERB])
    assert scores.totals == (5, 5, 4)
    assert (scores.precision, scores.recall, scores.f1) == (0.8, 0.8, 0.8)
    assert (scores.exact, scores.mean_crossing, scores.no_crossing, scores.tag_accuracy) == (0, 0, 1, 1)


def test_precision_and_recall_differ():
    flat = "(TOP (S (NP (N she)) (V saw) (N dogs) (P with) (N hats)))"
    scores = bracket_scores([NOUN], [flat])  # predicted: S, NP(0,1), both right
    assert scores.totals == (5, 2, 2)
    assert (scores.precision, scores.recall) == (1, 0.4)
    assert scores.f1 == pytest.approx(2 * 0.4 / 1.4)
    assert bracket_scores([flat], [NOUN]).precision == 0.4


def test_right_span_wrong_label():
    true, pred = "(S (NP (N a) (N b)) (V c))", "(S (VP (N a) (N b)) (V c))"
    assert counts(true, pred) == (1, 1, 0)
    assert counts(true, pred, replace(PAPERS, labeled=False)) == (1, 1, 1)
    assert counts(true, pred, replace(PAPERS, equal_labels={"VP": "NP"})) == (1, 1, 1)


def test_crossing():
    true = "(S (A (N a) (N b)) (B (N c) (N d)))"  # A(0,2) B(2,4)
    pred = "(S (N a) (C (D (N b) (N c)) (N d)))"  # C(1,4) D(1,3)
    scores = bracket_scores([true, true], [pred, true])
    # C crosses A, D crosses A and B: two of the predicted constituents cross, each counted once
    assert scores.crossing.tolist() == [2, 0]
    assert (scores.mean_crossing, scores.no_crossing) == (1.0, 0.5)
    # Seen from the other tree, A crosses C and D, B crosses D: two again
    assert bracket_scores([pred], [true]).crossing.tolist() == [2]
    assert scores.matched.tolist() == [0, 2]


def test_touching_and_nested_constituents_do_not_cross():
    true = "(S (A (N a) (N b)) (N c) (N d))"
    for pred in (
        "(S (N a) (N b) (B (N c) (N d)))",
        "(S (A (B (N a)) (N b)) (N c) (N d))",
        "(S (B (A (N a) (N b)) (N c)) (N d))",
    ):
        assert bracket_scores([true], [pred]).crossing.tolist() == [0]


def test_a_label_twice_in_a_chain_counts_twice():
    twice, once = "(S (NP (NP (N a) (N b))) (V c))", "(S (NP (N a) (N b)) (V c))"
    assert counts(twice, once) == (2, 1, 1)
    assert counts(once, twice) == (1, 2, 1)
    assert counts(twice, twice) == (2, 2, 2)
    thrice = "(S (NP (NP (NP (N a) (N b)))) (V c))"
    assert counts(twice, thrice) == (2, 3, 2)


def test_order_in_a_chain_does_not_matter():
    # As in EVALB: constituents are compared as a collection
    assert counts("(S (A (B (N a))) (V c))", "(S (B (A (N a))) (V c))") == (2, 2, 2)


def test_only_the_top_node_is_the_root():
    true, pred = "(S (S (N a) (V b)) (V c))", "(S (X (N a) (V b)) (V c))"
    assert counts(true, true) == (1, 1, 1)
    assert counts(true, pred) == (1, 1, 0)
    assert counts(true, true, replace(PAPERS, delete_root=False)) == (2, 2, 2)
    assert counts(true, true, BracketOptions(delete_root=False, delete_labels={"S"})) == (0, 0, 0)


def test_deleted_punctuation_moves_positions():
    true = "(TOP (S (NP (N a) (, ,)) (VP (V b) (NP (N c))) (. .)))"
    pred = "(TOP (S (NP (N a)) (, ,) (VP (V b) (NP (N c)) (. .))))"
    # All words: NP(0,2) VP(2,4) NP(3,4) S(0,5) against NP(0,1) VP(2,5) NP(3,4) S(0,5)
    assert counts(true, pred) == (4, 4, 2)
    # Without , and . both are NP(0,1) VP(1,3) NP(2,3) S(0,3)
    scores = bracket_scores([true], [pred], options=COLLINS)
    assert scores.totals == (4, 4, 4)
    assert (scores.exact, scores.words.tolist()) == (1, [3])


def test_phrases_of_punctuation_vanish():
    true = "(TOP (S (PRN (, ,) (: -)) (N a)))"
    assert counts(true, true) == (2, 2, 2)
    assert counts(true, true, COLLINS) == (1, 1, 1)


def test_the_true_tags_say_what_is_deleted():
    true, pred = "(TOP (S (N a) (, ,) (NP (N b))))", "(TOP (S (N a) (NP (N ,) (N b))))"
    assert counts(true, pred, COLLINS) == (2, 2, 2)
    true, pred = "(TOP (S (N a) (N ,) (NP (N b))))", "(TOP (S (N a) (, ,) (NP (N b))))"
    scores = bracket_scores([true], [pred], options=COLLINS)
    assert scores.totals == (2, 2, 2)
    assert (scores.words.tolist(), scores.right_tags.tolist()) == ([3], [2])


def test_collins():
    true = "(TOP (S (NP-SBJ (N he)) (VP (V gave) (PRT (RP up)))))"
    pred = "(S (NP=1 (N he)) (VP (V gave) (ADVP (RB up))))"
    scores = bracket_scores([true], [pred], options=COLLINS)
    assert scores.totals == (4, 4, 4)
    assert scores.tag_accuracy == pytest.approx(2 / 3)
    assert counts(true, pred) == (4, 3, 1)  # S and the rest: only VP is the same without these conventions


def test_equal_labels_hold_for_tags_too():
    scores = bracket_scores(["(S (PRT up) (N a))"], ["(S (ADVP up) (N b))".replace("b", "a")], options=COLLINS)
    assert scores.tag_accuracy == 1


def test_failures_miss_everything():
    scores = bracket_scores([NOUN, VERB, VERB], [None, VERB, NOUN])
    assert (scores.n_sentences, scores.n_failed, scores.n_skipped) == (3, 1, 0)
    assert scores.gold.tolist() == [5, 5, 5]
    assert scores.predicted.tolist() == [0, 5, 5]
    assert scores.matched.tolist() == [0, 5, 4]
    assert scores.f1 == 2 * 9 / 25
    assert (scores.recall, scores.precision) == (0.6, 0.9)
    assert scores.exact == pytest.approx(1 / 3)
    assert (scores.mean_crossing, scores.no_crossing) == (0, 1)  # of the two that have a tree
    assert scores.tag_accuracy == pytest.approx(2 / 3)


def test_a_failure_is_never_exact():
    scores = bracket_scores(["(S (N a))"], [None])
    assert (scores.totals, scores.exact, scores.f1) == ((0, 0, 0), 0, 1)


def test_without_constituents_the_bootstrap_agrees():
    found = bootstrap_metric(["(N a)", "(N b)"], ["(N a)", "(N b)"], "bracket_f1", n_resamples=10)
    assert (found.estimate, found.low, found.high) == (1, 1, 1)


def test_failures_are_skipped_as_evalb_does():
    scores = bracket_scores([NOUN, VERB], [None, VERB], options=COLLINS)
    assert (scores.n_sentences, scores.n_failed, scores.n_skipped, scores.f1) == (1, 1, 1, 1)
    assert scores.index.tolist() == [1]


def test_long_sentences_are_skipped():
    trace = "(TOP (S (NP (-NONE- *)) (VP (V go) (N home))))"
    for length, index in ((5, [0, 1]), (4, [1]), (2, [1]), (1, [])):
        scores = bracket_scores([NOUN, trace], [VERB, trace], options=replace(PAPERS, max_length=length))
        assert scores.index.tolist() == index
        assert scores.n_skipped == 2 - len(index)


def test_nothing_to_score():
    scores = bracket_scores([], [])
    assert np.isnan([scores.f1, scores.precision, scores.recall]).all()
    assert (scores.exact, scores.mean_crossing) == (0, 0)


def test_f1_of_one_pair():
    assert bracket_f1(NOUN, VERB) == 0.8
    assert bracket_f1(NOUN, NOUN) == 1
    assert bracket_f1("(N a)", "(N a)") == 1  # neither has constituents
    assert bracket_f1("(S (N a))", "(N a)") == 1
    assert bracket_f1("(S (X (N a)))", "(S (N a))") == 0
    assert bracket_f1("(S (N a) (X (N b)))", "(S (X (N a)) (N b))") == 0


def test_errors_name_the_sentence():
    with pytest.raises(InputError, match=r"Y_pred\[1\] and Y_true\[1\].*word 1 is 'sow' and 'saw'"):
        bracket_scores([NOUN, NOUN], [NOUN, NOUN.replace("saw", "sow")])
    with pytest.raises(InputError, match=r"Y_pred\[0\] has 1 words but Y_true\[0\] has 5"):
        bracket_scores([NOUN], ["(N she)"])
    with pytest.raises(InputError, match=r"Y_true\[0\] is None \(unlabeled\)"):
        bracket_scores([None], [NOUN])
    with pytest.raises(InputError, match=r"Y_pred\[0\] is 3; expected nested lists"):
        bracket_scores([NOUN], [3])
    with pytest.raises(InputError, match="Y_pred has 1 trees but Y_true has 2"):
        bracket_scores([NOUN, NOUN], [NOUN])


def test_report():
    text = bracket_scores([NOUN, NOUN], [VERB, NOUN]).to_text()
    assert "2 sentences (0 skipped, 0 without a tree); constituents: 10 true, 10 predicted, 9 matched" in text
    assert "Bracketing F1        =  90.00" in text
    assert "Complete match       =  50.00" in text


def test_paired_bootstrap():
    true, other = [NOUN] * 40, [VERB] * 40
    better = [NOUN if i % 4 else VERB for i in range(40)]
    found = bootstrap_metric(true, better, "bracket_f1", y_other=other)
    assert found.estimate == pytest.approx(0.15)
    assert 0.1 < found.low < 0.15 < found.high <= 0.2
    table = bracket_statistics(true, [None, *better[1:]])
    assert table.shape == (40, 3)
    assert table[0].tolist() == [5, 0, 0]
    assert corpus_bracket_f1(true, better) == pytest.approx(2 * np.sum(bracket_statistics(true, better)[:, 2]) / 400)


# ------------------------------------------------------------------------------- EVALB's own way, written out plainly
DELETED = {"TOP", "-NONE-", ",", ":", "``", "''", "."}


def evalb(true, pred):
    """Matched, true, predicted, crossing of two trees whose tags agree: loops over pairs, marks what is used up."""
    sides = []
    for tree in (true, pred):
        found = []

        def walk(node, position, found=found):
            if isinstance(node[1], str):
                return position + (node[0] not in DELETED)
            entry = [node[0].split("-")[0].split("=")[0], position, None]
            found.append(entry)
            for child in node[1:]:
                position = walk(child, position)
            entry[2] = position
            return position

        walk(tree, 0)
        sides.append([tuple(c) for c in found if c[1] < c[2] and c[0] not in DELETED])
    gold, test = sides
    used = [False] * len(test)
    matched = 0
    for g in gold:
        for j, t in enumerate(test):
            same = g[0] == t[0] or {g[0], t[0]} == {"ADVP", "PRT"}
            if not used[j] and g[1:] == t[1:] and same:
                used[j] = True
                matched += 1
                break
    crossing = sum(any(g[1] < t[1] < g[2] < t[2] or t[1] < g[1] < t[2] < g[2] for g in gold) for t in test)
    return matched, len(gold), len(test), crossing


def random_tree(rng, tags, labels):
    """A random tree over the words w0, w1, ... with these tags."""
    nodes = [[tag, f"w{k}"] for k, tag in enumerate(tags)]
    while len(nodes) > 1 or rng.random() < 0.3:
        start = int(rng.integers(len(nodes)))
        end = int(min(len(nodes), start + rng.integers(1, 4)))
        nodes[start:end] = [[str(rng.choice(labels)), *nodes[start:end]]]
    return ["TOP", *nodes]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_random_trees_score_as_evalb_does(seed, n_words):
    rng = np.random.default_rng(seed)
    tags = [str(tag) for tag in rng.choice(["N", "V", ",", "."], n_words)]
    labels = ["NP", "NP-SBJ", "ADVP", "PRT=1", "TOP"]
    true, pred = (random_tree(rng, tags, labels) for _ in range(2))
    scores = bracket_scores([true], [pred], options=COLLINS)
    found = tuple(int(a[0]) for a in (scores.matched, scores.gold, scores.predicted, scores.crossing))
    assert found == evalb(true, pred)
    matched, gold, predicted, _ = found
    assert scores.exact == (matched == gold == predicted)
    assert scores.tag_accuracy == (any(tag not in DELETED for tag in tags))
