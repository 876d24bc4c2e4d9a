"""Labels that are probably wrong: what models that have not seen them think of them [Northcutt et al. 2021].

The labeled examples are cut into folds, and each fold is judged by a model of the others. Classes, tokens and
constituents have probabilities; `span_suspects` has the kinds of spans.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from accord.datasets.trees import as_tree, constituents
from accord.exceptions import InputError
from accord.learners import inputs
from accord.learners.base import ProbabilisticLearner
from accord.learners.crf import CRF
from accord.learners.safety import labeled_folds
from accord.learners.span_suspects import doubted, spans_of
from accord.learners.tag_schemes import are_tags, natural_structure
from accord.settings import generator, whole
from accord.structures.chains.multiclass import MultiClass

MODELS = 5  # that vote where there are no probabilities


class Suspect(NamedTuple):
    """A label that may be wrong.

    ``example`` is its number, from 0; ``start`` and ``end`` are its tokens (``None`` for a class or a record),
    ``given`` is the label, the kind of the span or the cluster of the record, ``suggested`` what is more probable
    (``None`` for a record: it belongs to none of the others), and ``probability`` that the given one is wrong.
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
        unlabeled ones (``None``) are left alone, and so are tokens without a label. With a `Deduplicator` as model,
        records and their clusters.
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
    if hasattr(model, "doubted"):  # a learner of clusters, which are no outputs of single examples
        doubts = model.doubted(X, Y, n_splits, generator(random_state))
        return _sorted(Suspect(i, None, None, given, other, p) for i, given, other, p in doubts)
    outputs = inputs.output_list(X, Y, None if model is None else getattr(model, "structure", None))
    labeled = inputs.labeled_inputs(outputs)
    if labeled.size < n_splits:
        raise InputError(
            f"Y has {labeled.size} labeled examples; suspects needs at least {n_splits}, one for each fold"
        )
    rng = generator(random_state)
    learner = _default(outputs, labeled, n_jobs) if model is None else clone(model)
    spans = spans_of(outputs, labeled) if _has_spans([outputs[i] for i in labeled]) else []
    if not _are_trees(learner) and len({span.kind for span in spans}) > 1 and len(spans) >= n_splits:
        judged = doubted(learner, X, len(outputs), spans, n_splits, rng)
        found = [Suspect(i, start, end, kind, other, p) for (i, kind, start, end), other, p in judged]
    else:
        found = _of_parts(learner, X, outputs, labeled, n_splits, rng)
    return _sorted(found)


def _sorted(found: Iterable[Suspect]) -> list[Suspect]:
    return sorted((one for one in found if one.probability > 0.5), key=lambda one: -one.probability)


def _default(outputs: Sequence[Any], labeled: np.ndarray, n_jobs: int | None) -> CRF:
    of_tokens = isinstance(outputs[labeled[0]], inputs.LISTS)
    return CRF(natural_structure([outputs[i] for i in labeled]) if of_tokens else MultiClass(), C=1.0, n_jobs=n_jobs)


def _has_spans(outputs: Sequence[Any]) -> bool:
    """Whether labels are of the kind B-type, I-type and O, and all tokens have one; that some spans begin with an I is
    no reason to look at tokens instead, because there may be mistakes."""
    if not all(isinstance(y, inputs.LISTS) and all(isinstance(label, str) for label in y) for y in outputs):
        return False
    return are_tags({label for y in outputs for label in y})


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
