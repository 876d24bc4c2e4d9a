"""Time to cluster one more mail, by the window of recent mails [thesis 8.4.4, Figure 8.4, plotted only]."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from accord.evaluation import Metric, Results, Task
from accord.evaluation.panels import Line, plot_lines
from accord.experiments.base import DataFolder, Experiment, Figures, grid, mean_of
from accord.experiments.mail_corpora import GENERATED, Corpus, read_corpus, training_sets
from accord.experiments.training_time import exponent
from accord.kernels.partitions.condensed import condensed
from accord.kernels.partitions.correlation import SequentialClusters
from accord.learners.clustering import ClusteringSVM
from accord.mail.detector import BatchDetector
from accord.mail.features import MailPairs
from accord.structures.partitions.partition import Partition

N_TRAINING, QUICK_TRAINING = 9, 2
PRINTED, LP, AGGLOMERATIVE = "LP, all triangles", "LP, triangles when broken", "agglomerative"
STEP, DETECTOR = "sequential", "sequential, with comparing"
MAX_PRINTED, MAX_AGAIN = 60, 800  # windows beyond which clustering everything again takes too long
ENOUGH, CALLS = 0.2, 1000  # short calls are repeated until they took so many seconds, or so often
LAST = 3  # windows at the upper end that the degree is fitted to
SECONDS = Metric("seconds", "CPU seconds for one more mail", None, False)
EXPECTED = {PRINTED: "at least 3", STEP: "1"}


@dataclass
class Loaded:
    """Mails in the order in which they came, and a model of which belong together."""

    corpus: Corpus
    model: ClusteringSVM


class BatchTime(Experiment):
    """Seconds that a decoder takes when one more mail has come."""

    name = "batch-time"
    repetitions = 5
    title = "Time to cluster one more mail"
    description = (
        "A window of recent mails is clustered, and one more comes. The LP and the agglomerative decoder cluster the "
        "window again; the sequential one adds up the similarities of the new mail to every batch. The LP as it is "
        "printed has an inequality for each side of all triangles; Accord's adds those that are broken, and takes "
        "parts that no positive similarity connects one by one. Similarities are given, except for the last line, "
        "which is all that `BatchDetector.assign` does with a mail that has been read. Generated mail in the order in "
        "which it comes, similarities of a sequential SVM (OP 8.2) learned on other mail. CPU seconds of one thread."
    )
    data_sets = ()
    methods = (PRINTED, LP, AGGLOMERATIVE, STEP, DETECTOR)
    metrics = (SECONDS,)
    x = "window"
    settings = grid(window=(20, 30, 45, 60, 100, 200, 400, 800, 1600, 3200))
    quick_settings = grid(window=(15, 20, 30, 45))

    def left_out(self, task: Task) -> bool:
        window = task.setting["window"]
        return (task.method == PRINTED and window > MAX_PRINTED) or (
            task.method in (LP, AGGLOMERATIVE) and window > MAX_AGAIN
        )

    def load(self, data: DataFolder, quick: bool, seed: int) -> Loaded:
        corpus, rng = read_corpus(GENERATED, data, quick, seed), np.random.default_rng(seed)
        late = 2 * len(corpus.messages) // 3  # mail that no window has
        batches = [members for batch in corpus.batches if (members := batch[batch >= late]).size > 1]
        n_sets = QUICK_TRAINING if quick else N_TRAINING
        sets = training_sets(batches, corpus.singles[corpus.singles >= late], n_sets, rng)
        model = ClusteringSVM("sequential", pair_features=MailPairs())
        with warnings.catch_warnings(action="ignore"):
            model.fit([[corpus.messages[i] for i in s] for s in sets], [corpus.batch[s].tolist() for s in sets])
        loaded = Loaded(corpus, model)
        for method in self.methods:  # to compile
            self.run_task(Task(self.name, method, {"window": 10}, 0, seed), loaded)
        return loaded

    def run_task(self, task: Task, loaded: Loaded) -> Mapping[str, float]:
        window, rng = task.setting["window"], np.random.default_rng(task.repetition_seed)
        first = int(rng.integers(2 * len(loaded.corpus.messages) // 3 - window))
        messages = loaded.corpus.messages[first : first + window + 1]
        if task.method == DETECTOR:
            return {SECONDS.name: _detector_seconds(loaded.model, messages)}
        if task.method == STEP:
            return {SECONDS.name: _step_seconds(loaded.model, messages, loaded.corpus.batch[first : first + window])}
        values = condensed(loaded.model.similarities(messages))
        decoders: dict[str, Callable[[], object]] = {
            PRINTED: lambda: printed(values, window + 1),
            LP: lambda: Partition().decode(values, "lp"),
            AGGLOMERATIVE: lambda: Partition().decode(values, "agglomerative"),
        }
        return {SECONDS.name: _seconds(decoders[task.method])}

    def figures(self, results: Results) -> Figures:
        panels = {"": {method: Line(*_curve(results, method)) for method in results.methods}}
        label = "mails in the window"
        return {SECONDS.name: lambda dark: plot_lines(panels, label, SECONDS.label, log_x=True, dark=dark)}

    def notes(self, results: Results) -> list[str]:
        sentences = []
        for method in results.methods:
            windows, seconds = _curve(results, method)
            sentences.append(
                f"{method}: time grows as the window to the power of {exponent(windows[-LAST:], seconds[-LAST:]):.2f} "
                f"at its upper end; a window of {windows[-1]} takes {1e6 * seconds[-1]:,.0f} microseconds"
                + (f" (the thesis: {EXPECTED[method]})." if method in EXPECTED else ".")
            )
        return sentences


def printed(values: np.ndarray, n: int) -> np.ndarray:
    """The relaxation with all triangle inequalities written out, as the thesis prints it (3.36-3.38)."""
    i, j, k = np.array(list(combinations(range(n), 3))).T
    sides = np.stack([j * (j - 1) // 2 + i, k * (k - 1) // 2 + i, k * (k - 1) // 2 + j], axis=1)
    rows = np.concatenate([np.roll(sides, turn, axis=1) for turn in range(3)])  # first + second - third <= 1
    matrix = sp.csr_array(
        (np.tile([1.0, 1.0, -1.0], len(rows)), rows.ravel(), np.arange(0, 3 * len(rows) + 1, 3)),
        shape=(len(rows), values.size),
    )
    return linprog(-values, matrix, np.ones(len(rows)), bounds=(0.0, 1.0), method="highs").x


def _curve(results: Results, method: str) -> tuple[list[int], list[float]]:
    windows = sorted(s["window"] for s in results.where(method=method).settings)
    return windows, [mean_of(results, method, SECONDS.name, window=w) for w in windows]


def _seconds(call: Callable[[], object]) -> float:
    """CPU seconds of a call, on average over several if it is short."""
    calls, start = 0, time.process_time()
    while calls < CALLS and (calls == 0 or time.process_time() - start < ENOUGH):
        call()
        calls += 1
    return (time.process_time() - start) / calls


def _step_seconds(model: ClusteringSVM, messages: list, batch: np.ndarray) -> float:
    """Of the last mail joining the batches of the others, which have been found."""
    clusters, labels = SequentialClusters(), np.unique(batch, return_inverse=True)[1]
    n_clusters, weights = int(labels.max()) + 1, model.weights_
    new = model.pair_features_.between(messages[-1:], messages[:-1])[0] @ weights[:-1] + weights[-1]

    def step() -> None:
        clusters.labels, clusters.n_clusters = labels, n_clusters
        clusters.extend(new[None])

    return _seconds(step)


def _detector_seconds(model: ClusteringSVM, messages: list) -> float:
    """Of the detector taking mails into a window that is full of those before them."""
    detector = BatchDetector(model, window=len(messages) - 1)
    signed = [detector.sign(message) for message in messages]
    for mail in signed:
        detector.assign(mail, received=0.0)
    turn = iter(signed * CALLS)
    return _seconds(lambda: detector.assign(next(turn), received=0.0))
