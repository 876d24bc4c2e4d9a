"""Calls side by side on threads, for kernels that leave the interpreter to others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import ThreadingBackend, get_active_backend

MOST = 256  # threads that are ever started: more than processors have cores make nothing faster


def count_threads(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` stands for."""
    return min(effective_n_jobs(n_jobs), MOST)


def map_threads(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], n_jobs: int | None) -> list[Any]:
    """``[function(*call) for call in calls]`` on ``n_jobs`` threads; ``function`` may write to shared arrays.

    A plain pool: joblib's own threads cost more per call than a chunk of sentences takes to tag.
    """
    n_threads = count_threads(n_jobs)
    if n_threads == 1:
        return [function(*call) for call in calls]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(function, *call) for call in calls]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def map_in_order(function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None) -> Iterator[Any]:
    """``map(function, items)`` on threads; few items are read ahead, so a long stream never is in memory."""
    n_threads = count_threads(n_jobs)
    if n_threads == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > 2 * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def elsewhere() -> bool:
    """Whether ``joblib.parallel_config`` names a backend of its own, such as a Dask cluster."""
    return not isinstance(get_active_backend(prefer="threads")[0], ThreadingBackend)


def map_anywhere(
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    done: Callable[[], Any] = lambda: None,
) -> list[Any]:
    """:func:`map_threads`, unless calls are to be made :func:`elsewhere`; `done` is called here after each of them."""
    if elsewhere():
        found = []
        for one in Parallel(n_jobs=n_jobs, return_as="generator")(delayed(function)(*call) for call in calls):
            found.append(one)
            done()
        return found

    def call_it(*call: Any) -> Any:
        one = function(*call)
        done()
        return one

    return map_threads(call_it, calls, n_jobs)
