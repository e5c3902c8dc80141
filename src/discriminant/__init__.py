"""Linear classification, whole: from a table, a text matrix or an image to a decision that can be defended.

Everything public is named in ``__init__.pyi``; modules below are private to the package. Nothing heavy is imported
before it is used.
"""

from .dependencies import attach_stub

__version__ = "0.1.0"

__getattr__, _, __all__ = attach_stub(__name__, __file__)
__all__ += ["__version__"]


def __dir__() -> list[str]:
    return sorted(__all__)
