"""The data sets by name, for the command line, lessons and whoever wants them all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..errors import ParameterError
from ..results import suggestion
from . import tables
from .characters import characters
from .tables import Dataset

_MAKERS: dict[str, Callable[[], Dataset]] = {
    "avocados": tables.avocados,
    "and": partial(tables.logic_gate, "and"),
    "or": partial(tables.logic_gate, "or"),
    "xor": partial(tables.logic_gate, "xor"),
    "six_rows": tables.six_rows,
    "two_normals": tables.two_normals,
    "crossed_normals": tables.crossed_normals,
    "three_in_a_row": tables.three_in_a_row,
    "triangle": tables.triangle,
    "far_rows": tables.far_rows,
    "curved": tables.curved,
    "characters": characters,
    "titanic": tables.titanic,
    "vowels": tables.vowels,
}


def names() -> list[str]:
    """The names of all data sets.

    Returns
    -------
    list of str
        Those that `load` takes.

    See Also
    --------
    load : Makes one of them.

    Examples
    --------
    >>> from discriminant.datasets import names
    >>> names()[:4]
    ['avocados', 'and', 'or', 'xor']
    """
    return list(_MAKERS)


def load(name: str) -> Dataset:
    """A data set by its name, with its default size and seed.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Dataset
        Rows, classes, and what they mean.

    See Also
    --------
    names : What there is.

    Examples
    --------
    >>> from discriminant.datasets import load
    >>> load("or").to_frame("pandas").to_string(index=False).splitlines()
    [' x1  x2  answer', '0.0 0.0      -1', '0.0 1.0       1', '1.0 0.0       1', '1.0 1.0       1']
    """
    if name not in _MAKERS:
        raise ParameterError(
            f"No data set is called {name!r}.{suggestion(str(name), _MAKERS)} Names: {', '.join(_MAKERS)}."
        )
    return _MAKERS[name]()
