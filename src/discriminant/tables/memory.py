"""Where the values of large tables are kept.

Arrow's usual allocator and NumPy ask for huge pages. On virtual machines clearing those for the first time can take
longer than parsing the text that goes into them, so tables that are read once get memory in pages of the usual size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Smaller matrices get their memory from NumPy.
_LARGE_BYTES = 1 << 26


def small_pages() -> Any:
    """An arrow memory pool that takes pages of the usual size."""
    import pyarrow as pa

    return pa.system_memory_pool()


def empty_matrix(n_rows: int, n_columns: int) -> Array:
    """A matrix of float64 in C order whose values are to be written."""
    import pyarrow as pa

    n_bytes = 8 * n_rows * n_columns
    if n_bytes < _LARGE_BYTES:
        return np.empty((n_rows, n_columns))
    memory = pa.allocate_buffer(n_bytes, memory_pool=small_pages())
    return np.frombuffer(memory, dtype=np.float64).reshape(n_rows, n_columns)
