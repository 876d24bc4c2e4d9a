"""Items from files: raw text, CoNLL columns, tables, JSON lines, treebanks, mailboxes.

What a file holds is told by its name and its look; a table holds texts to classify unless something else is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from accord.datasets.bracketing import bracketed
from accord.datasets.formats.source import iter_lines, split_blanks
from accord.datasets.trees import leaves
from accord.exceptions import FormatError, InputError
from accord.labeling.project import OUTSIDE, Project, text_item, words_item
from accord.tokenizer import Tokens, spans_by

_BY_NAME = {
    **dict.fromkeys((".conll", ".conllu", ".iob", ".iob2", ".bio", ".col"), "conll"),
    **dict.fromkeys((".csv", ".tsv"), "table"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".mrg", ".ptb", ".trees", ".brackets", ".parse"), "treebank"),
    **dict.fromkeys((".mbox", ".eml", ".mail"), "mail"),
    **dict.fromkeys((".txt", ".text", ".tok"), "text"),
}
_LABEL_COLUMNS = ("label", "class", "category", "target", "y")
MAIL_LABELS = ("spam", "ham")
_LONGEST = 20_000  # characters of a mail that are shown
_LOOKED_AT = 200  # lines


@dataclass(frozen=True)
class Reading:
    """What is said about files."""

    kind: str | None = None
    labels: Sequence[str] = ()
    taxonomy: dict[str, list[str]] | None = None
    label_column: str | None = None
    columns: Sequence[str] | None = None  # of tables: those that are shown and learned from
    tokenizer: str | None = None
    encoding: str = "utf-8"


def read_project(files: Sequence[str], how: Reading) -> Project:
    """Items of one or several files, which are all of one kind."""
    formats = {name: file_format(name, how.encoding) for name in files}
    kind = how.kind or _kind(formats)
    project = Project(kind, taxonomy=how.taxonomy, name=", ".join(PurePath(name).name for name in files))
    for name, form in formats.items():
        for item, value in _READERS[form](name, how, kind):
            project.add(item, value)
    if not project.items:
        raise InputError(f"{', '.join(files)}: there is nothing to label")
    _settle_labels(project, how, "mail" in formats.values())
    return project


def file_format(name: str, encoding: str = "utf-8") -> str:
    """What a file is, by its name or its first lines."""
    path = PurePath(name)
    suffix = (PurePath(path.stem) if path.suffix == ".gz" else path).suffix.lower()
    if name != "-" and (Path(name).is_dir() or ".tar" in path.suffixes or suffix == ".tgz"):
        return "mail"
    if suffix in _BY_NAME and suffix != ".tsv":
        return _BY_NAME[suffix]
    if name == "-":
        return "text"
    first = list(islice(iter_lines(name, encoding), _LOOKED_AT))
    lines = [line for line in first if line.strip()]
    if lines and lines[0].startswith("From ") and any(line.startswith(("To:", "Subject:", "Date:")) for line in lines):
        return "mail"
    if lines and lines[0].lstrip().startswith("{"):
        return "jsonl"
    if lines and lines[0].lstrip().startswith("("):
        return "treebank"
    widths = {len(line.split("\t") if "\t" in line else split_blanks(line)) for line in lines}
    if len(widths) == 1 and widths != {1} and len(lines) > 2:
        return "table" if suffix == ".tsv" and len(lines) == len(first) else "conll"  # blank lines end sentences
    return _BY_NAME.get(suffix, "text")


def _kind(formats: dict[str, str]) -> str:
    found = set(formats.values())
    if "treebank" in found:
        return "trees"
    if found <= {"text", "conll"}:
        return "tokens"
    if found == {"jsonl"}:
        from accord.datasets.formats.json_lines import holds_sentences

        return "tokens" if all(holds_sentences(name) for name in formats) else "classes"
    return "classes"


# -- formats ----------------------------------------------------------------------------------------------------------
Items = Iterator[tuple[dict[str, Any], Any]]


def _text(name: str, how: Reading, kind: str) -> Items:
    for line in iter_lines(name, how.encoding):
        if not line.strip():
            continue
        if kind in ("tokens", "trees"):
            yield text_item(line, spans_by(how.tokenizer, line)), None
        elif kind == "pairs":
            yield {"fields": {"text": line}}, None
        else:
            label, tab, text = line.partition("\t")
            yield {"text": text if tab else line}, (label.strip() or None) if tab else None


def _conll(name: str, how: Reading, kind: str) -> Items:
    from accord.datasets import iter_conll

    _need(name, kind, "tokens", "trees")
    column = int(how.label_column) if how.label_column is not None else -1
    for tokens, labels, _ in iter_conll(name, labeled="partial", label_column=column, encoding=how.encoding):
        yield words_item(tokens), labels if kind == "tokens" else None


def _table(name: str, how: Reading, kind: str) -> Items:
    from accord.datasets.formats.record_table import read_records

    _need(name, kind, "classes", "numbers", "pairs")
    table = read_records(name, encoding=how.encoding)
    label = how.label_column
    if label is None and kind != "pairs":
        label = next((column for column in table.names if column.lower() in _LABEL_COLUMNS), None)
    for column in (*(how.columns or ()), *([label] if how.label_column else ())):
        if column not in table.names:
            raise FormatError(f"there is no column {column!r}; the columns are {', '.join(table.names)}", name, 1)
    shown = [c for c in how.columns or table.names if c != label]
    if not shown:
        raise FormatError("there is no column to label by", name, 1)
    labels = [None] * len(table.rows) if label is None or kind == "pairs" else table.column(label)
    for record, value in zip(table.records(), labels):
        fields = {column: record[column] for column in shown if record[column] is not None}
        if kind == "pairs":
            yield {"fields": {column: record[column] for column in shown}}, None
        elif not fields:
            continue
        else:
            answer: Any = value if kind == "classes" or value is None else _number(value, name)
            yield ({"text": next(iter(fields.values()))} if len(shown) == 1 else {"fields": fields}), answer


def _jsonl(name: str, how: Reading, kind: str) -> Items:
    if kind in ("tokens", "trees"):
        from accord.datasets.formats.json_lines import iter_json_sentences

        tokenizer = "blanks" if how.tokenizer == "blanks" else None
        for tokens, labels in iter_json_sentences(name, how.encoding, tokenizer):
            item = text_item(tokens.text, tokens.places) if isinstance(tokens, Tokens) else words_item(tokens)
            yield item, labels if kind == "tokens" else None
        return
    from accord.datasets.formats.json_lines import iter_json_lines

    label = how.label_column or "label"
    for _, found in iter_json_lines(name, how.encoding, "expected an object on each line"):
        fields = {
            k: v if isinstance(v, str) else str(v)
            for k, v in found.items()
            if k != label and isinstance(v, (str, int, float)) and (how.columns is None or k in how.columns)
        }
        value = found.get(label)
        if kind == "pairs" or list(fields) != ["text"]:
            yield {"fields": fields}, None if kind == "pairs" or value is None else _label(kind, value, name)
        else:
            yield {"text": fields["text"]}, None if value is None else _label(kind, value, name)


def _treebank(name: str, how: Reading, kind: str) -> Items:
    from accord.datasets import iter_trees

    _need(name, kind, "trees")
    for tree in iter_trees(name, how.encoding):
        yield words_item(leaves(tree)), bracketed(tree)


def _mail(name: str, how: Reading, kind: str) -> Items:
    from accord.mail.message import parse
    from accord.mail.sources import iter_mail

    _need(name, kind, "classes", "numbers", "pairs")
    for _, raw in iter_mail(name):
        found = parse(raw)
        sender = f"{found.sender_name} <{found.sender}>" if found.sender_name else found.sender
        yield {"fields": {"from": sender, "subject": found.subject, "text": found.body[:_LONGEST]}}, None


_READERS: dict[str, Callable[[str, Reading, str], Items]] = {
    "text": _text,
    "conll": _conll,
    "table": _table,
    "jsonl": _jsonl,
    "treebank": _treebank,
    "mail": _mail,
}


def _need(name: str, kind: str, *possible: str) -> None:
    if kind not in possible:
        raise InputError(f"{name} holds nothing of the kind {kind}; it can be labeled with --task {'|'.join(possible)}")


def _label(kind: str, value: Any, name: str) -> Any:
    return _number(value, name) if kind == "numbers" else str(value)


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}: the label {value!r} is no number; see --task") from None


# -- labels -----------------------------------------------------------------------------------------------------------
def _settle_labels(project: Project, how: Reading, of_mail: bool) -> None:
    """Labels are those that are said, those of a taxonomy's leaves, and those that the files have."""
    if project.kind == "tokens":
        _settle_tags(project, how.labels)
    elif project.kind == "classes":
        found = dict.fromkeys(how.labels)
        if project.taxonomy is not None:
            inner = {parent for parents in project.taxonomy.values() for parent in parents}
            found |= dict.fromkeys(node for node in project.taxonomy if node not in inner)
        elif of_mail and not found:
            found = dict.fromkeys(MAIL_LABELS)
        found |= dict.fromkeys(sorted(set(map(str, project.given.values()))))
        if project.taxonomy is not None and (strange := [c for c in found if c not in project.taxonomy]):
            raise InputError(f"the class {strange[0]!r} is not in the taxonomy")
        project.labels = list(found)


def _settle_tags(project: Project, said: Sequence[str]) -> None:
    """Kinds of spans if all labels look like B-PER, I-PER and O, else labels of single tokens."""
    tags = list(dict.fromkeys(label for labels in project.given.values() for label in labels))
    marked = [tag for tag in tags if tag != OUTSIDE]
    is_spans = all(tag[:2] in ("B-", "I-", "E-", "S-", "L-", "U-") and tag[2:] for tag in marked)
    project.spans = is_spans and (bool(said) or bool(marked) or not tags)
    if not project.spans:
        project.labels = list(dict.fromkeys([*said, *sorted(tags)]))
        return
    project.labels = list(dict.fromkeys([*(_type(label) for label in said), *sorted({tag[2:] for tag in marked})]))
    project.given = {key: as_iob2(labels) for key, labels in project.given.items()}


def _type(label: str) -> str:
    return label[2:] if label[:2] in ("B-", "I-") else label


def as_iob2(labels: Sequence[str | None]) -> list[str | None]:
    """Labels of spans in any scheme, as B-, I- and O; tokens without a label stay so."""
    from accord.datasets.label_spans import extract_spans

    before: str | None = OUTSIDE
    for label in labels:
        if label and label != OUTSIDE and label[:2] != "B-" and (label[:2] != "I-" or (before or "")[1:] != label[1:]):
            break
        before = label
    else:  # it is so already, as nearly always
        return list(labels)
    out: list[str | None] = [None if label is None else OUTSIDE for label in labels]
    for kind, start, end in extract_spans([label or OUTSIDE for label in labels]):
        out[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return out
