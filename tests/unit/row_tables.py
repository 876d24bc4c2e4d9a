"""Tests of functions that take no time, for all rows of a table at once."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each_row(
    names: str | tuple[str, ...],
    rows: Iterable[Any],
    ids: Iterable[str] | None = None,
    make: Callable[[Any], Any] | None = None,
) -> Callable[..., Any]:
    """Like ``pytest.mark.parametrize``, but one test: of a hundred tiny ones, most of the time goes to the frame.

    What fails says in which row. Fixtures are made once and not for each row, so none may keep anything of a row;
    ``make(value)`` is what a test gets instead of a value, made anew for each row and each test.
    """
    columns = [names] if isinstance(names, str) else list(names)
    table = [dict(zip(columns, [row] if isinstance(names, str) else row, strict=True)) for row in rows]
    assert table, "a table without rows tests nothing"
    called = [None] * len(table) if ids is None else list(ids)
    assert len(called) == len(table), "as many names as rows"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def every_row(**fixtures: Any) -> None:
            for name, row in zip(called, table):
                try:
                    test(**fixtures, **(row if make is None else {key: make(value) for key, value in row.items()}))
                except pytest.skip.Exception as skipped:
                    raise AssertionError(f"the row {name or row} skips all that follow") from skipped
                except BaseException as error:
                    error.add_note(f"in the row {name or row}")
                    raise

        rest = [parameter for name, parameter in signature.parameters.items() if name not in columns]
        assert len(rest) + len(columns) == len(signature.parameters), f"{test.__name__} does not take {columns}"
        every_row.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return every_row

    return decorate
