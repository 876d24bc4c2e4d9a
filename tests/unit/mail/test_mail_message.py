"""Parsing of mail: well-formed mail like the standard library, the rest somehow, nothing fails."""

import base64
import email
import email.policy

import pytest
from row_tables import each_row

from accord.exceptions import InputError
from accord.mail.generator import MailGenerator
from accord.mail.headers import decode_header
from accord.mail.message import MAX_BYTES, MAX_TEXT, parse


def plain_structure(part):
    kind = part.get_content_type()
    if part.is_multipart():
        return f"{kind}({','.join(plain_structure(p) for p in part.get_payload())})"
    return kind


def plain_texts(message):
    """Texts of the plain text parts, as the standard library decodes them."""
    for part in message.walk():
        if part.get_content_type() == "text/plain" and part.get_content_disposition() != "attachment":
            yield part.get_payload(decode=True).decode(part.get_content_charset() or "latin-1", "replace")


def test_like_the_standard_library():
    for mail in MailGenerator(random_state=3, batch_size=3).stream(150):
        expected = email.message_from_bytes(mail.raw)
        found = parse(mail.raw)
        assert found.structure == plain_structure(expected)
        assert found.subject == str(email.header.make_header(email.header.decode_header(expected["subject"])))
        name, address = email.utils.parseaddr(expected["from"])
        assert (found.sender, found.sender_name) == (address, name.lower())
        for text in plain_texts(expected):
            assert " ".join(text.split()) in " ".join(found.body.split())
        attached = [p for p in expected.walk() if p.get_content_disposition() == "attachment"]
        assert [a.type for a in found.attachments] == [p.get_content_type() for p in attached]


@each_row(
    ("value", "expected"),
    [
        (b"plain", "plain"),
        (b"=?utf-8?q?a_b=C3=A9?=", "a bé"),
        (b"=?UTF-8?B?w6k=?= =?UTF-8?B?w6k=?=", "éé"),
        (b"=?utf-8?B?w6k=?= x =?utf-8?B?w6k=?=", "é x é"),
        (b"=?utf-8*en?q?a?=", "a"),
        (b"=?nonsense?q?caf=E9?=", "café"),
        (b"=?utf-8?b?broken!!base64?=", None),
        (b"=?utf-8?q?unfinished", "=?utf-8?q?unfinished"),
        (b"raw \xe9 latin", "raw é latin"),
        (b"", ""),
    ],
)
def test_encoded_headers(value, expected):
    found = decode_header(value)
    assert expected is None or found == expected


def test_html():
    raw = (
        b"Content-Type: text/html\n\n<html><head><style>p {color: red}</style><script>alert('x < y')</script></head>"
        b"<!-- hidden > words --><p>mort<b></b>gage</p><P>5 &lt; 6 &amp; &#101;&#x20AC;&nbsp;&unknown;</P>a < b"
        b"<img src=x><br"
    )
    message = parse(raw)
    assert message.body.split() == ["mortgage", "5", "<", "6", "&", "e€", "&unknown;", "a", "<", "b"]
    assert message.n_images == 1
    assert message.skeleton != 0
    assert parse(raw.replace(b"mort", b"war")).skeleton == message.skeleton
    assert parse(raw.replace(b"<p>", b"<div>")).skeleton != message.skeleton


def test_links():
    raw = b"\nsee HTTP://User:pw@Shop.Example:80/Path?q=1 and https://b.example. <http://c.example/x/y>"
    assert parse(raw).links == [(b"shop.example", b"/path"), (b"b.example.", b""), (b"c.example", b"/x/y")]


def test_nested_parts_and_attachments():
    inner = (
        b"Content-Type: multipart/alternative; boundary=AA\n\n"
        b"--AA\n\none\n--AA\nContent-Type: text/html\n\n<p>two\n--AA--\n"
    )
    picture = (
        b'Content-Type: image/gif; name="=?utf-8?q?p=C3=A9.gif?="\nContent-Transfer-Encoding: base64\n\n'
        + base64.b64encode(b"gif" * 50)
    )
    raw = (
        b'Content-Type: multipart/mixed;\n boundary="A"\n\nignored\n--A\n'
        + inner
        + b"\n--A\n"
        + picture
        + b"\n--A--\nepilogue"
    )
    message = parse(raw)
    assert message.structure == "multipart/mixed(multipart/alternative(text/plain,text/html),image/gif)"
    assert message.body.split() == ["one", "two"]
    assert [(a.type, a.name) for a in message.attachments] == [("image/gif", "pé.gif")]
    assert parse(raw.replace(b"\n", b"\r\n")).attachments == message.attachments


@each_row(
    "raw",
    [
        b"",
        b"\n",
        b"\r\n\r\n",
        b"no header at all",
        b"From me\n\nbody",
        b"Subject: only a header",
        b"Content-Type: multipart/mixed; boundary=x\n\nno boundary here, only text",
        b"Content-Type: multipart/mixed\n\nno boundary named",
        b"Content-Type: text/plain; charset=utf-7\n\n+AGE-",
        b"Content-Type: text/plain; charset=hex\n\nzz",
        b"Content-Type: text/plain; charset=\xff\xfe\n\n\x80\x81",
        b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!a",
        b"Content-Type: /;;;===\n\nbody",
        b"Content-Type: message/rfc822\n\nContent-Type: message/rfc822\n\nSubject: x\n\ntext",
        b": : :\n\n:",
        b"\x00" * 1000,
        b"From: <<<>>>@@\nReply-To: =?\n\n",
    ],
)
def test_odd_mail(raw):
    message = parse(raw)
    assert message.n_bytes == len(raw)
    assert isinstance(message.body, str)


def test_text_of_mail_without_structure():
    assert parse(b"just some words\nin two lines").body == "just some words\nin two lines"
    assert parse(b"Subject: x\nnot a header\nmore").body == "not a header\nmore"
    assert parse(b"Content-Type: multipart/mixed; boundary=x\n\nonly text").body == "only text"
    assert parse(b"From ann Mon\nSubject: x\n\ntext").subject == "x"


def hostile():
    nested = b""
    for k in range(200):
        nested += b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (k, k)
    parts = b"Content-Type: multipart/mixed; boundary=A\n\n" + b"--A\nContent-Type: text/html\n\n<p>x\n" * 100_000
    return {
        "nested": nested + b"\n\ntext",
        "parts": parts,
        "prefixes": b"Content-Type: multipart/mixed; boundary=A\n\n" + b"--AB\n\nx\n" * 100_000,
        "header": b"X: " + b"a\n " * 500_000,
        "headers": b"A: b\n" * 500_000,
        "encoded": b"Subject: " + b"=?utf-8?q?x?= " * 100_000 + b"\n\n",
        "open tags": b"Content-Type: text/html\n\n" + b"<" * 1_000_000,
        "scripts": b"Content-Type: text/html\n\n" + b"<script>" * 200_000,
        "entities": b"Content-Type: text/html\n\n" + b"&#12345678" * 200_000,
        "links": b"\n" + b"http://a/ " * 200_000,
        "quoted": b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=" * 2_000_000,
        "base64": b"Content-Transfer-Encoding: base64\n\n" + b"=A" * 1_000_000,
        "attachment": b"Content-Type: image/gif\n\n" + bytes(range(256)) * 40_000,
        "address": b"From: " + b"<" * 500_000 + b"@\n\n",
        "parameter": b"Content-Type: text/plain" + b"; charset" * 200_000 + b"\n\n",
    }


@each_row("name", sorted(hostile()))
def test_hostile_mail(name):
    """Anything that takes more than linear time would not end."""
    assert len(parse(hostile()[name]).text) <= MAX_TEXT


def test_padding_changes_nothing():
    """A message is what its first 256 kB say, its size included."""
    raw = b"Subject: x\n\n" + b"some words to fill a mail with " * (MAX_BYTES // 31)
    raw += b" " * (MAX_BYTES - len(raw))
    assert parse(raw + b"more" * 100_000) == parse(raw)
    assert parse(raw).subject == "x"


def test_bad_input():
    with pytest.raises(InputError, match=r"raw must be the bytes of a message, got str"):
        parse("text")
