"""``accord mail explain``: which features join a message to a batch."""

from __future__ import annotations

import json
from typing import Any

import click

from accord.cli.mail_options import setting_options, take_settings
from accord.cli.program import debug_option
from accord.cli.terminal import computing, print_pairs, print_table
from accord.exceptions import InputError


@click.command(short_help="Which features join a message to a batch.")
@click.argument("message", default="-")
@click.option(
    "--among", metavar="PATH", multiple=True,
    help="Mail that the window is filled with first: whatever `accord mail detect` reads. Repeatable.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=15, show_default=True, help="Features shown.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object instead of a table.")
@setting_options(names=tuple(f"detector.{name}" for name in ("model", "window", "max_age", "min_words", "state")))
@debug_option
def explain(message: str, among: tuple[str, ...], top: int, as_json: bool, **options: Any) -> None:
    """Tell which batch MESSAGE (a file, or - for standard input) would join, and why.

    What it is compared with is a window: that of a running service, from its state file (--state), or one that is
    filled with other mail first (--among). Neither is changed.

    The similarity of two messages is a sum of weighted features. A message joins the batch with the largest sum over
    its members, if that is not negative; the table shows what each feature brings to it.

    \b
    Examples:
      accord mail explain message.eml --state /var/lib/accord/window
      accord mail explain message.eml --among archive.mbox --top 30
    """
    settings = take_settings(options).detector
    if not settings.state and not among:
        raise click.UsageError("there is nothing to compare with: give --state FILE or --among PATH")
    with computing():
        from accord.datasets.formats.mail import iter_mail
        from accord.mail.detector import BatchDetector
        from accord.mail.service import open_detector
        from accord.progress import Progress

        detector: BatchDetector
        if settings.state:
            detector = BatchDetector.restore(settings.state)
        else:
            detector = open_detector(settings, "b")
        with Progress(None, "messages") as progress:
            for path in among:
                for _, raw in iter_mail(path):
                    detector.assign(raw)
                    progress.advance()
        found = list(iter_mail(message))
        if len(found) != 1:
            raise InputError(f"{message} holds {len(found):,} messages; expected a single one")
        explanation = detector.explain(found[0][1])
    if as_json:
        from accord.mail.service import plain

        click.echo(json.dumps(plain(explanation), ensure_ascii=False))
    else:
        _print(explanation, top, detector)


def _print(explanation: Any, top: int, detector: Any) -> None:
    if explanation.batch is None:
        short = f"has fewer than {detector.min_words} words, no link and no attachment"
        why = short if explanation.short else "has nothing to be compared with: the window is empty"
        click.echo(f"The message {why}; it would open a batch of its own.")
        return
    verdict = "joins it" if explanation.joins else "opens a batch of its own"
    print_pairs(
        f"The message {verdict}.",
        [
            ("nearest batch", explanation.batch),
            ("its members in the window", f"{explanation.n_members:,}"),
            ("similarity to all of them", f"{explanation.similarity:+.4f}"),
        ],
    )
    parts = list(explanation.contributions.items())
    rows = [[name, f"{value:+.4f}", f"{value / explanation.n_members:+.4f}"] for name, value in parts[:top]]
    if len(parts) > top:
        rest = sum(value for _, value in parts[top:])
        rows.append([f"{len(parts) - top} others", f"{rest:+.4f}", f"{rest / explanation.n_members:+.4f}"])
    rows.append(["sum", f"{explanation.similarity:+.4f}", f"{explanation.similarity / explanation.n_members:+.4f}"])
    print_table("", ["feature", "contribution", "per member"], rows, sections=(len(rows) - 2,))
