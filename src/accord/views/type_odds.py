"""What a model predicts for a kind of word, as features of the words of that kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from accord.exceptions import InputError
from accord.forms import COUNT, LABEL, array, fitted, items, mapping, optional
from accord.packed.rows import Rows
from accord.views.base import View
from accord.views.inputs import distinct_tokens, flatten_tokens, token_numbers

KEYS = ("word", "suffix2", "suffix3", "suffix4", "class", "any")


@dataclass(eq=False, repr=False)
class TypeOdds(View):
    """Log odds of every label for the kinds a word belongs to, summed over the kinds: one feature per label.

    ``learn`` counts predicted labels for :class:`accord.TypeConsistency`. A kind that was never seen says nothing.

    Parameters
    ----------
    keys : sequence of str
        The kinds: "word" (in lower case), "suffix2" to "suffix4" (last letters of it), "class" (word class),
        "any" (every word, seen or not).
    smoothing : float
        Tokens with the average distribution of labels that are added to every kind.
    words : view with ``word_classes``, optional
        Fitted view that knows the classes of words, for the key "class".
    """

    keys: tuple[str, ...] = ("word", "suffix4")
    smoothing: float = 1.0
    words: Any = None

    stored: ClassVar = {
        "kinds_": items(mapping(LABEL, COUNT), "n_keys"),
        "odds_": items(array("f8", "*", "n_dims"), "n_keys"),
        "words": optional(fitted("view split")),  # a parameter, but a fitted one
    }
    agrees: ClassVar = {
        "every kind of kinds_ has a row of odds_": lambda self: (
            len(self.keys) == len(self.odds_)
            and all(sorted(k.values()) == list(range(len(odds))) for k, odds in zip(self.kinds_, self.odds_))
        ),
        "words knows classes of words": lambda self: "class" not in self.keys or hasattr(self.words, "word_classes"),
    }

    def learn(
        self, X: Any, y: np.ndarray, n_labels: int, weights: np.ndarray | float = 1.0, always: Any = 0.0
    ) -> TypeOdds:
        """Count the labels (packed label numbers) of every kind of word in ``X``, each as much as its weight.

        ``always`` (n_labels,) is what "any" adds to every word; counts would say nothing about that.
        """
        self._check_params()
        tokens, offsets = flatten_tokens(X)
        distinct = distinct_tokens(tokens, offsets)
        per_type = np.zeros((len(distinct), n_labels))
        np.add.at(per_type, (token_numbers(tokens, distinct), y), weights)
        total = per_type.sum(axis=0) + 1e-3
        prior = total / total.sum()
        self.n_dims_ = n_labels
        self.kinds_: list[dict[Any, int]] = []
        self.odds_: list[np.ndarray] = []
        for key in self.keys:
            if key == "any":
                self.kinds_.append({"": 0})
                self.odds_.append(np.zeros((1, n_labels)) + always)
                continue
            names = self._names(key, distinct)
            kinds = {name: i for i, name in enumerate(dict.fromkeys(names))}
            counts = np.zeros((len(kinds), n_labels))
            np.add.at(counts, [kinds[name] for name in names], per_type)
            smooth = (counts + self.smoothing * prior) / (counts.sum(axis=1, keepdims=True) + self.smoothing)
            self.kinds_.append(kinds)
            self.odds_.append(np.log(smooth / prior))
        return self

    def fit_rows(self, X: Any) -> Rows:
        """Rows of ``X``; what there is to know comes from ``learn``."""
        return self.transform(X)

    def transform(self, X: Any) -> Rows:
        """One row of summed log odds per token."""
        check_is_fitted(self, "odds_")
        tokens, offsets = flatten_tokens(X)
        distinct = distinct_tokens(tokens, offsets)
        table = np.zeros((len(distinct), self.n_dims_))
        for key, kinds, odds in zip(self.keys, self.kinds_, self.odds_):
            place = np.fromiter((kinds.get(name, -1) for name in self._names(key, distinct)), np.int64, len(distinct))
            table[place >= 0] += odds[place[place >= 0]]
        return Rows.of_units(table, token_numbers(tokens, distinct), offsets)

    def feature_names(self, features: Iterable[int]) -> list[str]:
        """Names such as ``type:3``: the log odds of label number 3."""
        return [f"type:{int(f)}" for f in features]

    def _check_params(self) -> None:
        for key in self.keys:
            if key not in KEYS:
                raise InputError(f"keys has {key!r}; expected some of {KEYS}")

    def _names(self, key: str, words: list[str]) -> list[Any]:
        if key == "word":
            return [word.lower() for word in words]
        if key == "any":
            return [""] * len(words)
        if key == "class":
            return self.words.word_classes(words).tolist() if words else []
        return [word.lower()[-int(key[-1]) :] for word in words]
