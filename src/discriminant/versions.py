"""What runs here: the package, the build of its kernels, Python and the packages it needs."""

from __future__ import annotations

import platform
from importlib import metadata

from . import __version__, kernels

_PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "pyarrow", "plotly")


def show_versions() -> None:
    """Print the versions that a report of an error should name.

    The line ``kernels`` says which instructions the compiled functions in use are made of: ``x86-64-v3`` where the
    processor has them, ``x86-64-v2`` on older ones or where the environment variable ``DISCRIMINANT_KERNELS`` is
    ``baseline``.

    See Also
    --------
    LogisticRegression : Whose results differ in the last digits between the two.

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
