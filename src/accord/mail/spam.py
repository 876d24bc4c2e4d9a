"""Is it spam? What a mail says, and what its batch says [thesis, 8.4.3], where that helps.

One machine looks at the mail itself: words, pairs of words, characters, headers, links, structure (`tokens`). Another
looks at the words of the whole batch (`batch_words`), so that a mail that says little is judged by its companions. How
much the second counts is chosen on batches that neither has seen, and may be nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score

from accord.exceptions import InputError
from accord.forms import NUMBER, array, optional
from accord.mail.batch_words import (
    N_EXTRA,
    batch_rows,
    batch_statistics,
    batch_values,
    checked_batches,
    checked_labels,
    checked_messages,
)
from accord.mail.detector import Assignment
from accord.mail.message import Message, parse
from accord.mail.signature import Mail, Signature, as_signature
from accord.mail.spam_machine import (
    Machine,
    calibrated,
    chosen_weight,
    fitted,
    folds,
    held_out_scores,
    log_losses,
    moved,
    platt,
    scores,
)
from accord.mail.tokens import evidence, scaled_rows, token_counts, token_score
from accord.mail.window import BatchStatistics
from accord.model_file import save
from accord.settings import Expected, check, is_real, is_whole, one_of

_MOST_BUCKETS = 1 << 24
_GRID = (10.0, 100.0, 1000.0)  # weights of errors to choose from
_BATCH_C = 10.0  # of the machine on the words of batches


@dataclass(eq=False, repr=False)
class CollectiveSpamFilter(BaseEstimator):
    """A spam filter that learns from few mails, from corrections, and from batches where they help.

    Scores are log-odds, calibrated on held-out labels: above zero, a mail is more likely spam than not.

    Parameters
    ----------
    C : float, optional
        Weight of errors; default: chosen by held-out labels.
    counts : "log" or "raw", default "log"
        What is made of the summed word counts of batches: logarithms, scaled to length one, so that long mails and
        large batches do not drown the others; or the sums as they are, as in the thesis.
    n_buckets : int, default 65536
        Words and other tokens are hashed to so many features (a power of two).
    random_state : int, default 0

    Attributes
    ----------
    mail_coef_, mail_scale_ : ndarray (n_buckets,)
        Weights of a mail's tokens, and how much each counts before mails are scaled. Filters that learned from
        signatures, or are of earlier versions, have none and judge by the words of batches alone.
    mail_intercept_ : float
    coef_ : ndarray (n_buckets + 4,)
        Weights of the words of batches, and of what else is known of them.
    intercept_ : float
    batch_weight_ : float
        How much the batch counts, of 1, for mails of batches of two or more.
    C_ : float
        The weight of errors that was used.

    Examples
    --------
    >>> from accord.mail.generator import MailGenerator
    >>> mails = list(MailGenerator(random_state=2).stream(300))
    >>> raw, spam, batches = [m.raw for m in mails], [m.is_spam for m in mails], [m.batch for m in mails]
    >>> spam_filter = CollectiveSpamFilter().fit(raw[:200], spam[:200], batches[:200])
    >>> bool(spam_filter.score(raw[200:], spam[200:], batches[200:]) > 0.9)
    True
    >>> spam_filter = spam_filter.partial_fit([raw[200]], [spam[200]])  # a user's correction
    """

    C: float | None = None
    counts: str = "log"
    n_buckets: int = 65536
    random_state: int | None = 0

    expects: ClassVar = {
        "C": Expected("a positive number, or None", lambda C: C is None or (is_real(C) and C > 0)),
        "counts": one_of("log", "raw"),
        "n_buckets": Expected(
            f"a power of two, at most {_MOST_BUCKETS:,}",
            lambda n: is_whole(n) and 2 <= n <= _MOST_BUCKETS and n & (n - 1) == 0,
        ),
    }
    stored: ClassVar = {
        "coef_": array("f8", f"n_buckets+{N_EXTRA}"),
        "intercept_": NUMBER,
        "mail_coef_": optional(array("f8", "n_buckets")),
        "mail_scale_": optional(array("f8", "n_buckets", least=0.0)),
        "mail_intercept_": optional(NUMBER),
        "batch_weight_": optional(Expected("a number from 0 to 1", lambda w: is_real(w) and 0 <= w <= 1)),
        "C_": optional(NUMBER),
    }
    agrees: ClassVar = {
        "it knows all about mails, or nothing": lambda self: (
            len({hasattr(self, name) for name in ("mail_coef_", "mail_scale_", "mail_intercept_", "batch_weight_")})
            == 1
        )
    }

    def fit(
        self, messages: Sequence[Mail], labels: Sequence[bool], batches: Sequence[Hashable] | None = None
    ) -> CollectiveSpamFilter:
        """Learn from mails.

        Parameters
        ----------
        messages : list of bytes, Message or Signature
            If there are signatures, which have no text, the filter knows words alone.
        labels : list of bool
            True (or 1) for spam, False (or 0) for other mail.
        batches : list, optional
            The batch of each mail; default: every mail is one, which gives an ordinary filter.
        """
        check(self)
        y = checked_labels(labels, checked_messages(messages))
        if len(np.unique(y)) < 2:
            raise InputError("labels must have spam (True) and other mail (False)")
        names = checked_batches(batches, y.size)
        mails = [_with_text(mail, k) for k, mail in enumerate(messages)]
        for name in ("mail_coef_", "mail_scale_", "mail_intercept_", "batch_weight_", "C_"):
            self.__dict__.pop(name, None)
        parts = folds(y, names, self.random_state)
        held_out_together = self._fit_batches(mails, y, None if batches is None else names, parts)
        if not any(isinstance(mail, Signature) for mail in mails):
            held_out_alone = self._fit_mails(token_counts(_texts(mails), self.n_buckets), y, parts)
            sizes = Counter(names)
            rows = np.concatenate([np.empty(0, np.int64), *parts])
            kept = np.flatnonzero([sizes[names[k]] > 1 for k in rows])  # mails of batches
            self.batch_weight_ = chosen_weight(
                held_out_alone[kept], held_out_together[kept], y[rows[kept]], [names[k] for k in rows[kept]]
            )
        return self

    def _fit_batches(
        self, mails: Sequence[Mail], y: np.ndarray, names: list[Hashable] | None, parts: list[np.ndarray]
    ) -> np.ndarray:
        """Learn from every mail alone and from every mail by its batch; log-odds of held-out mails by their batches.

        The thesis has the latter only; but a batch begins with one mail, and a few large batches would teach that
        whatever comes in numbers is of their kind.
        """
        signed = [as_signature(mail, f"messages[{k}]") for k, mail in enumerate(mails)]
        alone = self._batch_rows(batch_statistics(signed))
        together = alone if names is None else self._batch_rows(batch_statistics(signed, names))

        def learned(seen: np.ndarray) -> Machine:
            if names is None:
                return fitted(alone[seen], y[seen], _BATCH_C, self.random_state)
            both = sp.csr_array(sp.vstack([alone[seen], together[seen]]))
            return fitted(both, np.tile(y[seen], 2), _BATCH_C, self.random_state)

        machine, found = learned(np.arange(y.size)), np.empty(0)
        if parts:
            found = held_out_scores(parts, lambda seen, left: scores(learned(seen), together[left]))
            slope, offset = platt(found, y[np.concatenate(parts)])
            machine, found = calibrated(machine, slope, offset), slope * found + offset
        self.coef_, self.intercept_ = machine
        return found

    def _fit_mails(self, counts: list[sp.csr_array], y: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
        """Learn from mails alone; log-odds of held-out ones."""
        grid = _GRID if self.C is None else (float(self.C),)

        def tried(seen: np.ndarray, left: np.ndarray) -> np.ndarray:
            scale = evidence([group[seen] for group in counts], y[seen])  # labels held out must not be in it
            rows = scaled_rows([group[seen] for group in counts], scale)
            others = scaled_rows([group[left] for group in counts], scale)
            return np.array([scores(fitted(rows, y[seen], C, self.random_state), others) for C in grid])

        self.C_, sigmoid, found = grid[len(grid) // 2], (1.0, 0.0), np.empty(0)
        if parts:
            truth = y[np.concatenate(parts)]
            all_scores = held_out_scores(parts, tried)
            sigmoids = [platt(one, truth) for one in all_scores]
            odds = [slope * one + offset for one, (slope, offset) in zip(all_scores, sigmoids)]
            best = int(np.argmin([log_losses(one, truth).mean() for one in odds]))
            self.C_, sigmoid, found = grid[best], sigmoids[best], odds[best]
        self.mail_scale_ = evidence(counts, y)
        machine = fitted(scaled_rows(counts, self.mail_scale_), y, self.C_, self.random_state)
        self.mail_coef_, self.mail_intercept_ = calibrated(machine, *sigmoid)
        return found

    def partial_fit(self, messages: Sequence[Mail], labels: Sequence[bool]) -> CollectiveSpamFilter:
        """Take in corrections, one after the other: each changes the weights by as little as its label asks for.

        Parameters
        ----------
        messages : list of bytes or Message
            Mails of which users said what they are; a filter without weights of mails takes signatures, too.
        labels : list of bool
            True (or 1) for spam; one class alone will do.
        """
        self._check_fitted()
        y = checked_labels(labels, checked_messages(messages))
        mails = [_with_text(mail, k) for k, mail in enumerate(messages)]
        words = self._batch_rows(batch_statistics(mails))
        self.coef_, self.intercept_ = moved(Machine(self.coef_.copy(), self.intercept_), words, y)
        if hasattr(self, "mail_coef_"):
            for k, mail in enumerate(mails):
                if isinstance(mail, Signature):
                    raise InputError(f"messages[{k}] is a Signature, which has no text; give the mail's bytes")
            rows = scaled_rows(token_counts(_texts(mails), self.n_buckets), self.mail_scale_)
            machine = Machine(self.mail_coef_.copy(), self.mail_intercept_)
            self.mail_coef_, self.mail_intercept_ = moved(machine, rows, y)
        return self

    def decision_function(self, messages: Sequence[Mail], batches: Sequence[Hashable] | None = None) -> np.ndarray:
        """Log-odds of mails, above zero for spam; with `batches`, what whole batches say counts as well."""
        self._check_fitted()
        n = checked_messages(messages)
        names = checked_batches(batches, n)
        mails = [_with_text(mail, k) for k, mail in enumerate(messages)]
        alone = self._alone(mails)
        weight = getattr(self, "batch_weight_", 1.0)
        if not np.isnan(alone).any() and (weight == 0 or batches is None):
            return alone
        known = batch_statistics(mails, names)
        together = self._batch_rows(known) @ self.coef_ + self.intercept_
        weights = np.where([one.size > 1 for one in known], weight, 0.0)
        return np.where(np.isnan(alone), together, (1 - weights) * np.nan_to_num(alone) + weights * together)

    def predict_proba(self, messages: Sequence[Mail], batches: Sequence[Hashable] | None = None) -> np.ndarray:
        """Probabilities (n, 2) of other mail and of spam."""
        spam = expit(self.decision_function(messages, batches))
        return np.stack([1 - spam, spam], axis=1)

    def predict(self, messages: Sequence[Mail], batches: Sequence[Hashable] | None = None) -> np.ndarray:
        """True for spam."""
        return self.decision_function(messages, batches) > 0

    def score(
        self, messages: Sequence[Mail], labels: Sequence[bool], batches: Sequence[Hashable] | None = None
    ) -> float:
        """Area under the ROC curve."""
        y = checked_labels(labels, checked_messages(messages))
        if len(np.unique(y)) < 2:
            raise InputError("labels must have spam (True) and other mail (False)")
        return float(roc_auc_score(y, self.decision_function(messages, batches)))

    def decision(self, batch: Assignment | BatchStatistics) -> float:
        """Log-odds of a mail by what `BatchDetector` found about it (an `Assignment`), or of `BatchStatistics`.

        The detector keeps the sums, so this costs as much for the thousandth mail of a batch as for the first.
        """
        self._check_fitted()
        statistics = batch if isinstance(batch, BatchStatistics) else getattr(batch, "statistics", None)
        if not isinstance(statistics, BatchStatistics):
            raise InputError(f"batch is a {type(batch).__name__}; expected an Assignment or BatchStatistics")
        message = getattr(batch, "message", None)
        has_own = message is not None and hasattr(self, "mail_coef_")
        weight = (self.batch_weight_ if statistics.size > 1 else 0.0) if has_own else 1.0
        found = 0.0
        if message is not None and weight < 1:
            found += (1 - weight) * float(self._alone([message])[0])
        if weight > 0:
            columns, values = batch_values(statistics, self.n_buckets, self.counts)
            found += weight * float(values @ self.coef_[columns] + self.intercept_)
        return found

    def save(self, path: str | Path) -> None:
        """Write the filter to a file for `accord.load`."""
        self._check_fitted()
        save(self, path)

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            raise InputError("this CollectiveSpamFilter is not fitted; call fit first")

    def _alone(self, mails: Sequence[Message | Signature]) -> np.ndarray:
        """Log-odds of mails without their batches; not a number where the text or weights for it are missing."""
        found = np.full(len(mails), np.nan)
        if hasattr(self, "mail_coef_"):
            for k, mail in enumerate(mails):
                if isinstance(mail, Message):
                    found[k] = token_score(mail, self.mail_scale_, self.mail_coef_) + self.mail_intercept_
        return found

    def _batch_rows(self, batches: list[BatchStatistics]) -> sp.csr_array:
        return batch_rows(batches, self.n_buckets, self.counts)


def _texts(mails: Sequence[Message | Signature]) -> list[Message]:
    """Those that are there with their text."""
    return [mail for mail in mails if isinstance(mail, Message)]


def _with_text(mail: Mail, k: int) -> Message | Signature:
    """A mail as it can be looked at best; errors name its number."""
    if isinstance(mail, (Message, Signature)):
        return mail
    if isinstance(mail, (bytes, bytearray, memoryview)):
        return parse(bytes(mail))
    raise InputError(
        f"messages[{k}] is a {type(mail).__name__}; expected the bytes of a mail, a Message or a Signature"
    )
