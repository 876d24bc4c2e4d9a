"""Numbers: least squares in all fields, and in two halves of them, whose difference says how sure one can be."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from accord.labeling.live.base import Answers, Judged, Question, of_items
from accord.labeling.live.features import ItemRows, field_names, inputs_of
from accord.labeling.project import Project
from accord.learners.regression import RLSR
from accord.views.documents import TextFeatures

_FEWEST = 3
BOTH = "both halves"


class LiveNumbers:
    """Texts or rows of a table that have a number."""

    measure, is_share = "root mean squared error", False

    def __init__(self, project: Project) -> None:
        self.project = project
        self.matrices = {"all": _dense(ItemRows(project))}
        names = field_names(project)
        if isinstance(inputs_of(project)[0], str):
            self.matrices["words"] = self.matrices["all"]
            self.matrices["letters"] = _dense(ItemRows(project, view=TextFeatures(words=0, ngrams=(3,), min_count=2)))
        elif len(names) > 1:
            for half in (names[::2], names[1::2]):
                self.matrices[", ".join(half)] = _dense(ItemRows(project, half))

    def candidates(self) -> list[str]:
        return self.project.keys

    def rows(self, name: str, keys: list[str]) -> Any:
        """Features of items in a view, or in all halves side by side."""
        places = [self.project.place(key) for key in keys]
        if name == BOTH:
            return np.hstack([matrix[places] for half, matrix in self.matrices.items() if half != "all"])
        return self.matrices[name][places]

    def learn(self, truth: Answers, previous: Any = None) -> NumberModel | None:
        usable = {key: float(value) for key, value in of_items(self.project, truth).items()}
        if len(usable) < _FEWEST:
            return None
        models = {name: RLSR().fit(self.rows(name, list(usable)), list(usable.values())) for name in self.matrices}
        return NumberModel(self, models, usable, f"least squares (RLSR), from {len(usable):,} numbers")

    def examples(self, truth: Answers) -> None:
        """Numbers are not right or wrong."""

    def learn_more(self, truth: Answers, unlabeled: list[str]) -> NumberModel | None:
        """Halves that also agree on unlabeled items."""
        from accord.learners.co_regression import CoRLSR
        from accord.views.select import Select

        usable = {key: float(value) for key, value in of_items(self.project, truth).items()}
        halves = [name for name in self.matrices if name != "all"]
        if len(usable) < 8 or len(halves) < 2 or halves[0] == "words":
            return None
        parts = [self.matrices[name] for name in halves]
        ends = np.cumsum([0, *(part.shape[1] for part in parts)]).tolist()
        views = {name: Select(list(range(a, b))) for name, (a, b) in zip(halves, pairwise(ends))}
        places = [self.project.place(key) for key in (*usable, *unlabeled)]
        y = [*usable.values(), *[None] * len(unlabeled)]
        model = CoRLSR(views).fit(np.hstack(parts)[places], y)
        return NumberModel(self, {BOTH: model}, usable, "co-regularised least squares")


class NumberModel:
    """What items with numbers have taught."""

    is_whole = True

    def __init__(self, live: LiveNumbers, models: dict[str, Any], learned: Answers, name: str) -> None:
        self.live, self.models, self.learned, self.name = live, models, learned, name
        self.n_answers = len(learned)
        self.main = "all" if "all" in models else next(iter(models))

    def predict(self, keys: list[str]) -> dict[str, np.ndarray]:
        """Predictions of the views, by name."""
        return {name: model.predict(self.live.rows(name, keys)) for name, model in self.models.items()}

    def propose(self, key: str) -> dict[str, Any]:
        found = {name: float(values[0]) for name, values in self.predict([key]).items()}
        views = [[name, value] for name, value in found.items() if name != self.main]
        return {"number": found[self.main], "views": views, "error": getattr(self.models[self.main], "loo_rmse_", None)}

    def rank(self, keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
        if not keys:
            return []
        apart = np.std(np.stack(list(self.predict(keys).values())), axis=0)
        order = np.argsort(-apart, kind="stable")[:n]
        why = "the views differ by {:.3g} in what they predict"
        return [Question(keys[int(i)], float(apart[i]), why.format(2 * apart[i])) for i in order]

    def judge(self, truth: Answers) -> list[Judged]:
        keys = [key for key in truth if self.live.project.place(key) >= 0]
        if not keys:
            return []
        predicted = self.predict(keys)[self.main]
        return [Judged(key, float((p - truth[key]) ** 2), 1.0) for key, p in zip(keys, predicted)]

    def confidences(self, keys: list[str]) -> np.ndarray:
        return np.zeros(0)


def _dense(rows: ItemRows) -> np.ndarray:
    return rows.matrix.toarray()
