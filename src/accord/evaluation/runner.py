"""Run an experiment's tasks in parallel, resumable after a kill, with results that do not depend on order or processes.

A task is one method in one setting in one repetition. Its seeds are derived from its names and the experiment's seed
only. The function that does a task runs in worker processes (joblib; any backend of `joblib.parallel_config`, also
Dask), the parent alone writes the results: see :mod:`accord.evaluation.journal`.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accord.evaluation.journal import Journal, canonical
from accord.evaluation.results import RESERVED, Results
from accord.evaluation.tuning import expand_grid
from accord.exceptions import AccordError, InputError


class TaskFailedError(AccordError, RuntimeError):
    """A task of an experiment raised an error; the message holds its traceback.

    Examples
    --------
    >>> try:
    ...     run_experiment(make_tasks("demo", ["CRF"]), lambda task: {"token_error": 1 / 0})
    ... except TaskFailedError as error:
    ...     print(str(error).splitlines()[0])
    task ["demo","CRF",{},0] failed; finished tasks are kept.
    """


@dataclass(frozen=True)
class Task:
    """One method in one setting in one repetition of an experiment.

    Seeds (integers below 2³²): `seed` is the task's own, for the method's randomness. `repetition_seed` is the same for
    all methods and settings of a repetition: use it for `draw`, so that methods are compared on the same examples.
    `experiment_seed` is the same for all tasks: use it for cross-validation folds, of which `repetition` picks one.

    Examples
    --------
    >>> one, other = make_tasks("demo", ["CRF", "Tagger"])
    >>> one.repetition_seed == other.repetition_seed, one.seed == other.seed
    (True, False)
    """

    experiment: str
    method: str
    setting: Mapping[str, Any]
    repetition: int
    root_seed: int = 0

    @property
    def key(self) -> str:
        """What identifies the task in a results file."""
        return canonical([self.experiment, self.method, self.setting, self.repetition])

    @property
    def seed(self) -> int:
        """The task's own seed."""
        return self._derive(self.method, self.setting, self.repetition)

    @property
    def repetition_seed(self) -> int:
        """Seed shared by all methods and settings of this repetition."""
        return self._derive(self.repetition)

    @property
    def experiment_seed(self) -> int:
        """Seed shared by all tasks of the experiment."""
        return self._derive()

    def _derive(self, *names: Any) -> int:
        digest = hashlib.sha256(canonical([self.experiment, *names]).encode()).digest()
        entropy = [self.root_seed, int.from_bytes(digest[:16], "big")]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def make_tasks(
    experiment: str,
    methods: Sequence[str],
    settings: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] = ({},),
    repetitions: int = 1,
    seed: int = 0,
) -> list[Task]:
    """All combinations of methods, settings and repetitions.

    Repetitions are the outer loop, so that an interrupted run has some of everything.

    Parameters
    ----------
    experiment : name
    methods : names of methods
    settings : dict of lists (all combinations) or list of dicts; values are strings, numbers, booleans or None
    repetitions : number of repetitions
    seed : root of all seeds

    Examples
    --------
    >>> tasks = make_tasks("demo", ["CRF", "Tagger"], {"n_labeled": [5, 10]}, repetitions=3)
    >>> len(tasks), tasks[0].method, tasks[0].setting
    (12, 'CRF', {'n_labeled': 5})
    """
    if repetitions < 1:
        raise InputError(f"repetitions must be at least 1, but it is {repetitions}")
    if isinstance(methods, str) or not methods:
        raise InputError(f"methods must be a list of at least one name, but it is {methods!r}")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be an integer of at least 0, but it is {seed!r}")
    plain = [{name: _plain(value, name) for name, value in s.items()} for s in expand_grid(settings)]
    return [
        Task(experiment, method, setting, repetition, int(seed))
        for repetition in range(repetitions)
        for setting in plain
        for method in methods
    ]


def _plain(value: Any, name: str) -> Any:
    """A setting's value as JSON knows it."""
    if name in RESERVED:
        raise InputError(f"settings must not be named {name!r}: that is a column of the results")
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InputError(f"settings[{name!r}] must be a string, a finite number, a boolean or None, but it is {value!r}")


def run_experiment(
    tasks: Sequence[Task],
    function: Callable[..., Mapping[str, float]],
    path: str | Path | None = None,
    *,
    load: Callable[[], Any] | None = None,
    config: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    overwrite: bool = False,
    progress: bool = False,
) -> Results:
    """Do all tasks that are not done yet and return all their results.

    Parameters
    ----------
    tasks : what to do, e.g. from `make_tasks`
    function : called as ``function(task)``, or ``function(task, data)`` if `load` is given; returns metric → value.
        It runs with one BLAS thread, so that the numbers do not depend on `n_jobs`.
    path : results file (JSON lines) to write and to resume from; None keeps the results in memory. The tidy table is
        written beside it, with the suffix ``.csv``, when all tasks are done.
    load : called once per worker process for data that all tasks share, instead of sending them with every task
    config : what else the results depend on (data, parameters, versions). A file with another one is never mixed with.
    n_jobs : processes; None takes what `joblib.parallel_config` says, else 1
    overwrite : start afresh if the file has another configuration
    progress : show a progress bar on a terminal

    Raises
    ------
    TaskFailedError
        With the traceback of the first task that failed. Finished tasks are kept: run again to continue.

    Examples
    --------
    >>> def coin(task):
    ...     found = np.random.default_rng(task.seed).integers(2, size=task.setting["n"])
    ...     return {"heads": found.mean()}
    >>> results = run_experiment(make_tasks("demo", ["coin"], {"n": [10, 1000]}, repetitions=20), coin)
    >>> [(one.setting["n"], one.mean) for one in results.aggregate()]
    [(10, 0.54), (1000, 0.4992)]
    """
    tasks = _checked(tasks)
    if path is not None and Path(path).suffix == ".csv":
        raise InputError(f"path {str(path)!r} must not end in .csv: the tidy table goes there; use .jsonl")
    roots = sorted({(task.experiment, task.root_seed) for task in tasks})
    full_config = {"experiments": [list(root) for root in roots], **dict(config or {})}
    if path is None:
        records = dict(_execute(tasks, function, load, n_jobs, progress))
    else:
        with Journal(path, full_config, overwrite) as journal:
            todo = [task for task in tasks if task.key not in journal.records]
            for key, record in _execute(todo, function, load, n_jobs, progress):
                journal.append(key, record)
            records = journal.records
    results = Results.from_records([records[task.key] for task in tasks])
    if path is not None:
        results.to_csv(Path(path).with_suffix(".csv"))
    return results


def _checked(tasks: Sequence[Task]) -> list[Task]:
    seen: dict[str, int] = {}
    for i, task in enumerate(tasks):
        if task.key in seen:
            raise InputError(f"tasks[{i}] is the same as tasks[{seen[task.key]}]: {task.key}")
        seen[task.key] = i
    if not seen:
        raise InputError("tasks is empty: there is nothing to run")
    return list(tasks)


def _execute(
    tasks: list[Task],
    function: Callable[..., Mapping[str, float]],
    load: Callable[[], Any] | None,
    n_jobs: int | None,
    progress: bool,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (key, record) of each task as it is done."""
    if not tasks:
        return
    from joblib import Parallel, delayed

    from accord.progress import Progress

    token = uuid.uuid4().hex
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    done = parallel(delayed(_work)(function, load, token, task) for task in tasks)
    with Progress(total=len(tasks), description=tasks[0].experiment, enabled=progress) as bar:
        try:
            for key, record, failure in done:
                if failure is not None:
                    raise TaskFailedError(f"task {key} failed; finished tasks are kept.\n{failure}")
                yield key, record
                bar.advance(1, info=f"{record['method']} #{record['repetition']}")
        finally:
            done.close()  # stops what is still running if this generator is left early
            _loaded.pop(token, None)


_loaded: dict[str, Any] = {}  # what `load` returned in this process, for the current run only
_loading = threading.Lock()  # a worker may be a thread


def _data(load: Callable[[], Any], token: str) -> Any:
    with _loading:
        if token not in _loaded:
            _loaded.clear()
            _loaded[token] = load()
        return _loaded[token]


def _work(
    function: Callable[..., Mapping[str, float]], load: Callable[[], Any] | None, token: str, task: Task
) -> tuple[str, dict[str, Any], str | None]:
    """Do one task in a worker; errors come back as text, since not every exception can be pickled."""
    from threadpoolctl import threadpool_limits

    try:
        data = () if load is None else (_data(load, token),)
        start = time.perf_counter()
        with threadpool_limits(limits=1, user_api="blas"):
            values = function(task, *data)
        seconds = time.perf_counter() - start
        metrics = {str(name): _number(value) for name, value in dict(values).items()}
    except Exception:
        return task.key, {}, traceback.format_exc()
    record = {
        "experiment": task.experiment,
        "method": task.method,
        "setting": dict(task.setting),
        "repetition": task.repetition,
        "metrics": metrics,
        "seconds": round(seconds, 6),
    }
    return task.key, record, None


def _number(value: float) -> float | None:
    """A metric's value for JSON; NaN and infinities become null."""
    number = float(value)
    return number if math.isfinite(number) else None
