"""Which task it is, as options and the data file say, and whether they fit together: before hours of training."""

from __future__ import annotations

from typing import Any

import click

from accord.cli.data.layout import guess_format, task_of_file
from accord.cli.tasks import SEQUENCE, TASKS, Task
from accord.cli.train.parameters import LEARNERS, PARAMETERS
from accord.registry import commands

# Options that name files. Those of the second group are read at any place, so that standard input will not do.
_STREAMS, _FILES = ("valid", "grammar"), ("taxonomy", "embeddings", "vocabulary", "clusters", "links")
_LEARNED = ("distributional", "canonical")  # views that the default learner of unlabeled sentences has itself


def check_inputs(data: str, options: dict[str, Any]) -> None:
    """Whether all files are there, and can be read one after the other."""
    streams = [data, *options["unlabeled"], *(options[name] for name in _STREAMS)]
    files = [*streams, *(options[name] for name in _FILES), *word_list_files(options)]
    if streams.count("-") > 1:
        raise click.UsageError("only one of DATA, --unlabeled, --valid and --grammar can be standard input (-)")
    for name in files:
        if name not in (None, "-"):
            open(name, "rb").close()
    able = commands("learner", can="stream")
    if options["stream"] and options["learner"] not in (None, *able):
        names = " and ".join(able)
        raise click.UsageError(f"--stream works with the learners {names}, not with {options['learner']}")
    if options["stream"] and (options["links"] or options["encoder"]):
        raise click.UsageError("--links and --encoder look at all examples at once; leave --stream out")
    if options["stream"] and options["unlabeled"]:
        raise click.UsageError("--stream and --unlabeled do not go together; put unlabeled sentences into DATA")


def word_list_files(options: dict[str, Any]) -> list[str]:
    """Files of `--word-lists`, which may be followed by a name."""
    if not options["word_lists"]:
        return []
    from accord.views.word_lists import file_and_name

    return [file_and_name(said)[0] for said in options["word_lists"]]


def choose_task(data: str, reading: dict[str, Any], given: dict[str, Any], options: dict[str, Any]) -> Task:
    """The task that the options tell; else the one that the file's format tells. Names a learner if nobody did."""
    told = _told(options)
    found = reading.get("format") or guess_format(data, of_tokens=True)
    if "format" not in reading and found in (None, "conll") and not told and _is_table(data, reading):
        found = reading["format"] = "csv"
    first, task = next(iter(told.items()), ("", None))
    for option, other in told.items():
        if task is not None and other is not task:
            raise click.UsageError(f"{first} is for the task {task.name}; it does not go with {option}")
    if task is None and options["no_labels"]:
        task = SEQUENCE
    if task is None:
        if found == "text":
            from accord.cli.data.looks import look_at_text

            said = look_at_text(data, reading.get("encoding", "utf-8"))
            raise click.UsageError(said or "plain text: give --task multiclass if its lines are class<TAB>words")
        task = task_of_file(data, found, reading.get("encoding", "utf-8"))
    if options["learner"] is None:
        options["learner"] = default_learner(task, given, options)
    _check(task, found, options)
    return task


def _is_table(data: str, reading: dict[str, Any]) -> bool:
    """Whether a file that might have columns of tokens is a table: its columns have names, or cells have blanks."""
    if isinstance(reading.get("label_column"), str):
        return True
    if not data.lower().endswith((".tsv", ".tsv.gz")):
        return False
    from accord.cli.data.looks import has_texts_in_cells

    return has_texts_in_cells(data, reading.get("encoding", "utf-8"))


def default_learner(task: Task, given: dict[str, Any], options: dict[str, Any]) -> str:
    """What learns if nobody says it: the best for the task, or a CRF if only other learners have what is asked for."""
    best = "tagger" if task is SEQUENCE and (options["unlabeled"] or options["rules"]) else task.learner
    own = {p.name for p in PARAMETERS if best in p.defaults or not set(p.defaults) & set(LEARNERS)}
    asks = any(options[name] for name in ("stream", "views", "base_learner", *_LEARNED))
    return best if given.keys() <= own and not asks else "crf"


def _told(options: dict[str, Any]) -> dict[str, Task]:
    """Options that tell the task, and which one; a learner of one task alone is among them."""
    learner = options["learner"]
    told = {f"--{name}": TASKS[of] for name, of in (("taxonomy", "taxonomy"), ("grammar", "tree")) if options[name]}
    fitting = [task for task in TASKS.values() if learner in task.learners()]
    if len(fitting) == 1:
        told[f"--learner {learner}"] = fitting[0]
    if options["task"]:
        told[f"--task {options['task']}"] = TASKS[options["task"]]
    return told


def _check(task: Task, found: str | None, options: dict[str, Any]) -> None:
    if task.name == "taxonomy" and not options["taxonomy"]:
        raise click.UsageError("--task taxonomy needs the classes: --taxonomy FILE")
    if options["learner"] not in (None, *task.learners()):
        known = ", ".join(task.learners())
        raise click.UsageError(f"--learner {options['learner']} does not learn {task.outputs}; use one of {known}")
    if options["stream"] and not task.streams:
        raise click.UsageError(f"--stream is not for {task.outputs}: all of them are needed at once")
    if found == "text" and task.of_tokens and not options["no_labels"]:
        raise click.UsageError(
            f"plain text has no {task.outputs} to learn from, and goes to --unlabeled; if that is not what the file "
            f"holds, give --format {task.labeled_format}"
        )
