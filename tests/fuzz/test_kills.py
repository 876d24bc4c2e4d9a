"""A few of the kills of ``kills.py``, which does hundreds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed by signals")


def check(*options):
    program = Path(__file__).with_name("kills.py")
    done = subprocess.run([sys.executable, program, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_killed_programs_lose_nothing_and_leave_nothing():
    """Those that no other test kills."""
    told = check("--only", "train,save,assign", "--kills", "3")
    assert "3 cases, 3 killed, 0 wrong" in told, told


@pytest.mark.long
def test_all_programs():
    told = check("--kills", "12")
    assert "12 cases, 12 killed, 0 wrong" in told, told
