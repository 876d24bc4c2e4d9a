"""The kinds of task: what their files hold, and who predicts, writes, scores and describes their outputs.

Commands ask here; none of them asks itself what kind of model it has. A new kind of task is a new entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from accord.cli.outputs import label_writing, numbers, trees
from accord.cli.outputs.label_inspection import describe_labels, print_labels
from accord.cli.outputs.labels import label_scores, label_sizes, print_label_scores, report_labels
from accord.cli.outputs.results import Prediction, Predictor, Tokens, Trained
from accord.cli.outputs.tree_inspection import describe_trees, print_trees
from accord.exceptions import InputError
from accord.registry import TABLE, commands, learners_for

Writer = Callable[[Tokens, Prediction, Sequence[str]], str]


@dataclass(frozen=True)
class Task:
    """What the commands need to know about a kind of task."""

    name: str  # that of its structure on the command line
    outputs: str  # what messages call them
    example: str  # and one of these
    unit: str  # what a disagreement of views is counted in
    # reading
    formats: tuple[str, ...]  # of files with examples
    labeled_format: str  # of a labeled file, if nothing else is known of it
    view: str  # of inputs without names for their parts
    read_words: Callable[[list[str]], tuple[Any, list[str]]]  # from words to an input, and what is printed of it
    # predicting
    writers: Mapping[str, Writer | None]  # by output format, the first one is the default; None: pictures, no text
    # telling
    scores: Callable[..., dict[str, Any]]
    print_scores: Callable[[dict[str, Any], str], None]
    describe: Callable[[Any, int], dict[str, Any]]
    print_description: Callable[[dict[str, Any]], None]
    report: Callable[[Trained, str, str], None]  # of what was trained
    sizes: Callable[[Any], str]  # of a model, in the line that says what was trained
    # what not all of them have
    predictor: type[Predictor] = Predictor
    show_marginals: tuple[str, ...] = ("conll", "text", "json")  # output formats with probabilities
    of_tokens: bool = False  # inputs are sentences
    tagged: bool = False  # whose words come with their tags
    numeric: bool = False  # outputs are numbers
    hides_labels: bool = True  # a label may stand for no label
    streams: bool = True  # can be learned batch by batch
    learner: str = "crf"  # if nothing is said about it

    def learners(self, can: str = "") -> list[str]:
        """The learners of this task, by their names on the command line; or those that can do a thing."""
        possible = commands("learner", can=can)
        if self.numeric:
            return [name for name, cls in possible.items() if "numbers" in TABLE[cls].can]
        fitting = learners_for(TABLE[commands("structure")[self.name]].can)
        return [name for name, cls in possible.items() if cls in fitting]


def _tagged_sentence(words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Pairs (word, tag) of tokens ``word/TAG``; a token without a slash is a tag that stands for its word, too."""
    found = []
    for token in words:
        word, slash, tag = token.rpartition("/")
        if slash and not (word and tag):
            raise InputError(f"{token!r} is no word with its tag; expected word/TAG, such as dog/NN")
        found.append((word if slash else tag, tag))
    return found, [word for word, _ in found]


# -- the kinds ------------------------------------------------------------------------------------------------------
SEQUENCE = Task(
    name="sequence",
    outputs="label sequences",
    example="sentence",
    unit="tokens",
    formats=("conll", "text", "jsonl"),
    labeled_format="conll",
    view="tokens",
    read_words=lambda words: (words, words),
    writers={"conll": label_writing.conll, "text": label_writing.text, "json": label_writing.json_line},
    scores=label_scores,
    print_scores=print_label_scores,
    describe=describe_labels,
    print_description=print_labels,
    report=report_labels,
    sizes=label_sizes,
    of_tokens=True,
)
MULTICLASS = replace(
    SEQUENCE,
    name="multiclass",
    outputs="classes",
    example="example",
    unit="examples",
    formats=("text", "csv", "jsonl", "parquet", "svmlight"),
    labeled_format="csv",
    view="numbers",
    learner="classifier",
    read_words=lambda words: ({"(bias)": True, **dict.fromkeys(words, True)}, words),
    of_tokens=False,
)
TAXONOMY = replace(MULTICLASS, name="taxonomy", learner="crf")
REGRESSION = replace(
    MULTICLASS,
    name="regression",
    outputs="numbers",
    scores=numbers.number_scores,
    print_scores=numbers.print_number_scores,
    describe=numbers.describe_numbers,
    print_description=numbers.print_numbers,
    report=numbers.report_numbers,
    sizes=lambda _: "",
    numeric=True,
)
TREE = replace(
    SEQUENCE,
    name="tree",
    outputs="trees",
    unit="constituents",
    formats=("treebank", "text"),
    labeled_format="treebank",
    writers={"brackets": trees.brackets, "text": trees.drawing, "svg": None, "json": trees.json_tree},
    scores=trees.tree_scores,
    print_scores=trees.print_tree_scores,
    describe=describe_trees,
    print_description=print_trees,
    sizes=trees.tree_sizes,
    predictor=trees.Parser,
    show_marginals=("json",),
    hides_labels=False,
    streams=False,
)
TAGGED_TREE = replace(TREE, view="tags", read_words=_tagged_sentence, tagged=True)
TASKS = {task.name: task for task in (SEQUENCE, MULTICLASS, TAXONOMY, TREE, REGRESSION)}
# All output formats, each once.
OUTPUT_FORMATS = tuple(dict.fromkeys(form for task in TASKS.values() for form in task.writers))


def task_of_format(labeled_format: str) -> Task:
    """What labeled files of a format are for, if nothing else is said."""
    return next((task for task in (SEQUENCE, TREE) if task.labeled_format == labeled_format), MULTICLASS)


def with_terminals(task: Task, terminals: str) -> Task:
    """The task if words come with tags, or do not."""
    return TAGGED_TREE if task is TREE and terminals == "tags" else task


def task_of(model: Any) -> Task:
    """What a fitted model was trained for."""
    structure = getattr(model, "structure_", None)
    for cls in type(model if structure is None else structure).__mro__:
        entry = TABLE.get(cls.__name__)
        if entry is not None and "numbers" in entry.can:
            return REGRESSION
        if entry is not None and entry.kind == "structure" and entry.command in TASKS:
            return with_terminals(TASKS[entry.command], getattr(structure, "terminals", ""))
    what = "" if structure is None else f" of {type(structure).__name__}"
    raise InputError(f"the model is a {type(model).__name__}{what}, for which this command has no kind of files")
