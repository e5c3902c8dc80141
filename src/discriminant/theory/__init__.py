"""What is known before any data: distributions, their divergences and distances, the Bayes classifier and its error."""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
