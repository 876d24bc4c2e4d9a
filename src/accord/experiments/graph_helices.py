"""Helices of proteins in place of pitch accents: the graph-regularised kernel on short chains of two labels.

[maxmargin_semisup, Table 1] has pitch accents of spoken words, 31 numbers a word, which are not to be had. What comes
nearest here: residues of proteins that belong to a helix or do not. It is a yes or no for every item of a short chain,
a third are yes, the numbers of one item say little, and neighbours tend to have the same label.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accord.datasets import load
from accord.evaluation import Metric, Results, Task, accuracy
from accord.experiments.base import DataFolder, Experiment, grid
from accord.experiments.graph_letters import GRAPH, PLAIN, Protocol, choose_width
from accord.experiments.ordering import Claim
from accord.experiments.training import machines
from accord.structures.chains.multiclass import MultiClass
from accord.structures.chains.sequence import Sequence
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.graph import GraphFeatures
from accord.views.kernel import KernelFeatures

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
LENGTH = 15  # residues of a stretch: chains as short as what people say in one breath
REACH = 6  # residues on either side that the numbers of a residue are sums over
N_TEST, QUICK_TEST = 150, 20
# the paper's objective is the sum of slacks + |w|²
PROTOCOL = Protocol(blur=0.0, C=0.5, scale=1.0, gammas=(0.01, 0.03, 0.1, 0.3, 1.0))
STRUCTURES = ("per residue", "structured")
METHODS = [f"SVM {how}, {kernel}" for kernel in (PLAIN, GRAPH) for how in STRUCTURES]


@dataclass
class Stretches:
    """One stretch of every domain, and the widths chosen for draws of them."""

    X: list[np.ndarray]
    Y: list[list[str]]
    n_test: int
    widths: dict[tuple[int, int], float] = field(default_factory=dict)


class GraphHelices(Experiment):
    """Residues one by one and as chains, with and without the graph of unlabeled residues."""

    name = "graph-helices"
    title = "Two labels on short chains: the graph-regularised kernel on helices, in place of pitch accents"
    description = (
        f"Accuracy per residue (helix or not) on {N_TEST} stretches of {LENGTH} residues, each of another domain of "
        "CB513, and on the unlabeled ones, after training on 4 or 40 labeled stretches and up to 200 unlabeled ones. "
        f"A residue has 20 numbers: how often each amino acid occurs within {REACH} residues, the nearer the more. The "
        "protocol is the paper's: RBF kernel, its width chosen from 5 by cross-validation of the SVM per residue on "
        "the labeled stretches and the same for all; the graph-regularised kernel of labeled and unlabeled residues, "
        f"joined if each is among the other's 5 nearest, 1 : 9; Hamming loss; C = {PROTOCOL.C:g}, its weights of norm "
        "and slacks. Pitch accents (Switchboard, 31 numbers a word) are not to be had; the paper's figures are those "
        "of other data."
    )
    data_sets = ("protein_cb513",)
    methods = METHODS
    repetitions = 20  # the paper has 5
    settings = grid(n_labeled=(4, 40), n_unlabeled=(0, 80, 200))
    quick_settings = grid(n_labeled=(4,), n_unlabeled=(0, 20))
    metrics = (
        Metric("test_accuracy", "accuracy on test stretches", None, True, True),
        Metric("unlabeled_accuracy", "accuracy on unlabeled stretches", None, True, True),
    )
    claims = (
        *(Claim(f"SVM {how}, {GRAPH}", f"SVM {how}, {PLAIN}", "the paper: higher") for how in STRUCTURES),
        *(Claim(f"SVM structured, {k}", f"SVM per residue, {k}", "the paper: higher") for k in (PLAIN, GRAPH)),
    )
    x = "n_unlabeled"
    baseline = f"SVM per residue, {PLAIN}"

    def left_out(self, task: Task) -> bool:
        """Without unlabeled stretches both kernels have the same inputs, and the paper has the first only."""
        return task.method.endswith(GRAPH) and task.setting["n_unlabeled"] == 0

    def load(self, data: DataFolder, quick: bool, seed: int) -> Stretches:
        found, rng = load("protein_cb513", data), np.random.default_rng(seed)
        X, Y = [], []
        for residues, states in zip(found.X, found.Y):
            if len(residues) >= LENGTH:
                first = int(rng.integers(len(residues) - LENGTH + 1))
                X.append(nearby(residues)[first : first + LENGTH])
                Y.append(["helix" if state == "H" else "other" for state in states[first : first + LENGTH]])
        return Stretches(X, Y, QUICK_TEST if quick else N_TEST)

    def run_task(self, task: Task, loaded: Stretches) -> Mapping[str, float]:
        what, kernel = task.method.split(", ")
        chain, seed = what.endswith("structured"), task.repetition_seed
        n, n_unlabeled = task.setting["n_labeled"], task.setting["n_unlabeled"]
        order = draw_both(loaded.Y, n, seed)
        parts = order[:n], order[n : n + n_unlabeled], order[-loaded.n_test :]
        X, hidden, test = ([loaded.X[i] for i in part] for part in parts)
        Y, Y_hidden, Y_test = ([loaded.Y[i] for i in part] for part in parts)
        with warnings.catch_warnings(action="ignore"):  # three of four stretches may have one label only
            if (n, seed) not in loaded.widths:
                loaded.widths[n, seed] = choose_width(X, Y, PROTOCOL, seed)
            view = _view(kernel, loaded.widths[n, seed])
            model = machines(2 * PROTOCOL.C)["SVM"](Sequence(normalize=False) if chain else MultiClass(), view, seed)
            model.fit(*_joined(chain, [*X, *hidden], [*Y, *([None] * len(y) for y in Y_hidden)]))
        found = {"test_accuracy": _accuracy(model, chain, test, Y_test)}
        if n_unlabeled:
            found["unlabeled_accuracy"] = _accuracy(model, chain, hidden, Y_hidden)
        return found

    def notes(self, results: Results) -> list[str]:
        return [
            *super().notes(results),
            "The paper, on pitch accents, test sequences: 4 labeled, SVM 65.9 % without and 68.8 % with 80 unlabeled "
            "ones, structured 65.8 and 70.3 %; 40 labeled, SVM 70.3 % without and 71 to 74 % with unlabeled ones, "
            "structured 72.2 % and 75 to 77 %.",
        ]


def _view(kernel: str, gamma: float) -> View:
    base = ArrayFeatures(bias=False)
    if kernel == PLAIN:
        return KernelFeatures(base, kernel="rbf", gamma=gamma)
    return GraphFeatures(base, gamma=gamma, edges="mutual")


def nearby(residues: list[str]) -> np.ndarray:
    """How often each amino acid occurs near each residue (n, 20); what is next door counts more."""
    here = (np.array(residues)[:, None] == np.array(list(AMINO_ACIDS))).astype(float)
    weights = 1.0 - np.abs(np.arange(-REACH, REACH + 1)) / (REACH + 1)
    return np.stack([np.convolve(column, weights, mode="same") for column in here.T], axis=1)


def draw_both(Y: list[list[str]], n_labeled: int, seed: int) -> np.ndarray:
    """An order of the stretches in which the first ones, the labeled, have both labels."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(Y))
        if len({label for i in order[:n_labeled] for label in Y[i]}) == 2:
            return order


def _joined(chain: bool, X: list[np.ndarray], Y: list[list[Any]]) -> tuple[Any, list[Any]]:
    """Stretches as the learner takes them: as they are, or residue by residue."""
    if chain:
        return X, [None if y[0] is None else y for y in Y]
    return np.vstack(X), [label for y in Y for label in y]


def _accuracy(model: Any, chain: bool, X: list[np.ndarray], Y: list[list[str]]) -> float:
    inputs, truth = _joined(chain, X, Y)
    found = model.predict(inputs)
    if chain:
        truth, found = ([label for y in part for label in y] for part in (truth, found))
    return accuracy(truth, list(found))
