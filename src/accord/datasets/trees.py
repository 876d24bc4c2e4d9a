"""Parse trees as plain data: nested lists, and what can be read off them.

A tree is ``[label, child, ...]``. A child is a tree, or the word of a pre-terminal ``[tag, word]``: words stand alone
below their tag. `as_tree` makes such trees of anything that looks like one and checks them; the other functions take
what it returns. `binarise` and `debinarise` lead to the binary trees of a parser and back.

Nothing here recurses, so a tree may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NoReturn, TypeAlias

from accord.datasets.binarisation import Symbol, binarise, debinarise
from accord.datasets.bracketing import Tree, bracketed, parse_brackets
from accord.exceptions import InputError

__all__ = [
    "Constituent",
    "Symbol",
    "Tree",
    "as_tree",
    "base_label",
    "binarise",
    "bracketed",
    "clean",
    "constituents",
    "debinarise",
    "is_preterminal",
    "leaves",
    "tags",
]

Constituent: TypeAlias = tuple[str, int, int]  # label, left, right: words [left, right)
_Way: TypeAlias = "tuple[_Way, int] | None"  # from the root, None, down: the way to the parent, and which child

_EMPTY_TAG = "-NONE-"
_DEEPEST = 100_000
_EXPECTED = "expected nested lists such as ['S', ['N', 'dogs'], ['V', 'bark']], a bracketed string or an NLTK tree"


def as_tree(value: Any, where: str = "tree") -> Tree:
    """A tree from nested lists or tuples, a bracketed string, or an object like NLTK's trees; always a copy.

    Parameters
    ----------
    value : list, tuple, str, or object with a method ``label()`` that iterates over its children
    where : str
        What error messages call it, for example ``"Y[17]"``; ``Y[17][2][1]`` is then the first child of its second.

    Examples
    --------
    >>> as_tree("(S (N dogs) (V bark))")
    ['S', ['N', 'dogs'], ['V', 'bark']]
    """
    if isinstance(value, str):
        return _from_string(value, where)
    root: Tree = []
    # a node, its copy to fill, the way to it, and how long that is
    waiting: list[tuple[Any, Tree, _Way, int]] = [(value, root, None, 0)]
    while waiting:
        node, copy, way, depth = waiting.pop()
        if depth > _DEEPEST:
            raise InputError(f"{where} has more than {_DEEPEST:,} nodes above each other; is a node its own child?")
        label, children = _label_and_children(node, where, way)
        copy.append(label)
        has_word = False
        for k, child in enumerate(children, 1):
            if isinstance(child, str):
                if not child:
                    raise InputError(f"{_place(where, (way, k))} is an empty string; expected a word")
                has_word = True
                copy.append(child)
            else:
                copy.append([])
                waiting.append((child, copy[-1], (way, k), depth + 1))
        if len(copy) == 1:
            raise InputError(f"{_place(where, way)} is the node {label!r} with nothing below it; {_EXPECTED}")
        if has_word and len(copy) > 2:
            raise InputError(
                f"{_place(where, way)} is the node {label!r} with a word among {len(copy) - 1} children; a word must "
                "be the only child of its tag, as in ['NN', 'dog']"
            )
    return root


def _from_string(text: str, where: str) -> Tree:
    def fail(message: str, line: int) -> NoReturn:
        raise InputError(f"{where}, line {line} of its text: {message}")

    trees = list(parse_brackets(enumerate(text.split("\n"), 1), fail, extra="error"))
    if len(trees) != 1:
        raise InputError(f"{where} is a string with {len(trees)} trees; expected one, such as '(S (N dogs) (V bark))'")
    return trees[0]


def _label_and_children(node: Any, where: str, way: _Way) -> tuple[str, list[Any]]:
    if callable(getattr(node, "label", None)):  # before lists: NLTK's trees are lists of their children
        label, children = node.label(), list(node)
    elif isinstance(node, (list, tuple)) and len(node):
        label, children = node[0], list(node[1:])
    else:
        shown = repr(node) if isinstance(node, (int, float, list, tuple, type(None))) else type(node).__name__
        raise InputError(f"{_place(where, way)} is {shown}; {_EXPECTED}")
    if not isinstance(label, str):
        raise InputError(f"{_place(where, way)} has a label of type {type(label).__name__}; expected a string")
    return label, children


def _place(where: str, way: _Way) -> str:
    """``tree[2][1]`` for the way ((None, 2), 1)."""
    steps = []
    while way is not None:
        way, k = way
        steps.append(f"[{k}]")
    return where + "".join(reversed(steps))


# ------------------------------------------------------------------------------------------ reading things off a tree
def is_preterminal(node: Tree) -> bool:
    """Whether a node is a tag with its word."""
    return len(node) == 2 and isinstance(node[1], str)


def _preterminals(tree: Tree) -> Iterator[Tree]:
    """Tags with their words, from left to right; the tree may be a binary one."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if len(node) == 2 and isinstance(node[1], str):
            yield node
        else:
            waiting.extend(node[:0:-1])


def leaves(tree: Tree) -> list[str]:
    """The words of a tree, from left to right; the tree may be a binary one.

    >>> leaves(["S", ["NP", ["NN", "dogs"]], ["V", "bark"]])
    ['dogs', 'bark']
    """
    return [word for _, word in _preterminals(tree)]


def tags(tree: Tree) -> list[Any]:
    """The labels of the pre-terminals, from left to right.

    >>> tags(["S", ["NP", ["NN", "dogs"]], ["V", "bark"]])
    ['NN', 'V']
    """
    return [tag for tag, _ in _preterminals(tree)]


def constituents(tree: Tree) -> list[Constituent]:
    """Label and words [left, right) of every node above the pre-terminals, the root first, parents before children.

    >>> constituents(["S", ["NP", ["NN", "dogs"]], ["V", "bark"]])
    [('S', 0, 2), ('NP', 0, 1)]
    """
    found: list[Any] = []
    position = 0
    waiting: list[Any] = [tree]  # a number: the constituent whose words end here
    while waiting:
        node = waiting.pop()
        if isinstance(node, int):
            found[node] = (*found[node], position)
        elif len(node) == 2 and isinstance(node[1], str):
            position += 1
        else:
            waiting.append(len(found))
            found.append((node[0], position))
            waiting.extend(node[:0:-1])
    return found


def clean(
    tree: Tree, functions: bool | Literal["tags"] = True, empty: bool = True, root: str | None = "TOP"
) -> Tree | None:
    """The tree as parsers are trained on it: without function tags, traces and empty phrases.

    Parameters
    ----------
    tree : list
    functions : bool or "tags"
        Cut labels of phrases at their first ``-`` or ``=`` (``NP-SBJ-1`` becomes ``NP``), unless they start with it.
        Tags of words stay as they are (``V-FIN``, ``-LRB-``); "tags" cuts them, too, for treebanks that write the
        functions of words after their tags (``NN-HD``).
    empty : bool
        Drop ``-NONE-`` leaves and the phrases that are left without words.
    root : str or None
        The label of the outermost bracket if it has none.

    Returns
    -------
    list, or None if no word is left

    Examples
    --------
    >>> bracketed(clean(as_tree("((S (NP-SBJ (-NONE- *)) (VP (VB Stop))))")))
    '(TOP (S (VP (VB Stop))))'
    >>> bracketed(clean(as_tree("(S-MAIN (V-FIN corre))")))
    '(S (V-FIN corre))'
    """
    nodes: list[tuple[Tree, int]] = []  # every node with the number of its parent, parents first, left to right
    waiting: list[tuple[Tree, int]] = [(tree, -1)]
    while waiting:
        node, parent = waiting.pop()
        if not is_preterminal(node):
            waiting.extend((child, len(nodes)) for child in node[:0:-1])
        nodes.append((node, parent))
    below: list[list[Any]] = [[] for _ in nodes]  # the cleaned children of each node, last one first
    for k in range(len(nodes) - 1, -1, -1):
        node, parent = nodes[k]
        if is_preterminal(node):
            children = [] if empty and node[0] == _EMPTY_TAG else [node[1]]
        else:
            children = below[k][::-1]
        if not children:
            continue
        cut = functions == "tags" or (functions and not is_preterminal(node))
        made = [base_label(node[0]) if cut else node[0], *children]
        if parent >= 0:
            below[parent].append(made)
        else:
            return [root, *children] if root is not None and not node[0] else made
    return None


def base_label(label: str) -> str:
    """A label up to its first ``-`` or ``=``; all of it if that is where it starts.

    >>> base_label("NP-SBJ-1"), base_label("NP=2"), base_label("-LRB-")
    ('NP', 'NP', '-LRB-')
    """
    ends = [end for end in (label.find("-"), label.find("=")) if end >= 0]
    return label[: min(ends)] if ends and min(ends) > 0 else label
