"""Labelled brackets: precision, recall, F1 and exact match of parse trees, computed as EVALB does.

A constituent is a label and the words [left, right) below it. Pre-terminals never count. Equal constituents (a label
twice in a chain of single children) count as often as they occur. Words whose tags are to be deleted (punctuation) are
taken out of both trees first, which moves all positions after them, and constituents without any word left are dropped.
A predicted constituent crosses if it overlaps some true one without one containing the other.

`PAPERS` counts all constituents but the root (thesis 3.2.3: root and
pre-terminals excluded). `COLLINS` is EVALB with its parameter file of that name. Two things differ from EVALB on
purpose: the true tree alone says which words are deleted, so that a wrong tag of a comma is no reason to give up on a
sentence; and trees over different words are an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from accord.datasets.trees import Constituent, Tree, as_tree, base_label, constituents, leaves, tags
from accord.evaluation.metrics import f1_of_counts
from accord.exceptions import InputError


@dataclass(frozen=True)
class BracketOptions:
    """What counts as a constituent.

    Parameters
    ----------
    delete_root : leave out the top node of every tree, whatever its label is
    delete_labels : labels of constituents that do not count
    delete_tags : words with these tags in the true tree are taken out of both trees
    equal_labels : labels (and tags) that stand for others, such as ``{"PRT": "ADVP"}``
    cut_functions : compare labels only up to their first ``-`` or ``=``
    labeled : False compares the words of constituents only
    max_length : skip sentences with more words than that; traces (``-NONE-``) are no words
    skip_failed : leave out sentences that have no predicted tree; by default their true constituents all are misses

    Examples
    --------
    >>> true, found = "(S (NP-SBJ (N dogs)) (VP (V bark)))", "(S (NP (N dogs)) (VP (V bark)))"
    >>> bracket_f1(true, found), bracket_f1(true, found, options=BracketOptions(cut_functions=True))
    (0.5, 1.0)
    """

    delete_root: bool = True
    delete_labels: Collection[str] = frozenset()
    delete_tags: Collection[str] = frozenset()
    equal_labels: Mapping[str, str] = field(default_factory=dict)
    cut_functions: bool = False
    labeled: bool = True
    max_length: int | None = None
    skip_failed: bool = False


_TRACE = "-NONE-"
_PUNCTUATION = frozenset({",", ":", "``", "''", "."})
PAPERS = BracketOptions()
COLLINS = BracketOptions(
    delete_root=False,
    delete_labels=frozenset({"TOP", _TRACE}) | _PUNCTUATION,
    delete_tags=frozenset({_TRACE}) | _PUNCTUATION,
    equal_labels={"PRT": "ADVP"},
    cut_functions=True,
    skip_failed=True,
)


@dataclass(frozen=True, eq=False)
class BracketScores:
    """Scores of a test set; the arrays have an entry for each sentence that was scored.

    Attributes
    ----------
    index : int array
        The sentences that were scored.
    matched, gold, predicted : int array
        Constituents of each sentence.
    crossing : int array
        Predicted constituents that cross a true one; -1 where there is no predicted tree.
    right_tags, words : int array
        Words with the right tag, and words, less the deleted ones.
    n_skipped : int
        Sentences left out because of ``max_length`` or ``skip_failed``.
    n_failed : int
        Sentences without a predicted tree, skipped or not.

    Examples
    --------
    >>> true = "(S (NP (N dogs)) (VP (V see) (NP (N cats))))"
    >>> scores = bracket_scores([true, true], [true, None])  # no tree was found for the second one
    >>> scores.n_failed, scores.precision, scores.recall
    (1, 1.0, 0.5)
    """

    index: np.ndarray
    matched: np.ndarray
    gold: np.ndarray
    predicted: np.ndarray
    crossing: np.ndarray
    right_tags: np.ndarray
    words: np.ndarray
    n_skipped: int
    n_failed: int

    @property
    def n_sentences(self) -> int:
        """Number of sentences that were scored."""
        return len(self.index)

    @cached_property
    def totals(self) -> tuple[int, int, int]:
        """Numbers of true, predicted and matched constituents."""
        return int(self.gold.sum()), int(self.predicted.sum()), int(self.matched.sum())

    @property
    def precision(self) -> float:
        """Matched / predicted; nan if no sentence was scored."""
        gold, predicted, matched = self.totals
        return matched / predicted if predicted else self._of_none(gold)

    @property
    def recall(self) -> float:
        """Matched / true; nan if no sentence was scored."""
        gold, predicted, matched = self.totals
        return matched / gold if gold else self._of_none(predicted)

    def _of_none(self, others: int) -> float:
        """The share of no constituents at all."""
        return float(not others) if self.n_sentences else float("nan")

    @property
    def f1(self) -> float:
        """2 · matched / (true + predicted); 1 if there are neither, nan if no sentence was scored."""
        return float(bracket_f1_of_counts(np.array(self.totals))) if self.n_sentences else float("nan")

    @property
    def exact(self) -> float:
        """Fraction of sentences whose constituents are all right, with none missing."""
        parsed = self.crossing >= 0
        return _mean((self.matched == self.gold) & (self.matched == self.predicted) & parsed)

    @property
    def mean_crossing(self) -> float:
        """Crossing constituents per parsed sentence."""
        return _mean(self.crossing[self.crossing >= 0])

    @property
    def no_crossing(self) -> float:
        """Fraction of the parsed sentences without crossing constituents."""
        return _mean(self.crossing[self.crossing >= 0] == 0)

    @property
    def tag_accuracy(self) -> float:
        """Fraction of the words with the right tag."""
        return float(self.right_tags.sum() / max(self.words.sum(), 1))

    def to_text(self) -> str:
        """The summary that EVALB prints (percentages).

        >>> tree = "(S (NP (N dogs)) (VP (V bark)))"
        >>> print(bracket_scores([tree, tree], [tree, tree]).to_text())
        2 sentences (0 skipped, 0 without a tree); constituents: 4 true, 4 predicted, 4 matched
        Bracketing recall    = 100.00
        Bracketing precision = 100.00
        Bracketing F1        = 100.00
        Complete match       = 100.00
        Average crossing     =   0.00
        No crossing          = 100.00
        Tagging accuracy     = 100.00
        """
        gold, predicted, matched = self.totals
        rows: list[tuple[str, float]] = [
            ("Bracketing recall", 100 * self.recall),
            ("Bracketing precision", 100 * self.precision),
            ("Bracketing F1", 100 * self.f1),
            ("Complete match", 100 * self.exact),
            ("Average crossing", self.mean_crossing),
            ("No crossing", 100 * self.no_crossing),
            ("Tagging accuracy", 100 * self.tag_accuracy),
        ]
        head = (
            f"{self.n_sentences} sentences ({self.n_skipped} skipped, {self.n_failed} without a tree); constituents: "
            f"{gold} true, {predicted} predicted, {matched} matched"
        )
        return "\n".join([head, *(f"{name:<21}= {value:6.2f}" for name, value in rows)])


def bracket_scores(Y_true: Sequence[Any], Y_pred: Sequence[Any], *, options: BracketOptions = PAPERS) -> BracketScores:
    """Score predicted trees against the true ones.

    Parameters
    ----------
    Y_true, Y_pred : lists of trees over the same words
        Anything that `accord.datasets.trees.as_tree` takes. None among Y_pred: there is no tree.
    options : BracketOptions
        `PAPERS` (the default), `COLLINS`, or your own; ``dataclasses.replace(COLLINS, max_length=40)`` changes one.

    Examples
    --------
    >>> true = "(S (NP (N dogs)) (VP (V see) (NP (N cats))))"
    >>> wrong = "(S (NP (N dogs)) (VP (V see)) (NP (N cats)))"
    >>> scores = bracket_scores([true], [wrong])
    >>> scores.totals, scores.recall, scores.f1, scores.exact
    ((3, 3, 2), 0.667, 0.667, 0.0)
    """
    if len(Y_true) != len(Y_pred):
        raise InputError(f"Y_pred has {len(Y_pred)} trees but Y_true has {len(Y_true)}: pass one per sentence")
    rows = []
    n_failed = 0
    for i, (given, found) in enumerate(zip(Y_true, Y_pred)):
        if given is None:
            raise InputError(f"Y_true[{i}] is None (unlabeled): score labeled sentences only")
        true = as_tree(given, f"Y_true[{i}]")
        if options.max_length is not None and sum(tag != _TRACE for tag in tags(true)) > options.max_length:
            continue
        n_failed += found is None
        if found is None and options.skip_failed:
            continue
        pred = None if found is None else as_tree(found, f"Y_pred[{i}]")
        rows.append((i, *_compared(true, pred, options, f"[{i}]")))
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 7).T
    index, matched, gold, predicted, crossing, right_tags, words = columns
    skipped = len(Y_true) - len(rows)
    return BracketScores(index, matched, gold, predicted, crossing, right_tags, words, skipped, n_failed)


def bracket_f1(y_true: Any, y_pred: Any, *, options: BracketOptions = PAPERS) -> float:
    """F1 of one tree; 1 if neither tree has constituents that count. 1 - F1 is the loss of the papers.

    >>> bracket_f1("(S (NP (N dogs)) (VP (V bark)))", "(S (NP (N dogs)) (V bark))")
    0.667
    """
    true = as_tree(y_true, "y_true")
    matched, gold, predicted, *_ = _compared(true, as_tree(y_pred, "y_pred"), options, "")
    return float(bracket_f1_of_counts(np.array([gold, predicted, matched])))


def corpus_bracket_f1(Y_true: Sequence[Any], Y_pred: Sequence[Any], *, options: BracketOptions = PAPERS) -> float:
    """F1 over all constituents of a test set: `BracketScores.f1`.

    >>> true, wrong = "(S (NP (N dogs)) (VP (V bark)))", "(S (NP (N dogs)) (V bark))"
    >>> corpus_bracket_f1([true, true], [true, wrong])
    0.8571
    """
    return bracket_scores(Y_true, Y_pred, options=options).f1


def bracket_statistics(Y_true: Sequence[Any], Y_pred: Sequence[Any], *, options: BracketOptions = PAPERS) -> np.ndarray:
    """(n, 3): true, predicted and matched constituents of each sentence (for the bootstrap)."""
    scores = bracket_scores(Y_true, Y_pred, options=options)
    return np.column_stack([scores.gold, scores.predicted, scores.matched]).astype(float)


def bracket_f1_of_counts(totals: np.ndarray) -> np.ndarray:
    """F1 of sums of `bracket_statistics`, (..., 3); 1 where there are no constituents."""
    return f1_of_counts(totals, of_none=1.0)


def _compared(true: Tree, pred: Tree | None, options: BracketOptions, index: str) -> tuple[int, ...]:
    """Of one sentence: matched, true, predicted, crossing (-1: no tree), right tags, words."""
    true_tags = tags(true)
    kept = [tag not in options.delete_tags for tag in true_tags]
    gold = _counted(true, kept, options)
    if pred is None:
        return 0, len(gold), 0, -1, 0, sum(kept)
    there, seen = _overt(true, options), _overt(pred, options)
    true_words, words = leaves(true), leaves(pred)
    _check_words([true_words[t] for t in there], [words[t] for t in seen], index)
    own = [False] * len(words)  # what is deleted is up to the true tags
    for t, s in zip(there, seen):
        own[s] = kept[t]
    found = _counted(pred, own, options)
    matched = sum((Counter(gold) & Counter(found)).values())
    equal, pred_tags = options.equal_labels, tags(pred)
    pairs = [(true_tags[t], pred_tags[s]) for t, s in zip(there, seen) if kept[t]]
    right = sum(equal.get(a, a) == equal.get(b, b) for a, b in pairs)
    return matched, len(gold), len(found), _crossing(gold, found), right, sum(kept)


def _overt(tree: Tree, options: BracketOptions) -> list[int]:
    """The leaves that both trees must have: traces may be missing in one if they are deleted."""
    return [t for t, tag in enumerate(tags(tree)) if tag != _TRACE or _TRACE not in options.delete_tags]


def _counted(tree: Tree, kept: list[bool], options: BracketOptions) -> list[Constituent]:
    """The constituents that count, at their positions among the words that are kept."""
    before = list(accumulate(kept, initial=0))  # how many words are kept before each position
    # With a single pre-terminal for a tree there is no root to leave out: constituents gives nothing then.
    nodes = constituents(tree)[1:] if options.delete_root else constituents(tree)
    found = []
    for label, left, right in nodes:
        left, right = before[left], before[right]
        label = base_label(label) if options.cut_functions else label
        if left < right and label not in options.delete_labels:
            found.append((options.equal_labels.get(label, label) if options.labeled else "", left, right))
    return found


def _crossing(gold: list[Constituent], found: list[Constituent]) -> int:
    """How many of the found constituents cross one of the true ones."""
    left, right = (np.array([c[k] for c in gold]) for k in (1, 2))
    start, end = (np.array([c[k] for c in found])[:, None] for k in (1, 2))
    crosses = ((left < start) & (start < right) & (right < end)) | ((start < left) & (left < end) & (end < right))
    return int(crosses.any(axis=1).sum())


def _check_words(true: list[str], pred: list[str], index: str) -> None:
    if len(true) != len(pred):
        raise InputError(f"Y_pred{index} has {len(pred)} words but Y_true{index} has {len(true)}")
    for k, (a, b) in enumerate(zip(true, pred)):
        if a != b:
            raise InputError(
                f"Y_pred{index} and Y_true{index} are trees over different words: word {k} is {b!r} and {a!r}"
            )


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
