"""The studio's server: pages on NiceGUI, behind the guard, on a port of this machine."""

from __future__ import annotations

import gc
import json
import logging
import secrets
import socket
import threading
import warnings
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import uvicorn
from fastapi import FastAPI, Request, Response
from nicegui import app, ui

from ..errors import InputError, ParameterError
from ..report.page import style
from . import image_page, learn_page, table_page
from .guard import Guard, is_loopback
from .visitors import Visitors, state_folder

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


def serve(
    file: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    folders: Sequence[Path] = (),
    open_browser: bool = True,
    state: Path | None = None,
    most_bytes: int = 200 << 20,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve the studio until it is interrupted.

    Parameters
    ----------
    file : path, optional
        A table or image to open at once.
    host : str, default="127.0.0.1"
        The address to listen at. With one that other machines reach, a token is asked for.
    port : int, default=8321
        The port; 0 any that is free.
    folders : sequence of paths, default=()
        Where files may be opened by typing their path.
    open_browser : bool, default=True
        Whether a browser is opened.
    state : path, optional
        Where uploads and drawn areas are kept, by default in the user's cache.
    most_bytes : int, default=209715200
        The largest upload.
    tell : callable, default=print
        What is told the address.
    """
    warnings.simplefilter("ignore")  # what a fit has to remark stands on its page
    visitors = Visitors(state or state_folder(), folders, [] if file is None else [file], most_bytes)
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    listening = _socket(host, port)
    shown = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    if token is not None:
        address += f"?token={token}"
    reach = "This machine alone can reach it." if token is None else "Whoever has this address can use it."
    made = application(visitors, file, lambda: _announce(address, reach, tell, open_browser))
    # No access log: it would hold the token. Messages of pages are small; images are not sent through them.
    settings = uvicorn.Config(Guard(made, token), log_level="warning", access_log=False, ws_max_size=4 << 20)
    uvicorn.Server(settings).run(sockets=[listening])


def _announce(address: str, reach: str, tell: Callable[[str], None], open_browser: bool) -> None:
    tell(f"The studio is at {address}\n{reach} Ctrl+C ends it.")
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _socket(host: str, port: int) -> socket.socket:
    """A socket that listens, so that its port is known before the server starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ParameterError(f"Cannot listen at {host}, port {port}: {error.strerror}. Choose another.") from None


def application(visitors: Visitors, file: Path | None, started: Callable[[], None]) -> FastAPI:
    """The pages and what they fetch, without the guard."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        visitors.delete_old()
        waiting = threading.Timer(_PAINTED, _load_aside)
        waiting.daemon = True
        waiting.start()
        started()
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
    app.timer(_TIDY, gc.collect)
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
    from .. import report, validation  # noqa: F401
    from ..estimators.registry import MODELS, new_model

    for name in MODELS:
        new_model(name)
    # Looking for garbage goes through all objects there are, unless they are told to stay: 0.3 s in the way of answers.
    gc.collect()
    gc.freeze()
