"""Constants that keep predicted labels in proportion."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from accord.solvers.balance import balancing_bias


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_predicted_frequencies_come_close_to_the_wanted_ones(seed, n_labels):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(2000, n_labels)) + rng.normal(scale=2.0, size=n_labels)
    wanted = rng.dirichlet(np.full(n_labels, 5.0))

    def counts(bias):
        return np.bincount(np.argmax(scores + bias, axis=1), minlength=n_labels).astype(float)

    start = np.zeros(n_labels)
    bias = balancing_bias(counts, wanted, float(np.median(np.ptp(scores, axis=1))), start)
    before = np.abs(counts(start) / 2000 - wanted).sum()
    after = np.abs(counts(bias) / 2000 - wanted).sum()
    assert after < 0.5 * before + 0.1  # a fixed number of damped steps: close, not equal


def test_balanced_predictions_are_left_alone():
    wanted = np.array([0.5, 0.5])
    assert np.array_equal(balancing_bias(lambda bias: np.array([50.0, 50.0]), wanted, 1.0, np.zeros(2)), np.zeros(2))
