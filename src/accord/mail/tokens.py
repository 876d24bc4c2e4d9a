"""What a spam filter sees of one mail: hashed words, pairs of words, characters, headers, links and structure.

Each group of tokens is scaled to a length of its own, so that a long text does not drown the headers.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
import scipy.sparse as sp

from accord.kernels.mail.tokens import hash_characters, hash_words
from accord.mail.message import Message

# Groups in their order, and their lengths: round numbers, which matter little.
GROUPS = {
    "words": 1.0, "pairs": 0.5, "characters": 1.0, "subject": 0.5, "headers": 1.0, "links": 0.5, "structure": 0.5,
}  # fmt: skip
N_CHARACTERS = 4  # in a row
LEAST_EVIDENCE = 0.5  # of a token that says nothing alone, or has not been seen
_MOST_OF_A_HEADER = 1000  # bytes
_NOTHING = np.empty(0, np.uint64)


def _letters(others: bytes) -> np.ndarray:
    """For each byte what it counts as in a word: small letters for capitals, 0 for what is in none."""
    table = np.zeros(256, np.uint8)
    kept = bytes(range(128, 256)) + b"abcdefghijklmnopqrstuvwxyz0123456789" + others
    table[list(kept)] = list(kept)
    table[65:91] = table[97:123]
    return table


_TEXT, _HEADER = _letters(b"_$!'-"), _letters(b"_$.-")


def tokens_of(message: Message) -> list[np.ndarray]:
    """Hashes of the tokens of a mail, of 32 bits, group by group (see `GROUPS`), as often as they come."""
    text = np.frombuffer(message.text, np.uint8)
    words, pairs = np.empty(text.size + 1, np.uint64), np.empty(text.size + 1, np.uint64)
    n = hash_words(text, _TEXT, _seed(b"words"), words, pairs)
    subject = message.subject.encode("utf-8", "replace")
    whole = np.frombuffer(subject + b" " + message.text, np.uint8)
    characters = np.empty(whole.size + 2, np.uint64)
    n_characters = hash_characters(whole, _TEXT, N_CHARACTERS, _seed(b"characters"), characters)
    headers = [
        _words(value[:_MOST_OF_A_HEADER], _HEADER, b"header " + name)
        for name, value in message.headers.items()
        if name != b"subject"
    ]
    links = [_words(part, _TEXT, b"link %d" % k) for link in message.links for k, part in enumerate(link)]
    return [
        words[:n],
        pairs[: max(n - 1, 0)],
        characters[:n_characters],
        _words(subject, _TEXT, b"subject"),
        np.concatenate([_NOTHING, *headers, _seeds([b"has " + name for name in message.headers])]),
        np.concatenate([_NOTHING, *links]),
        _seeds(_structure(message, n)),
    ]


def _structure(message: Message, n_words: int) -> list[bytes]:
    """What a mail is made of; numbers by their size."""
    numbers = (message.n_bytes, n_words, message.n_tags, message.n_images, len(message.links), len(message.attachments))
    texts = (message.structure, message.charset, message.encoding, *(one.type for one in message.attachments))
    kinds = [b"kind %d %s" % (min(k, 3), text.encode("utf-8", "replace")) for k, text in enumerate(texts)]
    return kinds + [b"number %d %d" % (k, number.bit_length()) for k, number in enumerate(numbers)]


def _words(text: bytes, letters: np.ndarray, place: bytes) -> np.ndarray:
    out = np.empty(len(text) + 1, np.uint64)
    n = hash_words(np.frombuffer(text, np.uint8), letters, _seed(place), out, _NOTHING)
    return out[:n]


def _seed(place: bytes) -> np.uint64:
    return np.uint64(crc32(place) * 0x100000001 | 1)


def _seeds(names: list[bytes]) -> np.ndarray:
    return np.array([crc32(name) for name in names], np.uint64)


def token_score(message: Message, scale: np.ndarray, coef: np.ndarray) -> float:
    """The product of a mail's row (see `scaled_rows`) and weights, without making it."""
    mask, total = np.uint64(scale.size - 1), 0.0
    for hashes, length in zip(tokens_of(message), GROUPS.values()):
        columns, counts = np.unique(hashes & mask, return_counts=True)
        values = np.log1p(counts) * scale[columns]
        total += length * float(values @ coef[columns]) / max(float(np.linalg.norm(values)), 1e-12)
    return total


# -- rows -----------------------------------------------------------------------------------------------------------
def token_counts(messages: list[Message], n_buckets: int) -> list[sp.csr_array]:
    """For each group a matrix of the logarithms of one more than how often each bucket occurs in each mail."""
    found = [tokens_of(message) for message in messages]
    return [_counted([groups[g] for groups in found], n_buckets) for g in range(len(GROUPS))]


def _counted(hashes: list[np.ndarray], n_buckets: int) -> sp.csr_array:
    rows = [np.unique(one & np.uint64(n_buckets - 1), return_counts=True) for one in hashes]
    indptr = np.concatenate([[0], np.cumsum([columns.size for columns, _ in rows])]).astype(np.int32)
    columns = np.concatenate([_NOTHING, *(columns for columns, _ in rows)]).astype(np.int32)
    values = np.log1p(np.concatenate([np.empty(0), *(counts for _, counts in rows)]))
    return sp.csr_array((values, columns, indptr), shape=(len(rows), n_buckets))


def evidence(counts: list[sp.csr_array], y: np.ndarray) -> np.ndarray:
    """For each bucket how much more often it is in mails of one class: the absolute log-ratio of its rates, as in naive
    Bayes, or `LEAST_EVIDENCE`. So a machine with few labels begins with what each token says alone.
    """
    present = sum((group > 0).astype(np.float64) for group in counts)
    n_spam, n_ham = np.asarray(present[y].sum(axis=0)).ravel(), np.asarray(present[~y].sum(axis=0)).ravel()
    ratio = np.log((n_spam + 0.5) / (y.sum() + 1)) - np.log((n_ham + 0.5) / ((~y).sum() + 1))
    return np.maximum(np.abs(ratio), LEAST_EVIDENCE)


def scaled_rows(counts: list[sp.csr_array], scale: np.ndarray) -> sp.csr_array:
    """Rows of mails: buckets weighted by `scale`, groups scaled to their lengths."""
    total = sp.csr_array(counts[0].shape)
    for group, length in zip(counts, GROUPS.values()):
        weighted = group.copy()
        weighted.data *= scale[group.indices]
        norms = np.sqrt(np.maximum(np.asarray((weighted * weighted).sum(axis=1)).ravel(), 1e-24))
        weighted.data *= np.repeat(length / norms, np.diff(weighted.indptr))
        total = total + weighted
    return total
