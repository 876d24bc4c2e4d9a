"""What a mail service keeps: a state of its own, ids that are never used again, and settings that make sense."""

import os
import socket
import subprocess
import sys

import pytest
from row_tables import each_row

from accord import CRF, MultiClass
from accord.exceptions import InputError
from accord.mail import service as service_module
from accord.mail.config import DetectorSettings, read_settings
from accord.mail.detector import BatchDetector
from accord.mail.milter import remove_stale_socket
from accord.mail.service import MailService, open_detector, open_filter, open_service
from accord.mail.spam import CollectiveSpamFilter
from accord.mail.state_file import claim_state, release_state
from accord.persistence import write_model

WINDOW = 5


@pytest.fixture
def settings(tmp_path):
    found = DetectorSettings(state=str(tmp_path / "state"), window=WINDOW)
    yield found
    release_state(found.state)


def short_mail(k):
    """A message with a batch of its own."""
    return b"From: a%d@example.org\n\nhi %d\n" % (k, k)


def assigned(service, n):
    """The batches of `n` more messages, without threads."""
    return [service._assign(short_mail(k), None).batch for k in range(n)]


def names(folder):
    return sorted(os.listdir(folder))


# -- sockets --------------------------------------------------------------------------------------------------------
def test_only_sockets_are_removed(tmp_path):
    kept = tmp_path / "letters"
    kept.write_text("text")
    (tmp_path / "link").symlink_to(kept)
    for name in ("letters", "link", "."):
        with pytest.raises(InputError, match="no socket; choose another path"):
            remove_stale_socket(str(tmp_path / name))
    assert names(tmp_path) == ["letters", "link"]
    assert kept.read_text() == "text"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "socket"))
    remove_stale_socket(str(tmp_path / "socket"))
    remove_stale_socket(str(tmp_path / "socket"))  # nothing is there
    assert names(tmp_path) == ["letters", "link"]


# -- ids ------------------------------------------------------------------------------------------------------------
def test_ids_are_not_used_again_if_the_state_was_empty(settings):
    open_service(settings).checkpoint()
    seen = [batch for _ in range(3) for batch in assigned(open_service(settings), 1)]  # each one is killed
    assert len(set(seen)) == 3


def test_ids_are_not_used_again_however_many_there_were(settings):
    settings.checkpoint_messages = 1
    service = open_service(settings)
    service.checkpoint()
    seen = assigned(service, 30) + assigned(open_service(settings), 30)
    assert len(set(seen)) == 60
    assert max(map(len, seen)) < 20  # and they stay short


def test_more_ids_are_reserved_by_a_checkpoint(settings, monkeypatch):
    monkeypatch.setattr(service_module, "ID_BLOCK", 4)
    seen = []
    for _ in range(3):
        service = open_service(settings)
        seen += assigned(service, 11)
        assert service.counters.checkpoints >= 2
    assert len(set(seen)) == 33


def test_ids_are_not_used_again_if_nothing_can_be_written(settings, monkeypatch):
    monkeypatch.setattr(service_module, "ID_BLOCK", 4)
    service = open_service(settings)
    service.checkpoint()
    monkeypatch.setattr(BatchDetector, "save", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    seen = assigned(service, 11)
    for _ in range(3):
        seen += assigned(open_service(settings), 11)
    assert len(set(seen)) == 44


def test_a_failed_message_counts_as_one_with_an_id(settings):
    class Broken:
        def assign_detailed(self, raw, received):
            raise RuntimeError

    service = MailService(Broken(), settings=settings)
    with pytest.raises(RuntimeError):
        service._assign(b"", None)
    assert service._assigned == 1


def test_stored_mail_is_numbered_without_gaps(settings):
    detector = open_detector(settings, "b")
    assert detector.assign(short_mail(1)) == "b1"
    detector.save(settings.state)
    assert open_detector(settings, "b").assign(short_mail(2)) == "b2"
    # but a service may have been killed
    os.unlink(settings.state)
    service = open_service(settings)
    service.checkpoint()
    assert not set(assigned(service, 3)) & {open_detector(settings, "b").assign(short_mail(4))}


def test_checkpoints_that_fail_are_not_repeated_with_every_message(settings):
    settings.checkpoint_messages = 3
    service = MailService(BatchDetector(window=WINDOW), settings=settings)
    service.detector.save = lambda _: (_ for _ in ()).throw(OSError("the disk is full"))
    assigned(service, 3)
    assert service._wake.is_set()
    service._wake.clear()
    assert not service.checkpoint()
    assigned(service, 2)
    assert not service._wake.is_set()
    assigned(service, 1)
    assert service._wake.is_set()


# -- one process at a time ------------------------------------------------------------------------------------------
OTHER = """
import sys
from accord.exceptions import InputError
from accord.mail.state_file import claim_state
for _ in sys.stdin:
    try:
        claim_state(sys.argv[1])
        print("claimed", flush=True)
    except InputError as error:
        print(error, flush=True)
"""


def other_process(state):
    """Tries to claim the state for each line that it is given, and keeps it."""
    return subprocess.Popen(
        [sys.executable, "-c", OTHER, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def claim(other):
    """What it says."""
    other.stdin.write("claim\n")
    other.stdin.flush()
    return other.stdout.readline()


def test_a_state_belongs_to_one_process(settings, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("state")
    other = other_process(settings.state)
    try:
        service = open_service(settings)
        assert "another process" in claim(other)
        open_service(settings)  # the same process may
        service.stop()
        assert claim(other) == "claimed\n"
        for state in (settings.state, str(link)):
            for use in (open_service, open_detector):
                with pytest.raises(InputError, match=r"detector\.state is .* another process uses"):
                    use(DetectorSettings(state=state))
        assert names(tmp_path) == ["link", "state.lock"]
    finally:
        other.kill()  # which frees the state
        other.communicate()
    open_service(settings)


def test_stopping_writes_only_what_is_new(settings):
    service = open_service(settings)
    service.stop()
    assert not os.path.exists(settings.state)
    service = open_service(settings)
    assigned(service, 2)
    service.stop()
    assert len(BatchDetector.restore(settings.state)) == 2
    service = open_service(settings)
    os.unlink(settings.state)  # as if another had one there now
    service.stop()
    assert not os.path.exists(settings.state)


def test_leftovers_of_killed_processes_are_removed(settings, tmp_path):
    left = ".state.0123456789abcdef.accord-tmp"
    others = [".state.0123.accord-tmp", "state.0123456789abcdef.accord-tmp", ".state.0123456789abcdef.tmp"]
    for name in (left, *others):
        (tmp_path / name).write_bytes(b"half")
    claim_state(settings.state)
    assert names(tmp_path) == sorted([*others, "state.lock"])


# -- files that are no state ----------------------------------------------------------------------------------------
def saved_state(path, window=WINDOW):
    BatchDetector(window=window).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("kept", [0, 3, 35, 2000, -100])
def test_damaged_states_are_put_aside(settings, tmp_path, kept, caplog):
    whole = saved_state(tmp_path / "state")
    for number in ("", "-2", "-3"):
        (tmp_path / "state").write_bytes(whole[:kept])
        assert len(open_service(settings).detector) == 0
        assert not (tmp_path / "state").exists()
        assert (tmp_path / f"state.unused{number}").read_bytes() == whole[:kept]
        assert f"kept as {tmp_path}/state.unused{number}" in caplog.text


def test_states_of_other_settings_are_put_aside(settings, tmp_path):
    saved_state(tmp_path / "state", WINDOW + 1)
    assert open_service(settings).detector.window == WINDOW
    assert names(tmp_path) == ["state.lock", "state.unused"]


def test_mail_does_not_wait_if_a_state_cannot_be_put_aside(settings, tmp_path, monkeypatch, caplog):
    (tmp_path / "state").write_bytes(saved_state(tmp_path / "state")[:500])
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
        service = open_service(settings)
    assert "will be overwritten" in caplog.text
    assigned(service, 2)
    service.stop()
    assert len(BatchDetector.restore(settings.state)) == 2


def test_other_files_are_left_alone(settings, tmp_path):
    path = tmp_path / "state"
    write_model(path, {"model": None}, {})
    model = path.read_bytes()
    zipped = model.replace(b"accord.json", b"letters.txt")
    for content in (b"From a@example.org\nSubject: hello\n\ntext\n", b"damaged", model, zipped):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"detector\.state is .* no state of a detector; choose another path"):
            open_service(settings)
        assert path.read_bytes() == content
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r"detector\.state is .* no file"):
        open_service(settings)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"detector\.state is .* no file"):
        open_service(settings)
    assert names(tmp_path) == ["state", "state.lock"]


def test_states_that_cannot_be_read_are_left_alone(settings, tmp_path, monkeypatch):
    saved_state(tmp_path / "state")
    refuse = classmethod(lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    monkeypatch.setattr(BatchDetector, "restore", refuse)
    with pytest.raises(InputError, match=r"detector\.state is .* cannot be read: Permission denied"):
        open_service(settings)
    assert names(tmp_path) == ["state", "state.lock"]


def test_a_folder_that_cannot_be_written_is_noticed(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"detector\.state is .*missing is no folder"):
        open_service(DetectorSettings(state=str(tmp_path / "missing" / "state")))
    monkeypatch.setattr(os, "access", lambda path, _: path != str(tmp_path))  # root may write anywhere
    with pytest.raises(InputError, match="this user may write to; create it"):
        open_detector(DetectorSettings(state=str(tmp_path / "state")), "b")
    assert names(tmp_path) == []


def test_a_spam_filter_has_to_be_one(settings, tmp_path):
    path = tmp_path / "filter"
    CRF(MultiClass()).fit([[0.0], [1.0]], ["a", "b"]).save(path)
    saved_state(tmp_path / "state")
    settings.spam_filter = str(path)
    with pytest.raises(InputError, match=r"detector\.spam_filter is .* holds a CRF; .*`accord mail train"):
        open_service(settings)
    mails = [b"From: a@b\n\nbuy this now please", b"From: c@d\n\nsee you at the meeting"]
    CollectiveSpamFilter(n_buckets=16).fit(mails, [True, False]).save(path)
    assert isinstance(open_filter(settings), CollectiveSpamFilter)


# -- settings -------------------------------------------------------------------------------------------------------
@each_row(
    ("table", "text", "message"),
    [
        ("detector", "checkpoint_seconds = 1e300", "at most 1,000,000"),
        ("detector", "checkpoint_seconds = inf", "at most 1,000,000"),
        ("detector", "window = 100000000000", r"window is 100000000000; .* at most 10,000,000"),
        ("detector", "window = 1" + 400 * "0", r"window is 10+\.\.\.; .* at most 10,000,000"),
        ("detector", "max_age = 1" + 400 * "0", r"max_age is 10+\.\.\.; .* at most 10,000,000,000"),
        ("detector", "max_age = 0x1" + 5000 * "0", "a number of thousands of digits; expected at least 0"),
        ("detector", "max_age = 1" + 5000 * "0", "not a TOML file"),
        ("limits", "queue = 10000000", "at most 1,000,000"),
        ("milter", "local_networks = ['1.2.3.400']", r"milter\.local_networks has '1\.2\.3\.400', .* no network"),
        ("allow", "networks = ['a']", r"allow\.networks has 'a', .* no network"),
        ("allow", "domains = ['']", r"allow\.domains has '', .* expected a domain"),
        ("allow", "domains = ['@. ']", r"allow\.domains has '@\. '"),
        ("allow", "domains = ['a@example.org']", r"allow\.senders"),
    ],
)
def test_mistakes_in_settings(tmp_path, table, text, message):
    (tmp_path / "mail.toml").write_text(f"[{table}]\n{text}\n")
    with pytest.raises(InputError, match=message):
        read_settings(tmp_path / "mail.toml")


def test_settings_that_are_understood(tmp_path):
    found = read_settings(flags={"allow.domains": ["@example.org", ".example.com"], "detector.max_age": 10**9})
    assert found.allow.domains == ("example.org", "example.com")
    assert (found.detector.max_age, type(found.detector.max_age)) == (1e9, float)
