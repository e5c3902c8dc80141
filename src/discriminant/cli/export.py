"""``discriminant export``: a model in another language."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from . import options
from .console import check_output, put, show
from .options import command


@command
def export(
    model: options.ModelPath,
    to: Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="python, sql, json or onnx.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; standard output if not given.")
    ] = None,
    table: Annotated[str, typer.Option(metavar="NAME", help="For SQL, the table of the rows.")] = "data",
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="For SQL, a column to pass on; may be repeated.")
    ] = None,
    overwrite: options.Overwrite = False,
    json: Annotated[bool, typer.Option("--json", help="With -o, what was written as JSON.")] = False,
) -> None:
    """Write a model as Python, SQL, JSON or ONNX.

    What is written gives the same answers to raw values without this package.

    \b
    Examples:
      discriminant export model.dsc --to sql --table patients --keep id > score.sql
      discriminant export model.dsc --to python -o model.py
      discriminant export model.dsc --to onnx -o model.onnx
    """
    from ..storage import export as exported
    from ..storage import read_model_file

    check_output(output, overwrite)
    file = read_model_file(model)
    written = exported(file.model, to, output, file.schema, table, keep or ())  # type: ignore[arg-type]
    if output is not None:
        show({"model": model, "to": to, "file": output}, lambda found: [f"Written to {found['file']}."], json)
    elif isinstance(written, bytes):
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
    else:
        put(written if written.endswith("\n") else written + "\n")
