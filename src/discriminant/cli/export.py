"""``discriminant export``: export a model to another language."""

from __future__ import annotations

import sys
from typing import Annotated

from ..workflow.stored import export_model
from . import options
from .console import visible_lines
from .options import command, option
from .output import check_output, facts, file_or_none, put, show

_SQL = "SQL"


@command
def export(
    model: options.ModelPath,
    to: Annotated[str, option("LANGUAGE", "python, sql, json or onnx.", "--to")],
    output: Annotated[str | None, option("FILE", "Output file.  [default: standard output]", "--output", "-o")] = None,
    dialect: Annotated[str | None, option("DATABASE", "duckdb, postgresql or sqlite (required).", panel=_SQL)] = None,
    sql_table: Annotated[str, option("NAME", "Source table of the query.", panel=_SQL)] = "data",
    keep: Annotated[list[str] | None, option("COLUMN", "Column to copy to the result; repeatable.", panel=_SQL)] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Export a model as Python, SQL, JSON or ONNX.

    The exported code takes raw values, gives the same predictions and does not need this package.

    Examples:
      discriminant export model.dsc --to sql --dialect duckdb --sql-table patients --keep id > score.sql
      discriminant export model.dsc --to python -o model.py
      discriminant export model.dsc --to onnx -o model.onnx
    """
    output = file_or_none(output)
    check_output(output, overwrite, model)
    written = export_model(model, to, output, dialect, sql_table, keep or ())
    if output is not None:
        show({"model": model, "to": to, "file": output}, lambda found: [facts({"Output": found["file"]})], json)
    elif isinstance(written, bytes):
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
    else:
        text = written if written.endswith("\n") else written + "\n"
        put(visible_lines(text) if sys.stdout.isatty() else text)
