"""Type consistency: what a model predicts for a word everywhere in unlabeled text is evidence for its next occurrence.

A first model tags all sentences. Its labels are counted per kind of word (the word itself, its ending, its class), and
the log odds of the counts are added to its token scores: label propagation over a graph that joins equal words. Then a
*student*, a perceptron on plain text features, learns the result on the unlabeled sentences, and its scores are added,
too. All three are linear in their features, so the outcome is one linear model over the features of all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from accord.kernels.chains import viterbi as vit
from accord.learners import inputs
from accord.learners.base import PART, ProbabilisticLearner, StructuredLearner
from accord.learners.perceptron import StructuredPerceptron
from accord.learners.safety import choose
from accord.packed.rows import Rows, join_inputs, ragged_rows
from accord.packed.structure import Structure
from accord.packed.tables import sums_by_input
from accord.packed.weights import Weights
from accord.settings import FLAG, NOT_NEGATIVE, either, generator, whole
from accord.views.base import View
from accord.views.compose import ConcatenatedViews
from accord.views.text import TokenFeatures
from accord.views.type_odds import TypeOdds

# Labeled sentences count so many times when the student learns from them and from pseudo-labeled ones.
COPIES = 5


class Stage(NamedTuple):
    """How far to go: the strength of the type evidence, and whether a student learns from it."""

    name: str
    weight: float
    student: bool


class Parts(NamedTuple):
    """Inputs as each of the three linear models sees them, labeled ones first."""

    X: list[Any]
    rows: Rows
    student_rows: Rows | None
    y: np.ndarray  # label numbers; -1 where there is none


class Sum(NamedTuple):
    """Linear models of the same outputs, whose scores add up."""

    views: list[Any]
    blocks: list[np.ndarray]  # weights of the features of each view
    transitions: np.ndarray
    unary: np.ndarray  # of all training tokens

    def plus(self, view: Any, block: np.ndarray, unary: np.ndarray, transitions: np.ndarray | float = 0.0) -> Sum:
        """One model more."""
        return Sum([*self.views, view], [*self.blocks, block], self.transitions + transitions, self.unary + unary)


@dataclass(eq=False, repr=False)
class TypeConsistency(StructuredLearner):
    """Add evidence about kinds of words, gathered from unlabeled sentences, to a sequence learner.

    Parameters
    ----------
    learner : CRF, StructuredSVM or StructuredPerceptron
        The first model; its ``structure`` (a Sequence) and ``view`` are those of the whole. Views that learn from
        unlabeled text (:class:`CanonicalFeatures`, :class:`DistributionalFeatures`) make it a better one.
    strength : float or "auto"
        Factor of the log odds of each kind; 0 is the learner alone. "auto" compares the learner alone, with type
        evidence (0.4), and with a student on top, on held-out labeled folds, and takes the best.
    keys : sequence of str
        Kinds of words: "word" (in lower case), "suffix2" to "suffix4", "class" (left out if no view has word classes).
    smoothing : float
        Tokens with the average distribution of labels that are added to every kind.
    student : bool
        Let a perceptron learn the result on unlabeled sentences.
    student_view : View, optional
        Its features; default: ``TokenFeatures(window=1)``.
    max_student : int
        Unlabeled sentences that the student learns from, at most.
    rounds : int
        How often evidence is gathered and a student taught: from the second time on, from what the student predicts.
    recall : float
        What the label of tokens that belong to nothing loses in every round, as log odds, so that the student and the
        outcome have more spans. Few labels make taggers careful; 1 raised F1 of spans, at the price of wrong tokens.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : Weights
        Of the learner's features, the type evidence and the student's features, side by side.
    strength_, student_ : float, bool
        What was used.
    auto_report_ : list of dict or None
        What "auto" tried, the errors on each fold, and why it chose.
    transduction_ : list
        Outputs predicted for the unlabeled training examples.

    Examples
    --------
    >>> from accord import CRF, Sequence, TypeConsistency
    >>> X = [["Ana", "lives", "in", "Rome"], ["Tom", "left"], ["Ana", "left"]]
    >>> Y = [["PER", "O", "O", "LOC"], ["PER", "O"], None]
    >>> TypeConsistency(CRF(Sequence()), strength=0.4, random_state=0).fit(X, Y).transduction_
    [['PER', 'O']]
    """

    learner: StructuredLearner
    strength: Any = "auto"
    keys: tuple[str, ...] = ("word", "suffix4", "class")
    smoothing: float = 1.0
    student: bool = True
    student_view: View | None = None
    max_student: int = 8000
    rounds: int = 1
    recall: float = 0.0
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {
        "learner": PART,
        "strength": either(NOT_NEGATIVE, "auto"),
        "student": FLAG,
        "max_student": whole(0),
        "rounds": whole(1),
        "recall": NOT_NEGATIVE,
    }
    former: ClassVar = {"rounds": 1, "recall": 0.0}

    @property
    def structure(self) -> Structure:  # type: ignore[override]
        """What is predicted."""
        return self.learner.structure

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TypeConsistency:
        """Train on labeled and unlabeled sentences (``y[i] is None``).

        ``sample_weight`` goes to the learner, and scales what the sentences count for in type evidence and for the
        student.
        """
        self._check_params()
        self.learner._check_params()
        labeled, known, unlabeled = self._prepare(X, y, sample_weight)
        places = inputs.numbers(X, y, sample_weight, self.structure)
        parts = self._parts(self.structure_.view_inputs(X), places, labeled, known, unlabeled)
        rng = generator(self.random_state)
        n_labeled = labeled.n_inputs
        self.auto_report_: list[dict[str, Any]] | None = None
        stage = Stage("fixed", 0.0 if self.strength == "auto" else float(self.strength), self.student)
        if not unlabeled.n_inputs:
            warnings.warn("Y has no unlabeled example (None): only the learner itself is trained", stacklevel=2)
            stage = Stage("learner alone", 0.0, False)
        elif self.strength == "auto":
            stage = self._choose(parts, n_labeled, rng)
        self.strength_, self.student_ = stage.weight, stage.student and stage.weight > 0
        self._assemble(parts, stage, rng)
        found = self._decode(self._scores, self.weights_.transitions, parts.rows.offsets)
        self.transduction_ = self.structure_.outputs(found, parts.rows.offsets)[n_labeled:]
        return self

    def _new_view(self, structure: Any, X: Any) -> View:
        return self.learner._new_view(structure, X)

    def _parts(self, X: Any, places: Any, labeled: Rows, y: np.ndarray, unlabeled: Rows) -> Parts:
        sentences = [X[i] for i in np.concatenate(places)]
        self._base_view, self._student_view = self.view_, None
        if self.student:
            self._student_view = TokenFeatures(window=1) if self.student_view is None else clone(self.student_view)
        rows = join_inputs(labeled, unlabeled)
        student_rows = None
        if self._student_view is not None:
            student_rows = replace(self._student_view.fit_rows(sentences), input_weights=rows.input_weights)
        hidden = np.full(unlabeled.n_rows, -1, np.int32)
        return Parts(sentences, rows, student_rows, np.concatenate([y, hidden]))

    # -- the three models -------------------------------------------------------------------------------------------
    def _assemble(self, parts: Parts, stage: Stage, rng: np.random.Generator, base: Weights | None = None) -> Weights:
        """Train on all labeled inputs of ``parts`` and set the model; returns the first model's weights, for reuse."""
        seed = int(rng.integers(2**31))
        base = self._first_model(parts, seed) if base is None else base
        first = Sum([self._base_view], [base.unary], base.transitions, parts.rows.scores(base.unary))
        model = first
        for _ in range(self.rounds if stage.weight > 0 else 0):
            model = self._round(parts, stage, first, model, rng)
        self.view_ = ConcatenatedViews.of_fitted(model.views) if len(model.views) > 1 else model.views[0]
        self.weights_ = Weights(np.concatenate(model.blocks), model.transitions)
        self._scores = model.unary
        self._forget_products()
        return base

    def _round(self, parts: Parts, stage: Stage, first: Sum, teacher: Sum, rng: np.random.Generator) -> Sum:
        """The first model with evidence from what the teacher predicts, and with a student of both."""
        odds = TypeOdds((*self._keys(), *["any"] * (self.recall != 0)), self.smoothing, self._words())
        tagged = self._taught(parts, teacher.unary, teacher.transitions)
        is_outside = np.array([label == self.structure_.outside for label in self.structure_.labels_])
        always = is_outside * (-self.recall / stage.weight)
        odds.learn(parts.X, tagged, self.structure_.n_labels_, parts.rows.row_weights(), always)
        per_label = np.eye(self.structure_.n_labels_, self.structure_.n_columns_)
        evidence = odds.transform(parts.X).scores(per_label)
        factor = stage.weight
        if not isinstance(self.learner, ProbabilisticLearner):  # log odds in units of the learner's scores
            factor *= _spread(first.unary) / max(_spread(evidence), 1e-12)
        model = first.plus(odds, factor * per_label, factor * evidence)
        if not stage.student or parts.student_rows is None:
            return model
        learned = self._teach(parts, self._taught(parts, model.unary, model.transitions), rng)
        scores = parts.student_rows.scores(learned.unary)
        factor = float(model.unary.std() / max(scores.std(), 1e-12))
        return model.plus(self._student_view, factor * learned.unary, factor * scores, factor * learned.transitions)

    def _first_model(self, parts: Parts, seed: int) -> Weights:
        given = np.flatnonzero(sums_by_input(parts.y >= 0, parts.rows.offsets))
        part = clone(self.learner)
        if "random_state" in part.get_params():
            part.set_params(random_state=seed)
        part.structure_ = self.structure_
        return part._learn(parts.rows.take(given), parts.y[ragged_rows(parts.rows.offsets, given)]).weights_

    def _teach(self, parts: Parts, y: np.ndarray, rng: np.random.Generator) -> Weights:
        """A perceptron that learns pseudo-labels, and the labeled sentences several times."""
        rows = parts.student_rows
        assert rows is not None
        known = sums_by_input(parts.y >= 0, rows.offsets) > 0
        others = np.flatnonzero(~known)
        if others.size > self.max_student:
            others = rng.choice(others, self.max_student, replace=False)
        chosen = np.concatenate([np.repeat(np.flatnonzero(known), COPIES), others])
        student = StructuredPerceptron(self.learner.structure, max_iter=2, random_state=int(rng.integers(2**31)))
        student.structure_ = self.structure_
        return student._learn(rows.take(chosen), y[ragged_rows(rows.offsets, chosen)]).weights_

    # -- choosing ---------------------------------------------------------------------------------------------------
    def _choose(self, parts: Parts, n_labeled: int, rng: np.random.Generator) -> Stage:
        stages = [Stage("learner alone", 0.0, False), Stage("type evidence", 0.4, False)]
        if self.student:
            stages.append(Stage("type evidence and student", 0.4, True))
        seed = int(rng.integers(2**31))
        first_models: dict[int, Weights] = {}  # the stages of a fold begin with the same model

        def errors(stage: Stage, used: np.ndarray, held_out: np.ndarray) -> tuple[int, int]:
            truth = parts.y[ragged_rows(parts.rows.offsets, held_out)]
            both = np.concatenate([used, held_out])
            hidden = parts.y[ragged_rows(parts.rows.offsets, both)].copy()
            hidden[hidden.size - truth.size :] = -1
            student_rows = None if parts.student_rows is None else parts.student_rows.take(both)
            inner = Parts([parts.X[i] for i in both], parts.rows.take(both), student_rows, hidden)
            fold = int(held_out[0])
            first_models[fold] = self._assemble(inner, stage, generator(seed), first_models.get(fold))
            found = self._decode(self._scores, self.weights_.transitions, inner.rows.offsets)
            found = found[hidden.size - truth.size :]
            return int(np.sum((found != truth) & (truth >= 0))), int(np.sum(truth >= 0))

        chosen, self.auto_report_ = choose(
            stages, errors, n_labeled, parts.rows.n_inputs, None, rng, strict=False, progress=self._progress
        )
        return chosen

    # -- helpers ----------------------------------------------------------------------------------------------------
    def _keys(self) -> tuple[str, ...]:
        return tuple(key for key in self.keys if key != "class" or self._words() is not None)

    def _words(self) -> Any:
        """The part of the learner's view that knows word classes."""
        views = [self._base_view]
        for view in views:
            if getattr(view, "n_classes", 0) and hasattr(view, "word_classes"):
                return view
            views += getattr(view, "views_", [])  # of views in views, too
        return None

    def _decode(self, unary: np.ndarray, transitions: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        y, best = np.empty(unary.shape[0], np.int32), np.empty(offsets.size - 1)
        vit.viterbi_batch(offsets, unary, *self.structure_.chain(transitions), y, best)
        return y

    def _taught(self, parts: Parts, unary: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        """The labels that are known, and what these scores predict for all other tokens."""
        predicted = self._decode(unary, transitions, parts.rows.offsets)
        return np.where(parts.y >= 0, parts.y, predicted).astype(np.int32)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k not in ("_scores", "_base_view", "_student_view")}


def _spread(scores: np.ndarray) -> float:
    """Typical difference between the scores of two labels of a token."""
    return float(np.mean(np.std(scores, axis=1)))
