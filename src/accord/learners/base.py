"""What all learners share: checking inputs, packing, predicting, saving."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from accord import memory, settings
from accord.datasets.label_spans import extract_spans
from accord.exceptions import InputError
from accord.forms import REPORT, fitted, optional
from accord.learners import inputs
from accord.learners.estimator import OutputEstimator, as_decision, check_columns, has_classes, of_classes
from accord.packed.problem import Problem
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.packed.weights import Weights
from accord.progress import Progress
from accord.threads import count_threads, map_anywhere
from accord.tokenizer import Tokens
from accord.views.base import View
from accord.views.tied import Tied

# Inputs predicted at a time; `predict` takes up to twice as many: threads wait for the interpreter at every chunk.
CHUNK = 4096
LONG = 16  # rows that inputs of several rows have, when their number is not known yet


WEIGHTS = fitted("Weights", n_dims="view.n_dims", n_nodes="structure.n_nodes", n_transitions="structure.n_transitions")
# What fits tell, and nobody computes with.
TOLD = dict.fromkeys(
    [
        "history_",
        "objective_",
        "dual_objective_",
        "duality_gap_",
        "n_iter_",
        "n_frozen_",
        "view_gaps_",
        "converged_",
        "interrupted_",
        "exact_",
        "n_constraints_",
        "n_constraints_added_",
        "n_incomplete_",
        "support_",
        "solver_",
        "auto_report_",
        "unlabeled_weight_",
        "transduction_",
        "strength_",
        "student_",
        "log_likelihood_",
        "fallback_",
        "loo_rmse_",
        "input_",
    ],
    optional(REPORT),
)


class StructuredLearner(OutputEstimator):
    """Base of the linear learners: ``argmax_y <w, Phi(x, y)>`` over a structure and a view.

    Subclasses implement ``fit``, and ``_learn``, which sets ``weights_``.
    """

    structure: Structure
    view: View | None
    n_jobs: int | None
    verbose: int
    structure_: Any  # a fitted structure
    view_: View
    weights_: Weights

    stored: ClassVar[dict[str, Any]] = {
        "structure_": fitted("structure"),
        "view_": fitted("view split"),
        "weights_": WEIGHTS,
        **TOLD,
    }

    # -- training -----------------------------------------------------------------------------------------------
    def _prepare(self, X: Any, Y: Any, sample_weight: Any = None) -> tuple[Rows, np.ndarray, Rows]:
        """Fit copies of view and structure: (labeled rows, their label numbers (-1: hidden), unlabeled rows).

        A labeled example of weight 0 is in neither: it extends the feature space, and that is all.
        """
        X = inputs.as_inputs(X)
        outputs = inputs.output_list(X, Y, self._new_structure() if self.structure is None else self.structure)
        weights = settings.example_weights(sample_weight, len(outputs))
        every, labeled = inputs.labeled_inputs(outputs), inputs.labeled_inputs(outputs, weights)
        if not outputs:
            raise InputError("X is empty: fit needs at least one labeled example")
        if not labeled.size:
            what = "unlabeled" if not every.size else "unlabeled, or have a sample_weight of 0"
            raise InputError(f"all {len(outputs)} examples are {what}: fit needs at least one labeled example")
        structure = self._new_structure()
        outputs = structure.check_outputs(outputs)
        if weights is not None:
            outputs = [y if weight > 0.0 else None for y, weight in zip(outputs, weights)]
        structure.fit(outputs)
        structure.warn_of_fit()
        structure.check_inputs(X, outputs)
        check_columns(X)
        seen = structure.view_inputs(X)
        view = self._new_view(structure, seen)
        rows = inputs.with_tokens(structure, view.fit_rows(seen), X)
        if weights is not None:
            rows = replace(rows, input_weights=weights)
        structure.check_rows(rows, outputs)
        labeled_rows = rows.take(labeled)
        y = structure.encode([outputs[i] for i in labeled], labeled_rows.token_lists(), labeled)
        structure.check_partial(y, np.diff(labeled_rows.offsets), labeled)
        self._forget_products()
        self._note_columns(X)
        self.structure_, self.view_ = structure, view
        unlabeled = np.setdiff1d(np.arange(rows.n_inputs), every)
        return labeled_rows, y, rows.take(unlabeled)

    def _new_structure(self) -> Structure:
        """A copy of the constructor's structure."""
        return inputs.new_structure(self.structure, self)

    def _new_view(self, structure: Structure, X: Any) -> View:
        """A copy of the constructor's view, or the one that fits the look of X."""
        return inputs.new_view(self.view, structure, X)

    def _check_params(self) -> None:
        """Refuse parameters that make no sense."""
        settings.check(self)

    def _learn(self, rows: Rows, y: np.ndarray) -> StructuredLearner:
        """Set ``weights_`` from labeled rows and their label numbers; ``structure_`` is fitted."""
        raise NotImplementedError

    def _problem(self, rows: Rows, y: np.ndarray, **margin: Any) -> Problem:
        return self.structure_.problem(rows, y, n_jobs=self.n_jobs or 1, **margin)

    def _tables(self, rows: Rows, copies: int, steps: int, n_dims: int = 0) -> dict[str, float]:
        """What a fit needs memory for, in bytes: ``copies`` of weights, and one of all ``n_dims`` features where rows
        have merged ones; ``steps`` tables made of the transitions; scores of the longest input."""
        s, longest = self.structure_, int(np.diff(rows.offsets).max(initial=0))
        labels = f"{s.n_columns_:,} labels"
        return {
            f"{copies} copies of weights of {rows.n_dims:,} features x {labels}": 8.0
            * copies
            * rows.n_dims
            * s.n_nodes_,
            f"weights of all {n_dims:,} features x {labels}": 8.0 * n_dims * s.n_nodes_,
            f"{copies + steps} tables of {s.n_transitions_:,} transitions": 8.0 * (copies + steps) * s.n_transitions_,
            f"scores of {longest:,} rows x {labels}": 8.0 * (rows.base.size + 4) * longest * s.n_columns_,
        }

    @staticmethod
    def _foresee(tables: dict[str, float], *advice: str) -> None:
        """Refuse a fit whose tables do not fit into memory."""
        memory.check(tables, "Use " + ", or ".join(["fewer features (min_count of the view)", "fewer labels", *advice]))

    @staticmethod
    def _untied(tied: Tied, weights: Weights) -> Weights:
        """Weights of the view's features from those of merged features."""
        return Weights(tied.untie(weights.unary), weights.transitions)

    def _progress(self, total: int | None, description: str) -> Progress:
        return Progress(total, description, bool(self.verbose))

    # -- prediction ---------------------------------------------------------------------------------------------
    def predict(self, X: Any, given: Sequence[Any] | None = None) -> Any:
        """Best output of every input: an array of labels if every input has one label, else a list.

        ``given[i]`` may hold labels that are known already (a list with ``None`` for free tokens, or ``None``): they
        are kept and the rest is decoded around them. For trees it is a list of brackets (label, left, right), or
        (left, right), that the tree must have.

        Examples
        --------
        >>> from accord import CRF, Sequence
        >>> model = CRF(Sequence()).fit([["Ana", "left"], ["we", "saw", "Rome"]], [["B-PER", "O"], ["O", "O", "B-LOC"]])
        >>> model.predict([["Ana", "left"]]), model.predict([["Ana", "left"]], given=[["B-LOC", None]])
        ([['B-PER', 'O']], [['B-LOC', 'O']])
        """
        check_is_fitted(self, "weights_")
        self._keep_products()
        X = inputs.as_inputs(X)
        if given is not None and not isinstance(given, (list, tuple, np.ndarray)):
            raise InputError(
                f"given is a {type(given).__name__}; expected a list with an entry, or None, for each input"
            )
        if given is not None and len(given) != inputs.count(X):
            raise InputError(f"given has {len(given)} entries but X has {inputs.count(X)} inputs")
        settings.SHARED["n_jobs"].check("n_jobs", self.n_jobs)
        n, n_threads = inputs.count(X), count_threads(self.n_jobs)
        rounds = max(1, -(-n // (2 * self._chunk() * n_threads)))
        size = max(1, -(-n // (rounds * n_threads)))  # every thread gets as much as the others
        sizes = [size] * n_threads
        if n_threads > 1 and size >= 5:  # one in two parts, so that not all threads want Python's lock at the same time
            sizes = [-(-3 * size // 5), *sizes[1:], 2 * size // 5]
        calls = (
            (self, chunk, None if given is None else given[first : first + inputs.count(chunk)], first)
            for first, chunk in inputs.chunks(X, *sizes)
        )
        done = map_anywhere(_predict_chunk, calls, self.n_jobs)
        failures = [failure for _, part in done for failure in part]
        if failures:  # of all threads together, told where the caller is
            self.structure_.warn_of(failures, stacklevel=3)
        if has_classes(self.structure_):
            return self.classes_[np.concatenate([np.zeros(0, np.int32), *(part for part, _ in done)])]
        return [y for part, _ in done for y in part]

    def predict_k_best(self, X: Any, k: int = 2) -> list[list[tuple[Any, float]]]:
        """For every input its at most ``k`` best outputs with their scores, best first.

        >>> from accord import CRF, Sequence
        >>> model = CRF(Sequence()).fit([["Ana", "left"], ["we", "saw", "Rome"]], [["B-PER", "O"], ["O", "O", "B-LOC"]])
        >>> [(y, round(score, 1)) for y, score in model.predict_k_best([["Ana", "left"]], k=2)[0]]
        [(['B-PER', 'O'], 6.8), (['O', 'O'], 2.0)]
        """
        check_is_fitted(self, "weights_")
        settings.whole(1).check("k", k)
        s, out = self.structure_, []
        for _, chunk in inputs.chunks(X, self._chunk()):
            rows = self._rows(chunk)
            all_parts = s.parts_of(rows, self._label_scores(rows), self.weights_.transitions)
            for lo, hi, parts in zip(rows.offsets[:-1], rows.offsets[1:], all_parts):
                tokens = None if rows.tokens is None else rows.tokens[lo:hi]
                best = s.k_best(parts, k)
                out.append([(s.outputs(y, np.array([0, hi - lo]), tokens)[0], score) for y, score in best])
        return out

    def predict_spans(self, X: Any) -> list[list[tuple[int, int, str]]]:
        """Spans (start, end, type) of every sentence whose labels are of the kind B-type, I-type and O.

        They count characters where the input is a text, and tokens where it is a list of them.

        Examples
        --------
        >>> from accord import CRF, Sequence
        >>> model = CRF(Sequence()).fit([["Ana", "left"], ["we", "saw", "Rome"]], [["B-PER", "O"], ["O", "O", "B-LOC"]])
        >>> model.predict_spans(["Ana left Rome", "we saw Ana"])
        [[(0, 3, 'PER'), (9, 13, 'LOC')], [(7, 10, 'LOC')]]
        """
        check_is_fitted(self, "weights_")
        inputs.require(self.structure_, "words", "predict_spans", "use predict")
        seen = self.structure_.view_inputs(X)
        return [
            [(*(x.span(i, j) if isinstance(x, Tokens) else (i, j)), kind) for kind, i, j in extract_spans(y)]
            for x, y in zip(seen, self.predict(seen))
        ]

    def predict_iter(self, stream: Any, chunk_size: int = 4096) -> Iterator[Any]:
        """Predict inputs from an iterator without holding them all in memory."""
        settings.whole(1).check("chunk_size", chunk_size)
        for chunk in inputs.batches(stream, chunk_size):
            found = self.predict(chunk)
            yield from found.tolist() if isinstance(found, np.ndarray) else found

    def decision_function(self, X: Any) -> Any:
        """Scores of the labels: an array (n_inputs, n_labels), or for sequences one (n_tokens, n_labels) per input.

        For sequences these are the token scores before transitions. Of two classes, an array (n_inputs,) says by how
        much the second is ahead, as everywhere in scikit-learn.
        """
        check_is_fitted(self, "weights_")
        inputs.require(self.structure_, "labels", "decision_function", "predict_k_best has scores of whole outputs")
        rows = self._rows(X)
        unary = self._label_scores(rows)
        if self.structure_.single_row:
            return as_decision(unary)
        unary = unary[:, : self.structure_.n_labels_]
        return [unary[lo:hi] for lo, hi in zip(rows.offsets[:-1], rows.offsets[1:])]

    def score(self, X: Any, y: Any) -> float:
        """Fraction of right labels (of annotated tokens, for sequences), or what the structure counts instead: F1 of
        constituents, for trees."""
        check_is_fitted(self, "weights_")
        X = inputs.as_inputs(X)
        return self.structure_.score_outputs(X, inputs.output_list(X, y, self.structure_), self.predict(X))

    # -- saving -------------------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file (arrays and JSON, no code); see :func:`accord.load`.

        >>> import os, tempfile
        >>> from accord import CRF, Sequence, load
        >>> path = os.path.join(tempfile.mkdtemp(), "names.accord")
        >>> CRF(Sequence()).fit([["Ana", "left"]], [["B-PER", "O"]]).save(path)
        >>> load(path).predict([["Ana", "left"]])
        [['B-PER', 'O']]
        """
        from accord.model_file import save

        check_is_fitted(self, "weights_")
        save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {k: v for k, v in state.items() if not k.startswith("_products")}

    # -- internals ----------------------------------------------------------------------------------------------
    def _forget_products(self) -> None:
        self._products: dict[str, np.ndarray] = {}

    def _keep_products(self) -> dict[str, np.ndarray]:
        """Products of the view's own table with the weights, made once per fitted model."""
        return self.__dict__.setdefault("_products", {})

    def _rows(self, X: Any) -> Rows:
        X = inputs.as_inputs(X)
        seen = self.structure_.view_inputs(X)
        rows = inputs.with_tokens(self.structure_, self.view_.transform(seen), X)
        if self.structure_.single_row and np.any(np.diff(rows.offsets) != 1):
            raise InputError(f"X: {type(self.structure_).__name__} expects one row per input, but X has token rows")
        return rows

    def _chunk(self) -> int:
        """How many inputs are predicted at a time: fewer, if each has very many scores."""
        s = self.structure_
        return max(1, min(CHUNK, memory.SCORES // max(1, s.n_columns_ * (1 if s.single_row else LONG))))

    def _label_scores(self, rows: Rows) -> np.ndarray:
        return self.structure_.label_scores(rows.scores(self.weights_.unary, self._keep_products()))

    def _outputs(self, rows: Rows, given: Any = None, first: Any = 0, failures: Any = None) -> np.ndarray:
        """What is predicted, as numbers; arguments as for the structure's ``best_outputs``."""
        scores = self._label_scores(rows)
        return self.structure_.best_outputs(rows, scores, self.weights_.transitions, given, first, failures)


# What other learners can be made of.
PART = settings.Expected(
    "a StructuredPerceptron, StructuredSVM or CRF, whose scores add up",
    lambda value: isinstance(value, StructuredLearner) and type(value)._learn is not StructuredLearner._learn,
)


class ProbabilisticLearner(StructuredLearner):
    """A learner whose scores are log probabilities up to a constant."""

    decode: str = "auto"
    # what files of earlier versions, which do not say it, mean
    former: ClassVar[dict[str, Any]] = {"decode": "viterbi"}

    def _outputs(self, rows: Rows, given: Any = None, first: Any = 0, failures: Any = None) -> np.ndarray:
        s, scores = self.structure_, self._label_scores(rows)
        settings.SHARED["decode"].check("decode", self.decode)
        likely = s.prefers_likely if self.decode == "auto" else self.decode == "marginal"
        find = s.likely_outputs if likely else s.best_outputs
        return find(rows, scores, self.weights_.transitions, given, first, failures)

    def predict_marginals(self, X: Any) -> Any:
        """Probability of every label: (n_inputs, n_labels), or for sequences one (n_tokens, n_labels) per input.

        For trees one dict per input, from constituents (label, left, right) to probabilities.

        Examples
        --------
        >>> from accord import CRF, Sequence
        >>> model = CRF(Sequence()).fit([["Ana", "left"], ["we", "saw", "Rome"]], [["B-PER", "O"], ["O", "O", "B-LOC"]])
        >>> model.structure_.labels_, model.predict_marginals([["Ana", "left"]])[0].round(1)
        (['B-LOC', 'B-PER', 'O'], array([[0., 1., 0.],
               [0., 0., 1.]]))
        """
        check_is_fitted(self, "weights_")
        marginals: list[Any] = []
        for first, chunk in inputs.chunks(X, self._chunk()):
            rows = self._rows(chunk)
            marginals += self.structure_.marginals_of(rows, self._label_scores(rows), self.weights_.transitions, first)
        if self.structure_.single_row:
            return np.concatenate(marginals) if marginals else np.zeros((0, self.structure_.n_labels_))
        return marginals

    @available_if(of_classes)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n_inputs, n_classes) of classes; of other outputs, :meth:`predict_marginals` has some."""
        return self.predict_marginals(inputs.as_inputs(X))

    @available_if(of_classes)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`, also of probabilities that are too small for a number."""
        check_is_fitted(self, "weights_")
        return log_softmax(self._label_scores(self._rows(X)), axis=1)


def _predict_chunk(model: StructuredLearner, X: Any, given: Any, first: int) -> tuple[Any, list[Any]]:
    """Outputs (numbers of classes), and the inputs that have none that is whole."""
    s, rows = model.structure_, model._rows(X)
    failures: list[Any] = []
    y = model._outputs(rows, given, first, failures)
    return y if has_classes(s) else s.outputs(y, rows.offsets, rows.tokens), failures
