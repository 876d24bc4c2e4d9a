"""A site as a program: a Flower SuperNode that answers with Accord, and runs nothing that it is sent.

A SuperNode usually runs the app that comes with a run: whoever may start runs, chooses what is done with a site's
data. The program of this module is a SuperNode that leaves the running to others (``--isolation process``), and a
worker beside it that answers every message with the :func:`~accord.federated.flower.client_app` that is installed here.
It also saves a new process for every message. Start it with ``python -m accord.federated.flower_node``.
"""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.exceptions import AccordError, InputError
from accord.federated.engine import require_flower
from accord.federated.flower_site import KINDS, SiteSettings, client_app, read_truth

if TYPE_CHECKING:
    from flwr.clientapp import ClientApp

LOG = logging.getLogger("accord.federated.flower_node")  # also as a program
LOOPBACK = "127.0.0.1"


def run_site(
    settings: SiteSettings,
    superlink: str,
    *,
    root_certificates: str | Path | None = None,
    key: str | Path | None = None,
    insecure: bool = False,
) -> None:
    """Be a site until the process is stopped. Has to be called in the main thread.

    Parameters
    ----------
    settings : SiteSettings
    superlink : str
        Host and port of the SuperLink.
    root_certificates : path, optional
        Certificate of the authority that signed the SuperLink's; by default those the system trusts.
    key : path, optional
        The site's private key, if the SuperLink wants to know who calls.
    insecure : bool
        Whether to do without TLS: for tries on one machine.
    """
    require_flower()
    from flwr.supernode.cli import flower_supernode

    if insecure and (root_certificates or key):
        raise InputError("insecure is True, but a certificate or key is given; they need TLS")
    settings.make()  # what is wrong with the data is to be seen here and now
    secret = secrets.token_bytes(32)
    port = free_port()
    arguments = ["--superlink", superlink, "--isolation", "process", "--host", LOOPBACK, "--port", str(port)]
    arguments += ["--superexec-auth-secret-file", _pipe_with(secret)]
    arguments += ["--insecure"] if insecure else []
    arguments += ["--root-certificates", str(root_certificates)] if root_certificates else []
    arguments += ["--auth-supernode-private-key", str(key)] if key else []
    worker = Worker(client_app(settings), f"{LOOPBACK}:{port}", secret)
    threading.Thread(target=worker.run, name="accord-site", daemon=True).start()
    sys.argv = ["flower-supernode", *arguments]
    flower_supernode()


@dataclass
class Worker:
    """Takes messages from a SuperNode on this machine and answers them with an app of this process."""

    app: ClientApp
    address: str  # host and port of the SuperNode's Runtime API
    secret: bytes  # shared with the SuperNode, so that nobody else on this machine gets the messages
    poll: float = 0.5  # seconds between looks for messages

    def run(self) -> None:
        """Answer messages until the process ends."""
        from flwr.proto.runtime_pb2 import AcquireTaskRequest
        from flwr.supercore.constant import TaskType
        from flwr.supercore.interceptors import SuperExecAuthHttpInterceptor

        signed = SuperExecAuthHttpInterceptor(
            master_secret=self.secret, protected_methods={"/flwr.proto.Runtime/AcquireTask"}
        )
        client = self._client(signed)
        while True:
            time.sleep(self.poll)
            try:
                task = client.AcquireTask(AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP]))
                if task.token:
                    self._answer(task.token)
            except Exception as error:  # the SuperNode is not up yet, or a message was lost: the next may do
                LOG.debug("the SuperNode at %s does not answer: %s", self.address, error)

    def _client(self, interceptor: Any) -> Any:
        from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
        from flwr.supercore.runtime import RuntimeHttpClient

        version = RuntimeVersionHttpInterceptor(component_name="flwr-clientapp")
        return RuntimeHttpClient.from_server_address(
            server_address=self.address, insecure=True, root_certificates=None, interceptors=[version, interceptor]
        )

    def _answer(self, token: str) -> None:
        """Answer one message. Errors are answers, too: their text is made by the app, and holds no data."""
        from flwr.app import Error, Message
        from flwr.common.constant import ErrorCode, SubStatus
        from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor
        from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

        client = self._client(RuntimeTokenHttpInterceptor(token))
        try:
            question, context, _, _ = pull_task_input(client)  # the last is the app that came along; it is not run
            try:
                reply = self.app(question, context)
            except Exception as error:
                LOG.warning("a message cannot be answered: %s", error)
                reason = f"{type(error).__name__}: {error}"
                reply = Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=question)
            push_message(client, reply, context)
            push_task_output(client, context, SubStatus.COMPLETED, "")
        finally:
            client.close()


def _pipe_with(secret: bytes) -> str:
    """A path that this process can read the secret from, once: a file would stay behind if the process were killed."""
    read_end, write_end = os.pipe()
    os.write(write_end, secret)  # 32 bytes fit into any pipe
    os.close(write_end)
    return f"/dev/fd/{read_end}"


def free_port(host: str = LOOPBACK) -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


HELP = {
    "name": "by which the coordinator knows the site",
    "data": "private file: .npz with arrays X, y and unlabeled, or CSV in which lines without a target are the agreed "
    "examples",
    "model": "where the site's model is kept; by default beside the data",
    "target": "target columns of a CSV file, separated by commas",
    "kernel": "as for RLSR: rbf, linear or poly",
    "gamma": "width of the kernel: a number, auto (chosen on the site's labels) or rule (the papers' rule)",
    "degree": "of a polynomial kernel",
    "coef0": "of a polynomial kernel",
    "eta": "regularisation: a number, auto or rule",
    "standardize": "columns, or false (no, 0); targets are never scaled, as all sites have one scale",
    "mode": "semiparametric (expansion over labeled examples) or exact",
    "bound": "refuse predictions of others that are so many times as large as the largest label here",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """``python -m accord.federated.flower_node``."""
    parser = argparse.ArgumentParser("python -m accord.federated.flower_node", description="Be a site.")
    parser.add_argument(
        "--superlink", required=True, metavar="HOST:PORT", type=_address, help="where the SuperLink of the run listens"
    )
    parser.add_argument(
        "--root-certificates", metavar="FILE", type=_file, help="certificate of the authority of the SuperLink's"
    )
    parser.add_argument("--key", metavar="FILE", type=_file, help="the site's private key")
    parser.add_argument(
        "--insecure", nargs="?", const=True, default=False, type=_truth, metavar="true|false",
        help="without TLS, for tries on one machine (default: false)",
    )  # fmt: skip
    for field in fields(SiteSettings):
        required = field.default is MISSING
        default = "" if required or field.default == "" else f" (default: {field.default})"
        parser.add_argument(
            f"--{field.name}", required=required, type=_setting(field.name), metavar="...",
            help=HELP[field.name] + default,
        )  # fmt: skip
    given = {key: value for key, value in vars(parser.parse_args(arguments)).items() if value is not None}
    own = {name: given.pop(name) for name in KINDS if name in given}
    logging.getLogger("accord").addHandler(logging.StreamHandler())
    try:
        run_site(SiteSettings.from_config(own), **given)
    except AccordError as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


def _setting(name: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return SiteSettings.read(name, text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _truth(text: str) -> bool:
    found = read_truth(text)
    if not isinstance(found, bool):
        raise argparse.ArgumentTypeError(f"is {text!r}; expected true or false (yes or no, 1 or 0)")
    return found


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise argparse.ArgumentTypeError(f"is {text!r}; expected a host and a port, for example 127.0.0.1:9093")
    return text


def _file(text: str) -> str:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"is {text!r}, and there is no such file")
    return text


if __name__ == "__main__":
    main()
