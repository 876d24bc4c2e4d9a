"""``accord mail detect``: the batches in stored mail."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click

from accord.cli.mail.options import setting_options, take_settings
from accord.cli.outputs.results import counted
from accord.cli.places import check_outputs
from accord.cli.program import Interrupted, debug_option
from accord.cli.terminal import computing, print_table

DAY = 86400.0
_COLUMNS = ("name", "batch", "size", "is_new", "short", "similarity", "score", "sender", "subject")
_OUTPUTS = {"--json": "json_file", "--csv": "csv_file", "--html": "html"}


@click.command(short_help="Find the batches in mbox files, Maildirs, folders, archives.")
@click.argument("paths", nargs=-1)
@click.option("--json", "json_file", metavar="FILE", help="Write a JSON line per message; - is standard output.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write a table with a row per message; - is standard output.")
@click.option(
    "--html", metavar="FILE", help="Write a report of the batches, one self-contained page; - is standard output."
)
@click.option("--min-size", type=click.IntRange(min=1), default=2, show_default=True,
              help="Batches with fewer messages are counted, but not shown.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True,
              help="Batches in the printed table; the report has ten times as many.")  # fmt: skip
@setting_options(names=tuple(f"detector.{name}" for name in
                             ("model", "window", "max_age", "min_words", "spam_filter", "state")))  # fmt: skip
@debug_option
def detect(paths: tuple[str, ...], **options: Any) -> None:
    """Find the batches in PATHS, in the order in which the messages are stored.

    A path is an mbox file, a Maildir, a folder of messages, a tar archive of them, a single message, or - (the
    default) for standard input, an mbox or one message. Messages are read one at a time. Files may be compressed by
    gzip, bzip2 or xz. Those in a folder that cannot be read are skipped with a warning.

    The table shows the largest batches. Standard output is left to --json -, --csv - or --html -, if one is given.
    With --state, the window of an earlier run is gone on with, and kept for the next.

    --max-age goes by the messages' dates. A message without one is taken to be of the time of the one before, a date
    is never later than now, and one message alone does not move the time by more than a day.

    \b
    Examples:
      accord mail detect archive.mbox
      accord mail detect ~/Maildir --html report.html --csv messages.csv
      cat archive.mbox | accord mail detect --json - | jq .batch
      accord mail detect spam.tar.xz --window 20000 --min-size 10
    """
    settings = take_settings(options).detector
    paths = paths or ("-",)
    targets = {flag: options[name] for flag, name in _OUTPUTS.items()}
    if list(targets.values()).count("-") > 1:
        both = " and ".join(f"{flag} -" for flag, target in targets.items() if target == "-")
        raise click.UsageError(f"{both} would both write to standard output")
    check_outputs(targets | {"--state": settings.state}, (*paths, settings.model, settings.spam_filter))
    with computing(), ExitStack() as stack:
        from accord.mail.service import open_detector, open_filter

        run = Detection(open_detector(settings, "b"), open_filter(settings), with_reasons=bool(options["html"]))
        writers = _writers(options, stack)
        interrupted = not _read(run, paths, writers)
    try:
        if options["html"]:
            remark = "Interrupted: not all messages were read." if interrupted else ""
            _write_report(run, options, ["standard input" if path == "-" else path for path in paths], remark)
        if "-" not in targets.values():
            _print(run, options)
    finally:  # the reader of the table may have left
        if settings.state:
            run.detector.save(settings.state)
    if interrupted:
        raise Interrupted(f"what was found in {run.n_messages:,} messages is written")


class Clock:
    """When stored messages came, by their dates, which may be missing or forged.

    A message without a date came when the one before did, and none before the last. A date more than a day away from
    that counts only if the next date agrees with it. `now` is the time to begin with.
    """

    def __init__(self, now: float | None = None) -> None:
        self._now, self._doubted = now, None  # type: float | None, float | None

    def __call__(self, date: float | None) -> float | None:
        """The time of the next message; None if nothing is known yet."""
        if date is None:
            return self._now
        date = min(date, time.time())
        doubted, self._doubted = self._doubted, None
        if self._now is None or (doubted is not None and abs(date - doubted) <= DAY):
            self._now = date
        elif abs(date - self._now) <= DAY:
            self._now = max(self._now, date)
        else:
            self._doubted = date
        return self._now


class Detection:
    """Assigns messages, and keeps a summary of every batch."""

    def __init__(self, detector: Any, spam_filter: Any = None, with_reasons: bool = False) -> None:
        self.detector, self.spam_filter, self.with_reasons = detector, spam_filter, with_reasons
        self.clock = Clock(detector.last_received)
        self.n_messages = self.n_short = self.n_bare = 0
        self.batches: dict[str, Any] = {}

    def __call__(self, name: str, raw: bytes) -> dict[str, Any]:
        """Assign a message; what is written about it."""
        from accord.mail.message import parse
        from accord.mail.report import BatchSummary, clean, message_time

        message = parse(raw)
        signature = self.detector.sign(message)
        received = self.clock(message_time(message))
        asked = self.with_reasons and self._explained(signature, received)
        found = replace(self.detector.assign_detailed(signature, received), message=message)
        score = None if self.spam_filter is None else float(self.spam_filter.decision(found))
        summary = self.batches.setdefault(found.batch, BatchSummary(found.batch))
        summary.add(name, message, score)
        if asked and asked.batch == found.batch and not found.is_new:
            summary.explain(asked.contributions, asked.n_members)
        self.n_messages += 1
        self.n_short += found.short
        self.n_bare += not message.headers
        similarity = None if found.similarity == float("-inf") else round(found.similarity, 6)
        values = (name, found.batch, found.size, found.is_new, found.short, similarity, score,
                  clean(message.sender), clean(message.subject))  # fmt: skip
        return dict(zip(_COLUMNS, values))

    def _explained(self, signature: Any, received: float | None) -> Any:
        """Why a message would join, asked before it does, for the first few members of a batch."""
        asked = self.detector.explain(signature, received)
        known = self.batches.get(asked.batch)
        return asked if asked.joins and known is not None and known.wants_reasons else None

    def largest(self, min_size: int) -> list[Any]:
        """Batches of at least so many messages, the largest first."""
        shown = [batch for batch in self.batches.values() if batch.size >= min_size]
        return sorted(shown, key=lambda batch: -batch.size)


def _read(run: Detection, paths: tuple[str, ...], writers: list[Callable[[dict[str, Any]], object]]) -> bool:
    """Assign all messages; False if Ctrl-C ended it."""
    from accord.mail.sources import iter_sources
    from accord.progress import Progress

    with Progress(None, "messages") as progress:
        try:
            for name, raw in iter_sources(paths):
                row = run(name, raw)
                for write in writers:
                    write(row)
                progress.advance()
        except KeyboardInterrupt:
            return False
    return True


def _writers(options: dict[str, Any], stack: ExitStack) -> list[Callable[[dict[str, Any]], object]]:
    out: list[Callable[[dict[str, Any]], object]] = []
    if options["json_file"]:
        stream = stack.enter_context(_open(options["json_file"]))
        out.append(lambda row: stream.write(json.dumps(row, ensure_ascii=False) + "\n"))
    if options["csv_file"]:
        table = csv.DictWriter(stack.enter_context(_open(options["csv_file"])), _COLUMNS)
        table.writeheader()
        out.append(lambda row: table.writerow({key: _no_formula(value) for key, value in row.items()}))
    return out


def _open(name: str) -> Any:
    # names of files may be no UTF-8; in JSON the escapes are read as what Python makes of such names
    return click.open_file(name, "w", encoding="utf-8", errors="backslashreplace")


def _no_formula(value: Any) -> Any:
    """Spreadsheets run cells that begin like a formula, and subjects come from strangers."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


# -- what people see ------------------------------------------------------------------------------------------------
def _print(run: Detection, options: dict[str, Any]) -> None:
    largest = run.largest(options["min_size"])
    inside = sum(batch.size for batch in largest)
    if not run.n_messages:
        click.echo(
            "no messages found; expected mbox files, Maildirs, folders of messages, tar or zip archives", err=True
        )
        return
    told = f"{counted(run.n_messages, 'message')} in {len(run.batches):,} batch{'es' * (len(run.batches) != 1)}"
    if largest:
        n_largest = f"{len(largest):,} batch{'es' * (len(largest) != 1)}"
        told += f"; {n_largest} of at least {options['min_size']:,} hold{'s' * (len(largest) == 1)} {inside:,} of them"
    else:
        told += f"; none of at least {options['min_size']:,}"
    if run.n_short:
        told += f"; {counted(run.n_short, 'message')} with too little text to be compared"
    click.echo(told)
    if run.n_bare:
        n_bare = counted(run.n_bare, "message")
        click.echo(f"{n_bare} without any header, read as plain text: is that mail?", err=True)
    rows = list(_rows(largest[: options["top"]], run.spam_filter is not None))
    if rows:
        columns = ["batch", "subject", "sender", "messages", "subjects", "senders", "first", "last"]
        print_table("", columns + ["spam score"] * (run.spam_filter is not None), rows, left=3)
    if len(largest) > options["top"]:
        rest = len(largest) - options["top"]
        click.echo(f"{rest:,} more are not shown; --top N shows more, --html FILE ten times as many")


def _rows(batches: list[Any], with_score: bool) -> Iterator[list[str]]:
    from accord.mail.report import MOST_KEPT, time_text

    def number(counter: Any) -> str:
        return f"{len(counter)}{'+' if len(counter) == MOST_KEPT else ''}"

    for batch in batches:
        subject, sender = (counter.most_common(1)[0][0][:60] for counter in (batch.subjects, batch.senders))
        row = [batch.batch, subject, sender, f"{batch.size:,}", number(batch.subjects), number(batch.senders)]
        row += [time_text(batch.first), time_text(batch.last)]
        yield row + ([] if not with_score else [f"{batch.score:.3f}"])


def _write_report(run: Detection, options: dict[str, Any], sources: Sequence[str], remark: str) -> None:
    from accord.mail.report import html_report

    shown = run.largest(options["min_size"])[: 10 * options["top"]]
    page = html_report(shown, run.n_messages, len(run.batches), sources, remark)
    with _open(options["html"]) as stream:
        stream.write(page)
