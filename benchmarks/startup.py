"""How long people wait before anything happens: processor time of short commands, warm and after installation.

    python benchmarks/startup.py [--repeat 7] [--cold]

Warm: `accord predict` of one sentence with a saved CRF against ``import sklearn.linear_model``, in turn, best of some.
Cold: training on 20 sentences and predicting with no compiled kernels, and what each kernel costs to compile.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = "from accord.cli import main; main(prog_name='accord')"
IMPORT = "import sklearn.linear_model"
DATA = (
    "from accord.datasets import embedded_ner, write_conll; write_conll('few.conll', *embedded_ner(20, random_state=0))"
)
KERNELS = """
import json, sys, time
from numba.core import event

class Compiled(event.Listener):
    stack, found = [], []
    def on_start(self, e):
        self.stack.append((time.process_time(), []))
    def on_end(self, e):
        start, inner = self.stack.pop()
        total, f = time.process_time() - start, e.data["dispatcher"].py_func
        for times in [t for _, t in self.stack[-1:]]:
            times.append(total)
        self.found.append((total - sum(inner), total, f"{f.__module__}.{f.__name__}", len(self.stack)))

with event.install_listener("numba:compile", Compiled()):
    import accord
    from accord.datasets import read_conll
    X, Y = read_conll("few.conll")
    accord.CRF(accord.Sequence(), random_state=0).fit(X, Y).predict(X[:2])
print(json.dumps(Compiled.found))
"""


def run(code: str, *arguments: str, stdin: str = "", **variables: str) -> tuple[float, str]:
    """Processor seconds of a new Python, and what it prints."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | variables
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


def warm(repeat: int) -> None:
    """Print the best of several runs."""
    run(PROGRAM, "train", "few.conll", "-o", "tagger.accord")
    times: dict[str, list[float]] = {"accord predict": [], IMPORT: []}
    for _ in range(repeat + 1):  # the first one fills caches
        times["accord predict"].append(run(PROGRAM, "predict", "tagger.accord", stdin="Tom comes from London .\n")[0])
        times[IMPORT].append(run(IMPORT)[0])
    best = {name: min(found[1:]) for name, found in times.items()}
    for name, seconds in best.items():
        print(f"{seconds:6.2f} s  {name}")
    print(f"{best['accord predict'] / best[IMPORT]:6.2f}    ratio")


def cold() -> None:
    """Print the time of a first run, and of each kernel."""
    with tempfile.TemporaryDirectory() as cache:
        first = run(PROGRAM, "train", "few.conll", "-o", "tagger.accord", NUMBA_CACHE_DIR=cache)[0]
        second = run(PROGRAM, "predict", "tagger.accord", stdin="Tom left .\n", NUMBA_CACHE_DIR=cache)[0]
    print(f"{first:6.2f} s  first accord train\n{second:6.2f} s  first accord predict after it")
    with tempfile.TemporaryDirectory() as cache:
        found = json.loads(run(KERNELS, NUMBA_CACHE_DIR=cache)[1])
    print("\n   own   with all it calls")
    for own, total, name, depth in sorted(found, reverse=True):
        print(f"{own:6.2f} {total:6.2f}  {'  ' * depth}{name}")


def main() -> None:
    """Run it in an empty folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--cold", action="store_true", help="compile everything anew, too; takes a minute")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1] / "src")
        os.chdir(folder)
        run(DATA)
        warm(options.repeat)
        if options.cold:
            cold()


if __name__ == "__main__":
    main()
