"""The only compiled code: Numba functions from arrays to arrays.

Every kernel is compiled on first use, cached on disk, and releases the GIL, so that the engine's threads run
side by side. None starts threads of its own: results cannot depend on how many there are.

Loading Numba and its compiled code takes longer than all a small table asks for (about 0.6 s). The kernels that such
tables need can also be written in NumPy, which then serves them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

#: Sums may be regrouped into vector lanes and multiply-adds fused; NaN and infinity keep their meaning.
REGROUP = {"reassoc", "contract"}
#: An array of this many numbers takes NumPy a millisecond at most.
_SMALL = 1 << 17
#: After so many calls the compiler is worth its loading.
_MOST_CALLS = 2000

_calls = count()

#: Called once, before the first kernel is compiled that no earlier process left on disk: all take up to a minute.
when_compiling: list[Callable[[], None]] = []


class Kernel:
    """A function that Numba compiles when it is first called, and what does the same in NumPy, if there is that.

    NumPy gives the same bits, and serves small tables while Numba is not loaded. Where sums may be regrouped it does
    not give them: then it serves all small tables, so that results depend on their size alone.
    """

    def __init__(self, function: Callable[..., Any], regroup: bool, in_numpy: Callable[..., Any] | None) -> None:
        self.function, self.regroup, self.in_numpy = function, regroup, in_numpy
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any) -> Any:
        if self.in_numpy is not None and args[0].size <= _SMALL and (self.regroup or _unloaded()):
            return self.in_numpy(*args)
        return self.compiled(*args)

    def __getattr__(self, name: str) -> Any:
        """``compiled``, made once, whatever threads ask for it; Numba asks for ``_numba_type_`` where kernels call."""
        if name == "compiled":
            from numba import njit

            from . import row_overloads  # noqa: F401  what kernels call has to be known before they are compiled

            _tell_when_compiling()

            # Division by zero gives infinity or NaN, as in NumPy.
            options: Any = {"nogil": True, "cache": True, "error_model": "numpy"}
            made = njit(fastmath=REGROUP if self.regroup else False, **options)(self.function)
            return self.__dict__.setdefault("compiled", made)
        if name == "_numba_type_":
            return self.compiled._numba_type_
        raise AttributeError(name)


@cache
def _tell_when_compiling() -> None:
    """Have the first compilation told; kernels on disk are loaded without one."""
    from numba.core import event

    class First(event.Listener):
        def on_start(self, _: Any) -> None:
            while when_compiling:
                when_compiling.pop()()

        def on_end(self, _: Any) -> None:
            """Nothing: who asked for the kernel goes on."""

    event.register("numba:compile", First())


def _unloaded() -> bool:
    return "numba" not in sys.modules and next(_calls) < _MOST_CALLS


def kernel(function: Callable[..., Any] | None = None, in_numpy: Callable[..., Any] | None = None) -> Any:
    """Compile a function; used as a decorator."""
    return _kernel(function, False, in_numpy)


def summing_kernel(function: Callable[..., Any] | None = None, in_numpy: Callable[..., Any] | None = None) -> Any:
    """Compile a function whose sums may be regrouped; used as a decorator."""
    return _kernel(function, True, in_numpy)


def _kernel(function: Callable[..., Any] | None, regroup: bool, in_numpy: Callable[..., Any] | None) -> Any:
    return (lambda own: Kernel(own, regroup, in_numpy)) if function is None else Kernel(function, regroup, in_numpy)
