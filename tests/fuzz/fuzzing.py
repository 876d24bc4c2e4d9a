"""Damage files of every kind by the thousand and use them: nothing may crash, hang, eat memory or lie.

    python tests/fuzz/fuzzing.py --cases 50000 --jobs 2

A child process uses the damaged files, one after another, within limits of memory and processor time; this one watches
it, notes what became of every case, and starts another child where one died. Cases are drawn from their numbers, so
that ``--first N --cases 1`` does one again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

MEMORY = 2 << 30  # bytes that a case may take
SECONDS = 10.0  # of processor time
# What a case may end with; everything else is a defect.
GOOD = ("refused", "error", "same", "different (other numbers)")


# -- the child --------------------------------------------------------------------------------------------------------
def use_cases(folder: Path, numbers: range) -> None:
    """Use the damaged files of these numbers; a line before and after each."""
    import numpy as np
    from damage import damage, take_apart
    from zoo import kinds

    from accord.exceptions import AccordError, ModelFileError

    warnings.simplefilter("ignore")
    tell = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a model with another verbose prints
    zoo = kinds()
    names = sorted(zoo)
    contents = {name: take_apart(folder / name) for name in names}
    path = Path(tempfile.mkdtemp(dir=folder)) / "damaged"
    expected = {}
    for name in names:
        path.write_bytes((folder / name).read_bytes())  # some are written again when they are used
        with np.errstate(all="ignore"):
            expected[name] = _plain(zoo[name].use(path))
    status = Path("/proc/self/status").read_text() if os.path.exists("/proc/self/status") else ""
    size = next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmSize")), 0)
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    for number in numbers:
        name = names[number % len(names)]
        case = damage(contents[name], number)
        path.write_bytes(case.data)
        print(json.dumps({"start": number, "name": name, "what": case.what}), file=tell, flush=True)
        try:
            with np.errstate(all="ignore"):
                found = _plain(zoo[name].use(path))
            same = found == expected[name]
            end = "same" if same else "different (other numbers)" if case.valid else "SILENTLY DIFFERENT"
            detail = ""
        except ModelFileError as error:
            end, detail = "refused", str(error)
        except (AccordError, RecursionError) as error:
            end, detail = "error", str(error)
        except MemoryError as error:
            end, detail = "MEMORY", repr(error)
        except Exception as error:
            end, detail = f"LEAK {type(error).__name__}", repr(error)
        print(json.dumps({"end": end, "detail": detail[:300]}), file=tell, flush=True)


def _plain(value: Any) -> Any:
    """A value that can be compared."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return sorted((repr(key), _plain(one)) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return repr(value)


# -- the watcher ------------------------------------------------------------------------------------------------------
class Watcher:
    """Cases of some numbers, used by children one after another."""

    def __init__(self, folder: Path, numbers: range) -> None:
        self.folder, self.numbers = folder, numbers
        self.ends: Counter[str] = Counter()
        self.bad: list[dict[str, Any]] = []
        self.current: dict[str, Any] | None = None

    def run(self) -> None:
        """Go through all numbers."""
        left = self.numbers
        while left:
            done = self._child(left)
            left = left[done:]

    def _child(self, numbers: range) -> int:
        """Start a child on these numbers; how many it is done with, the one that it died of included."""
        command = [sys.executable, __file__, "--folder", str(self.folder), "--child",
                   str(numbers.start), str(numbers.stop), str(numbers.step)]  # fmt: skip
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        errors: list[str] = []
        threading.Thread(target=lambda: errors.append(child.stderr.read()), daemon=True).start()  # type: ignore[union-attr]
        guard = threading.Thread(target=self._watch, args=(child,), daemon=True)
        guard.start()
        done = 0
        for line in child.stdout:  # type: ignore[union-attr]
            told = json.loads(line)
            if "start" in told:
                self.began, self.current = _processor_time(child.pid), told
            else:
                self._note(told["end"], told["detail"])
                done += 1
        code = child.wait()
        if self.current is not None:
            self._note("HANG" if getattr(self, "hung", False) else f"CRASH {code}", "".join(errors)[-300:])
            self.hung = False
            done += 1
        elif done < len(numbers):
            self.bad.append({"end": f"A CHILD ENDED WITH {code}", "detail": "".join(errors)[-3000:]})
            return done or len(numbers)
        return done

    def _note(self, end: str, detail: str) -> None:
        self.ends[end] += 1
        if end not in GOOD:
            self.bad.append({**(self.current or {}), "end": end, "detail": detail})
        self.current = None

    def _watch(self, child: subprocess.Popen[str]) -> None:
        while child.poll() is None:
            time.sleep(0.2)
            if self.current is not None and _processor_time(child.pid) - self.began > SECONDS:
                self.hung = True
                child.kill()


def _processor_time(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(n_cases: int, first: int = 0, n_jobs: int = 1, folder: Path | None = None) -> tuple[Counter[str], list[Any]]:
    """How so many cases ended, and those that should not end so."""
    from zoo import write_all

    with tempfile.TemporaryDirectory() as made:
        place = folder or Path(made)
        write_all(place)
        watchers = [Watcher(place, range(first + job, first + n_cases, n_jobs)) for job in range(n_jobs)]
        threads = [threading.Thread(target=watcher.run) for watcher in watchers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sum((w.ends for w in watchers), Counter()), [case for w in watchers for case in w.bad]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--child", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        use_cases(options.folder, range(*options.child))
        return
    ends, bad = run(options.cases, options.first, options.jobs, options.folder)
    for case in bad[:200]:
        print(json.dumps(case))
    print(f"{sum(ends.values()):,} damaged files:", ", ".join(f"{n:,} {end}" for end, n in ends.most_common()))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
