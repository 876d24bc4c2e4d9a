"""Model files: reading them, where they may be written, and what an interrupt leaves of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accord.cli.program import Interrupted
from accord.exceptions import ModelFileError


def load_model(path: str, n_jobs: int | None = None) -> Any:
    """A fitted model, to be used with so many threads if that is said."""
    import accord

    fitted = accord.load(path)
    if n_jobs is not None:
        fitted.n_jobs = n_jobs
    return fitted


def check_place(model: Path) -> None:
    """Whether a model can be written there: before all work, not after."""
    if model.is_dir() or not model.parent.is_dir():
        what = "is a folder, not a file" if model.is_dir() else "cannot be written: its folder does not exist"
        raise ModelFileError(f"--model {model} {what}")


@contextmanager
def lost_if_interrupted(model: Path) -> Iterator[None]:
    """Around a training that keeps nothing when it is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        state = "is as it was before" if model.exists() else "was not written"
        raise Interrupted(f"the model is lost, and {model} {state}") from None
