"""Export of models to other languages: plain Python, SQL, JSON, ONNX."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from sklearn.base import BaseEstimator

from ... import __version__
from ...basis import Piecewise
from ...errors import ParameterError, Setting
from ...files import write_whole
from ...results import jsonable
from ...rules import DiagonalRule, LevelRule, LinearRule, OrdinalRule, QuadraticRule
from .onnx import onnx_file
from .python import python_module
from .recipe import Member, Recipe, RulePart, recipe
from .sql import sql_query

_LANGUAGES = ("python", "sql", "json", "onnx")


def export(
    model: BaseEstimator,
    to: Literal["python", "sql", "json", "onnx"],
    path: str | os.PathLike[str] | None = None,
    schema: Any = None,
    dialect: Literal["duckdb", "postgresql", "sqlite"] | None = None,
    table: str | Sequence[str] = "data",
    keep: Sequence[str] = (),
) -> str | bytes:
    """The model in another language, as text (ONNX: bytes), with the same predictions and without this package.

    ==========  ====================================================================================================
    to          result
    ==========  ====================================================================================================
    "python"    A module that imports only ``math``, and ``datetime`` for dates: ``predict(row)``, ``scores(row)`` and,
                for models with probabilities, ``predict_proba(row)``. A row is a dict by column name, or values in
                order.
    "sql"       A SELECT over ``table`` with the columns in ``keep``, ``prediction``, and ``probability_<class>`` (or
                ``score_<class>``) of each class, for one ``dialect``: DuckDB (1.0), PostgreSQL (12) or SQLite (3.38).
                Rows with a missing value that the model does not accept get NULL.
    "json"      One object: ``model``, ``package``, ``classes``, ``columns`` (raw columns: ``name``, ``kind``,
                ``levels`` by position, ``missing``, ``missing_numbers``, ``notation``), ``inputs`` (columns of the
                model: ``column``, ``kind``, ``place``, ``fill``, ``unseen``), ``answer`` ("probability" or "score"),
                ``members``, ``ordinal``, ``priors``, ``means``. A member has ``constants`` and ``parts``, which add up
                to its scores, ``functions`` and ``products`` that parts may use, see below, and the ``intercept`` of a
                linear model. Probabilities are the softmax of the scores, or the mean of those of the members with the
                weights ``share``. null is minus infinity, the constant of a class that cannot win, or an unknown mean.
                With ``ordinal`` (``form``, ``link``, ``order``, ``sorted``) the scores are those of the K - 1
                thresholds, sorted if so. F(score), F the distribution function of the link, is the probability of a
                class up to the threshold ("cumulative"), or of the class at the threshold if it is not a lower one
                ("continuation"); ``order`` has the positions of the classes.
    "onnx"      A graph in double precision: input ``X`` (rows, columns), or one input (rows, 1) for each raw column
                if there are categories or missing values (NaN, or empty text); outputs ``label``, and
                ``probability`` or ``score`` (rows, classes). Levels are text, read as the model reads them (operators
                of version 20, otherwise 19); a number spelled differently from its level, such as 1.0 for 1, may follow
                ASCII spaces only. Dates are days since 1970-01-01 UTC, times of day hours, truth values 1 and 0.
    ==========  ====================================================================================================

    Values are read by their type. Categories: text without spaces around it, or a number or truth value that is a
    level; SQL does not read other spellings of such levels in text, such as 1.0 for 1. Numbers and amounts: numbers
    (Python also reads plain numbers in text, but no amounts). Dates and times: the types of Python or the database,
    or ISO 8601 text (Python, SQLite). Truth values: also words such as yes and no. Any other value raises an error
    that names the column.

    A part has a ``kind``, ``places`` of the features x that it uses, and numbers. It adds to the score of class k
    "linear": ``coef_k . (x - centre)`` (a linear model's score is also ``intercept_k + coef_k . x``); "diagonal":
    ``-sum_j (x_j - means_kj)^2 / (2 variances_kj)``; "quadratic": ``-|(x - centre - offsets_k) spheres_k|^2 / 2``;
    "levels": ``table[l, k]`` for ``levels[l]``, 0 for others; "piecewise": ``sum_d coefficients_ikd (u - origins_i)^d``
    where u is ``inner(slope x + offset)`` and i the number of ``breaks`` not above it. Features are the inputs, then
    for each of the ``functions`` its outputs k, which are "piecewise", then each of the ``products`` of features before
    it.

    Parameters
    ----------
    model : fitted classifier
        With linear, diagonal or quadratic scores in the columns or in functions of them, or a pool of such models.
        For two classes ``decision_function`` is the second score minus the first.
    to : {"python", "sql", "json", "onnx"}
        The language.
    path : str or path, optional
        File to write as well.
    schema : Schema or dict, optional
        The coding of raw columns, for an export that takes raw values. Default: that of the model's encoder.
    dialect : {"duckdb", "postgresql", "sqlite"}, optional
        The database; required for SQL.
    table : str or sequence of str, default="data"
        Name of the SQL table, or its qualified name.
    keep : sequence of str, default=()
        Columns of the SQL table to include in the result.

    Returns
    -------
    str or bytes
        The program, query, object or graph.

    See Also
    --------
    save : The whole model, for this package.
    load : Load a saved model.

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
    if found.ordinal is not None and to not in ("python", "json"):
        raise ParameterError(
            f"{type(model).__name__} of form {found.ordinal.form!r} can be exported as Python and JSON only. Use ",
            Setting("form", "adjacent"),
            ", or another language.",
        )
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


def _json_text(recipe: Recipe, model: BaseEstimator) -> str:
    """The text of the JSON object; `export` describes its keys."""
    described = {
        "model": recipe.name,
        "package": __version__,
        "classes": recipe.classes,
        "columns": [asdict(column) for column in recipe.columns],
        "inputs": [asdict(given) for given in recipe.inputs],
        "answer": recipe.answer,
        "members": [_member(member) for member in recipe.members],
        "ordinal": None if recipe.ordinal is None else _ordinal(recipe.ordinal),
        "priors": getattr(model, "priors_", None),
        "means": getattr(model, "means_", None),
    }
    return json.dumps(jsonable(described), allow_nan=False, indent=1) + "\n"


def _ordinal(rule: OrdinalRule) -> dict[str, Any]:
    """How probabilities of ordered classes follow from the scores of the thresholds."""
    is_sorted = len(rule.coef) > 1 and rule.form == "cumulative"
    return {"form": rule.form, "link": rule.link, "order": rule.order.tolist(), "sorted": is_sorted}


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
