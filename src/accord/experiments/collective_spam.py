"""Spam filtering with batches: how much the other mails of a batch tell [thesis 8.4.3, Figure 8.3]."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from accord.evaluation import Metric, Results, Task
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.experiments.mail_corpora import ARCHIVES, Corpus, read_corpus, training_sets
from accord.experiments.ordering import Claim
from accord.learners.clustering import ClusteringSVM
from accord.mail.batch_words import batch_rows, batch_statistics
from accord.mail.detector import BatchDetector
from accord.mail.features import MailPairs
from accord.mail.message import Message
from accord.mail.window import BatchStatistics

N_MAILS, QUICK_MAILS = 800, 200  # to train on, and to test on
SHARE_OF_BATCHES = 0.8  # the thesis: 2,402 of 3,000
N_TRAINING, QUICK_TRAINING = 9, 2  # sets to learn similarities from
SMALLEST = (2, 5)  # mails of a batch; those of a provider are large: 17.7 mails on average in the thesis
N_BUCKETS = 65536  # that words are hashed to
NOISE = (0.1, 0.2, 0.3, 0.4, 0.5)
SINGLE, PERFECT = "single mails", "true batches"
LP, SEQUENTIAL, ONLINE = "found, LP", "found, sequential", "found, online"
LP_SET = 100  # mails; linear programs over all of them would take hours
NOISY = {f"true batches, {noise:.0%} wrong": noise for noise in NOISE}
METHODS = (SINGLE, PERFECT, LP, SEQUENTIAL, ONLINE, *NOISY)
RISK = Metric("risk", "1 − AUC", None, False)
REDUCTION_PERFECT, REDUCTION_FOUND = 43.8, 41.4  # % in the thesis


@dataclass
class Draw:
    """Mails to train on and to test on, their true batches, and a model of similarity learned from the former."""

    train: np.ndarray
    test: np.ndarray
    model: ClusteringSVM


@dataclass
class Loaded:
    """Mails, sizes, and the draw that was used last."""

    corpus: Corpus
    n_mails: int
    n_training: int
    known: dict[tuple[int, int], Draw] = field(default_factory=dict)


class CollectiveSpam(Experiment):
    """Area under the ROC curve with no, true, found and disturbed batches."""

    name = "collective-spam"
    title = "Spam filtering with the words of whole batches"
    description = (
        "1 − AUC of a linear SVM on the word counts of single mails (subject and body), and on those of whole batches "
        f"with their size and whether all subjects and all senders are equal; {N_MAILS} mails to train on and as many "
        f"to test on, {SHARE_OF_BATCHES:.0%} of them of batches; no batch is in both. Only batches of at least so "
        "many mails are drawn (those of archives are small, those that a provider sees are not). They are the true "
        "ones, those with a share of the mails put into others at random, or those found with similarities that were "
        f"learned (sequential SVM) on {N_TRAINING} sets of 100 of the training mails: by the LP, {LP_SET} mails at a "
        "time, by the sequential rule, or 'online', where a mail is judged when it comes, by what its batch is so far. "
        "Archives as in batch-detection (words alone tell generated spam from the rest); C = 1, not tuned."
    )
    data_sets = ("email",)
    methods = METHODS
    repetitions = 20
    settings = grid(smallest_batch=SMALLEST)
    metrics = (RISK,)
    claims = (
        Claim(PERFECT, SINGLE, "the thesis: lower"),
        *(Claim(found, SINGLE, "the thesis: lower") for found in (LP, SEQUENTIAL, ONLINE)),
        *(Claim(found, PERFECT, "the thesis: no difference") for found in (LP, SEQUENTIAL)),
        Claim(SEQUENTIAL, LP, "the thesis: no difference"),
    )
    baseline = SINGLE

    def load(self, data: DataFolder, quick: bool, seed: int) -> Loaded:
        return Loaded(
            read_corpus(ARCHIVES, data, quick, seed),
            *((QUICK_MAILS, QUICK_TRAINING) if quick else (N_MAILS, N_TRAINING)),
        )

    def run_task(self, task: Task, loaded: Loaded) -> Mapping[str, float]:
        corpus = loaded.corpus
        key = (task.setting["smallest_batch"], task.repetition)
        if key not in loaded.known:
            loaded.known.clear()
            loaded.known[key] = _draw(loaded, key[0], np.random.default_rng(task.repetition_seed))
        draw = loaded.known[key]
        scores = _scores(task.method, corpus, draw, np.random.default_rng([task.repetition_seed, 1]))
        return {RISK.name: 1.0 - float(roc_auc_score(corpus.is_spam[draw.test], scores))}

    def notes(self, results: Results) -> list[str]:
        parts = []
        for smallest in SMALLEST:
            risk = {method: mean_of(results, method, RISK.name, smallest_batch=smallest) for method in METHODS}
            cuts = (
                f"{method} {100 * (1 - risk[method] / risk[SINGLE]):.1f} %"
                for method in (PERFECT, LP, SEQUENTIAL, ONLINE)
            )
            parts.append(f"batches of {smallest} mails or more: {', '.join(cuts)}")
        thesis = f"the thesis: {REDUCTION_PERFECT} % with true and {REDUCTION_FOUND} % with found batches"
        return [f"How much of 1 − AUC goes away, {'; '.join(parts)} ({thesis}).", *super().notes(results)]


def _draw(loaded: Loaded, smallest: int, rng: np.random.Generator) -> Draw:
    """Halves of the batches and of the single mails, and of each as many as are needed."""
    corpus = loaded.corpus
    batches = [batch for batch in corpus.batches if batch.size >= smallest]
    order, singles = rng.permutation(len(batches)), rng.permutation(corpus.singles)
    halves = []
    for half in (0, 1):
        mails: list[int] = []
        for k in order[half::2]:
            mails += batches[k].tolist()
            if len(mails) >= SHARE_OF_BATCHES * loaded.n_mails:
                break
        mails = mails[: round(SHARE_OF_BATCHES * loaded.n_mails)]
        mails += singles[half::2][: loaded.n_mails - len(mails)].tolist()
        halves.append(rng.permutation(np.array(mails)))
    train, test = halves
    known = Corpus([corpus.messages[i] for i in train], corpus.batch[train], corpus.is_spam[train])
    sets = training_sets(known.batches, known.singles, loaded.n_training, rng)
    model = ClusteringSVM("sequential", pair_features=MailPairs())
    with warnings.catch_warnings(action="ignore"):
        model.fit([[known.messages[i] for i in one] for one in sets], [known.batch[one].tolist() for one in sets])
    return Draw(train, test, model)


def _scores(method: str, corpus: Corpus, draw: Draw, rng: np.random.Generator) -> np.ndarray:
    """Scores of the test mails, above zero for spam."""
    train, test = ([corpus.messages[i] for i in half] for half in (draw.train, draw.test))
    spam = corpus.is_spam[draw.train]
    if method == SINGLE:
        return _judged(_learned(train, spam), batch_statistics(test))
    if method == ONLINE:
        machine = _learned(train, spam, _found(draw.model, train, "sequential"))
        detector = BatchDetector(draw.model, window=len(test))
        return _judged(machine, [detector.assign_detailed(mail).statistics for mail in test])
    batches: list[Any] = []
    for half, mails in ((draw.train, train), (draw.test, test)):
        if method in (LP, SEQUENTIAL):
            batches.append(_found(draw.model, mails, "lp" if method == LP else "sequential"))
        else:
            batches.append(_disturbed(corpus.batch[half], NOISY.get(method, 0.0), rng).tolist())
    return _judged(_learned(train, spam, batches[0]), batch_statistics(test, batches[1]))


def _learned(mails: list[Message], spam: np.ndarray, batches: list[Any] | None = None) -> LinearSVC:
    """The machine of the thesis on the words of batches, which learns from every mail alone as well."""
    rows = _rows(batch_statistics(mails))
    if batches is not None:
        rows, spam = sp.vstack([rows, _rows(batch_statistics(mails, batches))]), np.tile(spam, 2)
    return LinearSVC(C=1.0, random_state=0, max_iter=5000).fit(rows, spam)


def _judged(machine: LinearSVC, batches: list[BatchStatistics]) -> np.ndarray:
    return machine.decision_function(_rows(batches))


def _rows(batches: list[BatchStatistics]) -> sp.csr_array:
    return batch_rows(batches, N_BUCKETS, "log")


def _found(model: ClusteringSVM, mails: list[Message], decoder: str) -> list[Any]:
    model.set_params(decoder=decoder)
    if decoder == "sequential":
        return model.predict([mails])[0]
    sets = [mails[first : first + LP_SET] for first in range(0, len(mails), LP_SET)]
    return [(k, batch) for k, found in enumerate(model.predict(sets)) for batch in found]


def _disturbed(batches: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """A share of the mails is put into the batches of others."""
    out = batches.copy()
    wrong = rng.permutation(batches.size)[: round(share * batches.size)]
    out[wrong] = rng.choice(batches, wrong.size)
    return out
