"""Learning from batches: ``partial_fit`` and iterators of batches, for data larger than memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from accord.exceptions import InputError
from accord.learners import inputs
from accord.learners.base import StructuredLearner
from accord.packed.problem import Problem
from accord.settings import example_weights


class OnlineLearner(StructuredLearner):
    """A learner that can go on training with more examples. Feature spaces grow; labels are fixed at the start."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on labeled examples; unlabeled ones (``y[i] is None``) only extend the feature space.

        ``sample_weight[i]`` says how much an example counts: how often its likelihood does (CRF), or how long a step
        is that it causes (perceptron).
        """
        self._check_params()
        self._forget_training()
        rows, y, _ = self._prepare(X, y, sample_weight)
        return self._learn(rows, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> OnlineLearner:
        """Train on one batch, continuing from the current model; weights as in ``fit``.

        The first call fixes the labels: ``classes`` if given, else the structure's ``labels``, else those in the
        batch. Unlabeled examples extend the feature space and are otherwise ignored. After ``fit``, and after loading
        a file, training goes on from ``weights_``.

        Examples
        --------
        >>> from accord import CRF, Sequence
        >>> model = CRF(Sequence()).partial_fit([["Ana", "left"]], [["PER", "O"]], classes=["LOC", "PER", "O"])
        >>> model.partial_fit([["Rome", "burns"]], [["LOC", "O"]]).predict([["Rome", "burns"]])
        [['LOC', 'O']]
        """
        self._check_params()
        problem = self._batch_problem(X, y, classes, sample_weight)
        if problem is not None:
            self._continue(problem)
        return self

    def fit_batches(self, batches: Iterable[tuple[Any, Any]], classes: Any = None) -> OnlineLearner:
        """Start anew and train on every (X, Y) batch of an iterator once, in order.

        >>> from accord import StructuredPerceptron, Sequence
        >>> batches = (([[name, "left"]], [["PER", "O"]]) for name in ("Ana", "Tom"))
        >>> StructuredPerceptron(Sequence()).fit_batches(batches).predict([["Tom", "left"]])
        [['PER', 'O']]
        """
        self._check_params()
        self._forget_training()
        seen = 0
        with self._progress(None, "batches") as progress:
            for X, Y in batches:
                self.partial_fit(X, Y, classes)
                seen += inputs.count(X)
                progress.advance(info=f"{seen} examples")
        if not hasattr(self, "weights_"):
            raise InputError("batches: no labeled example in any batch")
        return self

    def _forget_training(self) -> None:
        """Remove what was learned, but not what scikit-learn itself keeps in an estimator."""
        own = [n for n in self.__dict__ if n.endswith("_") or n in ("_state", "_rng", "_products")]
        for name in own:
            del self.__dict__[name]

    def _batch_problem(self, X: Any, Y: Any, classes: Any, sample_weight: Any) -> Any:
        """The labeled examples of a batch. Nothing is changed before the batch has passed all checks of its labels."""
        X = inputs.as_inputs(X)
        outputs = inputs.output_list(X, Y, self.structure)
        weights = example_weights(sample_weight, len(outputs))
        labeled = inputs.labeled_inputs(outputs, weights)
        first = not hasattr(self, "structure_")
        structure = self._first_structure(outputs, classes) if first else self.structure_
        seen = structure.view_inputs(X)
        view = inputs.new_view(self.view, structure, seen) if first else self.view_
        outputs = structure.check_outputs(outputs)
        structure.check_inputs(X, outputs)
        tokens = structure.tokens_of(X)
        y = structure.encode([outputs[i] for i in labeled], tokens and [tokens[i] for i in labeled], labeled)
        if not structure.single_row:
            structure.check_partial(y, [len(outputs[i]) for i in labeled], labeled)
        rows = inputs.with_tokens(structure, view.fit_rows(seen) if first else view.extend_rows(seen), X)
        self._forget_products()
        if hasattr(self, "weights_"):  # new features start at zero, also when their batch is not learned from
            self.weights_ = self.weights_.grown(rows.n_dims)
        structure.check_rows(rows, outputs)
        if first:
            self._note_columns(X)
        self.structure_, self.view_ = structure, view
        if weights is not None:
            rows = replace(rows, input_weights=weights)
        return self._problem(rows.take(labeled), y) if labeled.size else None

    def _first_structure(self, outputs: list[Any], classes: Any) -> Any:
        structure = inputs.new_structure(self.structure, self)
        if classes is not None:
            structure.declare(classes)
        if not structure.is_declared() and not inputs.labeled_inputs(outputs).size:
            raise InputError("the first batch has no labeled example: pass classes=[...] to fix the labels")
        structure.fit(structure.check_outputs(outputs))
        return structure

    def _continue(self, problem: Problem) -> None:
        """Train on one batch."""
        raise NotImplementedError
