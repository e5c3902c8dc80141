"""Tables as data frames, where pandas is installed."""

from __future__ import annotations

from typing import Any


def frame_of(columns: dict[str, Any]) -> Any:
    """The columns as a pandas frame, or as they are where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def matrix_frame(values: Any, rows: list[Any], columns: list[Any], row_axis: str, column_axis: str) -> Any:
    """A table with named axes: a pandas frame, or ``{row: {column: value}}`` where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return {row: dict(zip(columns, line, strict=True)) for row, line in zip(rows, values.tolist(), strict=True)}
    index, header = pandas.Index(rows, name=row_axis), pandas.Index(columns, name=column_axis)
    return pandas.DataFrame(values, index=index, columns=header)
