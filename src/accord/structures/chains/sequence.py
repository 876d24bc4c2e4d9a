"""Label sequences: sum of token features and label transitions, decoded by Viterbi."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from accord import settings
from accord.exceptions import InputError
from accord.structures.chains import losses
from accord.structures.chains.chain import ChainStructure
from accord.structures.chains.labels import Label
from accord.tokenizer import sentences


@dataclass(eq=False, repr=False)
class Sequence(ChainStructure):
    """One label per token.

    Parameters
    ----------
    loss : "hamming", "zero-one", "f1" or "macro-f1"
        What training minimises. Hamming is the number of wrong tokens; F1 counts tokens of relevant labels.
    labels : sequence, optional
        The labels; default: those that occur in Y, sorted.
    constraints : "iob2", "bioes", iterable of forbidden (label, next label) pairs, or None
        Transitions that no prediction may contain; ``None`` in a pair stands for the start or the end.
    order : 1 or 2
        How many previous labels a label depends on.
    normalize : bool
        Hamming loss as a fraction of the tokens, instead of a count. With few labels large-margin learners err less
        with counts, which ask for the same margin per token in long sentences as in short ones.
    label_weights : mapping of label to weight, optional
        Hamming loss counts a wrong token as the weight of its true label (default 1).
    relevant : sequence of labels, optional
        Labels that F1 counts; default: all but ``outside``.
    outside : label
        The label of tokens that belong to nothing.
    transition_weight : float
        Scale (eta) of the transition features.
    ends : bool
        Starting and ending with a label have weights of their own. Without, as in the papers, only the constraints say
        how an output may start and end.
    observed_transitions : bool
        Features of a token count together with its label and the one before, too, so that transitions depend on the
        input. There are as many weights of a feature as pairs of labels then: for few labels, and enough examples.
    tokenizer : None, "blanks" or function
        How inputs that are texts become tokens: by the rules of :mod:`accord.tokenizer`, at blanks, or by a function
        that returns the tokens of a text (as spaCy's do). Models with a function cannot be saved.

    Examples
    --------
    >>> s = Sequence(constraints="iob2").fit([["B-PER", "I-PER", "O"], None])
    >>> y, score = s.decode(s.parts([[0, 2, 0], [0, 2, 1]]))
    >>> [s.labels_[i] for i in y]
    ['B-PER', 'I-PER']
    """

    loss: str = "hamming"
    labels: Seq[Label] | None = None
    constraints: Any = None
    order: int = 1
    normalize: bool = False
    label_weights: Mapping[Label, float] | None = None
    relevant: Seq[Label] | None = None
    outside: Label = "O"
    transition_weight: float = 1.0
    ends: bool = True
    observed_transitions: bool = False
    tokenizer: Any = None

    single_row = False
    has_transitions = True
    expects: ClassVar = {
        "loss": settings.one_of("hamming", "zero-one", "f1", "macro-f1"),
        "ends": settings.FLAG,
        "observed_transitions": settings.FLAG,
        "normalize": settings.FLAG,
        "order": settings.one_of(1, 2),
        "transition_weight": settings.NUMBER,
    }

    def fit(self, Y: Iterable[Any]) -> Sequence:
        settings.check(self)
        self._set_labels(chain.from_iterable(y for y in Y if y is not None))
        self.order_ = self.order
        self.eta_ = float(self.transition_weight)
        self.ends_ = bool(self.ends)
        self.observed_ = bool(self.observed_transitions)
        self.loss_ = self._loss()
        self.forbidden_ = self._forbidden()
        return self

    def view_inputs(self, X: Any) -> Any:
        """Lists of tokens in place of texts."""
        return sentences(X, self.tokenizer)

    @property
    def prefers_likely(self) -> bool:  # type: ignore[override]
        """Tokens that count one by one. Spans among tokens that belong to nothing are better found as a whole."""
        parts = (split_tag(label) for label in self.labels_)
        spans = self.outside in self.labels_ or any(prefix in ("B", "I", "E", "S") and kind for prefix, kind in parts)
        return self.loss == "hamming" and self.constraints is None and not spans

    def _loss(self) -> losses.Loss:
        n = self.n_labels_
        if self.loss == "zero-one":
            return losses.zero_one(n)
        if self.loss == "hamming":
            weights = np.ones(n)
            for label, weight in (self.label_weights or {}).items():
                settings.NOT_NEGATIVE.check(f"label_weights[{label!r}]", weight)
                if label in self.labels_:
                    weights[self.labels_.index(label)] = weight
            return losses.cost(weights[:, None], average=self.normalize, single=False)
        if self.relevant is None:
            relevant = np.array([label != self.outside for label in self.labels_])
        else:
            relevant = np.array([label in set(self.relevant) for label in self.labels_])
        return losses.f1(n, relevant, macro=self.loss == "macro-f1")

    def _forbidden(self) -> np.ndarray:
        """Forbidden moves (n, 2) of label numbers; ``n_labels`` stands for the start (left) or the end (right)."""
        n = self.n_labels_
        if self.constraints is None:
            return np.empty((0, 2), np.int64)
        if isinstance(self.constraints, str):
            if self.constraints not in SCHEMES:
                raise InputError(f"constraints is {self.constraints!r}; expected one of {sorted(SCHEMES)} or pairs")
            check = SCHEMES[self.constraints]
            ends: list[Label | None] = [*self.labels_, None]
            moves = (
                (i, j) for i, a in enumerate(ends) for j, b in enumerate(ends) if (i < n or j < n) and not check(a, b)
            )
        elif not isinstance(self.constraints, Iterable):
            raise InputError(f"constraints is {self.constraints!r}; expected one of {sorted(SCHEMES)} or pairs")
        else:
            number = {**self.label_numbers(), None: n}
            pairs = list(self.constraints)
            for pair in pairs:
                if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                    raise InputError(f"constraints has {pair!r}; expected (label, next label) pairs")
            moves = ((number[a], number[b]) for a, b in pairs if a in number and b in number)
        return np.fromiter(chain.from_iterable(moves), np.int64).reshape(-1, 2)

    def allowed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        init, step, final = super().allowed()
        n = self.n_labels_
        before, after = self.forbidden_.T
        inside = (before < n) & (after < n)
        init[after[(before == n) & (after < n)]] = -np.inf
        final[before[(after == n) & (before < n)]] = -np.inf
        if self.order_ == 1:
            step[before[inside], 0, after[inside]] = -np.inf
        else:
            step[:, before[inside], after[inside]] = -np.inf
        return init, step, final


def split_tag(label: Label) -> tuple[str, str]:
    """("B", "PER") for "B-PER", ("B", "") for "B"; any other prefix than B, I, E counts as outside."""
    prefix, _, kind = str(label).partition("-")
    return prefix, kind


def iob2_allows(a: Label | None, b: Label | None) -> bool:
    """I-X follows only B-X or I-X. ``None`` is the start (as ``a``) or the end (as ``b``)."""
    if b is None:
        return True
    prefix, kind = split_tag(b)
    if prefix != "I":
        return True
    return a is not None and split_tag(a) in (("B", kind), ("I", kind))


def bioes_allows(a: Label | None, b: Label | None) -> bool:
    """B-X and I-X are followed by I-X or E-X; nothing else is."""
    inside = a is not None and split_tag(a)[0] in ("B", "I")
    continues = b is not None and split_tag(b)[0] in ("I", "E")
    if inside or continues:
        return inside and continues and a is not None and b is not None and split_tag(a)[1] == split_tag(b)[1]
    return True


SCHEMES = {"iob2": iob2_allows, "bioes": bioes_allows}
