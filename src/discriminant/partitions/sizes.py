"""Whether a table fits into memory: what its files would take once they are decoded, and what there is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .pieces import Opened, is_partitioned

#: A table in memory is held as columns, as coded rows, and in part while it is worked with.
_TIMES = 3
#: What packed text takes when it is unpacked.
_PACKED = 5
_PACKED_ENDINGS = (".gz", ".bz2", ".zst", ".zstd")
#: Where the system does not tell.
_USUAL_MEMORY = 4 << 30


def decoded_bytes(paths: Sequence[str]) -> int:
    """What the columns of files take when they are decoded, about: 8 bytes a value, or the size of their text."""
    whole = 0
    for path in paths:
        if is_partitioned(path):
            file = Opened.of(path)
            whole += 8 * sum(file.counts) * len(file.types)
        else:
            whole += os.path.getsize(path) * (_PACKED if path.endswith(_PACKED_ENDINGS) else 1)
    return whole


def available_bytes() -> int:
    """The memory that this process may still take, by the system and by the limits of its group."""
    found = [_USUAL_MEMORY]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = [1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])]
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            group = Path("/sys/fs/cgroup")
            found.append(int((group / limit).read_text()) - int((group / used).read_text()))
    return max(min(found), 0)


def fits(paths: Sequence[str], memory: int | None = None) -> bool:
    """Whether files fit into memory with all that is made of them: a third of ``memory``, by default what is there."""
    return _TIMES * decoded_bytes(paths) <= (available_bytes() if memory is None else memory)
