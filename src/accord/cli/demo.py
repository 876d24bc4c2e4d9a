"""``accord demo``: learning curves of the supervised learners on generated data, with a report.

Two tasks, both generated: names of persons, places and organisations in sentences of a made-up language (label
sequences), and documents about topics that form a tree (a taxonomy).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accord.cli.program import debug_option
from accord.cli.terminal import computing, print_table

if TYPE_CHECKING:
    from accord.evaluation import Results, Task

NAMES, TOPICS = "names in sentences", "topics in a tree"
SENTENCES = (10, 20, 40, 80, 160)  # labeled training sentences
DOCUMENTS = (27, 54, 108, 216)  # labeled training documents
N_TEST = 300
LEARNERS = ("HMM", "perceptron", "CRF", "SVM")
STRUCTURES = ("SVM, flat classes", "SVM, taxonomy")


@click.command(short_help="Train on generated data, print a table, write a report.")
@click.option(
    "--output", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), default="accord-demo",
    show_default=True, help="Folder for the report.",
)  # fmt: skip
@click.option(
    "--repetitions", type=click.IntRange(min=1), default=3, show_default=True, help="Draws per training size."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the data and the learners."
)
@click.option("--n-jobs", type=int, default=1, show_default=True, help="Processes.")
@debug_option
def demo(output: Path, repetitions: int, seed: int, n_jobs: int) -> None:
    """Train the learners on generated data, print a table, write a report with plots.

    Needs no data and takes less than a minute, the first time a little more than later: kernels are compiled then.

    \b
    Examples:
      accord demo
      accord demo --output /tmp/report --seed 1
    """
    output.mkdir(parents=True, exist_ok=True)
    helper = _Helper()
    with computing(announce=True, on_compile=helper.start):
        warm_up(LEARNERS[:-1])
        helper.wait()
        warm_up(LEARNERS[-1:])
        results = run(repetitions, seed, n_jobs)
    _print_names(results)
    _print_topics(results)
    command = f"accord demo --repetitions {repetitions} --seed {seed}"
    page = _report(results, output, command, seed)
    click.echo(f"\nReport with plots: {page.resolve()}")


def run(repetitions: int, seed: int, n_jobs: int = 1) -> Results:
    """All learners on all training sizes; the last metric is the time of training alone."""
    from accord.evaluation import Results, make_tasks, run_experiment

    names = make_tasks(NAMES, LEARNERS, {"n_labeled": SENTENCES}, repetitions, seed)
    topics = make_tasks(TOPICS, STRUCTURES, {"n_labeled": DOCUMENTS}, repetitions, seed)
    found = [
        run_experiment(names, tag_names, n_jobs=n_jobs, progress=True),
        run_experiment(topics, classify_topics, n_jobs=n_jobs, progress=True),
    ]
    return Results(row for results in found for row in results.rows)


def warm_up(learners: Sequence[str]) -> None:
    """Compile (or load) the kernels, so that the first task is not charged for it."""
    from accord.evaluation import Task

    for method in learners:
        tag_names(Task(NAMES, method, {"n_labeled": 4}, 0), n_test=2)
    if "SVM" in learners:
        for method in STRUCTURES:
            classify_topics(Task(TOPICS, method, {"n_labeled": DOCUMENTS[0]}, 0))


class _Helper:
    """Compiles the largest kernels, those of the SVM, in a second process while this one compiles the others."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        code = f"from accord.cli.demo import warm_up; warm_up({LEARNERS[-1:]!r})"
        if (os.cpu_count() or 1) > 1:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def wait(self) -> None:
        """What went wrong there does not matter: this process compiles what it does not find."""
        if self.process is not None:
            self.process.wait()


def tag_names(task: Task, n_test: int = N_TEST) -> dict[str, float]:
    """Train one learner on the first sentences of a repetition; all learners get the same ones."""
    from accord import CRF, HMM, Sequence, StructuredPerceptron, StructuredSVM, TokenFeatures
    from accord.datasets import embedded_ner
    from accord.evaluation import span_f1, token_error

    structure, view = Sequence(constraints="iob2"), TokenFeatures(window=1)
    learners: dict[str, Any] = {
        # counts smaller than one: most features of a few sentences are rare
        "HMM": lambda: HMM(structure, TokenFeatures(window=0), smoothing=0.1),
        "perceptron": lambda: StructuredPerceptron(structure, view, random_state=task.seed),
        "CRF": lambda: CRF(structure, view),
        # the loss counts wrong tokens: as a fraction of the sentence it asks for a tiny margin only
        "SVM": lambda: StructuredSVM(
            Sequence(constraints="iob2", normalize=False),
            view,
            C=0.1,
            solver="frank-wolfe",
            tol=0.1,
            random_state=task.seed,
        ),
    }
    X, Y = embedded_ner(max(SENTENCES), random_state=task.repetition_seed)
    X_test, Y_test = embedded_ner(n_test, random_state=task.experiment_seed)
    n = task.setting["n_labeled"]
    start = time.perf_counter()
    model = learners[task.method]().fit(X[:n], Y[:n])
    seconds = time.perf_counter() - start
    y = model.predict(X_test)
    return {"token_error": token_error(Y_test, y), "span_f1": span_f1(Y_test, y), "seconds": seconds}


def classify_topics(task: Task) -> dict[str, float]:
    """Train a support vector machine that knows the tree of topics, or one that does not."""
    from accord import ArrayFeatures, MultiClass, StructuredSVM, Taxonomy
    from accord.datasets import taxonomy_documents
    from accord.evaluation import TreeLoss, zero_one_loss

    X, y, taxonomy = taxonomy_documents(
        max(DOCUMENTS) + N_TEST, depth=3, branching=3, share_own=0.6, random_state=task.repetition_seed
    )
    tree: dict[Any, Any] = dict(taxonomy)
    structure = MultiClass() if task.method == STRUCTURES[0] else Taxonomy(tree)
    n = task.setting["n_labeled"]
    start = time.perf_counter()
    model = StructuredSVM(structure, ArrayFeatures(), solver="frank-wolfe", tol=0.1, random_state=task.seed)
    model.fit(X[:n], y[:n])
    seconds = time.perf_counter() - start
    X_test, y_test = X[max(DOCUMENTS) :], y[max(DOCUMENTS) :]
    found = model.predict(X_test)
    return {
        "zero_one_loss": zero_one_loss(y_test, found),
        "tree_loss": TreeLoss(tree)(y_test, found),
        "seconds": seconds,
    }


# -- output -------------------------------------------------------------------------------------------------------
def _print_names(results: Results) -> None:
    heads = ["learner", "sentences", "token error %", "span F1 %", "seconds"]
    rows = _rows(results.where(experiment=NAMES), LEARNERS, SENTENCES, ("token_error", "span_f1", "seconds"))
    sections = range(len(SENTENCES) - 1, len(rows), len(SENTENCES))
    print_table("Names in sentences: label sequences, mean ± standard error", heads, rows, sections)


def _print_topics(results: Results) -> None:
    heads = ["learner", "documents", "0/1 loss %", "tree loss", "seconds"]
    rows = _rows(results.where(experiment=TOPICS), STRUCTURES, DOCUMENTS, ("zero_one_loss", "tree_loss", "seconds"))
    sections = range(len(DOCUMENTS) - 1, len(rows), len(DOCUMENTS))
    print_table("Topics in a tree: classes, mean ± standard error", heads, rows, sections)


def _rows(results: Results, methods: Sequence[str], sizes: Sequence[int], metrics: Sequence[str]) -> list[list[str]]:
    from accord.evaluation.registry import describe_metric
    from accord.evaluation.tables import format_value

    cells = {
        (s.method, s.setting["n_labeled"], s.metric): (
            f"{s.mean:.3f}"
            if s.metric == "seconds"
            else format_value(describe_metric(s.metric), s.mean, s.standard_error)
        )
        for s in results.aggregate()
    }
    return [
        [method if k == 0 else "", str(n), *(cells[method, n, metric] for metric in metrics)]
        for method in methods
        for k, n in enumerate(sizes)
    ]


def _report(results: Results, output: Path, command: str, seed: int) -> Path:
    from accord.evaluation import write_report

    paths = write_report(
        output,
        "Accord demo: learning from few examples",
        results,
        metrics=["token_error", "span_f1", "zero_one_loss", "tree_loss", "seconds"],
        x="n_labeled",
        description=(
            "Two generated tasks. Names: label the persons, places and organisations in sentences of a made-up "
            "language; a third of the names are made up on the spot. Topics: classify documents into the 27 leaves of "
            "a tree of topics; one learner knows the tree, the other does not. Learning curves over the number of "
            "labeled training examples (n_labeled)."
        ),
        notes=[
            f"Every learner of a repetition sees the same training examples; {N_TEST} others are for testing.",
            "Seconds are those of training, on one core.",
        ],
        command=command,
        seed=seed,
    )
    return paths.html
