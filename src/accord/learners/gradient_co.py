"""Consensus of views as one smooth criterion [thesis 7.3, OP 7.5, Table 7.2]: :class:`GradientCoSVM`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from accord.learners import smooth_machines as smooth
from accord.learners.consensus import ConsensusLearner
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.packed.tables import sums_by_input
from accord.packed.weights import Weights
from accord.solvers.transduction import Machine, Training, train
from accord.views.tied import Tied


@dataclass(eq=False, repr=False)
class GradientCoSVM(ConsensusLearner):
    """Smooth large-margin machines of several views that agree on unlabeled examples (∇coSVM).

    ``min sum_v (|w_v|^2 / 2 + C (sum_labeled xi + unlabeled_weight sum_unlabeled xi))``: slacks are soft maxima of
    Huber losses as in :class:`GradientSVM`; the target of an unlabeled example is what a peer predicts, for every
    ordered pair of views. Unlike in :class:`CoSVM` the peer's margin does not count. The papers' C_u is
    ``C * unlabeled_weight``. With one view it is self-training. Labels hidden inside a sequence are guessed, by every
    view for itself.

    Parameters
    ----------
    structure : Structure
        What is predicted, and with which loss.
    views : view, list or dict of views, optional
        The views; default: ``RandomSplit`` of the view that fits the look of X.
    C : float
        Weight of the losses.
    unlabeled_weight : float or "auto"
        Weight of an unlabeled example relative to a labeled one; "auto" as in :class:`CoPerceptron`.
    epsilon, rho, rescaling, max_outputs, solver, tol : as for GradientSVM
    max_iter : int
        Rounds at most. Views that teach each other need not come to rest, so that reaching it with unlabeled examples
        is no cause for a warning.
    ramp : int
        Rounds in which the unlabeled weight rises exponentially to its value, after the labels alone have been learned.
    warm_start : bool
        ``fit`` goes on where the last one, on the same data, has stopped; views that are drawn by chance need a fixed
        ``random_state`` for it.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_, view_weights_, unlabeled_weight_, transduction_, auto_report_ : as for CoPerceptron
    objective_, n_constraints_, n_incomplete_, n_iter_, converged_, interrupted_, history_ : as for GradientSVM

    Examples
    --------
    >>> from accord import GradientCoSVM, MultiClass
    >>> X = [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.1, 2.0]]
    >>> model = GradientCoSVM(MultiClass(), unlabeled_weight=0.5, random_state=0).fit(X, ["a", "b", None])
    >>> model.transduction_
    ['a']
    """

    structure: Structure
    views: Any = None
    C: float = 1.0
    unlabeled_weight: Any = "auto"
    epsilon: float = 0.3
    rho: float = 10.0
    ramp: int = 10
    rescaling: str = "margin"
    max_outputs: int = 12_000
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = 100
    warm_start: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {"solver": smooth.SOLVER}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GradientCoSVM:
        """Train on labeled and unlabeled examples (``y[i] is None``; within a sequence, ``None`` for single tokens).

        The slacks of an example count ``sample_weight[i]`` times, in all views.
        """
        with smooth.as_before_if_refused(self):
            return super().fit(X, y, sample_weight)

    def _train(
        self, channels: list[Rows], y: np.ndarray, weight: float, rng: np.random.Generator, show: bool
    ) -> list[Weights]:
        lengths = np.diff(channels[0].offsets)
        free = (sums_by_input(self.structure_.is_hidden(y), channels[0].offsets) == lengths) & (lengths > 0)
        n_labeled = int(np.argmax(free)) if free.any() else free.size  # unlabeled examples come last
        if weight == 0.0:
            channels = [c.take(np.arange(n_labeled)) for c in channels]
        tied = [smooth.merged_features(c) for c in channels]
        settings = smooth.settings_of(self, weight, 0.5, "huber")
        task = self._task(channels, tied, y, n_labeled) if self.warm_start and show else {}
        training = smooth.last_training(self, task, settings) if task else None
        with smooth.one_blas_thread(), self._progress(self.max_iter if show else 0, "gradient co-SVM") as progress:
            if training is None:
                training = Training(self._machines(channels, tied, y, n_labeled, weight, rng))
            train(training, settings, lambda info: progress.advance(info=info))
        if task:
            self._training = (task, settings, training)
        smooth.keep_outcome(self, training)
        if not (training.converged or training.interrupted or training.phase != "labels"):
            warnings.warn(f"stopped after max_iter={self.max_iter} rounds", ConvergenceWarning, stacklevel=3)
        return [self._untied(t, m.space.weights(m.point.x)) for t, m in zip(tied, training.machines)]

    def _machines(
        self,
        channels: list[Rows],
        tied: list[Tied],
        y: np.ndarray,
        n_labeled: int,
        weight: float,
        rng: np.random.Generator,
    ) -> list[Machine]:
        """A machine per view; each learns unlabeled examples from all others."""
        y = y[: channels[0].offsets[n_labeled]]
        machines = [smooth.new_machine(self, c, t.rows, y, n_labeled, rng) for c, t in zip(channels, tied)]
        if weight > 0.0 and n_labeled < channels[0].n_inputs:
            for v, machine in enumerate(machines):
                for peer in range(len(machines)):
                    if peer != v or len(machines) == 1:
                        smooth.add_unlabeled(machine, channels[v], n_labeled, peer, self.n_jobs)
        return machines

    def _task(self, channels: list[Rows], tied: list[Tied], y: np.ndarray, n_labeled: int) -> dict[str, Any]:
        """What has to be the same for a fit to go on with the last one, by the name of its argument."""
        return {
            "X": channels[0].offsets.tolist(),
            "Y": (y.tolist(), n_labeled, getattr(self.structure_, "labels_", None)),
            "sample_weight": channels[0].kernel_weights.tolist(),
            "the features of the views": [smooth.checksum(t.rows) for t in tied],
            "structure": repr(self.structure),
            "solver": self.solver,
        }
