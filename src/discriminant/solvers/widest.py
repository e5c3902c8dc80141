"""Which solver for which support vector machine.

==========================================================  =======
problem                                                     solver
==========================================================  =======
up to 200 columns                                           newton
up to 1,000 columns, dense, five times as many rows         newton
all others                                                  dual
==========================================================  =======
"""

from __future__ import annotations

from ..data.rows import SparseRows
from . import dual, smoothed_hinge
from .margin import MarginFit, MarginProblem

_ALWAYS, _DENSE, _ROWS_PER_COLUMN = 200, 1_000, 5


def widest_margin(problem: MarginProblem, solver: str, tol: float, max_iter: int, seed: int = 0) -> MarginFit:
    """The solution of a soft-margin problem by the named solver, or "auto"."""
    name = _choice(problem) if solver == "auto" else solver
    if name == "newton":
        return smoothed_hinge.minimise(problem, tol, max_iter)
    return dual.maximise(problem, tol, max_iter, seed)


def _choice(problem: MarginProblem) -> str:
    n, p = problem.data.n_rows, problem.data.rows.n_columns
    dense = not isinstance(problem.data.rows, SparseRows)
    tall = p <= _ALWAYS or (dense and p <= _DENSE and n >= _ROWS_PER_COLUMN * p)
    return "newton" if tall else "dual"
