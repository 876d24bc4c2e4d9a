"""The chooser as an experiment: what is drawn, that every way has an error of its own, and what is said of them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from accord.datasets import gaussian_clusters
from accord.evaluation import Results, Task
from accord.experiments import REGISTRY
from accord.experiments import chooser as choosing
from accord.experiments.chooser import CHOOSER, IN_TIME, OF_ROWS, SUPERVISED


def _pools(splits=None):
    X, y = gaussian_clusters(80, 4, 2, 2, 4.0, random_state=0)
    return choosing.Pools({"clusters": choosing.Pool(X, np.array(y), splits or {})}, 60)


def test_labeled_examples_are_those_of_the_split_or_some_of_every_class():
    pool = _pools().of["clusters"]
    labeled, others = pool.draw(6, 0, 1, 60)
    assert len({*labeled, *others}) == 60
    assert labeled.size == 6
    assert set(pool.y[labeled]) == set(pool.y)
    assert np.array_equal(others, pool.draw(6, 0, 1, 60)[1])
    pool = _pools({3: np.array([[0, 1, 2], [5, 6, 7]])}).of["clusters"]
    assert pool.draw(3, 1, 1, 60)[0].tolist() == [5, 6, 7]


def test_every_way_has_an_error_and_the_chosen_one_is_among_them():
    pools, experiment = _pools(), REGISTRY["chooser"]
    found = {
        method: experiment.run_task(Task("chooser", method, {"data": "clusters", "n_labeled": 10}, 0), pools)
        for method in (CHOOSER, IN_TIME, SUPERVISED, *OF_ROWS)
    }
    assert all(0.0 <= one["zero_one_loss"] <= 1.0 for one in found.values())
    assert {method for method in found if "seconds" in found[method]} == {CHOOSER, IN_TIME}
    assert 0.0 < found[CHOOSER]["expected_error"] < 1.0
    assert found[CHOOSER]["zero_one_loss"] in [found[way]["zero_one_loss"] for way in OF_ROWS]


def test_it_is_told_how_far_the_expected_error_is_from_the_error():
    figures = {"zero_one_loss": (0.2, 0.2, 0.2), "expected_error": (0.23, 0.3, 0.16), "inside": (1.0, 0.0, 1.0)}
    rows = [
        {"experiment": "chooser", "method": CHOOSER, "repetition": k, "metric": metric, "seconds": 1.0, "value": value,
         "data": "clusters", "n_labeled": 10}
        for metric, values in figures.items() for k, value in enumerate(values)
    ]  # fmt: skip
    (note,) = choosing._expected_note(Results(rows))
    assert "expects 23.0 % errors, 20.0 % are made, 3 fits" in note
    assert "within 20% of the error in 67%" in note
    # near are two errors among ten labels: 45 · 0.2² · 0.8⁸
    assert "would be in 30%; the interval of 90 % has it in 67%" in note


def test_more_than_forty_settings_and_ways_where_they_belong():
    experiment = REGISTRY["chooser"]
    assert len(experiment.settings) >= 40
    for task in experiment.tasks(False, 0):
        if task.method == "a student of guesses":
            assert task.setting["data"] in choosing.TEXTS
        elif task.method.startswith("kernel"):
            assert task.setting["data"] not in choosing.TEXTS


def test_regret_is_that_of_settings_in_which_all_were_tried():
    errors = {CHOOSER: 0.2, SUPERVISED: 0.4, "labels alone": 0.5, "clusters, ridge 1": 0.1}
    rows = [
        {"experiment": "chooser", "method": method, "repetition": k, "metric": "zero_one_loss", "seconds": 1.0,
         "value": error + 0.01 * k * (method == CHOOSER), "data": "clusters", "n_labeled": 6}
        for method, error in errors.items() for k in range(3)
    ]  # fmt: skip
    notes = REGISTRY["chooser"].notes(Results(rows))
    assert "Classifier 21.00" in notes[0]
    assert "Mean regret 11.00 points; a tenth of the best way's gain and a point are 4.00." in notes[0]
    assert "Always 'labels alone', 1 settings: 50.00 %" in notes[1]
    assert "significantly lower in 1 and higher in 0 of 1" in notes[1]


@pytest.mark.parametrize("sparse", [False, True])
def test_the_supervised_learner_also_has_classes_with_one_label(sparse):
    import scipy.sparse as sp

    X, y = gaussian_clusters(12, 2, 2, 2, 6.0, random_state=0)
    y = np.array([*y[:11], "alone"])
    X = sp.csr_matrix(X) if sparse else X
    assert set(choosing.supervised(X, y, X, 0)) <= set(y)


def test_the_supervised_learner_is_none_of_straw():
    """With one label in some class, and where ties decide, it errs no more than logistic regression as it comes."""
    X, y = load_digits(return_X_y=True)
    found = [choosing.Pool(X, y).draw(n, 0, 0, 320) for n in (20, 24)]
    errors = [np.mean(choosing.supervised(X[known], y[known], X[new], 0) != y[new]) for known, new in found]
    plain = [LogisticRegression(max_iter=300).fit(X[known], y[known]).score(X[new], y[new]) for known, new in found]
    assert np.mean(errors) <= 1.0 - np.mean(plain) + 0.03


def test_linear_machines_are_the_same_in_fewer_dimensions():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(8, 30)), rng.normal(size=(20, 30))
    model = LogisticRegression(tol=1e-8)
    expected = model.fit(X, [0, 1] * 4).decision_function(new)
    rows, others = choosing._spanned(X, new)
    assert rows.shape == (8, 8)
    assert np.allclose(model.fit(rows, [0, 1] * 4).decision_function(others), expected, atol=1e-4)


def test_the_best_of_all_that_knows_labels_only_is_compared_as_well():
    errors = {CHOOSER: 0.2, SUPERVISED: 0.4, "labels alone": 0.1, "clusters, ridge 1": 0.05}
    rows = [
        {"experiment": "chooser", "method": method, "repetition": k, "metric": "zero_one_loss", "seconds": 1.0,
         "value": error + 0.01 * k * (method == CHOOSER), "data": "clusters", "n_labeled": 6}
        for method, error in errors.items() for k in range(3)
    ]  # fmt: skip
    assert "higher in 1 (clusters 6 +11.00)" in REGISTRY["chooser"].notes(Results(rows))[-1]
