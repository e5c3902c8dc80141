"""Decisions from posterior probabilities: costs, rejection, thresholds, and prior shift."""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
