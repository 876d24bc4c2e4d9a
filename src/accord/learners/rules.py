"""Rules that label some tokens, or some texts, and say nothing of the others: word lists, expressions, functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.tokenizer import tokenize
from accord.views.phrases import PhraseIndex, read_phrases

SHOWN = 3  # words of a list that name it
_FORMS = (
    "a dict from labels to words, compiled expressions or files, or a list of (words, label) pairs, functions, and "
    'texts such as "places.txt:LOC" or "regex:[0-9]+:NUM"'
)


class Match(NamedTuple):
    """Tokens ``start`` to ``end`` (exclusive) that a rule labels, or a whole input (0, 0)."""

    start: int
    end: int
    label: Any


class Rule(NamedTuple):
    """A rule: how it is called, the labels that it may give (none: that is known when it has run), what it finds.

    ``find(input)`` gives matches; ``of_text`` says of a whole text which label it has, or None.
    """

    name: str
    label: Any
    find: Callable[[Sequence[str]], Iterable[Match]]
    of_text: Callable[[Any], Any]


class Rules:
    """Rules beside labels, for ``Tagger(rules=...)`` and ``Classifier(rules=...)``; most inputs are left open by them.

    Parameters
    ----------
    rules : dict, or list
        A dict from labels to what has them: a list of words and phrases, a compiled expression, the name of a file with
        a word or a phrase in every line, or a list of such. Or a list of pairs (words, expression or file; label), of
        texts ``"FILE:LABEL"`` and ``"regex:PATTERN:LABEL"`` as on the command line, and of functions.

        In sentences, words match as they are written, and phrases become one span; an expression is tried at the
        beginning of every token, with a blank between tokens, and counts if it ends with one. A function gets a list of
        tokens and returns ``(start, end, label)`` for some of them, or a label or None for each. Labels are kinds of
        spans (``LOC``, for ``B-LOC`` and ``I-LOC``) or labels of tokens.

        Texts have the class of a list if they have one of its words, whatever the case, and the class of an expression
        if it is found in them; a function gets an input as it is and returns a class or None.

    Attributes
    ----------
    rules_ : list of Rule
        One for each list, expression, file and function.

    Examples
    --------
    >>> import re
    >>> from accord import Rules
    >>> rules = Rules({"LOC": ["New York", "Rome"], "YEAR": re.compile("[12][0-9]{3}")})
    >>> rules.matches(["Rome", "or", "New", "York", ",", "1999"])
    [[Match(start=0, end=1, label='LOC'), Match(start=2, end=4, label='LOC')], [Match(start=5, end=6, label='YEAR')]]
    >>> [rule.name for rule in rules.rules_]
    ['LOC: New York, Rome', 'YEAR: /[12][0-9]{3}/']
    """

    def __init__(self, rules: Any) -> None:
        self.rules = rules
        self.rules_ = list(_rules(rules))
        if not self.rules_:
            raise InputError(f"rules is empty; expected {_FORMS}")
        for i, rule in enumerate(self.rules_):  # names tell them apart
            n = sum(other.name == rule.name for other in self.rules_[:i])
            self.rules_[i] = rule._replace(name=f"{rule.name} ({n + 1})") if n else rule

    def __len__(self) -> int:
        return len(self.rules_)

    def __reduce__(self) -> Any:
        return Rules, (self.rules,)  # functions that were made here cannot be pickled; what they were made of can

    def __deepcopy__(self, memo: Any) -> Rules:
        return self  # it never changes

    def __repr__(self) -> str:
        return f"Rules({[rule.name for rule in self.rules_]})"

    def matches(self, tokens: Sequence[str]) -> list[list[Match]]:
        """What every rule finds in a sentence."""
        return [list(rule.find(tokens)) for rule in self.rules_]

    def classes(self, x: Any) -> list[Any]:
        """The class that every rule gives to an input, or None."""
        return [rule.of_text(x) for rule in self.rules_]


def as_rules(rules: Any) -> Rules:
    """Rules of whatever `Rules` takes."""
    return rules if isinstance(rules, Rules) else Rules(rules)


# -- forms of rules ---------------------------------------------------------------------------------------------------
def _rules(rules: Any) -> Iterator[Rule]:
    if isinstance(rules, Rules):
        yield from rules.rules_
    elif isinstance(rules, Mapping):
        for label, sources in rules.items():
            yield from _of_label(sources, label, f"rules[{label!r}]")
    elif isinstance(rules, (list, tuple)):
        for i, rule in enumerate(rules):
            where = f"rules[{i}]"
            if isinstance(rule, str):
                yield _of_text(rule, where)
            elif callable(rule):
                yield _function(rule)
            elif isinstance(rule, (list, tuple)) and len(rule) == 2:
                yield from _of_label(rule[0], rule[1], where)
            else:
                raise InputError(f"{where} is a {type(rule).__name__}; expected {_FORMS}")
    elif isinstance(rules, str) or callable(rules):
        yield from _rules([rules])
    else:
        raise InputError(f"rules is a {type(rules).__name__}; expected {_FORMS}")


def _of_label(source: Any, label: Any, where: str) -> Iterator[Rule]:
    """Rules of one label: words together are one rule, and so is every expression and every file."""
    parts = [source] if isinstance(source, (str, PathLike, re.Pattern)) else list(source)
    if isinstance(source, str) and not Path(source).is_file():
        raise InputError(f"{where} is {source!r}, and there is no such file; expected a list of words, or a file")
    words = []
    for part in parts:
        if isinstance(part, re.Pattern):
            yield _pattern(part, label)
        elif isinstance(part, PathLike) or part is source:
            yield _file(part, label)
        elif isinstance(part, str):
            words.append(part)
        else:
            raise InputError(f"{where} has {part!r}; expected words, compiled expressions or files")
    if words or not parts:
        more = ", ..." if len(words) > SHOWN else ""
        yield _words(words, label, f"{label}: {', '.join(words[:SHOWN])}{more}", where)


def _of_text(text: str, where: str) -> Rule:
    """A rule as on the command line."""
    source, colon, label = text.rpartition(":")
    if not colon or not source or not label:
        raise InputError(f"{where} is {text!r}; expected FILE:LABEL or regex:PATTERN:LABEL")
    if not source.startswith("regex:"):
        return _file(source, label)
    pattern = source.removeprefix("regex:")
    try:
        return _pattern(re.compile(pattern), label)
    except re.error as error:
        raise InputError(f"{where}: {pattern!r} is no regular expression: {error}") from None


def _file(path: Any, label: Any) -> Rule:
    return _words(read_phrases(path), label, f"{label}: {fspath(path)}", fspath(path))


def _words(words: Sequence[str], label: Any, name: str, where: str) -> Rule:
    if not words:
        raise InputError(f"{where} has no words; expected at least one")
    exact, folded = PhraseIndex.of_both(words)

    def of_text(x: Any) -> Any:
        tokens = [token.lower() for token in tokenize(text_of(x))]
        return label if any(True for _ in folded.find(tokens)) else None

    return Rule(name, label, lambda tokens: (Match(*place, label) for place in exact.find(tokens)), of_text)


def _pattern(pattern: re.Pattern[str], label: Any) -> Rule:
    def find(tokens: Sequence[str]) -> Iterator[Match]:
        ends = np.cumsum([len(token) + 1 for token in tokens]) - 1
        text, number = " ".join(tokens), {int(end): i + 1 for i, end in enumerate(ends)}
        free = 0  # the first token after the last match
        for i, token in enumerate(tokens):
            found = pattern.match(text, int(ends[i]) - len(token)) if i >= free else None
            if found and found.end() in number and found.end() > found.start():
                free = number[found.end()]
                yield Match(i, free, label)

    name = f"{label}: /{pattern.pattern}/"
    return Rule(name, label, find, lambda x: label if pattern.search(text_of(x)) else None)


def _function(function: Callable[[Any], Any]) -> Rule:
    name = getattr(function, "__name__", type(function).__name__)

    def find(tokens: Sequence[str]) -> Iterator[Match]:
        found = list(function(list(tokens)) or ())
        if len(found) == len(tokens) and not any(isinstance(entry, tuple) for entry in found):
            found = [(i, i + 1, label) for i, label in enumerate(found) if label is not None]
        for entry in found:
            if not (isinstance(entry, tuple) and len(entry) == 3 and 0 <= entry[0] < entry[1] <= len(tokens)):
                raise InputError(
                    f"rules: {name} returned {entry!r} for {len(tokens)} tokens; expected (start, end, label), or a "
                    "label or None for each token"
                )
            yield Match(*entry)

    return Rule(name, None, find, function)


def text_of(x: Any) -> str:
    """The text of an input: itself, or the entries of a row that are texts."""
    if isinstance(x, str):
        return x
    values = x if isinstance(x, (list, tuple)) else ()
    if isinstance(x, Mapping):  # words as features have their names
        values = [name if value is True else value for name, value in x.items()]
    texts = [value for value in values if isinstance(value, str)]
    if not texts:
        raise InputError(f"rules: words and expressions are looked for in texts, and an input is a {type(x).__name__}")
    return " ".join(texts)


def rows_of(X: Any) -> list[Any]:
    """Inputs one by one, rows of a DataFrame as dicts."""
    return list(X.to_dict("records") if hasattr(X, "iloc") and hasattr(X, "columns") else X)
