"""Sentences about orderings: where one method errs less than another, as a paper says, and where it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accord.evaluation import Metric, Results, paired_t_test
from accord.evaluation.registry import describe_metric
from accord.evaluation.results import Comparison
from accord.evaluation.significance import format_p

LEVEL = 0.05
Describe = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class Claim:
    """A paper's or our own question: does `better` err less than `worse`?"""

    better: str
    worse: str
    source: str


def claim_notes(results: Results, claims: Sequence[Claim], metric: str | Metric, describe: Describe) -> list[str]:
    """One sentence per claim, with the mean difference in every setting that has both methods.

    Settings are grouped by the outcome of a paired t test at 5 %, two-sided, Holm's correction over the settings of the
    claim.
    """
    info = describe_metric(metric)
    sentences = []
    for claim in claims:
        if claim.worse not in results.methods:
            continue
        found = results.compare(claim.worse, info.name, methods=[claim.better])
        if found:
            sentences.append(_sentence(claim, info, found, describe))
    return sentences


def _sentence(claim: Claim, info: Metric, found: Sequence[Comparison], describe: Describe) -> str:
    factor, digits = (100, 2) if info.percent else (1, 3)
    groups: dict[str, list[str]] = {"lower": [], "higher": [], "no clear difference": []}
    for c in found:
        outcome = "no clear difference" if c.p_adjusted >= LEVEL else "lower" if c.test.difference < 0 else "higher"
        groups[outcome].append(f"{describe(c.setting)} {factor * c.test.difference:+.{digits}f}")
    parts = [f"{outcome} in {len(where)} ({'; '.join(where)})" for outcome, where in groups.items() if where]
    unit = "% points of " if info.percent else ""
    tested = f"{len(found)} setting{'s' * (len(found) != 1)}"
    return f"{claim.better} minus {claim.worse}, {unit}{info.label} ({claim.source}); {tested}: {', '.join(parts)}."


def change_note(
    results: Results, method: str, metric: str, first: Mapping[str, Any], last: Mapping[str, Any], what: str
) -> list[str]:
    """How a method's metric changes from one setting to another, paired by repetition; nothing if there is no pair."""
    info = describe_metric(metric)
    start, end = (results.values(method, metric, setting) for setting in (first, last))
    both = [k for k in end if k in start]
    if len(both) < 2:
        return []
    test = paired_t_test([end[k] for k in both], [start[k] for k in both])
    factor = 100 if info.percent else 1
    means = [factor * sum(values[k] for k in both) / len(both) for values in (start, end)]
    return [
        f"{method}, {what}: {info.label} {means[0]:.2f} → {means[1]:.2f}{' %' if info.percent else ''} "
        f"({test.test}, {test.n} pairs, {format_p(test.p_value)})."
    ]
