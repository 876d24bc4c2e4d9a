"""Every row of the tables of hostile input is refused with a clear error or answered rightly."""

from __future__ import annotations

import hostile
import pytest

LEAST = 150  # rows, of those tried each time
STEP = 6


def check(subjects, step):
    found = hostile.run(subjects, step=step)
    assert list(found) == list(hostile.rows_of(subjects, step=step)), "not all rows were run"
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.slow
def test_hostile_input_is_refused_or_answered_rightly():
    """Every sixth row, in one child."""
    check(hostile.SUBJECTS, STEP)


@pytest.mark.long
@pytest.mark.parametrize("subject", hostile.SUBJECTS)
def test_every_row(subject):
    check([subject], 1)


def test_many_rows_are_tried():
    assert len(hostile.rows_of(hostile.SUBJECTS, step=STEP)) >= LEAST
