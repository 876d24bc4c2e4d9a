"""What a coordinator keeps on disk: what it knows between rounds, and the outcome. It is proved before it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from accord.exceptions import InputError, ModelFileError
from accord.federated.bounds import LARGEST, Said
from accord.federated.state import RoundReport, State, TrimmedState
from accord.forms import COUNT, TEXT, Unfit, array, fitted, items, mapping, optional, prove, record
from accord.persistence import read_model, write_model
from accord.settings import NOT_NEGATIVE, Expected, whole

T = TypeVar("T")
AMOUNT = Expected("a number, 0 or more, or infinity", lambda value: isinstance(value, (int, float)) and value >= 0)
ROUND = record(
    "RoundReport", number=whole(1), change=AMOUNT, seconds=NOT_NEGATIVE, failures=mapping(TEXT, TEXT), farthest=TEXT,
    distance=AMOUNT,
)  # fmt: skip
NUMBERS = partial(array, "f8", least=-LARGEST, most=LARGEST)
PREDICTIONS = NUMBERS("n_rows", "n_outputs")
COUNTED = {"rounds are counted from 1 on": lambda kept: all(r.number == k for k, r in enumerate(kept.rounds, 1))}
_PER_SITE = ("supposed", "asked", "said", "questions", "answers")


@dataclass
class KeptSite:
    """What is kept of a site: its predictions, and what it was asked and answered."""

    supposed: np.ndarray
    asked: np.ndarray
    said: np.ndarray
    questions: np.ndarray
    answers: np.ndarray
    n_others: int

    stored: ClassVar = {
        "supposed": PREDICTIONS,
        "asked": NUMBERS("n_said", "n_rows", "n_outputs"),
        "said": NUMBERS("n_said", "n_rows", "n_outputs"),
        "questions": NUMBERS("n_answers", "n_numbers"),
        "answers": NUMBERS("n_answers", "n_numbers"),
        "n_others": COUNT,
    }
    agrees: ClassVar = {"at most two answers are kept to compare with": lambda site: len(site.said) <= 2}


@dataclass
class Checkpoint:
    """What is kept between rounds."""

    names: list[str]
    shape: list[int]
    lambda_: float
    members: list[str]
    rounds: list[RoundReport]
    sites: dict[str, KeptSite]
    trim: int = 0
    consensus: np.ndarray | None = None
    tried: np.ndarray | None = None

    stored: ClassVar = {
        "names": items(TEXT, distinct=True),
        "shape": items(whole(1), 2),
        "lambda_": NOT_NEGATIVE,
        "members": items(TEXT, distinct=True),
        "rounds": items(ROUND),
        "sites": mapping(TEXT, fitted("KeptSite", n_rows="n_rows", n_outputs="n_outputs", n_numbers="n_numbers")),
        "trim": COUNT,
        "consensus": optional(PREDICTIONS),
        "tried": optional(NUMBERS("n_tried", 2, "n_rows", "n_outputs")),
    }
    agrees: ClassVar = {
        **COUNTED,
        "sites are among the names": lambda kept: set(kept.sites) <= set(kept.names),
        "no site has more others than there are names": lambda kept: all(
            site.n_others <= len(kept.names) for site in kept.sites.values()
        ),
        "members are among the sites": lambda kept: set(kept.members) <= set(kept.sites),
        "there is a consensus if predictions are trimmed": lambda kept: (
            (kept.trim > 0) == (kept.consensus is not None) == (kept.tried is not None)
        ),
    }

    @property
    def n_rows(self) -> int:
        """Number of agreed examples."""
        return self.shape[0]

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.shape[1]

    @property
    def n_numbers(self) -> int:
        """Length of predictions as a vector."""
        return self.shape[0] * self.shape[1]


def save_state(path: str | Path, state: State, lambda_: float) -> None:
    """Write everything to a file; an interruption leaves the old one."""
    kept = _kept(state, lambda_)
    try:
        prove(kept, "agreement")
    except Unfit as error:
        raise InputError(f"checkpoint {path} cannot be written: {error}") from error
    told = {
        **_agreed(state, lambda_),
        "supposed": list(kept.sites),
        "n_others": [site.n_others for site in kept.sites.values()],
        "members": kept.members,
        "rounds": [asdict(report) for report in kept.rounds],
    }
    arrays = {
        f"{name}{k}": values
        for k, site in enumerate(kept.sites.values())
        for name in _PER_SITE
        if (values := getattr(site, name)).size
    }
    if kept.consensus is not None and kept.tried is not None:
        arrays.update(consensus=kept.consensus, tried=kept.tried)
    write_model(path, {"agreement": told}, arrays)


def load_state(path: str | Path, state: State, lambda_: float) -> None:
    """Go on from a file; an error if it is damaged, or of another agreement."""
    kept = read_proved(path, "agreement", _checkpoint)
    for key, value in _agreed(state, lambda_).items():
        if getattr(kept, key) != value:
            raise InputError(
                f"checkpoint {path} is of another agreement: its {key} is {getattr(kept, key)!r}, not {value!r}; "
                "name another file, or remove this one"
            )
    state.supposed = {name: site.supposed for name, site in kept.sites.items()}
    state.members, state.rounds = set(kept.members), kept.rounds
    for name, site in kept.sites.items():
        state.said[name] = Said(site.n_others, list(site.asked), list(site.said))
        if len(site.answers):
            state.history.questions[name] = list(site.questions)
            state.history.answers[name] = list(site.answers)
    if isinstance(state, TrimmedState) and kept.consensus is not None and kept.tried is not None:
        state.consensus, state.tried = kept.consensus, [(asked, found) for asked, found in kept.tried]
        state.residual = kept.rounds[-1].change if kept.rounds else np.inf


def read_proved(path: str | Path, key: str, make: Callable[[dict[str, Any], dict[str, np.ndarray]], T]) -> T:
    """What stands in a file under a key; ``make`` takes the arrays that it knows."""
    metadata, arrays = read_model(path)
    told = metadata.get(key)
    if not isinstance(told, dict):
        raise ModelFileError(f"{path} is no record of an agreement: it has no {key!r}; name another file")
    try:
        kept = make(told, arrays)
        for name in arrays:
            raise Unfit(f"there is an array {name!r}, which does not belong there")
        prove(kept, key)
    except (Unfit, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = str(error) if isinstance(error, Unfit) else f"{key} is incomplete, or of another kind ({error!r})"
        raise ModelFileError(f"{path} is damaged: {why}; restore it from a copy, or remove it") from error
    return kept


def _agreed(state: State, lambda_: float) -> dict[str, Any]:
    return {"names": state.names, "shape": list(state.shape), "lambda_": float(lambda_), "trim": state.trim}


def _kept(state: State, lambda_: float) -> Checkpoint:
    m, k = state.shape
    sites = {}
    for name, supposed in state.supposed.items():
        said = state.said.get(name, Said())
        sites[name] = KeptSite(
            supposed,
            np.array(said.asked).reshape(-1, m, k),
            np.array(said.answers).reshape(-1, m, k),
            np.array(state.history.questions.get(name, [])).reshape(-1, m * k),
            np.array(state.history.answers.get(name, [])).reshape(-1, m * k),
            said.n_others,
        )
    kept = Checkpoint(**_agreed(state, lambda_), members=sorted(state.members), rounds=state.rounds, sites=sites)
    if isinstance(state, TrimmedState):
        kept.consensus, kept.tried = state.consensus, np.array(state.tried).reshape(-1, 2, m, k)
    return kept


def _checkpoint(told: dict[str, Any], arrays: dict[str, np.ndarray]) -> Checkpoint:
    told = dict(told)
    names = told.pop("supposed")
    counts = told.pop("n_others", [0] * len(names))  # files of earlier versions have no such answers
    sites = {}
    for k, (name, n_others) in enumerate(zip(names, counts, strict=True)):
        supposed = arrays.pop(f"supposed{k}")
        empty = np.empty((0, *supposed.shape))
        asked, said = (arrays.pop(f"{part}{k}", empty) for part in ("asked", "said"))
        flat = np.empty((0, supposed.size))
        questions, answers = (arrays.pop(f"{part}{k}", flat) for part in ("questions", "answers"))
        sites[name] = KeptSite(supposed, asked, said, questions, answers, n_others)
    if len(sites) < len(names):
        raise Unfit("supposed names a site twice")
    rounds = [RoundReport(**report) for report in told.pop("rounds")]
    consensus, tried = arrays.pop("consensus", None), arrays.pop("tried", None)
    return Checkpoint(rounds=rounds, sites=sites, consensus=consensus, tried=tried, **told)
