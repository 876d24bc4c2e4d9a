"""Records with odd cells, mails with odd bytes, sites with odd answers."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
from hostile import Table

from accord import BatchDetector, CollectiveSpamFilter, Deduplicator
from accord.federated import LocalSites, Site, agree

TABLE = Table()
RECORDS = [{"name": f"john smith {i // 2}", "city": "rome" if i % 4 < 2 else "oslo"} for i in range(24)]
IDS = [i // 2 for i in range(24)]
_kept: dict[str, Any] = {}


# -- records ----------------------------------------------------------------------------------------------------------
def model() -> Any:
    if "model" not in _kept:
        _kept["model"] = Deduplicator(self_training=False, random_state=0).fit(RECORDS, IDS)
    return _kept["model"]


def clusters(records: Any) -> int:
    return len(model().predict(records))


def with_cell(cell: Any) -> list[dict[str, Any]]:
    return [*RECORDS[:3], {"name": cell, "city": "rome"}]


for name, cell in {
    "None": None,
    "nan": float("nan"),
    "pandas' NA": pd.NA,
    "pandas' NaT": pd.NaT,
    "nothing": "",
    "blanks": "  \t\n",
    "NUL": "a\0b",
    "a lone surrogate": "\ud800",
    "a megabyte": "ab " * 333_000,
    "a megabyte without blanks": "x" * 10**6,
    "a number": 7,
    "a float": 1e308,
    "infinity": float("inf"),
    "a truth value": True,
    "a date": datetime.date(2000, 1, 1),
    "NumPy's number": np.int64(7),
    "combining marks": "e" + "\u0301" * 5000,
    "control characters": "\x1b[2J\r",
    "a large number": 10**300,
    "digits": "9" * 5000,
    "a date that is none": "0000-99-99",
}.items():
    TABLE.answered(f"cell is {name}", 4, lambda cell=cell: clusters(with_cell(cell)))
    TABLE.answered(
        f"cell to assign is {name}", 4, lambda cell=cell: len(model().index(RECORDS, IDS).assign(with_cell(cell)))
    )
for name, cell in {"a list": ["a"], "a dict": {"a": 1}, "bytes": b"a", "an object": object(), "a set": {"a"}}.items():
    TABLE.refused(f"cell is {name}", "field 'name' of record 3", lambda cell=cell: clusters(with_cell(cell)))
    TABLE.refused(
        f"cell of training is {name}",
        "record 3",
        lambda cell=cell: Deduplicator(self_training=False).fit(with_cell(cell), [0, 0, 1, 1]),
    )
for name, records in {
    "text": "abc",
    "a dict": RECORDS[0],
    "a number": 3,
    "None": None,
    "a list of text": ["a", "b"],
    "a list of lists": [["a"], ["b"]],
    "a list of None": [None, None],
}.items():
    TABLE.refused(f"records are {name}", "records", lambda records=records: clusters(records))
    TABLE.refused(f"records of an index are {name}", "records", lambda records=records: model().index(records, [1]))
TABLE.answered("no records", 0, lambda: clusters([]))
TABLE.answered("one record", 1, lambda: clusters(RECORDS[:1]))
TABLE.answered("records without fields", 2, lambda: clusters([{}, {}]))
TABLE.answered("records with other fields", 2, lambda: clusters([{"zip": 1}, {5: 2}]))
TABLE.answered("records by a generator", 24, lambda: clusters(dict(r) for r in RECORDS))
TABLE.answered("a record 2,000 times", 2000, lambda: clusters([RECORDS[0]] * 2000))
for name, ids in {
    "too few": IDS[:5],
    "text": "a" * 24,
    "a dict": dict(enumerate(IDS)),
    "lists": [[i] for i in IDS],
    "a generator": (i for i in IDS),
    "a set": set(range(24)),
}.items():
    TABLE.refused(
        f"ids are {name}",
        "ids",
        lambda ids=ids: Deduplicator(self_training=False).fit(RECORDS, ids),
    )
for name, ids in {
    "all alike": [1] * 24,
    "all different": list(range(24)),
    "all None": [None] * 24,
    "None itself": None,
}.items():
    TABLE.answered(
        f"ids are {name}",
        24,
        lambda ids=ids: len(Deduplicator(self_training=False, random_state=0).fit(RECORDS, ids).predict(RECORDS)),
    )
for name, value in {"C": -1, "threshold": float("nan"), "n_candidates": 0, "n_jobs": 0, "fields": "name"}.items():
    TABLE.refused(
        f"Deduplicator({name}={value!r})",
        name,
        lambda name=name, value=value: Deduplicator(**{name: value}).fit(RECORDS, IDS),
    )
TABLE.refused("a field that there is not", "zip", lambda: Deduplicator(fields={"zip": "text"}).fit(RECORDS, IDS))
TABLE.refused("a kind that there is not", "prose", lambda: Deduplicator(fields={"name": "prose"}).fit(RECORDS, IDS))
TABLE.refused("pairs outside", "99", lambda: Deduplicator().fit_pairs(RECORDS, [(0, 99)], [(0, 5)]))
TABLE.refused("pairs of one", "matches", lambda: Deduplicator().fit_pairs(RECORDS, [(0,)], [(0, 5)]))
TABLE.refused("pairs of text", "matches", lambda: Deduplicator().fit_pairs(RECORDS, "ab", [(0, 5)]))
TABLE.refused("explain with text", "record", lambda: model().explain("a", "b"))


# -- mail -------------------------------------------------------------------------------------------------------------
def batches(*mails: Any, **options: Any) -> int:
    detector = BatchDetector(window=50, **options)
    return len([detector.assign(mail) for mail in mails])


def multipart(depth: int) -> bytes:
    head = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (k, k) for k in range(depth))
    return b"From: a@b.c\n" + head + b"Content-Type: text/plain\n\nwords of a mail that are enough\n"


TEXT = b"From: a@example.org\nSubject: s\n"
for name, mail in {
    "nothing": b"",
    "a NUL": b"\0",
    "a thousand NULs": b"\0" * 1000,
    "blanks": b"\n\n\n",
    "headers alone": TEXT,
    "no headers": b"just words that are enough to be compared with others",
    "every byte": bytes(range(256)) * 40,
    "a line of 3 MB": TEXT + b"\n" + b"x" * 3_000_000,
    "3 MB of short words": TEXT + b"\n" + b"ab " * 1_000_000,
    "1,000 parts in each other": multipart(1000),
    "a boundary of nothing": b'Content-Type: multipart/mixed; boundary=""\n\n----\n\nx',
    "an unknown charset": TEXT + b"Content-Type: text/plain; charset=no-such\n\n\xff\xfe words",
    "a charset that runs code": TEXT + b"Content-Type: text/plain; charset=unicode_escape\n\n\\x41\\u12",
    "utf-7": TEXT + b"Content-Type: text/plain; charset=utf-7\n\n+AAA-+//8-",
    "broken base64": TEXT + b"Content-Transfer-Encoding: base64\n\n====a=b!!",
    "base64 without end": TEXT + b"Content-Transfer-Encoding: base64\n\n" + b"QUFB" * 300_000,
    "broken quoted-printable": TEXT + b"Content-Transfer-Encoding: quoted-printable\n\n=ZZ=\n==",
    "an encoded word without end": b"Subject: =?utf-8?b?" + b"A" * 100_000 + b"\n\nx",
    "100,000 headers": b"".join(b"X-%d: y\n" % k for k in range(100_000)) + b"\nbody",
    "a header of a megabyte": b"Subject: " + b"a" * 10**6 + b"\n\nbody",
    "html that opens 100,000 tags": TEXT + b"Content-Type: text/html\n\n" + b"<div>" * 100_000,
    "html of comments without end": TEXT + b"Content-Type: text/html\n\n" + b"<!--" * 100_000,
    "html of entities": TEXT + b"Content-Type: text/html\n\n" + b"&#x110000;&#0;&#xD800;&nosuch;" * 1000,
    "50,000 links": TEXT + b"\n" + b"http://a.example/x " * 50_000,
    "a date that is none": b"Date: 99 Foo 99999\n\nbody",
    "addresses without end": b"From: " + b"<" * 50_000 + b"\n\nbody",
    "a bytearray": bytearray(TEXT),
    "a memoryview": memoryview(TEXT),
}.items():
    TABLE.answered(f"mail is {name}", 2, lambda mail=mail: batches(mail, mail))
for name, mail in {
    "text": "From: a",
    "None": None,
    "a number": 7,
    "a list": [TEXT],
    "an array": np.zeros(3, np.uint8),
}.items():
    TABLE.refused(f"mail is {name}", "raw", lambda mail=mail: batches(mail))
for name, when in {
    "nan": float("nan"),
    "infinite": float("inf"),
    "text": "now",
    "a list": [1],
    "beyond floats": 10**400,
}.items():
    TABLE.refused(f"received is {name}", "received", lambda when=when: BatchDetector().assign(TEXT, when))
for name, value in (
    ("window", 0),
    ("window", -1),
    ("window", 1.5),
    ("window", "9"),
    ("window", 10**12),
    ("max_age", -1),
    ("max_age", float("nan")),
    ("min_words", -1),
    ("prefix", "a b"),
    ("prefix", "x" * 99),
    ("prefix", None),
    ("prefix", "é\n"),
    ("model", "none"),
    ("model", 3),
):
    TABLE.refused(
        f"BatchDetector({name}={value!r})".replace("x" * 99, "x…"),
        name,
        lambda name=name, value=value: BatchDetector(**{name: value}),
    )
TABLE.answered(
    "dates that run backwards",
    3,
    lambda: len([BatchDetector(max_age=10).assign(TEXT, when) for when in (1e9, 0.0, -1e12)]),
)
MAILS, SPAM = [TEXT + b"\nbuy pills now cheap today %d" % k for k in range(6)], [True, False] * 3
for name, mails, labels in (
    ("too few labels", MAILS, SPAM[:2]),
    ("labels of text", MAILS, "abcdef"),
    ("one class", MAILS, [True] * 6),
    ("mails of text", ["a"] * 6, SPAM),
    ("no mails", [], []),
    ("labels of nan", MAILS, [float("nan")] * 6),
):
    TABLE.refused(
        f"spam filter: {name}",
        "messages" if name == "mails of text" else "labels",
        lambda mails=mails, labels=labels: CollectiveSpamFilter().fit(mails, labels),
    )
TABLE.answered(
    "spam filter: odd mails", 2, lambda: len(CollectiveSpamFilter().fit(MAILS, SPAM).predict([b"", b"\0" * 99]))
)

# -- sites ------------------------------------------------------------------------------------------------------------
RNG = np.random.default_rng(5)
PRIVATE, SHARED = [RNG.normal(size=(15, 3)) for _ in range(2)], RNG.normal(size=(10, 3))


def sites() -> dict[str, Site]:
    return {f"s{k}": Site(one, one.sum(axis=1), SHARED) for k, one in enumerate(PRIVATE)}


class Liar(LocalSites):
    """Sites of which one answers what it is told to."""

    def __init__(self, answer: Any) -> None:
        super().__init__(sites())
        self.answer = answer

    def ask(self, questions: Any, lambda_: float) -> Any:
        found = super().ask(questions, lambda_)
        if "s1" in found:
            found["s1"] = self.answer() if callable(self.answer) else self.answer
        return found


def lied(answer: Any) -> tuple[bool, bool, bool]:
    """Whether it is converged, whether the report names the site, and whether all numbers are finite."""
    found = agree(Liar(answer), 0.1, max_rounds=6)
    return found.converged, "s1" in found.missing, all(np.isfinite(p).all() for p in found.predictions.values())


for name, answer in {
    "None": None,
    "text": "x",
    "an object": object(),
    "a dict": {"a": 1},
    "nothing": [],
    "a number": 3.0,
    "another shape": np.zeros((10, 2)),
    "one row more": np.zeros((11, 1)),
    "one dimension": np.zeros(10),
    "nan": np.full((10, 1), np.nan),
    "infinite": np.full((10, 1), np.inf),
    "complex": np.full((10, 1), 1j),
    "text of numbers": np.full((10, 1), "1.0"),
    "objects": np.full((10, 1), object()),
    "an error": ValueError("no"),
}.items():
    TABLE.answered(f"site answers {name}", (False, True, True), lambda answer=answer: lied(answer))
for name, make in {
    "no sites": lambda: LocalSites({}),
    "text": lambda: LocalSites("ab"),
    "None": lambda: LocalSites([None]),
    "other shapes": lambda: LocalSites([*sites().values(), Site(PRIVATE[0], PRIVATE[0][:, 0], SHARED[:5])]),
}.items():
    TABLE.refused(f"sites are {name}", "sites", make)
_ARGUMENT = {
    "y of text": "y[0]",
    "too few y": "y has 1",
    "no unlabeled": "unlabeled",
    "None": "unlabeled",
    "unlabeled of other columns": "2 features",
    "unlabeled nan": "finite",
}
for name, arguments in {
    "y of text": (PRIVATE[0], ["a"] * 15, SHARED),
    "too few y": (PRIVATE[0], [1.0], SHARED),
    "no unlabeled": (PRIVATE[0], PRIVATE[0][:, 0], SHARED[:0]),
    "None": (None, None, None),
    "unlabeled of other columns": (PRIVATE[0], PRIVATE[0][:, 0], SHARED[:, :2]),
    "unlabeled nan": (PRIVATE[0], PRIVATE[0][:, 0], SHARED * np.nan),
}.items():
    TABLE.refused(f"Site: {name}", _ARGUMENT[name], lambda arguments=arguments: Site(*arguments))
for name, others, weight in (
    ("another shape", np.zeros((1, 9, 1)), 0.1),
    ("nan", np.full((1, 10, 1), np.nan), 0.1),
    ("text", "x", 0.1),
    ("None", None, 0.1),
    ("a weight of nan", np.zeros((1, 10, 1)), float("nan")),
    ("a weight below zero", np.zeros((1, 10, 1)), -1),
    ("a weight of text", np.zeros((1, 10, 1)), "1"),
):
    TABLE.refused(
        f"Site.predict: {name}",
        "lambda_" if "weight" in name else "others",
        lambda others=others, weight=weight: sites()["s0"].predict(others, weight),
    )
for name, value in (
    ("method", "newton"),
    ("lambda_", -1),
    ("lambda_", float("nan")),
    ("tol", "x"),
    ("max_rounds", "x"),
    ("max_rounds", -1),
):
    TABLE.refused(
        f"agree({name}={value!r})", name, lambda name=name, value=value: agree(LocalSites(sites()), **{name: value})
    )
