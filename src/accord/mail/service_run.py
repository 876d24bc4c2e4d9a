"""Milter and HTTP service as a program: started, watched for signals, and ended without losing anything."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from accord.exceptions import AccordError
from accord.mail.config import Address, MailSettings, parse_address
from accord.mail.connections import allow_files, listen_long
from accord.mail.fronts import Fronts
from accord.mail.milter import MilterServer, remove_stale_socket
from accord.mail.service import MailService, open_service, warm_up

if TYPE_CHECKING:
    from fastapi import FastAPI
    from uvicorn import Server

LOG = logging.getLogger("accord.mail")
_SWITCH = 0.0005  # seconds after which the thread of the detector lets others go on; 10 times as long by default
_GRACE = 5.0  # seconds for messages that are being transferred when the program is told to end


def run(
    settings: MailSettings,
    *,
    milter: bool = False,
    http: bool = False,
    announce: Callable[[str], None] = lambda _: None,
    service: MailService | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; both then finish what has begun, write the state, and return.

    Parameters
    ----------
    settings : MailSettings
    milter, http : bool
        What to serve; with both, they share one window.
    announce : callable
        Called with a line for every address that is listened on, when it is ready.
    service : MailService, optional
        By default the one that the settings describe.
    """
    app = None
    allow_files(settings.limits.connections)
    if service is None:
        service = open_service(settings.detector, settings.limits)
        warm_up(service.detector)
    if http:  # before anything is started: a missing extra or token is to be seen here
        from accord.mail.http_service import create_app

        app = create_app(service, settings)
    service.start()
    gc.freeze()  # what is there now stays: no pauses for looking through it again
    sys.setswitchinterval(_SWITCH)
    try:
        asyncio.run(_serve(service, settings, milter, app, announce))
    finally:
        service.stop()


async def _serve(
    service: MailService, settings: MailSettings, milter: bool, app: FastAPI | None, announce: Callable[[str], None]
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    milter_server: MilterServer | Fronts | None = None
    if milter:
        milter_server = (Fronts if settings.milter.processes > 1 else MilterServer)(service, settings)
    if milter_server is not None:
        announce(f"milter on {await milter_server.start()}")
    try:
        if app is not None:
            async with _http_server(app, service, settings, announce) as ended:
                await asyncio.wait({asyncio.ensure_future(stop.wait()), ended}, return_when=asyncio.FIRST_COMPLETED)
                if not stop.is_set():
                    raise AccordError("the HTTP service has ended by itself") from ended.exception()
        else:
            await stop.wait()
    finally:
        LOG.info("stopping")
        if milter_server is not None:
            await milter_server.close(_GRACE)


@contextlib.asynccontextmanager
async def _http_server(
    app: FastAPI, service: MailService, settings: MailSettings, announce: Callable[[str], None]
) -> AsyncIterator[asyncio.Future[Any]]:
    from accord.mail.http_connections import http_server

    address = parse_address(settings.http.listen, "http.listen")
    if address.path:
        remove_stale_socket(address.path)
        where: dict[str, Any] = {"uds": address.path}
    else:
        where = {"host": address.host, "port": address.port}
    server = http_server(app, service.counters, settings.limits, timeout_graceful_shutdown=int(_GRACE), **where)
    # signals are ours: both servers have to end, and the state has to be written afterwards
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    task = asyncio.ensure_future(_serving(server))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if task.done():
            task.result()
            raise AccordError(f"the HTTP service cannot listen on {address}; is the address in use?")
        listen_long(server.servers[0])
        bound = server.servers[0].sockets[0].getsockname()
        announce(f"HTTP on {address if address.path else Address(address.host, bound[1])}")
        yield task
    finally:
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
        if address.path:
            with contextlib.suppress(OSError):
                os.unlink(address.path)


async def _serving(server: Server) -> None:
    try:
        await server.serve()
    except SystemExit as error:  # how uvicorn reports an address in use
        raise AccordError("the HTTP service cannot listen; is the address in use?") from error
