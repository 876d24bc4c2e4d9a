"""Trees with and without traces; nothing left to score."""

import math

import pytest
from row_tables import each_row

from accord import InputError
from accord.evaluation import COLLINS, bracket_scores

WITH = "(TOP (S (NP (-NONE- *)) (VP (V b) (NP (N c) (-NONE- t)))))"
WITHOUT = "(TOP (S (VP (V b) (NP (N c)))))"


@each_row(("true", "found"), [(WITH, WITHOUT), (WITHOUT, WITH), (WITH, WITH), (WITHOUT, WITHOUT)])
def test_traces_may_be_missing_where_they_are_deleted(true, found):
    scores = bracket_scores([true], [found], options=COLLINS)
    assert scores.totals == (3, 3, 3)
    assert scores.words.tolist() == [2]
    assert scores.tag_accuracy == 1.0


def test_traces_count_where_they_are_not_deleted():
    with pytest.raises(InputError, match="Y_pred\\[0\\] has 2 words but Y_true\\[0\\] has 4"):
        bracket_scores([WITH], [WITHOUT])


def test_other_words_are_still_an_error():
    with pytest.raises(InputError, match="Y_pred\\[0\\] has 1 words but Y_true\\[0\\] has 2"):
        bracket_scores([WITH], ["(TOP (S (VP (V b))))"], options=COLLINS)


def test_no_sentence_is_scored():
    scores = bracket_scores(["(S (NP (N a)) (V b))"], [None], options=COLLINS)
    assert scores.n_sentences == 0
    assert all(math.isnan(v) for v in (scores.f1, scores.precision, scores.recall))
