"""A regression curve: two noisy instruments, which may have to agree where nobody measured the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accord.cli.demo.scene import Scene, chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_LABELED, N_UNLABELED, N_TEST = 25, 300, 400
_NOISE = 0.3  # of the instruments; places lie between -3 and 3
_COLUMNS, _LINES = 72, 13  # of the curve on a terminal


def curve(seed: int) -> Scene:
    """Learn a curve from few values; held-out ones say whether readings without a value are of use."""
    from accord import RLSR, CoRLSR, Select

    rng = np.random.default_rng(seed)
    known, test = slice(N_LABELED), slice(N_LABELED + N_UNLABELED, None)
    place = rng.uniform(-3, 3, size=N_LABELED + N_UNLABELED + N_TEST)
    X = place[:, None] + _NOISE * rng.normal(size=(place.size, 2))
    y = _truth(place)
    few = np.where(np.arange(place.size) < N_LABELED, y, np.nan)[: test.start]
    alone = RLSR().fit(X[known], y[known])
    both = CoRLSR({"one": Select([0]), "two": Select([1])}, random_state=seed).fit(X[: test.start], few)
    errors = [float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))) for model in (alone, both)]
    used = (
        "held-out values said that they do not help, and it left them alone"
        if both.fallback_
        else f"held-out values said that they help, and it is off by {errors[1]:.2f}"
    )
    lesson = (
        f"{N_LABELED} values, read by two noisy instruments, give a curve that is off by {errors[0]:.2f} on new "
        f"readings (root mean square); the learner also looked at {N_UNLABELED} readings without a value: {used}."
    )
    grid = np.linspace(-3, 3, _COLUMNS)
    learned, true = both.predict(np.stack([grid, grid], axis=1)), _truth(grid)
    points = (place[known], y[known])

    def draw(axes: Axes, dark: bool) -> None:
        from accord.evaluation.plots import method_look

        ink, blue, red = (method_look(k, dark)["color"] for k in (6, 0, 1))
        axes.plot(grid, true, ":", color=ink, linewidth=1.8, label="the truth")
        axes.plot(grid, learned, color=blue, linewidth=2, label="learned")
        axes.plot(*points, "o", color=red, markersize=5, label="known values")
        axes.set(xlabel="place", ylabel="value")

    text = _as_text(grid, {"·": true, "*": learned}, points) + "\no known values   * learned   · the truth"
    return Scene("A regression curve", lesson, text, chart(draw, "The learned curve, the true one, the known values"))


def _truth(place: np.ndarray) -> np.ndarray:
    return np.sin(1.5 * place) + 0.3 * place


def _as_text(grid: np.ndarray, curves: dict[str, np.ndarray], points: tuple[np.ndarray, np.ndarray]) -> str:
    """Curves and points in lines of characters; what comes later covers what came before."""
    everything = np.concatenate([*curves.values(), points[1]])
    low, high = everything.min(), everything.max()

    def line(values: np.ndarray) -> np.ndarray:
        return np.rint((high - values) / (high - low) * (_LINES - 1)).astype(int)

    cells = np.full((_LINES, grid.size), " ")
    for mark, values in curves.items():
        cells[line(values), np.arange(grid.size)] = mark
    cells[line(points[1]), np.abs(grid[None] - points[0][:, None]).argmin(axis=1)] = "o"
    return "\n".join("".join(row).rstrip() for row in cells)
