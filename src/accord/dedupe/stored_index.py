"""An index of records in one SQLite file, for tables of any size: many programs read it, one at a time writes."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accord.dedupe import redirects
from accord.dedupe.decisions import TABLES, Assignment, Decisions
from accord.dedupe.labels import check_record_ids
from accord.dedupe.pairs import as_records
from accord.dedupe.redirects import Event
from accord.dedupe.similarity import RecordSimilarity
from accord.exceptions import AccordError, InputError, ModelFileError
from accord.files import remove_leftovers, replacing
from accord.model_file import load, save
from accord.progress import Progress

_HEADER = b"SQLite format 3\0"
_APPLICATION, _VERSION = 0x4163_6F49, 2  # in the header of the file
_BUSY = 60.0  # seconds to wait for another program that writes
_PAGE = 1024  # bytes; the keys of a record are on a hundred pages, each in another part of the file
_LOG = 4 << 20  # bytes of changes, after which they are written to their places
_CACHE = 64 << 20  # bytes of pages
_MAPPED = 64 << 30  # bytes of the file that are read as memory


class StoredIndex:
    """Records with stable ids in a file. Made by ``model.index(records, ids, path=...)``, opened by its path.

    The rule is that of :class:`RecordIndex`; what differs is where records are. One record takes a few milliseconds,
    in a table of thousands as in one of millions: it is looked up by its keys, the nearest records are compared with
    it, then the clusters of those that are similar (of more than 200 records the first and the last hundred).

    What a call has returned is in the file, whatever happens to the program afterwards; a call that fails or is killed
    changes nothing. Several programs may read while one writes; a second one that writes waits. Threads may share an
    index.

    Clusters can be put together and taken apart (:meth:`merge`, :meth:`split`), which is written down
    (:meth:`history`) and can be taken back (:meth:`undo`). An id never changes its meaning silently: one that was
    merged leads to the id that it went into (:meth:`resolve`), and is never given again.

    Parameters
    ----------
    path : path
        The file.
    readonly : bool
        Refuse changes; the file may then be one that this program may not write.
    flush : bool
        Wait for the disk at the end of every call. Without it a power cut may lose the last calls (a killed program
        never does).

    Examples
    --------
    >>> import os, tempfile
    >>> from accord import Deduplicator, StoredIndex
    >>> records = [{"name": n} for n in ("Ann Lee", "Lee, Ann", "Bob Kay", "Bob Kaye", "Cy Orr", "Di Roe", "D. Roe")]
    >>> model = Deduplicator({"name": "text"}, calibrate=False).fit(records, [7, 7, 8, 8, 9, 10, 10])
    >>> path = os.path.join(tempfile.mkdtemp(), "people.index")
    >>> with model.index(records, [7, 7, 8, 8, 9, 10, 10], path=path) as index:
    ...     index.assign([{"name": "Lee Ann"}, {"name": "Eva Moss"}])
    [7, 11]
    >>> index = StoredIndex(path)
    >>> index.merge(9, 11), index.resolve(11), index.undo().kind, index.resolve(11)
    (9, 9, 'unmerge', 11)
    """

    def __init__(self, path: str | os.PathLike[str], readonly: bool = False, flush: bool = True) -> None:
        self.path, self.readonly = Path(path), readonly
        check_file(self.path)
        self._lock = threading.RLock()
        mode = "ro" if readonly else "rw"
        try:
            self._db = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}", _BUSY, isolation_level=None, check_same_thread=False,
                uri=True,
            )  # fmt: skip
            self._db.execute("PRAGMA trusted_schema = OFF")
            self._db.execute(f"PRAGMA cache_size = {-_CACHE // 1024}")
            self._db.execute(f"PRAGMA mmap_size = {_MAPPED}")
            if not readonly:
                self._db.execute(f"PRAGMA synchronous = {'FULL' if flush else 'NORMAL'}")
                self._db.execute(f"PRAGMA wal_autocheckpoint = {_LOG // _PAGE}")
            found = [self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            if found != [_APPLICATION, _VERSION]:
                raise ModelFileError(f"{path}: this is a database, but no index of records of this version")
            model = self._db.execute("SELECT value FROM meta WHERE name = 'model'").fetchone()
            self._decisions = Decisions(self._db, _model_from(bytes(model[0]), self.path))
        except (sqlite3.DatabaseError, TypeError) as error:
            raise ModelFileError(f"{path}: the index is damaged or cannot be opened ({error})") from error

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], model: RecordSimilarity, records: Any = (), ids: Sequence[Hashable] = ()
    ) -> StoredIndex:
        """Write an index to a new file, at once or not at all, and open it."""
        records = as_records(records, "records")
        check_record_ids(ids, len(records))
        target = Path(os.path.realpath(path))
        remove_leftovers(target)
        for rest in ("-wal", "-shm"):
            if target.with_name(target.name + rest).exists():
                raise InputError(f"{target} is an index that some program has open; close it first, or name another")
        with replacing(target) as stream:
            db = sqlite3.connect(stream.name, isolation_level=None)
            try:
                db.execute(f"PRAGMA page_size = {_PAGE}")
                db.execute("PRAGMA journal_mode = OFF")  # a file that is not finished is thrown away
                db.execute("PRAGMA synchronous = OFF")
                _fill(db, model, records, ids)
                db.execute("PRAGMA journal_mode = WAL")
            finally:
                db.close()
        return cls(target)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> StoredIndex:
        return self

    def __exit__(self, *failed: object) -> None:
        self.close()

    @property
    def model(self) -> RecordSimilarity:
        """The model that decides."""
        return self._decisions.model

    # -- records ----------------------------------------------------------------------------------------------------
    def assign(self, records: Any) -> list[Hashable]:
        """Add records and say the id of each: an existing one, or a fresh one."""
        return [assignment.id for assignment in self.assign_detailed(records)]

    def assign_detailed(self, records: Any) -> list[Assignment]:
        """:meth:`assign` with what the decision was made of."""
        records = as_records(records, "records")
        plain = self._decisions.plain(records)
        with self._changing() as decisions:
            first, out = decisions.n_records(), []
            with Progress(len(records), "assigning", bool(self.model.verbose)) as progress:
                for k, (cells, record) in enumerate(zip(plain, records)):
                    out.append(decisions.decide(cells, decisions.raw(record), first + k))
                    progress.advance()
            return out

    def find(self, records: Any) -> list[Assignment]:
        """What :meth:`assign` would say of each record alone, with the id None if it belongs to no cluster; adds
        nothing."""
        plain = self._decisions.plain(as_records(records, "records"))
        with self._reading() as decisions:
            n = decisions.n_records()
            return [decisions.decide(cells, None, n) for cells in plain]

    def __len__(self) -> int:
        with self._reading() as decisions:
            return decisions.n_records()

    @property
    def n_clusters(self) -> int:
        """Number of ids that do not lead to another one."""
        with self._reading() as decisions:
            found = decisions.db.execute("SELECT count(*) FROM clusters WHERE into_cluster IS NULL")
            return int(found.fetchone()[0])

    @property
    def ids(self) -> list[Hashable]:
        """The ids of all records."""
        question = "SELECT id FROM records JOIN clusters ON clusters.number = cluster ORDER BY records.number"
        with self._reading() as decisions:
            return [json.loads(row[0]) for row in decisions.db.execute(question)]

    def __iter__(self) -> Iterator[tuple[Hashable, dict[str, Any]]]:
        """All records with their ids, in the order in which they came."""
        question = "SELECT id, cells FROM records JOIN clusters ON clusters.number = cluster ORDER BY records.number"
        with self._reading() as decisions:
            rows = decisions.db.execute(question).fetchall()
        return ((json.loads(id), dict(zip(decisions.fields, json.loads(cells)))) for id, cells in rows)

    def record(self, number: int) -> dict[str, Any]:
        """The fields of a record, as it came."""
        with self._reading() as decisions:
            found = decisions.db.execute("SELECT cells FROM records WHERE number = ?", (number,)).fetchone()
            if found is None:
                raise InputError(f"number is {number!r}; expected a whole number below {decisions.n_records()}")
            return dict(zip(decisions.fields, json.loads(found[0])))

    # -- clusters ---------------------------------------------------------------------------------------------------
    def members(self, id: Hashable) -> list[int]:
        """Numbers of the records of a cluster, 0 being the first that ever came."""
        with self._reading() as decisions:
            return decisions.members(redirects.cluster_of(decisions, id, "id"))[0]

    def resolve(self, id: Hashable) -> Hashable:
        """The id under which the records of an id are now."""
        with self._reading() as decisions:
            return decisions.id_of(redirects.cluster_of(decisions, id, "id"))

    def merge(self, keep: Hashable, other: Hashable, why: str = "") -> Hashable:
        """Put two clusters together under the first id, which is returned."""
        with self._changing() as decisions:
            return redirects.merge(decisions, keep, other, why)

    def split(self, id: Hashable, records: Sequence[int], why: str = "") -> Hashable:
        """Give some records of a cluster a fresh id, which is returned; the others keep theirs."""
        with self._changing() as decisions:
            return redirects.split(decisions, id, records, why)

    def undo(self, event: int | None = None, why: str = "") -> Event:
        """Take back a merge or a split, the last one or that of a number; what did it, which can be undone as well."""
        with self._changing() as decisions:
            return redirects.undo(decisions, event, why)

    def history(self, id: Hashable | None = None) -> list[Event]:
        """What was merged, split and undone, of one id or of all, oldest first.

        >>> import os, tempfile
        >>> from accord import Deduplicator
        >>> records = [{"name": n} for n in ("Ann Lee", "Lee, Ann", "Bob Kay", "Bob Kaye", "Cy Orr", "Di Roe")]
        >>> model = Deduplicator({"name": "text"}, calibrate=False).fit(records, [0, 0, 1, 1, 2, 3])
        >>> path = os.path.join(tempfile.mkdtemp(), "people.index")
        >>> with model.index(records, [0, 0, 1, 1, 2, 3], path=path) as index:
        ...     print(index.merge(2, 3, "same address"), index.split(1, [3]), [event.kind for event in index.history()])
        2 4 ['merge', 'split']
        """
        with self._reading() as decisions:
            return redirects.history(decisions, id)

    # -- transactions -------------------------------------------------------------------------------------------------
    @contextmanager
    def _changing(self) -> Iterator[Decisions]:
        if self.readonly:
            raise InputError(f"{self.path} was opened with readonly=True; find() changes nothing")
        with self._transaction("BEGIN IMMEDIATE") as decisions:
            yield decisions

    @contextmanager
    def _reading(self) -> Iterator[Decisions]:
        with self._transaction("BEGIN") as decisions:
            yield decisions

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Decisions]:
        with self._lock:
            try:
                self._db.execute(begin)
                try:
                    self._decisions.postings.refresh()
                    yield self._decisions
                    self._db.execute("COMMIT")
                except BaseException:  # Ctrl-C, too
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                    self._decisions.postings.forget()
                    raise
            except sqlite3.ProgrammingError as error:
                raise InputError(f"{self.path} is closed") from error
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    raise InputError(f"{self.path} has been written by another program for {_BUSY:.0f} s") from error
                raise ModelFileError(f"{self.path}: {error}") from error
            except AccordError:
                raise
            except (sqlite3.DatabaseError, ValueError, TypeError, LookupError, AttributeError) as error:
                raise ModelFileError(f"{self.path}: the index is damaged ({error!r})") from error


def is_index_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as an index does."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(_HEADER)) == _HEADER
    except OSError:
        return False


def check_file(path: Path) -> None:
    """Refuse what is no file of SQLite, before SQLite makes one of it."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file; model.index(records, ids, path=...) makes an index")
    if not path.is_file() or not is_index_file(path):
        raise ModelFileError(f"{path}: this is no index of records (model.index(records, ids, path=...) writes one)")


def _fill(db: sqlite3.Connection, model: RecordSimilarity, records: Any, ids: Sequence[Hashable]) -> None:
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    db.execute(f"PRAGMA user_version = {_VERSION}")
    db.execute("BEGIN")
    for table in (*TABLES, redirects.TABLE):
        db.execute(table)
    with tempfile.TemporaryDirectory(prefix="accord-") as folder:
        save(model, Path(folder) / "model")
        db.execute("INSERT INTO meta VALUES ('model', ?)", ((Path(folder) / "model").read_bytes(),))
    Decisions(db, model).fill(records, ids)
    db.execute("COMMIT")


def _model_from(content: bytes, path: Path) -> Any:
    with tempfile.TemporaryDirectory(prefix="accord-") as folder:
        (Path(folder) / "model").write_bytes(content)
        try:
            model = load(Path(folder) / "model")
        except ModelFileError as error:
            raise ModelFileError(f"{path}: the model in the index is damaged ({error})") from error
    if not isinstance(model, RecordSimilarity):
        raise ModelFileError(f"{path}: the index holds a {type(model).__name__}, which is no model of records")
    return model
