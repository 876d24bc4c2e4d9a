"""Covariate shift as an experiment: what is drawn, and that every method runs."""

import numpy as np
import pytest

from accord.evaluation import Task
from accord.experiments import REGISTRY
from accord.experiments import covariate_shift as shift

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2)) * [3.0, 1.0]


def test_training_examples_are_from_one_end_and_ratios_make_up_for_it():
    source = shift.Numbers(X, X.sum(axis=1), "linear", n_train=80)
    sample = source.draw(np.random.default_rng(1))
    parts = [sample.train, sample.bound, sample.new, sample.test]
    assert np.unique(np.concatenate(parts)).size == sum(part.size for part in parts)
    place = X[:, 0] - X[:, 0].mean()
    weighted = np.average(place[sample.train], weights=sample.ratio)
    assert abs(place[sample.train].mean()) > 0.8
    assert abs(weighted) < 0.5 * abs(place[sample.train].mean())


def test_most_posts_about_a_subject_are_of_one_group():
    leaves = np.array(["rec.autos", "rec.sport", "sci.med", "sci.space", "misc.sale"] * 60)
    subjects = [leaf.split(".")[0] for leaf in leaves]
    source = shift.Posts(["text"] * 300, subjects, leaves, np.arange(300) >= 200, False, n_train=60)
    sample = source.draw(np.random.default_rng(0))
    for subject in ("rec", "sci"):
        own = sample.train[[subjects[i] == subject for i in sample.train]]
        counts = np.unique(leaves[own], return_counts=True)[1]
        assert counts.max() > 0.7 * own.size
    later = shift.Posts(["text"] * 300, subjects, leaves, np.arange(300) >= 200, True, n_train=60)
    sample = later.draw(np.random.default_rng(0))
    assert sample.train.max() < 200 <= min(sample.new.min(initial=300), sample.test.min(initial=300))


@pytest.mark.parametrize("method", shift.METHODS)
def test_every_method_gives_an_error(method):
    experiment = REGISTRY["covariate-shift"]
    loaded = {"abalone, linear": shift.Numbers(X, X.sum(axis=1), "linear", n_train=40)}
    found = experiment.run_task(Task(experiment.name, method, {"data": "abalone, linear"}, 0), loaded)
    assert 0.0 <= found["error"] < 0.1
    assert ("effective" in found) == (method in (shift.RATIO, shift.AUTO))
