"""python-crfsuite and sklearn-crfsuite.

Three costs are timed apart: extracting features in Python (as users of CRFsuite do), handing them over, and training
or tagging. The first and last token of a sentence get the extra attributes ``start`` and ``end``, which stand for
Accord's start and end transitions: with ``feature.possible_states`` and ``feature.possible_transitions`` both sides
then have the very same parameters, and CRFsuite's ``c2 |w|^2 - log likelihood`` with ``c2 = 1 / (2 C)`` is Accord's
objective divided by C.
"""

from __future__ import annotations

from typing import Any

import features
import pycrfsuite
from measure import Clock, Task, Times, accuracy_of, best, peak_memory_mb

C = 1.0
ALL_FEATURES = {"feature.possible_states": True, "feature.possible_transitions": True}
N_EPOCHS = 10


def averaged_perceptron(task: Task, options: Any) -> dict[str, Any]:
    """CRFsuite's ``ap`` with its default features: the attribute-label pairs that occur."""
    return _run(task, options, "ap", {"max_iterations": N_EPOCHS})


def lbfgs(task: Task, options: Any) -> dict[str, Any]:
    """CRFsuite's ``lbfgs`` over all attribute-label pairs: the same objective as Accord's CRF."""
    return _run(task, options, "lbfgs", {"c1": 0.0, "c2": 1 / (2 * C), **ALL_FEATURES})


def lbfgs_observed(task: Task, options: Any) -> dict[str, Any]:
    """CRFsuite's ``lbfgs`` with its default features: fewer parameters, another objective."""
    return _run(task, options, "lbfgs", {"c1": 0.0, "c2": 1 / (2 * C)})


def extract(task: Task, x: Any) -> list[list[str]]:
    """The features of one sentence as strings."""
    rows = features.sentence_features(x) if task.is_text else features.image_features(x)
    if rows:
        rows[0].append("start")
        rows[-1].append("end")
    return rows


def _run(task: Task, options: Any, algorithm: str, parameters: dict[str, Any]) -> dict[str, Any]:
    clock = Clock()
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.select(algorithm)
    trainer.set_params(parameters)
    for x, y in zip(task.X_train, task.Y_train):
        with clock("extract"):
            rows = extract(task, x)
        with clock("hand_over"):
            trainer.append(rows, y)
    model = str(task.folder / f"{options.name}.crfsuite")
    with clock("optimise"):
        trainer.train(model)
    train_memory = peak_memory_mb()
    log = trainer.logparser.iterations
    del trainer
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    rounds = [_tag(task, tagger) for _ in range(options.rounds)]
    memory = peak_memory_mb()
    result = {
        "train": clock.sums(ready=("hand_over", "optimise"), raw=("extract", "hand_over", "optimise")),
        "tag": best([times for _, times in rounds]),
        "memory": {"train": train_memory, "all": memory},
        **accuracy_of(task, rounds[0][0]),
    }
    if algorithm == "lbfgs":
        result["objective"] = log[-1]["loss"]
        result["curve"] = _curve(log)
        if options.check and len(parameters) > 2:
            from likelihood import objective_of_crfsuite

            result["objective_by_accord"] = objective_of_crfsuite(task, tagger.info(), C)
    return result


def _tag(task: Task, tagger: pycrfsuite.Tagger) -> tuple[list[list[str]], Times]:
    """Labels and times: ``raw`` from tokens, ``ready`` from lists of strings, ``decode`` from CRFsuite's own form."""
    clock, labels = Clock(), []
    for x in task.X_test:
        with clock("extract"):
            rows = extract(task, x)
        with clock("hand_over"):
            items = pycrfsuite.ItemSequence(rows)
        with clock("decode"):
            labels.append(tagger.tag(items))
    return labels, clock.sums(ready=("hand_over", "decode"), raw=("extract", "hand_over", "decode"))


def _curve(log: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """(processor seconds since the start of the optimiser, objective) after every iteration."""
    curve, seconds = [], 0.0
    for entry in log:
        seconds += entry["time"]
        curve.append((round(seconds, 3), entry["loss"]))
    return curve


def sklearn_wrapper(task: Task, options: Any) -> dict[str, Any]:
    """sklearn-crfsuite: the same engine (``ap``), but all features are lists in memory, as its users have them."""
    import sklearn_crfsuite

    clock = Clock()
    with clock("extract"):
        X = [extract(task, x) for x in task.X_train]
    model = sklearn_crfsuite.CRF(algorithm="ap", max_iterations=N_EPOCHS)
    with clock("ready"):
        model.fit(X, task.Y_train)
    train_memory = peak_memory_mb()
    del X
    rounds = []
    for _ in range(options.rounds):
        tagging = Clock()
        with tagging("extract"):
            X = [extract(task, x) for x in task.X_test]
        with tagging("ready"):
            predicted = model.predict(X)
        rounds.append(tagging.sums(raw=("extract", "ready")))
    memory = peak_memory_mb()
    return {
        "train": clock.sums(raw=("extract", "ready")),
        "tag": best(rounds),
        "memory": {"train": train_memory, "all": memory},
        **accuracy_of(task, [list(y) for y in predicted]),
    }
