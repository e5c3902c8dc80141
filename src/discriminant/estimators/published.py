"""A published model: from a table of coefficients to a classifier that takes tables with columns by name.

Terms are written as in the tables of this package: ``age``, ``sex=male`` for a level, ``log(bmi)`` or ``I(age**2)`` for
a function, ``age:sex=male`` for a product. The linear predictor is the sum of coefficients times terms; levels without
a coefficient are reference levels.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ..basis import Basis, Piecewise
from ..data import label_array
from ..errors import ParameterError, Setting
from ..formula import FormulaTerms, known_function
from ..results import quoted
from ..tables import Schema, TableEncoder
from ..tables.column import Column
from ..tables.labels import Target
from .given import LinearClassifier

#: Names of the constant.
INTERCEPTS: Final = ("intercept", "(intercept)", "constant", "_cons")
#: A factor of a term: a level, or text up to a colon outside parentheses and backquotes.
_LEVEL = re.compile(r"(?:`(?P<quoted>[^`]+)`|(?P<name>[^=()`]+?))\s*=\s*(?P<level>[^=].*)")


def published_model(
    coefficients: Mapping[str, float], classes: Sequence[Hashable] = (0, 1), target: str | None = None
) -> LinearClassifier:
    """A logistic model with published coefficients, for tables with columns by name.

    Parameters
    ----------
    coefficients : dict of str to float
        The coefficient of each term, ``intercept`` included: columns, ``column=level``, functions such as ``log(bmi)``,
        ``sqrt(x)``, ``I((age - 50)**2)``, and products ``a:b``. A reference level needs no entry, or 0.
    classes : sequence of two labels, default=(0, 1)
        Without and with the outcome, as the rows are labelled that the model is validated on.
    target : str, optional
        The column of classes.

    Returns
    -------
    LinearClassifier
        With ``encoder_``: it predicts for frames with these columns.

    See Also
    --------
    evaluate : External validation.
    recalibrate : Which update new rows justify.

    Examples
    --------
    >>> import pandas as pd
    >>> from discriminant import published_model
    >>> model = published_model({"intercept": -2.0, "age": 0.03, "sex=male": 0.5, "sex=female": 0.0, "log(dose)": 1.0})
    >>> rows = pd.DataFrame({"age": [40, 40], "sex": ["male", "female"], "dose": [1.0, 2.0]})
    >>> model.predict_proba(rows)[:, 1].round(3)
    array([0.426, 0.473])
    """
    labels = label_array(list(classes))
    if len(labels) != 2 or labels[0] == labels[1]:
        raise ParameterError(Setting("classes"), f" must be two different labels, got {quoted(classes)}.")
    table = _Table()
    constant: float | None = None
    for term, value in coefficients.items():
        if not isinstance(value, int | float) or not np.isfinite(value):
            raise ParameterError(f"The coefficient of {term!r} must be a finite number, got {value!r}.")
        if term.strip().lower() in INTERCEPTS:
            if constant is not None:
                raise ParameterError("The coefficients have two intercepts. Give one.")
            constant = float(value)
        else:
            table.add(term, float(value))
    if not table.terms:
        raise ParameterError("A published model needs the coefficient of at least one term besides the intercept.")
    if constant is None:
        raise ParameterError(
            "The coefficients have no intercept. Add the term 'intercept', or 'intercept' 0 if it is 0."
        )
    model = LinearClassifier(np.array(table.values), constant, classes=labels)
    model.encoder_ = TableEncoder.of_schema(table.schema(target, labels.tolist()))
    model.feature_names_in_ = np.array(list(table.terms), dtype=object)
    model.basis_, model.formula_ = table.basis(target)
    return model


@dataclass
class _Table:
    """Terms by name, each a list of factors: coded columns, or functions of these."""

    terms: dict[str, list[str]] = field(default_factory=dict)
    values: list[float] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    levels: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)  #: by text: the column and what makes the function

    def add(self, term: str, value: float) -> None:
        """Read a term with its coefficient."""
        factors = [self._factor(text.strip(), term) for text in _parts(term)]
        name = ":".join(factors)
        if name in self.terms:
            raise ParameterError(f"The term {name!r} has two coefficients. Give it one.")
        self.terms[name] = factors
        self.values.append(value)

    def _factor(self, text: str, term: str) -> str:
        """A factor by the name that it has in rows."""
        if (found := _LEVEL.fullmatch(text)) is not None:
            name, level = (found["quoted"] or found["name"]).strip(), found["level"].strip()
            if name in self.numbers:
                self._refuse_both(name, term)
            if level not in self.levels.setdefault(name, []):
                self.levels[name].append(level)
            return f"{name}={level}"
        if not text:
            raise ParameterError(f"The term {term!r} has an empty factor. Write products as a:b.")
        column, make, name = known_function(text)
        if column in self.levels:
            self._refuse_both(column, term)
        if column not in self.numbers:
            self.numbers.append(column)
        if make is not None:
            self.functions[name] = (column, make)
        return name

    def _refuse_both(self, column: str, term: str) -> None:
        raise ParameterError(f"{column!r} has levels, but is numeric in {term!r}. Name its levels: '{column}=level'.")

    def schema(self, target: str | None, classes: list[Any]) -> Schema:
        """How rows of a table are coded: numbers as they are, all named levels as indicators."""
        found = [Column(name, "number") for name in self.numbers]
        for name, levels in self.levels.items():
            known = tuple(sorted(levels))
            unseen = (0.0,) * len(known)
            found.append(Column(name, "category", levels=known, shares=unseen, coding="full"))
        is_number = all(isinstance(label, int) and not isinstance(label, bool) for label in classes)
        kind: Any = "integer" if is_number else "boolean" if isinstance(classes[0], bool) else "text"
        return Schema(tuple(found), Target(target, kind, tuple(classes)), "drop")

    def basis(self, target: str | None) -> tuple[Basis, FormulaTerms]:
        """The terms as functions and products of the coded columns."""
        inputs = [*self.numbers, *(f"{name}={level}" for name, own in self.levels.items() for level in sorted(own))]
        places = {name: place for place, name in enumerate([*inputs, *self.functions])}
        functions: list[Piecewise] = [make(places[column], None, None) for column, make in self.functions.values()]
        outputs = np.full((len(self.terms), max(map(len, self.terms.values()))), -1)
        for row, factors in zip(outputs, self.terms.values(), strict=True):
            row[: len(factors)] = [places[factor] for factor in factors]
        basis = Basis(len(inputs), np.arange(len(inputs)), functions, outputs)
        text = f"{target or 'outcome'} ~ {' + '.join(self.terms)}"
        zeros = np.zeros(len(inputs))
        return basis, FormulaTerms(text, inputs, list(self.terms), zeros, zeros, zeros, [], dict(self.terms))


def _parts(term: str) -> list[str]:
    """The factors of a term: its text split at colons outside parentheses and backquotes."""
    parts, depth, is_quoted = [""], 0, False
    for letter in term:
        is_quoted ^= letter == "`"
        depth += (letter == "(") - (letter == ")") if not is_quoted else 0
        if letter == ":" and not depth and not is_quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
