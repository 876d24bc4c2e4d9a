"""Which column of a table has the labels, and which ones only number its rows, where nobody says it.

A model of the wrong column is nonsense that looks like a model, so the last column is taken only where it can be it.
"""

from __future__ import annotations

from collections.abc import Sequence

from accord.cli.data.layout import Layout
from accord.datasets.formats.csv_table import floats, is_free_text
from accord.exceptions import FormatError

# What people call a column of labels, the surest first.
LABELS = (
    "label", "labels", "class", "classes", "category", "categories", "target", "gold", "gold_label", "annotation",
    "topic", "sentiment", "intent", "y",
)  # fmt: skip
_ROW_NAMES = {"id", "index", "idx", "row", "row_id", "rowid", "uid", "uuid", "guid", "unnamed: 0", ""}
_FEW = 10  # labeled rows, below which it is no wonder if all labels differ


class Columns:
    """What the columns of one table are for, found out when all is read (`choose` of `read_csv`).

    Attributes
    ----------
    label : int
        Place of the labels.
    left_out : list of str
        Columns that only name rows.
    why : str
        Why the labels were looked for elsewhere than in the last column; empty if they were not.
    """

    def __init__(self, layout: Layout, source: str) -> None:
        self.layout, self.source = layout, source
        self.label, self.left_out, self.why = -1, list[str](), ""

    def __call__(self, names: list[str], cells: list[Sequence[str]], label: int | None) -> tuple[int, list[str]]:
        layout = self.layout
        self.names = names
        nodes = [names[one] if isinstance(one, int) else one for one in layout.named]
        asked = {*nodes, *(layout.categorical or ()), *(layout.text_columns or ())}
        self.left_out = [
            name for name, column in zip(names, cells) if name not in asked and _names_rows(name, column)
        ]  # fmt: skip
        self.label = len(names) - 1 if label is None else label
        if layout.label_column is None:
            places = [k for k, name in enumerate(names) if name not in (*asked, *self.left_out)]
            self.label = self._find(names, cells, places)
        self.left_out = [name for name in self.left_out if name != names[self.label]]
        return self.label, self.left_out

    def _find(self, names: list[str], cells: list[Sequence[str]], places: list[int]) -> int:
        fits = _are_numbers if self.layout.task.numeric else _are_classes
        by_name = named_label([names[k] for k in places])
        last = len(names) - 1
        if by_name is not None and names[last] != by_name and fits(cells[names.index(by_name)]):
            self.why = "by its name"
            return names.index(by_name)
        if not cells[last] or fits(cells[last]) or floats(cells[last]) is not None or self.layout.task.numeric:
            return last  # what numbers are for, learners ask
        others = [k for k in places if k != last and _are_classes(cells[k]) and floats(cells[k]) is None]
        if len(others) == 1:
            self.why = f"the last column, {names[last]!r}, has {_what(cells[last])}"
            return others[0]
        found = f", such as {', '.join(repr(names[k]) for k in others[:3])}" if others else ""
        raise FormatError(
            f"the last column, {names[last]!r}, has {_what(cells[last])}, which are no labels; name the column of "
            f"labels{found}",
            self.source,
            argument="label_column",
        )

    def settled(self, layout: Layout, header: bool) -> int | str:
        """The column of labels as layouts have it: by name where columns have names, else as it was given."""
        return self.names[self.label] if header else layout.target if not self.why else self.label

    def said(self, settled: Layout) -> list[str]:
        """What was decided without being asked."""
        lines = []
        if self.why:
            lines.append(f"labels: column {settled.target!r} ({self.why}); --label-column says otherwise")
        if self.left_out:
            names = ", ".join(repr(name) for name in self.left_out)
            lines.append(f"left out: {names}, another value in every row; to use it, give the column another name")
        return lines


def named_label(names: Sequence[str]) -> str | None:
    """The name that columns of labels usually have."""
    known = {name.strip().lower(): name for name in reversed(names)}
    return next((known[name] for name in LABELS if name in known), None)


def _names_rows(name: str, cells: Sequence[str]) -> bool:
    """Whether a column is called like names of rows, and has another one in every row."""
    return name.strip().lower() in _ROW_NAMES and len(cells) > 1 and len(set(cells)) == len(cells)


def _are_numbers(cells: Sequence[str]) -> bool:
    return any(cells) and floats(cells) is not None


def _are_classes(cells: Sequence[str]) -> bool:
    """Whether cells may be classes: no texts, and not another value in nearly every row."""
    filled = [cell for cell in cells if cell]
    if not filled or is_free_text(cells):
        return False
    return len(filled) < _FEW or len(set(filled)) <= 0.8 * len(filled)


def _what(cells: Sequence[str]) -> str:
    if not any(cells):
        return "nothing in it"
    return "texts" if is_free_text(cells) else "another value in nearly every row"
