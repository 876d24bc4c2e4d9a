"""`accord dedupe` of tables beyond memory: the same clusters as in memory, kill -9 and on again, messages."""

import csv
import gzip
import os
import signal
import subprocess
import sys
import time

import pytest
from cli_helpers import ok, run

from accord.cli.dedupe import big
from accord.datasets.many_people import many_people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("big")
    records, ids = next(many_people(400))
    with open(place / "table.csv", "w", newline="") as stream:
        writer = csv.DictWriter(stream, ["row", *records[0]])
        writer.writeheader()
        writer.writerows({"row": k, **record} for k, record in enumerate(records))
    with open(place / "labeled.csv", "w", newline="") as stream:
        writer = csv.DictWriter(stream, ["cluster_id", *records[0]])
        writer.writeheader()
        writer.writerows({"cluster_id": i if i < 60 else None, **record} for i, record in zip(ids, records))
    ok(
        "dedupe",
        place / "labeled.csv",
        "--model",
        place / "m.accord",
        "--no-self-training",
        "--no-calibrate",
        "--quiet",
    )
    return place


def test_clusters_are_those_of_memory(folder, tmp_path, monkeypatch):
    ok("dedupe", "apply", folder / "m.accord", folder / "labeled.csv", "-o", tmp_path / "memory.csv", "--quiet")
    packed, work = tmp_path / "files.csv.gz", tmp_path / "work"
    ok("dedupe", "apply", folder / "m.accord", folder / "labeled.csv", "-o", packed, "--work", work)
    assert gzip.decompress(packed.read_bytes()) == (tmp_path / "memory.csv").read_bytes()
    assert not work.exists()
    monkeypatch.setattr(big, "BIG", 100)  # large tables need no option
    out = ok("dedupe", "apply", folder / "m.accord", folder / "labeled.csv", "--quiet")
    assert out == (tmp_path / "memory.csv").read_text()
    assert not (folder / "labeled.csv.work").exists()


def test_without_labels_a_sample_is_learned_from_either_way(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(big, "MOST_UNLABELED", 250)
    monkeypatch.setattr(big, "_CHUNK", 90)
    options = ("--ignore", "row", "--random-state", "3", "--quiet")
    tables = [
        ok("dedupe", folder / "table.csv", "--model", tmp_path / str(k), "--clusters", "-", *options, *more)
        for k, more in enumerate([(), ("--work", tmp_path / "work")])
    ]
    assert tables[0] == tables[1]
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    assert len(tables[0].splitlines()) == 401


def test_killed_and_started_again(folder, tmp_path):
    """Kill -9 in the midst of it, until it gets to its end: the table is whole, and as if nothing had been."""
    ok("dedupe", "apply", folder / "m.accord", folder / "labeled.csv", "-o", tmp_path / "true.csv", "--quiet")
    program = (
        "import sys; from accord.dedupe import big_tables, disk_index\n"
        "big_tables._ROWS, disk_index._PART = 40, 300\n"
        "from accord.cli import main; main()"
    )
    work, out = tmp_path / "work", tmp_path / "out.csv"
    command = [sys.executable, "-c", program, "dedupe", "apply", str(folder / "m.accord"), str(folder / "labeled.csv")]
    command += ["-o", str(out), "--work", str(work), "--quiet"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    seen = []
    for wanted in ("near-80", "scored-2"):  # what is there when it is killed
        running = subprocess.Popen(command, env=environment)
        while not (work / wanted).exists() and running.poll() is None:
            time.sleep(0.001)
        running.send_signal(signal.SIGKILL)
        running.wait()
        seen.append(running.returncode)
        assert not out.exists()
    assert seen == [-signal.SIGKILL] * 2
    subprocess.run(command, env=environment, check=True)
    assert out.read_text() == (tmp_path / "true.csv").read_text()
    assert not work.exists()


def test_mistakes(folder, tmp_path):
    apply = ("dedupe", "apply", folder / "m.accord")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    for more, message in (
        ((folder / "labeled.csv", "--work", tmp_path / "mine"), "is a folder with other files"),
        (("-", "--work", tmp_path / "w"), "standard input cannot"),
        ((folder / "labeled.csv", "--work", tmp_path / "w", "--index", tmp_path / "i"), "--index goes with tables"),
        ((folder / "m.accord", "--work", tmp_path / "w"), "m.accord"),
    ):
        result = run(*apply, *more)
        assert result.exit_code != 0
        assert message in result.output
    assert (tmp_path / "mine" / "letter.txt").exists()
    (tmp_path / "people.parquet").write_bytes(b"PAR1")
    result = run(*apply, tmp_path / "people.parquet")  # damaged, or there is no reader of such files
    assert result.exit_code != 0
    assert "people.parquet" in result.output
    assert "arquet file" in result.output
