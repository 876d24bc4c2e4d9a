"""``accord train``: the command."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from accord.cli.data.layout import FORMATS, TITLES, Layout, reading_options, take_reading_options
from accord.cli.data.nodes import with_node_column
from accord.cli.data.reading import BATCH
from accord.cli.evaluate import score_model
from accord.cli.models import encoder_options, lost_if_interrupted, model_named_after, seed_option
from accord.cli.option_types import Choice
from accord.cli.outputs.results import Trained, counted
from accord.cli.places import check_outputs
from accord.cli.program import Interrupted, debug_option, noticing_interrupts
from accord.cli.tasks import MULTICLASS, SEQUENCE, TREE, with_terminals
from accord.cli.terminal import computing, listed, note, quiet_option
from accord.cli.train.choosing import check_inputs, choose_task, word_list_files
from accord.cli.train.describing import print_plan
from accord.cli.train.fitting import Plan, fit, fit_stream, read
from accord.cli.train.parameters import COMPOSITIONS, LEARNERS, REGRESSORS, STRUCTURES, TrainCommand, given_parameters
from accord.registry import TABLE, commands

_MULTIVIEW, _STREAMING = (list(commands("learner", can=word)) for word in ("views", "stream"))
_BASES = ", ".join(f"{entry.base} ({entry.command})" for entry in TABLE.values() if entry.base)
_HELP = f"""Train a model on DATA, a file or - for standard input.

    \b
    Sequences   CoNLL columns: a token per line, a blank line between sentences.
    Trees       a treebank: (S (NP (DT the) (NN dog)) (VP (VBZ barks))).
    Classes     a table (CSV, JSON lines, Parquet), svmlight, or text lines
                `class<TAB>words`.
    Numbers     the same with a number for the class, by {listed(REGRESSORS, "or")}.

    Labels may be missing (`_` in CoNLL, an empty cell, null): such examples, and those of --unlabeled,
    are unlabeled. With --dry-run it only says what it understood of the data.

    \b
    Examples:
      accord train posts.csv
      accord train train.conll --model names.accord --constraints iob2
      accord train few.conll --unlabeled many.txt --learner co-svm -o names.accord
      accord train --unlabeled many.txt --rules towns.txt:LOC -o names.accord
      accord train papers.csv --links citations.csv -o topics.accord
      accord train iris.csv --label-column species --dry-run
      accord train houses.csv --learner rlsr --label-column price -o h.accord
      accord train wsj.mrg --clean --max-length 20 --learner svm -o parser.accord
    \f
    {listed(commands("learner", can="unlabeled"))} learn
    from unlabeled examples, and so do --distributional and --canonical features of any learner; otherwise they only say
    which features there are. With --unknown-label, single tokens may be unlabeled. What auto has decided and why, and
    how often views disagree on unlabeled examples, is printed at the end; for numbers also gamma, eta and lambda, and
    the leave-one-out rmse.

    Trees are learned by {listed(TREE.learners())}. With --terminals tags the tags of words are given, in training and
    later; else they are found along with the tree. --clean strips what parsers are not trained on (function tags,
    traces, empty phrases), here and from treebanks that the model reads later.

    With --stream, the data are read --max-iter times (once by default), and labels that are not
    in the first batch of standard input must be listed by --labels.

    Ctrl-C ends the training: {listed(commands("learner", can="interrupt"))} then write the model they have so far (none
    while auto is still choosing), the others write nothing; the exit code is 130 either way.

    \b
    More examples:
      accord train --labeled few.conll --unlabeled many.txt --output names.accord
      accord train few.conll --unlabeled many.txt --learner sum-of-views --distributional -o names.accord
      accord train papers.csv --node-column id --link-column cites -o topics.accord
      accord train few.conll --unlabeled many.txt --encoder minilm/ -o names.accord
      accord train train.conll --clusters brown.txt --embeddings glove.txt -o names.accord
      accord train train.conll --model names.accord --learner perceptron --max-iter 15 --window 2
      accord train iris.csv --model iris.accord --label-column species --learner svm --C 10 --kernel rbf
      accord train few.mrg --unlabeled many.txt --grammar more.mrg --learner co-svm -o parser.accord
      accord train docs.svm --model docs.accord --taxonomy tree.tsv --learner svm --loss tree
      zcat huge.conll.gz | accord train - --model big.accord --learner perceptron --stream --labels O,B,I
"""


# What --help shows; --help-all shows the rest.
_GROUPS = {
    "Data": ("labeled", "unlabeled", "format", "label_column", "unknown_label", "rules", "links", "valid"),
    "Model": (
        "model",
        "task",
        "learner",
        "constraints",
        "C",
        "max_iter",
        "window",
        "unlabeled_weight",
        "distributional",
    ),
    "Running": ("dry_run", "n_jobs", "random_state", "quiet"),
}


@click.command(cls=TrainCommand, short_help="Train a model on data files.", help=_HELP, groups=_GROUPS, titles=TITLES)
@click.argument("data", required=False)
@click.option("--labeled", metavar="FILE", help="The same as DATA.")
@click.option(
    "--unlabeled", metavar="FILE", multiple=True,
    help="More inputs, without labels: text, CoNLL or treebanks; tables or svmlight for classes and numbers. May be "
    "given several times.",
)  # fmt: skip
@click.option(
    "--unlabeled-format", type=Choice(FORMATS),
    help="Format of these.  [default: by the file's name, else text for sequences and trees, else as DATA]",
)  # fmt: skip
@click.option(
    "--model", "--output", "-o", "model", type=click.Path(path_type=Path),
    help="File to write the model to.  [default: here, called like the data: posts.csv, posts.accord]",
)  # fmt: skip
@click.option(
    "--task", type=Choice(list(STRUCTURES)),
    help="What is predicted.  [default: sequence for CoNLL files and JSON lines of sentences, tree for treebanks, "
    "taxonomy with --taxonomy, else "
    f"multiclass; {listed(REGRESSORS)} predict numbers]",
)  # fmt: skip
@click.option(
    "--learner", type=Choice(list(LEARNERS)), metavar="NAME",
    help=f"How it is learned: {', '.join(LEARNERS)}.  [default: {MULTICLASS.learner} for classes, tagger "
    f"for sequences with --unlabeled, else {SEQUENCE.learner}]",
)  # fmt: skip
@click.option(
    "--base-learner", type=Choice(list(commands("learner", can="part"))),
    help=f"What it is made of.  [default: {_BASES}]",
)  # fmt: skip
@click.option(
    "--views", type=Choice(list(COMPOSITIONS)),
    help="How features are shared out among views: at random, by odd and even columns, or words and letters against "
    f"surface clues.  [{', '.join(_MULTIVIEW)}; default: random]",
)  # fmt: skip
@click.option("--distributional", is_flag=True, help="Add classes and vectors of words, learned from all sentences.")
@click.option("--canonical", is_flag=True, help="Add vectors of words that correlate with their neighbours', likewise.")
@click.option(
    "--embeddings", metavar="FILE",
    help="Add word vectors from a file of word2vec, GloVe or fastText, or a matrix (.npy, .safetensors) with "
    "--vocabulary.",
)  # fmt: skip
@click.option("--vocabulary", metavar="FILE", help="The word of each row of the matrix of --embeddings.")
@click.option("--clusters", metavar="FILE", help="Add Brown clusters from a file of bits and words, or JSON.")
@click.option(
    "--word-lists", metavar="FILE[:NAME]", multiple=True,
    help="Add which words and phrases of a list, one per line, are in the sentence, whatever the label: first names, "
    "towns, genes. May be given several times; which of several lists other names are like is a feature, too.",
)  # fmt: skip
@encoder_options
@click.option(
    "--links", metavar="FILE",
    help="Classes of table rows with links between them, such as citations: two names of rows on every line, and "
    "perhaps a weight. Rows may be of --unlabeled files, too.",
)  # fmt: skip
@click.option("--taxonomy", metavar="FILE", help="Classes: child<TAB>parent edges or A/B/C paths, one per line.")
@click.option("--grammar", metavar="FILE", help="Trees: a further treebank, whose rules may be used; nothing else is "
              "learned from it.")  # fmt: skip
@click.option(
    "--rules", metavar="FILE:LABEL", multiple=True,
    help="Words or phrases, one per line, that have this label, or a class that texts with one of them have; or "
    "regex:PATTERN:LABEL. They may be wrong at times. May be given several times; with --unlabeled, DATA may be left "
    "out.  [tagger, classifier]",
)  # fmt: skip
@click.option("--valid", metavar="FILE", help="Labeled data to score the model on after training.")
@click.option(
    "--stream", is_flag=True, help=f"Train batch by batch, for data larger than memory ({', '.join(_STREAMING)})."
)
@click.option(
    "--batch-size", type=click.IntRange(min=1), default=BATCH, show_default=True, help="Examples per batch of --stream."
)
@seed_option
@click.option("--n-jobs", type=int, default=1, show_default=True, help="Threads.")
@click.option("--dry-run", is_flag=True, help="Say what was understood of the data, and train nothing.")
@quiet_option
@reading_options
@debug_option
def train(data: str | None, labeled: str | None, model: Path | None, **options: Any) -> None:
    """Train a model."""
    data = _labeled_data(data, labeled, options)
    if model is None and not options["dry_run"]:
        model = model_named_after(data)
    plan = _plan(data, model, options)
    if model is None or options["dry_run"]:
        print_plan(plan, read(plan))
        return
    start = time.perf_counter()
    with lost_if_interrupted(model), computing(), noticing_interrupts() as interrupts:
        trained, layout = (fit_stream if options["stream"] else fit)(plan)
    _save(trained.model, layout, model)
    if interrupts:
        raise Interrupted(f"{model} has what was learned so far")
    if not options["quiet"]:
        _tell(trained, layout, model, time.perf_counter() - start)
    if options["valid"]:
        _validate(trained.model, layout, options["valid"])


def _labeled_data(data: str | None, labeled: str | None, options: dict[str, Any]) -> str:
    """The file with labels; if rules take their place, the first one without."""
    if data is not None and labeled is not None:
        raise click.UsageError(f"DATA ({data}) and --labeled ({labeled}) are the same thing; give one of them")
    found = labeled if data is None else data
    options["no_labels"] = found is None
    if found is None and options["rules"] and options["unlabeled"]:
        found, *options["unlabeled"] = options["unlabeled"]
    if found is None:
        raise click.UsageError(
            "Missing argument 'DATA'; give labeled data, as an argument or by --labeled, or --unlabeled and --rules."
        )
    return found


def _plan(data: str, model: Path | None, options: dict[str, Any]) -> Plan:
    """What is to be trained; the files that the structure needs are read."""
    reading, given = take_reading_options(options), given_parameters(options)
    read = (options[name] for name in ("embeddings", "vocabulary", "clusters", "links", "taxonomy", "grammar", "valid"))
    lists = [rule.rpartition(":")[0] for rule in options["rules"] if not rule.startswith("regex:")]
    lists += word_list_files(options)
    check_outputs({"--model": model}, (data, *options["unlabeled"], *lists, *read))
    check_inputs(data, options)
    task = with_terminals(choose_task(data, reading, given, options), given.get("terminals", ""))
    layout = Layout(task, **reading).for_file(data, task.labeled_format)
    if options["links"] is not None:
        layout = with_node_column(layout, data, options["links"])
    if options["encoder"] is not None:
        from accord.views.encoders import find_encoder

        options["encoder_name"] = options["encoder"]
        options["encoder"] = find_encoder(options["encoder"])
    if options["grammar"] is not None:
        from accord.cli.data.treebanks import read_grammar

        options["grammar"] = read_grammar(layout, options["grammar"])
    if options["taxonomy"] is not None:
        from accord.datasets import read_taxonomy

        options["taxonomy"] = read_taxonomy(options["taxonomy"])
    return Plan(data, layout, given, options)


def _save(fitted: Any, layout: Layout, model: Path) -> None:
    fitted.input_ = layout.remember()
    if hasattr(fitted, "verbose"):
        fitted.verbose = 0
    fitted.save(model)


def _tell(trained: Trained, layout: Layout, model: Path, seconds: float) -> None:
    task, name = layout.task, type(trained.model).__name__
    note(f"{name} from {counted(trained.n, task.example)}{task.sizes(trained.model)}, {seconds:.1f} s: {model}")
    with computing():
        task.report(trained, task.example, task.unit)


def _validate(fitted: Any, layout: Layout, name: str) -> None:
    layout = replace(layout, format=None, columns=None).for_file(name, str(layout.format))
    with computing():
        layout.task.print_scores(score_model(fitted, layout, name), name)
