"""Records in the wrong cluster."""

import numpy as np
import pytest

from accord import Deduplicator, InputError, suspects
from accord.datasets import people
from accord.dedupe.suspects import doubted_records


def test_records_that_were_moved_are_found_and_sent_back():
    """One person who has two numbers is found from both."""
    records, ids = people(60, random_state=0)
    sizes, given = np.bincount(ids), [f"p{one}" for one in ids]
    moved = [i for i, one in enumerate(ids) if sizes[one] == 3][::7]
    for i in moved:
        given[i] = f"p{(ids[i] + 7) % 60}"
    first, second = (i for i, one in enumerate(ids) if one == np.flatnonzero(sizes == 2)[0])
    given[second] = "another"
    found = suspects(records, given, Deduplicator(random_state=0), n_splits=3, random_state=0)
    suggested = {one.example: one.suggested for one in found}
    # of a cluster of two either may be the wrong one, so not only these are suspects
    assert {one.example for one in found[: 2 * len(moved)]} >= {*moved, first, second}
    assert sum(suggested[i] == f"p{ids[i]}" for i in moved) >= 0.7 * len(moved)
    assert suggested[first] == "another"
    assert suggested[second] == given[first]
    assert all(one.given == given[one.example] and one.start is None and one.probability > 0.5 for one in found)
    assert [one.probability for one in found] == sorted((one.probability for one in found), reverse=True)


def test_records_without_a_cluster_are_left_alone():
    records, ids = people(20, random_state=0)
    given = [None if i % 5 == 0 else one for i, one in enumerate(ids)]
    judged = doubted_records(Deduplicator(calibrate=False), records, given, 2, np.random.default_rng(0))
    assert [one.record for one in judged] == [i for i, one in enumerate(given) if one is not None]
    with pytest.raises(InputError, match="ids has 3 entries"):
        suspects(records, [1, 2, 3], Deduplicator())
