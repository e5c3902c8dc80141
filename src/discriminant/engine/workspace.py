"""Working memory that a thread uses again and again, instead of asking the system for fresh pages for every block."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

_local = threading.local()


def workspace(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A float64 array of this shape with arbitrary content, the thread's own until its next call."""
    size = math.prod(shape)
    held = getattr(_local, "held", None)
    if held is None or held.size < size:
        held = _local.held = np.empty(size)
    return held[:size].reshape(shape)
