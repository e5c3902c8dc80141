"""Images: training areas, samples, separability, whole maps and their accuracy.

A module, and the packages that read images and areas, are imported when something of theirs is first used.
"""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
