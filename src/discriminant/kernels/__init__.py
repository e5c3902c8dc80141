"""The only compiled code: Numba functions from arrays to arrays.

Every kernel is compiled on first use, cached on disk, and releases the GIL, so that the engine's threads run
side by side. None starts threads of its own: results cannot depend on how many there are.
"""

from __future__ import annotations

from typing import Any

from numba import njit

#: Sums may be regrouped into vector lanes and multiply-adds fused; NaN and infinity keep their meaning.
REGROUP = {"reassoc", "contract"}

# Division by zero gives infinity or NaN, as in NumPy.
kernel: Any = njit(nogil=True, cache=True, error_model="numpy")
summing_kernel: Any = njit(nogil=True, cache=True, error_model="numpy", fastmath=REGROUP)
