"""From probabilities to actions: posteriors, costs, abstaining, and prior shift."""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
