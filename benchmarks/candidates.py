"""Candidate pairs of a table by Accord's kernel and by DuckDB, from the same inverted index. See README.md.

    python benchmarks/candidates.py 5000 20000

DuckDB joins the entries (key, record, value) with themselves, sums products by pair, and keeps the 20 largest of each
record: what :mod:`accord.dedupe.blocking` does record by record. Needs ``duckdb`` (``requirements-splink.lock``).
"""

import json
import sys
import tempfile
import time

import duckdb
import numpy as np

from accord import RecordPairs
from accord.datasets.many_people import many_people
from accord.dedupe.blocking import key_index
from accord.dedupe.packing import distinct
from accord.kernels.records import blocking

NEAREST = 20
QUERY = f"""
    SELECT l, r FROM (
        SELECT a.record AS l, b.record AS r, sum(a.value * b.value) AS shared
        FROM entries a JOIN entries b ON a.key = b.key AND a.record <> b.record GROUP BY ALL
    ) QUALIFY row_number() OVER (PARTITION BY l ORDER BY shared DESC, r) <= {NEAREST}
"""


def by_kernel(index: tuple[np.ndarray, ...], n: int) -> np.ndarray:
    """Pairs (record, candidate) as one number each."""
    found, scores = np.empty((n, NEAREST), np.int64), np.empty((n, NEAREST))
    blocking.nearest(*index, 0, n, False, NEAREST, found, scores)
    row, place = np.nonzero(found >= 0)
    return distinct(row * n + found[row, place])


def by_duckdb(index: tuple[np.ndarray, ...], n: int) -> np.ndarray:
    """The same from SQL, with one thread and at most 2 GB, the rest on disk."""
    _, _, _, key_ptr, record, value = index
    columns = {"key": np.repeat(np.arange(key_ptr.size - 1), np.diff(key_ptr)), "record": record, "value": value}
    config = {"threads": 1, "memory_limit": "2GB"}
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config={**config, "temp_directory": folder}) as base:
        base.register("given", {name: np.ascontiguousarray(column) for name, column in columns.items()})
        base.execute("CREATE TABLE entries AS SELECT * FROM given")
        found = base.execute(QUERY).fetchnumpy()
    return distinct(np.asarray(found["l"], np.int64) * n + found["r"])


def main() -> None:
    """A line of JSON for each number of records."""
    for n in map(int, sys.argv[1:]):
        records = [record for chunk, _ in many_people(n, random_state=0) for record in chunk]
        n = len(records)
        index = key_index(RecordPairs().fit([records]).table(records))
        by_kernel(index, n)  # compiles
        sizes = np.diff(index.key_ptr)
        row = {"records": n, "entries": int(sizes.sum()), "pairs joined": int((sizes * (sizes - 1)).sum())}
        found = []
        for name, search in (("kernel", by_kernel), ("duckdb", by_duckdb)):
            start = time.process_time()
            found.append(search(index, n))
            row[f"{name}, seconds"] = round(time.process_time() - start, 2)
        row["share of pairs in both"] = float(np.isin(found[0], found[1]).mean())
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
