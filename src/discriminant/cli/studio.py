"""``discriminant studio``: tables, lessons and images in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .console import say
from .options import command, option


@command
def studio(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A table or an image to open at once.")] = None,
    host: Annotated[
        str, option("ADDRESS", "Where to listen; a token is asked for unless this machine alone is.")
    ] = "127.0.0.1",
    port: Annotated[int, option("N", "The port; 0 any that is free.")] = 8321,
    folder: Annotated[
        list[str] | None, option("FOLDER", "Files below it may be opened by typing their path; may be repeated.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")] = True,
    state: Annotated[str | None, option("FOLDER", "Where uploads are kept; your cache if not given.")] = None,
    upload_limit: Annotated[float, option("MB", "The largest file that can be uploaded.")] = 200.0,
) -> None:
    """Work in the browser: tables, lessons, images.

    A server on this machine alone, until Ctrl+C. Nothing leaves the machine, and pages fetch nothing from any network.

    \\b
    Examples:
      discriminant studio
      discriminant studio patients.csv
      discriminant studio scene.tif --folder images
      discriminant studio --host 0.0.0.0 --port 9000
    """
    from ..dependencies import check_installed

    check_installed("nicegui", "Pages of the studio")
    from ..studio import serve

    given = [Path(name) for name in (*([] if file is None else [file]), *(folder or []))]
    for path in given:
        if not path.exists():
            raise InputError(f"There is no {path}. Check its name and folder.")
    serve(
        None if file is None else Path(file),
        host=host,
        port=port,
        folders=[Path(name) for name in folder or []],
        open_browser=browser,
        state=None if state is None else Path(state),
        most_bytes=int(upload_limit * 2**20),
        tell=say,
    )
