"""Bracketed treebanks: ``(LABEL child child ...)`` with leaves ``(TAG word)``, as the Penn Treebank is distributed.

A tree may run over several lines, and a line may hold several trees::

    ( (S (NP-SBJ (DT The) (NN dog))
         (VP (VBZ barks)) ) )

An outermost bracket without a label gives the root the label ``""``. Function tags, indices and traces stay as they
are: `accord.datasets.trees.clean` strips them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import IO, Any, NoReturn

from accord.datasets.bracketing import Bare, Extra, Tree, bracketed, parse_brackets
from accord.datasets.formats.source import Source, iter_lines, open_target, source_name
from accord.datasets.trees import as_tree
from accord.exceptions import FormatError, InputError

_COMMENTS = ("%%", "#")


def iter_trees(
    source: Source, encoding: str = "utf-8", *, extra: Extra = "drop", bare: Bare = "punctuation"
) -> Iterator[Tree]:
    """Yield the trees of a treebank one at a time, as nested lists ``[label, child, ...]``.

    Blank lines mean nothing, and neither do lines that start with ``%%`` or ``#`` between trees; within a tree they
    are read as part of it, because ``#`` is a tag and a word of real treebanks.

    Parameters
    ----------
    source, encoding : see `accord.datasets.formats`
    extra : {"drop", "error"}
        Leaves with further fields, such as the lemma in ``(NNS dogs dog)``: keep the word only, or refuse them.
    bare : {"punctuation", "word", "error"}
        Leaves without a tag, such as ``(.)``, stand for ``(. .)``: if they have neither letters nor digits, all of
        them, or none, which is an error.

    Raises
    ------
    FormatError
        With file and line: brackets do not match (the line where the tree began, if it never ends), a node has
        nothing below it or both words and phrases, or there is text outside of brackets.

    Examples
    --------
    >>> import io
    >>> list(iter_trees(io.StringIO("# two trees\\n(S (N dogs)\\n   (V bark))\\n\\n((N Rome))\\n")))
    [['S', ['N', 'dogs'], ['V', 'bark']], ['', ['N', 'Rome']]]
    """
    if extra not in ("drop", "error"):
        raise InputError(f"extra must be 'drop' or 'error', got {extra!r}")
    if bare not in ("punctuation", "word", "error"):
        raise InputError(f"bare must be 'punctuation', 'word' or 'error', got {bare!r}")
    name = source_name(source)

    def fail(message: str, line: int) -> NoReturn:
        raise FormatError(message, name, line)

    yield from parse_brackets(enumerate(iter_lines(source, encoding), 1), fail, extra, _COMMENTS, bare)


def read_trees(
    source: Source, encoding: str = "utf-8", *, extra: Extra = "drop", bare: Bare = "punctuation"
) -> list[Tree]:
    """All trees of a treebank; the parameters are those of `iter_trees`.

    >>> import io
    >>> read_trees(io.StringIO("(S (N dogs) (V bark))\\n(S (N cats) (V sleep))\\n"))[1]
    ['S', ['N', 'cats'], ['V', 'sleep']]
    """
    return list(iter_trees(source, encoding, extra=extra, bare=bare))


def write_trees(trees: Iterable[Any], path: str | PathLike[str] | IO[str], encoding: str = "utf-8") -> None:
    """Write trees, one per line, so that `read_trees` gives them back.

    Round brackets in words and labels are written as ``-LRB-`` and ``-RRB-``, and read back as that.

    Parameters
    ----------
    trees : iterable of trees
        Anything that `accord.datasets.trees.as_tree` takes.
    path : path, "-" or open text file
        ``"-"`` is standard output; a path that ends in ``.gz`` is compressed.

    Examples
    --------
    >>> import sys
    >>> write_trees([["S", ["N", "dogs"], ["V", "bark"]]], sys.stdout)
    (S (N dogs) (V bark))
    """
    with open_target(path, encoding) as stream:
        for i, tree in enumerate(trees):
            checked = as_tree(tree, f"trees[{i}]")
            try:
                line = bracketed(checked)
            except InputError as error:
                raise InputError(f"trees[{i}]: {error}") from None
            stream.write(line + "\n")
