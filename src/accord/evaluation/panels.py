"""Other plots than learning curves: pairs of methods over many data sets, and lines with logarithmic axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accord.evaluation.plots import label_outside, method_look, page_style, panel_grid, shared_legend, summaries_of
from accord.evaluation.registry import Metric, describe_metric
from accord.evaluation.results import Results, Summary
from accord.exceptions import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Line(NamedTuple):
    """Points of a line."""

    x: Sequence[float]
    y: Sequence[float]


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

    found: dict[Any, dict[str, dict[str, Summary]]] = {}
    for s in summaries_of(results, describe_metric(metric)):
        point = repr({name: value for name, value in s.setting.items() if name != rows})
        found.setdefault(s.setting.get(rows) if rows else "", {}).setdefault(point, {})[s.method] = s
    with rc_context(page_style(dark)):
        figure, grid = panel_grid(len(found) * len(pairs), len(pairs), (3.4, 3.3), (0.4, 0.4))
        for axes, ((row, points), (x, y)) in zip(grid, product(found.items(), pairs)):
            _pair(axes, [(p[x], p[y]) for p in points.values() if x in p and y in p], dark)
            axes.set(xlabel=x, ylabel=y)
            if row != "":
                axes.set_title(f"{rows}={row}", loc="left")
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
    dark: bool = False,
) -> Figure:
    """Lines in panels, by title and by name; the vertical axis is logarithmic.

    Parameters
    ----------
    panels : title → name → line; a name has one look in all panels
    xlabel, ylabel : what the axes show
    columns : panels in a row
    log_x : the horizontal axis is so, too
    dark : colours for a dark page
    """
    from matplotlib import rc_context

    if not panels:
        raise InputError("panels is empty: there is nothing to draw")
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    with rc_context(page_style(dark)):
        size = (6.3 if columns == 1 else 2.9, 2.9)
        figure, grid = panel_grid(len(panels), columns, size, (1.2, 0.6), sharex=True, sharey=True)
        for axes, (title, lines) in zip(grid, panels.items()):
            for name, line in lines.items():
                look = method_look(names.index(name), dark) | {"markersize": 3.5, "linewidth": 1.4}
                axes.errorbar(line.x, line.y, label=name, **look)
            axes.set_title(title, loc="left")
            axes.set(xscale="log" if log_x else "linear", yscale="log")
        label_outside(grid, columns, xlabel, ylabel)
        shared_legend(figure, grid, names, columns)
    return figure
