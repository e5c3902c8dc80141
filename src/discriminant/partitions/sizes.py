"""Whether a table fits into memory: the decoded size of its files, and the available memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..tables.files import COMPRESSIONS
from .fragments import DataFile, has_fragments

#: Memory of a table in units of its decoded size: as columns, as coded rows, and in part for computations.
MEMORY_FACTOR: Final = 3
#: Size of decompressed text in units of the compressed file.
DECOMPRESSION_FACTOR: Final = 5
#: Available memory if the system does not report it.
DEFAULT_MEMORY: Final = 4 << 30
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def decoded_bytes(paths: Sequence[str]) -> int:
    """The approximate size of the decoded columns of files: 8 bytes per value, or the size of their text."""
    total = 0
    for path in paths:
        if has_fragments(path):
            file = DataFile.open(path)
            total += 8 * sum(file.counts) * len(file.types)
        else:
            total += os.path.getsize(path) * (DECOMPRESSION_FACTOR if Path(path).suffix in COMPRESSIONS else 1)
    return total


def available_bytes() -> int:
    """The memory available to this process, by the system and by the limits of its control group."""
    found = [DEFAULT_MEMORY]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = [1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])]
    for limit, used in _LIMITS:
        with suppress(OSError, ValueError):
            group = Path("/sys/fs/cgroup")
            found.append(int((group / limit).read_text()) - int((group / used).read_text()))
    return max(min(found), 0)


def fits(paths: Sequence[str], memory: int | None = None) -> bool:
    """Whether files fit into ``memory``, by default the available memory, with all that is computed from them."""
    return MEMORY_FACTOR * decoded_bytes(paths) <= (available_bytes() if memory is None else memory)
