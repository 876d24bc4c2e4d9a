"""Reading the training data of ``accord train`` and fitting: all at once, or batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import click

from accord.cli.data.batch import is_hidden, join
from accord.cli.data.layout import Layout
from accord.cli.data.reading import batches, load, load_settled
from accord.cli.outputs.results import Trained, counted
from accord.cli.terminal import note
from accord.cli.train.building import for_table, make_learner
from accord.exceptions import InputError


@dataclass
class Plan:
    """What is to be trained on what."""

    data: str
    layout: Layout  # of the data
    given: dict[str, Any]  # constructor parameters
    options: dict[str, Any]  # the others

    def learner(self) -> Any:
        """The estimator, not fitted."""
        return make_learner(self.layout.task, self.layout.view, self.given, self.options)


@dataclass
class Understood:
    """What a plan's files hold, and the estimator that suits them, not fitted."""

    learner: Any
    layout: Layout  # with what was found out
    X: Any
    Y: list[Any]
    sizes: dict[str, int]  # examples of each file, in the order in which they were read

    @property
    def hidden(self) -> list[int]:
        """Numbers of the examples without any label."""
        return [i for i, y in enumerate(self.Y) if is_hidden(y)]

    @property
    def n_partial(self) -> int:
        """How many have labels, but not everywhere."""
        return sum(isinstance(y, list) and None in y and not is_hidden(y) for y in self.Y)


def read(plan: Plan) -> Understood:
    """Read all files of a plan."""
    from accord.learners.inputs import count

    learner = plan.learner()  # before reading: mistakes in options are found at once
    X, Y, layout = _first_file(plan)
    if not Y:
        longest = f" of at most {layout.max_length} words (--max-length)" if layout.max_length else ""
        raise InputError(f"{plan.data} has no {layout.task.outputs}{longest}")
    if layout.is_table and isinstance(X, list):
        learner = for_table(layout, plan.given, plan.options)
        if layout.free_texts:
            note(_about_texts(layout))
    if plan.options["encoder"] and not (layout.free_texts or layout.view == "tokens"):
        raise InputError(f"--encoder is for words and texts, and {plan.data} has none; see --text-columns")
    sizes = {plan.data: len(Y)}
    for name in plan.options["unlabeled"]:
        more = _load_unlabeled(layout, name, plan.options["unlabeled_format"])
        if not count(more):
            raise InputError(f"--unlabeled {name}: the file is empty")
        X, Y = join([X, more]), [*Y, *[None] * count(more)]
        sizes[name] = sizes.get(name, 0) + count(more)
    if layout.format == "svmlight":
        layout = replace(layout, n_features=X.shape[1])
    return Understood(learner, layout, X, Y, sizes)


def _first_file(plan: Plan) -> tuple[Any, list[Any], Layout]:
    """Inputs and outputs of the file with labels, and its layout; or of one without, if rules take their place."""
    if plan.options["no_labels"] and plan.layout.task.of_tokens:
        X = _load_unlabeled(plan.layout, plan.data, plan.options["unlabeled_format"])
        return X, [None] * len(X), plan.layout
    batch, layout = load_settled(plan.layout, plan.data)
    return batch.X, batch.Y, layout


def fit(plan: Plan) -> tuple[Trained, Layout]:
    """Train on all data at once; what was found out about the files is in the layout."""
    from accord import settings
    from accord.learners.inputs import take

    found = read(plan)
    learner, hidden = found.learner, found.hidden
    n_labeled = len(found.Y) - len(hidden)
    settings.check(learner)  # what is wrong is said first
    unlabeled = f" and {len(hidden):,} unlabeled ones" if hidden else ""
    labeled = counted(n_labeled, f"labeled {found.layout.task.example}")
    if n_labeled or plan.options["rules"]:
        note(f"training {type(learner).__name__} on {labeled}{unlabeled} ...")
    learner.fit(found.X, found.Y)
    return Trained(learner, n_labeled, found.n_partial, len(hidden), take(found.X, hidden)), found.layout


def _about_texts(layout: Layout) -> str:
    """What was understood of a table with free text."""
    texts, names = layout.free_texts, layout.feature_names or ()
    others = len(names) - len(layout.text_columns or ())
    beside = f", beside {others} other column{'s' * (others > 1)}" if others else ""
    return f"free text: {', '.join(texts)} (words, tf-idf){beside}; --text-columns or --categorical say otherwise"


def _load_unlabeled(layout: Layout, name: str, given_format: str | None) -> Any:
    """Inputs of a file whose labels, if any, are not looked at; blank lines of text are no inputs."""
    other, otherwise = replace(layout, format=given_format, columns=None), str(layout.format)
    if not layout.task.of_tokens:
        return load(other.for_file(name, otherwise), name, labeled=False).X
    most = layout.max_length or math.inf
    return [x for x in load(other.for_file(name, "text"), name, labeled=False).X if 0 < len(x) <= most]


# -- batch by batch -----------------------------------------------------------------------------------------------
def fit_stream(plan: Plan) -> tuple[Trained, Layout]:
    """Train batch by batch, for data larger than memory."""
    learner, data, layout, size = plan.learner(), plan.data, plan.layout, plan.options["batch_size"]
    passes = plan.given.get("max_iter", 1)
    labels = plan.given.get("labels")
    if data == "-" and passes > 1:
        raise click.UsageError("--max-iter: standard input can be read only once; give a file for more passes")
    if layout.text_columns:
        raise click.UsageError("--text-columns: words weigh by how many of all texts have them; leave --stream out")
    if layout.is_table:
        layout = replace(layout, header=layout.header is not False, categorical=layout.categorical or ())
    if data != "-":
        seen, width = _scan(layout, data, size)
        labels = labels or seen
        if layout.format == "svmlight" and layout.n_features is None:
            layout = replace(layout, n_features=width)
    elif layout.format == "svmlight" and layout.n_features is None:
        raise click.UsageError("svmlight data from standard input need --n-features with --stream")
    counted = _Counted()
    classes = None if plan.options["taxonomy"] else labels
    learner.fit_batches(counted.batches(layout, data, size, passes), classes)
    if counted.columns is not None:
        layout = replace(layout, feature_names=counted.columns, label_column=layout.target)
    return Trained(learner, counted.n_labeled // passes, 0, (counted.n - counted.n_labeled) // passes), layout


def _scan(layout: Layout, data: str, size: int) -> tuple[list[str], int]:
    """All labels, and the largest number of features, of a file."""
    labels: set[str | None] = set()
    width = 0
    for batch in batches(layout, data, size):
        for y in batch.Y:
            if y is not None:
                labels.update(y if layout.task.of_tokens else [y])
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

    def batches(self, layout: Layout, data: str, size: int, passes: int) -> Iterator[tuple[Any, list[Any]]]:
        for _ in range(passes):
            for batch in batches(layout, data, size):
                self.n += len(batch.Y)
                self.n_labeled += sum(not is_hidden(y) for y in batch.Y)
                self.columns = batch.columns
                yield batch.X, batch.Y
