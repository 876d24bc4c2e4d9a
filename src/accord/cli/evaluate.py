"""``accord evaluate``: how wrong a model (or a file of predictions) is on labeled data."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from accord.cli.fitting import is_hidden
from accord.cli.program import debug_option
from accord.cli.reading import Reader, default_format, guess_format, reader_of
from accord.cli.reading_options import reading_options, take_reading_options
from accord.cli.regression import number_scores, predicts_numbers, print_number_scores
from accord.cli.terminal import computing, print_table
from accord.cli.trees import Parser, print_tree_scores, tree_scores
from accord.exceptions import FormatError, InputError


@click.command(short_help="Score a model on labeled data.")
@click.argument("model", required=False)
@click.argument("data", required=False)
@click.option("--predictions", metavar="FILE", help="Score this output of `accord predict` instead of a model.")
@click.option("--numbers", is_flag=True, help="With --predictions: they are numbers, not classes.")
@click.option(
    "--scoring", type=click.Choice(["papers", "collins"]), default="papers", show_default=True,
    help="Trees: count all constituents but the root; or as EVALB does with COLLINS.prm (no punctuation, no function "
    "tags, PRT is ADVP).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--n-jobs", type=int, help="Threads.  [default: as in training]")
@reading_options
@debug_option
def evaluate(model: str | None, data: str | None, predictions: str | None, as_json: bool, **options: Any) -> None:
    """Score MODEL on labeled DATA, a file or - for standard input.

    Prints the error rates and F1 over labels; for labels such as B-PER also precision, recall and F1 of spans,
    counted as conlleval does; for taxonomies the tree loss. For parse trees: precision, recall and F1 of constituents,
    exact matches, tags, and constituents that cross true ones. If MODEL predicts numbers: the root mean squared error,
    the mean absolute error, and R², the share of the variance that is explained.

    \b
    Examples:
      accord evaluate names.accord test.conll
      accord evaluate names.accord test.conll --json | jq .span_f1
      accord evaluate --predictions predicted.conll test.conll
      accord evaluate parser.accord test.mrg --scoring collins
      accord evaluate --predictions predicted.trees test.mrg
      accord evaluate houses.accord test.csv
    """
    reading = take_reading_options(options)
    if predictions is not None:
        if model is None or data is not None:
            raise click.UsageError("with --predictions give only the labeled DATA")
        given = {k: v for k, v in reading.items() if v is not None}
        scores = _score_file(predictions, model, given, options)
        title = f"{predictions} on {model}"
    else:
        if model is None or data is None:
            raise click.UsageError("Missing argument 'MODEL' or 'DATA'; give a model and labeled data.")
        with computing():
            import accord

            fitted = accord.load(model)
            if options["n_jobs"] is not None:
                fitted.n_jobs = options["n_jobs"]
            reader = reader_of(fitted, reading)
            otherwise = "conll" if reader.sequence else default_format(fitted, reader)
            reader = reader.for_file(data, "treebank" if reader.trees else otherwise)
            scores = score_model(fitted, reader, data, options["scoring"])
        title = f"{model} on {data}"
    if as_json:
        click.echo(json.dumps(scores, ensure_ascii=False, indent=2))
    else:
        print_scores(scores, title)


def score_model(model: Any, reader: Reader, data: str, scoring: str = "papers") -> dict[str, Any]:
    """Predict labeled data and measure."""
    batch = reader.load(data)
    keep = [i for i, y in enumerate(batch.Y) if not is_hidden(y)]
    if not keep:
        raise InputError(f"{data} has no labels to score against")
    from accord.learners.inputs import take

    X = batch.X if len(keep) == len(batch.Y) else take(batch.X, keep)
    if predicts_numbers(model):
        return number_scores([batch.Y[i] for i in keep], model.predict(X))
    if reader.trees:
        parser = Parser(model, None, False)
        parsed = parser(batch._replace(X=X, tokens=[batch.tokens[i] for i in keep]))  # type: ignore[index]
        parser.tell()
        return tree_scores([batch.Y[i] for i in keep], [p.trees[0][0] for p in parsed], scoring == "collins")
    taxonomy = getattr(model.structure, "taxonomy", None)
    return scores_of([batch.Y[i] for i in keep], model.predict(X), taxonomy)


def scores_of(y_true: list[Any], y_pred: list[Any], taxonomy: Any = None) -> dict[str, Any]:
    """Figures of merit by name, and counts per label or span type.

    Tokens that are not annotated (None) do not count; spans cannot be counted then, because they may lack a part.
    """
    from accord.evaluation import TreeLoss, hamming_loss, label_scores, span_scores, token_error, zero_one_loss

    sequences = isinstance(y_true[0], list)
    complete = not sequences or not any(None in y for y in y_true)
    if not complete:
        y_pred = [[p for t, p in zip(*pair) if t is not None] for pair in zip(y_true, y_pred)]
        y_true = [[t for t in y if t is not None] for y in y_true]
    out: dict[str, Any] = {"n_examples": len(y_true)}
    if sequences:
        out["n_tokens"] = sum(map(len, y_true))
        out["token_error"] = token_error(y_true, y_pred)
        out["hamming_loss"] = hamming_loss(y_true, y_pred)
    out["zero_one_loss"] = zero_one_loss(y_true, y_pred)
    if taxonomy is not None:
        out["tree_loss"] = TreeLoss(taxonomy)(y_true, y_pred)
    spans = sequences and complete and _are_spans(y_true, y_pred)
    labels = label_scores(y_true, y_pred, exclude=("O",) if spans else ())
    out["micro_f1"], out["macro_f1"] = labels.overall.f1, labels.macro_f1
    out["labels"] = {str(k): _counts(c) for k, c in labels.per_label.items()}
    if spans:
        found = span_scores(y_true, y_pred)
        out["span_f1"] = found.overall.f1
        out["spans"] = {"all": _counts(found.overall)} | {str(k): _counts(c) for k, c in found.per_label.items()}
    return out


def _are_spans(y_true: list[Any], y_pred: list[Any]) -> bool:
    """Whether labels look like IOB or BIOES: all are O or prefix-type, and at least one is not O."""
    labels = {label for y in (*y_true, *y_pred) for label in y}
    tags = {label for label in labels if isinstance(label, str) and label[:2] in {"B-", "I-", "E-", "S-", "L-", "U-"}}
    return bool(tags) and all(label == "O" for label in labels - tags)


def _counts(c: Any) -> dict[str, float]:
    numbers = {"precision": c.precision, "recall": c.recall, "f1": c.f1}
    return numbers | {"n_true": c.n_true, "n_pred": c.n_pred, "n_correct": c.n_correct}


def print_scores(scores: dict[str, Any], title: str) -> None:
    """The scores as tables."""
    if "rmse" in scores:
        print_number_scores(scores, title)
        return
    if "bracket_f1" in scores:
        print_tree_scores(scores, title)
        return
    from accord.evaluation import METRICS

    size = f"{scores['n_examples']:,} examples" + (f", {scores['n_tokens']:,} tokens" if "n_tokens" in scores else "")
    rows = []
    for name, metric in METRICS.items():
        if name in scores:
            value = f"{100 * scores[name]:.2f} %" if metric.percent else f"{scores[name]:.4f}"
            rows.append([metric.label, value])
    print_table(f"{title} ({size})", ["metric", "value"], rows)
    kind = "spans" if "spans" in scores else "labels"
    rows = [
        [name, *(f"{100 * c[k]:.2f}" for k in ("precision", "recall", "f1")), f"{c['n_true']:,}", f"{c['n_pred']:,}"]
        for name, c in scores[kind].items()
    ]
    heads = ["span" if kind == "spans" else "label", "precision %", "recall %", "F1 %", "true", "predicted"]
    print_table("", heads, rows, sections=[0] if kind == "spans" else ())


def _score_file(predictions: str, data: str, given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Scores of a file that `accord predict` has written: CoNLL columns, trees, or one class or number per line."""
    from accord.cli.reading_csv import load_training_csv
    from accord.datasets import read_conll
    from accord.datasets.formats.source import iter_lines

    numeric = options["numbers"]
    found_format = given.get("format") or guess_format(data, sequence=not numeric) or ("csv" if numeric else "conll")
    if found_format == "treebank":
        return _score_trees(predictions, data, given, options["scoring"])
    sequence = found_format == "conll"
    reader = Reader(sequence=sequence, numeric=numeric, **given).for_file(data, found_format)
    gold = load_training_csv(reader, data)[0] if reader.format == "csv" else reader.load(data)
    if sequence:
        tokens, found = read_conll(predictions, label_column=1, encoding=reader.encoding)
        _check_pairs(tokens, gold.tokens or [], predictions)
    else:
        found = [line.split("\t")[0] for line in iter_lines(predictions, reader.encoding)]  # type: ignore[misc]
        if len(found) != len(gold.Y):
            kind = "numbers" if numeric else "classes"
            raise InputError(f"{predictions} has {len(found)} {kind} but {data} has {len(gold.Y)} examples")
    if numeric:
        found = _numbers(found, predictions)
    pairs = [(t, p) for t, p in zip(gold.Y, found) if not is_hidden(t)]
    if not pairs:
        raise InputError(f"{data} has no labels to score against")
    true, predicted = [t for t, _ in pairs], [p for _, p in pairs]
    return number_scores(true, predicted) if numeric else scores_of(true, predicted)


def _score_trees(predictions: str, data: str, given: dict[str, Any], scoring: str) -> dict[str, Any]:
    reader = Reader(sequence=True, trees=True, **given).for_file(data, "treebank")
    gold, found = reader.load(data), reader.load(predictions)
    if len(gold.Y) != len(found.Y):
        raise InputError(f"{predictions} has {len(found.Y)} trees but {data} has {len(gold.Y)}")
    if scoring != "collins":  # which deletes traces, so that one side need not have them
        hint = "" if reader.clean else " (--clean takes traces out of both)"
        _check_pairs(found.tokens or [], gold.tokens or [], predictions, hint)
    return tree_scores(gold.Y, found.Y, scoring == "collins")


def _numbers(lines: list[Any], name: str) -> list[Any]:
    from accord.cli.targets import as_number

    found = [as_number(text) for text in lines]
    for k, (text, value) in enumerate(zip(lines, found), 1):
        if not math.isfinite(value):
            raise FormatError(f"{text!r} is not a finite number; expected one number per line", name, k)
    return found


def _check_pairs(predicted: list[list[str]], gold: list[list[str]], name: str, hint: str = "") -> None:
    if len(predicted) != len(gold):
        raise InputError(f"{name} has {len(predicted)} sentences but the labeled data have {len(gold)}")
    for i, (a, b) in enumerate(zip(predicted, gold)):
        if a != b:
            raise InputError(
                f"{name}: sentence {i + 1} has other tokens than the labeled data: {a[:5]}, {b[:5]} ...{hint}"
            )
