"""``accord demo``: supervised against semi-supervised learners on generated data, with a report."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from accord.cli import demo_tasks as tasks
from accord.cli.program import debug_option
from accord.cli.terminal import computing, print_table

if TYPE_CHECKING:
    from accord.evaluation import Results

_SLOW = ("SVM",)  # its kernels, about half of all, are compiled in a second process
_SURE = 0.05  # level at which a difference is called one


@click.command(short_help="Train on generated data, with and without unlabeled examples; write a report.")
@click.option(
    "--output", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), default="accord-demo",
    show_default=True, help="Folder for the report.",
)  # fmt: skip
@click.option(
    "--repetitions", type=click.IntRange(min=1), default=5, show_default=True, help="Draws per training size."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the data and the learners."
)
@click.option("--n-jobs", type=int, default=1, show_default=True, help="Processes.")
@debug_option
def demo(output: Path, repetitions: int, seed: int, n_jobs: int) -> None:
    """Train the learners on generated data, print tables, write a report with plots.

    Names in sentences: every learner sees a few labeled sentences, and once more with hundreds of unlabeled ones
    besides. The differences between the two tell whether unlabeled sentences pay. Topics in a tree: a learner that
    knows the tree against one that does not.

    Needs no data and takes less than a minute, the first time a little more than later: kernels are compiled then.

    \b
    Examples:
      accord demo
      accord demo --output /tmp/report --seed 1
    """
    output.mkdir(parents=True, exist_ok=True)
    helper = _Helper()
    with computing(on_compile=helper.start):
        warm_up([name for name in tasks.PAIRS if name not in _SLOW])
        helper.wait()
        warm_up(_SLOW)
        results = run(repetitions, seed, n_jobs)
    _print_names(results)
    lessons = verdicts(results)
    click.echo("\n".join(lessons) + "\n")
    _print_topics(results)
    command = f"accord demo --repetitions {repetitions} --seed {seed}"
    page = _report(results, output, lessons, command, seed)
    click.echo(f"\nReport with plots: {page.resolve()}")


def run(repetitions: int, seed: int, n_jobs: int = 1) -> Results:
    """All learners on all training sizes; the last metric is the time of training alone."""
    from accord.evaluation import Results, make_tasks, run_experiment

    settings = {"learner": tuple(tasks.PAIRS), "n_labeled": tasks.SENTENCES}
    names = make_tasks(tasks.NAMES, tasks.METHODS, settings, repetitions, seed)
    topics = make_tasks(tasks.TOPICS, tasks.STRUCTURES, {"n_labeled": tasks.DOCUMENTS}, repetitions, seed)
    found = [
        run_experiment(names, tasks.tag_names, n_jobs=n_jobs, progress=True),
        run_experiment(topics, tasks.classify_topics, n_jobs=n_jobs, progress=True),
    ]
    return Results(row for results in found for row in results.rows)


def warm_up(learners: Sequence[str]) -> None:
    """Compile (or load) the kernels, so that the first task is not charged for it."""
    from accord.evaluation import Task

    for learner in learners:
        for method in tasks.METHODS:
            tasks.tag_names(Task(tasks.NAMES, method, {"learner": learner, "n_labeled": 4}, 0), n_test=2)
    if "SVM" in learners:
        for method in tasks.STRUCTURES:
            tasks.classify_topics(Task(tasks.TOPICS, method, {"n_labeled": tasks.DOCUMENTS[0]}, 0))


class _Helper:
    """Compiles some of the kernels in a second process while this one compiles the others."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        code = f"from accord.cli.demo import warm_up; warm_up({_SLOW!r})"
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


# -- output -------------------------------------------------------------------------------------------------------
def _print_names(results: Results) -> None:
    results = results.where(experiment=tasks.NAMES)
    heads = ["learner", "labeled", "unlabeled", "token error %", "difference", "span F1 %", "seconds"]
    cells = _cells(results)
    rows = []
    for learner, other in tasks.PAIRS.items():
        for method, name in zip(tasks.METHODS, (learner, other)):
            for n in tasks.SENTENCES:
                error, f1, seconds = (
                    cells[method, metric, learner, n] for metric in ("token_error", "span_f1", "seconds")
                )
                paired = method != tasks.METHODS[0]
                difference = _difference(results, learner, n) if paired else ""
                first = name if n == tasks.SENTENCES[0] else ""
                rows.append([first, str(n), str(tasks.N_UNLABELED * paired), error, difference, f1, seconds])
    sections = range(2 * len(tasks.SENTENCES) - 1, len(rows), 2 * len(tasks.SENTENCES))
    title = "Names in sentences: mean ± standard error; difference to the learner above, without unlabeled sentences"
    print_table(title, heads, rows, sections)


def _print_topics(results: Results) -> None:
    heads = ["learner", "documents", "0/1 loss %", "tree loss", "seconds"]
    cells = _cells(results.where(experiment=tasks.TOPICS))
    metrics = ("zero_one_loss", "tree_loss", "seconds")
    rows = [
        [method if k == 0 else "", str(n), *(cells[method, metric, None, n] for metric in metrics)]
        for method in tasks.STRUCTURES
        for k, n in enumerate(tasks.DOCUMENTS)
    ]
    sections = range(len(tasks.DOCUMENTS) - 1, len(rows), len(tasks.DOCUMENTS))
    print_table("Topics in a tree: classes, mean ± standard error", heads, rows, sections)


def _cells(results: Results) -> dict[tuple[str, str, str | None, int], str]:
    """Figures as text by method, metric, learner (of the names) and number of labeled examples."""
    from accord.evaluation.registry import describe_metric
    from accord.evaluation.tables import format_value

    return {
        (s.method, s.metric, s.setting.get("learner"), s.setting["n_labeled"]): (
            f"{s.mean:.3f}"
            if s.metric == "seconds"
            else format_value(describe_metric(s.metric), s.mean, s.standard_error)
        )
        for s in results.aggregate()
    }


def _differences(results: Results, learner: str, n: int) -> list[float]:
    """Token error of a learner with unlabeled sentences minus that without, draw by draw."""
    setting = {"learner": learner, "n_labeled": n}
    without, with_ = (results.values(method, "token_error", setting) for method in tasks.METHODS)
    return [with_[k] - without[k] for k in sorted(with_)]


def _difference(results: Results, learner: str, n: int) -> str:
    import numpy as np

    d = 100 * np.array(_differences(results, learner, n))
    error = f" ± {d.std(ddof=1) / len(d) ** 0.5:.2f}" if len(d) > 1 else ""
    return f"{d.mean():+.2f}{error}"


def verdicts(results: Results) -> list[str]:
    """For every learner a sentence: whether unlabeled sentences helped it, over all training sizes."""
    from accord.evaluation import paired_t_test
    from accord.evaluation.significance import format_p

    results = results.where(experiment=tasks.NAMES)
    out = []
    for base, method in tasks.PAIRS.items():
        # one figure per draw: the sizes of a draw share their sentences
        by_draw = zip(*(_differences(results, base, n) for n in tasks.SENTENCES))
        d = [sum(row) / len(row) for row in by_draw]
        mean = 100 * sum(d) / len(d)
        what = f"{mean:+.2f} points of token error against {base}"
        if len(d) < 2:
            out.append(f"{method}: {what} (one draw tells nothing about chance)")
            continue
        p = paired_t_test(d, [0.0] * len(d)).p_value
        word = "no clear difference" if p >= _SURE or mean == 0 else "unlabeled sentences pay" if mean < 0 else "worse"
        out.append(f"{method}: {word}, {what} ({format_p(p)}, {len(d)} draws)")
    return out


def _report(results: Results, output: Path, lessons: Sequence[str], command: str, seed: int) -> Path:
    from accord.evaluation import write_report

    paths = write_report(
        output,
        "Accord demo: learning from few labeled and many unlabeled examples",
        results,
        metrics=["token_error", "span_f1", "zero_one_loss", "tree_loss"],
        x="n_labeled",
        baseline=tasks.METHODS[0],
        description=(
            "Two generated tasks. Names: label the persons, places and organisations in sentences of a made-up "
            "language; a third of the names are made up on the spot. Each learner is trained on n_labeled labeled "
            f"sentences (supervised), and again on these and {tasks.N_UNLABELED} unlabeled ones (semi-supervised): HMM "
            "by Baum-Welch, perceptron as two views that have to agree (co-perceptron), the others with classes of "
            "words that have similar neighbours as features. "
            "Topics: classify documents into the 27 leaves of a tree of topics; one learner knows the tree, the other "
            "does not."
        ),
        notes=[
            *lessons,
            f"Every learner of a repetition sees the same training examples; {tasks.N_TEST} others are for testing.",
            "Seconds of training, on one core, are in results.csv.",
        ],
        command=command,
        seed=seed,
    )
    return paths.html
