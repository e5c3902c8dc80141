"""Types and memory layouts of Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa

from ..arrays import Array, Frame
from ..errors import ColumnError

if TYPE_CHECKING:
    pass

#: An Arrow memory pool that allocates pages of the default size.
small_pages: Final = pa.system_memory_pool()
#: Matrices of at least this size are allocated by Arrow: NumPy's huge pages would take more resident memory.
MIN_ARROW_BUFFER_BYTES: Final = 1 << 26

#: An Arrow column: one chunk or several.
Values: TypeAlias = pa.Array | pa.ChunkedArray
TEXT: Final = pa.string()
#: Type of integers that do not fit into 64 bits.
LARGE_INTEGER: Final = pa.decimal128(38, 0)


def empty_matrix(n_rows: int, n_columns: int) -> Array:
    """An uninitialised float64 matrix in C order."""
    n_bytes = 8 * n_rows * n_columns
    if n_bytes < MIN_ARROW_BUFFER_BYTES:
        return np.empty((n_rows, n_columns))
    memory = pa.allocate_buffer(n_bytes, memory_pool=small_pages)
    return np.frombuffer(memory, dtype=np.float64).reshape(n_rows, n_columns)


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, also of a dictionary-encoded column."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text, plain or dictionary-encoded."""
    plain = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(plain or pa.types.is_dictionary(kind))


def is_numeric(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def kind_of(kind: pa.DataType) -> str:
    """``"number"``, ``"boolean"`` or ``"text"``, else the name of the Arrow type."""
    kind = value_type(kind)
    if is_numeric(kind):
        return "number"
    if pa.types.is_boolean(kind):
        return "boolean"
    return "text" if is_text(kind) else str(kind)


def without_views(data: pa.Table | pa.RecordBatch) -> pa.Table:
    """A table with string views cast to plain strings, which all Arrow functions support."""
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    for i, field in enumerate(table.schema):
        if pa.types.is_string_view(value_type(field.type)):
            column = table.column(i)
            if pa.types.is_dictionary(field.type):
                chunks = [
                    pa.DictionaryArray.from_arrays(each.indices, each.dictionary.cast(pa.large_string()))
                    for each in column.chunks
                ]
                column = pa.chunked_array(chunks, pa.dictionary(field.type.index_type, pa.large_string()))
            else:
                column = column.cast(pa.large_string())
            table = table.set_column(i, field.name, column)
    return table


def common_type(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """The narrowest type that holds the values of both."""
    if first == second:
        return first
    if pa.types.is_null(first) or pa.types.is_null(second):
        return second if pa.types.is_null(first) else first
    if is_numeric(first) and is_numeric(second):
        if pa.types.is_integer(first) and pa.types.is_integer(second):
            return pa.int64()
        return pa.float64() if pa.types.is_floating(first) or pa.types.is_floating(second) else LARGE_INTEGER
    if is_text(first) and is_text(second):
        return TEXT
    return next((kind for kind in (first, second) if pa.types.is_dictionary(kind)), TEXT)


def cast(part: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """The table with its columns cast to these types."""
    columns = {
        name: column if column.type == types[name] else column.cast(types[name], safe=False)
        for name, column in zip(part.column_names, part.columns, strict=True)
    }
    return pa.table(columns)


def common_types(parts: Sequence[pa.Table]) -> dict[str, pa.DataType]:
    """The narrowest type of each column that holds its values in all of these tables."""
    return {
        name: reduce(common_type, (part.schema.field(name).type for part in parts)) for name in parts[0].column_names
    }


def concatenated(parts: Sequence[pa.Table]) -> pa.Table:
    """Tables with the same columns, concatenated; each column has the narrowest type that holds its values."""
    types = common_types(parts)
    return pa.concat_tables([cast(part, types) for part in parts])


def as_arrow(frame: Frame) -> pa.Table:
    """A narwhals frame as a pyarrow table, without copies where possible."""
    try:
        data = frame.to_arrow()
    except OverflowError as error:
        raise ColumnError(
            f"A column of the data frame has integers of more than 64 bits ({error}). Convert the column to text."
        ) from error
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise ColumnError(
            f"A column of the data frame mixes types: {error.args[-1] if error.args else error}. Expected one type per "
            "column: convert it to numbers, text or booleans."
        ) from error
    names = [str(name) for name in frame.columns]  # pandas appends its index
    return without_views(data.select(list(range(len(names)))).rename_columns(names).replace_schema_metadata(None))
