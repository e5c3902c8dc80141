"""Text that a spreadsheet takes for a formula and runs when it opens a CSV file, whatever quotes are around it.

Such text begins with one of ``= + - @``, their wide forms, a tab or a carriage return (OWASP, "CSV injection"); numbers
and lone signs, such as the class ``-``, are no formulas. An apostrophe before it makes it text for a spreadsheet, and
another text for every other program: nobody but the user can know which is wanted.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, Setting

#: What may be done about such text.
CHOICES = ("refuse", "keep", "quote")
_BEGINS = r"(?s)^[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]."
_NUMBER = r"^[+-]?(\d[\d,. ]*|[.,]\d+)([eE][+-]?\d+)? ?%?$"


def without_formulas(table: Any, formulas: str) -> Any:
    """The table as it goes into a CSV file: formulas are refused, kept as they are, or begin with an apostrophe.

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


def _formulas(column: Any) -> Any:
    """Which cells are formulas."""
    begins = pc.fill_null(pc.match_substring_regex(column, _BEGINS), False)
    if not pc.any(begins).as_py():
        return begins
    return pc.and_not(begins, pc.fill_null(pc.match_substring_regex(column, _NUMBER), False))


def _quoted(column: Any) -> Any:
    return pc.if_else(_formulas(column), pc.binary_join_element_wise("'", column, ""), column)


def _refuse(what: str, column: Any) -> None:
    first = pc.index(_formulas(column), True).as_py()
    if first >= 0:
        words = f"{what} has text that a spreadsheet would run as a formula: {column[first].as_py()[:60]!r}. Choose "
        keep, quote = Setting("formulas", "keep"), Setting("formulas", "quote")
        raise InputError(
            words, keep, " to write such cells as they are, for other programs, or ", quote,
            " to put an apostrophe before them, for spreadsheets; Parquet and Arrow files hold them as they are.",
        )  # fmt: skip
