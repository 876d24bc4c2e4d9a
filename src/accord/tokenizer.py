"""Raw text as tokens, with the place of each in the text, so that nothing of the text is lost.

:func:`token_spans` finds the tokens and :func:`tokenize` cuts them out. The rules, in this order:

- Text in which a comma or a full stop stands alone between blanks has been tokenised before: it is cut at blanks only.
- Web addresses, mail addresses, names and topics (``@ana``, ``#news``) and emoji stay whole.
- Numbers keep the marks inside them: ``1,000.50``, ``10:30``, ``2020-05-01``.
- Abbreviations keep their full stops: letters with a stop each (``U.S.``, ``z.B.``), initials before a name (``J.
  Smith``), and the usual ones (``Dr.``, ``Sra.``), except at the end of the text, where the stop ends the sentence.
- Contractions are cut as treebanks do: ``do|n't``, ``it|'s``, ``we|'ll``; French and Italian ones after the apostrophe:
  ``l'|homme``, ``dell'|arte``. Other words keep apostrophes and hyphens: ``O'Brien``, ``well-known``.
- Han and kana characters are tokens of their own, since no blanks say where their words end.
- Repeated marks (``...``, ``--``, ``!!!``) are one token, and any other character that is not blank is one by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from accord.exceptions import InputError

Spans = list[tuple[int, int]]

# Characters that Python does not count as letters but that words are written with: signs for vowels and accents.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4"
    "\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84"
    "\u102b-\u103e\u1056-\u1059\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe20-\ufe2f"
)
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # kana and Han
_LETTER = rf"(?:(?![{_ALONE}])[^\W\d_])"
_IN_WORD = rf"(?:(?![{_ALONE}])[\w{_MARKS}])"
_JOINT = "[-\u2010\u2011'\u2019&_·]"
_TONE = "[\ufe0f\U0001f3fb-\U0001f3ff]"
_EMOJI = "[\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff]"
# Words with a stop that seldom ends a sentence; and those that are words themselves, unless a number follows.
_USUAL = (
    "adm|apdo|approx|apr|aug|av|avda|bros|bzw|capt|cf|cía|co|col|corp|dec|dept|depto|dott|dr|dra|eds|etc|feb|gen|"
    "gov|gral|hon|ibid|inc|ing|jan|jr|jul|jun|lic|lt|ltd|ltda|maj|messrs|mlle|mme|mr|mrs|ms|mt|nov|nr|núm|núms|"
    "nos|oct|pág|págs|pp|pres|prof|rep|rev|sen|sep|sept|sgt|sr|sra|sres|srta|srtas|st|sta|sto|str|uds|univ|usw|"
    "vd|vds|vgl|vol|vols|vs"
)
_BEFORE_NUMBERS = "art|cap|ca|ed|fig|mar|no|op|p|s"
_ELIDED = "l|d|j|m|t|s|n|c|qu|jusqu|lorsqu|puisqu|quoiqu|dell|all|nell|sull|dall|un|quell|bell|sant"
_APOSTROPHE = "['\u2019]"
_END = rf"(?!{_IN_WORD})"  # of a word
_CLITIC = rf"(?:s|re|ve|ll|d|m){_END}"

_RULES = {
    "web address": r"(?:https?://|ftp://|www\.)[^\s<>\"]*[^\s<>\"'.,;:!?()\[\]{}«»“”’]",
    "mail address": r"[\w.+-]*\w@\w+(?:[.-]\w+)*\.\w\w+",
    "name or topic": rf"[@#]{_IN_WORD}+",
    "flag": "[\U0001f1e6-\U0001f1ff]{2}",
    "emoji": rf"{_EMOJI}{_TONE}*(?:\u200d{_EMOJI}{_TONE}*)*",
    "letters with stops": rf"(?:{_LETTER}{{1,2}}\.){{2,}}(?:{_LETTER}{_END})?{_END}",
    "abbreviation": rf"(?:{_USUAL})\.(?=\s*\S)(?!\.)",
    "abbreviation before a number": rf"(?:{_BEFORE_NUMBERS})\.(?=\s*\d)",
    "initial": rf"{_LETTER}\.(?=\s+{_LETTER}{_IN_WORD})",
    "contraction": rf"n{_APOSTROPHE}t{_END}|{_APOSTROPHE}{_CLITIC}",
    "elision": rf"(?:{_ELIDED}){_APOSTROPHE}(?=[aeiouhyàâéèêëîïôûù])(?!{_CLITIC})",
    "number": rf"\d+(?:[.,:/\u2010-\u2012-]\d+)*{_END}(?!-{_LETTER})",
    "word before n't": rf"{_IN_WORD}+?(?=n{_APOSTROPHE}t{_END})",
    "word before a clitic": rf"{_IN_WORD}+(?:{_JOINT}(?!{_CLITIC}){_IN_WORD}+)*?(?={_APOSTROPHE}{_CLITIC})",
    "word": rf"{_IN_WORD}+(?:{_JOINT}{_IN_WORD}+)*",
    "repeated mark": r"(?P<mark>[^\w\s])(?P=mark)+",
    "anything else": r"\S",
}
_TOKENISED = re.compile(r"(?:^|[ \t])[.,](?:[ \t]|$)")
_BLANKS = re.compile(r"[^ \t\r\n]+")  # tokens of real corpora hold other blanks, such as no-break spaces


@cache
def _any_token() -> re.Pattern[str]:
    """All rules. Compiling them takes as long as importing NumPy, and most commands never need them."""
    return re.compile("|".join(_RULES.values()), re.IGNORECASE)


def token_spans(text: str) -> Spans:
    """Where the tokens of a text begin and end; everything between them is blank.

    >>> token_spans("Ana left.")
    [(0, 3), (4, 8), (8, 9)]
    """
    pattern = _BLANKS if _TOKENISED.search(text) else _any_token()
    return [found.span() for found in pattern.finditer(text)]


def tokenize(text: str) -> list[str]:
    """The tokens of a text.

    >>> tokenize("Dr. Ana O'Neil doesn't live in Melbourne, Australia.")
    ['Dr.', 'Ana', "O'Neil", 'does', "n't", 'live', 'in', 'Melbourne', ',', 'Australia', '.']
    """
    return [text[a:b] for a, b in token_spans(text)]


# What `tokenizer=` may be: None for the rules above, "blanks", or a function of a text.
Tokenizer = str | Callable[[str], Iterable[Any]] | None


def spans_by(tokenizer: Tokenizer, text: str) -> Spans:
    """Where the tokens are that a tokenizer finds.

    A function may return tokens as strings, in their order, objects with ``text`` and ``idx`` (as spaCy's), or pairs of
    a beginning and an end.
    """
    if tokenizer is None:
        return token_spans(text)
    if tokenizer == "blanks":
        return [found.span() for found in _BLANKS.finditer(text)]
    if not callable(tokenizer):
        raise InputError(f'tokenizer is {tokenizer!r}; expected None, "blanks" or a function of a text')
    spans: Spans = []
    for token in tokenizer(text):
        if isinstance(token, tuple) and len(token) == 2:
            spans.append((int(token[0]), int(token[1])))
            continue
        word = token if isinstance(token, str) else getattr(token, "text", None)
        if not isinstance(word, str):
            raise InputError(f"tokenizer returned {token!r}; expected strings, pairs (start, end), or tokens of spaCy")
        if not word.strip():
            continue
        start = getattr(token, "idx", None)
        if start is None:
            start = text.find(word, spans[-1][1] if spans else 0)
            if start < 0:
                raise InputError(
                    f"tokenizer returned {word!r}, which {text[:60]!r} does not have after the tokens before it; "
                    "return pairs (start, end) if tokens are not parts of the text"
                )
        spans.append((start, start + len(word)))
    return spans


class Tokens(list[str]):
    """The tokens of a text, which know where in the text they are."""

    def __init__(self, text: str, tokenizer: Tokenizer = None) -> None:
        self.text, self.places = text, spans_by(tokenizer, text)
        super().__init__([text[a:b] for a, b in self.places])

    def span(self, first: int, end: int) -> tuple[int, int]:
        """The characters from token ``first`` to just before token ``end``."""
        return self.places[first][0], self.places[end - 1][1]


def sentences(X: Any, tokenizer: Tokenizer = None) -> Any:
    """Inputs with lists of tokens in place of texts and of spaCy's documents; all others are left as they are."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return X
    if isinstance(X, (list, tuple)) and not any(issubclass(t, str) or is_document(t) for t in set(map(type, X))):
        return X
    if not isinstance(X, (list, tuple)) and (len(getattr(X, "shape", ())) != 1 or isinstance(X, (str, bytes, dict))):
        return X
    return [_tokens(x, tokenizer) for x in X]


def _tokens(x: Any, tokenizer: Tokenizer) -> Any:
    if isinstance(x, str):
        return Tokens(x, tokenizer)
    return [token.text for token in x] if is_document(type(x)) else x


def is_document(kind: type) -> bool:
    """Whether it is a class of spaCy's documents, or of a part of one."""
    return hasattr(kind, "text_with_ws") and hasattr(kind, "__iter__")


def labels_of_spans(spans: Sequence[tuple[int, int, str]], tokens: Spans) -> list[str]:
    """IOB2 labels of tokens, from spans (start, end, label) of characters.

    >>> labels_of_spans([(0, 8, "PER")], token_spans("Ana Diaz left."))
    ['B-PER', 'I-PER', 'O', 'O']
    """
    labels = ["O"] * len(tokens)
    for number, (start, end, label) in enumerate(spans):
        inside = [t for t, (a, b) in enumerate(tokens) if a < end and b > start]
        if not inside or any(labels[t] != "O" for t in inside):
            why = "has no token" if not inside else "shares a token with one before it"
            raise InputError(f"spans[{number}] = {(start, end, label)} {why}")
        for t in inside:
            labels[t] = f"{'B' if t == inside[0] else 'I'}-{label}"
    return labels
