"""The support vector machine as a smooth function without constraints [thesis 7.1, OP 7.2]: :class:`GradientSVM`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from accord.learners import smooth_machines as smooth
from accord.learners.base import StructuredLearner
from accord.packed.rows import Rows
from accord.packed.spaces import ExpansionSpace
from accord.packed.structure import Structure
from accord.settings import generator
from accord.solvers.transduction import Training, train
from accord.views.base import View


@dataclass(eq=False, repr=False)
class GradientSVM(StructuredLearner):
    """Smooth large-margin learner (∇SVM): ``min |w|^2 + C sum_i smax_y' huber(score(y_i) - score(y'))``.

    The hinge is rounded off within ``epsilon`` of the margin, which is the loss of ``y'``, and the maximum over wrong
    outputs is soft. There is no factor 1/2: as ``epsilon`` goes to 0 and ``rho`` to infinity, this becomes
    ``StructuredSVM(C=C / 2)``, and the objective twice that machine's.

    Wrong outputs are kept in working sets. For classes these hold every output that counts. For sequences they hold the
    worst that decoding finds in each round and, when those have settled, all that count, as far as ``max_outputs``
    allows; for trees and other structures, the worst of each round alone. Labels inside a sequence may be
    hidden, as for :class:`StructuredSVM`.

    Parameters
    ----------
    structure : Structure
        What is predicted, and with which loss.
    view : View, optional
        Features; default: the view that fits the look of X.
    C : float
        Weight of the losses.
    epsilon : float
        Half the width of the rounded part of the hinge; 0 is the hinge itself.
    rho : float
        From 0 (losses of an example's wrong outputs are summed) to ``inf`` (only the largest counts).
    rescaling : "margin" or "slack"
        What the loss of ``y'`` scales: the margin that is asked for, or the Huber hinge of a margin of 1.
    max_outputs : int
        Sequences near the margin that are listed at most, divided among the examples; 0: only the worst of each round.
        With a small C or long sentences an example may have millions: then those nearest to the margin count.
    solver : "auto", "primal" or "expansion"
        Search for weights of features, or for coefficients of training rows, for which all inner products of rows are
        held in memory; "auto" is the faster one. The optimum is the same.
    tol : float
        Outputs join their working set if together they raise the slack of their example by more than this; conjugate
        gradients stop when the objective is within this fraction of the optimum for the working sets.
    max_iter : int
        Rounds of decoding and optimising at most.
    warm_start : bool
        ``fit`` goes on where the last one, on the same data, has stopped.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : Weights
    objective_ : float
        Value of the minimised function over the working sets.
    n_constraints_, n_iter_ : int
        Outputs in the working sets, and rounds.
    n_incomplete_ : int
        Examples whose lists were cut, or whose outputs cannot be listed; 0: soft maxima are those over all outputs.
    converged_, interrupted_ : bool
        Whether the last round left the working sets as they were, and whether Ctrl-C ended the training: the model is
        then what was learned until that.
    history_ : list of dict
        For each round: objective, C, unlabeled_weight, n_constraints, added, dropped, label_changes, cg_iterations.
    solver_ : str
        "primal" or "expansion".

    Examples
    --------
    >>> from accord import ArrayFeatures, GradientSVM, MultiClass
    >>> svm = GradientSVM(MultiClass(), view=ArrayFeatures()).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    >>> print(svm.predict([[0.0, 2.0]]))
    ['a']
    """

    structure: Structure
    view: View | None = None
    C: float = 1.0
    epsilon: float = 0.3
    rho: float = 10.0
    rescaling: str = "margin"
    max_outputs: int = 12_000
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = 1000
    warm_start: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {"solver": smooth.SOLVER}
    tau = 0.4  # of the unlabeled examples' loss
    ramp = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GradientSVM:
        """Train on labeled examples; unlabeled ones (``y[i] is None``) only extend the feature space.

        The loss of an example counts ``sample_weight[i]`` times.
        """
        self._check_params()
        rng = generator(self.random_state)
        with smooth.as_before_if_refused(self), smooth.one_blas_thread():
            rows, y, _ = self._prepare(X, y, sample_weight)
            training, _ = self._solve(rows, y, rows.n_inputs, 0.0, rng, show=True)
        smooth.warn_of_end(training, self.max_iter, stacklevel=3)
        return self

    def _solve(
        self, rows: Rows, y: np.ndarray, n_labeled: int, weight: float, rng: np.random.Generator, show: bool
    ) -> tuple[Training, np.ndarray]:
        """Train on rows of which the first ``n_labeled`` inputs have labels: (how it went, constants of labels).

        ``show``: this is the fit that was asked for, not one of those that "auto" compares.
        """
        use_unlabeled = weight > 0.0 and rows.n_rows > rows.offsets[n_labeled]
        if not use_unlabeled:
            rows = rows.take(np.arange(n_labeled))
        y = y[: rows.offsets[n_labeled]]
        tied = smooth.merged_features(rows)
        task = self._task(rows, tied.rows, y, n_labeled, use_unlabeled) if self.warm_start and show else {}
        settings = smooth.settings_of(self, weight, 1.0, "symmetric")
        training = smooth.last_training(self, task, settings) if task else None
        if training is None:
            training = Training([self._machine(rows, tied.rows, y, n_labeled, use_unlabeled, rng)])
        with self._progress(self.max_iter if show else 0, type(self).__name__) as progress:
            train(training, settings, lambda info: progress.advance(info=info))
        machine = training.machines[0]
        self.weights_ = self._untied(tied, machine.space.weights(machine.point.x))
        self._forget_products()
        smooth.keep_outcome(self, training)
        self.solver_ = "expansion" if isinstance(machine.space, ExpansionSpace) else "primal"
        if task:
            self._training = (task, settings, training)
        bias = machine.bias
        if machine.space.centre is not None:
            mean = tied.rows.scores(machine.space.weights(machine.point.x).unary)[slice(*machine.space.centre)].mean(0)
            bias = bias - self.structure_.label_scores(mean[None])[0]
        return training, bias

    def _machine(self, rows: Rows, merged: Rows, y: np.ndarray, n_labeled: int, use_unlabeled: bool, rng: Any) -> Any:
        centre, bias = None, None
        if use_unlabeled and getattr(self, "balance", False):
            centre = (int(rows.offsets[n_labeled]), rows.n_rows)
            counts = self.structure_.label_counts(y, rows.row_weights()[: y.size])
            bias = counts / counts.sum() - 1.0 / counts.size
        machine = smooth.new_machine(self, rows, merged, y, n_labeled, rng, centre, bias)
        if use_unlabeled:
            smooth.add_unlabeled(machine, rows, n_labeled, 0, self.n_jobs)
        return machine

    def _task(self, rows: Rows, merged: Rows, y: np.ndarray, n_labeled: int, use_unlabeled: bool) -> dict[str, Any]:
        """What has to be the same for a fit to go on with the last one, by the name of its argument."""
        return {
            "X": (rows.offsets.tolist(), smooth.checksum(merged)),
            "Y": (y.tolist(), n_labeled, getattr(self.structure_, "labels_", None)),
            "sample_weight": rows.kernel_weights.tolist(),
            "structure": repr(self.structure),
            "solver": self.solver,
            "balance": getattr(self, "balance", False),
            "unlabeled_weight": use_unlabeled,
        }
