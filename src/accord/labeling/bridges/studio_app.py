"""The backend of Label Studio over HTTP: ``/TOKEN/health``, ``/setup``, ``/predict`` and ``/webhook``.

The token is a part of the address because Label Studio makes all addresses, that of its events too, from the one that
it was given. Host names and origins are checked as for the page.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from accord import memory
from accord.labeling.app import MOST_UPLOAD, Handler, answering, read_object
from accord.labeling.bridges.studio import Studio
from accord.labeling.running import Place
from accord.labeling.sessions import Refused, check_host, check_origin

PORT = 9090


def create_app(studio: Studio, hosts: set[str], token: str) -> Starlette:
    """The application, for uvicorn or any other ASGI server."""

    def guarded(handler: Handler) -> Handler:
        def check(request: Request) -> None:
            headers = dict(request.headers)
            check_host(headers.get("host", ""), hosts)
            check_origin(headers)
            if not hmac.compare_digest(str(request.path_params.get("token", "")).encode(), token.encode()):
                raise Refused(401, "the address has not the token in it that `accord label-studio` has printed")

        return answering(handler, check)

    def asked(do: Callable[[dict[str, Any]], Any]) -> Handler:
        async def answer(request: Request) -> Response:
            return JSONResponse(await run_in_threadpool(do, await read_object(request, MOST_UPLOAD)))

        return answer

    async def health(_: Request) -> Response:
        return JSONResponse(await run_in_threadpool(studio.health))

    posts = {"setup": studio.setup, "predict": studio.predict, "webhook": studio.event}
    return Starlette(
        routes=[
            Route("/health", guarded(health)),
            Route("/{token}/health", guarded(health)),
            *(Route(f"/{{token}}/{name}", guarded(asked(do)), methods=["POST"]) for name, do in posts.items()),
        ]
    )


def serve(
    studio: Studio,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    names: tuple[str, ...] = (),
    announce: Callable[[str], None],
) -> None:
    """Serve predictions until Ctrl-C or SIGTERM."""
    memory.give_back_early()
    place, token = Place(host, port, names, PORT), studio.token()
    announce(f"connect Label Studio (Settings, Model, Connect Model) to {place.address}/{token}")
    announce("whoever has this address can use the models. Ctrl-C ends, nothing is lost")
    place.warn(announce)
    try:
        place.run(create_app(studio, place.hosts, token))
    finally:
        studio.close()
