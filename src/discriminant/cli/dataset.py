"""``discriminant dataset``: write example data to files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ParameterError
from . import options
from .options import command, option
from .output import Page, Values, check_output, facts, grid, show, table_writer

if TYPE_CHECKING:
    from ..datasets import Dataset


@command
def dataset(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Dataset name; if omitted, the datasets are listed.")
    ] = None,
    output: Annotated[
        str | None, option("FILE", "Output file; format from extension (scene: a folder).", "--output", "-o")
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write an example dataset to a file.

    Examples:
      discriminant dataset
      discriminant dataset avocados -o avocados.csv
      discriminant dataset scene -o scene
    """
    from .. import datasets

    if name is None:
        found = [{"name": each, "title": datasets.load(each).title} for each in datasets.names()]
        found.append({"name": "scene", "title": "An image with training areas"})
        show({"datasets": found}, _list, json)
        return
    if output is None:
        raise ParameterError(f"Dataset {name!r} needs an output: -o {name}.csv, or -o FOLDER for scene.")
    check_output(output, overwrite)
    made = datasets.scene() if name == "scene" else datasets.load(name)
    files = made.write(output) if isinstance(made, datasets.Scene) else _write(made, output)
    values = {"name": name, "files": {what: str(path) for what, path in files.items()}, "description": str(made)}
    show(values, lambda got: [got["description"], facts({"Files": ", ".join(got["files"].values())})], json)


def _write(data: Dataset, output: str) -> dict[str, str]:
    with table_writer(output, "refuse") as write:
        write(data.to_frame("pyarrow"))
    return {"table": output}


def _list(found: Values) -> Page:
    rows = [[each["name"], each["title"]] for each in found["datasets"]]
    return [grid("Datasets", ["name", "content"], rows, names=2)]
