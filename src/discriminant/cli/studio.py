"""``discriminant studio``: tables, lessons and images in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .console import print_message
from .options import command, option


@command
def studio(
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="Table or image to open.")] = None,
    host: Annotated[str, option("ADDRESS", "Address to listen on; other machines need an access token.")] = "127.0.0.1",
    port: Annotated[int, option("N", "Port; 0 for any free port.")] = 8321,
    folder: Annotated[
        list[str] | None, option("FOLDER", "Folder whose files can be opened by path; repeatable.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    state: Annotated[str | None, option("FOLDER", "Folder for uploads.  [default: user cache]")] = None,
    upload_limit: Annotated[float, option("MB", "Maximum size of an upload.")] = 200,
) -> None:
    """Open the studio in the browser: tables, lessons, images.

    Starts a server on this machine; stop it with Ctrl+C. Data stay on this machine, and the pages work offline.

    Examples:
      discriminant studio
      discriminant studio patients.csv
      discriminant studio scene.tif --folder images
      discriminant studio --host 0.0.0.0 --port 9000
    """
    from ..dependencies import check_installed

    check_installed("nicegui", "Pages of the studio")
    from ..studio import serve

    for name in (*([] if file is None else [file]), *(folder or [])):
        if not Path(name).exists():
            raise InputError(f"{name!r} does not exist. Check the name and the folder.")
    serve(
        None if file is None else Path(file),
        host=host,
        port=port,
        folders=[Path(name) for name in folder or []],
        open_browser=browser,
        state=None if state is None else Path(state),
        max_upload_bytes=int(upload_limit * 2**20),
        announce=print_message,
    )
