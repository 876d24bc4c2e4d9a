"""Other plots than learning curves: pairs of methods over many data sets, and lines with logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from accord.evaluation.plots import method_look, page_style, shared_legend
from accord.evaluation.registry import Metric, describe_metric
from accord.evaluation.results import Results, Summary
from accord.exceptions import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Line:
    """Points of a line, with standard errors or without."""

    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float] | None = None


def plot_pairs(
    results: Results,
    metric: str | Metric,
    pairs: Sequence[tuple[str, str]],
    rows: str | None = None,
    dark: bool = False,
) -> Figure:
    """Pairs of methods against each other: a point for each setting, standard errors, and the line of equality.

    Points below the line are settings where the second method of a pair has the lower value [thesis, Figure 4.1].

    Parameters
    ----------
    results : table of results
    metric : what to plot
    pairs : methods of the horizontal and the vertical axis, one pair for each panel
    rows : a setting that has one row of panels for each of its values
    dark : colours for a dark page
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    info = describe_metric(metric)
    found: dict[Any, dict[str, dict[str, Summary]]] = {}
    for s in results.aggregate():
        if s.metric == info.name and not math.isnan(s.mean):
            point = repr({name: value for name, value in s.setting.items() if name != rows})
            found.setdefault(s.setting.get(rows) if rows else "", {}).setdefault(point, {})[s.method] = s
    if not found:
        raise InputError(f"results hold no value of metric {info.name!r}; they have {', '.join(results.metrics)}")
    with rc_context(page_style(dark)):
        size = (0.4 + 3.4 * len(pairs), 0.4 + 3.3 * len(found))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(found), len(pairs), squeeze=False)
        for r, (row, points) in enumerate(found.items()):
            for c, pair in enumerate(pairs):
                both = [(p[pair[0]], p[pair[1]]) for p in points.values() if pair[0] in p and pair[1] in p]
                _pair(grid[r][c], both, dark)
                grid[r][c].set(xlabel=pair[0], ylabel=pair[1])
                if row != "":
                    grid[r][c].set_title(f"{rows}={row}", loc="left")
    return figure


def _pair(axes: Axes, points: Sequence[tuple[Summary, Summary]], dark: bool) -> None:
    xs, ys = ([pair[k].mean for pair in points] for k in (0, 1))
    errors = [[np.nan_to_num(pair[k].standard_error) for pair in points] for k in (0, 1)]
    look = method_look(0, dark) | {"linestyle": "none", "markersize": 3.5, "elinewidth": 0.8}
    axes.errorbar(xs, ys, xerr=errors[0], yerr=errors[1], **look)
    reach = [value + error for values, own in zip((xs, ys), errors) for value, error in zip(values, own)]
    ends = [0.0, 1.03 * max(reach, default=1.0)]
    axes.plot(ends, ends, linestyle="--", linewidth=1, color=method_look(6, dark)["color"])
    axes.set(xlim=ends, ylim=ends, aspect="equal")


def plot_lines(
    panels: Mapping[str, Mapping[str, Line]],
    xlabel: str,
    ylabel: str,
    columns: int = 1,
    log_x: bool = False,
    log_y: bool = True,
    dark: bool = False,
) -> Figure:
    """Lines in panels, by title and by name.

    Parameters
    ----------
    panels : title → name → line; a name has one look in all panels
    xlabel, ylabel : what the axes show
    columns : panels in a row
    log_x, log_y : logarithmic axes
    dark : colours for a dark page
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    if not panels:
        raise InputError("panels is empty: there is nothing to draw")
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    n_rows = math.ceil(len(panels) / columns)
    with rc_context(page_style(dark)):
        figure = Figure(
            figsize=(1.2 + (6.3 if columns == 1 else 2.9) * columns, 0.6 + 2.9 * n_rows), layout="constrained"
        )
        grid = figure.subplots(n_rows, columns, squeeze=False, sharex=True, sharey=True)
        for k, (title, lines) in enumerate(panels.items()):
            axes = grid[k // columns][k % columns]
            for name, line in lines.items():
                look = method_look(names.index(name), dark) | {"markersize": 3.5, "linewidth": 1.4}
                axes.errorbar(line.x, line.y, yerr=line.errors, label=name, **look)
            axes.set_title(title, loc="left")
            axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
        used = [grid[k // columns][k % columns] for k in range(len(panels))]
        for axes in used[-columns:]:
            axes.set_xlabel(xlabel)
        for axes in used[::columns]:
            axes.set_ylabel(ylabel)
        for k in range(len(panels), n_rows * columns):
            grid[k // columns][k % columns].set_visible(False)
        shared_legend(figure, used, names, columns)
    return figure
