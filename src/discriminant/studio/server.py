"""The server of the studio: it opens its port at once and then loads the pages."""

from __future__ import annotations

import secrets
import socket
import threading
import warnings
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import ParameterError
from .guard import Guard, is_loopback
from .visitors import Visitors, state_folder


def serve(
    file: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    folders: Sequence[Path] = (),
    open_browser: bool = True,
    state: Path | None = None,
    max_upload_bytes: int = 200 << 20,
    announce: Callable[[str], None] = print,
) -> None:
    """Run the studio until it is interrupted.

    Parameters
    ----------
    file : path, optional
        A table or image to open at start.
    host : str, default="127.0.0.1"
        The address to listen at. If other machines can reach it, a token is required.
    port : int, default=8321
        The port; 0 chooses a free one.
    folders : sequence of paths, default=()
        Folders whose files can be opened by typing their path.
    open_browser : bool, default=True
        Whether a browser is opened.
    state : path, optional
        Folder for uploads and drawn areas, by default in the user's cache.
    max_upload_bytes : int, default=209715200
        The upload limit in bytes.
    announce : callable, default=print
        Called with the address and a note on who can reach it.
    """
    warnings.simplefilter("ignore")  # the pages show the warnings of a fit
    visitors = Visitors(state or state_folder(), folders, [] if file is None else [file], max_upload_bytes)
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    listening = _socket(host, port)
    shown = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    if token is not None:
        address += f"?token={token}"
    access = "It is accessible from this machine only." if token is None else "Anyone with this address can use it."
    _open(address, access, announce, open_browser)  # requests wait until the pages are loaded
    _run(visitors, file, token, listening)


def _run(visitors: Visitors, file: Path | None, token: str | None, listening: socket.socket) -> None:
    """Load the pages and answer requests."""
    import uvicorn

    from .application import application

    made = application(visitors, file)
    # No access log: it would contain the token. Messages of pages are small: they contain no images.
    settings = uvicorn.Config(Guard(made, token), log_level="warning", access_log=False, ws_max_size=4 << 20)
    uvicorn.Server(settings).run(sockets=[listening])


def _open(address: str, access: str, announce: Callable[[str], None], open_browser: bool) -> None:
    announce(f"Studio: {address}\n{access} Press Ctrl+C to stop.")
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _socket(host: str, port: int) -> socket.socket:
    """A listening socket; its port is known before the server starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ParameterError(
            f"Cannot listen at {host}, port {port}: {error.strerror}. Choose another --host or --port."
        ) from None
