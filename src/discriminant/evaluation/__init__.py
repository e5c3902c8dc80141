"""How good a classifier is: counts, curves, calibration, each number with an interval."""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
