"""The only compiled code: C++ functions from arrays to arrays, whose sources are in ``src/native``.

Every kernel checks its arguments before it accesses memory, and releases the GIL, so the engine's threads run in
parallel. Kernels start no threads: results cannot depend on their number. Arrays must be C-contiguous and are never
converted; CSR matrices are the tuple ``(data, indices, indptr)`` (`csr_parts`).

On x86-64 the same sources are built twice, for x86-64-v2, which all processors of the last fifteen years support, and
for x86-64-v3. The processor decides, or the environment variable ``DISCRIMINANT_KERNELS`` (``baseline``). Results of
the two builds differ in the last digits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from ..errors import DependencyError

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

    from ..arrays import Array

_VARIABLE: Final = "DISCRIMINANT_KERNELS"


def _builds() -> tuple[Any, Any]:
    """The build for every processor, and the one in use: the fastest for this processor unless the variable is set."""
    wanted = os.environ.get(_VARIABLE, "")
    if wanted not in ("", "baseline"):
        raise DependencyError(f"The environment variable {_VARIABLE} must be 'baseline' or not set, got {wanted!r}.")
    try:
        from . import _baseline  # type: ignore[attr-defined]
    except ImportError as error:
        raise DependencyError(
            "The compiled kernels of discriminant are missing. Run 'make build' in a source tree, or reinstall the "
            "package: pip install --force-reinstall discriminant."
        ) from error
    if wanted == "" and _baseline.runs_x86_64_v3():
        from . import _x86_64_v3  # type: ignore[attr-defined]

        return _baseline, _x86_64_v3
    return _baseline, _baseline


baseline, native = _builds()

active_set = native.active_set
columns = native.columns
context = native.context
coordinate = native.coordinate
dual_coordinate = native.dual_coordinate
losses = native.losses
moments = native.moments
perceptron = native.perceptron
pixels = native.pixels
scores = native.scores
transpose = native.transpose

#: The instruction set of the kernels in use: ``x86-64-v2``, ``x86-64-v3`` or the name of another processor.
BUILD: Final[str] = native.build


def csr_parts(matrix: csr_array | csr_matrix) -> tuple[Array, Array, Array]:
    """The arrays ``(data, indices, indptr)`` of a CSR matrix."""
    return matrix.data, matrix.indices, matrix.indptr
