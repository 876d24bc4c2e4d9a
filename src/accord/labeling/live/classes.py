"""Classes: logistic regression over features of all items, which are made once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from accord.labeling.live.base import Answers, Examples, Judged, Question, of_items, some
from accord.labeling.live.features import ItemRows
from accord.labeling.project import Project
from accord.labeling.suggest import suggest
from accord.learners.crf import CRF
from accord.structures.chains.multiclass import MultiClass

_C = 30.0
_POOL = 2000  # items that are looked at for the next questions


class LiveClasses:
    """Texts or rows of a table that belong to classes."""

    measure, is_share = "items", True

    def __init__(self, project: Project) -> None:
        self.project = project
        self._rows = ItemRows(project) if project.items else None

    def candidates(self) -> list[str]:
        return self.project.keys

    def rows(self) -> ItemRows:
        """Features of items, made again when there are more of them."""
        if self._rows is None or self._rows.matrix.shape[0] < len(self.project.items):
            self._rows = ItemRows(self.project)
        return self._rows

    def learn(self, truth: Answers, previous: Any = None) -> ClassModel | None:
        usable = of_items(self.project, truth)
        if len(set(usable.values())) < 2:
            return None
        rows = self.rows()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self._learner(usable).fit(rows(list(usable)), list(usable.values()))
        name = f"logistic regression, from {len(usable):,} items"
        return ClassModel(self, rows, model, usable, name)

    def _learner(self, usable: Answers) -> CRF:
        labels = [label for label in self.project.labels if label in set(usable.values())]
        return CRF(MultiClass(labels=labels), C=_C, max_iter=100, tol=1e-4)

    def examples(self, truth: Answers) -> Examples | None:
        usable = of_items(self.project, truth)
        if len(set(usable.values())) < 2:
            return None
        return Examples(list(usable), self.rows()(list(usable)), list(usable.values()), self._learner(usable))

    def learn_more(self, truth: Answers, unlabeled: list[str]) -> ClassModel | None:
        """The front door of the library, which also learns from unlabeled items where that pays."""
        from accord.learners.classifier import Classifier

        usable = of_items(self.project, truth)
        if len(usable) < 8 or len(set(usable.values())) < 2:
            return None
        rows = self.rows()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Classifier(time_budget=0.7, random_state=0)
            model.fit(rows([*usable, *unlabeled]), [*usable.values(), *[None] * len(unlabeled)])
        return ClassModel(self, rows, model, usable, model.report_[0])


class ClassModel:
    """What labeled items have taught."""

    is_whole = True

    def __init__(self, live: LiveClasses, rows: ItemRows, model: Any, learned: Answers, name: str) -> None:
        self.live, self.rows, self.model, self.learned, self.name = live, rows, model, learned, name
        self.n_answers = len(learned)
        self.labels = [str(label) for label in model.classes_]

    def propose(self, key: str) -> dict[str, Any]:
        return self._proposal(self.rows([key]))

    def propose_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """What the model thinks of a text that need not be an item of the project."""
        return self._proposal(self.rows.of_texts([item["text"]]))

    def _proposal(self, row: Any) -> dict[str, Any]:
        p = self.model.predict_proba(row)[0]
        order = np.argsort(-p)
        return {"candidates": [[self.labels[int(k)], round(float(p[k]), 3)] for k in order[:20]]}

    def rank(self, keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
        if not keys:
            return []
        keys = some(keys, _POOL, rng)
        found = suggest(self.model, self.rows(keys), n, random_state=rng)
        missing = [label for label in self.live.project.labels if label not in self.labels]
        hint = f"; there is no example of {missing[0]} yet" if missing and len(missing) < 20 else ""
        return [Question(keys[o.index], o.score, self._why(keys[o.index], o.reason) + hint, o.part) for o in found]

    def _why(self, key: str, reason: str) -> str:
        (first, p), *rest = self.propose(key)["candidates"]
        if rest and p < 0.75:
            return f"it may be {first} ({100 * p:.0f} %) or {rest[0][0]} ({100 * rest[0][1]:.0f} %)"
        return reason

    def judge(self, truth: Answers) -> list[Judged]:
        keys = [key for key in truth if self.live.project.place(key) >= 0]
        if not keys:
            return []
        found = []
        for key, p in zip(keys, self.model.predict_proba(self.rows(keys))):
            wrong = self.labels[int(np.argmax(p))] != truth[key]
            found.append(Judged(key, float(wrong), 1.0, [(float(p.max()), wrong)]))
        return found

    def confidences(self, keys: list[str]) -> np.ndarray:
        return self.model.predict_proba(self.rows(keys)).max(axis=1)
