"""Learning from batches: ``partial_fit`` and iterators of batches, for data larger than memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from accord.exceptions import InputError
from accord.learners import inputs
from accord.learners.base import StructuredLearner
from accord.structures.problem import ChainProblem


class OnlineLearner(StructuredLearner):
    """A learner that can go on training with more examples. Feature spaces grow; labels are fixed at the start."""

    def partial_fit(self, X: Any, Y: Any, classes: Any = None) -> OnlineLearner:
        """Train on one batch, continuing from the current model.

        The first call fixes the labels: ``classes`` if given, else the structure's ``labels``, else those in the
        batch. Unlabeled examples extend the feature space and are otherwise ignored.
        """
        problem, first = self._batch_problem(X, Y, classes)
        if problem is not None:
            self._continue(problem, first)
        return self

    def fit_batches(self, batches: Iterable[tuple[Any, Any]], classes: Any = None) -> OnlineLearner:
        """Start anew and train on every (X, Y) batch of an iterator once, in order."""
        self._forget_training()
        seen = 0
        with self._progress(0, "batches") as progress:
            for X, Y in batches:
                self.partial_fit(X, Y, classes)
                seen += inputs.count(X)
                progress.advance(info=f"{seen} examples")
        if not hasattr(self, "weights_"):
            raise InputError("batches: no labeled example in any batch")
        return self

    def _forget_training(self) -> None:
        for name in [n for n in self.__dict__ if n not in self.get_params(deep=False)]:
            del self.__dict__[name]

    def _batch_problem(self, X: Any, Y: Any, classes: Any) -> tuple[ChainProblem | None, bool]:
        inputs.check_lengths(X, Y)
        labeled = inputs.labeled_indices(Y)
        outputs = [Y[i] for i in labeled]
        first = not hasattr(self, "structure_")
        if first:
            structure = clone(self.structure)
            if classes is not None:
                structure.labels = list(classes)
            if not labeled.size and getattr(structure, "labels", None) is None:
                raise InputError("the first batch has no labeled example: pass classes=[...] to fix the labels")
            inputs.check_outputs(structure, outputs, labeled)
            self.structure_ = structure.fit(outputs)
            self.view_ = clone(self.view) if self.view is not None else inputs.default_view(self.structure_, X)
            rows = self.view_.fit_rows(X)
        else:
            inputs.check_outputs(self.structure_, outputs, labeled)
            rows = self.view_.extend_rows(X)
        inputs.check_rows(self.structure_, rows, outputs, labeled)
        self._forget_products()
        if not labeled.size:
            return None, first
        labeled_rows = rows.take(labeled)
        return self._problem(labeled_rows, self.structure_.encode(outputs, labeled_rows.offsets, labeled)), first

    def _continue(self, problem: ChainProblem, first: bool) -> None:
        """Train on one batch."""
        raise NotImplementedError
