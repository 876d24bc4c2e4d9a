"""Labels of some tokens, from rules: which rules are trusted, where spans begin and end, what is outside.

Ten words per class touch one name in seven. A token that no rule touches is not outside of all names for that, so it is
asked whether it looks like the tokens that rules touch: features that several touched words share (capital letters,
what stands before them) tell touched tokens from others. Touched words that were held out say how much of that likeness
a token needs to pass as one of them. What has less is outside; what has more, side by side, is one span, which has the
label of the rule that touches a token of it; a span that no rule touches, or rules that contradict each other, is left
open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from accord.learners.rules import Rules
from accord.solvers import soft_classes
from accord.views.text import TokenFeatures

OUTSIDE = "O"
SHARED = 5  # touched words that must have a feature; of fewer words, a quarter of them
MISSED = 0.05  # of touched words that were held out, as many are taken to be outside
LEAST_LIKE = 0.2  # where few words are held out, none of them is typical
FOLDS = 3
ENOUGH = 10  # touched words, of which some can be held out
C, MANY = 0.03, 2000  # C for so many tokens or more; fewer count for more
MOST, FEW = 20_000, 10_000  # tokens from which likeness is learned, and where it only judges a rule
UNKNOWN = -2
LEAST_PRECISION = 0.3
PRIOR = 4.0  # labeled matches that the estimate without labels is worth
BELIEVED, BELIEF = 0.8, 2.0  # precision before anything is seen, and the distinct words that it is worth
CLEAR = 0.6  # share of the trust that the label of a span must have


class Judged(NamedTuple):
    """A rule with what it matched, how often it is right, and what that is said by."""

    name: str
    n_matches: int
    n_labeled: int  # matches whose label is known
    precision: float
    used: bool


def about(judged: Sequence[Judged]) -> str:
    """What became of rules, in a sentence."""
    used = [rule for rule in judged if rule.used]
    n = sum(rule.n_matches for rule in used)
    said = f"rules: {len(used)} of {len(judged)} used, with {n:,} matches"
    for rule in judged:
        if not rule.used:
            why = f"right in {100 * rule.precision:.0f} % by estimate" if rule.n_matches else "no match"
            said += f"; dropped: {rule.name} ({why})"
    return said


class RuleLabels(NamedTuple):
    """Partial labels by sentence (None: no trusted rule says anything of it), the rules as they were judged, and what
    trusted rules have found, by kind."""

    outputs: list[list[Any] | None]
    judged: list[Judged]
    phrases: dict[str, list[str]]


class Touched(NamedTuple):
    """Tokens of all sentences in one row; kinds of matches by rule and token, -1 where there is none; and the phrases
    that were matched, with their kinds, by rule."""

    offsets: np.ndarray
    tokens: list[str]
    kinds: list[Any]
    votes: np.ndarray  # (n_rules, n_tokens)
    phrases: list[set[tuple[Any, str]]]


def touched(rules: Rules, X: Sequence[Sequence[str]]) -> Touched:
    """What rules find in sentences; a kind is a label without its prefix (``LOC`` of ``B-LOC``)."""
    offsets = np.append(0, np.cumsum([len(x) for x in X])).astype(np.int64)
    votes = np.full((len(rules), int(offsets[-1])), -1, np.int32)
    numbers: dict[Any, int] = {}
    phrases: list[set[tuple[Any, str]]] = [set() for _ in range(len(rules))]
    for first, x in zip(offsets, X):
        for r, found in enumerate(rules.matches(x)):
            for start, end, label in found:
                votes[r, first + start : first + end] = numbers.setdefault(kind_of(label), len(numbers))
                phrases[r].add((kind_of(label), " ".join(x[start:end])))
    return Touched(offsets, [token for x in X for token in x], list(numbers), votes, phrases)


def kind_of(label: Any) -> Any:
    """The kind of a span that a label belongs to, or the label itself."""
    return (
        label[2:] if isinstance(label, str) and label[1:2] == "-" and label[:1] in "BIES" and len(label) > 2 else label
    )


def labels_by_rules(
    rules: Rules, X: Sequence[Sequence[str]], outputs: Sequence[Any], labels: Iterable[Any], rng: np.random.Generator
) -> RuleLabels:
    """Partial labels of sentences without labels; ``labels`` are those that are known to exist."""
    found, known = touched(rules, X), set(labels)
    flat = [label for x, y in zip(X, outputs) for label in (y if y is not None else [None] * len(x))]
    scheme = scheme_of(known)
    if not found.kinds:
        return RuleLabels([None] * len(X), judged(rules, found, None, flat), {})
    like = Likeness(found, X, rng)
    each = judged(rules, found, like, flat)
    has_outside = not known or OUTSIDE in known
    inside = np.zeros(len(found.tokens), bool)
    if has_outside:
        inside = like.of([r for r, rule in enumerate(each) if rule.used], np.arange(inside.size))[0]
    made = partial_labels(found, inside, each, scheme, has_outside)
    phrases: dict[str, list[str]] = {}
    for kind, phrase in sorted({pair for rule, of in zip(each, found.phrases) if rule.used for pair in of}, key=str):
        if kind != OUTSIDE:
            phrases.setdefault(str(kind), []).append(phrase)
    return RuleLabels([y if given is None else None for y, given in zip(made, outputs)], each, phrases)


def scheme_of(labels: set[Any]) -> str | None:
    """How spans are written, from the labels that there are; without any, as IOB2."""
    tags = [label for label in labels if label != OUTSIDE]
    if not all(isinstance(label, str) and kind_of(label) != label for label in tags):
        return None
    return "bioes" if {label[0] for label in tags} & {"E", "S"} else "iob2"


def all_labels(kinds: Iterable[Any]) -> list[str]:
    """The labels of IOB2 for kinds of spans."""
    return [OUTSIDE, *(label for kind in sorted(set(kinds) - {OUTSIDE}) for label in written(kind, 2, "iob2"))]


# -- what tokens that no rule touches are ---------------------------------------------------------------------------
class Likeness:
    """Whether tokens look like those that rules touch, by features that several touched words share."""

    def __init__(self, found: Touched, X: Sequence[Sequence[str]], rng: np.random.Generator) -> None:
        distinct = {token: i for i, token in enumerate(dict.fromkeys(found.tokens))}
        self.types = np.fromiter((distinct[token] for token in found.tokens), np.int64, len(found.tokens))
        self.rng, self.n_kinds = rng, len(found.kinds)
        outside = np.array([kind == OUTSIDE for kind in found.kinds] + [True])
        self.votes = np.where(outside[found.votes], -1, found.votes)  # of kinds inside
        at = np.flatnonzero(np.any(self.votes >= 0, axis=0))
        rows = sp.csr_array(TokenFeatures(window=1).fit_rows(list(X)).matrix())
        some = sp.coo_array(rows[at])
        pairs = np.unique(np.stack([self.types[at][some.coords[0]], some.coords[1]]), axis=1)
        n_words = np.unique(self.types[at]).size
        shared = np.bincount(pairs[1], minlength=rows.shape[1]) >= max(1, min(SHARED, n_words // 4))
        self.rows = rows[:, np.flatnonzero(shared)]

    def of(self, rules: Sequence[int], asked: np.ndarray, most: int = MOST) -> tuple[np.ndarray, np.ndarray]:
        """Whether tokens look inside to what these rules touch, and probabilities of kinds if they are.

        ``most``: tokens to learn from. Tokens that are asked about are not learned from, unless that would be all.
        """
        kinds = self.votes[list(rules)].max(axis=0, initial=-1)
        some, others = np.flatnonzero(kinds >= 0), np.flatnonzero(kinds < 0)
        if asked.size < kinds.size:
            others = np.setdiff1d(others, asked)
        if not some.size or not others.size:
            return np.ones(asked.size, bool), np.ones((asked.size, self.n_kinds))
        some = self.rng.permutation(some)[: most // 2]
        used = np.append(some, self.rng.permutation(others)[: max(most - some.size, some.size)])
        least = self._least(kinds, some, used)
        guesses = self._learned(kinds, used, asked)
        inside = guesses[:, :-1].sum(axis=1)
        return inside >= least, guesses[:, :-1] / np.maximum(inside, 1e-12)[:, None]

    def _least(self, kinds: np.ndarray, some: np.ndarray, used: np.ndarray) -> float:
        """How probably inside a token must be to pass as a touched one: as nearly all held-out touched words are."""
        words = np.unique(self.types[some])
        if words.size < ENOUGH:
            return 0.5
        fold = dict(zip(words.tolist(), (self.rng.permutation(words.size) % FOLDS).tolist()))
        folds = np.array([fold[word] for word in self.types[some].tolist()])
        seen = []
        for f in range(FOLDS):
            out = some[folds == f]
            seen.append(self._learned(kinds, np.setdiff1d(used, out), out)[:, :-1].sum(axis=1))
        return max(float(np.quantile(np.concatenate(seen), MISSED)), LEAST_LIKE)

    def _learned(self, kinds: np.ndarray, used: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Probabilities (n_asked, n_kinds + 1) of kinds, and of being touched by no rule, if half of all are."""
        target = np.eye(self.n_kinds + 1)[kinds[used]]
        weights, touched = np.ones(used.size), kinds[used] >= 0
        words = self.types[used][touched]
        weights[touched] = 1.0 / np.sqrt(np.bincount(words)[words])  # a frequent word says little more than others
        weights[touched] *= np.sum(~touched) / max(weights[touched].sum(), 1e-12)
        found = soft_classes.regression(self.rows[used], target, C * max(1.0, MANY / used.size), weights)
        return np.asarray(softmax(self.rows[asked] @ found, axis=1))


# -- which rules are trusted ------------------------------------------------------------------------------------------
def judged(rules: Rules, found: Touched, like: Likeness | None, known: Sequence[Any]) -> list[Judged]:
    """How often each rule is right: matches that look to other rules like theirs, corrected by known labels.

    ``known`` has the labels of all tokens, None where there is none. A bad rule makes others look bad: of those that
    look bad, the one is dropped without which the others look best, until none looks bad.
    """
    numbers = {kind: i for i, kind in enumerate(found.kinds)}
    truth = np.array([UNKNOWN if label is None else numbers.get(kind_of(label), -1) for label in known])
    out: list[Judged] = []
    for r, rule in enumerate(rules.rules_):
        at = np.flatnonzero(found.votes[r] >= 0)
        out.append(Judged(rule.name, int(at.size), int(np.sum(truth[at] != UNKNOWN)), 0.0, bool(at.size)))
    if like is None:
        return out

    def precisions(used: Sequence[int]) -> dict[int, float]:
        found_right = {}
        for r in used:
            at = np.flatnonzero(found.votes[r] >= 0)
            guess = _agreement(found, like, r, at, [other for other in used if other != r])
            right = float(np.sum(truth[at] == found.votes[r, at]))
            found_right[r] = (right + PRIOR * guess) / (out[r].n_labeled + PRIOR)
        return found_right

    used = [r for r, rule in enumerate(out) if rule.used]
    now = precisions(used)
    while bad := [r for r in used if now[r] < LEAST_PRECISION]:
        without = {r: precisions([other for other in used if other != r]) for r in bad}
        worst = max(bad, key=lambda r: sum(without[r].values()))
        out[worst] = out[worst]._replace(precision=now[worst], used=False)
        used.remove(worst)
        now = without[worst]
    for r in used:
        out[r] = out[r]._replace(precision=now[r])
    return out


def _agreement(found: Touched, like: Likeness, r: int, at: np.ndarray, others: list[int]) -> float:
    """The share of the matches of a rule that others agree with: by their own votes, or as they would generalise."""
    theirs, mine = found.votes[others][:, at], found.votes[r, at]
    inside, kinds = like.of(others, at, FEW)
    known = np.unique(like.votes[others])  # kinds that others speak of
    right = np.where(np.isin(mine, known), kinds[np.arange(at.size), mine], 1.0) * inside
    right = np.where([found.kinds[kind] == OUTSIDE for kind in mine], ~inside, right)
    spoken = np.any(theirs >= 0, axis=0)
    share = np.mean(np.where(spoken, np.any(theirs == mine, axis=0), right))
    # what a few words say of a few others is no reason to distrust a rule, nor is it that one other kind looks unlike
    n_words = min(np.unique(like.types[at]).size, np.unique(like.types[np.any(like.votes[others] >= 0, axis=0)]).size)
    telling = n_words if np.isin(mine, known).any() or np.sum(known >= 0) > 1 else n_words / 4.0
    return float((BELIEF * BELIEVED + telling * share) / (BELIEF + telling))


# -- labels -----------------------------------------------------------------------------------------------------------
def partial_labels(
    found: Touched, inside: np.ndarray, judged: Sequence[Judged], scheme: str | None, has_outside: bool
) -> list[list[Any] | None]:
    """Labels of the sentences that trusted rules touch, None for open tokens; of others, None.

    ``scheme`` says how spans are written; without labels of tokens outside, only touched ones have labels.
    """
    odds = np.array([np.log(rule.precision / (1.001 - rule.precision)) + 1.0 if rule.used else 0.0 for rule in judged])
    out: list[list[Any] | None] = []
    for lo, hi in zip(found.offsets[:-1], found.offsets[1:]):
        votes = np.where(odds[:, None] > 0.0, found.votes[:, lo:hi], -1)
        touched = np.any(votes >= 0, axis=0)
        if not touched.any():
            out.append(None)
            continue
        y: list[Any] = [OUTSIDE if has_outside else None] * int(hi - lo)
        runs = touched | inside[lo:hi] if has_outside else touched
        edges = np.flatnonzero(np.diff(np.concatenate([[False], runs, [False]]).astype(np.int8)))
        for start, end in edges.reshape(-1, 2).tolist():
            if has_outside:
                kind = _kind(votes[:, start:end], odds, found.kinds)
                y[start:end] = [None] * (end - start) if kind is None else written(kind, end - start, scheme)
            else:
                y[start:end] = [_kind(votes[:, t : t + 1], odds, found.kinds) for t in range(start, end)]
        out.append(y if any(label not in (None, OUTSIDE) for label in y) else None)
    return out


def _kind(votes: np.ndarray, odds: np.ndarray, kinds: Sequence[Any]) -> Any:
    """The kind that rules give to some tokens, or None if they give none or contradict each other."""
    trust = np.zeros(len(kinds))
    for r, row in enumerate(votes):
        voted = np.unique(row[row >= 0])
        trust[voted] += odds[r]
    best = int(trust.argmax())
    return kinds[best] if trust[best] > CLEAR * trust.sum() else None


def written(kind: Any, n: int, scheme: str | None) -> list[Any]:
    """Labels of a span of ``n`` tokens."""
    if scheme is None or kind == OUTSIDE:
        return [kind] * n
    if scheme == "bioes":
        letters = "S" if n == 1 else "B" + "I" * (n - 2) + "E"
    else:
        letters = "B" + "I" * (n - 1)
    return [f"{letter}-{kind}" for letter in letters]
