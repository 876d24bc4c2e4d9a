"""A table with known clusters that grows: new records join a cluster or open one, and no id ever changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from accord.dedupe.decisions import TABLES, Assignment, Decisions
from accord.dedupe.labels import check_record_ids
from accord.dedupe.pairs import as_records
from accord.dedupe.similarity import RecordSimilarity
from accord.dedupe.values import Record
from accord.exceptions import InputError
from accord.forms import LABEL, REPORT, TEXT, fitted, items, mapping
from accord.model_file import load, save
from accord.settings import whole


class RecordIndex:
    """Records with stable ids. Made by ``model.index(records, ids)``, read from a file by ``RecordIndex.load``.

    A new record joins the cluster with the largest sum of similarities to all its records if that sum is >= 0, else it
    gets a fresh id (the sequential rule [thesis Table 8.2]). If labeled clusters make the size that the cluster would
    then have improbable, similarities have to be larger by that, see ``size_costs_`` of the model. Decisions are made
    one after another, in the order of the records, and never reconsidered. Only clusters with a similar candidate are
    looked at, see :func:`accord.dedupe.blocking.candidate_pairs`.

    Fresh ids: the next whole number if all ids are whole numbers (or texts of digits), else ``new-1``, ``new-2``, ...
    An id that was ever in the index is never given again.

    Examples
    --------
    >>> from accord import Deduplicator
    >>> records = [{"name": n} for n in ("Ann Lee", "Lee, Ann", "Bob Kay", "Bob Kaye", "Cy Orr", "Di Roe", "D. Roe")]
    >>> ids = [7, 7, 8, 8, 9, 10, 10]
    >>> index = Deduplicator({"name": "text"}, calibrate=False).fit(records, ids).index(records, ids)
    >>> index.assign([{"name": "Lee Ann"}, {"name": "Eva Moss"}])
    [7, 11]
    """

    stored: ClassVar = {
        "model": fitted("Deduplicator"),
        "ids": items(LABEL, "n_records"),
        "cells": mapping(TEXT, items(REPORT, "n_records")),
        "next_number": whole(1),
    }
    agrees: ClassVar = {
        "cells are of the fields of the model": lambda self: [*self.cells] == [*self.model.view_.fields_]
    }

    def __init__(self, model: RecordSimilarity, records: Any = (), ids: Sequence[Hashable] = ()) -> None:
        self.model = model
        self.cells: dict[str, list[Any]] = {name: [] for name in model.view_.fields_}
        self.ids: list[Hashable] = []
        self.next_number = 1
        records = as_records(records, "records")
        check_record_ids(ids, len(records))
        model.view_.plain_cells(records)  # complains about what is no cell
        self._engine: Decisions | None = None
        self._keep_cells(records)
        self.ids += ids

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_clusters(self) -> int:
        """Number of different ids."""
        return len(set(self.ids))

    def assign(self, records: Any) -> list[Hashable]:
        """Add records and say the id of each: an existing one, or a fresh one."""
        return [assignment.id for assignment in self.assign_detailed(records)]

    def assign_detailed(self, records: Any) -> list[Assignment]:
        """:meth:`assign` with what the decision was made of."""
        records = as_records(records, "records")
        decisions = self._decisions()
        plain = decisions.plain(records)
        first = len(self.ids)
        try:
            out = [
                decisions.decide(cells, decisions.raw(record), first + k)
                for k, (cells, record) in enumerate(zip(plain, records))
            ]
        except BaseException:  # Ctrl-C, too: all of the records are added or none
            self._engine = None
            raise
        self.ids += [one.id for one in out]
        self.next_number = int(decisions.recall("next"))
        self._keep_cells(records)
        return out

    def _keep_cells(self, records: Sequence[Record]) -> None:
        for name, column in self.cells.items():
            for record in records:
                value = record.get(name)
                column.append(value if value is None or isinstance(value, (str, int, float)) else str(value))

    def _decisions(self) -> Decisions:
        """Records, clusters and keys as an index on disk has them, but in memory."""
        if getattr(self, "_engine", None) is None:
            db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            for table in TABLES:
                db.execute(table)
            engine = Decisions(db, self.model)
            names = list(self.cells)
            engine.fill([dict(zip(names, row)) for row in zip(*self.cells.values())], self.ids)
            engine.remember("next", max(self.next_number, int(engine.recall("next"))))
            self._engine = engine
        return self._engine  # type: ignore[return-value]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_engine"}

    # -- files --------------------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write model, records and ids to one file, at once or not at all."""
        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> RecordIndex:
        """Read what ``save`` wrote."""
        index = load(path)
        if not isinstance(index, cls):
            raise InputError(f"{path} holds a {type(index).__name__}, not an index of records")
        return index
