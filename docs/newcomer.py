"""What a newcomer does, by the clock: ``make newcomer``, or ``python docs/newcomer.py dist/accord_ml-*.whl tagger``.

With an empty folder and an empty home, a tutorial is followed word by word: an environment is made and Accord
installed as the first page of the tutorials says, with the wheel in place of the name on the index. Then the blocks of
the page are run, Python as scripts of their own and the rest by a shell. What they print is compared with what the page
says. Blocks that wait for somebody are of the kind ``console``, and left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import blocks

TUTORIALS = Path(__file__).resolve().parent / "tutorials"
PICTURES = {"tagger": "names.html", "table": "wine.png", "dedupe": "clusters.html"}
LONGEST = 300  # seconds from nothing to the picture
_SET_HERE = ("ACCORD_", "NUMBA_", "OMP_", "PYTHON", "VIRTUAL_ENV")  # what a newcomer has not set


class Newcomer:
    """Somebody with an empty folder, who types commands there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "folder"
        self.folder.mkdir()
        (folder / "home").mkdir()
        theirs = {name: value for name, value in os.environ.items() if not name.startswith(_SET_HERE)}
        self.environment = theirs | {"HOME": str(folder / "home")}
        self.begun = time.perf_counter()

    def install(self, wheel: str) -> None:
        """Do what the first page says."""
        first = blocks.fences((TUTORIALS / "index.md").read_text("utf-8"))
        typed = next(fence[3] for fence, _ in first if fence[1] == "console")
        for line in typed.replace("$ ", "").replace("accord-ml", os.path.abspath(wheel)).splitlines():
            self.type(line)
            # Activating an environment lasts as long as a shell; each line here has a shell of its own.
            self.environment["PATH"] = f"{self.folder}/accord-env/bin:{os.environ['PATH']}"

    def follow(self, page: str) -> None:
        """Do what a tutorial says."""
        scripts = 0
        for fence, below in blocks.fences((TUTORIALS / f"{page}.md").read_text("utf-8")):
            language, name, body = fence.groups()
            if name:
                (self.folder / name).write_text(body, "utf-8")
            elif language in ("python", "sh"):
                if language == "python":
                    scripts += 1
                    (self.folder / f"step{scripts}.py").write_text(body, "utf-8")
                    body = f"python step{scripts}.py"
                printed = blocks.tidy("".join(map(self.type, body.splitlines())))
                if below and (different := blocks.differs(printed, below[3])):
                    raise SystemExit(f"{page}: {body.strip()}\n{different}")

    def type(self, line: str) -> str:
        """Type a line into a shell; gives what it prints, and says how long it took, and how much of a processor."""
        begun, spent = time.perf_counter(), processor_time()
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        print(f"{time.perf_counter() - begun:7.1f} s {processor_time() - spent:7.1f} s  {line}", flush=True)
        if done.returncode:
            raise SystemExit(done.stdout)
        return done.stdout


def processor_time() -> float:
    """Seconds that programs started here have computed."""
    times = os.times()
    return times.children_user + times.children_system


def main(wheel: str, *pages: str) -> None:
    """Follow tutorials, by default all that need nobody's answers, each from nothing."""
    print("   clock processor")
    for page in pages or PICTURES:
        spent = processor_time()
        with TemporaryDirectory() as folder:
            newcomer = Newcomer(Path(folder))
            newcomer.install(wheel)
            newcomer.follow(page)
            took = time.perf_counter() - newcomer.begun
            size = (newcomer.folder / PICTURES[page]).stat().st_size
        print(
            f"{took:7.1f} s {processor_time() - spent:7.1f} s  from nothing to {PICTURES[page]} ({size:,} bytes)\n",
            flush=True,
        )
        if took > LONGEST:
            raise SystemExit(f"longer than {LONGEST} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
