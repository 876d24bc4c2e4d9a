"""A mail service that is killed at random moments: what was written stays, no id comes twice, and nothing is left."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from accord.mail.detector import BatchDetector

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
N_KILLS = 12
# Forks a service again and again, since starting the interpreter takes longer than what is looked at.
PROGRAM = """
import os, sys
from accord.mail.config import DetectorSettings
from accord.mail.detector import BatchDetector
from accord.mail.service import open_service, warm_up
folder = sys.argv[1]
settings = DetectorSettings(
    state=os.path.join(folder, "state"), window=40, checkpoint_seconds=0.1, checkpoint_messages=3
)

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # at once: a kill must not cut a line

def serve():
    say("pid", os.getpid())
    service = open_service(settings)
    say("found", len(service.detector), *sorted(os.listdir(folder)))
    service.start()
    k = 0
    while True:
        k += 1
        found = service.assign(b"From: a@example.org\\n\\nhi %d" % k).result(30)  # too short: a batch of its own
        say("given", found.batch)
        if k % 7 == 0 and service.checkpoint():
            say("saved", found.batch)

warm_up(BatchDetector(window=2))
for _ in sys.stdin:
    child = os.fork()
    if not child:
        serve()
    os.waitpid(child, 0)
    say("killed")
"""


def killed(program, rng):
    """What a service said until it was killed: while it starts, or after so many messages, and at any moment."""
    program.stdin.write("go\n")
    program.stdin.flush()
    pid = int(program.stdout.readline().split()[1])
    lines = []
    for _ in range(rng.choice([0, 1, 20, 60])):
        lines.append(program.stdout.readline().split())
        assert lines[-1] not in ([], ["killed"]), "it has ended by itself"
    time.sleep(rng.random() * 0.02)
    os.kill(pid, signal.SIGKILL)
    while (line := program.stdout.readline().split()) != ["killed"]:
        assert line, "the program has ended"
        lines.append(line)
    return lines


@pytest.mark.slow
def test_kills(tmp_path):
    rng = random.Random(1)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    given, saved, n_starts = [], "", 0
    try:
        for _ in range(N_KILLS):
            before = saved
            for what, *words in killed(program, rng):
                if what == "found":
                    n_starts += 1
                    assert set(words[1:]) <= {"state", "state.lock"}, "no rubbish, and nothing put aside"
                    assert int(words[0]) or not before, "a window was lost"
                elif what == "given":
                    given.append(words[0])
                    assert words[0].startswith(before.partition("-")[0]), "it is another window"
                else:
                    saved = words[0]
            if saved:
                assert BatchDetector.restore(tmp_path / "state")._window.next_serial > number(saved)
    finally:
        program.kill()
        program.communicate()
    assert saved
    assert n_starts > N_KILLS // 2
    assert len(set(given)) == len(given) > N_KILLS


def number(batch):
    return int(batch.rpartition("-")[2])
