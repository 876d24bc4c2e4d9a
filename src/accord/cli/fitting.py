"""Reading the training data of ``accord train`` and fitting: all at once, or batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import click

from accord.cli.building import make_learner, with_dicts
from accord.cli.reading import Batch, Reader, join
from accord.cli.reading_trees import check_some
from accord.exceptions import InputError


@dataclass
class Plan:
    """What is to be trained on what."""

    data: str
    task: str
    view: str  # kind of features
    given: dict[str, Any]  # constructor parameters
    options: dict[str, Any]  # the others

    def learner(self) -> Any:
        """The estimator, not fitted."""
        return make_learner(self.options["learner"], self.task, self.view, self.given, self.options)


@dataclass
class Trained:
    """A fitted model, how its data were read, and what they were."""

    model: Any
    reader: Reader
    n_labeled: int
    n_partial: int = 0  # labeled ones in which some labels are missing
    n_unlabeled: int = 0
    unlabeled: Any = None  # inputs without labels; None: not kept

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.n_labeled + self.n_unlabeled


def is_hidden(y: Any) -> bool:
    """Whether an example has no label at all."""
    return y is None or (isinstance(y, list) and bool(y) and all(label is None for label in y))


def fit(plan: Plan, reader: Reader) -> Trained:
    """Train on all data at once."""
    learner = plan.learner()  # before reading: mistakes in options are found at once
    reader, batch = _load_labeled(reader, plan.data)
    X, Y = batch.X, batch.Y
    if reader.format == "csv" and isinstance(X, list):
        learner = with_dicts(plan.options["learner"], plan.task, plan.given, plan.options)
    for name in plan.options["unlabeled"]:
        more = _load_unlabeled(reader, name, plan.options["unlabeled_format"])
        n_more = more.shape[0] if hasattr(more, "shape") else len(more)
        X, Y = join([X, more]), [*Y, *[None] * n_more]
    if reader.format == "svmlight":
        reader = replace(reader, n_features=X.shape[1])
    hidden = [i for i, y in enumerate(Y) if is_hidden(y)]
    partial = sum(isinstance(y, list) and None in y for y in Y) - sum(Y[i] is not None for i in hidden)
    learner.fit(X, Y)
    from accord.learners.inputs import take

    return Trained(learner, reader, len(Y) - len(hidden), partial, len(hidden), take(X, hidden))


def _load_labeled(reader: Reader, data: str) -> tuple[Reader, Batch]:
    if reader.format == "csv":
        from accord.cli.reading_csv import load_training_csv

        batch, reader = load_training_csv(reader, data)
        return reader, batch
    batch = reader.load(data)
    if reader.trees:
        check_some(reader, data, batch.Y)
    return reader, batch


def _load_unlabeled(reader: Reader, name: str, given_format: str | None) -> Any:
    """Inputs of a file whose labels, if any, are not looked at; blank lines of text are no inputs."""
    other = replace(reader, format=given_format, columns=None)
    other = other.for_file(name, "text" if reader.sequence else str(reader.format))
    X = other.load(name, labeled=False).X
    if reader.sequence:
        most = reader.max_length or math.inf
        X = [x for x in X if 0 < len(x) <= most]
    if not (X.shape[0] if hasattr(X, "shape") else len(X)):
        raise InputError(f"--unlabeled {name}: the file is empty")
    return X


# -- batch by batch -----------------------------------------------------------------------------------------------
def fit_stream(plan: Plan, reader: Reader) -> Trained:
    """Train batch by batch, for data larger than memory."""
    learner, data, size = plan.learner(), plan.data, plan.options["batch_size"]
    passes = plan.given.get("max_iter", 1)
    labels = plan.given.get("labels")
    if data == "-" and passes > 1:
        raise click.UsageError("--max-iter: standard input can be read only once; give a file for more passes")
    if reader.format == "csv":
        reader = replace(reader, header=reader.header is not False, categorical=reader.categorical or ())
    if data != "-":
        seen, width = _scan(reader, data, size)
        labels = labels or seen
        if reader.format == "svmlight" and reader.n_features is None:
            reader = replace(reader, n_features=width)
    elif reader.format == "svmlight" and reader.n_features is None:
        raise click.UsageError("svmlight data from standard input need --n-features with --stream")
    counted = _Counted()
    classes = None if plan.options["taxonomy"] else labels
    learner.fit_batches(counted.batches(reader, data, size, passes), classes)
    if counted.columns is not None:
        reader = replace(
            reader,
            feature_names=counted.columns,
            label_column=-1 if reader.label_column is None else reader.label_column,
        )
    return Trained(learner, reader, counted.n_labeled // passes, 0, (counted.n - counted.n_labeled) // passes)


def _scan(reader: Reader, data: str, size: int) -> tuple[list[str], int]:
    """All labels, and the largest number of features, of a file."""
    labels: set[str | None] = set()
    width = 0
    for batch in reader.batches(data, size):
        for y in batch.Y:
            if y is not None:
                labels.update(y if reader.sequence else [y])
        width = max(width, getattr(batch.X, "shape", (0, 0))[1])
    found = sorted(label for label in labels if label is not None)
    if not found:
        raise InputError(f"{data} has no labels; training needs at least one labeled example")
    return found, width


class _Counted:
    """Batches for training, with what has to be known of them afterwards."""

    def __init__(self) -> None:
        self.n = 0
        self.n_labeled = 0
        self.columns: tuple[str, ...] | None = None

    def batches(self, reader: Reader, data: str, size: int, passes: int) -> Iterator[tuple[Any, list[Any]]]:
        for _ in range(passes):
            for batch in reader.batches(data, size):
                self.n += len(batch.Y)
                self.n_labeled += sum(not is_hidden(y) for y in batch.Y)
                self.columns = batch.columns
                yield batch.X, batch.Y
