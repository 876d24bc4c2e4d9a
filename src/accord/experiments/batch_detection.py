"""Batches of mail: four learners and three decoders [thesis 8.4.2, Figures 8.1 and 8.2, plotted only]."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from accord.evaluation import Metric, Results, Task
from accord.evaluation.clusters import rand_loss, total_loss_per_object
from accord.experiments.base import DataFolder, Experiment, grid, mean_of
from accord.experiments.mail_corpora import CORPORA, SET_SIZE, Corpus, draw_sets, read_corpus
from accord.experiments.ordering import Claim
from accord.kernels.partitions.condensed import condensed
from accord.learners.clustering import ClusteringSVM
from accord.mail.features import MailPairs
from accord.structures.partitions.partition import Partition

N_TRAINING, QUICK_TRAINING = 9, 2
LEARNERS = ("pairwise", "iterative", "compact", "sequential")
DECODERS = ("lp", "agglomerative", "sequential")
METHODS = [f"{learner}, {decoder}" for learner in LEARNERS for decoder in DECODERS]
LOSS = Metric("loss_per_mail", "loss per mail", None, False)
BEFORE = Metric("wrong_similarities", "pairs whose similarity has the wrong sign", None, False)
AFTER = Metric("wrong_pairs", "pairs that are wrong after decoding", None, False)


@dataclass
class Loaded:
    """Corpora, and the similarities of the test set that were computed last, which all decoders in turn have."""

    corpora: dict[str, Corpus]
    n_training: int
    known: dict[tuple[str, str, int], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


class BatchDetection(Experiment):
    """Loss per mail, and how much of it is due to similarities and to decoding."""

    name = "batch-detection"
    repetitions = 30
    title = "Batches of mail: learners and decoders"
    description = (
        f"Sets of {SET_SIZE} mails: six tenths of batches, the others single. A test set is made for each of "
        f"{repetitions} batches, and {N_TRAINING} training sets beside it that share no batch with it. Archives: "
        "SpamAssassin, Enron and phishing mail, whose batches are approximate (found by shingles of words, without a "
        "human look; mails that are unlike the most typical one of their batch, or too short to tell, are left out). "
        "Generated: campaigns and newsletters from templates and grammars, whose batches are known. The loss is "
        "Δ_total, in which a mail that is wrongly pulled out of a batch or into one costs about 1; C = 1, not tuned."
    )
    data_sets = ("email",)
    methods = METHODS
    settings = grid(data=CORPORA)
    metrics = (LOSS, BEFORE, AFTER)
    claims = (
        *(Claim(f"{learner}, sequential", f"{learner}, lp", "the thesis: no difference") for learner in LEARNERS),
        *(
            Claim(f"{learner}, {decoder}", f"pairwise, {decoder}", "the thesis: no difference")
            for decoder in DECODERS
            for learner in LEARNERS[1:]
        ),
    )
    baseline = "pairwise, lp"

    def load(self, data: DataFolder, quick: bool, seed: int) -> Loaded:
        corpora = {name: read_corpus(name, data, quick, seed) for name in CORPORA}
        return Loaded(corpora, QUICK_TRAINING if quick else N_TRAINING)

    def run_task(self, task: Task, loaded: Loaded) -> Mapping[str, float]:
        learner, decoder = task.method.split(", ")
        key = (learner, task.setting["data"], task.repetition)
        if key not in loaded.known:
            loaded.known.clear()
            loaded.known[key] = _similarities(loaded, *key, task.repetition_seed)
        similarities, truth = loaded.known[key]
        found = Partition().decode(similarities, decoder)
        same = condensed(np.equal.outer(truth, truth).astype(float)) > 0.5
        return {
            LOSS.name: total_loss_per_object(truth, found),
            BEFORE.name: float(np.mean((similarities > 0.0) != same)),
            AFTER.name: rand_loss(truth, found),
        }

    def notes(self, results: Results) -> list[str]:
        parts = []
        for data in CORPORA:
            for learner in LEARNERS:
                before, after = (100 * mean_of(results, f"{learner}, lp", m.name, data=data) for m in (BEFORE, AFTER))
                parts.append(
                    f"{learner} on {data}: {before:.2f} % of the pairs wrong before, {after:.2f} % after decoding (lp)"
                )
        return [*super().notes(results), f"{'; '.join(parts)}."]


def _similarities(loaded: Loaded, learner: str, data: str, repetition: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Similarities of the pairs of a test set after training, and its true batches."""
    corpus, rng = loaded.corpora[data], np.random.default_rng(seed)
    training, test = draw_sets(corpus, loaded.n_training, repetition % len(corpus.batches), rng)
    model = ClusteringSVM(learner, pair_features=MailPairs())
    sets = [[corpus.messages[i] for i in one] for one in training]
    with warnings.catch_warnings(action="ignore"):
        model.fit(sets, [corpus.batch[one].tolist() for one in training])
    return condensed(model.similarities([corpus.messages[i] for i in test])), corpus.batch[test]
