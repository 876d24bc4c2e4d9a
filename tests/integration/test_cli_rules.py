"""Rules and suspects on the command line."""

import json

from cli_helpers import run


def test_rules_take_the_place_of_labels(tmp_path):
    (tmp_path / "many.txt").write_text("Ana lives in Rome .\nTom left .\nEva lives in Oslo .\nAna left Rome .\n" * 3)
    (tmp_path / "names.txt").write_text("Ana\nTom\nEva\n")
    (tmp_path / "places.txt").write_text("Rome\nOslo\n")
    names, places, model = f"{tmp_path}/names.txt:PER", f"{tmp_path}/places.txt:LOC", tmp_path / "m.accord"
    many = tmp_path / "many.txt"
    done = run("train", "--unlabeled", many, "--rules", names, "--rules", places, "-o", model)
    assert done.exit_code == 0, done.output
    assert "rules: 2 of 2 used" in done.output
    found = run("predict", model, stdin="Tom lives in Rome .\n")
    assert found.stdout.split() == ["Tom", "B-PER", "lives", "O", "in", "O", "Rome", "B-LOC", ".", "O"]
    refused = run("train", "--unlabeled", many, "--rules", "LOC", "-o", model)
    assert refused.exit_code == 2
    assert "expected FILE:LABEL" in refused.output
    refused = run("train", "--unlabeled", many, "--rules", names, "--learner", "crf", "-o", model)
    assert refused.exit_code == 2
    assert "--rules is for" in refused.output


def test_suspects_are_listed(tmp_path):
    rows = [
        "text,label",
        *["good wine,yes", "bad food,no", "good list here,yes", "bad wine,no"] * 4,
        "good list,no",
    ]
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n")
    done = run("suspects", tmp_path / "r.csv", "--header", "--text-columns", "text", "--json")
    assert done.exit_code == 0, done.output
    first = json.loads(done.stdout.splitlines()[0])
    assert (first["example"], first["given"], first["suggested"]) == (17, "no", "yes")
    assert "good list" in run("suspects", tmp_path / "r.csv", "--header", "--text-columns", "text").stdout
