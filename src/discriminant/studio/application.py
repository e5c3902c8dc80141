"""The NiceGUI application: pages, uploads and style sheet."""

from __future__ import annotations

import gc
import json
import logging
import threading
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from fastapi import FastAPI, Request, Response
from fastapi.middleware.gzip import GZipMiddleware
from nicegui import app, ui

from ..errors import InputError
from ..report.style import style
from . import image_page, learn_page, table_page
from .frame import load_libraries
from .visitors import Visitors

#: Seconds in which a lost connection can be restored with its page: networks of schools have pauses of some seconds.
RECONNECT_SECONDS: Final = 20.0
#: Seconds for which the state of a closed tab is kept, so that a reload or a lost connection loses nothing.
TAB_STATE_SECONDS: Final = 3600.0
#: Seconds until libraries are loaded if no page has been opened; the first page is painted before.
PRELOAD_SECONDS: Final = 3.0
#: Seconds between two garbage collections: pages of closed tabs contain reference cycles.
GARBAGE_SECONDS: Final = 20.0
_ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='6' fill='#0072b2'/>"
    "<circle cx='10' cy='11' r='4' fill='#fff'/><rect x='18' y='17' width='8' height='8' fill='#e69f00'/>"
    "<path d='M5 27 27 5' stroke='#fff' stroke-width='2.5'/></svg>"
)


def application(visitors: Visitors, file: Path | None) -> FastAPI:
    """The application without the guard."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        visitors.delete_old()
        waiting = threading.Timer(PRELOAD_SECONDS, _load_aside)
        waiting.daemon = True
        waiting.start()
        yield

    made = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    folder = Path(__file__).with_name("static")
    css = style() + "".join(folder.joinpath(f"{name}.css").read_text(encoding="utf-8") for name in ("studio", "image"))
    app.add_api_route("/studio.css", lambda: Response(css, media_type="text/css"))
    app.add_api_route("/upload", _upload_route(visitors), methods=["POST"])
    for page in (table_page, learn_page, image_page):
        page.install(visitors, file)
    app.storage.max_tab_storage_age = TAB_STATE_SECONDS
    app.config.quasar_config["loadingBar"]["skipHijack"] = True  # it has no accessible name; work shows its own bar
    app.on_connect(_load_aside)
    app.timer(GARBAGE_SECONDS, gc.collect, immediate=False)
    app.on_exception(lambda error: logging.getLogger("discriminant.studio").error("unexpected", exc_info=error))
    ui.run_with(
        made,
        title="discriminant studio",
        favicon=_ICON,
        dark=None,
        language="en-US",
        tailwind=False,
        storage_secret=visitors.secret(),
        session_middleware_kwargs={"same_site": "lax", "max_age": 30 * 24 * 3600},
        show_welcome_message=False,
        # Compressing Plotly takes 0.21 s at the default level and 0.07 s at this one, with a sixth more bytes. Without
        # compression a client that knows the length of an answer may open a websocket on its connection before
        # uvicorn has finished the answer, and uvicorn then closes the connection 5 s later.
        gzip_middleware_factory=partial(GZipMiddleware, compresslevel=1),
        reconnect_timeout=RECONNECT_SECONDS,
    )
    return made


def _upload_route(visitors: Visitors) -> Any:
    async def upload(request: Request) -> Response:
        name = unquote(request.headers.get("x-file-name", "file"))
        try:
            if int(request.headers.get("content-length") or 0) > visitors.max_upload_bytes:
                raise visitors.too_large()
            path = await visitors.received(request.session["id"], name, request.stream())
        except (InputError, OSError, ValueError) as error:
            return Response(json.dumps({"error": str(error)}), status_code=413, media_type="application/json")
        answer = {"file": f"{path.parent.name}/{path.name}"}
        return Response(json.dumps(answer), media_type="application/json")

    return upload


@cache
def _load_aside() -> None:
    """Load the libraries once, after the first page is shown: loading them before delays it by 0.4 s."""
    threading.Thread(target=load_libraries, daemon=True).start()
