"""Compiled code for mail against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_mail import (
    features_of,
    headers_of,
    marks_of,
    numbers_of,
    sequential_batches,
    sets_of,
    sketches_of,
)  # fmt: skip

from accord.kernels.mail.headers import unify_line_ends
from accord.kernels.mail.text import COUNTS, HASHES, N_BIGRAMS, N_BINS, N_WORDS, Sketches, merge_counts, scan_text
from accord.mail.detector import BatchDetector
from accord.mail.features import NAMES, MailPairs
from accord.mail.generator import MailGenerator
from accord.mail.headers import split_headers
from accord.mail.message import parse
from accord.mail.model import Similarity, default_similarity
from accord.mail.signature import MARKS, NUMBERS, flat_idf, sign

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


RICH = rb"""From: =?utf-8?q?J=C3=BCrgen_R=C3=B6=DFler?= <J.R@Sub.Example.org >
Reply-To: a@b@c.example
Subject: =?latin1?q?F=FCr_12_Freunde?= on_2 x-ray
Received: a
	b 1
Received: c
Message-ID: <AB12.x9-77@Host.example>
Date: Mon, 1 Jan 2001 10:00:00 +0200
DKIM-Signature: v=1; a=rsa; d=Signed.Example; s=x
Return-Path: <Bounce@ret.example>
List-Unsubscribe: <mailto:leave@list.example>
To: a@x.example, b@x.example
Cc: c@x.example
Content-Type: multipart/mixed; boundary="==Part_12_ab"
User-Agent: Pine

--==Part_12_ab
Content-Type: text/html; charset=utf-8

<html><p>Buy it at <a href='http://Shop.example/Now?x'>once</a> or http://other.example !! $5<img></html>
--==Part_12_ab
Content-Type: image/gif; name="A b.GIF"

R0lGOD
--==Part_12_ab--
""".replace(rb"\t", b"\t")
ODD = (
    RICH,
    b"",
    b"no header at all",
    b"From: x\n\n",
    b"Subject: 123abc\n\nhttp:// http://a.example http://a.example/p http://b.example/p",
    b"From: @\nReply-To: <@>\nMessage-ID: @ <> \n\nwords and words and more words, Words of MINE \xc3\xa9\xc3\xa8 x",
)


def test_rows_of_signatures(mails):
    """Marks, sets and numbers of mails with little and with much in them."""
    for raw in (*ODD, *mails):
        message, row = parse(raw), sign(raw).row
        text = sketches_of(message.text, [1.0] * (1 << 14))
        marks = row.marks[0].tolist()
        at = MARKS.index("body words")
        assert marks == marks_of(message, marks[at : at + 3])
        assert [marks[at] == 0, marks[at + 1] == 0] == [text["n_words"] == 0, text["n_words"] < 6]
        assert row.tags[0].tolist() == [m % 254 + 1 if m else 0 for m in marks] + [0, 0]
        assert row.sets[0].tolist() == sets_of(message)
        counts, shares = numbers_of(message, text)
        received = list(NUMBERS).index("received lines")
        plain = [n if j == received else np.log1p(n) for j, n in enumerate(counts)] + shares
        scaled = [x / scale for x, scale in zip(plain, NUMBERS.values())]
        np.testing.assert_allclose(row.numbers[0, : len(NUMBERS)], scaled, rtol=1e-6)
        subject = message.subject.lower().encode()[:48]
        assert row.subject[0].tobytes() == subject.ljust(48, b"\0")
        assert row.lengths[0].tolist() == [
            sum(b > 0 for b in text["single"]),
            sum(b > 0 for b in text["triples"]),
            len(subject),
        ]


pieces = st.sampled_from(
    [b"Subject", b"X-a", b":", b": ", b" :", b"\t", b" ", b"\n", b"\n ", b"\n\t", b"\n\n", b"\xe9", b"value", b"From x"]
)


@given(data=st.lists(pieces, max_size=25).map(b"".join))
@settings(max_examples=300)
def test_headers(data):
    expected = headers_of(data)
    if data.startswith((b"\n", b"From ", b">From")) or expected is None:
        return
    headers, names, _, _ = split_headers(data)
    assert names == [name for name, _ in expected]
    assert headers == dict(reversed(expected))


@given(data=st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b""]), max_size=20).map(b"".join))
def test_line_ends(data):
    out = np.empty(len(data), np.uint8)
    n = unify_line_ends(np.frombuffer(data, np.uint8), out)
    assert out[:n].tobytes() == data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def test_numbers_too_large_for_a_first_look(mails):
    """A bound from numbers that do not fit into steps, on either side, must not cost a batch."""
    signatures = [sign(raw) for raw in mails[:12]]
    for k, size in enumerate((0.0, 5.0, 127.9, 128.0, 200.0, 200.4, 1e6, 1e30, 3.0, 127.99, 128.01, 0.4)):
        signatures[k].row.numbers[0, : len(NUMBERS)] = size
    for sign_of in (1.0, -1.0):
        weights = np.zeros(len(NAMES))
        weights[len(MARKS) : len(MARKS) + len(NUMBERS)] = sign_of
        for bias in (-0.5, -24.9, 0.5, 24.9):
            detectors = [BatchDetector(Similarity(weights, bias, flat_idf()), min_words=0) for _ in range(2)]
            detectors[1]._prune = False
            found = [[detector.assign(s) for s in signatures] for detector in detectors]
            assert found[0] == found[1]


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
