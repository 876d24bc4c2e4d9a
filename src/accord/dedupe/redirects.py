"""Clusters of an index put together and taken apart by people: reversible, and no id changes its meaning silently.

Whatever is done is an event with the records that it moved. An id that went into another one stays known and leads
there; undoing an event moves the same records back, and is an event itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from accord.dedupe.decisions import Decisions, as_json
from accord.exceptions import InputError

TABLE = (
    "CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, "
    "source INTEGER NOT NULL, target INTEGER NOT NULL, records TEXT NOT NULL, why TEXT NOT NULL, undone INTEGER)"
)
_MANY = 500  # records that a statement names


class Event(NamedTuple):
    """A merge, a split, or one of them undone: records went from the id `source` to the id `target` at a time."""

    number: int
    at: float
    kind: str
    source: Hashable
    target: Hashable
    records: list[int]
    why: str
    undone: int | None


def cluster_of(decisions: Decisions, name: Any, where: str) -> int:
    """The cluster that an id leads to now."""
    number = decisions.number_of(name)
    if number is None:
        raise InputError(f"{where} is {name!r}, which was never an id of this index")
    question = "SELECT into_cluster FROM clusters WHERE number = ?"
    while (into := decisions.db.execute(question, (number,)).fetchone()[0]) is not None:
        number = int(into)
    return number


def merge(decisions: Decisions, keep: Any, other: Any, why: str) -> Hashable:
    """All records of `other` go to `keep`; the id that stays."""
    target, source = cluster_of(decisions, keep, "keep"), cluster_of(decisions, other, "other")
    if source == target:
        raise InputError(f"keep is {keep!r} and other is {other!r}: the same cluster already")
    records = decisions.members(source)[0]
    _move(decisions, records, target)
    _lead(decisions, source, target)
    _note(decisions, "merge", source, target, records, why)
    return decisions.id_of(target)


def split(decisions: Decisions, name: Any, records: Sequence[int], why: str) -> Hashable:
    """Some records of a cluster get a fresh id, the others keep theirs."""
    source = cluster_of(decisions, name, "id")
    members = set(decisions.members(source)[0])
    chosen = list(dict.fromkeys(records))
    for place, record in enumerate(chosen):
        if record not in members:
            raise InputError(f"records[{place}] is {record!r}, which is no record of {name!r}; members(id) names them")
    if not chosen or len(chosen) == len(members):
        raise InputError(f"records has {len(chosen)} of the {len(members)} records of {name!r}; expected some, not all")
    fresh = decisions.fresh()
    target = decisions.add_cluster(fresh)
    _move(decisions, chosen, target)
    _note(decisions, "split", source, target, chosen, why)
    return fresh


def undo(decisions: Decisions, number: int | None, why: str) -> Event:
    """Take back an event, the last one that was not taken back if no number is given; the event that does it."""
    found = history(decisions)
    open_events = [one for one in found if one.undone is None and (number is not None or not one.kind.startswith("un"))]
    chosen = [one for one in open_events if number in (None, one.number)]
    if not chosen:
        said = "there is nothing to undo" if number is None else f"event is {number}, which cannot be undone (again)"
        raise InputError(f"{said}; history() says what was done")
    event = chosen[-1]
    source, target = decisions.number_of(event.source), decisions.number_of(event.target)
    assert source is not None
    assert target is not None
    records = event.records
    if event.kind in ("split", "unmerge"):  # an id is given up, with what has come to it since
        records = decisions.members(target)[0]
    here = set(decisions.members(target)[0])
    if not set(event.records) <= here:
        raise InputError(f"event {event.number} moved records that were moved again; undo the later events first")
    if _leads(decisions, target) is not None:
        raise InputError(f"event {event.number} moved records to an id that is merged; undo the merge first")
    if event.kind in ("merge", "unsplit"):
        _lead(decisions, source, None)
    elif _leads(decisions, source) is not None:
        raise InputError(f"event {event.number} moved records from an id that is merged; undo the merge first")
    else:
        _lead(decisions, target, source)
    _move(decisions, records, source)
    kind = event.kind.removeprefix("un") if event.kind.startswith("un") else f"un{event.kind}"
    by = _note(decisions, kind, target, source, records, why)
    decisions.db.execute("UPDATE events SET undone = ? WHERE number = ?", (by, event.number))
    return history(decisions)[-1]


def history(decisions: Decisions, name: Any = None) -> list[Event]:
    """Events, those of one id or all of them, oldest first."""
    question, values = "SELECT * FROM events ORDER BY number", ()
    if name is not None:
        number = decisions.number_of(name)
        if number is None:
            raise InputError(f"id is {name!r}, which was never an id of this index")
        question = "SELECT * FROM events WHERE source = ? OR target = ? ORDER BY number"
        values = (number, number)  # type: ignore[assignment]
    return [
        Event(k, at, kind, decisions.id_of(a), decisions.id_of(b), json.loads(records), why, undone)
        for k, at, kind, a, b, records, why, undone in decisions.db.execute(question, values).fetchall()
    ]


def _move(decisions: Decisions, records: Sequence[int], cluster: int) -> None:
    for first in range(0, len(records), _MANY):
        some = records[first : first + _MANY]
        marks = ", ".join("?" * len(some))
        decisions.db.execute(f"UPDATE records SET cluster = ? WHERE number IN ({marks})", (cluster, *some))


def _lead(decisions: Decisions, cluster: int, into: int | None) -> None:
    decisions.db.execute("UPDATE clusters SET into_cluster = ? WHERE number = ?", (into, cluster))


def _leads(decisions: Decisions, cluster: int) -> int | None:
    found: int | None = decisions.db.execute(
        "SELECT into_cluster FROM clusters WHERE number = ?", (cluster,)
    ).fetchone()[0]
    return found


def _note(decisions: Decisions, kind: str, source: int, target: int, records: Sequence[int], why: str) -> int:
    row = (time.time(), kind, source, target, as_json(list(records)), str(why))
    question = "INSERT INTO events (at, kind, source, target, records, why) VALUES (?, ?, ?, ?, ?, ?)"
    return int(decisions.db.execute(question, row).lastrowid or 0)
