"""``accord mail explain``: which features join a message to a batch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from accord.cli.mail.options import setting_options, take_settings
from accord.cli.program import debug_option
from accord.cli.terminal import computing, print_pairs, print_table
from accord.exceptions import InputError
from accord.mail.config import DetectorSettings

if TYPE_CHECKING:
    from accord.mail.detector import BatchDetector

_DEFAULTS = vars(DetectorSettings())


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
    filled with other mail first (--among). Neither is changed. Times are what `accord mail detect` takes them for.

    The similarity of two messages is a sum of weighted features. A message joins the batch with the largest sum over
    its members, if that is not negative; the table shows what each feature brings to it.

    \b
    Examples:
      accord mail explain message.eml --state /var/lib/accord/window
      accord mail explain message.eml --among archive.mbox --top 30
    """
    flags = {key.rpartition("__")[2] for key, value in options.items() if value is not None}
    settings = take_settings(options).detector
    if not settings.state and not among:
        raise click.UsageError("there is nothing to compare with: give --state FILE or --among PATH")
    with computing():
        from accord.cli.mail.detect import Clock
        from accord.mail.message import parse
        from accord.mail.report import message_time
        from accord.mail.service import open_detector
        from accord.mail.sources import iter_mail, iter_sources
        from accord.progress import Progress

        detector = _restored(settings, flags) if settings.state else open_detector(settings, "b")
        clock = Clock(detector.last_received)
        with Progress(None, "messages") as progress:
            for _, raw in iter_sources(among):
                known = parse(raw)
                detector.assign(known, clock(message_time(known)))
                progress.advance()
        found = list(iter_mail(message))
        if len(found) != 1:
            raise InputError(f"{message} holds {len(found):,} messages; expected a single one")
        asked = parse(found[0][1])
        explanation = detector.explain(asked, clock(message_time(asked)))
    if as_json:
        from accord.mail.service import plain

        click.echo(json.dumps(plain(explanation), ensure_ascii=False))
    else:
        _print(explanation, top, detector)


def _restored(settings: DetectorSettings, flags: set[str]) -> BatchDetector:
    """The detector of a state, with the settings that are given by flags or differ from the defaults."""
    import accord
    from accord.mail.detector import BatchDetector
    from accord.mail.model import same_similarity, similarity_of

    given = {name for name in vars(settings) if name in flags or getattr(settings, name) != _DEFAULTS[name]}
    detector = BatchDetector.restore(settings.state)
    if "window" in given and settings.window != detector.window:
        raise InputError(
            f"--window {settings.window}, but {settings.state} has a window of {detector.window}; leave out --window"
        )
    if "model" in given:
        model = similarity_of(accord.load(settings.model) if settings.model else None)
        if not same_similarity(model, detector.similarity):
            raise InputError(f"--model {settings.model}, but {settings.state} was made with another; leave out --model")
    if "min_words" in given:
        detector.min_words = settings.min_words
    if "max_age" in given:
        detector.max_age = settings.max_age or None
    return detector


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
