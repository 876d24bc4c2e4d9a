"""`accord demo`: one example of every kind of output."""

import csv
import html
import re

import numpy as np
import pytest
from cli_helpers import ok
from docs import looks

from accord.cli.demo import comparison, mails, numbers, records, sentences, sites, topics, trees
from accord.evaluation import Results, Task

TITLES = (
    "A tagged sentence",
    "A batch of mail",
    "A class in a taxonomy",
    "A parse tree",
    "A cluster of records",
    "A regression curve",
    "A federated round",
    "Do unlabeled examples help?",
)


@pytest.fixture
def small(monkeypatch):
    """A demo of few examples."""
    for module, sizes in (
        (sentences, {"N_UNLABELED": 20, "N_TEST": 30}),
        (trees, {"N_UNLABELED": 10, "N_TEST": 15}),
        (records, {"N_LABELED": 25, "N_NEW": 30}),
        (mails, {"N_MAILS": 40}),
        (topics, {"N_TEST": 60}),
        (numbers, {"N_UNLABELED": 40, "N_TEST": 50}),
        (sites, {"N_AGREED": 40, "N_TEST": 50}),
        (comparison, {"N_UNLABELED": 10, "N_TEST": 20}),
    ):
        for name, value in sizes.items():
            monkeypatch.setattr(module, name, value)


def test_demo_shows_every_kind_of_output_and_writes_one_page(tmp_path, small):
    out = ok("demo", "--output", tmp_path, "--repetitions", 2, "--n-jobs", 1)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert str(tmp_path / "report.html") in out
    assert [title for title in re.findall("<h2>(.*?)</h2>", page) if title in TITLES] == list(TITLES)
    lessons = re.findall(r"<h2>[^<]*</h2><p>(.*?)</p>", page)
    assert len(lessons) == len(TITLES)
    flat = " ".join(out.split())
    for title, lesson in zip(TITLES, lessons):
        assert f"{title} {html.unescape(lesson)}" in flat
        assert lesson.endswith(".")
    assert page.count("<figure>") == len(TITLES)  # a picture each
    assert not re.search(r'(src|srcset|href)="(?!data:)', page)  # that need nothing from elsewhere
    assert "accord demo --repetitions 2 --seed 0" in page
    with open(tmp_path / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(comparison.METHODS) * len(comparison.PAIRS)
    if looks.can_look():
        assert looks.faults_of([tmp_path / "report.html"]) == []


@pytest.mark.usefixtures("small")
def test_scenes_depend_on_their_seed_only():
    for scene in (numbers.curve, sites.sites):
        first = scene(3)
        assert first == scene(3)
        assert first.lesson != scene(4).lesson


# -- a tagged sentence --------------------------------------------------------------------------------------------
def test_names_are_marked_as_a_whole():
    words, labels = (
        ["On", "July", ",", "Ann", "Lee", "of", "X", "left", "."],
        ["O", "O", "O", "B-PER", "I-PER", "O", "B-ORG", "O", "O"],
    )
    marked = [("Ann Lee", "PER"), ("of", ""), ("X", "ORG"), ("left", ""), (".", "")]
    assert sentences._pieces(words, labels)[3:] == marked
    assert '<mark class="PER">Ann Lee <small>PER</small></mark> of' in sentences._as_html("", words, [("a", labels)])
    assert sentences._as_html("", ["<b>"], [("a", ["O"])]).count("<b>") == 0


# -- a cluster ----------------------------------------------------------------------------------------------------
def test_records_of_the_cluster_and_a_stranger_stand_in_the_table():
    rows = [("the same person", {"name": "Ann", "street": None, "born": "1"}),
            ("somebody else", {"name": "A & B", "street": "2", "born": "3"})]  # fmt: skip
    assert records._as_text(rows).splitlines()[1] == "the same person  Ann    -       1"
    assert "<td>A &amp; B</td>" in records._as_html(rows)


# -- a curve ------------------------------------------------------------------------------------------------------
def test_curves_as_text():
    grid = np.arange(5.0)
    drawn = numbers._as_text(grid, {"·": grid, "*": grid[::-1]}, (np.array([1.1]), np.array([4.0]))).splitlines()
    assert len(drawn) == numbers._LINES
    assert drawn[0] == "*o  ·"
    assert drawn[-1] == "·   *"
    assert drawn[numbers._LINES // 2] == "  *"


# -- with and without unlabeled examples --------------------------------------------------------------------------
def results(differences):
    """Results in which every learner differs from its supervised counterpart by these numbers, draw by draw."""
    return Results(
        {"experiment": comparison.EXPERIMENT, "method": method, "learner": learner, "seconds": 0.0,
         "metric": "token_error", "repetition": k, "value": 0.2 + (d if method == "semi-supervised" else 0.0)}
        for method in comparison.METHODS
        for learner in comparison.PAIRS
        for k, d in enumerate(differences)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("differences", "helped", "said"),
    [
        ([-0.03, -0.02, -0.025], True, "better, -2.5 ± 0.3 points (p ="),
        ([0.03, 0.02, 0.025], False, "worse, +2.5 ± 0.3 points (p ="),
        ([0.03, -0.02, 0.01], None, "no clear difference, +0.7 ± 1.5 points (p ="),
        ([0.0, 0.0, 0.0], None, "no clear difference, +0.0 ± 0.0 points"),
        ([-0.03], None, "no clear difference, -3.0 points in one draw"),
    ],
)
def test_demo_says_whether_unlabeled_sentences_help(differences, helped, said):
    verdict = comparison.verdict(results(differences), "HMM")
    assert verdict.helped is helped
    assert comparison._said(verdict).startswith(said)
    assert verdict.without == pytest.approx(20)


def test_demo_hides_labels_from_nobody_but_the_unlabeled(small, monkeypatch):
    """Both learners of a pair see the same labeled sentences; only the second sees others, without their labels."""
    seen = []

    class Spy:
        def fit(self, X, Y):
            seen.append((X, Y))
            return self

        def predict(self, X):
            return [["O"] * len(x) for x in X]

    monkeypatch.setattr(comparison, "_learners", lambda: {"CRF": (Spy, Spy)})
    for method in comparison.METHODS:
        comparison.tag_names(Task(comparison.EXPERIMENT, method, {"learner": "CRF"}, 0))
    (X, Y), (more_X, more_Y) = seen
    assert len(X) == len(Y) == comparison.N_LABELED
    assert (more_X[: len(X)], more_Y[: len(X)]) == (X, Y)
    assert more_Y[len(X) :] == [None] * 10
    assert len(more_X) == len(X) + 10
