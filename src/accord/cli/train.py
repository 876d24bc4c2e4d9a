"""``accord train``: from a data file to a model file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from accord.cli.parameters import (
    CLASSES,
    LEARNERS,
    STRUCTURES,
    TrainCommand,
    given_parameters,
    parameters_of,
    refuse_foreign,
)
from accord.cli.program import Interrupted, debug_option
from accord.cli.reading import (
    BATCH,
    Batch,
    Reader,
    guess_format,
    join,
    reading_options,
    take_reading_options,
)
from accord.cli.terminal import computing, note
from accord.exceptions import InputError, ModelFileError


@click.command(cls=TrainCommand, short_help="Train a model on a data file.")
@click.argument("data")
@click.option("--model", required=True, type=click.Path(path_type=Path), help="File to write the model to.")
@click.option(
    "--task", type=click.Choice(list(STRUCTURES)),
    help="What is predicted.  [default: sequence for CoNLL files, taxonomy with --taxonomy, else multiclass]",
)  # fmt: skip
@click.option(
    "--learner", type=click.Choice(list(LEARNERS)), default="crf", show_default=True, help="How it is learned."
)
@click.option("--taxonomy", metavar="FILE", help="Classes: child<TAB>parent edges or A/B/C paths, one per line.")
@click.option(
    "--unlabeled", metavar="FILE", help="More inputs, without labels: text or CoNLL; CSV, svmlight for classes."
)
@click.option("--valid", metavar="FILE", help="Labeled data to score the model on after training.")
@click.option("--stream", is_flag=True, help="Train batch by batch, for data larger than memory (perceptron, crf).")
@click.option(
    "--batch-size", type=click.IntRange(min=1), default=BATCH, show_default=True, help="Examples per batch of --stream."
)
@click.option(
    "--random-state", type=int, default=0, show_default=True, help="Seed; the same seed gives the same model."
)
@click.option("--n-jobs", type=int, default=1, show_default=True, help="Threads.")
@click.option("--quiet", "-q", is_flag=True, help="No progress, not even on a terminal.")
@reading_options
@debug_option
def train(data: str, model: Path, **options: Any) -> None:
    """Train a model on DATA, a file or - for standard input.

    \b
    Sequences   CoNLL columns: a token per line, a blank line between sentences.
    Classes     CSV, svmlight, or text lines `class<TAB>words`.

    Labels may be missing (`_` in CoNLL, an empty cell in CSV): such examples, and those of --unlabeled,
    are unlabeled. With --stream, the data are read --max-iter times (once by default), and labels that are not
    in the first batch of standard input must be listed by --labels.

    \b
    Examples:
      accord train train.conll --model names.accord --constraints iob2
      accord train train.conll --model names.accord --learner perceptron --max-iter 15 --window 2
      accord train iris.csv --model iris.accord --label-column species --learner svm --C 10 --kernel rbf
      accord train docs.svm --model docs.accord --taxonomy tree.tsv --learner svm --loss tree
      zcat huge.conll.gz | accord train - --model big.accord --learner perceptron --stream --labels O,B,I
    """
    reading = take_reading_options(options)
    given = given_parameters(options)
    _check_inputs(data, model, options)
    task = _task(data, reading["format"], options)
    reader = Reader(sequence=task == "sequence", **{k: v for k, v in reading.items() if v is not None})
    reader = reader.for_file(data, "conll" if task == "sequence" else "csv")
    start = time.perf_counter()
    learner = make_learner(options["learner"], task, _view_kind(reader), given, options)
    try:
        with computing(announce=False if options["quiet"] else None):
            if options["stream"]:
                trained, reader, n = _fit_stream(learner, reader, data, given, options)
            else:
                trained, reader, n = _fit(learner, reader, data, options)
    except KeyboardInterrupt:
        state = "is as it was before" if model.exists() else "was not written"
        raise Interrupted(f"the model is lost, and {model} {state}") from None
    trained.input_ = reader.remember()
    trained.verbose = 0
    trained.save(model)
    if not options["quiet"]:
        note(f"{_summary(trained, n)}, {time.perf_counter() - start:.1f} s: {model}")
    if options["valid"]:
        _validate(trained, reader, options["valid"])


# -- options ------------------------------------------------------------------------------------------------------
def _check_inputs(data: str, model: Path, options: dict[str, Any]) -> None:
    """Find mistakes before hours of training."""
    if [data, options["unlabeled"], options["valid"]].count("-") > 1:
        raise click.UsageError("only one of DATA, --unlabeled and --valid can be standard input (-)")
    if model.is_dir() or not model.parent.is_dir():
        what = "is a folder, not a file" if model.is_dir() else "cannot be written: its folder does not exist"
        raise ModelFileError(f"--model {model} {what}")
    for name in (data, options["unlabeled"], options["valid"], options["taxonomy"]):
        if name not in (None, "-"):
            open(name, "rb").close()
    if options["stream"] and options["learner"] not in ("perceptron", "crf"):
        raise click.UsageError(f"--stream works with the learners perceptron and crf, not with {options['learner']}")
    if options["stream"] and options["unlabeled"]:
        raise click.UsageError("--stream and --unlabeled do not go together; put unlabeled sentences into DATA")


def _task(data: str, given_format: str | None, options: dict[str, Any]) -> str:
    task = options["task"]
    if options["taxonomy"]:
        if task not in (None, "taxonomy"):
            raise click.UsageError(f"--taxonomy needs --task taxonomy, not {task}")
        return "taxonomy"
    if task == "taxonomy":
        raise click.UsageError("--task taxonomy needs the classes: --taxonomy FILE")
    found = given_format or guess_format(data, sequence=True)
    if task is None:
        if found == "text":
            raise click.UsageError("plain text: give --task multiclass if its lines are class<TAB>words")
        task = "sequence" if found in ("conll", None) else "multiclass"
    if task == "sequence" and found == "text":
        raise click.UsageError("plain text has no labels to learn from; give CoNLL columns, and text by --unlabeled")
    return task


def _view_kind(reader: Reader) -> str:
    """Which view fits; tables with words in them are found out later."""
    if reader.sequence:
        return "dicts" if reader.feature_columns else "tokens"
    return "dicts" if reader.format == "text" or reader.categorical else "numbers"


# -- building -----------------------------------------------------------------------------------------------------
def make_learner(learner: str, task: str, view: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """The estimator that the options describe."""
    from accord.datasets import read_taxonomy

    kernel = ("kernel",) if "kernel" in given else ()
    refuse_foreign(given, (learner, task, view, *kernel))
    structure_args = parameters_of(task, given)
    if task == "taxonomy":
        structure_args["taxonomy"] = read_taxonomy(options["taxonomy"])
    features: Any = _class(view)(**parameters_of(view, given))
    if kernel:
        base = features.set_params(bias=False) if view == "numbers" and "bias" not in given else features
        features = _class("kernel")(base=base, random_state=options["random_state"], **parameters_of("kernel", given))
    args = parameters_of(learner, given)
    if options["stream"] and learner == "crf" and args.setdefault("solver", "sgd") != "sgd":
        raise click.UsageError(f"--solver {args['solver']} needs all data at once; --stream trains with sgd")
    return _class(learner)(
        _class(task)(**structure_args),
        view=features,
        random_state=options["random_state"],
        n_jobs=options["n_jobs"],
        verbose=int(not options["quiet"]),
        **args,
    )


def _class(name: str) -> Any:
    import accord

    return getattr(accord, CLASSES[name])


# -- training -----------------------------------------------------------------------------------------------------
def _fit(learner: Any, reader: Reader, data: str, options: dict[str, Any]) -> tuple[Any, Reader, int]:
    reader, batch = _load_training(reader, data)
    X, Y = batch.X, batch.Y
    if reader.format == "svmlight":
        reader = replace(reader, n_features=X.shape[1])
    if reader.format == "csv" and isinstance(X, list):
        learner = _with_dicts(learner)
    if options["unlabeled"]:
        name = options["unlabeled"]
        other = replace(reader, format=None, columns=None).for_file(
            name, "text" if reader.sequence else str(reader.format)
        )
        more = other.load(name, labeled=False).X
        n_more = more.shape[0] if hasattr(more, "shape") else len(more)
        X, Y = join([X, more]), [*Y, *[None] * n_more]
    return learner.fit(X, Y), reader, len(Y)


def _load_training(reader: Reader, data: str) -> tuple[Reader, Batch]:
    if reader.format == "csv":
        from accord.cli.reading_csv import load_training_csv

        batch, reader = load_training_csv(reader, data)
        return reader, batch
    return reader, reader.load(data)


def _with_dicts(learner: Any) -> Any:
    """The learner with a view for tables that hold words."""
    from accord import DictFeatures, KernelFeatures

    if isinstance(learner.view, KernelFeatures):
        return learner.set_params(view__base=DictFeatures())
    return learner.set_params(view=DictFeatures())


def _fit_stream(
    learner: Any, reader: Reader, data: str, given: dict[str, Any], options: dict[str, Any]
) -> tuple[Any, Reader, int]:
    passes = given.get("max_iter", 1)
    labels = given.get("labels")
    if data == "-" and passes > 1:
        raise click.UsageError("--max-iter: standard input can be read only once; give a file for more passes")
    if reader.format == "csv":
        reader = replace(reader, header=reader.header is not False, categorical=reader.categorical or ())
    if data != "-":
        seen, width = _scan(reader, data, options["batch_size"])
        labels = labels or seen
        if reader.format == "svmlight" and reader.n_features is None:
            reader = replace(reader, n_features=width)
    elif reader.format == "svmlight" and reader.n_features is None:
        raise click.UsageError("svmlight data from standard input need --n-features with --stream")
    counted = _Counted()
    classes = None if options["taxonomy"] else labels
    learner.fit_batches(counted.batches(reader, data, options["batch_size"], passes), classes)
    if counted.columns is not None:
        reader = replace(
            reader,
            feature_names=counted.columns,
            label_column=-1 if reader.label_column is None else reader.label_column,
        )
    return learner, reader, counted.n // passes


def _scan(reader: Reader, data: str, size: int) -> tuple[list[str], int]:
    """All labels, and the largest number of features, of a file."""
    labels: set[str] = set()
    width = 0
    for batch in reader.batches(data, size):
        for y in batch.Y:
            if y is not None:
                labels.update(y if reader.sequence else [y])
        width = max(width, getattr(batch.X, "shape", (0, 0))[1])
    if not labels:
        raise InputError(f"{data} has no labels; training needs at least one labeled example")
    return sorted(labels), width


class _Counted:
    """Batches for training, with what has to be known of them afterwards."""

    def __init__(self) -> None:
        self.n = 0
        self.columns: tuple[str, ...] | None = None

    def batches(self, reader: Reader, data: str, size: int, passes: int) -> Iterator[tuple[Any, list[Any]]]:
        for _ in range(passes):
            for batch in reader.batches(data, size):
                self.n += len(batch.Y)
                self.columns = batch.columns
                yield batch.X, batch.Y


# -- afterwards ---------------------------------------------------------------------------------------------------
def _summary(model: Any, n: int) -> str:
    sizes = f"{model.structure_.n_labels_} labels, {model.view_.n_dims_:,} features"
    what = "classes" if model.structure_.single_row else "sequences"
    return f"{type(model).__name__} from {n:,} {'examples' if what == 'classes' else 'sentences'}, {sizes}"


def _validate(model: Any, reader: Reader, name: str) -> None:
    from accord.cli.evaluate import print_scores, score_model

    reader = replace(reader, format=None, columns=None).for_file(name, str(reader.format))
    with computing():
        print_scores(score_model(model, reader, name), name)
