"""Results on standard output, as tables and "name: value" lines or as JSON, and tables of rows in files."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from .. import figures
from ..errors import ParameterError
from ..files import check_target, whole_file
from ..results import jsonable, visible
from .console import rendered, visible_lines

if TYPE_CHECKING:
    import pyarrow as pa
    from plotly.graph_objects import Figure
    from rich.console import RenderableType
    from typing_extensions import Buffer

# Width for any table where no terminal cuts lines.
UNLIMITED_WIDTH: Final = 1000
# Rows of a table and lines of a text that are printed: two screens; JSON has all.
MAX_ROWS: Final = 40
MAX_LINES: Final = 150

Page = list[Any]  #: paragraphs and rich tables
Values = dict[str, Any]  #: a result as plain values, as in JSON
Sink = str | Path | IO[bytes]  #: where a writer of tables writes
Write = Callable[["pa.Table"], None]  #: writes one table after the other


def show(values: Values, page: Callable[[Values], Page], as_json: bool) -> None:
    """Write a result to standard output."""
    plain = jsonable(values, rendered)
    if as_json:
        text = json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False)
        put("\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n")) + "\n")
    else:
        put(_printed(page(plain)))


def _escaped(line: str) -> str:
    """A line of JSON with escapes for characters that are not printable."""
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1].replace("\x7f", "\\u007f") for one in line)


def put(text: str) -> None:
    """Write to standard output and flush, so that a closed pipe raises here."""
    sys.stdout.write(text)
    sys.stdout.flush()


def facts(values: Mapping[str, str | int | None]) -> str:
    """Lines of the form ``name: value``, without those that have no value."""
    return "\n".join(f"{visible(name)}: {visible(value)}" for name, value in values.items() if value not in (None, ""))


def grid(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str | float | None]], names: int = 1
) -> RenderableType:
    """A table; the first ``names`` columns are left-aligned, numbers are right-aligned."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for j, name in enumerate(head):
        table.add_column(Text(visible(name), style="dim"), justify="left" if j < names else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return Group(Text(visible(title), style="bold"), table)


def shortened(title: str, head: Sequence[str], rows: Sequence[Sequence[str | float | None]], names: int = 1) -> Page:
    """The first rows of a table, and how many more there are."""
    more = len(rows) - MAX_ROWS
    return [grid(title, head, rows[:MAX_ROWS], names), *([f"... and {more:,} more rows (--json)"] if more > 0 else [])]


def shortened_lines(text: str) -> str:
    """The first lines of a long text, and how many more there are."""
    lines = text.splitlines()
    more = len(lines) - MAX_LINES
    return "\n".join([*lines[:MAX_LINES], *([f"... and {more:,} more lines (--json)"] if more > 0 else [])])


def _printed(page: Page) -> str:
    from rich.console import Console

    terminal, text = sys.stdout.isatty(), io.StringIO()
    width = None if terminal else UNLIMITED_WIDTH
    console = Console(file=text, width=width, force_terminal=terminal, markup=False, emoji=False, highlight=False)
    for part in page:
        console.print(visible_lines(part) if isinstance(part, str) else part)
        console.print()
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().splitlines()) + "\n"


def file_or_none(output: str | None) -> str | None:
    """The output file; None for standard output, also if it is named."""
    return None if output in ("-", "/dev/stdout") else output


def check_output(path: str | None, overwrite: bool, *inputs: str | None) -> None:
    """Refuse an output file that cannot be written, may not be replaced, or is an input file, before any work."""
    if path == "-":
        raise ParameterError("This output cannot be written to standard output (-). Give a file name.")
    if path is None:
        return
    target = check_target(path, overwrite)
    for given in inputs:
        if given is not None and target.exists() and os.path.exists(given) and os.path.samefile(target, given):
            raise ParameterError(f"{path!r} is also an input file. Give another output file.")


class _TerminalStream(io.RawIOBase):
    """Standard output if it is a terminal: bytes of text, with control characters escaped."""

    def writable(self) -> bool:
        return True

    def write(self, content: Buffer) -> int:
        text = bytes(content)
        put(visible_lines(text.decode("utf-8", "replace")))
        return len(text)


@contextmanager
def table_writer(output: str | None, formulas: str) -> Iterator[Write]:
    """A function that writes tables one after the other to standard output or a file, which appears when complete.

    ``formulas`` is the policy for CSV text that a spreadsheet would run as a formula.
    """
    from ..data import check_choice
    from ..tables.csv_injection import CHOICES, without_formulas

    check_choice("formulas", formulas, CHOICES)
    kinds, extension = _writers(), ".csv" if output is None else Path(output).suffix.lower()
    if extension not in kinds:
        raise ParameterError(f"{output!r}: unknown format. Use one of the extensions {', '.join(kinds)}.")
    opened: list[Any] = []  # one writer, made for the schema of the first table
    standard: Any = _TerminalStream() if sys.stdout.isatty() else sys.stdout.buffer

    with nullcontext(standard) if output is None else whole_file(output) as sink:

        def write(part: pa.Table) -> None:
            if extension == ".csv":
                part = without_formulas(part, formulas)
            if not opened:
                opened.append(kinds[extension](sink if output is None else str(sink), part.schema))
            opened[0].write_table(part)

        try:
            yield write
        finally:
            for writer in opened:
                writer.close()
    sys.stdout.flush()


def write_figure(made: Figure, path: str) -> None:
    """Write a figure as a page or an image, by the extension of the file."""
    (figures.write_html if path.lower().endswith((".html", ".htm")) else figures.write_image)(made, path)


def _writers() -> dict[str, Callable[[Sink, pa.Schema], Any]]:
    """The writers of tables by file extension."""
    import pyarrow as pa
    from pyarrow.csv import CSVWriter, WriteOptions

    def parquet(sink: Sink, schema: pa.Schema) -> Any:
        from pyarrow.parquet import ParquetWriter  # slow to load

        return ParquetWriter(sink, schema)

    def text(sink: Sink, schema: pa.Schema) -> Any:
        return CSVWriter(sink, schema, write_options=WriteOptions(quoting_style="needed"))

    arrow = pa.ipc.new_file
    return {".csv": text, ".parquet": parquet, ".pq": parquet, ".feather": arrow, ".arrow": arrow}


def write_columns(columns: Mapping[str, Sequence[Any]], output: str | None) -> None:
    """Write columns by name, or a frame, to the output file, if there is one."""
    if output is None:
        return
    import pyarrow as pa

    with table_writer(output, "refuse") as write:
        write(pa.table({str(name): list(columns[name]) for name in columns}))
