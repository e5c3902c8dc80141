"""How messages call things."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(label: Any) -> Any:
    """A class label as its owner wrote it, without NumPy's wrapping."""
    return label.item() if isinstance(label, np.generic) else label


def shown(label: Any) -> str:
    """The same as messages print it."""
    return repr(plain(label))
