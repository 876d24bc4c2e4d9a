"""How a data file is laid out, as options say it, and what a model remembers of the file that it was trained on.

A model trained here carries ``input_``, a dict of plain values, so that `predict` and `evaluate` read new files the
same way (which columns are features, which of them hold words). Models saved from Python have none; their view tells
enough.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import PurePath
from typing import Any

import click

from accord.cli.outputs.views import input_view
from accord.cli.tasks import Task, task_of

FORMATS = ("conll", "text", "csv", "svmlight", "treebank")
_EXTENSIONS = {
    **dict.fromkeys((".conll", ".conllu", ".iob", ".iob2", ".bio", ".col"), "conll"),
    **dict.fromkeys((".txt", ".text", ".tok"), "text"),
    ".csv": "csv",
    **dict.fromkeys((".mrg", ".ptb", ".trees", ".brackets", ".parse"), "treebank"),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
}
_REMEMBERED = (
    "format", "token_column", "label_column", "feature_columns", "comment", "header", "categorical", "feature_names",
    "zero_based", "n_features", "unknown_label", "clean",
)  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """How to read a file; None means not known or not given."""

    task: Task
    format: str | None = None
    token_column: int | None = None
    label_column: int | str | None = None
    feature_columns: tuple[int, ...] | None = None
    columns: int | None = None
    comment: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    categorical: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    zero_based: bool | None = None
    n_features: int | None = None
    unknown_label: str | None = None
    clean: bool | None = None
    max_length: int | None = None
    encoding: str = "utf-8"

    def for_file(self, source: str, otherwise: str) -> Layout:
        """The same with the format settled: as given, by the file's name, or `otherwise`."""
        task = self.task
        found = self.format or guess_format(source, task.of_tokens) or otherwise
        if found not in task.formats:
            known = ", ".join(task.formats)
            raise click.UsageError(f"{task.outputs} are read from {known} files, not from {found}; see --format")
        if self.feature_columns and found != "conll":
            raise click.UsageError("--feature-columns are columns of a CoNLL file; give one, with --format conll")
        if self.unknown_label is not None and not task.hides_labels:
            raise click.UsageError(f"--unknown-label is a label of tokens or examples; {task.outputs} have none")
        return replace(self, format=found)

    @property
    def target(self) -> int | str:
        """The column of labels."""
        return -1 if self.label_column is None else self.label_column

    @property
    def view(self) -> str:
        """Which view fits; tables with words in them are found out later."""
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
        found = {name: getattr(self, name) for name in _REMEMBERED}
        return {name: value for name, value in found.items() if value is not None}


def guess_format(source: str, of_tokens: bool) -> str | None:
    """The format that a file's name tells, if it does."""
    path = PurePath(source)
    suffix = (PurePath(path.stem) if path.suffix == ".gz" else path).suffix.lower()
    if suffix == ".tsv":
        return "conll" if of_tokens else "csv"
    return _EXTENSIONS.get(suffix)


def layout_of(model: Any, options: dict[str, Any]) -> Layout:
    """What a model reads: as the options say, else as its training file was read."""
    known = {f.name for f in fields(Layout)}
    kept = {k: v for k, v in getattr(model, "input_", {}).items() if k in known}
    kept = {k: tuple(v) if isinstance(v, list) else v for k, v in kept.items()}
    task, view = task_of(model), input_view(model)
    if "feature_names" not in kept and getattr(view, "columns_", None):
        kept["feature_names"] = tuple(view.columns_)
    if "n_features" not in kept and hasattr(view, "n_columns_"):
        kept["n_features"] = view.n_columns_
    if task.of_tokens:
        kept.pop("format", None)  # a tagger trained on CoNLL columns reads text just as well
    given = {k: v for k, v in options.items() if v is not None}
    return Layout(task, **{**kept, **given})


def default_format(model: Any, layout: Layout) -> str:
    """What a model reads when neither an option nor the file's name says it."""
    if layout.task.of_tokens:
        return "conll" if layout.feature_columns else "text"
    from accord.views.dense import ArrayFeatures
    from accord.views.select import Select

    return "csv" if isinstance(input_view(model), (ArrayFeatures, Select)) else "text"
