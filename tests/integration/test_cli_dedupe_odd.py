"""`accord dedupe TABLE` and nothing else, on tables as people have them: odd, short, or hardly filled in."""

import csv
import io
import uuid

import numpy as np
import pytest
from cli_helpers import ok, run

from accord import datasets


def clusters(text: str) -> list[str]:
    return [row["cluster_id"] for row in csv.DictReader(io.StringIO(text))]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("name,city\n", []),
        ("name,city\nAnn Lee,Rome\n", ["0"]),
        ("name,city\nAnn Lee,Rome\nBob Kay,Rome\n", ["0", "1"]),
        ("name,city\nAnn Lee,Rome\n\n ann  lee,ROME\n\n", ["0", "0"]),
        ("name,city\nAnn Lee,Rome\nAnn Lee,Rome\nAnn Lee,Rome\n", ["0", "0", "0"]),
        ("name,city\n,\n,\n,\n", ["0", "1", "2"]),  # of nothing, nothing is known
        ("name,empty,city\nAnn Lee,,Rome\nAnn Lea,,Rome\nBob Kay,,Oslo\nCy Orr,,Paris\n", ["0", "0", "1", "2"]),
        ("cluster_id,name\n,Ann Lee\n,Ann Lee\n", ["0", "0"]),
    ],
)
def test_tables_with_hardly_anything_in_them(tmp_path, table, expected):
    (tmp_path / "t.csv").write_text(table)
    text = ok("dedupe", tmp_path / "t.csv")
    assert clusters(text) == expected
    assert len(text.splitlines()) == 1 + len(expected)
    assert ok("dedupe", "-", stdin=table) == text
    ok("dedupe", tmp_path / "t.csv", "--clusters", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == text


def test_a_model_takes_a_table_without_rows(tmp_path):
    records, ids = datasets.people(20, random_state=0)
    for name, rows in (("train", zip(records, ids)), ("none", ())):
        with open(tmp_path / f"{name}.csv", "w") as stream:
            writer = csv.writer(stream)
            writer.writerow(["cluster_id", *records[0]])
            writer.writerows([one, *record.values()] for record, one in rows)
    ok("dedupe", tmp_path / "train.csv", "--model", tmp_path / "m", "--no-self-training", "-q")
    assert ok("dedupe", "apply", tmp_path / "m", tmp_path / "none.csv") == "cluster_id,name,street,born\n"
    assigned = ok("dedupe", "assign", tmp_path / "m", tmp_path / "none.csv", "--table", tmp_path / "train.csv")
    assert assigned == "cluster_id,name,street,born\n"
    result = run("dedupe", tmp_path / "none.csv", "--model", tmp_path / "new")
    assert (result.exit_code, "no rows" in result.output) == (2, True)


def test_odd_headers_semicolons_and_columns_of_ids(tmp_path):
    """Names of rows, such as customer numbers, say nothing about who is who, and are found out."""
    records, people = datasets.people(60, random_state=1)
    rng = np.random.default_rng(0)
    with open(tmp_path / "t.csv", "w") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(["", "Kunden-Nr.", "UUID", "Name (voll)", "Straße / Nr", "Straße / Nr", "geb.  am"])
        for k, record in enumerate(records):
            code = f"C-{k * 7919 % 90001 + 10000}"
            cells = (record["name"], record["street"], "", record["born"])
            writer.writerow([k, code, uuid.UUID(bytes=rng.bytes(16)), *cells])
    result = run("dedupe", tmp_path / "t.csv")
    assert result.exit_code == 0, result.output
    assert "two columns are named 'Straße / Nr'" in result.stderr
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0][4:7] == ["Name (voll)", "Straße / Nr", "Straße / Nr (2)"]
    plain = tmp_path / "plain.csv"
    with open(plain, "w") as stream:
        csv.writer(stream).writerows([list(records[0]), *([*record.values()] for record in records)])
    assert [row[0] for row in rows[1:]] == clusters(ok("dedupe", plain))
    assert 45 <= len({row[0] for row in rows[1:]}) <= 75 > len(set(people))


def test_a_column_of_long_texts(tmp_path):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijk"), rng.integers(2, 9))) for _ in range(2000)]
    truth = []
    with open(tmp_path / "t.csv", "w") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "abstract"])
        for paper in range(25):
            text = rng.choice(words, 400)
            for _ in range(1 + paper % 2):
                text[rng.integers(0, 400, 5)] = "changed"
                writer.writerow([len(truth), " ".join(text)])
                truth.append(str(paper))
    assert clusters(ok("dedupe", tmp_path / "t.csv")) == truth


def test_other_encodings_are_named(tmp_path):
    (tmp_path / "t.csv").write_bytes("name,city\nAnn,Köln\nBo,Rom\n".encode("utf-16"))
    assert "perhaps utf-16" in run("dedupe", tmp_path / "t.csv").output
    ok("dedupe", tmp_path / "t.csv", "--encoding", "utf-16")
    (tmp_path / "t.csv").write_bytes("name,city\nAnn,Köln\nBo,Rom\n".encode("latin-1"))
    assert "perhaps latin-1" in run("dedupe", tmp_path / "t.csv").output
