"""``accord label``: label twenty things in the browser, and watch the model learn."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import click

from accord.cli.help import GroupedCommand
from accord.cli.option_types import NAMES, Choice
from accord.cli.places import check_outputs
from accord.cli.program import debug_option
from accord.cli.terminal import computing, note, quiet_option

_STORE = ".labels.sqlite"
_GROUPS = {
    "What to label": ("task", "pairs", "labels", "label_column", "columns", "taxonomy"),
    "Where": ("store", "port", "browser", "terminal", "export", "form"),
}


@click.command(cls=GroupedCommand, groups=_GROUPS, short_help="Label in the browser, and watch the model learn.")
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option(
    "--task", type=Choice(["tokens", "classes", "pairs", "trees", "numbers"]),
    help="What is labeled.  [default: by the look of the files; tables hold things to classify]",
)  # fmt: skip
@click.option("--pairs", is_flag=True, help="Short for --task pairs: which records of a table are the same?")
@click.option("--labels", type=NAMES, default=[], help="Labels, such as PER,LOC,ORG; more can be added on the page.")
@click.option("--label-column", metavar="NAME", help="Column of known labels.  [default: label, if there is one]")
@click.option("--columns", type=NAMES, help="Tables: columns to show and learn from.  [default: all]")
@click.option("--taxonomy", metavar="FILE", help="Classes: child<TAB>parent edges, or A/B/C paths.")
@click.option(
    "--store", type=click.Path(path_type=Path),
    help="File that all answers go to. Without FILE, labeling goes on where it was.  [default: FILE.labels.sqlite]",
)  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), help="Port.  [default: the first free one from 8040 on]")
@click.option("--browser/--no-browser", default=True, help="Whether to open the page in a browser.")
@click.option("--terminal", is_flag=True, help="Pairs: ask y/n/u in the terminal instead.")
@click.option("--export", metavar="FILE", help="Write the labels of --store to FILE (- is standard output), and end.")
@click.option("--format", "form", metavar="NAME", help="Of --export: conll, prodigy, label-studio, spacy, csv, trees.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="Name under which browsers reach the page.")
@click.option(
    "--overlap", type=click.FloatRange(0, 1), default=0.1, show_default=True,
    help="Share of items that every annotator is asked about, to see how far they agree.",
)  # fmt: skip
@click.option("--annotator", help="Terminal: your name.  [default: that of your account]")
@click.option("--tokenizer", type=click.Choice(["words", "blanks"]), default="words", show_default=True,
              help="Text: how sentences are cut into tokens.")  # fmt: skip
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the files.")
@quiet_option
@debug_option
def label(files: tuple[str, ...], **options: Any) -> None:
    """Label the items of FILEs on a page in the browser, while a model learns from every answer.

    It takes raw text, CoNLL columns, CSV, JSON lines, treebanks, tables with duplicates, and mailboxes. Questions are
    those that the model can learn most from. Every answer is on the disk before the page says so; undo works over
    sessions, several people can label at once.

    \b
    Examples:
      accord label news.txt --labels PER,LOC,ORG
      accord label reviews.csv --columns text --labels good,bad
      accord label people.csv --pairs
      accord label treebank.mrg raw.txt --task trees
      accord label --export labels.conll
    """
    from accord.labeling.store import Store

    options["store"] = options["store"] or _store(files)
    if not files and not options["store"].exists():
        raise click.UsageError(f"Missing argument 'FILE...': there are no labels in {options['store']} to go on with")
    check_outputs({"--store": options["store"], "--export": options["export"]}, files)
    project = _project(files, options) if files else None
    store = Store(options["store"])
    with computing():
        run(project, store, options)


def _store(files: tuple[str, ...]) -> Path:
    """Answers lie beside what they are about, so that those about two files do not mix; without files, the only ones
    in this folder."""
    if files and files[0] != "-":
        first = Path(files[0])
        return (first if first.name else first.resolve()).with_name(f"{first.name or first.resolve().name}{_STORE}")
    found = sorted(Path().glob(f"*{_STORE}"))
    if files or len(found) == 1:
        return Path(_STORE[1:]) if files else found[0]
    if found:
        raise click.UsageError(f"Which labels? Name a file with --store: {', '.join(map(str, found))}")
    raise click.UsageError("Missing argument 'FILE...': what is to be labeled (- is standard input)")


def run(project: Any, store: Any, options: dict[str, Any]) -> Any:
    """Open the store and do what the options say."""
    from accord.labeling.service import open_service

    if project is not None:
        what = "records" if project.kind == "pairs" else "items"
        note(f"{len(project.items):,} {what} of the kind {project.kind}; answers go to {store.path}")
    service = open_service(project, store, overlap=options.get("overlap", 0.1))
    if options.get("export"):
        return _export(service, options["export"], options["form"])
    if options.get("terminal"):
        return in_terminal(service, options.get("annotator"))
    from accord.labeling.running import serve

    return serve(
        service, host=options["host"], port=options["port"], names=tuple(options["names"]),
        browser=options["browser"], announce=note,
    )  # fmt: skip


def in_terminal(service: Any, annotator: str | None) -> Any:
    """Ask about pairs of records."""
    from accord.labeling.terminal import ask

    if service.project.kind != "pairs":
        raise click.UsageError("--terminal asks about pairs of records; other kinds of items need the page")
    given = ask(service, annotator or getpass.getuser(), lambda text: input(text), click.echo)
    note(f"{given} answers; all are in {service.store.path}")
    return service


def _project(files: tuple[str, ...], options: dict[str, Any]) -> Any:
    from accord.labeling.sources import Reading, read_project

    taxonomy = None
    if options["taxonomy"]:
        from accord.datasets.formats.taxonomy_file import read_taxonomy

        taxonomy = read_taxonomy(options["taxonomy"])
    kind = "pairs" if options["pairs"] or options["terminal"] else options["task"]
    if options["pairs"] and options["task"] not in (None, "pairs"):
        raise click.UsageError("--pairs is --task pairs; give one of them")
    how = Reading(
        kind or ("classes" if taxonomy else None), options["labels"], taxonomy, options["label_column"],
        options["columns"], "blanks" if options["tokenizer"] == "blanks" else None, options["encoding"],
    )  # fmt: skip
    return read_project(files, how)


def _export(service: Any, target: str, form: str | None) -> None:
    import sys

    from accord.files import write_file
    from accord.labeling.formats.files import FORMATS, formats_of

    known = formats_of(service.project)
    by_name = [name for name in known if Path(target).suffix == FORMATS[name].suffix]
    data, _, _ = service.export(form or (by_name or list(known))[0])
    if target == "-":
        sys.stdout.buffer.write(data)
    else:
        write_file(target, data)
        note(f"{len(service.store.truth()):,} labeled items are in {target}")
