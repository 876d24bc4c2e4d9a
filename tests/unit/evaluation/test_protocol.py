"""Draws and folds: disjoint, covering, nested, seeded; and the distribution of the rejection draw."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from row_tables import each_row
from scipy import sparse, stats

from accord.evaluation import draw, folds, per_class_folds
from accord.evaluation.protocol import take
from accord.exceptions import InputError

SENTENCES = [["O", "A"], ["O"], ["O", "B"], ["O"], ["C"], ["O", "A", "B"], ["O"], ["O", "C"], ["O"], ["O"]]


def labels_in(Y, rows):
    return {label for i in rows for label in Y[i]}


def test_parts_are_disjoint_and_have_every_label():
    for seed in range(50):
        parts = draw(SENTENCES, 4, 3, 2, seed)
        rows = np.concatenate([parts.labeled, parts.unlabeled, parts.holdout])
        assert [len(p) for p in (parts.labeled, parts.unlabeled, parts.holdout)] == [4, 3, 2]
        assert len(set(rows)) == 9
        assert labels_in(SENTENCES, parts.labeled) == {"O", "A", "B", "C"}
        assert not parts.repaired


def test_rejection_gives_the_uniform_distribution_over_covering_sets():
    Y = ["a", "a", "a", "b", "b"]
    counts = Counter(tuple(sorted(draw(Y, 2, rng=seed).labeled)) for seed in range(1800))
    assert set(counts) == {(i, j) for i in range(3) for j in (3, 4)}
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_more_unlabeled_examples_only_add():
    small, large = draw(SENTENCES, 3, 1, 2, rng=5), draw(SENTENCES, 3, 4, 2, rng=5)
    np.testing.assert_array_equal(small.labeled, large.labeled)
    np.testing.assert_array_equal(small.holdout, large.holdout)
    np.testing.assert_array_equal(small.unlabeled, large.unlabeled[:1])


def test_repair_finds_rare_labels_and_says_so():
    Y = [["O"]] * 4000 + [["A"], ["B"], ["C"]]
    parts = draw(Y, 4, rng=0, max_tries=20)
    assert parts.repaired
    assert parts.n_tries == 21
    assert labels_in(Y, parts.labeled) == {"O", "A", "B", "C"}
    assert len(set(parts.labeled)) == 4


def test_impossible_draw_names_the_missing_labels():
    with pytest.raises(
        InputError, match=r"n_labeled=1: found no 1 examples .* all 2 labels; the best draw lacked '[ab]'"
    ):
        draw(["a", "b", "a"], 1, rng=0)
    assert len(draw(["a", "b", "a"], 1, rng=0, every_label=False).labeled) == 1


def test_unlabeled_pool_examples_are_never_labeled_or_held_out():
    Y = [["a"], None, ["b"], None, ["a"], float("nan"), ["b"]]
    for seed in range(20):
        parts = draw(Y, 2, 4, 1, seed)
        assert all(isinstance(Y[i], list) for i in [*parts.labeled, *parts.holdout])
        assert {1, 3, 5} <= set(parts.unlabeled)


def test_labels_of_other_structures():
    trees = [("S", "NP"), ("S", "VP"), ("S",)]
    parts = draw(trees, 2, rng=0, labels_of=lambda tree: tree[1:])
    assert set(parts.labeled) == {0, 1}


def test_training_and_test_data():
    parts = draw(SENTENCES, 3, 2, 2, rng=0)
    X = np.arange(10)[:, None]
    inputs, outputs = parts.training(X, SENTENCES)
    assert outputs[3:] == [None, None]
    assert [SENTENCES[i] for i in inputs[:3, 0]] == outputs[:3]
    test_inputs, test_outputs = parts.test(X.tolist(), SENTENCES)
    assert [SENTENCES[i] for (i,) in test_inputs] == test_outputs


@each_row(
    ("sizes", "message"),
    [
        ((5, 5, 5), r"n_labeled \+ n_unlabeled \+ n_holdout = 15 but Y has 10"),
        ((6, 0, 5), r"n_labeled \+ n_holdout = 11 but only 10 of the 10"),
        ((-1, 0, 0), "n_labeled must not be negative"),
    ],
)
def test_bad_sizes(sizes, message):
    with pytest.raises(InputError, match=message):
        draw(SENTENCES, *sizes, rng=0)


def test_folds_partition_the_examples():
    splits = folds(11, 3, rng=0)
    assert sorted(i for f in splits for i in f.test) == list(range(11))
    assert sorted(len(f.test) for f in splits) == [3, 4, 4]
    for f in splits:
        assert sorted([*f.train, *f.test]) == list(range(11))
    for one, two in zip(splits, folds(11, 3, rng=0, inverse=True)):
        np.testing.assert_array_equal(one.train, two.test)
    with pytest.raises(InputError, match="n_folds must lie between 2 and the number of examples, 3"):
        folds(3, 4)


def test_per_class_folds():
    y = ["a"] * 9 + ["b"] * 3 + ["c"]
    splits = per_class_folds(y, n_per_class=2, n_folds=3, rng=0)
    for f in splits:
        assert Counter(y[i] for i in f.train) == {"a": 2, "b": 2, "c": 1}
        assert sorted([*f.train, *f.test]) == list(range(13))
    used = [i for f in splits for i in f.train if y[i] == "a"]
    assert len(set(used)) == 6  # disjoint while the class has examples enough
    dropped = per_class_folds(y, n_per_class=2, n_folds=3, rng=0, small="drop")
    assert {y[i] for f in dropped for i in [*f.train, *f.test]} == {"a", "b"}
    with pytest.raises(InputError, match="no class of y has more than n_per_class=9"):
        per_class_folds(y, 9, 2, small="drop")


def test_take_from_every_container():
    rows = np.array([2, 0])
    dense = np.arange(6).reshape(3, 2)
    assert take(["a", "b", "c"], rows) == ["c", "a"]
    np.testing.assert_array_equal(take(dense, rows), dense[rows])
    np.testing.assert_array_equal(take(sparse.csr_matrix(dense), rows).toarray(), dense[rows])
    np.testing.assert_array_equal(take(pd.DataFrame(dense), rows).to_numpy(), dense[rows])
