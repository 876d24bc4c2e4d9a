"""Regularised least squares with kernels (RLSR), and what regressors share (spec 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from accord import settings
from accord.exceptions import InputError
from accord.forms import FLAG, REPORT, TEXT, any_of, array, fitted, items, optional, sparse
from accord.learners import inputs
from accord.learners.base import TOLD
from accord.learners.estimator import Estimator, check_columns
from accord.learners.inputs import take
from accord.learners.targets import read_targets
from accord.learners.unlabeled import BLOCK, UnlabeledBlocks
from accord.solvers.least_squares import Ridge, Solution
from accord.views.kernel import KernelFeatures, check_symmetric
from accord.views.kernel_views import Kernel, KernelView, Matrix, check_kernel, joined, kernel_views

GAMMAS = 4.0 ** np.arange(-3, 3)  # times the default, tried by leave-one-out
ETAS = 10.0 ** np.arange(-6, 2.5, 0.5)  # times the mean kernel value k(x, x)


class TunedView(NamedTuple):
    """A view with its kernel and ``eta`` chosen; labeled rows (or their numbers), kernel values, targets."""

    view: KernelView
    eta: float
    base: Matrix
    gram: np.ndarray
    targets: np.ndarray  # (n_labeled, n_outputs)
    solution: Solution  # of this view alone
    weights: np.ndarray | None = None  # (n_labeled,) how much the labeled examples count


class KernelRegressor(RegressorMixin, Estimator):
    """What regressors share: predictions are the mean over views of sums of kernel values."""

    kernel: Any
    degree: float
    gamma: float | str | None
    coef0: float
    eta: Any
    standardize: bool | str
    views_: list[KernelView]
    bases_: list[Matrix]
    coefficients_: list[np.ndarray]
    expects: ClassVar = {"standardize": settings.either(settings.FLAG, "columns")}
    stored: ClassVar[dict[str, Any]] = {
        "single_output_": FLAG,
        "y_mean_": array("f8", "n_outputs"),
        "y_scale_": array("f8", "n_outputs"),
        "views_": items(fitted("KernelView"), "n_views"),
        "bases_": items(any_of(array("f8", "*", "*"), sparse("*", "*"), array("i8", "*", least=0)), "n_views"),
        "coefficients_": items(array("f8", "*", "n_outputs"), "n_views"),
        "view_names_": optional(items(TEXT)),
        "labeled_": optional(array("i8", "*")),
        "targets_": optional(array("f8", "*", "n_outputs")),
        **dict.fromkeys(("gammas_", "etas_", "gamma_", "eta_", "weight_"), optional(REPORT)),
        **TOLD,
    }
    agrees: ClassVar = {
        "coefficients_ has a row for each of bases_": lambda self: (
            [alpha.shape[0] for alpha in self.coefficients_] == [base.shape[0] for base in self.bases_]
        ),
        "bases_ are rows of views_, or numbers of rows": lambda self: all(
            base.ndim == 1 if view.kernel.kernel == "precomputed" else base.ndim == 2 and base.shape[1] == view.width
            for base, view in zip(self.bases_, self.views_)
        ),
    }

    def predict(self, X: Any) -> np.ndarray:
        """Predictions (n_inputs,), or (n_inputs, n_outputs) if ``fit`` had several outputs."""
        return self._shaped(np.mean(self._all_views(X), axis=0))

    def predict_views(self, X: Any) -> dict[str, np.ndarray]:
        """The predictions of every view, by its name; ``predict`` gives their mean."""
        return {view.name: self._shaped(own) for view, own in zip(self.views_, self._all_views(X))}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions for labeled examples (1: perfect, 0: as good as the mean)."""
        targets, _ = read_targets(y, inputs.count(X), ["y"])
        known = np.flatnonzero(~np.isnan(targets[0][:, 0]))
        if not known.size:
            raise InputError("y has no targets to score against")
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(targets[0][known], self.predict(take(X, known)), sample_weight=weights))

    def disagreement(self, X: Any) -> float:
        """How much the views differ: root mean squared distance of their predictions from the mean of the views."""
        found = np.stack(self._all_views(X))
        return float(np.sqrt(np.mean((found - found.mean(axis=0)) ** 2)))

    def save(self, path: str | Path) -> None:
        """Write the fitted model; ``accord.load`` reads it."""
        from accord.model_file import save

        check_is_fitted(self, "coefficients_")
        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.pairwise = self.kernel == "precomputed" and getattr(self, "view", self) is None
        return tags

    # -- training -----------------------------------------------------------------------------------------------
    def _default_kernel(self) -> Kernel:
        kernel = Kernel(self.kernel, self.degree, self.coef0, self.gamma)
        check_kernel(kernel)
        return kernel

    def _set_targets(
        self, y: Any, n_inputs: int, names: Sequence[str], weights: np.ndarray | None
    ) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """Labeled inputs of each view that count, their targets, centred and scaled if that is wanted, and the numbers
        of the inputs without a label in any view."""
        columns, self.single_output_ = read_targets(y, n_inputs, names)
        labeled = [np.flatnonzero(~np.isnan(own[:, 0])) for own in columns]
        unlabeled = np.setdiff1d(np.arange(n_inputs), np.concatenate(labeled))
        if weights is not None:
            labeled = [rows[weights[rows] > 0.0] for rows in labeled]
        for name, rows in zip(names, labeled):
            if not rows.size:
                where = f" in view {name!r}" if isinstance(y, Mapping) else ""
                what = "unlabeled" if weights is None else "unlabeled, or have a sample_weight of 0"
                raise InputError(f"all {n_inputs} examples are {what}{where}: fit needs at least one labeled example")
        given = [own[rows] for own, rows in zip(columns, labeled)]
        everything = np.vstack(given)
        self.y_mean_, self.y_scale_ = np.zeros(everything.shape[1]), np.ones(everything.shape[1])
        if self.standardize and self.standardize != "columns":
            self.y_mean_, scale = everything.mean(axis=0), everything.std(axis=0)
            if weights is not None:
                each = weights[np.concatenate(labeled)]
                self.y_mean_ = np.average(everything, axis=0, weights=each)
                scale = np.sqrt(np.average((everything - self.y_mean_) ** 2, axis=0, weights=each))
            self.y_scale_ = np.where(scale > 1e-12 * np.abs(everything).max(axis=0), scale, 1.0)
        return labeled, [(own - self.y_mean_) / self.y_scale_ for own in given], unlabeled

    def _tune(
        self, view: KernelView, rows: Matrix, targets: np.ndarray, eta: Any, labeled: np.ndarray,
        weights: np.ndarray | None,
    ) -> TunedView:  # fmt: skip
        """Choose gamma and eta of one view by leave-one-out, where they are to be chosen."""
        weights = None if weights is None else weights[labeled]
        base = labeled if view.kernel.kernel == "precomputed" else rows
        rule, gamma = view.default_gamma(base), view.kernel.gamma
        few = len(targets) < 2
        if gamma == "auto" and view.kernel.kernel in ("rbf", "poly") and not few:
            gammas = rule * GAMMAS
        else:
            gammas = np.array([rule if gamma is None or gamma == "auto" else gamma], dtype=float)
        found: list[TunedView] = []
        lowest = np.inf
        for tried_gamma in gammas:
            scaled = view.scaled(float(tried_gamma))
            gram = scaled.values(rows, base)
            check_symmetric(gram, f"the kernel matrix of view {view.name!r}")
            gram = (gram + gram.T) / 2  # what is left are rounding errors
            ridge = Ridge(gram, targets, f"view {view.name!r}", weights)
            by_rule = eta is None or (eta == "auto" and few)
            etas = [scaled.default_eta(base, gram)] if by_rule else _etas(gram) if eta == "auto" else [float(eta)]
            for tried_eta in etas:
                solution = ridge.solve(float(tried_eta))
                error = mean_square(solution.left_out[0] - targets, weights)
                if error < lowest or not found:
                    lowest, found = error, [TunedView(scaled, float(tried_eta), base, gram, targets, solution, weights)]
        return found[0]

    def _keep(self, chosen: Sequence[TunedView], coefficients: Sequence[np.ndarray], bases: Sequence[Matrix]) -> None:
        """Keep what predictions need."""
        self.views_ = [one.view for one in chosen]
        self.bases_, self.coefficients_ = list(bases), list(coefficients)
        self.gammas_ = [float(one.view.kernel.gamma or 1.0) for one in chosen]
        self.etas_ = [one.eta for one in chosen]

    # -- prediction ---------------------------------------------------------------------------------------------
    def _all_views(self, X: Any) -> list[np.ndarray]:
        """Predictions (n_inputs, n_outputs) of each view."""
        check_is_fitted(self, "coefficients_")
        X = inputs.as_inputs(X)
        out: list[list[np.ndarray]] = [[] for _ in self.views_]
        for _, chunk in inputs.chunks(X, BLOCK):
            for own, view, base, alpha in zip(out, self.views_, self.bases_, self.coefficients_):
                own.append(view.values(view.matrix(chunk), base) @ alpha)
        empty = np.empty((0, self.y_mean_.size))
        return [np.vstack([empty, *own]) * self.y_scale_ + self.y_mean_ for own in out]

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self.single_output_ else values


@dataclass(eq=False, repr=False)
class RLSR(KernelRegressor):
    """Regularised least squares regression with a kernel, also known as kernel ridge regression.

    Minimises ``sum_i (y_i - f(x_i))^2 + eta |f|^2`` over the labeled examples; unlabeled ones only say how columns
    are scaled. With ``sample_weight`` in ``fit``, each term of the sum is multiplied by the weight of its example, and
    so are the errors of leaving it out; how columns are scaled is a matter of inputs, each of which counts once.

    Parameters
    ----------
    view : View, optional
        What is compared; by default all columns of ``X``. A ``KernelFeatures`` brings its own kernel.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        As for :class:`~accord.KernelFeatures`.
    gamma : float, "auto" or None
        "auto": by leave-one-out. None: 1 / (mean squared distance of the labeled rows), the papers' rule.
    degree, coef0 : numbers
        Of the polynomial kernel.
    eta : float, "auto" or None
        Weight of the norm. "auto": by leave-one-out. None: 1 / (mean length of the labeled rows), the papers' rule.
    standardize : bool or "columns"
        Whether columns and targets, or columns only, are centred and divided by their standard deviations.

    Attributes
    ----------
    coefficients_ : list with one array (n_labeled, n_outputs)
    gamma_, eta_ : float
        What was used.
    loo_rmse_ : float
        Root mean squared error of predictions without the example's label, in the scale of ``y``.
    labeled_, targets_ : ndarray
        Numbers of the labeled examples, and their targets as they were fitted (n_labeled, n_outputs).

    Examples
    --------
    >>> from accord import RLSR
    >>> X = [[0.0], [1.0], [2.0], [3.0], [9.0]]
    >>> model = RLSR(kernel="linear").fit(X, [1.0, 3.0, 5.0, 7.0, None])
    >>> float(round(model.predict([[4.0]])[0], 3))
    9.0
    """

    view: Any = None
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: float | str | None = "auto"
    degree: float = 2
    coef0: float = 1.0
    eta: float | str | None = "auto"
    standardize: bool | str = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RLSR:
        """Train on the examples whose ``y`` is not ``None`` or nan; ``sample_weight[i]`` says how much one counts."""
        settings.check(self)
        X = inputs.as_inputs(X)
        check_columns(X)
        n_inputs = inputs.count(X)
        weights = settings.example_weights(sample_weight, n_inputs)
        labeled, targets, _ = self._set_targets(y, n_inputs, ["X"], weights)
        kernel = self._default_kernel()
        own = KernelFeatures(**kernel._asdict()) if self.view is None else self.view
        view = joined(kernel_views(own, kernel, bool(self.standardize), UnlabeledBlocks(X).sample()))
        if view is None:
            raise InputError("view has several views with kernels of their own; RLSR takes one, CoRLSR takes several")
        check_precomputed([view], X, n_inputs)
        tuned = self._tune(view, view.matrix(take(X, labeled[0])), targets[0], self.eta, labeled[0], weights)
        self._note_columns(X)
        self._keep([tuned], tuned.solution.coefficients, [tuned.base])
        self.gamma_, self.eta_ = self.gammas_[0], self.etas_[0]
        self.labeled_, self.targets_ = labeled[0], targets[0]
        residuals = (tuned.solution.left_out[0] - tuned.targets) * self.y_scale_
        self.loo_rmse_ = float(np.sqrt(mean_square(residuals, tuned.weights)))
        return self


def check_precomputed(views: Sequence[KernelView], X: Any, n_inputs: int) -> None:
    """With a precomputed kernel an input holds its values with all inputs of ``fit``."""
    for view in views:
        if view.kernel.kernel == "precomputed":
            width = view.matrix(take(X, np.arange(1))).shape[1]
            if width != n_inputs:
                raise InputError(
                    f"view {view.name!r} has {width} kernel values for each of {n_inputs} inputs; with "
                    f"kernel='precomputed' fit needs the values between all of them, {n_inputs} for each"
                )


def mean_square(errors: np.ndarray, weights: np.ndarray | None) -> float:
    """Mean of squared errors (n, n_outputs) of examples that count so much."""
    return float(np.mean(errors**2) if weights is None else np.average(np.mean(errors**2, axis=1), weights=weights))


def _etas(gram: np.ndarray) -> np.ndarray:
    size = float(np.mean(np.diagonal(gram)))
    return ETAS * (size if size > 0 else 1.0)
