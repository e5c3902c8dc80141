"""Images: training areas, samples, separability, whole maps and their accuracy.

A module, and the packages that read images and areas, are imported when something of theirs is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
