"""The detector over HTTP: POST /assign, POST /explain, GET /health, GET /metrics, GET /dashboard.

Bodies are counted while they come in: of a message no more is kept than is looked at, and forms have a limit.
What a client does wrong is a 4xx, a full queue or an unanswered question is a 503 with ``Retry-After``; there is no
500.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from accord.exceptions import InputError, MissingExtraError
from accord.mail.config import MailSettings, parse_address
from accord.mail.dashboard import POLICY, dashboard_page
from accord.mail.http_metrics import metrics_text
from accord.mail.message import MAX_BYTES
from accord.mail.service import MailService, Overloaded, plain

try:
    import prometheus_client  # noqa: F401
    import python_multipart  # noqa: F401
    import uvicorn  # noqa: F401
    from fastapi import FastAPI, Request, Response
    from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
    from starlette.datastructures import UploadFile
    from starlette.formparsers import MultiPartException, MultiPartParser
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise MissingExtraError(
        f"the HTTP service needs {error.name}, which is not installed; install it with: pip install 'accord-ml[mail]'"
    ) from error

LOG = logging.getLogger("accord.mail.http")
MESSAGE_TYPES = ("message/rfc822", "message/global", "application/octet-stream", "text/plain")
MOST_FILES = 100  # messages in one multipart request
_PAGE_HEADERS = {
    "Content-Security-Policy": POLICY, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}  # fmt: skip
_SLOWEST_UPLOAD = 60.0  # seconds for a body to come in


class Refused(Exception):
    """A request that is not answered: a status and a sentence."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def read_token(settings: MailSettings) -> str:
    """The token that requests must bear; empty if none is asked for, which only loopback addresses may do."""
    if not settings.http.token_file:
        if not parse_address(settings.http.listen, "http.listen").is_loopback:
            raise InputError(
                f"http.listen is {settings.http.listen!r}, which other machines can reach, and there is no token; "
                "write one into a file and name it: token_file, or listen on 127.0.0.1"
            )
        return ""
    token = Path(settings.http.token_file).read_bytes().strip().decode("ascii", "replace")
    if not token or not (token.isascii() and token.isprintable()):  # others cannot be sent in a header
        raise InputError(
            f"{settings.http.token_file} is {'no token' if token else 'empty'}; expected one line of printable ASCII, "
            f"such as that of: openssl rand -hex 32 > {settings.http.token_file}"
        )
    return token


def create_app(service: MailService, settings: MailSettings) -> FastAPI:
    """The application, for uvicorn or any other ASGI server; the service has been started."""
    expected = f"Bearer {token}".encode() if (token := read_token(settings)) else b""

    def is_token_borne(headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether headers, with names in small letters, bear the token, if there is one."""
        given = next((value for name, value in headers if name == b"authorization"), b"")
        return not expected or hmac.compare_digest(given, expected)

    app = FastAPI(title="Accord mail", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.is_token_borne = is_token_borne

    @app.exception_handler(Refused)
    async def refuse(_: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, Refused) else 400
        if status < 500:
            service.counters.malformed += 1
        extra = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}.get(status, {})
        return JSONResponse({"detail": str(error)}, status, {**extra, "Connection": "close"})

    @app.exception_handler(Exception)
    async def fail(_: Request, error: Exception) -> Response:
        LOG.error("a request failed: %s", error, exc_info=error)
        return JSONResponse({"detail": "this request could not be answered"}, 503, {"Retry-After": "1"})

    def check_token(request: Request) -> None:
        if not is_token_borne(request.headers.raw):
            raise Refused(401, "the token is missing or wrong; send it as `Authorization: Bearer TOKEN`")

    async def answer(request: Request, ask: Callable[[bytes], Future[Any]], count: Callable[[str], None]) -> Response:
        check_token(request)
        try:
            async with asyncio.timeout(_SLOWEST_UPLOAD):
                messages, is_form = await read_messages(request, settings.limits.message_bytes)
        except TimeoutError:
            raise Refused(408, "the body came in too slowly") from None
        answers = [plain(await _answered(ask, raw, settings.limits.seconds, count)) for raw in messages]
        return JSONResponse({"results": answers} if is_form else answers[0])

    @app.post("/assign")
    async def assign(request: Request) -> Response:
        return await answer(request, lambda raw: service.assign(raw, time.time()), service.counters.count)

    @app.post("/explain")
    async def explain(request: Request) -> Response:
        return await answer(request, service.explain, lambda _: None)  # nothing becomes of these messages

    @app.get("/health")
    async def health(request: Request) -> Response:
        good = service.is_alive
        told: dict[str, Any] = {"status": "ok" if good else "stopping"}
        if is_token_borne(request.headers.raw):  # how much mail there is is nobody else's business
            told["window"] = len(service.detector)
        return JSONResponse(told, 200 if good else 503)

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        check_token(request)
        text, kind = metrics_text(service)
        return PlainTextResponse(text, media_type=kind)

    @app.get("/dashboard")
    async def dashboard(request: Request) -> Response:
        check_token(request)
        detector = service.detector
        page = dashboard_page(service.board, len(detector), detector.n_batches, service.waiting)
        return HTMLResponse(page, headers=_PAGE_HEADERS)

    return app


# -- reading --------------------------------------------------------------------------------------------------------
async def read_messages(request: Request, limit: int) -> tuple[list[bytes], bool]:
    """The messages of a request, and whether they came as a form."""
    kind = request.headers.get("content-type", "application/octet-stream").partition(";")[0].strip().lower()
    is_form = kind == "multipart/form-data"
    if not is_form and kind not in MESSAGE_TYPES:
        raise Refused(415, f"the content type is {kind}; expected message/rfc822 or multipart/form-data")
    body = await (_read_form(request, limit) if is_form else _read_message(request))
    messages = await _files(request, body) if is_form else [body]
    if not messages or not all(messages):
        raise Refused(400, "the message is empty")
    return messages, is_form


async def _read_message(request: Request) -> bytes:
    """The part of a message that is looked at; what follows is received and dropped, so that padding hides nothing."""
    kept = bytearray()
    async for piece in _pieces(request):
        kept += piece[: MAX_BYTES - len(kept)]
    return bytes(kept)


async def _read_form(request: Request, limit: int) -> bytes:
    too_large = Refused(413, f"the body is larger than {limit} bytes")
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit() and int(announced) > limit:
        raise too_large
    pieces, size = [], 0
    async for piece in _pieces(request):
        size += len(piece)
        if size > limit:
            raise too_large
        pieces.append(piece)
    return b"".join(pieces)


async def _pieces(request: Request) -> AsyncGenerator[bytes, None]:
    try:
        async for piece in request.stream():
            yield piece
    except ClientDisconnect:
        raise Refused(400, "the client left before the body was there") from None


async def _files(request: Request, body: bytes) -> list[bytes]:
    """The files of a form; its other fields are not used."""

    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        form = await MultiPartParser(request.headers, whole(), max_files=MOST_FILES, max_fields=MOST_FILES).parse()
        files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
        return [await file.read() for file in files]
    except (MultiPartException, ValueError, KeyError, AssertionError) as error:
        # the parser lets out what it trips over, such as a missing boundary
        raise Refused(400, f"the form cannot be read: {getattr(error, 'message', None) or error!r}") from error


# -- answering ------------------------------------------------------------------------------------------------------
async def _answered(
    ask: Callable[[bytes], Future[Any]], raw: bytes, seconds: float, count: Callable[[str], None]
) -> Any:
    """The answer to a message; `count` is told what became of it."""
    try:
        found = await asyncio.wait_for(asyncio.wrap_future(ask(raw)), seconds)
    except Overloaded as error:
        count("overloaded")
        raise Refused(503, f"{error}; try again") from error
    except TimeoutError:  # the question is cancelled, too
        count("timeout")
        raise Refused(503, f"there was no answer within {seconds:g} seconds; try again") from None
    except Exception as error:
        count("error")
        raise Refused(503, "the detector failed on this message") from error
    count("assigned")
    return found
