"""Label errors as an experiment: what is relabeled, how suspects are counted, and that both methods run."""

import numpy as np
import pytest

from accord.datasets import embedded_ner
from accord.datasets.label_spans import extract_spans
from accord.evaluation import Task
from accord.experiments import REGISTRY
from accord.experiments import label_errors as errors


def test_spans_get_another_kind_and_keep_their_places():
    Y = [["B-a", "I-a", "O"], ["B-b", "B-a", "B-c"]] * 10
    changed, places = errors.relabeled(Y, 0.25, np.random.default_rng(0))
    assert len(places) == 10
    for i, (before, after) in enumerate(zip(Y, changed)):
        old, new = extract_spans(before), extract_spans(after)
        assert [span[1:] for span in old] == [span[1:] for span in new]
        assert {(i, *a[1:]) for a, b in zip(old, new) if a[0] != b[0]} == {place for place in places if place[0] == i}
    assert ["B-a", "I-a", "O"] in Y  # which is not changed


def test_precision_is_that_of_the_first_which_hold_half_of_the_errors():
    wrong = {(k, 0, 1) for k in range(4)}
    ranked = [(0, 0, 1), (7, 0, 1), (1, 0, 1), (8, 0, 1), (9, 0, 1), (2, 0, 1)]
    assert errors.precision_at(ranked, wrong) == pytest.approx(2 / 3)
    assert errors.precision_at(ranked, wrong, recall=0.75) == pytest.approx(1 / 2)
    assert errors.precision_at(ranked[:2], wrong) == 0.0
    assert errors.precision_at([], wrong) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("method", errors.METHODS)
def test_every_method_finds_some(method):
    X, Y = embedded_ner(80, random_state=0)
    setting = {"sentences": 80, "share": 0.05}
    found = REGISTRY["label-errors"].run_task(Task("label-errors", method, setting, 0), errors.Sentences(X, Y))
    assert 0.0 < found["found"] <= 1.0
    assert 0.0 <= found["precision"] <= 1.0
