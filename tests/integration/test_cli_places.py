"""No command writes over what it reads, whatever name it reads it by, and killed ones leave no rubbish for ever."""

import os
import signal
import subprocess
import sys

import pytest
from cli_helpers import COMMAND, ok, run

from accord import CRF, Deduplicator, MultiClass
from accord.files import replacing, write_file

TABLE = "name,cluster_id\n" + "".join(f"john smith {i // 2},{i // 2}\n" for i in range(12))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("places")
    (place / "data.csv").write_text("a,kind\n" + "".join(f"{i % 2},{'xy'[i % 2]}\n" for i in range(8)))
    (place / "more.csv").write_text("a\n1\n0\n")
    (place / "table.csv").write_text(TABLE)
    CRF(MultiClass()).fit([[0.0], [1.0]], ["x", "y"]).save(place / "model")
    Deduplicator(self_training=False, calibrate=False, random_state=0).fit(
        [{"name": f"john smith {i // 2}"} for i in range(12)], [i // 2 for i in range(12)]
    ).save(place / "deduplicator")
    (place / "mail.eml").write_bytes(b"Subject: hello\n\nhow are you today\n")
    (place / "link").symlink_to(place / "data.csv")
    os.link(place / "data.csv", place / "twin")
    return place


@pytest.mark.parametrize(
    "command",
    [
        ["train", "data.csv", "--model", "data.csv"],
        ["train", "data.csv", "--model", "link"],
        ["train", "link", "--model", "data.csv"],
        ["train", "data.csv", "--model", "twin"],
        ["train", "data.csv", "--unlabeled", "more.csv", "--model", "more.csv"],
        ["train", "data.csv", "--valid", "more.csv", "--model", "more.csv"],
        ["predict", "model", "data.csv", "--output", "data.csv"],
        ["predict", "model", "data.csv", "--output", "model"],
        ["dedupe", "learn", "table.csv", "--model", "table.csv"],
        ["dedupe", "apply", "deduplicator", "table.csv", "--output", "table.csv"],
        ["dedupe", "apply", "deduplicator", "table.csv", "--index", "deduplicator"],
        ["dedupe", "apply", "deduplicator", "table.csv", "--index", "out", "--output", "out"],
        ["dedupe", "assign", "deduplicator", "more.csv", "--table", "table.csv", "--output", "table.csv"],
        ["mail", "train", "mail.eml", "--batches", "table.csv", "--model", "mail.eml"],
        ["mail", "train", "mail.eml", "--batches", "table.csv", "--spam-filter", "table.csv"],
        ["mail", "detect", "mail.eml", "--csv", "mail.eml"],
    ],
)
def test_what_is_read_is_not_written_over(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    found = run(*command)
    assert found.exit_code == 2
    assert "would overwrite what is read" in found.output or "is the file of" in found.output
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


def test_a_table_may_be_written_again_as_a_whole(folder, tmp_path):
    table, new = tmp_path / "all.csv", tmp_path / "new.csv"
    table.write_text(TABLE)
    new.write_text("cluster_id,name\n,ann lee\n")
    ok("dedupe", "assign", folder / "deduplicator", new, "--table", table, "--all", "--output", table)
    assert len(table.read_text().splitlines()) == 14


def test_standard_input_that_is_the_output(folder, tmp_path):
    data = tmp_path / "data.csv"
    data.write_bytes((folder / "data.csv").read_bytes())
    with data.open() as stream:
        command = [*COMMAND, "train", "-", "--format", "csv", "--model", str(data)]
        found = subprocess.run(command, stdin=stream, capture_output=True, text=True)
    assert found.returncode == 2
    assert "would overwrite what is read" in found.stderr
    assert data.read_bytes() == (folder / "data.csv").read_bytes()


# -- temporary files --------------------------------------------------------------------------------------------------
def temporary_files(folder):
    return [name for name in os.listdir(folder) if name.endswith("-tmp")]


def start_writer(target):
    """A program that is in the middle of writing a file."""
    code = """
import sys, time
from pathlib import Path
from accord.files import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    print("here", flush=True)
    time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE)
    assert child.stdout.readline()
    return child


def test_what_a_killed_program_left_is_removed_by_the_next_that_writes_there(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")
    child = start_writer(target)
    assert len(temporary_files(tmp_path)) == 1
    write_file(tmp_path / "other", "while the first is alive")
    assert len(temporary_files(tmp_path)) == 1, "the file of a program that is alive stays"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert target.read_text() == "old"
    write_file(tmp_path / "other", "now it is dead")
    assert temporary_files(tmp_path) == []


def test_files_of_others_stay(tmp_path):
    others = [".file.0123.accord-tmp", "file.0123456789abcdef.accord-tmp", ".file.0123456789abcdef.tmp"]
    for name in others:
        (tmp_path / name).touch()
    write_file(tmp_path / "file", "new")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "file"])


def test_two_programs_may_write_the_same_file(tmp_path):
    target = tmp_path / "file"
    with replacing(target) as first:
        first.write(b"first")
        with replacing(target) as second:
            second.write(b"second")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"first"
    assert temporary_files(tmp_path) == []
