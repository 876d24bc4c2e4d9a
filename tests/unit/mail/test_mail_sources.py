"""Where mail comes from: the generator, and files of all kinds."""

import io
import mailbox
import tarfile
from collections import Counter

import pytest

from accord.datasets.formats.mail import iter_mail
from accord.exceptions import FormatError, InputError
from accord.mail import MailGenerator, parse


def test_generator():
    mails = list(MailGenerator(random_state=4).stream(1000))
    assert mails == list(MailGenerator(random_state=4).stream(1000))
    assert mails != list(MailGenerator(random_state=5).stream(1000))
    spam = sum(mail.is_spam for mail in mails)
    assert 600 < spam < 720
    sizes = Counter(mail.batch for mail in mails)
    assert all(size == 1 for batch, size in sizes.items() if batch.startswith("ham"))
    assert sum(size > 10 for size in sizes.values()) > 10
    times = [mail.received for mail in mails]
    assert times == sorted(times)
    for mail in mails:
        assert mail.is_spam == mail.batch.startswith("spam")
        message = parse(mail.raw)
        assert "@" in message.sender
        assert message.subject
        assert len(message.body.split()) >= 3
        assert not any(sign in message.body + message.subject for sign in ("<name>", "<link>", "\x01"))


def test_campaigns_vary():
    """No batch of spam is made of identical copies."""
    texts = {}
    for mail in MailGenerator(random_state=4).stream(600):
        texts.setdefault(mail.batch, []).append(parse(mail.raw).text)
    large = [batch for batch, found in texts.items() if len(found) >= 8]
    assert large
    assert all(len(set(texts[batch])) > 1 for batch in large)


@pytest.mark.parametrize(
    "arguments", [{"spam": 0.9, "newsletters": 0.2}, {"spam": -1}, {"batch_size": 0}, {"active": 0}]
)
def test_bad_generators(arguments):
    with pytest.raises(InputError):
        MailGenerator(**arguments)


RAWS = [b"Subject: %d\n\nFrom here\nto there %d\n" % (k, k) for k in range(3)]


@pytest.fixture
def places(tmp_path):
    """The same mails as mbox, Maildir, folder and archive."""
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    box = mailbox.mbox(tmp_path / "box")
    maildir = mailbox.Maildir(tmp_path / "maildir")
    with tarfile.open(tmp_path / "archive.tar.xz", "w:xz") as archive:
        for k, raw in enumerate(RAWS):
            box.add(raw)
            maildir.add(raw)
            (tmp_path / "folder" / "sub" / f"{k}.eml").write_bytes(raw)
            info = tarfile.TarInfo(f"mails/{k}.eml")
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
    box.flush()
    box.close()
    return tmp_path


@pytest.mark.parametrize("name", ["box", "maildir", "folder", "archive.tar.xz"])
def test_reading(places, name):
    found = list(iter_mail(places / name))
    assert sorted(raw for _, raw in found) == RAWS
    assert len({name for name, _ in found}) == 3


def test_single_messages_and_streams(places):
    assert list(iter_mail(places / "folder" / "sub" / "0.eml")) == [("0.eml", RAWS[0])]
    with open(places / "box", "rb") as stream:
        assert [raw for _, raw in iter_mail(stream)] == RAWS
    assert list(iter_mail(io.BytesIO(b""))) == []


def test_what_cannot_be_read(places):
    with pytest.raises(InputError, match="is no file or folder"):
        list(iter_mail(places / "nothing"))
    content = (places / "archive.tar.xz").read_bytes()
    (places / "cut.tar.xz").write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match="cannot be read"):
        list(iter_mail(places / "cut.tar.xz"))
