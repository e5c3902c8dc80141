"""Results as text for people or JSON for machines, from the same values."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

#: Wide enough for any table where no terminal cuts lines.
_WIDE = 1000
#: Tables on a page show this many rows; JSON has all.
MOST_ROWS = 40

Page = list[Any]  #: paragraphs and rich tables


def show(values: dict[str, Any], page: Callable[[dict[str, Any]], Page], as_json: bool) -> None:
    """Write a result to standard output."""
    from ..results import jsonable

    plain = jsonable(values)
    if as_json:
        put(json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    else:
        put(_rendered(page(plain)))


def put(text: str) -> None:
    """Write to standard output at once, so that a closed pipe shows here."""
    sys.stdout.write(text)
    sys.stdout.flush()


def grid(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], names: int = 1) -> Any:
    """A table; the first columns hold names and stand to the left, numbers to the right."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for j, name in enumerate(head):
        table.add_column(Text(visible(name), style="dim"), justify="left" if j < names else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return Group(Text(visible(title), style="bold"), table)


def shortened(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], names: int = 1) -> Page:
    """The first rows of a table, and a word on the others."""
    left = len(rows) - MOST_ROWS
    more = [f"... and {left:,} more; --json has all."] if left > 0 else []
    return [grid(title, head, rows[:MOST_ROWS], names), *more]


def visible(cell: Any) -> str:
    """A value as text that cannot move the cursor or colour the terminal."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(cell))


def number(value: float | None, digits: int = 4) -> str:
    """A number to some significant digits; a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}g}"


def share(value: float | None) -> str:
    """A share as a percentage."""
    return "-" if value is None else f"{100 * value:.1f} %"


def _rendered(page: Page) -> str:
    from rich.console import Console

    terminal = sys.stdout.isatty()
    console = Console(
        file=io.StringIO(),
        width=None if terminal else _WIDE,
        force_terminal=terminal,
        markup=False,
        emoji=False,
        highlight=False,
    )
    for part in page:
        console.print(visible_lines(part) if isinstance(part, str) else part)
        console.print()
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.rstrip().splitlines()) + "\n"


def visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))
