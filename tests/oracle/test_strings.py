"""Kernels of string similarities against their definitions, on any Unicode."""

from itertools import pairwise

import numpy as np
import plain_strings as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.kernels.records import blocking, strings

few = st.text(alphabet="abcé ", max_size=12)  # few characters: much in common
long = st.text(alphabet="ab", min_size=55, max_size=140)  # more than one and two words of 64 bits
any_text = st.one_of(few, few, long, st.text(max_size=20))


def pack(texts: list[str]) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Symbol numbers, starts, number of symbols, longest length."""
    symbols: dict[str, int] = {" ": 0}
    codes = np.array([symbols.setdefault(c, len(symbols)) for text in texts for c in text], np.int32)
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return codes, starts, len(symbols), max(map(len, texts))


@settings(max_examples=35, deadline=None)
@given(st.lists(any_text, min_size=2, max_size=3))
def test_similarities(texts):
    codes, starts, n_symbols, longest = pack(texts)
    left, right = (x.ravel() for x in np.meshgrid(np.arange(len(texts)), np.arange(len(texts))))
    out = np.full((left.size, 5), np.nan)
    strings.compare(codes, starts, n_symbols, longest, left, right, out)
    for i, j, found in zip(left, right, out):
        a, b = texts[i], texts[j]
        shorter, longer = min(len(a), len(b)), max(len(a), len(b))
        alike = float(a == b)
        assert found[0] == pytest.approx(plain.jaro_winkler(a, b))
        assert found[1] == pytest.approx(1 - plain.levenshtein(a, b) / longer if longer else 1.0)
        assert found[2] == pytest.approx(plain.longest_piece(a, b) / shorter if shorter else alike)
        assert found[3] == pytest.approx(plain.common_beginning(a, b) / shorter if shorter else alike)
        assert found[4] == pytest.approx(plain.common_beginning(a[::-1], b[::-1]) / shorter if shorter else alike)


def test_known_values():
    codes, starts, n_symbols, longest = pack(["martha", "marhta", "dixon", "dicksonx", "kitten", "sitting"])
    out = np.empty((3, 5))
    strings.compare(codes, starts, n_symbols, longest, np.array([0, 2, 4]), np.array([1, 3, 5]), out)
    np.testing.assert_allclose(out[:2, 0], [0.961111, 0.813333], atol=1e-6)  # Winkler's own examples
    np.testing.assert_allclose(out[2, 1], 1 - 3 / 7)
    np.testing.assert_allclose(out[2, 2], 3 / 6)  # "itt"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(alphabet="abé", max_size=60), min_size=1, max_size=5))
def test_trigrams(texts):
    codes, starts, _, _ = pack(texts)
    keys, ptr = np.empty(codes.size + len(texts), np.int64), np.empty(starts.size, np.int64)
    assert strings.trigrams(codes, starts, np.int64(0), keys, ptr) == codes.size
    n = strings.sort_rows(keys, np.empty((0, keys.size), np.int64), ptr)
    assert ptr[-1] == n
    number = dict(zip(" " + "".join(texts), [0, *codes.tolist()]))
    for v, text in enumerate(texts):
        expected = sorted((number[g[0]] << 42) | (number[g[1]] << 21) | number[g[2]] for g in plain.trigrams(text))
        assert keys[ptr[v] : ptr[v + 1]].tolist() == expected


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 4000), min_size=1, max_size=4), st.integers(1, 5000), st.integers(0, 9))
def test_rows_are_sorted_without_repetitions(sizes, n_different, seed):
    """Short rows and long ones; what is carried goes with a key."""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    keys = rng.integers(-n_different, n_different, ptr[-1])
    rows = [keys[a:b].copy() for a, b in pairwise(ptr)]
    carried = np.stack([keys * 3, keys + 1])
    assert strings.sort_rows(keys, carried, ptr) == ptr[-1]
    for v, row in enumerate(rows):
        assert keys[ptr[v] : ptr[v + 1]].tolist() == np.unique(row).tolist()
    assert (carried[:, : ptr[-1]] == np.stack([keys * 3, keys + 1])[:, : ptr[-1]]).all()


words = st.lists(st.text(alphabet="abc", min_size=1, max_size=6), min_size=1, max_size=4, unique=True)


@settings(max_examples=40, deadline=None)
@given(words, words, st.randoms(use_true_random=False))
def test_words(a, b, random):
    vocabulary = sorted({*a, *b})
    codes, starts, _, _ = pack(vocabulary)
    weights = np.array([random.uniform(0.1, 1) for _ in vocabulary])
    rows = [sorted(map(vocabulary.index, one)) for one in (a, b)]
    ptr, items = np.array([0, len(rows[0]), len(rows[0]) + len(rows[1])]), np.array(rows[0] + rows[1])
    out, shared, n_shared = np.empty((2, 2)), np.empty(1), np.empty(1)
    strings.align_words(codes, starts, ptr, items, weights, 4, 4, np.array([0, 1]), np.array([1, 0]), out)
    expected = plain.aligned(a, b, dict(zip(vocabulary, weights)))
    np.testing.assert_allclose(out, [expected, expected])
    strings.shared_items(ptr, items, weights, np.array([0]), np.array([1]), n_shared, shared)
    assert shared[0] == pytest.approx(sum(weights[vocabulary.index(word)] for word in set(a) & set(b)))
    assert n_shared[0] == len(set(a) & set(b))
    strings.align_words(
        codes, starts, ptr, items, weights, 4, 0, np.array([0]), np.array([1]), out
    )  # too many: equal ones
    shares = [shared[0] / sum(weights[vocabulary.index(word)] for word in one) for one in (a, b)]
    np.testing.assert_allclose(out[0], sorted(shares))


@settings(max_examples=20, deadline=None)
@given(st.lists(long, min_size=2, max_size=2), st.integers(4, 60))
def test_of_long_texts_beginning_and_end_are_compared(texts, longest):
    """Where one is longer than that, the less the longer it is."""
    codes, starts, n_symbols, _ = pack(texts)
    out, cut = np.empty((1, 5)), np.empty((2, 5))
    strings.compare(codes, starts, n_symbols, longest, np.array([0]), np.array([1]), out)
    longer = max(map(len, texts))
    most = longest if longer <= longest else longest**2 // longer + 1
    cuts = [part for text in texts for part in (text[:most], text[-most:])]
    strings.compare(*pack(cuts), np.array([0, 1]), np.array([2, 3]), cut)
    np.testing.assert_allclose(out[0], [*cut[0, :4], cut[1, 4]])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.integers(0, 7), max_size=5), min_size=2, max_size=8), st.integers(1, 4), st.booleans())
def test_nearest(rows, limit, below):
    rng = np.random.default_rng(len(rows))
    values = rng.integers(1, 4, (len(rows), 8)).astype(float)  # small integers: exact sums and many ties
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    keys = np.array([k for row in rows for k in sorted(row)], np.int64)
    data = np.array([values[i, k] for i, row in enumerate(rows) for k in sorted(row)])
    holders = [[i for i, row in enumerate(rows) if k in row] for k in range(8)]
    key_ptr = np.concatenate([[0], np.cumsum([len(h) for h in holders])])
    key_rows = np.array([i for h in holders for i in h], np.int64)
    key_values = np.array([values[i, k] for k, h in enumerate(holders) for i in h])
    found, scores = np.empty((len(rows), limit), np.int64), np.empty((len(rows), limit))
    blocking.nearest(ptr, keys, data, key_ptr, key_rows, key_values, 0, len(rows), below, limit, found, scores)
    for i, row in enumerate(rows):
        sums = {
            j: sum(values[i, k] * values[j, k] for k in row & other)
            for j, other in enumerate(rows)
            if j != i and row & other and (j < i or not below)
        }
        best = sorted(sums, key=lambda j: (-sums[j], j))[:limit]
        assert found[i].tolist() == best + [-1] * (limit - len(best))
