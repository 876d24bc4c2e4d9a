"""The spam filter: tokens by the slow way, corrections, calibration, batches that may not count, older files."""

import copy
import re
from itertools import pairwise
from zlib import crc32

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import accord
from accord.exceptions import InputError
from accord.mail.batch_words import batch_rows, batch_statistics, batch_values
from accord.mail.detector import BatchDetector
from accord.mail.generator import MailGenerator
from accord.mail.message import parse
from accord.mail.signature import sign
from accord.mail.spam import CollectiveSpamFilter
from accord.mail.spam_machine import Machine, chosen_weight, folds, log_losses, moved, platt
from accord.mail.tokens import GROUPS, evidence, scaled_rows, token_counts, token_score, tokens_of
from accord.mail.window import BatchStatistics
from accord.persistence import read_model, write_model


@pytest.fixture(scope="module")
def mails():
    return list(MailGenerator(random_state=8, batch_size=6).stream(220))


@pytest.fixture(scope="module")
def spam_filter(mails):
    raw, spam, batches = ([getattr(m, name) for m in mails[:150]] for name in ("raw", "is_spam", "batch"))
    return CollectiveSpamFilter(n_buckets=4096).fit(raw, spam, batches)


# -- tokens -----------------------------------------------------------------------------------------------------------
def slow_hash(seed, content):
    h = seed
    for c in content:
        h = ((h ^ c) * 0x100000001B3) % 2**64
    return slow_mix(h)


def slow_mix(h):
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = ((h ^ (h >> 33)) * factor) % 2**64
    return (h ^ (h >> 33)) % 2**32 or 1


def seed(place):
    return (crc32(place) * 0x100000001) | 1


def slow_words(text, place, others):
    return [slow_hash(seed(place), word) for word in re.findall(rb"[a-z0-9\x80-\xff%s]+" % others, text.lower())]


def test_tokens_like_the_slow_way():
    raw = (
        b"From: Ann <ann@a.example>\nSubject: Buy NOW\nX-Mailer: The Bat!\nContent-Type: text/html\n\n"
        b"<p>It's  caf\xc3\xa9-time, $99!! see http://x.example/a/b?c <img src=x>"
    )
    message = parse(raw)
    found = dict(zip(GROUPS, (group.tolist() for group in tokens_of(message))))
    words = slow_words(message.text, b"words", rb"_$!'-")
    assert found["words"] == words
    assert found["pairs"] == [slow_mix((a * 0x9E3779B97F4A7C15 + b) % 2**64) for a, b in pairwise(words)]
    whole = re.sub(rb"[^a-z0-9\x80-\xff_$!'-]+", b" ", b"buy now " + message.text.lower()).strip()
    squeezed = b" " + whole + b" "
    grams = [slow_hash(seed(b"characters"), squeezed[k : k + 4]) for k in range(len(squeezed) - 3)]
    assert found["characters"] == grams
    assert found["subject"] == slow_words(b"buy now", b"subject", rb"_$!'-")
    assert slow_words(b"the bat", b"header x-mailer", rb"_$.-")[0] in found["headers"]
    assert crc32(b"has x-mailer") in found["headers"]
    assert len(found["links"]) == len(slow_words(b"x.example", b"", b"")) + 2
    empty = tokens_of(parse(b""))
    assert [group.size for group in empty[:6]] == [0] * 6


def test_scores_like_rows(mails):
    messages = [parse(mail.raw) for mail in mails[:20]] + [parse(b""), parse(b"Subject: x\n\n")]
    y = np.arange(22) % 3 == 0
    counts = token_counts(messages, 512)
    scale, coef = evidence(counts, y), np.random.default_rng(0).normal(size=512)
    rows = scaled_rows(counts, scale)
    np.testing.assert_allclose([token_score(m, scale, coef) for m in messages], rows @ coef, atol=1e-9)
    present = sum((group.toarray() > 0).astype(int) for group in counts)
    for j in (0, 7, 100):
        a, b = present[y, j].sum(), present[~y, j].sum()
        ratio = abs(np.log(((a + 0.5) / (y.sum() + 1)) / ((b + 0.5) / ((~y).sum() + 1))))
        assert scale[j] == pytest.approx(max(ratio, 0.5))


# -- machines ---------------------------------------------------------------------------------------------------------
def test_a_correction_changes_as_little_as_it_can(mails):
    rows = scaled_rows(token_counts([parse(mail.raw) for mail in mails[:2]], 64), np.ones(64))
    r = np.random.default_rng(1)
    before = Machine(r.normal(size=64), 0.3)
    x = np.append(rows[[0]].toarray()[0], 1.0)
    for label in (True, False):
        sign_ = 1 if label else -1
        start = np.append(before.coef, before.intercept)
        best = minimize(
            lambda w, s=sign_, v=start: 0.5 * ((w - v) ** 2).sum() + 10 * np.logaddexp(0, -s * (w @ x)), start
        )
        after = moved(before, rows[[0]], np.array([label]))
        np.testing.assert_allclose(np.append(after.coef, after.intercept), best.x, atol=1e-3)
    both = moved(moved(before, rows[[0]], np.array([True])), rows[[1]], np.array([False]))
    together = moved(before, rows, np.array([True, False]))
    np.testing.assert_allclose(together.coef, both.coef)


def test_platt_is_the_best_sigmoid():
    r = np.random.default_rng(0)
    scores = r.normal(size=200)
    y = r.random(200) < expit(2 * scores - 1)
    target = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))
    best = minimize(lambda p: (np.logaddexp(0, p[0] * scores + p[1]) - target * (p[0] * scores + p[1])).sum(), [1, 0]).x
    np.testing.assert_allclose(platt(scores, y), best, atol=1e-4)
    assert platt(-scores, y)[0] > 0  # never turned round
    assert np.isfinite(platt(np.where(y, 1.0, -1.0), y)).all()  # separated


def test_held_out_batches_stay_together():
    r = np.random.default_rng(0)
    batches = r.integers(0, 40, 200).tolist()
    y = np.array([b % 3 == 0 for b in batches])
    parts = folds(y, batches, 0)
    assert sorted(np.concatenate(parts)) == list(range(200))
    where = [{batches[k] for k in part} for part in parts]
    assert not any(a & b for i, a in enumerate(where) for b in where[:i])
    assert folds(np.array([True, False]), [0, 1], 0) == []


def test_batches_count_only_where_they_help():
    r = np.random.default_rng(0)
    batches = np.repeat(np.arange(30), 3)
    y = batches % 2 == 0
    truth = np.where(y, 3.0, -3.0)
    noise = r.normal(size=90) * 3
    assert chosen_weight(truth + noise, truth, y, batches) > 0
    assert chosen_weight(truth, truth + noise, y, batches) == 0
    assert chosen_weight(truth, truth, y, batches) == 0  # no difference
    assert chosen_weight(truth[:6] + noise[:6], truth[:6], y[:6], batches[:6]) == 0  # two batches prove nothing


# -- the filter -------------------------------------------------------------------------------------------------------
def test_scores_are_log_odds(mails, spam_filter, tmp_path):
    raw, spam, batches = ([getattr(m, name) for m in mails[150:]] for name in ("raw", "is_spam", "batch"))
    assert spam_filter.score(raw, spam, batches) > 0.95
    scores = spam_filter.decision_function(raw, batches)
    shares = spam_filter.predict_proba(raw, batches)
    np.testing.assert_allclose(shares[:, 1], expit(scores))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (spam_filter.predict(raw, batches) == (scores > 0)).all()
    assert log_losses(scores, np.array(spam)).mean() < 0.3  # ignorance: 0.69
    spam_filter.save(tmp_path / "filter")
    np.testing.assert_array_equal(accord.load(tmp_path / "filter").decision_function(raw, batches), scores)
    fixed = CollectiveSpamFilter(C=2.0, n_buckets=256).fit(raw, spam)
    assert (fixed.C_, fixed.batch_weight_) == (2.0, 0.0)


def test_corrections(mails, spam_filter):
    """A mail that users call spam is spam from then on, and weights of others stay where they were."""
    learned = copy.deepcopy(spam_filter)
    wrong = b"From: shop@example.org\nSubject: quux\n\nglorb frobnicate the wibble, wobble and flob"
    before = learned.decision_function([wrong])[0]
    label = bool(before < 0)
    assert learned.partial_fit([wrong], [label]) is learned
    after = learned.decision_function([wrong])[0]
    assert (after > 0) == label
    assert np.count_nonzero(learned.mail_coef_ != spam_filter.mail_coef_) < 200
    with pytest.raises(InputError, match=r"messages\[0\] is a Signature"):
        learned.partial_fit([sign(wrong)], [True])
    with pytest.raises(InputError, match="not fitted"):
        CollectiveSpamFilter().partial_fit([wrong], [True])


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_online_like_at_once(mails, spam_filter, weight):
    """The running sums of the detector give the score by the whole batch so far."""
    judge = copy.copy(spam_filter)
    judge.batch_weight_ = weight
    raw = [mail.raw for mail in mails[:60]]
    detector = BatchDetector()
    found = [detector.assign_detailed(mail) for mail in raw]
    for t in (0, 30, 59):
        expected = judge.decision_function(raw[: t + 1], [f.batch for f in found[: t + 1]])
        assert judge.decision(found[t]) == pytest.approx(expected[t])
    signed = BatchDetector().assign_detailed(sign(raw[0]))  # no text: by words alone
    assert judge.decision(signed) == pytest.approx(judge.decision_function([sign(raw[0])])[0])


def test_words_of_batches():
    statistics = BatchStatistics(1, True, True, np.array([7], np.uint32), np.array([2], np.int64))
    columns, values = batch_values(statistics, 65536, "log")
    assert columns.tolist() == [7, 65536, 65537, 65538, 65539]
    assert values.tolist() == [1.0, 0.0, 0.0, 1.0, 1.0]
    assert batch_values(statistics, 65536, "raw")[1].tolist() == [2.0, 0.0, 0.0, 1.0, 1.0]


def test_signatures_are_judged_by_words(mails):
    signed, spam = [sign(mail.raw) for mail in mails[:100]], [mail.is_spam for mail in mails[:100]]
    learned = CollectiveSpamFilter(n_buckets=4096).fit(signed[:70], spam[:70])
    assert not hasattr(learned, "mail_coef_")
    assert learned.score(signed[70:], spam[70:]) > 0.8


def test_filters_of_earlier_versions(mails, tmp_path):
    """Their files hold weights of words alone; scores are what they were."""
    learned = CollectiveSpamFilter(n_buckets=256).fit([mail.raw for mail in mails[:20]], [k % 2 for k in range(20)])
    learned.save(tmp_path / "filter")
    metadata, arrays = read_model(tmp_path / "filter")
    fields = metadata["model"]["fields"]
    kept = {name: fields[name] for name in ("counts", "n_buckets", "random_state", "coef_", "intercept_")}
    metadata["model"]["fields"] = kept | {"C": 1.0}
    write_model(tmp_path / "filter", metadata, {kept["coef_"]["array"]: arrays[kept["coef_"]["array"]]})
    old = accord.load(tmp_path / "filter")
    raw, batches = [mail.raw for mail in mails[20:40]], [mail.batch for mail in mails[20:40]]
    expected = batch_rows(batch_statistics(raw, batches), 256, "log") @ old.coef_ + old.intercept_
    np.testing.assert_allclose(old.decision_function(raw, batches), expected)
    found = BatchDetector().assign_detailed(raw[0])
    assert old.decision(found) == pytest.approx(old.decision_function(raw[:1])[0])
    old.partial_fit(raw[:1], [True])
    metadata["model"]["fields"] = kept | {"C": 1.0, "mail_coef_": fields["mail_coef_"]}  # half of a newer one
    write_model(tmp_path / "filter", metadata, arrays)
    with pytest.raises(accord.ModelFileError, match="it knows all about mails, or nothing"):
        accord.load(tmp_path / "filter")
