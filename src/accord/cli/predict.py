"""``accord predict``: label files or streams with a trained model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from accord.cli.program import Interrupted, debug_option
from accord.cli.reading import Batch, batch_size, default_format, reader_of
from accord.cli.reading_options import reading_options, take_reading_options
from accord.cli.reading_trees import predicts_trees
from accord.cli.regression import predicts_numbers
from accord.cli.terminal import computing
from accord.cli.trees import TREE_FORMATS, Parser, Pictures, write_trees
from accord.cli.writing import WRITERS, Prediction
from accord.exceptions import InputError


@click.command(short_help="Label files or standard input with a model.")
@click.argument("model")
@click.argument("data", default="-")
@click.option(
    "--output", "-o", default="-", show_default=True, help="File to write to (svg: a folder); - is standard output."
)
@click.option(
    "--output-format", type=click.Choice([*WRITERS, *(name for name in TREE_FORMATS if name not in WRITERS)]),
    help="conll: token<TAB>label lines with a blank line after each sentence; text: token/label on one line; json: "
    "JSON lines. Trees: brackets, a tree per line; text: a drawing; svg: pictures, one file per sentence in the folder "
    "--output, or a single one to standard output; json.  [default: conll; brackets for trees]",
)  # fmt: skip
@click.option("--marginals", is_flag=True, help="Add the probability of every label (crf, hmm); of every constituent "
              "(crf, pcfg with --output-format json).")  # fmt: skip
@click.option("--k-best", type=click.IntRange(min=1), help="The N best outputs of each input with their scores.")
@click.option(
    "--chunk-size", type=click.IntRange(min=1), help="Examples read at a time.  [default: 4096; 1 if typed in]"
)
@click.option("--n-jobs", type=int, help="Threads.  [default: as in training]")
@reading_options
@debug_option
def predict(model: str, data: str, **options: Any) -> None:
    """Label DATA with MODEL. DATA is a file, or - (the default) for standard input.

    \b
    Sequences   text with a tokenised sentence per line (the default for standard input), or CoNLL columns,
                whose labels, if any, are not looked at.
    Trees       text likewise, a tokenised sentence per line, or a treebank, whose brackets are not looked at. For a
                model of given tags (--terminals tags) the tokens are word/TAG, split at the last slash, or TAG alone.
    Classes     the format of training; a column of classes may be there or not. Output: one class per line.
    Numbers     likewise; output: one number per line.

    Input is read and written in chunks, so it may be larger than memory. An empty line of text gives an empty line
    of output. A sentence that a grammar cannot parse gets the largest parts that it can, joined below the root;
    standard error counts and names such sentences.

    \b
    Examples:
      echo "Tom comes from London ." | accord predict names.accord
      accord predict names.accord text.txt --output-format text --n-jobs 2 > labeled.txt
      accord predict names.accord test.conll --marginals
      echo "the dog saw a cat" | accord predict parser.accord --output-format text
      accord predict parser.accord text.txt --output-format svg --output pictures
      accord predict iris.accord new.csv --k-best 3
      accord predict houses.accord new.csv > prices.txt
    """
    if options["marginals"] and options["k_best"]:
        raise click.UsageError("--marginals and --k-best do not go together")
    reading = take_reading_options(options)
    with computing():
        import accord

        fitted = accord.load(model)
        if options["n_jobs"] is not None:
            fitted.n_jobs = options["n_jobs"]
        if options["marginals"] and not hasattr(fitted, "predict_marginals"):
            needed = "crf or pcfg" if predicts_trees(fitted) else "crf or hmm"
            raise InputError(f"a {type(fitted).__name__} has no probabilities; --marginals needs a {needed} model")
        if options["k_best"] and predicts_numbers(fitted):
            raise InputError(f"a {type(fitted).__name__} predicts numbers; --k-best needs a model of labels")
        form = _output_format(fitted, options)
        reader = reader_of(fitted, reading)
        reader = reader.for_file(data, default_format(fitted, reader))
        chunks = reader.batches(data, batch_size(data, options["chunk_size"]), labeled=False)
        try:
            if form == "svg":
                _draw(fitted, chunks, options)
                return
            encoding = "utf-8" if form == "text" else reader.encoding  # lines of drawings are in few encodings
            with _target(options["output"], encoding) as stream:
                if predicts_trees(fitted):
                    parser = Parser(fitted, options["k_best"], options["marginals"])
                    write_trees(parser, chunks, form, stream)
                    parser.tell()
                else:
                    _label(fitted, chunks, stream, form, options)
        except KeyboardInterrupt:
            raise Interrupted("the output ends early") from None


def _output_format(model: Any, options: dict[str, Any]) -> str:
    trees, wanted = predicts_trees(model), options["output_format"]
    form = wanted or ("brackets" if trees else "conll")
    if form not in (TREE_FORMATS if trees else WRITERS):
        known = ", ".join(TREE_FORMATS if trees else WRITERS)
        raise click.UsageError(
            f"a {type(model).__name__} of {'trees' if trees else 'labels'} writes {known}, not {form}"
        )
    if trees and options["marginals"] and form != "json":
        raise click.UsageError("--marginals of trees are written by --output-format json")
    return form


def _draw(model: Any, chunks: Iterator[Batch], options: dict[str, Any]) -> None:
    pictures, parser = Pictures(options["output"]), Parser(model, options["k_best"], False)
    write_trees(parser, chunks, "svg", pictures)
    pictures.close()
    parser.tell()


def _label(model: Any, chunks: Iterator[Batch], stream: IO[str], form: str, options: dict[str, Any]) -> None:
    """Read, predict and write chunk by chunk; a count is shown if the output does not go to the terminal itself."""
    from accord.progress import Progress

    write = WRITERS[form]
    single = predicts_numbers(model) or model.structure_.single_row
    with Progress(None, "predict", enabled=not stream.isatty()) as progress:
        for chunk in chunks:
            labels = [] if predicts_numbers(model) else [str(label) for label in model.structure_.labels_]
            for start, prediction in enumerate(_predictions(model, chunk, options)):
                tokens = chunk.tokens[start] if chunk.tokens is not None and not single else None
                stream.write(write(tokens, prediction, labels))
            stream.flush()
            progress.advance(len(chunk.Y))


def _predictions(model: Any, chunk: Batch, options: dict[str, Any]) -> Iterator[Prediction]:
    if options["k_best"]:
        yield from (Prediction(k_best=found) for found in model.predict_k_best(chunk.X, options["k_best"]))
    elif options["marginals"]:
        yield from (Prediction(y, m) for y, m in zip(model.predict(chunk.X), model.predict_marginals(chunk.X)))
    elif predicts_numbers(model):
        yield from map(Prediction, model.predict(chunk.X).tolist())
    else:
        yield from (Prediction(y) for y in model.predict(chunk.X))


@contextmanager
def _target(name: str, encoding: str) -> Iterator[IO[str]]:
    try:
        if name == "-":
            if hasattr(sys.stdout, "reconfigure"):  # the encoding of the data, not that of the locale
                sys.stdout.reconfigure(encoding=encoding, newline="\n")
            yield sys.stdout
        else:
            with open(name, "w", encoding=encoding, newline="\n") as stream:
                yield stream
    except UnicodeEncodeError as error:
        what = error.object[error.start : error.end]
        raise InputError(
            f"--encoding {encoding} has no {what!r}, which is in the output; use --encoding utf-8"
        ) from None
