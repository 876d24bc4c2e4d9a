"""A site: private labeled examples in its own view, and predictions for the unlabeled examples that all agreed on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from accord.exceptions import InputError
from accord.federated.bounds import BOUND, size
from accord.learners import inputs
from accord.learners.inputs import take
from accord.learners.regression import RLSR
from accord.settings import NOT_NEGATIVE, POSITIVE
from accord.solvers.agreement import AnsweringView, ExactView, SemiParametricView
from accord.solvers.least_squares import feature_map
from accord.views.inputs import describe
from accord.views.kernel_views import stack_matrices


class Site:
    """One party of a federated co-regression. Nothing but what ``predict`` returns has to leave it.

    Sites predict the same quantity, in the same unit, from features of their own. They agree on unlabeled examples, of
    which every site has its own features, in the same order.

    Parameters
    ----------
    X : inputs
        The site's labeled examples.
    y : numbers, or rows of numbers
    unlabeled : inputs
        The agreed examples, as this site sees them.
    regressor : RLSR, optional
        Kernel, ``eta`` and scaling; what is "auto" is chosen on the site's own labels. Targets are not standardised:
        all sites have one scale. By default ``RLSR(standardize="columns")``.
    mode : {"semiparametric", "exact"}
        As for :class:`~accord.CoRLSR`.
    bound : float
        Predictions of others that are so many times as large (root mean square) as the largest label here are refused:
        somebody lies, or means another quantity. The model is then that of this site alone.

    Attributes
    ----------
    model : RLSR
        The site's own part of the common model, for new inputs; it changes with every ``predict``.

    Examples
    --------
    >>> import numpy as np
    >>> from accord.federated import LocalSites, Site, agree
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> y = X.sum(axis=1)
    >>> one = Site(X[:20, :2], y[:20], unlabeled=X[40:, :2])  # private rows, and shared ones
    >>> two = Site(X[20:40, 2:], y[20:40], unlabeled=X[40:, 2:])
    >>> agree(LocalSites({"one": one, "two": two}), lambda_=0.1).converged
    True
    >>> one.model.predict(X[:1, :2]).shape
    (1,)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        unlabeled: Any,
        regressor: RLSR | None = None,
        mode: str = "semiparametric",
        bound: float = BOUND,
    ) -> None:
        if mode not in ("semiparametric", "exact"):
            raise InputError(f"mode is {mode!r}; expected 'semiparametric' or 'exact'")
        regressor = RLSR(standardize="columns") if regressor is None else regressor
        if not isinstance(regressor, RLSR):
            raise InputError(f"regressor is {describe(regressor)}; expected an RLSR")
        if regressor.standardize is True:
            raise InputError("regressor has standardize=True; use 'columns' or False, all sites have one scale of y")
        if unlabeled is None or not inputs.count(unlabeled):
            raise InputError("unlabeled has no examples; sites need some to agree on")
        POSITIVE.check("bound", bound)
        self.mode, self.bound = mode, bound
        self.model: RLSR = clone(regressor).fit(X, y)
        targets, view = self.model.targets_, self.model.views_[0]
        base, shared = self.model.bases_[0], view.matrix(unlabeled)
        labeled = view.matrix(take(X, self.model.labeled_))
        self._view: AnsweringView
        if mode == "exact":
            if view.kernel.kernel == "precomputed":
                raise InputError("mode='exact' needs kernel values among unlabeled examples; give features instead")
            everything = stack_matrices([labeled, shared])
            kernel = view.values(everything, everything)
            self._view = ExactView((kernel + kernel.T) / 2, targets, self.model.eta_)
            self.model.bases_ = [everything]
        else:
            gram = view.values(labeled, base)
            gram = (gram + gram.T) / 2
            self._view = SemiParametricView(
                gram, feature_map(gram, rank=view.rank), targets, self.model.eta_, view.values(shared, base)
            )
        self.shape = (shared.shape[0], targets.shape[1])
        self._largest_label = float(np.abs(targets).max())
        self._fit(np.empty((0, *self.shape)), 0.0)

    def predict(self, others: Any, lambda_: float) -> np.ndarray:
        """Predictions (m, n_outputs) for the agreed examples, after a fit that heeds those of the others.

        Parameters
        ----------
        others : array of shape (n_others, m, n_outputs)
            What the other sites predict.
        lambda_ : float
            Weight of the disagreement.
        """
        NOT_NEGATIVE.check("lambda_", lambda_)
        return self._fit(self.heed(others), float(lambda_))

    def heed(self, others: Any) -> np.ndarray:
        """The others' predictions as an array; an error, whose text holds no private number, if they make no sense."""
        try:
            others = np.asarray(others, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"others is a {type(others).__name__} that holds no numbers; expected an array") from None
        if others.ndim != 3 or others.shape[1:] != self.shape:
            raise InputError(
                f"others has shape {others.shape}; expected (number of other sites, {self.shape[0]}, {self.shape[1]})"
            )
        if not np.isfinite(others).all():
            raise InputError("others has values that are not finite")
        for k, other in enumerate(others):
            if self._largest_label and size(other) > self.bound * self._largest_label:
                self._fit(others[:0], 0.0)
                raise InputError(
                    f"others[{k}] has predictions more than bound={self.bound:g} times as large as any label of this "
                    "site; somebody lies, or predicts another quantity: leave that site out, or raise bound"
                )
        return others

    def _fit(self, others: np.ndarray, lambda_: float) -> np.ndarray:
        self.model.coefficients_ = [self._view.fit(others, lambda_)]
        return self._view.answer(self.model.coefficients_[0])
