"""Values of columns as numbers and as places of levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from ..arrays import Array
from ..errors import ColumnError, InputError, Part, Setting
from ..results import quoted, several
from .column import Column
from .layouts import Values, is_numeric, is_text, value_type
from .levels import BOOLEANS, MISSING_PLACE, UNSEEN_PLACE, LevelPlaces, ValueType
from .notation import days_of_arrow


def complete_rows(columns: Iterable[Column], data: pa.Table, codes: Sequence[str], refuse: bool) -> Array:
    """Which rows have no missing value in these columns; with ``refuse`` a missing value raises an `InputError`."""
    kept = np.ones(data.num_rows, dtype=bool)
    for column in columns:
        values = data[column.name]
        if column.kind == "category":
            missing = level_index(column.name, values, column.places, codes)[0] == MISSING_PLACE
        elif column.kind == "text":
            texts, index = stripped_texts(values, codes)
            missing = index == len(texts)
        else:
            missing = np.isnan(as_floats(column, values, codes))
        if refuse and missing.any():
            where = f", the first in row {int(np.argmax(missing))}"
            raise InputError(*missing_refused(column.name, int(np.count_nonzero(missing)), where))
        kept &= ~missing
    return kept


def missing_refused(name: str, count: int, where: str = "") -> tuple[Part, ...]:
    """The message for missing values that are refused."""
    message = f"Column {name!r} has {several(count, 'missing value')}{where}, but missing values are not allowed. Fill "
    return f"{message}them in, drop the column, or choose ", Setting("missing", "indicator"), "."


def total(numbers: Array) -> Array:
    """The sum over the last axis: finite only if every number is, unless it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(numbers.sum(axis=-1))


def refuse_infinite(name: str, numbers: Array, first_row: int = 0) -> None:
    """Raise an `InputError` that names the first infinite value, if there is one."""
    infinite = np.isinf(numbers)
    if infinite.any():
        raise InputError(
            f"Column {name!r} has an infinite value in row {first_row + int(np.argmax(infinite))}. Expected finite "
            "numbers: correct the value, or leave it empty."
        )


def as_floats(column: Column, values: Values, codes: Sequence[str]) -> Array:
    """An Arrow column as floats, NaN if missing; a view if possible."""
    return read_numbers(column, values, codes)[0]


def read_numbers(column: Column, values: Values, codes: Sequence[str]) -> tuple[Array, Mapping[str, int]]:
    """An Arrow column as floats, NaN if missing, and the texts that could not be parsed, with their rows."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan), {}
    if is_text(kind):
        return _parsed_numbers(column, values, codes)
    if column.kind == "date" and pa.types.is_temporal(kind):
        return column.notation.without_sentinels(days_of_arrow(values)), {}
    if column.notation.date == "digits" and is_numeric(kind):
        whole = values.cast(pa.float64(), safe=False).cast(pa.int64(), safe=False)
        return _parsed_numbers(column, whole.cast(pa.large_string()), codes)
    if not (is_numeric(kind) or pa.types.is_boolean(kind)) or column.kind == "date":
        raise _type_error(column, f"type {kind}")
    floats = values if pa.types.is_float64(kind) else values.cast(pa.float64(), safe=False)
    numbers = np.asarray(floats.to_numpy(zero_copy_only=False))
    if column.kind == "boolean":
        wrong = ~((numbers == 0) | (numbers == 1) | np.isnan(numbers))
        if wrong.any():
            raise _type_error(column, f"numbers such as {quoted(np.unique(numbers[wrong])[:3].tolist(), 3)}")
    return column.notation.without_sentinels(numbers), {}


def _parsed_numbers(column: Column, values: Values, codes: Sequence[str]) -> tuple[Array, Mapping[str, int]]:
    """Numbers stored as text; each distinct text is parsed once."""
    texts, index = distinct_texts(values)
    if column.kind == "boolean":
        table = np.array([BOOLEANS.get(text.strip().casefold(), np.nan) for text in texts])
    else:
        table = column.notation.read(pa.array(texts, pa.large_string()))
    missing = np.array([text.strip() in codes for text in texts], dtype=bool)
    table[missing] = np.nan
    counts = np.bincount(index, minlength=len(texts))[: len(texts)]
    unparsed = {texts[i]: int(counts[i]) for i in np.flatnonzero(np.isnan(table) & ~missing & (counts > 0))}
    return np.append(column.notation.without_sentinels(table), np.nan)[index], unparsed


def _type_error(column: Column, found: str) -> ColumnError:
    expected = {"boolean": "true or false (0 or 1)", "date": "dates or times"}.get(column.kind, "numbers")
    return ColumnError(
        f"Column {column.name!r} has {found}. Expected {expected}: correct the values, or leave them empty."
    )


def distinct_texts(values: Values) -> tuple[list[str], Array]:
    """The distinct values of an Arrow column as text, and the place of each row's; missing values have the last place.

    Numbers are written without a redundant ``.0``.
    """
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(whole, pa.ChunkedArray):  # chunks with different dictionaries
        whole = whole.unify_dictionaries().combine_chunks()
    coded = whole if pa.types.is_dictionary(whole.type) else _as_text(whole).dictionary_encode()
    texts = _as_text(coded.dictionary)
    index = coded.indices.cast(pa.int64()).fill_null(len(texts)).to_numpy(zero_copy_only=False)
    if texts.null_count:  # a dictionary may contain null
        index = np.where(np.append(texts.is_null(), False)[index], len(texts), index)
    return texts.fill_null("").to_pylist(), index


def stripped_texts(values: Values, codes: Sequence[str]) -> tuple[list[str], Array]:
    """The distinct texts that are neither empty nor missing-value codes, and the place of each row's.

    Missing values have the last place.
    """
    found, index = distinct_texts(values)
    stripped = [text.strip() for text in found]
    kept = [place for place, text in enumerate(stripped) if text and text not in codes]
    places = np.full(len(found) + 1, len(kept))
    places[kept] = np.arange(len(kept))
    return [stripped[place] for place in kept], places[index]


def _as_text(values: pa.Array) -> pa.Array:
    if pa.types.is_floating(values.type):
        values = compute.if_else(compute.is_nan(values), None, values)
    try:
        return values.cast(pa.large_string())
    except pa.ArrowException as error:
        raise ColumnError(f"A column has type {values.type}, which cannot be read as text. Drop the column.") from error


def level_index(
    name: str, values: Values, places: LevelPlaces, codes: Sequence[str], kind: ValueType | None = None
) -> tuple[Array, Callable[[], dict[str, int]]]:
    """The place of each row's level, and a function that counts the unseen levels.

    A missing-value code that is no level is missing, like null. ``kind`` overrides the type of the values.
    """
    texts, index = distinct_texts(values)
    known_kind = kind or _value_kind(values.type)

    def place(text: str) -> int:
        found = places.place(text, known_kind)
        if (found is None or found == UNSEEN_PLACE) and text.strip() in codes:
            return MISSING_PLACE
        if found is None:
            held = {"number": "numbers", "truth": "booleans", "time": "dates or times"}[known_kind]
            raise ColumnError(
                f"Column {name!r} has {held} such as {text}, which match no level or several levels of training: "
                f"{quoted(places.texts, 5)}. Give the column as text, as it was written in training."
            )
        return found

    table = np.array([*map(place, texts), MISSING_PLACE], dtype=np.int64)

    def unseen() -> dict[str, int]:
        counts = np.bincount(index, minlength=len(table))
        return {texts[i]: int(counts[i]) for i in np.flatnonzero(table == UNSEEN_PLACE) if counts[i]}

    return table[index], unseen


def _value_kind(kind: pa.DataType) -> ValueType:
    kind = value_type(kind)
    if pa.types.is_boolean(kind):
        return "truth"
    if is_numeric(kind):
        return "number"
    return "time" if pa.types.is_temporal(kind) else "text"
