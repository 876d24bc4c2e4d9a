"""Probabilistic context-free grammars: maximum likelihood from trees, inside-outside when trees are hidden.

A tree has the probability of its rules, each given its parent, and of its tokens given their tags. The structure's
trees, decoders and lexicon are those of every other learner of trees; only the weights are log probabilities.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from accord.forms import array
from accord.kernels.trees import inside_outside
from accord.learners.base import ProbabilisticLearner
from accord.learners.inputs import unlabeled_inputs
from accord.learners.safety import choose_weight
from accord.packed.rows import Rows
from accord.packed.structure import Structure
from accord.settings import NOT_NEGATIVE
from accord.structures.trees.tree import Tree
from accord.threads import map_threads
from accord.views.base import View
from accord.views.default import names_only

# Sentences whose expected counts are added up together: one table of counts for each block, not for each sentence.
BLOCK = 256


@dataclass
class Counts:
    """How often rules, symbols at the top, and tags of terminals are used."""

    rule: np.ndarray
    start: np.ndarray
    emission: np.ndarray  # by entry of the lexicon

    def add(self, other: Counts) -> None:
        self.rule += other.rule
        self.start += other.start
        self.emission += other.emission


@dataclass(eq=False, repr=False)
class PCFG(ProbabilisticLearner):
    """Generative grammar: the probability of a tree is the product of those of its rules.

    Parameters
    ----------
    structure : Tree
        The grammar; its ``span_features`` and ``subtrees`` are not used.
    smoothing : float
        Pseudo-count added to every rule of the grammar and to every tag that a word may have. 0 is plain maximum
        likelihood: relative counts, and what was never counted is impossible. With ``Tree(horizontal=None, rare=0)``
        these are the relative counts of the n-ary rules of trees whose chains of single children are one symbol.
    unlabeled_weight : float or "auto"
        How much an unlabeled sentence counts in inside-outside re-estimation. "auto" takes the value (0 among them)
        that is best on held-out labeled folds.
    max_iter, tol : int, float
        Re-estimation stops after ``max_iter`` steps, or when the log likelihood grows by less than the fraction
        ``tol``.
    decode : "auto", "viterbi" or "marginal"
        What is predicted: the most probable tree, or the one of the most probable constituents. "auto" goes by the loss
        of the structure: the latter, unless that is "zero-one".
    random_state, n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_ : Weights
        Log probabilities of rules and of symbols at the top.
    emissions_ : ndarray
        Log probabilities of terminals given tags, by entry of the structure's lexicon.
    unlabeled_weight_ : float
    log_likelihood_ : list of float
        Weighted log likelihood plus the log of the prior that the pseudo-counts stand for, before each step of
        re-estimation, which never lowers it.
    transduction_ : list
        Trees predicted for the unlabeled sentences.
    auto_report_ : list of dict or None
        What "auto" compared, and why it chose what it chose.

    Examples
    --------
    >>> from accord import PCFG, Tree
    >>> trees = ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (D a) (N cat)) (V sleeps))"]
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    >>> PCFG(Tree(rare=0)).fit(X, trees).predict([["a", "dog", "sleeps"]])
    [['S', ['NP', ['D', 'a'], ['N', 'dog']], ['V', 'sleeps']]]
    """

    structure: Structure = None  # type: ignore[assignment]  # stands for Tree()
    smoothing: float = 0.01
    unlabeled_weight: Any = "auto"
    max_iter: int = 20
    tol: float = 1e-4
    decode: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    view = None
    expects: ClassVar = {"smoothing": NOT_NEGATIVE}
    stored: ClassVar = {"emissions_": array("f8", "structure.lexicon.tag", forbids=True)}
    structure_: Tree = field(init=False)

    def __post_init__(self) -> None:
        self.structure = Tree() if self.structure is None else self.structure

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PCFG:
        """Count on labeled sentences; with unlabeled ones (``y[i] is None``) go on by inside-outside.

        What is counted in a sentence, or expected, counts ``sample_weight[i]`` times. Which words are rare, and which
        rules there are, the structure finds in the trees as they are.
        """
        self._check_params()
        labeled, known, unlabeled = self._prepare(X, y, sample_weight)
        self.auto_report_: list[dict[str, Any]] | None = None
        weight = self.unlabeled_weight if unlabeled.n_inputs else 0.0
        if weight == "auto":
            names = "PCFG", "inside-outside"
            weight = choose_weight(self, labeled, known, unlabeled, names, self._train, self._parse_quietly)
        self.unlabeled_weight_ = float(weight)
        self._train(labeled, known, unlabeled, self.unlabeled_weight_, self.verbose > 0)
        self.transduction_: list[Any] = []
        if unlabeled.n_inputs:
            found = self._outputs(unlabeled, None, unlabeled_inputs(X, y))
            self.transduction_ = self.structure_.outputs(found, unlabeled.offsets, unlabeled.tokens)
        return self

    def _prepare(self, X: Any, Y: Any, sample_weight: Any = None) -> tuple[Rows, np.ndarray, Rows]:
        prepared = super()._prepare(X, Y, sample_weight)
        self.structure_.without_span_features()
        return prepared

    def _new_view(self, structure: Any, X: Any) -> View:
        """Words are known by their numbers in the lexicon, so that features have nothing to say."""
        return names_only(0)

    def _parse_quietly(self, rows: Rows) -> np.ndarray:
        """The best trees; no parse counts as an error where weights are compared."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._outputs(rows)

    # -- estimation -------------------------------------------------------------------------------------------------
    def _train(self, labeled: Rows, y: np.ndarray, unlabeled: Rows, weight: float, show: bool = False) -> None:
        counts = self._counted(labeled, y)
        self._estimate(counts)
        self.log_likelihood_: list[float] = []
        if weight == 0 or not unlabeled.n_inputs:
            return
        blocks = [np.arange(i, min(i + BLOCK, unlabeled.n_inputs)) for i in range(0, unlabeled.n_inputs, BLOCK)]
        calls = [(unlabeled.take(block), weight) for block in blocks]
        with self._progress(self.max_iter if show else 0, "inside-outside") as progress:
            for _ in range(self.max_iter):
                done = map_threads(self._expected, calls, self.n_jobs)
                value = self._supervised_value(counts) + weight * sum(log_z for log_z, _ in done)
                total = self._no_counts()
                for part in (counts, *(expected for _, expected in done)):
                    total.add(part)
                self._estimate(total)
                self.log_likelihood_.append(float(value))
                progress.advance(info=f"log likelihood {value:.6g}")
                if len(self.log_likelihood_) > 1 and value - self.log_likelihood_[-2] <= self.tol * abs(value):
                    break

    def _no_counts(self) -> Counts:
        s, g = self.structure_, self.structure_.grammar_
        return Counts(np.zeros(len(g.rules)), np.zeros(g.n_symbols), np.zeros(s.lexicon_.tag.size))

    def _entries(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """The lexicon's entries of all tokens: (token, entry)."""
        s = self.structure_
        return s.lexicon_.entries(s.lexicon_.numbers(s.terminal(token) for token in rows.tokens))

    def _counted(self, rows: Rows, y: np.ndarray) -> Counts:
        s, counts = self.structure_, self._no_counts()
        inner, each = y[:, 1] >= 0, rows.row_weights()
        counts.rule += np.bincount(y[inner, 1], each[inner], counts.rule.size)
        for lo, hi in pairwise(rows.offsets.tolist()):
            if hi > lo:
                counts.start[s.root(y[lo:hi])] += each[lo]
        tokens, terminals, shares = self._terminals(rows)
        shares *= each[tokens]
        places, entries = s.lexicon_.entries(terminals)
        right = s.grammar_.leaf_tag[y[tokens[places], 0]] == s.lexicon_.tag[entries]
        counts.emission += np.bincount(entries[right], shares[places[right]], counts.emission.size)
        return counts

    def _terminals(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the tokens of labeled sentences count for: (token, terminal, share).

        A rare word counts for all that it looks like, in equal shares: the coarse signatures are those of unknown
        words, which are as rare words are.
        """
        lexicon = self.structure_.lexicon_
        words = [self.structure_.terminal(token) for token in rows.tokens]
        numbers = lexicon.numbers(words)
        rare = (numbers >= 0) & lexicon.is_look[numbers]
        looks = {words[i]: lexicon.looks(words[i]) for i in np.flatnonzero(rare)}
        several = [(i, n, 1.0 / len(looks[words[i]])) for i in np.flatnonzero(rare) for n in looks[words[i]]]
        tokens, terminals, shares = zip(*several) if several else ((), (), ())
        plain = np.flatnonzero(~rare)
        return (
            np.concatenate([plain, np.array(tokens, np.int64)]),
            np.concatenate([numbers[plain], np.array(terminals, np.int64)]),
            np.concatenate([np.ones(plain.size), np.array(shares, float)]),
        )

    def _estimate(self, counts: Counts) -> None:
        """Log probabilities from counts, each with the pseudo-count."""
        s, g, a = self.structure_, self.structure_.grammar_, float(self.smoothing)
        parent, tag = g.rules[:, 0], s.lexicon_.tag
        if a == 0.0:  # what was never counted is forbidden, and has no weight
            g.rule_counts, g.start_counts = counts.rule.copy(), counts.start.copy()
        rule = np.where(g.rule_counts > 0, counts.rule + a, 0.0)
        start = np.where(g.start_counts > 0, counts.start + a, 0.0)
        emission = counts.emission + a * s.lexicon_.shares
        self.weights_ = s.zero_weights(self.view_.n_dims_)
        rules, _, starts, _ = s.split_transitions(self.weights_.transitions)
        for weights, log_shares in (
            (rules, _log_shares(rule, np.bincount(parent, rule, g.n_symbols)[parent])),
            (starts, _log_shares(start, start.sum())),
        ):
            weights[:] = np.where(log_shares > -np.inf, log_shares, 0.0)
        self.emissions_ = np.zeros(emission.size)
        if s.terminals == "words":
            self.emissions_ = _log_shares(emission, np.bincount(tag, emission, len(g.tags))[tag])
        self._forget_products()

    def _supervised_value(self, counts: Counts) -> float:
        """Log likelihood of the labeled trees, and of the pseudo-counts."""
        s, a = self.structure_, float(self.smoothing)
        rules, _, starts, _ = s.split_transitions(self.weights_.transitions)
        possible = s.grammar_.start_counts > 0
        emission = counts.emission + a * s.lexicon_.shares
        used = emission > 0
        value = (counts.rule + a) @ rules + (counts.start + a)[possible] @ starts[possible]
        return float(value + emission[used] @ self.emissions_[used])

    def _expected(self, rows: Rows, weight: float) -> tuple[float, Counts]:
        """Log probability of sentences and their expected counts times ``weight``; nothing of those without a parse.

        Both are multiplied by the weight of each sentence.
        """
        s, g, counts, total = self.structure_, self.structure_.grammar_, self._no_counts(), 0.0
        tag = np.zeros((rows.n_rows, len(g.tags)))
        all_parts = s.parts_of(rows, self._label_scores(rows), self.weights_.transitions)
        each = np.ones(rows.n_inputs) if rows.input_weights is None else rows.input_weights
        for (lo, hi), parts, own in zip(pairwise(rows.offsets.tolist()), all_parts, each.tolist()):
            log_z, chart = s.inside(parts)
            if lo == hi or log_z == -np.inf:
                continue
            total += own * log_z
            leaf = np.zeros((hi - lo, g.n_leaves))
            expected = s.zero_expected(hi - lo)._replace(rule=counts.rule, start=counts.start, leaf=leaf)
            inside_outside.outside(s.arrays_, parts, chart, log_z, own * weight, expected)
            np.add.at(tag[lo:hi].T, g.leaf_tag, leaf.T)
        places, entries = self._entries(rows)
        np.add.at(counts.emission, entries, tag[places, s.lexicon_.tag[entries]])
        return total, counts

    def _label_scores(self, rows: Rows) -> np.ndarray:
        """Log probabilities of the tokens given each tag (n_rows, n_tags)."""
        s = self.structure_
        nodes = np.zeros((rows.n_rows, s.n_nodes_))
        if s.n_tag_nodes_:
            places, entries = self._entries(rows)
            nodes[places, s.lexicon_.tag[entries]] = self.emissions_[entries]
        return nodes

    def log_probability(self, X: Any) -> np.ndarray:
        """Log of the summed probability of all trees of each sentence; minus infinity where there is none.

        >>> from accord import PCFG, Tree
        >>> model = PCFG(Tree()).fit([["dogs", "bark"]], ["(S (N dogs) (V bark))"])
        >>> model.log_probability([["dogs", "bark"]]).round(2)
        array([-2.2])
        """
        rows = self._rows(X)
        parts = self.structure_.parts_of(rows, self._label_scores(rows), self.weights_.transitions)
        return np.array([self.structure_.log_partition(p) for p in parts])


def _log_shares(counts: np.ndarray, totals: Any) -> np.ndarray:
    """Logarithms of relative counts; minus infinity for what was never counted."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, np.log(counts / totals), -np.inf)
