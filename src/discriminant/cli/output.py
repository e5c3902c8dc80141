"""Files that commands write: refused before work starts if they cannot be, and whole or not at all."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InputError, ParameterError

Write = Callable[[Any], None]  #: takes one pyarrow table after the other


def check_output(path: str | None, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or that exists and may not be replaced."""
    if path is None:
        return
    target = Path(path).expanduser()
    if target.is_dir():
        raise InputError(f"{path} is a folder. Give the name of a file in it.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {path}: there is no folder {str(target.parent)!r}. Make it first.")
    if target.exists() and not overwrite:
        raise InputError(f"{path} exists. Give another name, or --overwrite to replace it.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"Cannot write {path}: no permission in folder {str(target.parent)!r}.")


@contextmanager
def whole_file(path: str) -> Iterator[Path]:
    """A name to write to; the file takes its own name when all went well, and vanishes when not."""
    target = Path(os.path.realpath(Path(path).expanduser()))
    part = target.with_name(f".{secrets.token_hex(8)}.part{target.suffix}")
    try:
        yield part
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def table_writer(output: str | None) -> Iterator[Write]:
    """What writes tables one after the other: to standard output, or to a file that appears when it is whole."""
    if output is None:
        with _csv_writer(sys.stdout.buffer) as write:
            yield write
        sys.stdout.buffer.flush()
        return
    kind = _kind(output)
    with whole_file(output) as part, kind(str(part)) as write:
        yield write


def _kind(output: str) -> Any:
    kinds = {".csv": _csv_file, ".parquet": _parquet, ".pq": _parquet, ".feather": _arrow, ".arrow": _arrow}
    ending = Path(output).suffix.lower()
    if ending not in kinds:
        raise ParameterError(f"The ending of {output!r} must say its format: {', '.join(kinds)}.")
    return kinds[ending]


@contextmanager
def _csv_file(path: str) -> Iterator[Write]:
    with open(path, "wb") as file, _csv_writer(file) as write:
        yield write


@contextmanager
def _csv_writer(file: Any) -> Iterator[Write]:
    import pyarrow.csv as arrow_csv

    headed = False

    def write(part: Any) -> None:
        nonlocal headed
        arrow_csv.write_csv(part, file, arrow_csv.WriteOptions(include_header=not headed, quoting_style="needed"))
        headed = True

    yield write


def _parquet(path: str) -> Any:
    import pyarrow.parquet as parquet

    return _opened_by_first(lambda schema: parquet.ParquetWriter(path, schema))


def _arrow(path: str) -> Any:
    import pyarrow as pa

    return _opened_by_first(lambda schema: pa.ipc.new_file(path, schema))


@contextmanager
def _opened_by_first(make: Callable[[Any], Any]) -> Iterator[Write]:
    """What writes through a writer made for the form of the first table."""
    writers: list[Any] = []

    def write(part: Any) -> None:
        if not writers:
            writers.append(make(part.schema))
        writers[0].write_table(part)

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()
