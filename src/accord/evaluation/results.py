"""Results of an experiment as a tidy table: one row per task and metric."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from accord.evaluation.journal import read_journal
from accord.evaluation.significance import (
    PairedTest,
    corrected_resampled_t_test,
    holm,
    paired_t_test,
    wilcoxon_signed_ranks,
)
from accord.exceptions import FormatError, InputError
from accord.files import write_file

_FIRST, _LAST = ("experiment", "method"), ("repetition", "metric", "value", "seconds")
RESERVED = (*_FIRST, *_LAST)  # columns that are no settings


@dataclass(frozen=True)
class Cell:
    """Which figure: a method's metric in a setting of an experiment."""

    experiment: str
    method: str
    setting: dict[str, Any]
    metric: str


@dataclass(frozen=True)
class Summary(Cell):
    """Mean over the repetitions; the standard error is NaN for one repetition.

    Examples
    --------
    >>> from accord.evaluation import make_tasks, run_experiment
    >>> errors = {"CRF": [0.21, 0.24, 0.22], "Tagger": [0.15, 0.19, 0.15]}
    >>> tasks = make_tasks("demo", list(errors), repetitions=3)
    >>> results = run_experiment(tasks, lambda task: {"token_error": errors[task.method][task.repetition]})
    >>> one = results.aggregate()[0]
    >>> one.method, one.mean, one.standard_error, one.n
    ('CRF', 0.2233, 0.0088, 3)
    """

    mean: float
    standard_error: float
    n: int


@dataclass(frozen=True)
class Comparison(Cell):
    """A method against the baseline, paired by repetition; `p_adjusted` is Holm's over all of them.

    Examples
    --------
    >>> from accord.evaluation import make_tasks, run_experiment
    >>> errors = {"CRF": [0.21, 0.24, 0.22], "Tagger": [0.15, 0.19, 0.15]}
    >>> tasks = make_tasks("demo", list(errors), repetitions=3)
    >>> results = run_experiment(tasks, lambda task: {"token_error": errors[task.method][task.repetition]})
    >>> one = results.compare("CRF", "token_error")[0]
    >>> one.method, one.test.difference, one.p_adjusted
    ('Tagger', -0.06, 0.0091)
    """

    test: PairedTest
    p_adjusted: float = math.nan


class Results:
    """A tidy table of results.

    Parameters
    ----------
    rows : dicts with the columns experiment, method, one per setting, repetition, metric, value, seconds

    Examples
    --------
    >>> from accord.evaluation import make_tasks, run_experiment
    >>> errors = {"CRF": [0.21, 0.24, 0.22], "Tagger": [0.15, 0.19, 0.15]}
    >>> tasks = make_tasks("demo", list(errors), repetitions=3)
    >>> results = run_experiment(tasks, lambda task: {"token_error": errors[task.method][task.repetition]})
    >>> [(summary.method, summary.mean) for summary in results.aggregate()]
    [('CRF', 0.2233), ('Tagger', 0.1633)]
    >>> len(results.where(method="CRF").rows)
    3
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.rows: list[dict[str, Any]] = [dict(row) for row in rows]
        for i, row in enumerate(self.rows):
            for name in RESERVED:
                if name not in row:
                    raise InputError(f"rows[{i}] has no column {name!r}; the columns are {', '.join(row)}")

    # ------------------------------------------------------------------------------------------- reading and writing
    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> Results:
        """From finished tasks as the runner records them."""
        rows = []
        for record in records:
            task = {name: record[name] for name in ("experiment", "method", "repetition", "seconds")}
            for metric, value in record["metrics"].items():
                figure = {"metric": metric, "value": math.nan if value is None else value}
                rows.append({**task, **record["setting"], **figure})
        return cls(rows)

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """From a results file: the tidy ``.csv`` or the runner's JSON lines (also of an unfinished run)."""
        if Path(path).suffix != ".csv":
            return cls.from_records(read_journal(path)[1].values())
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = set(RESERVED) - set(reader.fieldnames or ())
            if missing:
                raise FormatError(f"lacks the columns {', '.join(sorted(missing))}", str(path), 1)
            return cls({name: _read(name, text) for name, text in row.items() if text != ""} for row in reader)

    def to_csv(self, path: str | Path) -> Path:
        """Write the table, atomically. Settings that are no plain words are written as JSON.

        >>> import os, tempfile
        >>> row = {"experiment": "demo", "method": "CRF", "repetition": 0, "metric": "token_error", "seconds": 0.1}
        >>> path = Results([{**row, "value": 0.25}]).to_csv(os.path.join(tempfile.mkdtemp(), "results.csv"))
        >>> Results.load(path).rows[0]["value"]
        0.25
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = self.columns  # looks at all rows
        writer.writerow(columns)
        for row in self.rows:
            writer.writerow([_show(name, row[name]) if name in row else "" for name in columns])
        return write_file(path, text.getvalue())

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)

    # ----------------------------------------------------------------------------------------------------- selecting
    @property
    def columns(self) -> list[str]:
        """Names of the columns, settings in the middle."""
        return [*_FIRST, *self.setting_names, *_LAST]

    @property
    def setting_names(self) -> list[str]:
        """Names of the settings in order of appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row if name not in RESERVED))

    @property
    def experiments(self) -> list[str]:
        """Experiments in order of appearance."""
        return list(dict.fromkeys(row["experiment"] for row in self.rows))

    @property
    def methods(self) -> list[str]:
        """Methods in order of appearance."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def metrics(self) -> list[str]:
        """Metrics in order of appearance."""
        return list(dict.fromkeys(row["metric"] for row in self.rows))

    @property
    def settings(self) -> list[dict[str, Any]]:
        """Distinct settings in order of appearance."""
        found: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            setting = self.setting_of(row)
            found.setdefault(json.dumps(setting, sort_keys=True), setting)
        return list(found.values())

    @staticmethod
    def setting_of(row: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a row."""
        return {name: value for name, value in row.items() if name not in RESERVED}

    def where(self, **columns: Any) -> Results:
        """The rows with these values."""
        return Results(r for r in self.rows if all(r.get(name) == value for name, value in columns.items()))

    def values(self, method: str, metric: str, setting: Mapping[str, Any]) -> dict[int, float]:
        """Value by repetition, of exactly this setting (select one experiment by `where` if there are several)."""
        return {
            row["repetition"]: row["value"]
            for row in self.rows
            if row["method"] == method and row["metric"] == metric and self.setting_of(row) == dict(setting)
        }

    # -------------------------------------------------------------------------------------------------- summarising
    def aggregate(self) -> list[Summary]:
        """Mean, standard error and number of values of each experiment, method, setting and metric (NaN left out)."""
        groups: dict[str, tuple[tuple[str, str, dict[str, Any], str], list[float]]] = {}
        for row in self.rows:
            cell = (row["experiment"], row["method"], self.setting_of(row), row["metric"])
            groups.setdefault(json.dumps(cell, sort_keys=True), (cell, []))[1].append(row["value"])
        summaries = []
        for cell, found in groups.values():
            values = np.array(found, dtype=float)
            values = values[~np.isnan(values)]
            n = len(values)
            mean = float(values.mean()) if n else math.nan
            error = float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
            summaries.append(Summary(*cell, mean, error, n))
        return summaries

    def compare(
        self,
        baseline: str,
        metric: str,
        test: str = "t",
        test_to_train: float | None = None,
        methods: Sequence[str] | None = None,
    ) -> list[Comparison]:
        """Every other method against `baseline`, two-sided, on the repetitions both have; fewer than two are left out.

        Parameters
        ----------
        baseline : name of a method
        metric : name of a metric
        test : "t", "wilcoxon", or "corrected-t" for repetitions drawn from one pool (needs `test_to_train`)
        test_to_train : size of the test part over that of the training part
        methods : methods to compare; by default all

        Examples
        --------
        >>> from accord.evaluation import make_tasks, run_experiment
        >>> errors = {"CRF": [0.21, 0.24, 0.22], "Tagger": [0.15, 0.19, 0.15]}
        >>> tasks = make_tasks("demo", list(errors), repetitions=3)
        >>> results = run_experiment(tasks, lambda task: {"token_error": errors[task.method][task.repetition]})
        >>> print(results.compare("CRF", "token_error")[0].test.summary)
        Tagger is below CRF by 0.06 on average over 3 pairs (paired t test: t = -10.39, p = 0.0091, two-sided).
        """
        if baseline not in self.methods:
            raise InputError(f"baseline {baseline!r} is no method of these results: {', '.join(self.methods)}")
        others = [method for method in methods or self.methods if method != baseline]
        found: list[Comparison] = []
        for experiment in self.experiments:
            part = self.where(experiment=experiment, metric=metric)
            for setting, method in itertools.product(part.settings, others):
                base, other = (part.values(name, metric, setting) for name in (baseline, method))
                both = [k for k in other if k in base and not math.isnan(other[k] + base[k])]
                if len(both) >= 2:
                    pair = [other[k] for k in both], [base[k] for k in both]
                    outcome = _paired_test(*pair, test, test_to_train, (method, baseline))
                    found.append(Comparison(experiment, method, setting, metric, outcome))
        adjusted = holm([c.test.p_value for c in found])
        return [replace(c, p_adjusted=p) for c, p in zip(found, adjusted)]


def _paired_test(
    a: list[float], b: list[float], test: str, test_to_train: float | None, names: tuple[str, str]
) -> PairedTest:
    if test == "t":
        return paired_t_test(a, b, names=names)
    if test == "wilcoxon":
        return wilcoxon_signed_ranks(a, b, names=names)
    if test != "corrected-t":
        raise InputError(f'test must be "t", "wilcoxon" or "corrected-t", but it is {test!r}')
    if test_to_train is None or test_to_train <= 0:
        raise InputError(f'test="corrected-t" needs test_to_train above 0, but it is {test_to_train!r}')
    return corrected_resampled_t_test(a, b, 1.0, test_to_train, names=names)


def _show(column: str, value: Any) -> str:
    """A cell as text; a string setting that would read back as something else is quoted as JSON."""
    if not isinstance(value, str):
        return json.dumps(value)
    if column in RESERVED or (value and _read(column, value) == value):
        return value
    return json.dumps(value)


def _read(column: str, text: str) -> Any:
    if column in ("experiment", "method", "metric"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
