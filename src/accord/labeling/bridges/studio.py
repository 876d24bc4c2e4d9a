"""Projects of a Label Studio: their annotations are learned as they come, and their tasks get predictions.

Each project has a store of its own in a folder, so that what was learned is there when the program is started again.
An annotation counts as an annotator of its own: it may be changed, and taken back.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import urllib.request
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from accord.exceptions import InputError
from accord.labeling.bridges.label_config import LabelConfig, project_name, read_label_config, results_for, text_of
from accord.labeling.formats.others import studio_results, studio_value, token_labels
from accord.labeling.formats.spans import spans_of
from accord.labeling.project import Project, text_item
from accord.labeling.service import Service, open_service
from accord.labeling.store import Store
from accord.tokenizer import spans_by

MOST_PROJECTS = 50
MOST_EXPORT = 256 << 20  # bytes of an export that is asked for
_FIRST = 20.0  # seconds to wait for the model of an earlier run
_SECONDS = 120  # for Label Studio to answer
LEARNED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")


class Studio:
    """All projects of a Label Studio that ask for predictions.

    Parameters
    ----------
    folder : path
        Made if there is none; nobody else may read it.
    url, key : str, optional
        Where Label Studio is, and a key of its API: annotations from before it knew this program are fetched from
        there when it asks for a training.
    """

    def __init__(self, folder: str | os.PathLike[str], url: str | None = None, key: str | None = None) -> None:
        self.folder, self.url, self._key = Path(folder), url, key
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._rooms: dict[str, Room] = {}
        self._lock = threading.Lock()

    def token(self) -> str:
        """The word that addresses must have, the same in every run."""
        path = self.folder / "token"
        if not path.exists():
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(24))
        found = path.read_text().strip()
        if len(found) < 16 or not found.isascii():
            raise InputError(f"{path} holds no word of 16 characters or more; remove it, and a new one is made")
        return found

    def room(self, project: Any, label_config: Any) -> Room:
        """The room of a project, opened if it is not; labels that its configuration has now are added."""
        name, config = project_name(project), read_label_config(label_config)
        with self._lock:
            known = self._rooms.get(name)
            if known is None and len(self._rooms) >= MOST_PROJECTS:
                raise InputError(f"{MOST_PROJECTS} projects are open already; start another program for more")
            if known is None or known.config.kind != config.kind:
                if known is not None:
                    known.close()
                known = self._rooms[name] = Room(config, Store(self.folder / f"project-{name}-{config.kind}.sqlite"))
            known.take_config(config)
        return known

    def close(self) -> None:
        """End all training."""
        for room in self._rooms.values():
            room.close()

    # -- what Label Studio asks -----------------------------------------------------------------------------------
    def setup(self, given: dict[str, Any]) -> dict[str, Any]:
        """A project says that it is there."""
        return {"model_version": self.room(given.get("project"), given.get("schema")).version}

    def predict(self, given: dict[str, Any]) -> dict[str, Any]:
        """Predictions for tasks, all of one version; none while there is no model."""
        room = self.room(given.get("project"), given.get("label_config"))
        tasks = given.get("tasks")
        if not isinstance(tasks, list):
            raise InputError("tasks are missing; expected a list")
        return room.predict(tasks)

    def event(self, given: dict[str, Any]) -> dict[str, Any]:
        """Something happened in Label Studio; what does not concern annotations is left alone."""
        action, project = given.get("action"), given.get("project")
        if action not in (*LEARNED, "ANNOTATIONS_DELETED", "START_TRAINING", "PROJECT_UPDATED"):
            return {"learned": 0}
        if not isinstance(project, dict):
            raise InputError("project is missing; expected an object with id, created_at and label_config")
        room = self.room(project, project.get("label_config"))
        if action in LEARNED:
            done = room.learn(_annotated(given.get("task"), given.get("annotation")))
        elif action == "ANNOTATIONS_DELETED":
            done = room.forget(given.get("annotations"))
        elif action == "START_TRAINING":
            done = room.learn((task, task.get("annotations")) for task in self._export(project["id"]))
        else:
            done = 0
        return {"learned": done, "model_version": room.version}

    def health(self) -> dict[str, Any]:
        """What is known of every project."""
        return {"status": "UP", "model_class": "Accord", "projects": {n: r.told() for n, r in self._rooms.items()}}

    def _export(self, number: Any) -> list[dict[str, Any]]:
        """All annotated tasks of a project, if we may ask for them."""
        if self.url is None or self._key is None:
            return []
        try:
            headers = {"Authorization": f"Token {self._key}"}
            if self._key.count(".") == 2:  # a personal access token, which is good for others that work
                fresh = self._ask("/api/token/refresh", {}, {"refresh": self._key})
                headers = {"Authorization": f"Bearer {fresh['access']}"}
            found = self._ask(f"/api/projects/{int(number)}/export?exportType=JSON", headers)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"the annotations cannot be fetched from {self.url}: {error}") from None
        return [task for task in found if isinstance(task, dict)] if isinstance(found, list) else []

    def _ask(self, path: str, headers: dict[str, str], body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        more = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{str(self.url).rstrip('/')}{path}", data, {**headers, **more})
        with urllib.request.urlopen(request, timeout=_SECONDS) as reply:
            found = reply.read(MOST_EXPORT + 1)
        if len(found) > MOST_EXPORT:
            raise ValueError(f"more than {MOST_EXPORT} bytes")
        return json.loads(found)


class Room:
    """One project: its configuration, and the service that learns."""

    def __init__(self, config: LabelConfig, store: Store) -> None:
        self.config = config
        new = None if store.recall("project") else Project(config.kind, name="Label Studio")
        self.service: Service = open_service(new, store)
        self._lock = threading.Lock()
        self.service.trainer.start()

    def close(self) -> None:
        """End training."""
        self.service.trainer.stop()
        self.service.store.close()

    @property
    def version(self) -> str:
        """Of the model; another one after every training."""
        now = self.service.trainer.now
        return f"accord-{now.version if now.model is not None else 0}"

    def take_config(self, config: LabelConfig) -> None:
        """Labels that are new are added; those that are gone stay, since annotations may have them."""
        with self._lock:
            self.config, labels = config, self.service.project.labels
            fresh = [label for label in config.labels if label not in labels]
            if fresh:
                labels.extend(fresh)
                self.service.store.remember("labels", labels)

    def _item(self, text: str) -> dict[str, Any]:
        return text_item(text, spans_by(None, text)) if self.config.kind == "tokens" else {"text": text}

    def learn(self, tasks: Iterable[tuple[Any, Any]]) -> int:
        """Take annotations of tasks over; how many say something new. Those that were cancelled, or do not answer by
        one label where one is expected, are not learned from."""
        found = []
        for task, given in tasks:
            item = self._item(text_of(self.config, task))
            for one in given if isinstance(given, list) else []:
                value = self._value(item, one)
                if value is not None:
                    found.append((item, _annotator(one), value))
        with self._lock:
            return self.service.take_over(found)

    def _value(self, item: dict[str, Any], annotation: Any) -> Any:
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            return None
        results, project = results_for(self.config, annotation.get("result")), self.service.project
        if project.kind == "tokens":
            return token_labels(project, item, studio_value(project, results, "the annotation"))
        return studio_value(project, results, "the annotation") if len(results) == 1 else None

    def forget(self, annotations: Any) -> int:
        """Annotations were deleted; how many of them had been learned."""
        learned = 0
        for one in annotations if isinstance(annotations, list) else []:
            name, before = _annotator(one), learned
            while self.service.undo(name):
                learned = before + 1
        return learned

    def predict(self, tasks: list[Any]) -> dict[str, Any]:
        """Predictions with scores: of a class its probability, of a sentence the mean over its tokens."""
        trainer = self.service.trainer
        if trainer.now.version < 0:  # the program was started a moment ago
            trainer.wait(0, _FIRST)
        now, version = trainer.now, self.version
        if now.model is None:
            return {"results": [], "model_version": version}
        made = [self._prediction(now.model, text_of(self.config, t, f"task {k}")) for k, t in enumerate(tasks)]
        return {"results": [{**one, "model_version": version} for one in made], "model_version": version}

    def _prediction(self, model: Any, text: str) -> dict[str, Any]:
        item, project = self._item(text), self.service.project
        found = model.propose_item(item)
        names = (self.config.control, self.config.source)
        if project.kind == "classes":
            best, p = found["candidates"][0]
            return {"result": [{**one, "score": p} for one in studio_results(project, item, best, *names)], "score": p}
        sure = found["confidence"]
        spans = spans_of(item, found["labels"], project.spans)
        results = studio_results(project, item, found["labels"], *names)
        scored = [{**one, "score": min(sure[s.first : s.last + 1])} for one, s in zip(results, spans)]
        return {"result": scored, "score": round(sum(sure) / len(sure), 4) if sure else 1.0}

    def told(self) -> dict[str, Any]:
        """What is known of the model."""
        now = self.service.trainer.now
        panel = asdict(now.panel) if now.panel is not None else {}
        curve = panel.get("curve") or [None]
        return {
            "model_version": self.version,
            "model": now.model.name if now.model else None,
            "labels": self.config.labels,
            "annotated": len(self.service.store.truth()),
            "held_out_error": curve[-1],
            "trouble": now.trouble,
        }


def _annotated(task: Any, annotation: Any) -> list[tuple[Any, Any]]:
    """Tasks with their annotations, from an event about one or about several."""
    if not isinstance(annotation, list):
        return [(task, [annotation])]
    tasks = {one.get("id"): one for one in task if isinstance(one, dict)} if isinstance(task, list) else {}
    return [(tasks.get(one.get("task")), [one]) for one in annotation if isinstance(one, dict)]


def _annotator(annotation: Any) -> str:
    number = annotation.get("id") if isinstance(annotation, dict) else None
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
        raise InputError(f"an annotation has the id {str(number)[:40]!r}; expected a number")
    return f"annotation {number}"
