"""Hidden Markov models: maximum likelihood from labeled sequences, Baum-Welch when labels are hidden.

Emissions of a label are independent Bernoulli variables, one per feature (multi-Bernoulli, thesis 5.4), or independent
Gaussians for real-valued features. On classes this is naive Bayes. Both are linear in the features (or in them and
their squares), so decoding is the decoder of every other learner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from accord.exceptions import InputError
from accord.forms import array, optional
from accord.kernels.chains import forward_backward as fb
from accord.kernels.chains import viterbi as vit
from accord.learners.base import ProbabilisticLearner
from accord.learners.feature_values import check_bernoulli, moments, squared
from accord.learners.inputs import unlabeled_inputs
from accord.learners.safety import choose_weight
from accord.packed.rows import Rows, ragged_rows
from accord.packed.structure import Structure
from accord.packed.tables import sums_by_input
from accord.packed.weights import Weights
from accord.settings import one_of
from accord.views.base import View


@dataclass(eq=False, repr=False)
class HMM(ProbabilisticLearner):
    """Generative model of labels and features.

    Parameters
    ----------
    structure : Structure
        What is predicted; classes give naive Bayes. A taxonomy's classes are treated as flat.
    view : View, optional
        Features; default: the view that fits the look of X.
    emission : "bernoulli" or "gaussian"
        Bernoulli takes features between 0 and 1.
    smoothing : float
        Pseudo-count added to every event; for Gaussians, so many rows distributed like all rows together are added to
        every label.
    unlabeled_weight : float or "auto"
        How much an unlabeled example counts in Baum-Welch. "auto" takes the value (0 among them) that is best on
        held-out labeled folds.
    max_iter, tol : int, float
        Baum-Welch stops after ``max_iter`` steps, or when the log likelihood grows by less than the fraction ``tol``.
    decode : "auto", "viterbi" or "marginal"
        What is predicted: the most probable output, or the one whose parts are most probable, within the constraints.
        "auto" goes by the loss of the structure.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_, bias_ : Weights, ndarray
        Log odds of features and constants of labels.
    auto_report_ : list of dict or None
        What "auto" compared, and why it chose what it chose.
    unlabeled_weight_ : float
    log_likelihood_ : list of float
        Weighted log likelihood plus the log of the prior that the pseudo-counts stand for, before each step of
        Baum-Welch, which never lowers it.
    n_iter_ : int
        Steps of Baum-Welch, or 1: labels were counted.
    transduction_ : list
        Outputs predicted for the unlabeled training examples.

    Examples
    --------
    >>> from accord import HMM, Sequence
    >>> X, Y = [["a", "b"], ["a", "c"], ["a", "b"]], [["x", "y"], ["x", "y"], None]
    >>> HMM(Sequence()).fit(X, Y).transduction_
    [['x', 'y']]
    """

    structure: Structure
    view: View | None = None
    emission: str = "bernoulli"
    smoothing: float = 0.1
    unlabeled_weight: Any = "auto"
    max_iter: int = 20
    tol: float = 1e-4
    decode: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {"emission": one_of("bernoulli", "gaussian")}
    stored: ClassVar = {
        "bias_": array("f8", "structure.n_labels"),
        "square_weights_": optional(array("f8", "view.n_dims", "structure.n_labels")),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HMM:
        """Count on labeled examples; with unlabeled ones (``y[i] is None``) go on by Baum-Welch.

        So it does with sequences in which some labels are hidden (``y[i][t] is None``); they count in full. What is
        counted in an example, or expected, counts ``sample_weight[i]`` times.
        """
        self._check_params()
        weight = self.unlabeled_weight
        if getattr(self.structure, "order", 1) == 2:
            raise InputError("structure has order=2, which HMM cannot model; use order=1, or CRF or StructuredSVM")
        if getattr(self.structure, "transition_weight", 1.0) == 0:
            raise InputError("structure has transition_weight=0, but an HMM needs transitions; use another value")
        if getattr(self.structure, "observed_transitions", False):
            raise InputError(
                "structure has observed_transitions, which HMM cannot model; use it without, or CRF or StructuredSVM"
            )
        labeled, known, unlabeled = self._prepare(X, y, sample_weight)
        self.structure_.without_ancestors()  # which generative models do not know
        if self.emission == "bernoulli":
            check_bernoulli(labeled)
            check_bernoulli(unlabeled)
        self.auto_report_: list[dict[str, Any]] | None = None
        if unlabeled.n_inputs == 0:
            weight = 0.0
        elif weight == "auto":
            names = "supervised", "Baum-Welch"
            weight = choose_weight(self, labeled, known, unlabeled, names, self._train, self._outputs)
        self.unlabeled_weight_ = float(weight)
        self._train(labeled, known, unlabeled, self.unlabeled_weight_)
        self.n_iter_ = max(1, len(self.log_likelihood_))
        self.transduction_: list[Any] = []
        if unlabeled.n_inputs:
            self.transduction_ = self.structure_.outputs(
                self._outputs(unlabeled, None, unlabeled_inputs(X, y)), unlabeled.offsets
            )
        return self

    def _train(self, labeled: Rows, y: np.ndarray, unlabeled: Rows, weight: float) -> None:
        """Count labels; Baum-Welch for the hidden ones of labeled examples, and for unlabeled ones that weigh."""
        n_rows, n_labels = max(labeled.n_rows, unlabeled.n_rows), self.structure_.n_labels_
        tables = self._tables(labeled, 12 if self.emission == "gaussian" else 6, 6)
        self._foresee({**tables, f"4 scores of {n_rows:,} rows x {n_labels:,} labels": 32.0 * n_rows * n_labels})
        prior = None
        if self.emission == "gaussian":
            prior = moments([labeled] if weight == 0.0 else [labeled, unlabeled])
        known = self._counts(labeled, y)
        log_prior = self._maximise(known, prior)
        self.log_likelihood_ = []
        hidden: list[tuple[float, Rows, np.ndarray | None]] = [(weight, unlabeled, None)] if weight > 0.0 else []
        if np.any(y < 0):
            (labeled, y), partial = split_hidden(labeled, y)
            hidden.append((1.0, *partial))
            known = self._counts(labeled, y)
        if not hidden:
            self._ignore_unseen(known)
            return
        with self._progress(self.max_iter, "Baum-Welch") as progress:
            for _ in range(self.max_iter):
                guesses = [self._expect(rows, given) for _, rows, given in hidden]
                total = sum(w * g[0] for (w, _, _), g in zip(hidden, guesses))
                value = total + self._complete_log_likelihood(labeled, y) + log_prior
                self.log_likelihood_.append(value)
                progress.advance(info=f"log likelihood {value:.6g}")
                last = self.log_likelihood_[-2:]
                if len(last) == 2 and last[1] - last[0] <= self.tol * abs(last[0]):
                    break
                counts = known
                for (w, _, _), (_, expected) in zip(hidden, guesses):
                    counts = tuple(k + w * e for k, e in zip(counts, expected))
                log_prior = self._maximise(counts, prior)

    def _counts(self, rows: Rows, y: np.ndarray) -> tuple:
        """How often features, labels and transitions occur, as far as the labels are known."""
        hard = np.zeros((y.size, self.structure_.n_labels_))
        given = np.flatnonzero(y >= 0)
        hard[given, y[given]] = rows.row_weights()[given]
        transitions = [np.zeros_like(a) for a in self.structure_.allowed()]
        fb.path_counts(rows.offsets, y, rows.kernel_weights, *transitions)
        return (self._feature_counts(rows, hard), hard.sum(axis=0), *transitions)

    def _feature_counts(self, rows: Rows, weight: np.ndarray) -> np.ndarray:
        counts = rows.transpose_scores(weight)
        if self.emission == "bernoulli":
            return counts
        return np.concatenate([counts, squared(rows).transpose_scores(weight)])

    def _maximise(self, counts: tuple, prior: Any) -> float:
        """Maximum likelihood with pseudo-counts, as linear weights; returns the log of the prior they stand for."""
        features, label, init, step, final = counts
        a, s = float(self.smoothing), self.structure_
        unary, log_prior = (
            self._bernoulli(features, label)
            if self.emission == "bernoulli"
            else self._gaussian(features, label, *prior)
        )
        if s.has_transitions:
            log_odds = self._transitions(init, step[:, 0], final)
            self.weights_ = Weights(unary, log_odds / s.eta_)
            log_prior += a * float(log_odds.sum())
        else:
            label_prior = np.log(label + a) - np.log(label.sum() + a * label.size)
            self.bias_: np.ndarray = self.bias_ + label_prior
            self.weights_ = Weights(unary, np.empty(0))
            log_prior += a * float(label_prior.sum())
        self._forget_products()
        return log_prior

    def _transitions(self, init: np.ndarray, pair: np.ndarray, final: np.ndarray) -> np.ndarray:
        """Log probabilities of starting, ending (where the structure has them) and moving, from counts."""
        a, n = float(self.smoothing), init.size
        if not self.structure_.ends_:
            return np.ravel(np.log(pair + a) - np.log(pair.sum(axis=1, keepdims=True) + a * n))
        start = np.log(init + a) - np.log(init.sum() + a * n)
        total = np.log(pair.sum(axis=1) + final + a * (n + 1))
        end, move = np.log(final + a) - total, np.log(pair + a) - total[:, None]
        return np.concatenate([start, end, move.ravel()])

    def _bernoulli(self, features: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, float]:
        a = float(self.smoothing)
        on = np.log(features + a) - np.log(label + 2 * a)
        off = np.log(np.maximum(label - features, 0.0) + a) - np.log(label + 2 * a)
        self.bias_ = off.sum(axis=0)
        self.square_weights_: np.ndarray | None = None
        return on - off, a * float(on.sum() + off.sum())

    def _ignore_unseen(self, counts: tuple) -> None:
        """Leave out features that no labeled example has: the model is then that of the labeled examples alone.

        Pseudo-counts would make such a feature, known from unlabeled examples, speak for labels with few examples.
        """
        if self.emission == "bernoulli":
            features, label = counts[:2]
            unseen = ~np.any(features > 0, axis=1)
            self.weights_.unary[unseen] = 0.0
            self.bias_ -= unseen.sum() * (np.log(label + self.smoothing) - np.log(label + 2 * self.smoothing))

    def _gaussian(
        self, features: np.ndarray, label: np.ndarray, center: np.ndarray, spread: np.ndarray
    ) -> tuple[np.ndarray, float]:
        a, n_dims = float(self.smoothing), center.size
        sums, squares = features[:n_dims], features[n_dims:]
        mean = (sums + a * center[:, None]) / (label + a)
        square = (squares + a * (spread + center**2)[:, None]) / (label + a)
        # A feature that is the same everywhere tells nothing; rounding must not make it tell labels apart.
        constant = (spread <= 1e-14 * center**2)[:, None]
        variance = np.where(constant, 0.5 / np.pi, np.maximum(square - mean**2, 1e-9 * spread[:, None]))
        mean = np.where(constant, center[:, None], mean)
        unary, self.square_weights_ = mean / variance, -0.5 / variance
        self.bias_ = -0.5 * np.sum(mean**2 / variance + np.log(2 * np.pi * variance), axis=0)
        distance = (spread[:, None] + (center[:, None] - mean) ** 2) / variance
        return unary, -0.5 * a * float(np.sum(distance + np.log(2 * np.pi * variance)))

    def _expect(self, rows: Rows, given: np.ndarray | None) -> tuple[float, tuple]:
        """Log likelihood and expected counts of rows, some of whose labels may be given (-1: hidden)."""
        s = self.structure_
        unary = self._label_scores(rows)
        if given is not None:
            vit.force_labels(unary, given, s.n_labels_)
        chain = s.chain(self.weights_.transitions)
        marginals, log_z = np.zeros_like(unary), np.zeros(rows.n_inputs)
        transitions = [np.zeros_like(a) for a in chain]
        fb.forward_backward_batch(rows.offsets, unary, chain, rows.kernel_weights, marginals, log_z, transitions)
        usable = log_z > -np.inf
        if not np.all(usable):
            marginals[np.repeat(~usable, np.diff(rows.offsets))] = 0.0
        if rows.input_weights is not None:
            marginals *= rows.row_weights()[:, None]
            log_z *= np.where(usable, rows.input_weights, 1.0)
        return float(log_z[usable].sum()), (self._feature_counts(rows, marginals), marginals.sum(axis=0), *transitions)

    def _complete_log_likelihood(self, rows: Rows, y: np.ndarray) -> float:
        scores = np.zeros(rows.n_inputs)
        chain = self.structure_.chain(self.weights_.transitions, constrained=False)
        fb.path_scores(rows.offsets, y, self._label_scores(rows), *chain, scores)
        return float(scores.sum() if rows.input_weights is None else rows.input_weights @ scores)

    def _label_scores(self, rows: Rows) -> np.ndarray:
        scores = rows.scores(self.weights_.unary, self._keep_products()) + self.bias_
        squares = getattr(self, "square_weights_", None)
        if squares is not None:
            scores += squared(rows).scores(squares)
        return scores


def split_hidden(rows: Rows, y: np.ndarray) -> tuple[tuple[Rows, np.ndarray], tuple[Rows, np.ndarray]]:
    """Examples with all labels and those with hidden ones (-1), each as (rows, labels)."""
    hidden = sums_by_input(y < 0, rows.offsets) > 0
    parts = [np.flatnonzero(~hidden), np.flatnonzero(hidden)]
    complete, partial = ((rows.take(i), y[ragged_rows(rows.offsets, i)]) for i in parts)
    return complete, partial
