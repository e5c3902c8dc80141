"""Fits that can be broken off: what each pass has found is kept in a file, and found there when the fit is begun again.

A pass is a pure function of its task (what is computed, at which coefficients) and of the files. Its result is a small
statistic, so the file is a list of results, each under the hash of its task and of the sizes and times of the files. A
fit that is begun again asks for the same passes in the same order and has their results at once, to the last bit, until
it comes to the one that was broken off; that goes on from the parts whose statistics had been merged. Any model, any
executor and any evaluation can be resumed so, and no solver knows of it. What does not match (other files, another
setting) is computed, and takes the place of what was there.

Results are pickled. A file is read with a reader that makes nothing but arrays, plain containers and statistics of this
package: it runs no code of others.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engine import Executor, Reduction, quiet_numbers
from ..errors import InputError
from ..files import check_target

_MAGIC = b"discriminant checkpoint 1\n"
#: How often the state of a pass that is under way is written, in seconds.
_EVERY = 20.0
_CONTAINERS = {("collections", "Counter"), ("collections", "OrderedDict"), ("collections", "defaultdict")}
_BUILTINS = {"set", "frozenset", "slice", "range", "complex", "bytearray"}


class _Reader(pickle.Unpickler):
    """Makes arrays, containers, and classes of this package."""

    def find_class(self, module: str, name: str) -> Any:
        own = module.partition(".")[0] == __name__.partition(".")[0]
        arrays = module.startswith("numpy") and name in ("_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer")
        plain = (module, name) in _CONTAINERS or (module == "builtins" and name in _BUILTINS)
        sparse = module.startswith("scipy.sparse") and name in ("csr_matrix", "csr_array")
        found = super().find_class(module, name) if own or arrays or plain or sparse else None
        if found is None or (own and not isinstance(found, type)):
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a checkpoint")
        return found


def _hash(*what: Any) -> str:
    """A hash that depends on values alone, not on which of them are one object."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, protocol=5)
    pickler.fast = True
    pickler.dump(what)
    return hashlib.sha256(file.getvalue()).hexdigest()


def _files_of(parts: Sequence[Any]) -> list[tuple[str, int, int]]:
    """The files of parts with their sizes and times; what was decoded is known by what it was made from."""
    found = dict.fromkeys(piece.called for part in parts for piece in part)
    there = ((path, os.stat(path)) for path in found if os.path.isfile(path))
    return [(path, status.st_size, status.st_mtime_ns) for path, status in there]


@dataclass
class _Journal:
    """The file: records one after the other, of which the last may be that of a pass under way."""

    path: str
    end: int = 0  #: where the records of whole passes end
    place: int = 0  #: which record is read next
    records: list[tuple[str, int, Any]] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [len(_MAGIC)])

    def __post_init__(self) -> None:
        check_target(self.path)
        if not os.path.exists(self.path) or not os.path.getsize(self.path):
            with open(self.path, "wb") as file:
                file.write(_MAGIC)
            self.end = self.ends[-1]
            return
        with open(self.path, "rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise InputError(f"{self.path!r} is no checkpoint of a fit, and is left as it is. Give another name.")
            while (record := _read(file)) is not None:
                self.records.append(record)
                self.ends.append(file.tell())
        self.end = self.ends[-1]

    def next(self, key: str) -> tuple[int, Any] | None:
        """How many parts of the next pass are done, and their result; what does not match is cut off."""
        if self.place < len(self.records) and self.records[self.place][0] == key:
            done, found = self.records[self.place][1:]
            self.place += 1
            self.end = self.ends[self.place - (0 if done < 0 else 1)]
            return done, found
        if self.place < len(self.records):
            self.end = self.ends[self.place]
            self.records = self.records[: self.place]
        return None

    def put(self, key: str, done: int, found: Any) -> None:
        """Write the result of a pass, -1 parts for all; what is under way is written over by what comes next."""
        body = pickle.dumps((key, done, found), protocol=5)
        try:
            with open(self.path, "r+b") as file:
                file.truncate(self.end)
                file.seek(self.end)
                file.write(len(body).to_bytes(8, "little") + zlib.crc32(body).to_bytes(4, "little") + body)
                file.flush()
                os.fsync(file.fileno())
                if done < 0:
                    self.end = file.tell()
        except OSError as error:
            raise InputError(f"The checkpoint {self.path!r} cannot be written: {error.strerror or error}.") from error


def _read(file: Any) -> tuple[str, int, Any] | None:
    """The next record; None where there is none that is whole."""
    head = file.read(12)
    if len(head) < 12:
        return None
    body = file.read(int.from_bytes(head[:8], "little"))
    if zlib.crc32(body) != int.from_bytes(head[8:], "little"):
        return None
    try:
        record: tuple[str, int, Any] = _Reader(io.BytesIO(body)).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, TypeError, ValueError, IndexError):
        return None
    return record


class Checkpointed:
    """An executor that keeps what each pass has found in a file, and finds it there."""

    def __init__(self, executor: Executor, path: str | os.PathLike[str]) -> None:
        self.executor, self.journal = executor, _Journal(os.fspath(path))

    def in_order(self, task: Callable[[Any], Any], parts: Sequence[Any], n_jobs: int | None = None) -> Iterator[Any]:
        """The results of all parts, in their order; of statistics their sum alone."""
        cut = [[(piece.n_rows, piece.start, piece.number) for piece in part] for part in parts]
        key = _hash(task, cut, _files_of(parts))
        known = self.journal.next(key)
        if known is not None and known[0] < 0:
            yield from known[1]
            return
        done, found = known or (0, [])
        due = time.monotonic() + _EVERY
        for result in self.executor.in_order(task, list(parts)[done:], n_jobs):
            done += 1
            if found and isinstance(task, Reduction):
                with quiet_numbers():
                    found[0].merge(result)
            else:
                found.append(result)
            if time.monotonic() > due:
                self.journal.put(key, done, found)
                due = time.monotonic() + _EVERY
        self.journal.put(key, -1, found)
        self.journal.records.append((key, -1, None))
        self.journal.place = len(self.journal.records)
        yield from found
