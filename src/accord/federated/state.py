"""What a coordinator knows between rounds: questions and answers, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from accord.federated.bounds import Said, farthest, trimmed_mean
from accord.solvers.agreement import Accelerated, others_of

MEMORY = 10  # former rounds from which a trimmed consensus is foreseen


@dataclass(frozen=True)
class RoundReport:
    """What happened in a round.

    ``change`` is the largest relative difference between what a site answered and what was supposed of it (of a trimmed
    mean: between what it became and what was supposed of it); ``failures`` says which sites did not answer, or were
    refused, and why. ``farthest`` is the site that stands out, ``distance`` how many times as far from the median of
    all sites it is as the others usually are (none and 0 if there are fewer than three).

    Examples
    --------
    >>> from accord.federated import LocalSites, Site, agree
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> sites = [Site(X[k::3, :1], X[k::3].sum(axis=1), unlabeled=X[40:, :1]) for k in range(2)]
    >>> first = agree(LocalSites(sites)).rounds[0]
    >>> first.number, first.failures
    (1, {})
    """

    number: int
    change: float
    seconds: float
    failures: dict[str, str] = field(default_factory=dict)
    farthest: str = ""
    distance: float = 0.0


class State:
    """Predictions that are supposed of every site, and what sites said so far.

    A site is a member once it has answered. The answers of members depend on how many there are, so what was heard
    before is forgotten when another one joins; the predictions that were reached are not.

    `names` are all sites that are to take part, `shape` is that of predictions; `accelerate` says whether to suppose
    what fits together best, or the last answers.
    """

    trim = 0

    def __init__(self, names: Sequence[str], shape: tuple[int, int], accelerate: bool) -> None:
        self.names, self.shape, self.accelerate = list(names), shape, accelerate
        self.supposed: dict[str, np.ndarray] = {name: np.zeros(shape) for name in names}
        self.members: set[str] = set()
        self.heard: dict[str, np.ndarray] = {}  # in this round
        self.said: dict[str, Said] = {}
        self.history = Accelerated(shape)
        self.rounds: list[RoundReport] = []

    def others(self, name: str) -> np.ndarray:
        """What to send to a site."""
        return others_of(name, self.supposed)

    def known(self) -> dict[str, np.ndarray]:
        """The last predictions of those that ever answered."""
        return {name: own for name, own in self.supposed.items() if name in self.members or name in self.heard}

    def contradiction(self, name: str, others: np.ndarray, answer: np.ndarray) -> str | None:
        """Why an answer cannot be, given earlier ones of the site; None if it can."""
        return self.said[name].contradiction(others, answer) if name in self.said else None

    def hear(self, name: str, others: np.ndarray, answer: np.ndarray, at_once: bool) -> float:
        """Take an answer in; ``at_once`` it is what the next site hears. Returns how much of a surprise it is."""
        before = self.supposed.get(name)
        self.heard[name] = answer
        self.said.setdefault(name, Said()).add(others, answer)
        if self.accelerate:
            self.history.add(name, others, answer)
        if at_once:
            self.supposed[name] = answer
        return np.inf if before is None else _relative(answer - before, answer)

    def close_round(self, failures: Sequence[str]) -> None:
        """Suppose what fits the answers of the round best."""
        heard, self.heard = self.heard, {}
        if not heard:
            return
        joined = set(heard) - self.members
        if joined and not self.members:
            # the others never spoke
            self.supposed = {name: self.supposed[name] for name in self.names if name in heard}
        self.members |= joined
        complete = self.members == set(self.names) and joined == self.members
        self.supposed.update(heard)
        self._suppose(bool(joined) and not complete, [name for name in failures if name in self.members])

    def change(self, surprises: Sequence[float]) -> float:
        """How far the round was from what was supposed."""
        return max(surprises, default=np.inf)

    def farthest(self) -> tuple[str, float]:
        """The site that stands out, and by how much; see :func:`accord.federated.bounds.farthest`."""
        return farthest({name: self.supposed[name] for name in self.supposed if name in self.members})

    def _suppose(self, forget: bool, waiting: Sequence[str]) -> None:
        if forget:
            self.history = Accelerated(self.shape)
        elif self.accelerate:
            self.supposed.update(self.history.suppose(waiting))


class TrimmedState(State):
    """Sites that hear the trimmed mean of all of them, so that a few that lie do not matter.

    As many copies of it are sent as there are sites. Without trimming that leads to the same optimum as the others'
    own predictions do: to weigh the distance from ``V - 1`` others is to weigh that from the mean of all ``V``.

    Parameters
    ----------
    names, shape, accelerate
        As for :class:`State`.
    trim : int
        How many of the lowest and of the highest predictions for an example do not count.
    """

    def __init__(self, names: Sequence[str], shape: tuple[int, int], accelerate: bool, trim: int) -> None:
        super().__init__(names, shape, accelerate)
        self.trim = trim
        self.consensus = np.zeros(shape)
        self.tried: list[tuple[np.ndarray, np.ndarray]] = []  # what was supposed of the consensus, what it became
        self.residual = np.inf

    def others(self, name: str) -> np.ndarray:
        return np.repeat(self.consensus[None], len(self.supposed), axis=0)

    def hear(self, name: str, others: np.ndarray, answer: np.ndarray, at_once: bool) -> float:
        self.heard[name] = answer
        self.said.setdefault(name, Said()).add(others, answer)
        return 0.0

    def change(self, surprises: Sequence[float]) -> float:
        return self.residual if surprises else np.inf

    def _suppose(self, forget: bool, waiting: Sequence[str]) -> None:
        found = trimmed_mean(list(self.supposed.values()), trim_of(self.trim, self.names, self.supposed))
        asked, before = self.consensus, self.residual
        self.residual = np.inf if forget else _relative(found - asked, found)
        # what is foreseen from former rounds may be wrong: then they are forgotten
        kept = self.tried[1 - MEMORY :] if self.accelerate and self.residual <= before else []
        self.tried = [] if forget else [*kept, (asked, found)]
        self.consensus = _foreseen(self.tried) if self.tried else found


def trim_of(trim: int, names: Sequence[str], members: Mapping[str, np.ndarray]) -> int:
    """How many predictions to leave out on either side: a site that never spoke is one less that can lie."""
    return max(0, trim - (len(names) - len(members)))


def _foreseen(tried: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Where a consensus leads to that becomes an affine function of what was supposed of it (Anderson's method)."""
    asked, found = tried[-1]
    if len(tried) == 1:
        return found
    residual = (found - asked).ravel()
    changes = np.stack([(f - a).ravel() - residual for a, f in tried[:-1]], axis=1)
    weights = np.linalg.lstsq(changes, -residual, rcond=1e-10)[0]
    return np.asarray(found + sum(w * (f - found) for w, (_, f) in zip(weights, tried)))


def _relative(difference: np.ndarray, answer: np.ndarray) -> float:
    return float(np.linalg.norm(difference) / max(np.linalg.norm(answer), np.finfo(float).tiny))
