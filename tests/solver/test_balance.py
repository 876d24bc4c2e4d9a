"""Constants that keep predicted labels in proportion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.solvers.balance import balancing_bias


def frequencies(seed, n_labels):
    """Wanted ones, those of predictions without constants, and those with balancing ones."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(2000, n_labels)) + rng.normal(scale=2.0, size=n_labels)
    wanted = rng.dirichlet(np.full(n_labels, 5.0))

    def counts(bias):
        return np.bincount(np.argmax(scores + bias, axis=1), minlength=n_labels).astype(float)

    start = np.zeros(n_labels)
    bias = balancing_bias(counts, wanted, float(np.median(np.ptp(scores, axis=1))), start)
    return wanted, counts(start) / 2000, counts(bias) / 2000


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_predicted_frequencies_never_get_further_from_the_wanted_ones(seed, n_labels):
    wanted, before, after = frequencies(seed, n_labels)

    def distance(found):
        counts = 2000 * found + 0.5
        return np.sum(wanted * np.abs(np.log(wanted) - np.log(counts / counts.sum())))

    assert distance(after) <= distance(before)


@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_predicted_frequencies_come_close_to_the_wanted_ones(n_labels):
    """A fixed number of damped steps: close in nearly all draws, not in every one."""
    draws = [frequencies(seed, n_labels) for seed in range(50)]
    assert np.median([np.abs(before - wanted).sum() for wanted, before, _ in draws]) > 0.5
    assert np.quantile([np.abs(after - wanted).sum() for wanted, _, after in draws], 0.9) < 0.03


def test_balanced_predictions_are_left_alone():
    wanted = np.array([0.5, 0.5])
    assert np.array_equal(balancing_bias(lambda bias: np.array([50.0, 50.0]), wanted, 1.0, np.zeros(2)), np.zeros(2))
