"""Parse trees to look at: as text for a terminal, and as an SVG picture.

Both drawings have the words in one line at the bottom, their tags above them, and every phrase as low as its parts let
it be, over the middle of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

from accord.datasets.trees import Tree, as_tree, is_preterminal, leaves

# ------------------------------------------------------------------------------------------------------------- layout


class _Node:
    """A node with its place: the level above the words (0), its box [left, left + width) and the middle of it."""

    __slots__ = ("children", "label", "left", "level", "middle", "parent", "width")

    def __init__(self, label: str, parent: _Node | None) -> None:
        self.label, self.parent = label, parent
        self.children: list[_Node] = []
        self.level = 0
        self.left = self.middle = self.width = 0.0


def _nodes(tree: Tree) -> list[_Node]:
    """The nodes and the words of a tree, parents before children."""
    found: list[_Node] = []
    waiting: list[tuple[Any, _Node | None]] = [(tree, None)]
    while waiting:
        given, parent = waiting.pop()
        node = _Node(given if isinstance(given, str) else given[0], parent)
        found.append(node)
        if parent is not None:
            parent.children.append(node)
        if not isinstance(given, str):
            waiting.extend((child, node) for child in given[:0:-1])
    return found


def _layout(tree: Tree, measure: Callable[[str], float], gap: float, middle: Callable[[float], float]) -> list[_Node]:
    """Give every node its place; `measure` is the width of a label, `middle` rounds a place to where one can draw."""
    nodes = _nodes(tree)
    for node in reversed(nodes):
        below = node.children
        inner = sum(child.width for child in below) + gap * (len(below) - 1)
        node.width = max(measure(node.label), inner)
        node.level = 1 + max(child.level for child in below) if below else 0
    for node in nodes:
        below = node.children
        inner = sum(child.width for child in below) + gap * (len(below) - 1)
        left = node.left + middle((node.width - inner) / 2)  # a label may be wider than all that is below it
        for child in below:
            child.left = left
            left += child.width + gap
    for node in reversed(nodes):
        if node.children:
            node.middle = middle((node.children[0].middle + node.children[-1].middle) / 2)
        else:
            node.middle = node.left + middle((node.width - 1) / 2)
    return nodes


# --------------------------------------------------------------------------------------------------------------- text
def draw_text(tree: Any, width: int | None = None) -> str:
    """A tree drawn with characters.

    Parameters
    ----------
    tree : list, or anything else that `accord.datasets.trees.as_tree` takes
    width : int, optional
        Of the terminal. A drawing that is wider becomes an outline, with a line for each node.

    Examples
    --------
    >>> print(draw_text("(S (NP (DT the) (NN dog)) (VP (V barks)))"))
           S
       ┌───┴────┐
       NP       VP
     ┌─┴──┐     │
     DT   NN    V
    the  dog  barks
    """
    checked = as_tree(tree)
    nodes = _layout(checked, _cells, 2, int)
    if width is not None and nodes[0].width > width:
        return _outline(checked)
    top = nodes[0].level
    rows: dict[int, list[tuple[int, str]]] = defaultdict(list)  # the pieces of each line, with their places
    for node in nodes:
        row = _row(node, top)
        cells = int(_cells(node.label))
        place = min(int(node.middle) - (cells - 1) // 2, int(node.left + node.width) - cells)
        rows[row].append((max(place, int(node.left)), node.label))
        if node.level > 1:
            rows[row + 1].append((int(node.children[0].middle), _branches(node)))
            for child in node.children:
                for line in range(row + 2, _row(child, top)):
                    rows[line].append((int(child.middle), "│"))
    return "\n".join(_line(sorted(rows[k])) for k in range(len(rows)))


def _row(node: _Node, top: int) -> int:
    """The line a node is on; words come right below their tags, without a line for branches."""
    return 2 * (top - node.level) if node.level else 2 * top - 1


def _branches(node: _Node) -> str:
    """The lines from a node to its children, such as ``┌─┴┬─┐``."""
    places = [int(child.middle) for child in node.children]
    if len(places) == 1:
        return "│"
    drawn = ["─"] * (places[-1] - places[0] + 1)
    for place in places[1:-1]:
        drawn[place - places[0]] = "┬"
    drawn[0], drawn[-1] = "┌", "┐"
    up = int(node.middle) - places[0]
    drawn[up] = "┼" if drawn[up] == "┬" else "┴"
    return "".join(drawn)


def _line(pieces: list[tuple[int, str]]) -> str:
    text, end = "", 0
    for place, piece in pieces:
        text += " " * (place - end) + piece
        end = place + int(_cells(piece))
    return text


def _cells(text: str) -> float:
    """How many columns of a terminal a text takes: two for East Asian letters, none for combining marks."""
    if text.isascii():
        return len(text)
    wide = (2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)
    return sum(wide)


def _outline(tree: Tree) -> str:
    lines = []
    waiting: list[tuple[Tree, str, str]] = [(tree, "", "")]  # a node, what stands before it, and before its children
    while waiting:
        node, before, indent = waiting.pop()
        lines.append(before + (f"{node[0]} {node[1]}" if is_preterminal(node) else node[0]))
        if not is_preterminal(node):
            last = len(node) - 1
            for k in range(last, 0, -1):
                here, further = ("└─ ", "   ") if k == last else ("├─ ", "│  ")
                waiting.append((node[k], indent + here, indent + further))
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------------- SVG
_SIZE = 15  # of the letters, in pixels
_STEP = 46  # from one level to the next
_MARGIN = 16
# The class keeps the style from reaching other pictures of a page.
_STYLE = (
    '.accord-tree text{font:15px "Helvetica Neue",Arial,sans-serif;text-anchor:middle;fill:#1d4f91}'
    ".accord-tree .tag{fill:#5b6472;font-size:13px}.accord-tree .word{fill:#111;font-weight:600}"
    ".accord-tree path{fill:none;stroke:#9aa5b4;stroke-width:1.3}"
)
# What XML cannot hold at all, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def draw_svg(tree: Any) -> str:
    """A tree as an SVG picture, complete in itself: save it as ``tree.svg`` or put it into a page.

    Parameters
    ----------
    tree : list, or anything else that `accord.datasets.trees.as_tree` takes

    Examples
    --------
    >>> draw_svg("(S (N dogs) (V bark))")[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    """
    checked = as_tree(tree)
    nodes = _layout(checked, _pixels, 14, float)
    width = round(nodes[0].width + 2 * _MARGIN)
    top = nodes[0].level
    height = round(_baseline(0, top) + _MARGIN)
    lines, texts = [], []
    for node in nodes:
        x, y = _MARGIN + _centre(node), _baseline(node.level, top)
        kind = (' class="word"', ' class="tag"', "")[min(node.level, 2)]
        texts.append(f'<text x="{x:.1f}" y="{y:.1f}"{kind}>{_escaped(node.label)}</text>')
        if node.parent is not None and node.level:
            up = node.parent
            # Slanted down to the next level, then straight: so a line never runs through another label.
            bend = _baseline(up.level - 1, top) - _SIZE - 2
            straight = f" V{y - _SIZE - 2:.1f}" if node.level < up.level - 1 else ""
            start = f"M{_MARGIN + _centre(up):.1f} {_baseline(up.level, top) + 6:.1f}"
            lines.append(f'<path d="{start} L{x:.1f} {bend:.1f}{straight}"/>')
    title = _escaped(" ".join(leaves(checked)))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" class="accord-tree">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            *lines,
            *texts,
            "</svg>",
        ]
    )


def _centre(node: _Node) -> float:
    """The middle of a label, moved as far as the label would stick out of the node's box."""
    half = _pixels(node.label) / 2
    return min(max(node.middle, node.left + half), node.left + node.width - half)


def _baseline(level: int, top: int) -> float:
    """Where the text of a level stands; words are closer to their tags than phrases to each other."""
    first = _MARGIN + _SIZE
    return first + (top - level) * _STEP if level else first + (top - 1) * _STEP + 24


def _pixels(text: str) -> float:
    """About how wide a text is."""
    narrow, broad = "iljtfrI.,:;'`|!()[]", "mwMW@%"
    ems = 0.0
    for c in text:
        if unicodedata.east_asian_width(c) in "WF":
            ems += 1.0
        else:
            ems += 0.34 if c in narrow else 0.9 if c in broad else 0.7 if c.isupper() else 0.58
    return ems * _SIZE


def _escaped(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))
