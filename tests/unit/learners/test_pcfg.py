"""Probabilistic grammars: relative counts by hand, and inside-outside, which never lowers the likelihood."""

import math
import warnings
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from row_tables import each_row

from accord import PCFG, InputError, Sequence, Tree, load
from accord.datasets import grammar_sentences
from accord.datasets.trees import leaves, tags
from accord.exceptions import NoParseWarning

X, Y = grammar_sentences(36, max_depth=6, random_state=0)
X_NEW, Y_NEW = grammar_sentences(12, max_depth=6, random_state=1)
HALF = [y if i < 12 else None for i, y in enumerate(Y)]

# by hand: S -> NP VP three times; NP -> D N twice, the chain NP+N once; VP -> V NP once, the chain VP+V twice
TREES = [
    "(S (NP (D the) (N dog)) (VP (V saw) (NP (N Rome))))",
    "(S (NP (D the) (N saw)) (VP (V fell)))",
    "(S (NP (D a) (N dog)) (VP (V fell)))",
]


def words(tree):
    from accord.datasets.trees import as_tree

    return leaves(as_tree(tree))


def rules_of(model):
    g = model.structure_.grammar_
    rule, _, start, _ = model.structure_.split_transitions(model.weights_.transitions)
    found = {g.rule_name(p): math.exp(rule[p]) for p in range(len(g.rules))}
    return found, {str(g.symbols[s]): math.exp(start[s]) for s in np.flatnonzero(g.start_counts)}


def emissions_of(model):
    lexicon, names = model.structure_.lexicon_, model.structure_.grammar_.tags
    found = {}
    for w, word in enumerate(lexicon.terminals):
        for entry in range(lexicon.ptr[w], lexicon.ptr[w + 1]):
            found[names[lexicon.tag[entry]], word] = math.exp(model.emissions_[entry])
    return found


# -- maximum likelihood -------------------------------------------------------------------------------------------
def test_probabilities_are_relative_counts():
    model = PCFG(Tree(rare=0), smoothing=0).fit([words(tree) for tree in TREES], TREES)
    rules, starts = rules_of(model)
    assert starts == {"S": pytest.approx(1.0)}
    assert rules == {
        "S -> NP VP": pytest.approx(1 / 3),
        "S -> NP VP+V": pytest.approx(2 / 3),
        "NP -> D N": pytest.approx(1.0),
        "VP -> V NP+N": pytest.approx(1.0),
    }
    emissions = {key: p for key, p in emissions_of(model).items() if not key[1].startswith("\t") and p > 1e-9}
    assert emissions == {
        ("D", "the"): pytest.approx(2 / 3),
        ("D", "a"): pytest.approx(1 / 3),
        ("N", "dog"): pytest.approx(1 / 2),
        ("N", "saw"): pytest.approx(1 / 4),
        ("N", "Rome"): pytest.approx(1 / 4),
        ("V", "saw"): pytest.approx(1 / 3),
        ("V", "fell"): pytest.approx(2 / 3),
    }


def test_without_pseudo_counts_what_was_never_counted_is_impossible(tmp_path):
    """Rules and tops of the treebank beside the labeled trees, unknown words, and trees of weight 0; saved and all."""
    more = [*TREES, "(S (NP (N Rome)) (VP (V fell)))", "(NP (D the) (N dog))"]
    sentences = [words(tree) for tree in more]
    model = PCFG(Tree(rare=0, grammar=more), smoothing=0)
    model.fit(sentences[:4], more[:4], sample_weight=[1, 1, 1, 0])
    model.save(tmp_path / "m.accord")
    for fitted in (model, load(tmp_path / "m.accord")):
        assert fitted.log_probability(sentences[:3]).tolist() == pytest.approx(
            [math.log(1 / 3 * 2 / 3 * 1 / 2 * 1 / 3 * 1 / 4), math.log(2 / 3 * 2 / 3 * 1 / 4 * 2 / 3),
             math.log(2 / 3 * 1 / 3 * 1 / 2 * 2 / 3)]
        )  # fmt: skip
        assert fitted.log_probability([*sentences[3:], ["the", "cat", "fell"]]).tolist() == [-math.inf] * 3
        assert fitted.predict_k_best(sentences[3:4], 2) == [[]]


def test_inside_outside_without_pseudo_counts():
    model = PCFG(Tree(grammar=Y), smoothing=0, unlabeled_weight=1.0, max_iter=4, tol=1e-300).fit(X, HALF)
    assert np.all(np.isfinite(model.log_likelihood_))
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(model.log_likelihood_))


def test_pseudo_counts():
    model = PCFG(Tree(rare=0), smoothing=0.5).fit([words(tree) for tree in TREES], TREES)
    rules, _ = rules_of(model)
    assert rules["S -> NP VP"] == pytest.approx(1.5 / 4)
    assert rules["S -> NP VP+V"] == pytest.approx(2.5 / 4)


def test_probabilities_of_every_parent_and_tag_add_up_to_one():
    model = PCFG(Tree(rare=1)).fit(X, Y)
    rules, starts = rules_of(model)
    for parent in {rule.split(" -> ")[0] for rule in rules}:
        assert sum(p for rule, p in rules.items() if rule.startswith(f"{parent} -> ")) == pytest.approx(1.0)
    assert sum(starts.values()) == pytest.approx(1.0)
    emissions = emissions_of(model)
    for tag in model.structure_.grammar_.tags:
        assert sum(p for (t, _), p in emissions.items() if t == tag) == pytest.approx(1.0)


def test_of_a_generated_treebank_the_rules_are_found_again():
    """The default grammar draws NP -> DT NN twice as often as NP -> DT JJ NN."""
    _, trees = grammar_sentences(1000, random_state=0)
    model = PCFG(Tree(terminals="tags", horizontal=0)).fit([tags(tree) for tree in trees], trees)
    rules, _ = rules_of(model)
    assert rules["NP -> DT NN"] / rules["NP -> DT @NP|"] == pytest.approx(2.0, rel=0.1)


def test_log_probability_is_that_of_all_trees():
    model = PCFG(Tree()).fit(X, Y)
    found = model.log_probability([*X_NEW, []])
    for x, value, trees in zip(X_NEW, found, model.predict_k_best(X_NEW, 500)):
        assert len(trees) < 500, x
        expected = np.logaddexp.reduce([score for _, score in trees]) if trees else -math.inf
        assert value == pytest.approx(expected, rel=1e-10)
    assert found[:-1].max() < 0


def test_given_tags_have_no_emissions():
    model = PCFG(Tree(terminals="tags")).fit([tags(y) for y in Y], Y)
    assert not model.emissions_.any()
    (trees,) = model.predict_k_best([["DT", "NN", "VBD"]], 2)
    rules, _ = rules_of(model)
    assert trees[0][1] == pytest.approx(math.log(rules["S -> NP VP+VBD"] * rules["NP -> DT NN"]))


def test_span_features_are_not_used():
    a, b = (PCFG(Tree(span_features=kind)).fit(X, Y) for kind in ("label", None))
    assert np.array_equal(a.weights_.flat(), b.weights_.flat())
    assert a.structure.span_features == "label"  # the constructor's structure stays as it is


# -- inside-outside -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("terminals", "weight"), [("words", 0.1), ("words", 3.0), ("tags", 1.0)])
def test_the_likelihood_never_falls(terminals, weight):
    given = X if terminals == "words" else [tags(y) for y in Y]
    model = PCFG(Tree(terminals=terminals, grammar=Y), unlabeled_weight=weight, max_iter=8, tol=1e-300).fit(given, HALF)
    values = model.log_likelihood_
    assert len(values) > 3
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(values))
    assert values[-1] > values[0]


def test_a_step_is_expected_counts():
    """One step by hand: counts of labeled trees plus, for each tree of an unlabeled sentence, its probability."""
    trees = ["(S (A x) (B x))", "(S (A x) (C (A x) (B x)))", "(S (C (A x) (B x)) (B x))", "(S (A x) (C (A x) (B x)))"]
    given, weight = [words(tree) for tree in trees], 0.5
    first = PCFG(Tree(rare=0), smoothing=1e-9).fit(given, trees)
    listed = first.predict_k_best([["x", "x", "x"]], 10)[0]
    total = sum(math.exp(score) for _, score in listed)
    expected = Counter()
    for tree in trees:
        expected.update(_rules(tree))
    for tree, score in listed:
        for rule in _rules(tree):
            expected[rule] += weight * math.exp(score) / total
    again = PCFG(Tree(rare=0), smoothing=1e-9, unlabeled_weight=weight, max_iter=1)
    again.fit([*given, ["x"] * 3], [*trees, None])
    rules, _ = rules_of(again)
    for parent in ("S", "C"):
        mass = sum(n for rule, n in expected.items() if rule.startswith(f"{parent} "))
        for rule, p in rules.items():
            if rule.startswith(f"{parent} "):
                assert p == pytest.approx(expected[rule] / mass, rel=1e-6)


def _rules(tree):
    from accord.datasets.trees import as_tree, is_preterminal

    found, waiting = [], [as_tree(tree)]
    while waiting:
        node = waiting.pop()
        if not is_preterminal(node):
            found.append(f"{node[0]} -> {node[1][0]} {node[2][0]}")
            waiting += node[1:]
    return found


def test_weight_zero_is_supervised():
    a = PCFG(Tree(grammar=Y), unlabeled_weight=0.0).fit(X, HALF)
    b = PCFG(Tree(grammar=Y)).fit(X[:12], Y[:12])
    assert np.array_equal(a.weights_.transitions, b.weights_.transitions)
    assert np.array_equal(a.emissions_, b.emissions_)
    assert a.log_likelihood_ == b.log_likelihood_ == []
    assert len(a.transduction_) == 24
    assert b.transduction_ == []


def test_auto_compares_weights_on_held_out_trees():
    model = PCFG(Tree(grammar=Y), random_state=0).fit(X, HALF)
    report = model.auto_report_
    assert [entry["unlabeled_weight"] for entry in report] == [0.0, 0.1, 1.0]
    assert [entry["candidate"] for entry in report] == ["PCFG", "inside-outside", "inside-outside"]
    assert all(len(entry["fold_errors"]) == 4 for entry in report)
    (chosen,) = [entry for entry in report if entry["chosen"]]
    assert chosen["why"]
    assert model.unlabeled_weight_ == chosen["unlabeled_weight"]
    assert PCFG(Tree(), unlabeled_weight=0.1).fit(X, Y).auto_report_ is None
    assert PCFG(Tree()).fit(X, Y).unlabeled_weight_ == 0.0


def test_threads_change_nothing():
    models = [PCFG(Tree(grammar=Y), unlabeled_weight=1.0, max_iter=3, n_jobs=n_jobs).fit(X, HALF) for n_jobs in (1, 2)]
    assert np.array_equal(models[0].weights_.flat(), models[1].weights_.flat())
    assert np.array_equal(models[0].emissions_, models[1].emissions_)


def test_unlabeled_sentences_without_a_parse_do_not_count():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoParseWarning)
        a = PCFG(Tree(), unlabeled_weight=1.0, max_iter=3).fit([*X, ["slept", "slept", "near"], []], [*Y, None, None])
    b = PCFG(Tree()).fit(X, Y)
    np.testing.assert_allclose(a.weights_.flat(), b.weights_.flat(), atol=1e-12)


# -- parameters ---------------------------------------------------------------------------------------------------
@each_row(
    ("options", "message"),
    [
        ({"structure": Sequence()}, r"structure is Sequence\(\), but PCFG needs trees of a grammar"),
        ({"smoothing": -0.1}, r"smoothing is -0.1; expected a number, 0 or more"),
        ({"unlabeled_weight": -0.5}, r"unlabeled_weight is -0.5; expected a number, 0 or more, or \"auto\""),
        ({"unlabeled_weight": "much"}, r"unlabeled_weight is 'much'"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(InputError, match=message):
        PCFG(**options).fit(X, Y)
