"""Treebanks and sentences for parsers: trees from brackets, tokens with given tags from text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from accord.exceptions import FormatError, InputError

if TYPE_CHECKING:
    from accord.cli.reading import Reader

Example = tuple[Any, Any, list[str]]  # input, output, words to print


def predicts_trees(model: Any) -> bool:
    """Whether its outputs are parse trees."""
    return hasattr(model, "structure_") and model.structure_.needs_tokens


def treebank_examples(reader: Reader, source: Any, labeled: bool) -> Iterator[Example]:
    """Sentences with their trees; those that are too long, or have no words once they are cleaned, are left out."""
    from accord.datasets.trees import leaves, tags

    for tree in trees_of(source, reader.encoding, bool(reader.clean)):
        words = leaves(tree)
        if reader.max_length is None or len(words) <= reader.max_length:
            x: list[Any] = list(zip(words, tags(tree))) if reader.tagged else words
            yield x, tree if labeled else None, words


def trees_of(source: Any, encoding: str, strip: bool) -> Iterator[Any]:
    """The trees of a treebank, without function tags, traces and empty phrases if `strip` says so."""
    from accord.datasets import iter_trees
    from accord.datasets.trees import clean

    for tree in iter_trees(source, encoding):
        kept = clean(tree) if strip else tree
        if kept is not None:
            yield kept


def read_grammar(source: str, reader: Reader) -> list[Any]:
    """The treebank of ``--grammar``."""
    trees = list(trees_of(source, reader.encoding, bool(reader.clean)))
    if not trees:
        raise InputError(f"--grammar {source}: the file has no trees")
    return trees


def check_some(reader: Reader, source: str, Y: list[Any]) -> None:
    """Complain about a treebank of nothing."""
    if not Y:
        longest = "" if reader.max_length is None else f" of at most {reader.max_length} words (--max-length)"
        raise InputError(f"{source} has no trees{longest}")


def tagged_tokens(tokens: list[str], source: str, line: int) -> list[tuple[str, str]]:
    """Pairs (word, tag) of tokens ``word/TAG``; a token without a slash is a tag that stands for its word, too."""
    found = []
    for token in tokens:
        word, slash, tag = token.rpartition("/")
        if slash and not (word and tag):
            raise FormatError(f"{token!r} is no word with its tag; expected word/TAG, such as dog/NN", source, line)
        found.append((word if slash else tag, tag))
    return found
