"""``accord bench``: measure Accord beside other tools. The benchmarks are part of a checkout, not of the package."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click

from accord.cli.program import Failure, debug_option

_SCRIPT = Path("benchmarks", "run.py")
_ENVIRONMENT = Path(".venv-bench", "bin", "python")


@click.command(short_help="Measure Accord beside other tools.", context_settings={"ignore_unknown_options": True})
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@debug_option
def bench(args: tuple[str, ...]) -> None:
    """Run the benchmarks of a checkout; ARGS go to its benchmarks/run.py.

    They compare Accord with other tools, which need an environment of their own. `make bench` makes it and runs them;
    afterwards this command does, too. Data are read from the folder that ACCORD_DATA names.

    \b
    Examples:
      accord bench
      accord bench -- --help
    """
    root = find_checkout()
    if root is None:
        raise Failure("the installed package has no benchmarks: clone the repository and run `make bench` there")
    python = root / _ENVIRONMENT
    if not python.exists():
        raise Failure(f"the tools to compare with are not installed yet: run `make bench` in {root}, which does that")
    done = subprocess.run([str(python), str(root / _SCRIPT), *args], check=False)
    if done.returncode:
        raise Failure(f"{_SCRIPT} ended with exit code {done.returncode}")


def find_checkout() -> Path | None:
    """The checkout that the working directory is in, or else that this file is in."""
    starts = [Path.cwd(), Path(__file__).resolve().parent]
    folders = [folder for start in starts for folder in (start, *start.parents)]
    return next((f for f in folders if (f / _SCRIPT).is_file() and (f / "src" / "accord").is_dir()), None)
