"""From a file to examples, whatever its format: in batches, or all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import click

from accord.cli.data.batch import Batch, Example, join
from accord.cli.data.layout import Layout
from accord.exceptions import FormatError, InputError

BATCH = 4096


def batches(layout: Layout, source: str, size: int = BATCH, labeled: bool = True) -> Iterator[Batch]:
    """Read in batches of at most `size` examples; without `labeled`, labels in the file are not looked at."""
    kept: Any = source
    if layout.task.numeric and labeled:
        from accord.cli.data.targets import read_again, with_targets

        kept = read_again(source, layout.encoding)
    found = (batch._replace(Y=layout.hide(batch.Y)) for batch in _batches(layout, kept, size, labeled))
    return with_targets(layout, kept, found) if layout.task.numeric and labeled else found


def load(layout: Layout, source: str, labeled: bool = True) -> Batch:
    """Read a whole file."""
    parts = list(batches(layout, source, labeled=labeled))
    tokens = [t for part in parts for t in part.tokens or ()] if layout.task.of_tokens else None
    return Batch(join([part.X for part in parts]), [y for part in parts for y in part.Y], tokens)


def load_settled(layout: Layout, source: str) -> tuple[Batch, Layout]:
    """A whole labeled file, and its layout with all that had to be found out, to read others the same way."""
    if layout.is_table:
        from accord.cli.data.tables import load_table

        return load_table(layout, source)
    from accord.cli.data.looks import explain, explained

    try:
        batch = load(layout, source)
    except FormatError as error:
        raise explained(layout, source, error) from None
    explain(layout, source, batch.Y, batch.X)
    return batch, layout


def load_predictions(layout: Layout, source: str) -> Batch:
    """What `accord predict` has written for a file of this layout: columns, trees, or a class or number per line."""
    from accord.datasets.formats.source import iter_lines

    if layout.task.of_tokens:
        written = replace(layout, label_column=1, token_column=0, feature_columns=None, columns=None, comment=None)
        batch = load(replace(written, unknown_label=None), source)
        if None in batch.Y:
            raise InputError(f"{source}: sentence {batch.Y.index(None) + 1} is not labeled")
        return batch
    found: list[Any] = [line.split("\t")[0] for line in iter_lines(source, layout.encoding)]
    if layout.task.numeric:
        from accord.cli.data.targets import as_numbers

        found = as_numbers(found, source)
    return Batch(None, found)


def _batches(layout: Layout, source: Any, size: int, labeled: bool) -> Iterator[Batch]:
    if layout.is_table:
        from accord.cli.data.tables import table_batches

        return table_batches(layout, source, size, labeled)
    if layout.format == "svmlight":
        return _svmlight(layout, source, size)
    if layout.format == "treebank":
        from accord.cli.data.treebanks import treebank_examples

        return _grouped(layout, treebank_examples(layout, source, labeled), size)
    if layout.format == "jsonl":
        return _grouped(layout, _json_lines(layout, source, labeled), size)
    return _grouped(
        layout, _lines(layout, source) if layout.format == "text" else _conll(layout, source, labeled), size
    )


def _grouped(layout: Layout, examples: Iterable[Example], size: int) -> Iterator[Batch]:
    left = iter(examples)
    while group := list(islice(left, size)):
        X, Y, tokens = zip(*group)
        yield Batch(list(X), list(Y), list(tokens) if layout.task.of_tokens else None)


def _conll(layout: Layout, source: str, labeled: bool) -> Iterator[Example]:
    from accord.datasets import iter_conll
    from accord.datasets.formats.conll import UNLABELED

    if isinstance(layout.target, str):
        raise click.UsageError(f"--label-column {layout.target}: columns of a CoNLL file are numbers")
    # "_" otherwise stands for a whole sentence without labels
    how: Any = (layout.unknown_label == UNLABELED or "partial") if labeled else False
    extra = layout.feature_columns or ()
    known: dict[Any, Any] = {}
    share = known.setdefault  # one object per distinct token: a corpus repeats them many times over
    for tokens, labels, columns in iter_conll(
        source, layout.columns, layout.token_column or 0, layout.target, how, layout.encoding,
        extra_columns=extra, comment=layout.comment,
    ):  # fmt: skip
        tokens = list(map(share, tokens, tokens))
        if labels is not None:
            labels = list(map(share, labels, labels))
        x: Any = tokens
        if extra:
            x = [_token_dict(cells, extra, known) for cells in zip(tokens, *columns)]
        yield x, labels, tokens


def _token_dict(cells: tuple[str, ...], columns: tuple[int, ...], known: dict[Any, Any]) -> dict[str, str]:
    if cells not in known:
        known[cells] = {"token": cells[0], **{f"column{k}": cell for k, cell in zip(columns, cells[1:])}}
    return known[cells]


def _lines(layout: Layout, source: Any) -> Iterator[Example]:
    """Plain text: a sentence per line, or ``class<TAB>words`` (the class may be missing)."""
    from accord.datasets.formats.source import iter_lines, source_name, split_blanks
    from accord.tokenizer import Tokens

    task = layout.task
    for number, line in enumerate(iter_lines(source, layout.encoding), 1):
        label, tab, text = ("", "", "") if task.of_tokens else line.partition("\t")
        try:
            by_rules = task.of_tokens and not task.tagged and layout.tokenizer != "blanks"
            x, words = task.read_words(Tokens(line) if by_rules else split_blanks(text if tab else line))
        except InputError as error:
            raise FormatError(str(error), source_name(source), number) from None
        yield x, (label.strip() or None) if tab else None, words


def _json_lines(layout: Layout, source: Any, labeled: bool) -> Iterator[Example]:
    """JSON lines: sentences as lists of tokens, or as texts with the spans of their labels."""
    from accord.datasets.formats.json_lines import iter_json_sentences

    for tokens, labels in iter_json_sentences(
        source, layout.encoding, "blanks" if layout.tokenizer == "blanks" else None
    ):
        yield tokens, labels if labeled else None, tokens


def _svmlight(layout: Layout, source: Any, size: int) -> Iterator[Batch]:
    from accord.datasets import iter_svmlight

    for X, y in iter_svmlight(source, size, zero_based=bool(layout.zero_based), encoding=layout.encoding):
        if layout.n_features is not None:
            X.resize((X.shape[0], layout.n_features))  # features that training did not see are ignored
        yield Batch(X, y)
