"""Experiments on smooth machines and graph kernels, quick versions. Needs a local data folder; set ACCORD_DATA."""

import numpy as np
import pytest

from accord.datasets import load
from accord.evaluation import make_tasks
from accord.experiments.base import mean_of
from accord.experiments.graph_letters import PROTOCOLS, QUICK_UNLABELED, GraphLetters, draw_words, widest_letters
from accord.views.neighbours import neighbour_graph

pytestmark = pytest.mark.slow


def test_classes(quick_run):
    results, report = quick_run("transduction-classes")
    assert "(published)" in report
    errors = {m: mean_of(results, m, "zero_one_loss") for m in results.methods}
    assert errors["∇SVM, graph"] < errors["∇SVM"] < 0.75  # by chance 83 %


def test_papers(quick_run):
    results, _ = quick_run("transduction-papers")
    for method in results.methods:
        assert 0.35 < mean_of(results, method, "zero_one_loss") < 0.6, method  # by chance 70 % or more
    for m in (0, 100):  # supervised machines do not see unlabeled papers
        assert mean_of(results, "∇SVM", "zero_one_loss", n_unlabeled=m) == mean_of(results, "∇SVM", "zero_one_loss")
    assert mean_of(results, "∇TSVM", "zero_one_loss", n_unlabeled=0) == mean_of(results, "∇SVM", "zero_one_loss")


def test_galaxy(quick_run):
    results, report = quick_run("transduction-galaxy")
    assert "ours against" not in report
    for n in (2, 4):
        for graph in ("graph", "regularised graph"):
            smaller = mean_of(results, f"∇SVM, {graph}", "token_error", n_labeled=n)
            assert smaller < mean_of(results, "∇SVM, RBF", "token_error", n_labeled=n)
    assert not [r for r in results.rows if r["metric"] == "new_error" and r["method"].endswith(", graph")]


def test_sequences(quick_run):
    results, _ = quick_run("transduction-sequences")
    for method in results.methods:
        assert 0.05 < mean_of(results, method, "token_error") < 0.2, method
    for loss in ("0/1", "Hamming"):
        smooth, sharp = (mean_of(results, f"{m} {loss}", "token_error") for m in ("∇SVM", "SVM"))
        assert abs(smooth - sharp) < 0.01
    assert mean_of(results, "∇TSVM Hamming", "token_error", n_unlabeled=0) == mean_of(
        results, "∇SVM Hamming", "token_error", n_unlabeled=0
    )


def test_time(quick_run):
    results, report = quick_run("transduction-time")
    assert "so many times as long as ∇SVM" in report
    for n in (10, 20):
        ends = [mean_of(results, m, "objective", n_labeled=n) for m in ("∇SVM", "SVM, QP", "SVM, QP per sentence")]
        assert max(ends) < 1.1 * min(ends)


def test_letters(quick_run):
    results, report = quick_run("graph-letters")
    assert "(published)" in report
    for method in results.methods:
        for metric in ("test_accuracy", "unlabeled_accuracy"):
            assert 0.25 < mean_of(results, method, metric) < 0.7, method  # by chance 10 %


def test_blurred_letters(data_dir):
    """Not among the tasks of the quick version."""
    experiment = GraphLetters()
    words = experiment.load(data_dir, True, 0)
    settings = {"n_unlabeled": [QUICK_UNLABELED], "pixels": ["blurred"]}
    (task,) = make_tasks(experiment.name, ["∇SVM structured, graph"], settings, repetitions=1, seed=0)
    words.widths["blurred", task.repetition_seed] = PROTOCOLS["blurred"].gammas[2]  # choosing one takes long
    for name, accuracy in experiment.run_task(task, words).items():
        assert 0.25 < accuracy < 0.7, name


def test_words_of_few_letters(data_dir):
    words = load("ocr_letters", data_dir, part="all")
    letters = widest_letters(words.Y, 15)
    kept = [y for y in words.Y if set(y) <= letters]
    assert len(letters) == 15
    assert len(kept) > 800
    labeled, unlabeled, test = draw_words(kept, 412, 200, 0)
    assert (len(labeled), len(unlabeled), len(test)) == (10, 412, 200)
    assert len({*labeled, *unlabeled, *test}) == 622
    assert set().union(*(kept[i] for i in labeled)) == {letter for y in kept for letter in y}


@pytest.mark.long
def test_mutual_neighbours_and_those_of_blurred_letters_are_more_often_the_same_letter(data_dir):
    words = GraphLetters().load(data_dir, False, 0)
    some = np.concatenate(draw_words(words.Y, 412, 0, 0)[:2])
    letters = np.array([letter for i in some for letter in words.Y[i]])
    shares = {}
    for name, images in words.X.items():
        points, first = np.unique(np.vstack([images[i] for i in some]), axis=0, return_index=True)
        for mutual in (False, True):
            graph, _ = neighbour_graph(points, 5, mutual, True, None)
            left, right = graph.nonzero()
            shares[name, mutual] = np.mean(letters[first[left]] == letters[first[right]])
    assert 0.6 < shares["raw", False] < 0.67
    assert 0.79 < shares["raw", True] < 0.85
    assert 0.74 < shares["blurred", False] < 0.81
    assert 0.86 < shares["blurred", True] < 0.92


def test_proteins(quick_run):
    results, _ = quick_run("protein-structure")
    errors = [mean_of(results, m, "token_error") for m in results.methods]
    assert 0.35 < np.min(errors) < np.max(errors) < 0.67  # by chance 57 % at best
