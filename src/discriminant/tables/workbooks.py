"""Workbooks: a sheet of Excel or OpenDocument as records.

A sheet is a page before it is a table: rows and columns may be empty, titles stand above the names and remarks below
the last row, cells are merged. What is left out is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from ..dependencies import optional_module
from ..errors import InputError, Setting
from ..results import quoted, suggestion
from .records import Records
from .sources import InputFile

#: Numbers of cells have 53 bits; those that are whole below this are written as such.
_WHOLE = 2.0**53

Rows = list[list[Any]]


def sheet_records(file: InputFile, wanted: str | None, header: bool | None) -> Records:
    """The records of a sheet: the one that is wanted, or the first that is not empty."""
    with _opened(file) as book:
        found = [sheet for sheet in book.sheets_metadata if sheet.typ == type(sheet.typ).WorkSheet]
        sheets = [sheet.name for sheet in found]
        seen = [sheet.name for sheet in found if sheet.visible == type(sheet.visible).Visible]
        if wanted is not None and wanted not in sheets:
            raise InputError(
                f"{file.label} has no sheet {wanted!r}.{suggestion(wanted, sheets)} Sheets: {quoted(sheets, 20)}."
            )
        for name in [*seen, *(name for name in sheets if name not in seen)] if wanted is None else [wanted]:
            rows = _filled_cells(book.get_sheet_by_name(name))
            if rows:
                break
        else:
            empty = "Every sheet" if wanted is None else f"Sheet {wanted!r}"
            raise InputError(f"{empty} of {file.label} is empty. Give a table with a header and rows.")
    others = [other for other in seen if other != name]
    if wanted is None and others:
        said = f"Sheet {name!r} was read; others are {quoted(others, 10)}. Name one with "
        file.note("sheets", said, Setting("table"), ".")
    return Records(_table(rows, file, name), f"sheet {name!r} of a workbook", header)


@contextmanager
def _opened(file: InputFile) -> Iterator[Any]:
    calamine = optional_module("python_calamine", "Workbooks")
    try:
        with closing(calamine.CalamineWorkbook.from_path(str(file.path))) as book:
            yield book
    except calamine.PasswordError as error:
        raise InputError(f"{file.label} is protected by a password. Save it without one.") from error
    except calamine.CalamineError as error:
        raise InputError(
            f"{file.label} cannot be read as a workbook: {error}. Check that the file is whole, or save the sheet as "
            "CSV."
        ) from error


def _filled_cells(sheet: Any) -> Rows:
    """The rows from the first cell that holds something to the last; cells merged from above have its value."""
    rows = [[_value(cell) for cell in row] for row in sheet.to_python()]
    if not any(map(_filled, rows)):
        return []
    top, left = sheet.start
    for (first, column), (last, _) in sheet.merged_cell_ranges or []:
        if first >= top and left <= column < left + len(rows[0]):
            for row in rows[first - top + 1 : last - top + 1]:
                row[column - left] = rows[first - top][column - left]
    return rows


def _value(cell: Any) -> Any:
    """A cell's value: None for nothing (errors are nothing, too), whole numbers as such."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _WHOLE:
        return int(cell)
    return None if isinstance(cell, str) and not cell.strip() else cell


def _filled(row: Sequence[Any]) -> int:
    return sum(cell is not None for cell in row)


def _table(rows: Rows, file: InputFile, sheet: str) -> Rows:
    """The table of a sheet, without what stands around it."""
    width = max(map(_filled, rows))
    places = [place for place, row in enumerate(rows) if _filled(row)]
    body = [place for place in places if 2 * _filled(rows[place]) >= width]
    if _is_title(rows, body[:2]):
        del body[0]
    first, last = body[0], body[-1]
    # Below the table: remarks after an empty row. A row of few values right below it is a row.
    while last + 1 < len(rows) and _filled(rows[last + 1]):
        last += 1
    around = [_text_of(rows[place]) for place in places if not first <= place <= last]
    if around:
        file.note("around", f"Sheet {sheet!r} has text around its table that was left out: {quoted(around, 5)}.")
    kept = [place for place in places if first <= place <= last]
    n_empty = last - first + 1 - len(kept)
    if n_empty:
        empty = "An empty row was" if n_empty == 1 else f"{n_empty:,} empty rows were"
        file.note("empty rows", f"{empty} left out of sheet {sheet!r}.")
    columns = [j for j in range(len(rows[0])) if any(rows[place][j] is not None for place in kept)]
    return [[rows[place][j] for j in columns] for place in kept]


def _is_title(rows: Rows, first: list[int]) -> bool:
    """Whether the first row is a title over two columns: one text, and two names below it."""
    if len(first) < 2:
        return False
    title, names = (rows[place] for place in first)
    return _filled(title) == 1 and len(names) == 2 and all(isinstance(name, str) for name in names)


def _text_of(row: Sequence[Any]) -> str:
    return " ".join(str(cell) for cell in row if cell is not None)
