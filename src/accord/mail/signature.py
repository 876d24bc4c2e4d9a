"""What is kept of a mail: a row of hashes, numbers and sketches of fixed size (about 700 bytes), not the mail.

Words and addresses cannot be read from it, only compared (common ones can be guessed and checked, so it is no
anonymisation). `MARKS`, `NUMBERS` and `SETS` name the columns.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from accord.exceptions import InputError
from accord.forms import array, record
from accord.kernels.mail.pairs import N_PADDED, SUBJECT, Signatures, finish_row
from accord.kernels.mail.text import COUNTS, HASHES, N_BIGRAMS, N_BINS, N_WORDS, Sketches, scan_text
from accord.mail.message import Message, parse

IDF_BUCKETS = 1 << 14
MAX_DISTINCT = 1024  # distinct words of a mail that are listed
MARKS = (
    "sender", "sender domain", "sender local part", "sender name", "reply-to", "reply-to domain", "return-path domain",
    "message-id domain", "message-id shape", "subject", "subject shape", "mailer", "content type", "charset",
    "transfer encoding", "MIME structure", "header order", "body words", "first words", "last words", "first link host",
    "first link path", "HTML skeleton", "attachment", "attachment type", "attachment name", "list", "signing domain",
    "boundary shape", "time zone",
)  # fmt: skip
# Differences are measured on these scales: a difference of logarithms, or of shares, that counts as 1.
NUMBERS = {
    "message size": math.log(4), "header size": math.log(2), "headers": math.log(2), "received lines": 4.0,
    "recipients": math.log(8), "parts": math.log(3), "text size": math.log(2), "words": math.log(2),
    "distinct words": math.log(2), "lines": math.log(3), "numbers": math.log(4), "links": math.log(4),
    "link hosts": math.log(4), "HTML tags": math.log(4), "images": math.log(4), "attachments": math.log(3),
    "attachment size": math.log(4), "subject size": math.log(3), "capitals": 0.2, "digits": 0.2, "punctuation": 0.2,
    "exclamations": 0.02, "currency signs": 0.02, "foreign letters": 0.2, "word length": 2.0,
}  # fmt: skip
SETS = ("link hosts", "link paths", "attachments", "header names", "subject words")

_DIGITS, _LETTERS = re.compile(rb"[0-9]+"), re.compile(rb"[a-zA-Z\x80-\xff]+")
_WORD = re.compile(rb"[\w\x80-\xff]+")
_ZONE = re.compile(rb"[+-]\d{4}")
_DKIM_DOMAIN = re.compile(rb";\s*d=([^;\s]+)")
_SCALES = np.array(list(NUMBERS.values()))
_FIRST_SHARE = list(NUMBERS).index("capitals")  # from here on numbers are shares, before they are counts
_IS_COUNT = (np.arange(len(NUMBERS)) < _FIRST_SHARE) & (np.array(list(NUMBERS)) != "received lines")
_N_WORDS = COUNTS.index("words")


class Signature(NamedTuple):
    """One mail: a row of `Signatures`, and its words for a spam filter."""

    row: Signatures  # of one row
    words: np.ndarray  # hashes of the distinct words, uint32, sorted
    counts: np.ndarray  # how often each occurs
    n_words: int
    has_other_evidence: bool  # links or attachments


Mail = bytes | bytearray | memoryview | Message | Signature


def empty_signatures(n: int) -> Signatures:
    """Room for so many mails."""
    return Signatures(
        np.zeros((n, len(MARKS)), np.uint32),
        np.zeros((n, N_PADDED), np.uint8),
        np.zeros((n, N_PADDED), np.float32),
        np.zeros((n, N_WORDS), np.int8),
        np.zeros((n, N_BIGRAMS), np.int8),
        np.zeros((n, N_BINS), np.uint8),
        np.zeros((n, N_BINS), np.uint8),
        np.zeros((n, 2 * len(SETS)), np.uint64),
        np.zeros((n, SUBJECT), np.uint8),
        np.zeros((n, 3), np.uint8),
    )


# What signatures must be: kernels trust their sizes.
ROWS = record(
    "Signatures",
    **{
        name: array(column.dtype.str[1:], "size", column.shape[1])
        for name, column in empty_signatures(0)._asdict().items()
    },
)
_LONGEST = np.array([N_BINS, N_BINS, SUBJECT], np.uint8)
_COLUMNS = [(column.dtype, column.shape[1]) for column in empty_signatures(0)]


def are_sound(rows: Signatures) -> bool:
    """Whether the columns of signatures agree with each other."""
    marks, lengths = rows.marks, rows.lengths
    tags = np.zeros_like(rows.tags)
    tags[:, : marks.shape[1]] = np.where(marks, marks % 254 + 1, 0)
    return bool(
        np.array_equal(rows.tags, tags)
        and np.array_equal(lengths[:, 0], np.count_nonzero(rows.single, axis=1))
        and np.array_equal(lengths[:, 1], np.count_nonzero(rows.triples, axis=1))
        and (lengths[:, 2] <= SUBJECT).all()
    )


def stack(signatures: list[Signature]) -> Signatures:
    """The rows of several signatures in one."""
    if not signatures:
        return empty_signatures(0)
    try:
        rows = Signatures(*(np.concatenate(columns) for columns in zip(*(s.row for s in signatures))))
    except (TypeError, ValueError) as error:
        raise InputError(f"signatures of different sizes ({error}); make them by sign()") from error
    _check_rows(rows, len(signatures), "the signatures")
    return rows


def checked(mail: Signature, where: str) -> Signature:
    """A signature whose sizes kernels may trust; errors name `where` it stands."""
    _check_rows(mail.row, 1, where)
    for name, dtype in (("words", np.uint32), ("counts", np.int64)):
        found = getattr(mail, name)
        if not isinstance(found, np.ndarray) or found.dtype != dtype or found.shape != (mail.words.size,):
            raise InputError(f"{where}.{name} is not a list of numbers of {np.dtype(dtype)}, one per word; use sign()")
    return mail


def _check_rows(rows: Signatures, n: int, where: str) -> None:
    for column, (dtype, width), name in zip(rows, _COLUMNS, Signatures._fields):
        if not isinstance(column, np.ndarray) or column.dtype != dtype or column.shape != (n, width):
            found = f"{column.shape} of {column.dtype}" if isinstance(column, np.ndarray) else type(column).__name__
            raise InputError(f"{where}: {name} is {found}; expected {(n, width)} of {dtype}; make signatures by sign()")
    if (rows.lengths > _LONGEST).any():
        raise InputError(f"{where}: lengths are larger than what they are of; make signatures by sign()")


def flat_idf() -> np.ndarray:
    """Weights that count every word alike."""
    return np.ones(IDF_BUCKETS, np.float32)


def sign(mail: bytes | Message, idf: np.ndarray | None = None) -> Signature:
    """The signature of a mail.

    Parameters
    ----------
    mail : bytes or Message
    idf : ndarray of float32 (16384,), optional
        Weight of each hash bucket of words (`MailPairs` learns them); default: all 1.
    """
    if idf is not None and not (isinstance(idf, np.ndarray) and idf.shape == (IDF_BUCKETS,) and idf.dtype.kind == "f"):
        raise InputError(f"idf must be an array of {IDF_BUCKETS} numbers, as MailPairs learns it in idf_")
    message = mail if isinstance(mail, Message) else parse(mail)
    row = empty_signatures(1)
    text = np.frombuffer(message.text, np.uint8)
    tallies, hashes = np.zeros(len(COUNTS), np.int64), np.zeros(len(HASHES), np.int64)
    words, counts = np.empty(MAX_DISTINCT, np.uint32), np.empty(MAX_DISTINCT, np.int64)
    sketches = Sketches(row.words[0], row.bigrams[0], row.single[0], row.triples[0])
    n = scan_text(text, flat_idf() if idf is None else idf, sketches, tallies, hashes, words, counts)
    counted = tallies.tolist()
    subject = message.subject.lower().encode("utf-8", "replace")
    row.subject[0, : len(subject)] = np.frombuffer(subject[:SUBJECT], np.uint8)
    row.lengths[0, 2] = min(len(subject), SUBJECT)
    hosts = {host for host, _ in message.links}
    row.sets[0] = _bit_maps(message, hosts)
    marks = np.array(_marks(message, subject, hashes.tolist()), np.uint32)
    finish_row(row, marks, np.array(_numbers(message, counted, len(hosts)), np.float64), _IS_COUNT, _SCALES)
    evidence = bool(message.links or message.attachments)
    return Signature(row, words[:n].copy(), counts[:n].copy(), counted[_N_WORDS], evidence)


def as_signature(mail: Mail, where: str, idf: np.ndarray | None = None) -> Signature:
    """The signature of a mail in any form; errors name `where` it stands."""
    if isinstance(mail, Signature):
        return mail
    if isinstance(mail, (bytes, bytearray, memoryview, Message)):
        return sign(mail if isinstance(mail, Message) else bytes(mail), idf)
    raise InputError(f"{where} is a {type(mail).__name__}; expected the bytes of a mail, a Message or a Signature")


def _shape(text: bytes) -> bytes:
    """Runs of letters and of digits by one character each: what stays when words and numbers vary."""
    return _LETTERS.sub(b"a", _DIGITS.sub(b"0", text))


def _domain(address: bytes) -> bytes:
    return address.rpartition(b"@")[2].strip(b" <>") if b"@" in address else b""


def _marks(message: Message, subject: bytes, hashes: list[int]) -> list[int]:
    header = message.headers.get
    sender, reply_to = message.sender.encode("utf-8", "replace"), message.reply_to.encode("utf-8", "replace")
    number = header(b"message-id", b"")[:200].lower()
    boundary = header(b"content-type", b"").partition(b"boundary")[2][:80]
    signed = _DKIM_DOMAIN.search(b";" + header(b"dkim-signature", b""))
    zone = _ZONE.search(header(b"date", b""))
    links, attachments = message.links, message.attachments
    values = [
        sender, _domain(sender), sender.partition(b"@")[0], message.sender_name.encode("utf-8", "replace"),
        reply_to, _domain(reply_to), _domain(header(b"return-path", b"").lower()),
        _domain(number), _shape(number), subject, _shape(subject),
        header(b"x-mailer", b"") or header(b"user-agent", b""), message.content_type.encode(), message.charset.encode(),
        message.encoding.encode(), message.structure.encode("utf-8", "replace"), b",".join(message.header_names),
        links[0][0] if links else b"", links[0][1] if links else b"",
        attachments[0].type.encode("utf-8", "replace") if attachments else b"",
        attachments[0].name.encode("utf-8", "replace") if attachments else b"",
        header(b"list-id", b"") or header(b"list-unsubscribe", b"")[:40], signed[1].lower() if signed else b"",
        _shape(boundary), zone[0] if zone else b"",
    ]  # fmt: skip
    marks = [(crc32(value) or 1) if value else 0 for value in values]  # 0 is kept for what is not there
    checksum = (attachments[0].checksum or 1) if attachments else 0
    return [*marks[:17], *hashes, *marks[17:19], message.skeleton, checksum, *marks[19:]]


def _numbers(message: Message, tallies: list[int], n_hosts: int) -> tuple[float, ...]:
    characters, letters, capitals, digits, punctuation, exclamations, currency = tallies[:7]
    foreign, lines, words, distinct, numbers = tallies[7:]
    size = max(characters, 1)
    header = message.headers.get
    return (
        message.n_bytes, message.header_bytes, len(message.header_names), message.header_names.count(b"received"),
        header(b"to", b"").count(b"@") + header(b"cc", b"").count(b"@"), message.n_parts, characters, words, distinct,
        lines, numbers, len(message.links), n_hosts, message.n_tags, message.n_images, len(message.attachments),
        sum(a.size for a in message.attachments), len(message.subject), capitals / max(letters, 1), digits / size,
        punctuation / size, exclamations / size, currency / size, foreign / size, letters / max(words, 1),
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _bit(item: bytes) -> int:
    return 1 << (crc32(item) & 127)


def _bit_maps(message: Message, hosts: set[bytes]) -> list[int]:
    subject = _WORD.findall(message.subject.lower().encode("utf-8", "replace"))
    paths = {path for _, path in message.links}
    files = [b"%d" % a.checksum for a in message.attachments]
    out = []
    for items in (hosts, paths, files, set(message.header_names), subject):
        bits = 0
        for item in items:
            bits |= _bit(item)
        out += [bits & 0xFFFFFFFFFFFFFFFF, bits >> 64]
    return out
