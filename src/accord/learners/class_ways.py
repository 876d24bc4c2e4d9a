"""Ways to learn classes from labeled and unlabeled rows, all of them linear in the features of some view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from accord.solvers import agreeing_classes, soft_classes
from accord.solvers.agreeing_classes import Spanned, deviation

FIRST_C = 100.0  # of labels alone, where guesses begin
STUDENT_C = 10.0
COPIES = 3.0  # a labeled example counts so many times for the student
RIDGES = (0.1, 1.0)
LABELS, STUDENT = "labels alone", "a student of guesses"
CLUSTERS, AGREEMENT = "clusters", "views that agree"
RULES, RULE_STUDENT = "labels and rules", "labels, rules and a student of guesses"
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

    def without(self, held_out: np.ndarray, hidden: np.ndarray) -> Examples:
        """All labeled rows but some, and some of the unlabeled ones."""
        kept = np.setdiff1d(np.arange(self.X.shape[0]), held_out)
        parts = tuple((labeled[kept], unlabeled[hidden]) for labeled, unlabeled in self.parts)
        chosen = self.X[kept], self.labels[kept], self.hidden[hidden]
        ruled = None if self.ruled is None else self.ruled[hidden]
        return Examples(*chosen, self.weights[kept], self.hidden_weights[hidden], self.constant, parts, ruled)

    def with_ruled(self) -> Examples:
        """Unlabeled rows that rules say something of as labeled ones, too."""
        assert self.ruled is not None
        said = np.flatnonzero(self.ruled.any(axis=1))
        X = sp.csr_array(sp.vstack([self.X, self.hidden[said]]))
        weights = np.append(self.weights, RULE_WEIGHT * self.hidden_weights[said])
        return self._replace(X=X, labels=np.vstack([self.labels, self.ruled[said]]), weights=weights, ruled=None)

    def rate(self, wrong: np.ndarray, some: np.ndarray | slice = slice(None)) -> float:
        """The share of labeled rows, or some of them, that are wrong."""
        return float(np.average(wrong[some], weights=self.weights[some]))

    @property
    def n_labeled(self) -> float:
        """How many labeled examples of equal weight say as much."""
        return float(self.weights.sum() ** 2 / np.sum(self.weights**2))

    def frequencies(self) -> np.ndarray:
        counts = self.weights @ self.labels + 1.0  # a class may be missing in a fold
        return np.asarray(counts / counts.sum())

    def not_negative(self) -> bool:
        return min(self.X.data.min(initial=0.0), self.hidden.data.min(initial=0.0)) >= 0.0


class Way(NamedTuple):
    """A way to learn: its name, whether unlabeled examples take part, and the learner."""

    name: str
    unlabeled: bool
    learn: Callable[[Examples], Linear]


def ways(C: float, examples: Examples, parts: Sequence[Sequence[Spanned]]) -> list[Way]:
    """What can be tried: labels alone first.

    ``parts`` has the views to agree: each entry is a set of them, of which each has all rows in few dimensions.
    """
    found = [Way(LABELS, False, partial(labels_alone, C=C))]
    if not examples.hidden.shape[0]:
        return found
    if examples.not_negative():
        found.append(Way(STUDENT, True, student))
    if examples.ruled is not None:
        found.append(Way(RULES, True, partial(labels_and_rules, learn=partial(labels_alone, C=C))))
        if examples.not_negative():
            found.append(Way(RULE_STUDENT, True, partial(labels_and_rules, learn=student)))
    first = 0
    for group in parts:
        numbers = range(first, first + len(group))
        first += len(group)
        name = AGREEMENT if len(group) > 1 else CLUSTERS
        for ridge in RIDGES:
            learn = partial(agreeing, numbers=numbers, parts=group, ridge=ridge)
            found.append(Way(f"{name}, ridge {ridge:g}", True, learn))
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
