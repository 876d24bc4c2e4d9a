"""Labels that are probably wrong: what models that have not seen them think of them [Northcutt et al. 2021].

The labeled examples are cut into folds, and each fold is judged by a model of the others. Classes, tokens and
constituents have probabilities. A span has a kind, and given where it begins and ends, a model of the spans of other
folds says how probable that kind is; a second round learns without the most suspicious spans of the first. Words have
vectors from all sentences, and only the directions in which spans differ most are looked at: what a single span has
says nothing about others, and can be learned by heart.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from accord.datasets.label_spans import extract_spans
from accord.datasets.trees import as_tree, constituents
from accord.exceptions import InputError
from accord.learners import inputs
from accord.learners.base import ProbabilisticLearner
from accord.learners.crf import CRF
from accord.learners.safety import labeled_folds
from accord.learners.tag_schemes import natural_structure
from accord.learners.tagger import are_words, word_vectors
from accord.settings import generator, whole
from accord.solvers import soft_classes
from accord.structures.chains.multiclass import MultiClass

C = 0.03  # of the model of spans
DIRECTIONS = 600  # of features of spans, which leave out what only a few of them have
LEFT_OUT = 0.05  # of the spans in the second round
MODELS = 5  # that vote where there are no probabilities


class Suspect(NamedTuple):
    """A label that may be wrong.

    ``example`` is its number, from 0; ``start`` and ``end`` are its tokens (``None`` for a class), ``given`` is the
    label, or the kind of the span, ``suggested`` what is more probable, and ``probability`` that the given one is
    wrong.
    """

    example: int
    start: int | None
    end: int | None
    given: Any
    suggested: Any
    probability: float


def suspects(
    X: Any, Y: Any, model: Any = None, n_splits: int = 5, random_state: Any = None, n_jobs: int | None = None
) -> list[Suspect]:
    """Labels that are probably wrong, the most suspicious first.

    Parameters
    ----------
    X, Y : examples
        Classes, label sequences (spans, where labels are of the kind B-type, I-type and O), trees or matchings;
        unlabeled ones (``None``) are left alone, and so are tokens without a label.
    model : learner, optional
        What is fitted to folds; default: a CRF of classes or sequences. A learner without probabilities is fitted
        several times to half of the others each, and what it predicts most often is more probable. Spans are judged
        by its features alone.
    n_splits : int
        Folds; more take longer, and leave more to learn from.
    random_state, n_jobs : as everywhere

    Returns
    -------
    list of Suspect
        One for every label whose probability of being wrong is above that of being right.

    Examples
    --------
    >>> from accord import suspects
    >>> texts = ["good wine", "good food", "good list", "bad wine", "bad food", "bad list"]
    >>> found = suspects(texts, ["yes", "yes", "no", "no", "no", "no"], n_splits=6, random_state=0)
    >>> (found[0].example, found[0].given, found[0].suggested)
    (2, 'no', 'yes')
    """
    whole(2).check("n_splits", n_splits)
    outputs = inputs.output_list(X, Y, None if model is None else getattr(model, "structure", None))
    labeled = inputs.labeled_inputs(outputs)
    if labeled.size < n_splits:
        raise InputError(
            f"Y has {labeled.size} labeled examples; suspects needs at least {n_splits}, one for each fold"
        )
    rng = generator(random_state)
    learner = _default(outputs, labeled, n_jobs) if model is None else clone(model)
    if not _are_trees(learner) and _has_spans([outputs[i] for i in labeled]):
        found = _of_spans(learner, X, outputs, labeled, n_splits, rng)
    else:
        found = _of_parts(learner, X, outputs, labeled, n_splits, rng)
    return sorted((one for one in found if one.probability > 0.5), key=lambda one: -one.probability)


def _default(outputs: Sequence[Any], labeled: np.ndarray, n_jobs: int | None) -> CRF:
    of_tokens = isinstance(outputs[labeled[0]], inputs.LISTS)
    return CRF(natural_structure([outputs[i] for i in labeled]) if of_tokens else MultiClass(), C=1.0, n_jobs=n_jobs)


def _has_spans(outputs: Sequence[Any]) -> bool:
    """Whether labels are of the kind B-type, I-type and O, and all tokens have one."""
    if not all(isinstance(y, inputs.LISTS) and all(isinstance(label, str) for label in y) for y in outputs):
        return False
    return natural_structure(outputs).constraints is not None


# -- classes, tokens, constituents ------------------------------------------------------------------------------------
def _of_parts(
    learner: Any, X: Any, outputs: list[Any], labeled: np.ndarray, n_splits: int, rng: np.random.Generator
) -> list[Suspect]:
    found = []
    for held_out, rest in _folds(learner, outputs, labeled, n_splits, rng):
        believed = _beliefs(learner, X, outputs, held_out, rest, rng)
        for i, beliefs in zip(held_out.tolist(), believed):
            for (start, end), given in _parts(outputs[i], _are_trees(learner)):
                options = beliefs.get((start, end), {})
                right = options.get(given, 0.0)
                best = max(options, key=lambda label: options[label], default=None)
                if best != given:
                    wrong = 1.0 - right if best is None else options[best] / max(options[best] + right, 1e-300)
                    found.append(Suspect(i, start, end, given, best, float(wrong)))
    return found


def _folds(learner: Any, outputs: list[Any], labeled: np.ndarray, n_splits: int, rng: np.random.Generator) -> list[Any]:
    """Held-out examples and the others, by fold; examples of a class are spread evenly."""
    classes = None
    if getattr(learner.structure, "single_row", learner.structure is None):
        numbers: dict[Any, int] = {}
        classes = np.array([numbers.setdefault(outputs[i], len(numbers)) for i in labeled])
    folds = labeled_folds(labeled.size, classes, rng, n_splits)
    return [(labeled[fold], np.setdiff1d(labeled, labeled[fold])) for fold in folds]


def _are_trees(learner: Any) -> bool:
    return "grammar" in getattr(learner.structure, "capabilities", ())


def _parts(y: Any, is_tree: bool = False) -> list[tuple[tuple[Any, Any], Any]]:
    """Places and labels of an output."""
    if is_tree:
        # all but the root, which a grammar gives every tree
        return [((left, right), label) for label, left, right in constituents(as_tree(y))[1:]]
    if isinstance(y, inputs.LISTS):
        return [((t, t + 1), label) for t, label in enumerate(y) if label is not None]
    return [((None, None), y)]


def _beliefs(
    learner: Any, X: Any, outputs: list[Any], held_out: np.ndarray, rest: np.ndarray, rng: np.random.Generator
) -> list[dict[Any, dict[Any, float]]]:
    """For each held-out example, how probable which label is at which place."""
    asked = inputs.take(X, held_out)
    if isinstance(learner, ProbabilisticLearner):
        model = _fit(learner, X, outputs, rest)
        labels, marginals = getattr(model.structure_, "labels_", ()), model.predict_marginals(asked)
        return [_probable(row, labels) for row in marginals]
    out: list[dict[Any, dict[Any, float]]] = [{} for _ in held_out]
    for _ in range(MODELS):
        half = rng.permutation(rest)[: max(1, rest.size // 2)]
        for beliefs, y in zip(out, _fit(learner, X, outputs, half).predict(asked)):
            for place, label in _parts(y, _are_trees(learner)):
                options = beliefs.setdefault(place, {})
                options[label] = options.get(label, 0.0) + 1.0 / MODELS
    return out


def _probable(marginals: Any, labels: Sequence[Any]) -> dict[Any, dict[Any, float]]:
    if isinstance(marginals, dict):  # of constituents
        out: dict[Any, dict[Any, float]] = {}
        for (label, left, right), p in marginals.items():
            out.setdefault((left, right), {})[label] = float(p)
        return out
    if marginals.ndim == 1:
        return {(None, None): dict(zip(labels, marginals.tolist()))}
    return {(t, t + 1): dict(zip(labels, row.tolist())) for t, row in enumerate(marginals)}


def _fit(learner: Any, X: Any, outputs: list[Any], used: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(learner).fit(inputs.take(X, used), [outputs[i] for i in used])


# -- spans ------------------------------------------------------------------------------------------------------------
def _of_spans(
    learner: Any, X: Any, outputs: list[Any], labeled: np.ndarray, n_splits: int, rng: np.random.Generator
) -> list[Suspect]:
    spans = [(int(i), *span) for i in labeled for span in extract_spans(list(outputs[i]))]
    kinds = sorted({kind for _, kind, _, _ in spans})
    if len(kinds) < 2 or len(spans) < n_splits:
        return _of_parts(learner, X, outputs, labeled, n_splits, rng)
    given = np.array([kinds.index(kind) for _, kind, _, _ in spans])
    rows = _span_rows(learner, X, outputs, spans)
    weights = np.ones(len(spans))
    for _ in range(2):
        probable = _crossed(rows, given, weights, len(kinds), labeled_folds(len(spans), given, rng, n_splits))
        right = probable[np.arange(len(spans)), given]
        others = np.where(np.eye(len(kinds), dtype=bool)[given], -1.0, probable)
        best, odds = others.argmax(axis=1), others.max(axis=1) / np.maximum(others.max(axis=1) + right, 1e-300)
        weights = np.where(odds > max(np.quantile(odds, 1.0 - LEFT_OUT), 0.5), 0.0, 1.0)
    return [Suspect(i, start, end, kind, kinds[k], float(p)) for (i, kind, start, end), k, p in zip(spans, best, odds)]


def _span_rows(learner: Any, X: Any, outputs: list[Any], spans: Sequence[Any]) -> np.ndarray:
    """Features of spans: the mean of their tokens', those of the first and the last one, the words themselves, and the
    mean of their vectors; in few directions."""
    structure = inputs.new_structure(learner.structure or natural_structure([]), learner)
    seen = structure.view_inputs([x for _, chunk in inputs.chunks(X, max(1, len(outputs))) for x in chunk])
    rows = inputs.new_view(getattr(learner, "view", None), structure, seen).fit_rows(seen)
    first = np.array([rows.offsets[i] + start for i, _, start, _ in spans])
    length = np.array([end - start for _, _, start, end in spans])
    tokens = np.repeat(first, length) + np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    mean = sp.csr_array(
        (np.repeat(1.0 / length, length), tokens, np.append(0, np.cumsum(length))), shape=(len(spans), rows.n_rows)
    )
    matrix = sp.csr_array(rows.matrix())
    names = [repr(seen[i][start:end]) for i, _, start, end in spans]
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    whole_name = sp.csr_array((np.full(len(names), 2.0), ([*range(len(names))], [number[name] for name in names])))
    parts = [mean @ matrix, matrix[first], matrix[first + length - 1], whole_name]
    if are_words(seen):
        parts += [mean @ sp.csr_array(vectors.fit_rows(seen).matrix()) for vectors in word_vectors()]
    return _directions(sp.csr_array(sp.hstack(parts)))


def _directions(rows: sp.csr_array) -> np.ndarray:
    shared = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]) > 1)
    rows = sp.csr_array(sp.csc_array(rows)[:, shared])
    left, sizes, _ = randomized_svd(rows, min(DIRECTIONS, *rows.shape), n_iter=3, random_state=0)
    return np.asarray(left * sizes)


def _crossed(
    rows: np.ndarray, given: np.ndarray, weights: np.ndarray, n_kinds: int, folds: Sequence[np.ndarray]
) -> np.ndarray:
    """Probabilities (n_spans, n_kinds) of kinds, of each span by a model of the spans of other folds."""
    out = np.empty((given.size, n_kinds))
    for held_out in folds:
        used = np.setdiff1d(np.arange(given.size), held_out)
        found = soft_classes.regression(rows[used], np.eye(n_kinds)[given[used]], C, weights[used])
        out[held_out] = softmax(rows[held_out] @ found, axis=1)
    return out
