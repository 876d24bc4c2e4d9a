"""How a data file is laid out, as options say it, and what a model remembers of the file that it was trained on.

A model trained here carries ``input_``, a dict of plain values, so that `predict` and `evaluate` read new files the
same way (which columns are features, which of them hold words). Models saved from Python have none; their view tells
enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePath
from typing import Any

import click

from accord.cli.option_types import COLUMN, LENGTHS, NAMES, Choice, flag
from accord.cli.outputs.views import input_view, sees_texts
from accord.cli.tasks import MULTICLASS, SEQUENCE, Task, task_of, task_of_format
from accord.cli.terminal import note

FORMATS = ("conll", "text", "csv", "jsonl", "parquet", "svmlight", "treebank")
TABLES = ("csv", "jsonl", "parquet")  # if the task is not one of tokens
_EXTENSIONS = {
    **dict.fromkeys((".conll", ".conllu", ".iob", ".iob2", ".bio", ".col"), "conll"),
    **dict.fromkeys((".txt", ".text", ".tok"), "text"),
    ".csv": "csv",
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".mrg", ".ptb", ".trees", ".brackets", ".parse"), "treebank"),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
}


def _option(default: Any = None, switch: str = "", remembered: bool = True, **settings: Any) -> Any:
    """A field, its option if there is help for it (`switch`: which says no), and whether a model remembers it."""
    return field(default=default, metadata={"switch": switch, "remembered": remembered, "settings": settings})


@dataclass(frozen=True)
class Layout:
    """How to read a file; None means not known or not given. Options that most commands share are declared here."""

    task: Task
    # fmt: off
    format: str | None = _option(
        type=Choice(FORMATS), help="Format of the data.  [default: by the file's name]")
    token_column: int | None = _option(type=int, help="CoNLL: column of the token.  [default: 0]")
    label_column: int | str | None = _option(
        type=COLUMN,
        help="CoNLL and tables: column of the label, by number or name.  [default: in tables the one that is called "
        "label, class, category or the like; else -1, the last]")
    feature_columns: tuple[int, ...] | None = _option(
        type=LENGTHS,
        help="CoNLL: features are the token and these columns (numbers from 0, such as 1,2), and no others.")
    unknown_label: str | None = _option(
        metavar="TEXT",
        help="Label that stands for no label, also of single tokens of a sentence, such as ?.  [default: none]")
    columns: int | None = _option(
        remembered=False, type=int, help="CoNLL: number of columns.  [default: as in the first line]")
    tokenizer: str | None = _option(
        type=click.Choice(["words", "blanks"]),
        help="Text: how sentences are cut into tokens. words: as a treebank does, but text whose commas and full stops "
        "stand alone already is left as it is; blanks: at blanks.  [default: words]")
    comment: str | None = _option(metavar="TEXT", help="CoNLL: drop lines that start with this.")
    header: bool | None = _option(switch="--no-header", help="CSV: whether there is a header.  [default: found out]")
    delimiter: str | None = _option(remembered=False, help="CSV: separator of cells.  [default: found out]")
    categorical: tuple[str, ...] | None = _option(
        type=NAMES, help="Tables: columns that hold words.  [default: found out]")
    text_columns: tuple[str, ...] | None = _option(
        type=NAMES, help="Tables: columns of free text.  [default: found out]")
    node_column: int | str | None = _option(
        type=COLUMN,
        help="Tables whose rows have links: column of the row's name.  [default: that with names of --links]")
    link_column: int | str | None = _option(
        type=COLUMN,
        help="Tables: column of the names of rows that this one is linked with, blanks or commas between them.")
    feature_names: tuple[str, ...] | None = _option()
    left_out: tuple[str, ...] | None = _option()  # columns of a table that only name its rows
    zero_based: bool | None = _option(
        switch="--one-based", help="svmlight: number of the first feature.  [default: 1]")
    n_features: int | None = _option(type=int, help="svmlight: number of features.  [default: found out]")
    clean: bool | None = _option(
        switch="--no-clean", help="Treebanks: strip function tags and traces.  [default: as in training; no]")
    max_length: int | None = _option(
        remembered=False, type=click.IntRange(min=1),
        help="Treebanks: leave out sentences of more words.  [default: none]")
    encoding: str = _option("utf-8", remembered=False, show_default=True, help="Encoding of the data.")
    # fmt: on

    def for_file(self, source: str, otherwise: str) -> Layout:
        """The same with the format settled: as given, by the file's name, or `otherwise`."""
        task = self.task
        found = self.format or guess_format(source, task.of_tokens) or otherwise
        if found not in task.formats:
            known = ", ".join(task.formats)
            raise click.UsageError(f"{task.outputs} are read from {known} files, not from {found}; see --format")
        if self.feature_columns and found != "conll":
            raise click.UsageError("--feature-columns are columns of a CoNLL file; give one, with --format conll")
        if self.text_columns and found not in TABLES and not (found == "text" and self.holds_one_text):
            raise click.UsageError("--text-columns are columns of a table; give one, with --format csv")
        if self.named and (found not in TABLES or task.numeric):
            raise click.UsageError("links are between rows of a table that have classes; give one, with --format csv")
        if self.link_column is not None and self.node_column is None:
            raise click.UsageError("--link-column has names of other rows; say by --node-column where their names are")
        if self.unknown_label is not None and not task.hides_labels:
            raise click.UsageError(f"--unknown-label is a label of tokens or examples; {task.outputs} have none")
        return replace(self, format=found)

    @property
    def is_table(self) -> bool:
        """Whether the file has columns of features, whose kinds are found out."""
        return (self.format in TABLES or self.holds_one_text) and not self.task.of_tokens

    @property
    def holds_one_text(self) -> bool:
        """Whether an example is one text, as a model knows: then lines of text will do."""
        return self.feature_names is not None and len(self.free_texts) == len(self.feature_names) == 1

    @property
    def named(self) -> tuple[int | str, ...]:
        """Columns of names of nodes, and of those that they are linked with; they are the first of all texts."""
        return tuple(column for column in (self.node_column, self.link_column) if column is not None)

    @property
    def free_texts(self) -> tuple[str, ...]:
        """Columns of free text to learn from."""
        return tuple(name for name in self.text_columns or () if name not in self.named)

    @property
    def target(self) -> int | str:
        """The column of labels."""
        return -1 if self.label_column is None else self.label_column

    @property
    def view(self) -> str:
        """Which view fits; tables with words or texts in them are found out later."""
        if self.text_columns:
            return "texts"
        named = self.feature_columns if self.task.of_tokens else self.format == "text" or self.categorical
        return "dicts" if named else self.task.view

    def hide(self, Y: list[Any]) -> list[Any]:
        """Outputs with None for the unknown label."""
        unknown = self.unknown_label
        if unknown is None:
            return Y
        if not self.task.of_tokens:
            return [None if y == unknown else y for y in Y]
        return [y if y is None else [None if label == unknown else label for label in y] for y in Y]

    def remember(self) -> dict[str, Any]:
        """What a model keeps."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.metadata.get("remembered")}
        return {name: value for name, value in found.items() if value is not None}


_OPTIONS = [f for f in fields(Layout) if f.metadata.get("settings")]
TITLES = {known.name: "Reading files" for known in _OPTIONS}  # of their help


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about data files to a command."""
    for known in reversed(_OPTIONS):
        flags = "/".join(filter(None, [flag(known.name), known.metadata["switch"]]))
        function = click.option(flags, default=known.default, **known.metadata["settings"])(function)
    return function


def take_reading_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take those options about data files that were given out of all options."""
    taken = {known.name: options.pop(known.name) for known in _OPTIONS}
    for name in ("categorical", "text_columns"):
        if taken[name] is not None:
            taken[name] = tuple(taken[name])
    return {name: value for name, value in taken.items() if value is not None}


def guess_format(source: str, of_tokens: bool) -> str | None:
    """The format that a file's name tells, if it does."""
    path = PurePath(source)
    suffix = (PurePath(path.stem) if path.suffix == ".gz" else path).suffix.lower()
    if suffix == ".tsv":
        return "conll" if of_tokens else "csv"
    return _EXTENSIONS.get(suffix)


def task_of_file(source: str, found: str | None, encoding: str) -> Task:
    """What a labeled file is for, if nothing else is said: its format says it, and of JSON lines the first ones."""
    if found != "jsonl":
        return task_of_format(found or SEQUENCE.labeled_format)
    if source == "-":
        raise click.UsageError("JSON lines from standard input: give --task sequence or --task multiclass")
    from accord.datasets.formats.json_lines import holds_sentences

    return SEQUENCE if holds_sentences(source, encoding) else MULTICLASS


def layout_of(model: Any, options: dict[str, Any], source: str, labeled: bool = False) -> Layout:
    """How a model reads a file: as the options say, else as its training file was read, else as its view suggests."""
    known = {f.name for f in fields(Layout)}
    kept = {k: v for k, v in getattr(model, "input_", {}).items() if k in known}
    kept = {k: tuple(v) if isinstance(v, list) else v for k, v in kept.items()}
    task, view = task_of(model), input_view(model)
    if "feature_names" not in kept and getattr(view, "columns_", None):
        kept["feature_names"] = tuple(view.columns_)
    if not kept and sees_texts(view):
        kept = {"feature_names": ("text",), "text_columns": ("text",)}
    if "n_features" not in kept and hasattr(view, "n_columns_"):
        kept["n_features"] = view.n_columns_
    if task.of_tokens or (guess_format(source, of_tokens=False) in _read_like(task, kept)):
        kept.pop("format", None)  # a tagger trained on CoNLL columns reads text just as well, and tables are tables
    layout = Layout(task, **{**kept, **options})
    if source == "-" and not labeled and "format" not in options and _are_lines_of_text(layout):
        layout = replace(layout, format="text")
    return layout.for_file(source, _default_format(layout, view, labeled))


def _are_lines_of_text(layout: Layout) -> bool:
    """Whether standard input has lines of text, for a model that learned from a text column of a table."""
    from accord.datasets.formats.source import waiting_line

    if layout.format != "csv" or not layout.holds_one_text or layout.header is False:
        return False
    first = waiting_line(layout.encoding)
    if first is None or any(name in first for name in layout.free_texts):
        return False
    note(f"reading lines of text; a table would begin with a header that names {layout.free_texts[0]!r}")
    return True


def _read_like(task: Task, kept: dict[str, Any]) -> tuple[str, ...]:
    """The formats that do as well as that of the training file."""
    if kept.get("format") not in TABLES:
        return ()
    return (*TABLES, "text") if Layout(task, **kept).holds_one_text else TABLES


def _default_format(layout: Layout, view: Any, labeled: bool) -> str:
    """What is read when neither an option nor the file's name says it."""
    if layout.task.of_tokens:
        return layout.task.labeled_format if labeled else "conll" if layout.feature_columns else "text"
    from accord.views.dense import ArrayFeatures
    from accord.views.select import Select

    return "csv" if isinstance(view, (ArrayFeatures, Select)) else "text"
