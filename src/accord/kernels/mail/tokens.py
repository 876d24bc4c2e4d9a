"""Hashes of what a spam filter looks at: words, pairs of words, and sequences of characters, one pass each."""

import numpy as np

from accord.kernels.compiling import ZERO, kernel
from accord.kernels.mail.text import FNV_PRIME, mixed


@kernel
def hash_words(text, letters, seed, words, pairs):
    """Hashes of the words of a text and of pairs that follow each other; returns the number of words.

    ``letters`` tells for each of 256 bytes what it counts as in a word, 0: it ends one. ``seed`` keeps words of
    different places apart. ``words`` and ``pairs`` have room for as many entries as the text has bytes, or none; there
    are one pair less than words.
    """
    n, h, length, before = ZERO, seed, 0, np.uint64(0)
    for i in range(text.size + 1):
        c = np.uint64(letters[text[i]]) if i < text.size else np.uint64(0)
        if c:
            h = (h ^ c) * FNV_PRIME
            length += 1
        elif length:
            word = mixed(h)
            words[n] = word
            if n and pairs.size:
                pairs[n - 1] = mixed(before * np.uint64(0x9E3779B97F4A7C15) + word)
            before, h, length = word, seed, 0
            n += 1
    return n


@kernel
def hash_characters(text, letters, size, seed, out):
    """Hashes of all ``size`` characters in a row, where a run of what is no letter is one blank; returns their number.

    ``out`` has room for as many entries as the text has bytes, and two more.
    """
    squeezed = np.empty(text.size + 2, np.uint8)
    squeezed[0] = 32
    n = 1
    for c in text:
        small = letters[c]
        if small:
            squeezed[n] = small
            n += 1
        elif squeezed[n - 1] != 32:
            squeezed[n] = 32
            n += 1
    if squeezed[n - 1] != 32:
        squeezed[n] = 32
        n += 1
    n_found = max(n - size + 1, ZERO)
    for i in range(n_found):
        h = seed
        for k in range(size):
            h = (h ^ np.uint64(squeezed[i + k])) * FNV_PRIME
        out[i] = mixed(h)
    return n_found
