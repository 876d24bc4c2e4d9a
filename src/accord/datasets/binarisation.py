"""Reversible binarisation: trees as a CKY parser works with them, and back.

In a binary tree a node has two children, or one word. Chains of single children collapse into one symbol, longer
right-hand sides are factored to the right with intermediate symbols, and both remember what `debinarise` needs.
`horizontal` and `vertical` are the orders of markovisation: how many siblings an intermediate symbol remembers, and
how far up (1: itself only) a symbol knows its ancestors. Labels are `Symbol`, not strings: no label needs escaping.

With ``horizontal=None`` intermediate symbols forget nothing: neither the chain they are part of, nor the chains of the
children before them. So relative counts of binary rules multiply to the relative counts of whole right-hand sides.
"""

from __future__ import annotations

from typing import NamedTuple

from accord.datasets.bracketing import Tree
from accord.exceptions import InputError

_THEN = "\t"  # between the labels of a chain, and after a tag, in what is remembered of a sibling


class Symbol(NamedTuple):
    """A label of a binary tree, with all that is needed to undo the binarisation.

    Attributes
    ----------
    labels : tuple of str
        The chain of single children that became this node, from the top; of one label if there was no chain. An
        intermediate node has the last label of it only, unless it remembers everything.
    siblings : tuple of str, or None
        None for a node of the tree. An intermediate node that binarisation put in has the labels of the children
        before it, as many as it remembers; their whole chains (tabs between labels, and after tags) if that is all.
    parents : tuple of str
        Labels of the nearest ancestors, if vertical markovisation asks for them.
    """

    labels: tuple[str, ...]
    siblings: tuple[str, ...] | None = None
    parents: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = "+".join(self.labels)
        if self.siblings is not None:
            name = f"@{name}|{','.join(s.rstrip(_THEN).replace(_THEN, '+') for s in self.siblings)}"
        return "^".join((name, *self.parents))


def binarise(tree: Tree, horizontal: int | None = None, vertical: int = 1) -> Tree:
    """A binary tree of ``[Symbol, left, right]`` and ``[Symbol, word]``; `debinarise` undoes it.

    Parameters
    ----------
    tree : list
    horizontal : int or None
        How many of the children before it an intermediate symbol remembers, by their labels; None: all, by their
        whole chains, and its own chain.
    vertical : int
        1: symbols know nothing of their ancestors; 2: they know their parent's label, and so on. That goes for tags
        and intermediate symbols too. Labels within a collapsed chain count as ancestors of what is below the chain.

    Examples
    --------
    >>> tree = ["S", ["NP", ["DT", "the"], ["JJ", "old"], ["NN", "dog"]], ["VP", ["V", "barks"]]]
    >>> print(*binarise(tree, vertical=2)[1][2], sep="; ")
    @NP|DT^S; [Symbol(labels=('JJ',), ... 'old']; [Symbol(labels=('NN',), ... 'dog']
    >>> debinarise(binarise(tree)) == tree
    True
    """
    if horizontal is not None and horizontal < 0:
        raise InputError(f"horizontal must be None or a number of siblings, at least 0, but it is {horizontal}")
    if vertical < 1:
        raise InputError(f"vertical must be at least 1, but it is {vertical}")
    root: Tree = []
    waiting: list[tuple[Tree, Tree, tuple[str, ...]]] = [(tree, root, ())]  # node, binary node to fill, ancestors
    while waiting:
        node, binary, above = waiting.pop()
        chain = [node[0]]
        while len(node) == 2 and not isinstance(node[1], str):
            node = node[1]
            chain.append(node[0])
        if len(node) < 2 or isinstance(node, str):
            raise InputError(f"{node!r} is no tree: words stand alone below their tag; check the tree with as_tree")
        binary.append(Symbol(tuple(chain), None, above))
        if len(node) == 2:
            binary.append(node[1])
            continue
        below = (*chain[::-1], *above)[: vertical - 1]
        inside = (*chain[-2::-1], *above)[: vertical - 1]  # with the label itself all that the children below know
        for k in range(1, len(node) - 1):
            left: Tree = []
            right: Tree = []
            binary += (left, right)
            waiting.append((node[k], left, below))
            if k == len(node) - 2:
                waiting.append((node[k + 1], right, below))
            else:
                right.append(
                    Symbol(tuple(chain), tuple(map(_whole_chain, node[1 : k + 1])), above)
                    if horizontal is None
                    else Symbol((chain[-1],), tuple([c[0] for c in node[max(1, k + 1 - horizontal) : k + 1]]), inside)
                )
            binary = right
    return root


def _whole_chain(node: Tree) -> str:
    """All labels from a node down to the first with several children, or to its tag."""
    labels = [node[0]]
    while len(node) == 2 and not isinstance(node[1], str):
        node = node[1]
        labels.append(node[0])
    return _THEN.join(labels) + (_THEN if len(node) == 2 else "")


def debinarise(tree: Tree) -> Tree:
    """The tree that a binary tree was made from, whatever the options were."""
    if tree[0].siblings is not None:
        raise InputError(f"the root of the binary tree is the intermediate symbol {tree[0]}; expected a whole tree")
    root: Tree = []
    waiting: list[tuple[Tree, Tree]] = [(tree, root)]
    while waiting:
        binary, node = waiting.pop()
        labels = binary[0].labels
        for label in labels[:-1]:
            node += (label, [])
            node = node[-1]
        node.append(labels[-1])
        parts = binary[:0:-1]
        while parts:
            part = parts.pop()
            if isinstance(part, str):
                node.append(part)
            elif part[0].siblings is not None:
                parts += part[:0:-1]
            else:
                node.append([])
                waiting.append((part, node[-1]))
    return root
