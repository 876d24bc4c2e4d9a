"""The coordinator's side of Flower: sites, wherever they are, as `agree` asks them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from accord.exceptions import InputError
from accord.federated import flower_messages as messages

if TYPE_CHECKING:
    from flwr.app import Message
    from flwr.serverapp import Grid

GRACE = 30.0  # seconds a message outlives its timeout: Flower's clocks are those of different machines


class FlowerSites:
    """Sites behind Flower's ``Grid``, as :func:`~accord.federated.agree` asks them.

    Nodes are asked for their name. A site that comes back as another node takes its old place; one that appears late
    joins the round after. If a node was registered under a name (``flwr supernode register --name``), it has to use
    it, so that no site can speak for another.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
    names : list of str, optional
        The sites that take part; others are sent away. By default those that are there when ``min_sites`` are.
    min_sites : int
    shape : (int, int), optional
        Number of agreed examples, and of outputs. By default what most sites tell.
    timeout : float
        Seconds to wait for the answers of a round.
    patience : float
        Seconds to wait for sites before the first round.
    poll : float
        Seconds between looks for answers. (``Grid.send_and_receive`` takes three, and waits for all.)
    tell : function of str, optional
        Is told who joins and who is sent away.

    Attributes
    ----------
    absent : set of str
        Sites that were not connected when they were last asked, or did not answer in time.
    """

    shape: tuple[int, int]

    def __init__(
        self,
        grid: Grid,
        names: Sequence[str] | None = None,
        *,
        min_sites: int = 2,
        shape: tuple[int, int] | None = None,
        timeout: float = 60.0,
        patience: float = 300.0,
        poll: float = 0.5,
        tell: Callable[[str], Any] | None = None,
    ) -> None:
        if names is not None and (not names or len(set(names)) < len(names)):
            raise InputError(f"names is {list(names)}; expected one or more different names of sites")
        self.grid, self.timeout, self.poll = grid, timeout, poll
        self._tell = tell if tell is not None else lambda _: None
        self._wanted = None if names is None else list(names)
        self.absent: set[str] = set()
        self._shapes: dict[str, tuple[int, int]] = {}
        self._nodes: dict[str, int] = {}
        self._met: set[int] = set()  # nodes that were asked to join
        self._joining: dict[str, tuple[int, float]] = {}  # message -> node, and until when it may answer
        self._wait_for(len(names) if names is not None else min_sites, patience)
        self._names = list(names) if names is not None else sorted(self._nodes)
        self.shape = shape if shape is not None else self._usual_shape()

    def names(self) -> list[str]:
        """The sites that take part."""
        return self._names

    def ask(self, questions: Mapping[str, np.ndarray], lambda_: float) -> dict[str, np.ndarray | Exception]:
        """Ask sites, all at once; who does not answer in time is left out."""
        deadline = time.monotonic() + self.timeout
        found: dict[str, np.ndarray | Exception] = {}
        # as long as there is nobody to ask, rounds are not to rush by
        there = self._look_until(lambda there: any(self._nodes.get(name) in there for name in questions), self.timeout)
        asked: dict[str, np.ndarray] = {}
        for name, others in questions.items():
            if self._nodes.get(name) not in there:
                found[name] = ConnectionError("the site is not connected")
            elif self._shapes[name] != self.shape:
                found[name] = InputError(f"the site has {self._shapes[name]} predictions; agreed are {self.shape}")
            else:
                asked[name] = others
        waiting = self._send(asked, lambda_)
        for name in set(asked) - set(waiting.values()):
            found[name] = ConnectionError("the message to the site was not accepted")
        while waiting:
            for message, reply in self._replies(waiting).items():
                name = waiting.pop(message)
                try:
                    found[name] = messages.read_predictions(reply, self.shape)
                except Exception as error:  # whatever came, it is that site's failure
                    found[name] = error
            if not waiting or time.monotonic() >= deadline:  # at the end: sending may have taken all the time there was
                break
            time.sleep(self.poll)
        silent = {*waiting.values(), *(name for name, error in found.items() if isinstance(error, ConnectionError))}
        self.absent = (self.absent - set(questions)) | silent
        return found

    def wait_for(self, names: Sequence[str], seconds: float) -> list[str]:
        """Wait until all these sites are connected; returns those that are."""
        there = self._look_until(lambda there: all(self._nodes.get(name) in there for name in names), seconds)
        return [name for name in names if self._nodes.get(name) in there]

    # -- messages -----------------------------------------------------------------------------------------------
    def _send(self, questions: Mapping[str, np.ndarray], lambda_: float) -> dict[str, str]:
        """Send questions; returns the site of each message that was accepted."""
        valid = self.timeout + GRACE
        outgoing = [messages.ask_to_predict(self._nodes[n], o, lambda_, valid) for n, o in questions.items()]
        accepted = list(self.grid.push_messages(outgoing)) if outgoing else []
        return {message: name for message, name in zip(accepted, questions) if message}

    def _replies(self, waiting: Mapping[str, str]) -> dict[str, Message]:
        """Replies that arrived, by what they reply to; those of joining nodes are dealt with.

        The first reply counts, and only that of the node that was asked: others may be repeated, or forged.
        """
        out: dict[str, Message] = {}
        for reply in self.grid.pull_messages([*waiting, *self._joining]):
            told, sender = reply.metadata.reply_to_message_id, reply.metadata.src_node_id
            asked = self._nodes.get(waiting[told]) if told in waiting else self._joining.get(told, (None,))[0]
            if sender != asked:
                self._tell(f"node {sender} replies to a message that is not for it, or was answered; it is not heard")
            elif told in waiting:
                out.setdefault(told, reply)
            else:
                self._meet(self._joining.pop(told)[0], reply)
        return out

    # -- who is there -------------------------------------------------------------------------------------------
    def _look(self) -> set[int]:
        """Nodes that are connected. New ones are asked to join, and answers to that are read."""
        now = time.monotonic()
        self._registered = {node.node_id: getattr(node, "name", "") for node in self.grid.get_nodes()}
        there = set(self._registered)
        for message, (node, until) in list(self._joining.items()):
            if now > until:  # it may be asked again
                del self._joining[message]
                self._met.discard(node)
        self._met &= there  # who left has to introduce itself again
        new = sorted(there - self._met)
        if new:
            accepted = self.grid.push_messages([messages.ask_to_join(node, self.timeout + GRACE) for node in new])
            for node, message in zip(new, accepted):
                if message:
                    self._met.add(node)
                    self._joining[message] = (node, now + self.timeout)
        if self._joining:
            self._replies({})
        return there

    def _look_until(self, enough: Callable[[set[int]], bool], seconds: float) -> set[int]:
        """Look again and again until enough nodes are connected, but not for longer than so many seconds."""
        deadline = time.monotonic() + seconds
        while not enough(there := self._look()) and time.monotonic() < deadline:
            time.sleep(self.poll)
        return there

    def _meet(self, node: int, reply: Message) -> None:
        """Take a node in that told who it is, or send it away."""
        registered = self._registered.get(node) or ""
        try:
            name, shape = messages.read_joined(reply)
        except Exception as error:
            self._tell(f"node {node}{f' ({registered})' if registered else ''} cannot join: {error}")
            return
        if registered and registered != name:
            self._tell(f"node {node} is registered as {registered!r} and cannot join as {name!r}")
        elif self._wanted is not None and name not in self._wanted:
            self._tell(f"site {name!r} (node {node}) is not asked for")
        else:
            back = "is back" if name in self._nodes else "joins"
            self._nodes[name], self._shapes[name] = node, shape
            self._tell(f"site {name!r} (node {node}) {back}, with {shape[0]} examples and {shape[1]} outputs")

    def _wait_for(self, count: int, seconds: float) -> None:
        self._look_until(lambda _: len(self._nodes) >= count, seconds)
        if len(self._nodes) >= count:
            return
        if not self._nodes or self._wanted is None:
            raise InputError(
                f"{len(self._nodes)} of {count} sites joined within {seconds:.0f} s; start them, or wait longer"
            )
        self._tell(f"goes on without {', '.join(sorted(set(self._wanted) - set(self._nodes)))}")

    def _usual_shape(self) -> tuple[int, int]:
        found = Counter(self._shapes.values()).most_common(2)
        if len(found) == 2 and found[0][1] == found[1][1]:
            told = ", ".join(f"{name} {shape}" for name, shape in sorted(self._shapes.items()))
            raise InputError(f"sites have different numbers of agreed examples and outputs: {told}; they must agree")
        return found[0][0]
