"""What is kept of a mail: a row of hashes, numbers and sketches of fixed size (about 700 bytes), not the mail.

Words and addresses cannot be read from it, only compared (common ones can be guessed and checked, so it is no
anonymisation). `MARKS`, `NUMBERS` and `SETS` name the columns.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple
from zlib import crc32

import numpy as np

from accord.decoders.mail import N_PADDED, SUBJECT, Signatures
from accord.decoders.mail_text import COUNTS, HASHES, N_BIGRAMS, N_BINS, N_WORDS, Sketches, scan_text
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

_DIGITS, _LETTERS, _WORD = re.compile(r"\d+"), re.compile(r"[^\W\d_]+"), re.compile(r"\w+")
_ZONE = re.compile(rb"[+-]\d{4}")
_DKIM_DOMAIN = re.compile(rb";\s*d=([^;\s]+)")
_SCALES = np.array(list(NUMBERS.values()))


class Signature(NamedTuple):
    """One mail: a row of `Signatures`, and its words for a spam filter."""

    row: Signatures  # of one row
    words: np.ndarray  # hashes of the distinct words, uint32, sorted
    counts: np.ndarray  # how often each occurs
    n_words: int
    has_other_evidence: bool  # links or attachments


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


def stack(signatures: list[Signature]) -> Signatures:
    """The rows of several signatures in one."""
    if not signatures:
        return empty_signatures(0)
    return Signatures(*(np.concatenate(columns) for columns in zip(*(s.row for s in signatures))))


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
    message = mail if isinstance(mail, Message) else parse(mail)
    row = empty_signatures(1)
    text = np.frombuffer(message.text, np.uint8)
    tallies, hashes = np.zeros(len(COUNTS), np.int64), np.zeros(len(HASHES), np.int64)
    words, counts = np.empty(MAX_DISTINCT, np.uint32), np.empty(MAX_DISTINCT, np.int32)
    sketches = Sketches(row.words[0], row.bigrams[0], row.single[0], row.triples[0])
    n = scan_text(text, flat_idf() if idf is None else idf, sketches, tallies, hashes, words, counts)
    hosts = {host for host, _ in message.links}
    _put_marks(row.marks[0], message, hashes)
    row.tags[0, : len(MARKS)] = np.where(row.marks[0] > 0, row.marks[0] % 254 + 1, 0)
    _put_numbers(row.numbers[0, : len(NUMBERS)], message, tallies, len(hosts))
    _put_sets(row.sets[0], message, hosts)
    subject = message.subject.lower().encode("utf-8", "replace")[:SUBJECT]
    row.subject[0, : len(subject)] = np.frombuffer(subject, np.uint8)
    row.lengths[0] = np.count_nonzero(row.single), np.count_nonzero(row.triples), len(subject)
    evidence = bool(message.links or message.attachments)
    order = np.argsort(words[:n])
    return Signature(row, words[:n][order], counts[:n][order].astype(np.int64), int(tallies[9]), evidence)


def _hash(value: str | bytes) -> int:
    """A 32-bit hash; 0 is kept for what is not there."""
    if not value:
        return 0
    return crc32(value.encode("utf-8", "replace") if isinstance(value, str) else value) or 1


def _shape(text: str) -> str:
    """Runs of letters and of digits by one character each: what stays when words and numbers vary."""
    return _LETTERS.sub("a", _DIGITS.sub("0", text))


def _domain(address: str) -> str:
    return address.rpartition("@")[2].strip(" <>") if "@" in address else ""


def _put_marks(out: np.ndarray, message: Message, hashes: np.ndarray) -> None:
    header = message.headers.get
    path = header(b"return-path", b"").decode("utf-8", "replace").lower()
    number = header(b"message-id", b"").decode("utf-8", "replace").lower()[:200]
    boundary = header(b"content-type", b"").partition(b"boundary")[2].decode("utf-8", "replace")[:80]
    signed = _DKIM_DOMAIN.search(b";" + header(b"dkim-signature", b""))
    zone = _ZONE.search(header(b"date", b""))
    subject = message.subject.lower()
    first_attachment = message.attachments[0] if message.attachments else None
    values: tuple[str | bytes, ...] = (
        message.sender, _domain(message.sender), message.sender.partition("@")[0], message.sender_name,
        message.reply_to, _domain(message.reply_to), _domain(path),
        _domain(number), _shape(number), subject, _shape(subject),
        header(b"x-mailer", b"") or header(b"user-agent", b""), message.content_type, message.charset,
        message.encoding, message.structure, b",".join(message.header_names),
    )  # fmt: skip
    later: tuple[str | bytes, ...] = (
        message.links[0][0] if message.links else b"", message.links[0][1] if message.links else b"",
    )  # fmt: skip
    last: tuple[str | bytes, ...] = (
        first_attachment.type if first_attachment else "", first_attachment.name if first_attachment else "",
        header(b"list-id", b"") or header(b"list-unsubscribe", b"")[:40], signed[1].lower() if signed else b"",
        _shape(boundary), zone[0] if zone else b"",
    )  # fmt: skip
    checksum = (first_attachment.checksum or 1) if first_attachment else 0
    marks = [*map(_hash, values), *(int(h) for h in hashes), *map(_hash, later)]
    marks += [message.skeleton, checksum, *map(_hash, last)]
    out[:] = marks


def _put_numbers(out: np.ndarray, message: Message, tallies: np.ndarray, n_hosts: int) -> None:
    t = dict(zip(COUNTS, tallies.tolist()))
    log = math.log1p
    size = max(t["characters"], 1)
    recipients = message.headers.get(b"to", b"").count(b"@") + message.headers.get(b"cc", b"").count(b"@")
    out[:] = (
        log(message.n_bytes), log(message.header_bytes), log(len(message.header_names)),
        message.header_names.count(b"received"), log(recipients), log(message.n_parts), log(t["characters"]),
        log(t["words"]), log(t["distinct"]), log(t["lines"]), log(t["numbers"]), log(len(message.links)),
        log(n_hosts), log(message.n_tags), log(message.n_images), log(len(message.attachments)),
        log(sum(a.size for a in message.attachments)), log(len(message.subject)),
        t["capitals"] / max(t["letters"], 1), t["digits"] / size, t["punctuation"] / size, t["exclamations"] / size,
        t["currency"] / size, t["foreign"] / size, t["letters"] / max(t["words"], 1),
    )  # fmt: skip
    out /= _SCALES


def _put_sets(out: np.ndarray, message: Message, hosts: set[bytes]) -> None:
    members = (
        hosts,
        {path for _, path in message.links},
        {str(a.checksum).encode() for a in message.attachments},
        set(message.header_names),
        {w.encode("utf-8", "replace") for w in _WORD.findall(message.subject.lower())},
    )
    for s, items in enumerate(members):
        bits = 0
        for item in items:
            bits |= 1 << (crc32(item) & 127)
        out[2 * s] = bits & 0xFFFFFFFFFFFFFFFF
        out[2 * s + 1] = bits >> 64
