"""The chooser as an experiment: what is drawn, that every way has an error of its own, and what is said of them."""

import numpy as np
import pytest

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
    assert found[CHOOSER]["zero_one_loss"] in [found[way]["zero_one_loss"] for way in OF_ROWS]


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
    model = choosing.supervised(sp.csr_matrix(X) if sparse else X, y, 0)
    assert set(model.predict(X)) <= set(y)
