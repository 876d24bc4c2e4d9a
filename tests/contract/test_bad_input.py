"""docs/bad-input.md is true: every row of its tables happens, and none is missing."""

import re
import warnings
from functools import cache
from pathlib import Path

import bad_features  # noqa: F401 (registers its rows)
import bad_partitions  # noqa: F401
import bad_settings  # noqa: F401
import bad_sources  # noqa: F401
import bad_trees  # noqa: F401
import pytest
from bad_input import ROWS
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import accord
from accord import HMM, CoPerceptron, CoSVM, GradientCoSVM, RandomSplit

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bad-input.md"
ENTRY = re.compile(r"^\| `([\w-]+)` \| (.+?) \| `?(\w+)`? \| `?(.*?)`? \| (.+) \|$", re.MULTILINE)
ERRORS = {name: getattr(accord, name) for name in ("InputError", "FormatError", "InfeasibleError", "ModelFileError")}
ERRORS["NotFittedError"] = NotFittedError


@cache
def documented():
    """{row: (kind, message)} of the page."""
    return {name: (kind, message) for name, _, kind, message, _ in ENTRY.findall(PAGE.read_text("utf-8"))}


def run(row, learner, folder, monkeypatch):
    """Do the wrong thing in an empty folder; the error or warning that came of it."""
    monkeypatch.chdir(folder)

    def make(structure, emission=None, **options):
        if learner is HMM and emission is not None:
            options["emission"] = emission
        if learner in (CoPerceptron, CoSVM, GradientCoSVM):  # one view will do; some rows have a single feature
            options["views"] = options.pop("view", RandomSplit(n_views=1))
        return learner(structure, **options)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            row.run(make)
        except Exception as error:
            return error
    return seen[0].message if seen else None


def matches(message, found):
    """Whether a message is the documented one, where three dots stand for anything."""
    return re.fullmatch(".*".join(map(re.escape, message.split("…"))), found, re.DOTALL) is not None


def test_the_page_has_exactly_the_rows_that_are_tested():
    page = PAGE.read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(lines) == len(ENTRY.findall(page)), "a line of a table does not have the form of a row"
    assert sorted(documented()) == sorted(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_the_row_says_what_happens(name, tmp_path, monkeypatch):
    kind, message = documented()[name]
    for k, learner in enumerate(ROWS[name].learners):
        folder = tmp_path / str(k)
        folder.mkdir()
        check(kind, message, run(ROWS[name], learner, folder, monkeypatch), learner)


def check(kind, message, found, learner):
    if kind == "works":
        assert found is None, learner
        return
    if kind == "UserWarning":
        assert isinstance(found, UserWarning), learner
    else:
        assert type(found) is ERRORS[kind], (learner, found)
        assert isinstance(found, ValueError), "users of scikit-learn expect a ValueError"
    assert matches(message, str(found)), f"{learner}\ndocumented: {message}\nfound: {found}"
