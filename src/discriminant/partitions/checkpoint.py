"""Checkpoints of fits: the result of each pass is stored in a file, from which an interrupted fit continues.

A pass is a pure function of its task (the statistic and the coefficients) and of the files. Its result is a small
statistic, so the file is a list of results, each with the hash of its task and of the sizes and times of the files. A
fit that is run again makes the same passes in the same order and finds their results, bit for bit, up to the
interrupted one, which continues from the partitions whose statistics had been merged. This works for every model,
executor and evaluation without support in the solvers. Results that do not match (other files, other parameters) are
computed and replace the stored ones.

Results are pickled. The unpickler creates arrays, plain containers and statistics of this package only, so that a file
cannot run foreign code.
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
from typing import IO, Any, Final, TypeVar

from ..engine import Executor, Reduction, quiet_numbers
from ..errors import InputError
from ..files import check_target
from .fragments import Partition

MAGIC: Final = b"discriminant checkpoint 1\n"
#: Seconds after which the state of the current pass is stored.
INTERVAL_SECONDS: Final = 20.0
#: Number of partitions in the record of a complete pass.
COMPLETE: Final = -1
R = TypeVar("R")
_CONTAINERS = {("collections", "Counter"), ("collections", "OrderedDict"), ("collections", "defaultdict")}
_BUILTINS = {"set", "frozenset", "slice", "range", "complex", "bytearray"}


class _Unpickler(pickle.Unpickler):
    """Creates arrays, containers and classes of this package only."""

    def find_class(self, module: str, name: str) -> Any:
        own = module.partition(".")[0] == __name__.partition(".")[0]
        arrays = module.startswith("numpy") and name in ("_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer")
        plain = (module, name) in _CONTAINERS or (module == "builtins" and name in _BUILTINS)
        sparse = module.startswith("scipy.sparse") and name in ("csr_matrix", "csr_array")
        found = super().find_class(module, name) if own or arrays or plain or sparse else None
        if found is None or (own and not isinstance(found, type)):
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a checkpoint")
        return found


def _hash(*values: object) -> str:
    """A hash that depends on values only, not on object identity."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, protocol=5)
    pickler.fast = True
    pickler.dump(values)
    return hashlib.sha256(file.getvalue()).hexdigest()


def _files_of(partitions: Sequence[Partition]) -> list[tuple[str, int, int]]:
    """The files of partitions, of decoded ones the originals, with their sizes and times."""
    paths = dict.fromkeys(fragment.source for partition in partitions for fragment in partition)
    existing = ((path, os.stat(path)) for path in paths if os.path.isfile(path))
    return [(path, status.st_size, status.st_mtime_ns) for path, status in existing]


@dataclass
class _Journal:
    """The file: a list of records, of which the last may be that of an incomplete pass."""

    path: str
    end: int = 0  #: the end of the records of complete passes
    place: int = 0  #: the next record
    records: list[tuple[str, int, Any]] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [len(MAGIC)])

    def __post_init__(self) -> None:
        check_target(self.path)
        if not os.path.exists(self.path) or not os.path.getsize(self.path):
            with open(self.path, "wb") as file:
                file.write(MAGIC)
            self.end = self.ends[-1]
            return
        with open(self.path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise InputError(f"{self.path!r} is not a checkpoint and is left unchanged. Give another name.")
            while (record := _read(file)) is not None:
                self.records.append(record)
                self.ends.append(file.tell())
        self.end = self.ends[-1]

    def next(self, key: str) -> tuple[int, Any] | None:
        """The partitions and the result of the next pass, if it is stored; records that do not match are discarded."""
        if self.place < len(self.records) and self.records[self.place][0] == key:
            done, found = self.records[self.place][1:]
            self.place += 1
            self.end = self.ends[self.place - (done != COMPLETE)]
            return done, found
        if self.place < len(self.records):
            self.end = self.ends[self.place]
            self.records = self.records[: self.place]
        return None

    def put(self, key: str, done: int, found: list[Any]) -> None:
        """Store the result of a pass after ``done`` partitions; the next record overwrites an incomplete pass."""
        body = pickle.dumps((key, done, found), protocol=5)
        try:
            with open(self.path, "r+b") as file:
                file.truncate(self.end)
                file.seek(self.end)
                file.write(len(body).to_bytes(8, "little") + zlib.crc32(body).to_bytes(4, "little") + body)
                file.flush()
                os.fsync(file.fileno())
                if done == COMPLETE:
                    self.end = file.tell()
        except OSError as error:
            raise InputError(
                f"The checkpoint {self.path!r} cannot be written: {error.strerror or error}. Give another file."
            ) from error


def _read(file: IO[bytes]) -> tuple[str, int, Any] | None:
    """The next record; None if there is no complete one."""
    head = file.read(12)
    if len(head) < 12:
        return None
    body = file.read(int.from_bytes(head[:8], "little"))
    if zlib.crc32(body) != int.from_bytes(head[8:], "little"):
        return None
    try:
        record: tuple[str, int, Any] = _Unpickler(io.BytesIO(body)).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, TypeError, ValueError, IndexError):
        return None
    return record


class Checkpointed:
    """An executor that stores the results of passes in a file, and uses the stored ones."""

    def __init__(self, executor: Executor, path: str | os.PathLike[str]) -> None:
        self.executor, self.journal = executor, _Journal(os.fspath(path))

    def in_order(
        self, task: Callable[[Partition], R], parts: Sequence[Partition], n_jobs: int | None = None
    ) -> Iterator[R]:
        """The results of all partitions, in order; of statistics only their sum."""
        fragments = [[(each.n_rows, each.start, each.number) for each in part] for part in parts]
        key = _hash(task, fragments, _files_of(parts))
        known = self.journal.next(key)
        if known is not None and known[0] == COMPLETE:
            yield from known[1]
            return
        done, found = known or (0, [])
        due = time.monotonic() + INTERVAL_SECONDS
        for result in self.executor.in_order(task, list(parts)[done:], n_jobs):
            done += 1
            if found and isinstance(task, Reduction):
                with quiet_numbers():
                    found[0].merge(result)
            else:
                found.append(result)
            if time.monotonic() > due:
                self.journal.put(key, done, found)
                due = time.monotonic() + INTERVAL_SECONDS
        self.journal.put(key, COMPLETE, found)
        self.journal.records.append((key, COMPLETE, None))
        self.journal.place = len(self.journal.records)
        yield from found
