"""A short run of the fuzzer; ``make fuzz`` is the long one."""

from __future__ import annotations

import fuzzing


def test_damaged_files_are_refused_or_used_rightly(tmp_path):
    ends, bad = fuzzing.run(400, folder=tmp_path)
    assert bad == []
    assert ends["refused"] > 100
