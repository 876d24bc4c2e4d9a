"""The experiment runner: same results for any number of processes, after a kill, and in any order."""

import contextlib
import functools
import json
import os
import runpy
import signal
import subprocess
import sys
import textwrap
import time

import joblib
import numpy as np
import pytest
from row_tables import each_row
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from accord.evaluation import Results, Task, TaskFailedError, draw, make_tasks, run_experiment, token_error
from accord.evaluation.journal import read_journal
from accord.exceptions import InputError


def load_blobs(n=120):
    rng = np.random.default_rng(7)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 4)) + y[:, None], [f"c{v}" for v in y]


def classify(task, data):
    X, Y = data
    parts = draw(Y, task.setting["n_labeled"], n_holdout=50, rng=task.repetition_seed)
    model = {"knn": KNeighborsClassifier(1), "lr": LogisticRegression(random_state=task.seed)}[task.method]
    inputs, outputs = parts.training(X, Y)
    test_inputs, test_outputs = parts.test(X, Y)
    return {"token_error": token_error(test_outputs, model.fit(inputs, outputs).predict(test_inputs))}


def echo_seed(task):
    return {"seed": task.seed}


def without_seconds(results):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in results.rows]


def journal_lines(path):
    """Lines of a results file without their timings, sorted."""
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(json.dumps({k: v for k, v in e.items() if k != "seconds"}, sort_keys=True) for e in entries)


TASKS = make_tasks("toy", ["knn", "lr"], {"n_labeled": [6, 20]}, repetitions=3, seed=1)


# ------------------------------------------------------------------------------------------------------------- tasks
def test_tasks_are_the_product_with_repetitions_outside():
    assert len(TASKS) == 12
    assert [(t.method, t.setting["n_labeled"], t.repetition) for t in TASKS[:5]] == [
        ("knn", 6, 0),
        ("lr", 6, 0),
        ("knn", 20, 0),
        ("lr", 20, 0),
        ("knn", 6, 1),
    ]


def test_seeds_follow_from_the_names():
    assert len({t.seed for t in TASKS}) == 12
    assert len({t.repetition_seed for t in TASKS}) == 3
    assert len({t.experiment_seed for t in TASKS}) == 1
    assert all(0 <= t.seed < 2**32 for t in TASKS)
    again = make_tasks("toy", ["lr"], [{"n_labeled": np.int64(20)}], repetitions=3, seed=1)
    assert [t.seed for t in again] == [t.seed for t in TASKS if t.method == "lr" and t.setting["n_labeled"] == 20]
    other = make_tasks("toy", ["knn", "lr"], {"n_labeled": [6, 20]}, repetitions=3, seed=2)
    assert not {t.seed for t in other} & {t.seed for t in TASKS}
    # a fixed value, so that results stay comparable between versions
    assert Task("toy", "knn", {"n_labeled": 6}, 0).seed == 3707200356


@each_row(
    ("arguments", "message"),
    [
        ({"repetitions": 0}, "repetitions must be at least 1"),
        ({"methods": "knn"}, "methods must be a list"),
        ({"seed": -1}, "seed must be an integer"),
        ({"settings": {"metric": [1]}}, "must not be named 'metric'"),
        ({"settings": {"grid": [[1, 2]]}}, r"settings\['grid'\] must be a string"),
        ({"settings": {"C": [float("inf")]}}, r"settings\['C'\] must be .* finite"),
    ],
)
def test_bad_tasks(arguments, message):
    with pytest.raises(InputError, match=message):
        make_tasks(**({"experiment": "toy", "methods": ["knn"]} | arguments))


# --------------------------------------------------------------------------------------------------------------- runs
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_results_do_not_depend_on_processes_or_order(tmp_path, backend):
    one = run_experiment(TASKS, classify, tmp_path / "one.jsonl", load=load_blobs, n_jobs=1)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        two = run_experiment(TASKS, classify, tmp_path / "two.jsonl", load=load_blobs)
    assert without_seconds(one) == without_seconds(two)
    assert journal_lines(tmp_path / "one.jsonl") == journal_lines(tmp_path / "two.jsonl")
    backwards = run_experiment(TASKS[::-1], classify, load=load_blobs)
    assert without_seconds(backwards)[::-1] == without_seconds(one)
    assert 0 < np.mean([row["value"] for row in one.rows]) < 0.6


def test_tidy_table_is_written_beside_the_journal(tmp_path):
    results = run_experiment(TASKS, classify, tmp_path / "toy.jsonl", load=load_blobs)
    assert results.columns == [
        "experiment",
        "method",
        "n_labeled",
        "repetition",
        "metric",
        "value",
        "seconds",
    ]
    assert Results.load(tmp_path / "toy.csv").rows == results.rows
    assert sorted(map(str, Results.load(tmp_path / "toy.jsonl").rows)) == sorted(map(str, results.rows))


def count_and_classify(folder, task, data):
    (folder / f"{task.method}-{task.setting['n_labeled']}-{task.repetition}-{time.time_ns()}").touch()
    return classify(task, data)


def test_finished_tasks_are_skipped(tmp_path):
    folder, path = tmp_path / "ran", tmp_path / "toy.jsonl"
    folder.mkdir()
    function = functools.partial(count_and_classify, folder)
    run_experiment(TASKS[:5], function, path, load=load_blobs)
    assert len(list(folder.iterdir())) == 5
    run_experiment(TASKS, function, path, load=load_blobs)
    assert len(list(folder.iterdir())) == 12
    results = run_experiment(TASKS, function, path, load=load_blobs)
    assert len(list(folder.iterdir())) == 12
    assert without_seconds(results) == without_seconds(run_experiment(TASKS, classify, load=load_blobs))


def test_other_seed_or_config_is_refused(tmp_path):
    path = tmp_path / "toy.jsonl"
    run_experiment(make_tasks("toy", ["a"]), echo_seed, path, config={"data": "v1"})
    with pytest.raises(InputError, match=r"data was \"v1\", is \"v2\""):
        run_experiment(make_tasks("toy", ["a"]), echo_seed, path, config={"data": "v2"})
    with pytest.raises(InputError, match="holds results of another configuration"):
        run_experiment(make_tasks("toy", ["a"], seed=3), echo_seed, path, config={"data": "v1"})
    fresh = run_experiment(make_tasks("toy", ["a"], seed=3), echo_seed, path, config={"data": "v1"}, overwrite=True)
    assert fresh.rows[0]["value"] == make_tasks("toy", ["a"], seed=3)[0].seed


def fail_at_two(task):
    if task.repetition == 2:
        raise ValueError("no luck")
    return {"value": 1.0}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failing_task_is_named_and_finished_ones_are_kept(tmp_path, n_jobs):
    path = tmp_path / "toy.jsonl"
    tasks = make_tasks("toy", ["a"], repetitions=4)
    with pytest.raises(TaskFailedError, match=r'task \["toy","a",\{\},2\] failed(.|\n)*fail_at_two(.|\n)*no luck'):
        run_experiment(tasks, fail_at_two, path, n_jobs=n_jobs)
    kept = len(read_journal(path)[1])
    assert kept <= 3
    if n_jobs == 1:
        assert kept == 2


def test_other_values_than_numbers(tmp_path):
    nan = run_experiment(make_tasks("toy", ["a"]), lambda task: {"v": float("nan")}, tmp_path / "n.jsonl")
    assert np.isnan(nan.rows[0]["value"])
    assert '"v": null' in (tmp_path / "n.jsonl").read_text()
    with pytest.raises(TaskFailedError, match="could not convert string to float"):
        run_experiment(make_tasks("toy", ["a"]), lambda task: {"v": "high"})


def test_duplicate_and_missing_tasks():
    with pytest.raises(InputError, match=r"tasks\[1\] is the same as tasks\[0\]"):
        run_experiment(make_tasks("toy", ["a", "a"]), echo_seed)
    with pytest.raises(InputError, match="tasks is empty"):
        run_experiment([], echo_seed)
    with pytest.raises(InputError, match=r"path 'toy.csv' must not end in \.csv"):
        run_experiment(make_tasks("toy", ["a"]), echo_seed, "toy.csv")


def count_loads(folder):
    (folder / f"{os.getpid()}-{time.time_ns()}").touch()
    return load_blobs()


@pytest.mark.parametrize(("backend", "most"), [("sequential", 1), ("threading", 1), ("loky", 2)])
def test_data_are_loaded_once_per_process(tmp_path, backend, most):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        run_experiment(TASKS, classify, load=functools.partial(count_loads, tmp_path))
    names = [p.name for p in tmp_path.iterdir()]
    assert 1 <= len(names) <= most
    assert len({name.partition("-")[0] for name in names}) == len(names)


# --------------------------------------------------------------------------------------------------- kill and resume
SCRIPT = """
import sys, time
from pathlib import Path
import numpy as np
from accord.evaluation import make_tasks, run_experiment

def function(task):
    (Path(sys.argv[2]) / f"{task.method}-{task.repetition}-{time.time_ns()}").touch()
    time.sleep(float(sys.argv[3]))
    return {"value": np.random.default_rng(task.seed).normal(), "other": task.repetition}

if __name__ == "__main__":
    tasks = make_tasks("kill", ["a", "b"], repetitions=15, seed=5)
    run_experiment(tasks, function, sys.argv[1], n_jobs=int(sys.argv[4]), config={"x": 1})
"""


@pytest.mark.slow
def test_killed_run_resumes_to_the_same_results(tmp_path, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    ran, whole_ran = tmp_path / "ran", tmp_path / "whole_ran"
    ran.mkdir()
    whole_ran.mkdir()
    path, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"

    def run_here(target, folder):
        monkeypatch.setattr(sys, "argv", [str(script), str(target), str(folder), "0", "1"])
        runpy.run_path(str(script), run_name="__main__")

    command = [sys.executable, str(script), str(path), str(ran), "0.1", "2"]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline and not (path.exists() and path.read_bytes().count(b"\n") >= 5):
            time.sleep(0.02)
        process.kill()  # the run only, as the kernel does when memory is short; its workers live on
        assert process.wait() == -signal.SIGKILL
        done = [json.loads(key) for key in read_journal(path)[1]]
        assert 4 <= len(done) < 30
        with open(path, "ab") as file:
            file.write(b'{"key": "torn')  # as if the kill had come in the middle of a write

        run_here(path, ran)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # orphaned workers; loky's tracker then cleans up
    run_here(whole, whole_ran)
    assert journal_lines(path) == journal_lines(whole)
    assert len(journal_lines(path)) == 31
    tables = [p.with_suffix(".csv").read_text().splitlines() for p in (path, whole)]
    assert [line.rpartition(",")[0] for line in tables[0]] == [line.rpartition(",")[0] for line in tables[1]]
    for _, method, _, repetition in done:  # no finished task ran again
        assert len(list(ran.glob(f"{method}-{repetition}-*"))) == 1
