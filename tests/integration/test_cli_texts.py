"""Tables with columns of free text: what is understood of them, and what is trained, predicted and evaluated."""

import csv
import io

import numpy as np
import pytest
from cli_helpers import ok, run

import accord
from accord.datasets import iter_csv, read_csv

TOPICS = {
    "sport": ["match", "team", "goal", "ball", "player", "win", "season", "coach", "run", "race"],
    "space": ["orbit", "moon", "rocket", "star", "launch", "planet", "probe", "crew", "sky", "engine"],
}
OTHER = ["the", "a", "of", "and", "today", "new", "first", "who", "said", "about", "with", "people", "year", "time"]


def posts(n, seed):
    """Texts of two topics, a number and a category that say nothing, and the topic."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        label = ["sport", "space"][i % 2]
        words = [*rng.choice(TOPICS[label], 3), *rng.choice(OTHER, 8)]
        yield f"{' '.join(rng.permutation(words))}, no. {i}.", int(rng.integers(1000)), ["x", "y"][i // 2 % 2], label


def write(path, rows, header):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts")
    few, new = list(posts(32, 0)), list(posts(40, 1))
    write(path / "train.csv", [(t, y if i < 16 else "") for i, (t, _, _, y) in enumerate(few)], ["text", "label"])
    write(path / "test.csv", [(t, y) for t, _, _, y in new], ["text", "label"])
    write(path / "new.csv", [(t,) for t, *_ in new], ["text"])
    wide = ["pages", "text", "kind", "label"]
    write(path / "wide.csv", [(n, t, k, y if i < 16 else "") for i, (t, n, k, y) in enumerate(few)], wide)
    write(path / "wide_new.csv", [(t, k, n) for t, n, k, _ in new], ["text", "kind", "pages"])
    return path


def accuracy(lines, path):
    truth = read_csv(path, "label").y
    return np.mean([a == b for a, b in zip(lines, truth, strict=True)])


@pytest.fixture(scope="module")
def trained(folder):
    """What `accord train` says of a model that it writes to `m.accord`."""
    return run("train", folder / "train.csv", "--label-column", "label", "--model", folder / "m.accord")


def test_a_csv_of_texts_just_works(folder, trained):
    result = trained
    assert result.exit_code == 0, result.output
    assert "free text: text (words, tf-idf)" in result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("16 labeled and 16 unlabeled examples; used: labels alone (logistic regression")
    assert "held-out labels wrong, of 16: " in lines[1]
    assert lines[2].startswith("expected error on new examples: about ")
    assert lines[3].startswith("next: ")
    model = accord.load(folder / "m.accord")
    assert isinstance(model, accord.Classifier)
    assert isinstance(model.view_, accord.TextFeatures)
    assert accuracy(ok("predict", folder / "m.accord", folder / "new.csv").splitlines(), folder / "test.csv") > 0.9
    assert "40 examples" in ok("evaluate", folder / "m.accord", folder / "test.csv")


@pytest.mark.usefixtures("trained")
def test_the_last_column_is_the_label_and_the_header_is_seen(folder):
    ok("train", folder / "train.csv", "--model", folder / "n.accord")
    expected = ok("predict", folder / "m.accord", folder / "new.csv")
    assert ok("predict", folder / "n.accord", folder / "new.csv") == expected


@pytest.mark.usefixtures("trained")
def test_what_python_learns_is_the_same(folder):
    table = read_csv(folder / "train.csv", "label")
    assert table.texts == ["text"]
    assert table.y.count(None) == 16
    model = accord.Classifier(random_state=0).fit(table.X, table.y)
    new = read_csv(folder / "new.csv", None, header=True, texts=["text"])
    assert list(model.predict(new.X)) == ok("predict", folder / "m.accord", folder / "new.csv").splitlines()


def test_other_columns_stand_beside_the_text(folder):
    result = run("train", folder / "wide.csv", "--label-column", "label", "--model", folder / "w.accord")
    assert result.exit_code == 0, result.output
    assert "free text: text (words, tf-idf), beside 2 other columns" in result.stderr
    names = accord.load(folder / "w.accord").view_.view_names()
    assert names == ["text", "other columns"]
    assert accuracy(ok("predict", folder / "w.accord", folder / "wide_new.csv").splitlines(), folder / "test.csv") > 0.8


def test_texts_may_be_named(folder):
    args = [
        "--label-column",
        "label",
        "--model",
        folder / "c.accord",
        "--text-columns",
        "text,kind",
        "--learner",
        "svm",
    ]
    assert "text, kind (words" in run("train", folder / "wide.csv", *args).stderr
    assert accord.load(folder / "c.accord").view_.view_names() == ["text", "kind", "other columns"]
    assert len(ok("predict", folder / "c.accord", folder / "wide_new.csv").splitlines()) == 40
    ok(
        "train",
        folder / "train.csv",
        "--label-column",
        "label",
        "--model",
        folder / "k.accord",
        "--categorical",
        "text",
    )
    assert isinstance(accord.load(folder / "k.accord").view_, accord.DictFeatures)
    result = run("train", folder / "wide.csv", *args[:-3], "nothing")
    assert result.exit_code == 2
    assert "['nothing'] should be free text" in result.stderr


def test_reading():
    rows = "".join(f"{i},text number {i} is here,{'ab'[i % 2]}\n" for i in range(6))
    table = read_csv(io.StringIO("n,note,kind\n" + rows))
    assert (table.categorical, table.texts) == ([], ["note"])
    assert table.X[1] == ("text number 1 is here", {"n": 1.0})
    (chunk,) = iter_csv(io.StringIO("n,note,kind\n" + rows), texts=["note"])
    assert chunk.X == table.X
    assert read_csv(io.StringIO("n,note,kind\n" + rows), texts=[]).categorical == ["note"]
    long = f"note,kind\n{'many words ' * 20_000},a\nno more,b\n"
    assert len(read_csv(io.StringIO(long), "kind", texts=["note"]).X[0]) == 220_000 - 1
    few = "".join(f"{i},text number {i % 2} is here,{'ab'[i % 2]}\n" for i in range(6))
    assert read_csv(io.StringIO("n,note,kind\n" + few)).categorical == ["note"]  # which repeats itself
