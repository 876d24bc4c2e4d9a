"""The frame of the experiments, on a toy: files, resuming, parallel runs, errors, the sentences of the report."""

import threading

import joblib
import numpy as np
import pytest

from accord import MultiClass, StructuredSVM
from accord.evaluation import Published, Results, Task, TaskFailedError, report
from accord.exceptions import InputError
from accord.experiments.base import QUICK_NOTE, Experiment, divided_by_n, grid, mean_of, published_notes
from accord.experiments.training_time import TrainingTime


class Toy(Experiment):
    """Two methods whose errors are known."""

    name = "toy"
    title = "A toy"
    description = "Errors that are known."
    data_sets = ()
    methods = ("plain", "fancy")
    repetitions = 3
    settings = grid(n_labeled=(5, 10))
    metrics = ("token_error",)
    baseline = "plain"
    x = "n_labeled"
    published = (Published("plain", "token_error", 0.25, {"n_labeled": 5}, source="nowhere"),)

    def __init__(self, fails_at=None):
        self.fails_at = fails_at
        self.done = []
        self.loads = []
        self.threads = set()
        self.together = None

    def load(self, data, quick, seed):
        self.loads.append((data, quick, seed))
        return {"plain": 0.2, "fancy": 0.1}

    def run_task(self, task: Task, loaded):
        if len(self.done) == self.fails_at:
            raise RuntimeError("the power went")
        if self.together is not None:
            self.together.wait(timeout=60)
        self.done.append(task.key)
        self.threads.add(threading.get_ident())
        noise = (task.seed % 1000) / 1e6
        return {"token_error": loaded[task.method] + 0.01 * task.repetition + noise}

    def notes(self, results):
        return published_notes(results, self.published, "token_error")


def values(path):
    return [(r["method"], r["n_labeled"], r["repetition"], r["value"]) for r in Results.load(path).rows]


@pytest.fixture
def no_plots(monkeypatch):
    """Most of the time of a report goes to its plots, which one run has shown."""
    monkeypatch.setattr(report, "plot_results", lambda *_, **__: None)
    monkeypatch.setattr(report, "figure_bytes", lambda *_: b"")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run from beginning to end: its toy and its files. The data folder is that of the output."""
    toy, folder = Toy(), tmp_path_factory.mktemp("whole")
    return toy, toy.run(folder, folder / "out", verbose=0)


def test_run_writes_report_table_and_plot(whole):
    toy, paths = whole
    assert [p.name for p in paths] == ["report.html", "report.md", "results.csv", "token_error.png", "results.jsonl"]
    assert all(p.is_file() for p in paths)
    page, text = paths[0].read_text(), paths[1].read_text()
    assert "data:image/svg+xml" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    for shown in (page, text):
        assert "A toy" in shown
        assert "25.00" in shown
        assert "accord reproduce toy --seed 0" in shown
        assert QUICK_NOTE not in shown
    assert len(values(paths[2])) == len(toy.done) == 12
    assert toy.loads == [(paths[0].parent.parent, False, 0)]


def test_supervised_methods_are_run_once_for_any_number_of_unlabeled_examples(tmp_path, no_plots):
    toy = Toy()
    toy.supervised, toy.settings = ("plain",), grid(n_labeled=[5], n_unlabeled=(0, 10, 100))
    paths = toy.run(tmp_path, tmp_path / "out", verbose=0)
    assert [task.split('"')[3] for task in toy.done].count("plain") == 3  # repetitions
    assert len(toy.done) == 3 + 9
    rows = Results.load(paths[2]).where(method="plain", repetition=1).rows
    assert [row["n_unlabeled"] for row in rows] == [0, 10, 100]
    assert len({row["value"] for row in rows}) == 1


class ToyTime(TrainingTime):
    name = title = description = "toy-time"
    methods = ("slow", "fast")
    settings = grid(n=(100, 200))
    metrics = ("train_seconds",)
    x = "n"
    warm_up = 7

    def __init__(self):
        self.done = []

    def read(self, data):
        return ["examples"]

    def run_task(self, task, loaded):
        self.done.append((task.method, task.setting["n"], loaded))
        return {"train_seconds": 1.0}


def test_every_method_is_run_on_few_examples_before_times_are_measured():
    toy = ToyTime()
    assert toy.load(None, False, 0) == ["examples"]
    assert toy.done == [("slow", 7, ["examples"]), ("fast", 7, ["examples"])]
    assert {task.setting["n"] for task in toy.tasks(False, 0)} == {100, 200}


def test_quick_is_smaller_and_says_so(tmp_path, no_plots):
    toy = Toy()
    paths = toy.run(tmp_path, tmp_path / "out", quick=True, verbose=0)
    assert len(toy.done) == 8
    assert QUICK_NOTE in paths[1].read_text()
    assert "--quick" in paths[1].read_text()


def test_the_seed_reaches_tasks_and_data(tmp_path, whole, no_plots):
    toy, (_, _, first, *_) = Toy(), whole[1]
    second = toy.run(tmp_path, tmp_path / "out", seed=1, verbose=0)
    assert toy.loads == [(tmp_path, False, 1)]
    assert values(first) != values(second[2])
    again = Toy().run(tmp_path, tmp_path / "again", verbose=0)
    assert values(again[2]) == values(first)


def test_a_broken_run_goes_on_where_it_stopped(tmp_path, whole, no_plots):
    broken = Toy(fails_at=5)
    with pytest.raises(TaskFailedError, match="the power went"):
        broken.run(tmp_path, tmp_path / "out", verbose=0)
    assert not (tmp_path / "out" / "report.html").exists()
    repaired = Toy()
    paths = repaired.run(tmp_path, tmp_path / "out", verbose=0)
    assert len(broken.done) == 5
    assert len(repaired.done) == 7
    assert not set(broken.done) & set(repaired.done)
    assert values(paths[2]) == values(whole[1][2])


def test_a_finished_run_only_writes_its_report_anew(whole):
    first, toy = whole[1], Toy()
    before = first[1].read_bytes()
    first[1].unlink()
    folder = first[1].parent
    assert toy.run(folder.parent, folder, verbose=0)[1].read_bytes() == before
    assert toy.done == []
    assert toy.loads == []


@pytest.mark.parametrize("argument", [2, None])
def test_tasks_run_side_by_side(tmp_path, whole, no_plots, argument):
    toy = Toy()
    toy.together = threading.Barrier(2)  # a task ends only while another one runs
    with joblib.parallel_config("threading", n_jobs=2 if argument is None else 1):
        paths = toy.run(tmp_path, tmp_path / "out", n_jobs=argument, verbose=0)
    assert len(toy.threads) == 2
    assert values(paths[2]) == values(whole[1][2])


def test_results_of_another_version_are_not_mixed_in(tmp_path, no_plots):
    Toy().run(tmp_path, tmp_path / "out", quick=True, verbose=0)
    with pytest.raises(InputError, match="quick was true, is false"):
        Toy().run(tmp_path, tmp_path / "out", verbose=0)
    newer = Toy()
    newer.version = 2
    with pytest.raises(InputError, match="version was 1, is 2"):
        newer.run(tmp_path, tmp_path / "out", quick=True, verbose=0)
    newer.run(tmp_path, tmp_path / "out", quick=True, verbose=0, overwrite=True)
    assert len(newer.done) == 8


def test_missing_data_are_named_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("ACCORD_DATA", raising=False)
    toy = Toy()
    toy.data_sets = ("conll2002_esp", "bc2gm")
    (tmp_path / "bc2gm").mkdir()
    with pytest.raises(InputError, match=r"needs the data sets conll2002_esp, bc2gm.* has no conll2002_esp;"):
        toy.run(tmp_path, tmp_path / "out")
    with pytest.raises(InputError, match="ACCORD_DATA"):
        toy.run(None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_folder_is_named_after_the_experiment_by_default(tmp_path, monkeypatch, no_plots):
    monkeypatch.chdir(tmp_path)
    assert Toy().run(tmp_path, quick=True, verbose=0)[0].resolve() == tmp_path / "toy" / "report.html"


def row(method, value, repetition, metric="token_error", **setting):
    head = {"experiment": "e", "method": method, **setting}
    return {**head, "repetition": repetition, "metric": metric, "value": value, "seconds": 1.0}


def test_sentences_set_ours_against_the_papers():
    results = Results(
        [
            row("HMM", 0.2, 0, data="a", n=5),
            row("HMM", 0.3, 1, data="a", n=5),
            row("HMM", 0.1, 0, data="a", n=10),
            row("HMM", 0.7, 0, data="b", n=5),
            row("SVM", 0.4, 0, data="a", n=5),
        ]
    )
    published = [
        Published("HMM", "token_error", 0.24, {"data": "a", "n": 5}),
        Published("HMM", "token_error", 0.15, {"data": "a", "n": 10}),
        Published("HMM", "span_f1", 0.5, {"data": "a", "n": 5}),
        Published("CRF", "token_error", 0.9, {"data": "a", "n": 5}),
    ]
    assert published_notes(results, published, "token_error", {"data": "a"}) == [
        "Token error in %, data=a, ours against the papers': "
        "HMM at n=5 25.00 against 24.00; HMM at n=10 10.00 against 15.00."
    ]
    assert published_notes(results, published, "token_error", {"data": "b"}) == []
    assert mean_of(results, "HMM", "token_error", data="a", n=5) == pytest.approx(0.25)
    assert mean_of(results, "CRF", "token_error") != mean_of(results, "CRF", "token_error")  # nan: there is none


def test_the_chapters_c_does_not_depend_on_the_number_of_examples():
    """Its objective takes the mean of the slacks: with every example twice it has the same minimum."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), list("abc" * 4)
    once, twice = (
        StructuredSVM(MultiClass(), C=divided_by_n(1.0, 12 * k), tol=1e-5).fit(np.vstack([X] * k), Y * k)
        for k in (1, 2)
    )
    assert once.objective_ == pytest.approx(twice.objective_, rel=1e-3)
    np.testing.assert_allclose(once.weights_.flat(), twice.weights_.flat(), atol=0.01)
