"""CRFsuite's weights under Accord's objective, to show that both optimise the same function."""

from __future__ import annotations

from typing import Any

import numpy as np
from accord_side import inputs_of, view_of
from measure import Task

from accord import CRF, Sequence
from accord.solvers.gradient import objective


def objective_of_crfsuite(task: Task, info: Any, C: float) -> float:
    """The regularised negative log likelihood of a trained CRFsuite model, computed by Accord from its weights."""
    crf = CRF(Sequence(), view=view_of(task), C=C)
    rows, y, _ = crf._prepare(inputs_of(task, task.X_train), task.Y_train)
    problem = crf._problem(rows, y)
    weights = problem.zero_weights()
    label = {name: number for number, name in enumerate(crf.structure_.labels_)}
    feature = {name: number for number, name in enumerate(crf.view_.feature_names(range(rows.n_dims)))}
    n_labels = len(label)
    for (name, label_name), weight in info.state_features.items():
        if name == "start":
            weights.transitions[label[label_name]] = weight
        elif name == "end":
            weights.transitions[n_labels + label[label_name]] = weight
        else:
            weights.unary[feature[name], label[label_name]] = weight
    for (before, after), weight in info.transitions.items():
        weights.transitions[2 * n_labels + label[before] * n_labels + label[after]] = weight
    used = np.count_nonzero(weights.unary) + np.count_nonzero(weights.transitions)
    stored = [w for w in (*info.state_features.values(), *info.transitions.values()) if w]
    if used != len(stored):
        raise RuntimeError(f"{len(stored)} weights of CRFsuite, but {used} found a place in Accord's model")
    return objective(problem, weights, C)[0] / C
