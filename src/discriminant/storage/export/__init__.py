"""Models in other languages: Python without packages, SQL, JSON, ONNX."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from ... import __version__
from ...basis import Piecewise
from ...errors import ParameterError, Setting
from ...files import write_whole
from ...results import jsonable
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from .onnx import onnx_file
from .python import python_module
from .recipe import Member, Recipe, RulePart, recipe
from .sql import sql_query

_LANGUAGES = ("python", "sql", "json", "onnx")


def export(
    model: Any,
    to: Literal["python", "sql", "json", "onnx"],
    path: str | os.PathLike[str] | None = None,
    schema: Any = None,
    dialect: Literal["duckdb", "postgresql", "sqlite"] | None = None,
    table: str | Sequence[str] = "data",
    keep: Sequence[str] = (),
) -> str | bytes:
    """The model in another language, as text (ONNX: bytes); it gives the same answers without this package.

    ==========  ====================================================================================================
    to          what comes out
    ==========  ====================================================================================================
    "python"    A module that imports only ``math``, and ``re`` for dates and amounts: ``predict(row)``,
                ``scores(row)`` and, where the model has probabilities, ``predict_proba(row)``. A row is a dict by
                column name, or values in order.
    "sql"       A SELECT over ``table`` with the columns in ``keep``, ``prediction``, and ``probability_<class>`` (or
                ``score_<class>``) for each class. For one ``dialect``: DuckDB (1.0), PostgreSQL (12) or SQLite (3.38).
                A row with a missing value that the model cannot take gives NULL.
    "json"      One object: ``model``, ``package``, ``classes``, ``columns`` (raw ones, and how they are read: ``name``,
                ``kind``, ``levels`` by their place, ``missing``, ``missing_numbers``, ``notation``), ``inputs`` (how
                each column of the model comes from a raw one: ``column``, ``kind``, ``place``, ``fill``, ``unseen``),
                ``answer`` ("probability" or "score"), ``members``, ``priors``, ``means``. A member has ``constants``
                and ``parts``, whose sum are its scores, ``functions`` and ``products`` that parts may need, see below,
                and the ``intercept`` of a linear model. Probabilities are the softmax of the scores; of several members
                their mean, with the weights ``share``. null stands for minus infinity, the constant of a class that
                cannot win, and for means not known yet.
    "onnx"      A graph in double precision: input ``X`` (rows, columns), or one input (rows, 1) for each raw column
                where there are categories or missing values (NaN, or the empty text); outputs ``label``, and
                ``probability`` or ``score`` (rows, classes). Texts of levels are read as the model reads them (these
                graphs need operators of version 20, others of 19), but a number in another spelling than its level,
                such as 1.0 for 1, may have no spaces in front beyond ASCII. Dates are given as days since 1970-01-01
                (of UTC, where they have zones), times of day as hours, amounts as numbers, truth values as 1 and 0.
    ==========  ====================================================================================================

    A database may have taken texts for what they look like: Yes for true, 01 for the number 1. SQL and Python read a
    value by its type: text as it is written, without spaces around it; anything else as the level that means the same.
    Where several levels do, or where the type is not one that the column can be read from, they raise an error that
    names the column; nothing is guessed. Python reads dates and amounts as they were read in training, SQL takes dates
    of the database's types and texts with all digits, such as ``2020-12-31`` or ``2020-12-31T16:00:32.5+01:00``, in the
    order of training, and amounts as numbers only: ``1.234`` may be a thousand.

    A part has a ``kind``, ``places`` of the features x that it takes, and numbers. It adds to the score of class k
    "linear": ``coef_k . (x - centre)`` (a linear model's score is also ``intercept_k + coef_k . x``); "diagonal":
    ``-sum_j (x_j - means_kj)^2 / (2 variances_kj)``; "quadratic": ``-|(x - centre - offsets_k) spheres_k|^2 / 2``;
    "levels": ``table[l, k]`` for ``levels[l]``, 0 for others; "piecewise": ``sum_d coefficients_ikd (u - origins_i)^d``
    where u is ``inner(slope x + offset)`` and i the number of ``breaks`` not above it. Features are the inputs, then
    for each of the ``functions`` its outputs k, which are "piecewise", then each of the ``products`` of features before
    it.

    Parameters
    ----------
    model : fitted classifier
        Whose scores are linear, diagonal or quadratic, in columns or in functions of columns; or a pool of such.
        For two classes ``decision_function`` is the second score minus the first.
    to : {"python", "sql", "json", "onnx"}
        The language.
    path : str or path, optional
        Also write it to this file.
    schema : dict, or an object with ``to_dict``, optional
        How raw columns become the columns of the model; what is exported then takes raw values. By default what the
        model learned itself where it takes raw columns.
    dialect : {"duckdb", "postgresql", "sqlite"}, optional
        For SQL, and needed there: the database, for each has its own types.
    table : str, or sequence of names that qualify each other, default="data"
        For SQL: where the rows are.
    keep : sequence of str, default=()
        For SQL: columns to pass on.

    Returns
    -------
    str or bytes
        The program, query, object or graph.

    See Also
    --------
    save : All of a model, for this package.
    load : A model that was saved.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> text = export(LinearDiscriminantAnalysis().fit(X, y), to="python")
    >>> module = {}
    >>> exec(text, module)
    >>> module["predict"]([5.1, 3.5, 1.4, 0.2])
    0
    """
    if to not in _LANGUAGES:
        raise ParameterError(Setting("to"), f" must be one of {', '.join(map(repr, _LANGUAGES))}, got {to!r}.")
    found = recipe(model, schema)
    written: str | bytes
    if to == "python":
        written = python_module(found)
    elif to == "sql":
        written = sql_query(found, dialect, table, keep)
    elif to == "json":
        written = _json_text(found, model)
    else:
        written = onnx_file(found)
    if path is not None:
        write_whole(path, written.encode("utf-8") if isinstance(written, str) else written)
    return written


_KINDS: dict[type, str] = {
    LinearRule: "linear",
    DiagonalRule: "diagonal",
    QuadraticRule: "quadratic",
    LevelRule: "levels",
    Piecewise: "piecewise",
}


def _json_text(recipe: Recipe, model: Any) -> str:
    """The text of the JSON object; `export` describes its keys."""
    described = {
        "model": recipe.name,
        "package": __version__,
        "classes": recipe.classes,
        "columns": [asdict(column) for column in recipe.columns],
        "inputs": [asdict(given) for given in recipe.inputs],
        "answer": recipe.answer,
        "members": [_member(member) for member in recipe.members],
        "priors": getattr(model, "priors_", None),
        "means": getattr(model, "means_", None),
    }
    return json.dumps(jsonable(described), allow_nan=False, indent=1) + "\n"


def _member(member: Member) -> dict[str, Any]:
    return {
        "share": member.share,
        "constants": member.constants,
        "intercept": _intercept(member),
        "functions": [_part(RulePart(function, (function.column,))) for function in member.functions],
        "products": [list(places) for places in member.products],
        "parts": [_part(part) for part in member.parts],
    }


def _part(part: RulePart) -> dict[str, Any]:
    rule = part.rule
    numbers = {name: values for name, values in asdict(rule).items() if name not in ("constants", "column")}
    if isinstance(rule, LevelRule):
        numbers["table"] = rule.table[:-1]
    return {"kind": _KINDS[type(rule)], "places": list(part.places), **numbers}


def _intercept(member: Member) -> Any:
    """The constants of a linear model for rows that are not centred."""
    rules = [part.rule for part in member.parts]
    return rules[0].intercept if len(rules) == 1 and isinstance(rules[0], LinearRule) else None


__all__ = ["export"]
