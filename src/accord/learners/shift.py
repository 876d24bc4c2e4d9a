"""Covariate shift: weights of training examples for a new sample that is distributed otherwise [thesis ch. 9].

If the new inputs come from another distribution but mean the same (``p(y | x)`` is what it was), a training example x
should count ``r(x) = p_new(x) / p(x)`` times. A logistic regression between the two samples estimates ``log r``, each
example by a model that has not seen it. Weights that differ much leave few examples that count, so they are
``r(x) ** a``, with the largest exponent ``a`` that leaves enough of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord import settings
from accord.exceptions import InputError
from accord.learners import inputs
from accord.packed.rows import Rows
from accord.views import compose
from accord.views.base import View
from accord.views.default import default_view
from accord.views.dense import ArrayFeatures

FOLDS = 5
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)  # C of the logistic regression, in this order
EXPONENTS = tuple(k / 10 for k in range(10, -1, -1))
MOST_NEW = 10_000  # inputs of the new sample that are looked at
ONE_SIDED = 1.645  # standard errors above chance, at 5 %


@dataclass(frozen=True)
class ShiftWeights:
    """Weights of examples, to be given as ``sample_weight``, and how they were found.

    Attributes
    ----------
    weights : array of shape (n_inputs,)
        With mean 1.
    auc : float
        How well training examples and new ones are distinguished, on held-out folds: 0.5 is chance.
    exponent : float
        Of the estimated ratio; 0: the samples cannot be distinguished, or no other leaves enough examples.
    effective_size : float
        As how many equally weighted examples they count: ``sum(w)^2 / sum(w^2)``.
    """

    weights: np.ndarray
    auc: float
    exponent: float
    effective_size: float

    def __len__(self) -> int:
        return self.weights.size

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.weights, dtype=dtype)

    def __repr__(self) -> str:
        return (
            f"ShiftWeights of {len(self)} examples that count as {self.effective_size:.0f}: exponent "
            f"{self.exponent:g}, AUC {self.auc:.2f}"
        )


def shift_weights(
    X: Any,
    X_new: Any = None,
    y: Any = None,
    *,
    view: Any = None,
    exponent: float | str = "auto",
    effective_share: float = 0.5,
    random_state: Any = None,
) -> ShiftWeights:
    """How much each training example should count for new inputs that are distributed otherwise.

    Parameters
    ----------
    X : list of texts, of sentences (lists of words) or of other inputs, array, sparse matrix or DataFrame
        Training inputs.
    X_new : the same, optional
        A sample of what is to be predicted; needs no labels. Default: the unlabeled inputs of ``X``.
    y : list, optional
        Outputs of ``X``, ``None`` for unlabeled ones; these have weight 1, and only the others are compared with the
        new sample. Needed if ``X_new`` is not given.
    view : View, optional
        Features that the samples are compared by, averaged over the tokens of an input; by default those that suit the
        look of ``X``.
    exponent : "auto" or float from 0 to 1
        Of the estimated ratio. "auto": the largest of 1, 0.9, ..., 0 that leaves an effective size of at least
        ``effective_share`` of the examples.
    effective_share : float from 0 to 1
    random_state : int, generator or None
        Draws the folds.

    Returns
    -------
    ShiftWeights
        All weights are 1 if held-out examples of the two samples cannot be distinguished: if the area under the ROC
        curve is not above chance by a one-sided test at 5 %.

    Examples
    --------
    >>> import numpy as np
    >>> from accord import CRF, MultiClass, shift_weights
    >>> rng = np.random.default_rng(0)
    >>> X, X_new = rng.normal(size=(200, 1)), rng.normal(1.0, size=(300, 1))
    >>> found = shift_weights(X, X_new, random_state=0)
    >>> found
    ShiftWeights of 200 examples that count as 114: exponent 1, AUC 0.74
    >>> model = CRF(MultiClass()).fit(X, (X[:, 0] > 1).astype(int), sample_weight=found)
    """
    rng = settings.generator(random_state)
    if exponent != "auto":
        _FROM_0_TO_1.check("exponent", exponent)
    _FROM_0_TO_1.check("effective_share", effective_share)
    X = inputs.as_inputs(X)
    n_inputs = inputs.count(X)
    old = np.arange(n_inputs)
    if y is not None:
        outputs = inputs.output_list(X, y)
        old = inputs.labeled_inputs(outputs)
        X_new = inputs.take(X, np.setdiff1d(np.arange(n_inputs), old)) if X_new is None else X_new
    if X_new is None:
        raise InputError("X_new is None; give a sample of the new inputs, or y with None for the unlabeled ones of X")
    X_new = inputs.as_inputs(X_new)
    n_new = inputs.count(X_new)
    for name, n in (("X, of labeled ones", old.size), ("X_new, or of unlabeled ones", n_new)):
        if n < 2:
            raise InputError(f"{name}: {n} input(s); expected at least two to compare the samples by")
    if n_new > MOST_NEW:
        X_new = inputs.take(X_new, np.sort(rng.choice(n_new, MOST_NEW, replace=False)))
    log_ratio, auc, differ = _compare(*_features(view, inputs.take(X, old), X_new), rng)
    exponents = EXPONENTS if exponent == "auto" else (float(exponent),)
    if not differ:
        exponents = (0.0,)
    for chosen in exponents:
        found = np.exp(chosen * (log_ratio - log_ratio.max()))
        size = float(found.sum() ** 2 / np.sum(found**2))
        if size >= effective_share * old.size:
            break
    weights = np.ones(n_inputs)
    weights[old] = found / found.mean()
    return ShiftWeights(weights, auc, chosen, size)


_FROM_0_TO_1 = settings.Expected("a number from 0 to 1", lambda value: settings.is_number(value) and 0 <= value <= 1)


def _features(view: Any, X: Any, X_new: Any) -> tuple[sp.csr_array, sp.csr_array]:
    """A row for each input of both. What only new inputs have says nothing about weights of the others."""
    made = compose.new_view(view, X, _default)
    rows = made.fit_rows(X)
    try:
        return _mean_rows(rows), _mean_rows(made.transform(X_new))
    except InputError as error:
        raise type(error)(f"X_new does not fit X: {error}") from error


def _default(X: Any) -> View:
    """That of a classifier for texts and tables; for sentences, that of a tagger; columns of numbers on one scale."""
    first = X[0] if isinstance(X, list) and X else None
    found = default_view(X, one_row=not isinstance(first, (list, tuple)))
    return ArrayFeatures(standardize=True) if isinstance(found, ArrayFeatures) else found


def _mean_rows(rows: Rows) -> sp.csr_array:
    """The mean of the rows of each input."""
    lengths = np.diff(rows.offsets)
    of_input = np.repeat(np.arange(rows.n_inputs), lengths)
    mean = sp.csr_array(
        (1.0 / lengths[of_input], (of_input, np.arange(rows.n_rows))), shape=(rows.n_inputs, rows.n_rows)
    )
    return sp.csr_array(mean @ rows.matrix())


def _compare(X: sp.csr_array, X_new: sp.csr_array, rng: np.random.Generator) -> tuple[np.ndarray, float, bool]:
    """Log ratios of the densities at ``X``, the area under the ROC curve, and whether it is above chance: what is
    predicted for held-out folds, with the penalty that does this best."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss, roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    both = sp.csr_array(sp.vstack([X, X_new]))
    is_new = np.repeat([0, 1], [X.shape[0], X_new.shape[0]])
    balanced = np.repeat([0.5 / X.shape[0], 0.5 / X_new.shape[0]], [X.shape[0], X_new.shape[0]])
    n_folds = min(FOLDS, X.shape[0], X_new.shape[0])
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31))).split(both, is_new))
    least, found = np.inf, np.zeros(is_new.size)
    for C in PENALTIES:
        odds = np.empty(is_new.size)
        for used, held_out in folds:
            model = LogisticRegression(C=C, class_weight="balanced", max_iter=500).fit(both[used], is_new[used])
            odds[held_out] = model.decision_function(both[held_out])
        loss = log_loss(is_new, 1.0 / (1.0 + np.exp(-odds)), sample_weight=balanced)
        if loss >= least:  # a weaker penalty only gets worse
            break
        least, found = loss, odds
    auc = float(roc_auc_score(is_new, found))
    n_old, n_new = X.shape[0], X_new.shape[0]
    chance = np.sqrt((n_old + n_new + 1) / (12.0 * n_old * n_new))  # of an AUC about 1/2, Mann and Whitney
    # A penalty that suits many features leaves odds too near to even, so their slope is fitted on the folds as well.
    found = found[:, None] / (found.std() or 1.0)
    slope = LogisticRegression(class_weight="balanced").fit(found, is_new)
    return slope.decision_function(found[:n_old]), auc, auc > 0.5 + ONE_SIDED * chance
