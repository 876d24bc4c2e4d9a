"""Questions about pairs of records in a terminal: y, n, u, and it says when one may stop."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from accord.labeling.service import Service

_KEYS = {"y": "same", "n": "different", "u": "unsure"}
_HELP = "y: same, n: different, u: unsure, s: skip, z: undo, f: finished"


def ask(
    service: Service, annotator: str, read: Callable[[str], str], write: Callable[[str], None], most: int | None = None
) -> int:
    """Ask until it is finished, or standard input ends; how many answers were given."""
    given, window = 0, f"terminal-{annotator}"
    trainer = service.trainer
    advised = ""
    while most is None or given < most:
        while trainer.now.version != service.store.version:
            trainer.step()
        if (advice := service.advice(service.store.truth())) != advised:
            write(advised := advice)
        found = service.next(window, annotator)
        if found["key"] is None:
            write("There is no pair left to ask about.")
            break
        write(f"\n{given + 1}. {found['reason']}")
        for line in side_by_side(found["item"]["a"], found["item"]["b"]):
            write(line)
        try:
            key = read(f"Are they the same? ({_HELP}) ").strip().lower()[:1]
        except EOFError:
            break
        if key in _KEYS:
            service.answer(found["key"], annotator, _KEYS[key])
            given += 1
        elif key == "s":
            service.skip(found["key"], annotator)
        elif key == "z":
            events = service.undo(annotator)
            given = max(given - sum(event.action == "answer" for event in events), 0)
            said = ", ".join(event.value or "a skip" for event in events)
            write(f"Taken back: {said}" if events else "There is nothing to take back.")
        elif key == "f":
            break
    service.store.release(window)
    return given


def side_by_side(a: dict[str, Any], b: dict[str, Any], width: int = 34) -> list[str]:
    """Two records, field by field; a mark stands where they differ."""
    names = list(dict.fromkeys([*a, *b]))
    longest = max((len(name) for name in names), default=0)
    lines = []
    for name in names:
        left, right = (str(one.get(name) or "") for one in (a, b))
        mark = "=" if left == right else "≠"
        first, second = (textwrap.wrap(one, width) or [""] for one in (left, right))
        for k in range(max(len(first), len(second))):
            cells = [side[k] if k < len(side) else "" for side in (first, second)]
            head, sign = (name, mark) if k == 0 else ("", " ")
            lines.append(f"  {head:<{longest}}  {cells[0]:<{width}} {sign} {cells[1]}")
    return lines
