"""Bootstrap intervals: coverage, agreement of the fast and the plain way, seeds."""

import numpy as np
import pytest

from accord.evaluation import Metric, bootstrap_difference, bootstrap_metric, span_f1, token_error
from accord.exceptions import InputError

RNG = np.random.default_rng(0)
TAGS = ["O", "B-X", "I-X"]
TRUE = [[TAGS[i] for i in RNG.integers(3, size=RNG.integers(1, 9))] for _ in range(80)]
PRED = [[t if RNG.random() < 0.8 else "O" for t in s] for s in TRUE]
WORSE = [[t if RNG.random() < 0.4 else "O" for t in s] for s in TRUE]


def test_interval_of_a_mean_difference():
    a = RNG.normal(1.0, 1.0, size=200)
    interval = bootstrap_difference(a, np.zeros(200), n_resamples=4000)
    half = 1.96 * a.std(ddof=1) / np.sqrt(200)
    assert interval.estimate == pytest.approx(a.mean())
    assert interval.low == pytest.approx(a.mean() - half, abs=0.02)
    assert interval.high == pytest.approx(a.mean() + half, abs=0.02)


def test_coverage_is_near_the_level():
    rng = np.random.default_rng(3)
    hits = 0
    for trial in range(200):
        d = rng.normal(0.5, 1.0, size=40)
        interval = bootstrap_difference(d, np.zeros(40), n_resamples=500, random_state=trial)
        hits += interval.low <= 0.5 <= interval.high
    assert 0.88 <= hits / 200 <= 0.98


@pytest.mark.parametrize("function", [token_error, span_f1])
def test_fast_way_agrees_with_recomputing(function):
    fast = bootstrap_metric(TRUE, PRED, function, n_resamples=500)
    plain = bootstrap_metric(TRUE, PRED, Metric("own", "own", function), n_resamples=500)
    assert fast.estimate == plain.estimate == function(TRUE, PRED)
    assert fast.low == pytest.approx(plain.low, abs=0.01)
    assert fast.high == pytest.approx(plain.high, abs=0.01)


def test_difference_of_two_methods_is_paired():
    assert bootstrap_metric(TRUE, PRED, "span_f1", y_other=PRED).high == 0.0
    interval = bootstrap_metric(TRUE, PRED, "span_f1", y_other=WORSE)
    assert interval.estimate == pytest.approx(span_f1(TRUE, PRED) - span_f1(TRUE, WORSE))
    assert interval.low > 0
    assert interval.summary.startswith("difference in span F1 is 0.")


def test_seeded_and_sensitive_to_the_seed():
    first, again, other = (bootstrap_metric(TRUE, PRED, "macro_f1", n_resamples=50, random_state=s) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_bad_input():
    with pytest.raises(InputError, match="n_resamples must be at least 2"):
        bootstrap_difference([1, 2], [1, 3], n_resamples=1)
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        bootstrap_difference([1, 2], [1, 3], level=95)
    with pytest.raises(InputError, match="'tree_loss' has no function"):
        bootstrap_metric(TRUE, PRED, "tree_loss")
