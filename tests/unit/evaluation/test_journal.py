"""The results file: torn lines, foreign files, changed configurations, two writers."""

import json

import pytest
from row_tables import each_row

from accord.evaluation.journal import Journal, fingerprint, read_journal
from accord.exceptions import FormatError, InputError

CONFIG = {"seed": 0, "data": "toy"}


@pytest.fixture
def path(tmp_path):
    """A journal with two finished tasks."""
    with Journal(tmp_path / "deep" / "run.jsonl", CONFIG) as journal:
        journal.append("one", {"value": 1.5})
        journal.append("two", {"value": 2.5})
    return journal.path


def test_records_come_back(path):
    with Journal(path, CONFIG) as journal:
        assert journal.records == {"one": {"value": 1.5}, "two": {"value": 2.5}}
    header, records, size = read_journal(path)
    assert header["fingerprint"] == fingerprint(CONFIG)
    assert list(records) == ["one", "two"]
    assert size == path.stat().st_size


def test_a_file_cut_anywhere_loses_at_most_the_cut_line(path):
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    near_ends = {cut for end in ends for cut in (end - 2, end - 1, end, end + 1) if cut < len(whole)}
    for cut in sorted({*range(0, len(whole), 4), *near_ends}):
        path.write_bytes(whole[:cut])
        with Journal(path, CONFIG) as journal:
            kept = sum(cut >= end for end in ends[1:])
            assert list(journal.records) == ["one", "two"][:kept]
            if kept < 2:
                journal.append("two", {"value": 2.5})
        # the file is whole again: every line is JSON
        assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_a_last_line_without_content_is_dropped(path):
    with open(path, "ab") as file:
        file.write(b"\0" * 20 + b"\n")
    with Journal(path, CONFIG) as journal:
        assert list(journal.records) == ["one", "two"]
        journal.append("three", {})
    assert list(read_journal(path)[1]) == ["one", "two", "three"]


def test_damage_in_the_middle_names_the_line(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{nonsense\n" + lines[2])
    before = path.read_bytes()
    with pytest.raises(FormatError, match=r"run\.jsonl, line 2: .*damaged"):
        Journal(path, CONFIG).__enter__()
    assert path.read_bytes() == before


@each_row("content", [b"hello", b"hello\n", b'{"a": 1}\n', b"[1]\n", b'{"accord": 99}\n', b"\xff\xfe\n"])
def test_foreign_files_are_not_touched(tmp_path, content):
    path = tmp_path / "mine.txt"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"mine\.txt, line 1"):
        Journal(path, CONFIG).__enter__()
    assert path.read_bytes() == content


def test_changed_configuration_is_not_mixed(path):
    changed = {"seed": 1, "noise": 0.5}
    message = r'data was "toy", is \(absent\); noise was \(absent\), is 0.5; seed was 0, is 1'
    with pytest.raises(InputError, match=message):
        Journal(path, changed).__enter__()
    assert len(read_journal(path)[1]) == 2
    with Journal(path, changed, overwrite=True) as journal:
        assert journal.records == {}
    assert read_journal(path)[0]["config"] == changed


def test_same_configuration_in_another_form_is_the_same(path):
    with Journal(path, {"data": "toy", "seed": 0}, overwrite=True) as journal:
        assert len(journal.records) == 2


def test_two_runs_cannot_write_one_file(path):
    pytest.importorskip("fcntl")
    with Journal(path, CONFIG), pytest.raises(InputError, match="written by another run"):
        Journal(path, CONFIG).__enter__()
    with Journal(path, CONFIG) as journal:  # free again
        assert len(journal.records) == 2
