"""A site behind Flower: private data from a file of the site, answers to the coordinator, its model kept on disk."""

from __future__ import annotations

import csv
import logging
import threading
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from accord.exceptions import FormatError, InputError
from accord.federated import flower_messages as messages
from accord.federated.bounds import BOUND
from accord.federated.engine import require_flower
from accord.federated.site import Site
from accord.files import remove_leftovers
from accord.learners.regression import RLSR
from accord.settings import NUMBER, POSITIVE, Expected, either, one_of

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp

T = TypeVar("T")
LOG = logging.getLogger(__name__)
RULE = "rule"  # Flower's settings know no None
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_TEXT = Expected("a text", lambda value: isinstance(value, str) and bool(value))
_CHOSEN = either(POSITIVE, "auto", RULE)
KINDS = {
    "name": _TEXT,
    "data": _TEXT,
    "model": Expected("a text", lambda value: isinstance(value, str)),
    "target": _TEXT,
    "kernel": _TEXT,
    "gamma": _CHOSEN,
    "degree": NUMBER,
    "coef0": NUMBER,
    "eta": _CHOSEN,
    "standardize": Expected('"columns" or false', lambda value: value is False or value == "columns"),
    "mode": one_of("semiparametric", "exact"),
    "bound": POSITIVE,
}


def read_truth(text: str) -> bool | str:
    """True or False, however that is written; what is neither stays what it is."""
    return TRUTH.get(text.strip().lower(), text)


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
    bound : float
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
    bound: float = BOUND

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> SiteSettings:
        """From Flower's ``--node-config``, or another dict. Numbers and truth values may be texts."""
        for key in config:
            if key not in KINDS:
                raise InputError(f"the site's settings have an unknown key {key!r}; expected {', '.join(KINDS)}")
        for key in ("name", "data"):
            if not config.get(key):
                raise InputError(f'the site\'s settings have no {key!r}; expected a text, for example {key}="..."')
        return cls(**{key: cls.read(key, value) for key, value in config.items()})

    @staticmethod
    def read(key: str, value: Any) -> Any:
        """One setting; texts become what the setting holds."""
        kind, found = KINDS[key], value
        if isinstance(value, str) and not kind.accepts(value):
            found = read_truth(value)
            if not kind.accepts(found):
                try:
                    found = float(value)
                except ValueError:
                    found = value
        if not kind.accepts(found):
            raise InputError(f"{key} is {value!r}; expected {kind.words}")
        return found

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
        return Site(X, y, unlabeled, regressor, self.mode, self.bound)


def read_private(path: str | Path, target: str = "y") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``X``, ``y`` and the agreed examples of a site's file; see :class:`SiteSettings`."""
    try:
        return _read_arrays(path) if Path(path).suffix == ".npz" else _read_table(path, target)
    except OSError as error:
        raise InputError(f"data is {str(path)!r}, which cannot be read: {error.strerror or error}") from error


def _read_arrays(path: str | Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as found:
            missing = [key for key in ("X", "y", "unlabeled") if key not in found]
            if not missing:
                return found["X"], found["y"], found["unlabeled"]
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise FormatError(f"is damaged, or no .npz file of numbers ({error})", str(path)) from error
    raise FormatError(f"has no array {missing[0]!r}; expected X, y and unlabeled", str(path))


def _read_table(path: str | Path, target: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
            # errors in these two are the coordinator's
            others, lambda_ = messages.read_question(question, site.shape)
            try:
                site.heed(others)
            except InputError:  # nothing of those who are refused is to be left in the model
                self._own(lambda: site.model.save(self.settings.model_path))
                raise
            return messages.answer_predict(question, self._own(lambda: self._fit(site, others, lambda_)))

    def _ready(self) -> Site:
        if self._site is None:
            remove_leftovers(self.settings.model_path)
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
                f"the site cannot answer ({type(error).__name__}); the log of the site says why"
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
