"""Secondary structure of proteins from few labeled domains: does it pay to see others unlabeled?

Not an experiment of the papers, which name the task only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from accord.datasets import load
from accord.evaluation import Draw, Task, token_error
from accord.experiments.base import DataFolder, Experiment, grid
from accord.experiments.ordering import Claim
from accord.experiments.training import Machine, machines, train_and_test
from accord.learners.consensus import CoSVM
from accord.packed.structure import Structure
from accord.structures.chains.sequence import Sequence
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.graph import GraphFeatures
from accord.views.kernel import KernelFeatures
from accord.views.splits import RandomSplit

N_UNLABELED, N_HOLDOUT = 60, 100
QUICK_UNLABELED, QUICK_HOLDOUT, QUICK_LONGEST = 8, 10, 80
SHORTEST, LONGEST = 40, 250  # residues of a domain
WINDOW = 6  # residues on either side
LANDMARKS = 600
C, WEIGHT = 0.1, 0.01  # set beforehand, not tuned
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


@dataclass(frozen=True)
class Domains:
    """A row of indicators for every residue, and its state."""

    X: list[np.ndarray]
    Y: list[list[str]]
    n_unlabeled: int = N_UNLABELED
    n_holdout: int = N_HOLDOUT


def _window(seed: int) -> ArrayFeatures:
    return ArrayFeatures(window=WINDOW)


def _kernel(seed: int) -> View:
    return KernelFeatures(_window(seed), kernel="rbf", method="nystroem", n_components=LANDMARKS, random_state=seed)


def _graph(seed: int) -> View:
    return GraphFeatures(_window(seed), kernel="rbf", edges="mutual", n_landmarks=LANDMARKS, random_state=seed)


def _halves(structure: Structure, view: View, seed: int) -> CoSVM:
    return CoSVM(
        structure, RandomSplit(view), C=C / 2, tol=0.1, unlabeled_weight=WEIGHT, ramp=10, max_iter=15, freeze=False,
        random_state=seed,
    )  # fmt: skip


# Method → (learner of a structure, a view and a seed; view of a seed)
METHODS: dict[str, tuple[Machine, Callable[[int], View]]] = {
    **{name: (machine, _window) for name, machine in machines(C, WEIGHT, tol=0.1).items()},
    "coSVM": (_halves, _window),
    "∇SVM, RBF": (machines(10 * C)["∇SVM"], _kernel),
    "∇SVM, graph": (machines(10 * C)["∇SVM"], _graph),
}


class ProteinStructure(Experiment):
    """Three states for every residue."""

    name = "protein-structure"
    title = "Secondary structure of proteins from few labeled domains"
    description = (
        f"Error per residue (coil, strand or helix) on {N_HOLDOUT} domains of CB513 after training on 5, 10 or 20 "
        f"labeled domains, with {N_UNLABELED} unlabeled ones; domains of {SHORTEST} to {LONGEST} residues, sequences "
        f"only. Features: the amino acids in a window of {2 * WINDOW + 1} residues; RBF kernel of them with "
        f"{LANDMARKS} landmarks, with and without the graph of windows that are each among the other's 5 nearest "
        f"neighbours. Hamming loss in residues, C = {C:g} (ten times that for kernels); unlabeled domains "
        f"count {WEIGHT:g} of a labeled one, or what labeled folds say (auto)."
    )
    data_sets = ("protein_cb513",)
    methods = METHODS
    repetitions = 10
    settings = grid(n_labeled=(5, 10, 20))
    quick_settings = grid(n_labeled=(3, 6))
    metrics = ("token_error",)
    claims = (
        Claim("∇TSVM", "∇SVM", "what unlabeled domains add"),
        Claim("∇TSVM auto", "∇SVM", "ours: no higher"),
        Claim("coSVM", "SVM", "agreement of two random halves of the window"),
        Claim("∇SVM, graph", "∇SVM, RBF", "the graph of residues' windows"),
        Claim("∇SVM, RBF", "∇SVM", "the kernel"),
        Claim("∇SVM", "SVM", "the same machine, smoothed"),
    )
    x = "n_labeled"
    baseline = "∇SVM"
    version = 2

    def load(self, data: DataFolder, quick: bool, seed: int) -> Domains:
        found = load("protein_cb513", data)
        kept = [i for i, x in enumerate(found.X) if SHORTEST <= len(x) <= (QUICK_LONGEST if quick else LONGEST)]
        X = [_indicators(found.X[i]) for i in kept]
        sizes = (QUICK_UNLABELED, QUICK_HOLDOUT) if quick else (N_UNLABELED, N_HOLDOUT)
        return Domains(X, [found.Y[i] for i in kept], *sizes)

    def run_task(self, task: Task, loaded: Domains) -> Mapping[str, float]:
        n, seed = task.setting["n_labeled"], task.repetition_seed
        order = np.random.default_rng(seed).permutation(len(loaded.X))
        test, rest = order[: loaded.n_holdout], order[loaded.n_holdout :]
        parts = Draw(rest[:n], rest[n : n + loaded.n_unlabeled], test)
        make, view = METHODS[task.method]
        learner = make(Sequence(labels=["C", "E", "H"], loss="hamming", normalize=False), view(seed), seed)
        with warnings.catch_warnings(action="ignore"):  # working sets of the non-convex machines may not settle
            return {"token_error": token_error(*train_and_test(learner, parts, loaded.X, loaded.Y))}


def _indicators(residues: list[str]) -> np.ndarray:
    """One column for every amino acid; unknown ones have none."""
    return (np.array(residues)[:, None] == np.array(list(AMINO_ACIDS))).astype(float)
