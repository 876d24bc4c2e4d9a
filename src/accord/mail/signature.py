"""What is kept of a mail: a row of hashes, numbers and sketches of fixed size (about 700 bytes), not the mail.

Words and addresses cannot be read from it, only compared (common ones can be guessed and checked, so it is no
anonymisation). `MARKS`, `NUMBERS` and `SETS` name the columns.
"""

from __future__ import annotations

import math
import re
from array import array as plain_array
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from accord.exceptions import InputError
from accord.forms import array, record
from accord.kernels.mail.fields import CRC, Fields, sign_row
from accord.kernels.mail.pairs import N_PADDED, SUBJECT, Signatures
from accord.kernels.mail.text import N_BIGRAMS, N_BINS, N_WORDS
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

_ZONE = re.compile(rb"[+-]\d{4}")
_DKIM_DOMAIN = re.compile(rb";\s*d=([^;\s]+)")
_SCALES = np.array(list(NUMBERS.values()))
_FIRST_SHARE = list(NUMBERS).index("capitals")  # from here on numbers are shares, before they are counts
_IS_COUNT = (np.arange(len(NUMBERS)) < _FIRST_SHARE) & (np.array(list(NUMBERS)) != "received lines")


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
    words, counts = np.empty(MAX_DISTINCT, np.uint32), np.empty(MAX_DISTINCT, np.int64)
    n, n_words = sign_row(
        np.frombuffer(message.text, np.uint8), flat_idf() if idf is None else idf, _fields(message), _about(message),
        _IS_COUNT, _SCALES, CRC, row, words, counts,
    )  # fmt: skip
    evidence = bool(message.links or message.attachments)
    return Signature(row, words[:n].copy(), counts[:n].copy(), n_words, evidence)


def as_signature(mail: Mail, where: str, idf: np.ndarray | None = None) -> Signature:
    """The signature of a mail in any form; errors name `where` it stands."""
    if isinstance(mail, Signature):
        return mail
    if isinstance(mail, (bytes, bytearray, memoryview, Message)):
        return sign(mail if isinstance(mail, Message) else bytes(mail), idf)
    raise InputError(f"{where} is a {type(mail).__name__}; expected the bytes of a mail, a Message or a Signature")


def _fields(message: Message) -> Fields:
    """Fields of a mail (see `accord.kernels.mail.fields.FIELDS`), links and attachments."""
    header, attachments = message.headers.get, message.attachments
    signed = (
        _DKIM_DOMAIN.search(b";" + header(b"dkim-signature", b"")) if b"dkim-signature" in message.headers else None
    )
    zone = _ZONE.search(header(b"date", b""))
    texts = (
        message.sender, message.sender_name, message.reply_to, message.content_type, message.charset, message.encoding,
        message.structure, message.subject.lower(), *(attachments[0][:2] if attachments else ("", "")),
    )  # fmt: skip
    sender, name, reply_to, kind, charset, encoding, structure, subject, file_type, file_name = [
        text.encode("utf-8", "replace") for text in texts
    ]
    fields = (
        sender, name, reply_to, header(b"return-path", b"").lower(), header(b"message-id", b"")[:200].lower(), subject,
        header(b"x-mailer") or header(b"user-agent", b""), kind, charset, encoding, structure,
        b"\n".join(message.header_names), file_type, file_name,
        header(b"list-id") or header(b"list-unsubscribe", b"")[:40], signed[1].lower() if signed else b"",
        header(b"content-type", b"").partition(b"boundary")[2][:80], zone[0] if zone else b"",
        *chain.from_iterable(message.links), *(b"%d" % one.checksum for one in attachments),
    )  # fmt: skip
    starts = plain_array("q", accumulate(map(len, fields), initial=0))
    return Fields(np.frombuffer(b"".join(fields), np.uint8), np.frombuffer(starts, np.int64))


def _about(message: Message) -> np.ndarray:
    """Numbers about a mail, but not about its text: those of `NUMBERS`, and two hashes."""
    header, attachments = message.headers.get, message.attachments
    numbers = (
        message.n_bytes, message.header_bytes, len(message.header_names), message.header_names.count(b"received"),
        header(b"to", b"").count(b"@") + header(b"cc", b"").count(b"@"), message.n_parts, len(message.links),
        len({host for host, _ in message.links}), message.n_tags, message.n_images, len(attachments),
        sum(one.size for one in attachments), len(message.subject), message.skeleton,
        (attachments[0].checksum or 1) if attachments else 0,
    )  # fmt: skip
    return np.frombuffer(plain_array("q", numbers), np.int64)
