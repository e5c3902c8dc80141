"""How good a classifier is: counts, curves, calibration, each number with an interval."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
