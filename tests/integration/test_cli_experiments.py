"""`accord reproduce`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import ok, run

from accord import experiments


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
