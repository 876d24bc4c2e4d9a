"""Features of pairs of mails, psi(x_j, x_k): how alike two mails are in 69 respects [thesis, 8.4.1, which has 47]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from accord.exceptions import InputError
from accord.forms import FLAG, TEXT, array, items
from accord.kernels.mail.pairs import HIGH, Signatures, features_between, features_of_pairs
from accord.kernels.partitions.condensed import n_pairs
from accord.mail.signature import IDF_BUCKETS, MARKS, NUMBERS, SETS, Mail, Signature, as_signature, flat_idf, stack
from accord.views.pairs import PairFeatures

NAMES = [
    *(f"same {name}" for name in MARKS),
    *(f"close {name}" for name in NUMBERS),
    "words cosine", "words cosine above 0.5", "bigrams cosine", "bigrams cosine above 0.9",
    "words shared", "words shared above 0.5", "triples shared", "triples shared above 0.5",
    *(f"{name} shared" for name in SETS),
    "subject edit similarity",
]  # fmt: skip


class MailPairs(PairFeatures):
    """Features of pairs of mails, all between 0 (nothing in common) and 1.

    Objects are mails as ``bytes``, parsed (`Message`) or signed (`Signature`). ``fit`` learns how common words are.

    Parameters
    ----------
    idf : bool, default True
        Weight words by their rarity in what ``fit`` saw; otherwise all alike.

    Attributes
    ----------
    names_ : list of str
    idf_ : ndarray of float32 (16384,)
        Weights of hashed words, 1 for those that ``fit`` did not see.

    Examples
    --------
    >>> mails = [b"From: a@x.org\\n\\nbuy this watch", b"From: b@x.org\\n\\nbuy that watch"]
    >>> view = MailPairs().fit([mails])
    >>> float(dict(zip(view.names_, view.pairs(mails)[0]))["same sender domain"])
    1.0
    """

    expects: ClassVar = {"idf": FLAG}
    stored: ClassVar = {"names_": items(TEXT), "idf_": array("f4", IDF_BUCKETS)}
    agrees: ClassVar = {"names_ are those of the features of mails": lambda self: list(self.names_) == NAMES}

    def __init__(self, idf: bool = True) -> None:
        self.idf = idf

    def fit(self, sets: Sequence[Sequence[Mail]]) -> MailPairs:
        self.names_ = list(NAMES)
        self.idf_ = flat_idf()
        if not self.idf:
            return self
        seen = np.zeros(IDF_BUCKETS)
        n_mails = 0
        for i, mails in enumerate(sets):
            self.count(mails)
            for j, mail in enumerate(mails):
                words = as_signature(mail, f"sets[{i}][{j}]").words
                seen[np.unique(words >> np.uint32(4) & np.uint32(IDF_BUCKETS - 1))] += 1
                n_mails += 1
        # log(n / df) / log(n): 1 for a word of one mail, 0 for a word of all
        self.idf_ = (1 - np.log(np.maximum(seen, 1)) / max(np.log(max(n_mails, 1)), 1)).astype(np.float32)
        return self

    def pairs(self, objects: Sequence[Mail]) -> np.ndarray:
        rows = self.rows(objects)
        out = np.empty((n_pairs(len(objects)), len(NAMES)))
        features_of_pairs(rows, HIGH, out)
        return out

    def prepared(self, objects: Sequence[Mail]) -> list[Signature]:
        if not hasattr(self, "idf_"):
            raise InputError("this MailPairs is not fitted; call fit(sets) first")
        return [as_signature(mail, f"objects[{i}]", self.idf_) for i, mail in enumerate(objects)]

    def between(self, objects: Sequence[Mail], others: Sequence[Mail]) -> np.ndarray:
        out = np.empty((len(objects), len(others), len(NAMES)))
        features_between(self.rows(objects), self.rows(others), HIGH, out)
        return out

    def rows(self, objects: Sequence[Mail]) -> Signatures:
        """The signatures of mails, in one."""
        return stack(self.prepared(objects))

    def sign(self, mail: Mail) -> Signature:
        """The signature of one mail."""
        return self.prepared([mail])[0]
