"""Parse trees: weighted context-free grammars, decoded by CKY [thesis 3.2.3, App. C]."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from accord.datasets.trees import as_tree, constituents, leaves, tags
from accord.exceptions import InfeasibleError, InputError, NoParseWarning
from accord.forms import fitted
from accord.kernels.trees.cky import Brackets, TreeScores
from accord.packed.rows import Rows
from accord.settings import FLAG, check, either, one_of, whole
from accord.structures.base import input_numbers
from accord.structures.trees.decoding import LOSSES, TreeDecoders
from accord.structures.trees.grammar import ANCHORS, TreebankGrammar
from accord.structures.trees.lexicon import Lexicon
from accord.structures.trees.likely import LikelyTrees
from accord.tokenizer import sentences

# How sure constituents have to be, for trees of probable ones. Those right in more than half of all cases lower the
# Hamming loss; F1 rises with all that are right in more than half of the F1 that is reached, of about 0.7.
DOUBTS = {"hamming": 0.5, "f1": 0.35, "zero-one": 0.5}


@dataclass(eq=False, repr=False)
class Tree(TreeDecoders):
    """A parse tree over the tokens of a sentence, by the grammar of a treebank.

    Outputs are nested lists ``["S", ["NP", ...], ...]``, bracketed strings or NLTK trees; predictions are nested lists.
    Joint features count rules, and tie each node to the first and last token of its span, to its width and to the token
    at its split. Trees are binarised inside, with chains of single children collapsed; nobody sees that.

    A sentence that the grammar cannot parse is covered by as few trees as possible, which are joined below the root.
    Learners warn and say which.

    Parameters
    ----------
    loss : "f1", "hamming" or "zero-one"
        What training minimises: 1 - F1 of labelled constituents, constituents that are only in one of the two trees
        (per token), or any difference. The root and the tags of tokens do not count.
    terminals : "words" or "tags"
        What tokens are. Words have the tags they were seen with, rare and unknown ones those of words that look alike.
        Tags are taken as given; tokens are then tags, or pairs (word, tag).
    horizontal, vertical : int or None, int
        Markovisation: how many of the siblings before it a binarised node remembers (None: all), and how many labels up
        a node knows (1: its own).
    span_features : "label", "symbol", "rule" or None
        What token and width features of a span are combined with: the label of its node, the binarised symbol, the
        rule, or nothing, which leaves the rules alone.
    rare : int
        Words seen up to so often are treated as unknown.
    grammar : sequence of trees, optional
        Treebank whose rules may be used, beside those of the labeled examples. No weights are learned from it.
    tokenizer : None, "blanks" or function
        How sentences that are texts become words; as for :class:`Sequence`.
    exact_length : int
        In sentences of up to so many tokens machines find the tree that violates a margin most, exactly, for losses
        that are no sum over constituents: level by level, see :meth:`exact`. In longer ones they follow tangents.
    subtrees : bool
        Ancestors are features and forbid nothing: sub-trees of all depths up to ``vertical`` have weights, each rule by
        itself, below its parent, below its parent and grandparent, and so on, and rules may be used below any
        ancestors. Otherwise rules are used only below those they were seen with, and the deepest alone has a weight.

    Examples
    --------
    >>> s = Tree(terminals="tags").fit(["(S (NP (N dogs)) (V bark))", "(S (NP (D the) (N dogs)) (V bark))"])
    >>> y, score = s.decode(s.parts(["D", "N", "V"]))
    >>> s.outputs(y, [0, 3], ["D", "N", "V"])
    [['S', ['NP', ['D', 'D'], ['N', 'N']], ['V', 'V']]]
    """

    loss: str = "f1"
    terminals: str = "words"
    horizontal: int | None = 0
    vertical: int = 1
    span_features: str | None = "label"
    rare: int = 1
    grammar: Sequence[Any] | None = None
    tokenizer: Any = None
    exact_length: int = 30
    subtrees: bool = False

    expects: ClassVar = {
        "loss": one_of(*LOSSES),
        "terminals": one_of("words", "tags"),
        "horizontal": either(whole(0), None),
        "vertical": whole(1),
        "span_features": one_of(*ANCHORS, None),
        "rare": whole(0),
        "exact_length": whole(0),
        "subtrees": FLAG,
    }

    stored: ClassVar = {
        "grammar_": fitted("TreebankGrammar"),
        "lexicon_": fitted("Lexicon", n_tags="grammar.tags"),
    }
    derived: ClassVar = ("arrays_", "anchors_", "subtrees_", "subtrees_of_")

    def __sklearn_clone__(self) -> Tree:
        """A copy that is not fitted. The treebank is only read, and may be large and deep: it is shared."""
        return type(self)(**self.get_params(deep=False))

    # -- fitting ----------------------------------------------------------------------------------------------------
    def fit(self, Y: Iterable[Any]) -> Tree:
        """Read the grammar off the trees (``None`` is skipped) and the treebank of the constructor."""
        check(self)
        if self.grammar is not None and (isinstance(self.grammar, str) or not hasattr(self.grammar, "__iter__")):
            what = "string" if isinstance(self.grammar, str) else type(self.grammar).__name__
            raise InputError(f"grammar is a {what}; expected a list of trees, such as read_trees(...) returns")
        trees = [as_tree(y, f"grammar[{i}]") for i, y in enumerate(self.grammar or [])]
        labeled = [as_tree(y, f"Y[{i}]") for i, y in enumerate(Y) if y is not None]
        self._longest = max((len(leaves(tree)) for tree in labeled), default=0)
        trees += labeled
        grammar = TreebankGrammar.from_trees(trees, self.horizontal, self.vertical, bool(self.subtrees))
        self.grammar_ = grammar
        if self.terminals == "tags":
            self.lexicon_ = Lexicon.of_tags(grammar.tags)
        else:
            number = {tag: i for i, tag in enumerate(grammar.tags)}
            tagged = ((word, number[tag]) for tree in trees for word, tag in zip(leaves(tree), tags(tree)))
            self.lexicon_ = Lexicon.of_words(tagged, self.rare)
        self._derive()
        return self

    def without_span_features(self) -> None:
        """Leave the rules alone."""
        self.span_features, self.subtrees = None, False
        self._derive()

    def _derive(self) -> None:
        self.arrays_, self.anchors_ = self.grammar_.arrays(self.span_features)
        self.subtrees_, self.subtrees_of_ = [], np.empty((len(self.grammar_.rules), 0), np.int64)
        if self.subtrees:
            self.subtrees_, self.subtrees_of_ = self.grammar_.shallower_rules()

    # -- outputs and arrays -----------------------------------------------------------------------------------------
    def encode(self, Y: Sequence[Any], tokens: Any = None, index: Any = None) -> np.ndarray:
        """Trees as arrays of one row per token, one after another; ``index[i]`` names ``Y[i]`` in errors."""
        where = [f"Y[{i if index is None else index[i]}]" for i in range(len(Y))]
        arrays = []
        for y, w in zip(Y, where):
            tree = as_tree(y, w)
            arrays.append(self.grammar_.encode(tree, w))
            if self.terminals == "words":
                self._check_tags(leaves(tree), arrays[-1], w)
        return np.concatenate(arrays) if arrays else np.empty((0, 4), np.int32)

    def _check_tags(self, words: Sequence[str], array: np.ndarray, where: str) -> None:
        """Words have tags that the lexicon allows: a tree that no prediction can be teaches nothing."""
        wrong = np.flatnonzero(self.context(words)[np.arange(len(words)), array[:, 0]] == -np.inf)
        if wrong.size:
            t = wrong[0]
            tag = self.grammar_.tags[self.grammar_.leaf_tag[array[t, 0]]]
            raise InputError(
                f"{where} has the tag {tag!r} for the word {words[t]!r}, which the lexicon does not allow; "
                "give trees with it in the first batch or in grammar=[...]"
            )

    def outputs(self, y: np.ndarray, offsets: Any, tokens: Any = None) -> list[Any]:
        """Trees from arrays, over the given tokens; pieces are joined below the root."""
        out: list[Any] = []
        for lo, hi in pairwise(offsets):
            words = [token if isinstance(token, str) else token[0] for token in tokens[lo:hi]]
            if lo == hi:
                out.append([])
            else:
                spare = self.likely_tags(tokens[lo:hi]) if np.any(y[lo:hi, 0] < 0) else []
                out.append(self.grammar_.decode(y[lo:hi], words, spare))
        return out

    # -- inputs and outputs of learners -----------------------------------------------------------------------------
    @property
    def symbols(self) -> bool:  # type: ignore[override]
        """Tags are known by name."""
        return self.terminals == "tags"

    def is_declared(self) -> bool:
        return bool(self.grammar)

    def check_outputs(self, Y: Sequence[Any]) -> list[Any]:
        """Trees as nested lists; an error names what is no tree."""
        return [None if y is None else as_tree(y, f"Y[{i}]") for i, y in enumerate(Y)]

    def view_inputs(self, X: Any) -> list[list[str]]:
        """The words, or the given tags."""
        return [[self.terminal(token) for token in x] for x in self.tokens_of(X)]

    def tokens_of(self, X: Any) -> list[list[Any]]:
        """The tokens of each sentence: strings or pairs; an error names what is neither."""
        out = []
        for i, x in enumerate(sentences(X, self.tokenizer) if self.terminals == "words" else X):
            if isinstance(x, (str, bytes)) or not hasattr(x, "__len__"):
                raise InputError(
                    f"X[{i}] is a {type(x).__name__}; Tree expects a list of {self.terminals} per sentence"
                )
            out.append([self._checked(token, i, t) for t, token in enumerate(x)])
        return out

    def _checked(self, token: Any, i: int, t: int) -> Any:
        if isinstance(token, str) and token:
            return token
        pair = isinstance(token, (tuple, list)) and len(token) == 2 and all(isinstance(p, str) and p for p in token)
        if not pair:
            raise InputError(
                f"X[{i}][{t}] is {token!r}; expected a {self.terminals[:-1]}, or a pair (word, tag) of strings"
            )
        return tuple(token)

    def best_outputs(
        self, rows: Rows, nodes: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: list[tuple[int, bool]] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Best trees of packed sentences, or pieces of trees; ``given[i]`` are brackets they must have.

        ``failures`` takes the numbers of sentences without a parse, and whether only the brackets are to blame;
        without it there is a warning.
        """
        return self._found(self._best_tree, rows, nodes, transitions, given, first, failures)

    @property
    def prefers_likely(self) -> bool:  # type: ignore[override]
        """Unless a tree has to be right as a whole."""
        return self.loss != "zero-one"

    def likely_outputs(
        self, rows: Rows, nodes: np.ndarray, transitions: np.ndarray, given: Sequence[Any] | None = None,
        first: Any = 0, failures: list[tuple[int, bool]] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """As :meth:`best_outputs`, but trees of probable constituents; see :class:`LikelyTrees`."""
        likely = LikelyTrees(self.arrays_, self.n_labels_, DOUBTS[self.loss])

        def tree(parts: TreeScores, brackets: Brackets | None) -> tuple[np.ndarray, float]:
            log_z, chart = self.inside(parts, brackets)
            n = parts.leaf.shape[0]
            return (
                likely.find(parts, chart, log_z, self.zero_expected(n)) if log_z > -np.inf else (self.hidden(n), log_z)
            )

        return self._found(tree, rows, nodes, transitions, given, first, failures)

    def _best_tree(self, parts: TreeScores, brackets: Brackets | None) -> tuple[np.ndarray, float]:
        return self.parse(parts, brackets)[:2]

    def _found(
        self, find: Callable[[TreeScores, Brackets | None], tuple[np.ndarray, float]], rows: Rows, nodes: np.ndarray,
        transitions: np.ndarray, given: Sequence[Any] | None, first: Any, failures: list[tuple[int, bool]] | None,
    ) -> np.ndarray:  # fmt: skip
        """What a decoder finds for each sentence, pieces where that is nothing."""
        failed: list[tuple[int, bool]] = [] if failures is None else failures
        y, number = self.hidden(rows.n_rows), input_numbers(first, rows.n_inputs)
        spans = pairwise(rows.offsets.tolist())
        for i, ((lo, hi), parts) in enumerate(zip(spans, self.parts_of(rows, nodes, transitions))):
            brackets = None
            if given is not None and given[i] is not None:
                brackets = self.given(hi - lo, given[i], f"given[{number[i]}]")
            y[lo:hi], score = find(parts, brackets)
            if score == -np.inf:
                y[lo:hi] = self.pieces(parts, brackets)
                failed.append((int(number[i]), brackets is not None and self.parse(parts)[1] > -np.inf))
        if failures is None:
            self.warn_of(failed, stacklevel=6)
        return y

    def warn_of(self, failures: list[tuple[int, bool]], stacklevel: int) -> None:
        """One warning about the sentences without a parse, if there are any."""
        if failures:
            bracketed = [i for i, only_brackets in failures if only_brackets]
            warnings.warn(NoParseWarning([i for i, _ in failures], bracketed), stacklevel=stacklevel)

    def marginals_of(self, rows: Rows, nodes: np.ndarray, transitions: np.ndarray, first: int = 0) -> list[Any]:
        """Probabilities of the constituents of each packed sentence; none where there is no parse."""
        found, failed = [], []
        for i, parts in enumerate(self.parts_of(rows, nodes, transitions)):
            try:
                found.append(self.marginals(parts))
            except InfeasibleError:
                found.append({})
                failed.append(first + i)
        if failed:
            warnings.warn(NoParseWarning(failed), stacklevel=3)
        return found

    def hidden(self, n_rows: int) -> np.ndarray:
        """The rows of sentences without trees."""
        return np.full((n_rows, 4), -1, np.int32)

    def is_hidden(self, y: np.ndarray) -> np.ndarray:
        """Which rows belong to no tree."""
        return y[:, 0] < 0

    def count_errors(self, y: np.ndarray, found: np.ndarray, offsets: np.ndarray) -> tuple[int, int]:
        """How many constituents are only in the tree or only in the prediction, and how many there are in both."""
        wrong = total = 0
        for lo, hi in pairwise(offsets.tolist()):
            if lo < hi and y[lo, 0] >= 0:
                n_gold, n_found, both = self.compare(y[lo:hi], found[lo:hi])
                wrong, total = wrong + n_gold + n_found - 2 * both, total + n_gold + n_found
        return wrong, total

    def check_inputs(self, X: Any, Y: Sequence[Any]) -> None:
        """Trees have the tokens of their sentences."""
        for i, (x, y) in enumerate(zip(self.tokens_of(X), Y)):
            if y is None:
                continue
            here = [self.terminal(token) for token in x]
            there = leaves(y) if self.terminals == "words" else tags(y)
            if len(here) != len(there):
                raise InputError(f"Y[{i}] has {len(there)} leaves but X[{i}] has {len(here)} tokens")
            t = next((t for t, (a, b) in enumerate(zip(here, there)) if a != b), None)
            if t is not None:
                raise InputError(
                    f"X[{i}][{t}] is {here[t]!r} but the tree Y[{i}] has the {self.terminals[:-1]} {there[t]!r} there; "
                    'they must be the same (terminals="tags" takes tags or pairs of word and tag, "words" takes words)'
                )

    def score_outputs(self, X: Any, Y: Sequence[Any], found: Sequence[Any]) -> float:
        """F1 of the constituents of all trees together, the root left out."""
        trees = self.check_outputs(Y)
        self.check_inputs(X, trees)
        if all(tree is None for tree in trees):
            raise InputError("Y has no labels to score against")
        matched = total = 0
        for tree, guessed in zip(trees, found):
            if tree:
                gold, guess = (Counter(constituents(t)[1:]) for t in (tree, guessed))
                matched, total = matched + (gold & guess).total(), total + gold.total() + guess.total()
        return 2 * matched / total if total else 1.0

    def likely_tags(self, tokens: Sequence[Any]) -> list[str]:
        """The most frequent tag of each token by itself; a given tag that is not known stays as it is."""
        lexicon, found = self.lexicon_, []
        names = [self.terminal(token) for token in tokens]
        for name, number in zip(names, lexicon.numbers(names).tolist()):
            if number < 0:
                found.append(name)
                continue
            entries = slice(lexicon.ptr[number], lexicon.ptr[number + 1])
            found.append(self.grammar_.tags[lexicon.tag[entries][np.argmax(lexicon.count[entries])]])
        return found
