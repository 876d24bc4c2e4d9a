"""The programs that ``kills.py`` kills, and what must be true afterwards."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from killing import Child, accord_command, must

import accord
from accord.evaluation import Task
from accord.evaluation.journal import read_journal
from accord.experiments import REGISTRY, Experiment
from accord.federated import LocalSites, Site, agree
from accord.mail.detector import BatchDetector
from accord.mail.service import warm_up
from accord.persistence import read_model

WORDS = ["ana", "tom", "eva", "rome", "oslo", "paris", "left", "saw", "met", "likes", "big", "small", "red", "house"]
LABELS = ["O", "P", "L"]


class Kind:
    """One command: how it is prepared, run, and looked at after it was killed.

    ``base`` holds the files that every case begins with. ``used`` is called in the parent while the child runs.
    """

    name = ""
    leftovers: tuple[str, ...] = ()  # files that may stay although they are not in what an undisturbed run leaves

    def prepare(self, base: Path) -> None:
        """Write what every case begins with."""

    def run(self) -> None:
        """In the child, whose working folder is a copy of the base."""
        raise NotImplementedError

    def use(self, folder: Path, child: Child) -> Any:
        """What a client sees meanwhile."""

    def look(self, folder: Path, lines: list[str], seen: Any, code: int) -> str:
        """Right after the kill: raises what is wrong, says in a word what is there."""
        raise NotImplementedError

    def use_again(self, folder: Path, child: Child, seen: Any) -> None:
        """What a client sees of the next normal run."""

    def look_again(self, folder: Path, lines: list[str], seen: Any) -> None:
        """After the same command ran to its end."""

    def again(self) -> None:
        """The next normal run, in a child."""
        self.run()


def _sentences(rng: random.Random, n: int) -> tuple[list[list[str]], list[list[str]]]:
    X = [[rng.choice(WORDS) for _ in range(rng.randint(2, 8))] for _ in range(n)]
    return X, [[LABELS[len(word) % 3] for word in x] for x in X]


class Save(Kind):
    """A program that saves its model again and again."""

    name = "save"
    n = 40

    def prepare(self, base: Path) -> None:
        X, Y = _sentences(random.Random(1), 30)
        self.model = accord.CRF(accord.Sequence(), view=accord.TokenFeatures()).fit(X, Y)
        self._save(base / "model", 0)

    def _save(self, path: Path | str, number: int) -> None:
        self.model.C = 1.0 + number
        self.model.save(path)

    def run(self) -> None:
        for number in range(1, self.n + 1):
            self._save("model", number)
            print(number, flush=True)

    def again(self) -> None:
        self._save("model", self.n)

    def look(self, folder: Path, lines: list[str], seen: Any, code: int) -> str:
        told, there = int(lines[-1]) if lines else 0, int(accord.load(folder / "model").C) - 1
        must(told <= there <= told + 1, f"save {told} was acknowledged, and the file holds save {there}")
        return "last" if there == told else "next"

    def look_again(self, folder: Path, lines: list[str], seen: Any) -> None:
        must(int(accord.load(folder / "model").C) - 1 == self.n, "the file is not that of the last save")


class Train(Kind):
    """``accord train``, with the model of another training in its place."""

    name = "train"

    def prepare(self, base: Path) -> None:
        X, Y = _sentences(random.Random(2), 60)
        text = "\n\n".join("\n".join(f"{word} {label}" for word, label in zip(x, y)) for x, y in zip(X, Y))
        (base / "train.conll").write_text(text + "\n")
        accord.CRF(accord.Sequence(), view=accord.TokenFeatures()).fit(X[:9], Y[:9]).save(base / "model")
        self.old = (base / "model").read_bytes()
        self.run = accord_command("train", "train.conll", "--model", "model")  # type: ignore[method-assign]

    def look(self, folder: Path, lines: list[str], seen: Any, code: int) -> str:
        found = (folder / "model").read_bytes()
        accord.load(folder / "model")
        must(found in (self.old, self.new), "the model is neither the old nor the new one")
        must(found == self.new or not any(line.endswith(": model") for line in lines), "acknowledged, but not there")
        return "new" if found == self.new else "old"

    def reference(self, folder: Path) -> None:
        """What an undisturbed run made."""
        self.new = (folder / "model").read_bytes()
        must(self.new != self.old, "training made the old model")

    def look_again(self, folder: Path, lines: list[str], seen: Any) -> None:
        must((folder / "model").read_bytes() == self.new, "the next run gave another model")


class Assign(Kind):
    """``accord dedupe assign`` with an index: ids that somebody has seen are never given again."""

    name = "dedupe assign"
    to_file = True

    def prepare(self, base: Path) -> None:
        rng = random.Random(3)
        records = [{"name": f"{rng.choice(WORDS)} {rng.choice(WORDS)} {i // 2}", "city": rng.choice(WORDS)}
                   for i in range(60)]  # fmt: skip
        ids = [i // 2 for i in range(len(records))]
        model = accord.Deduplicator(self_training=False, random_state=0).fit(records, ids)
        index = model.index(records, ids)
        index.save(base / "index")
        index.assign(records[:3])  # loads what is compiled
        for k, name in enumerate(("monday.csv", "tuesday.csv")):
            fresh = [(f"zq{100 * k + j} {'xyzuvw'[j % 6] * 9} {j}", f"k{j}{k}") for j in range(12)]
            lines = [f"{name},{city}" for name, city in fresh]
            (base / name).write_text("\n".join(["name,city", *lines]) + "\n")
        self.old = (base / "index").read_bytes()

    def run(self) -> None:
        output = ["--output", "out.csv"] if self.to_file else []
        accord_command("dedupe", "assign", "index", "monday.csv", *output)()

    def reference(self, folder: Path) -> None:
        """What an undisturbed run made."""
        self.new, self.out = (folder / "index").read_bytes(), (folder / "out.csv").read_text()

    def look(self, folder: Path, lines: list[str], seen: Any, code: int) -> str:
        found, out = (folder / "index").read_bytes(), folder / "out.csv"
        accord.load(folder / "index")
        must(found in (self.old, self.new), "the index is neither the old nor the new one")
        self.seen = _column(out.read_text()) if out.exists() else _column("\n".join(lines))
        must(not out.exists() or out.read_text() == self.out, "the table is not whole")
        must(found == self.new or not self.seen, "ids were given that the index does not know")
        must(found == self.new or not any("fresh ids" in line for line in lines), "acknowledged, but not there")
        return "new" if found == self.new else "old"

    def again(self) -> None:
        accord_command("dedupe", "assign", "index", "tuesday.csv", "--output", "out.csv")()

    def look_again(self, folder: Path, lines: list[str], seen: Any) -> None:
        given = _column((folder / "out.csv").read_text())
        must(len(given) == 12, "the next run did not write its table")
        must(not given & self.seen, f"ids were given twice: {sorted(given & self.seen)}")


def _column(text: str) -> set[str]:
    rows = [line.split(",") for line in text.splitlines() if "," in line]
    return {row[0] for row in rows if row[0].isdigit()}


class Serve(Kind):
    """``accord mail serve``: what was answered before a state was written is known again, and no id is given twice."""

    name = "mail service"
    n = 25
    leftovers = ("state.lock",)

    def prepare(self, base: Path) -> None:
        import uvicorn  # noqa: F401

        import accord.mail.http_service  # noqa: F401

        warm_up(BatchDetector())

    def run(self) -> None:
        accord_command("mail", "serve", "--listen", "unix:socket", "--state", "state", "--window", 200,
                       "--checkpoint-messages", 1)()  # fmt: skip

    def use(self, folder: Path, child: Child) -> Any:
        """Answers to messages, each with how often the state was seen to change before."""
        answers: list[tuple[int, dict[str, Any], int]] = []
        versions: list[int] = [0]
        for k in range(self.n):
            found = _post(folder, _message(k), child)
            if found is None:
                break
            versions += [v for v in (_written(folder / "state"),) if v != versions[-1]]
            answers.append((k, found, len(versions)))
        else:
            os.kill(child.pid, signal.SIGTERM)  # all is said
        return answers, len(versions)

    def look(self, folder: Path, lines: list[str], seen: Any, code: int) -> str:
        answers, n_versions = seen
        # the state that was being written at the time of the answer may lack it; the one after that must not
        self.durable = {k for k, _, before in answers if n_versions >= before + 2}
        if (folder / "state").exists():
            read_model(folder / "state")
        must(len({found["batch"] for _, found, _ in answers}) == len(answers), "an id was given twice")
        return "answers" if answers else "none"

    def use_again(self, folder: Path, child: Child, seen: Any) -> None:
        given = {found["batch"]: k for k, found, _ in seen[0]}
        before = {k: found["batch"] for k, found, _ in seen[0]}
        try:
            for k in range(self.n):
                found = _post(folder, _message(k), child)
                must(found is not None, "the next service ended")
                batch = found["batch"]  # type: ignore[index]
                must(given.setdefault(batch, k) == k, f"{batch} was the id of message {given[batch]}, is that of {k}")
                must(
                    k not in self.durable or before[k] == batch, f"message {k} was in a written state, and is forgotten"
                )
        finally:
            os.kill(child.pid, signal.SIGTERM)


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _message(k: int) -> bytes:
    rng = random.Random(k)
    words = " ".join("".join(rng.choice("abcdefghijklmnop") for _ in range(7)) for _ in range(30))
    return f"From: a{k}@example.org\nSubject: s{k}\n\n{words}\n".encode()


class _Unix(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.host)


def _post(folder: Path, raw: bytes, child: Child) -> dict[str, Any] | None:
    """The answer of the service, which may still be starting; None if it is dead."""
    while True:
        try:
            connection = _Unix(str(folder / "socket"))
            connection.request("POST", "/assign", raw, {"Content-Type": "message/rfc822"})
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
            must(answer.status == 200, f"the service answered {answer.status}: {body[:200]!r}")
            return json.loads(body)
        except (OSError, http.client.HTTPException):
            if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return None
            time.sleep(0.005)


class Reproduce(Kind):
    """``accord reproduce``: finished tasks are in the journal and are not done again."""

    name = "reproduce"

    class Small(Experiment):
        """Tasks that do next to nothing."""

        name = title = description = "kills"
        data_sets = ()
        methods = ("a", "b")
        repetitions = 12
        metrics = ("accuracy",)

        def load(self, data: Any, quick: bool, seed: int) -> None:
            """There are no data."""

        def run_task(self, task: Task, loaded: Any) -> dict[str, float]:
            """A number that depends on the task alone."""
            print(f"task {task.method} {task.repetition}", flush=True)
            time.sleep(0.01)
            return {"accuracy": random.Random(task.key).random()}

    def prepare(self, base: Path) -> None:
        REGISTRY["kills"] = self.Small()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None):
            REGISTRY["kills"].run(output=folder, verbose=0)  # loads what draws

    def run(self) -> None:
        accord_command("reproduce", "kills", "--output", "out", "--quiet")()

    def reference(self, folder: Path) -> None:
        """What an undisturbed run made."""
        self.files = set(os.listdir(folder / "out"))
        self.records = self._records(folder)
        self.csv = [line.split(",")[:5] for line in (folder / "out" / "results.csv").read_text().splitlines()]

    def _records(self, folder: Path) -> dict[str, Any]:
        journal = folder / "out" / "results.jsonl"
        if not journal.exists():
            return {}
        return {key: record["metrics"] for key, record in read_journal(journal)[1].items()}

    def look(self, folder: Path, lines: list[str], seen: Any, code: int) -> str:
        self.before = self._records(folder)
        begun = sum(line.startswith("task ") for line in lines)
        # a task is begun after the one before is on the disk
        must(len(self.before) >= begun - 1, f"{begun} tasks were begun, but {len(self.before)} are kept")
        must(all(self.records[key] == found for key, found in self.before.items()), "a record is another one")
        for name in os.listdir(folder / "out") if (folder / "out").exists() else ():
            if name.endswith((".html", ".md", ".csv", ".png")):
                must((folder / "out" / name).stat().st_size > 0, f"{name} is empty")
        return "complete" if len(self.before) == len(self.records) else "in part"

    def look_again(self, folder: Path, lines: list[str], seen: Any) -> None:
        done = sum(line.startswith("task ") for line in lines)
        must(done == len(self.records) - len(self.before), f"{done} tasks were done, {len(self.before)} were kept")
        must(self._records(folder) == self.records, "the records are others")
        must(set(os.listdir(folder / "out")) == self.files, f"files: {sorted(os.listdir(folder / 'out'))}")


class Federated(Kind):
    """``agree`` with a checkpoint: rounds that were reported are not asked for again."""

    name = "federated checkpoint"
    rounds = 30

    def prepare(self, base: Path) -> None:
        rng = np.random.default_rng(4)
        shared = rng.normal(size=(40, 4))
        private = [rng.normal(size=(20, 4)) for _ in range(3)]
        self.sites = {f"s{k}": Site(X, X.sum(axis=1), shared) for k, X in enumerate(private)}

    def run(self, rounds: int = 0) -> None:
        found = agree(LocalSites(self.sites), 0.1, tol=0.0, max_rounds=rounds or self.rounds, checkpoint="checkpoint",
                      on_round=lambda report: print(report.number, flush=True))  # fmt: skip
        np.save("answer.npy", np.stack(list(found.predictions.values())))

    def reference(self, folder: Path) -> None:
        """What an undisturbed run made."""
        self.answer = np.load(folder / "answer.npy")

    def look(self, folder: Path, lines: list[str], seen: Any, code: int) -> str:
        told, there = int(lines[-1]) if lines else 0, 0
        if (folder / "checkpoint").exists():
            there = len(read_model(folder / "checkpoint")[0]["agreement"]["rounds"])
        must(told <= there <= told + 1, f"round {told} was reported, and the file holds {there}")
        self.there = there
        return "last" if there == told else "next"

    def look_again(self, folder: Path, lines: list[str], seen: Any) -> None:
        must(not lines or int(lines[0]) == self.there + 1, f"went on with round {lines[:1]}, not {self.there + 1}")
        must(np.allclose(np.load(folder / "answer.npy"), self.answer, rtol=1e-6, atol=1e-9), "another optimum")


KINDS = (Train, Save, Assign, Serve, Reproduce, Federated)
