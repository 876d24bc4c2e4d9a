"""One good default for label sequences from few labels: what was found best, if held-out labeled sentences agree."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from accord.exceptions import InputError
from accord.forms import REPORT, optional
from accord.learners import inputs, safety
from accord.learners.base import StructuredLearner
from accord.learners.crf import CRF
from accord.learners.rule_labels import about, all_labels, kind_of, labels_by_rules
from accord.learners.rules import as_rules
from accord.learners.svm import StructuredSVM
from accord.learners.tag_schemes import LOSSES, counts, metric_of, natural_structure
from accord.learners.type_consistency import TypeConsistency
from accord.packed.structure import Structure
from accord.settings import POSITIVE, either, example_weights, generator, one_of
from accord.structures.chains.sequence import Sequence
from accord.views.base import View
from accord.views.canonical import CanonicalFeatures
from accord.views.compose import ConcatenatedViews, new_view
from accord.views.distributional import DistributionalFeatures
from accord.views.label_scores import LabelScores
from accord.views.list_likeness import ListLikeness
from accord.views.packed_once import PackedOnce
from accord.views.text import TokenFeatures

RULE_WEIGHT = 0.03  # what a sentence with labels by rules counts for


class Way(NamedTuple):
    """A way to learn: what it is called, whether unlabeled sentences count, and the learner."""

    name: str
    weight: float
    learner: StructuredLearner
    by_rules: bool = False  # whether rules have a say


@dataclass(eq=False, repr=False)
class Tagger(StructuredLearner):
    """Label sequences from few labeled and many unlabeled sentences, without settings.

    Words get vectors from all sentences, a CRF learns from the labeled ones, what it predicts for a word everywhere is
    evidence for the next occurrence, and a student learns the outcome (:class:`TypeConsistency`). Held-out labeled
    sentences say whether that is better than learning from labels alone, and otherwise it is left; ``report_`` says
    what was used, what the unlabeled sentences brought, and what to try next. Without unlabeled sentences, or if tokens
    are no words, it is the best of the supervised learners.

    Parameters
    ----------
    structure : Sequence, optional
        Default: ``Sequence()`` with the constraints "iob2" or "bioes", if the labels are of that kind and obey it.
    view : View, optional
        Features; default: the view that fits the look of X.
    vectors : View, list or dict of View, optional
        What is known about words from elsewhere: :class:`BrownClusters`, :class:`Embeddings`, :class:`WordLists`,
        :class:`EncoderFeatures`. They are features beside those of `view`, and all of them are left out if held-out
        labeled sentences say so.
    rules : Rules, or what `Rules` takes, optional
        Word lists, expressions and functions that label some tokens of unlabeled sentences, such as
        ``{"LOC": ["Rome", "New York"]}``. What they touch and what looks like it becomes spans; how often each rule is
        right is estimated, and rules that are right in less than 30 % of their matches are dropped. Without any labeled
        sentence rules are all there is to learn from; with some, the scores of a model that has learned from rules are
        features beside the others, if held-out labeled sentences do not say that they harm. A model file does not hold
        the rules: a loaded model has ``rules=None``.
    metric : "auto", "tokens" or "spans"
        What held-out sentences are to say: the share of wrong tokens, or F1 of spans (labels B-type, I-type and O).
        "auto": spans, if the labels are of that kind.
    time_budget : float, optional
        Seconds after which nothing else is tried; default: all that there is. What was chosen is then fitted.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : Weights
    rule_report_ : list of dict, or None
        Of each rule: its name, its matches, how many of these have labels, its estimated precision, and if it is used.
    report_ : list of str
        What was used, what the unlabeled sentences brought on held-out labeled ones, what to try next.
    auto_report_ : list of dict
        What was compared, the errors on each fold, and why it was chosen.
    transduction_ : list
        Outputs predicted for the unlabeled training examples.

    Examples
    --------
    >>> from accord import Tagger
    >>> X = [["Ana", "lives", "in", "Rome"], ["Tom", "left"], ["Ana", "left"]]
    >>> Y = [["PER", "O", "O", "LOC"], ["PER", "O"], None]
    >>> Tagger(random_state=0).fit(X, Y).transduction_
    [['PER', 'O']]
    >>> model = Tagger(rules={"PER": ["Ana", "Tom"], "LOC": ["Rome"]}, random_state=0).fit(X, [None, None, None])
    >>> model.predict([["Tom", "lives", "in", "Rome"]])
    [['B-PER', 'O', 'O', 'B-LOC']]
    """

    structure: Structure | None = None  # type: ignore[assignment]
    view: View | None = None
    vectors: Any = None
    rules: Any = None
    metric: str = "auto"
    time_budget: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {"metric": one_of("auto", *LOSSES), "time_budget": either(POSITIVE, None)}
    stored: ClassVar = {"report_": optional(REPORT), "rule_report_": optional(REPORT)}
    former: ClassVar = {"vectors": None, "rules": None, "metric": "tokens", "time_budget": None}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Tagger:
        """Train on labeled and unlabeled sentences (``y[i] is None``; in a sentence, ``None`` for single tokens).

        ``sample_weight[i]`` is what sentence i counts for, labeled or not: in learning, and labeled ones where held-out
        sentences decide. A labeled sentence of weight 0 extends the feature space, and that is all.
        """
        self._check_params()
        began = time.monotonic()
        outputs = inputs.output_list(X, y)
        weights = example_weights(sample_weight, len(outputs))
        each = np.ones(len(outputs)) if weights is None else weights
        given, unlabeled = inputs.labeled_inputs(outputs, each), inputs.unlabeled_inputs(X, outputs)
        natural = natural_structure([outputs[i] for i in given])
        structure = inputs.new_structure(natural if self.structure is None else self.structure, self)
        listed = [x for _, chunk in inputs.chunks(X, max(1, len(outputs))) for x in chunk]
        sentences = structure.view_inputs(listed)  # texts become tokens once: views know sentences by identity
        view = inputs.new_view(self.view, structure, sentences) if sentences else TokenFeatures()
        text, rng = self._packed(view, sentences), generator(self.random_state)
        elsewhere = []
        if self.vectors is not None and sentences:
            elsewhere = [self._packed(new_view(self.vectors, sentences), sentences)]
        ruled, like, structure = self._ruled(structure, sentences, outputs, given, rng)
        told = [y if rule is None else rule for y, rule in zip(outputs, ruled)] if not given.size else outputs
        CRF(structure, text)._prepare(sentences, told, weights)  # finds mistakes in the data
        order = np.concatenate([given, unlabeled])
        pool = [sentences[i] for i in (*order, *np.setdiff1d(np.arange(len(outputs)), order))]
        X, y = pool[: order.size], [outputs[i] for i in given] + [None] * unlabeled.size
        each, ruled = each[order], [ruled[i] for i in order]
        ways = self._ways(structure, text, elsewhere, pool, given.size, ruled, like, each, rng)
        ways = ways if given.size else [way for way in ways if way.by_rules]
        left = None if self.time_budget is None else self.time_budget - (time.monotonic() - began)
        way = self._choose(ways, X, y, each, given.size, left, rng)
        used = np.arange(order.size if way.weight else given.size)
        way.learner.set_params(verbose=self.verbose)
        model = _fitted(way, X, y, each, used) if given.size else _taught_by_rules(way.learner, X, ruled, each)
        self._forget_products()
        self.structure_, self.weights_, self.view_ = model.structure_, model.weights_, _unpacked(model.view_)
        known = None if way.by_rules else getattr(model, "transduction_", None)
        self.transduction_ = self.predict(X[given.size :]) if known is None else known
        self.report_ = self._report(way, given.size, len(y) - given.size)
        return self

    def _ruled(
        self, structure: Any, X: list[Any], outputs: list[Any], given: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[Any], list[View], Any]:
        """Labels by rules for unlabeled sentences, a view of which words are like those that rules touch, and the
        structure, which without any other labels has theirs."""
        self._about_rules, self.rule_report_ = "", None
        if self.rules is None:
            return [None] * len(X), [], structure
        rules = as_rules(self.rules)
        if X and not are_words(X):
            raise InputError("rules: X has no words to look for; expected texts, or lists of words")
        labeled = [outputs[i] if i in set(given.tolist()) else None for i in range(len(X))]
        labels = {label for y in labeled if y is not None for label in y} | {*(structure.labels or ())}
        found = labels_by_rules(rules, X, labeled, labels - {None}, rng)
        self._about_rules, self.rule_report_ = about(found.judged), [rule._asdict() for rule in found.judged]
        like = [] if len(found.phrases) < 2 else [ListLikeness(found.phrases, names=_are_names(found.phrases.values()))]
        if given.size:
            return found.outputs, like, structure
        if not any(y is not None for y in found.outputs):
            raise InputError(f"no example is labeled, and no rule that is trusted says anything; {self._about_rules}")
        if self.structure is None:
            kinds = {kind_of(label) for y in found.outputs if y is not None for label in y if label is not None}
            structure = Sequence(labels=all_labels(kinds), constraints="iob2")
        return found.outputs, like, structure

    def _saved(self) -> dict[str, Any]:
        """What model files hold: rules are of use while it learns, and may be functions."""
        return {**vars(self), "rules": None}

    def _packed(self, view: View, X: list[Any]) -> PackedOnce:
        return PackedOnce(view).pack(X)

    # -- ways to learn ----------------------------------------------------------------------------------------------
    def _ways(
        self, structure: Structure, text: PackedOnce, vectors: list[PackedOnce], X: list[Any], n_labeled: int,
        ruled: list[Any], like: list[View], each: np.ndarray, rng: np.random.Generator,
    ) -> list[Way]:  # fmt: skip
        """What was found best with unlabeled sentences first, then what was found best without them; of each kind with
        rules and with the vectors that are given first, then without them."""
        settings: dict[str, Any] = {"n_jobs": self.n_jobs, "random_state": int(rng.integers(2**31))}
        learned, n = [], len(ruled)
        if n > n_labeled and are_words(X):
            learned = [self._packed(ConcatenatedViews(word_vectors()), X)]

        def rich(views: list[PackedOnce]) -> CRF:
            everything = _side_by_side([text, *learned, *views])
            return CRF(structure, everything, C=30.0, tol=1e-4, max_iter=100, **settings)

        def consistent(views: list[PackedOnce]) -> TypeConsistency:
            return TypeConsistency(rich(views), strength=0.4, student_view=_side_by_side([text, *views]), **settings)

        semi, supervised = [], []
        if learned and any(y is not None for y in ruled):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # where all names are of one kind, words are like nothing else
                known = [*vectors, *(self._packed(view, X) for view in like)]
            if n_labeled:  # what rules teach without labels is known from elsewhere, too
                taught = _taught_by_rules(consistent(known), X[n_labeled:n], ruled[n_labeled:], each[n_labeled:])
                said = LabelScores().learn(_unpacked(taught.view_), taught.weights_.unary)
                known = [*vectors, self._packed(said, X)]
            semi.append(Way("rules and type consistency", 1.0, consistent(known), True))
        for used in (vectors, []) if vectors else ([],):
            features, known_as = _side_by_side([text, *used]), "" if used == vectors else ", no vectors"
            supervised += [
                Way("SVM" + known_as, 0.0, StructuredSVM(structure, features, C=0.1, **settings)),
                Way("CRF" + known_as, 0.0, CRF(structure, features, **settings)),
            ]
            if learned:
                semi.append(Way("type consistency" + known_as, 1.0, consistent(used)))
                if used == vectors:
                    semi.append(Way("CRF with word vectors", 1.0, rich(used)))
        return semi + supervised

    def _choose(
        self, ways: list[Way], X: list[Any], Y: list[Any], each: np.ndarray, n_labeled: int, seconds: float | None,
        rng: np.random.Generator,
    ) -> Way:  # fmt: skip
        """The first way that is not clearly worse than another one on held-out labeled sentences."""

        self._metric = metric = metric_of(self.metric, Y[:n_labeled])

        def errors(way: Way, used: np.ndarray, held_out: np.ndarray) -> np.ndarray:
            used = used if way.weight else used[used < n_labeled]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = _fitted(way._replace(learner=clone(way.learner)), X, Y, each, used)
            found = model.predict([X[i] for i in held_out])
            return each[held_out, None] * counts(metric, [Y[i] for i in held_out], found)

        chosen, self.auto_report_ = safety.most_trusted(ways, errors, LOSSES[metric], n_labeled, len(X), rng, seconds)
        return chosen

    # -- what is said about it --------------------------------------------------------------------------------------
    def _report(self, way: Way, n_labeled: int, n_unlabeled: int) -> list[str]:
        """Three lines: what was used, what unlabeled sentences brought, what to try next."""
        used = f"{n_labeled:,} labeled" + (f" and {n_unlabeled:,} unlabeled" if way.weight else "")
        rates = {0.0: [1.0], 1.0: []}  # errors on held-out sentences, without and with unlabeled ones
        for entry in self.auto_report_ or ():
            if entry["fold_errors"]:
                rates[entry["unlabeled_weight"]].append(float(np.mean(entry["fold_errors"])))
        alone, both = min(rates[0.0]), min(rates[1.0], default=None)
        if not n_unlabeled:
            brought = "none were given"
            advice = "give unlabeled sentences of the same kind, too: with few labels they bring the most for the least"
        elif both is None:
            brought = "they were not compared" if way.weight else "they were not used, for tokens are no words"
            advice = "label more sentences"
        else:
            brought = f"{100 * both:.1f} % of held-out tokens are wrong with them, {100 * alone:.1f} % without"
            if self._metric == "spans":
                brought = f"F1 of held-out spans is {100 - 100 * both:.1f} with them, {100 - 100 * alone:.1f} without"
            advice = "label more sentences: unlabeled ones did not help here"
            if way.weight:
                advice = "correct some of the predictions for unlabeled sentences, and add these as labeled ones"
        lines = [f"used: {way.name}, {used} sentences", f"unlabeled sentences: {brought}", f"next: {advice}"]
        if self._about_rules:
            used_at_all = "" if way.by_rules else "; held-out labels are better off without all of them"
            lines.insert(1, self._about_rules + used_at_all)
        return lines


def _fitted(way: Way, X: list[Any], Y: list[Any], each: np.ndarray, used: np.ndarray) -> Any:
    """The learner of a way, trained on some sentences."""
    return way.learner.fit([X[i] for i in used], [Y[i] for i in used], sample_weight=[*each[used]])


def _taught_by_rules(learner: StructuredLearner, X: list[Any], ruled: list[Any], each: np.ndarray) -> Any:
    """The learner, trained on unlabeled sentences; those that rules label are there once more, as labeled ones."""
    extra = [i for i, y in enumerate(ruled) if y is not None]
    places, labels = [*range(len(ruled)), *extra], [*[None] * len(ruled), *(ruled[i] for i in extra)]
    weights = [*each, *(RULE_WEIGHT * each[extra])]
    return learner.fit([X[i] for i in places], labels, sample_weight=weights)


def word_vectors() -> list[View]:
    """Two kinds of vectors of words that unlabeled text teaches."""
    return [
        CanonicalFeatures(n_classes=2048, window=1, scale=5.0),
        DistributionalFeatures(
            n_classes=(), classes=False, n_components=100, min_count=1, neighbours=2, lowercase=False, window=1,
            scale=4.0,
        ),
    ]  # fmt: skip


def are_words(X: Seq[Any]) -> bool:
    """Whether inputs are lists of strings."""
    first = next((x for x in X if len(x)), ())
    return isinstance(first, (list, tuple)) and all(isinstance(token, str) for token in first)


def _are_names(phrases: Iterable[list[str]]) -> bool:
    """Whether most phrases have capital letters."""
    capital = [phrase != phrase.lower() for some in phrases for phrase in some]
    return 2 * sum(capital) > len(capital)


def _side_by_side(views: list[PackedOnce]) -> PackedOnce:
    """The features of all of them."""
    return views[0] if len(views) == 1 else PackedOnce.joined(views)


def _unpacked(view: View) -> View:
    """The view itself, where it was packed for several fits."""
    if isinstance(view, PackedOnce):
        return view.view
    if isinstance(view, ConcatenatedViews):
        return ConcatenatedViews.of_fitted([_unpacked(part) for part in view.views_])
    return view
