"""Which examples to label next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from accord.dedupe.deduplicator import Deduplicator
from accord.exceptions import InputError
from accord.labeling import diversity, outputs, pairs, questions, strategies
from accord.labeling.questions import Inputs, Part, Questions
from accord.learners.base import StructuredLearner
from accord.learners.clustering import ClusteringSVM
from accord.learners.regression import KernelRegressor
from accord.mail.detector import BatchDetector
from accord.mail.spam import CollectiveSpamFilter
from accord.settings import SHARED, generator, is_whole, one_of, whole

UNIT = one_of("example", "part", "cluster")


class Suggestion(NamedTuple):
    """What to label next, and why.

    Attributes
    ----------
    index : int
        Number of the example in X.
    score : float
        How much it is worth asking: the more the higher, on the scale of the strategy.
    reason : str
        A short sentence for people.
    part : tuple or None
        What of it to label: a span of tokens (start, end), a bracket (label, start, end) that may or may not be in the
        tree, a pair of records that may or may not belong together, or a group of records; None: all of it.

    Examples
    --------
    >>> from accord import CRF, MultiClass, suggest
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    >>> best = suggest(CRF(MultiClass()).fit(X[:2], ["a", "b"]), X, 1, labeled=[0, 1])[0]
    >>> best.index, best.part
    (2, None)
    """

    index: int  # type: ignore[assignment]  # tuples have a method of that name, which nobody misses here
    score: float
    reason: str
    part: Part = None


class Pool:
    """Unlabeled examples from which to choose again and again.

    What does not depend on the labels is computed once: features, as long as the view of the model stays the same, and
    which examples are alike.

    Parameters
    ----------
    X : list, array or DataFrame
        The examples, as ``suggest`` takes them.

    Examples
    --------
    >>> from accord import CRF, Pool, Sequence
    >>> X = [["Ana", "left"], ["Tom", "slept"], ["Rome", "slept"]]
    >>> pool = Pool(X)
    >>> model = CRF(Sequence()).fit(X[:2], [["PER", "O"], ["PER", "O"]])
    >>> [s.index for s in pool.suggest(model, 1, labeled=[0, 1])]
    [2]
    """

    def __init__(self, X: Any) -> None:
        self._inputs = Inputs(X)

    def __len__(self) -> int:
        return self._inputs.n

    def suggest(
        self,
        model: Any,
        n: int = 10,
        *,
        strategy: str = "auto",
        unit: str = "example",
        labeled: Iterable[Any] | None = None,
        random_state: Any = None,
    ) -> list[Suggestion]:
        """The next ``n`` things to label; arguments as for :func:`suggest`."""
        whole(1).check("n", n)
        UNIT.check("unit", unit)
        SHARED["random_state"].check("random_state", random_state)
        known, parts = _checked_labeled(labeled, len(self))
        rng = generator(random_state)
        asked = _questions(model, self._inputs, unit)
        name = strategies.chosen(strategy, asked.offers, asked.who, asked.preferred)
        free = np.flatnonzero(asked.open(known, parts, int(n)))
        numbers, scores = _choose(asked, name, free, int(n), known, rng)
        found = []
        for number, score in zip(numbers.tolist(), scores.tolist()):
            index, part = asked.about(number)
            found.append(Suggestion(index, score, _reason(asked, name, number), part))
        return found


def suggest(
    model: Any,
    X: Any,
    n: int = 10,
    *,
    strategy: str = "auto",
    unit: str = "example",
    labeled: Iterable[Any] | None = None,
    random_state: Any = None,
) -> list[Suggestion]:
    """Which examples to label next, the most useful first, with a reason for each.

    Parameters
    ----------
    model : fitted learner or None
        Any learner of Accord, or another classifier with ``predict_proba`` or ``decision_function``. None: there is no
        model yet; "diversity" and "random" need none.
    X : list, array, DataFrame or Pool
        Unlabeled examples, in the form that the model predicts from: records of a table for a ``Deduplicator``, sets
        for a ``ClusteringSVM``, mails for a ``BatchDetector`` or a ``CollectiveSpamFilter``. A :class:`Pool` keeps
        what it computes for the next call.
    n : int
        How many; fewer come back if there are no more.
    strategy : "auto", "entropy", "margin", "disagreement", "change", "diversity", "balance" or "random"
        What makes an example useful; docs/labeling.md says what each needs. "auto" takes what was measured best for
        such a model. Near-duplicates of what is chosen already come last.
    unit : "example", "part" or "cluster"
        Whole examples, or parts of them: uncertain spans of sentences, brackets of trees, pairs of objects of a set.
        Records and mails of batches are asked about in pairs in either case; records also in groups that may be one
        cluster.
    labeled : iterable, optional
        What has labels already and is not asked again: numbers of examples, or pairs (number, part) as in suggestions.
    random_state : None, int or generator
        For "random", for ties, and for samples of large pools.

    Returns
    -------
    list of Suggestion
        With ``index``, ``score``, ``reason`` and ``part``.

    Examples
    --------
    >>> from accord import CRF, MultiClass, suggest
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.5, 0.5]]
    >>> model = CRF(MultiClass()).fit(X[:2], ["a", "b"])
    >>> suggest(model, X, 1, labeled=[0, 1])[0].index
    3
    """
    pool = X if isinstance(X, Pool) else Pool(X)
    return pool.suggest(model, n, strategy=strategy, unit=unit, labeled=labeled, random_state=random_state)


# -- who is asked ---------------------------------------------------------------------------------------
def _questions(model: Any, pool: Inputs, unit: str) -> Questions:
    """The kind of questions that a model has."""
    part = unit == "part"
    if unit == "cluster" and not isinstance(model, Deduplicator):
        raise InputError('unit is "cluster", which only records of a Deduplicator have; use unit="example"')
    if isinstance(model, StructuredLearner):
        check_is_fitted(model, "weights_")
        can = model.structure_.capabilities
        if not part:
            return outputs.Outputs(model, pool)
        if "likelihood" in can and "words" in can:
            return outputs.Spans(model, pool)
        if "likelihood" in can and "grammar" in can:
            return outputs.Brackets(model, pool)
    elif isinstance(model, Deduplicator):
        check_is_fitted(model, "weights_")
        return pairs.Clusters(model, pool) if unit == "cluster" else pairs.RecordPairs(model, pool)
    elif isinstance(model, BatchDetector):
        return pairs.MailBatches(model, pool)
    elif isinstance(model, ClusteringSVM):
        check_is_fitted(model, "weights_")
        return pairs.SetPairs(model, pool) if part else pairs.Sets(model, pool)
    elif not part:
        if model is None:
            return questions.Unmodelled(model, pool)
        if isinstance(model, KernelRegressor):
            check_is_fitted(model, "coefficients_")
            return questions.Numbers(model, pool)
        if hasattr(model, "predict_proba") or hasattr(model, "decision_function"):
            if not isinstance(model, CollectiveSpamFilter):
                check_is_fitted(model)
            return questions.Classes(model, pool)
        raise InputError(
            f"model is a {type(model).__name__}; expected a fitted learner, a classifier with predict_proba, or None"
        )
    what = "no model" if model is None else f"a {type(model).__name__}"
    raise InputError(
        f'unit is "part", but outputs of {what} have no parts that can be labeled one by one (as label sequences, '
        'trees and sets have); use unit="example"'
    )


def _checked_labeled(labeled: Iterable[Any] | None, n: int) -> tuple[set[int], list[tuple[int, Part]]]:
    """Numbers of examples with labels, and parts with labels."""
    if labeled is None:
        return set(), []
    if isinstance(labeled, (str, bytes, dict)) or not isinstance(labeled, Iterable):
        raise InputError(
            f"labeled is a {type(labeled).__name__}; expected numbers of examples, or (number, part) pairs"
        )
    known: set[int] = set()
    parts: list[tuple[int, Part]] = []
    for place, one in enumerate(labeled):
        index = one[0] if isinstance(one, (tuple, list)) and len(one) > 1 else one
        if not is_whole(index) or not 0 <= index < n:
            raise InputError(
                f"labeled[{place}] is {one!r}; expected a number from 0 to {n - 1}, or a pair (number, part)"
            )
        part = None if index is one else one.part if isinstance(one, Suggestion) else one[1]
        if part is None:
            known.add(int(index))
        else:
            parts.append((int(index), part))
    return known, parts


# -- choosing -------------------------------------------------------------------------------------------
def _choose(
    asked: Questions, strategy: str, free: np.ndarray, n: int, known: set[int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the questions to ask, and their scores."""
    if strategy == "random":
        numbers = rng.permutation(free)[:n]
        return numbers, np.zeros(numbers.size)
    if strategy in ("diversity", "balance"):
        done = np.array(sorted(known), np.int64)
        worth = asked.scores("margin") if strategy == "balance" else None
        return diversity.cover(free, n, asked.sketch(), done, rng, worth)
    scores = asked.scores(strategy)
    free = free[scores[free] > -np.inf]
    order = rng.permutation(free)  # ties are broken at random
    order = order[np.argsort(-scores[order], kind="stable")]
    if asked.sketched:
        order = diversity.best_unlike(order, n, asked.sketch(), asked.subjects)
    return order[:n], scores[order[:n]]


def _reason(asked: Questions, strategy: str, number: int) -> str:
    if strategy == "random":
        return "drawn at random"
    if strategy == "diversity":
        return "stands for many others, and is unlike what was chosen before"
    return asked.reason(strategy, number)
