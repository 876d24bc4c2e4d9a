"""Generated mail as bytes: headers, MIME parts and encodings of a sender's look."""

from __future__ import annotations

import base64
import binascii
import html
import random
import re
from dataclasses import dataclass, field
from email.utils import formatdate


@dataclass
class Look:
    """How the mails of a sender are wrapped."""

    kind: str  # plain, html, both
    charset: str
    encoding: str  # 7bit, quoted-printable, base64
    mailer: str
    extra: list[str] = field(default_factory=list)  # further header lines
    hops: int = 1  # lines that say where a mail came by
    attachment: tuple[str, str, bytes] | None = None  # type, file name, content
    varies: bool = False  # charset, encoding and mailer are drawn for every copy


def wrap(
    name: str, address: str, to: list[str], subject: str, body: list[str], look: Look, now: float, r: random.Random
) -> bytes:
    """The bytes of a mail."""
    host = address.rpartition("@")[2]
    number = "".join(r.choices("0123456789abcdef", k=16))
    date = formatdate(now)
    recipients = ", ".join(f"{person.lower().replace(' ', '.')}@receiver.example" for person in to)
    headers = [
        *(_received(host, now, r) for _ in range(look.hops)),
        f"Message-ID: <{number}@{host}>", f"Date: {date}", f'From: "{name}" <{address}>',
        f"To: {recipients}", f"Subject: {_encoded(subject, look.charset)}",
        "MIME-Version: 1.0", *([f"X-Mailer: {look.mailer}"] if look.mailer else []), *look.extra,
    ]  # fmt: skip
    plain = "\n".join(body) + "\n"
    rich = "<html><body>" + "".join(f"<p>{_rich(line)}</p>\n" for line in body) + "</body></html>\n"
    parts = [_part("text/plain", plain, look)] if look.kind != "html" else []
    parts += [_part("text/html", rich, look)] if look.kind != "plain" else []
    content = parts[0] if len(parts) == 1 else _multipart("alternative", parts, r)
    if look.attachment:
        content = _multipart("mixed", [content, _attached(*look.attachment)], r)
    return ("\n".join(headers) + "\n" + content).encode("latin-1", "replace")


def obfuscate(text: str, share: float, r: random.Random) -> str:
    """Break up some words: ``m0rtgage``, ``mortgáge``, ``mo rtgage``, ``mort.gage``. Links stay as they are."""
    if not share:
        return text
    words = text.split(" ")
    for i, word in enumerate(words):
        if len(word) > 4 and "/" not in word and r.random() < share:
            at = r.randint(1, len(word) - 2)
            kind = r.randrange(4)
            swapped = word.replace("o", "0", 1).replace("i", "1", 1)
            accented = word.replace("a", "á", 1).replace("e", "è", 1)
            words[i] = (swapped, accented, f"{word[:at]} {word[at:]}", f"{word[:at]}.{word[at:]}")[kind]
    return " ".join(words)


def _received(host: str, now: float, r: random.Random) -> str:
    place = f"mx.{host} [10.{r.randrange(256)}.{r.randrange(256)}.{r.randrange(256)}]"
    number = f"{r.randrange(1 << 32):08x}"
    return f"Received: from mx.{host} ({place})\n\tby mail.receiver.example with ESMTP id {number}; {formatdate(now)}"


def _multipart(kind: str, parts: list[str], r: random.Random) -> str:
    boundary = "----=_Part_" + "".join(r.choices("0123456789", k=10))
    content = "".join(f"--{boundary}\n{part}\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n{content}--{boundary}--\n'


def _attached(kind: str, name: str, content: bytes) -> str:
    encoded = base64.encodebytes(content).decode()
    return (
        f'Content-Type: {kind}; name="{name}"\nContent-Transfer-Encoding: base64\n'
        f'Content-Disposition: attachment; filename="{name}"\n\n{encoded}'
    )


def _encoded(subject: str, charset: str) -> str:
    """A subject as it stands in the header; senders that declare UTF-8 often encode it."""
    if charset != "utf-8":
        return subject
    return f"=?utf-8?b?{base64.b64encode(subject.encode()).decode()}?="


def _rich(line: str) -> str:
    escaped = html.escape(line, quote=False)
    return re.sub(r"(http://\S+)", r'<a href="\1">\1</a>', escaped).replace("\n", "<br>\n")


def _part(kind: str, text: str, look: Look) -> str:
    """Headers and content of a text part."""
    content = text.encode(look.charset, "replace")
    text = content.decode("latin-1")
    if look.encoding == "base64":
        text = base64.encodebytes(content).decode()
    elif look.encoding == "quoted-printable":
        text = binascii.b2a_qp(content).decode()
    return f"Content-Type: {kind}; charset={look.charset}\nContent-Transfer-Encoding: {look.encoding}\n\n{text}"
