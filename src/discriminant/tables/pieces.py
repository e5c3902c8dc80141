"""A large text file read in pieces, each parsed from beginning to end by one thread.

Arrow's own reader parses all blocks before it converts the first, which takes memory several times the size of the
table, and its stream uses one core. A piece goes from text to columns while it is in the cache, and its memory serves
the next one. What a reader of pieces cannot know, such as where a quotation across a border of pieces ends, is left to
Arrow's reader of the whole: see `Trouble`.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from threading import get_native_id, local
from typing import Any

from .table import is_text

_PIECE_BYTES = 1 << 22
_LOOK_BYTES = 1 << 16
#: A line that goes on for longer than this would make a piece that is no piece; its end may be written otherwise.
_LINE_BYTES = 1 << 24
_STEPS_BACK = 10

#: The column types that numbers are written in, narrow to wide.
_NUMBERS = ("null", "int64", "double")


class Trouble(Exception):
    """The file has to be read as a whole."""


class Pieces:
    """The lines of a file in pieces of some megabytes."""

    def __init__(self, path: Path, quote: str | None) -> None:
        self.path = path
        self.quote = quote
        self._size = path.stat().st_size if path.exists() else 0
        self._buffers = local()

    @property
    def worthwhile(self) -> bool:
        """Whether files can be read by pieces here, and there is more than one piece for each thread."""
        import pyarrow as pa

        return hasattr(os, "preadv") and self._size > pa.cpu_count() * _PIECE_BYTES

    def parsed(self, parse: Callable[[Any, bool], Any]) -> Iterator[Any]:
        """What ``parse`` makes of each piece, in order; it is given the bytes and whether they are the first piece.

        The first piece is parsed alone: it may tell how to read the others.
        """
        import pyarrow as pa

        threads = pa.cpu_count()
        with _opened(self.path) as file, ThreadPoolExecutor(threads, initializer=_stand_back) as pool:
            (first, *others) = pairwise(self._borders(file))
            yield self._one(file, *first, parse)
            waiting: deque[Future[Any]] = deque()
            for start, stop in others:
                waiting.append(pool.submit(self._one, file, start, stop, parse))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _borders(self, file: int) -> list[int]:
        """Where pieces begin and end: at the first line that begins after so many bytes."""
        borders = [0]
        while borders[-1] < self._size:
            borders.append(self._after_line_end(file, borders[-1] + _PIECE_BYTES))
        return borders

    def _after_line_end(self, file: int, start: int) -> int:
        for place in range(start, self._size, _LOOK_BYTES):
            found = os.pread(file, _LOOK_BYTES, place).find(b"\n")
            if found >= 0:
                return place + found + 1
            if place - start > _LINE_BYTES:
                raise Trouble("The file has no line ends, or none that are known here.")
        return self._size

    def _one(self, file: int, start: int, stop: int, parse: Callable[[Any, bool], Any]) -> Any:
        import pyarrow as pa

        size = stop - start
        buffer = self._buffer(size)
        text = memoryview(buffer)[:size]
        if os.preadv(file, [text], start) != size:
            raise Trouble("The file has become shorter.")
        if self.quote is not None and buffer.count(self.quote.encode(), 0, size) % 2:
            raise Trouble("A quotation may go on in the next piece.")
        return parse(pa.BufferReader(pa.py_buffer(text)), start == 0)

    def _buffer(self, size: int) -> bytearray:
        """Memory that a thread uses for each of its pieces."""
        held: bytearray = getattr(self._buffers, "held", bytearray())
        if len(held) < size:
            held = self._buffers.held = bytearray(max(size, _PIECE_BYTES + _LOOK_BYTES))
        return held


def _stand_back() -> None:
    """Let this thread give way: Python code that runs meanwhile, such as loading a library, has one core at most."""
    if sys.platform == "linux":  # where priorities are those of threads
        thread = get_native_id()
        with suppress(OSError):  # where that is not allowed, nothing is lost but a little time
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _STEPS_BACK)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            yield file
        finally:
            os.close(file)
    except OSError as error:  # which Arrow will meet too, and it has words for it
        raise Trouble(str(error)) from error


def joined(parts: list[Any]) -> Any:
    """The pieces as one table.

    A column may be empty in one piece, of whole numbers in the next and of decimals in the third. Where one piece has
    text and another none, what is written there is lost, though it may mean something beside the text.
    """
    import pyarrow as pa

    fields = []
    for column, name in enumerate(parts[0].schema.names):
        kinds = {part.schema.types[column] for part in parts}
        fields.append(pa.field(name, kinds.pop() if len(kinds) == 1 else _common(kinds)))
    schema = pa.schema(fields)
    return pa.concat_tables([part if part.schema.equals(schema) else _cast(part, schema) for part in parts])


def _common(kinds: set[Any]) -> Any:
    import pyarrow as pa

    if all(str(kind) in _NUMBERS for kind in kinds):
        return max(kinds, key=lambda kind: _NUMBERS.index(str(kind)))
    if all(is_text(kind) for kind in kinds):
        return pa.string()
    raise Trouble(f"A column is read as {' and as '.join(sorted(map(str, kinds)))}.")


def _cast(part: Any, schema: Any) -> Any:
    import pyarrow as pa

    columns = [
        column if column.type == field.type else column.cast(field.type, safe=False)
        for column, field in zip(part.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)
