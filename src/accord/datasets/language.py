"""A little made-up language with named entities, for demonstrations and tests that need no data.

Sentences come from a small grammar. Names of persons, places and organisations are built from syllables, so
there are endlessly many, and a test sentence holds names never seen in training: capital letters, endings and
neighbouring words have to be learned, not lists. The same word may name a person, a place or an organisation
(*Marlow said*, *in Marlow*, *Marlow shares fell*), firms and clubs carry names of persons and places, and
capital letters also open sentences and name days and months. Labels are IOB2 over PER, LOC and ORG.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from accord.exceptions import InputError

Tagged = list[tuple[str, str]]  # (token, label) pairs

_SYLLABLES = {
    "onset": "b br c ch d dr f fr g gr h j k kl l m n p r s st t tr v w",
    "vowel": "a e i o u ai ea ou",
    "coda": "l m n r s th x ck nd rt",
}
# Endings are hints, not proofs: the lists overlap.
_ENDINGS = {
    "given": "a o io ina ert en y",
    "surname": "son ez low man ton field ley sky",
    "place": "ton field ley burg ford land low stad",
    "firm": "ex ia co tech low ton is",
}
_SHARE_NEW = 0.35  # part of the names that is made up on the spot
_LEXICON_SIZE = 60  # known names per kind; drawn with Zipf's law

_WORDS = {
    "adj": "new old small strong quiet large bright early common heavy",
    "noun": "report plan match bridge market house letter vote road garden concert deal",
    "nouns": "prices workers visitors voters doctors trains talks shares books rivers",
    "verb": "visited left praised criticised joined supported met ignored",
    "said": "said announced denied repeated explained",
    "moved": "rose fell recovered slipped",
    "day": "Monday Tuesday Friday Sunday March July October",
    "role": "minister coach singer judge lawyer striker mayor",
    "title": "Mr Mrs Dr President Captain",
    "number": "3 7 12 40 250 1,400",
}

# Forms of entities, with the share of those that are of this form or one before it. Slots: kinds of names, choices with
# bars, LETTERS for three of them, other entities, and words.
_FORMS = {
    "PER": ((0.45, "given surname"), (0.85, "surname"), (1.0, "given de surname")),
    "LOC": ((0.75, "place"), (0.9, "North|New|San place"), (1.0, "place Valley|Island")),
    "ORG": (
        (0.35, "firm"),
        (0.55, "firm Bank|Motors|Group"),
        (0.7, "University of LOC"),
        (0.85, "surname and surname"),
        (1.0, "LETTERS"),
    ),
    "CLUB": ((0.3, "LOC United"), (1.0, "LOC")),
}

# Slots: lower-case names are word classes above; PER, LOC, ORG are entities; CLUB is a place that plays (ORG).
_SENTENCES = """
PER said that the noun was adj .
PER , a role from LOC , verb PER on day .
title PER verb LOC last day .
the role PER verb ORG after the noun .
ORG said nouns moved number percent .
ORG moved number percent in LOC .
shares of ORG moved on day .
CLUB beat CLUB number - number .
CLUB lost the noun in LOC .
PER scored twice for CLUB .
nouns in LOC moved because of the adj noun .
the adj noun near LOC was built by ORG .
LOC , day number ( ORG ) - the noun moved .
PER verb PER .
PER verb ORG and verb LOC .
people from LOC and LOC verb the noun .
on day , PER of ORG verb the nouns .
adj nouns from LOC reached LOC .
ORG and ORG verb the adj noun with PER .
PER was born in LOC and works for ORG .
the nouns were adj and the noun was adj .
a spokesman for ORG in LOC said PER was adj .
there was no noun on day .
according to PER , LOC needs the adj noun .
according to ORG , nouns moved .
""".strip().splitlines()


def _new_name(kind: str, rng: np.random.Generator) -> str:
    stem = ""
    for _ in range(1 + int(rng.random() < 0.4)):
        stem += _pick(_SYLLABLES["onset"].split(), rng) + _pick(_SYLLABLES["vowel"].split(), rng)
        if rng.random() < 0.4:
            stem += _pick(_SYLLABLES["coda"].split(), rng)
    return (stem + _pick(_ENDINGS[kind].split(), rng)).capitalize()


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, list[str]]:
    """Known names. Drawn from a seed of their own: all calls speak one language, whatever their random_state."""
    rng = np.random.default_rng(1905)
    names = {kind: [_new_name(kind, rng) for _ in range(_LEXICON_SIZE)] for kind in _ENDINGS}
    # Every fourth known name is shared, so that only its neighbours tell what it names.
    for shared in range(0, _LEXICON_SIZE, 4):
        names["place"][shared] = names["surname"][shared]
        names["firm"][shared] = names["place"][(shared + 8) % _LEXICON_SIZE]
    return names


def _pick(items: list[str], rng: np.random.Generator) -> str:
    return items[int(rng.integers(len(items)))]


def _name(kind: str, rng: np.random.Generator) -> str:
    if rng.random() < _SHARE_NEW:
        return _new_name(kind, rng)
    rank = int(_LEXICON_SIZE ** rng.random())  # log-uniform, so rank r has probability about 1/r
    return _lexicon()[kind][rank - 1]


def _entity(kind: str, rng: np.random.Generator) -> list[str]:
    """The words of an entity, in one of its forms."""
    drawn = rng.random()
    form = next(form for share, form in _FORMS[kind] if drawn < share)
    words: list[str] = []
    for slot in form.split():
        if slot in _FORMS:
            words += _entity(slot, rng)
        elif slot == "LETTERS":
            words.append("".join(_pick(list("ABCDEFGMNPRSTU"), rng) for _ in range(3)))
        else:
            words.append(_name(slot, rng) if slot in _ENDINGS else _pick(slot.split("|"), rng) if "|" in slot else slot)
    return words


def _sentence(rng: np.random.Generator) -> Tagged:
    tagged: Tagged = []
    for slot in _pick(_SENTENCES, rng).split():
        if slot in _FORMS:
            kind = "ORG" if slot == "CLUB" else slot
            tagged += [(word, f"{'I' if k else 'B'}-{kind}") for k, word in enumerate(_entity(slot, rng))]
        else:
            tagged.append((_pick(_WORDS[slot].split(), rng) if slot in _WORDS else slot, "O"))
    first, label = tagged[0]
    tagged[0] = (first[0].upper() + first[1:], label)
    return tagged


def embedded_ner(
    n_sentences: int = 100, random_state: int | np.random.Generator | None = None
) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences of the made-up language with their named entities.

    Calls with different `random_state` speak the same language, so one can serve for training and another for
    testing.

    Parameters
    ----------
    n_sentences : int
        Number of sentences; they have about ten tokens each, a quarter of them in names.
    random_state : int, Generator or None; an int makes the sentences repeatable

    Returns
    -------
    X : list of list of str
        Tokens.
    Y : list of list of str
        Labels: O, and B- or I- with PER, LOC or ORG.

    Examples
    --------
    >>> X, Y = embedded_ner(1, random_state=5)
    >>> " ".join(X[0])
    'On July , Kussky of Teacklow left the prices .'
    >>> " ".join(Y[0])
    'O O O B-PER O B-ORG O O O O'
    """
    if n_sentences < 0:
        raise InputError(f"n_sentences must not be negative, got {n_sentences}")
    rng = np.random.default_rng(random_state)
    sentences = [_sentence(rng) for _ in range(n_sentences)]
    return [[t for t, _ in s] for s in sentences], [[l for _, l in s] for s in sentences]
