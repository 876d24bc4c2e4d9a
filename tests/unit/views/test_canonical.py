"""Word vectors by canonical correlation, against a dense computation of the same decomposition."""

from itertools import pairwise

import numpy as np
import pytest
from row_tables import each_row

from accord import CanonicalFeatures, InputError, TokenFeatures
from accord.views.canonical import correlated_directions

TEXT = [["the", "cat", "sat"], ["a", "dog", "sat"], ["the", "dog", "ran"], ["a", "cat", "ran", "home"]] * 3


def slow_directions(table, units, offsets, neighbours, n_components):
    """Singular vectors of the standardised, centred cross-covariance, written out token by token."""
    n = units.size
    own, around = [], []
    for lo, hi in pairwise(offsets.tolist()):
        for t in range(lo, hi):
            own.append(table[units[t]])
            sides = [t + s for s in range(-neighbours, neighbours + 1) if s]
            around.append(np.concatenate([table[units[p]] if lo <= p < hi else 0 * table[0] for p in sides]))

    def standardised(matrix):
        mean = matrix.mean(axis=0)
        deviation = np.sqrt(n * mean * (1 - mean) + 1.0)
        return (matrix - mean) / deviation, deviation

    (left, deviation), (right, _) = standardised(np.array(own)), standardised(np.array(around))
    u, s, _ = np.linalg.svd(left.T @ right, full_matrices=False)
    return u[:, :n_components] * np.sqrt(s[:n_components]) / deviation[:, None]


def test_directions_equal_a_dense_decomposition():
    rows = TokenFeatures(position=False).fit_rows(TEXT)
    units, table = rows.slots[:, -1], rows.table
    found = correlated_directions(table, units, rows.offsets, 2, 1, 4, random_state=0)
    expected = slow_directions(table.toarray(), units, rows.offsets, 2, 4)
    # singular vectors are unique up to their sign, and so are inner products of vectors
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)


def test_a_vector_has_the_length_that_scale_says_and_windows_shift():
    view = CanonicalFeatures(n_components=3, min_count=1, window=1, scale=2.0)
    matrix = view.fit_rows(TEXT).matrix().toarray()
    assert view.n_dims_ == 9
    middle = matrix[:, 1::3]
    np.testing.assert_allclose(np.linalg.norm(middle, axis=1), 2.0)
    np.testing.assert_allclose(matrix[1, 0::3], middle[0])  # the word before
    np.testing.assert_allclose(matrix[0, 0::3], 0.0)  # outside the sentence


def test_transform_repeats_fit_and_new_words_get_vectors_from_their_looks():
    view = CanonicalFeatures(n_components=3, min_count=1, n_classes=2)
    fitted = view.fit_rows(TEXT).matrix().toarray()
    np.testing.assert_allclose(view.transform(TEXT).matrix().toarray(), fitted)
    new = view.transform([["cats"]]).matrix().toarray()
    assert np.linalg.norm(new) > 0
    assert view.word_classes(["cat", "dog"]).shape == (2,)
    again = CanonicalFeatures(n_components=3, min_count=1, n_classes=2).fit_rows(TEXT).matrix().toarray()
    np.testing.assert_array_equal(again, fitted)


@each_row(
    ("settings", "words"),
    [
        ({"n_components": 0}, "n_components"),
        ({"scale": 0}, "scale"),
        ({"view": 3}, "view"),
        ({"n_classes": -1}, "n_classes"),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(InputError, match=words):
        CanonicalFeatures(**settings).fit(TEXT)


def test_no_tokens_is_an_error_and_classes_must_be_asked_for():
    with pytest.raises(InputError, match="no tokens"):
        CanonicalFeatures().fit([[]])
    with pytest.raises(InputError, match="n_classes is 0"):
        CanonicalFeatures(n_components=2, min_count=1).fit(TEXT).word_classes(["cat"])


def test_classes_are_the_nearest_centres_for_known_and_new_words_alike():
    view = CanonicalFeatures(n_components=3, min_count=1, n_classes=3).fit(TEXT)
    words = ["cat", "sat", "cats", "home", "cat"]
    for _ in range(2):  # the second time from what is kept
        found = view.word_classes(words)
        vectors = view.transform([words]).matrix().toarray()[:, :3]
        distances = [[((vector - centre) ** 2).sum() for centre in view.class_centers_] for vector in vectors]
        assert found.tolist() == np.argmin(distances, axis=1).tolist()
    view.fit([x[::-1] for x in TEXT])
    refitted = CanonicalFeatures(n_components=3, min_count=1, n_classes=3).fit([x[::-1] for x in TEXT])
    assert view.word_classes(words).tolist() == refitted.word_classes(words).tolist()
