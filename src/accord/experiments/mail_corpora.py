"""Mail with known batches for the experiments of thesis, chapter 8: of archives, or generated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord.datasets import load
from accord.experiments.base import DataFolder
from accord.mail.generator import MailGenerator
from accord.mail.message import Message, parse

ARCHIVES, GENERATED = "archives", "generated"
CORPORA = (ARCHIVES, GENERATED)
_PARTS = ("spamassassin", "enron_ham_raw_open", "phishing_pot_le40k")
# Mails of an archive's batch that are less like its most typical one than this are left out: chains of mails that are
# alike two by two make some batches that are none.
LEAST_LIKENESS = 0.5
N_GENERATED, QUICK_GENERATED = 6000, 900
QUICK_PART = 700
SET_SIZE = 100
SHARE_OF_BATCHES = 0.6  # of a set of mails; the others are single ones
MOST_OF_A_BATCH = 20  # mails of one batch in a set; of the batch that a test set is for, half of the set


@dataclass
class Corpus:
    """Mails and the truth about them."""

    messages: list[Message]
    batch: np.ndarray  # (n,) a mail without a batch has one of its own
    is_spam: np.ndarray  # (n,)

    def __post_init__(self) -> None:
        self.batch = np.unique(self.batch, return_inverse=True)[1]
        sizes = np.bincount(self.batch)
        by_batch = np.split(np.argsort(self.batch, kind="stable"), np.cumsum(sizes)[:-1])
        self.batches = [members for members in by_batch if members.size > 1]
        self.singles = np.concatenate([np.empty(0, np.int64), *(m for m in by_batch if m.size == 1)])


def read_corpus(name: str, data: DataFolder, quick: bool, seed: int) -> Corpus:
    """One of `CORPORA`."""
    if name == GENERATED:
        made = list(MailGenerator(random_state=seed).stream(QUICK_GENERATED if quick else N_GENERATED))
        batches = np.unique([mail.batch for mail in made], return_inverse=True)[1]
        return Corpus([parse(mail.raw) for mail in made], batches, np.array([mail.is_spam for mail in made]))
    raw: list[bytes] = []
    batch: list[int] = []
    is_spam: list[bool] = []
    for part in _PARTS:
        mails = load("email", data, part=part, extra=True)
        about = mails.extra
        kept = np.flatnonzero(~about["is_short"] & (about["likeness"] >= LEAST_LIKENESS))
        for i in kept[:QUICK_PART] if quick else kept:
            own = len(batch) + 1  # negative: no batch has such a number
            batch.append(len(_PARTS) * int(about["batch"][i]) + _PARTS.index(part) if about["batch"][i] >= 0 else -own)
            raw.append(mails.X[i])
            is_spam.append(mails.Y[i] == "spam")
    return Corpus([parse(one) for one in raw], np.array(batch), np.array(is_spam))


def draw_sets(
    corpus: Corpus, n_training: int, test_batch: int, rng: np.random.Generator
) -> tuple[list[np.ndarray], np.ndarray]:
    """Training sets and a test set that has a given batch in it; no batch is in both."""
    order = rng.permutation(len(corpus.batches))
    order = np.concatenate([[test_batch], order[order != test_batch]])
    singles = rng.permutation(corpus.singles)
    test, used = _fill([corpus.batches[k] for k in order], SET_SIZE // 2, singles, rng)
    return training_sets([corpus.batches[k] for k in order[used:]], singles[SET_SIZE:], n_training, rng), test


def training_sets(
    batches: list[np.ndarray], singles: np.ndarray, n_sets: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Sets of mails of some batches and some single ones."""
    sets = []
    for _ in range(n_sets):
        mixed = [batches[k] for k in rng.permutation(len(batches))]
        sets.append(_fill(mixed, MOST_OF_A_BATCH, rng.permutation(singles), rng)[0])
    return sets


def _fill(
    batches: list[np.ndarray], most_of_first: int, singles: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """A set of mails of batches, in turn, and single ones, in random order; and how many batches it has."""
    chosen: list[int] = []
    used = 0
    while used < len(batches) and len(chosen) < SHARE_OF_BATCHES * SET_SIZE:
        most = MOST_OF_A_BATCH if used else most_of_first
        chosen += rng.permutation(batches[used])[: min(most, SET_SIZE - len(chosen))].tolist()
        used += 1
    chosen += singles[: SET_SIZE - len(chosen)].tolist()
    return rng.permutation(np.array(chosen)), used
