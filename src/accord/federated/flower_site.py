"""A site behind Flower: private data from a file of the site, answers to the coordinator, its model kept on disk."""

from __future__ import annotations

import csv
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from accord.exceptions import FormatError, InputError
from accord.federated import flower_messages as messages
from accord.federated.engine import require_flower
from accord.federated.site import Site
from accord.learners.regression import RLSR

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp

T = TypeVar("T")
LOG = logging.getLogger(__name__)
RULE = "rule"  # Flower's settings know no None


@dataclass(frozen=True)
class SiteSettings:
    """What a site needs to know. It comes from the site itself, never from the coordinator.

    Parameters
    ----------
    name : str
        By which the coordinator knows the site.
    data : path
        A private file. ``.npz`` with arrays ``X`` (n, d), ``y`` (n,) or (n, n_outputs) and ``unlabeled`` (m, d); or a
        CSV file with a line of column names, in which the lines without targets are the agreed examples.
    model : path, optional
        Where the site's own model is kept; ``accord.load`` reads it. By default the data file with another ending.
    target : str
        Target columns of a CSV file, separated by commas.
    kernel, gamma, degree, coef0, eta, standardize
        As for :class:`~accord.RLSR`, but "rule" where that has None.
    mode : {"semiparametric", "exact"}
        As for :class:`~accord.federated.Site`.
    """

    name: str
    data: str
    model: str = ""
    target: str = "y"
    kernel: str = "rbf"
    gamma: float | str = "auto"
    degree: float = 2
    coef0: float = 1.0
    eta: float | str = "auto"
    standardize: bool | str = "columns"
    mode: str = "semiparametric"

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> SiteSettings:
        """From Flower's ``--node-config``, or another dict."""
        known = [field.name for field in fields(cls)]
        for key in config:
            if key not in known:
                raise InputError(f"the site's settings have an unknown key {key!r}; expected {', '.join(known)}")
        for key in ("name", "data"):
            if not isinstance(config.get(key), str) or not config[key]:
                raise InputError(f'the site\'s settings have no {key!r}; expected a text, for example {key}="..."')
        return cls(**config)

    @property
    def model_path(self) -> Path:
        """Where the model is kept."""
        return Path(self.model) if self.model else Path(self.data).with_suffix(".model.accord")

    def make(self) -> Site:
        """Read the data and fit the site."""
        X, y, unlabeled = read_private(self.data, self.target)
        regressor = RLSR(
            kernel=self.kernel,
            gamma=None if self.gamma == RULE else self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            eta=None if self.eta == RULE else self.eta,
            standardize=self.standardize,
        )
        return Site(X, y, unlabeled, regressor, self.mode)


def read_private(path: str | Path, target: str = "y") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``X``, ``y`` and the agreed examples of a site's file; see :class:`SiteSettings`."""
    if Path(path).suffix == ".npz":
        with np.load(path, allow_pickle=False) as found:
            missing = [key for key in ("X", "y", "unlabeled") if key not in found]
            if missing:
                raise FormatError(f"has no array {missing[0]!r}; expected X, y and unlabeled", str(path))
            return found["X"], found["y"], found["unlabeled"]
    with open(path, newline="", encoding="utf-8") as stream:
        lines = csv.reader(stream)
        names = next(lines, [])
        wanted = [name.strip() for name in target.split(",")]
        for name in wanted:
            if name not in names:
                raise FormatError(f"has no column {name!r}; its columns are {', '.join(names)}", str(path), 1)
        is_target = np.array([name in wanted for name in names])
        rows = []
        for line in lines:
            if len(line) != len(names):
                raise FormatError(f"has {len(line)} values; expected {len(names)}", str(path), lines.line_num)
            try:
                rows.append([float(value) if value.strip() else np.nan for value in line])
            except ValueError as error:
                raise FormatError(f"has a value that is no number ({error})", str(path), lines.line_num) from None
    table = np.array(rows, dtype=float).reshape(len(rows), len(names))
    features, targets = table[:, ~is_target], table[:, is_target]
    labeled = ~np.isnan(targets).all(axis=1)
    y = targets[labeled]
    return features[labeled], y[:, 0] if y.shape[1] == 1 else y, features[~labeled]


class AnsweringSite:
    """Answers the coordinator's messages. The data are read once, at the first of them."""

    def __init__(self, settings: SiteSettings) -> None:
        self.settings = settings
        self._site: Site | None = None
        self._turn = threading.Lock()

    def join(self, question: Message) -> Message:
        """Tell who this is."""
        with self._turn:
            return messages.answer_join(question, self.settings.name, self._own(self._ready).shape)

    def predict(self, question: Message) -> Message:
        """Heed the others' predictions, keep the model, and send predictions."""
        with self._turn:
            site = self._own(self._ready)
            others, lambda_ = messages.read_question(question, site.shape)  # errors in here are the coordinator's
            return messages.answer_predict(question, self._own(lambda: self._fit(site, others, lambda_)))

    def _ready(self) -> Site:
        if self._site is None:
            self._site = self.settings.make()
        return self._site

    def _fit(self, site: Site, others: np.ndarray, lambda_: float) -> np.ndarray:
        predictions = site.predict(others, lambda_)
        site.model.save(self.settings.model_path)
        return predictions

    def _own(self, work: Callable[[], T]) -> T:
        """Do what touches private data. Its errors stay here: their text may quote the data."""
        try:
            return work()
        except Exception as error:
            LOG.exception("site %s cannot answer", self.settings.name)
            raise messages.SiteError(
                f"the site cannot answer ({type(error).__name__}); the log of the site tells why"
            ) from None


def client_app(settings: SiteSettings | None = None) -> ClientApp:
    """Flower's part at a site.

    Parameters
    ----------
    settings : SiteSettings, optional
        By default they come from the ``--node-config`` of the SuperNode.
    """
    require_flower()
    from flwr.clientapp import ClientApp

    app = ClientApp()
    sites: dict[SiteSettings, AnsweringSite] = {}

    def site_of(context: Context) -> AnsweringSite:
        own = settings if settings is not None else SiteSettings.from_config(context.node_config)
        return sites.setdefault(own, AnsweringSite(own))

    @app.query("join")
    def join(question: Message, context: Context) -> Message:
        return site_of(context).join(question)

    @app.query("predict")
    def predict(question: Message, context: Context) -> Message:
        return site_of(context).predict(question)

    return app
