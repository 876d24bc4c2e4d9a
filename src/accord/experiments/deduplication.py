"""De-duplication of public tables from few labeled records; no table of the papers.

Supervised clustering (thesis chapter 8) was made for batches of mail; here it finds records about the same thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from accord.datasets import Dataset, load
from accord.datasets.loaders import LOADERS
from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.decoding import Rule, cluster_table, small_parts
from accord.dedupe.deduplicator import Deduplicator
from accord.dedupe.labels import folds_of_clusters
from accord.dedupe.pairs import RecordPairs
from accord.evaluation import Metric, Task
from accord.evaluation.clusters import b_cubed_f1, pair_counts
from accord.experiments.base import DataFolder, Experiment, grid
from accord.experiments.ordering import Claim
from accord.kernels.partitions.correlation import numbered
from accord.learners.clustering import ClusteringSVM

SETS = LOADERS["dedupe"][1]
N_LABELED = 200
N_CANDIDATES = Deduplicator().n_candidates
PLAIN, SINGLE, PAIRWISE = "SVM on pairs, components", "SVM on pairs", "pairwise"
SELF_TRAINING = "pairwise, self-training"
TUNED = "SVM on pairs, components, cut by folds"  # not in this table
FOLDS, CUTS = 4, np.linspace(-2.0, 2.0, 41)
METHODS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    SINGLE: {},
    "pairwise, not calibrated": {"calibrate": False},
    PAIRWISE: {"self_training": False},
    SELF_TRAINING: {},
    "pairwise, sequential decoder": {"decoder": "sequential", "self_training": False},
    "sequential": {"method": "sequential", "self_training": False},
    "sequential, sequential decoder": {"method": "sequential", "decoder": "sequential", "self_training": False},
    "iterative": {"method": "iterative", "tol": 0.01},
}
PAIR_F1 = Metric("pair_f1", "F1 of pairs", None, True, True)
B_CUBED = Metric("b_cubed_f1", "B³ F1", None, True, True)
RECALL = Metric("candidates", "true pairs among candidates", None, True, True)
CONNECTED = Metric("connected", "true pairs connected by true candidates", None, True, True)


def draw(clusters: np.ndarray, n_labeled: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labeled and test records: clusters of a random half in turn until so many are labeled; all of the other half."""
    order = rng.permutation(int(clusters.max()) + 1)
    half = order[: order.size // 2]
    labeled: list[int] = []
    for cluster in half:
        labeled += np.flatnonzero(clusters == cluster).tolist()
        if len(labeled) >= n_labeled:
            break
    return np.array(labeled), np.flatnonzero(~np.isin(clusters, half))


def scores(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """F1 of pairs and B³."""
    pairs = pair_counts(truth, found)
    return {
        PAIR_F1.name: pairs.f1,
        B_CUBED.name: b_cubed_f1(truth, found),
        "pair_precision": pairs.precision,
        "pair_recall": pairs.recall,
    }


class Deduplication(Experiment):
    """Learners and decoders on tables of people, papers, restaurants and sites."""

    name = "deduplication"
    title = "De-duplication of tables from few labeled records"
    description = (
        f"Clusters are split into halves at random; whole clusters of one half are labeled until there are {N_LABELED} "
        "labeled records, and the other half is clustered. Fields and their kinds are guessed, and frequencies counted "
        "on labeled and unlabeled records. C = 1 throughout. 'SVM on pairs' is one machine for all comparisons, the "
        "others are means of machines that compare in different ways. 'Self-training' learns from the unlabeled test "
        "half as well, the others only count its words and values. 'Components' joins whatever positive pairs connect. "
        "'Candidates': share of the true pairs of the test half among the candidate pairs, and of those that "
        "are connected by true candidates, which is what de-duplication needs."
    )
    data_sets = ("dedupe",)
    methods = METHODS
    repetitions = 3
    settings = grid(data=SETS, n_labeled=[N_LABELED])
    quick_settings = grid(data=SETS[:1], n_labeled=[60])
    metrics = (PAIR_F1, B_CUBED, RECALL, CONNECTED)
    claims = (
        *(Claim(method, PLAIN, "ours: higher") for method in METHODS if method != PLAIN),
        Claim("pairwise, not calibrated", SINGLE, "ours: higher"),
        Claim(PAIRWISE, "pairwise, not calibrated", "ours: higher"),
        Claim(SELF_TRAINING, PAIRWISE, "ours: higher"),
        Claim("sequential", PAIRWISE, "the thesis: no difference"),
        Claim("iterative", PAIRWISE, "the thesis: no difference"),
    )
    baseline = PLAIN

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Dataset]:
        return {name: load("dedupe", data, part=name) for name in self.values("data", quick)}

    def run_task(self, task: Task, loaded: dict[str, Dataset]) -> Mapping[str, float]:
        table = loaded[task.setting["data"]]
        clusters = np.unique(np.array(table.Y), return_inverse=True)[1]
        labeled, test = draw(clusters, task.setting["n_labeled"], np.random.default_rng(task.repetition_seed))
        records = [table.X[i] for i in (*labeled, *test)]
        found, pairs = clustered(task.method, records, clusters[labeled], task.repetition)
        return {**scores(clusters[test], found), **_reach(clusters[test], *pairs)}


Pairs = tuple[np.ndarray, np.ndarray]


def clustered(method: str, records: Sequence[Any], given: np.ndarray, seed: int) -> tuple[np.ndarray, Pairs]:
    """Clusters of the records behind the first ones, which are labeled, and the candidate pairs among them."""
    n = given.size
    if method in (PLAIN, SINGLE, TUNED):
        view = RecordPairs().fit([records])
        weights, bias = _machine(view, records[:n], given)
    else:
        model = Deduplicator(**METHODS[method], random_state=seed)
        model.fit(records, [*given.tolist(), *[None] * (len(records) - n)])
        view = model.view_
    packed = view.table(records[n:])
    left, right = candidate_pairs(packed, N_CANDIDATES)
    if method in (PLAIN, TUNED):
        cut = _best_cut(view, records[:n], given, seed) if method == TUNED else 0.0
        found = _components(len(packed), left, right, packed.scores(left, right, weights) + bias - cut)
    elif method == SINGLE:
        found = cluster_table(packed, (left, right), weights, bias, Rule("correlation", "agglomerative", np.zeros(1)))
    else:
        found = model.predict_table(packed)
    return numbered(found), (left, right)


def _machine(view: RecordPairs, records: Sequence[Any], given: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of comparisons and a constant."""
    machine = ClusteringSVM("pairwise").fit([view.pairs(records)], [given])
    return machine.weights_[:-1], float(machine.weights_[-1])


def _best_cut(view: RecordPairs, records: Sequence[Any], given: np.ndarray, seed: int) -> float:
    """How similar pairs have to be so that held-out clusters are found best; the middle of equals."""
    folds = folds_of_clusters(given, FOLDS, np.random.default_rng(seed))
    f1 = np.zeros(CUTS.size)
    for fold in range(FOLDS):
        kept, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        weights, bias = _machine(view, [records[i] for i in kept.tolist()], given[kept])
        packed = view.table([records[i] for i in held_out.tolist()])
        left, right = candidate_pairs(packed, N_CANDIDATES)
        similar = packed.scores(left, right, weights) + bias
        for k, cut in enumerate(CUTS):
            found = numbered(_components(held_out.size, left, right, similar - cut))
            f1[k] += pair_counts(given[held_out], found).f1
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)
    return float(CUTS[best[best.size // 2]])


def _components(n: int, left: np.ndarray, right: np.ndarray, similar: np.ndarray) -> np.ndarray:
    """Clusters of n records: whatever pairs with a positive similarity connect."""
    found = np.arange(n)
    for part in small_parts(n, left, right, similar, n):
        found[part] = part[0]
    return found


def _reach(truth: np.ndarray, left: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Share of the true pairs that are candidates, and that true candidates connect."""
    same = truth[left] == truth[right]
    connected = pair_counts(truth, _components(truth.size, left[same], right[same], np.ones(int(same.sum()))))
    return {RECALL.name: int(same.sum()) / max(connected.n_true, 1), CONNECTED.name: connected.recall}
