"""What sites and their coordinator say to each other, as Flower messages. Nothing else leaves a site.

==================  ==============================================  ===============================================
message             from the coordinator                            from the site
==================  ==============================================  ===============================================
``query.join``      ``protocol``: version                           ``site``: version, name, number of agreed
                                                                    examples and of outputs
``query.predict``   ``protocol``: version, lambda;                  ``predictions``: one array (m, n_outputs)
                    ``others``: one array (n_others, m, n_outputs)
either              --                                              an error, with a text that holds no data
==================  ==============================================  ===============================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accord.exceptions import AccordError, InputError
from accord.federated.engine import require_flower

if TYPE_CHECKING:
    from flwr.app import Message, RecordDict

JOIN, PREDICT = "query.join", "query.predict"
VERSION = 1
LONGEST_NAME = 100
HEADER = 1024  # bytes; more than NumPy writes before the numbers


class SiteError(AccordError):
    """A site could not answer."""


class Joined(NamedTuple):
    """What a site tells when it joins."""

    name: str
    shape: tuple[int, int]  # (m, n_outputs) of its predictions


# -- the coordinator's side -----------------------------------------------------------------------------------------
def ask_to_join(node: int, valid: float) -> Message:
    """The message that asks a node who it is; ``valid`` for so many seconds."""
    return _message({"protocol": {"version": VERSION}}, node, JOIN, ttl=valid)


def ask_to_predict(node: int, others: np.ndarray, lambda_: float, valid: float) -> Message:
    """The message that asks a node for predictions, given those of the others (n_others, m, n_outputs)."""
    protocol = {"version": VERSION, "lambda": float(lambda_)}
    return _message({"protocol": protocol, "others": others}, node, PREDICT, ttl=valid)


def read_joined(reply: Message) -> Joined:
    """What a site told; an error if that is no answer to ``query.join``."""
    told = _settings(_content(reply), "site")
    _check_version(told)
    name, rows, outputs = told.get("name"), told.get("rows"), told.get("outputs")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise SiteError(f"its name is not a text of 1 to {LONGEST_NAME} printable characters")
    if type(rows) is not int or type(outputs) is not int or rows < 1 or outputs < 1:
        raise SiteError("its numbers of examples and outputs are not positive integers")
    return Joined(name, (rows, outputs))


def read_predictions(reply: Message, shape: tuple[int, int]) -> np.ndarray:
    """Predictions that a site sent; an error if there are none of this shape."""
    return _array(_content(reply), "predictions", shape)


# -- the site's side ------------------------------------------------------------------------------------------------
def answer_join(question: Message, name: str, shape: tuple[int, int]) -> Message:
    """The reply that tells who a site is."""
    _check_version(_settings(question.content, "protocol"))
    site = {"version": VERSION, "name": name, "rows": shape[0], "outputs": shape[1]}
    return _message({"site": site}, reply_to=question)


def answer_predict(question: Message, predictions: np.ndarray) -> Message:
    """The reply with predictions."""
    return _message({"predictions": predictions}, reply_to=question)


def read_question(question: Message, shape: tuple[int, int]) -> tuple[np.ndarray, float]:
    """The others' predictions (n_others, m, n_outputs), and lambda."""
    protocol = _settings(question.content, "protocol")
    _check_version(protocol)
    lambda_ = protocol.get("lambda")
    if not isinstance(lambda_, float) or not 0 <= lambda_ < np.inf:
        raise InputError(f"lambda is {lambda_!r}; expected a number, 0 or more")
    return _array(question.content, "others", shape, stacked=True), lambda_


# -- records --------------------------------------------------------------------------------------------------------
def _message(records: dict[str, dict[str, Any] | np.ndarray], *where: Any, **more: Any) -> Message:
    """A message of records, settings or numbers each."""
    require_flower()
    from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

    def record(values: dict[str, Any] | np.ndarray) -> ConfigRecord | ArrayRecord:
        if isinstance(values, dict):
            return ConfigRecord(values)
        # A copy of the numbers alone: no view whose base would hold more than is meant to be sent.
        return ArrayRecord({"values": Array(np.array(values, dtype="<f8", order="C"))})

    return Message(RecordDict({key: record(values) for key, values in records.items()}), *where, **more)


def _content(reply: Message) -> RecordDict:
    if reply.has_error():
        raise SiteError(f"error {reply.error.code}: {reply.error.reason or 'no reason given'}")
    return reply.content


def _settings(content: RecordDict, key: str) -> dict[str, Any]:
    record = content.config_records.get(key)
    if record is None:
        raise SiteError(f"its message has no record {key!r} of settings; it has {sorted(content)}")
    return dict(record)


def _check_version(told: dict[str, Any]) -> None:
    if told.get("version") != VERSION:
        raise SiteError(f"it speaks version {told.get('version')!r} of the protocol; here it is version {VERSION}")


def _array(content: RecordDict, key: str, shape: tuple[int, int], stacked: bool = False) -> np.ndarray:
    """The array of a record. Its size is checked before it is unpacked, so that no header can ask for much memory."""
    record = content.array_records.get(key)
    if record is None or list(record) != ["values"]:
        raise SiteError(f"its message has no record {key!r} of one array; it has {sorted(content)}")
    array = record["values"]
    own = tuple(array.shape[1:]) if stacked else tuple(array.shape)
    if own != shape or len(array.shape) != len(shape) + stacked:
        expected = f"(number of others, {shape[0]}, {shape[1]})" if stacked else f"{shape}"
        raise SiteError(f"sent {key} of shape {tuple(array.shape)}; agreed are {expected}")
    if array.dtype != "float64" or len(array.data) > 8 * int(np.prod(array.shape)) + HEADER:
        raise SiteError(f"sent {key} as {len(array.data)} bytes of type {array.dtype}, which are not these numbers")
    try:
        values = np.asarray(array.numpy())
    except Exception as error:
        raise SiteError(f"sent {key} that cannot be unpacked: {type(error).__name__}") from error
    if values.shape != tuple(array.shape) or values.dtype != np.float64:
        raise SiteError(f"sent {key} that are not of the shape and type they announce")
    if not np.isfinite(values).all():
        raise SiteError(f"sent {key} of which {int(np.sum(~np.isfinite(values)))} are not finite")
    return values
