"""A short run of the fuzzer; ``make fuzz`` is the long one."""

from __future__ import annotations

import json

import fuzzing
import pytest
import zoo
from damage import take_apart

from accord.registry import TABLE

# No file can hold it: functions of users are not written.
WITHOUT_FILES = {"CallablePairs"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    zoo.write_all(folder)
    return folder


def test_damaged_files_are_refused_or_used_rightly(files):
    ends, bad = fuzzing.run(60, folder=files)
    assert bad == []
    assert ends["refused"] > 15


def test_every_class_that_is_saved_is_in_a_file_that_is_damaged(files):
    """A class that is entered in the table takes part once :mod:`zoo` has a file with it."""
    text = " ".join(json.dumps(take_apart(path).index) for path in files.iterdir() if path.is_file())
    kept = {name for name, entry in TABLE.items() if entry.kind in ("structure", "learner", "view", "split", "model")}
    assert {name for name in kept if f'"class": "{name}"' not in text} == WITHOUT_FILES
