"""The default for classes: ways to learn from labels and unlabeled examples race on held-out labels.

`class_ways` has the ways, `class_race` says which one is trusted, `class_views` what features they may learn from. All
are linear in the features of a view, and so is what comes out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import ClassifierTags

from accord.exceptions import InputError
from accord.forms import NUMBER, REPORT, TEXT, array, mapping, optional
from accord.learners import class_error, class_report, inputs
from accord.learners.base import ProbabilisticLearner
from accord.learners.class_losses import ERROR, LOSSES
from accord.learners.class_race import Entry, Tried, attempt, best, n_rounds, predicted, race
from accord.learners.class_views import Seen, groups_of_views, other_views
from accord.learners.class_ways import FIRST_C, LABELS, STUDENT_C, Examples, Linear, Way, labels_alone, ways
from accord.learners.rule_classes import RuleClasses, classes_by_rules
from accord.learners.rule_labels import Judged, about
from accord.learners.rules import as_rules, rows_of
from accord.learners.safety import FOLDS, labeled_folds
from accord.learners.smooth_machines import one_blas_thread
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.packed.weights import Weights
from accord.settings import POSITIVE, either, generator, one_of
from accord.solvers import soft_classes
from accord.structures.chains.multiclass import MultiClass
from accord.views.base import View
from accord.views.dense import ArrayFeatures
from accord.views.dicts import DictFeatures

CS = (1.0, 10.0, 100.0, 1000.0)
MAX_UNLABELED = 2000  # while ways are compared; the chosen one learns from all


@dataclass(eq=False, repr=False)
class Classifier(ProbabilisticLearner):
    """Classes of texts, rows of numbers or features by name, from few labels and many unlabeled examples.

    Start here: what you have goes in as it is, ``None`` stands for no label, everything else is chosen on held-out
    labels. It takes for granted that classes are about as frequent among unlabeled examples as among labeled ones.

    Parameters
    ----------
    structure : MultiClass or Taxonomy, optional
        What is predicted; default: ``MultiClass()``. The classes of a taxonomy are learned as flat ones.
    view : View, or list or dict of views, optional
        Features; default: the view that fits the look of X (`TextFeatures` for strings, also among the columns of a
        DataFrame or the entries of dicts; numbers are standardized, and may be seen by a kernel or a graph of nearest
        neighbours instead). Of several views it is tried whether they agree; a view that leaves choices open, such as
        `LinkedFeatures`, is tried with each.
    C : float or "auto"
        Weight of the likelihood of the labels; "auto" takes what is best on held-out labels.
    learn_unlabeled : "auto", "always" or "never"
        Whether to learn from unlabeled examples. "auto" tries, and takes what is expected to err least: by errors on
        held-out labels, and by how many predictions for unlabeled examples change when labels are left out. Labels
        alone win ties.
    rules : Rules, or what `Rules` takes, optional
        Word lists, expressions and functions that know the class of some unlabeled inputs, such as
        ``{"good": ["excellent", "delicious"]}``. How often each is right is estimated from labels and from other rules;
        those that are right in less than 30 % are dropped. Without labels, rules are all there is to learn from; else
        learning from rules, too, is one more way to try. A model file does not hold the rules.
    metric : "error" or "macro_f1"
        What decides on held-out labels: how many are wrong, or macro F1, for which a rare class is as important as
        others.
    time_budget : float, optional
        Seconds after which nothing else is tried, from the beginning of the fit, nor begun if it would take longer;
        what takes the least time, labels alone, is tried first in all views. Default: all that there is.
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : Weights
    bias_ : ndarray of shape (n_labels,)
        Constants of the scores.
    C_ : float
        Of labels alone, in the view that was chosen; of what learns along links, which has a fixed one.
    rule_report_ : list of dict, or None
        Of each rule: its name, its matches, how many of these have labels, its estimated precision, and if it is used.
    expected_error_ : dict, or None
        The share of new examples whose class will be wrong, ``"error"``, an interval of 90 % from ``"low"`` to
        ``"high"``, and what it was made of; None without labels to hold out. It knows that the choice was made on the
        same labels. :func:`estimate_error` has it for given inputs.
    report_ : list of str
        Four sentences (and one about rules): what was used, what the unlabeled examples brought, how often it will err,
        and what to try next.
    auto_report_ : list of dict
        What was tried, the errors on each fold, the doubt that predictions for unlabeled examples raise (a share of
        them), the error that is expected, and which one was chosen.
    transduction_ : list
        Classes predicted for the unlabeled training examples.

    Examples
    --------
    >>> from accord import Classifier
    >>> texts = ["good wine", "bad service", "good food", "bad wine list", "good good", "so bad"]
    >>> model = Classifier(random_state=0).fit(texts, ["yes", "no", "yes", "no", None, None])
    >>> model.predict(["a good list", "bad food"]).tolist()
    ['yes', 'no']
    >>> rules = {"yes": ["good"], "no": ["bad"]}
    >>> Classifier(rules=rules, random_state=0).fit(texts, [None] * 6).predict(["good service"]).tolist()
    ['yes']
    """

    structure: Structure | None = None  # type: ignore[assignment]
    view: Any = None
    C: Any = "auto"
    learn_unlabeled: str = "auto"
    rules: Any = None
    metric: str = ERROR
    time_budget: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {
        "C": either(POSITIVE, "auto"),
        "learn_unlabeled": one_of("auto", "always", "never"),
        "metric": one_of(*LOSSES),
        "time_budget": either(POSITIVE, None),
    }
    stored: ClassVar = {
        "C_": POSITIVE,
        "report_": REPORT,
        "rule_report_": optional(REPORT),
        "bias_": optional(array("f8", "structure.n_columns")),
        "expected_error_": optional(mapping(TEXT, NUMBER)),
    }
    former: ClassVar = {**ProbabilisticLearner.former, "rules": None, "metric": ERROR}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Train on labeled and unlabeled examples (``y[i] is None``).

        ``sample_weight[i]`` is what example i counts for, labeled or not: in learning, and labeled ones where held-out
        labels decide.
        """
        self._check_params()
        with one_blas_thread():
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Classifier:
        began = time.monotonic()

        def left() -> float:
            return np.inf if self.time_budget is None else self.time_budget - (time.monotonic() - began)

        said, y, sample_weight = self._ask_rules(X, y, sample_weight)
        labeled, known, unlabeled = self._prepare(X, y, sample_weight)
        self._foresee(self._tables(labeled, 18, 0), "a StructuredPerceptron")
        n, rng = labeled.n_inputs, generator(self.random_state)
        kept = np.flatnonzero(unlabeled.row_weights() > 0.0)
        hidden = unlabeled.take(kept)
        examples = Examples(
            _matrix(labeled), np.eye(self.structure_.n_labels_)[known], _matrix(hidden), labeled.row_weights(),
            hidden.row_weights(), self.view_.constant_features(), ruled=said and self._ruled(said, X, y, kept),
        )  # fmt: skip
        strata, enough = self.structure_.strata(known), n > 1 and n >= 2 * min(FOLDS, n)
        rounds = [labeled_folds(n, strata, rng) for _ in range(n_rounds(n) * enough)]
        some = np.sort(rng.permutation(kept.size)[:MAX_UNLABELED])
        views = iter([Seen("", self.view_, examples, _matrix(unlabeled), self.view_.members(labeled, rng))])
        if enough and left() > 0.0:
            shown = self.structure_.view_inputs(inputs.as_inputs(X))
            places = inputs.numbers(X, y, sample_weight, self._new_structure())
            views = chain(views, other_views(self.view, self.view_, shown, examples, *places, kept, rng))
        seen: list[Seen] = []
        Cs: list[float] = []
        entries: list[Entry] = []
        longest = 0.0
        while not seen or left() > longest:  # no view is prepared that would take too long if it was like the longest
            start = time.monotonic()
            if (one := next(views, None)) is None:
                break
            seen.append(one)
            Cs.append(self._choose_C(one, rounds[:1]))
            entries += self._entries(len(seen) - 1, one, Cs[-1], rng)
            longest = max(longest, time.monotonic() - start)
        with self._progress(len(entries) + 1, "classifier") as progress:
            tried = race(entries, rounds, some, left(), progress.advance, self.metric) if rounds else []
            chosen, entry = self._chosen(tried, entries)
            learned = None if chosen is None else chosen.learned
            found = entry.way.learn(entry.examples) if learned is None else learned
            progress.advance()
        self.expected_error_ = None
        if chosen is not None:
            sharpness = soft_classes.sharpness(chosen.scores, examples.labels, examples.weights)
            found = found.times(sharpness)
            if self.rule_report_ is None or said is not None:  # labels by rules know nothing of errors
                candidates = self._candidates(tried, entries)
                self.expected_error_ = class_error.expected_error(candidates, chosen, sharpness, rng)
        self.C_, self.view_ = Cs[entry.seen], seen[entry.seen].view
        self._keep(found)
        self.auto_report_ = class_report.table(tried, chosen, rounds[0]) if chosen is not None else []
        self.report_ = class_report.sentences(entry, tried, chosen, self.C_)
        if self.expected_error_ is not None:
            self.report_.insert(2, class_error.sentence(self.expected_error_))
        if self.rule_report_ is not None:
            if said is None:
                self.report_[0] = self.report_[0].replace(" labeled", " labeled by rules", 1)
            self.report_.insert(1, about([Judged(**rule) for rule in self.rule_report_]))
        guesses = predicted(found, seen[entry.seen].unlabeled)
        self.transduction_ = self.structure_.outputs(guesses, unlabeled.offsets)
        return self

    def _ask_rules(self, X: Any, y: Any, sample_weight: Any) -> tuple[RuleClasses | None, Any, Any]:
        """What rules say of the inputs, and labels and weights, which are those of the rules if there are no others."""
        self.rule_report_: list[dict[str, Any]] | None = None
        if self.rules is None:
            return None, y, sample_weight
        outputs = inputs.output_list(X, y, self._new_structure())
        labels = {label for label in outputs if label is not None}
        said = classes_by_rules(as_rules(self.rules), rows_of(X), outputs, sorted(labels, key=str) or None)
        self.rule_report_ = [rule._asdict() for rule in said.judged]
        if labels:
            return said, y, sample_weight
        found = np.flatnonzero(said.probabilities.any(axis=1))
        if not found.size:
            raise InputError(f"no example is labeled, and no rule that is trusted says anything; {about(said.judged)}")
        for i in found:
            outputs[i] = said.classes[int(said.probabilities[i].argmax())]
        each = np.ones(len(outputs)) if sample_weight is None else np.array(sample_weight, float)
        each[found] *= said.probabilities[found].max(axis=1)
        return None, outputs, each

    def _ruled(self, said: RuleClasses, X: Any, y: Any, kept: np.ndarray) -> np.ndarray:
        """Probabilities that rules give, of the structure's labels, for the unlabeled inputs that count."""
        unlabeled = inputs.unlabeled_inputs(X, y, self._new_structure())[kept]
        place = {label: i for i, label in enumerate(said.classes)}
        columns = [place.get(label, -1) for label in self.structure_.labels_]
        wide = np.hstack([said.probabilities, np.zeros((len(said.probabilities), 1))])
        return np.asarray(wide[unlabeled][:, columns])

    def _saved(self) -> dict[str, Any]:
        """What model files hold: rules are of use while it learns, and may be functions."""
        return {**vars(self), "rules": None}

    def _new_structure(self) -> Structure:
        return inputs.new_structure(MultiClass() if self.structure is None else self.structure, self)

    def _new_view(self, structure: Structure, X: Any) -> View:
        view = super()._new_view(structure, X)
        if self.view is None and isinstance(view, (ArrayFeatures, DictFeatures)) and not sp.issparse(X):
            view.standardize = True
        return view

    def __sklearn_tags__(self) -> Any:
        """Those of a classifier, also if the structure is left open."""
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        tags.input_tags.two_d_array = tags.target_tags.one_d_labels = True
        return tags

    # -- what is compared -------------------------------------------------------------------------------------------
    def _entries(self, number: int, seen: Seen, C: float, rng: np.random.Generator) -> list[Entry]:
        """Ways to learn from the rows of a view."""
        examples, groups = seen.examples, []
        if examples.hidden.shape[0] and self.learn_unlabeled != "never":
            groups = groups_of_views(seen, rng)
            n = examples.X.shape[0]
            tables = [part.table for group in groups for part in group]
            examples = examples._replace(parts=tuple((table[:n], table[n:]) for table in tables))
        found = ways(C, examples, groups, seen.linked)
        if self.learn_unlabeled == "never":
            found = [way for way in found if not way.unlabeled]
        names = [f"{seen.name}: {way.name}" if seen.name else way.name for way in found]
        return [Entry(way, number, examples, name, seen.linked) for way, name in zip(found, names)]

    def _choose_C(self, seen: Seen, rounds: list[list[np.ndarray]]) -> float:
        """The C that errs least on held-out labels, the smallest of equals."""
        if self.C != "auto":
            return float(self.C)
        if seen.linked and seen.examples.hidden.shape[0] and self.learn_unlabeled != "never":
            return STUDENT_C  # labels alone are not tried
        if not rounds:
            return FIRST_C

        def rate(C: float) -> float:
            way = Way(LABELS, False, partial(labels_alone, C=C))
            found = attempt(Entry(way, 0, seen.examples, LABELS), rounds, np.empty(0, np.int64), self.metric)
            assert found is not None  # there is no limit of time
            return found.rate

        return min(CS, key=rate)

    def _candidates(self, tried: list[Tried], entries: list[Entry]) -> list[Tried]:
        """What may be chosen of what was tried."""
        always = self.learn_unlabeled == "always" and any(entry.way.unlabeled for entry in entries)
        return [one for one in tried if one.entry.way.unlabeled or not always]

    def _chosen(self, tried: list[Tried], entries: list[Entry]) -> tuple[Tried | None, Entry]:
        """What is trusted most; without enough labels to try, the first."""
        candidates = self._candidates(tried, entries)
        if candidates:
            chosen = best(candidates)
            return chosen, chosen.entry
        always = self.learn_unlabeled == "always"
        return None, next((entry for entry in entries if entry.way.unlabeled or not always), entries[0])

    def _keep(self, found: Linear) -> None:
        """Weights of labels as those of the structure's nodes, of which a label may have several."""
        nodes = self.structure_.label_scores(np.eye(self.structure_.n_nodes_))
        self.weights_ = Weights(found.weights @ np.linalg.pinv(nodes), np.zeros(self.structure_.n_transitions_))
        self.bias_ = found.constants

    def _label_scores(self, rows: Rows) -> np.ndarray:
        return super()._label_scores(rows) + getattr(self, "bias_", 0.0)  # files of earlier versions have none


def _matrix(rows: Rows) -> sp.csr_array:
    return sp.csr_array(rows.matrix())
