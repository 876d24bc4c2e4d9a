"""Sentences with their trees, drawn from a weighted context-free grammar."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from accord.datasets.generators import RandomState, at_least
from accord.datasets.trees import Tree, leaves
from accord.exceptions import InputError

Grammar: TypeAlias = Mapping[str, Sequence[tuple[Sequence[str], float]]]


def _words(words: str) -> list[tuple[tuple[str, ...], float]]:
    return [((word,), 1.0) for word in words.split()]


# Prepositional phrases attach to nouns or verbs, clauses nest, and "saw" and "watch" are nouns or verbs.
ENGLISH: Grammar = {
    "S": [(("NP", "VP"), 1.0)],
    "NP": [(("DT", "NN"), 4.0), (("DT", "JJ", "NN"), 2.0), (("NNP",), 2.0), (("NP", "PP"), 1.5), (("PRP",), 1.0)],
    "VP": [(("VBD",), 1.0), (("VT", "NP"), 4.0), (("VT", "NP", "PP"), 1.5), (("VS", "SBAR"), 1.0)],
    "PP": [(("IN", "NP"), 1.0)],
    "SBAR": [(("THAT", "S"), 1.0)],
    "DT": _words("the the a every"),
    "JJ": _words("old small quiet bright"),
    "NN": _words("saw watch dog bridge letter telescope garden"),
    "NNP": _words("Ana Tom Rome"),
    "PRP": _words("she he"),
    "VBD": _words("slept left"),
    "VT": _words("saw watch found built"),
    "VS": _words("said knew"),
    "IN": _words("in with near"),
    "THAT": _words("that"),
}


def grammar_sentences(
    n: int = 100,
    grammar: Grammar | None = None,
    start: str = "S",
    max_depth: int = 10,
    random_state: RandomState = None,
) -> tuple[list[list[str]], list[Tree]]:
    """Sentences and their trees from a weighted context-free grammar.

    Rules are drawn in proportion to their weights, from the start symbol down. Where not all rules of a symbol can be
    finished within `max_depth`, only those that can are drawn, so that every tree ends.

    Parameters
    ----------
    n : int
        Number of sentences.
    grammar : dict, optional
        For each symbol its rules: pairs of a right-hand side (a tuple of symbols) and a positive weight. A word
        stands alone on a right-hand side and has no rules of its own. By default a small grammar of English.
    start : str
        The symbol at the root of every tree.
    max_depth : int
        Largest number of symbols on a path from the root to a word.
    random_state : int, Generator or None; an int makes the sample repeatable

    Returns
    -------
    X : list of list of str
        Words.
    trees : list of list
        A tree is ``[symbol, child, ...]``, where a child is a tree or a word.

    Examples
    --------
    >>> toy = {"S": [(("N", "V"), 1.0)], "N": [(("dogs",), 1.0), (("N", "C", "N"), 0.2)],
    ...        "C": [(("and",), 1.0)], "V": [(("bark",), 2.0), (("sleep",), 1.0)]}
    >>> X, trees = grammar_sentences(1, toy, random_state=0)
    >>> X[0], trees[0]
    (['dogs', 'bark'], ['S', ['N', 'dogs'], ['V', 'bark']])
    """
    at_least(0, n=n)
    at_least(1, max_depth=max_depth)
    rules = _checked(ENGLISH if grammar is None else grammar, start)
    heights = _heights(rules)
    for symbol, height in heights.items():
        if math.isinf(height):
            raise InputError(f"grammar: no tree below {symbol!r} ever ends in words; give it a rule that does")
    if max_depth < heights[start]:
        raise InputError(f"max_depth is {max_depth}, but the smallest tree below {start!r} has depth {heights[start]}")
    rng = np.random.default_rng(random_state)
    trees = [_draw(start, max_depth, rules, heights, rng) for _ in range(n)]
    return [leaves(tree) for tree in trees], trees


Rules: TypeAlias = dict[str, list[tuple[tuple[str, ...], float]]]


def _checked(grammar: Any, start: str) -> Rules:
    """The rules; an error names the symbol and what is wrong with it."""
    if not isinstance(grammar, Mapping):
        raise InputError(f"grammar is of type {type(grammar).__name__}; expected a dict of rules for each symbol")
    if start not in grammar:
        raise InputError(f"start is {start!r}, which has no rules in the grammar; its symbols are {list(grammar)}")
    rules = {symbol: [_rule(symbol, rule) for rule in given] for symbol, given in grammar.items()}
    for symbol, found in rules.items():
        if not found:
            raise InputError(f"grammar[{symbol!r}] has no rules; give it some, or leave the symbol out")
        for right, _ in found:
            unknown = [part for part in right if part not in grammar]
            if unknown and len(right) > 1:
                raise InputError(
                    f"grammar[{symbol!r}] has the rule {right}, but {unknown[0]!r} has no rules; a word must stand "
                    "alone on a right-hand side"
                )
    return rules


def _rule(symbol: str, rule: Any) -> tuple[tuple[str, ...], float]:
    expected = "expected a pair of a tuple of symbols and a positive weight, such as (('NP', 'VP'), 1.0)"
    try:
        right, weight = rule
        weight = float(weight)
    except (TypeError, ValueError):
        raise InputError(f"grammar[{symbol!r}] has {rule!r}; {expected}") from None
    listed = isinstance(right, (tuple, list)) and len(right) and all(isinstance(part, str) for part in right)
    if not listed or not 0 < weight < math.inf:
        raise InputError(f"grammar[{symbol!r}] has {rule!r}; {expected}")
    return tuple(right), weight


def _height(right: tuple[str, ...], heights: Mapping[str, float]) -> float:
    """Depth of the smallest trees below a right-hand side; words have depth 0."""
    return max(heights.get(part, 0) for part in right)


def _heights(rules: Rules) -> dict[str, float]:
    """Depth of the smallest tree below every symbol, infinite if there is none."""
    heights = dict.fromkeys(rules, math.inf)
    while True:
        smaller = {symbol: 1 + min(_height(right, heights) for right, _ in rules[symbol]) for symbol in rules}
        if smaller == heights:
            return heights
        heights = smaller


def _draw(symbol: str, depth: int, rules: Rules, heights: Mapping[str, float], rng: np.random.Generator) -> Tree:
    """A tree of at most this depth below a symbol."""
    possible = [(right, weight) for right, weight in rules[symbol] if _height(right, heights) < depth]
    ends = np.cumsum([weight for _, weight in possible])
    chosen = int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))
    right = possible[min(chosen, len(possible) - 1)][0]
    return [symbol, *(_draw(p, depth - 1, rules, heights, rng) if p in rules else p for p in right)]
