"""``accord mail`` end to end: what it reads and writes, what it says about mistakes, hostile mail in reports."""

import csv
import html.parser
import io
import json
import subprocess
import tarfile
from importlib import import_module

import pytest
from cli_helpers import ok, process, run
from mail_helpers import MilterClient, simple_message, wait_until

from accord.cli.terminal import print_table
from accord.mail.config import MailSettings, read_settings
from accord.mail.detector import BatchDetector
from accord.mail.generator import MailGenerator

N = 40
HOSTILE = "</title><script>alert(1)</script> \"'><img src=x onerror=alert(2)> \u202egnp.exe"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`stream.mbox` of generated mail with `stream.mbox.tsv`, the same as a Maildir and a folder."""
    path = tmp_path_factory.mktemp("mail")
    for name, kind in (("stream.mbox", "mbox"), ("box", "maildir"), ("files", "eml")):
        ok("mail", "generate", path / name, "--messages", N, "--format", kind, "--batch-size", 10)
    with tarfile.open(path / "files.tar.gz", "w:gz") as archive:
        archive.add(path / "files", "files")
    return path


def batches_of(text):
    return [json.loads(line)["batch"] for line in text.splitlines()]


def test_all_formats_hold_the_same_mail(folder):
    expected = batches_of(ok("mail", "detect", folder / "stream.mbox", "--json", "-"))
    assert len(expected) == N
    assert 2 < len(set(expected)) < N
    for name in ("box", "files", "files.tar.gz"):
        assert batches_of(ok("mail", "detect", folder / name, "--json", "-")) == expected
    piped = ok("mail", "detect", "--json", "-", stdin=(folder / "stream.mbox").read_bytes())
    assert batches_of(piped) == expected
    one = ok("mail", "detect", "--json", "-", stdin=simple_message("one", "only this message is there, no other"))
    assert len(batches_of(one)) == 1


def test_batches_are_those_of_the_generator(folder):
    with open(folder / "stream.mbox.tsv", newline="") as stream:
        truth = {row["id"]: row["batch"] for row in csv.DictReader(stream, delimiter="\t")}
    rows = [json.loads(line) for line in ok("mail", "detect", folder / "stream.mbox", "--json", "-").splitlines()]
    assert [row["name"] for row in rows] == list(truth)
    pairs = [(a, b) for k, a in enumerate(rows) for b in rows[:k]]
    right = [(a["batch"] == b["batch"]) == (truth[a["name"]] == truth[b["name"]]) for a, b in pairs]
    assert sum(right) / len(right) > 0.97


def test_table_csv_and_report(folder, tmp_path):
    out = ok("mail", "detect", folder / "stream.mbox", "--csv", tmp_path / "m.csv", "--html", tmp_path / "r.html",
             "--top", 2)  # fmt: skip
    assert f"{N} messages in" in out
    assert "more are not shown" in out
    with open(tmp_path / "m.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == N
    page = (tmp_path / "r.html").read_text()
    assert "Why they were joined" in page
    assert "same " in page  # names of features
    largest = max({row["batch"] for row in rows}, key=lambda batch: sum(row["batch"] == batch for row in rows))
    assert f'id="{largest}"' in page


def hostile_message(k):
    from email.header import Header

    subject = Header(HOSTILE, "utf-8").encode(maxlinelen=0)
    body = f"{HOSTILE} <iframe src='//evil.example'></iframe> enough words to be compared with others, number {k}"
    sender = f'"{HOSTILE[:20]}" <"><script>x</script>"@evil.example>'
    return f"From: {sender}\nSubject: {subject}\nDate: rubbish <b>\n\n{body}\n".encode()


class Page(html.parser.HTMLParser):
    """Tags, attributes and text of a page as a browser sees them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def test_hostile_mail_is_harmless_in_the_report(tmp_path):
    mail = tmp_path / "mail"
    mail.mkdir()
    for k in range(3):
        (mail / f"<script>{k}&quot;.eml").write_bytes(hostile_message(k))
    ok("mail", "detect", mail, "--html", tmp_path / "r.html", "--csv", tmp_path / "m.csv")
    page = Page((tmp_path / "r.html").read_text())
    known = {"html", "head", "meta", "title", "style", "body", "h1", "h3", "p", "details", "summary", "span", "section",
             "div", "table", "tr", "td", "pre", "i"}  # fmt: skip
    assert page.tags <= known
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "id", "class", "style"}
    assert "<script>alert(1)</script>" in page.text  # as text
    assert "\u202e" not in page.text  # turns the direction of what follows
    assert "default-src 'none'" in (tmp_path / "r.html").read_text()


def test_cells_are_no_formulas(tmp_path):
    (tmp_path / "m.eml").write_bytes(simple_message("=HYPERLINK(1)", "enough words to be compared with others"))
    ok("mail", "detect", tmp_path / "m.eml", "--csv", tmp_path / "m.csv")
    assert "'=HYPERLINK(1)" in (tmp_path / "m.csv").read_text()


def test_a_state_is_gone_on_with(folder, tmp_path):
    mails = sorted((folder / "files").iterdir())
    parts = [tmp_path / "first", tmp_path / "second"]
    for part, chosen in zip(parts, (mails[: N // 2], mails[N // 2 :])):
        part.mkdir()
        for mail in chosen:
            (part / mail.name).write_bytes(mail.read_bytes())
    whole = batches_of(ok("mail", "detect", folder / "files", "--json", "-"))
    state = ("--state", tmp_path / "state", "--json", "-")
    assert [batch for part in parts for batch in batches_of(ok("mail", "detect", part, *state))] == whole
    # a state that cannot be used is put aside, and mail is looked at all the same
    damaged = (tmp_path / "state").read_bytes()[:1000]
    (tmp_path / "state").write_bytes(damaged)
    assert batches_of(ok("mail", "detect", parts[0], *state)) == whole[: N // 2]
    assert (tmp_path / "state.unused").read_bytes() == damaged


def test_explain(folder, tmp_path):
    message = tmp_path / "message.eml"
    rows = [json.loads(line) for line in ok("mail", "detect", folder / "files", "--json", "-").splitlines()]
    member = next(row for row in rows if not row["is_new"])
    message.write_bytes((folder / "files" / member["name"]).read_bytes())
    found = json.loads(ok("mail", "explain", message, "--among", folder / "stream.mbox", "--json"))
    assert found["joins"] is True
    assert found["batch"] == member["batch"]
    assert sum(found["contributions"].values()) == pytest.approx(found["similarity"])
    text = ok("mail", "explain", message, "--among", folder / "stream.mbox", "--top", 3)
    assert "joins it" in text
    assert next(iter(found["contributions"])) in text
    assert "nothing to compare with" in run("mail", "explain", message).output
    assert "expected a single one" in run("mail", "explain", folder / "stream.mbox", "--among", folder / "box").output
    assert "a batch of its own" in ok("mail", "explain", "--among", folder / "box", stdin=b"From: a@b\n\nthanks\n")


@pytest.fixture
def dated(tmp_path):
    """An mbox of six offers of June 2006, among them a message with the date that is asked for."""

    def write(date):
        start = b"From x@y Thu Jun  1 00:00:00 2006\n"
        offer = b"From: a%d@b.example\nDate: Sun, 11 Jun 2006 04:%02d:00 +0000\nSubject: offer\n\nWe are accepting "
        offer += b"your mortgage application, fill out http://x.example/%d now please\n\n"
        other = b"From: eve@c.example\n" + date + b"Subject: lunch\n\nShall we have lunch after the meeting today?\n\n"
        mails = [offer % (k, k, k) for k in range(6)]
        (tmp_path / "dated.mbox").write_bytes(b"".join(start + mail for mail in [*mails[:3], other, *mails[3:]]))
        (tmp_path / "next.eml").write_bytes(offer % (7, 7, 7))
        return tmp_path / "dated.mbox"

    return write


@pytest.mark.parametrize("date", [b"", b"Date: Tue, 19 Jan 2038 03:14:07 +0000\n", b"Date: 1 Jan 1990 00:00 +0000\n"])
def test_dates_do_not_empty_the_window(dated, date, tmp_path):
    path = dated(date)
    flags = ("--max-age", 3600)
    found = batches_of(ok("mail", "detect", path, "--json", "-", *flags, "--state", tmp_path / "state"))
    assert found == ["b1", "b1", "b1", "b2", "b1", "b1", "b1"]
    for window in (("--among", path, *flags), ("--state", tmp_path / "state")):
        told = json.loads(ok("mail", "explain", tmp_path / "next.eml", *window, "--json"))
        assert (told["batch"], told["joins"], told["n_members"]) == ("b1", True, 6)


def test_explain_with_the_settings_of_a_state(folder, tmp_path):
    message, state = tmp_path / "m.eml", ("--state", tmp_path / "state")
    message.write_bytes(simple_message("offer", "four words of text"))
    ok("mail", "detect", folder / "box", *state, "--window", 50, "--min-words", 2)
    assert json.loads(ok("mail", "explain", message, *state, "--json"))["short"] is False
    assert json.loads(ok("mail", "explain", message, *state, "--window", 50, "--json"))["short"] is False
    assert json.loads(ok("mail", "explain", message, *state, "--min-words", 5, "--json"))["short"] is True
    refused = run("mail", "explain", message, *state, "--window", 5000)
    assert refused.exit_code == 2
    assert "has a window of 50" in refused.output
    ok("mail", "train", "--generate", 40, "--method", "pairwise", "--model", tmp_path / "m.accord")
    refused = run("mail", "explain", message, *state, "--model", tmp_path / "m.accord")
    assert refused.exit_code == 2
    assert "was made with another" in refused.output


def test_train_and_use(folder, tmp_path):
    files = ("--model", tmp_path / "m.accord", "--spam-filter", tmp_path / "f.accord")
    known = ("--batches", folder / "stream.mbox.tsv", "--set-size", 13, "--method", "pairwise")
    assert "B-cubed F1" in ok("mail", "train", folder / "stream.mbox", *known, *files)
    used = ok("mail", "detect", folder / "box", *files, "--json", "-")
    rows = [json.loads(line) for line in used.splitlines()]
    assert all(isinstance(row["score"], float) for row in rows)
    assert len({row["batch"] for row in rows}) < N


def test_a_spam_filter_from_two_folders(tmp_path):
    """One command, and its filter tells the two kinds apart."""
    for mail in MailGenerator(random_state=5).stream(60):
        folder = tmp_path / ("junk" if mail.is_spam else "inbox")
        folder.mkdir(exist_ok=True)
        (folder / f"{len(list(folder.iterdir()))}.eml").write_bytes(mail.raw)
    flags = ("--spam", tmp_path / "junk", "--ham", tmp_path / "inbox", "--spam-filter", tmp_path / "f.accord")
    assert "weight of what batches say" in ok("mail", "train", *flags)
    for name in ("junk", "inbox"):
        used = ok("mail", "detect", tmp_path / name, "--spam-filter", tmp_path / "f.accord", "--json", "-")
        scores = [json.loads(line)["score"] for line in used.splitlines()]
        assert sum((score > 0) == (name == "junk") for score in scores) > 0.8 * len(scores)
    refused = run("mail", "train", *flags[:2], *flags[4:])
    assert refused.exit_code == 2
    assert "give --spam PATH and --ham PATH" in refused.output


def test_mistakes(folder, tmp_path):
    def complaint(*args):
        result = run("mail", *args)
        assert result.exit_code == 2
        return result.output

    assert "no file or folder" in complaint("detect", tmp_path / "nothing")
    assert "both" in complaint("detect", folder / "box", "--json", "-", "--csv", "-")
    assert "at least 1" in complaint("detect", folder / "box", "--window", 0)
    assert "nothing would be written" in complaint("train", folder / "box")
    assert "--generate N" in complaint("train", folder / "box", "--model", tmp_path / "m")
    table, model = tmp_path / "t.tsv", ("--model", tmp_path / "m")
    table.write_text("id\tother\nx\t1\n")
    assert "expected id and batch" in complaint("train", folder / "box", "--batches", table, "--model", tmp_path / "m")
    table.write_text("x\n")
    assert "line 1" in complaint("train", folder / "box", "--batches", table, "--model", tmp_path / "m")
    table.write_text("x\t1\n")
    assert "are listed in" in complaint("train", folder / "box", "--batches", table, "--model", tmp_path / "m")
    table.write_bytes(b"x\t1\n\xe9\t1\n")
    assert "t.tsv, line 2: byte 0xe9 is not valid utf-8" in complaint(
        "train", folder / "box", "--batches", table, *model
    )
    table.write_text("x\t1\ny\t" + 140_000 * "y" + "\n")
    limit = csv.field_size_limit(131_072)
    assert "t.tsv, line 2: --batches is no table" in complaint("train", folder / "box", "--batches", table, *model)
    csv.field_size_limit(limit)
    assert "is there already" in complaint("generate", folder / "box")
    (tmp_path / "new.tsv").write_text("mine")
    assert "new.tsv is there already" in complaint("generate", tmp_path / "new")
    assert (tmp_path / "new.tsv").read_text() == "mine"
    for size in ("inf", "nan", "0"):
        assert "batch" in complaint("generate", tmp_path / "other", "--batch-size", size)
    assert not list(tmp_path.glob("other*"))
    assert "no token" in complaint("serve", "--listen", "0.0.0.0:0")
    assert 'expected "host:port"' in complaint("milter", "--listen", "nowhere")


@pytest.mark.parametrize("flag", ["--json", "--csv", "--html", "--state"])
def test_outputs_are_checked_before_all_work(tmp_path, flag):
    mail = tmp_path / "mail"
    mail.mkdir()
    message = simple_message("one", "only this message is there, no other")
    (mail / "m.eml").write_bytes(message)
    (tmp_path / "link").hardlink_to(mail / "m.eml")

    def complaint(path, target):
        result = run("mail", "detect", path, flag, target)
        assert result.exit_code == 2
        return result.output

    for target in (mail / "m.eml", tmp_path / "link"):
        assert "would overwrite what is read" in complaint(mail / "m.eml", target)
    assert "whose files are read" in complaint(mail, mail / "new" if flag == "--state" else mail / "x")
    assert "there is no folder" in complaint(mail, tmp_path / "nowhere" / "x")
    assert "is a folder" in complaint(mail / "m.eml", mail)
    assert (mail / "m.eml").read_bytes() == message
    assert [path.name for path in mail.iterdir()] == ["m.eml"]


def test_the_report_on_standard_output(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = ok("mail", "detect", folder / "box", "--html", "-")
    assert page.startswith("<!DOCTYPE html>")
    assert page.endswith("</html>\n")
    assert not list(tmp_path.iterdir())
    assert "both" in run("mail", "detect", folder / "box", "--json", "-", "--html", "-").output
    assert "the file of --" in run("mail", "detect", folder / "box", "--json", "x", "--csv", "x").output


def test_the_table_is_printed_before_the_state_is_written(folder, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr("accord.mail.detector.BatchDetector.save", fail)
    result = run("mail", "detect", folder / "box", "--state", tmp_path / "state")
    assert result.exit_code == 2
    assert f"{N} messages in" in result.stdout
    assert "no room" in result.stderr


def test_names_of_files_that_are_no_utf8(tmp_path):
    mail = tmp_path / "mail"
    mail.mkdir()
    name = b"m\xff.eml".decode("utf-8", "surrogateescape")
    (mail / name).write_bytes(simple_message("one", "only this message is there, no other"))
    files = [tmp_path / ending for ending in ("json", "csv", "html")]
    ok("mail", "detect", mail, "--json", files[0], "--csv", files[1], "--html", files[2], "--min-size", 1)
    assert json.loads(files[0].read_text())["name"] == name
    assert "m\\udcff.eml" in files[1].read_text()
    assert files[2].read_text().startswith("<!DOCTYPE html>")


def test_files_that_cannot_be_read_are_named(folder, tmp_path):
    (tmp_path / "1.eml").write_bytes(simple_message("one", "only this message is there, no other"))
    (tmp_path / "2.eml").symlink_to("nothing")
    result = run("mail", "detect", tmp_path)
    assert result.exit_code == 0
    assert "1 message in 1 batch" in result.stdout
    assert "warning: skipped" in result.stderr
    assert "2.eml: No such file" in result.stderr
    assert "1 file in" in result.stderr


def test_the_reader_of_the_table_leaves(folder, tmp_path, monkeypatch):
    """As after `| head -1`; the state is written all the same. `test_cli_sequences` has a real pipe."""

    def leave(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr(import_module("accord.cli.mail.detect"), "print_table", leave)
    result = run("mail", "detect", folder / "box", "--state", tmp_path / "state")
    assert (result.exit_code, result.stderr) == (141, "")
    assert (tmp_path / "state").exists()


def test_a_broken_pipe_reaches_the_program(monkeypatch):
    """Rich would end with 1, instead of 141 as for output by other means."""

    class Left(io.StringIO):
        def write(self, _):
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Left())
    with pytest.raises(BrokenPipeError):
        print_table("", ["batch"], [["b1"]])


def test_settings_from_file_and_flags(tmp_path):
    path = tmp_path / "mail.toml"
    path.write_text(ok("mail", "config", "--window", 77, "--local-network", "10.0.0.0/8", "--tag-local"))
    read = read_settings(path)
    assert (read.detector.window, read.milter.local_networks, read.milter.tag_local) == (77, ("10.0.0.0/8",), True)
    again = read_settings(path, {"detector.window": 5, "milter.tag_local": None})
    assert (again.detector.window, again.milter.tag_local) == (5, True)
    path.write_text(ok("mail", "config"))
    assert read_settings(path) == MailSettings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("window = 1", "outside of the tables"),
        ("[detecto]\nwindow = 1", "no table [detecto]"),
        ("[detector]\nwindows = 1", "no setting 'windows'"),
        ("[detector]\nwindow = '1'", "a whole number"),
        ("[detector]\nwindow = true", "a whole number"),
        ("[limits]\nseconds = nan", "at least 0.001"),
        ("[limits]\nseconds = 0", "at least 0.001"),
        ("[milter]\nlocal_networks = '10.0.0.0/8'", "a list of strings"),
        ("[milter]\nlocal_networks = ['10.0.0.0/99']", "no network"),
        ("[milter]\nheader_prefix = 'X: '", "beginning of a header"),
        ("[http]\nlisten = '::1:80'", 'expected "host:port"'),
        ("[", "not a TOML file"),
    ],
)
def test_mistakes_in_settings(tmp_path, text, message):
    path = tmp_path / "mail.toml"
    path.write_text(text)
    result = run("mail", "config", "--config", path)
    assert result.exit_code == 2
    assert message in result.output


def test_a_milter_knows_the_mail_before_and_leaves_what_it_knows(tmp_path):
    """Also after a kill -9: what the last checkpoint knew."""
    raw = simple_message("offer", "enough words of a message that is sent again and again")
    state = tmp_path / "state"
    detector = BatchDetector(window=50)
    first = detector.assign(raw)
    detector.save(state)
    flags = ("--listen", f"unix:{tmp_path}/socket", "--state", state, "--window", 50, "--tag-local",
             "--checkpoint-messages", 1)  # fmt: skip
    program = process("mail", "milter", *flags, stderr=subprocess.PIPE, text=True)
    try:
        assert any("milter on" in line for line in program.stderr)
        before = state.stat().st_mtime_ns
        with MilterClient(f"{tmp_path}/socket") as client:
            (_, batch), (_, size) = client.message(raw).added
        wait_until(lambda: state.stat().st_mtime_ns > before)
    finally:
        program.kill()
        program.communicate()
    assert (batch, int(size)) == (first, 2)
    known = BatchDetector.restore(state).assign_detailed(raw)
    assert (known.batch, known.size) == (first, 3)


def test_nothing_to_read(tmp_path):
    result = run("mail", "detect", tmp_path)
    assert result.exit_code == 0
    assert not result.stdout.strip()
    assert "no messages found; expected mbox files" in result.stderr


def test_what_is_no_mail_is_told(folder, tmp_path):
    (tmp_path / "notes.txt").write_text("shopping list, no mail at all")
    result = run("mail", "detect", tmp_path)
    assert "1 message in 1 batch; none of at least 2" in result.stdout
    assert "1 message without any header, read as plain text: is that mail?" in result.stderr
