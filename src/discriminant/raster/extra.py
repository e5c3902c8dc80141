"""The packages that read images and areas: an extra of this package, loaded when first needed."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import DiscriminantError


def extra(name: str) -> Any:
    """The module of that name, or an error that says how to install it.

    >>> extra("rasterio.windows").Window(0, 0, 4, 3).height
    3
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise DiscriminantError(
            f"Images need the package {package!r}, which cannot be loaded ({error}). "
            "Install it with: pip install discriminant[raster]"
        ) from error
