"""Versions of the package, the build of its kernels, Python and required packages."""

from __future__ import annotations

import platform
from importlib import metadata

from . import __version__, kernels

_PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "pyarrow", "plotly")


def show_versions() -> None:
    """Print the versions to include in a bug report.

    The line ``kernels`` gives the instruction set of the compiled functions in use: ``x86-64-v3`` if the processor
    supports it, otherwise, or if the environment variable ``DISCRIMINANT_KERNELS`` is ``baseline``, ``x86-64-v2``.

    See Also
    --------
    LogisticRegression : Its results differ in the last digits between the two.

    Examples
    --------
    >>> import discriminant
    >>> discriminant.show_versions()  # doctest: +ELLIPSIS
    discriminant  ...
    kernels       ...
    python        ...
    """
    found = {"discriminant": __version__, "kernels": kernels.BUILD, "python": platform.python_version()}
    found |= {name: metadata.version(name) for name in _PACKAGES}
    found["system"] = platform.platform()
    width = max(map(len, found)) + 2
    print("\n".join(f"{name:{width}}{value}" for name, value in found.items()))
