"""What is known before any data: distributions, their divergences and distances, the Bayes classifier and its error."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
