"""Weights for covariate shift: against the true ratio of densities, and where there is nothing to weigh."""

import numpy as np
import pytest
import scipy.sparse as sp

from accord import RLSR, ArrayFeatures, InputError, KernelFeatures, shift_weights


def normals(n, *means, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(means, size=(n, len(means)))


def test_the_ratio_of_two_normal_distributions():
    """N((1, -0.5), I) against N(0, I): the log ratio is x1 - x2 / 2 - 5/8."""
    X, X_new = normals(1500, 0.0, 0.0), normals(2500, 1.0, -0.5, seed=1)
    found = shift_weights(X, X_new, exponent=1.0, effective_share=0.0, random_state=0)
    log_ratio = X[:, 0] - X[:, 1] / 2 - 5 / 8
    estimated = np.log(found.weights)
    slope, level = np.polyfit(log_ratio, estimated, 1)
    assert slope == pytest.approx(1.0, abs=0.1)
    assert level == pytest.approx(0.0, abs=0.1)
    assert np.corrcoef(log_ratio, estimated)[0, 1] > 0.99
    # the share of pairs (old, new) in the right order: the normal distribution function at |mean| / sqrt(2)
    assert found.auc == pytest.approx(0.785, abs=0.02)
    ratio = np.exp(log_ratio)
    assert found.effective_size == pytest.approx(ratio.sum() ** 2 / (ratio**2).sum(), rel=0.15)


def test_ratios_that_are_no_exponentials_of_features_need_other_features():
    """A wider distribution: only features that are not linear can say which points are far out."""
    X, X_new = normals(400, 0.0), 2.0 * normals(600, 0.0, seed=1)
    kernel = KernelFeatures(ArrayFeatures(bias=False), kernel="rbf", gamma=0.3)
    found = shift_weights(X, X_new, view=kernel, exponent=1.0, random_state=0)
    far = np.abs(X[:, 0]) > 1.5
    assert found.auc > 0.6
    assert found.weights[far].mean() > 1.5 * found.weights[~far].mean()


def test_the_exponent_is_the_largest_that_leaves_enough_examples():
    X, X_new = normals(300, 0.0), normals(300, 2.0, seed=1)
    full = shift_weights(X, X_new, exponent=1.0, random_state=0).weights
    for share in (0.2, 0.5, 0.9):
        found = shift_weights(X, X_new, effective_share=share, random_state=0)
        sizes = {}
        for k in range(11):
            w = full ** (k / 10)
            sizes[k / 10] = w.sum() ** 2 / (w**2).sum()
        assert found.exponent == max(a for a, size in sizes.items() if size >= share * 300)
        assert found.effective_size == pytest.approx(sizes[found.exponent])
        assert found.weights == pytest.approx(full**found.exponent / np.mean(full**found.exponent))
    assert shift_weights(X, X_new, effective_share=1.0, random_state=0).exponent == 0.0


def test_samples_that_cannot_be_distinguished_get_no_weights():
    ones = 0
    for seed in range(12):
        both = normals(90, 0.0, 0.0, seed=seed)
        found = shift_weights(both[:40], both[40:], random_state=seed)
        ones += bool((found.weights == 1.0).all())
        assert (found.exponent == 0.0) == (found.weights == 1.0).all()
    assert ones >= 10  # 5 % by chance


TEXTS = ["the cat sat here", "a dog sat there", "stocks fell again", "the market rose"] * 12
NEW_TEXTS = ["stocks rose sharply", "the market fell again"] * 24


@pytest.mark.parametrize(
    "make", [list, lambda texts: [text.split() for text in texts], lambda texts: [{"w": t.split()} for t in texts]]
)
def test_texts_sentences_and_dicts(make):
    weights = shift_weights(make(TEXTS), make(NEW_TEXTS), random_state=0).weights.reshape(12, 4)
    assert weights[:, 2:].min() > weights[:, :2].max()
    assert weights.mean() == pytest.approx(1.0)


@pytest.mark.parametrize("make", [sp.csr_array, lambda X: [[row, row] for row in X.tolist()], np.asarray])
def test_other_ways_to_write_numbers(make):
    X, X_new = normals(40, 0.0, 3.0), normals(30, 1.0, 3.0, seed=1)
    expected = shift_weights(X, X_new, random_state=0).weights
    found = shift_weights(make(X), make(X_new), random_state=0).weights  # sparse columns are scaled, not centred
    assert found == pytest.approx(expected, rel=0.01)


def test_unlabeled_inputs_are_the_new_sample():
    X, X_new = normals(40, 0.0), normals(30, 1.0, seed=1)
    y = [float(x) for x in X[:, 0]] + [None] * 30
    found = shift_weights(np.vstack([X, X_new]), y=y, random_state=0)
    assert (found.weights[40:] == 1.0).all()
    assert found.weights[:40] == pytest.approx(shift_weights(X, X_new, random_state=0).weights)


def test_it_is_a_sample_weight():
    X, X_new = normals(40, 0.0), normals(30, 1.0, seed=1)
    found = shift_weights(X, X_new, random_state=0)
    assert len(found) == 40
    assert "40 examples that count as" in repr(found)
    one = RLSR(kernel="linear").fit(X, X[:, 0] ** 2, sample_weight=found)
    two = RLSR(kernel="linear").fit(X, X[:, 0] ** 2, sample_weight=found.weights)
    assert one.predict(X_new) == pytest.approx(two.predict(X_new))
    assert one.predict(X_new) != pytest.approx(RLSR(kernel="linear").fit(X, X[:, 0] ** 2).predict(X_new))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "X_new is None; give a sample"),
        ({"X_new": [[1.0]]}, r"X_new, or of unlabeled ones: 1 input"),
        ({"y": [None, None, 1.0]}, r"X, of labeled ones: 1 input"),
        ({"y": [1.0, 2.0, None]}, r"X_new, or of unlabeled ones: 1 input"),
        ({"X_new": [[1.0], [2.0]], "exponent": 2.0}, "exponent is 2.0; expected"),
        ({"X_new": [[1.0], [2.0]], "effective_share": -1}, "effective_share is -1; expected a number from 0 to 1"),
        ({"X_new": [[1.0, 2.0], [2.0, 1.0]]}, "X_new does not fit X: X has 2 features"),
    ],
)
def test_errors(given, message):
    with pytest.raises(InputError, match=message):
        shift_weights([[0.0], [1.0], [2.0]], **given)
