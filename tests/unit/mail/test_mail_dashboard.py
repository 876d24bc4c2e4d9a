"""What the dashboard keeps: bounded, by the minute, and of examples only what mails have in common."""

import re
from types import SimpleNamespace

import numpy as np

from accord.mail import dashboard
from accord.mail.dashboard import MOST_BATCHES, Board, dashboard_page, redacted
from accord.mail.message import parse


def found(batch, size, text=b"", is_new=None):
    message = parse(b"Subject: hello\n\n" + text)
    return SimpleNamespace(batch=batch, size=size, is_new=size == 1 if is_new is None else is_new, message=message)


def test_rates_are_by_the_minute():
    board = Board()
    for now, size in ((0, 1), (0, 2), (3540, 3), (3600, 1), (3601, 2), (3602, 3)):
        board.take(found("b", size), None, now=float(now))
    assert board.rates(3603.0) == [(1, 3, 2), (10, 4, 3), (60, 4, 3)]
    assert board.rates(1e9) == [(1, 0, 0), (10, 0, 0), (60, 0, 0)]


def test_memory_is_bounded():
    board = Board()
    for k in range(MOST_BATCHES + 50):
        board.take(found(f"b{k}", 1), None, now=60.0 * k)
    assert (len(board._templates), len(board._minutes)) == (MOST_BATCHES, 60)
    assert "b0" not in board._templates
    assert board.largest() == []


def test_only_what_is_common_is_shown():
    board = Board()
    board.take(found("b", 7, b"Dear Ann, your parcel waits"), None, now=0.0)
    assert "parcel" not in dashboard_page(board, 1, 1, 0, now=0.0)  # one mail of it was seen
    board.take(found("b", 8, b"Dear Bob, your parcel waits"), 1.25, now=0.0)
    (template,) = board.largest()
    assert (template.text, template.subject) == ("Dear …, your parcel waits", "hello")
    page = dashboard_page(board, 2, 1, 0, now=120.0)
    assert all(text in page for text in ("parcel waits", "1.25", "2 min ago"))
    assert "Ann" not in page
    board.take(SimpleNamespace(batch="b", size=9, is_new=False), None, now=0.0)  # a mail that came as a signature
    assert board.largest()[0].size == 9


def test_a_batch_that_began_with_a_signature_has_no_example():
    board = Board()
    board.take(SimpleNamespace(batch="b", size=1, is_new=True), None, now=0.0)
    for size in (2, 3):
        board.take(found("b", size, b"your parcel waits"), None, now=0.0)
    assert (board.largest()[0].text, board.largest()[0].n_seen) == ("", 3)


def test_what_is_looked_at_is_bounded(monkeypatch):
    looked = []
    monkeypatch.setattr(dashboard, "redacted", lambda text: looked.append(text) or text)
    board = Board()
    for k in range(5):
        board.take(found(f"alone {k}", 1, b"x" * 10**6), None, now=0.0)
    assert looked == []
    assert max(len(part) for one in board._templates.values() for part in one.first) < 10_000
    for k in range(100):
        board.take(found("b", k + 1, b"your parcel waits"), None, now=0.0)
    assert len(looked) == 2 * 20
    assert board.largest()[0].n_seen == 100


def test_what_is_never_shown():
    assert (
        redacted("Ann <ann@x.example>: account 12-34, HTTPS://x.example/a or www.x.example") == "Ann … account … … or …"
    )


def test_what_is_hidden_is_what_a_plain_pattern_hides():
    """The one that is used looks for it once for each word."""
    plain = re.compile(r"\S+@\S+|\S*://\S*|www\.\S+|\S*\d\S*", re.IGNORECASE)
    rng = np.random.default_rng(0)
    pieces = ["a", "@", ":", "/", "//", "://", "www.", "WwW.", "w", " ", " ", "1", "é", "٣", "."]
    for _ in range(5000):
        text = "".join(pieces[k] for k in rng.integers(len(pieces), size=rng.integers(14)))
        assert dashboard._HIDDEN.sub("…", text) == plain.sub("…", text)
