"""The studio's pages and what they fetch, on NiceGUI."""

from __future__ import annotations

import gc
import json
import logging
import threading
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI, Request, Response
from fastapi.middleware.gzip import GZipMiddleware
from nicegui import app, ui

from ..errors import InputError
from ..report.style import style
from . import image_page, learn_page, table_page
from .frame import load_libraries
from .visitors import Visitors

#: A tab that is silent is connected again within this many seconds, or forgotten but for its state: networks of class
#: rooms sleep for some.
_ABSENT = 20.0
#: A tab that is closed keeps its table and models this long, in seconds: a reload or a lost connection loses nothing.
_KEPT = 3600.0
#: A page that is opened at once is painted before this, in seconds; if none is, libraries are loaded meanwhile.
_PAINTED = 3.0
#: Pages of clients that have gone are full of cycles: garbage is looked for this often, in seconds.
_TIDY = 20.0
_ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='6' fill='#0072b2'/>"
    "<circle cx='10' cy='11' r='4' fill='#fff'/><rect x='18' y='17' width='8' height='8' fill='#e69f00'/>"
    "<path d='M5 27 27 5' stroke='#fff' stroke-width='2.5'/></svg>"
)


def application(visitors: Visitors, file: Path | None) -> FastAPI:
    """The pages and what they fetch, without the guard."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        visitors.delete_old()
        waiting = threading.Timer(_PAINTED, _load_aside)
        waiting.daemon = True
        waiting.start()
        yield

    made = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    css = style() + Path(__file__).with_name("static").joinpath("studio.css").read_text(encoding="utf-8")
    app.add_api_route("/studio.css", lambda: Response(css, media_type="text/css"))
    app.add_api_route("/upload", _upload_route(visitors), methods=["POST"])
    for page in (table_page, learn_page, image_page):
        page.install(visitors, file)
    app.storage.max_tab_storage_age = _KEPT
    app.config.quasar_config["loadingBar"]["skipHijack"] = True  # a bar without a name; work shows its own
    app.on_connect(_load_aside)
    app.timer(_TIDY, gc.collect, immediate=False)
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
        # Plotly took 0.21 s of every visitor at the usual level, 0.07 s at this one, for a sixth more bytes. Not to
        # compress is no choice: a client that knows an answer's length may open a websocket on its connection before
        # uvicorn has seen the end of the answer, and uvicorn then closes the connection 5 s later.
        gzip_middleware_factory=partial(GZipMiddleware, compresslevel=1),
        reconnect_timeout=_ABSENT,
    )
    return made


def _upload_route(visitors: Visitors) -> Any:
    async def upload(request: Request) -> Response:
        name = unquote(request.headers.get("x-file-name", "file"))
        try:
            if int(request.headers.get("content-length") or 0) > visitors.most_bytes:
                raise visitors.too_large()
            path = await visitors.received(request.session["id"], name, request.stream())
        except (InputError, OSError, ValueError) as error:
            return Response(json.dumps({"error": str(error)}), status_code=413, media_type="application/json")
        answer = {"file": f"{path.parent.name}/{path.name}"}
        return Response(json.dumps(answer), media_type="application/json")

    return upload


@cache
def _load_aside() -> None:
    """Load what the pages call, once, while the first page is looked at: before, it would be painted 0.4 s later."""
    threading.Thread(target=_load, daemon=True).start()


def _load() -> None:
    load_libraries()
    # Looking for garbage goes through all objects there are, unless they are told to stay: 0.3 s in the way of answers.
    gc.collect()
    gc.freeze()
