"""A few of the kills of ``kills.py``, which does hundreds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed by signals")
def test_killed_programs_lose_nothing_and_leave_nothing():
    program = Path(__file__).with_name("kills.py")
    done = subprocess.run([sys.executable, program, "--kills", "6"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 cases, 6 killed, 0 wrong" in done.stdout, done.stdout
