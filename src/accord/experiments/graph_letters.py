"""Handwritten words with the graph-regularised kernel, per letter and as sequences [maxmargin_semisup, Table 2].

Ten labeled and 412 unlabeled words of 15 different letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

from accord.datasets import load
from accord.evaluation import Metric, Published, Results, Task, accuracy
from accord.evaluation.protocol import take
from accord.experiments.base import DataFolder, Experiment, grid, published_notes
from accord.experiments.ordering import Claim
from accord.experiments.training import machines
from accord.structures.chains.multiclass import MultiClass
from accord.structures.chains.sequence import Sequence as Chain
from accord.views.dense import ArrayFeatures
from accord.views.graph import GraphFeatures

N_LETTERS, N_LABELED, N_UNLABELED, N_TEST = 15, 10, 412, 200
QUICK_UNLABELED, QUICK_TEST = 60, 40
HEIGHT, WIDTH = 16, 8  # of an image


@dataclass(frozen=True)
class Protocol:
    """What is done to the pixels, and the constants."""

    blur: float  # pixels; 0: none
    C: float
    scale: float  # of kernels, beside that of transitions, which is 1
    gammas: tuple[float, ...]  # to choose from, on labeled letters


PROTOCOLS = {
    # the paper's objective is the sum of slacks + |w|²
    "raw": Protocol(blur=0.0, C=0.5, scale=1.0, gammas=(0.005, 0.01, 0.02, 0.04, 0.08)),
    # neighbours are more often the same letter, margins are harder and the transitions of ten words count less
    "blurred": Protocol(blur=1.0, C=1.0, scale=10.0, gammas=(0.045, 0.09, 0.18, 0.36, 0.72)),
}


class Kernel(NamedTuple):
    """How much smoothness counts beside norm, which letters are neighbours, and how much the norm counts."""

    smoothness: float  # λ₂ / λ₁
    edges: str
    ambient: float  # λ₁, of the norm of letters
    of_transitions: float = 1.0  # and that of the norm of transitions


RATIO = 9.0
PLAIN, LIGHT, GRAPH, LITERAL, EITHER = "RBF", "RBF, λ = 0.1", "graph", "graph, λ₁ of all parts", "graph of either"
KERNELS = {
    PLAIN: Kernel(0.0, "mutual", 1.0),
    LIGHT: Kernel(0.0, "mutual", 0.1),
    GRAPH: Kernel(RATIO, "mutual", 0.1),
    LITERAL: Kernel(RATIO, "mutual", 0.1, of_transitions=0.1),
    EITHER: Kernel(RATIO, "either", 0.1),
}
STRUCTURES = PER_LETTER, STRUCTURED = "per letter", "structured"
# name → (learner, structure, kernel); those with the same features follow each other
METHODS = {
    f"{learner} {how}, {kernel}": (learner, how, kernel)
    for kernel in KERNELS
    for how in (STRUCTURES if kernel != LITERAL else (STRUCTURED,))
    for learner in (("SVM", "∇SVM") if kernel in (PLAIN, GRAPH) else ("SVM",))
}


@dataclass
class Words:
    """Words that are made of a few letters, the widths chosen for draws of them, and features of the latest draw."""

    X: dict[str, list[np.ndarray]]  # for each protocol
    Y: list[list[str]]
    widths: dict[tuple[str, int], float] = field(default_factory=dict)
    features: dict[tuple[Any, ...], list[list[np.ndarray]]] = field(default_factory=dict)


def _paper(kernel: str, metric: str, per_letter: float, structured: float) -> list[Published]:
    source = "maxmargin_semisup, Table 2"
    return [
        Published(f"SVM {how}, {kernel}", metric, value, {"pixels": "raw"}, source=source)
        for how, value in zip(STRUCTURES, (per_letter, structured))
    ]


class GraphLetters(Experiment):
    """Letters one by one and as words, with and without the graph of unlabeled letters."""

    name = "graph-letters"
    title = "Handwritten words: the graph-regularised kernel, per letter and structured"
    description = (
        f"Accuracy per letter after training on {N_LABELED} labeled words, drawn anew in each repetition until every "
        f"letter occurs, on {N_TEST} test words and on the unlabeled ones. Words whose letters are all among the "
        f"{N_LETTERS} that the most words can be written with; {N_UNLABELED} of them are unlabeled. RBF kernel of "
        "pixels; its width is chosen from 5 by cross-validation of the SVM per letter with that kernel on the labeled "
        "words, and is the same for all methods. 'Graph' is the graph-regularised kernel of all labeled and unlabeled "
        "letters, λ₁ = 0.1, λ₂ = 0.9, of which two are joined if each is among the 5 nearest neighbours of the other; "
        "in the 'graph of either' if one is. Transitions count as without a graph, or by λ₁ as well ('of all parts'). "
        "'λ = 0.1' is the RBF kernel whose norm counts λ₁, without a graph. Hamming loss in letters. Raw pixels as in "
        f"the paper, C = {PROTOCOLS['raw'].C:g} (its weights of norm and slacks; ∇SVM counts that as "
        f"{2 * PROTOCOLS['raw'].C:g}); or, for all methods, pixels blurred by a Gaussian of "
        f"{PROTOCOLS['blurred'].blur:g} pixel, C = {PROTOCOLS['blurred'].C:g} and kernels "
        f"{PROTOCOLS['blurred'].scale:g} times as large beside the transitions."
    )
    data_sets = ("ocr_letters",)
    methods = METHODS
    repetitions = 20  # the paper has 5
    settings = grid(n_unlabeled=[N_UNLABELED], pixels=list(PROTOCOLS))
    quick_settings = grid(n_unlabeled=[QUICK_UNLABELED], pixels=list(PROTOCOLS)[:1])
    metrics = (
        Metric("test_accuracy", "accuracy on test words", None, True, True),
        Metric("unlabeled_accuracy", "accuracy on unlabeled words", None, True, True),
    )
    claims = (
        *(
            Claim(f"{learner} {how}, {GRAPH}", f"{learner} {how}, {PLAIN}", "the paper: higher")
            for how in STRUCTURES
            for learner in ("SVM", "∇SVM")
        ),
        *(Claim(f"SVM {how}, {GRAPH}", f"SVM {how}, {LIGHT}", "what the graph alone adds") for how in STRUCTURES),
        *(Claim(f"SVM {how}, {GRAPH}", f"SVM {how}, {EITHER}", "near each other, or one") for how in STRUCTURES),
        Claim(f"SVM structured, {LITERAL}", f"SVM structured, {GRAPH}", "transitions by λ₁ as well"),
        Claim(f"SVM structured, {PLAIN}", f"SVM per letter, {PLAIN}", "the paper: higher"),
        Claim(f"SVM structured, {GRAPH}", f"SVM per letter, {GRAPH}", "the paper: about the same"),
    )
    baseline = "SVM per letter, RBF"
    published = (
        *_paper(PLAIN, "test_accuracy", 0.4362, 0.4925),
        *_paper(GRAPH, "test_accuracy", 0.4996, 0.4991),
        *_paper(GRAPH, "unlabeled_accuracy", 0.4756, 0.4965),
    )
    version = 2

    def load(self, data: DataFolder, quick: bool, seed: int) -> Words:
        words = load("ocr_letters", data, part="all")
        letters = widest_letters(words.Y, N_LETTERS)
        kept = [i for i, y in enumerate(words.Y) if set(y) <= letters]
        X, Y = take(words.X, np.array(kept)), take(words.Y, np.array(kept))
        return Words({name: [blurred(x, protocol.blur) for x in X] for name, protocol in PROTOCOLS.items()}, Y)

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        """The paper's pixels first."""
        return sorted(super().tasks(quick, seed), key=lambda task: list(PROTOCOLS).index(task.setting["pixels"]))

    def left_out(self, task: Task) -> bool:
        """How to read the paper is a question about its own pixels."""
        return task.setting["pixels"] != "raw" and METHODS[task.method][2] in (LITERAL, EITHER)

    def run_task(self, task: Task, loaded: Words) -> Mapping[str, float]:
        learner, how, kernel = METHODS[task.method]
        n_unlabeled, seed, pixels = task.setting["n_unlabeled"], task.repetition_seed, task.setting["pixels"]
        protocol, (smoothness, edges, ambient, of_transitions) = PROTOCOLS[pixels], KERNELS[kernel]
        parts = draw_words(loaded.Y, n_unlabeled, QUICK_TEST if n_unlabeled < 100 else N_TEST, seed)
        Y, Y_unlabeled, Y_test = (take(loaded.Y, part) for part in parts)
        key = (pixels, seed, smoothness, edges)
        if key not in loaded.features:
            images = [take(loaded.X[pixels], part) for part in parts]
            if (pixels, seed) not in loaded.widths:
                loaded.widths[pixels, seed] = choose_width(images[0], Y, protocol, seed)
            view = _view(loaded.widths[pixels, seed], smoothness, edges)
            loaded.features = {key: features_in_span(view, *images)}
        # a norm that counts for less is a kernel that is larger
        size = np.sqrt(protocol.scale / ambient)
        X, X_unlabeled, X_test = ([size * word for word in part] for part in loaded.features[key])
        chain = how == STRUCTURED
        structure = Chain(normalize=False, transition_weight=of_transitions**-0.5) if chain else MultiClass()
        model = machines(2 * protocol.C)[learner](structure, ArrayFeatures(bias=False), seed)
        joined: Any = list if chain else np.vstack
        model.fit(joined(X), Y if chain else _letters(Y))
        return {
            "test_accuracy": accuracy(_letters(Y_test), _letters(model.predict(joined(X_test)))),
            "unlabeled_accuracy": accuracy(_letters(Y_unlabeled), _letters(model.predict(joined(X_unlabeled)))),
        }

    def notes(self, results: Results) -> list[str]:
        return [
            *published_notes(results, self.published, self.metrics[0]),
            *published_notes(results, self.published, self.metrics[1]),
            *super().notes(results),
        ]


def widest_letters(Y: Sequence[Sequence[str]], n: int) -> set[str]:
    """Letters that many words can be written with: those that the fewest words need are left out, one by one."""
    words = [set(y) for y in Y]
    letters = set().union(*words)
    while len(letters) > n:
        needed = Counter(letter for word in words if word <= letters for letter in word)
        letters.discard(min(sorted(letters), key=lambda letter: needed[letter]))
    return letters


def draw_words(
    Y: Sequence[Sequence[str]], n_unlabeled: int, n_test: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labeled words that have every letter, unlabeled and test words."""
    rng = np.random.default_rng(seed)
    letters = {letter for y in Y for letter in y}
    while True:
        order = rng.permutation(len(Y))
        if set().union(*(Y[i] for i in order[:N_LABELED])) == letters:
            rest = order[N_LABELED:]
            return order[:N_LABELED], rest[:n_unlabeled], rest[n_unlabeled : n_unlabeled + n_test]


def blurred(images: np.ndarray, width: float) -> np.ndarray:
    """Images (n, n_pixels) of letters, through a Gaussian filter."""
    if not width:
        return images
    return gaussian_filter(images.reshape(-1, HEIGHT, WIDTH), width, axes=(1, 2)).reshape(images.shape)


def features_in_span(view: GraphFeatures, *parts: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Features of labeled, unlabeled and test words, in an orthonormal basis of what labeled letters span.

    The weights of a supervised machine are in that span [maxmargin_semisup, eqs. 12-15]. It is the same machine then,
    with as many features as there are labeled letters instead of one for every letter.
    """
    n_seen = len(parts[0]) + (len(parts[1]) if view.intrinsic else 0)  # unlabeled letters matter to a graph only
    words = [word for part in parts for word in part]
    rows = view.fit_rows(words[:n_seen])
    basis = np.linalg.qr(view.transform(parts[0]).matrix().toarray().T)[0]
    features = np.vstack([rows.scores(basis), view.transform(words[n_seen:]).scores(basis)])
    one_by_one = iter(np.split(features, np.cumsum([len(word) for word in words])[:-1]))
    return [[next(one_by_one) for _ in part] for part in parts]


def choose_width(X: Sequence[np.ndarray], Y: Sequence[Sequence[str]], protocol: Protocol, seed: int) -> float:
    """The RBF kernel's gamma with the fewest errors of the SVM per letter on held-out labeled words."""
    n_folds = min(5, len(X))
    fold = np.random.default_rng(seed).permutation(len(X)) % n_folds
    errors = dict.fromkeys(protocol.gammas, 0)
    for k in range(n_folds):
        inner, outer = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        for gamma in protocol.gammas:
            # a kernel that is larger is the same as a larger C where there is nothing else
            svm = machines(2 * protocol.C * protocol.scale)["SVM"](MultiClass(), _view(gamma), seed)
            svm.fit(np.vstack(take(X, inner)), _letters(take(Y, inner)))
            found = svm.predict(np.vstack(take(X, outer)))
            errors[gamma] += sum(a != b for a, b in zip(found, _letters(take(Y, outer))))
    return min(protocol.gammas, key=lambda gamma: errors[gamma])


def _view(gamma: float, smoothness: float = 0.0, edges: str = "mutual") -> GraphFeatures:
    return GraphFeatures(ArrayFeatures(bias=False), gamma=gamma, edges=edges, ambient=1.0, intrinsic=smoothness)


def _letters(Y: Sequence[Sequence[str]]) -> list[str]:
    return [letter for y in Y for letter in y]  # a letter is a list of itself
