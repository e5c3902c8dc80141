"""Solver objects, and what solvers report."""

from .plain import IRLS, GradientDescent, StochasticGradient
from .smooth import Solution, TracePoint
from .trace import Trace

__all__ = ["IRLS", "GradientDescent", "Solution", "StochasticGradient", "Trace", "TracePoint"]
