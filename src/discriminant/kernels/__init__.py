"""The only compiled code: C++ functions from arrays to arrays, whose sources are in ``src/native``.

Every kernel checks what it is given before it touches memory, and releases the GIL, so that the engine's threads run
side by side. None starts threads of its own: results cannot depend on how many there are. Arrays are C-contiguous and
taken as they are, never converted; CSR matrices are the tuple ``(data, indices, indptr)`` (`csr_parts`).

On x86-64 the same sources are built twice, for all processors of the last fifteen years and for those that have the
wider instructions of x86-64-v3. The processor decides, or the environment variable ``DISCRIMINANT_KERNELS``
(``baseline``); results of the two differ in the last digits.
"""

from __future__ import annotations

import os
from typing import Any, Final

from ..errors import DependencyError

_VARIABLE: Final = "DISCRIMINANT_KERNELS"


def _builds() -> tuple[Any, Any]:
    """The build that every processor runs, and the one that this processor runs fastest or that is asked for."""
    wanted = os.environ.get(_VARIABLE, "")
    if wanted not in ("", "baseline"):
        raise DependencyError(f"The environment variable {_VARIABLE} may be 'baseline' or not set, got {wanted!r}.")
    try:
        from . import _baseline  # type: ignore[attr-defined]
    except ImportError as error:
        raise DependencyError(
            "The compiled part of discriminant is missing. In a copy of the sources 'make build' makes it; else "
            "reinstall the package: pip install --force-reinstall discriminant."
        ) from error
    if wanted == "" and _baseline.runs_x86_64_v3():
        from . import _x86_64_v3  # type: ignore[attr-defined]

        return _baseline, _x86_64_v3
    return _baseline, _baseline


baseline, native = _builds()

active_set = native.active_set
columns = native.columns
coordinate = native.coordinate
counting = native.counting
dual_coordinate = native.dual_coordinate
hinge = native.hinge
lbfgs = native.lbfgs
losses = native.losses
moments = native.moments
perceptron = native.perceptron
pixels = native.pixels
scores = native.scores
transpose = native.transpose

#: The instructions that the kernels in use are made of: ``x86-64-v2``, ``x86-64-v3`` or the name of another processor.
BUILD: Final[str] = native.build


def csr_parts(matrix: Any) -> tuple[Any, Any, Any]:
    """A CSR matrix as kernels take it."""
    return matrix.data, matrix.indices, matrix.indptr
