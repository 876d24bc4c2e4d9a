"""Class hierarchies from text: ``child<TAB>parent`` edges, or ``A/B/C`` paths, one leaf per line."""

from __future__ import annotations

from accord.datasets.formats.source import Source, iter_lines, source_name
from accord.exceptions import FormatError


def read_taxonomy(source: Source, encoding: str = "utf-8") -> dict[str, list[str]]:
    """Read a taxonomy: a tree, or a graph in which a class has several parents.

    A line with a tab is an edge ``child<TAB>parent`` (repeat the child for further parents; leave the parent empty
    for a root). A line without one is a path from the root down; its nodes are named by their whole path, because
    the same word often occurs under different parents. Empty lines are skipped.

    Returns
    -------
    dict of str to list of str
        Every node with its parents; roots have an empty list. There may be several roots.

    Examples
    --------
    >>> import io
    >>> read_taxonomy(io.StringIO("dog\\tanimal\\ncat\\tanimal\\n"))
    {'dog': ['animal'], 'animal': [], 'cat': ['animal']}
    >>> read_taxonomy(io.StringIO("AI/Learning\\nAI/Planning\\nLogic\\n"))
    {'AI/Learning': ['AI'], 'AI': [], 'AI/Planning': ['AI'], 'Logic': []}
    """
    name = source_name(source)
    parents: dict[str, list[str]] = {}
    for number, line in enumerate(iter_lines(source, encoding), 1):
        if not line.strip():
            continue
        for child, parent in _edges(line, name, number):
            known = parents.setdefault(child, [])
            if parent:
                if parent not in known:
                    known.append(parent)
                parents.setdefault(parent, [])
    if not parents:
        raise FormatError("the file is empty; expected child<TAB>parent edges or A/B/C paths", name)
    _refuse_cycles(parents, name)
    return parents


def _edges(line: str, name: str, number: int) -> list[tuple[str, str]]:
    """Edges (child, parent) of a line, from the leaf upwards."""
    if "\t" in line:
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not cells[0]:
            raise FormatError(f"expected child<TAB>parent, found {len(cells)} cells: {line!r}", name, number)
        return [(cells[0], cells[1])]
    steps = [step.strip() for step in line.split("/")]
    if not all(steps):
        raise FormatError(f"the path {line!r} has an empty step", name, number)
    nodes = ["/".join(steps[:k]) for k in range(len(steps), 0, -1)]
    return list(zip(nodes, [*nodes[1:], ""]))


def _refuse_cycles(parents: dict[str, list[str]], name: str) -> None:
    """Take away nodes whose parents are all gone, again and again; what is left lies on or below a cycle."""
    left = dict(parents)
    while gone := [node for node, above in left.items() if not any(parent in left for parent in above)]:
        for node in gone:
            del left[node]
    if left:
        raise FormatError(f"a class is its own ancestor; the cycle is among {sorted(left)[:5]}", name)
