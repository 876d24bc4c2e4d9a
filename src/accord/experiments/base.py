"""What every experiment shares: tasks, one results file that a killed run goes on with, a report.

An experiment is one table or figure of the papers. A subclass says which methods and settings there are, how the data
are read and how a task is done; `Experiment.run` does the rest through :mod:`accord.evaluation`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.datasets import available, data_home
from accord.evaluation import Metric, Published, Results, Task, expand_grid, make_tasks, run_experiment, write_report
from accord.evaluation.registry import describe_metric
from accord.evaluation.tables import format_value, setting_label
from accord.exceptions import InputError
from accord.experiments.ordering import Claim, claim_notes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DataFolder = str | os.PathLike[str] | None
Settings = Sequence[Mapping[str, Any]]
Figures = Mapping[str, "Callable[[bool], Figure]"]
QUICK_NOTE = "This was the quick version: fewer data and repetitions, so its figures are not those to compare."


class Experiment(ABC):
    """One table or figure of the papers. Subclasses set the attributes and write the abstract methods.

    Attributes
    ----------
    name : what `accord reproduce` calls it
    title, description : heading and first paragraph of the report
    data_sets : names of the data sets it reads, see :mod:`accord.datasets.registry`
    methods, quick_methods : names of what is compared; the quick version has all, unless it says otherwise
    supervised : those that look at no unlabeled examples, however many the setting ``n_unlabeled`` has
    repetitions : of every method in every setting; the quick version has two
    settings, quick_settings : what the methods are run in, see `grid`; the quick version likewise
    metrics : what the report shows, in order
    claims : which method should do better than which, by the first metric
    published : the papers' figures
    x : numeric setting for learning curves, or None
    baseline : the method that the others are tested against, or None
    version : raised when results of an older program no longer count
    """

    name: str
    title: str
    description: str
    data_sets: tuple[str, ...]
    methods: Collection[str]
    quick_methods: Collection[str] = ()
    supervised: Collection[str] = ()
    repetitions: int
    settings: Settings = ({},)
    quick_settings: Settings = ()
    metrics: tuple[str | Metric, ...]
    claims: Sequence[Claim] = ()
    published: tuple[Published, ...] = ()
    x: str | None = None
    baseline: str | None = None
    version: int = 1

    def tasks(self, quick: bool, seed: int) -> list[Task]:
        """Everything to do, one repetition after the other: an interrupted run has some of everything."""
        methods = self.quick_methods if quick and self.quick_methods else self.methods
        tasks = make_tasks(self.name, list(methods), self._settings(quick), 2 if quick else self.repetitions, seed)
        return [task for task in tasks if not self.left_out(task)]

    def left_out(self, task: Task) -> bool:
        """Whether a task would take too long, or makes no sense."""
        return False

    def values(self, name: str, quick: bool) -> list[Any]:
        """The values that a setting has."""
        return list(dict.fromkeys(setting[name] for setting in self._settings(quick)))

    def _settings(self, quick: bool) -> Settings:
        return self.quick_settings if quick and self.quick_settings else self.settings

    def seen(self, task: Task) -> Mapping[str, Any]:
        """The setting as the method sees it; tasks that have it in common have the same figures and are done once."""
        return {**task.setting, "n_unlabeled": 0} if task.method in self.supervised else task.setting

    @abstractmethod
    def load(self, data: DataFolder, quick: bool, seed: int) -> Any:
        """The data that all tasks share; called once in every worker process."""

    @abstractmethod
    def run_task(self, task: Task, loaded: Any) -> Mapping[str, float]:
        """Do one task: metric → value."""

    def notes(self, results: Results) -> list[str]:
        """Sentences for the report: which claims hold, where our figures differ from the papers', and why."""
        return claim_notes(results, self.claims, self.metrics[0], self.describe)

    def describe(self, setting: Mapping[str, Any]) -> str:
        """How sentences about claims call a setting: ``Spanish 10``."""
        return " ".join(map(str, setting.values()))

    def figures(self, results: Results) -> Figures:
        """Figures that take the place of the usual plot of a metric, see `write_report`."""
        return {}

    def run(
        self,
        data: DataFolder = None,
        output: str | os.PathLike[str] = "",
        quick: bool = False,
        n_jobs: int | None = None,
        seed: int = 0,
        verbose: int = 1,
        overwrite: bool = False,
    ) -> list[Path]:
        """Run what is not done yet, then write the report.

        Parameters
        ----------
        data : the local data folder; by default what ``ACCORD_DATA`` names
        output : folder for the results and the report; by default one named after the experiment. A run that was
            killed is continued from what it left there.
        quick : a small version that takes less than a minute
        n_jobs : processes; None takes what `joblib.parallel_config` says, else 1
        seed : root of all randomness
        verbose : 1 shows progress on a terminal
        overwrite : start afresh if the folder holds results of another version, instead of raising an error

        Returns
        -------
        list of Path
            ``report.html``, ``report.md``, ``results.csv`` (tidy: one row per task and metric), the plots, and
            ``results.jsonl``, from which a run is continued.
        """
        home = self._check_data(data)
        folder = Path(output or self.name)
        journal = folder / "results.jsonl"
        results = run_experiment(
            self.tasks(quick, seed),
            self._figures_of,
            journal,
            load=partial(self._start, home, quick, seed),
            config={"quick": quick, "version": self.version},
            n_jobs=n_jobs,
            overwrite=overwrite,
            progress=verbose > 0,
        )
        options = " --data DIR" * bool(self.data_sets) + " --quick" * quick
        report = write_report(
            folder,
            self.title,
            results,
            metrics=self.metrics,
            x=self.x,
            baseline=self.baseline,
            published=self.published,
            description=self.description,
            notes=([QUICK_NOTE] if quick else []) + self.notes(results),
            command=f"accord reproduce {self.name}{options} --seed {seed}",
            seed=seed,
            details={"data": ", ".join(self.data_sets) or "generated"},
            figures=self.figures(results),
        )
        return [report.html, report.markdown, report.csv, *report.plots, journal]

    def _start(self, data: DataFolder, quick: bool, seed: int) -> tuple[Any, dict[str, Mapping[str, float]]]:
        """What the tasks of a process share: the data, and the figures that were found so far."""
        return self.load(data, quick, seed), {}

    def _figures_of(self, task: Task, shared: tuple[Any, dict[str, Mapping[str, float]]]) -> Mapping[str, float]:
        loaded, known = shared
        key = replace(task, setting=self.seen(task)).key
        if key not in known:
            known[key] = self.run_task(task, loaded)
        return known[key]

    def _check_data(self, data: DataFolder) -> Path | None:
        if not self.data_sets and data is None:  # it makes its own
            return None
        home = data_home(data)
        missing = [name for name in self.data_sets if name not in available(home)]
        if missing:
            raise InputError(
                f"the experiment {self.name!r} needs the data sets {', '.join(self.data_sets)}, but the data folder "
                f"{str(home)!r} has no {', '.join(missing)}; put them there or name another folder by data= (--data)"
            )
        return home


def grid(**values: Sequence[Any]) -> Settings:
    """All combinations of the values of settings."""
    return expand_grid(values)


def divided_by_n(C: float, n_examples: int) -> float:
    """Accord's C for a C of the chapter, whose objective is ``|w|²/2 + C/n Σξ``; ours is not divided by n."""
    return C / n_examples


def published_notes(
    results: Results, published: Sequence[Published], metric: str | Metric, by: Mapping[str, Any] | None = None
) -> list[str]:
    """One sentence with every published figure of a metric beside ours, for the settings that `by` selects."""
    info = describe_metric(metric)
    pairs = []
    for ours in results.aggregate():
        if ours.metric != info.name or not (by or {}).items() <= ours.setting.items():
            continue
        for paper in published:
            if (paper.method, paper.metric) == (ours.method, info.name) and paper.matches(ours.setting):
                label = setting_label(ours.setting, [name for name in ours.setting if name not in (by or {})])
                where = f"{ours.method}{f' at {label}' if label else ''}"
                figures = f"{format_value(info, ours.mean)} against {format_value(info, paper.value)}"
                pairs.append(f"{where} {figures}")
    unit = " in %" if info.percent else ""
    selected = setting_label(by or {}, list(by or {}))
    head = f"{info.label[0].upper()}{info.label[1:]}{unit}{f', {selected}' if selected else ''}"
    return [f"{head}, ours against the papers': {'; '.join(pairs)}."] if pairs else []


def mean_of(results: Results, method: str, metric: str, **setting: Any) -> float:
    """Mean of a method's metric over the repetitions in the settings that have these values."""
    means = [s.mean for s in results.where(method=method, metric=metric, **setting).aggregate()]
    return sum(means) / len(means) if means else float("nan")
