"""`accord demo` and `accord reproduce`."""

import csv
import html
import importlib
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import ok, run

from accord import experiments
from accord.evaluation import Results, Task

demo_module = importlib.import_module("accord.cli.demo")


# -- demo ---------------------------------------------------------------------------------------------------------
def figures(rows):
    """Everything but times."""
    return [
        (r.get("learner") or r["method"], r["method"], str(r["n_labeled"]), r["metric"], float(r["value"]))
        for r in rows
        if r["metric"] != "seconds"
    ]


@pytest.fixture
def small(monkeypatch):
    """A demo of few examples."""
    for name, value in (("SENTENCES", (5, 40)), ("DOCUMENTS", (27, 54)), ("N_UNLABELED", 20)):
        monkeypatch.setattr(demo_module.tasks, name, value)
    return demo_module.tasks


def test_demo_prints_tables_and_writes_a_report(tmp_path, small):
    out = ok("demo", "--output", tmp_path / "one", "--repetitions", 2)
    assert "span F1 %" in out
    for name in (*small.PAIRS, *small.PAIRS.values(), *small.STRUCTURES):
        assert name in out
    assert str(tmp_path / "one" / "report.html") in out
    page = (tmp_path / "one" / "report.html").read_text()
    assert "accord demo --repetitions 2 --seed 0" in page
    assert (tmp_path / "one" / "token_error.png").read_bytes().startswith(b"\x89PNG")
    with open(tmp_path / "one" / "results.csv", newline="") as file:
        values = {row[:4]: row[4] for row in figures(csv.DictReader(file))}
    for learner in small.PAIRS:  # more examples help
        for method in small.METHODS:
            assert values[learner, method, "40", "token_error"] < values[learner, method, "5", "token_error"]
    for verdict in re.findall(r"^.*points of token error.*$", out, re.MULTILINE):
        assert html.escape(verdict) in page
    assert len(re.findall(r"points of token error", out)) == len(small.PAIRS)


def results(differences):
    """Results in which every learner differs from its supervised counterpart by these numbers, draw by draw."""
    rows = [
        {"experiment": "names in sentences", "method": method, "learner": learner, "n_labeled": n, "seconds": 0.0,
         "metric": "token_error", "repetition": k, "value": 0.2 + (d if method == "semi-supervised" else 0.0)}
        for method in demo_module.tasks.METHODS
        for learner in demo_module.tasks.PAIRS
        for n in demo_module.tasks.SENTENCES
        for k, d in enumerate(differences)
    ]  # fmt: skip
    return Results(rows)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([-0.03, -0.02, -0.025], "unlabeled sentences pay, -2.50 points of token error against HMM (p ="),
        ([0.03, 0.02, 0.025], "worse, +2.50 points"),
        ([0.03, -0.02, 0.01], "no clear difference, +0.67 points"),
        ([0.0, 0.0, 0.0], "no clear difference, +0.00 points"),
        ([-0.03], "-3.00 points of token error against HMM (one draw tells nothing about chance)"),
    ],
)
def test_demo_says_whether_unlabeled_sentences_pay(differences, verdict):
    found = results(differences)
    assert f"HMM, Baum-Welch: {verdict}" in demo_module.verdicts(found)[0]
    assert demo_module._difference(found, "CRF", 10).startswith(f"{100 * sum(differences) / len(differences):+.2f}")


def test_demo_hides_labels_from_nobody_but_the_unlabeled(small, monkeypatch):
    """Both learners of a pair see the same labeled sentences; only the second sees others, without their labels."""
    seen = []

    class Spy:
        def fit(self, X, Y):
            seen.append((X, Y))

        def predict(self, X):
            return [["O"] * len(x) for x in X]

    monkeypatch.setattr(small, "_learners", lambda seed: {"CRF": Spy, "CRF + word classes": Spy})
    for method in small.METHODS:
        small.tag_names(Task(small.NAMES, method, {"learner": "CRF", "n_labeled": 5}, 0))
    (X, Y), (more_X, more_Y) = seen
    assert len(X) == len(Y) == 5
    assert (more_X[:5], more_Y[:5]) == (X, Y)
    assert more_Y[5:] == [None] * 20
    assert len(more_X) == 25


def test_demo_depends_on_its_seed_only(small, monkeypatch):
    monkeypatch.setattr(small, "SENTENCES", (12,))
    monkeypatch.setattr(small, "DOCUMENTS", (27,))
    one, again, other = (figures(demo_module.run(1, seed).rows) for seed in (0, 0, 1))
    assert one == again
    assert set(one).isdisjoint(other)


def test_demo_compiles_in_a_second_process_only_when_it_must(monkeypatch):
    started = []
    monkeypatch.setattr(demo_module.subprocess, "Popen", lambda command, **_: started.append(command))
    helper = demo_module._Helper()
    helper.wait()
    assert started == []
    monkeypatch.setattr(demo_module.os, "cpu_count", lambda: 2)
    helper.start()
    assert started[0][:2] == [sys.executable, "-c"]
    compile(started[0][2], "helper", "exec")


# -- reproduce ----------------------------------------------------------------------------------------------------
@dataclass
class FakeExperiment:
    name: str = "toy"
    title: str = "A toy experiment"
    description: str = "It does nothing."
    error: BaseException | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)

    def run(self, **settings: Any) -> list[Path]:
        self.calls.append(settings)
        if self.error is not None:
            raise self.error
        return [settings["output"] / "report.html", settings["output"] / "results.csv"]


@pytest.fixture
def experiment(monkeypatch):
    fake = FakeExperiment()
    monkeypatch.setattr("accord.experiments.REGISTRY", {"toy": fake}, raising=False)
    return fake


def test_reproduce_passes_its_options_on(experiment, tmp_path):
    out = ok("reproduce", "toy", "--quick", "--data", "d", "--output", tmp_path, "--n-jobs", 2, "--seed", 3, "--quiet")
    expected = {"data": "d", "output": tmp_path, "quick": True, "n_jobs": 2, "seed": 3, "verbose": 0}
    assert experiment.calls == [expected]
    assert out.split() == [str(tmp_path / "report.html"), str(tmp_path / "results.csv")]


def test_reproduce_defaults_and_list(experiment):
    ok("reproduce", "toy")
    expected = {
        "data": None,
        "output": Path("accord-results/toy"),
        "quick": False,
        "n_jobs": 1,
        "seed": 0,
        "verbose": 1,
    }
    assert experiment.calls == [expected]
    assert ok("reproduce", "--list").split(maxsplit=1) == ["toy", "A toy experiment\n"]


def test_reproduce_mistakes(experiment):
    result = run("reproduce", "tyo")
    assert result.exit_code == 2
    assert "did you mean toy?" in result.stderr
    assert run("reproduce").exit_code == 2
    experiment.error = KeyboardInterrupt()
    result = run("reproduce", "toy")
    assert result.exit_code == 130
    assert "run the same command again" in result.stderr


def test_the_real_registry_keeps_the_interface():
    assert experiments.REGISTRY
    for name, found in experiments.REGISTRY.items():
        assert found.name == name
        assert found.title
        assert name in ok("reproduce", "--list")
