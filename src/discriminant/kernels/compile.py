"""How kernels are compiled, said once."""

from __future__ import annotations

from typing import Any

from numba import njit

#: Sums may be regrouped into vector lanes and multiply-adds fused; NaN and infinity keep their meaning.
_REGROUP = {"reassoc", "contract"}

kernel: Any = njit(nogil=True, cache=True)
summing_kernel: Any = njit(nogil=True, cache=True, fastmath=_REGROUP)
