"""What the page can ask, without anything of the web: questions, answers, history, agreement, files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import blake2s
from itertools import groupby
from typing import Any

import numpy as np

from accord.exceptions import InputError
from accord.labeling import agreement
from accord.labeling.formats.files import FORMATS, formats_of, read_labels, writable_formats, write_labels
from accord.labeling.live.base import Question, first_questions
from accord.labeling.live.kinds import live_model
from accord.labeling.live.pairs import MOST_GROUPED, PairModel, pairs_of
from accord.labeling.project import BETWEEN, Project, counted, digest
from accord.labeling.store import Event, Store
from accord.labeling.trainer import Trainer

_NAME = 60  # characters of an annotator's name
FILE = "file"  # who gave the labels that files came with


class Service:
    """A project, its store, and the model that learns."""

    def __init__(self, project: Project, store: Store, overlap: float = 0.1, seed: int = 0) -> None:
        self.project, self.store, self.overlap = project, store, overlap
        for label in store.recall("labels") or []:  # those that were added while labeling
            if label not in project.labels:
                project.labels.append(label)
        self.live = live_model(project)
        self.trainer = Trainer(self.live, store, seed)
        self._rng = np.random.default_rng(seed + 1)

    # -- questions ----------------------------------------------------------------------------------------------------
    def next(self, window: str, annotator: str) -> dict[str, Any]:
        """The next question for a window, which stays its own while it is open."""
        name, now = check_name(annotator), self.trainer.now
        ready = {question.key: question for question in now.questions}
        key = self.store.lease(list(ready), window, name, self.is_shared)
        if key is None:  # all of them are taken, or answered since
            seen = self.store.seen(name)
            left = [key for key in self.live.candidates() if key not in seen]
            more = first_questions(left, 200, self._rng, "any that is left")
            key = self.store.lease([question.key for question in more], window, name, self.is_shared)
        if key is None:
            return {"key": None, **self.told()}
        return {**self.question(key, ready.get(key), name), **self.told()}

    def is_shared(self, key: str) -> bool:
        """Whether an item is asked of everybody, so that one sees how far they agree."""
        drawn = int.from_bytes(blake2s(key.encode(), digest_size=4).digest(), "big") / 2**32
        return drawn < self.overlap

    def question(self, key: str, question: Question | None, annotator: str) -> dict[str, Any]:
        """An item with what the model and the annotator say about it."""
        item = self.project.item(key)
        if item is None:
            raise InputError(f"there is no item {key[:40]!r}")
        model = self.trainer.now.model
        return {
            "key": key,
            "item": item,
            "proposal": None if model is None else model.propose(key),
            "reason": question.reason if question else "",
            "part": question.part if question else None,
            "mine": self.store.answer_of(key, annotator),
        }

    def told(self) -> dict[str, Any]:
        """What stands beside every question."""
        now = self.trainer.now
        return {
            "revision": now.revision,
            "behind": max(self.store.version - now.version, 0),
            "labels": self.project.labels,
            "model": None if now.model is None else now.model.name,
            "trouble": now.trouble,
        }

    # -- answers ------------------------------------------------------------------------------------------------------
    def answer(self, key: str, annotator: str, value: Any, token: str | None = None, seconds: Any = None) -> int:
        """Store an answer; when this returns it is safe."""
        took = float(seconds) if isinstance(seconds, (int, float)) and 0 <= seconds < 1e6 else None
        checked = self.project.check(key, value)
        number = self.store.answer(key, check_name(annotator), checked, token=check_token(token), seconds=took)
        self.trainer.wake()
        return number

    def take_over(self, answers: Sequence[tuple[dict[str, Any], str, Any]]) -> int:
        """Answers from elsewhere: items, which need not be known, annotators and values. How many say something new."""
        keys = [digest(item) for item, _, _ in answers]
        fresh = {key: item for key, (item, _, _) in zip(keys, answers) if self.project.place(key) < 0}
        for item in fresh.values():
            self.project.add(item)
        self.store.add_items(list(fresh), list(fresh.values()))
        checked = [(k, check_name(name), self.project.check(k, value)) for k, (_, name, value) in zip(keys, answers)]
        learned = self.store.take_over(checked)
        self.trainer.wake()
        return learned

    def skip(self, key: str, annotator: str, token: str | None = None) -> int:
        """Ask something else."""
        if not isinstance(key, str) or not self._is_known(key):
            raise InputError(f"there is no item {str(key)[:40]!r}")
        return self.store.skip(key, check_name(annotator), token=check_token(token))

    def _is_known(self, key: str) -> bool:
        """Whether it is an item, a pair, or a group of records."""
        if self.project.kind == "pairs":
            return BETWEEN in key and all(self.project.place(one) >= 0 for one in key.split(BETWEEN))
        return self.project.place(key) >= 0

    def decide(self, key: str, annotator: str, value: Any, token: str | None = None) -> int:
        """Settle a conflict."""
        number = self.store.decide(key, check_name(annotator), self.project.check(key, value), token=check_token(token))
        self.trainer.wake()
        return number

    def undo(self, annotator: str) -> list[Event]:
        """Take back what an annotator did last."""
        events = self.store.undo(check_name(annotator))
        self.trainer.wake()
        return events

    # -- clusters of records ------------------------------------------------------------------------------------------
    def next_group(self, window: str, annotator: str) -> dict[str, Any]:
        """Records that may be one thing or several, sorted into groups as the model has them."""
        name, model = check_name(annotator), self.trainer.now.model
        if not isinstance(model, PairModel):
            raise InputError("only records of a table with duplicates have clusters")
        key = self.store.lease(model.groups, f"{window}/groups", name)
        return {"group": None if key is None else self.group(key.split(BETWEEN)), **self.told()}

    def group(self, keys: list[str]) -> dict[str, Any]:
        """Records, and the numbers of their groups."""
        model = self.trainer.now.model
        numbers = model.sorted_into(keys) if isinstance(model, PairModel) else [0] * len(keys)
        order = sorted(range(len(keys)), key=lambda k: numbers[k])
        fields = [self.project.items[self.project.place(keys[k])]["fields"] for k in order]
        return {"keys": [keys[k] for k in order], "records": fields, "groups": [numbers[k] for k in order]}

    def answer_group(self, window: str, annotator: str, given: dict[str, Any]) -> int:
        """Store what follows from a grouping: who is the same as whom, and who is not; how many pairs."""
        keys, groups, name = given.get("keys"), given.get("groups"), check_name(annotator)
        if not isinstance(keys, list) or not 2 <= len(keys) <= MOST_GROUPED or len(set(map(str, keys))) != len(keys):
            raise InputError(f"keys are no 2 to {MOST_GROUPED} different records")
        if any(not isinstance(key, str) or self.project.place(key) < 0 for key in keys) or self.project.kind != "pairs":
            raise InputError("there is no such record")
        if not isinstance(groups, list) or len(groups) != len(keys) or any(type(one) is not int for one in groups):
            raise InputError("groups are no numbers, one for each record")
        pairs = pairs_of(sorted(keys, key=self.project.place), dict(zip(keys, groups)))
        self.store.answer_together(name, pairs, check_token(given.get("token")), None)
        self.store.release(f"{window}/groups")
        self.trainer.wake()
        return len(pairs)

    def add_label(self, label: Any) -> str:
        """A label more, which the store remembers."""
        added = self.project.add_label(label)
        self.store.remember("labels", self.project.labels)
        return added

    # -- what was done ------------------------------------------------------------------------------------------------
    def history(self, annotator: str | None, before: int | None = None) -> list[dict[str, Any]]:
        """The latest events; those of one act are one."""
        found = self.store.history(annotator, before=before)
        told = []
        for (_, _, action), events in groupby(found, key=lambda event: (event.at, event.annotator, event.action)):
            first, *others = events
            value = f"{1 + len(others)} answers about pairs" if others and action == "answer" else first.value
            told.append({**first._asdict(), "value": value, "text": self.short(first.item)})
        return told

    def short(self, key: str) -> str:
        """The beginning of an item."""
        if self.project.kind == "pairs" and key.count(BETWEEN) > 1:
            return " | ".join(
                _first(self.project.items[self.project.place(one)]["fields"]) for one in key.split(BETWEEN)
            )
        item = self.project.item(key)
        if item is None:
            return key
        if "a" in item:
            return " | ".join(_first(item[side]) for side in ("a", "b"))
        return str(item["text"] if "text" in item else _first(item["fields"]))[:160]

    def conflicts(self) -> list[dict[str, Any]]:
        """Items on which annotators differ, with what they say."""
        answers = self.store.answers()
        found = agreement.conflicts(answers, self.store.decisions())[:100]
        return [{"key": key, "item": self.project.item(key), "answers": answers[key]} for key in found]

    def state(self, annotator: str | None = None) -> dict[str, Any]:
        """All that the page shows beside a question."""
        now, truth, answers = self.trainer.now, self.store.truth(), self.store.answers()
        panel = None
        if now.panel is not None:
            suspects = [
                {
                    **doubt._asdict(),
                    "text": self.short(doubt.key),
                    "word": self._words(doubt.key, doubt.start, doubt.end),
                }
                for doubt in now.panel.suspects
                if truth.get(doubt.key) is not None
            ]
            expected = now.panel.expected and now.panel.expected._asdict()
            panel = {**asdict(now.panel), "suspects": suspects, "expected": expected}
        return {
            **self.told(),
            "kind": self.project.kind,
            "spans": self.project.spans,
            "taxonomy": self.project.taxonomy,
            "name": self.project.name,
            "items": len(self.project.items),
            "answered": len(truth),
            "mine": self.store.annotators().get(annotator or "", 0),
            "counts": counted(self.project, truth),
            "panel": panel,
            "seconds": round(now.seconds, 3),
            "annotators": self.store.annotators(),
            "agreement": agreement.agreements(self.project.kind, answers),
            "conflicts": len(agreement.conflicts(answers, self.store.decisions())),
            "formats": writable_formats(self.project),
            "advice": self.advice(truth),
        }

    def _words(self, key: str, start: int | None, end: int | None) -> str:
        item = self.project.item(key)
        if start is None or end is None or item is None or "places" not in item:
            return ""
        return item["text"][item["places"][start][0] : item["places"][end - 1][1]]

    def advice(self, truth: dict[str, Any]) -> str:
        """Whether to go on; for pairs of records, when to stop."""
        if self.project.kind == "pairs":
            sure = [value for value in truth.values() if value != "unsure"]
            if len(sure) < 10 or len(set(sure)) < 2:
                return "Ten answers, some of them same and some different, give a usable clustering."
            expected = getattr(self.trainer.now.model, "expected_f1", None)
            if expected is not None and expected > 0.95:
                return f"You can stop: the model expects an F1 of {100 * expected:.0f} %."
            if expected is not None:
                return f"The model expects an F1 of {100 * expected:.0f} %; more answers help."
        return ""

    # -- files --------------------------------------------------------------------------------------------------------
    def export(self, form: str, annotator: str | None = None) -> tuple[bytes, str, str]:
        """Labels as a file: its bytes, its type, and a name for it."""
        truth = self.store.truth()
        if annotator:
            truth = {key: given[annotator] for key, given in self.store.answers().items() if annotator in given}
        made = FORMATS.get(form)
        if made is None or form not in formats_of(self.project):
            raise InputError(f"the format {str(form)[:20]!r} is none of {', '.join(formats_of(self.project))}")
        return write_labels(self.project, truth, form), made.media_type, f"labels{made.suffix}"

    def bring_in(self, form: str, data: bytes, annotator: str) -> dict[str, int]:
        """Take labels over from a file, for items that there are."""
        found, unknown = read_labels(self.project, data, form)
        checked = {key: self.project.check(key, value) for key, value in found.items()}
        added = self.store.bring_in(check_name(annotator), checked)
        if self.project.labels:
            self.store.remember("labels", self.project.labels)
        self.trainer.wake()
        return {"added": added, "known": len(checked) - added, "unknown": unknown}


def check_name(annotator: Any) -> str:
    """An annotator's name."""
    name = annotator.strip() if isinstance(annotator, str) else ""
    if not name or len(name) > _NAME or not name.isprintable():
        raise InputError(f"an annotator has a name of 1 to {_NAME} characters that can be printed")
    return name


def check_token(token: Any) -> str | None:
    """What a client calls an answer, so that it is not stored twice."""
    if token is not None and (not isinstance(token, str) or not 8 <= len(token) <= 64):
        raise InputError("token is no text of 8 to 64 characters")
    return token


def open_service(project: Project | None, store: Store, **settings: Any) -> Service:
    """A service of a project, or of the one that the store remembers; what its files had labeled is taken over."""
    known = store.recall("project")
    if project is None:
        if known is None:
            raise InputError(f"{store.path} has nothing to label yet; name the files to label")
        keys, items = store.items()
        project = Project(known["kind"], items, keys, known["labels"], known["spans"], known["taxonomy"], known["name"])
    else:
        if known is not None and known["kind"] != project.kind:
            raise InputError(
                f"{store.path} has labels of the kind {known['kind']}, but the files are of the kind {project.kind}; "
                "give another --store, or the --task of before"
            )
        for label in (known or {}).get("labels", []):
            if label not in project.labels:
                project.labels.append(label)
        store.add_items(project.keys, project.items)
        store.remember("project", {**project.remembered(), "at": time.time()})
        if project.given:
            store.bring_in(FILE, project.given)
    return Service(project, store, **settings)


def _first(fields: dict[str, Any]) -> str:
    return ", ".join(str(value) for value in fields.values() if value)[:80]
