"""How the commands read data: formats, options, batches, and what a model remembers about its training file.

A model trained here carries ``input_``, a dict of plain values, so that `predict` and `evaluate` read new files the
same way (which columns are features, which of them hold words). Models saved from Python have none; their view tells
enough.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from pathlib import PurePath
from typing import Any, NamedTuple

import click

from accord.cli.multiview import input_view
from accord.cli.reading_trees import predicts_trees, tagged_tokens, treebank_examples
from accord.cli.regression import predicts_numbers

FORMATS = ("conll", "text", "csv", "svmlight", "treebank")
_EXTENSIONS = {
    **dict.fromkeys((".conll", ".conllu", ".iob", ".iob2", ".bio", ".col"), "conll"),
    **dict.fromkeys((".txt", ".text", ".tok"), "text"),
    ".csv": "csv",
    **dict.fromkeys((".mrg", ".ptb", ".trees", ".brackets", ".parse"), "treebank"),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight"),
}
BATCH = 4096
_REMEMBERED = (
    "format", "token_column", "label_column", "feature_columns", "comment", "header", "categorical", "feature_names",
    "zero_based", "n_features", "unknown_label", "clean",
)  # fmt: skip


class Batch(NamedTuple):
    """Some inputs, their outputs (None where unlabeled), for text the tokens to print, for tables the columns."""

    X: Any
    Y: list[Any]
    tokens: list[list[str]] | None = None
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reader:
    """How to read a file; None means not known or not given."""

    sequence: bool
    numeric: bool = False  # labels are numbers
    trees: bool = False  # labels are parse trees
    tagged: bool = False  # of tokens with tags
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

    # -- which format ---------------------------------------------------------------------------------------------
    def for_file(self, source: str, otherwise: str) -> Reader:
        """The same reader with the format settled: as given, by the file's name, or `otherwise`."""
        found = self.format or guess_format(source, self.sequence) or otherwise
        possible = ("conll", "text") if self.sequence else ("text", "csv", "svmlight")
        if self.trees:
            possible = ("treebank", "text")
        if found not in possible:
            kind = "sequences" if self.sequence else "numbers" if self.numeric else "classes"
            kind = "trees" if self.trees else kind
            raise click.UsageError(f"{kind} are read from {', '.join(possible)} files, not from {found}; see --format")
        if self.feature_columns and found != "conll":
            raise click.UsageError("--feature-columns are columns of a CoNLL file; give one, with --format conll")
        if self.trees and self.unknown_label is not None:
            raise click.UsageError("--unknown-label is a label of tokens or examples; trees have none")
        return replace(self, format=found)

    def remember(self) -> dict[str, Any]:
        """What a model keeps."""
        return {name: value for name, value in asdict(self).items() if name in _REMEMBERED and value is not None}

    # -- reading --------------------------------------------------------------------------------------------------
    def batches(self, source: str, size: int = BATCH, labeled: bool = True) -> Iterator[Batch]:
        """Read in batches of at most `size` examples; without `labeled`, labels in the file are not looked at."""
        if self.numeric and labeled:
            from accord.cli.targets import read_again, with_targets

            kept = read_again(source, self.encoding)
            return with_targets(self, kept, self._hidden(self._batches(kept, size, labeled)))
        return self._hidden(self._batches(source, size, labeled))

    def _hidden(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        if self.unknown_label is None:
            return batches
        return (batch._replace(Y=self.hide(batch.Y)) for batch in batches)

    def hide(self, Y: list[Any]) -> list[Any]:
        """Outputs with None for the unknown label."""
        unknown = self.unknown_label
        if not self.sequence:
            return [None if y == unknown else y for y in Y]
        return [y if y is None else [None if label == unknown else label for label in y] for y in Y]

    def _batches(self, source: Any, size: int, labeled: bool) -> Iterator[Batch]:
        if self.format == "conll":
            return _grouped(self._sentences(source, labeled), size)
        if self.format == "treebank":
            return _grouped(treebank_examples(self, source, labeled), size)
        if self.format == "text":
            return _grouped(self._lines(source), size)
        if self.format == "csv":
            from accord.cli.reading_csv import csv_batches

            return csv_batches(self, source, size, labeled)
        return self._svmlight(source, size)

    def load(self, source: str, labeled: bool = True) -> Batch:
        """Read a whole file."""
        parts = list(self.batches(source, labeled=labeled))
        tokens = [t for part in parts for t in part.tokens or ()] if self.sequence else None
        return Batch(join([part.X for part in parts]), [y for part in parts for y in part.Y], tokens)

    def _sentences(self, source: str, labeled: bool) -> Iterator[tuple[Any, Any, list[str]]]:
        from accord.datasets import iter_conll
        from accord.datasets.formats.conll import UNLABELED

        label_column = -1 if self.label_column is None else self.label_column
        if isinstance(label_column, str):
            raise click.UsageError(f"--label-column {label_column}: columns of a CoNLL file are numbers")
        # "_" otherwise stands for a whole sentence without labels
        how: Any = (self.unknown_label == UNLABELED or "partial") if labeled else False
        extra = self.feature_columns or ()
        known: dict[Any, Any] = {}
        share = known.setdefault  # one object per distinct token: a corpus repeats them many times over
        for tokens, labels, columns in iter_conll(
            source, self.columns, self.token_column or 0, label_column, how, self.encoding,
             extra_columns=extra, comment=self.comment,
        ):  # fmt: skip
            tokens = list(map(share, tokens, tokens))
            if labels is not None:
                labels = list(map(share, labels, labels))
            x: Any = tokens
            if extra:
                x = [_token_dict(cells, extra, known) for cells in zip(tokens, *columns)]
            yield x, labels, tokens

    def _lines(self, source: Any) -> Iterator[tuple[Any, Any, list[str]]]:
        """Plain text: a sentence per line, or for classes ``class<TAB>words`` (the class may be missing)."""
        from accord.datasets.formats.source import iter_lines, source_name, split_blanks

        for number, line in enumerate(iter_lines(source, self.encoding), 1):
            if self.tagged:
                pairs = tagged_tokens(split_blanks(line), source_name(source), number)
                yield pairs, None, [word for word, _ in pairs]
            elif self.sequence:
                tokens = split_blanks(line)
                yield tokens, None, tokens
            else:
                label, tab, text = line.partition("\t")
                words = split_blanks(text if tab else line)
                yield {"(bias)": True, **dict.fromkeys(words, True)}, (label.strip() or None) if tab else None, words

    def _svmlight(self, source: Any, size: int) -> Iterator[Batch]:
        from accord.datasets import iter_svmlight

        for X, y in iter_svmlight(source, size, zero_based=bool(self.zero_based), encoding=self.encoding):
            if self.n_features is not None:
                X.resize((X.shape[0], self.n_features))  # features that training did not see are ignored
            yield Batch(X, y)


def _grouped(items: Iterator[tuple[Any, Any, list[str]]], size: int) -> Iterator[Batch]:
    while group := list(islice(items, size)):
        X, Y, tokens = zip(*group)
        yield Batch(list(X), list(Y), list(tokens))


def _token_dict(cells: tuple[str, ...], columns: tuple[int, ...], known: dict[Any, Any]) -> dict[str, str]:
    if cells not in known:
        known[cells] = {"token": cells[0], **{f"column{k}": cell for k, cell in zip(columns, cells[1:])}}
    return known[cells]


def join(parts: list[Any]) -> Any:
    """Several X as one; sparse matrices are brought to one width."""
    import numpy as np
    import scipy.sparse as sp

    if parts and sp.issparse(parts[0]):
        width = max(part.shape[1] for part in parts)
        for part in parts:
            part.resize((part.shape[0], width))
        return sp.vstack(parts, format="csr")
    if parts and isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [x for part in parts for x in part]


def guess_format(source: str, sequence: bool) -> str | None:
    """The format that a file's name tells, if it does."""
    path = PurePath(source)
    suffix = (PurePath(path.stem) if path.suffix == ".gz" else path).suffix.lower()
    if suffix == ".tsv":
        return "conll" if sequence else "csv"
    return _EXTENSIONS.get(suffix)


def reader_of(model: Any, options: dict[str, Any]) -> Reader:
    """The reader for a model: as the options say, else as its training file was read."""
    known = {f.name for f in fields(Reader)}
    kept = {k: v for k, v in getattr(model, "input_", {}).items() if k in known}
    kept = {k: tuple(v) if isinstance(v, list) else v for k, v in kept.items()}
    view = input_view(model)
    if "feature_names" not in kept and getattr(view, "columns_", None):
        kept["feature_names"] = tuple(view.columns_)
    if "n_features" not in kept and hasattr(view, "n_columns_"):
        kept["n_features"] = view.n_columns_
    numeric = predicts_numbers(model)
    sequence = not numeric and not model.structure_.single_row
    if sequence:
        kept.pop("format", None)  # a tagger trained on CoNLL columns reads text just as well
    given = {k: v for k, v in options.items() if v is not None}
    trees = predicts_trees(model)
    tagged = trees and model.structure_.terminals == "tags"
    return Reader(**{"sequence": sequence, "numeric": numeric, "trees": trees, "tagged": tagged, **kept, **given})


def default_format(model: Any, reader: Reader) -> str:
    """What a model reads when neither an option nor the file's name says it."""
    if reader.sequence:
        return "conll" if reader.feature_columns else "text"
    from accord.views.dense import ArrayFeatures
    from accord.views.select import Select

    return "csv" if isinstance(input_view(model), (ArrayFeatures, Select)) else "text"


def batch_size(source: str, wanted: int | None) -> int:
    """How many examples to read before predicting: one at a time when somebody is typing them."""
    typing = source == "-" and sys.stdin is not None and sys.stdin.isatty()
    return wanted or (1 if typing else BATCH)
