"""Treebanks: sentences with the trees that their brackets stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.cli.data.batch import Example
from accord.cli.data.layout import Layout
from accord.datasets import iter_trees
from accord.datasets.trees import clean, leaves, tags
from accord.exceptions import InputError


def treebank_examples(layout: Layout, source: Any, labeled: bool) -> Iterator[Example]:
    """Sentences with their trees; those that are too long, or have no words once they are cleaned, are left out."""
    for tree in _trees(layout, source):
        words = leaves(tree)
        if layout.max_length is None or len(words) <= layout.max_length:
            x: list[Any] = list(zip(words, tags(tree))) if layout.task.tagged else words
            yield x, tree if labeled else None, words


def read_grammar(layout: Layout, source: str) -> list[Any]:
    """The treebank of ``--grammar``."""
    trees = list(_trees(layout, source))
    if not trees:
        raise InputError(f"--grammar {source}: the file has no trees")
    return trees


def _trees(layout: Layout, source: Any) -> Iterator[Any]:
    """Without function tags, traces and empty phrases if they are to be cleaned."""
    for tree in iter_trees(source, layout.encoding):
        kept = clean(tree) if layout.clean else tree
        if kept is not None:
            yield kept
