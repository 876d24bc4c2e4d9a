"""``accord predict``: label files or streams with a trained model."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import IO, Any

import click

from accord.cli.data.batch import Batch
from accord.cli.data.layout import TITLES, layout_of, reading_options, take_reading_options
from accord.cli.data.reading import BATCH, batches
from accord.cli.help import GroupedCommand
from accord.cli.models import linked_views, load_model, source_options
from accord.cli.option_types import Choice
from accord.cli.outputs.results import Prediction, Predictor, Tokens, counted
from accord.cli.outputs.trees import Pictures
from accord.cli.places import check_outputs
from accord.cli.program import debug_option, if_interrupted
from accord.cli.tasks import OUTPUT_FORMATS, SEQUENCE, TREE, Task, Writer, task_of
from accord.cli.terminal import computing, is_quiet, note, quiet_option, set_encoding
from accord.exceptions import InputError

Add = Callable[[Tokens, Prediction], object]
_OF_LABELS, _OF_TREES = (", ".join(task.learners(can="marginals")) for task in (SEQUENCE, TREE))


# What --help shows; --help-all shows the rest.
_GROUPS = {
    "Data": ("format",),
    "Output": ("output", "output_format", "marginals", "k_best"),
    "Running": ("n_jobs", "quiet"),
}


@click.command(
    cls=GroupedCommand, groups=_GROUPS, titles=TITLES, short_help="Label files or standard input with a model."
)
@click.argument("model")
@click.argument("data", default="-")
@click.option(
    "--output", "-o", default="-", show_default=True, help="File to write to (svg: a folder); - is standard output."
)
@click.option(
    "--output-format", type=Choice(OUTPUT_FORMATS),
    help="conll: token<TAB>label lines with a blank line after each sentence; text: token/label on one line; json: "
    "JSON lines. Trees: brackets, a tree per line; text: a drawing; svg: pictures, one file per sentence in the folder "
    "--output, or a single one to standard output; json.  [default: conll; brackets for trees]",
)  # fmt: skip
@click.option(
    "--marginals", is_flag=True, help=f"Add the probability of every label ({_OF_LABELS}); of every constituent "
    f"({_OF_TREES} with --output-format json).",
)  # fmt: skip
@click.option("--k-best", type=click.IntRange(min=1), help="The N best outputs of each input with their scores.")
@click.option(
    "--chunk-size", type=click.IntRange(min=1), help="Examples read at a time.  [default: 4096; 1 if typed in]"
)
@click.option("--n-jobs", type=int, help="Threads.  [default: as in training]")
@quiet_option
@source_options
@reading_options
@debug_option
def predict(model: str, data: str, **options: Any) -> None:
    """Label DATA with MODEL. DATA is a file, or - (the default) for standard input.

    \b
    Sequences   text with a sentence per line (the default for standard
                input), CoNLL columns or JSON lines; labels are not looked at.
    Trees       text likewise, or a treebank; brackets are not looked at.
    Classes     the format of training; a column of classes may be there or
                not. Output: one class per line.
    Numbers     likewise; output: one number per line.

    \b
    Examples:
      echo "Tom comes from London." | accord predict names.accord
      accord predict names.accord text.txt --output-format text > labeled.txt
      accord predict names.accord test.conll --marginals
      echo "the dog saw a cat" | accord predict parser.accord
      accord predict iris.accord new.csv --k-best 3
      accord predict topics.accord new.csv --links more.csv
    \f
    Input is read and written in chunks, so it may be larger than memory. An empty line of text gives an empty line
    of output. For a parser of given tags (--terminals tags) the tokens are word/TAG, split at the last slash, or TAG
    alone. A sentence that a grammar cannot parse gets the largest parts that it can, joined below the root; standard
    error counts and names such sentences.

    \b
    More examples:
      accord predict names.accord many.txt --n-jobs 2 -o labeled.conll
      accord predict parser.accord text.txt --output-format text
      accord predict parser.accord text.txt --output-format svg --output pictures
      accord predict houses.accord new.csv > prices.txt
    """
    if options["marginals"] and options["k_best"]:
        raise click.UsageError("--marginals and --k-best do not go together")
    reading = take_reading_options(options)
    start = time.perf_counter()
    with computing():
        fitted = load_model(model, **options)
        task = task_of(fitted)
        _check_wishes(fitted, task, options)
        form = _output_format(fitted, task, options)
        if task.writers[form] is not None:  # else it is a folder
            check_outputs({"--output": options["output"]}, (model, data))
        layout = layout_of(fitted, reading, data)
        # new nodes have features of each other only if they come together
        size = None if linked_views(fitted) else _chunk_size(data, options["chunk_size"])
        chunks = batches(layout, data, size or sys.maxsize, labeled=False)
        predictor = task.predictor(fitted, options["k_best"], options["marginals"])
        encoding = "utf-8" if form == "text" else layout.encoding  # lines of drawings are in few encodings
        target = _opened(task.writers[form], predictor.labels(), options["output"], encoding)
        with if_interrupted("the output ends early"), target as (add, stream):
            n, n_tokens = _run(predictor, chunks, add, stream)
        predictor.tell()
    tokens = f", {counted(n_tokens, 'token')}" if task.of_tokens else ""
    note(f"{counted(n, task.example)}{tokens}, {time.perf_counter() - start:.1f} s")


def _check_wishes(model: Any, task: Task, options: dict[str, Any]) -> None:
    name = type(model).__name__
    if options["marginals"] and not hasattr(model, "predict_marginals"):
        able = " or ".join(task.learners(can="marginals"))
        raise InputError(f"a {name} has no probabilities" + (f"; --marginals needs a {able} model" if able else ""))
    if options["k_best"] and not hasattr(model, "predict_k_best"):
        raise InputError(f"a {name} predicts {task.outputs}; --k-best needs a model of labels")


def _output_format(model: Any, task: Task, options: dict[str, Any]) -> str:
    form = options["output_format"] or next(iter(task.writers))
    if form not in task.writers:
        known = ", ".join(task.writers)
        raise click.UsageError(f"a {type(model).__name__} of {task.outputs} writes {known}, not {form}")
    if options["marginals"] and form not in task.show_marginals:
        known = " or ".join(task.show_marginals)
        raise click.UsageError(f"--marginals of {task.outputs} are written by --output-format {known}")
    return form


def _chunk_size(source: str, wanted: int | None) -> int:
    """How many examples to read before predicting: one at a time when somebody is typing them."""
    typing = source == "-" and sys.stdin is not None and sys.stdin.isatty()
    return wanted or (1 if typing else BATCH)


def _run(predictor: Predictor, chunks: Iterator[Batch], add: Add, stream: IO[str] | None) -> tuple[int, int]:
    """Read, predict and write chunk by chunk: how many examples, and tokens.

    A count is shown if the output does not go to the terminal itself.
    """
    from accord.progress import Progress

    n = n_tokens = 0
    shown = not is_quiet() and (stream is None or not stream.isatty())
    with Progress(None, "predicting", shown) as progress:
        for chunk in chunks:
            tokens: Iterable[Tokens] = chunk.tokens or repeat(None)
            for words, prediction in zip(tokens, predictor(chunk.X, chunk.tokens)):
                add(words, prediction)
            if stream is not None:
                stream.flush()
            progress.advance(len(chunk.Y))
            n += len(chunk.Y)
            n_tokens += sum(map(len, chunk.tokens or ()))
    return n, n_tokens


# -- where it goes --------------------------------------------------------------------------------------------------
@contextmanager
def _opened(
    write: Writer | None, labels: list[str], output: str, encoding: str
) -> Iterator[tuple[Add, IO[str] | None]]:
    """What takes predictions, and the stream that they are written to, if they are text."""
    if write is None:
        pictures = Pictures(output)
        yield pictures.add, None
        pictures.close()
    else:
        with _stream(output, encoding) as stream:
            yield lambda tokens, prediction: stream.write(write(tokens, prediction, labels)), stream


@contextmanager
def _stream(name: str, encoding: str) -> Iterator[IO[str]]:
    from accord.datasets.formats.source import open_target

    if name == "-":
        set_encoding(encoding)
    try:
        with open_target(name, encoding) as stream:
            yield stream
    except UnicodeEncodeError as error:
        what = error.object[error.start : error.end]
        raise InputError(
            f"--encoding {encoding} has no {what!r}, which is in the output; use --encoding utf-8"
        ) from None
