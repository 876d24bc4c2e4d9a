"""What is to be labeled: items of one kind, the labels there are, and what an answer may be.

========  ==========================================  ==================================================
kind      an item                                     an answer
========  ==========================================  ==================================================
tokens    text, and where its tokens are              a label for each token, None where one is not sure
classes   text, or fields with names                  a label
numbers   text, or fields with names                  a number
trees     text, and where its tokens are              a tree in brackets
pairs     a record; questions are about two of them   "same", "different" or "unsure"
========  ==========================================  ==================================================

An item is known by a digest of what it says, so that labels stay with it when files grow or change their order.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2s
from typing import Any

from accord.datasets.trees import as_tree, leaves
from accord.exceptions import InputError

KINDS = ("tokens", "classes", "pairs", "trees", "numbers")
PAIR_ANSWERS = ("same", "different", "unsure")
BETWEEN = "~"  # the two records of a pair's key
OUTSIDE = "O"
MOST_LABELS = 2000


@dataclass
class Project:
    """Items of one kind. `given` are labels that the files had, by key."""

    kind: str
    items: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    spans: bool = True  # of tokens: labels are kinds of spans, answers have B-, I- and O
    taxonomy: dict[str, list[str]] | None = None  # of classes: parents of every node
    name: str = ""
    given: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = {key: place for place, key in enumerate(self.keys)}

    def add(self, item: dict[str, Any], value: Any = None) -> None:
        """Add an item, and the answer that is known already."""
        key = digest(item)
        twin = 1
        while key in self._places:
            twin += 1
            key = f"{digest(item)}.{twin}"
        self.items.append(item)
        self._places[key] = len(self.keys)
        self.keys.append(key)  # last: others may be reading
        if value is not None:
            self.given[key] = value

    def place(self, key: str) -> int:
        """The number of an item; -1 if there is none of this key."""
        return self._places.get(key, -1)

    def item(self, key: str) -> dict[str, Any] | None:
        """What is asked about: an item, or two records."""
        if self.kind == "pairs":
            left, _, right = key.partition(BETWEEN)
            a, b = self.place(left), self.place(right)
            return None if min(a, b) < 0 else {"a": self.items[a]["fields"], "b": self.items[b]["fields"]}
        place = self.place(key)
        return None if place < 0 else self.items[place]

    def tags(self) -> list[str]:
        """What tokens may be labeled with."""
        if not self.spans:
            return list(self.labels)
        return [OUTSIDE, *(f"{mark}-{label}" for label in self.labels for mark in "BI")]

    def remembered(self) -> dict[str, Any]:
        """What a store keeps beside the items."""
        names = ("kind", "labels", "spans", "taxonomy", "name")
        return {name: getattr(self, name) for name in names}

    # -- answers ----------------------------------------------------------------------------------------------------
    def check(self, key: str, value: Any) -> Any:
        """An answer in the form in which it is kept, or an error that says what was expected."""
        item = self.item(key)
        if item is None:
            raise InputError(f"there is no item {str(key)[:40]!r}")
        return _CHECKS[self.kind](self, item, value)

    def add_label(self, label: Any) -> str:
        """A label more."""
        label = label.strip() if isinstance(label, str) else ""
        if not label or len(label) > 100 or any(c.isspace() and c != " " for c in label):
            raise InputError("a label is a text of 1 to 100 characters on one line")
        if self.kind not in ("tokens", "classes") or self.taxonomy is not None:
            raise InputError("the labels of this project are fixed")
        if self.kind == "tokens" and " " in label:
            raise InputError("a label of tokens has no blanks: they separate the columns of files")
        if len(self.labels) >= MOST_LABELS:
            raise InputError(f"there are {MOST_LABELS} labels already")
        if label not in self.labels and (self.kind != "tokens" or not self.spans or label != OUTSIDE):
            self.labels.append(label)
        return label

    def _tokens(self, item: dict[str, Any], value: Any) -> list[str | None]:
        n = len(item["places"])
        if not isinstance(value, list) or len(value) != n:
            raise InputError(f"an answer has a label, or null, for each of {n} tokens")
        known = set(self.tags())
        for place, label in enumerate(value):
            if label is not None and label not in known:
                raise InputError(f"token {place} has the label {str(label)[:40]!r}, which there is not")
        return list(value)

    def _class(self, _: dict[str, Any], value: Any) -> str:
        if value not in self.labels:
            raise InputError(f"{str(value)[:40]!r} is none of the labels {', '.join(self.labels[:20])}")
        return str(value)

    def _number(self, _: dict[str, Any], value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InputError(f"{str(value)[:40]!r} is no finite number")
        return float(value)

    def _tree(self, item: dict[str, Any], value: Any) -> str:
        from accord.datasets.bracketing import bracketed

        if not isinstance(value, str) or len(value) > 100_000:
            raise InputError("an answer is a tree in brackets")
        tree = as_tree(value, "the answer")
        if leaves(tree) != tokens_of(item):
            raise InputError("the words of the tree are not those of the sentence")
        return bracketed(tree)

    def _pair(self, _: dict[str, Any], value: Any) -> str:
        if value not in PAIR_ANSWERS:
            raise InputError(f"{str(value)[:40]!r} is none of {', '.join(PAIR_ANSWERS)}")
        return str(value)


_CHECKS = {
    "tokens": Project._tokens,
    "classes": Project._class,
    "numbers": Project._number,
    "trees": Project._tree,
    "pairs": Project._pair,
}


def tokens_of(item: dict[str, Any]) -> list[str]:
    """The tokens of an item of kind tokens or trees."""
    return [item["text"][a:b] for a, b in item["places"]]


def text_item(text: str, places: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """An item of tokens that are parts of a text."""
    return {"text": text, "places": [list(place) for place in places]}


def words_item(words: Sequence[str]) -> dict[str, Any]:
    """An item of tokens whose text is not known."""
    places, start = [], 0
    for word in words:
        places.append([start, start + len(word)])
        start += len(word) + 1
    return {"text": " ".join(words), "places": places}


def counted(project: Project, truth: dict[str, Any]) -> dict[str, int]:
    """How often each label was given: spans, tokens, items, or constituents."""
    counts: Counter[str] = Counter()
    for value in truth.values():
        if project.kind == "tokens" and project.spans:
            counts.update(label[2:] for label in value if label and label.startswith("B-"))
        elif project.kind == "tokens":
            counts.update(label for label in value if label is not None)
        elif project.kind in ("classes", "pairs"):
            counts[value] += 1
    names = PAIR_ANSWERS if project.kind == "pairs" else project.labels
    return {name: counts[name] for name in names} if project.kind in ("tokens", "classes", "pairs") else {}


def digest(item: dict[str, Any]) -> str:
    """A short name for what an item says."""
    plain = json.dumps(item, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return blake2s(plain.encode(), digest_size=9).hexdigest()
