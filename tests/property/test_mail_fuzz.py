"""Any bytes are mail: nothing raises, everything stays within its bounds."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from mail_mutations import mutated

from accord.mail.detector import BatchDetector
from accord.mail.generator import MailGenerator
from accord.mail.message import MAX_ATTACHMENTS, MAX_LINKS, MAX_TEXT, parse
from accord.mail.signature import sign

PIECES = [
    b"Content-Type: multipart/mixed; boundary=A\n", b"Content-Type: text/html; charset=utf-16\n", b"--A\n", b"--A--\n",
    b"Content-Transfer-Encoding: base64\n", b"Content-Transfer-Encoding: quoted-printable\n", b"\n", b"\n\n", b"\r",
    b"\r\n", b"Subject: =?utf-8?b?", b"=?x?q?=FF?=", b"From: a@b\n", b"<script>", b"</script", b"<!--", b"-->",
    b"&#x110000;", b"&amp;", b"http://", b"=\n", b"\x00", b"\xff\xfe", b"word ", b": ",
    b"Content-Type: message/rfc822\n\n", b"a" * 3000,
]  # fmt: skip
raws = st.one_of(st.binary(max_size=2000), st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join))


def check(raw):
    message = parse(raw)
    signature = sign(message)
    assert len(message.text) <= MAX_TEXT
    assert len(message.links) <= MAX_LINKS
    assert len(message.attachments) <= MAX_ATTACHMENTS
    message.body.encode("utf-8")
    assert np.isfinite(signature.row.numbers).all()
    assert np.linalg.norm(signature.row.words[0].astype(float)) < 127 + 8
    return signature


@given(raw=raws)
@settings(max_examples=120)
def test_any_bytes(raw):
    check(raw)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_mutated_mail(seed):
    chosen = random.Random(seed)
    mails = [mail.raw for mail in MailGenerator(random_state=chosen.randrange(50)).stream(3)]
    check(mutated(chosen.choice(mails), mails, chosen))


@given(mails=st.lists(raws, min_size=1, max_size=30), window=st.integers(1, 10))
@settings(max_examples=25)
def test_detector_takes_anything(mails, window):
    detector = BatchDetector(window=window)
    for raw in mails:
        answer = detector.assign_detailed(raw)
        assert answer.size >= 1
        assert answer.is_new == (answer.size == 1)
    assert len(detector) == min(len(mails), window)
    assert 1 <= detector.n_batches <= window
