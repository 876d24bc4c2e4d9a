"""Co-regularised least squares regression: several views that are to agree on unlabeled examples (spec 5.2, 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from accord import settings
from accord.exceptions import InputError
from accord.learners import inputs
from accord.learners.estimator import check_columns
from accord.learners.inputs import take
from accord.learners.regression import KernelRegressor, TunedView, check_precomputed
from accord.learners.unlabeled import UnlabeledBlocks
from accord.learners.view_choice import SINGLE, Candidate, choose
from accord.progress import Progress
from accord.settings import SHARED, Expected, generator, one_of, renamed
from accord.solvers import least_squares
from accord.threads import map_in_order
from accord.views.block_values import BlockValues
from accord.views.gram import check_memory
from accord.views.kernel import check_symmetric
from accord.views.kernel_views import KernelView, Matrix, joined, kernel_views, stack_matrices
from accord.views.splits import RandomSplit

# Weights tried by leave-one-out: what all unlabeled examples together weigh against the labeled ones.
WEIGHTS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


def _is_list(eta: Any) -> bool:
    return isinstance(eta, (list, tuple, np.ndarray))


@renamed(lambda_="disagreement_weight")
@dataclass(eq=False, repr=False)
class CoRLSR(KernelRegressor):
    """Co-regularised least squares: regression in several views, held together by their predictions for unlabeled data.

    Minimises ``sum_v sum_i (y_i - f_v(x_i))^2 + eta_v |f_v|^2 + lambda sum_{u,v} sum_j (f_u(x_j) - f_v(x_j))^2``,
    where ``i`` runs over labeled and ``j`` over unlabeled examples, and lambda is ``disagreement_weight``. The
    prediction is the mean of the views. With ``sample_weight`` in ``fit``, the squares of examples ``i`` and ``j`` are
    multiplied by their weights.

    Parameters
    ----------
    views : View, split, list or dict of views, optional
        By default two random halves of the columns. Entries of a list or dict may be ``Select`` (other inputs),
        ``KernelFeatures`` (a kernel of their own) or splits.
    mode : {"semiparametric", "exact"}
        Expand every view over the labeled examples only, which takes time linear in the unlabeled ones and lets them be
        streamed; or over all examples, which takes cubic time.
    disagreement_weight : float or "auto"
        Weight of the disagreement. "auto" compares several weights (0 among them) and a single view of all columns by
        leave-one-out, and takes the single view unless another one is clearly better; ``auto_report_`` says so.
    kernel, gamma, degree, coef0, eta, standardize
        As for :class:`RLSR`; ``gamma`` and ``eta`` are chosen for each view on its own. ``eta`` may be a list with one
        value per view.
    random_state : int, Generator or None
        Draws random views.
    n_jobs : int or None
        Threads for the pass over unlabeled examples.
    verbose : int
        1 shows progress on a terminal.

    Attributes
    ----------
    views_, coefficients_, gammas_, etas_ : lists
        One entry for each view, or a single one if the views fell back to one.
    view_names_ : list of str
    weight_ : float
        The weight of the disagreement that was used.
    fallback_ : bool
        Whether "auto" took a single view: of all columns, or the best of the views if these have different kernels.
    auto_report_ : list of dict or None
        What "auto" compared.
    loo_rmse_ : float
        Root mean squared error of predictions without the example's label, by the views that know the label, in the
        scale of ``y``.
    transduction_ : ndarray
        Predictions for the unlabeled examples of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from accord import CoRLSR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> y = X.sum(axis=1)
    >>> few = np.where(np.arange(200) < 20, y, np.nan)  # nan or None: unlabeled
    >>> model = CoRLSR(kernel="linear", random_state=0).fit(X, few)
    >>> bool(np.abs(model.predict(X) - y).max() < 0.01)
    True
    """

    views: Any = None
    _: KW_ONLY
    mode: str = "semiparametric"
    disagreement_weight: float | str = "auto"
    kernel: Any = "rbf"
    gamma: float | str | None = "auto"
    degree: float = 2
    coef0: float = 1.0
    eta: Any = "auto"
    standardize: bool | str = True
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {
        **KernelRegressor.expects,
        "eta": Expected(
            f"{SHARED['eta'].words}, or a list of these for the views",
            lambda value: _is_list(value) or SHARED["eta"].accepts(value),
        ),
        "mode": one_of("semiparametric", "exact"),
    }

    def fit(self, X: Any, y: Any, unlabeled: Any = None, sample_weight: Any = None) -> CoRLSR:
        """Train on labeled examples, and on unlabeled ones: those of ``X`` whose ``y`` is ``None`` or nan, and others.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or list of inputs
        y : numbers, or rows of numbers for several outputs
            None or nan for unlabeled examples. A dict with targets for each view lets views have other labels; an
            example is unlabeled if no view has a label for it.
        unlabeled : array, or iterable of arrays, optional
            More unlabeled examples; a memory-mapped array, a generator of blocks, whatever gives rows. Columns are
            scaled by ``X`` and the first block.
        sample_weight : array of shape (n_inputs,), optional
            How much each example of ``X`` counts, labeled or not; those of ``unlabeled`` count once.
        """
        settings.check(self)
        if self.views is None and self.kernel == "precomputed":
            raise InputError(
                "views is None, but a precomputed kernel cannot be split into views; say which columns of X are the "
                "values of which kernel: views=[Select(slice(0, n)), Select(slice(n, 2 * n))]"
            )
        X = inputs.as_inputs(X)
        check_columns(X)
        n_inputs = inputs.count(X)
        blocks = UnlabeledBlocks(X, unlabeled)
        split = RandomSplit() if self.views is None else self.views
        rng = generator(self.random_state)
        kernel = self._default_kernel()
        try:
            views = kernel_views(split, kernel, bool(self.standardize), blocks.sample(), rng)
        except InputError as error:
            raise type(error)(blocks.name_rows(str(error))) from error
        check_precomputed(views, X, n_inputs)
        self.view_names_ = [view.name for view in views]
        etas = self._etas_of(views)
        weights = settings.example_weights(sample_weight, n_inputs)
        labeled, targets, unlabeled_rows = self._set_targets(y, n_inputs, self.view_names_, weights)
        blocks.rows = unlabeled_rows
        if weights is not None:
            blocks.rows = unlabeled_rows[weights[unlabeled_rows] > 0.0]
            blocks.weights = weights[blocks.rows]
        tuned = [
            self._tune(view, view.matrix(take(X, rows)), own, eta, rows, weights)
            for view, rows, own, eta in zip(views, labeled, targets, etas)
        ]
        candidates = self._candidates(tuned, labeled, blocks)
        self.auto_report_, self.fallback_ = None, False
        if self.disagreement_weight == "auto":
            candidates = [*self._single_views(views, tuned, labeled, X, weights), *candidates]
            chosen, self.auto_report_ = choose(candidates)
            self.fallback_ = chosen.name == SINGLE and len(views) > 1
        else:
            chosen = candidates[-1]
        self._note_columns(X)
        self._keep(chosen.tuned, chosen.coefficients, chosen.bases)
        self.weight_ = chosen.weight
        self.loo_rmse_ = float(np.sqrt(chosen.error))
        empty = self._shaped(np.empty((0, self.y_mean_.size)))
        blocks.rows = unlabeled_rows
        self.transduction_ = np.concatenate([empty, *(self.predict(block) for block in blocks.of_X())])
        return self

    # -- training -----------------------------------------------------------------------------------------------
    def _etas_of(self, views: Sequence[KernelView]) -> list[Any]:
        """One for each view."""
        given = list(self.eta) if _is_list(self.eta) else [self.eta] * len(views)
        if len(given) != len(views):
            raise InputError(f"eta has {len(given)} values but there are {len(views)} views")
        for v, eta in enumerate(given):
            SHARED["eta"].check(f"eta[{v}]", eta)
        return given

    def _candidates(
        self, tuned: Sequence[TunedView], labeled: Sequence[np.ndarray], blocks: UnlabeledBlocks
    ) -> list[Candidate]:
        """The views without unlabeled examples, and with the weights that are to be tried, if there are any."""
        grams, targets, etas = [t.gram for t in tuned], [t.targets for t in tuned], [t.eta for t in tuned]
        names = [f"view {t.view.name!r}" for t in tuned]
        each = [t.weights for t in tuned if t.weights is not None] or None

        def candidate(weight: float, solution: Any, bases: Sequence[Matrix]) -> Candidate:
            errors = self._errors(solution.left_out, targets, labeled)
            return Candidate("views", weight, tuned, bases, solution.coefficients, errors)

        own_bases = [t.base for t in tuned]
        alone = least_squares.Solution(*([own for t in tuned for own in t.solution[k]] for k in range(2)))
        found = [candidate(0.0, alone, own_bases)]
        if len(tuned) == 1 or self.disagreement_weight == 0 or not blocks:
            return found
        problem: least_squares.Exact | least_squares.SemiParametric
        if self.mode == "exact":
            kernels, bases, m = _all_kernels(tuned, labeled, blocks)
            problem = least_squares.Exact(kernels, targets, etas, labeled, names, each, blocks.all_weights(m))
        else:
            maps = [least_squares.feature_map(t.gram, name, t.view.rank) for t, name in zip(tuned, names)]
            products, m = self._products(tuned, maps, blocks)
            bases = own_bases
            problem = least_squares.SemiParametric(grams, maps, targets, etas, labeled, products, each)
        if not m:
            return found
        weights = [self.disagreement_weight]
        if self.disagreement_weight == "auto":
            n_labeled = sum(map(len, targets) if each is None else map(np.sum, each)) / len(targets)
            others = blocks.all_weights(m)
            weights = [w * n_labeled / (m if others is None else others.sum()) for w in WEIGHTS]
        return found + [candidate(weight, problem.solve(weight), bases) for weight in map(float, weights)]

    def _single_views(
        self, views: Sequence[KernelView], tuned: Sequence[TunedView], labeled: Sequence[np.ndarray], X: Any,
        weights: np.ndarray | None,
    ) -> list[Candidate]:  # fmt: skip
        """A single view of all columns; if views compare in different ways, each of them."""
        together = joined(views)
        if together is None or len(views) == 1:
            alone = [(t, rows) for t, rows in zip(tuned, labeled)] if len(views) > 1 else []
        else:
            rows, first = np.unique(np.concatenate(labeled), return_index=True)
            targets = np.vstack([t.targets for t in tuned])[first]
            eta = "auto" if _is_list(self.eta) else self.eta
            alone = [(self._tune(together, together.matrix(take(X, rows)), targets, eta, rows, weights), rows)]
        out = []
        for one, rows in alone:
            errors = self._errors(one.solution.left_out, [one.targets], [rows])
            out.append(Candidate(SINGLE, 0.0, [one], [one.base], one.solution.coefficients, errors))
        return out

    def _errors(
        self, left_out: Sequence[np.ndarray], targets: Sequence[np.ndarray], labeled: Sequence[np.ndarray]
    ) -> dict[int, float]:
        """Squared error of the mean of the views that know an example, by example, in the scale of ``y``."""
        residuals = np.vstack([p - y for p, y in zip(left_out, targets)]) * self.y_scale_
        examples, inverse = np.unique(np.concatenate(list(labeled)), return_inverse=True)
        sums = np.zeros((examples.size, residuals.shape[1]))
        np.add.at(sums, inverse, residuals)
        means = sums / np.bincount(inverse)[:, None]
        return dict(zip(examples.tolist(), np.mean(means**2, axis=1).tolist()))

    def _products(
        self, tuned: Sequence[TunedView], maps: Sequence[np.ndarray], blocks: UnlabeledBlocks
    ) -> tuple[np.ndarray, int]:
        """Products of unlabeled examples, as :class:`SemiParametric` takes them, and the number of the examples."""
        late = all(map(least_squares.is_well_conditioned, maps))
        values_of = BlockValues([t.view for t in tuned], [t.base for t in tuned])

        def product(some: tuple[Any, np.ndarray | None]) -> tuple[np.ndarray, int]:
            block, weights = some
            values = values_of(block)
            if not late:
                parts = zip(maps, values_of.ends, values_of.ends[1:])
                values = np.vstack([F.T @ values[start:end] for F, start, end in parts])
            return (values if weights is None else values * weights) @ values.T, values.shape[1]

        n = sum(F.shape[0 if late else 1] for F in maps)
        total, m = np.zeros((n, n)), 0
        # Blocks are summed in order and BLAS gets one thread, so the result does not depend on n_jobs.
        with threadpool_limits(1, "blas"), Progress(blocks.n_blocks, "unlabeled", bool(self.verbose)) as progress:
            for found, n_rows in map_in_order(product, blocks.weighted(), self.n_jobs):
                total += found
                m += n_rows
                progress.advance(info=f"{m} rows")
        return least_squares.mapped_products(total, maps) if late else total, m


def _all_kernels(
    tuned: Sequence[TunedView], labeled: Sequence[np.ndarray], blocks: UnlabeledBlocks
) -> tuple[list[np.ndarray], list[Matrix], int]:
    """Kernel values of each view among labeled and unlabeled examples, the rows compared, number of the latter."""
    kept = list(blocks)
    kernels: list[np.ndarray] = []
    bases: list[Matrix] = []
    m = sum(inputs.count(block) for block in kept)
    if not m:
        return kernels, bases, m
    n_rows = m + max(len(own) for own in labeled)
    # every view has its kernel and an inverse of it, and there are copies at work
    advice = "Use mode='semiparametric', or fewer unlabeled examples"
    check_memory(n_rows, n_rows, advice, copies=3 + 2 * len(tuned))
    for one, own in zip(tuned, labeled):
        unlabeled = stack_matrices([one.view.matrix(block) for block in kept])
        if one.view.kernel.kernel == "precomputed":
            if blocks.extra is not None:
                raise InputError(
                    "unlabeled cannot be given beside X if mode='exact' and kernel='precomputed': kernel values among "
                    "all examples are needed. Put all of them into X"
                )
            base: Matrix = np.concatenate([own, blocks.rows])
            rows = stack_matrices([one.view.matrix(take(blocks.X, own)), unlabeled])
        else:
            base = rows = stack_matrices([one.base, unlabeled])
        values = one.view.values(rows, base)
        check_symmetric(values, f"the kernel matrix of view {one.view.name!r}")
        kernels.append((values + values.T) / 2)
        bases.append(base)
    return kernels, bases, m
