"""The datasets and the worked examples of the lecture notes by name, for tests, lessons and the gallery.

A worked example holds data and numbers only (``worked_examples.toml``): its users call the functions of the package on
``given`` and compare the results with ``numbers``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

from ..errors import ParameterError
from ..results import Result, listed, suggestion
from . import tables
from .tables import Dataset, characters

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
    "pinwheel": tables.pinwheel,
    "far_rows": tables.far_rows,
    "curved": tables.curved,
    "avocado_weights": tables.avocado_weights,
    "characters": characters,
    "titanic": tables.titanic,
    "vowels": tables.vowels,
}


def names() -> list[str]:
    """The names of all datasets.

    Returns
    -------
    list of str
        Names for `load`.

    See Also
    --------
    load : Creates a dataset by name.
    worked_examples : The questions of the notes about these data.

    Examples
    --------
    >>> from discriminant.datasets import names
    >>> names()[:4]
    ['avocados', 'and', 'or', 'xor']
    """
    return list(_MAKERS)


def load(name: str) -> Dataset:
    """Create a dataset by name, with its default size and seed.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Dataset
        Rows, classes, and their meaning.

    See Also
    --------
    names : The names of all datasets.
    scene : A small image with its classes.

    Examples
    --------
    >>> from discriminant.datasets import load
    >>> load("or").to_frame("pandas").to_string(index=False).splitlines()
    [' x1  x2  answer', '0.0 0.0      -1', '0.0 1.0       1', '1.0 0.0       1', '1.0 1.0       1']
    """
    _check_name("dataset", name, _MAKERS)
    return _MAKERS[name]()


def _check_name(kind: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ParameterError(
            f"Unknown {kind} {name!r}.{suggestion(str(name), known)} Expected one of: {', '.join(known)}."
        )


@dataclass(frozen=True, repr=False, eq=False)
class WorkedExample(Result):
    """An example of the lecture notes.

    Attributes
    ----------
    name, title : str
        The name for `worked_example`, and a short title.
    rows : tuple of str
        The subjects of the example, by their ids: D1, L7 and so on.
    note : str
        The lecture notes.
    section : str
        The section of the notes.
    question : str
        The data and the question.
    given : dict
        The input of the functions: tables, priors, costs, points.
    numbers : dict
        The expected results, by name.
    origin : str
        The origin of the numbers.

    See Also
    --------
    worked_example : One example by name.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    note: str
    section: str
    question: str
    given: Mapping[str, Any]
    numbers: Mapping[str, Any]
    origin: str = "the notes"

    def _columns(self) -> Mapping[str, Any]:
        return {"what": list(self.numbers), "value": [str(value) for value in self.numbers.values()]}

    def __str__(self) -> str:
        lines = [f"{name}: {value}" for name, value in self.numbers.items()]
        where = f"{self.note}, {self.section} ({listed(self.rows)}; numbers: {self.origin})"
        return "\n".join([f"{self.title}. {self.question}", *lines, where])


def worked_examples() -> dict[str, WorkedExample]:
    """All worked examples of the notes by name, in the order of the subjects.

    Returns
    -------
    dict of WorkedExample
        The examples by name.

    See Also
    --------
    worked_example : One example by name.
    load : The data of the examples.

    Examples
    --------
    >>> from discriminant.datasets import worked_examples
    >>> list(worked_examples())[:3]
    ['avocado', 'avocado-costs', 'bayes-error']
    """
    content = tomllib.loads((files(__package__) / "worked_examples.toml").read_text(encoding="utf-8"))
    return {name: _from_toml(name, content["notes"], values) for name, values in content["examples"].items()}


def _from_toml(name: str, notes: Mapping[str, str], values: dict[str, Any]) -> WorkedExample:
    """An example with the datasets and distributions that it refers to by name."""
    values = dict(values)
    given: dict[str, Any] = {"data": load(values.pop("data"))} if "data" in values else {}
    if "law" in values:
        law = load(values.pop("law"))
        given |= {"distributions": law.distributions, "priors": law.priors}
    given |= values.pop("given", {})
    return WorkedExample(name, rows=tuple(values.pop("rows")), note=notes[values.pop("note")], given=given, **values)


def worked_example(name: str) -> WorkedExample:
    """A worked example of the notes by name.

    Parameters
    ----------
    name : str
        One of the keys of `worked_examples`.

    Returns
    -------
    WorkedExample
        The input of the functions and the expected results.

    See Also
    --------
    worked_examples : All examples, in the order of the subjects.
    load : The data of the examples.

    Examples
    --------
    >>> from discriminant.datasets import worked_example
    >>> avocado = worked_example("avocado")
    >>> avocado.given["priors"], round(avocado.numbers["posterior of organic"], 4)
    ({'organic': 0.4, 'ordinary': 0.6}, 0.5532)
    """
    known = worked_examples()
    _check_name("worked example", name, known)
    return known[name]
