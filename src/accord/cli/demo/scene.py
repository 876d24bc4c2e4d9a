"""What a scene of the demo consists of, and how its chart is drawn for light and dark pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Scene:
    """One kind of output: a sentence about what was learned, the output as text for a terminal, and as a picture."""

    title: str
    lesson: str
    text: str
    picture: str  # HTML
    legend: str = ""  # how to read both
    figures: tuple[dict[str, Any], ...] = ()  # rows of a table of results, where there is one


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A table as text, columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)


def chart(draw: Callable[[Axes, bool], None], alt: str, height: float = 2.9) -> str:
    """A figure in HTML; `draw` puts lines and points into the axes, in colours for a dark page if asked to."""
    from matplotlib import rc_context

    from accord.evaluation.plots import figure_bytes, legend_below, page_style, panel_grid
    from accord.evaluation.report import picture

    pictures = []
    for dark in (False, True):
        with rc_context(page_style(dark)):
            figure, (axes,) = panel_grid(1, 1, (5.6, height), (0.0, 0.0))
            draw(axes, dark)
            if axes.get_legend_handles_labels()[0]:
                legend_below(figure, *axes.get_legend_handles_labels(), columns=3)
        pictures.append(figure_bytes(figure, "svg"))
    return picture(pictures[0], pictures[1], alt)
