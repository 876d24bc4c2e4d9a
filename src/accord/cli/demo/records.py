"""A cluster of records: people who stand in a table several times, misspelt."""

from __future__ import annotations

import html
from collections import defaultdict
from typing import Any

from accord.cli.demo.scene import Scene, aligned

N_LABELED, N_NEW = 25, 100  # people
SAME, OTHER = "the same person", "somebody else"
_FIELDS = ("name", "street", "born")


def records(seed: int) -> Scene:
    """Learn from records of known people which records belong together, and find those of others."""
    from accord import Deduplicator
    from accord.datasets import people
    from accord.evaluation import pair_counts

    known, who = people(N_LABELED, random_state=seed)
    table, truth = people(N_NEW, random_state=seed + 1)
    model = Deduplicator(random_state=seed).fit(known, who)
    found = model.predict(table)
    counts = pair_counts(truth, found)
    lesson = (
        f"{len(known)} records of {N_LABELED} known people teach which differences matter; in a new table of "
        f"{len(table)} records {counts.n_correct} of {counts.n_true} pairs about the same person are found, with "
        f"{counts.n_pred - counts.n_correct} wrong."
    )
    clusters = defaultdict(list)
    for record, cluster, person in zip(table, found, truth):
        clusters[cluster].append({**record, "person": person})
    # one that was hard: misspelt, and with gaps
    shown = max(clusters.values(), key=lambda members: (_is_right(members), _gaps(members), len(members)))
    alike = [r for r in table if str(r["name"]).split()[-1] == str(shown[0]["name"]).split()[-1]]
    others = [r for r in alike if all(r["name"] != m["name"] for m in shown)][:1]
    rows = [(SAME, r) for r in shown] + [(OTHER, r) for r in others]
    return Scene("A cluster of records", lesson, _as_text(rows), _as_html(rows))


def _is_right(members: list[dict[str, Any]]) -> bool:
    return len({r["person"] for r in members}) == 1


def _gaps(members: list[dict[str, Any]]) -> int:
    return sum(r[field] is None for r in members for field in _FIELDS)


def _as_text(rows: list[tuple[str, dict[str, Any]]]) -> str:
    return aligned([("", *_FIELDS), *((decision, *(r[field] or "-" for field in _FIELDS)) for decision, r in rows)])


def _as_html(rows: list[tuple[str, dict[str, Any]]]) -> str:
    """A table, with a line before the records of each kind."""
    lines, before = [], ""
    for decision, record in rows:
        if decision != before:
            lines.append(f'<tr class="kind"><th colspan="{len(_FIELDS)}">{decision}</th></tr>')
        cells = "".join(f"<td>{html.escape(record[field] or '–')}</td>" for field in _FIELDS)
        lines.append(f'<tr class="{"same" if decision == SAME else "other"}">{cells}</tr>')
        before = decision
    head = "".join(f"<th>{name}</th>" for name in _FIELDS)
    return (
        '<figure><div class="scroll" tabindex="0"><table class="records">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div></figure>"
    )
