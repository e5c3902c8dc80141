"""Reductions over row blocks: the same answer, bit for bit, on any number of threads."""

from .blas import quiet_blas
from .threads import Statistic, map_rows, reduce, side_by_side, worker_count
from .workspace import workspace

__all__ = ["Statistic", "map_rows", "quiet_blas", "reduce", "side_by_side", "worker_count", "workspace"]
