"""Do unlabeled examples help? Learners with and without them, draw by draw, and what a test says about the difference.

All label names of persons, places and organisations in sentences of a made-up language. Perceptrons and support vector
machines stay out: their kernels take longer to compile than those of all scenes together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from accord.cli.demo.scene import Scene, aligned, chart
from accord.cli.terminal import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from accord.evaluation import Results, Task

EXPERIMENT = "names in sentences"
N_LABELED, N_UNLABELED, N_TEST = 20, 500, 300
METHODS = ("supervised", "semi-supervised")
# Supervised learners, and what becomes of each if it gets unlabeled sentences, too.
PAIRS = {"HMM": "counts them as its model would label them (Baum-Welch)", "CRF": "learns classes of words from them"}
_SURE = 0.05  # level at which a difference is called one


class Verdict(NamedTuple):
    """What unlabeled sentences did to a learner, in points of token error; None where chance may have done it."""

    learner: str
    without: float
    difference: float
    error: float  # standard error of the difference
    helped: bool | None
    p: str


def compare(seed: int, repetitions: int = 5) -> Scene:
    """Train every learner with and without unlabeled sentences on the same draws."""
    found = results(seed, repetitions)
    verdicts = [verdict(found, learner) for learner in PAIRS]
    kinds = {
        word: [v.learner for v in verdicts if v.helped is helped]
        for word, helped in (("helped", True), ("harmed", False), ("made no clear difference to", None))
    }
    outcome = listed(f"{word} {listed(f'the {name}' for name in names)}" for word, names in kinds.items() if names)
    times = f"{repetitions} draws" if repetitions > 1 else "one draw, which says nothing about chance"
    lesson = (
        f"With {N_LABELED} other labeled sentences, {N_UNLABELED} unlabeled ones {outcome} ({times}), which is why "
        "Accord's defaults ask held-out labels before they believe unlabeled data."
    )

    def draw(axes: Axes, dark: bool) -> None:
        _arrows(axes, verdicts, dark)

    rows = [("learner", "what it does with unlabeled sentences", "without", "with", "")]
    rows += [
        (v.learner, PAIRS[v.learner], f"{v.without:.1f} %", f"{v.without + v.difference:.1f} %", _said(v))
        for v in verdicts
    ]
    alt = "Error of every learner without and with unlabeled sentences"
    legend = "HMM (hidden Markov model) and CRF (conditional random field) are two kinds of taggers."
    return Scene("Do unlabeled examples help?", lesson, aligned(rows), chart(draw, alt, 2.2), legend, tuple(found.rows))


def results(seed: int, repetitions: int) -> Results:
    """Token error of all learners, with and without unlabeled sentences."""
    from accord.evaluation import make_tasks, run_experiment

    return run_experiment(make_tasks(EXPERIMENT, METHODS, {"learner": tuple(PAIRS)}, repetitions, seed), tag_names)


def tag_names(task: Task) -> dict[str, float]:
    """Train a learner on the first sentences of a repetition, the same for all; perhaps on unlabeled ones, too."""
    from accord.evaluation import token_error

    X, Y = _sentences(N_LABELED + N_UNLABELED, task.repetition_seed)
    X_test, Y_test = _sentences(N_TEST, task.experiment_seed)
    plain, helped = _learners()[task.setting["learner"]]
    few: list[Any] = [*Y[:N_LABELED], *[None] * N_UNLABELED]
    n, model = (N_LABELED, plain()) if task.method == METHODS[0] else (len(few), helped())
    return {"token_error": token_error(Y_test, model.fit(X[:n], few[:n]).predict(X_test))}


@lru_cache(maxsize=16)
def _sentences(n: int, seed: int) -> tuple[list[Any], list[Any]]:
    from accord.datasets import embedded_ner

    return embedded_ner(n, random_state=seed)


def _learners() -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    import accord

    names, words, word = accord.Sequence(constraints="iob2"), accord.TokenFeatures(), accord.TokenFeatures(window=0)
    # fewer and shorter than by default, for so little text
    classes = accord.ConcatenatedViews([words, accord.DistributionalFeatures((16, 64), n_components=32)])
    return {
        # a fixed weight: "auto" would ask held-out labels, and mostly stay supervised
        "HMM": (lambda: accord.HMM(names, word), lambda: accord.HMM(names, word, unlabeled_weight=1.0)),
        "CRF": (lambda: accord.CRF(names, words), lambda: accord.CRF(names, classes)),
    }


def verdict(found: Results, learner: str) -> Verdict:
    """Whether unlabeled sentences helped a learner, by a paired test over draws."""
    import numpy as np

    from accord.evaluation import paired_t_test
    from accord.evaluation.significance import format_p

    without, with_ = (found.values(method, "token_error", {"learner": learner}) for method in METHODS)
    d = 100 * np.array([with_[k] - without[k] for k in sorted(with_)])
    mean, base = float(d.mean()), 100 * float(np.mean(list(without.values())))
    if len(d) < 2:
        return Verdict(learner, base, mean, 0.0, None, "")
    p = paired_t_test(d, np.zeros(len(d))).p_value
    sure = p < _SURE and mean != 0
    return Verdict(learner, base, mean, float(d.std(ddof=1)) / len(d) ** 0.5, mean < 0 if sure else None, format_p(p))


def _said(v: Verdict) -> str:
    word = {True: "better", False: "worse", None: "no clear difference"}[v.helped]
    return f"{word}, {v.difference:+.1f}{f' ± {v.error:.1f} points ({v.p})' if v.p else ' points in one draw'}"


def _arrows(axes: Axes, verdicts: list[Verdict], dark: bool) -> None:
    """For each learner a hollow point without and a full one with unlabeled sentences."""
    from accord.evaluation.plots import method_look

    grey = method_look(6, dark)["color"]
    for k, v in enumerate(verdicts):
        colour = method_look({True: 2, False: 1, None: 6}[v.helped], dark)["color"]
        after = v.without + v.difference
        axes.plot([v.without, after], [k, k], color=colour, linewidth=2)
        axes.errorbar(after, k, xerr=v.error, fmt="o", color=colour, markersize=7, capsize=3)
        axes.plot(v.without, k, "o", markersize=7, color=grey, markerfacecolor="none")
    axes.plot([], [], "o", markersize=7, color=grey, markerfacecolor="none", label="without unlabeled sentences")
    axes.plot([], [], "o", markersize=7, color=grey, label="with them")
    axes.set_yticks(range(len(verdicts)), [v.learner for v in verdicts])
    axes.set_ylim(len(verdicts) - 0.5, -0.5)
    axes.set_xlabel("words labeled wrongly (%)")
