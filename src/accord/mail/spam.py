"""Is it spam? A linear machine on the words of a whole batch instead of those of one mail [thesis, 8.4.3].

A mail is represented by its batch: the summed word counts of its mails, the size of the batch, whether it is larger
than one, whether all subjects are equal, and whether all senders are equal. So all mails of a batch get the same score,
and a mail that says little is judged by its companions.

The machine learns from every mail alone and from every mail by its batch. The thesis has the latter only; but a batch
begins with one mail, and a few large batches would teach that whatever comes in numbers is of their kind.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from accord.exceptions import InputError
from accord.forms import NUMBER, array
from accord.mail.detector import Assignment
from accord.mail.message import Message
from accord.mail.signature import Mail, Signature, as_signature, checked
from accord.mail.window import BatchStatistics, Window
from accord.model_file import save
from accord.settings import Expected, check, is_whole, one_of

_MOST_BUCKETS = 1 << 24
N_EXTRA = 4  # logarithm of the size, larger than one, all subjects equal, all senders equal


@dataclass(eq=False, repr=False)
class CollectiveSpamFilter(BaseEstimator):
    """A linear SVM on the words of batches.

    Parameters
    ----------
    C : float, default 1.0
        Weight of errors.
    counts : "log" or "raw", default "log"
        What is made of the summed word counts: logarithms, scaled to length one, so that long mails and large batches
        do not drown the others; or the sums as they are, as in the thesis.
    n_buckets : int, default 65536
        Words are hashed to so many features (a power of two).
    random_state : int, default 0

    Attributes
    ----------
    coef_ : ndarray (n_buckets + 4,)
    intercept_ : float

    Examples
    --------
    >>> from accord.mail.generator import MailGenerator
    >>> mails = list(MailGenerator(random_state=2).stream(300))
    >>> raw, spam, batches = [m.raw for m in mails], [m.is_spam for m in mails], [m.batch for m in mails]
    >>> spam_filter = CollectiveSpamFilter().fit(raw[:200], spam[:200], batches[:200])
    >>> bool(spam_filter.score(raw[200:], spam[200:], batches[200:]) > 0.9)
    True
    """

    C: float = 1.0
    counts: str = "log"
    n_buckets: int = 65536
    random_state: int | None = 0

    expects: ClassVar = {
        "counts": one_of("log", "raw"),
        "n_buckets": Expected(
            f"a power of two, at most {_MOST_BUCKETS:,}",
            lambda n: is_whole(n) and 2 <= n <= _MOST_BUCKETS and n & (n - 1) == 0,
        ),
    }
    stored: ClassVar = {"coef_": array("f8", f"n_buckets+{N_EXTRA}"), "intercept_": NUMBER}

    def fit(
        self, messages: Sequence[Mail], labels: Sequence[bool], batches: Sequence[Hashable] | None = None
    ) -> CollectiveSpamFilter:
        """Learn from mails.

        Parameters
        ----------
        messages : list of bytes, Message or Signature
        labels : list of bool
            True (or 1) for spam, False (or 0) for other mail.
        batches : list, optional
            The batch of each mail; default: every mail is one, which gives an ordinary filter.
        """
        check(self)
        y = _checked_labels(labels, _checked_messages(messages))
        rows = self._rows(batch_statistics(messages))
        if batches is not None:
            rows = sp.vstack([rows, self._rows(batch_statistics(messages, batches))])
            y = np.concatenate([y, y])
        machine = LinearSVC(C=self.C, random_state=self.random_state, max_iter=5000)
        machine.fit(rows, y)
        self.coef_ = machine.coef_[0].copy()
        self.intercept_ = float(machine.intercept_[0])
        return self

    def decision_function(self, messages: Sequence[Mail], batches: Sequence[Hashable] | None = None) -> np.ndarray:
        """Scores of mails, above zero for spam, each judged by its whole batch."""
        self._check_fitted()
        return self._rows(batch_statistics(messages, batches)) @ self.coef_ + self.intercept_

    def predict(self, messages: Sequence[Mail], batches: Sequence[Hashable] | None = None) -> np.ndarray:
        """True for spam."""
        return self.decision_function(messages, batches) > 0

    def score(
        self, messages: Sequence[Mail], labels: Sequence[bool], batches: Sequence[Hashable] | None = None
    ) -> float:
        """Area under the ROC curve."""
        y = _checked_labels(labels, _checked_messages(messages))
        return float(roc_auc_score(y, self.decision_function(messages, batches)))

    def decision(self, batch: Assignment | BatchStatistics) -> float:
        """Score of a batch as it is now: an `Assignment` of `BatchDetector`, or `BatchStatistics`.

        The detector keeps the sums, so this costs as much for the thousandth mail of a batch as for the first.
        """
        self._check_fitted()
        statistics = batch if isinstance(batch, BatchStatistics) else getattr(batch, "statistics", None)
        if not isinstance(statistics, BatchStatistics):
            raise InputError(f"batch is a {type(batch).__name__}; expected an Assignment or BatchStatistics")
        columns, values = self._values(statistics)
        return float(values @ self.coef_[columns] + self.intercept_)

    def save(self, path: str | Path) -> None:
        """Write the filter to a file for `accord.load`."""
        self._check_fitted()
        save(self, path)

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            raise InputError("this CollectiveSpamFilter is not fitted; call fit first")

    def _values(self, batch: BatchStatistics) -> tuple[np.ndarray, np.ndarray]:
        """Columns and values of a batch; a column may come several times."""
        columns = np.append(batch.words & np.uint32(self.n_buckets - 1), self.n_buckets + np.arange(N_EXTRA))
        values = batch.counts.astype(float)
        if self.counts == "log":
            values = np.log1p(values)
            values /= max(float(np.linalg.norm(values)), 1e-12)
        extra = np.log(batch.size), batch.size > 1, batch.same_subject, batch.same_sender
        return columns.astype(np.int32), np.append(values, extra)

    def _rows(self, batches: list[BatchStatistics]) -> sp.csr_array:
        parts = {id(batch): batch for batch in batches}
        made = {key: self._values(batch) for key, batch in parts.items()}
        rows = [made[id(batch)] for batch in batches]
        indptr = np.concatenate([[0], np.cumsum([columns.size for columns, _ in rows])]).astype(np.int32)
        columns = np.concatenate([np.empty(0, np.int32), *(columns for columns, _ in rows)])
        values = np.concatenate([np.empty(0), *(values for _, values in rows)])
        matrix = sp.csr_array((values, columns, indptr), shape=(len(rows), self.n_buckets + N_EXTRA))
        matrix.sum_duplicates()
        return matrix


def batch_statistics(messages: Sequence[Mail], batches: Sequence[Hashable] | None = None) -> list[BatchStatistics]:
    """For each mail what is known about its whole batch; mails of a batch share one object."""
    n = _checked_messages(messages)
    names = list(range(n)) if batches is None else list(batches)
    if len(names) != n:
        raise InputError(f"batches has {len(names)} entries but messages has {n}")
    for k, name in enumerate(names):
        try:
            hash(name)
        except TypeError:
            raise InputError(f"batches[{k}] is {name!r}; expected an id such as a string or a number") from None
    places: dict[Hashable, int] = {}
    window = Window(max(len(set(names)), 1), n_rows=0)
    for k, (mail, name) in enumerate(zip(messages, names)):
        if name not in places:
            places[name] = window.open_batch()
        window.count(checked(as_signature(mail, f"messages[{k}]"), f"messages[{k}]"), places[name], True)
    made = {name: window.statistics(place) for name, place in places.items()}
    return [made[name] for name in names]


def _checked_messages(messages: Any) -> int:
    """Their number."""
    if isinstance(messages, (str, bytes, bytearray, Message, Signature)) or not hasattr(messages, "__len__"):
        raise InputError(f"messages is a {type(messages).__name__}; expected a list of mails")
    return len(messages)


def _checked_labels(labels: Any, n_messages: int) -> np.ndarray:
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__len__"):
        raise InputError(f"labels is {labels!r}; expected a list of booleans (or 0 and 1), True for spam")
    if len(labels) != n_messages:
        raise InputError(f"labels has {len(labels)} entries but messages has {n_messages}")
    for k, label in enumerate(labels):
        if not (isinstance(label, (bool, int, float, np.bool_, np.integer, np.floating)) and label in (0, 1)):
            raise InputError(f"labels[{k}] is {label!r}; expected a boolean (or 0 or 1), True for spam")
    y = np.asarray(labels).astype(bool)
    if len(np.unique(y)) < 2:
        raise InputError("labels must have spam (True) and other mail (False)")
    return y
