"""A report of an experiment: Markdown, tidy CSV, plots, and one HTML file that needs nothing else.

The HTML file holds its style and images (SVG, one set for light and one for dark pages) and makes no request to any
server.
"""

from __future__ import annotations

import base64
import html
import platform
import string
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord import __version__
from accord.evaluation.plots import figure_bytes, plot_results
from accord.evaluation.registry import Metric, describe_metric
from accord.evaluation.results import Results
from accord.evaluation.tables import Published, Table, comparison_table, results_table
from accord.exceptions import InputError
from accord.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "matplotlib")


@dataclass(frozen=True)
class ReportPaths:
    """Where `write_report` put things.

    Examples
    --------
    >>> paths = ReportPaths(Path("out/report.html"), Path("out/report.md"), Path("out/results.csv"), [])
    >>> paths.html.name
    'report.html'
    """

    html: Path
    markdown: Path
    csv: Path
    plots: list[Path]


@dataclass(frozen=True)
class _Section:
    """One metric: its tables and its plot in both colourings."""

    metric: Metric
    table: Table
    tests: Table | None
    svg_light: bytes
    svg_dark: bytes
    png: bytes


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    versions = {"Python": platform.python_version(), "accord": __version__}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def write_report(
    directory: str | Path,
    title: str,
    results: Results,
    *,
    metrics: Sequence[str | Metric] | None = None,
    x: str | None = None,
    baseline: str | None = None,
    test: str = "t",
    test_to_train: float | None = None,
    published: Sequence[Published] = (),
    description: str = "",
    notes: Sequence[str] = (),
    command: str | None = None,
    seed: int | None = None,
    date: str | None = None,
    details: Mapping[str, Any] | None = None,
    figures: Mapping[str, Callable[[bool], Figure]] | None = None,
) -> ReportPaths:
    """Write ``report.html``, ``report.md``, ``results.csv`` and one plot per metric into `directory`.

    Every file is written atomically. Without `date` the same results give the same bytes.

    Parameters
    ----------
    directory : folder; made if need be
    title : heading
    results : table of results
    metrics : which metrics to show, in order; by default all. A `Metric` says how to call and format a new one.
    x : numeric setting for learning curves; by default methods are plotted beside each other
    baseline : method that the others are tested against
    test, test_to_train : kind of paired test, see `Results.compare`
    published : figures of papers to show beside ours
    description : a paragraph below the title
    notes : sentences below the tables, e.g. where and why results differ from the papers'
    command, seed, date, details : how the results came about, printed at the end
    figures : metric → function of "is the page dark?" that draws a figure for it instead of the usual plot

    Examples
    --------
    >>> import tempfile
    >>> row = {"experiment": "demo", "method": "CRF", "repetition": 0, "metric": "token_error", "seconds": 0.1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write_report(folder, "My experiment", Results([{**row, "value": 0.2}]))
    ...     print(paths.markdown.read_text("utf-8").splitlines()[0], [path.name for path in paths.plots])
    # My experiment ['token_error.png']
    """
    chosen = [describe_metric(m) for m in (results.metrics if metrics is None else metrics)]
    if not chosen or not results.rows:
        raise InputError("results are empty: there is nothing to report")
    sections = []
    for metric in chosen:
        comparisons = [] if baseline is None else results.compare(baseline, metric.name, test, test_to_train)
        table = results_table(results, metric, published, comparisons)
        tests = comparison_table(comparisons) if comparisons else None
        draw = (figures or {}).get(metric.name) or partial(plot_results, results, metric, x, published)
        light, dark = draw(False), draw(True)
        plots = (figure_bytes(light, "svg"), figure_bytes(dark, "svg"), figure_bytes(light, "png"))
        sections.append(_Section(metric, table, tests, *plots))
    told: dict[str, Any] = {"command": command, "seed": seed, "date": date, **(details or {})}
    told["versions"] = ", ".join(f"{name} {version}" for name, version in package_versions().items())
    facts = {name: str(value) for name, value in told.items() if value is not None}
    folder = Path(directory)
    images = [write_file(folder / f"{s.metric.name}.png", s.png) for s in sections]
    csv = results.to_csv(folder / "results.csv")
    markdown = write_file(folder / "report.md", _markdown(title, description, sections, notes, facts))
    page = write_file(folder / "report.html", _page(title, description, sections, notes, facts))
    return ReportPaths(page, markdown, csv, images)


def _heading(metric: Metric) -> str:
    return metric.label[:1].upper() + metric.label[1:]


def _markdown(
    title: str, description: str, sections: Sequence[_Section], notes: Sequence[str], facts: Mapping[str, str]
) -> str:
    blocks = [f"# {title}"] + ([description] if description else [])
    for s in sections:
        plot = f"![{s.metric.label}]({s.metric.name}.png)"
        blocks += [f"## {_heading(s.metric)}", s.table.to_markdown().strip(), plot]
        if s.tests is not None:
            blocks += ["### Paired tests", s.tests.to_markdown().strip()]
    if notes:
        blocks += ["## Notes", "\n".join(f"- {note}" for note in notes)]
    lines = [f"- {name}: {f'`{text}`' if name == 'command' else text}" for name, text in facts.items()]
    return "\n\n".join([*blocks, "## How this was made", "\n".join(lines)]) + "\n"


def _page(
    title: str, description: str, sections: Sequence[_Section], notes: Sequence[str], facts: Mapping[str, str]
) -> str:
    blocks = [f"<p>{html.escape(description)}</p>"] if description else []
    for s in sections:
        plot = picture(s.svg_light, s.svg_dark, f"Plot of {s.metric.label}; the table below holds the same numbers")
        blocks.append(f"<section><h2>{html.escape(_heading(s.metric))}</h2>{plot}{s.table.to_html()}")
        if s.tests is not None:
            blocks.append(f"<details><summary>Paired tests</summary>{s.tests.to_html()}</details>")
        blocks.append("</section>")
    if notes:
        items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
        blocks.append(f"<section><h2>Notes</h2><ul>{items}</ul></section>")
    entries = "".join(f"<dt>{html.escape(name)}</dt><dd>{_fact(name, text)}</dd>" for name, text in facts.items())
    blocks.append(f"<section><h2>How this was made</h2><dl>{entries}</dl></section>")
    return html_page(title, "\n".join(blocks))


def html_page(title: str, body: str, style: str = "") -> str:
    """A page that needs nothing else, for light and dark screens; `body` and `style` are HTML and CSS as they are."""
    return _TEMPLATE.substitute(title=html.escape(title), body=body, style=style)


def _fact(name: str, text: str) -> str:
    return f"<code>{html.escape(text)}</code>" if name == "command" else html.escape(text)


def picture(light: bytes, dark: bytes, alt: str) -> str:
    """A figure as data URIs of two SVG files, the browser picking the one for its colour scheme."""
    sources = ["data:image/svg+xml;base64," + base64.b64encode(svg).decode() for svg in (light, dark)]
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{sources[1]}">'
        f'<img src="{sources[0]}" alt="{html.escape(alt)}"></picture></figure>'
    )


_TEMPLATE = string.Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #d9d9d9; --soft: #f5f5f5; --quiet: #5c5c5c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #1b1d21; --line: #3a3d44; --soft: #26292f; --quiet: #a8abb2; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 62rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.2rem; }
figure { margin: 0 0 1rem; } img { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid currentColor; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
thead th { border-bottom-width: 2px; background: var(--soft); } th:first-child { text-align: left; }
tbody th { font-weight: normal; }
.notes { color: var(--quiet); font-size: .875rem; padding-left: 1.2rem; }
summary { cursor: pointer; margin: .8rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; } dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; } code { font-size: .9em; }
@media print { body { max-width: none; } details { display: block; } }
$style</style>
</head>
<body>
<h1>$title</h1>
$body
</body>
</html>
""")
