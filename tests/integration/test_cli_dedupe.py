"""`accord dedupe`: learn, apply, assign, explain, and what it says about mistakes."""

import csv
import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ok, run
from record_cases import people

from accord import load
from accord.dedupe.choosing import Trial
from accord.dedupe.self_training import SelfTraining
from accord.structures.partitions.losses import pair_counts

COLUMNS = ["name", "street", "born"]


def write(path: Path, records: list, ids: list | None = None, **settings: object) -> Path:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, **settings)
        writer.writerow([*(["cluster_id"] if ids is not None else []), *COLUMNS])
        for i, record in enumerate(records):
            writer.writerow([*([ids[i]] if ids is not None else []), *(record[c] or "" for c in COLUMNS)])
    return path


def read(path: Path) -> list[dict[str, str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def f1(truth: list, found: list) -> float:
    true, predicted, both = pair_counts(*(np.unique(one, return_inverse=True)[1] for one in (truth, found)))
    return 2 * both / (true + predicted)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dedupe")
    write(folder / "train.csv", *people(30, seed=0))
    write(folder / "table.csv.gz", people(40, seed=1)[0])
    out = ok("dedupe", folder / "train.csv", "--labels-column", "cluster_id", "--model", folder / "m.accord")
    assert "name (text), street (text), born (date)" in out
    assert "comparison" in out
    return folder


def test_unlabeled_records_take_part(tmp_path, monkeypatch):
    """Those of other people and copies of labeled ones alike, where held-out clusters could gain by it."""
    monkeypatch.setattr(Trial, "can_be_beaten", lambda self: True)
    few = write(tmp_path / "few.csv", *people(12, seed=0))
    table = write(tmp_path / "table.csv", [*people(12, seed=0)[0], *people(12, seed=1)[0]])
    command = ["dedupe", few, "--unlabeled", table, "--model", tmp_path / "m.accord"]
    out = ok(*command)
    said = r"self-training +(yes|no); F1 of pairs of held-out records [\d.]+ % without, [\d.]+ % with it"
    assert re.search(said, out)
    assert "self-training" not in ok(*command, "--no-self-training")


def test_ctrl_c_in_self_training_keeps_what_labeled_records_taught(tmp_path, monkeypatch):
    few, table = write(tmp_path / "few.csv", *people(12, seed=0)), write(tmp_path / "table.csv", people(12, seed=1)[0])
    model = tmp_path / "m.accord"

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SelfTraining, "try_it", interrupt)
    monkeypatch.setattr(Trial, "can_be_beaten", lambda self: True)
    result = run("dedupe", few, "--unlabeled", table, "--model", model)
    assert result.exit_code == 130
    assert f"accord: interrupted; {model} has what was learned from labeled records\n" in result.stderr
    assert len(ok("dedupe", "apply", model, table).splitlines()) == 1 + len(read(table))


def test_apply_and_assign(folder, tmp_path):
    records, truth = people(40, seed=1)
    out = tmp_path / "clustered.csv.gz"
    ok("dedupe", "apply", folder / "m.accord", folder / "table.csv.gz", "-o", out, "--index", tmp_path / "i.accord")
    rows = read(out)
    assert f1(truth, [row["cluster_id"] for row in rows]) > 0.85
    assert [row["name"] for row in rows] == [record["name"] for record in records]
    # new records: copies of known ones get their ids, others get fresh ones
    strangers, _ = people(5, seed=99)
    new = write(tmp_path / "new.csv", [*records[:5], *strangers])
    for source in (
        ["dedupe", "assign", folder / "m.accord", new, "--table", out],
        ["dedupe", "assign", tmp_path / "i.accord", new],
    ):
        lines = list(csv.DictReader(ok(*source).splitlines()))
        assert [line["cluster_id"] for line in lines[:5]] == [row["cluster_id"] for row in rows[:5]]
        assert min(int(line["cluster_id"]) for line in lines[5:]) > max(int(row["cluster_id"]) for row in rows)
    # the index has grown: the same strangers are known now
    again = list(csv.DictReader(ok("dedupe", "assign", tmp_path / "i.accord", new).splitlines()))
    assert [line["cluster_id"] for line in again] == [line["cluster_id"] for line in lines]


def test_people_correct_an_index(folder, tmp_path):
    """Ids are merged, split and taken back by commands; the table that is written has the ids of now."""
    index = tmp_path / "people.index"
    table = ok("dedupe", "apply", folder / "m.accord", folder / "table.csv.gz", "--index", index, "-q")
    assert ok("dedupe", "export", index, "-q") == table
    a, b = list(dict.fromkeys(row["cluster_id"] for row in csv.DictReader(table.splitlines())))[:2]
    done = run("dedupe", "merge", index, a, b, "--why", "same passport")
    assert f"{b} leads to {a} now" in done.stderr
    assert done.stdout == ""
    shown = run("dedupe", "show", index, b)
    assert f"{b} was merged into {a}" in shown.stderr
    numbers = re.findall(r"^│ (\d+)", shown.stdout, re.MULTILINE)
    fresh = ok("dedupe", "split", index, a, numbers[-1], "-q").strip()
    ids = [row["cluster_id"] for row in csv.DictReader(ok("dedupe", "export", index, "-q").splitlines())]
    assert (b not in ids, ids[int(numbers[-1])]) == (True, fresh)
    told = ok("dedupe", "history", index)
    assert "same passport" in told
    assert "split" in told
    ok("dedupe", "undo", index)
    ok("dedupe", "undo", index, 1)
    assert ok("dedupe", "export", index, "-q") == table
    assert "nothing was merged" not in run("dedupe", "history", index, fresh).stderr
    for arguments, message in (
        (["show", index, "nobody"], "'nobody' was never an id of"),
        (["merge", index, a, a], "the same cluster already"),
        (["split", index, a, 10**6], "records"),
        (["undo", index, 99], "event is 99"),
        (["show", folder / "m.accord", a], "is no index of records"),
        (["export", index, "--label-column", "name"], "which is a column of the records"),
    ):
        failed = run("dedupe", *arguments)
        assert failed.exit_code == 2, failed.output
        assert message in failed.stderr


def test_a_table_grows_in_place(folder, tmp_path):
    table = write(tmp_path / "all.csv", *people(30, seed=2))
    before = table.read_text().splitlines()
    new = write(tmp_path / "new.csv", people(6, seed=98)[0])
    ok("dedupe", "assign", folder / "m.accord", new, "--table", table, "--all", "--output", table, "--quiet")
    after = table.read_text().splitlines()
    assert after[: len(before)] == before
    assert len(after) == len(before) + len(people(6, seed=98)[0])


def test_a_table_without_labels_is_clustered(tmp_path):
    records, ids = people(25, seed=0)
    table = write(tmp_path / "t.csv", records)
    lines = list(csv.DictReader(ok("dedupe", table, "--quiet").splitlines()))
    assert [line["name"] for line in lines] == [record["name"] or "" for record in records]
    found = [line["cluster_id"] for line in lines]
    right = sum(found[i] == found[j] for i in range(len(ids)) for j in range(i) if ids[i] == ids[j])
    assert right > 0.8 * sum(ids[i] == ids[j] for i in range(len(ids)) for j in range(i))
    assert 20 < len(set(found)) < len(ids)
    done = run("dedupe", table, "--model", tmp_path / "m.accord", "--clusters", tmp_path / "out.csv")
    assert "records without labels in column 'cluster_id': clustered by how alike they are" in done.stderr
    assert (tmp_path / "out.csv").read_text().splitlines()[0].startswith("cluster_id,")
    assert ok("dedupe", "apply", tmp_path / "m.accord", table, "-q") == (tmp_path / "out.csv").read_text()
    assert ok("dedupe", table, "--model", tmp_path / "m.accord", "-q") == (tmp_path / "out.csv").read_text()


def test_explain(folder, tmp_path):
    out = ok("dedupe", "explain", folder / "m.accord", folder / "train.csv", 1, 2)
    assert "name: " in out
    assert "similarity in a table of" in out
    model = load(folder / "m.accord")
    model.size_costs_ = np.array([0.0, 0.0, 0.0, 1.5, 2.5])
    model.save(tmp_path / "sizes.accord")
    out = ok("dedupe", "explain", tmp_path / "sizes.accord", folder / "train.csv", 1, 2)
    assert "needed in clusters of 3: " in out
    assert " or more: " in out.splitlines()[-1]


def test_settings(folder, tmp_path):
    out = ok(
        "dedupe", "learn", folder / "train.csv", "--model", tmp_path / "m.accord", "--field", "name=text", "--field",
        "born=category", "--no-calibrate", "--method", "sequential", "--unlabeled", folder / "table.csv.gz",
    )  # fmt: skip
    assert "name (text), born (category)" in out
    assert "calibrated  no" in out
    assert "in clusters of" not in out
    counts = []
    for threshold in (-50, 50):
        lines = ok("dedupe", "apply", tmp_path / "m.accord", folder / "train.csv", "--threshold", threshold, "-q")
        counts.append(len({line["cluster_id"] for line in csv.DictReader(lines.splitlines())}))
    assert counts[0] < counts[1] == len(people(30, seed=0)[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["learn", "train.csv", "--model", "x", "--label-column", "id"],
            "there is no column 'id', which --label-column",
        ),
        (["learn", "train.csv", "--model", "x", "--field", "nme=text"], "there is no column 'nme'"),
        (
            ["learn", "train.csv", "--model", "x", "--field", "name=string"],
            "'name=string' is not a column and its kind",
        ),
        (["learn", "ragged.csv", "--model", "x"], "ragged.csv, line 3: expected 4 columns"),
        (["learn", "header.csv", "--model", "x"], "has a header but no rows"),
        (["learn", "nothing.csv"], "the file is empty"),
        (["learn", "train.csv"], "Missing option '--model'"),
        (["train.csv", "--model", "no/such/folder"], "there is no folder"),
        (["apply", "m.accord", "names.csv"], "there is no column 'street', which the model compares"),
        (["apply", "train.csv", "train.csv"], "train.csv"),
        (["assign", "m.accord", "train.csv"], "Missing option '--table'"),
        (
            ["assign", "m.accord", "train.csv", "--table", "unlabeled.csv"],
            "record 1 has no entry in column 'cluster_id'",
        ),
        (["explain", "m.accord", "train.csv", "1", "9999"], "but record 9999 was asked for"),
        (["missing.csv", "--model", "x"], "No such file"),
    ],
)
def test_mistakes(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    (folder / "ragged.csv").write_text("cluster_id,name,street,born\n1,a,b,1990-01-01\n1,a\n")
    (folder / "header.csv").write_text("cluster_id,name\n")
    (folder / "unlabeled.csv").write_text("cluster_id,name,street,born\n" + ",a,b,\n,c,d,\n,e,f,\n")
    (folder / "names.csv").write_text("name\nAnna\n")
    (folder / "nothing.csv").write_text("")
    result = run("dedupe", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (folder / "x").exists()


def test_help_names_everything():
    assert "accord dedupe assign" in ok("dedupe", "--help")
    for command in ("learn", "apply", "assign", "explain"):
        assert "Examples:" in (text := ok("dedupe", command, "--help")) or "Example:" in text
