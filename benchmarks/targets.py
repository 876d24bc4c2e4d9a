"""What Accord wants to reach on the Spanish data, and how far it got."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean
from typing import Any

Runs = dict[str, list[dict[str, Any]]]
SET = "conll2002_esp"


@dataclass
class Target:
    """One line of the list of targets."""

    text: str
    wanted: str
    measured: float | None  # None: a contestant is missing
    reached: bool | None
    detail: str = ""


def best(runs: Runs, contestant: str, part: str, name: str, kind: str = "wall") -> float:
    """The smallest time of a contestant over its runs."""
    return min(run[part][kind][name] for run in finished(runs, contestant))


def finished(runs: Runs, contestant: str) -> list[dict[str, Any]]:
    """The runs of a contestant that came to an end; a KeyError if there are none."""
    done = [run for run in runs.get(contestant, []) if "error" not in run]
    if not done:
        raise KeyError(contestant)
    return done


def memory(runs: Runs, contestant: str) -> float:
    """Peak memory in MB, from tokens to labels."""
    return min(run["memory"]["all"] for run in finished(runs, contestant))


def seconds_to(runs: Runs, contestant: str, value: float) -> float | None:
    """Processor seconds of the optimiser until its objective is at most ``value``; None if it never is."""
    found = []
    for run in finished(runs, contestant):
        moments = [seconds for seconds, objective in run["curve"] if objective <= value]
        found += moments[:1]
    return min(found, default=None)


def _ratio(text: str, wanted: float, by_kind: Callable[[str], float], more: str = "") -> Target:
    """A ratio of processor times that should be at least ``wanted``; that by the clock on the wall stands beside it."""
    value = by_kind("cpu")
    return Target(text, f"≥ {wanted:g}×", value, value >= wanted, f"{by_kind('wall'):.1f} by the clock{more}")


def perceptron_speed(runs: Runs, size: dict[str, Any]) -> Target:
    """Tokens to model against hand-over and training."""
    ours = best(runs, "accord-perceptron", "train", "raw", "cpu")
    with_extraction = best(runs, "crfsuite-ap", "train", "raw", "cpu") / ours
    return _ratio(
        "averaged perceptron, tokens to model, against CRFsuite's `ap` with its feature hand-over",
        8,
        lambda kind: (
            best(runs, "crfsuite-ap", "train", "ready", kind) / best(runs, "accord-perceptron", "train", "raw", kind)
        ),
        f"; {with_extraction:.1f} with features extracted in Python",
    )


def perceptron_f1(runs: Runs, size: dict[str, Any]) -> Target:
    """Span F1; Accord's is the mean over the orders of the sentences."""
    ours = [run["span_f1"] for run in finished(runs, "accord-perceptron")]
    theirs = finished(runs, "crfsuite-ap")[0]["span_f1"]
    detail = f"Accord {100 * mean(ours):.2f} (mean of {len(ours)} seeds), CRFsuite {100 * theirs:.2f}"
    difference = 100 * (mean(ours) - theirs)
    return Target(
        "averaged perceptron, span F1 minus that of CRFsuite's `ap`", "≥ 0", difference, difference >= 0, detail
    )


def crf_speed(runs: Runs, size: dict[str, Any]) -> Target:
    """Time until CRFsuite's last objective value is reached, from tokens, against hand-over and training."""
    text = "CRF, tokens to CRFsuite's final regularised likelihood, against its `lbfgs` with its feature hand-over"
    level = min(run["objective"] for run in finished(runs, "crfsuite-lbfgs"))
    ours = seconds_to(runs, "accord-crf-to-the-end", level)
    if ours is None:
        return Target(text, "≥ 3×", 0.0, False, "never reached")
    before = min(run["seconds_before"] for run in finished(runs, "accord-crf-to-the-end"))
    theirs = seconds_to(runs, "crfsuite-lbfgs", level) or best(runs, "crfsuite-lbfgs", "train", "optimise", "cpu")
    hand_over = best(runs, "crfsuite-lbfgs", "train", "hand_over", "cpu")
    value = (theirs + hand_over) / (ours + before)
    check = next((r["objective_by_accord"] for r in runs["crfsuite-lbfgs"] if "objective_by_accord" in r), None)
    detail = f"{theirs / ours:.1f} optimiser against optimiser ({theirs:.1f} s and {ours:.1f} s)"
    detail += f"; objective {level:.2f}" + (
        f", {check:.2f} computed by Accord from CRFsuite's weights" if check else ""
    )
    return Target(text, "≥ 3×", value, value >= 3, detail)


def tagging_ready(runs: Runs, size: dict[str, Any]) -> Target:
    """Raw tokens to labels against ready features to labels."""
    ours = best(runs, "accord-perceptron", "tag", "raw", "cpu")
    decode = best(runs, "crfsuite-ap", "tag", "decode", "cpu") / ours
    return _ratio(
        "tagging raw tokens, against python-crfsuite with ready features",
        10,
        lambda kind: (
            best(runs, "crfsuite-ap", "tag", "ready", kind) / best(runs, "accord-perceptron", "tag", "raw", kind)
        ),
        f"; {decode:.1f} against features already in CRFsuite's own form",
    )


def tagging_raw(runs: Runs, size: dict[str, Any]) -> Target:
    """Raw tokens to labels on both sides."""
    return _ratio(
        "tagging raw tokens, against python-crfsuite with features extracted in Python",
        25,
        lambda kind: (
            best(runs, "crfsuite-ap", "tag", "raw", kind) / best(runs, "accord-perceptron", "tag", "raw", kind)
        ),
    )


def tagging_rate(runs: Runs, size: dict[str, Any]) -> Target:
    """Tokens per second (an aim)."""
    rate = size["test_tokens"] / best(runs, "accord-perceptron", "tag", "raw", "cpu") / 1e6
    by_clock = size["test_tokens"] / best(runs, "accord-perceptron", "tag", "raw") / 1e6
    text = "tagging raw tokens, million tokens/s (an aim)"
    return Target(text, "≥ 1", rate, rate >= 1, f"{by_clock:.2f} by the clock")


def _memory(text: str, runs: Runs, ours: str, theirs: str) -> Target:
    value = memory(runs, ours) / memory(runs, theirs)
    detail = f"{memory(runs, ours):.0f} MB and {memory(runs, theirs):.0f} MB"
    return Target(text, "≤ 1.5×", value, value <= 1.5, detail)


def perceptron_memory(runs: Runs, size: dict[str, Any]) -> Target:
    """Peak memory of the perceptrons."""
    return _memory("peak memory, perceptron against `ap`", runs, "accord-perceptron", "crfsuite-ap")


def crf_memory(runs: Runs, size: dict[str, Any]) -> Target:
    """Peak memory of the CRFs."""
    return _memory("peak memory, CRF against `lbfgs`", runs, "accord-crf", "crfsuite-lbfgs")


def two_cores(runs: Runs, size: dict[str, Any]) -> Target:
    """Gain of a second thread in tagging."""
    best_of = {n: min(run["seconds"][n] for run in finished(runs, "accord-two-cores")) for n in ("1", "2", "processes")}
    value = best_of["1"] / best_of["2"]
    tokens = finished(runs, "accord-two-cores")[0]["tokens"]
    detail = (
        f"{tokens / best_of['1'] / 1e6:.2f} and {tokens / best_of['2'] / 1e6:.2f} million tokens/s, training text; "
        f"two processes that share nothing gain {best_of['1'] / best_of['processes']:.2f}×"
    )
    return Target("tagging with `n_jobs=2` on two cores", "≥ 1.6×", value, value >= 1.6, detail)


ALL = (
    perceptron_speed,
    perceptron_f1,
    crf_speed,
    tagging_ready,
    tagging_raw,
    tagging_rate,
    perceptron_memory,
    crf_memory,
    two_cores,
)


def check(results: dict[str, Any]) -> list[Target]:
    """All targets; those that lack a contestant say so."""
    part = results["sets"].get(SET)
    if part is None:
        return []
    targets = []
    for target in ALL:
        try:
            targets.append(target(part["runs"], part["size"]))
        except KeyError as missing:
            targets.append(Target((target.__doc__ or "").rstrip("."), "", None, None, f"{missing.args[0]} did not run"))
    return targets
