"""The sequential rule over an index in SQLite: a new record joins a cluster, or opens one.

What a decision costs does not depend on how many records there are: keys of the record are looked up, the nearest
records are compared with it, and then clusters of those that are similar.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from accord.dedupe import postings
from accord.dedupe.decoding import cost_of_size
from accord.dedupe.few_pairs import FewPairs
from accord.dedupe.lookup_keys import fewer_keys_of, fewer_keys_of_one
from accord.dedupe.pairs import RecordTable
from accord.dedupe.similarity import RecordSimilarity
from accord.dedupe.values import Record

NEW = "new-"  # how fresh ids begin among ids that are not all numbers
TABLES = [
    *postings.TABLES,
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value)",
    # `plain` are the cells as they are compared, `cells` as they came
    "CREATE TABLE records (number INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, plain TEXT NOT NULL, "
    "cells TEXT NOT NULL)",
    "CREATE INDEX members ON records (cluster)",
    "CREATE TABLE clusters (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, into_cluster INTEGER)",
]
_FIRST, _BEHIND = 40, 0.4  # per cent of the candidates that are compared first, and what they share beside the nearest
_NEAR_THING = 3.0  # a similarity that is not further from 0 leaves it open
_MOST_MEMBERS = 200  # of a cluster that a record is compared with; the sum of all is guessed from their mean


class Assignment(NamedTuple):
    """The id of a record, whether it was made for it, and the summed similarity to the cluster (0 for a new one)."""

    id: Hashable
    is_new: bool
    similarity: float


class Decisions:
    """Records, clusters and keys in SQLite tables, and the model that decides; transactions are up to the caller."""

    def __init__(self, db: sqlite3.Connection, model: RecordSimilarity) -> None:
        self.db, self.model = db, model
        self.fields, self.kinds = list(model.view_.fields_), list(model.view_.fields_.values())
        self.weights = model.pair_weights()
        self.pairs = FewPairs(model.view_)
        self.postings = postings.Postings(db)

    # -- many records, whose clusters are known ------------------------------------------------------------------
    def fill(self, records: Sequence[Record], ids: Sequence[Hashable], block: int = 20_000) -> None:
        """The first records."""
        numbers = {one: k for k, one in enumerate(dict.fromkeys(ids))}
        self.db.executemany(
            "INSERT INTO clusters VALUES (?, ?, NULL)", ((k, as_json(one)) for one, k in numbers.items())
        )

        def tables() -> Iterable[RecordTable]:
            for first in range(0, len(records), block):
                some = records[first : first + block]
                plain = self.plain(some, first)
                self.db.executemany(
                    "INSERT INTO records VALUES (?, ?, ?, ?)",
                    (
                        (first + k, numbers[ids[first + k]], as_json(cells), as_json(self.raw(record)))
                        for k, (cells, record) in enumerate(zip(plain, some))
                    ),
                )
                table = self.model.view_.table()
                table.append_plain(plain)
                yield table

        postings.add_all(self.db, tables(), len(records), len(self.fields) + 1)
        whole = all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in numbers)
        digits = all(isinstance(one, str) and one.isdecimal() and one.isascii() for one in numbers)
        self.remember("fresh", "numbers" if whole else "digits" if digits else "names")
        largest = max((int(one) for one in numbers), default=0) if whole or digits else 0  # type: ignore[call-overload]
        self.remember("next", max(1 + largest, 1))

    # -- one record after another ---------------------------------------------------------------------------------
    def decide(self, plain: list[str | None], raw: list[Any] | None, number: int) -> Assignment:
        """Decide about a record; it is added under `number`, if there is something to keep of it."""
        keys = fewer_keys_of_one(self.kinds, plain)
        if keys is None:
            table = self.model.view_.table()
            table.append_plain([plain])
            keys = fewer_keys_of(table, np.arange(1))
        near, sums, found = self.postings.look_up(keys, number + 1, self.model.n_candidates)
        # those that are far behind the nearest are compared later, if at all
        n_first = max(min(_FIRST * near.size // 100, int(np.count_nonzero(sums >= _BEHIND * sums[:1]))), 1)
        cluster, total = self._best(plain, near.tolist(), n_first, number + 1)
        if raw is None:
            return Assignment(None if cluster is None else self.id_of(cluster), cluster is None, max(total, 0.0))
        is_new = cluster is None
        name: Hashable
        if cluster is None:
            name = self.fresh()
            cluster = self.add_cluster(name)
        else:
            name = self.id_of(cluster)
        self.db.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (number, cluster, as_json(plain), as_json(raw)))
        self.postings.add(found, number)
        return Assignment(name, is_new, 0.0 if is_new else total)

    def _best(self, plain: list[str | None], near: list[int], n_first: int, n_records: int) -> tuple[int | None, float]:
        """The cluster with the largest sum of similarities, and that sum; None if it is below 0.

        The first candidates are compared first, and the others only if it is a near thing.
        """
        constant, rule = self.model.constant(n_records), self.model.rule(n_records)
        clusters, scores = self._compare(plain, near[:n_first], constant)
        if -_NEAR_THING <= max(scores.values(), default=-np.inf) < _NEAR_THING:
            more, similar = self._compare(plain, near[n_first:], constant)
            clusters |= more
            scores |= similar
        best, largest = None, -1.0
        for cluster in dict.fromkeys(clusters[record] for record in sorted(scores) if scores[record] >= 0):
            members, size = self.members(cluster, _MOST_MEMBERS)
            scores |= self._compare(plain, [record for record in members if record not in scores], constant)[1]
            total = sum(scores[record] for record in members) * (size / len(members))
            total += size * (rule.lenience - cost_of_size(rule.costs, size + 1))
            if total >= 0 and total > largest:
                best, largest = cluster, total
        return best, largest

    def _compare(
        self, plain: list[str | None], records: list[int], constant: float
    ) -> tuple[dict[int, int], dict[int, float]]:
        """Clusters of records, and similarities to them."""
        rows = postings.select(self.db, "number, cluster, plain FROM records", "number", records)
        if not rows:
            return {}, {}
        cells = json.loads(f"[{','.join([row[2] for row in rows])}]")
        scores = self.pairs.compare(plain, cells) @ self.weights + constant
        return {row[0]: row[1] for row in rows}, {row[0]: score for row, score in zip(rows, scores.tolist())}

    # -- clusters and their ids -----------------------------------------------------------------------------------
    def members(self, cluster: int, most: int | None = None) -> tuple[list[int], int]:
        """Records of a cluster, of very many the first and the last ones; and how many there are."""
        size = self.db.execute("SELECT count(*) FROM records WHERE cluster = ?", (cluster,)).fetchone()[0]
        question = "SELECT number FROM records WHERE cluster = ? ORDER BY number"
        if most is None or size <= most:
            return [row[0] for row in self.db.execute(question, (cluster,))], size
        halves = [
            [row[0] for row in self.db.execute(f"{question} {order} LIMIT ?", (cluster, most // 2))]
            for order in ("ASC", "DESC")
        ]
        return [*halves[0], *reversed(halves[1])], size

    def id_of(self, cluster: int) -> Hashable:
        """The id of a cluster."""
        found: Hashable = json.loads(
            self.db.execute("SELECT id FROM clusters WHERE number = ?", (cluster,)).fetchone()[0]
        )
        return found

    def add_cluster(self, name: Hashable) -> int:
        """A new cluster with this id."""
        return int(self.db.execute("INSERT INTO clusters (id) VALUES (?)", (as_json(name),)).lastrowid or 0)

    def fresh(self) -> Hashable:
        """An id that was never in the index."""
        kind, number = self.recall("fresh"), int(self.recall("next"))
        while kind == "names" and self.number_of(f"{NEW}{number}") is not None:
            number += 1
        self.remember("next", number + 1)
        return number if kind == "numbers" else str(number) if kind == "digits" else f"{NEW}{number}"

    def number_of(self, name: Any) -> int | None:
        """The cluster that an id was given to."""
        found = self.db.execute("SELECT number FROM clusters WHERE id = ?", (as_json(name),)).fetchone()
        return None if found is None else int(found[0])

    # -- odds and ends ----------------------------------------------------------------------------------------------
    def recall(self, name: str) -> Any:
        """Something remembered, or None."""
        found = self.db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def remember(self, name: str, value: Any) -> None:
        """Keep something under a name."""
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def n_records(self) -> int:
        """Number of records."""
        return int(self.db.execute("SELECT coalesce(max(number) + 1, 0) FROM records").fetchone()[0])

    def plain(self, records: Sequence[Record], first: int = 0) -> list[list[str | None]]:
        """Cells of records as they are compared; complains about what is no cell."""
        columns = self.model.view_.plain_cells(records, first)
        return [list(row) for row in zip(*columns.values())]

    def raw(self, record: Record) -> list[Any]:
        """Cells as they came, as far as JSON can hold them."""
        values = (record.get(name) for name in self.fields)
        return [value if value is None or isinstance(value, (str, int, float)) else str(value) for value in values]


def as_json(value: Any) -> str:
    """Text from which the same value can be read."""
    if isinstance(value, np.generic):
        value = value.item()
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
