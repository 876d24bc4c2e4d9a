"""The page over HTTP. Everything but the link itself needs the cookie that the link is exchanged for."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from accord.exceptions import AccordError, MissingExtraError
from accord.labeling.project import BETWEEN
from accord.labeling.service import Service, check_name
from accord.labeling.sessions import Doorkeeper, Refused, check_origin

try:
    import uvicorn  # noqa: F401
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError as error:
    raise MissingExtraError(
        f"the page needs {error.name}, which is not installed; install it with: pip install 'accord-ml[label]' "
        "(pairs of records can be asked about in a terminal, too: --terminal)"
    ) from error

LOG = logging.getLogger("accord.labeling")
MOST_BYTES = 1 << 20  # of a request
MOST_UPLOAD = 64 << 20  # of a file with labels
_SLOWEST = 60.0  # seconds for a body to come in
_LOOK = 0.2  # seconds between looks for news
_BEAT = 10.0  # seconds between signs of life
_KINDS = {".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# the cookie is sent once this page, which is of the same origin, goes on by itself
_ARRIVED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
    '<title>Accord</title><p><a href="/">Go on to the page</a></p></html>'
)
Handler = Callable[[Request], Awaitable[Response]]


def create_app(service: Service, door: Doorkeeper) -> Starlette:
    """The application, for uvicorn or any other ASGI server; the trainer has been started."""
    parts = {part.name: part.read_bytes() for part in (files("accord.labeling") / "page").iterdir() if part.is_file()}
    first = parts.pop("label.html")

    def guarded(handler: Handler, arrival: bool = False) -> Handler:
        def check(request: Request) -> None:
            headers = dict(request.headers)
            door.check_host(headers.get("host", ""))
            arrives = arrival and "token" in request.query_params
            check_origin(headers, arrives)
            if not arrives:
                door.check_cookie(headers)

        return answering(handler, check)

    def asset(name: str) -> Handler:
        async def send(_: Request) -> Response:
            return Response(parts[name], media_type=_KINDS[PurePath(name).suffix])

        return send

    async def page(request: Request) -> Response:
        token = request.query_params.get("token")
        if token is None:
            return Response(first, media_type="text/html")
        cookie = door.redeem(token)
        if cookie is None:
            raise Refused(401, "this link was used before, or is of another run; `accord label` prints a new one")
        return HTMLResponse(_ARRIVED, headers={"Set-Cookie": door.set_cookie(cookie)})

    def asked(do: Callable[[dict[str, Any]], Any]) -> Handler:
        """A question with a JSON object; answered outside of the loop, since the store waits for the disk."""

        async def answer(request: Request) -> Response:
            return JSONResponse(await run_in_threadpool(do, await read_object(request, MOST_BYTES)))

        return answer

    def acts(do: Callable[[dict[str, Any]], Any]) -> Handler:
        """The same for what ends with the next question."""

        def act(given: dict[str, Any]) -> dict[str, Any]:
            window, annotator = _window(given), check_name(given.get("annotator"))  # before anything is stored
            done = do(given)
            return {"done": done, "next": service.next(window, annotator)}

        return asked(act)

    def undo(given: dict[str, Any]) -> Any:
        events = service.undo(_text(given, "annotator"))
        if not events:
            return {"undone": None}
        event, records = events[0], sorted({one for event in events for one in event.item.split(BETWEEN)})
        if service.project.kind == "pairs" and len(records) > 2:
            return {"undone": event.action, "group": service.group(records), **service.told()}
        return {"undone": event.action, **service.question(event.item, None, event.annotator), **service.told(),
                "before": event.value}  # fmt: skip

    def regroup(given: dict[str, Any]) -> Any:
        window, annotator = _window(given), check_name(given.get("annotator"))
        if given.get("skip"):
            done = service.skip(BETWEEN.join(map(str, given.get("keys") or ())), annotator, given.get("token"))
        else:
            done = service.answer_group(window, annotator, given)
        return {"done": done, **service.next_group(window, annotator)}

    async def state(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(service.state, request.query_params.get("annotator")))

    async def download(request: Request) -> Response:
        form, annotator = request.query_params.get("format", ""), request.query_params.get("annotator")
        data, kind, name = await run_in_threadpool(service.export, form, annotator)
        return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})

    async def upload(request: Request) -> Response:
        if request.headers.get("content-type") != "application/octet-stream":
            raise Refused(415, "expected application/octet-stream")
        data = await read_body(request, MOST_UPLOAD)
        form, annotator = request.query_params.get("format", ""), request.query_params.get("annotator", "")
        return JSONResponse(await run_in_threadpool(service.bring_in, form, data, annotator))

    async def events(request: Request) -> Response:
        window = _window(dict(request.query_params))
        return StreamingResponse(_news(service, window, request), media_type="text/event-stream")

    routes = {
        "/api/next": asked(lambda g: service.next(_window(g), _text(g, "annotator"))),
        "/api/answer": acts(
            lambda g: service.answer(
                _text(g, "key"), _text(g, "annotator"), g.get("value"), g.get("token"), g.get("seconds")
            )
        ),
        "/api/skip": acts(lambda g: service.skip(_text(g, "key"), _text(g, "annotator"), g.get("token"))),
        "/api/decide": asked(
            lambda g: service.decide(_text(g, "key"), _text(g, "annotator"), g.get("value"), g.get("token"))
        ),
        "/api/group": asked(lambda g: service.next_group(_window(g), _text(g, "annotator"))),
        "/api/regroup": asked(regroup),
        "/api/undo": asked(undo),
        "/api/item": asked(
            lambda g: {**service.question(_text(g, "key"), None, _text(g, "annotator")), **service.told()}
        ),
        "/api/history": asked(lambda g: service.history(g.get("annotator"), _number(g.get("before")))),
        "/api/conflicts": asked(lambda _: service.conflicts()),
        "/api/label": asked(lambda g: {"label": service.add_label(g.get("label")), "labels": service.project.labels}),
        "/api/invite": asked(lambda _: {"token": door.invite()}),
        "/api/close": asked(lambda g: service.store.release(_window(g))),
    }
    return Starlette(
        routes=[
            Route("/", guarded(page, arrival=True)),
            *(Route(f"/{name}", guarded(asset(name))) for name in parts),
            Route("/api/state", guarded(state)),
            Route("/api/export", guarded(download)),
            Route("/api/import", guarded(upload), methods=["POST"]),
            Route("/api/events", guarded(events)),
            *(Route(path, guarded(handler), methods=["POST"]) for path, handler in routes.items()),
        ]
    )


def answering(handler: Handler, check: Callable[[Request], None]) -> Handler:
    """A handler that is asked if a check does not refuse; whatever goes wrong is a sentence and a status."""

    async def answer(request: Request) -> Response:
        try:
            check(request)
            response = await handler(request)
        except Refused as refusal:
            response = JSONResponse({"detail": refusal.detail}, refusal.status, {"Connection": "close"})
        except AccordError as error:
            response = JSONResponse({"detail": str(error)}, 400)
        except ClientDisconnect:
            response = JSONResponse({"detail": "the client left"}, 400)
        except Exception:
            LOG.exception("a request failed")
            response = JSONResponse({"detail": "this request could not be answered"}, 500)
        response.headers.update(_HEADERS)
        return response

    return answer


async def read_object(request: Request, limit: int) -> dict[str, Any]:
    """The JSON object in a body."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "expected application/json")
    return _object(await read_body(request, limit))


async def read_body(request: Request, limit: int) -> bytes:
    """The body, counted while it comes in."""
    too_large = Refused(413, f"the body is larger than {limit} bytes")
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit() and int(announced) > limit:
        raise too_large
    pieces, size = [], 0
    try:
        async with asyncio.timeout(_SLOWEST):
            async for piece in request.stream():
                size += len(piece)
                if size > limit:
                    raise too_large
                pieces.append(piece)
    except TimeoutError:
        raise Refused(408, "the body came in too slowly") from None
    return b"".join(pieces)


async def _news(service: Service, window: str, request: Request) -> AsyncGenerator[str, None]:
    """Server-sent events: the model is new, or others have answered; and signs of life, which keep the item."""
    seen, beat = (-1, -1), 0.0
    loop = asyncio.get_running_loop()
    while not await request.is_disconnected():
        version = await run_in_threadpool(lambda: service.store.version)
        found = (service.trainer.now.revision, version)
        if found != seen:
            seen = found
            yield f"event: news\ndata: {json.dumps(service.told())}\n\n"
        elif loop.time() - beat > _BEAT:
            beat = loop.time()
            await run_in_threadpool(service.store.renew, window)
            yield ": alive\n\n"
        await asyncio.sleep(_LOOK)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is no JSON") from None
    if not isinstance(found, dict):
        raise Refused(400, "the body is no JSON object")
    return found


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 200:
        raise Refused(400, f"{name} is missing, or no text of 1 to 200 characters")
    return value


def _window(given: dict[str, Any]) -> str:
    return _text(given, "window")


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else None
