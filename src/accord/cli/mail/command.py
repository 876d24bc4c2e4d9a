"""``accord mail``: batches of mail in files and in the stream of a mail server."""

from __future__ import annotations

from typing import Any

import click

from accord.cli.mail.detect import detect
from accord.cli.mail.explain import explain
from accord.cli.mail.options import setting_options, take_settings
from accord.cli.mail.serve import milter, serve
from accord.cli.mail.train import generate, train
from accord.cli.program import InOrder, debug_option
from accord.mail.config import example_file


@click.group(cls=InOrder, short_help="Find batches of mail: in files, as a milter, over HTTP.")
def mail() -> None:
    """Find batches: mail that was made from the same template.

    \b
    Look at stored mail:      accord mail detect archive.mbox --html report.html
    Ask why:                  accord mail explain message.eml --among archive.mbox
    Beside a mail server:     accord mail milter --state /var/lib/accord/window
    For other programs:       accord mail serve
    A model of your own:      accord mail train archive.mbox --batches known.tsv --model own.accord

    Every message is assigned to a batch at once and for good, by comparing it with a window of those before it.
    Settings come from a file (--config), and flags win over it.
    """


@click.command(short_help="Print the settings as a file with comments.")
@setting_options("detector", "limits", "milter", "allow", "http", names=("milter.listen",))
@debug_option
def config(**options: Any) -> None:
    """Print all settings, with what they mean, as a TOML file; by default the defaults.

    \b
    Examples:
      accord mail config > accord-mail.toml
      accord mail config --config accord-mail.toml --window 20000     what these two amount to
    """
    click.echo(example_file(take_settings(options)), nl=False)


for command in (detect, explain, milter, serve, train, generate, config):
    mail.add_command(command)
