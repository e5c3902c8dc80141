"""Solver objects, and the reports that solvers return."""

from .solution import Solution, Trace, TracePoint
from .textbook import IRLS, GradientDescent, StochasticGradient

__all__ = ["IRLS", "GradientDescent", "Solution", "StochasticGradient", "Trace", "TracePoint"]
