"""How to get the same result again: command, versions, data, folds, date."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import as_rows
from .material import Material, TrainingRows

_PACKAGES = ("discriminant", "numpy", "scipy", "scikit-learn", "numba", "plotly")


def reproduction_part(material: Material) -> dict[str, Any]:
    """What the part on reproduction shows."""
    facts = [("Date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))]
    if material.rows is not None:
        facts.append(("Fingerprint of the rows", f"sha256:{fingerprint(material.rows)}"))
    if material.comparison is not None:
        facts.append(("Splits", f"{material.comparison.cross_validation.n_splits}, the same for every model"))
    facts.append(("Random state", repr(material.random_state)))
    return {
        "command": material.command,
        "facts": facts,
        "versions": versions(),
        "model": None if material.model is None else repr(material.model),
    }


def versions() -> list[tuple[str, str]]:
    return [("Python", platform.python_version()), *((name, metadata.version(name)) for name in _PACKAGES)]


def fingerprint(rows: TrainingRows) -> str:
    """A hash of every number and label, as the models saw them."""
    digest = hashlib.sha256()
    numbers = as_rows(rows.X)
    for start in range(0, numbers.n_rows, numbers.block_rows):
        block = numbers.block(start, min(start + numbers.block_rows, numbers.n_rows))
        for part in (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,):
            digest.update(np.ascontiguousarray(part).tobytes())
    digest.update("\x00".join(map(str, rows.y.tolist())).encode())
    return digest.hexdigest()[:32]
