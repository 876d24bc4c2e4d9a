"""``accord mail train`` and ``accord mail generate``: a similarity of one's own, and mail with known batches."""

from __future__ import annotations

import csv
import mailbox
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import click

from accord.cli.option_types import Choice
from accord.cli.places import check_outputs
from accord.cli.program import debug_option
from accord.cli.terminal import computing, note, print_pairs
from accord.exceptions import FormatError, InputError

_ALONE = ("", "-1")  # batch ids of messages that belong to none
_ID, _BATCH, _LABEL = ("id", "name"), ("batch", "batch_id"), ("label", "spam")
_SPAM, _HAM = ("spam", "1", "true", "yes"), ("ham", "0", "false", "no")


class Labeled(NamedTuple):
    """Messages with what is known about them."""

    messages: list[bytes]
    batches: list[str]
    spam: list[bool | None]


# -- train ----------------------------------------------------------------------------------------------------------
@click.command(short_help="Learn from messages with known batches.")
@click.argument("paths", nargs=-1)
@click.option("--batches", metavar="FILE", help="Table of tab-separated columns: id, batch and, if known, label.")
@click.option("--generate", "n_generated", type=click.IntRange(min=1), metavar="N",
              help="Learn from N generated messages instead of PATHS.")  # fmt: skip
@click.option("--model", metavar="FILE", help="Where to write the model of similarity, for --model of other commands.")
@click.option("--spam-filter", metavar="FILE", help="Where to write a spam filter, learned from the labels.")
@click.option("--spam", multiple=True, metavar="PATH",
              help="Spam, for a filter from two folders; with --ham, instead of PATHS. May be repeated.")  # fmt: skip
@click.option("--ham", multiple=True, metavar="PATH", help="Mail that is no spam; may be repeated.")
@click.option("--method", type=Choice(["sequential", "compact", "iterative", "pairwise"]), default="sequential",
              show_default=True, help="Learner; see ClusteringSVM.")  # fmt: skip
@click.option("-C", "C", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True,
              help="Weight of errors for --model; the spam filter chooses its own by held-out labels.")  # fmt: skip
@click.option("--set-size", type=click.IntRange(min=2), default=100, show_default=True,
              help="Messages are learned from in sets of so many that follow each other.")  # fmt: skip
@click.option("--test-share", type=click.FloatRange(min=0, max=0.9), default=0.2, show_default=True,
              help="Share of the sets, the last ones, that is kept for a test and not learned from.")  # fmt: skip
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of the generator, and of the order of --spam and --ham.",
)
@debug_option
def train(paths: tuple[str, ...], **options: Any) -> None:
    """Learn a similarity of messages from PATHS, whose batches are listed in --batches.

    Paths are what `accord mail detect` reads. The table has a line per message: its id and its batch, separated by a
    tab. A first line with the names of columns (id, batch or batch_id, label) allows other columns, too. An id is
    the name that `accord mail detect --csv` gives to the message, or that without folders and the ending .eml. A batch
    that is empty or -1 means that the message belongs to none. Labels are spam or ham; only --spam-filter needs them.
    Messages that are not in the table are not used.

    A spam filter needs no table: give two folders, mailboxes or archives as --spam and --ham. Their batches are found
    by the model that comes with Accord.

    \b
    Examples:
      accord mail train --spam Junk --ham Archive --spam-filter filter.accord
      accord mail train archive.tar.xz --batches known.tsv --model own.accord
      accord mail train --generate 4000 --model own.accord --spam-filter filter.accord
      accord mail detect new.mbox --model own.accord --spam-filter filter.accord
    """
    if not options["model"] and not options["spam_filter"]:
        raise click.UsageError("nothing would be written: give --model FILE, --spam-filter FILE, or both")
    targets = {"--model": options["model"], "--spam-filter": options["spam_filter"]}
    check_outputs(targets, (*paths, options["batches"], *options["spam"], *options["ham"]))
    data = _read_data(paths, options)
    n_sets = -(-len(data.messages) // options["set_size"])
    n_test = min(round(options["test_share"] * n_sets), n_sets - 1)
    cut = (n_sets - n_test) * options["set_size"]
    with computing():
        if options["model"]:
            _train_model(data, cut, options)
        if options["spam_filter"]:
            _train_filter(data, cut, options)


def _read_data(paths: tuple[str, ...], options: dict[str, Any]) -> Labeled:
    if options["n_generated"]:
        if paths or options["batches"] or options["spam"] or options["ham"]:
            raise click.UsageError("--generate goes with neither PATHS, --batches, --spam nor --ham")
        from accord.mail.generator import MailGenerator

        mails = list(MailGenerator(options["seed"]).stream(options["n_generated"]))
        return Labeled([m.raw for m in mails], [m.batch for m in mails], [m.is_spam for m in mails])
    if options["spam"] or options["ham"]:
        return _two_kinds(paths, options)
    if not paths or not options["batches"]:
        raise click.UsageError("give PATHS and --batches FILE, or --spam PATH and --ham PATH, or --generate N")
    known = read_batches(options["batches"])
    return _matched(paths, known, options["batches"])


def _two_kinds(paths: tuple[str, ...], options: dict[str, Any]) -> Labeled:
    """Mail of --spam and --ham in one order, with batches as the detector finds them."""
    if paths or options["batches"] or options["model"]:
        raise click.UsageError(
            "--spam and --ham make a --spam-filter; they go with neither PATHS, --batches nor --model"
        )
    if not (options["spam"] and options["ham"]):
        raise click.UsageError("a spam filter needs both kinds of mail: give --spam PATH and --ham PATH")
    import random

    from accord.mail.detector import BatchDetector
    from accord.mail.sources import iter_sources
    from accord.progress import Progress

    mails: list[tuple[bytes, bool]] = []
    with Progress(None, "reading") as progress:
        for name, is_spam in (("spam", True), ("ham", False)):
            before = len(mails)
            for _, raw in iter_sources(options[name]):
                mails.append((raw, is_spam))
                progress.advance()
            if len(mails) == before:
                raise InputError(f"--{name} {' '.join(options[name])} has no messages; expected a folder or mailbox")
    random.Random(options["seed"]).shuffle(mails)  # so that both kinds are kept for the test
    detector = BatchDetector(window=max(len(mails), 1))
    return Labeled([raw for raw, _ in mails], [detector.assign(raw) for raw, _ in mails], [spam for _, spam in mails])


def _matched(paths: Sequence[str], known: dict[str, tuple[str, bool | None]], table: str) -> Labeled:
    from accord.mail.sources import iter_sources
    from accord.progress import Progress

    data = Labeled([], [], [])
    n_read = 0
    with Progress(None, "reading") as progress:
        for given, raw in iter_sources(paths):
            n_read += 1
            progress.advance()
            name = given.encode("utf-8", "backslashreplace").decode("utf-8")  # as `detect` writes it
            found = known.get(name) or known.get(PurePath(name).name.removesuffix(".eml"))
            if found is not None:
                data.messages.append(raw)
                data.batches.append(f"\0{n_read}" if found[0] in _ALONE else found[0])
                data.spam.append(found[1])
    if len(data.messages) < 2:
        raise InputError(
            f"{len(data.messages)} of {n_read:,} messages are listed in {table}; ids are names as `accord mail detect "
            "--csv` writes them, or these without folders and .eml"
        )
    note(f"{len(data.messages):,} of {n_read:,} messages are listed in {table}")
    return data


def read_batches(path: str) -> dict[str, tuple[str, bool | None]]:
    """Batch and label of messages by id, from a table of tab-separated columns."""
    rows = _table(path)
    head = [name.strip().lower() for name in rows[0]] if rows else []
    has_head = bool(set(head) & {*_ID, *_BATCH})
    id_at, batch_at, label_at = (_column(head, names) for names in (_ID, _BATCH, _LABEL)) if has_head else (0, 1, None)
    if id_at is None or batch_at is None:
        raise FormatError(f"the columns are {', '.join(head)}; expected id and batch", path, 1)
    out = {}
    for number, row in enumerate(rows[has_head:], 1 + has_head):
        if not row:
            continue
        if len(row) <= max(id_at, batch_at):
            raise FormatError(f"expected an id and a batch, separated by a tab; got {row!r}", path, number)
        label = row[label_at] if label_at is not None and label_at < len(row) else ""
        out[row[id_at]] = row[batch_at], _is_spam(label, path, number)
    return out


def _table(path: str) -> list[list[str]]:
    from accord.datasets.formats.source import iter_lines

    reader = csv.reader((line + "\n" for line in iter_lines(path)), delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        return list(reader)
    except csv.Error as error:
        raise FormatError(f"--batches is no table of ids and batches: {error}", path, reader.line_num) from error


def _column(head: list[str], names: tuple[str, ...]) -> int | None:
    return next((head.index(name) for name in names if name in head), None)


def _is_spam(label: str, path: str, number: int) -> bool | None:
    text = label.strip().lower()
    if text not in ("", *_SPAM, *_HAM):
        raise FormatError(f"the label is {label!r}; expected spam or ham", path, number)
    return None if not text else text in _SPAM


def _sets(values: Sequence[Any], size: int) -> list[list[Any]]:
    return [list(values[k : k + size]) for k in range(0, len(values), size)]


def _train_model(data: Labeled, cut: int, options: dict[str, Any]) -> None:
    from accord.learners.clustering import ClusteringSVM
    from accord.mail.features import MailPairs

    learner = ClusteringSVM(method=options["method"], C=options["C"], pair_features=MailPairs(), verbose=1)
    size = options["set_size"]
    learner.fit(_sets(data.messages[:cut], size), _sets(data.batches[:cut], size))
    learner.save(options["model"])
    facts: list[tuple[str, Any]] = [
        ("messages learned from", f"{min(cut, len(data.messages)):,}"),
        ("their batches", f"{len(set(data.batches[:cut])):,}"),
        ("method", options["method"]),
    ]
    if cut < len(data.messages):
        score = learner.score(_sets(data.messages[cut:], size), _sets(data.batches[cut:], size))
        facts.append((f"B-cubed F1 on {len(data.messages) - cut:,} others", f"{100 * score:.2f} %"))
    if learner.interrupted_:
        facts.append(("interrupted", "the model is what was reached until then"))
    print_pairs(options["model"], facts)


def _train_filter(data: Labeled, cut: int, options: dict[str, Any]) -> None:
    from accord.mail.spam import CollectiveSpamFilter

    learned, tested = ([k for k in part if data.spam[k] is not None] for part in
                       (range(min(cut, len(data.messages))), range(cut, len(data.messages))))  # fmt: skip
    if len({data.spam[k] for k in learned}) < 2:
        raise InputError(
            "--spam-filter needs messages with the label spam and with ham in the column label of --batches"
        )

    def part(rows: list[int]) -> tuple[list[Any], ...]:
        return tuple([column[k] for k in rows] for column in (data.messages, data.spam, data.batches))

    learner = CollectiveSpamFilter().fit(*part(learned))
    learner.save(options["spam_filter"])
    facts = [("messages learned from", f"{len(learned):,}"), ("spam among them", f"{sum(part(learned)[1]):,}")]
    facts += [("weight of what batches say", f"{learner.batch_weight_:g} of 1")]
    if len({data.spam[k] for k in tested}) == 2:
        facts.append((f"area under ROC on {len(tested):,} others", f"{learner.score(*part(tested)):.4f}"))
    print_pairs(options["spam_filter"], facts)


# -- generate -------------------------------------------------------------------------------------------------------
@click.command(short_help="Write generated mail with known batches.")
@click.argument("target")
@click.option("--messages", "n_messages", type=click.IntRange(min=1), default=1000, show_default=True, help="How many.")
@click.option("--format", "kind", type=Choice(["mbox", "maildir", "eml"]), default="mbox", show_default=True,
              help="An mbox file, a Maildir, or a folder of .eml files.")  # fmt: skip
@click.option("--truth", metavar="FILE", help="Table of ids, batches and labels.  [default: TARGET.tsv]")
@click.option("--batch-size", type=click.FloatRange(1, 1e9), default=17.7, show_default=True,
              help="Mean number of messages per batch.")  # fmt: skip
@click.option("--spam", type=click.FloatRange(0, 1), default=0.66, show_default=True, help="Share of spam.")
@click.option(
    "--newsletters", type=click.FloatRange(0, 1), default=0.17, show_default=True, help="Share of newsletters."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same number, the same mail."
)
@debug_option
def generate(target: str, n_messages: int, kind: str, truth: str | None, seed: int, **options: Any) -> None:
    """Write a stream of generated mail to TARGET, and the truth about it to a table.

    Campaigns send spam from templates, with synonyms, obfuscated words, padding and changing senders, subjects and
    links; newsletters greet their readers; the rest is individual mail. All text is made up.

    \b
    Examples:
      accord mail generate stream.mbox --messages 5000
      accord mail detect stream.mbox --html report.html
      accord mail train stream.mbox --batches stream.mbox.tsv --model own.accord
    """
    from accord.mail.generator import MailGenerator

    path = Path(target)
    if path.exists():
        raise InputError(f"{target} is there already; choose another name, or remove it")
    table = truth or f"{target}.tsv"
    if Path(table).is_file() or Path(table).resolve() == path.resolve():  # /dev/null may be there
        raise InputError(f"{table} is there already, or is TARGET; choose another name (--truth FILE), or remove it")
    mails = MailGenerator(seed, **options).stream(n_messages)
    with open(table, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        stream.write("id\tbatch\tlabel\n")
        for name, mail in _write(path, kind, mails):
            stream.write(f"{name}\t{mail.batch}\t{'spam' if mail.is_spam else 'ham'}\n")
    click.echo(click.format_filename(target))
    click.echo(click.format_filename(table))


def _write(path: Path, kind: str, mails: Iterator[Any]) -> Iterator[tuple[str, Any]]:
    """Write mails; their names, as `iter_mail` gives them, and what is known."""
    if kind == "mbox":
        with open(path, "wb") as stream:
            for k, mail in enumerate(mails, 1):
                body = mail.raw.replace(b"\r\n", b"\n").replace(b"\nFrom ", b"\n>From ").rstrip(b"\n")
                stream.write(b"From sender@example.org Thu Jun  1 00:00:00 2006\n" + body + b"\n\n")
                yield f"{path.name}:{k}", mail
        return
    if kind == "maildir":
        mailbox.Maildir(path, create=True)
    folder = path / "new" if kind == "maildir" else path
    folder.mkdir(parents=True, exist_ok=True)
    for k, mail in enumerate(mails, 1):
        name = f"{k:07d}" if kind == "maildir" else f"{k:07d}.eml"
        (folder / name).write_bytes(mail.raw)
        yield name.removesuffix(".eml"), mail
