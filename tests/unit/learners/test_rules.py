"""Rules beside labels: what they match, how much they are trusted, and what taggers and classifiers make of them."""

import itertools
import pickle
import re

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import clone

import accord
from accord import Classifier, InputError, Rules, Tagger
from accord.learners.rule_classes import agreement, classes_by_rules
from accord.learners.rule_labels import labels_by_rules, scheme_of, written

NAMES = {"PER": ["Ana", "Tom", "Eva", "Ida", "Leo"], "LOC": ["Rome", "Oslo", "New York", "Bonn", "Turin"]}
OTHERS = {"PER": ["Bob", "Mia", "Kim"], "LOC": ["Paris", "Kyiv", "Lima"]}
MANY = {
    "PER": [*NAMES["PER"], *OTHERS["PER"], "Max", "Ines", "Pia", "Otto"],
    "LOC": [*NAMES["LOC"], *OTHERS["LOC"], "Riga", "Malmo", "Porto", "Graz"],
}
FORMS = ["{p} lives in {l} .", "yesterday {p} left {l} again .", "we saw {p} and {l} there .", "{l} and {p} were seen"]


def sentences(names, seed, n=60):
    """Sentences of a few forms with names, and their labels."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        x, y = [], []
        for word in str(rng.choice(FORMS)).split():
            kind = {"{p}": "PER", "{l}": "LOC"}.get(word)
            parts = [word] if kind is None else str(rng.choice(names[kind])).split()
            x += parts
            y += ["O"] * len(parts) if kind is None else written(kind, len(parts), "iob2")
        X.append(x)
        Y.append(y)
    return X, Y


# -- what rules match -------------------------------------------------------------------------------------------------


def plain_matches(tokens, phrases):
    """Every phrase at every place, the longest at a place, then from left to right without overlaps."""
    found, free = [], 0
    for i in range(len(tokens)):
        lengths = [len(p) for p in phrases if tokens[i : i + len(p)] == list(p)]
        if lengths and i >= free:
            free = i + max(lengths)
            found.append((i, free))
    return found


def test_word_lists_match_as_the_obvious_search_does():
    phrases = [("a",), ("a", "b"), ("b", "c", "a"), ("c", "c")]
    rules = Rules({"X": [" ".join(p) for p in phrases]})
    for tokens in itertools.product("abc", repeat=5):
        assert [m[:2] for m in rules.matches(tokens)[0]] == plain_matches(list(tokens), phrases)


def test_expressions_files_and_functions(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text("Rome\n\nNew York\n")

    def shouts(tokens):
        return ["X" if token.isupper() else None for token in tokens]

    rules = Rules([f"{path}:LOC", "regex:[0-9]+( [0-9]+)*:NUM", (path, "GPE"), shouts, lambda x: [(0, 2, "Y")]])
    found = rules.matches(["New", "York", "A1", "23", "45"])
    assert [[tuple(m) for m in one] for one in found] == [
        [(0, 2, "LOC")], [(3, 5, "NUM")], [(0, 2, "GPE")], [(2, 3, "X")], [(0, 2, "Y")],
    ]  # fmt: skip
    assert len({rule.name for rule in rules.rules_}) == 5
    assert Rules({"a": ["Good"], "b": re.compile("x+")}).classes("so GOOD, xx") == ["a", "b"]
    again = pickle.loads(pickle.dumps(Rules({"LOC": ["Rome"]})))
    assert again.matches(["Rome"]) == [[(0, 1, "LOC")]]


@each_row(
    ("rules", "message"),
    [
        ([], "rules is empty"),
        ({"LOC": []}, "has no words"),
        ({"LOC": "no such file"}, "no such file"),
        ({"LOC": [3]}, "has 3"),
        (["LOC"], "expected FILE:LABEL"),
        (["regex:(:LOC"], "no regular expression"),
        ([3], r"rules\[0\] is a int"),
        (3, "rules is a int"),
    ],
)
def test_what_is_no_rule_is_refused(rules, message):
    with pytest.raises(InputError, match=message):
        Rules(rules)


def test_functions_must_return_places():
    with pytest.raises(InputError, match=r"expected \(start, end, label\)"):
        Rules([lambda tokens: [(0, 9, "X")]]).matches(["a"])


@each_row(
    ("labels", "scheme"),
    [
        (set(), "iob2"),
        ({"O", "B-X"}, "iob2"),
        ({"O", "S-X", "B-X"}, "bioes"),
        ({"O", "PER"}, None),
        ({"NN", "V"}, None),
    ],
)
def test_the_scheme_is_that_of_the_labels(labels, scheme):
    assert scheme_of(labels) == scheme


def test_spans_are_written_in_the_scheme():
    assert written("X", 3, "iob2") == ["B-X", "I-X", "I-X"]
    assert written("X", 3, "bioes") == ["B-X", "I-X", "E-X"]
    assert written("X", 1, "bioes") == ["S-X"]
    assert written("X", 2, None) == ["X", "X"]


# -- how much they are trusted ----------------------------------------------------------------------------------------


def test_a_bad_rule_is_dropped_without_any_label():
    X, Y = sentences(MANY, 0)
    bad = ["lives", "in", "left", "saw", "and", ".", "again", "there"]
    rules = Rules([(MANY["PER"], "PER"), (MANY["LOC"], "LOC"), (bad, "LOC")])
    found = labels_by_rules(rules, X, [None] * len(X), set(), np.random.default_rng(0))
    assert [rule.used for rule in found.judged] == [True, True, False]
    assert found.judged[2].precision < 0.3
    known = [(a, b) for y, z in zip(found.outputs, Y) if y is not None for a, b in zip(y, z) if a is not None]
    assert np.mean([a == b for a, b in known]) > 0.95


def test_labels_tell_a_bad_rule():
    X, Y = sentences(NAMES, 0, 40)
    rules = Rules([(NAMES["LOC"], "PER")])  # alone, so that only labels can tell
    unlabeled = labels_by_rules(rules, X, [None] * 40, set(), np.random.default_rng(0))
    assert unlabeled.judged[0].used
    found = labels_by_rules(rules, X, Y[:20] + [None] * 20, {"O", "B-PER", "B-LOC", "I-LOC"}, np.random.default_rng(0))
    assert not found.judged[0].used
    assert found.outputs == [None] * 40


def test_precision_of_rules_that_overlap():
    """Five rules of known precision on random classes: estimates are near, without a label."""
    rng = np.random.default_rng(0)
    truth, precision = rng.integers(3, size=2000), np.array([0.9, 0.8, 0.7, 0.6, 0.15])
    votes = np.full((5, 2000), -1)
    for r, p in enumerate(precision):
        speaks, right = rng.random(2000) < 0.5, rng.random(2000) < p
        votes[r] = np.where(speaks, np.where(right, truth, (truth + rng.integers(1, 3, 2000)) % 3), -1)
    probabilities, found, n_labeled = agreement(votes, np.full(2000, -1), 3)
    np.testing.assert_allclose(found, precision, atol=0.08)
    assert not n_labeled.any()
    spoken = (votes >= 0).any(axis=0)
    assert np.mean(probabilities[spoken].argmax(axis=1) == truth[spoken]) > 0.75
    with_labels = agreement(votes, np.where(rng.random(2000) < 0.5, truth, -1), 3)[1]
    assert np.abs(with_labels - precision).max() < 0.05


def test_a_class_that_nobody_has_is_refused():
    with pytest.raises(InputError, match="which no labeled example has"):
        classes_by_rules(Rules({"z": ["good"]}), ["good"], ["a"], ["a"])


# -- learners ---------------------------------------------------------------------------------------------------------


def test_a_tagger_of_rules_alone_finds_other_names(tmp_path):
    X, _ = sentences({kind: NAMES[kind] + OTHERS[kind] for kind in NAMES}, 1)
    X_new, Y_new = sentences(OTHERS, 2, 20)
    model = clone(Tagger(rules=NAMES, random_state=0)).fit(X, [None] * len(X))
    found = model.predict(X_new)
    assert np.mean([a == b for y, z in zip(found, Y_new) for a, b in zip(y, z)]) > 0.9
    assert "rules: 2 of 2 used" in model.report_[1]
    assert [rule["used"] for rule in model.rule_report_] == [True, True]
    model.save(tmp_path / "m.accord")
    loaded = accord.load(tmp_path / "m.accord")
    assert loaded.predict(X_new) == found
    assert loaded.rules is None
    assert loaded.rule_report_ == model.rule_report_


def test_what_rules_teach_is_there_beside_labels(tmp_path):
    everyone = {kind: NAMES[kind] + OTHERS[kind] for kind in NAMES}
    X, Y = sentences(everyone, 1)
    few = Y[:4] + [None] * (len(Y) - 4)
    X_new, Y_new = sentences(OTHERS, 2, 20)
    model = Tagger(rules=NAMES, random_state=0).fit(X, few)
    assert model.report_[0].startswith("used: rules and type consistency")
    found = model.predict(X_new)
    assert np.mean([a == b for y, z in zip(found, Y_new) for a, b in zip(y, z)]) > 0.9
    assert len(model.transduction_) == len(X) - 4
    model.save(tmp_path / "m.accord")
    assert accord.load(tmp_path / "m.accord").predict(X_new) == found


def test_a_tagger_needs_labels_or_rules_that_match():
    with pytest.raises(InputError, match="no rule that is trusted says anything"):
        Tagger(rules={"PER": ["Zoe"]}).fit([["a", "b"]], [None])
    with pytest.raises(InputError, match="X has no words"):
        Tagger(rules={"PER": ["Zoe"]}).fit([[{"a": 1}]], [None])


def test_a_classifier_learns_from_rules_alone_and_beside_labels(tmp_path):
    rng = np.random.default_rng(0)
    good, bad = ["tasty", "fresh", "warm", "kind"], ["stale", "cold", "rude", "dirty"]
    truth = rng.integers(2, size=40)
    texts = [f"{' '.join(rng.choice((bad, good)[k], 3))} {rng.choice(['food', 'room'])}" for k in truth]
    rules = {"good": ["tasty", "fresh"], "bad": ["stale", "cold"]}
    names = np.array(["bad", "good"])
    alone = Classifier(rules=rules, random_state=0).fit(texts, [None] * 40)
    assert np.mean(alone.predict(["warm kind room", "rude dirty food"] * 4) == ["good", "bad"] * 4) == 1.0
    assert "labeled by rules" in alone.report_[0]
    few = [str(names[k]) if i < 8 else None for i, k in enumerate(truth)]
    both = Classifier(rules=rules, random_state=0).fit(texts, few)
    assert any("rules" in entry["candidate"] for entry in both.auto_report_)
    assert np.mean(both.predict(texts) == names[truth]) > 0.95
    both.save(tmp_path / "m.accord")
    assert accord.load(tmp_path / "m.accord").rule_report_ == both.rule_report_
