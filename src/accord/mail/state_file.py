"""The file that keeps the window: used by one process at a time, never mistaken for another file, and no id twice."""

from __future__ import annotations

import logging
import os
import time
from itertools import count

from accord.exceptions import AccordError, InputError, ModelFileError
from accord.files import remove_leftovers
from accord.mail.detector import BatchDetector
from accord.mail.model import same_similarity
from accord.mail.window import STATE_ARRAYS
from accord.persistence import read_model

LOG = logging.getLogger("accord.mail")
# After a restart, so many ids are left out. They may have been given to batches that were opened after the last
# checkpoint: the crash forgot them, but they are in headers of delivered mail. `MailService` gives no more than these
# between one checkpoint and the next.
ID_BLOCK = 1_000_000
_BEGINNING = {0: b"PK\x03\x04", 30: b"accord.json"}  # of a state, and of all files of Accord
_held: dict[str, int] = {}  # the locks of this process: real path of the state, descriptor


def claim_state(state: str) -> None:
    """Keep other processes from using a state until this one ends, and see whether it can be written.

    Two processes would give the same ids to different batches and overwrite each other's window. A further claim of the
    same process is no error. The lock goes with the process, however it ends; its file stays.
    """
    path = os.path.realpath(state)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"detector.state is {state!r}, but {folder} is no folder that this user may write to; create it, change "
            "its permissions, or choose another path"
        )
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"detector.state is {state!r}, which is no file; choose another path")
    if path not in _held:
        _lock(path, state)
    remove_leftovers(path)


def release_state(state: str) -> None:
    """Let other processes use a state; nothing happens if it is not claimed."""
    handle = _held.pop(os.path.realpath(state), None)
    if handle is not None:
        os.close(handle)


def _lock(path: str, state: str) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        # reading is enough for a lock, so the file may belong to another user
        handle = os.open(f"{path}.lock", os.O_RDONLY | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"detector.state is {state!r}, but {path}.lock cannot be opened: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(
            f"detector.state is {state!r}, which another process uses; stop it, or give this one a state of its own"
        ) from None
    except OSError as error:  # some network drives have no locks
        LOG.warning("the state cannot be locked (%s); see to it that only one process uses %s", error.strerror, state)
    _held[path] = handle


def restore_state(state: str, fresh: BatchDetector) -> BatchDetector | None:
    """The detector of a claimed state if it fits `fresh`; None if there is none.

    A state that is damaged or was made with other settings is put aside, and None is returned: mail must not wait for
    somebody to repair it. A file that is no state at all is left alone, and is an error.
    """
    path = os.path.realpath(state)
    if not os.path.exists(path):
        return None
    try:
        kept = BatchDetector.restore(path)
        if kept.window != fresh.window:
            raise InputError(f"it is of a window of {kept.window} messages, not {fresh.window}")
        if not same_similarity(kept.similarity, fresh.similarity):
            raise InputError("it was made with another model")
    except AccordError as error:
        if not _is_state(path):
            raise InputError(
                f"detector.state is {state!r}, which is no state of a detector; choose another path, or move the file "
                "away"
            ) from error
        _put_aside(path, error)
        return None
    except OSError as error:
        raise InputError(
            f"detector.state is {state!r}, which cannot be read: {error.strerror}; change its permissions, or move it "
            "away to start with an empty window"
        ) from error
    return kept


def _is_state(path: str) -> bool:
    """Whether a file that cannot be used was a state once."""
    try:
        metadata, arrays = read_model(path)
    except ModelFileError:  # damaged, so nobody can tell from its content
        return _begins_like_ours(path)
    return metadata.get("kind") == "BatchDetector" or len(STATE_ARRAYS & set(arrays)) > len(STATE_ARRAYS) // 2


def _begins_like_ours(path: str) -> bool:
    """Whether three of four bytes that our files begin with are there, as far as the file goes."""
    with open(path, "rb") as stream:
        head = stream.read(64)
    pairs = [pair for at, text in _BEGINNING.items() for pair in zip(text, head[at:])]
    return sum(a == b for a, b in pairs) >= 0.75 * len(pairs)


def _put_aside(path: str, error: Exception) -> None:
    names = (f"{path}.unused" + (f"-{k}" if k > 1 else "") for k in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    try:
        os.replace(path, aside)
        kept = f"the file is kept as {aside}"
    except OSError as cause:
        kept = f"the file cannot be kept as {aside} ({cause.strerror}), and will be overwritten"
    LOG.error("the state is not used, and the window starts empty: %s; %s", error, kept)


def jump_ids(detector: BatchDetector) -> None:
    """Go on with ids that no earlier process can have given, although the state cannot be written.

    They begin at the microseconds of the clock. Counting never gets there: a restart leaves out `ID_BLOCK` ids, one
    second's worth, and takes longer than that; as do so many messages. So what was given before is smaller, as long
    as the clock is not set back.
    """
    behind = int(time.time() * 1e6) - detector._window.next_serial
    detector.skip_ids(max(0, behind))
