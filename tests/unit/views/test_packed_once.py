"""Views that are packed once: side by side they are what views side by side are, in any order of inputs."""

import numpy as np
import pytest

from accord import InputError, TokenFeatures
from accord.views.compose import ConcatenatedViews
from accord.views.packed_once import PackedOnce

TEXT = [["the", "cat"], ["a", "dog", "sat"], ["home"], ["the", "dog", "ran"]]


def test_joined_views_are_views_side_by_side():
    together = ConcatenatedViews([TokenFeatures(window=1), TokenFeatures(window=0, affixes=None)])
    expected = together.fit_rows(TEXT).matrix().toarray()
    parts = [PackedOnce(TokenFeatures(window=1)).pack(TEXT), PackedOnce(together.views[1]).pack(TEXT)]
    joined = PackedOnce.joined(parts)
    np.testing.assert_allclose(joined.fit_rows(TEXT).matrix().toarray(), expected)
    np.testing.assert_allclose(joined.fit_rows([TEXT[2], TEXT[0]]).matrix().toarray(), expected[[5, 0, 1]])
    new = [["a", "new", "cat"]]
    np.testing.assert_allclose(joined.transform(new).matrix().toarray(), together.transform(new).matrix().toarray())


def test_parts_may_be_packed_in_different_orders():
    first = PackedOnce(TokenFeatures(window=0)).pack(TEXT)
    second = PackedOnce(TokenFeatures(window=0)).pack(TEXT[::-1])
    found = PackedOnce.joined([first, second]).fit_rows(TEXT).matrix()
    n = first.n_dims_
    names = [part.view.feature_names(range(n)) for part in (first, second)]
    same = [names[1].index(name) for name in names[0]]
    np.testing.assert_allclose(found.toarray()[:, :n], found.toarray()[:, n:][:, same])


def test_inputs_of_another_pool_are_refused():
    with pytest.raises(InputError, match="not of the pool"):
        PackedOnce(TokenFeatures()).pack(TEXT).fit_rows([["elsewhere"]])
