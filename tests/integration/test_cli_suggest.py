"""`accord suggest`: examples in the form in which they came, reasons beside them."""

import csv
import io

import pytest
from cli_helpers import ok, run, write_points, write_sentences

from accord import Deduplicator, suggest
from accord.cli.models import load_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("suggest")
    write_sentences(path)
    write_points(path / "points.csv")
    ok("train", path / "train.conll", "--model", path / "names.accord", "--learner", "crf", "--quiet")
    ok("train", path / "points.csv", "--model", path / "points.accord", "--learner", "crf", "--quiet")
    return path


def test_sentences_come_ready_to_be_labeled(folder):
    result = run("suggest", folder / "names.accord", folder / "test.txt", "-n", 2)
    blocks = result.stdout.strip("\n").split("\n\n")
    lines = (folder / "test.txt").read_text().splitlines()
    model = load_model(str(folder / "names.accord"))
    expected = suggest(model, [line.split() for line in lines], 2, random_state=0)
    assert [[row.split("\t") for row in block.splitlines()] for block in blocks] == [
        [[token, "_"] for token in lines[one.index].split()] for one in expected
    ]
    said = [line for line in result.stderr.splitlines() if "compiling" not in line]
    assert said == [f"{one.index + 1}: {one.reason}" for one in expected]
    # from standard input, without a word beside it
    piped = run("suggest", folder / "names.accord", "-n", 2, "-q", stdin=(folder / "test.txt").read_text())
    assert piped.stdout == result.stdout
    assert piped.stderr == ""
    # parts: predicted where it is asked
    written = folder / "next.conll"
    ok("suggest", folder / "names.accord", folder / "test.conll", "-n", 3, "--unit", "part", "--prefill", "-o", written)
    labels = [row.split("\t")[1] for row in written.read_text().splitlines() if row]
    assert "?" in labels
    assert set(labels) - {"?"} <= set(model.structure_.labels_)
    both = folder / "both.conll"
    both.write_text((folder / "train.conll").read_text() + written.read_text())
    ok("train", both, "--unknown-label", "?", "--learner", "crf", "--model",
       folder / "more.accord", "-q")  # fmt: skip


def test_labeled_examples_are_left_out(folder):
    table = (folder / "points.csv").read_text().splitlines()
    some = [table[0], *(row if i < 50 else row[: row.rindex(",") + 1] for i, row in enumerate(table[1:]))]
    (folder / "some.csv").write_text("\n".join(some) + "\n")
    written = ok("suggest", folder / "points.accord", folder / "some.csv", "-n", 20, "--strategy", "margin", "-q")
    rows = written.splitlines()
    assert rows[0] == table[0]
    assert len(rows) == 11
    assert set(rows[1:]) == set(some[51:])
    columns = "\n\n".join("\n".join(f"{t}\t{y}" for t, y in zip("ab", labels)) for labels in ("__", ("O", "O"))) + "\n"
    (folder / "mixed.conll").write_text(columns)
    assert ok("suggest", folder / "names.accord", folder / "mixed.conll", "-q") == "a\t_\nb\t_\n\n"


def test_pairs_of_records(tmp_path):
    names = "Ann Lee", "Lee, Ann", "Bob Kay", "Bob Kaye", "Cy Orr", "Di Roe", "D. Roe"
    Deduplicator({"name": "text"}, calibrate=False).fit(
        [{"name": n} for n in names], [0, 0, 1, 1, 2, 3, 3]
    ).save(tmp_path / "d.accord")  # fmt: skip
    (tmp_path / "t.csv").write_text("name\n" + "".join(f'"{n}"\n' for n in names))
    result = run("suggest", tmp_path / "d.accord", tmp_path / "t.csv", "-n", 1)
    row = next(csv.DictReader(io.StringIO(result.stdout)))
    assert row["same"] == ""
    assert [row["name 1"], row["name 2"]] == [names[int(row[f"row {k}"]) - 1] for k in (1, 2)]
    assert f"{row['row 1']} and {row['row 2']}: " in result.stderr


def test_errors(folder):
    result = run("suggest", folder / "points.accord", folder / "points.csv", "--unit", "part")
    assert result.exit_code == 2
    assert "no parts" in result.stderr
    result = run("suggest", folder / "names.accord", folder / "test.txt", "--strategy", "disagreement")
    assert result.exit_code == 2
    assert "two or more views" in result.stderr
    (folder / "empty.txt").write_text("")
    result = run("suggest", folder / "names.accord", folder / "empty.txt")
    assert result.exit_code == 2
    assert "no examples" in result.stderr
