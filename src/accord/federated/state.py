"""What a coordinator knows between rounds, and keeps on disk: questions and answers, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.persistence import read_model, write_model
from accord.solvers.agreement import Accelerated, others_of


@dataclass(frozen=True)
class RoundReport:
    """What happened in a round.

    ``change`` is the largest relative difference between what a site answered and what was supposed of it;
    ``failures`` tells which sites did not answer, or wrongly, and why.
    """

    number: int
    change: float
    seconds: float
    failures: dict[str, str] = field(default_factory=dict)


class State:
    """Predictions that are supposed of every site, and what sites said so far.

    A site is a member once it has answered. The answers of members depend on how many there are, so what was heard
    before is forgotten when another one joins; the predictions that were reached are not.

    `names` are all sites that are to take part, `shape` is that of predictions; `accelerate` says whether to suppose
    what fits together best, or the last answers.
    """

    def __init__(self, names: Sequence[str], shape: tuple[int, int], accelerate: bool) -> None:
        self.names, self.shape, self.accelerate = list(names), shape, accelerate
        self.supposed: dict[str, np.ndarray] = {name: np.zeros(shape) for name in names}
        self.members: set[str] = set()
        self.heard: dict[str, np.ndarray] = {}  # in this round
        self.history = Accelerated(shape)
        self.rounds: list[RoundReport] = []

    def others(self, name: str) -> np.ndarray:
        """What to send to a site."""
        return others_of(name, self.supposed)

    def hear(self, name: str, others: np.ndarray, answer: np.ndarray, at_once: bool) -> float:
        """Take an answer in; ``at_once`` it is what the next site hears. Returns how much of a surprise it is."""
        before = self.supposed.get(name)
        self.heard[name] = answer
        if self.accelerate:
            self.history.add(name, others, answer)
        if at_once:
            self.supposed[name] = answer
        if before is None:
            return np.inf
        return float(np.linalg.norm(answer - before) / max(np.linalg.norm(answer), np.finfo(float).tiny))

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
        if joined and not complete:
            self.history = Accelerated(self.shape)
        elif self.accelerate:
            self.supposed.update(self.history.suppose([name for name in failures if name in self.members]))

    def save(self, path: str | Path, lambda_: float) -> None:
        """Write everything to a file; an interruption leaves the old one."""
        arrays: dict[str, np.ndarray] = {}
        for k, name in enumerate(self.supposed):
            arrays[f"supposed{k}"] = self.supposed[name]
            if name in self.history.answers:
                arrays[f"questions{k}"] = np.stack(self.history.questions[name])
                arrays[f"answers{k}"] = np.stack(self.history.answers[name])
        told = {
            **self._agreed(lambda_),
            "supposed": list(self.supposed),
            "members": sorted(self.members),
            "rounds": [asdict(report) for report in self.rounds],
        }
        write_model(path, {"agreement": told}, arrays)

    def load(self, path: str | Path, lambda_: float) -> None:
        """Go on from a file; an error if it is of another agreement."""
        metadata, found = read_model(path)
        told = metadata.get("agreement")
        if not isinstance(told, dict):
            raise InputError(f"checkpoint {path} is no record of an agreement; name another file")
        for key, value in self._agreed(lambda_).items():
            if told[key] != value:
                raise InputError(
                    f"checkpoint {path} is of another agreement: its {key} is {told[key]!r}, not {value!r}; "
                    "name another file, or remove this one"
                )
        self.supposed = {name: found[f"supposed{k}"] for k, name in enumerate(told["supposed"])}
        self.members = set(told["members"])
        self.rounds = [RoundReport(**report) for report in told["rounds"]]
        for k, name in enumerate(self.supposed):
            if f"answers{k}" in found:
                self.history.questions[name] = list(found[f"questions{k}"])
                self.history.answers[name] = list(found[f"answers{k}"])

    def _agreed(self, lambda_: float) -> dict[str, Any]:
        return {"names": self.names, "shape": list(self.shape), "lambda_": float(lambda_)}
