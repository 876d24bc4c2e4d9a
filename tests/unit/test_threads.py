"""Calls side by side: order, errors, and joblib's backends."""

import joblib
import pytest

from accord.threads import map_anywhere, map_threads


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
@pytest.mark.parametrize("function", [map_threads, map_anywhere])
def test_results_come_in_order(function, n_jobs):
    assert function(pow, ((i, 2) for i in range(50)), n_jobs) == [i * i for i in range(50)]


def test_an_error_is_raised_and_nothing_hangs():
    with pytest.raises(ZeroDivisionError):
        map_threads(divmod, [(1, 1), (1, 0), (2, 1)], 2)


def test_a_backend_that_is_asked_for_is_used():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert map_anywhere(pow, [(2, 3), (3, 2)], None) == [8, 9]
