"""Charts of models: learning curves, confusions, transitions; axes of matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from accord.evaluation.plots import method_look
from accord.exceptions import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def learning_curve(
    models: Any,
    X: Any,
    y: Sequence[Any],
    X_test: Any,
    y_test: Sequence[Any],
    sizes: Sequence[int] = (5, 10, 20, 40),
    repetitions: int = 3,
    random_state: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Error on test data against the number of labels; all other examples of `X` are given without theirs.

    All models see the same draws of labels. Bars are standard errors over draws.

    Parameters
    ----------
    models : a learner, or a dict of names and learners
    X, y : examples with their labels, of which a model sees `sizes`
    X_test, y_test : what the error, 1 minus `score`, is measured on
    sizes : numbers of labels
    repetitions : draws of labels for each size
    random_state : seed of the draws
    ax : axes to draw into

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from accord import CRF, MultiClass, plots
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]] * 3, ["low", "low", "high", "high"] * 3
    >>> axes = plots.learning_curve(CRF(MultiClass()), X, y, X, y, sizes=(2, 4), repetitions=2, random_state=0)
    >>> axes.get_xlabel()
    'labels'
    """
    named = models if isinstance(models, Mapping) else {type(models).__name__: models}
    if not sizes or not 1 <= min(sizes) <= max(sizes) <= len(y):
        raise InputError(f"sizes: between 1 and the {len(y)} labels there are, got {tuple(sizes)}")
    rng = np.random.default_rng(random_state)
    orders = [_class_by_class(y, rng) for _ in range(repetitions)]
    errors = np.empty((len(named), len(sizes), repetitions))
    for k, model in enumerate(named.values()):
        for s, size in enumerate(sizes):
            for r, order in enumerate(orders):
                known = set(order[:size].tolist())
                few = [label if i in known else None for i, label in enumerate(y)]
                errors[k, s, r] = 100 * (1 - clone(model).fit(X, few).score(X_test, y_test))
    axes = _axes(ax)
    spread = errors.std(axis=2, ddof=1) / repetitions**0.5 if repetitions > 1 else np.zeros(errors.shape[:2])
    for k, name in enumerate(named):
        look = method_look(k, False) | {"capsize": 3, "linewidth": 2}
        axes.errorbar(list(sizes), errors[k].mean(axis=1), yerr=spread[k], label=name, **look)
    axes.set_xscale("log")
    axes.set_xticks(list(sizes), [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set(xlabel="labels", ylabel="error (%)")
    if len(named) > 1:
        axes.legend()
    return axes


def _class_by_class(y: Sequence[Any], rng: np.random.Generator) -> np.ndarray:
    """A random order in which each class comes once before any comes twice; sequences come in any order."""
    order = rng.permutation(len(y))
    if any(isinstance(label, list | tuple | np.ndarray) for label in y):
        return order
    seen: dict[Any, int] = {}
    turn = np.empty(len(y), dtype=int)
    for i in order:
        turn[i] = seen[y[i]] = seen.get(y[i], 0) + 1
    return order[np.argsort(turn[order], kind="stable")]


def confusion(
    y_true: Sequence[Any],
    y_pred: Sequence[Any],
    labels: Sequence[Any] | None = None,
    normalize: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Which labels are taken for which: a row for each true label, a column for each predicted one.

    Parameters
    ----------
    y_true, y_pred : classes, or label sequences, of which every token counts
    labels : rows and columns in this order; by default all labels, sorted
    normalize : percentages of each row instead of counts
    ax : axes to draw into

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from accord import plots
    >>> axes = plots.confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> [text.get_text() for text in axes.texts]
    ['50', '50', '', '100']
    """
    truth, found = _flat(y_true), _flat(y_pred)
    if len(truth) != len(found):
        raise InputError(f"y_true has {len(truth)} labels and y_pred {len(found)}; give the same examples")
    names = sorted({*truth, *found}, key=str) if labels is None else list(labels)
    place = {name: k for k, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    for a, b in zip(truth, found):
        if a in place and b in place:
            counts[place[a], place[b]] += 1
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    texts = [[f"{100 * share:.0f}" if share else "" for share in row] for row in shares]
    if not normalize:
        texts = [[f"{count:.0f}" if count else "" for count in row] for row in counts]
    axes = _axes(ax)
    _heat(axes, shares, [str(n) for n in names], [str(n) for n in names], texts, "Blues", (0.0, 1.0))
    axes.set(xlabel="predicted", ylabel="true (% of each row)" if normalize else "true")
    return axes


def transitions(model: Any, ax: Axes | None = None) -> Axes:
    """Which label a model likes to see after which: its weights of pairs of labels, start and end included.

    Blue pairs are liked and red ones are not; a dot marks what constraints forbid.

    Parameters
    ----------
    model : fitted learner of sequences
    ax : axes to draw into

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from accord import CRF, Sequence, plots
    >>> model = CRF(Sequence()).fit([["a", "b"], ["a", "b"]], [["A", "B"], ["A", "B"]])
    >>> axes = plots.transitions(model)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['start', 'A', 'B']
    """
    structure: Any = getattr(model, "structure_", None)
    if not getattr(structure, "has_transitions", False):
        raise InputError("model: only fitted learners of sequences have transitions; fit one with Sequence() first")
    if structure.order_ != 1:
        raise InputError("model: its transitions are over three labels and fill no table; take Sequence(order=1)")
    first, step, last = structure.chain(model.weights_.transitions)
    names = [str(label) for label in structure.labels_]
    n = len(names)
    table = np.full((n + 1, n + 1), np.nan)
    table[0, :n], table[1:, :n], table[1:, n] = first, step[:, 0], last
    allowed = np.isfinite(table)
    bound = max(float(np.abs(table[allowed]).max(initial=0.0)), 1e-9)
    texts = [["" if np.isnan(w) else _short(w) if np.isfinite(w) else "·" for w in row] for row in table]
    shown = np.where(allowed, table, 0.0)
    axes = _axes(ax)
    _heat(axes, shown, ["start", *names], [*names, "end"], texts, "RdBu", (-bound, bound))
    axes.set(xlabel="next label", ylabel="label")
    return axes


def _short(weight: float) -> str:
    return f"{round(weight, 1) + 0.0:.1f}"  # no -0.0


def _heat(
    axes: Axes, table: Any, rows: list[str], columns: list[str], texts: Any, colours: str, between: tuple[float, float]
) -> None:
    axes.imshow(table, cmap=colours, vmin=between[0], vmax=between[1], aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=45 if max(map(len, columns)) > 4 else 0, ha="center")
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(visible=False)
    low, high = between
    for i, j in np.ndindex(np.shape(table)):
        depth = (table[i][j] - low) / (high - low)
        dark = depth > 0.6 if low == 0 else abs(depth - 0.5) > 0.35
        axes.text(j, i, texts[i][j], ha="center", va="center", fontsize=9, color="white" if dark else "#1b1b1b")


def _flat(labels: Sequence[Any]) -> list[Any]:
    return [one for label in labels for one in (label if isinstance(label, list | tuple | np.ndarray) else [label])]


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]
