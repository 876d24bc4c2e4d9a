"""Brackets to trees and back: the one parser behind bracketed strings and treebank files, and the one writer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NoReturn, TypeAlias

from accord.exceptions import InputError

Tree: TypeAlias = list[Any]  # [label, child, ...]; a child is a tree, or a word below a part of speech
Extra = Literal["drop", "error"]
Bare = Literal["punctuation", "word", "error"]

# Only these separate tokens: str.split() would also cut at no-break spaces, which words of real treebanks hold.
WHITE_SPACE = " \t\r\n"
_TOKEN = re.compile(rf"[()]|[^(){WHITE_SPACE}]+")


def parse_brackets(
    lines: Iterable[tuple[int, str]],
    fail: Callable[[str, int], NoReturn],
    extra: Extra = "drop",
    comments: tuple[str, ...] = (),
    bare: Bare = "punctuation",
) -> Iterator[Tree]:
    """Yield the trees in numbered lines as nested lists ``[label, child, ...]``.

    Parameters
    ----------
    lines : iterable of (number, text)
    fail : function of a message and a line number
        Raises the caller's kind of error.
    extra : {"drop", "error"}
        What to do with further fields of a leaf, as in ``(NN dogs dog)``: only the first one is the word.
    comments : tuple of str
        A line that starts with one of them is skipped, unless it lies within a tree.
    bare : {"punctuation", "word", "error"}
        What ``(.)`` is: a word that is its own tag, ``(. .)``, if it has neither letters nor digits; a word whatever
        it looks like; or an error.
    """
    open_nodes: list[Tree] = []  # from the root down to the node being read
    share = dict[str, str]().setdefault  # one string object per distinct word: a corpus repeats them many times over
    began = 0  # the line where the root's bracket opened
    for number, line in lines:
        if comments and not open_nodes and line.startswith(comments):
            continue
        for token in _TOKEN.findall(line):
            if token == "(":
                if not open_nodes:
                    began = number
                elif not open_nodes[-1]:
                    open_nodes[-1].append("")  # a bracket where the label would stand: the node has none
                open_nodes.append([])
            elif not open_nodes:
                what = "a closing bracket without an opening one" if token == ")" else f"{token!r} outside of brackets"
                fail(f"{what}; a tree reads (S (NP (NNP Tom)) (VP (VBZ sleeps)))", number)
            elif token != ")":
                open_nodes[-1].append(share(token, token))
            else:
                node = open_nodes.pop()
                # The usual nodes first: a pre-terminal, or a phrase of phrases
                if len(node) != 2 or not isinstance(node[1], str):
                    if len(node) == 1 and isinstance(node[0], str) and open_nodes and _is_word(node[0], bare):
                        node.append(node[0])
                    _check(node, fail, extra, number)
                if not open_nodes:
                    yield node
                    continue
                open_nodes[-1].append(node)
    if open_nodes:
        missing = f"{len(open_nodes)} closing bracket{'s are' if len(open_nodes) > 1 else ' is'} missing"
        fail(f"the tree that begins here never ends: {missing}", began)


def _is_word(label: str, bare: Bare) -> bool:
    return bare == "word" or (bare == "punctuation" and not any(c.isalnum() for c in label))


def _check(node: Tree, fail: Callable[[str, int], NoReturn], extra: Extra, number: int) -> None:
    """Complain about a node that is neither a phrase of phrases nor a word with its tag; drop further fields."""
    if not node:
        fail("an empty node (); a node has a label and something below it", number)
    if len(node) == 1:
        what = f"the node ({node[0]}) has nothing below it; expected a word or phrases"
        fail(f"{what} (bare='word' takes it for a word)", number)
    words = [child for child in node[1:] if isinstance(child, str)]
    if not words:
        return
    if len(words) < len(node) - 1:
        what = f"the node {node[0]!r} has both words ({words[0]!r}) and phrases below it"
        fail(f"{what}; give each word a tag of its own, as in (NN {words[0]})", number)
    if extra == "error":
        fields = " ".join(map(str, node))
        fail(f"the leaf ({fields}) has {len(node)} fields instead of 2; extra='drop' keeps the first word", number)
    del node[2:]


def bracketed(tree: Tree) -> str:
    """A tree as text on one line, as treebanks are written.

    The tree may be a binary one; that is for looking at it, since reading gives no symbols back.
    Round brackets in words and labels would read as structure and become ``-LRB-`` and ``-RRB-``, as in the Penn
    Treebank; reading does not turn them back. A word with a blank in it cannot be written: that is an error.

    Examples
    --------
    >>> bracketed(["S", ["N", "dogs"], ["V", "bark"]])
    '(S (N dogs) (V bark))'
    """
    pieces: list[str] = []
    waiting: list[Any] = [tree]  # a string: a word, or the bracket that ends a node
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif len(node) == 2 and isinstance(node[1], str):
            pieces.append(f" ({_written(node[0], 'tag')} {_written(node[1], 'word')})")
        else:
            pieces.append(f" ({_written(node[0], 'label') if node[0] else ''}")
            waiting.append(")")
            waiting.extend(node[:0:-1])
    return "".join(pieces)[1:]


def _written(given: Any, what: str) -> str:
    text = str(given)  # the labels of binary trees are symbols
    if not text or not set(WHITE_SPACE).isdisjoint(text):
        raise InputError(f"the {what} {text!r} cannot be written in brackets: it is empty or has a blank in it")
    return text.replace("(", "-LRB-").replace(")", "-RRB-")
