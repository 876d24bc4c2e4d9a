"""Inner resampling: what the estimator sees, which candidate wins."""

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier

from accord.evaluation import Metric, TreeLoss, expand_grid, tune
from accord.exceptions import InputError


class Recorder(BaseEstimator):
    """Predicts `answer`; notes what it was fitted on and asked for."""

    calls: list = []  # noqa: RUF012 - shared by the clones on purpose

    def __init__(self, answer="a"):
        self.answer = answer

    def fit(self, X, Y):
        self.fitted = (list(X), list(Y))
        return self

    def predict(self, X):
        Recorder.calls.append((self.answer, *self.fitted, list(X)))
        return [self.answer] * len(X)


@pytest.fixture(autouse=True)
def forget_calls():
    Recorder.calls.clear()


X = list(range(10))
Y = ["a", None, "b", "b", None, "b", "a", None, "b", "b"]
LABELED = {0, 2, 3, 5, 6, 8, 9}


def test_unlabeled_examples_stay_in_every_training_set_and_folds_are_held_out():
    tune(Recorder(), {"answer": ["a", "b"]}, X, Y, n_splits=3)
    assert len(Recorder.calls) == 6
    for _, inputs, outputs, asked in Recorder.calls:
        assert {1, 4, 7} <= set(inputs)
        assert not set(inputs) & set(asked)
        assert set(inputs) | set(asked) == set(X)
        assert outputs == [Y[i] for i in inputs]
    for answer in "ab":
        assert sorted(i for a, _, _, asked in Recorder.calls if a == answer for i in asked) == sorted(LABELED)


def test_best_parameters_and_table():
    result = tune(Recorder(), {"answer": ["a", "b"]}, X, Y, n_splits=7, n_repeats=2)
    assert result.best_params == {"answer": "b"}
    assert result.best_score == pytest.approx(2 / 7)
    assert [row["score"] for row in result.table] == pytest.approx([5 / 7, 2 / 7])
    assert result.table[0]["standard_error"] == 0.0
    assert tune(Recorder(), {"answer": ["a", "b"]}, X, Y, "accuracy").best_params == {"answer": "b"}


def test_ties_go_to_the_first_candidate():
    for order in (["x", "y"], ["y", "x"]):
        assert tune(Recorder(), {"answer": order}, X, Y).best_params == {"answer": order[0]}


def test_estimator_is_not_changed_and_runs_repeat():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(40, 2))
    outputs = [str(v) for v in (inputs[:, 0] > 0).astype(int)]
    model = KNeighborsClassifier(n_neighbors=2)
    grid = {"n_neighbors": [1, 3, 9], "weights": ["uniform", "distance"]}
    results = [tune(model, grid, inputs, outputs, n_jobs=jobs, random_state=4, n_repeats=3) for jobs in (1, 2)]
    assert results[0] == results[1]
    assert [row["params"] for row in results[0].table] == expand_grid(grid)
    assert model.n_neighbors == 2
    other = tune(model, grid, inputs, outputs, random_state=5, n_repeats=3)
    assert other.table != results[0].table


def test_grid_of_dicts_and_metrics_with_a_direction():
    loss = TreeLoss({"a": "r", "b": "r"})
    assert tune(Recorder(), [{"answer": "b"}, {}], X, Y, metric=loss).best_params == {"answer": "b"}


@each_row(
    ("changes", "message"),
    [
        ({"grid": {}}, None),
        ({"grid": []}, "grid is empty"),
        ({"grid": {"answer": "ab"}}, r"grid\['answer'\] must be a list"),
        ({"n_splits": 8}, "number of labeled examples, 7, but it is 8"),
        ({"n_repeats": 0}, "n_repeats must be at least 1"),
        ({"X": [1]}, "X has 1 inputs but Y has 10 outputs"),
        ({"metric": lambda t, p: 0.0}, "no function or no direction"),
        ({"metric": "tree_loss"}, "no function or no direction"),
        ({"metric": Metric("n", "n", lambda t, p: float("nan"), True)}, "gave NaN for {'answer': 'a'}"),
    ],
)
def test_bad_input(changes, message):
    arguments = {"estimator": Recorder(), "grid": {"answer": ["a"]}, "X": X, "Y": Y} | changes
    if message is None:  # an empty dict is one candidate: the estimator as it is
        assert tune(**arguments).best_params == {}
        return
    with pytest.raises(InputError, match=message):
        tune(**arguments)
