"""``accord dedupe``: learn which records of a table belong together, cluster tables, give new records stable ids."""

from __future__ import annotations

import click

from accord.cli.dedupe.ask import ask
from accord.cli.dedupe.ids import export, history, merge, show, split, undo
from accord.cli.dedupe.learn import learn
from accord.cli.dedupe.suspects import suspects
from accord.cli.dedupe.use import apply, assign, explain
from accord.cli.program import InOrder, debug_option


class _LearnsByDefault(InOrder):
    """A group whose first command is meant if none is named: `accord dedupe TABLE` learns."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the first command in front if it is missing; `--ask` is the command of that name."""
        if "--ask" in args and args[0] not in self.commands:
            args = ["ask", *(arg for arg in args if arg != "--ask")]
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help", "--debug"):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


@click.group(cls=_LearnsByDefault, short_help="Find records that belong together; stable ids for new ones.")
@debug_option
def dedupe() -> None:
    """Find the records of a table that belong together, such as entries about the same person.

    `accord dedupe TABLE` is short for `accord dedupe learn TABLE`. Tables are CSV files with a header (gzip is
    recognised; - is standard input) or Parquet files, of any size.

    \b
    Examples:
      accord dedupe people.csv > clustered.csv
      accord dedupe people.csv --label-column cluster_id --model people.accord
      accord dedupe people.csv --ask --output clustered.csv
      accord dedupe apply people.accord other.csv --output clustered.csv
      accord dedupe assign people.accord new.csv --table clustered.csv --output new-with-ids.csv
      accord dedupe explain people.accord other.csv 17 42
      accord dedupe suspects clustered.csv
      accord dedupe apply people.accord people.csv --index people.index > clustered.csv
      accord dedupe merge people.index 17 42 --why "same passport"
    """


for command in (learn, ask, apply, assign, explain, suspects, show, merge, split, undo, history, export):
    dedupe.add_command(command)
