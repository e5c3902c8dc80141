"""The data sets and the worked examples of the lecture notes by name: one source for tests, lessons and the gallery.

A worked example holds data and numbers only (``worked_examples.toml``), it computes nothing: whoever reads it calls the
functions of the package on ``given`` and compares with ``numbers``.
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
from .letters import characters
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
    worked_examples : What the notes ask about these data.

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
    scene : A small image with its classes.

    Examples
    --------
    >>> from discriminant.datasets import load
    >>> load("or").to_frame("pandas").to_string(index=False).splitlines()
    [' x1  x2  answer', '0.0 0.0      -1', '0.0 1.0       1', '1.0 0.0       1', '1.0 1.0       1']
    """
    _check_name("data set", name, _MAKERS)
    return _MAKERS[name]()


def _check_name(kind: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ParameterError(f"No {kind} is called {name!r}.{suggestion(str(name), known)} Names: {', '.join(known)}.")


@dataclass(frozen=True, repr=False, eq=False)
class WorkedExample(Result):
    """An example of the notes.

    Attributes
    ----------
    name, title : str
        By which `worked_example` knows it, and what it shows in a few words.
    rows : tuple of str
        The subjects it replays, by the ids of the table of subjects: D1, L7 and so on.
    note : str
        The notes it comes from.
    section : str
        Where in the notes it stands.
    question : str
        What is given and what is asked.
    given : dict
        What goes into the functions: tables, priors, costs, points.
    numbers : dict
        What must come out, by name.
    origin : str
        Whose numbers these are.

    See Also
    --------
    worked_example : One example by its name.
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
        Made anew at each call.

    See Also
    --------
    worked_example : One of them by its name.
    load : The data that they are about.

    Examples
    --------
    >>> from discriminant.datasets import worked_examples
    >>> list(worked_examples())[:3]
    ['avocado', 'avocado-costs', 'bayes-error']
    """
    written = tomllib.loads((files(__package__) / "worked_examples.toml").read_text(encoding="utf-8"))
    return {name: _worked(name, written["notes"], **words) for name, words in written["examples"].items()}


def _worked(
    name: str, notes: Mapping[str, str], *, rows: list[str], note: str, data: str | None = None, law: str | None = None,
    given: Mapping[str, Any] | None = None, **words: Any,
) -> WorkedExample:  # fmt: skip
    """An example as it is written, with the data sets that it names."""
    made: dict[str, Any] = {} if data is None else {"data": load(data)}
    if law is not None:
        known = load(law)
        made |= {"distributions": known.distributions, "priors": known.priors}
    return WorkedExample(name, rows=tuple(rows), note=notes[note], given={**made, **(given or {})}, **words)


def worked_example(name: str) -> WorkedExample:
    """A worked example of the notes by its name.

    Parameters
    ----------
    name : str
        One of the keys of `worked_examples`.

    Returns
    -------
    WorkedExample
        What is given to the functions, and what must come out of them.

    See Also
    --------
    worked_examples : All of them, in the order of the subjects.
    load : The data that they are about.

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
