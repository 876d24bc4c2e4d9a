"""Calls side by side: order, errors, and joblib's backends."""

import itertools
import threading
import time

import joblib
import pytest
from row_tables import each_row

from accord.threads import map_anywhere, map_in_order, map_threads


@each_row("n_jobs", [None, 1, 2, -1])
@each_row("function", [map_threads, map_anywhere])
def test_results_come_in_order(function, n_jobs):
    assert function(pow, ((i, 2) for i in range(50)), n_jobs) == [i * i for i in range(50)]


def test_an_error_is_raised_and_nothing_hangs():
    with pytest.raises(ZeroDivisionError):
        map_threads(divmod, [(1, 1), (1, 0), (2, 1)], 2)


def test_a_backend_that_is_asked_for_is_used():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert map_anywhere(pow, [(2, 3), (3, 2)], None) == [8, 9]


# -- a stream ---------------------------------------------------------------------------------------------------------


@each_row("n_jobs", [None, 1, 2, 3, -1])
@each_row("n", [0, 1, 5, 50])
def test_a_stream_keeps_its_order(n_jobs, n):
    """Later items are done first."""

    def slow_at_first(i):
        time.sleep(0.002 * (i == 0))
        return i * i

    assert list(map_in_order(slow_at_first, iter(range(n)), n_jobs)) == [i * i for i in range(n)]


@each_row("n_jobs", [1, 2])
def test_few_items_of_a_stream_are_in_memory(n_jobs):
    read = []

    def items():
        for i in range(1000):
            read.append(i)
            yield i

    ahead = [len(read) - done for done, _ in enumerate(map_in_order(abs, items(), n_jobs))]
    assert max(ahead) <= 2 * n_jobs + 2
    assert len(read) == 1000


@each_row("n_jobs", [1, 2])
def test_an_error_in_a_stream_comes_at_its_place(n_jobs):
    stream = map_in_order(lambda i: 10 // (3 - i), range(1000), n_jobs)
    assert [next(stream) for _ in range(3)] == [3, 5, 10]
    with pytest.raises(ZeroDivisionError):
        next(stream)


@each_row("n_jobs", [1, 2])
def test_an_error_of_the_stream_itself_is_raised(n_jobs):
    def broken():
        yield from range(3)
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        list(map_in_order(abs, broken(), n_jobs))


def test_a_stream_may_be_left_early():
    """No thread goes on afterwards."""
    before = threading.active_count()
    stream = map_in_order(abs, itertools.count(), 2)
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    stream.close()
    assert threading.active_count() == before


def test_a_stream_is_worked_on_side_by_side():
    meeting = threading.Barrier(2, timeout=20)
    assert sorted(map_in_order(lambda i: meeting.wait() * 0 + i, range(2), 2)) == [0, 1]
