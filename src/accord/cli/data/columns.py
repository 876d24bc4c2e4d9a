"""Which column of a table has the labels, and which ones only number its rows, where nobody says it.

A model of the wrong column is nonsense that looks like a model, so the last column is taken only where it can be it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from accord.cli.data.layout import Layout
from accord.datasets.formats.cells import are_almost_numbers, floats, is_free_text, named_label
from accord.exceptions import FormatError

_ROW_NAMES = {"id", "index", "idx", "row", "row_id", "rowid", "uid", "uuid", "guid", "unnamed: 0", ""}
_NO_LABEL = {"na", "n/a", "nan", "none", "null", "nil", "?", "-", "_", "unknown", "unlabeled", "unlabelled", "tbd"}
_FEW = 10  # labeled rows, below which it is no wonder if all labels differ


class Columns:
    """What the columns of one table are for, found out when all is read (`choose` of `read_csv`).

    Attributes
    ----------
    label : int
        Place of the labels.
    left_out, empty : list of str
        Columns that only name rows or have nothing in them; the latter.
    almost : list of str
        Columns of what are numbers for people alone, such as ``1,5``.
    why : str
        Why the labels were looked for elsewhere than in the last column; empty if they were not.
    """

    def __init__(self, layout: Layout, source: str) -> None:
        self.layout, self.source = layout, source
        self.label, self.why = -1, ""
        self.left_out, self.empty, self.almost = list[str](), list[str](), list[str]()

    def __call__(self, names: list[str], cells: list[Sequence[str]], label: int | None) -> tuple[int, list[str]]:
        layout = self.layout
        self.names = names
        nodes = [names[one] if isinstance(one, int) else one for one in layout.named]
        asked = {*nodes, *(layout.categorical or ()), *(layout.text_columns or ())}
        self.empty = [name for name, column in zip(names, cells) if name not in asked and column and not any(column)]
        rows = [name for name, column in zip(names, cells) if name not in asked and _names_rows(name, column)]
        self.left_out = [*rows, *(name for name in self.empty if name not in rows)]
        self.label = len(names) - 1 if label is None else label
        if layout.label_column is None:
            places = [k for k, name in enumerate(names) if name not in (*asked, *self.left_out)]
            self.label = self._find(names, cells, places)
        self.left_out = [name for name in self.left_out if name != names[self.label]]
        features = [k for k, name in enumerate(names) if k != self.label and name not in (*asked, *self.left_out)]
        self.almost = [names[k] for k in features if are_almost_numbers(cells[k])]
        self._odd = _odd_labels(cells[self.label]) if layout.unknown_label is None else []
        return self.label, self.left_out

    def _find(self, names: list[str], cells: list[Sequence[str]], places: list[int]) -> int:
        fits = _are_numbers if self.layout.task.numeric else _are_classes
        by_name = named_label([names[k] for k in places])
        last = len(names) - 1
        if by_name is not None and names[last] != by_name and fits(cells[names.index(by_name)]):
            self.why = "by its name"
            return names.index(by_name)
        if len(names) == 1 or fits(cells[last]) or floats(cells[last]) is not None or self.layout.task.numeric:
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
        rows = [name for name in self.left_out if name not in self.empty]
        if rows:
            lines.append(
                f"left out: {_quoted(rows)}, another value in every row; to use it, give the column another name"
            )
        if len(rows) < len(self.left_out):
            lines.append(f"left out: {_quoted(name for name in self.left_out if name in self.empty)}, nothing in it")
        if self.almost:
            how = "to be numbers, cells have to be like -1234.5, without commas and units"
            lines.append(f"read as words: {_quoted(self.almost)}; {how}")
        return lines + ([] if settled.task.numeric else self._odd)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _odd_labels(cells: Sequence[str]) -> list[str]:
    """What is said of labels that may not be meant as such."""
    found = Counter(cell for cell in cells if cell)
    numbers = floats(list(found))
    missing = numbers is not None and found.keys() != {"-1", "1"} and min(numbers, default=0) == -1
    lines = [
        f"labels: {label!r} is a class, of {n:,} rows; if it stands for no label, give --unknown-label {label!r}"
        for label, n in found.items()
        if label.lower() in _NO_LABEL or (missing and float(label) == -1)
    ]
    spelt: dict[str, list[str]] = {}
    for label in found:
        spelt.setdefault(label.lower(), []).append(label)
    twice = next((labels for labels in spelt.values() if len(labels) > 1), None)
    if twice is not None:
        lines.append(f"labels: {_quoted(twice)} are different classes; if they are not meant to be, write them alike")
    return lines


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
