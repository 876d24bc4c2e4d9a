"""JSON lines of Prodigy, JSON of Label Studio, and spaCy's DocBin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from accord.exceptions import InputError, MissingExtraError
from accord.labeling.formats.spans import labels_of, spans_of
from accord.labeling.project import Project, tokens_of

Found = Iterator[tuple[dict[str, Any], Any]]  # what an item says, and its value; labels of tokens as spans


# -- Prodigy ----------------------------------------------------------------------------------------------------------
def write_prodigy(project: Project, labeled: list[tuple[dict[str, Any], Any]]) -> bytes:
    """A line for each item."""
    return "".join(json.dumps(_prodigy(project, *one), ensure_ascii=False) + "\n" for one in labeled).encode()


def _prodigy(project: Project, item: dict[str, Any], value: Any) -> dict[str, Any]:
    line: dict[str, Any] = {"text": item["text"]} if "text" in item else {"meta": item.get("fields", item)}
    if project.kind != "tokens":
        return {**line, "label": value, "answer": "accept"}
    tokens = [
        {"text": word, "start": a, "end": b, "id": t}
        for t, (word, (a, b)) in enumerate(zip(tokens_of(item), item["places"]))
    ]
    spans = [
        {"start": s.start, "end": s.end, "token_start": s.first, "token_end": s.last, "label": s.label}
        for s in spans_of(item, value, project.spans)
    ]
    unsure = [t for t, label in enumerate(value) if label is None]
    return {**line, "tokens": tokens, "spans": spans, "answer": "accept", **({"unsure": unsure} if unsure else {})}


def read_prodigy(project: Project, data: bytes) -> Found:
    """Accepted examples; rejected and ignored ones are left out."""
    for number, line in enumerate(data.decode("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        found = _object(line, f"line {number}")
        if found.get("answer", "accept") != "accept":
            continue
        item = {"text": found["text"]} if isinstance(found.get("text"), str) else {"fields": found.get("meta")}
        if project.kind == "tokens":
            spans = [_span(span, ("start", "end", "label"), f"line {number}") for span in _list(found.get("spans"))]
            yield item, (spans, [t for t in _list(found.get("unsure")) if isinstance(t, int)])
        else:
            accepted = _list(found.get("accept"))
            yield item, found.get("label", accepted[0] if accepted else None)


# -- Label Studio -----------------------------------------------------------------------------------------------------
def write_label_studio(project: Project, labeled: list[tuple[dict[str, Any], Any]]) -> bytes:
    """A list of tasks with their annotations."""
    tasks = [
        {
            "data": {"text": item["text"]} if "text" in item else dict(item["fields"]),
            "annotations": [{"result": studio_results(project, item, value)}],
        }
        for item, value in labeled
    ]
    return json.dumps(tasks, ensure_ascii=False, indent=1).encode()


def studio_results(
    project: Project, item: dict[str, Any], value: Any, from_name: str = "label", to_name: str = "text"
) -> list[dict[str, Any]]:
    """An answer as Label Studio has it: one result for each span, or one."""

    def result(kind: str, value: dict[str, Any]) -> dict[str, Any]:
        return {"from_name": from_name, "to_name": to_name, "type": kind, "value": value}

    if project.kind == "numbers":
        return [result("number", {"number": value})]
    if project.kind == "classes":
        return [result("choices", {"choices": [value]})]
    found = [
        result("labels", {"start": s.start, "end": s.end, "text": item["text"][s.start : s.end], "labels": [s.label]})
        for s in spans_of(item, value, project.spans)
    ]
    unsure = [t for t, label in enumerate(value) if label is None]
    return [*found, *([{"type": "relation", "unsure": unsure}] if unsure else [])]


def read_label_studio(project: Project, data: bytes) -> Found:
    """The first annotation of each task that was not cancelled."""
    tasks = json.loads(data)
    if not isinstance(tasks, list):
        raise InputError("expected a list of tasks, as Label Studio exports them (JSON)")
    for number, task in enumerate(tasks):
        where = f"task {number}"
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise InputError(f"{where} has no data; expected a list of tasks, as Label Studio exports them (JSON)")
        given = [a for a in _list(task.get("annotations")) if isinstance(a, dict) and not a.get("was_cancelled")]
        if not given:
            continue
        values = task["data"]
        item = {"text": values["text"]} if isinstance(values.get("text"), str) else {"fields": values}
        results = [one for one in _list(given[0].get("result")) if isinstance(one, dict)]
        yield item, studio_value(project, results, where)


def studio_value(project: Project, results: list[dict[str, Any]], where: str) -> Any:
    """What the results of an annotation say: spans and tokens that are unsure, a class, or a number."""
    if project.kind == "tokens":
        spans = []
        for one in results:
            value = one.get("value")
            if one.get("type") == "labels" and isinstance(value, dict):
                flat = {**value, "label": next(iter(_list(value.get("labels"))), None)}
                spans.append(_span(flat, ("start", "end", "label"), where))
        return spans, [t for one in results for t in _list(one.get("unsure")) if isinstance(t, int)]
    for one in results:
        value = one.get("value")
        if isinstance(value, dict):
            return value.get("number") if project.kind == "numbers" else next(iter(_list(value.get("choices"))), None)
    return None


# -- spaCy ------------------------------------------------------------------------------------------------------------
def write_spacy(project: Project, labeled: list[tuple[dict[str, Any], Any]]) -> bytes:
    """A DocBin of documents with entities, without a language."""
    spacy, tokens = _spacy()
    nlp, out = spacy.blank("xx"), tokens.DocBin(store_user_data=False)
    for item, value in labeled:
        ends = [b for _, b in item["places"]]
        starts = [a for a, _ in item["places"]][1:]
        spaces = [*(a > b for a, b in zip(starts, ends)), False]
        doc = tokens.Doc(nlp.vocab, words=tokens_of(item), spaces=spaces)
        spans = [tokens.Span(doc, s.first, s.last + 1, s.label) for s in spans_of(item, value, project.spans)]
        missing = [tokens.Span(doc, t, t + 1) for t, label in enumerate(value) if label is None]
        doc.set_ents(spans, missing=missing)
        out.add(doc)
    return out.to_bytes()


def read_spacy(project: Project, data: bytes) -> Found:
    """Tokens and entities of each document."""
    spacy, tokens = _spacy()
    for doc in tokens.DocBin().from_bytes(data).get_docs(spacy.blank("xx").vocab):
        labels: list[str | None] = [
            None if t.ent_iob == 0 else "O" if t.ent_iob == 2 else f"{t.ent_iob_}-{t.ent_type_}" for t in doc
        ]
        yield {"tokens": [t.text for t in doc]}, labels


def _spacy() -> tuple[Any, Any]:
    try:
        import spacy
        import spacy.tokens
    except ImportError as error:
        raise MissingExtraError(
            f"the format spacy needs {error.name}, which is not installed; install it with: "
            "pip install 'accord-ml[spacy]'"
        ) from error
    return spacy, spacy.tokens


# -- checks -----------------------------------------------------------------------------------------------------------
def token_labels(project: Project, item: dict[str, Any], value: Any) -> Any:
    """Labels of tokens from what a reader found: spans and tokens that are unsure, or labels."""
    return labels_of(project, item, *value) if isinstance(value, tuple) else value


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{where} is no JSON") from None
    if not isinstance(found, dict):
        raise InputError(f"{where} is no JSON object")
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _span(span: Any, names: tuple[str, str, str], where: str) -> tuple[int, int, str]:
    start, end, label = (span.get(name) for name in names) if isinstance(span, dict) else (None, None, None)
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(label, str):
        raise InputError(f"{where} has a span that is not {{start, end, label}}")
    return start, end, label
