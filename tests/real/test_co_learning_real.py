"""The co-learning experiments in their quick version, and their data. Needs a local data folder; set ACCORD_DATA."""

from collections import Counter

import numpy as np
import pytest

from accord.datasets import load
from accord.experiments import consensus_classes as classes
from accord.experiments.base import mean_of

pytestmark = pytest.mark.slow


def test_sequences(quick_run):
    results, report = quick_run("co-learning-sequences")
    assert "(published)" in report
    assert "co-perceptron minus perceptron" in report
    assert "coSVM minus SVM" in report
    for method in results.methods:
        assert 0.0 < mean_of(results, method, "token_error") < 0.3, method


def test_splits(quick_run):
    results, report = quick_run("co-learning-splits")
    assert "coSVM, odd/even minus coSVM, token/surface" in report
    for method in results.methods:
        assert 0.0 < mean_of(results, method, "token_error") < 0.3, method


def test_classes(quick_run):
    results, report = quick_run("co-learning-classes")
    assert "coSVM, 0.1 minus self-training" in report
    errors = {method: mean_of(results, method, "zero_one_loss") for method in results.methods}
    assert errors["SVM"] < 0.2  # always "other" errs on 22 %
    assert errors["coSVM, 0.1, balanced"] < errors["SVM"]


def test_time(quick_run):
    results, report = quick_run("co-learning-time")
    assert "grows as m to the power of" in report
    for method in results.methods:
        assert all(mean_of(results, method, "train_seconds", n_unlabeled=m) > 0.0 for m in (50, 200)), method
    assert mean_of(results, "coSVM", "passes") == 20


@pytest.mark.parametrize(
    ("name", "n", "n_words", "n_second", "n_classes"),
    [
        ("webkb_course", 1051, 8224, 1813, 2),
        ("citation_cora", 2708, 1433, 2708, 7),
        ("citation_citeseer", 3312, 3703, 3327, 6),
        ("cora_big", 11694, 9568, 11881, 10),
    ],
)
def test_pools_of_two_views(data_dir, name, n, n_words, n_second, n_classes):
    pool = classes.load_pool(name, data_dir)
    assert pool.X.shape == (n, n_words + n_second)
    assert (pool.n_first, len(set(pool.Y))) == (n_words, n_classes)
    for part in (pool.X[:, :n_words], pool.X[:, n_words:]):
        lengths = np.sqrt(np.asarray(part.power(2).sum(axis=1))).ravel()
        assert np.all((np.abs(lengths - 1) < 1e-9) | (lengths == 0))
        assert np.mean(lengths > 0) > 0.95
    parts = classes.draw_examples(pool.Y, classes.SETS[name], 0)
    assert {pool.Y[i] for i in parts.labeled} == set(pool.Y)
    assert len(parts.holdout) == classes.SETS[name].n_holdout
    assert len({*parts.labeled, *parts.unlabeled, *parts.holdout}) == sum(
        map(len, (parts.labeled, parts.unlabeled, parts.holdout))
    )


def test_classes_of_the_two_view_sets(data_dir):
    assert Counter(load("webkb_course", data_dir).Y) == {"course": 230, "other": 821}
    cora = Counter(load("citation_cora", data_dir).Y)
    assert (cora["Theory"], cora["Neural_Networks"], cora["Rule_Learning"]) == (351, 818, 180)
    citeseer = Counter(load("citation_citeseer", data_dir).Y)
    assert (citeseer["AI"], citeseer["DB"], citeseer[None]) == (249, 701, 15)
