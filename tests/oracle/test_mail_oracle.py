"""Compiled code for mail against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_mail import features_of, sequential_batches, sketches_of

from accord.kernels.mail.text import COUNTS, HASHES, N_BIGRAMS, N_BINS, N_WORDS, Sketches, merge_counts, scan_text
from accord.mail.detector import BatchDetector
from accord.mail.features import NAMES, MailPairs
from accord.mail.generator import MailGenerator
from accord.mail.model import Similarity, default_similarity
from accord.mail.signature import NUMBERS, flat_idf, sign

texts = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.sampled_from([b"Mortgage", b"mo rtgage", b"12,000", b"caf\xc3\xa9", b"x", b"\n", b"!!", b"a1"]), max_size=40
    ).map(b" ".join),
)


@pytest.fixture(scope="module")
def mails():
    return [mail.raw for mail in MailGenerator(random_state=5, batch_size=4).stream(40)]


def as_dict(signature):
    row = {name: array[0].tolist() for name, array in zip(signature.row._fields, signature.row)}
    row["subject"] = row["subject"][: row["lengths"][2]]
    row["numbers"] = row["numbers"][: len(NUMBERS)]
    return row


@given(text=texts, seed=st.integers(0, 99))
@settings(max_examples=40)
def test_scan(text, seed):
    idf = np.random.default_rng(seed).random(1 << 14).astype(np.float32)
    sketches = Sketches(*(np.zeros(n, t) for n, t in zip((N_WORDS, N_BIGRAMS, N_BINS, N_BINS), "bbBB")))
    counts, hashes = np.zeros(len(COUNTS), np.int64), np.zeros(len(HASHES), np.int64)
    words, tallies = np.zeros(1024, np.uint32), np.zeros(1024, np.int64)
    n = scan_text(np.frombuffer(text, np.uint8), idf, sketches, counts, hashes, words, tallies)
    expected = sketches_of(text, idf.tolist())
    assert dict(zip(words[:n].tolist(), tallies[:n].tolist())) == expected["counts"]
    assert words[:n].tolist() == sorted(expected["counts"])
    for name in ("single", "triples"):
        assert getattr(sketches, name).tolist() == expected[name]
    for name in ("words", "bigrams"):  # sums in another order may round to the other side
        np.testing.assert_allclose(getattr(sketches, name), expected[name], atol=1)
    found = dict(zip(COUNTS, counts.tolist()))
    assert (found["words"], found["numbers"], found["characters"]) == (
        expected["n_words"],
        expected["n_numbers"],
        len(text),
    )
    assert found["lines"] == text.count(b"\n")
    assert found["exclamations"] == text.count(b"!")
    assert (hashes[0] == 0) == (expected["n_words"] == 0)


def test_features(mails):
    view = MailPairs().fit([mails])
    signatures = [view.sign(raw) for raw in mails]
    dicts = [as_dict(s) for s in signatures]
    found = view.pairs(signatures)
    assert found.shape == (40 * 39 // 2, len(NAMES))
    assert found.min() >= 0
    assert found.max() <= 1
    expected = [features_of(dicts[j], dicts[k]) for j in range(40) for k in range(j)]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    between = view.between(signatures[:5], signatures[5:])
    expected = [[features_of(a, b) for b in dicts[5:]] for a in dicts[:5]]
    np.testing.assert_allclose(between, expected, atol=1e-6)
    np.testing.assert_array_equal(view.pairs(mails[:7]), found[:21])


@st.composite
def similarities(draw):
    """Weights of any signs and sizes, with a bias that makes both decisions happen.

    With few weights, and a bias that nearly cancels the positive ones, upper bounds are tight: too low ones show.
    """
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    weights = rng.normal(size=len(NAMES)) * (rng.random(len(NAMES)) < draw(st.sampled_from([0.03, 0.1, 0.5, 1.0])))
    bias = -rng.random() * weights[weights > 0].sum()
    factor = draw(st.sampled_from([0.1, 1.0, 10.0]))
    return Similarity(weights * factor, float(bias * factor), flat_idf())


@given(similarity=similarities(), window=st.sampled_from([1, 3, 17, 80]))
@settings(max_examples=6)
def test_decisions(similarity, window, mails):
    """The detector, with and without pruning, decides as the definition says, while the window moves on."""
    signatures = [sign(raw) for raw in mails]
    check_decisions(similarity, window, signatures)


def test_decisions_of_the_default_model(mails):
    similarity = default_similarity()
    check_decisions(similarity, 30, [sign(raw, similarity.idf) for raw in mails])


def test_bounds_of_single_features(mails):
    """A bound that forgets a feature, or takes too little for it, leaves out batches that this feature alone makes."""
    signatures = [sign(raw) for raw in mails]
    for m in range(len(NAMES)):
        similarity = Similarity(np.eye(len(NAMES))[m], -0.5, flat_idf())
        detectors = [BatchDetector(similarity, min_words=0, keep_words=False) for _ in range(2)]
        detectors[1]._prune = False
        found = [[detector.assign(s) for s in signatures] for detector in detectors]
        assert found[0] == found[1], NAMES[m]


def check_decisions(similarity, window, signatures):
    dicts = [as_dict(s) for s in signatures]
    detectors = [BatchDetector(similarity, window=window, prefix="") for _ in range(2)]
    detectors[1]._prune = False
    weights = similarity.weights.tolist()

    def value(t, k):
        return similarity.bias + sum(w * x for w, x in zip(weights, features_of(dicts[t], dicts[k])))

    short = [detectors[0]._is_short(s) for s in signatures]
    expected, margins = sequential_batches(value, len(signatures), short, window)
    found = [[int(detector.assign(s)) - 1 for s in signatures] for detector in detectors]
    assert found[0] == found[1]
    close = next((t for t, margin in enumerate(margins) if margin < 1e-4), len(margins))
    assert found[0][:close] == expected[:close]  # after a tie within rounding both may go their own ways


counted = st.dictionaries(st.integers(1, 50), st.integers(1, 9), max_size=12)


@given(first=counted, second=counted, limit=st.integers(12, 30))
def test_merged_counts(first, second, limit):
    packed = [(np.array(sorted(d), np.uint32), np.array([d[k] for k in sorted(d)], np.int64)) for d in (first, second)]
    words, counts = merge_counts(*packed[0], *packed[1], limit)
    expected = dict(first)
    for word in sorted(second):
        if word in expected:
            expected[word] += second[word]
        elif len(expected) < limit:
            expected[word] = second[word]
    assert dict(zip(words.tolist(), counts.tolist())) == expected
    assert words.tolist() == sorted(expected)
