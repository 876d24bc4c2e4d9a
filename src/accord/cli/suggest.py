"""``accord suggest``: which examples of a file to label next."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from accord.cli.data.batch import is_hidden
from accord.cli.data.layout import TABLES, TITLES, Layout, layout_of, reading_options, take_reading_options
from accord.cli.data.reading import load
from accord.cli.help import GroupedCommand
from accord.cli.models import load_model, seed_option, source_options
from accord.cli.option_types import Choice
from accord.cli.places import check_outputs
from accord.cli.program import debug_option
from accord.cli.terminal import computing, note, quiet_option, set_encoding
from accord.exceptions import FormatError, InputError
from accord.labeling.strategies import STRATEGIES

_GROUPS = {
    "Choice": ("n", "strategy", "unit"),
    "Data": ("format",),
    "Output": ("output", "prefill"),
    "Running": ("random_state", "quiet"),
}
_OPEN, _NOT_ASKED = "_", "?"  # labels of CoNLL columns: to be filled in, and not asked about


@click.command(cls=GroupedCommand, groups=_GROUPS, titles=TITLES, short_help="Choose what to label next.")
@click.argument("model")
@click.argument("data", default="-")
@click.option("--n", "-n", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--strategy", type=Choice(("auto", *STRATEGIES)), default="auto", show_default=True,
    help="What to look for. " + "; ".join(f"{name}: {one.looks_for}" for name, one in STRATEGIES.items()) + ".",
)  # fmt: skip
@click.option(
    "--unit", type=Choice(("example", "part")), default="example", show_default=True,
    help="Whole examples, or parts: uncertain spans of sentences, which cost the fewest labels; brackets of trees.",
)  # fmt: skip
@click.option("--prefill", is_flag=True, help="Write what the model predicts, to be corrected, instead of no label.")
@click.option("--output", "-o", default="-", show_default=True, help="File to write to; - is standard output.")
@seed_option
@quiet_option
@source_options
@reading_options
@debug_option
def suggest(model: str, data: str, **options: Any) -> None:
    """Choose the examples of DATA that teach MODEL most, if they are labeled next. DATA is a file, or - (the default)
    for standard input.

    \b
    Sequences   CoNLL columns, "_" where a label is to be filled in; with
                --unit part "?" where nothing is asked, and so afterwards
                `accord train --unknown-label ?`.
    Trees       the words of the sentence, a line each; with --prefill the
                predicted tree.
    Classes and numbers, texts and tables
                the lines as they came, header included.
    Records     pairs of a `accord dedupe` model: a column "same" to be
                filled in (yes or no), and the fields of both.

    Examples of DATA that have labels are left out, unless all have. Standard error says why each was chosen.

    \b
    Examples:
      accord suggest names.accord unlabeled.txt -n 20 > next.conll
      accord suggest names.accord unlabeled.txt --unit part > next.conll
      accord suggest topics.accord posts.csv -n 50 -o next.csv
      accord suggest dedupe.accord table.csv -n 10 > pairs.csv
    """
    from accord import suggest as choose
    from accord.dedupe.deduplicator import Deduplicator

    reading = take_reading_options(options)
    settings = {name: options[name] for name in ("strategy", "unit", "random_state")}
    with computing():
        fitted = load_model(model, **options)
        check_outputs({"--output": options["output"]}, (model, data))
        write: Callable[[list[Any]], str]
        if isinstance(fitted, Deduplicator):
            X, write, encoding = _records(data, reading)
            known: list[int] = []
        else:
            layout = layout_of(fitted, reading, data)
            X, write, encoding, known = _examples(fitted, layout, data, options["prefill"])
        found = choose(fitted, X, options["n"], labeled=known, **settings)
    _put(write(found), options["output"], encoding)
    for one in found:
        where = f"{one.part[0] + 1} and {one.part[1] + 1}" if isinstance(fitted, Deduplicator) else one.index + 1
        note(f"{where}: {one.reason}")


def _put(text: str, output: str, encoding: str) -> None:
    from accord.datasets.formats.source import open_target

    if output == "-":
        set_encoding(encoding)
    with open_target(output, encoding) as stream:
        stream.write(text)


def _examples(
    model: Any, layout: Layout, data: str, prefill: bool
) -> tuple[Any, Callable[[list[Any]], str], str, list[int]]:
    """Inputs, how the chosen ones are written, and which have labels already."""
    from accord.cli.data.targets import read_again

    if layout.format == "parquet":
        raise InputError("suggestions are written as text, which Parquet is not; give the table as CSV")
    kept = read_again(data, layout.encoding)
    batch = load(layout, kept, labeled=False)
    if not batch.Y:
        raise InputError(f"{data} has no examples")
    Y = batch.Y
    if layout.format == "conll":
        with suppress(FormatError):  # a column of labels may be there or not
            Y = load(layout, kept).Y
    known = [i for i, y in enumerate(Y) if not is_hidden(y)]
    known = known if len(known) < len(Y) else []
    if layout.task.of_tokens and batch.tokens is not None:
        sentences = batch.tokens
        trees = layout.task.labeled_format == "treebank"

        def write(found: list[Any]) -> str:
            X = [batch.X[one.index] for one in found]
            guesses = model.predict(X) if prefill else [None] * len(found)
            words = [sentences[one.index] for one in found]
            write_one = _tree if trees else _columns
            return "".join(map(write_one, words, guesses, [one.part for one in found]))

        return batch.X, write, layout.encoding, known
    return batch.X, lambda found: _as_they_came(layout, kept, len(batch.Y), found), layout.encoding, known


def _columns(tokens: list[str], guess: Any, part: Any) -> str:
    """CoNLL columns of a sentence."""
    labels = [_OPEN] * len(tokens) if guess is None else guess
    if part is not None:
        labels = [label if part[0] <= t < part[1] else _NOT_ASKED for t, label in enumerate(labels)]
    return "".join(f"{token}\t{label}\n" for token, label in zip(tokens, labels)) + "\n"


def _tree(words: list[str], guess: Any, part: Any) -> str:
    from accord.datasets.trees import bracketed

    return (" ".join(words) if guess is None else bracketed(guess)) + "\n"


def _as_they_came(layout: Layout, source: Any, n: int, found: list[Any]) -> str:
    """Lines of texts, rows of tables with their header, in the order of the suggestions."""
    import csv
    import io

    from accord.cli.data.targets import delimiter_of
    from accord.datasets.formats.source import iter_lines

    lines = [line.rstrip("\r\n") for line in iter_lines(source, layout.encoding)]
    head: list[str] = []
    if layout.format == "csv":
        delimiter = delimiter_of(layout, lines[0] if lines else "")
        rows = [row for row in csv.reader((f"{line}\n" for line in lines), delimiter=delimiter) if row]

        def written(row: list[str]) -> str:
            text = io.StringIO()
            csv.writer(text, delimiter=delimiter, lineterminator="").writerow(row)
            return text.getvalue()

        lines = [written(row) for row in rows]
        head, lines = lines[: len(lines) - n], lines[len(lines) - n :]
    elif layout.format in (*TABLES, "svmlight"):
        lines = [line for line in lines if line.strip() and not line.startswith("#")]
    return "".join(f"{line}\n" for line in [*head, *(lines[one.index] for one in found)])


def _records(data: str, reading: dict[str, Any]) -> tuple[Any, Callable[[list[Any]], str], str]:
    """Records of a table, and how pairs of them are written."""
    from accord.datasets.formats.record_table import format_records, read_records

    encoding = reading.get("encoding", "utf-8")
    table = read_records(data, reading.get("delimiter"), encoding)

    def write(found: list[Any]) -> str:
        names = [f"{name} {k}" for name in table.names for k in (1, 2)]
        rows = []
        for one in found:
            a, b = one.part
            both = [cell for pair in zip(table.rows[a], table.rows[b]) for cell in pair]
            rows.append(["", str(a + 1), str(b + 1), *both])
        return format_records(["same", "row 1", "row 2", *names], rows, reading.get("delimiter") or ",")

    return table.records(), write, encoding
