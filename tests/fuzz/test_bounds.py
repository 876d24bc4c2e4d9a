"""Every learner once, with the bounds of arrays checked in all kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
@pytest.mark.parametrize("half", ["chains", "others"])
def test_no_kernel_leaves_its_arrays(half):
    """Checked code is slow however it is compiled, so it is compiled quickly."""
    program = Path(__file__).with_name("zoo.py")
    done = subprocess.run(
        [sys.executable, program, half],
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
