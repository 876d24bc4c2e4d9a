"""Which formats there are for which kinds of items, and reading and writing them.

Labels that are read belong to the items that say the same; others are counted and left out.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from accord.exceptions import AccordError, InputError
from accord.labeling.formats.others import (
    Found,
    read_label_studio,
    read_prodigy,
    read_spacy,
    token_labels,
    write_label_studio,
    write_prodigy,
    write_spacy,
)
from accord.labeling.project import BETWEEN, OUTSIDE, Project, tokens_of

UNSURE = "?"  # a token without a label in CoNLL columns: `accord train --unknown-label ?`
Labeled = list[tuple[dict[str, Any], Any]]


@dataclass(frozen=True)
class Format:
    """A kind of file."""

    title: str
    suffix: str
    media_type: str
    kinds: tuple[str, ...]
    write: Callable[[Project, Labeled], bytes]
    read: Callable[[Project, bytes], Found] | None


def formats_of(project: Project) -> dict[str, str]:
    """Formats of the labels of a project, with what they are called; one of tokens that are no spans is no DocBin."""
    return {
        name: form.title
        for name, form in FORMATS.items()
        if project.kind in form.kinds and (name != "spacy" or project.spans)
    }


def writable_formats(project: Project) -> dict[str, str]:
    """Those of them whose programs are installed: the page offers no others."""
    return {name: title for name, title in formats_of(project).items() if name != "spacy" or find_spec("spacy")}


def write_labels(project: Project, truth: dict[str, Any], form: str) -> bytes:
    """The items that have labels, in their order in the files."""
    if project.kind == "pairs":
        labeled = [({"key": key, **item}, truth[key]) for key in truth if (item := project.item(key)) is not None]
    else:
        labeled = [(project.items[k], truth[key]) for k, key in enumerate(project.keys) if key in truth]
    return FORMATS[form].write(project, labeled)


def read_labels(project: Project, data: bytes, form: str) -> tuple[dict[str, Any], int]:
    """Labels by item, and how many are of items that there are not."""
    made = FORMATS.get(form)
    if made is None or made.read is None or project.kind not in made.kinds:
        raise InputError(f"labels of {project.kind} cannot be read from the format {str(form)[:20]!r}")
    known: dict[str, list[str]] = {}
    for key in project.keys:
        for said in _says(project, project.items[project.place(key)]):
            known.setdefault(said, []).append(key)
    found: dict[str, Any] = {}
    unknown = 0
    try:
        for item, value in made.read(project, data):
            if project.kind == "pairs":
                pair = item.get("key")
                keys = [pair] if isinstance(pair, str) and project.item(pair) is not None else []
            else:
                keys = [key for said in _says(project, item) for key in known.get(said, []) if key not in found]
            if not keys or value is None:
                unknown += 1
                continue
            if project.kind == "tokens":
                value = token_labels(project, project.items[project.place(keys[0])], value)
            _learn_labels(project, value)
            found[keys[0]] = value
    except AccordError:
        raise
    except Exception as error:  # whatever the file makes a reader of another format trip over
        raise InputError(f"the file cannot be read as {made.title}: {str(error)[:200]}") from None
    return found, unknown


def _learn_labels(project: Project, value: Any) -> None:
    """Labels that the file has and the project has not yet."""
    if project.kind == "classes" and isinstance(value, str):
        if value not in project.labels:
            project.add_label(value)
    elif project.kind == "tokens":
        for label in value:
            kind = label[2:] if label and project.spans and label != OUTSIDE else label
            if kind and kind not in project.labels and kind != OUTSIDE:
                project.add_label(kind)


def _says(project: Project, item: dict[str, Any]) -> Iterator[str]:
    """What items are recognised by: their text, or their tokens, or their fields."""
    if project.kind in ("tokens", "trees"):
        if "text" in item and "places" not in item:
            yield item["text"]
        else:
            yield json.dumps(item["tokens"] if "tokens" in item else tokens_of(item))
            if "text" in item:
                yield item["text"]
    elif "text" in item:
        yield item["text"]
    else:
        fields = item.get("fields") or {}
        yield json.dumps(
            {name: str(value) for name, value in fields.items() if value not in (None, "")}, sort_keys=True
        )


# -- Accord's own -----------------------------------------------------------------------------------------------------
def _write_conll(_: Project, labeled: Labeled) -> bytes:
    from accord.datasets import write_conll

    out = io.StringIO()
    kept = [(tokens_of(item), value) for item, value in labeled if value]
    write_conll(out, [x for x, _ in kept], [[UNSURE if one is None else one for one in y] for _, y in kept])
    return out.getvalue().encode()


def _read_conll(_: Project, data: bytes) -> Found:
    from accord.datasets import iter_conll

    for tokens, labels, _extra in iter_conll(io.BytesIO(data), labeled=True):
        yield {"tokens": tokens}, [None if label in (UNSURE, "_") else label for label in labels or ()]


def _write_trees(_: Project, labeled: Labeled) -> bytes:
    return "".join(f"{value}\n" for _, value in labeled).encode()


def _read_trees(_: Project, data: bytes) -> Found:
    from accord.datasets import iter_trees
    from accord.datasets.bracketing import bracketed
    from accord.datasets.trees import leaves

    for tree in iter_trees(io.BytesIO(data)):
        yield {"tokens": leaves(tree)}, bracketed(tree)


def _write_csv(project: Project, labeled: Labeled) -> bytes:
    from accord.datasets.formats.record_table import format_records

    if project.kind == "pairs":
        rows = [[*item["key"].split(BETWEEN), *map(_sides, (item["a"], item["b"])), value] for item, value in labeled]
        return format_records(["first", "second", "a", "b", "label"], rows).encode()
    names = list(dict.fromkeys(name for item, _ in labeled for name in item.get("fields", {"text": ""})))
    rows = [[*(item.get("fields", item).get(name, "") for name in names), _cell(value)] for item, value in labeled]
    return format_records([*names, "label"], rows).encode()


def _sides(fields: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)


def _cell(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _read_csv(project: Project, data: bytes) -> Found:
    from accord.datasets.formats.record_table import read_records

    table = read_records(io.BytesIO(data))
    if "label" not in table.names:
        raise InputError(f"there is no column 'label'; the columns are {', '.join(table.names)}")
    for record, value in zip(table.records({"label"}), table.column("label")):
        if project.kind == "pairs":
            yield {"key": f"{record.get('first')}{BETWEEN}{record.get('second')}"}, value
        else:
            text = record.get("text")
            item = {"text": text} if list(record) == ["text"] and text else {"fields": record}
            yield item, float(value) if project.kind == "numbers" and value is not None else value


_TEXT, _JSON = "text/plain; charset=utf-8", "application/json"
FORMATS = {
    "conll": Format("CoNLL columns", ".conll", _TEXT, ("tokens",), _write_conll, _read_conll),
    "trees": Format("bracketed trees", ".mrg", _TEXT, ("trees",), _write_trees, _read_trees),
    "csv": Format("CSV", ".csv", "text/csv; charset=utf-8", ("classes", "numbers", "pairs"), _write_csv, _read_csv),
    "prodigy": Format(
        "JSON lines of Prodigy", ".jsonl", "application/x-ndjson", ("tokens", "classes"), write_prodigy, read_prodigy
    ),
    "label-studio": Format(
        "JSON of Label Studio", ".json", _JSON, ("tokens", "classes", "numbers"), write_label_studio, read_label_studio
    ),
    "spacy": Format("spaCy DocBin", ".spacy", "application/octet-stream", ("tokens",), write_spacy, read_spacy),
}
