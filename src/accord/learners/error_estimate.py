"""How often a model errs on new inputs without labels, from what it is sure of and how sure it was on held-out labels.

A model that is fitted to folds of the labeled examples says of each held-out label how sure it is of its own
prediction. A logistic regression makes that the probability of an error, and the mean of these over new inputs is the
estimate: where new inputs are harder, so that the model is less sure of them, it is higher than the error on held-out
labels.

A handful of held-out labels says little, so the regression begins with what was usual on other data: a model is right
less often than its probabilities say, the more so the surer it is. Errors of one example come together, and what
copies err on folds is not what the model itself will err; labels count less for both.

A `Classifier` has held out labels itself, to choose how to learn, and knows what it will err (`class_error`).
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.learners import class_error, inputs
from accord.learners.base import ProbabilisticLearner
from accord.learners.classifier import Classifier
from accord.learners.safety import labeled_folds
from accord.settings import generator, whole

QUANTILE = 1.645  # of the normal distribution: an interval of 90 %
NOISE = 2.0  # held-out labels count for half: copies of a model err more or less than the model itself
STEPS, TOLERANCE = 50, 1e-8  # of Newton's method
LEAST = 1e-4  # doubt that a model has, whatever its probabilities say


class _Usual(NamedTuple):
    """What is expected of the regression before anything is seen: intercept and slope, with standard deviations.

    They were chosen on ten sets of sentences, texts, points and made-up data with 20 to 200 labels.
    """

    means: tuple[float, float]
    deviations: tuple[float, float]


OF_PROBABILITIES = _Usual((0.0, 0.7), (0.7, 0.3))  # from the log odds of being wrong, as the model has them
OF_MARGINS = _Usual((-1.0, 0.7), (1.5, 0.5))  # from margins, which are standardized


class ErrorEstimate(NamedTuple):
    """Estimated share of labels (tokens, or classes) that are wrong, an interval of 90 %, and the held-out error."""

    error: float
    low: float
    high: float
    held_out_error: float


def estimate_error(
    model: Any, X_new: Any, X: Any, Y: Any, n_splits: int = 5, random_state: Any = None
) -> ErrorEstimate:
    """The share of labels that a model gets wrong on inputs whose labels nobody knows.

    Parameters
    ----------
    model : learner of classes or label sequences
        Copies of it are fitted to folds of the labeled examples; if it is fitted, it is asked about ``X_new`` itself,
        else one that is fitted to all of X and Y.
    X_new : inputs without labels
    X, Y : what it learns from
        Labeled examples, and perhaps unlabeled ones (``None``).
    n_splits : int
        Folds.
    random_state : as everywhere

    Returns
    -------
    ErrorEstimate
        From some fifty labeled sentences on the error is mostly within a fifth of the true one. With a class for
        each example, or fewer labels, it is a rough guide, and the interval says more. A `Classifier` is asked for
        its own figure (``expected_error_``); `n_splits` does not matter then.

    Examples
    --------
    >>> from accord import CRF, MultiClass, estimate_error
    >>> X = [[0.0], [0.2], [0.3], [0.6], [0.8], [1.0]] * 5
    >>> found = estimate_error(CRF(MultiClass()), [[0.1], [0.9]], X, ["a", "a", "b", "a", "b", "b"] * 5, random_state=0)
    >>> found.low <= found.error <= found.high
    True
    """
    whole(2).check("n_splits", n_splits)
    outputs = inputs.output_list(X, Y, getattr(model, "structure", None))
    if isinstance(model, Classifier):
        return _of_classifier(model, X_new, X, outputs)
    labeled = inputs.labeled_inputs(outputs)
    if labeled.size < n_splits:
        raise InputError(f"Y has {labeled.size} labeled examples; estimate_error needs at least {n_splits}")
    rng = generator(random_state)
    groups, sure, wrong = [], [], []
    for fold in labeled_folds(labeled.size, None, rng, n_splits):
        hidden = labeled[fold]
        y = list(outputs)
        kept = np.setdiff1d(np.arange(len(outputs)), hidden)
        fitted = _fit(model, inputs.take(X, kept), [y[i] for i in kept])
        for i, (confidence, found) in zip(hidden, _confident(fitted, inputs.take(X, hidden))):
            truth = list(outputs[i]) if isinstance(outputs[i], inputs.LISTS) else [outputs[i]]
            known = [t for t, label in enumerate(truth) if label is not None]
            groups += [int(i)] * len(known)
            sure += [confidence[t] for t in known]
            wrong += [float(found[t] != truth[t]) for t in known]
    model = _fitted(model, X, outputs)
    asked = _asked(model, X_new)
    probable = isinstance(model, ProbabilisticLearner)
    return calibrated_error(np.array(groups), np.array(sure), np.array(wrong), asked, probable)


def _fit(model: Any, X: Any, Y: list[Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, Y)


def _fitted(model: Any, X: Any, Y: list[Any]) -> Any:
    """The model itself, if it is fitted."""
    try:
        check_is_fitted(model, "weights_")
    except NotFittedError:
        return _fit(model, X, Y)
    return model


def _asked(model: Any, X_new: Any) -> np.ndarray:
    """How sure it is of all labels that it predicts for new inputs."""
    asked = np.concatenate([np.zeros(0), *(confidence for confidence, _ in _confident(model, X_new))])
    if not asked.size:
        raise InputError("X_new is empty; expected at least one input")
    return asked


def _of_classifier(model: Classifier, X_new: Any, X: Any, Y: list[Any]) -> ErrorEstimate:
    """What it found when it chose how to learn, more if it doubts new inputs more."""
    model = _fitted(model, X, Y)
    doubt = 1.0 - float(_asked(model, X_new).mean())
    found = getattr(model, "expected_error_", None)  # files of earlier versions have none
    if found is None:
        raise InputError("the Classifier had too few labels to hold some out, or was saved by an earlier version")
    return ErrorEstimate(*class_error.of_new(found, doubt), found["held_out_error"])


def _confident(model: Any, X: Any) -> list[tuple[np.ndarray, list[Any]]]:
    """For each input, how sure the model is of each label that it predicts, and these."""
    found = model.predict(X)
    each = [list(y) if isinstance(y, inputs.LISTS) else [y] for y in found]
    if isinstance(model, ProbabilisticLearner):
        marginals = [np.atleast_2d(p) for p in model.predict_marginals(X)]
        if marginals and isinstance(marginals[0].flat[0], dict):
            raise InputError("model predicts trees; estimate_error is for classes and label sequences")
        number = {label: k for k, label in enumerate(model.structure_.labels_)}
        return [(p[np.arange(len(y)), [number[label] for label in y]], y) for p, y in zip(marginals, each)]
    scores = model.decision_function(X)
    if model.structure_.single_row:
        scores = [np.atleast_2d(row) for row in (np.stack([-scores, scores], 1) if scores.ndim == 1 else scores)]
    return [(_margin(np.asarray(row)), y) for row, y in zip(scores, each)]


def _margin(scores: np.ndarray) -> np.ndarray:
    """By how much the best label is ahead of the second."""
    if scores.shape[1] < 2:
        return np.ones(len(scores))
    top = np.sort(scores, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def calibrated_error(
    groups: np.ndarray, sure: np.ndarray, wrong: np.ndarray, asked: np.ndarray, probable: bool = True
) -> ErrorEstimate:
    """The estimate, from the confidence and the errors (0 or 1) of held-out labels, the numbers of the examples that
    they belong to, and the confidence of predictions for new inputs: probabilities, or margins of scores."""
    held_out, new = _doubts(sure, sure, probable), _doubts(asked, sure, probable)
    means, deviations = (np.array(values) for values in (OF_PROBABILITIES if probable else OF_MARGINS))
    weight, prior = 1.0 / (NOISE * _together(groups, wrong)), np.diag(deviations**-2.0)
    found, precision = means, prior
    for _ in range(STEPS):
        rates = expit(held_out @ found)
        slope = weight * held_out.T @ (wrong - rates) - prior @ (found - means)
        precision = weight * (held_out.T * (rates * (1.0 - rates))) @ held_out + prior
        step = np.linalg.solve(precision, slope)
        found = found + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < TOLERANCE:
            break
    rates = expit(new @ found)
    error = float(rates.mean())
    spread = (rates * (1.0 - rates)) @ new / (new.shape[0] * error * (1.0 - error))  # of the log odds of the mean
    reach = QUANTILE * float(np.sqrt(spread @ np.linalg.solve(precision, spread)))
    low, high = expit(logit(error) + np.array([-reach, reach]))
    return ErrorEstimate(error, float(low), float(high), float(wrong.mean()))


def _doubts(sure: np.ndarray, held_out: np.ndarray, probable: bool) -> np.ndarray:
    """Rows (1, how doubtful a prediction is) for the regression."""
    if probable:
        values = -logit(np.clip(sure, LEAST, 1.0 - LEAST))
    else:
        values = (held_out.mean() - sure) / (held_out.std() or 1.0)
    return np.stack([np.ones(len(sure)), values], axis=1)


def _together(groups: np.ndarray, wrong: np.ndarray) -> float:
    """How many held-out labels say as much as one, because those of an example are right and wrong together."""
    off = wrong - wrong.mean()
    of_examples = np.bincount(np.unique(groups, return_inverse=True)[1], off)
    return max(1.0, float((of_examples**2).sum() / max((off**2).sum(), LEAST)))
