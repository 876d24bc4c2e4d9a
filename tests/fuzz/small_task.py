"""Six rows of numbers of two classes, and a learner of them, for hostile rows in their place."""

from __future__ import annotations

from typing import Any

import numpy as np

from accord import MultiClass, StructuredPerceptron

DENSE = np.array([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4], [5, 0, 0, 6], [0, 7, 8, 0], [1, 1, 0, 0]])
CLASSES = ["a", "b", "a", "b", "a", "b"]


def learner() -> Any:
    return StructuredPerceptron(MultiClass(), random_state=0)


def fit(X: Any) -> Any:
    return learner().fit(X, CLASSES).predict(DENSE)


def predict(X: Any) -> Any:
    return learner().fit(DENSE, CLASSES).predict(X)


def right() -> Any:
    return learner().fit(DENSE, CLASSES).predict(DENSE)
