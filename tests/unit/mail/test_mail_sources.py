"""Where mail comes from: the generator, and files of all kinds."""

import bz2
import gzip
import io
import lzma
import mailbox
import os
import tarfile
import threading
import zipfile
from collections import Counter

import pytest
from row_tables import each_row

from accord.exceptions import FormatError, InputError
from accord.mail.generator import MailGenerator
from accord.mail.message import parse
from accord.mail.sources import iter_mail, iter_sources


def test_generator():
    mails = list(MailGenerator(random_state=4).stream(1000))
    assert mails[:200] == list(MailGenerator(random_state=4).stream(200))
    assert mails[:200] != list(MailGenerator(random_state=5).stream(200))
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


@each_row(
    "arguments", [{"spam": 0.9, "newsletters": 0.2}, {"spam": -1}, {"batch_size": 0}, {"active": 0},
                  {"batch_size": float("inf")}, {"spam": float("nan")}]
)  # fmt: skip
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


@each_row("name", ["box", "maildir", "folder", "archive.tar.xz"])
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


@each_row(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_files(places, ending, pack):
    packed = pack((places / "box").read_bytes())
    folder = places / ending
    folder.mkdir()
    (folder / f"box.mbox.{ending}").write_bytes(packed)
    for source in (folder / f"box.mbox.{ending}", folder):
        assert [raw for _, raw in iter_mail(source)] == RAWS
    (places / f"cut.{ending}").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FormatError, match=rf"cut\.{ending}: cannot be read"):
        list(iter_mail(places / f"cut.{ending}"))


def test_an_mbox_in_an_archive(places):
    with tarfile.open(places / "boxes.tar", "w") as archive:
        archive.add(places / "box", "mail/box")
        one = b"From a@b Thu Jun  1 00:00:00 2006\n" + RAWS[0]
        info = tarfile.TarInfo("mail/one")
        info.size = len(one)
        archive.addfile(info, io.BytesIO(one))
    found = list(iter_mail(places / "boxes.tar"))
    assert found == [*((f"mail/box:{k + 1}", raw) for k, raw in enumerate(RAWS)), ("mail/one", one)]


def test_pipes(places):
    pipe = places / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=((places / "box").read_bytes(),))
    writer.start()
    assert [raw for _, raw in iter_mail(pipe)] == RAWS
    writer.join()
    assert list(iter_mail("/dev/null")) == []


def test_files_that_vanish_or_cannot_be_read_are_skipped(places):
    folder = places / "folder" / "sub"
    (folder / "3.eml").symlink_to("/proc/self/mem")  # opens, but cannot be read
    (folder / "4.eml").write_bytes(RAWS[0])

    def read():
        for name, _ in iter_mail(places / "folder"):
            if name == "sub/0.eml":
                (folder / "1.eml").rename(folder / ".moved")
            yield name

    with pytest.warns(UserWarning, match="skipped|could not be read") as warned:
        found = list(read())
    assert found == ["sub/0.eml", "sub/2.eml", "sub/4.eml"]
    assert [str(warning.message) for warning in warned] == [
        f"skipped {folder / '1.eml'}: No such file or directory",
        f"skipped {folder / '3.eml'}: cannot be read: Input/output error",
        f"2 files in {places / 'folder'} could not be read",
    ]


def test_names_tell_sources_apart(places, monkeypatch):
    monkeypatch.chdir(places)
    (places / "other").mkdir()
    (places / "other" / "box").write_bytes((places / "box").read_bytes())

    def names(*sources):
        return [name for name, _ in iter_sources(sources)]

    assert names("box") == names("./box", "./box")[:3] == ["box:1", "box:2", "box:3"]
    assert names("box", "other/box") == [f"{name}:{k}" for name in ("box", "other/box") for k in (1, 2, 3)]
    assert names("box", "folder/") == [*names("box"), *(f"folder/sub/{k}.eml" for k in range(3))]
    assert names("folder") == [f"sub/{k}.eml" for k in range(3)]


def test_zip(places):
    path = places / "mail.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder") if hasattr(archive, "mkdir") else archive.writestr("folder/", "")
        archive.writestr("folder/1.eml", b"Subject: one\n\ntext")
        archive.writestr("box", (places / "box").read_bytes())
        archive.writestr("folder/.DS_Store", b"x")
        archive.writestr("__MACOSX/folder/._1.eml", b"x")
    assert [name for name, _ in iter_mail(path)] == ["folder/1.eml", "box:1", "box:2", "box:3"]
    assert dict(iter_mail(path))["folder/1.eml"] == b"Subject: one\n\ntext"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match=r"mail\.zip: the archive cannot be read"):
        list(iter_mail(path))
    attached = places / "attached.eml"  # a message that ends like an archive is one message
    attached.write_bytes(b"Subject: zip\n\n" + content)
    assert [name for name, _ in iter_mail(attached)] == ["attached.eml"]
