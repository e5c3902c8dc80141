"""Solver objects, and what solvers report."""

from .gradient import GradientDescent, StochasticGradient
from .smooth import Solution, TracePoint

__all__ = ["GradientDescent", "Solution", "StochasticGradient", "TracePoint"]
