"""A table with known clusters that grows: new records join a cluster or open one, and no id ever changes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.decoding import cost_of_size
from accord.dedupe.labels import check_ids
from accord.dedupe.pairs import RecordTable, as_records
from accord.dedupe.similarity import RecordSimilarity
from accord.dedupe.values import Record
from accord.exceptions import InputError
from accord.forms import LABEL, REPORT, TEXT, fitted, items, mapping
from accord.model_file import load, save
from accord.settings import whole

NEW = "new-"  # how fresh ids begin among ids that are not all numbers


class Assignment(NamedTuple):
    """The id of a record, whether it was made for it, and the summed similarity to the cluster (0 for a new one)."""

    id: Hashable
    is_new: bool
    similarity: float


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
        missing = np.flatnonzero(check_ids(ids, len(records)) < 0)
        if missing.size:
            raise InputError(f"ids[{missing[0]}] is missing; every record of an index has an id (assign gives one)")
        self._table: RecordTable | None = None
        self._packed().append(records)
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
        """:meth:`assign` with what the decision was made of.

        Every call looks through the keys of the whole table, so many records at once are cheaper than one by one.
        """
        records = as_records(records, "records")
        if not records:
            return []
        table, first = self._packed(), len(self.ids)
        table.append(records)
        self._keep_cells(records)
        try:
            return self._decide_all(table, first)
        except BaseException:  # Ctrl-C, too: all of the records are added or none
            self._table = None
            del self.ids[first:]
            for column in self.cells.values():
                del column[first:]
            raise

    def _decide_all(self, table: RecordTable, first: int) -> list[Assignment]:
        """Decide the records of the table from number `first` on."""
        model = self.model
        weights = model.pair_weights()
        left, right = candidate_pairs(table, model.n_candidates, first=first, n_jobs=model.n_jobs)
        scores = table.scores(left, right, weights, model.n_jobs)
        starts = np.searchsorted(left, np.arange(first, len(table) + 1))
        members: dict[Hashable, list[int]] = {}
        for i, one in enumerate(self.ids):
            members.setdefault(one, []).append(i)
        out = []
        for r in range(first, len(table)):
            here = slice(starts[r - first], starts[r - first + 1])
            similar = right[here][scores[here] + model.constant(r + 1) >= 0]
            decision = self._decide(table, r, similar.tolist(), members, weights)
            self.ids.append(decision.id)
            members.setdefault(decision.id, []).append(r)
            out.append(decision)
        return out

    def _decide(
        self, table: RecordTable, r: int, similar: list[int], members: dict[Hashable, list[int]], weights: np.ndarray
    ) -> Assignment:
        best: Hashable = None
        largest = -1.0
        for cluster in dict.fromkeys(self.ids[i] for i in similar):
            others = np.array(members[cluster])
            total = float(table.scores(np.full(others.size, r), others, weights).sum())
            total += others.size * (self.model.constant(r + 1) - cost_of_size(self.model.size_costs_, others.size + 1))
            if total >= 0 and total > largest:
                best, largest = cluster, total
        return Assignment(best, False, largest) if largest >= 0 else Assignment(self._fresh(members), True, 0.0)

    def _fresh(self, used: Mapping[Hashable, Any]) -> Hashable:
        whole = [isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in used]
        digits = [isinstance(one, str) and one.isdecimal() and one.isascii() for one in used]
        if all(whole) or all(digits):
            largest = max((int(one) for one in used), default=0)  # type: ignore[call-overload]
            self.next_number = max(self.next_number, 1 + largest)
            found: Hashable = self.next_number if all(whole) else str(self.next_number)
        else:
            while f"{NEW}{self.next_number}" in used:
                self.next_number += 1
            found = f"{NEW}{self.next_number}"
        self.next_number += 1
        return found

    def _keep_cells(self, records: Sequence[Record]) -> None:
        for name, column in self.cells.items():
            for record in records:
                value = record.get(name)
                column.append(value if value is None or isinstance(value, (str, int, float)) else str(value))

    def _packed(self) -> RecordTable:
        if getattr(self, "_table", None) is None:
            columns = list(self.cells)
            rows = [dict(zip(columns, row)) for row in zip(*self.cells.values())]
            self._table = self.model.view_.table(rows)
        return self._table  # type: ignore[return-value]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_table"}

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
