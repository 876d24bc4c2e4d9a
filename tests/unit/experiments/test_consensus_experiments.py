"""The co-learning experiments on made-up data: who sees what, what is drawn, what is said."""

import numpy as np
import pytest
import scipy.sparse as sp

from accord.evaluation import Results, Task
from accord.experiments import REGISTRY
from accord.experiments import consensus_classes as classes
from accord.experiments import consensus_sequences as sequences
from accord.experiments import consensus_splits as splits
from accord.experiments import consensus_time as times
from accord.experiments.sentences import GENES, SPANISH, Pool, gene_features, spanish_features
from accord.experiments.training_time import exponent

WORDS = ["Ana", "Tom", "Eva", "Rome", "Lima", "left", "saw", "in", "the", "house", "12", "p53"]


def pool(n=60):
    rng = np.random.default_rng(0)
    X = [[WORDS[k] for k in rng.integers(0, len(WORDS), rng.integers(2, 4))] for _ in range(n)]
    Y = [["GENE" if word[0].isupper() else "O" for word in x] for x in X]
    return Pool(X, Y, spanish_features, 10)


@pytest.fixture
def sentences():
    return sequences.Sentences({GENES: pool(), SPANISH: pool()}, quick=True)


# -- sequences ----------------------------------------------------------------------------------------------------
def test_slow_methods_run_at_one_point_and_the_others_on_both_curves():
    tasks = REGISTRY["co-learning-sequences"].tasks(False, 0)
    places = {}
    for task in tasks:
        s = task.setting
        places.setdefault(task.method, set()).add((s["data"], *REGISTRY["co-learning-sequences"].sizes(s)))
    everywhere = {(data, n, 100) for data in (SPANISH, GENES) for n in (5, 10, 20, 40)}
    everywhere |= {(data, 10, m) for data in (SPANISH, GENES) for m in (0, 25, 100, 400)} | {(SPANISH, 10, 2790)}
    assert {m for m in places if places[m] == everywhere} == {m for m in places if m not in SLOW}
    for method in SLOW:
        assert places[method] == {(SPANISH, 10, 100), (GENES, 10, 100)}
    assert {task.repetition for task in tasks} == set(range(30))
    assert [task.repetition for task in tasks] == sorted(task.repetition for task in tasks)


SLOW = ("coSVM, auto", "coSVM, own output", "SVM, slack", "coSVM, slack")


def test_more_unlabeled_sentences_are_added_to_fewer(sentences):
    few, many = (sentences.pools[GENES].draw(4, m, 1) for m in (5, 20))
    np.testing.assert_array_equal(few.labeled, many.labeled)
    np.testing.assert_array_equal(few.holdout, many.holdout)
    np.testing.assert_array_equal(few.unlabeled, many.unlabeled[:5])
    assert len({*many.labeled, *many.unlabeled, *many.holdout}) == 4 + 20 + 10


@pytest.mark.parametrize("name", sequences.METHODS)
def test_only_semi_supervised_methods_see_unlabeled_sentences(sentences, name, monkeypatch):
    experiment, method, fits = REGISTRY["co-learning-sequences"], sequences.METHODS[name], []

    def make(case):
        learner = method.make(case)
        fit = learner.fit
        learner.fit = lambda X, Y: (fits.append(Y), fit(X, Y))[1]
        return learner

    monkeypatch.setitem(sequences.METHODS, name, sequences.Method(make, method.unlabeled))
    setting = {"data": GENES, "curve": sequences.UNLABELED_CURVE, "sentences": 8}
    task = Task(experiment.name, name, setting, 0)
    assert 0.0 <= experiment.run_task(task, sentences)["token_error"] < 0.5
    assert [y is None for y in fits[-1]] == [False] * 10 + [True] * (8 if method.unlabeled else 0)
    assert method.unlabeled == name.startswith("co")
    other = Task(experiment.name, name, setting | {"sentences": 12}, 0)
    assert (experiment.seen(other) == experiment.seen(task)) != method.unlabeled


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["co-perceptron", "coSVM", "coSVM, random split", "co-perceptron, auto"])
def test_co_learners_without_unlabeled_sentences_are_sums_of_views(sentences, name):
    assert 0.0 <= sentences.figures(sequences.METHODS[name], GENES, 6, 0, 1)["token_error"] < 0.5


def test_two_svms_are_the_co_svm_of_weight_zero(sentences):
    case = sequences.Case(sentences.pools[GENES].structure, gene_features(), 0)
    X, Y = sentences.pools[GENES].X[:8], sentences.pools[GENES].Y[:8]
    one, two = (make(case).fit(X, Y) for make in (sequences.two_svms("odd/even"), sequences.co_svm("odd/even", 0.0)))
    ours, theirs = one.weights_.flat(), two.weights_.flat()
    assert ours @ theirs > 0.999 * np.linalg.norm(ours) * np.linalg.norm(theirs)


def test_the_splits_are_those_of_the_thesis():
    X = [["Ana", "left", "Rome"], ["p53", "in", "Lima"]]
    names = {}
    for name, split in sequences.SPLITS.items():
        view = split(gene_features())
        rows = view.fit_rows(X)
        channels = view.channels(rows, np.random.default_rng(0))
        names[name] = [{view.feature_names([f])[0] for f in np.flatnonzero(c.matrix().sum(axis=0))} for c in channels]
    token, surface = names["token/surface"]
    assert token & surface == {"bias"}
    assert {"0:token=Ana", "-1:token=Ana", "0:2gram=An"} & surface == set()
    assert {"0:token=Ana", "-1:token=Ana"} <= token
    assert all("token" not in name and "gram" not in name for name in surface)
    for name in ("random", "odd/even"):
        assert all(any("token=" in f for f in half) and len(half) > 10 for half in names[name])


def test_the_notes_name_sizes():
    setting = {"data": SPANISH, "curve": sequences.UNLABELED_CURVE, "sentences": 25}
    assert REGISTRY["co-learning-sequences"].describe(setting) == "Spanish 10+25"
    assert REGISTRY["hmm-few-labels"].describe({"data": "Spanish", "n_labeled": 10}) == "Spanish 10"


# -- splits -------------------------------------------------------------------------------------------------------
def test_every_split_is_tried_with_and_without_unlabeled_sentences(sentences, monkeypatch):
    monkeypatch.setattr(splits, "N_UNLABELED", 8)
    experiment = REGISTRY["co-learning-splits"]
    assert len(splits.METHODS) == 2 + 4 * 4
    assert {c.better for c in experiment.claims} | {c.worse for c in experiment.claims} == set(splits.METHODS)
    for split in ("odd/even", "independent"):
        task = Task(experiment.name, f"co-perceptron, {split}", {"data": GENES, "n_labeled": 6}, 0)
        assert 0.0 <= experiment.run_task(task, sentences)["token_error"] < 0.5


# -- classes ------------------------------------------------------------------------------------------------------
def two_views(n=80):
    """Two classes; each view tells them apart by two columns of its own."""
    rng = np.random.default_rng(0)
    Y = ["course" if k % 3 == 0 else "other" for k in range(n)]
    side = np.array([y == "course" for y in Y])
    X = rng.random((n, 8)) * 0.3
    for first in (0, 4):
        X[np.arange(n), first + side] += 1.0
    return classes.Pool(sp.csr_array(X), Y, 4)


def test_labeled_examples_per_class_and_disjoint_parts():
    Y = two_views().Y
    parts = classes.draw_examples(Y, classes.Collection("", {"course": 3, "other": 9}, 20), 5)
    assert sorted(Y[i] for i in parts.labeled) == ["course"] * 3 + ["other"] * 9
    assert (len(parts.holdout), len(parts.unlabeled)) == (20, 80 - 12 - 20)
    assert len({*parts.labeled, *parts.unlabeled, *parts.holdout}) == 80
    again = classes.draw_examples(Y, classes.Collection("", {"course": 3, "other": 9}, 20), 5)
    np.testing.assert_array_equal(parts.labeled, again.labeled)


@pytest.mark.parametrize("method", classes.METHODS)
def test_every_method_learns_two_clear_classes(method, monkeypatch):
    monkeypatch.setitem(classes.SETS, "webkb_course", classes.Collection("anchor", {"course": 3, "other": 9}, 20))
    experiment = REGISTRY["co-learning-classes"]
    task = Task(experiment.name, method, {"data": "webkb_course"}, 0)
    assert experiment.run_task(task, {"webkb_course": two_views()})["zero_one_loss"] <= 0.25


def test_links_become_symmetric_with_the_paper_itself_and_rows_have_length_one(tmp_path):
    folder = tmp_path / "citation_cora"
    folder.mkdir()
    arrays = {"y": np.array([0, 1, 1])}
    for name, matrix in (("text", [[1, 0], [1, 1], [0, 1]]), ("links", [[0, 1, 0], [0, 0, 0], [0, 0, 0]])):
        m = sp.csr_matrix(np.array(matrix))
        arrays |= {f"{name}_data": m.data, f"{name}_indices": m.indices, f"{name}_indptr": m.indptr}
        arrays[f"{name}_shape"] = np.array(m.shape)
    np.savez(folder / "cora.npz", **arrays)
    found = classes.load_pool("citation_cora", tmp_path)
    assert found.Y == ["Theory", "Reinforcement_Learning", "Reinforcement_Learning"]
    half = np.sqrt(0.5)
    expected = [[1, 0, half, half, 0], [half, half, half, half, 0], [0, 1, 0, 0, 1]]
    np.testing.assert_allclose(found.X.toarray(), expected)
    assert found.n_first == 2


# -- time ---------------------------------------------------------------------------------------------------------
def test_the_exponent_of_a_power_law():
    sizes = np.array([100, 200, 400, 800])
    assert exponent(sizes, 0.01 * sizes**1.5) == pytest.approx(1.5)


def test_the_notes_tell_exponents_and_the_longest_time():
    rows = []
    for method, power in zip(times.METHODS, (1.0, 1.0, 1.25)):
        for m in (125, 250, 500, 1000):
            head = {"experiment": "e", "method": method, "n_unlabeled": m, "repetition": 0, "seconds": 1.0}
            seconds = 1e-3 * m**power
            rows += [{**head, "metric": k, "value": v} for k, v in (("pass_seconds", seconds), ("passes", 10))]
    notes = REGISTRY["co-learning-time"].notes(Results(rows))
    assert notes[1] == (
        "co-perceptron: the time of a pass grows as m to the power of 1.00 (1.00 from m = 500 on; least squares of the "
        "logarithms). m = 1000 takes 10.0 CPU seconds, 10 passes. The thesis: between 1 and 2."
    )
    assert "to the power of 1.25 (1.25 from m = 500 on" in notes[2]


def test_calibration_of_disagreement_compares_it_with_the_error_of_the_same_fit():
    rows = []
    for k, error in enumerate(np.linspace(0.05, 0.3, 12)):
        fit = {"experiment": "co", "n": 5 + k % 2, "repetition": k // 2, "seconds": 1.0}
        rows.append({**fit, "method": "two views", "metric": "token_error", "value": error})
        rows.append({**fit, "method": "two views", "metric": "disagreement", "value": 2 * error})
        rows.append({**fit, "method": "one view", "metric": "token_error", "value": error})
    (sentence,) = sequences.calibration_notes(Results(rows))
    assert sentence.startswith("Disagreement of two views")
    assert "disagreement 0.50 (median), rank correlation 1.00; lower than the error in 0 % of 12 fits" in sentence
