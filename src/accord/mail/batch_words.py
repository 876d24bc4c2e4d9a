"""The words of a whole batch instead of those of one mail [thesis, 8.4.3].

A mail is represented by its batch: the summed word counts of its mails, the size of the batch, whether it is larger
than one, whether all subjects are equal, and whether all senders are equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.exceptions import InputError
from accord.mail.message import Message
from accord.mail.signature import Mail, Signature, as_signature, checked
from accord.mail.window import BatchStatistics, Window

N_EXTRA = 4  # logarithm of the size, larger than one, all subjects equal, all senders equal


def batch_values(batch: BatchStatistics, n_buckets: int, counts: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of a batch; a column may come several times."""
    columns = np.append(batch.words & np.uint32(n_buckets - 1), n_buckets + np.arange(N_EXTRA))
    values = batch.counts.astype(float)
    if counts == "log":
        values = np.log1p(values)
        values /= max(float(np.linalg.norm(values)), 1e-12)
    extra = np.log(batch.size), batch.size > 1, batch.same_subject, batch.same_sender
    return columns.astype(np.int32), np.append(values, extra)


def batch_rows(batches: list[BatchStatistics], n_buckets: int, counts: str) -> sp.csr_array:
    """A row for each of some batches; the same batch may come several times."""
    parts = {id(batch): batch for batch in batches}
    made = {key: batch_values(batch, n_buckets, counts) for key, batch in parts.items()}
    rows = [made[id(batch)] for batch in batches]
    indptr = np.concatenate([[0], np.cumsum([columns.size for columns, _ in rows])]).astype(np.int32)
    columns = np.concatenate([np.empty(0, np.int32), *(columns for columns, _ in rows)])
    values = np.concatenate([np.empty(0), *(values for _, values in rows)])
    matrix = sp.csr_array((values, columns, indptr), shape=(len(rows), n_buckets + N_EXTRA))
    matrix.sum_duplicates()
    return matrix


def batch_statistics(messages: Sequence[Mail], batches: Sequence[Hashable] | None = None) -> list[BatchStatistics]:
    """For each mail what is known about its whole batch; mails of a batch share one object."""
    names = checked_batches(batches, checked_messages(messages))
    places: dict[Hashable, int] = {}
    window = Window(max(len(set(names)), 1), n_rows=0)
    for k, (mail, name) in enumerate(zip(messages, names)):
        if name not in places:
            places[name] = window.open_batch()
        window.count(checked(as_signature(mail, f"messages[{k}]"), f"messages[{k}]"), places[name], True)
    made = {name: window.statistics(place) for name, place in places.items()}
    return [made[name] for name in names]


def checked_batches(batches: Sequence[Hashable] | None, n_messages: int) -> list[Hashable]:
    """The batch of each mail; by default every mail is one."""
    names: list[Hashable] = list(range(n_messages)) if batches is None else list(batches)
    if len(names) != n_messages:
        raise InputError(f"batches has {len(names)} entries but messages has {n_messages}")
    for k, name in enumerate(names):
        try:
            hash(name)
        except TypeError:
            raise InputError(f"batches[{k}] is {name!r}; expected an id such as a string or a number") from None
    return names


def checked_messages(messages: Any) -> int:
    """Their number."""
    if isinstance(messages, (str, bytes, bytearray, Message, Signature)) or not hasattr(messages, "__len__"):
        raise InputError(f"messages is a {type(messages).__name__}; expected a list of mails")
    return len(messages)


def checked_labels(labels: Any, n_messages: int) -> np.ndarray:
    """Labels as booleans."""
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__len__"):
        raise InputError(f"labels is {labels!r}; expected a list of booleans (or 0 and 1), True for spam")
    if len(labels) != n_messages:
        raise InputError(f"labels has {len(labels)} entries but messages has {n_messages}")
    for k, label in enumerate(labels):
        if not (isinstance(label, (bool, int, float, np.bool_, np.integer, np.floating)) and label in (0, 1)):
            raise InputError(f"labels[{k}] is {label!r}; expected a boolean (or 0 or 1), True for spam")
    return np.asarray(labels).astype(bool)
