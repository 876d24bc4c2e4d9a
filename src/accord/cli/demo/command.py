"""The command ``accord demo``: plays the scenes, prints each, and writes them into one page."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click

from accord.cli.demo.scene import Scene
from accord.cli.program import debug_option
from accord.cli.terminal import note

TITLE = "Accord: one example of every kind of output"
_WIDTH = 100


@click.command(short_help="Show one example of every kind of output, on generated data; write a report.")
@click.option(
    "--output", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), default="accord-demo",
    show_default=True, help="Folder for the report.",
)  # fmt: skip
@click.option(
    "--repetitions", type=click.IntRange(min=1), default=5, show_default=True,
    help="Draws in the comparison with and without unlabeled examples.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the data and the learners."
)
@click.option("--n-jobs", type=int, default=2, show_default=True, help="Processes.")
@debug_option
def demo(output: Path, repetitions: int, seed: int, n_jobs: int) -> None:
    """Show one example of every kind of output, and write a report with pictures.

    A tagged sentence, a batch of mail, topics of a taxonomy, a parse tree, a cluster of records, a regression curve and
    a federated round, each learned from few labels, mostly with unlabeled examples besides; and at the end an honest
    count of where these helped.

    Needs no data and takes less than a minute, the first time longer than later: kernels are compiled then.

    \b
    Examples:
      accord demo
      accord demo --output /tmp/report --seed 1
    """
    from accord.cli.demo.scenes import SCENES, compare

    output.mkdir(parents=True, exist_ok=True)
    note("learning; the first run after installation compiles kernels, which takes most of a minute ...")
    played = []
    for scene in play([*SCENES, partial(compare, repetitions=repetitions)], seed, n_jobs):
        _print(scene)
        played.append(scene)
    page = _write(played, output, f"accord demo --repetitions {repetitions} --seed {seed}")
    click.echo(f"Report with pictures: {page.resolve()}")


def play(scenes: list[Callable[[int], Scene]], seed: int, n_jobs: int) -> Iterator[Scene]:
    """The scenes in their order, each as soon as it and those before it are done; several at the same time."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator")
    played: Iterator[Scene] = parallel(delayed(_play)(scene, seed) for scene in scenes)
    return played


def _play(scene: Callable[[int], Scene], seed: int) -> Scene:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):  # vectors are short, and waiting for threads costs more
        return scene(seed)


# -- output -------------------------------------------------------------------------------------------------------
def _print(scene: Scene) -> None:
    click.secho(scene.title, bold=True)
    click.echo("\n".join(textwrap.wrap(scene.lesson, _WIDTH)) + "\n")
    click.echo(textwrap.indent("\n\n".join(filter(None, (scene.text, scene.legend))), "  ") + "\n\n")


def _write(scenes: list[Scene], output: Path, command: str) -> Path:
    from accord.evaluation import Results
    from accord.evaluation.report import html_page, package_versions
    from accord.files import write_file

    intro = (
        "Accord learns from few labeled and many unlabeled examples. Below is one example of everything that it can "
        "predict, learned a moment ago from data that were made up for this page; what was learned stands above each "
        "picture, as it came out, for better or worse."
    )
    sections = [
        f"<section><h2>{html.escape(s.title)}</h2><p>{html.escape(s.lesson)}</p>{s.picture}{_legend(s)}</section>"
        for s in scenes
    ]
    versions = ", ".join(f"{name} {version}" for name, version in package_versions().items())
    made = (
        "<section><h2>How this was made</h2><dl>"
        f"<dt>command</dt><dd><code>{html.escape(command)}</code></dd>"
        f"<dt>versions</dt><dd>{html.escape(versions)}</dd></dl></section>"
    )
    body = "\n".join([f"<p>{intro}</p>", *sections, made])
    Results([row for s in scenes for row in s.figures]).to_csv(output / "results.csv")
    return write_file(output / "report.html", html_page(TITLE, body, _STYLE))


def _legend(scene: Scene) -> str:
    return f'<p class="quiet">{html.escape(scene.legend)}</p>' if scene.legend else ""


_STYLE = """
figure svg { max-width: 100%; height: auto; }
figure .accord-tree rect { fill: none; }
figure .accord-tree text, figure .accord-tree .word { fill: var(--ink); }
figure .accord-tree .tag { fill: var(--quiet); }
figure .accord-tree path { stroke: var(--quiet); }
.quiet { color: var(--quiet); margin: 1rem 0 .3rem; }
.tagged { line-height: 2; margin: 0; } .tagged dt { padding-top: .1rem; }
mark { color: inherit; background: var(--soft); border: 2px solid var(--line); border-radius: .35rem;
  padding: .1rem .35rem; white-space: nowrap; }
mark small { font-weight: 600; letter-spacing: .03em; }
mark.PER { border-color: #0072b2; } mark.LOC { border-color: #009e73; } mark.ORG { border-color: #d55e00; }
.records th, .records td { text-align: left; white-space: normal; } .records .same td { background: var(--soft); }
.records td:last-child { white-space: nowrap; }
.records thead th { background: none; } .records .kind th { color: var(--quiet); padding-top: .8rem; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .6rem; }
  .records th, .records td { padding: .3rem .4rem; }
}
"""
