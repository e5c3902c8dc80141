"""Reductions over row blocks: the same answer, bit for bit, on any number of threads."""

from .blas import quiet_blas
from .threads import Statistic, map_rows, reduce, worker_count
from .workspace import workspace

__all__ = ["Statistic", "map_rows", "quiet_blas", "reduce", "worker_count", "workspace"]
