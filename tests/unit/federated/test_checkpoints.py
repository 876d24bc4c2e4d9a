"""Checkpoints and results that are damaged under a valid checksum, and runs that are killed while they write."""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from federated_cases import Problem

from accord.exceptions import InputError, ModelFileError
from accord.federated import LocalSites, agree
from accord.persistence import read_model, write_model


@functools.cache
def local_sites():
    return LocalSites(Problem(n_views=3, m=8).sites())


def run(path, **settings):
    return agree(local_sites(), **{"checkpoint": path, "max_rounds": 4, **settings})


@pytest.fixture(params=["mean", "trimmed"])
def kept(request, tmp_path, monkeypatch):
    """A checkpoint, as what it tells and its arrays, and what reads it."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # hundreds of files that need not survive anything
    path = tmp_path / "rounds.accord"
    run(path, aggregation=request.param)
    metadata, arrays = read_model(path)

    def read_again(told, arrays):
        write_model(path, {"agreement": told}, arrays)
        return run(path, aggregation=request.param, max_rounds=6)

    return metadata["agreement"], arrays, read_again


def put(told, *steps, value):
    """A copy of what is told, with something else at one place."""
    told = json.loads(json.dumps(told))
    place = told
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = value
    return told


def complaint(read_again, told, arrays):
    """Why a checkpoint is refused; None if it is not."""
    try:
        read_again(told, dict(arrays))
    except (ModelFileError, InputError) as error:
        return str(error)
    return None


WRONG = [None, True, -1, 2.5, float("nan"), "x", [], [1, 2, 3], 10**30]


def test_every_value_of_another_kind_is_found(kept):
    told, arrays, read_again = kept
    places = [(key,) for key in told] + [("rounds", 1, key) for key in told["rounds"][1]]
    places += [("names", 0), ("shape", 0), ("members", 0), ("supposed", 1), ("n_others", 0), ("rounds", 0)]
    accepted = []
    for k, place in enumerate(places):
        for value in WRONG if told["trim"] == 0 else WRONG[k % 3 :: 3]:  # most of it is the same with a trimmed mean
            why = complaint(read_again, put(told, *place, value=value), arrays)
            if why is None:
                accepted.append(place)
            else:
                assert "rounds.accord is damaged" in why or "is of another agreement" in why, (place, value)
    # reports may hold any number, members may all have to join again, and who had other others is not compared
    assert {place[0] for place in accepted} <= {"rounds", "members", "n_others"}
    assert len(accepted) <= 25
    for key in told:
        if key not in ("trim", "n_others"):  # files of earlier versions lack these
            with pytest.raises((ModelFileError, InputError), match=r"rounds\.accord"):
                read_again({k: v for k, v in told.items() if k != key}, dict(arrays))


def damages(array):
    """Other arrays: sizes, axes, types, numbers that are none."""
    yield array[:-1]
    yield np.concatenate([array, array])
    yield array[..., None]
    yield array.ravel()[:3]
    yield array[..., :0]
    yield array.astype("f4")
    yield array.astype("i8")
    yield array.astype(complex)
    yield array.astype("U")
    for value in (np.nan, np.inf, -np.inf):
        other = array.copy()
        other.flat[-1] = value
        yield other


def test_every_damaged_array_is_found(kept):
    told, arrays, read_again = kept
    for name, array in arrays.items():
        for other in damages(array):
            if (
                name == "tried"
                and other.shape[1:] == array.shape[1:]
                and other.dtype == "f8"
                and np.isfinite(other).all()
            ):
                continue  # fewer former rounds are none that disagree with anything
            with pytest.raises(
                ModelFileError, match=r"rounds\.accord is damaged: .*; restore it from a copy, or remove"
            ):
                read_again(told, {**arrays, name: other})
        with pytest.raises(ModelFileError, match=r"rounds\.accord is damaged"):
            read_again(told, {key: own for key, own in arrays.items() if key != name})
    with pytest.raises(ModelFileError, match="an array 'more', which does not belong there"):
        read_again(told, {**arrays, "more": np.zeros(3)})
    assert len(read_again(told, arrays).rounds) == 6


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("members",), ["a", "z"], "not so that members are among the sites"),
        (("supposed",), ["a", "b", "b"], "supposed names a site twice"),
        (("supposed",), ["a", "b", "z"], "not so that sites are among the names"),
        (("n_others",), [2, 2], "incomplete"),
        (("rounds", 1, "number"), 7, "not so that rounds are counted from 1 on"),
        (("rounds", 1, "change"), -1.0, r"rounds\[1\].change is -1.0; expected a number, 0 or more, or infinity"),
        (("trim",), 2, "consensus"),
    ],
)
def test_what_does_not_fit_together_is_named(tmp_path, place, value, message):
    path = tmp_path / "rounds.accord"
    run(path)
    metadata, arrays = read_model(path)
    write_model(path, {"agreement": put(metadata["agreement"], *place, value=value)}, arrays)
    with pytest.raises(ModelFileError, match=message):
        run(path)


def test_checkpoints_of_earlier_versions_are_read(tmp_path):
    """They have no answers to compare with, and reports without the site that stands out."""
    path = tmp_path / "rounds.accord"
    whole = run(None, max_rounds=6)
    run(path)
    metadata, arrays = read_model(path)
    told = metadata["agreement"]
    del told["trim"], told["n_others"]
    for report in told["rounds"]:
        del report["farthest"], report["distance"]
    old = {name: own for name, own in arrays.items() if not name.startswith(("asked", "said"))}
    write_model(path, {"agreement": told}, old)
    resumed = run(path, max_rounds=6)
    assert [report.change for report in resumed.rounds] == [report.change for report in whole.rounds]


def test_a_site_that_lies_after_a_restart_of_the_coordinator_is_found(tmp_path):
    path = tmp_path / "rounds.accord"
    run(path)
    problem = Problem(n_views=3, m=8)
    sites = problem.sites()
    honest = sites["b"].predict
    sites["b"].predict = lambda others, lambda_: honest(others, lambda_) + 1.0
    outcome = agree(LocalSites(sites), problem.lambda_, checkpoint=path, max_rounds=5)
    assert "no site that heeds them does" in outcome.missing["b"]


# A process of its own, so that the children that are killed share nothing with the tests. Children are made by fork:
# to start one takes no time, so many moments can be tried.
KILLS = """
import os, random, signal, sys, time
from pathlib import Path
sys.path[:0] = {paths!r}
from federated_cases import Problem
from accord.federated import LocalSites, agree
from accord.persistence import read_model
path = Path(sys.argv[1])
problem = Problem(n_views=3, m=8)
sites = problem.sites()
random.seed(0)
most, left = 0, 0
for kill in range(300):
    if kill >= int(sys.argv[2]) and left:  # enough, and one hit a file that was being written
        break
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        say = lambda report: os.write(tell, report.number.to_bytes(4, "big"))
        agree(LocalSites(sites), problem.lambda_, tol=0.0, max_rounds=10**6, checkpoint=path, on_round=say)
    os.close(tell)
    os.read(told, 4)  # it has begun
    time.sleep(random.random() * 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    acknowledged = most
    while chunk := os.read(told, 4):
        acknowledged = int.from_bytes(chunk, "big")
    os.close(told)
    left += len(list(path.parent.iterdir())) > 1
    rounds = len(read_model(path)[0]["agreement"]["rounds"])
    assert rounds >= acknowledged >= most, (rounds, acknowledged, most)
    most = rounds
    if most > 60:  # what is written grows with every round
        path.unlink()
        most = 0
agree(LocalSites(sites), problem.lambda_, tol=0.0, max_rounds=most + 1, checkpoint=path)
assert [p.name for p in path.parent.iterdir()] == [path.name]
print("killed while a file was written:", left)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_any_moment_leaves_a_checkpoint_and_nothing_else(tmp_path):
    script = KILLS.format(paths=[path for path in sys.path if path])
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "rounds.accord"), "6"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split(":")[1]) > 0  # or the test would show nothing
