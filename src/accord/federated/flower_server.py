"""The ServerApp: leads the sites of a Flower federation to their common optimum, and keeps the result on disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accord.exceptions import InputError
from accord.federated.agreement import Agreement, agree
from accord.federated.bounds import BOUND
from accord.federated.checkpoint import read_proved
from accord.federated.engine import require_flower
from accord.federated.flower_coordinator import FlowerSites
from accord.federated.state import RoundReport
from accord.files import remove_leftovers
from accord.forms import Unfit, prove
from accord.persistence import write_model

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.serverapp import Grid, ServerApp


@dataclass(frozen=True)
class RunSettings:
    """Settings of a run, from Flower's ``--run-config``; there, words are joined by hyphens.

    Parameters
    ----------
    result : path
        The file that :func:`read_result` reads. What is needed to go on after an interruption is kept beside it.
    lambda_ : float
        Weight of the disagreement (``lambda`` in a run configuration).
    sites : str
        Names of the sites, separated by commas. Without them, those that are there when ``min_sites`` are.
    min_sites : int
    method, tol, max_rounds, aggregation, trim, bound
        As for :func:`~accord.federated.agree`.
    timeout : float
        Seconds to wait for the answers of a round.
    patience : float
        Seconds to wait for sites at the start, and at the end for those that have gone.

    Examples
    --------
    >>> settings = RunSettings.from_config({"result": "result.accord", "lambda": 0.2, "sites": "north, south"})
    >>> settings.lambda_, settings.names
    (0.2, ['north', 'south'])
    """

    result: str
    lambda_: float = 0.1
    sites: str = ""
    min_sites: int = 2
    method: str = "accelerated"
    tol: float = 1e-8
    max_rounds: int = 50
    timeout: float = 60.0
    patience: float = 300.0
    aggregation: str = "mean"
    trim: int = 1
    bound: float = BOUND

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> RunSettings:
        """From a run configuration."""
        types = {field.name.strip("_").replace("_", "-"): field for field in fields(cls)}
        known, found = ", ".join(types), {}
        for key, value in config.items():
            if key not in types:
                raise InputError(f"the run configuration has an unknown key {key!r}; expected {known}")
            wanted: Any = {"str": str, "float": (int, float), "int": int}[str(types[key].type)]
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise InputError(f"the run configuration has {key} = {value!r}; expected a {types[key].type}")
            found[types[key].name] = value
        if not found.get("result"):
            raise InputError('the run configuration has no result; expected a file name, result="..."')
        return cls(**found)

    @property
    def names(self) -> list[str] | None:
        """Names of the sites, if they are given."""
        return [name.strip() for name in self.sites.split(",")] if self.sites.strip() else None

    @property
    def checkpoint(self) -> Path:
        """What is kept between rounds."""
        return Path(f"{self.result}.checkpoint")


def lead(grid: Grid, settings: RunSettings, tell: Callable[[str], Any] | None = None) -> Agreement:
    """Lead sites to their common optimum, and write the result after every part of the way.

    Sites that have gone are waited for at the end, and what they missed is made up for.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
    settings : RunSettings
    tell : function of str, optional
        Is told what happens.
    """
    told = tell if tell is not None else lambda _: None
    remove_leftovers(settings.result)
    sites = FlowerSites(
        grid, settings.names, min_sites=settings.min_sites, timeout=settings.timeout, patience=settings.patience,
        tell=told,
    )  # fmt: skip
    until: float | None = None
    while True:
        outcome = agree(
            sites, settings.lambda_, method=settings.method, tol=settings.tol, max_rounds=settings.max_rounds,
            checkpoint=settings.checkpoint, on_round=lambda report: told(describe_round(report)),
            aggregation=settings.aggregation, trim=settings.trim, bound=settings.bound,
        )  # fmt: skip
        write_result(settings.result, outcome)
        gone = [name for name in outcome.missing if name in sites.absent]
        until = time.monotonic() + settings.patience if until is None else until
        left = until - time.monotonic()
        if not gone or left <= 0 or len(outcome.rounds) >= settings.max_rounds:
            break
        told(f"waits up to {left:.0f} s for {', '.join(gone)}")
        if not sites.wait_for(gone, left):
            break
    if outcome.converged and not outcome.missing:
        settings.checkpoint.unlink(missing_ok=True)  # the next run starts afresh
    return outcome


def describe_round(report: RoundReport) -> str:
    """A line about a round."""
    failures = "".join(f"; {name}: {why}" for name, why in report.failures.items())
    far = f"; {report.farthest} is {report.distance:.1f} times as far from the median as others" * bool(report.farthest)
    return f"round {report.number}: change {report.change:.1e}, {report.seconds:.1f} s{far}{failures}"


def write_result(path: str | Path, outcome: Agreement) -> None:
    """Write predictions and the story of a run to a file, in one step."""
    arrays = {f"predictions{k}": own for k, own in enumerate(outcome.predictions.values())}
    if outcome.predictions:
        arrays["consensus"] = outcome.consensus
    told = {
        "sites": list(outcome.predictions),
        "converged": outcome.converged,
        "stalled": outcome.stalled,
        "trim": outcome.trim,
        "rounds": [asdict(report) for report in outcome.rounds],
    }
    write_model(path, {"federated result": told}, arrays)


def read_result(path: str | Path) -> Agreement:
    """The outcome of a run: predictions, their mean as ``consensus``, rounds, and which sites are missing.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from accord.federated import LocalSites, Site, agree
    >>> from accord.federated.flower_server import write_result
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> sites = [Site(X[k : k + 10], X[k : k + 10].sum(axis=1), X[20:]) for k in (0, 10)]
    >>> file = tempfile.mkdtemp() + "/result.accord"
    >>> write_result(file, agree(LocalSites(sites), 0.1))  # a run does this
    >>> read_result(file).consensus.shape
    (10, 1)
    """
    return read_proved(path, "federated result", _outcome)


def _outcome(told: dict[str, Any], arrays: dict[str, np.ndarray]) -> Agreement:
    told = dict(told)
    names = told.pop("sites")
    predictions = {name: arrays.pop(f"predictions{k}") for k, name in enumerate(names)}
    if len(predictions) < len(names):
        raise Unfit("sites has a name twice")
    rounds = [RoundReport(**report) for report in told.pop("rounds")]
    outcome = Agreement(predictions, rounds, **told)
    prove(outcome, "federated result")
    consensus = arrays.pop("consensus", None)
    if predictions and (consensus is None or not np.allclose(consensus, outcome.consensus)):
        raise Unfit("consensus is not the mean of the predictions")
    return outcome


def server_app() -> ServerApp:
    """Flower's part at the coordinator."""
    require_flower()
    from flwr.common.logger import log
    from flwr.serverapp import ServerApp

    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        def tell(text: str) -> None:
            log(logging.INFO, "%s", text)

        outcome = lead(grid, RunSettings.from_config(context.run_config), tell)
        without = f", without {', '.join(outcome.missing)}" if outcome.missing else ""
        how = "agreed" if outcome.converged else "stalled" if outcome.stalled else "ended"
        tell(f"{how} after {len(outcome.rounds)} rounds{without}")

    return app
