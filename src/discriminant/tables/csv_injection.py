"""Text that spreadsheets execute as a formula when they open a CSV file, even if it is quoted.

Such text begins with ``=``, ``+``, ``-`` or ``@``, their full-width forms, a tab or a carriage return (OWASP, "CSV
injection"); numbers and single signs, such as the class ``-``, are no formulas. A leading apostrophe makes it text for
a spreadsheet, but another text for every other program, so the user has to choose.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, Setting
from .layouts import Values

#: Treatments of formulas.
CHOICES = ("refuse", "keep", "quote")
_START = r"(?s)^[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]."
_NUMBER = r"^[+-]?(\d[\d,. ]*|[.,]\d+)([eE][+-]?\d+)? ?%?$"


def without_formulas(table: pa.Table, formulas: str) -> pa.Table:
    """The table for a CSV file: formulas are refused, kept or quoted with an apostrophe.

    >>> import pyarrow as pa
    >>> table = pa.table({"note": ["=1+1", "-1.5", "-"], "n": [-1, -2, -3]})
    >>> without_formulas(table, "quote")["note"].to_pylist()
    ["'=1+1", '-1.5', '-']
    """
    if formulas == "keep":
        return table
    names = pa.chunked_array([table.column_names], pa.string())
    if formulas == "refuse":
        _refuse("The name of a column", names)
    table = table.rename_columns(_quoted(names).to_pylist())
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
            continue
        if formulas == "refuse":
            _refuse(f"Column {name!r}", column)
        else:
            table = table.set_column(place, name, _quoted(column))
    return table


def _is_formula(column: Values) -> Values:
    starts = pc.fill_null(pc.match_substring_regex(column, _START), False)
    if not pc.any(starts).as_py():
        return starts
    return pc.and_not(starts, pc.fill_null(pc.match_substring_regex(column, _NUMBER), False))


def _quoted(column: Values) -> Values:
    return pc.if_else(_is_formula(column), pc.binary_join_element_wise("'", column, ""), column)


def _refuse(what: str, column: Values) -> None:
    first = pc.index(_is_formula(column), True).as_py()
    if first >= 0:
        message = f"{what} has text that a spreadsheet would execute: {column[first].as_py()[:60]!r}. Choose "
        keep, quote = Setting("formulas", "keep"), Setting("formulas", "quote")
        raise InputError(
            message, keep, " to write such text unchanged, or ", quote,
            " to add an apostrophe for spreadsheets; Parquet and Arrow files store it unchanged.",
        )  # fmt: skip
