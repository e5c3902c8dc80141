"""The studio's server: a port of this machine that is open at once, and the pages behind it, behind the guard."""

from __future__ import annotations

import gc
import secrets
import socket
import threading
import warnings
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..dependencies import without
from ..errors import ParameterError
from .guard import Guard, is_loopback
from .visitors import Visitors, state_folder

#: What python-socketio loads in case it is a client: a quarter of all that the first page waits for (0.4 of 1.5 s).
_OF_CLIENTS = ("aiohttp", "requests", "tornado", "websocket")


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
    _announce(address, reach, tell, open_browser)  # it may connect: it is answered when the pages are loaded
    _run(visitors, file, token, listening)


def _run(visitors: Visitors, file: Path | None, token: str | None, listening: socket.socket) -> None:
    """Load the pages, while a browser is started, and answer."""
    import uvicorn

    with without(*_OF_CLIENTS), _finished_when_used():
        from .application import application

    made = application(visitors, file)
    # NiceGUI looks for its server among all objects that can be garbage (0.06 s), and what is loaded is none.
    gc.freeze()
    # No access log: it would hold the token. Messages of pages are small; images are not sent through them.
    settings = uvicorn.Config(Guard(made, token), log_level="warning", access_log=False, ws_max_size=4 << 20)
    uvicorn.Server(settings).run(sockets=[listening])


@contextmanager
def _finished_when_used() -> Iterator[None]:
    """Models of pydantic that are made within are finished when they are used.

    FastAPI makes those of OpenAPI, which the studio does not speak: a third of its loading (0.14 s).
    """
    from pydantic import BaseModel

    usual = BaseModel.model_config
    BaseModel.model_config = {"defer_build": True}
    try:
        yield
    finally:
        BaseModel.model_config = usual


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
