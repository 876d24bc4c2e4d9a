"""``accord reproduce``: run an experiment of the papers."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import click

from accord.cli.program import debug_option, if_interrupted
from accord.exceptions import InputError


@click.command(short_help="Run an experiment of the papers.")
@click.argument("name", required=False)
@click.option("--list", "show_list", is_flag=True, help="List the experiments.")
@click.option("--quick", is_flag=True, help="A small version, to see that everything works.")
@click.option("--data", metavar="DIR", help="The local data folder.  [default: what ACCORD_DATA names]")
@click.option("--output", metavar="DIR", type=click.Path(path_type=Path),
              help="Where to write.  [default: accord-results/NAME, or NAME-quick]")  # fmt: skip
@click.option("--n-jobs", type=int, default=1, show_default=True, help="Processes.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Root of all random numbers.")
@click.option("--quiet", "-q", is_flag=True, help="No progress, not even on a terminal.")
@debug_option
def reproduce(name: str | None, show_list: bool, output: Path | None, quick: bool, quiet: bool, **options: Any) -> None:
    """Run the experiment NAME and write a report with the papers' figures beside ours.

    An interrupted run is continued by the same command: what is done is kept in the output folder.

    \b
    Examples:
      accord reproduce --list
      accord reproduce NAME --quick --data ~/data
    """
    from accord.experiments import REGISTRY

    if show_list:
        width = max((len(key) for key in REGISTRY), default=0)
        for key, experiment in REGISTRY.items():
            click.echo(f"{key:<{width}}  {experiment.title}")
        return
    if name is None:
        raise click.UsageError("Missing argument 'NAME'; `accord reproduce --list` shows the experiments.")
    if name not in REGISTRY:
        near = difflib.get_close_matches(name, REGISTRY, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(REGISTRY)}"
        raise InputError(f"there is no experiment {name!r}{hint}")
    experiment = REGISTRY[name]
    # a quick run has other settings, so it cannot go on in the folder of a full one
    folder = output or Path("accord-results") / (f"{name}-quick" if quick else name)
    click.echo(f"{experiment.title}\n{experiment.description}", err=True)
    with if_interrupted(f"what is done is kept in {folder}: run the same command again to go on"):
        written = experiment.run(output=folder, quick=quick, verbose=int(not quiet), **options)
    for path in written:
        click.echo(path)
