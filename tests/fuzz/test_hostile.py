"""Every row of the tables of hostile input is refused with a clear error or answered rightly."""

from __future__ import annotations

import hostile
import pytest

LEAST = 200  # rows, all together; there are many more


@pytest.mark.parametrize("subject", hostile.SUBJECTS)
def test_hostile_input_is_refused_or_answered_rightly(subject):
    found = hostile.run(subject)
    assert list(found) == list(hostile.rows_of(subject)), "not all rows were run"
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_there_are_many_rows():
    assert sum(len(hostile.rows_of(subject)) for subject in hostile.SUBJECTS) >= LEAST
