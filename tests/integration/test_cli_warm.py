"""`accord warm`: small fits that use every kernel, so that nothing is left to compile."""

from importlib import import_module

import pytest
from cli_helpers import run
from numba.core import event
from zoo import kinds

warm = import_module("accord.cli.warm")  # accord.cli.warm itself is the command


def test_every_learner_is_warmed_up_with_every_structure_it_learns():
    names = [name for name, _ in warm._jobs()]
    assert "CRF(Sequence())" in names
    assert "PCFG(Tree())" in names
    assert "HMM(Tree())" not in names
    assert {"clusters", "records", "mail"} <= set(names)


def test_it_says_what_it_did(monkeypatch):
    done = []
    monkeypatch.setattr(warm, "_jobs", lambda: [("first", lambda: done.append(1)), ("second", lambda: done.append(2))])
    told = run("warm")
    assert (told.exit_code, done) == (0, [1, 2])
    assert told.stderr == "all kernels are compiled, 0 s\n"
    assert run("warm", "-q").stderr == ""


@pytest.mark.long
def test_nothing_is_left_to_compile(tmp_path):
    class Compiled(event.Listener):
        def __init__(self):
            self.names = set()

        def on_start(self, seen):
            function = seen.data["dispatcher"].py_func
            if function.__module__.startswith("accord."):
                self.names.add(function.__name__)

        def on_end(self, seen):
            pass

    assert run("warm").exit_code == 0
    compiled = Compiled()
    with event.install_listener("numba:compile", compiled):
        for name, kind in kinds().items():
            kind.write(tmp_path / name)
            kind.use(tmp_path / name)
    assert compiled.names == set()
