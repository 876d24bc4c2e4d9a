"""Tables of results, ours beside the published figures, as Markdown and HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from accord.evaluation.registry import Metric, describe_metric
from accord.evaluation.results import Comparison, Results, Summary
from accord.evaluation.significance import format_p

_WIDE = 7  # more settings than this become rows
_LEVEL = 0.05


@dataclass(frozen=True)
class Published:
    """A figure from a paper.

    Parameters
    ----------
    method : the paper's method; with the name of one of ours it is shown next to it
    metric : name of the metric
    value : in the metric's own unit: 0.2359, not 23.59 %
    setting : the settings it belongs to; those not named match any of ours
    error : its standard error, if given
    source : where it stands, e.g. "thesis, Table 5.5"

    Examples
    --------
    >>> figure = Published("CRF", "token_error", 0.2359, {"n_labeled": 10}, source="Table 5.5")
    >>> figure.matches({"n_labeled": 10, "n_unlabeled": 100}), figure.matches({"n_labeled": 20})
    (True, False)
    """

    method: str
    metric: str
    value: float
    setting: Mapping[str, Any] = field(default_factory=dict)
    error: float = math.nan
    source: str = ""

    def matches(self, setting: Mapping[str, Any]) -> bool:
        """Whether it can stand beside a result of ours with this setting."""
        return all(setting.get(name) == value for name, value in self.setting.items())


@dataclass(frozen=True)
class Table:
    """Cells of text; `strong` holds the (row, column) of those to emphasise.

    Examples
    --------
    >>> print(Table(["method", "error"], [["CRF", "0.24"], ["Tagger", "0.16"]], strong={(1, 1)}).to_markdown())
    | method |    error |
    | ------ | -------: |
    | CRF    |     0.24 |
    | Tagger | **0.16** |
    """

    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    strong: set[tuple[int, int]] = field(default_factory=set)

    def to_markdown(self) -> str:
        """A GitHub-flavoured Markdown table, numbers to the right, notes below."""
        cells = [
            [f"**{text}**" if (i, j) in self.strong else text for j, text in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]
        lines = [[text.replace("|", "\\|") for text in row] for row in [self.columns, *cells]]
        widths = [max(3, *(len(line[j]) for line in lines)) for j in range(len(self.columns))]
        rule = [(w - 1) * "-" + (":" if j else "-") for j, w in enumerate(widths)]
        padded = [
            [text.rjust(w) if j else text.ljust(w) for j, (text, w) in enumerate(zip(line, widths))]
            for line in [lines[0], rule, *lines[1:]]
        ]
        table = "\n".join("| " + " | ".join(line) + " |" for line in padded)
        notes = "\n".join(f"- {note}" for note in self.notes)
        return f"{table}\n\n{notes}\n" if notes else f"{table}\n"

    def to_html(self) -> str:
        """The table in a scrollable box, notes below."""
        head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in self.columns)
        body = []
        for i, row in enumerate(self.rows):
            cells = [f'<th scope="row">{html.escape(row[0])}</th>']
            for j, text in enumerate(row[1:], start=1):
                safe = html.escape(text)
                cells.append(f"<td>{f'<strong>{safe}</strong>' if (i, j) in self.strong else safe}</td>")
            body.append(f"<tr>{''.join(cells)}</tr>")
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table></div>" + (f'<ul class="notes">{notes}</ul>' if notes else "")
        )


@dataclass
class _Line:
    """A method's values over the columns; those of papers have no means."""

    name: str
    cells: dict[int, str] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)


def setting_label(setting: Mapping[str, Any], names: Sequence[str]) -> str:
    """The named settings as text: ``n_labeled=5, m=100``."""
    return ", ".join(f"{name}={setting[name]}" for name in names if name in setting)


def varying_names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of settings that do not have one value everywhere."""
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    return [name for name in names if len({repr(setting.get(name)) for setting in settings}) > 1]


def format_value(metric: Metric, value: float, error: float = math.nan) -> str:
    """A mean with its standard error, in percent where the metric says so."""
    if math.isnan(value):
        return "–"
    if metric.percent:
        text = f"{100 * value:.2f}"
        return text if math.isnan(error) else f"{text} ± {100 * error:.2f}"
    return f"{value:.4g}" if math.isnan(error) else f"{value:.4g} ± {error:.2g}"


def results_table(
    results: Results,
    metric: str | Metric,
    published: Sequence[Published] = (),
    comparisons: Sequence[Comparison] = (),
) -> Table:
    """Methods × settings with mean ± standard error; published figures in rows of their own, marked †.

    With many settings the table is turned, settings down and methods across.

    Parameters
    ----------
    results : of one or several experiments
    metric : which metric
    published : figures of papers to show beside ours
    comparisons : from `Results.compare`; significant ones are marked ‡

    Examples
    --------
    >>> from accord.evaluation import make_tasks, run_experiment
    >>> errors = {"CRF": [0.21, 0.24, 0.22], "Tagger": [0.15, 0.19, 0.15]}
    >>> tasks = make_tasks("demo", list(errors), repetitions=3)
    >>> results = run_experiment(tasks, lambda task: {"token_error": errors[task.method][task.repetition]})
    >>> table = results_table(results, "token_error", published=[Published("CRF", "token_error", 0.25)])
    >>> table.rows
    [['CRF', '22.33 ± 0.88'], ['CRF (published) †', '25.00'], ['Tagger', '16.33 ± 1.33']]
    """
    info = describe_metric(metric)
    part = results.where(metric=info.name)
    summaries = part.aggregate()
    places = _places(summaries)
    figures = [p for p in published if p.metric == info.name]
    lines: list[_Line] = []
    for method in part.methods:
        lines.append(_our_line(method, summaries, places, info, comparisons))
        lines += _published_lines([p for p in figures if p.method == method], places, info)
    lines += _published_lines([p for p in figures if p.method not in part.methods], places, info)
    names = varying_names(places)
    heads = [setting_label(place, names) or info.label for place in places]
    strong = _best(lines, len(places), info)
    notes = _notes(info, summaries, figures, comparisons, bool(strong))
    if len(places) > _WIDE:
        rows = [[head, *(line.cells.get(j, "") for line in lines)] for j, head in enumerate(heads)]
        turned = {(j - 1, i + 1) for i, j in strong}
        return Table(["setting", *(line.name for line in lines)], rows, notes, turned)
    rows = [[line.name, *(line.cells.get(j, "") for j in range(len(places)))] for line in lines]
    return Table(["method", *heads], rows, notes, strong)


def _places(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """The columns: distinct settings, with the experiment's name if there are several."""
    several = len({s.experiment for s in summaries}) > 1
    places: list[dict[str, Any]] = []
    for s in summaries:
        place = {"experiment": s.experiment, **s.setting} if several else dict(s.setting)
        if place not in places:
            places.append(place)
    return places


def _our_line(
    method: str,
    summaries: Sequence[Summary],
    places: list[dict[str, Any]],
    info: Metric,
    comparisons: Sequence[Comparison],
) -> _Line:
    line = _Line(method)
    for s in summaries:
        if s.method != method:
            continue
        place = {"experiment": s.experiment, **s.setting}
        j = places.index(place) if place in places else places.index(s.setting)
        mark = any(
            c.p_adjusted < _LEVEL
            for c in comparisons
            if (c.experiment, c.method, c.setting, c.metric) == (s.experiment, method, s.setting, info.name)
        )
        line.cells[j] = format_value(info, s.mean, s.standard_error) + (" ‡" if mark else "")
        line.means[j] = s.mean
    return line


def _published_lines(figures: Sequence[Published], places: list[dict[str, Any]], info: Metric) -> list[_Line]:
    lines: dict[str, _Line] = {}
    for p in figures:
        line = lines.setdefault(p.method, _Line(f"{p.method} (published) †"))
        for j, place in enumerate(places):
            if p.matches(place):
                line.cells[j] = format_value(info, p.value, p.error)
    return [line for line in lines.values() if line.cells]


def _best(lines: Sequence[_Line], n_places: int, info: Metric) -> set[tuple[int, int]]:
    """Cells of our best method per setting, if there are several methods and a direction."""
    if info.greater_is_better is None:
        return set()
    pick = max if info.greater_is_better else min
    strong = set()
    for j in range(n_places):
        means = {i: line.means[j] for i, line in enumerate(lines) if not math.isnan(line.means.get(j, math.nan))}
        if len(means) > 1:
            best = pick(means.values())
            strong |= {(i, j + 1) for i, mean in means.items() if mean == best}
    return strong


def _notes(
    info: Metric,
    summaries: Sequence[Summary],
    figures: Sequence[Published],
    comparisons: Sequence[Comparison],
    any_best: bool,
) -> list[str]:
    counts = sorted({s.n for s in summaries})
    n = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    unit = f"{info.label}{' in %' if info.percent else ''}"
    what = f"mean ± standard error over {n} repetitions" if counts[-1] > 1 else "one repetition"
    notes = [f"{unit[0].upper()}{unit[1:]}, {what}."]
    if any_best:
        notes[0] += f" Bold: the {'highest' if info.greater_is_better else 'lowest'} of ours."
    if comparisons:
        test = comparisons[0].test
        notes.append(
            f"‡ differs from {test.names[1]} at {100 * _LEVEL:g} % ({test.test}, two-sided, Holm's correction for "
            f"{len(comparisons)} comparisons)."
        )
    if figures:
        sources = "; ".join(dict.fromkeys(p.source for p in figures if p.source))
        notes.append(f"† as published{f': {sources}' if sources else ''}.")
    return notes


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """The paired tests in full.

    >>> from accord.evaluation import make_tasks, run_experiment
    >>> errors = {"CRF": [0.21, 0.24, 0.22], "Tagger": [0.15, 0.19, 0.15]}
    >>> tasks = make_tasks("demo", list(errors), repetitions=3)
    >>> results = run_experiment(tasks, lambda task: {"token_error": errors[task.method][task.repetition]})
    >>> comparison_table(results.compare("CRF", "token_error")).rows
    [['Tagger − CRF', '-6.00', 't = -10.4', 'p = 0.0091', 'p = 0.0091', '3']]
    """
    places = [{"experiment": c.experiment, **c.setting} for c in comparisons]
    names = varying_names(places)
    info = describe_metric(comparisons[0].metric)
    rows = []
    for c, place in zip(comparisons, places):
        head = f"{c.method} − {c.test.names[1]}"
        label = setting_label(place, names)
        row = [f"{head}, {label}" if label else head]
        symbol = "W" if c.test.w_plus is not None else "t"
        row += [format_value(info, c.test.difference), f"{symbol} = {c.test.statistic:.3g}"]
        rows.append([*row, format_p(c.test.p_value), format_p(c.p_adjusted), str(c.test.n)])
    columns = ["pair", f"difference in {info.label}", "statistic", "p", "p (Holm)", "pairs"]
    return Table(columns, rows, [f"{comparisons[0].test.test}, two-sided, paired by repetition."])
