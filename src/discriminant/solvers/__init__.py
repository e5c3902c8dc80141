"""Ways to the minimum of an objective; they see the objective only, and report what they reached."""

from .choose import SOLVERS, choose_solver
from .result import Solution

__all__ = ["SOLVERS", "Solution", "choose_solver"]
