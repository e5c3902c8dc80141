"""``discriminant dataset``: the small data that come with the package, as files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import ParameterError
from . import options
from .console import check_output, grid, show
from .options import command, option


@command
def dataset(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The data; without it, what there is.")] = None,
    output: Annotated[
        str | None, option("FILE", "A CSV file; a folder for scene, which is an image.", "--output", "-o")
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write small data to learn on, with their description.

    \b
    Examples:
      discriminant dataset
      discriminant dataset avocados -o avocados.csv
      discriminant dataset scene -o scene
    """
    from .. import datasets

    if name is None:
        found = [{"name": each, "title": datasets.load(each).title} for each in datasets.names()]
        found.append({"name": "scene", "title": "An image with training areas"})
        show({"datasets": found}, _listed, json)
        return
    if output is None:
        raise ParameterError(f"{name} is written to a file: give -o {name}.csv, or a folder for scene.")
    check_output(output, overwrite)
    made = datasets.scene() if name == "scene" else datasets.load(name)
    files = made.write(output) if isinstance(made, datasets.Scene) else _written(made, output)
    values = {"name": name, "files": {what: str(path) for what, path in files.items()}, "description": str(made)}
    show(values, lambda got: [got["description"], f"Written to {', '.join(got['files'].values())}."], json)


def _written(data: Any, output: str) -> dict[str, str]:
    import pyarrow as pa
    from pyarrow import csv

    from ..files import write_whole

    sink = pa.BufferOutputStream()
    csv.write_csv(data.to_frame("pyarrow"), sink)
    write_whole(output, sink.getvalue().to_pybytes())
    return {"table": output}


def _listed(found: dict[str, Any]) -> list[Any]:
    rows = [[each["name"], each["title"]] for each in found["datasets"]]
    return [grid("Data that come with discriminant", ["name", "what it is"], rows, names=2)]
