"""Charsets of mail: what is decoded, what is not, and that neither trips over anything nor leaves anything behind."""

import base64
import encodings
import random

from accord.mail import parse
from accord.mail.charsets import _CODECS, as_utf8, codec_of
from accord.mail.message import decode_header

NAMES = [
    (b"utf-8", "utf_8"),
    (b"UTF8", "utf_8"),
    (b"utf_8", "utf_8"),
    (b'"us-ascii"', "ascii"),
    (b"'iso-8859-15'", "iso8859_15"),
    (b"ISO_8859-1:1987", "latin_1"),
    (b"latin1", "latin_1"),
    (b"Windows-1251", "cp1251"),
    (b"windows1252", "cp1252"),
    (b"cp-1252", "cp1252"),
    (b"KOI8-R", "koi8_r"),
    (b"ks_c_5601-1987", "euc_kr"),
    (b"GB_2312-80", "gb2312"),
    (b"Shift-JIS", "shift_jis"),
    (b"ISO-2022-JP", "iso2022_jp"),
    (b"hz-gb-2312", "hz"),
    (b"macintosh", "mac_roman"),
    (b"ibm850", "cp850"),
    (b"tis-620", "tis_620"),
    (b"", ""),
    (b"x-unknown", ""),
    (b"punycode", ""),
    (b"idna", ""),
    (b"unicode_escape", ""),
    (b"hex", ""),
    (b"zlib", ""),
    (b"undefined", ""),
    (b"\xff\xfe", ""),
    (b"utf-8" + b"-" * 2000, ""),
]


def test_names():
    assert [(charset, codec_of(charset)) for charset, _ in NAMES] == NAMES


def test_texts_of_every_charset():
    letters = "The quick brown fox +-/&{}!, 0123 éßЖαקع語字한ไ"
    for codec in _CODECS:
        codec_here = "utf-8" if codec == "ascii" else codec  # what is declared ASCII may be UTF-8
        text = "".join(c for c in letters if c.encode(codec_here, "ignore").decode(codec_here) == c)
        encoded = text.encode(codec_here)
        assert as_utf8(encoded, codec.encode()).decode() == text, codec
        raw = b"Content-Type: text/plain; charset=" + codec.upper().replace("_", "-").encode() + b"\n"
        body = parse(raw + b"Content-Transfer-Encoding: base64\n\n" + base64.b64encode(encoded)).body
        assert body == text, codec
        word = b"=?" + codec.encode() + b"?b?" + base64.b64encode(encoded) + b"?="
        assert decode_header(word) == " ".join(text.split()), codec


def test_what_is_nothing_else_is_latin_1():
    for charset in (b"", b"utf-8", b"us-ascii", b"nonsense", b"punycode", b"unicode_escape"):
        assert as_utf8(b"caf\xe9 \\x41", charset).decode() == "café \\x41", charset
        assert as_utf8(b"plain-ascii", charset) == b"plain-ascii", charset


def test_codecs_of_python_that_are_not_for_mail_are_not_used():
    """One mail made the detector busy for seconds: its parts take quadratic time."""
    body = ("<style>" + "\x80" * 300 + "a" * 90).encode("punycode").replace(b"<style>", b"<style>\xe9")
    part = b"--B\nContent-Type: text/html; charset=punycode\n\n" + body + b"\n"
    raw = b"From: a@b.c\nContent-Type: multipart/mixed; boundary=B\n\n" + part * 8 + b"--B--\n"
    assert parse(raw).body == parse(raw.replace(b"punycode", b"x-unknown")).body


def test_names_are_not_remembered():
    """Python keeps every name that it was ever asked for."""
    parse(b"Subject: =?x-warm?q?=E9?=\nContent-Type: text/plain; charset=x-warm\n\n\xe9")
    before = len(encodings._cache)
    for k in range(50):
        name = b"x-%d-" % k + b"n" * 20
        parse(b"Subject: =?" + name + b"?q?=E9?=\nContent-Type: text/plain; charset=" + name * 40 + b"\n\n\xe9")
        parse(b"Content-Type: text/plain; charset=" + name + b"\n\n\xe9")
    assert len(encodings._cache) == before


def hostile(n):
    rng = random.Random(0)
    yield rng.randbytes(n)
    yield bytes(rng.choices(b"+-~{}\x1b$B(J)C\x0e\x0f!AZaz/&,0 \n", k=n))
    for unit in (b"+", b"+2AA", b"+AGE", b"\x1b", b"\x1b$", b"\x1b$B!", b"\x1b$)C\x0e", b"~", b"~{", b"~{!", b"\xff",
                 b"\xd8\x00", b"\x00\xd8", b"\xe0\x80"):  # fmt: skip
        yield (unit * n)[:n]


def test_every_charset_takes_hostile_bytes():
    """More than is decoded of a part: what takes more than linear time would not end."""
    for codec in _CODECS:
        if not codec.startswith(("iso8859", "cp1", "cp4", "cp7", "cp8")):  # tables of single bytes
            for content in hostile(50_000):
                assert len(as_utf8(content, codec.encode())) <= 4 * len(content), codec
