"""Damaged mail: bytes flipped, cut, repeated, swapped with other mails, encodings and boundaries broken."""

WORDS = [
    b"\n\n", b"\n", b"\r\n", b"--", b"=", b"boundary=", b"charset=", b"base64", b"quoted-printable", b"multipart/mixed",
    b"<", b">", b"&#", b"=?", b"?=", b"\x00", b"\xff", b";", b":", b'"', b"http://",
]  # fmt: skip


def mutated(raw, others, r):
    """A mail with one to eight damages; ``r`` is a random.Random."""
    data = bytearray(raw)
    for _ in range(r.randint(1, 8)):
        kind = r.randrange(7)
        at = r.randrange(len(data) + 1)
        to = min(len(data), at + r.randrange(1, 200))
        if kind == 0 and data:
            data[at % len(data)] = r.randrange(256)
        elif kind == 1:
            del data[at:to]
        elif kind == 2:
            data[at:at] = data[at:to] * r.randint(1, 20)
        elif kind == 3:
            data[at:at] = r.choice(WORDS) * r.randint(1, 5)
        elif kind == 4:
            other = r.choice(others)
            start = r.randrange(len(other) + 1)
            data[at:to] = other[start : start + r.randrange(500)]
        elif kind == 5:
            del data[at:]
        else:
            word, by = r.choice(WORDS), r.choice(WORDS)
            data = bytearray(bytes(data).replace(word, by, r.randint(1, 10)))
    return bytes(data)
