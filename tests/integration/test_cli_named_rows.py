"""Tables in JSON lines and Parquet: understood as the same CSV file is, by every command."""

import csv
import gzip
import io
import json
import sys

import numpy as np
import pytest
from cli_helpers import ok, run

import accord
from accord.datasets import read_csv
from accord.datasets.formats.named_rows import named_rows
from accord.exceptions import FormatError, MissingExtraError

TOPICS = {"sport": ["match", "team", "goal", "ball"], "space": ["orbit", "moon", "rocket", "star"]}


def posts(n, seed):
    """Rows with a text, a number, a word, and the topic of the text."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        label = ["sport", "space"][i % 2]
        words = [*rng.choice(TOPICS[label], 3), *rng.choice(["the", "a", "of", "and", "new"], 4)]
        text = f"{' '.join(map(str, words))}, no. {i}."
        yield {"text": text, "pages": int(rng.integers(9)), "kind": ["x", "y"][i % 3 % 2], "label": label}


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)


def write_json(path, rows):
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def write_parquet(path, rows):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), path)


WRITERS = {"jsonl": write_json, "jsonl.gz": write_json, "parquet": write_parquet}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    few = [{**row, "label": row["label"] if i < 16 else None} for i, row in enumerate(posts(28, 0))]
    write_csv(path / "train.csv", few)
    write_csv(path / "test.csv", list(posts(20, 1)))
    ok("train", path / "train.csv", "-o", path / "csv.accord", "-q")
    return path


@pytest.mark.parametrize("form", ["jsonl.gz", "parquet"])  # lines that are not packed: below
def test_the_same_is_learned_and_predicted_as_from_csv(folder, form):
    few = [{**row, "label": row["label"] if i < 16 else None} for i, row in enumerate(posts(28, 0))]
    test = list(posts(20, 1))
    if form != "parquet":  # missing is as good as null, and the label may stand anywhere
        few = [dict(reversed(row.items())) for row in few]
        del few[20]["label"]
    train, labeled, new = (folder / f"{name}.{form}" for name in ("train", "test", "new"))
    WRITERS[form](train, few)
    WRITERS[form](labeled, test)
    WRITERS[form](new, [{k: v for k, v in row.items() if k != "label"} for row in test])
    told = run("train", train, "-o", folder / "m.accord")
    assert told.exit_code == 0, told.output
    assert "free text: text (words, tf-idf), beside 2 other columns" in told.stderr
    assert told.stdout.startswith("16 labeled and 12 unlabeled examples")
    expected = ok("predict", folder / "csv.accord", folder / "test.csv")
    for model in ("csv.accord", "m.accord"):
        for data in (labeled, new, folder / "test.csv"):
            assert ok("predict", folder / model, data) == expected
    score = json.loads(ok("evaluate", folder / "m.accord", labeled, "--json"))
    assert score == json.loads(ok("evaluate", folder / "csv.accord", folder / "test.csv", "--json"))
    (folder / "p.txt").write_text(expected)
    assert json.loads(ok("evaluate", "--predictions", folder / "p.txt", labeled, "--json")) == score


def test_dry_run_says_what_was_understood(folder):
    write_json(folder / "dry.jsonl", [{**row, "label": None} if i else row for i, row in enumerate(posts(8, 2))])
    told = ok("train", folder / "dry.jsonl", "--dry-run")
    for line in ("dry.jsonl: jsonl, 8 examples", "label column          label", "columns of free text  text"):
        assert line in told
    assert "columns of numbers    pages" in told
    assert "columns of words      kind" in told
    assert "unlabeled             7" in told


def test_unlabeled_files_and_standard_input(folder):
    write_json(folder / "few.jsonl", [{"a": i, "b": -i, "y": "uv"[i > 9]} for i in range(20)])
    write_json(folder / "more.jsonl", [{"b": -i, "a": i} for i in range(12)])
    told = run("train", folder / "few.jsonl", "--unlabeled", folder / "more.jsonl", "-o", folder / "u.accord")
    assert "20 labeled and 12 unlabeled examples" in told.stdout
    lines = '{"a": 1, "b": -1}\n\n{"b": -18, "a": 18, "y": null}\n'
    assert ok("predict", folder / "u.accord", "--format", "jsonl", stdin=lines) == "u\nv\n"
    piped = run("train", "-", "--format", "jsonl", "-o", folder / "s.accord", stdin=lines)
    assert "give --task sequence or --task multiclass" in piped.stderr


def test_numbers(folder):
    rows = [{"size": i, "new": i % 3 == 0, "price": 2.5 * i if i < 20 else None} for i in range(24)]
    write_json(folder / "houses.jsonl", rows)
    told = run("train", folder / "houses.jsonl", "--learner", "rlsr", "-o", folder / "h.accord")
    assert "20 labeled and 4 unlabeled" in told.stdout, told.output
    assert float(ok("predict", folder / "h.accord", folder / "houses.jsonl").split()[10]) == pytest.approx(25, abs=2)
    write_json(folder / "bad.jsonl", [*rows[:2], {"size": 3, "new": True, "price": "cheap"}])
    told = run("train", folder / "bad.jsonl", "--learner", "rlsr", "-o", folder / "h.accord")
    assert f"{folder / 'bad.jsonl'}, line 3: the target 'cheap' is not a finite number" in told.stderr


def test_sentences_in_json_lines_are_still_sentences(folder):
    lines = [
        {"text": "Ana left Rome.", "spans": [[0, 3, "PER"]]},
        {"tokens": ["Tom", "left"], "labels": ["B-PER", "O"]},
    ]
    write_json(folder / "names.jsonl", lines)
    ok("train", folder / "names.jsonl", "-o", folder / "n.accord", "-q", "--learner", "perceptron", "--max-iter", 1)
    assert isinstance(accord.load(folder / "n.accord").structure_, accord.Sequence)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"text": "a", "label": "x"}\nhello\n', "line 2: no JSON object on a line of its own (Expecting value)"),
        ('[\n{"text": "a"}\n]\n', "line 1: no JSON object on a line of its own"),
        ('{"text": "a", "label": "x"}\n{"text": ["a"], "label": "y"}\n', "line 2: 'text' is a list; expected text, a"),
        ('{"text": "a"}\n3\n', "line 2: a int; expected"),
        ("", "the file is empty"),
        ('{"text": "a b c"}\n{"text": "d e f"}\n', "there is a single column; expected one with labels"),
        ('{"a": 1, "label": "x"}\n{"a": null, "label": "y"}\n', "line 2: an empty cell in column 'a'"),
    ],
)
def test_what_cannot_be_read_is_named(lines, message, tmp_path):
    (tmp_path / "t.jsonl").write_text(lines)
    told = run("train", tmp_path / "t.jsonl", "-o", tmp_path / "m")
    assert told.exit_code == 2
    assert message in told.stderr
    assert told.stderr.count("\n") == 1


def test_columns_that_come_late(folder, tmp_path):
    write_json(tmp_path / "t.jsonl", [{"a": 1, "label": "x"}, {"a": 2, "label": "y", "note": "n"}])
    told = run("train", tmp_path / "t.jsonl", "-o", tmp_path / "m", "--learner", "perceptron", "--stream")
    assert "line 2: 'note' is new here; the columns are ['a', 'label']" in told.stderr


def test_cells():
    lines = ['{"i": 3, "f": 3.0, "g": 0.5, "t": true, "n": null, "s": " x "}', '{"i": 1e300, "s": "y"}']
    found = named_rows("jsonl", io.StringIO("\n".join(lines)))
    assert found.columns == ["i", "f", "g", "t", "n", "s"]
    assert list(found.rows) == [(1, ["3", "3", "0.5", "true", "", "x"]), (2, ["1e+300", "", "", "", "", "y"])]
    table = read_csv(
        named_rows("jsonl", io.StringIO('{"size": 2.5, "label": "b"}\n{"label": null, "size": 1}')), "label"
    )
    assert table.X.tolist() == [[2.5], [1.0]]
    assert table.y == ["b", None]


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"pip install 'accord-ml\[parquet\]'"):
        named_rows("parquet", tmp_path / "t.parquet")
    told = run("train", tmp_path / "t.parquet", "-o", tmp_path / "m")
    assert told.exit_code != 0
    assert "accord-ml[parquet]" in told.stderr


def test_parquet_of_many_types(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from datetime import date

    from pyarrow import parquet

    columns = {
        "day": [date(2020, 5, 1), None],
        "n": pyarrow.array([1, None], pyarrow.int64()),
        "x": [np.nan, 2.0],
        "town": pyarrow.array(["Rome", None]).dictionary_encode(),
        "ok": [True, False],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    found = named_rows("parquet", tmp_path / "t.parquet")
    assert list(found.rows) == [(1, ["2020-05-01", "1", "", "Rome", "true"]), (2, ["", "", "2", "", "false"])]
    parquet.write_table(pyarrow.table({"a": [[1], [2]]}), tmp_path / "l.parquet")
    with pytest.raises(FormatError, match="the column 'a' holds a list"):
        list(named_rows("parquet", tmp_path / "l.parquet").rows)
    (tmp_path / "d.parquet").write_bytes((tmp_path / "t.parquet").read_bytes()[:-20])
    with pytest.raises(FormatError, match="no Parquet file"):
        named_rows("parquet", tmp_path / "d.parquet")
    with pytest.raises(FormatError, match="give its path"):
        named_rows("parquet", "-")
