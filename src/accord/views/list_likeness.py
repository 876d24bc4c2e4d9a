"""Which word list a word is like: what stands around entries of lists in unlabeled text tells of other names, too."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import TEXT, array, fitted, items
from accord.packed.rows import Rows
from accord.settings import FLAG, POSITIVE
from accord.views.base import View
from accord.views.compose import Views, new_view
from accord.views.inputs import distinct_tokens, flatten_tokens, token_numbers
from accord.views.phrases import PhraseIndex
from accord.views.text import TokenFeatures
from accord.views.word_lists import read_lists

LEVELS = ("here", "everywhere")
NONE, SEVERAL = -1, -2  # the list of a token that is in no entry, or in entries of several lists


@dataclass(eq=False, repr=False)
class ListLikeness(View):
    """Log odds that a word is an entry of each list, judged by other features: ``X`` is a list of lists of strings.

    Lists are never complete, and labels are few. So entries of lists that are found in the text of ``fit``, labeled or
    not, are examples from which a logistic regression learns what they look like and what stands around them. It then
    judges all words, also those that no list has: `here`, in this sentence, and `everywhere`, on average over all
    occurrences of the word in the text of ``fit`` and this one. These are two features per list, which say nothing
    about labels: what a list is worth for which label is for the learner to find out.

    Parameters
    ----------
    lists : dict, list or path
        Two lists or more, as :class:`WordLists` takes them, of words of different kinds, such as people and places.
    view : View, list or dict of View, optional
        The features to judge by; default: ``TokenFeatures(window=2)``. Clusters or vectors from elsewhere, in windows,
        say more (:class:`BrownClusters`).
    names : bool, default=True
        Only words with capital letters are judged, and are examples; the features of others are 0.
    C : float, default=1.0
        How closely the regression follows its examples.
    scale : float, default=0.5
        Factor of the log odds.

    Attributes
    ----------
    names_ : list of str
        Names of the lists.
    view_ : View
        The fitted view.
    odds_ : array of shape (n_features, n_lists)
        Weights of the features of `view_`.
    words_, counts_, sums_ : list of str, and arrays of shape (n_words,) and (n_words, n_lists)
        How often a word was judged in the text of ``fit``, and the sums of its log odds.
    n_dims_ : int
        Number of features.

    Notes
    -----
    Model files hold what was learned, but not the lists: in a loaded model ``lists`` is None.

    Examples
    --------
    >>> from accord import ListLikeness
    >>> X = [["she", "met", "Ana"], ["she", "met", "Uwe"], ["he", "lives", "in", "Rome"], ["he", "lives", "in", "Ulm"]]
    >>> view = ListLikeness({"people": ["Ana"], "places": ["Rome"]}, scale=1.0)
    >>> rows = view.fit_rows(X).matrix().toarray()
    >>> names = view.feature_names(range(4))
    >>> [names[k] for k in rows[[5, 13]].argmax(axis=1)]
    ['people: here', 'places: here']
    """

    lists: Any = None  # None: of a loaded model
    view: Views | None = None
    _: KW_ONLY
    names: bool = True
    C: float = 1.0
    scale: float = 0.5

    expects: ClassVar = {"names": FLAG, "C": POSITIVE, "scale": POSITIVE}
    stored: ClassVar = {
        "names_": items(TEXT, "n_lists", distinct=True),
        "view_": fitted("view split"),
        "odds_": array("f8", "n_features", "n_lists"),
        "words_": items(TEXT, "n_words", distinct=True),
        "counts_": array("f8", "n_words"),
        "sums_": array("f8", "n_words", "n_lists"),
    }
    agrees: ClassVar = {
        "n_dims_ is the number of levels of all lists": lambda self: self.n_dims_ == len(LEVELS) * len(self.names_),
        "odds_ has a row for every feature of view_": lambda self: self.odds_.shape[0] == self.view_.n_dims_,
        "counts_ are not negative": lambda self: bool(np.all(self.counts_ >= 0)),
    }

    def _saved(self) -> dict[str, Any]:
        return {**vars(self), "lists": None}

    def __sklearn_clone__(self) -> ListLikeness:
        """Shares the lists."""
        return type(self)(**self.get_params(deep=False))

    def fit_rows(self, X: Any) -> Rows:
        """Learn what the entries of lists are like and return the rows of ``X``."""
        self._check_params()
        found = read_lists(self.lists)
        if len(found) < 2:
            raise InputError(f"lists has {len(found)} list; expected two or more, between which words are judged")
        tokens, offsets = flatten_tokens(X)
        distinct = distinct_tokens(tokens, offsets)
        self.names_, self.n_dims_ = list(found), len(LEVELS) * len(found)
        self.view_ = new_view(TokenFeatures(window=2) if self.view is None else self.view, X)
        rows = self.view_.fit_rows(X)
        numbers = token_numbers(tokens, distinct)
        judged = self._judged(distinct)[numbers]
        self.odds_ = self._learned(rows, self._examples(found.values(), tokens, offsets, judged), numbers)
        scores = self._scores(rows)
        sums = np.zeros((len(distinct), len(found)))
        np.add.at(sums, numbers[judged], scores[judged])
        kept = np.flatnonzero(np.bincount(numbers[judged], minlength=len(distinct)))
        self.words_ = [distinct[i] for i in kept]
        self.counts_ = np.bincount(numbers[judged], minlength=len(distinct))[kept].astype(float)
        self.sums_ = sums[kept]
        self.__dict__.pop("_cached_words", None)
        return self._rows(scores, tokens, offsets)

    def transform(self, X: Any) -> Rows:
        """Rows of new text."""
        check_is_fitted(self, "odds_")
        tokens, offsets = flatten_tokens(X)
        return self._rows(self._scores(self.view_.transform(X)), tokens, offsets)

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``places: everywhere``."""
        check_is_fitted(self, "names_")
        own = [f"{name}: {level}" for level in LEVELS for name in self.names_]
        return [own[f] for f in features]

    def feature_groups(self) -> tuple[np.ndarray, list[str]]:
        """The group of every feature (n_dims,), as an index into the list of group names: the lists."""
        check_is_fitted(self, "names_")
        return np.tile(np.arange(len(self.names_)), len(LEVELS)), list(self.names_)

    def _extend(self, X: Any) -> Rows:
        """What was learned of lists stays what it is."""
        return self.transform(X)

    # -- learning -----------------------------------------------------------------------------------------------------
    def _judged(self, words: list[str]) -> np.ndarray:
        """Whether words are judged (n_words,)."""
        return np.array([not self.names or word != word.lower() for word in words], np.bool_)

    def _examples(
        self, lists: Iterable[list[str]], tokens: list[str], offsets: np.ndarray, judged: np.ndarray
    ) -> np.ndarray:  # fmt: skip
        """The list of the longest entry that a token is in, if there is just one such list and the token is judged."""
        common = _common(tokens) if self.names else set()
        kinds, longest = np.full(len(tokens), NONE), np.zeros(len(tokens), np.int64)
        for k, entries in enumerate(lists):
            exact = PhraseIndex.of_both(entries)[0]
            for start, end in pairwise(offsets.tolist()):
                for first, last in exact.find(tokens[start:end]):
                    if last == first + 1 and tokens[start + first].lower() in common:
                        continue
                    for t in range(start + first, start + last):
                        if last - first >= longest[t]:
                            kinds[t] = k if last - first > longest[t] else SEVERAL
                            longest[t] = last - first
        return np.where(judged, kinds, NONE)

    def _learned(self, rows: Rows, kinds: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Weights of features. A frequent word says little more than a rare one, and every list has the same say."""
        at = np.flatnonzero(kinds >= 0)
        if np.unique(kinds[at]).size < 2:
            warnings.warn(
                "X has entries of fewer than two lists, so nothing is like one rather than another", stacklevel=4
            )
            return np.zeros((rows.n_dims, len(self.names_)))
        weights = 1.0 / np.sqrt(np.bincount(numbers[at])[numbers[at]])
        of_kind = np.bincount(kinds[at], weights, minlength=len(self.names_))
        weights *= at.size / np.sum(of_kind > 0) / of_kind[kinds[at]]
        examples = replace(rows, slots=rows.slots[at], offsets=np.arange(at.size + 1), tokens=None, input_weights=None)
        return _regression(examples.matrix(), kinds[at], weights, self.C, len(self.names_))

    # -- judging ------------------------------------------------------------------------------------------------------
    def _scores(self, rows: Rows) -> np.ndarray:
        """Log odds of every list against the others (n_rows, n_lists)."""
        scores = rows.scores(self.odds_)
        return scores - scores.mean(axis=1, keepdims=True)

    def _rows(self, scores: np.ndarray, tokens: list[str], offsets: np.ndarray) -> Rows:
        """The odds of every token, and the means of these and those of its word in the text of fit."""
        if not hasattr(self, "_cached_words"):
            self._cached_words = {word: i for i, word in enumerate(self.words_)}
        distinct = distinct_tokens(tokens, offsets)
        numbers = token_numbers(tokens, distinct)
        places = np.array([self._cached_words.get(word, -1) for word in distinct], np.int64)[numbers]
        counts = np.append(self.counts_, 0.0)[places][:, None]
        sums = np.vstack([self.sums_, np.zeros(len(self.names_))])[places]
        table = np.hstack([scores, (sums + scores) / (counts + 1.0)]) * self.scale
        table[~self._judged(distinct)[numbers]] = 0.0
        return Rows.from_matrix(table, offsets)


def _common(tokens: list[str]) -> set[str]:
    """Words that this text mostly writes small."""
    written = Counter(tokens)
    capital: Counter[str] = Counter()
    for token, n in written.items():
        if token != token.lower():
            capital[token.lower()] += n
    return {word for word, n in capital.items() if written[word] > n}


def _regression(X: sp.csr_array, kinds: np.ndarray, weights: np.ndarray, C: float, n_kinds: int) -> np.ndarray:
    """Weights (n_dims, n_kinds) of a logistic regression without constants; 0 for kinds without examples."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    used = np.unique(X.indices)  # few of all features: the others stay 0
    model = LogisticRegression(C=C, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nearly the best weights are as good
        model.fit(X[:, used], kinds, sample_weight=weights)
    found = model.coef_ if len(model.coef_) > 1 else np.vstack([-0.5 * model.coef_, 0.5 * model.coef_])
    out = np.zeros((X.shape[1], n_kinds))
    out[np.ix_(used, model.classes_)] = found.T
    return out
