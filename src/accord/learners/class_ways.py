"""Ways to learn classes from labeled and unlabeled rows, all of them linear in the features of some view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from accord.solvers import agreeing_classes, soft_classes
from accord.solvers.agreeing_classes import Spanned, deviation

FIRST_C = 100.0  # of labels alone, where guesses begin
STUDENT_C = 10.0
COPIES = 3.0  # a labeled example counts so many times for the student
RIDGES = (0.1, 1.0)
SURE = 0.5  # share of unlabeled examples that the next classifier learns from, those with the surest guesses
LESSONS = 3
SPARSE = 0.1  # rows with at most this share of values that are not zero count things, such as words
LABELS, STUDENT, SUREST = "labels alone", "a student of guesses", "the surest guesses"
CLUSTERS, AGREEMENT = "clusters", "views that agree"
RULES, RULE_STUDENT = "labels and rules", "labels, rules and a student of guesses"
# Share of unlabeled examples about which a way is doubted before anything is seen of it: labels alone win ties, and
# what was given on purpose, such as several views, is doubted less. 0.035 or 0.07 do about as well.
ASSUMED, GIVEN = 0.05, 0.02
RULE_WEIGHT = 0.3  # of an example whose class rules give


class Linear(NamedTuple):
    """Weights (n_dims, n_labels) and constants (n_labels,) of scores."""

    weights: np.ndarray
    constants: np.ndarray

    def scores(self, rows: sp.csr_array) -> np.ndarray:
        return np.asarray(rows @ self.weights + self.constants)

    def times(self, factor: float) -> Linear:
        return Linear(factor * self.weights, factor * self.constants)


class Examples(NamedTuple):
    """Labeled rows, their labels as distributions, unlabeled rows, and what each row counts for.

    ``constant`` are the features that are the same in all rows. ``parts`` has the labeled and unlabeled rows of every
    view in few dimensions; it is empty where nobody asks. ``ruled`` has the probabilities of classes that rules give to
    unlabeled rows, zeros where they say nothing; None: there are no rules.
    """

    X: sp.csr_array
    labels: np.ndarray
    hidden: sp.csr_array
    weights: np.ndarray
    hidden_weights: np.ndarray
    constant: np.ndarray
    parts: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    ruled: np.ndarray | None = None

    def only(self, hidden: np.ndarray) -> Examples:
        """All labeled rows, and some of the unlabeled ones, in ascending order."""
        if hidden.size == self.hidden.shape[0]:
            return self
        parts = tuple((labeled, unlabeled[hidden]) for labeled, unlabeled in self.parts)
        ruled = None if self.ruled is None else self.ruled[hidden]
        chosen, weights = self.hidden[hidden], self.hidden_weights[hidden]
        return self._replace(hidden=chosen, hidden_weights=weights, parts=parts, ruled=ruled)

    def without(self, held_out: np.ndarray) -> Examples:
        """All labeled rows but some; unlabeled ones are shared."""
        kept = np.setdiff1d(np.arange(self.X.shape[0]), held_out)
        parts = tuple((labeled[kept], unlabeled) for labeled, unlabeled in self.parts)
        return self._replace(X=self.X[kept], labels=self.labels[kept], weights=self.weights[kept], parts=parts)

    def with_ruled(self) -> Examples:
        """Unlabeled rows that rules say something of as labeled ones, too."""
        assert self.ruled is not None
        said = np.flatnonzero(self.ruled.any(axis=1))
        X = sp.csr_array(sp.vstack([self.X, self.hidden[said]]))
        weights = np.append(self.weights, RULE_WEIGHT * self.hidden_weights[said])
        return self._replace(X=X, labels=np.vstack([self.labels, self.ruled[said]]), weights=weights, ruled=None)

    def frequencies(self) -> np.ndarray:
        counts = self.weights @ self.labels + 1.0  # a class may be missing in a fold
        return np.asarray(counts / counts.sum())

    def are_counts(self) -> bool:
        """Few features of a row are not zero, and none is negative."""
        some = self.X.nnz + self.hidden.nnz <= SPARSE * (self.X.shape[0] + self.hidden.shape[0]) * self.X.shape[1]
        return some and min(self.X.data.min(initial=0.0), self.hidden.data.min(initial=0.0)) >= 0.0


class Way(NamedTuple):
    """A way to learn: its name, whether unlabeled examples take part, the learner, and what is held against it."""

    name: str
    unlabeled: bool
    learn: Callable[[Examples], Linear]
    prior: float = 0.0


def ways(C: float, examples: Examples, parts: Sequence[Sequence[Spanned]], linked: bool = False) -> list[Way]:
    """What can be tried: labels alone first.

    ``parts`` has the views to agree: each entry is a set of them, of which each has all rows in few dimensions.
    ``linked`` rows have features of their neighbours: what is next to a labeled row is guessed surely, and rightly, and
    learning from that was better than from labels alone wherever it was tried. It needs no frequencies of classes,
    which labels do not tell if as many of each class were labeled.
    """
    found = [Way(LABELS, False, partial(labels_alone, C=C))]
    if not examples.hidden.shape[0]:
        return found
    if linked and parts:
        return [Way(SUREST, True, partial(surest, part=parts[0][0]), ASSUMED)]
    if examples.are_counts():
        found.append(Way(STUDENT, True, student, ASSUMED))
    if examples.ruled is not None:
        found.append(Way(RULES, True, partial(labels_and_rules, learn=partial(labels_alone, C=C)), GIVEN))
        if examples.are_counts():
            found.append(Way(RULE_STUDENT, True, partial(labels_and_rules, learn=student), GIVEN))
    first = 0
    for group in parts:
        numbers = range(first, first + len(group))
        first += len(group)
        name, prior = (AGREEMENT, GIVEN) if len(group) > 1 else (CLUSTERS, ASSUMED)
        for ridge in RIDGES:
            learn = partial(agreeing, numbers=numbers, parts=group, ridge=ridge)
            found.append(Way(f"{name}, ridge {ridge:g}", True, learn, prior))
    return found


def labels_alone(examples: Examples, C: float = FIRST_C) -> Linear:
    """Logistic regression of the labels."""
    weights = soft_classes.regression(examples.X, examples.labels, C, examples.weights)
    return Linear(weights, np.zeros(weights.shape[1]))


def labels_and_rules(examples: Examples, learn: Callable[[Examples], Linear]) -> Linear:
    """What is learned if rules say the truth, more or less."""
    return learn(examples.with_ruled())


def _first_guesses(examples: Examples, frequencies: np.ndarray) -> np.ndarray:
    scores = labels_alone(examples).scores(examples.hidden)
    return soft_classes.held_to(scores, frequencies, examples.hidden_weights)[0]


def student(examples: Examples) -> Linear:
    """Naive Bayes, which begins with guesses of logistic regression, and a student of its guesses, scores of both."""
    X, labels, hidden, weights, hidden_weights = examples[:5]
    frequencies = examples.frequencies()
    guesses = _first_guesses(examples, frequencies)
    bayes, constants, guesses = soft_classes.naive_bayes(
        X, labels, hidden, guesses, frequencies, weights, hidden_weights
    )
    bayes[examples.constant] = 0.0  # that is what constants are for
    importance = np.append(COPIES * weights, hidden_weights)
    both = sp.csr_array(sp.vstack([X, hidden]))
    taught = soft_classes.regression(both, np.vstack([labels, guesses]), STUDENT_C, importance)
    scales = [1.0 / deviation(scores, hidden_weights) for scores in (hidden @ bayes + constants, hidden @ taught)]
    return Linear(scales[0] * bayes + scales[1] * taught, scales[0] * constants)


def surest(examples: Examples, part: Spanned) -> Linear:
    """Logistic regression of labels and of its own surest guesses, several times.

    Whose guess is sure enough is the mean of two answers: the surest of all, and the surest of every class, so that no
    class is left behind, and rare classes are not made frequent.
    """
    (X, hidden), labels, weights = examples.parts[0], examples.labels, examples.weights
    found = soft_classes.regression(X, labels, STUDENT_C, weights)
    for _ in range(LESSONS):
        guesses = softmax(hidden @ found, axis=1)
        sure = sure_ones(guesses, examples.hidden_weights)
        taught = np.vstack([labels, np.eye(labels.shape[1])[guesses[sure].argmax(axis=1)]])
        importance = np.append(COPIES * weights, examples.hidden_weights[sure])
        found = soft_classes.regression(np.vstack([X, hidden[sure]]), taught, STUDENT_C, importance)
    return Linear(part.weights(found), np.zeros(labels.shape[1]))


def sure_ones(guesses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Which guesses to learn from: about a share of `SURE`."""
    sureness, classes = guesses.max(axis=1), guesses.argmax(axis=1)
    overall = _quantile(sureness, weights)
    sure = np.zeros(len(guesses), bool)
    for c in np.unique(classes):
        of_class = classes == c
        limit = 0.5 * (overall + _quantile(sureness[of_class], weights[of_class]))
        sure[of_class] = sureness[of_class] >= limit
    return np.flatnonzero(sure)


def _quantile(values: np.ndarray, weights: np.ndarray) -> float:
    """What a share of `SURE` of the values reach."""
    order = np.argsort(-values)
    reached = np.cumsum(weights[order]) >= SURE * weights.sum() * (1.0 - 1e-9)
    return float(values[order[np.argmax(reached)]])


def agreeing(examples: Examples, numbers: Sequence[int], parts: Sequence[Spanned], ridge: float) -> Linear:
    """Classifiers of one or several views that fit labels and common guesses."""
    frequencies = examples.frequencies()
    tables = [np.vstack(examples.parts[number]) for number in numbers]
    found, constants = agreeing_classes.agree(
        tables, examples.labels, _first_guesses(examples, frequencies), frequencies, examples.weights,
        examples.hidden_weights, ridge,
    )  # fmt: skip
    weights = np.sum([part.weights(of_dimensions) for part, of_dimensions in zip(parts, found)], axis=0)
    return Linear(weights, constants)
