"""The ``accord`` command. A file imports from rows above its own and from its own row, never one that imports it.

===============================================  =====================================================================
program, terminal, help, option_types, models    errors and exit codes, tables, options and their help, model files
outputs/                                         labels, trees and numbers: predicted, written, scored, described
tasks                                            the kinds of task, and which of the above each of them needs
data/                                            reading files
evaluate, predict, inspect, suggest, suspects    commands for all kinds of task
train/                                           likewise
demo/, warm, reproduce, label*, dedupe/, mail/   commands of their own
===============================================  =====================================================================

Everything heavy is imported inside the commands, so that ``accord --help`` answers at once.
"""

from __future__ import annotations

import click

from accord import __version__
from accord.cli.dedupe.command import dedupe
from accord.cli.demo.command import demo
from accord.cli.evaluate import evaluate
from accord.cli.inspect import inspect
from accord.cli.label import label
from accord.cli.label_studio import label_studio
from accord.cli.mail.command import mail
from accord.cli.predict import predict
from accord.cli.program import Program, debug_option
from accord.cli.reproduce import reproduce
from accord.cli.suggest import suggest
from accord.cli.suspects import suspects
from accord.cli.train.command import train
from accord.cli.warm import warm

__all__ = ["main"]


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="accord")
@debug_option
def main() -> None:
    """Structured prediction: classes, taxonomies, label sequences, parse trees; and numbers.

    \b
    Try it without data:      accord demo
    Label some of your own:   accord label news.txt --labels PER,LOC
    Train a tagger:           accord train train.conll --model names.accord
    Label text with it:       accord predict names.accord < text.txt
    Measure and look inside:  accord evaluate names.accord test.conll
                              accord inspect names.accord

    Data come from files or from standard input (-). Options of `train` are named like the constructor
    parameters of the Python classes.
    """


for command in (
    demo, label, train, predict, evaluate, inspect, suggest, suspects, dedupe, mail, label_studio, reproduce, warm
):  # fmt: skip
    main.add_command(command)
