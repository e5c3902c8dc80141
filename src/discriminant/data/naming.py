"""How messages call things."""

from __future__ import annotations

from typing import Any

import numpy as np


def shown(label: Any) -> str:
    """A class label as its owner wrote it, without NumPy's wrapping."""
    return repr(label.item() if isinstance(label, np.generic) else label)
