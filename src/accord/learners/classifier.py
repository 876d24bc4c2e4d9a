"""The default for classes: a tuned linear classifier that learns from unlabeled examples where they help.

1. Logistic regression of the labels, its C by cross-validation.
2. It guesses the labels of all unlabeled examples; naive Bayes goes on from there, guessing and counting in turn, with
   classes as frequent as among the labels (only if no feature is negative).
3. A student, logistic regression again, learns the labels and all guesses; its scores and those of naive Bayes are
   added up.

Held-out labels decide whether 2 and 3 are kept. All are linear in the features, and so is what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import ClassifierTags

from accord.forms import REPORT
from accord.learners import inputs
from accord.learners.base import ProbabilisticLearner
from accord.learners.safety import labeled_folds
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.packed.weights import Weights
from accord.settings import POSITIVE, either, generator, one_of
from accord.solvers import soft_classes
from accord.structures.chains.multiclass import MultiClass
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.dicts import DictFeatures

CS = (1.0, 10.0, 100.0, 1000.0)
FIRST_C = 100.0  # if there are too few labels to compare
STUDENT_C = 10.0
COPIES = 3.0  # a labeled example counts so many times for the student
MAX_UNLABELED = 2000  # while candidates are compared; the chosen one learns from all
MAX_ROUNDS = 5  # of folds, drawn anew as long as the comparison is within DOUBT standard errors
DOUBT = 2.0
SUPERVISED, SEMI_SUPERVISED = "labels alone", "labels and unlabeled examples"


class Examples(NamedTuple):
    """Labeled rows, their labels as distributions, unlabeled rows, and what each row counts for."""

    X: sp.csr_array
    labels: np.ndarray
    hidden: sp.csr_array
    weights: np.ndarray
    hidden_weights: np.ndarray

    def without(self, held_out: np.ndarray, hidden: np.ndarray) -> Examples:
        """All labeled rows but some, and some of the unlabeled ones."""
        kept = np.setdiff1d(np.arange(self.X.shape[0]), held_out)
        chosen = self.X[kept], self.labels[kept], self.hidden[hidden]
        return Examples(*chosen, self.weights[kept], self.hidden_weights[hidden])

    def rate(self, wrong: np.ndarray, some: Any = slice(None)) -> float:
        """The share of labeled rows, or some of them, that are wrong."""
        return float(np.average(wrong[some], weights=self.weights[some]))


@dataclass(eq=False, repr=False)
class Classifier(ProbabilisticLearner):
    """Classes of texts, rows of numbers or features by name, from few labels and many unlabeled examples.

    Start here: what you have goes in as it is, ``None`` stands for no label, everything else is chosen on held-out
    labels. It takes for granted that classes are about as frequent among unlabeled examples as among labeled ones.

    Parameters
    ----------
    structure : MultiClass or Taxonomy, optional
        What is predicted; default: ``MultiClass()``. The classes of a taxonomy are learned as flat ones.
    view : View, optional
        Features; default: the view that fits the look of X (`TextFeatures` for strings, also among the columns of a
        DataFrame or the entries of dicts; numbers are standardized).
    C : float or "auto"
        Weight of the likelihood of the labels; "auto" takes what is best on held-out labels.
    learn_unlabeled : "auto", "always" or "never"
        Whether to learn from unlabeled examples; "auto" does if fewer held-out labels are wrong then, by more than a
        standard error.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : Weights
    C_ : float
    report_ : list of str
        Three sentences: what was used, what the unlabeled examples brought, and what to try next.
    auto_report_ : list of dict
        What was compared, the errors on each fold, and why it was chosen.
    transduction_ : list
        Classes predicted for the unlabeled training examples.

    Examples
    --------
    >>> from accord import Classifier
    >>> texts = ["good wine", "bad service", "good food", "bad wine list", "good good", "so bad"]
    >>> model = Classifier(random_state=0).fit(texts, ["yes", "no", "yes", "no", None, None])
    >>> model.predict(["a good list", "bad food"]).tolist()
    ['yes', 'no']
    """

    structure: Structure | None = None  # type: ignore[assignment]
    view: View | None = None
    C: Any = "auto"
    learn_unlabeled: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {"C": either(POSITIVE, "auto"), "learn_unlabeled": one_of("auto", "always", "never")}
    stored: ClassVar = {"C_": POSITIVE, "report_": REPORT}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Train on labeled and unlabeled examples (``y[i] is None``).

        ``sample_weight[i]`` is what example i counts for, labeled or not: in learning, and labeled ones where held-out
        labels decide.
        """
        self._check_params()
        labeled, y, unlabeled = self._prepare(X, y, sample_weight)
        self._foresee(self._tables(labeled, 18, 0), "a StructuredPerceptron")
        hidden = unlabeled.take(np.flatnonzero(unlabeled.row_weights() > 0.0))
        labels, each = np.eye(self.structure_.n_labels_)[y], (labeled.row_weights(), hidden.row_weights())
        examples = Examples(_matrix(labeled), labels, _matrix(hidden), *each)
        rng = generator(self.random_state)
        folds = labeled_folds(labeled.n_inputs, self.structure_.strata(y), rng)
        folds = folds if labeled.n_inputs >= 2 * len(folds) else []
        held: dict[str, np.ndarray] = {}  # scores of labeled examples that were held out
        with self._progress(len(CS) + 2, "classifier") as progress:
            self.C_, held[SUPERVISED] = self._choose_C(examples, folds, progress.advance)
            gain = np.zeros(labeled.n_inputs)
            if hidden.n_inputs and folds and self.learn_unlabeled == "auto":
                some = np.sort(rng.permutation(hidden.n_inputs)[:MAX_UNLABELED])
                held[SEMI_SUPERVISED] = _held_out(examples, folds, some, self._learn_all)
                redraw = partial(labeled_folds, labeled.n_inputs, self.structure_.strata(y), rng)
                gain = self._gain(held, examples, some, redraw)
            progress.advance()
            chosen = self._chosen(gain, examples)
            learn = self._learn_all if chosen == SEMI_SUPERVISED else self._learn_labels
            weights = learn(examples)
            progress.advance()
        if chosen in held and folds:
            weights *= soft_classes.sharpness(held[chosen], examples.labels, examples.weights)
        self._keep(weights)
        self.auto_report_ = [_compared(name, held, examples, folds, name == chosen) for name in held if folds]
        self.report_ = _report(self.C_, chosen, held if folds else {}, examples, len(folds))
        found = self._label_scores(unlabeled).argmax(axis=1) if unlabeled.n_inputs else np.empty(0, np.int64)
        self.transduction_ = self.structure_.outputs(found, unlabeled.offsets)
        return self

    def _new_structure(self) -> Structure:
        return inputs.new_structure(MultiClass() if self.structure is None else self.structure, self)

    def _new_view(self, structure: Structure, X: Any) -> View:
        view = super()._new_view(structure, X)
        if self.view is None and isinstance(view, (ArrayFeatures, DictFeatures)) and not sp.issparse(X):
            view.standardize = True
        return view

    def __sklearn_tags__(self) -> Any:
        """Those of a classifier, also if the structure is left open."""
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        tags.input_tags.two_d_array = tags.target_tags.one_d_labels = True
        return tags

    # -- what is compared -------------------------------------------------------------------------------------------
    def _choose_C(
        self, examples: Examples, folds: list[np.ndarray], advance: Callable[[], None]
    ) -> tuple[float, np.ndarray]:
        """The C that errs least on held-out labels, the smallest of equals; and the scores of these."""
        if not folds:
            return (FIRST_C if self.C == "auto" else float(self.C)), np.empty(0)
        best = (np.inf, 0.0, np.empty(0))
        for C in CS if self.C == "auto" else (float(self.C),):
            found = _held_out(examples, folds, np.empty(0, np.int64), partial(_regression, C=C))
            best = min(best, (examples.rate(_wrong(found, examples)), C, found), key=lambda entry: entry[:2])
            advance()
        return best[1], best[2]

    def _gain(
        self, held: dict[str, np.ndarray], examples: Examples, some: np.ndarray, redraw: Callable[[], list[np.ndarray]]
    ) -> np.ndarray:
        """How many errors less unlabeled examples make on each labeled one, on average over rounds of folds.

        With few labels it depends on the folds which examples are wrong, so other folds are asked while in doubt.
        """
        before, after = (_wrong(held[name], examples).astype(float) for name in (SUPERVISED, SEMI_SUPERVISED))
        gains = [before - after]
        while len(gains) < MAX_ROUNDS:
            gain, error = _total(np.mean(gains, axis=0), examples)
            if abs(gain) > DOUBT * error:
                break
            folds = redraw()
            before = _wrong(_held_out(examples, folds, some[:0], self._learn_labels), examples).astype(float)
            gains.append(before - _wrong(_held_out(examples, folds, some, self._learn_all), examples))
        return np.mean(gains, axis=0)

    def _chosen(self, gains: np.ndarray, examples: Examples) -> str:
        if examples.hidden.shape[0] and self.learn_unlabeled == "always":
            return SEMI_SUPERVISED
        gain, error = _total(gains, examples)
        return SEMI_SUPERVISED if gain > error else SUPERVISED

    # -- how it is learned ------------------------------------------------------------------------------------------
    def _learn_labels(self, examples: Examples) -> np.ndarray:
        return _regression(examples, self.C_)

    def _learn_all(self, examples: Examples) -> np.ndarray:
        """Weights (n_dims, n_labels) of naive Bayes and the student, each with scores of deviation 1."""
        X, labels, hidden, weights, hidden_weights = examples
        counts = weights @ labels + 1.0  # a class may be missing in a fold
        frequencies = counts / counts.sum()
        guesses, _ = soft_classes.held_to(hidden @ self._learn_labels(examples), frequencies, hidden_weights)
        parts = []
        if min(X.data.min(initial=0.0), hidden.data.min(initial=0.0)) >= 0.0:
            bayes, constants, guesses = soft_classes.naive_bayes(
                X, labels, hidden, guesses, frequencies, weights, hidden_weights
            )
            parts.append(self._with_constants(bayes, constants, X))
        importance = np.append(COPIES * weights, hidden_weights)
        both = sp.csr_array(sp.vstack([X, hidden]))
        parts.append(soft_classes.regression(both, np.vstack([labels, guesses]), STUDENT_C, importance))
        return np.sum([part / _deviation(hidden @ part, hidden_weights) for part in parts], axis=0)

    def _with_constants(self, weights: np.ndarray, constants: np.ndarray, X: sp.csr_array) -> np.ndarray:
        """Weights that add constants to the scores of classes, if a feature is the same in all rows."""
        constant = self.view_.constant_features()
        weights[constant] = 0.0
        value = float(X[[0], constant[:1]][0]) if constant.size else 0.0
        if value > 0.0:
            weights[constant[0]] = constants / value
        return weights

    def _keep(self, weights: np.ndarray) -> None:
        """Weights of labels as those of the structure's nodes, of which a label may have several."""
        nodes = self.structure_.label_scores(np.eye(self.structure_.n_nodes_))
        self.weights_ = Weights(weights @ np.linalg.pinv(nodes), np.zeros(self.structure_.n_transitions_))


def _matrix(rows: Rows) -> sp.csr_array:
    return sp.csr_array(rows.matrix())


def _regression(examples: Examples, C: float) -> np.ndarray:
    return soft_classes.regression(examples.X, examples.labels, C, examples.weights)


def _held_out(
    examples: Examples, folds: list[np.ndarray], hidden: np.ndarray, learn: Callable[[Examples], np.ndarray]
) -> np.ndarray:
    """Scores (n_labeled, n_labels) of every labeled example by what was learned without its fold."""
    found = np.zeros(examples.labels.shape)
    for held_out in folds:
        found[held_out] = examples.X[held_out] @ learn(examples.without(held_out, hidden))
    return found


def _total(gains: np.ndarray, examples: Examples) -> tuple[float, float]:
    """The sum over labeled examples, and its standard error if there were no gain."""
    weighted = examples.weights * gains
    return float(weighted.sum()), float(np.sqrt(np.sum(weighted**2)))


def _wrong(scores: np.ndarray, examples: Examples) -> np.ndarray:
    return scores.argmax(axis=1) != examples.labels.argmax(axis=1)


def _deviation(scores: np.ndarray, weights: np.ndarray) -> float:
    """Standard deviation of the scores of a row from their mean."""
    return max(float(np.sqrt(np.average(scores.var(axis=1), weights=weights))), 1e-12)


# -- what is said of it -----------------------------------------------------------------------------------------------
def _compared(
    name: str, held: dict[str, np.ndarray], examples: Examples, folds: list[np.ndarray], chosen: bool
) -> dict[str, Any]:
    wrong = _wrong(held[name], examples)
    why = "" if not chosen else "fewer errors, by more than chance" if name == SEMI_SUPERVISED else "nothing was better"
    return {
        "candidate": name,
        "unlabeled_weight": float(name == SEMI_SUPERVISED),
        "fold_errors": [examples.rate(wrong, fold) for fold in folds],
        "chosen": chosen,
        "why": why,
    }


def _report(C: float, chosen: str, held: dict[str, np.ndarray], examples: Examples, n_folds: int) -> list[str]:
    """Three sentences."""
    n, n_unlabeled = examples.X.shape[0], examples.hidden.shape[0]
    used = f"{n:,} labeled and {n_unlabeled:,} unlabeled examples; used: logistic regression (C = {C:g})"
    if chosen == SEMI_SUPERVISED:
        used += ", its guesses for unlabeled ones, refined, and a student of all"
    rates = {name: 100 * examples.rate(_wrong(scores, examples)) for name, scores in held.items()}
    shown = ", ".join(f"{rate:.1f} % by {name}" for name, rate in rates.items())
    brought = f"held-out labels wrong, of {n:,} in {n_folds} folds: {shown}" if shown else (
        f"{n} labels are too few to hold some out and compare"
    )  # fmt: skip
    if not n_unlabeled:
        following = "next: unlabeled examples often help; leave their labels empty (None)"
    elif chosen == SEMI_SUPERVISED:
        following = "next: labels for the examples it is least sure of (predict_marginals) help most"
    else:
        following = "next: a few more labels, other features (a view of pairs of words, a kernel), or CoPerceptron"
    return [used, brought, following]
