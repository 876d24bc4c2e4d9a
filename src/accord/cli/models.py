"""Model files: reading them, where they may be written, and what an interrupt leaves of them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from accord.cli.program import if_interrupted


def load_model(path: str, n_jobs: int | None = None) -> Any:
    """A fitted model, to be used with so many threads if that is said."""
    import accord

    fitted = accord.load(path)
    if n_jobs is not None:
        fitted.n_jobs = n_jobs
    return fitted


model_option, optional_model_option = (
    click.option(
        "--model", "--output", "-o", "model", required=required, type=click.Path(path_type=Path),
        help="File to write the model to.",
    )
    for required in (True, False)
)  # fmt: skip
seed_option = click.option(
    "--random-state", type=int, default=0, show_default=True, help="Seed; the same seed gives the same model."
)


def lost_if_interrupted(model: Path) -> AbstractContextManager[None]:
    """Around a training that keeps nothing when it is interrupted."""
    state = "is as it was before" if model.exists() else "was not written"
    return if_interrupted(f"the model is lost, and {model} {state}")
