"""Surface features of tokens, computed once per distinct token (Tables 5.3 and 5.4 of the thesis).

Distinct tokens ("types") arrive as one array of code points. :func:`emit` writes for every type the features it
has, each as a 64-bit key (a hash of the feature's kind and text) plus what is needed to print it again; ``hashing``
turns keys into consecutive feature numbers.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import helper, kernel

# Bits of a character's class. KNOWN tells a class from a table entry not filled yet.
KNOWN, UPPER, LOWER, DIGIT, LETTER, SYMBOL, GREEK, SPACE = 1, 2, 4, 8, 16, 32, 64, 128

# Kinds of features; (begin, length) of an emitted feature mean what is said here. They are typed because Numba compiles
# a function anew for every Python number it is called with.
BOUNDARY = np.int64(0)  # nothing
TOKEN = np.int64(1)  # nothing
LOWERED = np.int64(2)  # nothing
PREFIX = np.int64(3)  # begin 0, length of the prefix
SUFFIX = np.int64(4)  # where the suffix begins, its length
NGRAM = np.int64(5)  # where the n-gram begins, its length
SHAPE = np.int64(6)  # nothing
SHORT_SHAPE = np.int64(7)  # nothing
CLUE = np.int64(8)  # begin: number of the clue, see CLUES
LENGTH = np.int64(9)  # begin: the length, cut off at MAX_LENGTH
UPPER_AT = np.int64(10)  # begin: position of the character
LOWER_AT = np.int64(11)  # begin: position of the character

MAX_LENGTH = 10
_NOTHING = np.int64(0)
CLUES = (
    "initial-upper",
    "initial-lower",
    "all-upper",
    "mixed-case",
    "digit-dot-digit",
    "digit",
    "number",
    "symbol",
    "punctuation",
    "greek",
)
_N_CLUES = np.int64(len(CLUES))

_BASIS = np.uint64(14695981039346656037)
_PRIME = np.uint64(1099511628211)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_DOT = ord(".")
_SHAPE_UPPER, _SHAPE_LOWER, _SHAPE_DIGIT, _SHAPE_LETTER = (np.uint32(ord(c)) for c in "Xxdc")


_BITS = np.int64(28)  # of a begin, and of a length


def unpacked(origins):
    """Kinds, begins and lengths (n, 3) of emitted features."""
    return np.stack([origins >> 2 * _BITS, origins >> _BITS & 2**_BITS - 1, origins & 2**_BITS - 1], axis=1)


class Text(NamedTuple):
    """Packed strings."""

    codes: np.ndarray  # (n_characters,) uint32 code points of all strings, one after another
    classes: np.ndarray  # (n_characters,) uint8
    starts: np.ndarray  # (n_strings + 1,) int64


class Wanted(NamedTuple):
    """Which features to emit."""

    token: bool
    lower: bool
    affixes: np.ndarray  # (longest + 1,) bool: lengths of prefixes and suffixes
    ngrams: np.ndarray  # (longest + 1,) bool
    shape: bool
    clues: bool
    case_positions: int


class Emitted(NamedTuple):
    """Features in the order of the types that have them."""

    keys: np.ndarray  # (n,) uint64
    origins: np.ndarray  # (n,) int64: kind, begin and length, see `unpacked`


@helper
def _step(h, code):
    return (h ^ np.uint64(code)) * _PRIME


def hashes_of(strings):
    """What :func:`_step` makes of each string."""
    found = []
    for string in strings:
        h = int(_BASIS)
        for code in map(ord, string):
            h = (h ^ code) * int(_PRIME) % 2**64
        found.append(h)
    return np.array(found, np.uint64)


@helper
def _put(out, p, h, kind, begin, length):
    """Write one feature whose text hashes to ``h``; the key also covers the kind."""
    h = h + np.uint64(kind) * _MIX_2
    h = (h ^ (h >> _SHIFT)) * _MIX_1
    h = (h ^ (h >> _SHIFT)) * _MIX_2
    out.keys[p] = h ^ (h >> _SHIFT)
    out.origins[p] = (kind << _BITS | begin) << _BITS | length
    return p + 1


@helper
def _emit_strings(text, first, last, wanted, out, p):
    """The token, its prefixes and suffixes (suffixes are hashed backwards, so each costs one step) and n-grams."""
    longest = wanted.affixes.size - 1
    h = _BASIS
    for i in range(first, last):
        h = _step(h, text.codes[i])
        n = i - first + 1
        if n <= longest and wanted.affixes[n]:
            p = _put(out, p, h, PREFIX, _NOTHING, n)
    if wanted.token:
        p = _put(out, p, h, TOKEN, _NOTHING, _NOTHING)
    h = _BASIS
    for n in range(1, min(longest, last - first) + 1):
        h = _step(h, text.codes[last - n])
        if wanted.affixes[n]:
            p = _put(out, p, h, SUFFIX, last - first - n, n)
    longest = wanted.ngrams.size - 1
    for i in range(first, last):
        h = _BASIS
        for n in range(1, min(longest, last - i) + 1):
            h = _step(h, text.codes[i + n - 1])
            if wanted.ngrams[n]:
                p = _put(out, p, h, NGRAM, i - first, n)
    return p


@helper
def _emit_lower(lowered, t, out, p):
    h = _BASIS
    for i in range(lowered.starts[t], lowered.starts[t + 1]):
        h = _step(h, lowered.codes[i])
    return _put(out, p, h, LOWERED, _NOTHING, _NOTHING)


def shapes_of(text):
    """Every character by its class (n_characters,)."""
    cases = ((UPPER, _SHAPE_UPPER), (LOWER, _SHAPE_LOWER), (DIGIT, _SHAPE_DIGIT), (LETTER, _SHAPE_LETTER))
    return np.select([text.classes & bit != 0 for bit, _ in cases], [code for _, code in cases], text.codes)


@helper
def _emit_shape(shapes, first, last, out, p):
    """Every character by its class, and the same with runs of one symbol written once."""
    full, short = _BASIS, _BASIS
    for i in range(first, last):
        full = _step(full, shapes[i])
        if i == first or shapes[i] != shapes[i - 1]:
            short = _step(short, shapes[i])
    p = _put(out, p, full, SHAPE, _NOTHING, _NOTHING)
    return _put(out, p, short, SHORT_SHAPE, _NOTHING, _NOTHING)


@helper
def _has_run(text, t, hashes):
    """Whether a run of letters has one of the hashes (the name of a Greek letter, as in ``TGF-alpha1``)."""
    h = _BASIS
    last = text.starts[t + 1]
    for i in range(text.starts[t], last + 1):
        if i < last and text.classes[i] & LETTER:
            h = _step(h, text.codes[i])
        else:
            for k in range(hashes.size):
                if hashes[k] == h:
                    return True
            h = _BASIS
    return False


def clues_of(text):
    """Bit ``k`` of entry ``t`` says whether string ``t`` has clue ``k`` (n_strings,)."""
    lengths = np.diff(text.starts)
    full = lengths > 0
    starts = text.starts[:-1][full]
    classes, later = text.classes, text.classes.copy()
    later[starts] = 0  # the classes of characters but the first
    point = text.codes[1:-1] == _DOT
    decimal = np.zeros(classes.size, np.bool_)
    decimal[1:-1] = point & (classes[:-2] & classes[2:] & DIGIT != 0)
    decimal[starts] = decimal[text.starts[1:][full] - 1] = False
    out = np.zeros(lengths.size, np.int64)
    if starts.size:
        some, every = np.bitwise_or.reduceat(classes, starts), np.bitwise_and.reduceat(classes, starts)
        upper, lower = some & UPPER != 0, some & LOWER != 0
        found = (
            classes[starts] & UPPER, classes[starts] & LOWER, upper & ~lower,
            lower & (np.bitwise_or.reduceat(later, starts) & UPPER != 0), np.logical_or.reduceat(decimal, starts),
            some & DIGIT, every & DIGIT, some & SYMBOL, every & SYMBOL, some & GREEK,
        )  # fmt: skip
        out[full] = sum((bits != 0).astype(np.int64) << k for k, bits in enumerate(found))
    return out


@helper
def _emit_clues(text, first, last, clues, case_positions, out, p):
    for i in range(1, min(last - first, case_positions)):  # the first position is a clue of its own
        c = text.classes[first + i]
        if c & (UPPER | LOWER):
            p = _put(out, p, np.uint64(i), UPPER_AT if c & UPPER else LOWER_AT, i, _NOTHING)
    for k in range(_N_CLUES):
        if clues >> k & 1:
            p = _put(out, p, np.uint64(k), CLUE, k, _NOTHING)
    n = min(last - first, MAX_LENGTH)
    return _put(out, p, np.uint64(n), LENGTH, n, _NOTHING)


@kernel
def emit(text, lowered, shapes, clues, greek_names, wanted, indptr, out):
    """Write the features of every type into ``out``; type ``t`` owns ``indptr[t]:indptr[t + 1]``. Returns their number.

    ``shapes`` come from :func:`shapes_of`, ``clues`` from :func:`clues_of`, ``greek_names`` from :func:`hashes_of`. A
    type may have the same n-gram twice; ``hashing.number`` counts it once.
    """
    p = _NOTHING
    for t in range(text.starts.size - 1):
        indptr[t] = p
        first, last = text.starts[t], text.starts[t + 1]
        p = _emit_strings(text, first, last, wanted, out, p)
        if wanted.lower:
            p = _emit_lower(lowered, t, out, p)
        if wanted.shape:
            p = _emit_shape(shapes, first, last, out, p)
        if wanted.clues:
            greek = np.int64(_has_run(lowered, t, greek_names)) << (_N_CLUES - 1)
            p = _emit_clues(text, first, last, clues[t] | greek, wanted.case_positions, out, p)
    indptr[text.starts.size - 1] = p
    return p
