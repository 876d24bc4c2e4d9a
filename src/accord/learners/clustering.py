"""Supervised clustering: similarities learned from sets whose clusters are known [thesis chapter 8, spec 8]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from accord import settings
from accord.exceptions import InputError
from accord.forms import TEXT, array, fitted, items
from accord.kernels.partitions.condensed import square
from accord.kernels.partitions.correlation import SequentialClusters
from accord.learners.base import TOLD
from accord.learners.clustering_inputs import check_sizes, pair_matrix, read_partitions, read_single, scale_of
from accord.model_file import save
from accord.progress import Progress
from accord.settings import example_weights
from accord.solvers import cutting_sets, margin_qp
from accord.structures.partitions.losses import b_cubed
from accord.structures.partitions.partition import DECODERS, Partition
from accord.structures.partitions.problem import PartitionProblem, all_constraints
from accord.threads import map_anywhere
from accord.views.pairs import PairFeatures, ReadyPairs

METHODS = ("pairwise", "iterative", "compact", "sequential")
# Similarities of larger sets are not kept for the sequential decoder: it gets so many rows at a time.
LARGE, ROWS = 1000, 256


@dataclass(eq=False, repr=False)
class ClusteringSVM(BaseEstimator):
    """Learn which objects belong together: ``similarity(a, b) = <w, psi(a, b)>``, clustered by its signs and sizes.

    All methods minimise ``|w|^2 / 2 + C sum xi``. They differ in what has a slack xi and what it must be larger than:

    * "pairwise": every pair; ``1 -+ similarity``, minus within clusters (a linear SVM on pairs).
    * "iterative": every set; loss plus score of the partitions that ``training_decoder`` finds, minus the score of the
      true one (cutting planes, Finley & Joachims 2005).
    * "compact": the same with the best *relaxed* partition, a linear program whose dual the thesis folds into one
      quadratic program (OP 8.1). It is solved by cutting planes with that linear program, which has the same optimum.
    * "sequential": every object, as if it were the latest one and all others of its set were clustered correctly; loss
      plus summed similarity to a wrong cluster (or 0: a new one), minus the sum to its own (OP 8.2).

    Any method goes with any decoder.

    Parameters
    ----------
    method : "sequential", "compact", "iterative" or "pairwise"
    decoder : "sequential", "agglomerative", "lp" or "exact"
        How partitions are predicted. "sequential": object after object, never reconsidered, linear in the number of
        objects for each. "agglomerative": best merges first. "lp": linear program, then rounding. "exact": branch and
        bound, for sets with up to 60 objects that similarities link.
    C : float
        Weight of the slacks.
    pair_features : PairFeatures, optional
        Features of pairs of objects, such as ``CallablePairs``. Without it a set is an array of features: (T, T, d), or
        (T * (T - 1) / 2, d) with the pairs (1, 0), (2, 0), (2, 1), (3, 0), ...
    loss : "total", "rand" or "zero-one"
        See :class:`Partition`; "zero-one" for "sequential" only. "pairwise" has no loss.
    training_decoder : str
        Decoder of the "iterative" method.
    standardize : bool
        Divide every feature by the root mean square of its non-zero values in what is learned from. Features are not
        centred, so zeros stay zeros. ``weights_`` are those of the features as they are.
    bias : bool
        Append a feature that is 1 for every pair; its weight is part of ``|w|``.
    tol : float
        Largest duality gap, as a fraction of the objective.
    max_iter : int
        Passes over the sets, or steps of the interior-point method (of all its rounds), at most.
    random_state : None
        Deprecated, and gone in the next version: no method draws random numbers.
    n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : ndarray (d,), or (d + 1,) with a bias, which comes last
    names_ : list of str
        Names of the weights.
    pair_features_ : PairFeatures
    objective_, dual_objective_, duality_gap_ : float
        Certificates, in the scale of the standardised features. With an "iterative" decoder that is not exact
        (``exact_`` is False) they hold with respect to the partitions it found.
    n_constraints_ : int
        Constraints with a dual variable above 0 ("pairwise" and "sequential": above C / 1000).
    n_iter_, converged_, interrupted_, exact_ : int, bool, bool, bool
        ``interrupted_``: Ctrl-C ended the training, and the model is what was reached.
    history_ : list of dict

    Examples
    --------
    >>> from accord import CallablePairs, ClusteringSVM
    >>> view = CallablePairs(lambda a, b: abs(a - b), names=["distance"])
    >>> sets, partitions = [[1.0, 1.1, 5.0, 5.2], [2.0, 7.0, 7.1]], [[0, 0, 1, 1], ["a", "b", "b"]]
    >>> model = ClusteringSVM(pair_features=view).fit(sets, partitions)
    >>> model.predict([[3.0, 9.0, 3.2, 9.1, 20.0]])
    [[0, 1, 0, 1, 2]]
    """

    method: str = "sequential"
    decoder: str = "sequential"
    C: float = 1.0
    pair_features: PairFeatures | None = None
    loss: str = "total"
    training_decoder: str = "agglomerative"
    standardize: bool = True
    bias: bool = True
    tol: float = 1e-3
    max_iter: int = 1000
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    weights_: np.ndarray = field(init=False)

    # -- training -----------------------------------------------------------------------------------------------
    stored: ClassVar = {
        "pair_features_": fitted("CallablePairs RecordPairs ReadyPairs MailPairs"),
        "structure_": fitted("Partition"),
        "names_": items(TEXT),
        "weights_": array("f8", "*"),
        **TOLD,
    }
    agrees: ClassVar = {
        "weights_ has a number for every feature of a pair, and for the bias": lambda self: (
            self.weights_.size == len(self.pair_features_.names_) + bool(self.bias)
        ),
    }

    def fit(
        self,
        sets: Sequence[Any],
        partitions: Sequence[Any],
        pairs: Any = None,
        together: Any = None,
        sample_weight: Any = None,
    ) -> ClusteringSVM:
        """Train on sets of objects and the cluster of every object.

        Parameters
        ----------
        sets : list of sets
            A set is a list of objects, or an array of features without ``pair_features``.
        partitions : list
            ``partitions[i]`` are the names of the clusters of all objects of ``sets[i]``, or None: then only the view
            sees the set.
        pairs : array (n, d), optional
            Features of more pairs, beside the sets, of which nothing is known but whether they belong together. Each is
            a set of two.
        together : array of bool (n,), optional
            Whether they do.
        sample_weight : array of shape (number of sets,), optional
            How much each set counts: all its slacks are multiplied by it. ``pairs`` count once.
        """
        structure = self._check_params()
        view = self._new_view()
        labeled, y = read_partitions(sets, partitions, structure)
        weights = example_weights(sample_weight, len(sets))
        if weights is not None:
            kept = [(i, truth) for i, truth in zip(labeled, y) if weights[i] > 0.0]
            if not kept:
                raise InputError("every set that has a partition has a sample_weight of 0: fit needs at least one")
            labeled, y = [i for i, _ in kept], [truth for _, truth in kept]
            weights = weights[labeled]
        if all(one.size < 2 for one in y):
            raise InputError("no labeled set has two objects: there is no pair to learn from")
        view.fit(sets)
        check_sizes(view, sets, labeled, y)
        features = [pair_matrix(view, sets[i], i, self.bias) for i in labeled]
        single, same = read_single(view, pairs, together, self.bias)
        self.pair_features_, self.structure_ = view, structure
        self.names_ = [*view.names_, "bias"] if self.bias else list(view.names_)
        each = np.ones(len(labeled)) if weights is None else weights
        scale = scale_of([*features, single], [*each, 1.0]) if self.standardize else np.ones(len(self.names_))
        self._learn(structure, [p / scale for p in features], y, single / scale, same, weights)
        self.weights_ = self.weights_ / scale
        self._warn_if_early()
        return self

    def _check_params(self) -> Partition:
        for name, allowed in (("method", METHODS), ("decoder", DECODERS), ("training_decoder", DECODERS)):
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} is {getattr(self, name)!r}; expected one of {allowed}")
        for name in ("C", "tol", "max_iter"):
            value = getattr(self, name)
            if isinstance(value, str) or not (value > 0 and np.isfinite(value)):
                raise InputError(f"{name} is {value!r}; expected a positive number")
        if self.random_state is not None:
            warnings.warn(
                "random_state of ClusteringSVM has no effect and will be gone in the next version; leave it out",
                FutureWarning,
                stacklevel=3,
            )
        structure = Partition(self.loss).fit([])
        if self.method in ("iterative", "compact"):
            structure.pair_weights(np.zeros(2, np.int64))
        return structure

    def _new_view(self) -> PairFeatures:
        if self.pair_features is None:
            return ReadyPairs()
        if not isinstance(self.pair_features, PairFeatures):
            raise InputError(
                f"pair_features is {self.pair_features!r}; expected features of pairs, such as CallablePairs(function)"
            )
        return clone(self.pair_features)

    def _learn(
        self, structure: Partition, pairs: list[np.ndarray], y: list[np.ndarray], single: np.ndarray, same: np.ndarray,
        weights: np.ndarray | None,
    ) -> None:  # fmt: skip
        self.exact_ = True
        C: float | np.ndarray = self.C
        with Progress(int(self.max_iter), f"{self.method} clustering", bool(self.verbose)) as progress:
            report = lambda info: progress.advance(info=info)  # noqa: E731
            result: margin_qp.Solution
            if self.method in ("iterative", "compact"):
                decoder = "relaxed" if self.method == "compact" else self.training_decoder
                twos = [np.array([0, 1 - int(one)]) for one in same]
                problem = PartitionProblem(
                    structure, [*pairs, *(row[None] for row in single)], [*y, *twos], decoder, self.n_jobs or 1
                )
                if weights is not None:
                    C = self.C * np.concatenate([weights, np.ones(len(single))])
                result = cutting_sets.train(problem, C, self.tol, int(self.max_iter), report)
                self.exact_ = problem.exact
                self.n_constraints_ = result.n_constraints
            else:
                constraints, owner = all_constraints(self.method, self.loss, pairs, y, single, same)
                if weights is not None:
                    C = self.C * np.append(weights, 1.0)[owner]
                result = margin_qp.solve(*constraints, C, self.tol, int(self.max_iter), report)
                # variables of an interior point are never quite zero
                self.n_constraints_ = int(np.count_nonzero(result.alpha > 1e-3 * self.C))
        self.weights_, self.history_ = result.w, result.history
        self.objective_, self.dual_objective_, self.duality_gap_ = result.primal, result.dual, result.gap
        self.n_iter_, self.converged_, self.interrupted_ = result.n_iter, result.converged, result.interrupted

    def _warn_if_early(self) -> None:
        if self.converged_:
            return
        if self.interrupted_:
            why, what = "by Ctrl-C", "the model is what was reached"
        elif self.n_iter_ >= self.max_iter:
            why, what = f"after max_iter={self.max_iter} iterations", "raise max_iter or tol"
        else:
            why, what = "by rounding errors", "scale the features (standardize=True does), lower C or raise tol"
        warnings.warn(
            f"training was stopped {why} with a duality gap of {self.duality_gap_:.3g} (objective "
            f"{self.objective_:.3g}); {what}",
            ConvergenceWarning,
            stacklevel=3,
        )

    # -- prediction ---------------------------------------------------------------------------------------------
    def predict(self, sets: Sequence[Any]) -> list[list[int]]:
        """Cluster numbers of the objects of every set, in order of first appearance."""
        check_is_fitted(self, "weights_")
        if self.decoder not in DECODERS:
            raise InputError(f"decoder is {self.decoder!r}; expected one of {DECODERS}")
        settings.SHARED["n_jobs"].check("n_jobs", self.n_jobs)
        if isinstance(sets, (str, bytes, dict)) or not hasattr(sets, "__len__"):
            raise InputError(f"sets is a {type(sets).__name__}; expected a list of sets")
        found = map_anywhere(ClusteringSVM._cluster, [(self, objects) for objects in sets], self.n_jobs)
        return [labels.tolist() for labels in found]

    def similarities(self, objects: Any) -> np.ndarray:
        """The similarity (T, T) of every pair of a set; zeros on the diagonal.

        >>> from accord import CallablePairs
        >>> view = CallablePairs(lambda a, b: abs(a - b), names=["distance"])
        >>> model = ClusteringSVM(pair_features=view).fit([[1.0, 1.1, 5.0, 5.2]], [[0, 0, 1, 1]])
        >>> model.similarities([3.0, 3.1, 9.0]) > 0  # which pairs belong together
        array([[False,  True, False],
               [ True, False, False],
               [False, False, False]])
        """
        check_is_fitted(self, "weights_")
        if self.pair_features_.count(objects) == 0:
            return np.zeros((0, 0))
        return square(self._scores(objects))

    def score(self, sets: Sequence[Any], partitions: Sequence[Any]) -> float:
        """F1 of B-cubed precision and recall, over all objects of the sets with partitions (1: all right)."""
        check_is_fitted(self, "weights_")
        labeled, y = read_partitions(sets, partitions, self.structure_)
        found = self.predict([sets[i] for i in labeled])
        precision = recall = 0.0
        for i, truth, other in zip(labeled, y, found):
            if truth.size != len(other):
                raise InputError(f"partitions[{i}] has {truth.size} objects but sets[{i}] has {len(other)}")
            p, r = b_cubed(truth, np.array(other, np.int64))
            precision, recall = precision + p, recall + r
        return 2.0 * precision * recall / (precision + recall) / sum(truth.size for truth in y)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file (arrays and JSON, no code); see :func:`accord.load`."""
        check_is_fitted(self, "weights_")
        save(self, path)

    def _scores(self, objects: Any) -> np.ndarray:
        """Similarities in condensed order."""
        return self._checked(self.pair_features_.scores(objects, self._feature_weights()) + self._bias())

    def _feature_weights(self) -> np.ndarray:
        return self.weights_[: len(self.pair_features_.names_)]

    def _bias(self) -> float:
        return float(self.weights_[-1]) if len(self.weights_) > len(self.pair_features_.names_) else 0.0

    @staticmethod
    def _checked(scores: np.ndarray) -> np.ndarray:
        if not np.all(np.isfinite(scores)):
            raise InputError("sets: some pair has a feature that is not finite; clusters need finite similarities")
        return scores

    def _cluster(self, objects: Any) -> np.ndarray:
        view = self.pair_features_
        n = view.count(objects)
        if n == 0:
            return np.empty(0, np.int64)
        if self.decoder != "sequential" or n <= LARGE or isinstance(view, ReadyPairs):
            return self.structure_.decode(self._scores(objects), self.decoder)
        clusters = SequentialClusters()
        objects = view.prepared(objects)
        for first in range(0, n, ROWS):
            rows = view.scores_between(objects[first : first + ROWS], objects[: first + ROWS], self._feature_weights())
            clusters.extend(self._checked(rows + self._bias()))
        return clusters.labels
