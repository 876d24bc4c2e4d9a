"""Leading sites to their common optimum, round by round, over any transport."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from accord.exceptions import InputError
from accord.federated.site import Site
from accord.federated.state import RoundReport, State
from accord.settings import NOT_NEGATIVE
from accord.views.inputs import describe

METHODS = ("accelerated", "gauss-seidel", "jacobi")


class Transport(Protocol):
    """How sites are asked. What fails comes back as an exception beside the answers, and is never raised."""

    shape: tuple[int, int]  # (m, n_outputs) of predictions

    def names(self) -> list[str]:
        """The sites that take part."""
        ...

    def ask(self, questions: Mapping[str, np.ndarray], lambda_: float) -> dict[str, np.ndarray | Exception]:
        """Ask sites, all at once, given the others' predictions; those that do not answer may be left out."""
        ...


class LocalSites:
    """Sites in this process, for tests and simulation.

    Parameters
    ----------
    sites : dict of Site, or list of them
    """

    def __init__(self, sites: Mapping[str, Site] | Sequence[Site]) -> None:
        if not isinstance(sites, (Mapping, list, tuple)) or not sites:
            raise InputError(f"sites is {describe(sites)}; expected a list or dict of at least one Site")
        named = sites if isinstance(sites, Mapping) else {f"site{k}": site for k, site in enumerate(sites)}
        self.sites = dict(named)
        for name, site in self.sites.items():
            if not isinstance(site, Site):
                raise InputError(f"sites[{name!r}] is {describe(site)}; expected a Site")
        self.shape = next(iter(self.sites.values())).shape
        for name, site in self.sites.items():
            if site.shape != self.shape:
                raise InputError(
                    f"sites[{name!r}] predicts {site.shape} numbers and another one {self.shape}; they must agree"
                )

    def names(self) -> list[str]:
        """The sites that take part."""
        return list(self.sites)

    def ask(self, questions: Mapping[str, np.ndarray], lambda_: float) -> dict[str, np.ndarray | Exception]:
        """Ask the sites one after another."""
        found: dict[str, np.ndarray | Exception] = {}
        for name, others in questions.items():
            try:
                found[name] = self.sites[name].predict(others, lambda_)
            except Exception as error:  # whatever a site raises is that site's failure
                found[name] = error
        return found


@dataclass
class Agreement:
    """The outcome: predictions of every site for the agreed examples, and how it came about."""

    predictions: dict[str, np.ndarray]
    rounds: list[RoundReport]
    converged: bool

    @property
    def consensus(self) -> np.ndarray:
        """The mean of all sites' predictions (m, n_outputs)."""
        return np.asarray(np.mean(list(self.predictions.values()), axis=0))

    @property
    def missing(self) -> dict[str, str]:
        """Sites that did not answer in the last round, and why."""
        return dict(self.rounds[-1].failures) if self.rounds else {}


def agree(
    transport: Transport,
    lambda_: float = 0.1,
    *,
    method: str = "accelerated",
    tol: float = 1e-8,
    max_rounds: int = 50,
    checkpoint: str | Path | None = None,
    on_round: Callable[[RoundReport], Any] | None = None,
) -> Agreement:
    """Ask sites for predictions until these fit together: the optimum of co-regularised least squares.

    Parameters
    ----------
    transport : Transport
        Such as :class:`LocalSites`.
    lambda_ : float
        Weight of the disagreement.
    method : {"accelerated", "gauss-seidel", "jacobi"}
        See :mod:`accord.solvers.agreement`; the second is the thesis' own, which asks one site after another, the
        third asks all of them at once without acceleration.
    tol : float
        Sites agree if no answer differs by more than this, relative to its length, from what was supposed.
    max_rounds : int
    checkpoint : path, optional
        A file that is written after every round and, if it is there, read at the start, so that nothing is lost.
    on_round : function of a RoundReport, optional
        Called after every round.

    Notes
    -----
    A site that stops answering keeps its last predictions, and the others go on; it is asked again in every round. One
    that has never answered is not counted on until it does. When those that answer agree while others do not answer,
    that is the end, but ``converged`` is False and ``missing`` tells who is missing.
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}")
    NOT_NEGATIVE.check("lambda_", lambda_)
    state = State(transport.names(), transport.shape, method == "accelerated")
    if checkpoint is not None and Path(checkpoint).exists():
        state.load(checkpoint, lambda_)
    settled = False
    resumed = bool(state.rounds)  # then one more round at least: sites may have been started anew, too
    while (not settled and len(state.rounds) < max_rounds) or resumed:
        resumed = False
        report = _ask_all(transport, state, lambda_, in_turn=method == "gauss-seidel")
        state.rounds.append(report)
        settled = report.change <= tol
        if checkpoint is not None:
            state.save(checkpoint, lambda_)
        if on_round is not None:
            on_round(report)
    return Agreement(state.supposed, state.rounds, settled and not state.rounds[-1].failures)


def _ask_all(transport: Transport, state: State, lambda_: float, in_turn: bool) -> RoundReport:
    """One round: every site is asked, all at once or one after another."""
    start = time.perf_counter()
    changes: list[float] = []
    failures: dict[str, str] = {}
    for together in [[name] for name in state.names] if in_turn else [state.names]:
        questions = {name: state.others(name) for name in together}
        answers = transport.ask(questions, lambda_)
        for name in together:
            answer = answers.get(name, TimeoutError("no answer in time"))
            why = _fault(answer, transport.shape)
            if why is not None:
                failures[name] = why
            else:
                changes.append(state.hear(name, questions[name], np.asarray(answer, dtype=float), in_turn))
    state.close_round(list(failures))
    return RoundReport(len(state.rounds) + 1, max(changes, default=np.inf), time.perf_counter() - start, failures)


def _fault(answer: Any, shape: tuple[int, int]) -> str | None:
    """What is wrong with an answer; None if nothing is."""
    if isinstance(answer, BaseException):
        return f"{type(answer).__name__}: {answer}"
    try:
        found = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        return f"answered with {describe(answer)} instead of numbers"
    if found.shape != shape:
        return f"answered with an array of shape {found.shape}; agreed are {shape}"
    if not np.isfinite(found).all():
        return f"answered with {int(np.sum(~np.isfinite(found)))} numbers that are not finite"
    return None
