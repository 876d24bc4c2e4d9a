"""Learning curves and method comparisons with error bars (matplotlib, no window system, colour-blind-safe).

Methods differ by colour, marker and line style, so the plots also read in grey. Error bars are standard errors.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from accord.evaluation.registry import Metric, describe_metric
from accord.evaluation.results import Results, Summary
from accord.evaluation.tables import Published, setting_label, varying_names
from accord.exceptions import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's colours without yellow, in an order that keeps neighbours apart; lighter ones on a dark page
_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
_DARK = ("#56B4E9", "#FF8A3D", "#2BC79A", "#E39AC4", "#F0B94A", "#9AD4FF", "#D0D0D0")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))
_PER_ROW = 3


def plot_results(
    results: Results,
    metric: str | Metric,
    x: str | None = None,
    published: Sequence[Published] = (),
    dark: bool = False,
) -> Figure:
    """Learning curves over the setting `x`, or without it the methods beside each other; one panel per other setting.

    Parameters
    ----------
    results : table of results
    metric : what to plot
    x : name of a numeric setting for the horizontal axis
    published : figures of papers, drawn hollow (dashed lines where they hold for every x)
    dark : colours for a dark page

    Examples
    --------
    >>> row = {"experiment": "demo", "method": "CRF", "repetition": 0, "metric": "token_error", "seconds": 0.1}
    >>> results = Results({**row, "n_labeled": n, "value": 1 / n} for n in (5, 10, 20))
    >>> axes = plot_results(results, "token_error", x="n_labeled").axes[0]
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('n_labeled', 'token error (%)')
    """
    from matplotlib import rc_context

    info = describe_metric(metric)
    summaries = summaries_of(results, info)
    figures = [p for p in published if p.metric == info.name]
    if x is not None:
        for s in summaries:
            if not isinstance(s.setting.get(x), (int, float)):
                raise InputError(f"x={x!r} must be a numeric setting, but it is {s.setting.get(x)!r} in {s.setting}")
    with rc_context(page_style(dark)):
        return _draw(summaries, info, x, figures, dark)


def summaries_of(results: Results, metric: Metric) -> list[Summary]:
    """Means of a metric; an error if there are none."""
    found = [s for s in results.aggregate() if s.metric == metric.name and not math.isnan(s.mean)]
    if not found:
        raise InputError(f"results hold no value of metric {metric.name!r}; they have {', '.join(results.metrics)}")
    return found


def figure_bytes(figure: Figure, kind: str = "png", dpi: int = 150) -> bytes:
    """A figure as PNG or SVG; the same figure always gives the same bytes.

    >>> from matplotlib.figure import Figure
    >>> figure_bytes(Figure(figsize=(1, 1)), dpi=20)[:4]
    b'\\x89PNG'
    """
    from matplotlib import rc_context

    out = io.BytesIO()
    with rc_context({"svg.hashsalt": "accord", "svg.fonttype": "path"}):
        undated = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(out, format=kind, dpi=dpi, metadata=undated)
    return out.getvalue()


def page_style(dark: bool) -> dict[Any, Any]:
    """Settings of matplotlib for a light or a dark page."""
    ink, paper, grid = ("#E6E6E6", "#1B1D21", "#3A3D44") if dark else ("#222222", "#FFFFFF", "#E2E2E2")
    style: dict[Any, Any] = {
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": grid,
        "legend.frameon": False,
    }
    style |= dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), paper)
    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor")
    return style | dict.fromkeys(inks, ink)


def _panel_of(s: Summary, x: str | None) -> dict[str, Any]:
    return {"experiment": s.experiment} | {name: value for name, value in s.setting.items() if name != x}


def _draw(summaries: list[Summary], info: Metric, x: str | None, figures: list[Published], dark: bool) -> Figure:
    panels = list({repr(panel): panel for panel in (_panel_of(s, x) for s in summaries)}.values())
    methods = list(dict.fromkeys([s.method for s in summaries] + ([p.method for p in figures] if x is None else [])))
    columns = 2 if len(panels) == 4 else min(len(panels), _PER_ROW)
    width, height = 4.2 if columns > 1 else 5.4, 3.3 if x is not None else 1.1 + 0.38 * len(methods)
    share = len({p["experiment"] for p in panels}) == 1  # other data have another scale
    margin = (1.0, 0.6)
    figure, shown = panel_grid(len(panels), columns, (width, height), margin, sharex=share, sharey=share or x is None)
    names = varying_names(panels)
    for axes, panel in zip(shown, panels):
        inside = [s for s in summaries if _panel_of(s, x) == panel]
        if x is None:
            _dots(axes, inside, methods, [p for p in figures if p.matches(panel)], info, dark)
        else:
            _curves(axes, inside, methods, figures, panel, x, info, dark)
        axes.set_title(setting_label(panel, names), loc="left")
    unit = f"{info.label}{' (%)' if info.percent else ''}"
    label_outside(shown, columns, *((unit, "") if x is None else (x, unit)))
    shared_legend(figure, shown, methods, columns)
    return figure


def panel_grid(
    n: int,
    columns: int,
    size: tuple[float, float],
    margin: tuple[float, float],
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure with n panels of a size, so many in a row; what is left over is not shown."""
    from matplotlib.figure import Figure

    rows = math.ceil(n / columns)
    inches = (margin[0] + size[0] * columns, margin[1] + size[1] * rows)
    figure = Figure(figsize=inches, layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey).flat)
    for empty in panels[n:]:
        empty.set_visible(False)
    return figure, panels[:n]


def label_outside(panels: list[Axes], columns: int, xlabel: str, ylabel: str) -> None:
    """Name the axes of the lowest panel of each column, and of the first of each row."""
    for axes in panels[-columns:]:
        axes.set_xlabel(xlabel)
        axes.tick_params(labelbottom=True)
    for axes in panels[::columns]:
        axes.set_ylabel(ylabel)


def method_look(k: int, dark: bool) -> dict[str, Any]:
    """Colour and marker of the k-th method."""
    colours = _DARK if dark else _LIGHT
    return {"color": colours[k % len(colours)], "marker": _MARKERS[k % len(_MARKERS)]}


def _curves(
    axes: Axes,
    summaries: list[Summary],
    methods: list[str],
    figures: list[Published],
    panel: dict[str, Any],
    x: str,
    info: Metric,
    dark: bool,
) -> None:
    scale = 100 if info.percent else 1
    for k, method in enumerate(methods):
        points = sorted((s for s in summaries if s.method == method), key=lambda s: s.setting[x])
        if points:
            axes.errorbar(
                [s.setting[x] for s in points],
                [scale * s.mean for s in points],
                yerr=[np.nan_to_num(scale * s.standard_error) for s in points],
                label=method,
                capsize=2.5,
                linewidth=1.6,
                markersize=4.5,
                linestyle=_DASHES[(k // len(_MARKERS) + k) % len(_DASHES)],
                **method_look(k, dark),
            )
    places = sorted({s.setting[x] for s in summaries})
    for p in figures:
        at = [v for v in places if p.matches({**panel, x: v})]
        if not at:
            continue
        look = method_look(methods.index(p.method), dark) if p.method in methods else method_look(len(_LIGHT) - 1, dark)
        label, value = f"{p.method} (published)", scale * p.value
        if x in p.setting:
            look |= {"markerfacecolor": "none", "linestyle": "none", "markersize": 9}
            axes.plot(at, [value] * len(at), label=label, **look)
        else:
            axes.axhline(value, color=look["color"], linestyle=":", linewidth=1.2, label=label)
    if len(places) <= 8:
        axes.set_xticks(places, [f"{v:g}" for v in places])
    if len(places) > 2 and places[0] > 0 and places[-1] / places[0] >= 20:
        axes.set_xscale("log")
        axes.set_xticks(places, [f"{v:g}" for v in places], minor=False)
        axes.minorticks_off()


def _dots(
    axes: Axes, summaries: list[Summary], methods: list[str], figures: list[Published], info: Metric, dark: bool
) -> None:
    scale = 100 if info.percent else 1
    for s in summaries:
        k = methods.index(s.method)
        look = method_look(k, dark) | {"linestyle": "none", "capsize": 3, "markersize": 6}
        axes.errorbar([scale * s.mean], [k], xerr=[np.nan_to_num(scale * s.standard_error)], **look)
    for i, p in enumerate(figures):
        look = method_look(methods.index(p.method), dark) | {"markerfacecolor": "none", "linestyle": "none"}
        label = "hollow: as published" if i == 0 else None
        axes.plot([scale * p.value], [methods.index(p.method)], markersize=9, label=label, **look)
    axes.set_yticks(range(len(methods)), methods)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.margins(x=0.12)


def shared_legend(figure: Figure, all_axes: list[Axes], methods: list[str], columns: int) -> None:
    """One legend under all panels, our methods first."""
    entries: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    if entries:
        names = sorted(entries, key=lambda name: methods.index(name) if name in methods else len(methods))
        handles = [entries[name] for name in names]
        legend_below(figure, handles, names, min(len(names), 3 * columns))


def legend_below(figure: Figure, handles: list[Any], names: list[str], columns: int) -> None:
    """A legend under everything, of so few columns that nothing is cut off."""
    while True:
        legend = figure.legend(handles, names, loc="outside lower center", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()
        columns -= 1
