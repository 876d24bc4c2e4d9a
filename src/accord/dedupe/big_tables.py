"""Tables that do not fit into memory, clustered from files of a folder, step by step.

The steps are those in memory, and so is the result: records are packed, their keys sorted, candidates found, compared,
and clustered. What was done is kept, so a program that was killed goes on where it was: packing and sorting begin
again, searching and comparing go on with the next block. Blocks are functions of files of the folder, which threads
call, or the workers of a Dask cluster that see the same folder.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from accord.dedupe import disk_index
from accord.dedupe.blocking import Closeness
from accord.dedupe.column import Column
from accord.dedupe.decoding import MOST_ALL_PAIRS, Rule, cluster_pairs, small_parts
from accord.dedupe.disk_index import Parts
from accord.dedupe.lookup_keys import KeyFiles, keys_of
from accord.dedupe.packing import AllNew, HashedNumbers, PackedStrings, distinct, to_files
from accord.dedupe.pairs import RecordPairs, RecordTable, as_records
from accord.dedupe.text_columns import WholeColumn
from accord.exceptions import InputError
from accord.files import write_file
from accord.kernels.records import blocking
from accord.progress import Progress
from accord.threads import elsewhere, map_anywhere

_STATE = "accord-work.json"
_KEYED = 10_000  # records whose keys are found at a time; more take longer, because their memory is new every time
_ROWS = 20_000  # records whose candidates are searched at a time
_BITS = 7  # of keys, by which they are sorted in 128 parts
_PAIR = np.dtype([("left", "<i8"), ("right", "<i8")])
_SCORED = np.dtype([("left", "<i8"), ("right", "<i8"), ("score", "<f8")])


class BigTable:
    """A table in a folder, whose records come in chunks; `name` tells it from others."""

    def __init__(self, folder: Path, view: RecordPairs, name: str, n_jobs: int | None, verbose: bool) -> None:
        folder = folder.absolute()  # workers may be elsewhere
        self.folder, self.view, self.n_jobs, self.verbose = folder, view, n_jobs, verbose
        self.state: dict[str, Any] = {"name": name, "done": [], "n_records": 0}
        self.table = RecordTable(view)
        if (folder / _STATE).exists():
            found = json.loads((folder / _STATE).read_text("utf-8"))
            if found["name"] != name:
                raise InputError(f"{folder} has what was done of another table or by another model; remove it first")
            self.state = found
        elif folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} is a folder with other files; name an empty one, or one that is not there")
        folder.mkdir(parents=True, exist_ok=True)
        self._save()

    def cluster(
        self,
        chunks: Iterable[Any],
        n_candidates: int,
        weights: np.ndarray,
        constant: Callable[[int], float],
        rule: Callable[[int], Rule],
    ) -> np.ndarray:
        """Cluster numbers by first appearance; `constant` and `rule` are those of so many records."""
        if (self.folder / "clusters").exists():
            return np.fromfile(self.folder / "clusters", np.int64)
        if "packed" in self.state["done"]:
            self.table = TableFiles(self.folder, self.view, self.state["columns"], self.state["n_records"]).open()
        else:
            self._pack(chunks)
        self._sort()
        self._search(n_candidates)
        n_parts, added = self._pair(), constant(len(self.table))
        self._compare(n_parts, weights, added)
        found = self._clusters(n_parts, weights, added, rule(len(self.table)))
        _write(self.folder / "clusters", found)
        return found

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)

    # -- records and their keys --------------------------------------------------------------------------------------
    def _pack(self, chunks: Iterable[Any]) -> None:
        self._clear("")
        for name, column in _columns(self.table):
            to_files(column, self.folder, name)
            column.numbers_of = AllNew() if isinstance(column, WholeColumn) else HashedNumbers()
            if hasattr(column, "word_numbers_of"):
                column.word_numbers_of = HashedNumbers()
        keys = KeyFiles(self.folder, _BITS)
        with Progress(None, "reading", self.verbose) as progress:
            for chunk in chunks:
                first, records = len(self.table), as_records(chunk, "chunks")
                self.table.append_plain(list(zip(*self.view.plain_cells(records, first).values())))
                for begin in range(first, len(self.table), _KEYED):
                    keys.add(keys_of(self.table, np.arange(begin, min(begin + _KEYED, len(self.table)))), begin)
                progress.advance(len(records))
        self.state["n_records"] = len(self.table)
        self.state["columns"] = {name: _said(column) for name, column in _columns(self.table)}
        for _, column in _columns(self.table):
            column.numbers_of = AllNew()  # what is known is needed no more
            if hasattr(column, "word_numbers_of"):
                column.word_numbers_of = AllNew()
        self._done("packed")

    def _sort(self) -> None:
        if "sorted" in self.state["done"]:
            return
        self._clear("index.")
        keys = KeyFiles(self.folder, _BITS, fresh=False)
        with Progress(1 << _BITS, "sorting keys", self.verbose) as progress:
            disk_index.build(self.folder, keys, len(self.table), len(self.table.columns), progress.advance)
        self._done("sorted")
        keys.remove()

    # -- candidates ----------------------------------------------------------------------------------------------------
    def _search(self, n_candidates: int) -> None:
        if "paired" in self.state["done"]:
            return
        n = len(self.table)
        starts = [begin for begin in range(0, n, _ROWS) if not near(self.folder, begin).exists()]
        calls = [(self.folder, begin, min(begin + _ROWS, n), n_candidates) for begin in starts]
        with Progress(-(-n // _ROWS), "searching", self.verbose) as progress:
            progress.advance(-(-n // _ROWS) - len(starts))
            map_anywhere(search, calls, self.n_jobs, progress.advance)

    def _pair(self) -> int:
        """Pairs in parts, each once, sorted; the number of parts."""
        if "paired" not in self.state["done"]:
            self._clear("pairs-")
            blocks = [near(self.folder, begin) for begin in range(0, len(self.table), _ROWS)]
            n_pairs = sum(path.stat().st_size for path in blocks) // _PAIR.itemsize
            parts = Parts(self.folder, "pairs", _PAIR, len(self.table), n_pairs)
            for path in blocks:
                pairs = np.fromfile(path, _PAIR)
                parts.add(pairs, pairs["left"])
            self.state["n_parts"] = parts.n_parts
            self._done("paired")
            self._clear("near-")
        return int(self.state["n_parts"])

    def _compare(self, n_parts: int, weights: np.ndarray, constant: float) -> None:
        left_over = [k for k in range(n_parts) if not scored(self.folder, k).exists()]
        # here one part after another is in memory, and threads share it; on other machines each worker has one
        here, there = (1, self.n_jobs) if elsewhere() else (self.n_jobs, 1)
        files = TableFiles(self.folder, self.view.without_counts(), self.state["columns"], len(self.table))
        calls = [(files, k, weights, constant, here) for k in left_over]
        with Progress(n_parts, "comparing", self.verbose) as progress:
            progress.advance(n_parts - len(left_over))
            map_anywhere(compare, calls, there, progress.advance)

    # -- clusters ------------------------------------------------------------------------------------------------------
    def _clusters(self, n_parts: int, weights: np.ndarray, constant: float, rule: Rule) -> np.ndarray:
        """Of the candidates those that are similar are kept in memory, and others of large components."""
        n = len(self.table)
        pairs = self._gather(n_parts, lambda some: some["score"] > 0)
        left, right = np.ascontiguousarray(pairs["left"]), np.ascontiguousarray(pairs["right"])
        large = np.full(n, -1)
        for k, part in enumerate(small_parts(n, left, right, pairs["score"], n)):
            if part.size > MOST_ALL_PAIRS:
                large[part] = k
        if large.max(initial=-1) >= 0:
            pairs = self._gather(
                n_parts,
                lambda some: (
                    (some["score"] > 0) | ((large[some["left"]] >= 0) & (large[some["left"]] == large[some["right"]]))
                ),
            )
            left, right = np.ascontiguousarray(pairs["left"]), np.ascontiguousarray(pairs["right"])

        def scores(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return self.table.scores(a, b, weights, self.n_jobs) + constant

        closeness = cache(lambda: Closeness(self.table, disk_index.open_index(self.folder)))
        return cluster_pairs(n, (left, right), pairs["score"], scores, closeness, rule, verbose=self.verbose)

    def _gather(self, n_parts: int, wanted: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        found = []
        for k in range(n_parts):
            some = np.fromfile(scored(self.folder, k), _SCORED)
            found.append(some[wanted(some)])
        return np.concatenate(found) if found else np.empty(0, _SCORED)

    # -- files ---------------------------------------------------------------------------------------------------------
    def _done(self, step: str) -> None:
        self.state["done"].append(step)
        self._save()

    def _save(self) -> None:
        write_file(self.folder / _STATE, json.dumps(self.state))

    def _clear(self, begins: str) -> None:
        """Remove what an unfinished step has left."""
        for path in self.folder.iterdir():
            if path.name.startswith(begins) and path.name != _STATE:
                path.unlink()


# -- blocks, which any program can do that sees the folder -----------------------------------------------------------
class TableFiles(NamedTuple):
    """A packed table in a folder, to be opened anywhere."""

    folder: Path
    view: RecordPairs
    said: dict[str, Any]
    n_records: int

    def open(self) -> RecordTable:
        """The table, whose arrays are mapped into memory."""
        table = RecordTable(self.view)
        for name, column in _columns(table):
            to_files(column, self.folder, name)
            _say(column, self.said[name])
        table.n_records = self.n_records
        return table


def search(folder: Path, begin: int, end: int, n_candidates: int) -> None:
    """Write candidates of some records."""
    index = disk_index.open_index(folder)
    found, scores = np.empty((end - begin, n_candidates), np.int64), np.empty((end - begin, n_candidates))
    blocking.nearest(*index, begin, end, False, n_candidates, found, scores)
    row, place = np.nonzero(found >= 0)
    other = found[row, place]
    pairs = np.empty(row.size, _PAIR)
    pairs["left"], pairs["right"] = np.maximum(row + begin, other), np.minimum(row + begin, other)
    _write(near(folder, begin), pairs)


def compare(files: TableFiles, part: int, weights: np.ndarray, constant: float, n_jobs: int | None) -> None:
    """Write similarities of the pairs of a part, each pair once."""
    pairs, n = np.fromfile(files.folder / f"pairs-{part}", _PAIR), files.n_records
    keys = distinct(pairs["left"] * n + pairs["right"])
    out = np.empty(keys.size, _SCORED)
    out["left"], out["right"] = keys // n, keys % n
    out["score"] = files.open().similarities(keys // n, keys % n, weights, constant, n_jobs)
    _write(scored(files.folder, part), out)


def near(folder: Path, begin: int) -> Path:
    """Where candidates of the records from `begin` on are."""
    return folder / f"near-{begin}"


def scored(folder: Path, part: int) -> Path:
    """Where similarities of a part of the pairs are."""
    return folder / f"scored-{part}"


def _columns(table: RecordTable) -> Iterator[tuple[str, Column]]:
    for k, column in enumerate(table.columns.values()):
        yield f"column{k}", column
    if table.whole is not None:
        yield "whole", table.whole


def _write(path: Path, entries: np.ndarray) -> None:
    """Write a file that is whole if it is there, whoever else writes the same."""
    unfinished = path.with_name(f"unfinished-{path.name}-{uuid.uuid4().hex}")
    entries.tofile(unfinished)
    os.replace(unfinished, path)


def _said(column: Column) -> dict[str, Any]:
    """What comparisons ask of a column beside its arrays."""
    packed = [value for value in vars(column).values() if isinstance(value, PackedStrings)]
    return {
        "symbols": list(packed[0].symbols) if packed else [],
        "longest": [one.longest for one in packed],
        "most_words": getattr(column, "most_words", 0),
    }


def _say(column: Column, said: dict[str, Any]) -> None:
    packed = [value for value in vars(column).values() if isinstance(value, PackedStrings)]
    for one, longest in zip(packed, said["longest"]):
        one.longest = longest
        one.symbols.update((c, k) for k, c in enumerate(said["symbols"]))
    if hasattr(column, "most_words"):
        column.most_words = said["most_words"]
