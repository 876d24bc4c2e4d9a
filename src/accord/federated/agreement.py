"""Leading sites to their common optimum, round by round, over any transport."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from accord.exceptions import InputError
from accord.federated.bounds import BOUND, LARGEST, too_large, trimmed_mean
from accord.federated.checkpoint import COUNTED, PREDICTIONS, ROUND, load_state, save_state
from accord.federated.site import Site
from accord.federated.state import RoundReport, State, TrimmedState, trim_of
from accord.files import remove_leftovers
from accord.forms import COUNT, TEXT, items, mapping
from accord.settings import FLAG, NOT_NEGATIVE, POSITIVE, one_of, whole
from accord.views.inputs import describe

METHODS = ("accelerated", "gauss-seidel", "jacobi")
AGGREGATIONS = ("mean", "trimmed")
FAR = 4.0  # times as far from the median as others are is worth a warning; honest sites reach 2
STALL, ROUNDING = 5, 1e-6  # rounds without progress, at changes that small, are due to rounding


class Transport(Protocol):
    """How sites are asked. What fails comes back as an exception beside the answers, and is never raised.

    Examples
    --------
    >>> class Stubborn:  # every site always says the same
    ...     shape = (2, 1)
    ...     def names(self):
    ...         return ["one", "two"]
    ...     def ask(self, questions, lambda_):
    ...         return {name: np.full(self.shape, 1.0 if name == "one" else 3.0) for name in questions}
    >>> agree(Stubborn()).consensus.ravel()
    array([2., 2.])
    """

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

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> one = Site(X[:20, :2], X[:20].sum(axis=1), unlabeled=X[40:, :2])
    >>> two = Site(X[20:40, 2:], X[20:40].sum(axis=1), unlabeled=X[40:, 2:])
    >>> sites = LocalSites({"one": one, "two": two})
    >>> sites.names(), sites.shape
    (['one', 'two'], (20, 1))
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
    """The outcome: predictions of every site for the agreed examples, and how it came about.

    ``converged``: all sites answered, and agree within ``tol``. ``stalled``: they do not, and more rounds would not
    help, because rounding keeps them apart. ``trim`` is how many predictions do not count in the consensus, on either
    side.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> one = Site(X[:20, :2], X[:20].sum(axis=1), unlabeled=X[40:, :2])
    >>> two = Site(X[20:40, 2:], X[20:40].sum(axis=1), unlabeled=X[40:, 2:])
    >>> outcome = agree(LocalSites([one, two]))
    >>> outcome.converged, outcome.consensus.shape, outcome.missing
    (True, (20, 1), {})
    """

    predictions: dict[str, np.ndarray]
    rounds: list[RoundReport]
    converged: bool
    stalled: bool = False
    trim: int = 0

    stored: ClassVar = {
        "predictions": mapping(TEXT, PREDICTIONS),
        "rounds": items(ROUND),
        "converged": FLAG,
        "stalled": FLAG,
        "trim": COUNT,
    }
    agrees: ClassVar = {
        **COUNTED,
        "there are more predictions than are left out": lambda kept: (
            not kept.trim or len(kept.predictions) > 2 * kept.trim
        ),
    }

    @property
    def consensus(self) -> np.ndarray:
        """The mean, or trimmed mean, of all sites' predictions (m, n_outputs)."""
        return trimmed_mean(list(self.predictions.values()), self.trim)

    @property
    def farthest(self) -> tuple[str, float]:
        """The site that stands out in the end, and by how much; see :class:`RoundReport`."""
        return (self.rounds[-1].farthest, self.rounds[-1].distance) if self.rounds else ("", 0.0)

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
    aggregation: str = "mean",
    trim: int = 1,
    bound: float = BOUND,
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
    aggregation : {"mean", "trimmed"}
        What sites heed: the mean of the others, or, for every example, the mean of all sites without the ``trim``
        lowest and the ``trim`` highest predictions. Then up to ``trim`` sites may lie or be silent, of at least
        ``2 * trim + 1``, and the consensus stays within what honest sites predict; but what honest sites say at the
        margins does not count either.
    trim : int
    bound : float
        A site that predicts so many times as much as the others is refused, if there are two others or more. What
        counts are root mean squares, and the largest of the others that a minority of liars cannot reach.

    Notes
    -----
    A site that stops answering keeps its last predictions, and the others go on; it is asked again in every round. One
    that has never answered is not counted on until it does. When those that answer agree while others do not answer,
    that is the end, but ``converged`` is False and ``missing`` says who is missing. Answers that no honest site gives
    (see :mod:`accord.federated.bounds`) are refused as if they had not come.

    Rounding sets a limit to how well sites can agree. A run that has reached it ends as ``stalled``, with a warning,
    unless ``tol`` is 0, which asks for ``max_rounds`` rounds.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> one = Site(X[:20, :2], X[:20].sum(axis=1), unlabeled=X[40:, :2])
    >>> two = Site(X[20:40, 2:], X[20:40].sum(axis=1), unlabeled=X[40:, 2:])
    >>> outcome = agree(LocalSites([one, two]), lambda_=0.1, method="gauss-seidel", max_rounds=3)
    >>> len(outcome.rounds), outcome.rounds[0].change > outcome.rounds[-1].change
    (3, True)
    """
    state = _start(transport, method, aggregation, trim)
    NOT_NEGATIVE.check("lambda_", lambda_)
    NOT_NEGATIVE.check("tol", tol)
    whole(0).check("max_rounds", max_rounds)
    POSITIVE.check("bound", bound)
    if checkpoint is not None:
        remove_leftovers(checkpoint)
        if Path(checkpoint).exists():
            load_state(checkpoint, state, lambda_)
    settled = stalled = False
    resumed = bool(state.rounds)  # then one more round at least: sites may have been started anew, too
    while (not (settled or stalled) and len(state.rounds) < max_rounds) or resumed:
        resumed = False
        report = _ask_all(transport, state, lambda_, bound, in_turn=method == "gauss-seidel")
        state.rounds.append(report)
        settled = report.change <= tol
        stalled = not settled and tol > 0 and _stalls([one.change for one in state.rounds])
        if checkpoint is not None:
            save_state(checkpoint, state, lambda_)
        if on_round is not None:
            on_round(report)
    left_out = trim_of(state.trim, state.names, state.supposed)
    outcome = Agreement(state.supposed, state.rounds, False, stalled, left_out)
    outcome.converged = settled and not outcome.missing and bool(np.isfinite(outcome.consensus).all())
    _warn(outcome, tol)
    return outcome


def _warn(outcome: Agreement, tol: float) -> None:
    """Say what a user has to know before the outcome is believed."""
    name, distance = outcome.farthest
    if distance >= FAR:
        warnings.warn(
            f"site {name!r} stands out: its predictions are {distance:.3g} times as far from the median of all sites "
            "as those of the others; look at its data, leave it out, or use aggregation='trimmed'",
            UserWarning,
            stacklevel=3,
        )
    if outcome.stalled:
        least = min(report.change for report in outcome.rounds[-2 * STALL :])
        warnings.warn(
            f"stalled after {len(outcome.rounds)} rounds: rounding keeps sites from agreeing better than to {least:.1e}"
            f"; give tol={10 * least:.0e} or more instead of {tol:g}, or scale the features of the sites",
            ConvergenceWarning,
            stacklevel=3,
        )


def _start(transport: Transport, method: str, aggregation: str, trim: int) -> State:
    """What is known before the first round."""
    names = transport.names()
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}")
    one_of(*AGGREGATIONS).check("aggregation", aggregation)
    if aggregation == "mean":
        return State(names, transport.shape, method == "accelerated")
    whole(1).check("trim", trim)
    if method == "gauss-seidel":
        raise InputError(
            "method is 'gauss-seidel', which asks one site after another; a trimmed mean needs all at once: use "
            "method='accelerated' or 'jacobi'"
        )
    if len(names) <= 2 * trim:
        raise InputError(
            f"trim is {trim}, but there are {len(names)} sites; expected at least {2 * trim + 1} of them to leave the "
            f"{trim} lowest and the {trim} highest out; lower trim, or use aggregation='mean'"
        )
    return TrimmedState(names, transport.shape, method == "accelerated", trim)


def _ask_all(transport: Transport, state: State, lambda_: float, bound: float, in_turn: bool) -> RoundReport:
    """One round: every site is asked, all at once or one after another."""
    start = time.perf_counter()
    surprises: list[float] = []
    failures: dict[str, str] = {}
    for together in [[name] for name in state.names] if in_turn else [state.names]:
        questions = {name: state.others(name) for name in together}
        answers = transport.ask(questions, lambda_)
        faults = {
            name: _fault(answers.get(name, TimeoutError("no answer in time")), transport.shape) for name in together
        }
        sound = {name: np.asarray(answers[name], dtype=float) for name in together if faults[name] is None}
        known = {**state.known(), **sound}
        for name in together:
            why = faults[name]
            if why is None:
                why = too_large(name, known, bound) or state.contradiction(name, questions[name], sound[name])
            if why is not None:
                failures[name] = why
            else:
                surprises.append(state.hear(name, questions[name], sound[name], in_turn))
    state.close_round(list(failures))
    seconds = time.perf_counter() - start
    return RoundReport(len(state.rounds) + 1, state.change(surprises), seconds, failures, *state.farthest())


def _stalls(changes: Sequence[float]) -> bool:
    """Whether changes have become tiny, but no smaller of late."""
    before, late = changes[-2 * STALL : -STALL], changes[-STALL:]
    return len(before) == STALL and max(*before, *late) <= ROUNDING and min(late) >= min(before)


def _fault(answer: Any, shape: tuple[int, int]) -> str | None:
    """What is wrong with an answer; None if nothing is."""
    if isinstance(answer, BaseException):
        return f"{type(answer).__name__}: {answer}"
    try:
        found = np.asarray(answer)
    except (TypeError, ValueError):
        found = np.asarray("")
    if found.dtype.kind not in "fiu":
        return f"answered with {describe(answer)} instead of numbers"
    if found.shape != shape:
        return f"answered with an array of shape {found.shape}; agreed are {shape}"
    if not np.isfinite(found).all():
        return f"answered with {int(np.sum(~np.isfinite(found)))} numbers that are not finite"
    if np.abs(found).max(initial=0.0) > LARGEST:
        return f"answered with numbers up to {np.abs(found).max():.1e}; expected none beyond {LARGEST:g}"
    return None
