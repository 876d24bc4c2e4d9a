"""Flat classes: losses and their checks."""

import numpy as np
import pytest
from row_tables import each_row

from accord import MultiClass
from accord.exceptions import InputError

LABELS = ["a", "b"]


def test_costs_go_from_the_true_to_the_predicted_class():
    s = MultiClass(labels=LABELS, loss=[[0, 5], [7, 0]]).fit([])
    assert s.loss_between([0], [1]) == 5.0
    assert s.loss_between([1], [0]) == 7.0


def test_hamming_of_one_class_is_zero_one():
    assert MultiClass(labels=LABELS, loss="hamming").fit([]).loss_between([0], [1]) == 1.0


def test_costs_decide_the_most_violated_class():
    s = MultiClass(labels=["a", "b", "c"], loss=[[0, 1, 10], [1, 0, 1], [1, 1, 0]]).fit([])
    parts = s.parts([[0.0, 5.0, 1.0]])
    assert s.oracle(parts, [0], "margin") == (np.array([2]), 11.0)
    assert s.oracle(parts, [0], "slack") == (np.array([2]), 20.0)
    assert s.oracle(parts, [1], "slack") == (np.array([1]), 0.0)


@each_row("loss", ["f1", "tree", ""])
def test_unknown_loss(loss):
    with pytest.raises(InputError, match=f'loss is {loss!r}; expected "zero-one" or a cost matrix'):
        MultiClass(labels=LABELS, loss=loss).fit([])


@each_row("shape", [(3, 3), (2, 3), (4,), (2, 2, 1)])
def test_costs_of_the_wrong_shape(shape):
    with pytest.raises(InputError, match=r"loss has shape \(.*\); expected \(2, 2\), one row per label"):
        MultiClass(labels=LABELS, loss=np.zeros(shape)).fit([])


@each_row("costs", [[[0, -1], [1, 0]], [[1, 1], [1, 0]], [[0, np.nan], [1, 0]], [[0, np.inf], [1, 0]]])
def test_costs_that_are_no_losses(costs):
    with pytest.raises(InputError, match="loss must be finite and non-negative with zeros on the diagonal"):
        MultiClass(labels=LABELS, loss=costs).fit([])


@each_row("costs", [[["x", "y"], ["z", "w"]], [[0, 1], [1]]])
def test_costs_that_are_no_matrix(costs):
    with pytest.raises(InputError, match=r'loss is .*; expected "zero-one" or a cost matrix of numbers'):
        MultiClass(labels=LABELS, loss=costs).fit([])
