"""A mail's row of `Signatures` in one pass: from its text, the fields of its headers, and numbers about it.

Marks are CRC-32 of fields, or of parts and shapes of fields; sets are bit maps of such checksums.
"""

from typing import NamedTuple

import numpy as np

from accord.kernels.compiling import ONE, helper, kernel
from accord.kernels.mail.pairs import N_PADDED, SUBJECT
from accord.kernels.mail.text import COUNTS, HASHES, Sketches, scan

# What `sign_row` takes of a mail, in this order; behind these as many hosts and paths of links as there are, one after
# the other, and checksums of attachments, as text.
FIELDS = (
    "sender", "sender name", "reply-to", "return-path", "message-id", "subject", "mailer", "content type", "charset",
    "transfer encoding", "MIME structure", "header names", "attachment type", "attachment name", "list",
    "signing domain", "boundary", "time zone",
)  # fmt: skip
# Where they stand: an error in this file, not in the mail, if they are others.
_SENDER, _NAME, _REPLY_TO, _RETURN, _NUMBER, _SUBJECT, _MAILER, _TYPE, _CHARSET = range(9)
_ENCODING, _STRUCTURE, _HEADERS, _FILE_TYPE, _FILE_NAME, _LIST, _SIGNED, _BOUNDARY, _ZONE = range(9, 18)
N_FIELDS = len(FIELDS)
_N_COUNTS, _N_HASHES = len(COUNTS), len(HASHES)


def _crc_table() -> np.ndarray:
    """CRC-32 of each byte alone."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0xEDB88320), table >> 1).astype(np.uint32)
    return table


CRC = _crc_table()


class Fields(NamedTuple):
    """Fields of a mail, one after the other."""

    text: np.ndarray  # uint8
    starts: np.ndarray  # int64, one more than fields


@helper
def _next(crc, c, table):
    return np.uint32(table[(crc ^ np.uint32(c)) & np.uint32(255)] ^ (crc >> np.uint32(8)))


@helper
def _checksum(text, begin, end, table):
    crc = np.uint32(0xFFFFFFFF)
    for i in range(begin, end):
        crc = _next(crc, text[i], table)
    return np.uint32(crc ^ np.uint32(0xFFFFFFFF))


@helper
def _mark(text, begin, end, table):
    """The checksum, 0 for nothing and for nothing else."""
    if begin >= end:
        return np.uint32(0)
    return max(_checksum(text, begin, end, table), np.uint32(1))


@helper
def _list_mark(text, begin, end, table):
    """The mark of lines, with commas between them instead of line ends."""
    if begin >= end:
        return np.uint32(0)
    crc = np.uint32(0xFFFFFFFF)
    for i in range(begin, end):
        crc = _next(crc, text[i] if text[i] != 10 else np.uint8(44), table)
    return max(np.uint32(crc ^ np.uint32(0xFFFFFFFF)), np.uint32(1))


@helper
def _shape(text, begin, end, table):
    """The mark of what stays when each run of letters becomes ``a``, each run of digits ``0``."""
    crc, before = np.uint32(0xFFFFFFFF), np.uint8(0)
    for i in range(begin, end):
        c = text[i]
        if 48 <= c <= 57:
            c = np.uint8(48)
        elif 65 <= c <= 90 or 97 <= c <= 122 or c >= 128:
            c = np.uint8(97)
        if c != before or (c != 48 and c != 97):
            crc = _next(crc, c, table)
        before = c
    return max(np.uint32(crc ^ np.uint32(0xFFFFFFFF)), np.uint32(1)) if begin < end else np.uint32(0)


@helper
def _domain(text, begin, end, table):
    """The mark of what stands behind the last @ of an address, without blanks and brackets."""
    at = end - 1
    while at >= begin and text[at] != 64:
        at -= 1
    if at < begin:
        return np.uint32(0)
    at += 1
    while at < end and (text[at] == 32 or text[at] == 60 or text[at] == 62):
        at += 1
    while end > at and (text[end - 1] == 32 or text[end - 1] == 60 or text[end - 1] == 62):
        end -= 1
    return _mark(text, at, end, table)


@helper
def _local_part(text, begin, end, table):
    """The mark of what stands before the first @."""
    at = begin
    while at < end and text[at] != 64:
        at += 1
    return _mark(text, begin, at, table)


@helper
def _put_bit(crc, sets, s):
    bit = np.uint64(crc & np.uint32(127))
    sets[2 * s + (1 if bit >= 64 else 0)] |= np.uint64(1) << (bit & np.uint64(63))


@helper
def _put_items(text, begin, end, ends_item, table, sets, s):
    """Bits of the items of a text, between bytes that end one."""
    start = begin
    for i in range(begin, end + 1):
        if i == end or ends_item[text[i]]:
            if i > start:
                _put_bit(_checksum(text, start, i, table), sets, s)
            start = i + 1


@helper
def _fill_marks(fields, n_links, text_hashes, skeleton, checksum, table, marks):
    """The marks in the order of `accord.mail.signature.MARKS`."""
    text, at = fields.text, fields.starts
    marks[0] = _mark(text, at[_SENDER], at[_SENDER + 1], table)
    marks[1] = _domain(text, at[_SENDER], at[_SENDER + 1], table)
    marks[2] = _local_part(text, at[_SENDER], at[_SENDER + 1], table)
    marks[3] = _mark(text, at[_NAME], at[_NAME + 1], table)
    marks[4] = _mark(text, at[_REPLY_TO], at[_REPLY_TO + 1], table)
    marks[5] = _domain(text, at[_REPLY_TO], at[_REPLY_TO + 1], table)
    marks[6] = _domain(text, at[_RETURN], at[_RETURN + 1], table)
    marks[7] = _domain(text, at[_NUMBER], at[_NUMBER + 1], table)
    marks[8] = _shape(text, at[_NUMBER], at[_NUMBER + 1], table)
    marks[9] = _mark(text, at[_SUBJECT], at[_SUBJECT + 1], table)
    marks[10] = _shape(text, at[_SUBJECT], at[_SUBJECT + 1], table)
    for j in range(_MAILER, _HEADERS):
        marks[11 + j - _MAILER] = _mark(text, at[j], at[j + 1], table)
    marks[16] = _list_mark(text, at[_HEADERS], at[_HEADERS + 1], table)
    for j in range(_N_HASHES):
        marks[17 + j] = np.uint32(text_hashes[j])
    if n_links:
        marks[20] = _mark(text, at[N_FIELDS], at[N_FIELDS + 1], table)
        marks[21] = _mark(text, at[N_FIELDS + 1], at[N_FIELDS + 2], table)
    marks[22], marks[23] = skeleton, checksum
    for j in range(_FILE_TYPE, _SIGNED + 1):
        marks[24 + j - _FILE_TYPE] = _mark(text, at[j], at[j + 1], table)
    marks[28] = _shape(text, at[_BOUNDARY], at[_BOUNDARY + 1], table)
    marks[29] = _mark(text, at[_ZONE], at[_ZONE + 1], table)


@helper
def _fill_sets(fields, n_links, table, sets):
    """The bit maps in the order of `accord.mail.signature.SETS`."""
    text, at = fields.text, fields.starts
    sets[:] = 0
    for j in range(at.size - 1 - N_FIELDS):
        crc = _checksum(text, at[N_FIELDS + j], at[N_FIELDS + j + 1], table)
        _put_bit(crc, sets, 2 if j >= 2 * n_links else j & 1)
    ends_name, ends_word = np.zeros(256, np.bool_), np.empty(256, np.bool_)
    ends_name[10] = True
    for c in range(256):
        ends_word[c] = not (48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122 or c == 95 or c >= 128)
    _put_items(text, at[_HEADERS], at[_HEADERS + 1], ends_name, table, sets, 3)
    _put_items(text, at[_SUBJECT], at[_SUBJECT + 1], ends_word, table, sets, 4)


@helper
def _fill_numbers(about, counts, is_count, scales, out):
    """Numbers in the order of `accord.mail.signature.NUMBERS`: counts by their logarithms, all on their scales."""
    numbers = np.zeros(N_PADDED)
    size, letters = max(counts[0], ONE), counts[1]
    for m in range(6):
        numbers[m] = about[m]
    numbers[6], numbers[7], numbers[8] = counts[0], counts[9], counts[10]
    numbers[9], numbers[10] = counts[8], counts[11]
    for m in range(6, 13):
        numbers[m + 5] = about[m]
    numbers[18] = counts[2] / max(letters, ONE)
    numbers[19], numbers[20], numbers[21] = counts[3] / size, counts[4] / size, counts[5] / size
    numbers[22], numbers[23] = counts[6] / size, counts[7] / size
    numbers[24] = letters / max(counts[9], ONE)
    for m in range(scales.size):
        out[m] = (np.log1p(numbers[m]) if is_count[m] else numbers[m]) / scales[m]


@kernel
def sign_row(text, idf, fields, about, is_count, scales, table, row, word_keys, word_counts):
    """Fill the one ``row`` of a mail, and its distinct words. Returns their number, and that of all words.

    ``fields`` are those of `FIELDS`, then hosts and paths of links and checksums of attachments; ``about`` has the
    numbers of `accord.mail.signature.NUMBERS` that are not about the text, the number of links, and the first
    attachment's checksum and the HTML skeleton's hash. ``table`` is `CRC`.
    """
    counts, hashes = np.empty(_N_COUNTS, np.int64), np.empty(_N_HASHES, np.int64)
    sketches = Sketches(row.words[0], row.bigrams[0], row.single[0], row.triples[0])
    n = scan(text, idf, sketches, counts, hashes, word_keys, word_counts)
    n_links = about[6]
    marks = row.marks[0]
    _fill_sets(fields, n_links, table, row.sets[0])
    _fill_marks(fields, n_links, hashes, np.uint32(about[13]), np.uint32(about[14]), table, marks)
    _fill_numbers(about, counts, is_count, scales, row.numbers[0])
    for m in range(marks.size):
        row.tags[0, m] = marks[m] % 254 + 1 if marks[m] else 0
    begin = fields.starts[_SUBJECT]
    n_subject = min(fields.starts[_SUBJECT + 1] - begin, SUBJECT)
    for i in range(n_subject):
        row.subject[0, i] = fields.text[begin + i]
    row.lengths[0, 0], row.lengths[0, 1] = np.count_nonzero(row.single), np.count_nonzero(row.triples)
    row.lengths[0, 2] = n_subject
    return n, counts[9]
