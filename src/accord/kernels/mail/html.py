"""HTML to text, byte by byte (UTF-8): what a reader would see of it."""

import numpy as np

from accord.kernels.compiling import ZERO, helper, kernel
from accord.kernels.mail.text import FNV_PRIME, FNV_START, mixed

_BLOCK_TAGS = "p br div td tr li ul ol table h1 h2 h3 h4 h5 h6 hr title body html blockquote pre center form option"
_HIDDEN_TAGS = "script style"
# The letters of nbsp, amp, lt, gt, quot and apos as one number each, and what they stand for.
_ENTITIES = ((0x6E627370, 32), (0x616D70, 38), (0x6C74, 60), (0x6774, 62), (0x71756F74, 34), (0x61706F73, 39))


def _tag_hash(name: str) -> int:
    h = 0
    for letter in name.encode():
        h = (h * 31 + letter) & 0xFFFFFFFF
    return h


BLOCK_TAGS = np.array(sorted(_tag_hash(name) for name in _BLOCK_TAGS.split()), dtype=np.int64)
HIDDEN_TAGS = np.array(sorted(_tag_hash(name) for name in _HIDDEN_TAGS.split()), dtype=np.int64)
IMAGE_TAG = _tag_hash("img")


@helper
def _among(value, values):
    found = False
    for other in values:
        found |= other == value
    return found


@helper
def _put_utf8(code, out, p):
    if code < 0x80:
        out[p] = code
        return p + 1
    if code < 0x800:
        out[p], out[p + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return p + 2
    if code < 0x10000:
        out[p], out[p + 1], out[p + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
        return p + 3
    out[p], out[p + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    out[p + 2], out[p + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return p + 4


@helper
def _entity(html, i):
    """The character of ``&...;`` at ``i`` and the position after it, or -1. Numbers and the few common names."""
    n = min(html.size, i + 12)
    end = i + 1
    while end < n and html[end] != 59:
        end += 1
    if end >= n or end < i + 3:
        return -1, i
    if html[i + 1] == 35:  # &#
        code = 0
        hexadecimal = html[i + 2] | 32 == 120
        for j in range(i + 3 if hexadecimal else i + 2, end):
            c = int(html[j])
            digit = c - 48 if 48 <= c <= 57 else (c | 32) - 87 if 97 <= c | 32 <= 102 else 99
            if digit >= (16 if hexadecimal else 10):
                return -1, i
            code = min(code * (16 if hexadecimal else 10) + digit, 1 << 24)
        if code == 160:
            code = 32
        valid = 9 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
        return (code if valid else 32), end + 1
    name = 0
    for j in range(i + 1, end):
        name = name * 256 + int(html[j] | 32)
        if j > i + 6:
            return -1, i
    for known, code in _ENTITIES:
        if name == known:
            return code, end + 1
    return -1, i


@helper
def _skip_to_close(html, i, tag):
    """Position of the ``</script`` or ``</style`` that ends hidden text begun before ``i``, or the end."""
    n = html.size
    while i < n - 1:
        if html[i] == 60 and html[i + 1] == 47:
            h, j = np.int64(0), i + 2
            while j < n and 97 <= html[j] | 32 <= 122:
                h = (h * 31 + np.int64(html[j] | 32)) & 0xFFFFFFFF
                j += 1
            if h == tag:
                return i
        i += 1
    return n


@helper
def _after_comment(html, i):
    """Position after the comment or declaration that begins at ``i``."""
    n = html.size
    comment = i + 3 < n and html[i + 2] == 45 and html[i + 3] == 45
    i += 4 if comment else 2
    while i < n and not (html[i] == 62 and (not comment or (html[i - 1] == 45 and html[i - 2] == 45))):
        i += 1
    return i + 1


@helper
def _read_tag(html, j):
    """The hash of the tag whose name begins at ``j``, and the position after its ``>``."""
    n, tag = html.size, np.int64(0)
    while j < n and (97 <= html[j] | 32 <= 122 or 48 <= html[j] <= 57):
        tag = (tag * 31 + np.int64(html[j] | 32 if html[j] >= 64 else html[j])) & 0xFFFFFFFF
        j += 1
    while j < n and html[j] != 62:
        j += 1
    return tag, j + 1


@kernel
def html_to_text(html, out, block_tags, hidden_tags, image_tag):
    """Write the visible text of ``html`` to ``out`` (of the same size). Returns its length, the numbers of tags and of
    images, and a hash of the first 100 opening tags.

    Tags that begin a block become a line end. Others vanish, because ``mort<b></b>gage`` reads as one word.
    """
    n, i, p = html.size, ZERO, ZERO
    n_tags, n_images = 0, 0
    skeleton = FNV_START
    while i < n:
        c = html[i]
        if c == 38:
            code, after = _entity(html, i)
            if code >= 0:
                p = _put_utf8(code, out, p)
                i = after
                continue
        if c != 60 or i + 1 >= n:
            out[p] = c
            p += 1
            i += 1
            continue
        d = html[i + 1]
        if d == 33:  # <! ... >, and comments up to -->
            i = _after_comment(html, i)
            continue
        opening = d != 47
        j = i + 1 if opening else i + 2
        if j >= n or not 97 <= html[j] | 32 <= 122:  # a bare <
            out[p] = c
            p += 1
            i += 1
            continue
        tag, i = _read_tag(html, j)
        if _among(tag, block_tags):
            out[p] = 10
            p += 1
        if opening:
            n_tags += 1
            n_images += tag == image_tag
            if n_tags <= 100:
                skeleton = (skeleton ^ np.uint64(tag)) * FNV_PRIME
            if _among(tag, hidden_tags):
                i = _skip_to_close(html, i, tag)
    return p, n_tags, n_images, np.int64(mixed(skeleton)) if n_tags else np.int64(0)
