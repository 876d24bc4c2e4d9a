"""`accord label` as a process of its own that can be killed, without importing everything anew for each.

A process that has imported what the page needs forks them.
"""

import multiprocessing
import os
import re
import signal
from typing import Any

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["accord.cli.label", "accord.labeling.running", "accord.labeling.sources"])


def _run(args: list[str], writing: Any) -> None:
    from accord.cli import main

    os.dup2(writing.fileno(), 2)
    main(["label", *args, "--no-browser"], prog_name="accord")


class Server:
    """A page, and the link to it."""

    def __init__(self, *args: object) -> None:
        reading, writing = FORKING.Pipe(duplex=False)
        self.process = FORKING.Process(target=_run, args=([str(arg) for arg in args], writing), daemon=True)
        self.process.start()
        writing.close()
        said = b""
        with os.fdopen(os.dup(reading.fileno()), "rb", buffering=0) as lines:
            while (found := re.search(rb"http://\S+(?=\n)", said)) is None:
                piece = lines.read(4096)
                assert piece, f"the server ended: {said.decode()}"
                said += piece
        self._reading = reading  # what else it says has a reader
        self.link = found.group().decode()
        self.port = re.search(r":(\d+)/", self.link).group(1)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End it, by default without a warning."""
        os.kill(self.process.pid, number)
        self.process.join(20)
        self._reading.close()
