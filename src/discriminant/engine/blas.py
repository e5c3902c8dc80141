"""Holding BLAS to one thread while the engine's own threads run.

OpenBLAS and MKL have one thread count for the whole process. Several callers may hold it at the same time: the first
one lowers it, the last one restores what was there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: BLAS itself uses one thread for matrices up to the first size, and is better with several above the second.
_TINY, _SMALL = 16, 256

_lock = threading.Lock()
_holders = 0
_limit: Any = None
_threads_before = 1


@cache
def _controller() -> Any:
    return ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """How many threads BLAS would use now if nobody held it; 1 where there is none to ask."""
    with _lock:
        return _threads_before if _holders else _configured()


def _configured() -> int:
    return max((library["num_threads"] for library in _controller().info()), default=1)


def quiet_blas(n_columns: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread for algebra on small matrices, let it have its threads for large ones.

    Small matrices gain nothing from them, and OpenBLAS's idle threads then spin for tens of milliseconds in the way of
    ours.
    """
    return one_blas_thread() if _TINY < n_columns <= _SMALL else nullcontext()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread."""
    global _holders, _limit, _threads_before
    with _lock:
        if _holders == 0:
            _threads_before = _configured()
            _limit = _controller().limit(limits=1)
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _limit.restore_original_limits()
                _limit = None
