"""Linear classification: from a table, a text matrix or an image to models, their evaluation, and decisions.

All public names are listed in ``__init__.pyi``; modules are private. Heavy imports are deferred until they are used.
"""

from .dependencies import attach_stub

__version__ = "0.1.0"

__getattr__, _, __all__ = attach_stub(__name__, __file__)
__all__ += ["__version__"]


def __dir__() -> list[str]:
    return sorted(__all__)
