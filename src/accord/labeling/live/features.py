"""Items with texts or fields as rows of a matrix, made once; models of classes and numbers learn from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.labeling.project import Project
from accord.learners.inputs import new_view
from accord.structures.chains.multiclass import MultiClass
from accord.views.documents import TextFeatures


class ItemRows:
    """Features of all items that there are, with `fields` of these alone; texts that come later are seen likewise."""

    def __init__(self, project: Project, fields: list[str] | None = None, view: Any = None) -> None:
        X = inputs_of(project, fields)
        if view is None and X and isinstance(X[0], str):
            view = TextFeatures(min_count=2 if len(X) >= 50 else 1)
        self.project = project
        self.view = new_view(view, MultiClass(), X)
        self.matrix = sp.csr_array(self.view.fit_rows(X).matrix())

    def __call__(self, keys: list[str]) -> sp.csr_array:
        """Rows of items."""
        places = [self.project.place(key) for key in keys]
        if max(places, default=-1) < self.matrix.shape[0]:
            return self.matrix[places]
        return self.of_texts([self.project.items[place]["text"] for place in places])

    def of_texts(self, texts: list[str]) -> sp.csr_array:
        """Rows of texts that may be no items."""
        return sp.csr_array(self.view.transform(texts).matrix())


def inputs_of(project: Project, fields: list[str] | None = None) -> list[Any]:
    """Items as learners take them: texts, or dicts of numbers and texts."""
    if all("text" in item for item in project.items):
        return [item["text"] for item in project.items]
    numeric = {name for name in field_names(project) if _all_numbers(project, name)}
    return [
        {
            name: float(value) if name in numeric else value
            for name, value in item.get("fields", item).items()
            if value not in (None, "") and (fields is None or name in fields)
        }
        for item in project.items
    ]


def field_names(project: Project) -> list[str]:
    """All fields of the items, in the order in which they first occur."""
    return list(dict.fromkeys(name for item in project.items for name in item.get("fields", {})))


def _all_numbers(project: Project, name: str) -> bool:
    values = [item.get("fields", {}).get(name) for item in project.items]
    try:
        return bool(np.isfinite([float(value) for value in values if value not in (None, "")]).all())
    except ValueError:
        return False
