"""``accord train``: from data files to a model file."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from accord.cli.fitting import Plan, Trained, fit, fit_stream
from accord.cli.parameters import (
    BASES,
    COMPOSITIONS,
    LEARNERS,
    REGRESSORS,
    STRUCTURES,
    TREE_LEARNERS,
    TrainCommand,
    given_parameters,
)
from accord.cli.program import Interrupted, debug_option, noticing_interrupts
from accord.cli.reading import BATCH, FORMATS, Reader, guess_format
from accord.cli.reading_options import reading_options, take_reading_options
from accord.cli.reading_trees import predicts_trees, read_grammar
from accord.cli.regression import predicts_numbers
from accord.cli.terminal import computing, note
from accord.exceptions import ModelFileError


@click.command(cls=TrainCommand, short_help="Train a model on data files.")
@click.argument("data", required=False)
@click.option("--labeled", metavar="FILE", help="The same as DATA.")
@click.option(
    "--unlabeled", metavar="FILE", multiple=True,
    help="More inputs, without labels: text, CoNLL or treebanks; CSV, svmlight for classes and numbers. May be given "
    "several times.",
)  # fmt: skip
@click.option(
    "--unlabeled-format", type=click.Choice(FORMATS),
    help="Format of these.  [default: by the file's name, else text for sequences and trees, else as DATA]",
)  # fmt: skip
@click.option(
    "--model", "--output", "-o", "model", required=True, type=click.Path(path_type=Path),
    help="File to write the model to.",
)  # fmt: skip
@click.option(
    "--task", type=click.Choice(list(STRUCTURES)),
    help="What is predicted.  [default: sequence for CoNLL files, tree for treebanks, taxonomy with --taxonomy, else "
    "multiclass; rlsr and co-rlsr predict numbers]",
)  # fmt: skip
@click.option(
    "--learner", type=click.Choice(list(LEARNERS)), default="crf", show_default=True, help="How it is learned."
)
@click.option(
    "--base-learner",
    type=click.Choice(BASES),
    help="What it is made of.  [default: perceptron (sum-of-views), crf (type-consistency)]",
)
@click.option(
    "--views", type=click.Choice(list(COMPOSITIONS)),
    help="How features are shared out among views: at random, by odd and even columns, or words and letters against "
    "surface clues.  [co-perceptron, co-svm, gradient-co-svm, sum-of-views, co-rlsr; default: random]",
)  # fmt: skip
@click.option("--distributional", is_flag=True, help="Add classes and vectors of words, learned from all sentences.")
@click.option("--canonical", is_flag=True, help="Add vectors of words that correlate with their neighbours', likewise.")
@click.option("--embeddings", metavar="FILE", help="Add word vectors from a file of word2vec, GloVe or fastText.")
@click.option("--taxonomy", metavar="FILE", help="Classes: child<TAB>parent edges or A/B/C paths, one per line.")
@click.option("--grammar", metavar="FILE", help="Trees: a further treebank, whose rules may be used; nothing else is "
              "learned from it.")  # fmt: skip
@click.option("--valid", metavar="FILE", help="Labeled data to score the model on after training.")
@click.option("--stream", is_flag=True, help="Train batch by batch, for data larger than memory (perceptron, crf).")
@click.option(
    "--batch-size", type=click.IntRange(min=1), default=BATCH, show_default=True, help="Examples per batch of --stream."
)
@click.option(
    "--random-state", type=int, default=0, show_default=True, help="Seed; the same seed gives the same model."
)
@click.option("--n-jobs", type=int, default=1, show_default=True, help="Threads.")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no report.")
@reading_options
@debug_option
def train(data: str | None, labeled: str | None, model: Path, **options: Any) -> None:
    """Train a model on DATA, a file or - for standard input.

    \b
    Sequences   CoNLL columns: a token per line, a blank line between sentences.
    Trees       a treebank: (S (NP (DT the) (NN dog)) (VP (VBZ barks))), over as many lines as you like.
    Classes     CSV, svmlight, or text lines `class<TAB>words`.
    Numbers     the same with a number for the class, and --learner rlsr or co-rlsr.

    Labels may be missing (`_` in CoNLL, an empty cell in CSV): such examples, and those of --unlabeled,
    are unlabeled. With --unknown-label, single tokens may be. co-perceptron, co-svm, gradient-co-svm, tsvm,
    type-consistency, hmm, pcfg and co-rlsr learn from unlabeled examples, and so do --distributional and --canonical
    features of any learner; otherwise they only say which features there are. What auto has decided and why, and how
    often views disagree on unlabeled examples, is printed at the end; for numbers also gamma, eta and lambda, and the
    leave-one-out rmse.

    Trees are learned by perceptron, svm, crf, pcfg, gradient-svm, tsvm, co-perceptron, co-svm, gradient-co-svm and
    sum-of-views. With --terminals tags the tags of words are given, in training and later; else they are found along
    with the tree. --clean strips what parsers are not trained on (function tags, traces, empty phrases), here and from
    treebanks that the model reads later.

    With --stream, the data are read --max-iter times (once by default), and labels that are not
    in the first batch of standard input must be listed by --labels.

    Ctrl-C ends the training: co-perceptron, co-svm, gradient-svm, tsvm and gradient-co-svm then write the model they
    have so far (none while auto is still choosing), the others write nothing; the exit code is 130 either way.

    \b
    Examples:
      accord train train.conll --model names.accord --constraints iob2
      accord train --labeled few.conll --unlabeled many.txt --learner co-svm --output names.accord
      accord train few.conll --unlabeled many.txt --learner sum-of-views --distributional -o names.accord
      accord train train.conll --model names.accord --learner perceptron --max-iter 15 --window 2
      accord train iris.csv --model iris.accord --label-column species --learner svm --C 10 --kernel rbf
      accord train houses.csv --unlabeled more.csv --learner co-rlsr --label-column price -o houses.accord
      accord train wsj.mrg --clean --max-length 20 --learner svm --loss f1 -o parser.accord
      accord train few.mrg --unlabeled many.txt --grammar more.mrg --learner co-svm -o parser.accord
      accord train docs.svm --model docs.accord --taxonomy tree.tsv --learner svm --loss tree
      zcat huge.conll.gz | accord train - --model big.accord --learner perceptron --stream --labels O,B,I
    """
    data = _labeled_data(data, labeled)
    reading = take_reading_options(options)
    given = given_parameters(options)
    _check_inputs(data, model, options)
    task = _task(data, reading["format"], options)
    known = {k: v for k, v in reading.items() if v is not None}
    trees, tagged = task == "tree", given.get("terminals") == "tags"
    tokens = trees or task == "sequence"
    reader = Reader(sequence=tokens, numeric=task == "regression", trees=trees, tagged=tagged, **known)
    reader = reader.for_file(data, "treebank" if trees else "conll" if tokens else "csv")
    if options["grammar"] is not None:
        options["grammar"] = read_grammar(options["grammar"], reader)
    plan = Plan(data, task, _view_kind(reader), given, options)
    start = time.perf_counter()
    try:
        with computing(announce=False if options["quiet"] else None), noticing_interrupts() as interrupts:
            trained = (fit_stream if options["stream"] else fit)(plan, reader)
    except KeyboardInterrupt:
        state = "is as it was before" if model.exists() else "was not written"
        raise Interrupted(f"the model is lost, and {model} {state}") from None
    _save(trained, model)
    if interrupts:
        raise Interrupted(f"{model} has what was learned so far")
    _tell(trained, model, time.perf_counter() - start, options)


def _save(trained: Trained, model: Path) -> None:
    trained.model.input_ = trained.reader.remember()
    if hasattr(trained.model, "verbose"):
        trained.model.verbose = 0
    trained.model.save(model)


# -- options ------------------------------------------------------------------------------------------------------
def _labeled_data(data: str | None, labeled: str | None) -> str:
    if data is not None and labeled is not None:
        raise click.UsageError(f"DATA ({data}) and --labeled ({labeled}) are the same thing; give one of them")
    found = labeled if data is None else data
    if found is None:
        raise click.UsageError("Missing argument 'DATA'; give labeled data, as an argument or by --labeled.")
    return found


def _check_inputs(data: str, model: Path, options: dict[str, Any]) -> None:
    """Find mistakes before hours of training."""
    if [data, *options["unlabeled"], options["valid"], options["grammar"]].count("-") > 1:
        raise click.UsageError("only one of DATA, --unlabeled, --valid and --grammar can be standard input (-)")
    if model.is_dir() or not model.parent.is_dir():
        what = "is a folder, not a file" if model.is_dir() else "cannot be written: its folder does not exist"
        raise ModelFileError(f"--model {model} {what}")
    for name in (data, *options["unlabeled"], *(options[n] for n in ("valid", "taxonomy", "embeddings", "grammar"))):
        if name not in (None, "-"):
            open(name, "rb").close()
    if options["stream"] and options["learner"] not in ("perceptron", "crf"):
        raise click.UsageError(f"--stream works with the learners perceptron and crf, not with {options['learner']}")
    if options["stream"] and options["unlabeled"]:
        raise click.UsageError("--stream and --unlabeled do not go together; put unlabeled sentences into DATA")


def _task(data: str, given_format: str | None, options: dict[str, Any]) -> str:
    task = options["task"]
    if options["learner"] in REGRESSORS:
        if task or options["taxonomy"]:
            given = f"--task {task}" if task else "--taxonomy"
            raise click.UsageError(f"--learner {options['learner']} predicts numbers, so {given} does not fit")
        return "regression"
    if options["taxonomy"]:
        if task not in (None, "taxonomy"):
            raise click.UsageError(f"--taxonomy needs --task taxonomy, not {task}")
        return "taxonomy"
    if task == "taxonomy":
        raise click.UsageError("--task taxonomy needs the classes: --taxonomy FILE")
    found = given_format or guess_format(data, sequence=True)
    for_trees = "--learner pcfg" if options["learner"] == "pcfg" else "--grammar" if options["grammar"] else None
    if task == "tree" or (task is None and (for_trees or found == "treebank")):
        return _tree_task(found, options)
    if for_trees:
        raise click.UsageError(f"{for_trees} is for --task tree, not for {task}")
    if task is None:
        if found == "text":
            raise click.UsageError("plain text: give --task multiclass if its lines are class<TAB>words")
        task = "sequence" if found in ("conll", None) else "multiclass"
    if task == "sequence" and found == "text":
        raise click.UsageError("plain text has no labels to learn from; give CoNLL columns, and text by --unlabeled")
    return task


def _tree_task(found: str | None, options: dict[str, Any]) -> str:
    learner = options["learner"]
    if learner not in TREE_LEARNERS:
        raise click.UsageError(f"--learner {learner} does not learn trees; use one of {', '.join(TREE_LEARNERS)}")
    if options["stream"]:
        raise click.UsageError("--stream is not for trees: their grammar is read off all of them at once")
    if found == "text":
        raise click.UsageError("plain text has no trees to learn from; if it holds brackets, give --format treebank")
    return "tree"


def _view_kind(reader: Reader) -> str:
    """Which view fits; tables with words in them are found out later."""
    if reader.tagged:
        return "tags"
    if reader.sequence:
        return "dicts" if reader.feature_columns else "tokens"
    return "dicts" if reader.format == "text" or reader.categorical else "numbers"


# -- afterwards ---------------------------------------------------------------------------------------------------
def _tell(trained: Trained, model: Path, seconds: float, options: dict[str, Any]) -> None:
    from accord.cli.training_report import print_training

    if not options["quiet"]:
        note(f"{_summary(trained)}, {seconds:.1f} s: {model}")
        with computing():
            print_training(trained)
    if options["valid"]:
        _validate(trained.model, trained.reader, options["valid"])


def _summary(trained: Trained) -> str:
    model = trained.model
    if predicts_numbers(model):
        return f"{type(model).__name__} from {trained.n:,} examples"
    sizes = f"{model.structure_.n_labels_} labels, {model.view_.n_dims_:,} features"
    if predicts_trees(model):
        sizes = f"{len(model.structure_.grammar_.rules):,} rules, {sizes}"
    what = "examples" if model.structure_.single_row else "sentences"
    return f"{type(model).__name__} from {trained.n:,} {what}, {sizes}"


def _validate(model: Any, reader: Reader, name: str) -> None:
    from accord.cli.evaluate import print_scores, score_model

    reader = replace(reader, format=None, columns=None).for_file(name, str(reader.format))
    with computing():
        print_scores(score_model(model, reader, name), name)
