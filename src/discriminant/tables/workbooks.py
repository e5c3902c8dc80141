"""Workbooks: a sheet of Excel or OpenDocument as records.

A sheet is a page as well as a table: rows and columns may be empty, titles precede the header, remarks follow the last
row, cells are merged. What is left out is reported.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..dependencies import optional_module
from ..errors import InputError, Setting
from ..results import quoted, several, suggestion
from .dialect import DialectOptions, has_header, names_of
from .files import InputFile
from .readers import ColumnOptions
from .records import RecordReader

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

#: Cells hold floats; integers below this are exact.
MAX_EXACT_INTEGER: Final = 2.0**53

Rows: TypeAlias = list[list[Any]]


def open_workbook(file: InputFile, table: str | None, dialect: DialectOptions, columns: ColumnOptions) -> RecordReader:
    """The table of a sheet: the sheet of this name, or the first that is not empty."""
    with _workbook(file) as book:
        found = [sheet for sheet in book.sheets_metadata if sheet.typ == type(sheet.typ).WorkSheet]
        sheets = [sheet.name for sheet in found]
        visible = [sheet.name for sheet in found if sheet.visible == type(sheet.visible).Visible]
        if table is not None and table not in sheets:
            raise InputError(
                f"{file.label} has no sheet {table!r}.{suggestion(table, sheets)} Sheets: {quoted(sheets, 20)}."
            )
        hidden = [name for name in sheets if name not in visible]
        for name in [*visible, *hidden] if table is None else [table]:
            rows = _filled_cells(book.get_sheet_by_name(name))
            if rows:
                break
        else:
            empty = "Every sheet" if table is None else f"Sheet {table!r}"
            raise InputError(f"{empty} of {file.label} is empty. Give a table with a header and rows.")
    others = [other for other in visible if other != name]
    if table is None and others:
        file.note("sheet", f"Sheet {name!r} was read. To read {quoted(others, 10)}, give ", Setting("table"), ".")
    rows = _table(rows, file, name)
    first, *below = rows
    texts = ["" if cell is None else str(cell) for cell in first]
    header = dialect.header
    if header is None:
        values = [{str(cell) for cell in own if cell is not None} for own in zip(*below, strict=True)]
        header = has_header(texts, values or [set()] * len(first), dialect.codes, {*columns.wanted, *columns.types})
    description = f"sheet {name!r} of a workbook{'' if header else ', no header'}"
    kept = below if header else rows
    return RecordReader(
        file, names_of(texts, header, file.label), columns, dialect.codes, description, lambda: iter(kept)
    )


@contextmanager
def _workbook(file: InputFile) -> Iterator[CalamineWorkbook]:
    calamine = optional_module("python_calamine", "Workbooks")
    try:
        with closing(calamine.CalamineWorkbook.from_path(str(file.path))) as book:
            yield book
    except calamine.PasswordError as error:
        raise InputError(f"{file.label} is protected by a password. Save it without a password.") from error
    except calamine.CalamineError as error:
        raise InputError(
            f"{file.label} cannot be read as a workbook: {error}. Check that the file is complete, or save the sheet "
            "as CSV."
        ) from error


def _filled_cells(sheet: CalamineSheet) -> Rows:
    """The rows from the first non-empty cell to the last; vertically merged cells repeat their value."""
    rows = [[_value(cell) for cell in row] for row in sheet.to_python()]
    if not any(map(_n_filled, rows)):
        return []
    assert sheet.start is not None
    top, left = sheet.start
    for (first, column), (last, _) in sheet.merged_cell_ranges or []:
        if first >= top and left <= column < left + len(rows[0]):
            for row in rows[first - top + 1 : last - top + 1]:
                row[column - left] = rows[first - top][column - left]
    return rows


def _value(cell: object) -> object:
    """The value of a cell: None for an empty cell or an error, an int for a float without fraction."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < MAX_EXACT_INTEGER:
        return int(cell)
    return None if isinstance(cell, str) and not cell.strip() else cell


def _n_filled(row: Sequence[Hashable]) -> int:
    return sum(cell is not None for cell in row)


def _table(rows: Rows, file: InputFile, sheet: str) -> Rows:
    """The table of a sheet, without the text around it."""
    width = max(map(_n_filled, rows))
    places = [place for place, row in enumerate(rows) if _n_filled(row)]
    body = [place for place in places if 2 * _n_filled(rows[place]) >= width]
    if _is_title(rows, body[:2]):
        del body[0]
    first, last = body[0], body[-1]
    # Remarks follow the table after an empty row; a sparse row right below the table belongs to it.
    while last + 1 < len(rows) and _n_filled(rows[last + 1]):
        last += 1
    around = [
        " ".join(str(cell) for cell in rows[place] if cell is not None)
        for place in places
        if not first <= place <= last
    ]
    if around:
        file.note("text around table", f"Sheet {sheet!r} has text outside its table, ignored: {quoted(around, 5)}.")
    kept = [place for place in places if first <= place <= last]
    n_empty = last - first + 1 - len(kept)
    if n_empty:
        file.note("empty rows", f"Sheet {sheet!r} has {several(n_empty, 'empty row')}, ignored.")
    columns = [j for j in range(len(rows[0])) if any(rows[place][j] is not None for place in kept)]
    return [[rows[place][j] for j in columns] for place in kept]


def _is_title(rows: Rows, first: list[int]) -> bool:
    """Whether the first row is a title above two columns: one text, followed by two names."""
    if len(first) < 2:
        return False
    title, names = (rows[place] for place in first)
    return _n_filled(title) == 1 and len(names) == 2 and all(isinstance(name, str) for name in names)
