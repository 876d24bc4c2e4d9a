"""What the processes of one milter hand each other: messages that are signed, verdicts, and figures.

Pickles with their lengths, over a pair of sockets that only processes of our own hold. Signatures go as plain bytes,
which takes a tenth of the time of pickled arrays.
"""

from __future__ import annotations

import pickle
import struct
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from accord.kernels.mail.pairs import Signatures
from accord.mail.message import Message
from accord.mail.signature import Signature, empty_signatures

_LENGTH = struct.Struct("<I")
_EMPTY = empty_signatures(1)
_STARTS = accumulate((column.nbytes for column in _EMPTY), initial=0)
_PLACES = [(column.dtype, column.size, start) for column, start in zip(_EMPTY, _STARTS)]


class Signed(NamedTuple):
    """A message on its way to the process that decides."""

    number: int  # to which the verdict belongs
    signature: tuple[bytes, bytes, bytes, int, bool]
    message: Message
    received: float  # seconds since 1970
    since: float  # by `time.perf_counter`, which processes share


def frame(value: Any) -> bytes:
    """A value, ready to be sent.

    Examples
    --------
    >>> frames = Frames()
    >>> data = frame((1, "a")) + frame((2, "b"))
    >>> frames.take(data[:20]), frames.take(data[20:])
    ([], [(1, 'a'), (2, 'b')])
    """
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


class Frames:
    """Values from bytes that come in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> list[Any]:
        """The values that are complete with these bytes."""
        data, found, start = self._rest + data, [], 0
        while len(data) >= start + _LENGTH.size:
            (length,) = _LENGTH.unpack_from(data, start)
            stop = start + _LENGTH.size + length
            if len(data) < stop:
                break
            found.append(pickle.loads(memoryview(data)[start + _LENGTH.size : stop]))
            start = stop
        self._rest = data[start:]
        return found


def packed(mail: Signature) -> tuple[bytes, bytes, bytes, int, bool]:
    """A signature as bytes and numbers.

    Examples
    --------
    >>> from accord.mail.signature import sign
    >>> mail = sign(b"Subject: offer\\n\\nFill out this form at http://x.example today")
    >>> unpacked(packed(mail)).words.tolist() == mail.words.tolist()
    True
    """
    row = b"".join([column.tobytes() for column in mail.row])
    return row, mail.words.tobytes(), mail.counts.tobytes(), mail.n_words, mail.has_other_evidence


def unpacked(found: tuple[bytes, bytes, bytes, int, bool]) -> Signature:
    """The signature that `packed` was given."""
    # arrays that cannot be written to would be of another type to kernels, which are compiled for this one
    row, words, counts = map(bytearray, found[:3])
    columns = [np.frombuffer(row, dtype, size, start).reshape(1, size) for dtype, size, start in _PLACES]
    lists = np.frombuffer(words, np.uint32), np.frombuffer(counts, np.int64)
    return Signature(Signatures(*columns), *lists, *found[3:])
