"""Time and the window: what leaves it and when, whatever the clock or a message's date says."""

import functools
import time

import numpy as np
import pytest
from row_tables import each_row

from accord.cli.mail.detect import DAY, Clock
from accord.exceptions import InputError
from accord.forms import prove
from accord.mail.detector import BatchDetector
from accord.mail.features import NAMES
from accord.mail.generator import MailGenerator
from accord.mail.model import Similarity
from accord.mail.signature import flat_idf, sign

OFFER = (
    b"From: a%d@b.example\nSubject: offer\n\nWe are accepting your mortgage application, fill out http://x.example/%d"
)
LUNCH = b"From: eve@c.example\n\nShall we have lunch on Thursday after the meeting?"


def offer(k):
    return OFFER % (k, k)


# -- the full window ------------------------------------------------------------------------------------------------
def test_a_window_compares_with_as_many_mails_as_it_says():
    detector = BatchDetector(window=1)
    assert [detector.assign(offer(k)) for k in range(3)] == ["b1"] * 3
    detector = BatchDetector(window=2)
    detector.assign(offer(1))
    detector.assign(LUNCH)
    told, found = detector.explain(offer(2)), detector.assign_detailed(offer(2))
    assert (told.batch, told.joins) == (found.batch, not found.is_new) == ("b1", True)
    assert (found.size, len(detector), detector.n_batches) == (2, 2, 2)


@functools.cache
def signatures():
    return [sign(mail.raw) for mail in MailGenerator(random_state=8, batch_size=6).stream(100)]


@pytest.mark.parametrize(("window", "max_age"), [(1, None), (2, 5.0), (7, None), (7, 30.0), (40, 5.0), (40, 30.0)])
def test_explanations_are_decisions(window, max_age):
    """With any window and ages, while mails leave for either reason, and with dates that go back and forth."""
    detector, plain = (BatchDetector(window=window, max_age=max_age) for _ in range(2))
    plain._prune = False
    rng = np.random.default_rng(window)
    for k, signature in enumerate(signatures()):
        when = k + float(rng.choice([0, 0, 0, 20, -20]))
        told, found = detector.explain(signature, when), detector.assign_detailed(signature, when)
        assert told.joins != found.is_new
        if told.joins:
            assert told.batch == found.batch
            assert told.similarity == pytest.approx(found.similarity, abs=1e-4)
        assert plain.assign(signature, when) == found.batch
        window_ = detector._window
        assert len(detector) == window_.members[np.unique(window_.places[window_.places >= 0])].sum() <= window
        prove(window_.state(), "window")


# -- age ------------------------------------------------------------------------------------------------------------
def test_one_mail_from_the_future_does_not_stop_expiry():
    detector = BatchDetector(max_age=100)
    detector.assign(offer(1), received=1000.0)
    detector.assign(offer(2), received=1e10)
    for k in range(5):
        detector.assign(offer(k), received=2000.0 + 1000 * k)
        assert len(detector) == 2  # this one, and that from the future
    assert detector.last_received == 6000.0


def test_explain_leaves_out_what_is_too_old():
    detector = BatchDetector(max_age=10)
    detector.assign(offer(1), received=0.0)
    assert detector.explain(offer(2), received=5.0).joins
    assert detector.explain(offer(2), received=11.0).batch is None
    assert detector.explain(offer(2)).batch is None  # now
    assert len(detector) == 1


@each_row("received", [float("nan"), float("inf"), "yesterday", "12", [1], 10**400])
def test_bad_times(received):
    detector = BatchDetector()
    for ask in (detector.assign, detector.explain):
        with pytest.raises(InputError, match=r"received=.* must be a finite number, seconds since 1970"):
            ask(LUNCH, received=received)
    assert len(detector) == 0


def test_a_state_with_a_hole_comes_back(tmp_path):
    """Mails that are too old leave from the middle, too; then the ring goes on around."""
    never = Similarity(np.zeros(len(NAMES)), -1.0, flat_idf())
    detector = BatchDetector(never, window=4, max_age=10)
    for k, when in enumerate([100.0, 1.0, 102.0, 103.0]):
        detector.assign(offer(k), received=when)
    detector.assign(offer(4), received=104.0)
    assert list(detector.statistics()) == ["b3", "b4", "b5"]  # b2 was too old, b1 the fifth before the end
    detector.save(tmp_path / "state")
    again = BatchDetector.restore(tmp_path / "state")
    for k in range(5, 9):
        assert detector.assign(offer(k), received=100.0 + k) == again.assign(offer(k), received=100.0 + k)
        assert list(detector.statistics()) == list(again.statistics())
    assert len(again) == 4


# -- dates of stored mail -------------------------------------------------------------------------------------------
def test_clock():
    clock = Clock()
    assert clock(None) is None
    assert clock(1000.0) == 1000.0
    assert clock(None) == 1000.0  # no date: as the one before
    assert clock(2000.0) == 2000.0
    assert clock(1500.0) == 2000.0  # sent before, but came after
    assert clock(2e9) == 2000.0  # one alone does not move it by more than a day
    assert clock(3000.0) == 3000.0
    assert clock(5 * DAY) == 3000.0
    assert clock(5 * DAY + 60) == 5 * DAY + 60  # but two in a row do
    assert clock(100.0) == 5 * DAY + 60
    assert clock(None) == 5 * DAY + 60
    assert clock(200.0) == 200.0  # back, too


def test_clock_is_never_ahead_of_now():
    assert Clock()(time.time() + 1e6) <= time.time()
    assert Clock(5000.0)(None) == 5000.0
