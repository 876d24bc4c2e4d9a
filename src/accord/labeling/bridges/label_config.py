"""What a project of Label Studio labels, from its XML. Document types, and with them entities of any kind, are refused.

Labels of spans in a text (``<Labels>``) and classes of a text (``<Choices>``, one at a time) are understood; where a
project has several controls, the first of these counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from xml.parsers import expat

from accord.exceptions import InputError
from accord.labeling.project import MOST_LABELS

MOST_CHARACTERS = 1 << 20
_CONTROLS = {"Labels": ("tokens", "Label"), "Choices": ("classes", "Choice")}
_EXAMPLE = '<View><Text name="t" value="$text"/><Labels name="label" toName="t"><Label value="PER"/></Labels></View>'


@dataclass(frozen=True)
class LabelConfig:
    """A control, the text that it is about, and its labels."""

    kind: str  # tokens or classes
    control: str  # what results call it: from_name
    source: str  # the tag of the text: to_name
    field: str  # of a task's data, with the text
    labels: tuple[str, ...]


def read_label_config(xml: Any) -> LabelConfig:
    """The first control that is understood.

    Examples
    --------
    >>> config = read_label_config('''<View><Text name="review" value="$body"/>
    ...     <Choices name="mood" toName="review"><Choice value="good"/><Choice value="bad"/></Choices></View>''')
    >>> config.kind, config.control, config.source, config.field, config.labels
    ('classes', 'mood', 'review', 'body', ('good', 'bad'))
    """
    if not isinstance(xml, str) or not xml.strip():
        raise InputError(f"label_config is missing; expected XML such as {_EXAMPLE}")
    if len(xml) > MOST_CHARACTERS:
        raise InputError(f"label_config has {len(xml):,} characters; expected at most {MOST_CHARACTERS:,}")
    tags = _tags(xml)
    texts = {given.get("name"): given for tag, given, _ in tags if tag == "Text"}
    for tag, given, options in tags:
        text = texts.get(given.get("toName"))
        if tag not in _CONTROLS or text is None or given.get("choice", "single") not in ("single", "single-radio"):
            continue
        if text.get("valueType", "text") != "text" or not text.get("value", "").startswith("$"):
            continue
        labels = tuple(dict.fromkeys(options))
        if not labels or len(labels) > MOST_LABELS or any(len(label) > 100 for label in labels):
            raise InputError(
                f"<{tag}> has {len(labels):,} labels; expected 1 to {MOST_LABELS:,}, of 100 characters each"
            )
        return LabelConfig(_CONTROLS[tag][0], given.get("name", ""), given.get("toName", ""), text["value"][1:], labels)
    found = ", ".join(sorted({tag for tag, _, _ in tags})) or "nothing"
    raise InputError(
        "label_config has no <Labels>, and no <Choices> of which one is chosen, for a <Text> whose value is a field of "
        f"the data; it has {found}. Expected such as {_EXAMPLE}"
    )


def _tags(xml: str) -> list[tuple[str, dict[str, str], list[str]]]:
    """Tags with their attributes and, of controls, the names of what can be chosen."""
    found: list[tuple[str, dict[str, str], list[str]]] = []
    around: list[int] = []  # controls that are open
    parser = expat.ParserCreate()

    def start(tag: str, given: dict[str, str]) -> None:
        if around and tag == _CONTROLS[found[around[-1]][0]][1] and (said := given.get("alias") or given.get("value")):
            found[around[-1]][2].append(said)
            return
        found.append((tag, given, []))
        if tag in _CONTROLS:
            around.append(len(found) - 1)

    def end(tag: str) -> None:
        if around and found[around[-1]][0] == tag:
            around.pop()

    def refuse(*_: Any) -> None:
        raise InputError("label_config has a document type (<!DOCTYPE ...>), which is not read; expected tags alone")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        raise InputError(f"label_config is no XML: {error}") from None
    return found


def text_of(config: LabelConfig, task: Any, where: str = "the task") -> str:
    """The text of a task."""
    data = task.get("data") if isinstance(task, dict) else None
    text = data.get(config.field) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise InputError(f"{where} has no text in data[{config.field!r}]")
    return text


def project_name(project: Any) -> str:
    """A project by its number and the second in which it was made: '3.1700000000', as requests for predictions say it;
    events tell both apart.

    >>> project_name({"id": 3, "created_at": "2023-11-14T22:13:20.5Z"})
    '3.1700000000'
    """
    if isinstance(project, dict):
        made = project.get("created_at")
        with suppress(ValueError, TypeError, OverflowError):
            return project_name(f"{project.get('id')}.{int(datetime.fromisoformat(made).timestamp())}")  # type: ignore[arg-type]
    number, _, made = project.partition(".") if isinstance(project, str) else ("", "", "")
    if not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in (number, made)):
        raise InputError(f"project is {str(project)[:40]!r}; expected a number such as '3.1700000000'")
    return f"{int(number)}.{int(made)}"


def results_for(config: LabelConfig, results: Any) -> list[dict[str, Any]]:
    """Those of an annotation's results that the control has given."""
    given: Sequence[Any] = results if isinstance(results, list) else []
    return [one for one in given if isinstance(one, dict) and one.get("from_name") == config.control]
