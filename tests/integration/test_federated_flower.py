"""Federated co-regression over real Flower processes on the loopback interface, with TLS and authentication.

One deployment, because its processes take seconds to start: three sites, of which one is killed and comes back, one
that sends garbage, lies, and sends its replies again and again, two that may not join, and two runs.
"""

import dataclasses
import time
from pathlib import Path

import numpy as np
import pytest

import accord
from accord.exceptions import MissingExtraError
from accord.federated.engine import QUIET, require_flower

try:
    require_flower()
except MissingExtraError:
    pytest.skip("needs accord-ml[federated]", allow_module_level=True)

from flower_helpers import Federation, Problem, wait_until, write_keys

from accord.federated.flower import read_result, write_app
from accord.persistence import read_model

THREE = ["a", "b", "c"]
LAMBDA = 0.1
# Sends, one after the other: what is not finite, too few numbers, absurd numbers, no numbers at all.
GARBAGE = """
import itertools
import numpy as np
import accord.federated.flower_messages as messages
from flwr.app import ConfigRecord, Message, RecordDict
proper, turn = messages.answer_predict, itertools.count()
def answer(question, predictions):
    k = next(turn) % 4
    if k == 0:
        return proper(question, np.full_like(predictions, np.nan))
    if k == 1:
        return proper(question, predictions[:-1])
    if k == 2:
        return proper(question, np.full_like(predictions, 1e6))
    return Message(RecordDict({"rubbish": ConfigRecord({"text": "?"})}), reply_to=question)
messages.answer_predict = answer
"""
# Sends its first replies twice, and the one before once more. Its own SuperNode may lose track of them.
REPEATS = """
import flwr.supernode.runtime.run_clientapp as runtime
push, sent = runtime.push_message, []
def push_again(client, message, context):
    push(client, message, context)
    sent.append(message)
    for old in sent[-2:] if len(sent) <= 4 else ():
        try:
            push(client, old, context)
            told = "taken"
        except Exception as error:
            told = f"refused: {error}"
        with open("repeated.txt", "a") as log:
            print(told, file=log)
runtime.push_message = push_again
"""


@dataclasses.dataclass
class Story:
    """What came of it."""

    problem: Problem
    folder: Path
    two: accord.federated.Agreement
    three: accord.federated.Agreement
    refused: dict
    environments: list
    model_before: bytes


def start_again(federation, name):
    """Start a site until the SuperLink, which believes for up to a minute that the killed one is there, takes it."""
    known = federation.log(name).count("SuperNode ID")
    for _ in range(12):
        process = federation.start_site(name)

        def has_started():
            return federation.log(name).count("SuperNode ID") > known

        wait_until(lambda process=process: process.poll() is not None or has_started(), 60, "restart")
        if has_started():
            return
        time.sleep(3)
    raise TimeoutError(f"site {name} was not taken back")


def rounds_of(path):
    """How many rounds a run has done."""
    return len(read_model(path)[0]["agreement"]["rounds"]) if path.exists() else 0


@pytest.mark.slow
@pytest.mark.long  # ten processes, which wait for each other for minutes
def test_a_federation_of_real_processes(tmp_path):
    """One test, so that test runners with several processes do not start the deployment several times."""
    problem = Problem(THREE)
    problem.write(tmp_path)
    for name in ("bad", "stranger", "keyless"):
        np.savez(tmp_path / f"{name}.npz", **problem.parts["a"])
    federation, failures = Federation(tmp_path), []
    try:
        story = tell_story(federation, problem, tmp_path)
    except BaseException:
        for path in sorted(tmp_path.glob("*.log")):
            print(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}")  # noqa: T201
        raise
    finally:
        federation.close()
    for check in CHECKS:
        try:
            check(story)
        except AssertionError as error:
            error.add_note(check.__name__)
            failures.append(error)
    if failures:
        raise ExceptionGroup("what came of the federation is wrong", failures)


def tell_story(federation, problem, folder):
    registered = [*THREE, "bad"]
    for name in [*registered, "stranger"]:
        write_keys(folder, name)
    federation.start_link()
    wait_until(lambda: "Uvicorn running" in federation.log("superlink"), 60, "SuperLink")
    federation.flwr(*(f"supernode register {name}.pub --name {name}" for name in registered))
    running = {
        name: federation.start_site(name, script=GARBAGE + REPEATS if name == "bad" else None) for name in registered
    }
    common = {"lambda_": LAMBDA, "tol": 1e-6, "timeout": 15.0, "patience": 100.0}
    write_app(folder / "two", result=str(folder / "two.accord"), sites="a,b", **common)
    with open(folder / "two" / "federation.py", "a") as module:
        module.write(
            f"import sys\nfrom pathlib import Path\nPath({str(folder)!r}, 'ran.' + Path(sys.argv[0]).name).touch()\n"
        )
    write_app(folder / "three", result=str(folder / "three.accord"), sites=",".join(registered), **common)
    federation.flwr("run three")
    environments = [environment_of(process.pid) for process in federation.processes]

    wait_until(lambda: rounds_of(folder / "three.accord.checkpoint") >= 2, 120, "two rounds")
    federation.kill(running["c"])
    killed = time.monotonic()
    model_before = (folder / "c.model.accord").read_bytes()
    federation.flwr("run two")  # while the other run does without c
    strangers = {"stranger": federation.start_site("stranger"), "keyless": federation.start_site("keyless", key=None)}
    time.sleep(max(0.0, killed + 36 - time.monotonic()))  # it has reported itself less than 24 s before its death
    start_again(federation, "c")
    wait_until(lambda: is_done(folder / "two.accord"), 180, "run of two sites")
    wait_until(lambda: is_done(folder / "three.accord"), 180, "run of three sites")
    refused = {name: (process.wait(30), federation.log(name)) for name, process in strangers.items()}
    two, three = read_result(folder / "two.accord"), read_result(folder / "three.accord")
    return Story(problem, folder, two, three, refused, environments, model_before)


def is_done(path):
    """A result is there, and nobody is missing but the site that never speaks sense."""
    return path.exists() and not set(read_result(path).missing) - {"bad"}


def environment_of(pid):
    """Of a process; empty where that cannot be seen."""
    path = Path(f"/proc/{pid}/environ")
    return dict(e.split("=", 1) for e in path.read_text().split("\0") if "=" in e) if path.exists() else {}


def check_optimum(agreement, optimum):
    assert agreement.rounds[-1].change <= 1e-6
    assert len(agreement.rounds) <= 25
    for name, expected in optimum.items():
        assert np.linalg.norm(agreement.predictions[name][:, 0] - expected) <= 1e-5 * np.linalg.norm(expected)
    expected = np.mean(list(optimum.values()), axis=0)
    assert np.linalg.norm(agreement.consensus[:, 0] - expected) <= 1e-5 * np.linalg.norm(expected)


def two_sites_reach_the_central_optimum(story):
    check_optimum(story.two, story.problem.optimum(["a", "b"], LAMBDA))
    assert set(story.two.predictions) == {"a", "b"}
    assert story.two.converged


def three_sites_reach_it_although_one_was_killed_and_came_back(story):
    check_optimum(story.three, story.problem.optimum(THREE, LAMBDA))
    missed = [report.number for report in story.three.rounds if "c" in report.failures]
    assert missed
    assert "c" not in story.three.rounds[0].failures
    assert "c" not in story.three.rounds[-1].failures


def garbage_is_refused_by_name_and_the_others_go_on(story):
    assert set(story.three.predictions) == set(THREE)
    assert set(story.three.missing) == {"bad"}
    reasons = [report.failures["bad"] for report in story.three.rounds]
    for text in ("not finite", "of shape (29, 1)", "times as large as those of the other", "no record 'predictions'"):
        assert any(text in reason for reason in reasons), reasons


def replies_that_are_sent_again_change_nothing(story):
    """The site's own SuperNode takes them, and the SuperLink does not; the optimum is reached, see above."""
    repeated = (story.folder / "repeated.txt").read_text().splitlines()
    assert "taken" in repeated
    replies = (story.folder / "superlink.log").read_text()
    assert "does not exist" in replies


def models_stay_at_the_sites_and_survive_a_kill(story):
    kept = story.folder / "before.accord"
    kept.write_bytes(story.model_before)
    part = story.problem.parts["c"]
    assert np.isfinite(accord.load(kept).predict(part["X"])).all()
    final = accord.load(story.folder / "c.model.accord").predict(part["unlabeled"])
    assert np.allclose(final, story.three.predictions["c"][:, 0], rtol=1e-5, atol=1e-6)


def sites_without_a_registered_key_are_refused(story):
    assert set(story.refused) == {"stranger", "keyless"}
    for code, log in story.refused.values():
        assert code != 0
        assert "Failed to initialize the connection to the SuperLink" in log
        assert "SuperNode ID" not in log


def sites_run_nothing_that_they_are_sent(story):
    assert [path.name for path in story.folder.glob("ran.*")] == ["ran.flwr-serverapp"]


def killed_sites_leave_no_secrets_behind(story):
    assert list((story.folder / "tmp").glob("accord*")) == []


def no_process_reports_its_use_or_asks_for_updates(story):
    seen = [environment for environment in story.environments if environment]
    assert len(seen) in (0, len(story.environments))  # where there is no /proc, nothing can be seen
    assert all(environment[key] == value for environment in seen for key, value in QUIET.items())


CHECKS = [
    two_sites_reach_the_central_optimum,
    three_sites_reach_it_although_one_was_killed_and_came_back,
    garbage_is_refused_by_name_and_the_others_go_on,
    replies_that_are_sent_again_change_nothing,
    models_stay_at_the_sites_and_survive_a_kill,
    sites_without_a_registered_key_are_refused,
    sites_run_nothing_that_they_are_sent,
    killed_sites_leave_no_secrets_behind,
    no_process_reports_its_use_or_asks_for_updates,
]
