"""`accord warm`: small fits that use every kernel, so that nothing is left to compile."""

import os
import subprocess
from importlib import import_module

import pytest
from cli_helpers import COMMAND, run, write_points, write_sentences
from numba.core import event
from zoo import RECORDS, SENTENCES, TEXTS, TREES, kinds

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


def kernels_in(folder):
    """Compiled kernels: their files, and when each was written."""
    return {path: path.stat().st_mtime_ns for pattern in ("*.nbi", "*.nbc") for path in folder.rglob(pattern)}


@pytest.mark.long
def test_first_commands_after_warm_compile_nothing(tmp_path):
    """In processes of their own, from an empty cache: a tagger, two classifiers, a parser, and a table of people."""
    cache = tmp_path / "cache"
    cache.mkdir()

    def accord(*args):
        done = subprocess.run(
            [*COMMAND, *args],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    write_sentences(tmp_path)
    write_points(tmp_path / "points.csv")
    rows = [f"{text},{'ab'[i % 2] if i < 10 else ''}" for i, text in enumerate(TEXTS)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    (tmp_path / "trees.mrg").write_text("\n".join(TREES) + "\n")
    (tmp_path / "sentences.txt").write_text("".join(" ".join(words) + "\n" for words in SENTENCES))
    people = [f"{r['name']},{r['city']},{r['born']},{i // 2}" for i, r in enumerate(RECORDS)]
    (tmp_path / "people.csv").write_text("\n".join(["name,city,born,who", *people]) + "\n")

    assert "compiling kernels ..." in accord("warm")
    warm = kernels_in(cache)
    assert len(warm) > 100
    for commands in (
        ["train train.conll -o m", "predict m test.txt", "evaluate m test.conll"],
        ["train train.conll --unlabeled test.txt -o m", "predict m test.txt"],
        ["train texts.csv --label-column label -o m", "predict m texts.csv"],
        ["train points.csv --label-column kind -o m", "predict m points.csv"],
        ["train trees.mrg -o m", "predict m sentences.txt"],
        ["dedupe people.csv --label-column who --model m", "dedupe apply m people.csv --output out.csv"],
    ):
        for command in commands:
            said = accord(*command.split())
            new = {path.name for path, time in kernels_in(cache).items() if warm.get(path) != time}
            assert (command, new) == (command, set())
            assert "compiling" not in said
        (tmp_path / "m").unlink()


@pytest.mark.long
def test_the_first_run_says_that_it_compiles(tmp_path):
    """One line on standard error, and none the second time."""
    write_points(tmp_path / "points.csv")
    command = [*COMMAND, "train", "points.csv", "--learner", "perceptron", "-o", "m"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = [
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    ]
    assert ["compiling kernels, once after installation" in line for line in said] == [True, False]
