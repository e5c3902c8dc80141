"""What is known before any model: ``discriminant theory`` of densities, ``discriminant separability`` of a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any

import typer

from ..errors import ParameterError
from ..results import number
from . import options
from .console import Page, check_output, grid, show, tell_findings, write_columns
from .options import TrainingOptions, command, option

#: ``name(1, 2)``.
_CALL = re.compile(r"\s*([a-z_0-9]+)\s*\(([^()]*)\)\s*")


@command
def theory(
    densities: Annotated[
        list[str],
        typer.Argument(
            metavar="DENSITY...",
            help="Two or more: a distribution of scipy.stats such as 'norm(0, 1)', or probabilities such as 0.65,0.35; "
            "or one model file of lda, qda or gaussian-nb.",
        ),
    ],
    priors: Annotated[
        str | None, option("P,Q", "Shares of the classes; equal if not given, or the model's own.")
    ] = None,
    json: options.Json = False,
) -> None:
    """The error that no classifier avoids, and how far densities are apart.

    \b
    Examples:
      discriminant theory "norm(0, 1)" "norm(2, 1)"
      discriminant theory 0.65,0.35 0.35,0.65 --priors 0.4,0.6
      discriminant theory qda.dsc
    """
    from ..theory import bayes_error

    known, shares = _fitted(densities[0]) if len(densities) == 1 else (dict(_given(densities)), None)
    if priors is not None:
        shares = _numbers(priors, "--priors")
    found = bayes_error(known, shares)
    pairs = [_compared(known, first, second) for first, second in combinations(known, 2)]
    values = {
        "classes": [str(name) for name in known],
        "priors": shares,
        "bayes_error": found.to_dict(),
        "pairs": pairs,
    }
    show(values, lambda shown: _theory_page(shown, str(found)), json)


def _given(texts: Sequence[str]) -> list[tuple[str, Any]]:
    """Densities by the text that stands for them; the same text twice is numbered."""
    names = [text if texts.count(text) == 1 else f"{text} #{i + 1}" for i, text in enumerate(texts)]
    return [(name, _density(text)) for name, text in zip(names, texts, strict=True)]


def _density(text: str) -> Any:
    import scipy.stats

    call = _CALL.fullmatch(text)
    if call is None:
        return _numbers(text, "DENSITY")
    kind = getattr(scipy.stats, call[1], None)
    if not isinstance(kind, (scipy.stats.rv_continuous, scipy.stats.rv_discrete)):
        raise ParameterError(f"{call[1]!r} is no distribution of scipy.stats, such as norm, expon, gamma or binom.")
    try:
        return kind(*_numbers(call[2], text))
    except TypeError as error:
        raise ParameterError(f"{text}: {error}.") from None


def _numbers(text: str, what: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"{what}: expected numbers separated by commas, got {text!r}.") from None


def _fitted(path: str) -> tuple[dict[Any, Any], Any]:
    """The normal distributions of a stored model's classes, and its priors."""
    from ..storage import load
    from ..theory import class_gaussians

    model = load(path)
    return class_gaussians(model), getattr(model, "priors_", None)


def _compared(known: dict[Any, Any], first: Any, second: Any) -> dict[str, Any]:
    """Divergences of two densities, as far as they are known in closed form."""
    from .. import theory as of
    from ..theory import Gaussian

    one, other = (_as_gaussian(known[name]) for name in (first, second))
    values: dict[str, Any] = {"first": str(first), "second": str(second)}
    if isinstance(one, (list, Gaussian)):
        values |= {"KL": of.kl_divergence(one, other), "KL reversed": of.kl_divergence(other, one)}
        values["JS"] = of.js_divergence(one, other)
    if isinstance(one, Gaussian):
        values["Bhattacharyya"] = of.bhattacharyya(one, other)
    return values


def _as_gaussian(density: Any) -> Any:
    """A normal distribution of scipy as one of ours."""
    from ..theory import Gaussian

    if getattr(getattr(density, "dist", None), "name", "") == "norm":
        return Gaussian([density.mean()], [[density.var()]])
    return density


def _theory_page(found: dict[str, Any], told: str) -> Page:
    head = ["first", "second", "KL", "KL reversed", "JS", "Bhattacharyya"]
    rows = [[str(pair.get(name)) if name in head[:2] else number(pair.get(name)) for name in head]
            for pair in found["pairs"]]  # fmt: skip
    return [told, grid("Divergences", head, rows, names=2)]


@command
def separability(
    data: options.Data,
    target: options.Target = None,
    output: Annotated[
        str | None, option("FILE", "The witness as a table: .csv, .parquet or .arrow.", "--output", "-o")
    ] = None,
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Whether a hyperplane separates the classes, with a proof.

    Of separable classes the widest margin and its support vectors; of others a point that lies among the rows of both,
    with the weights of the rows that make it.

    \b
    Examples:
      discriminant separability data.csv -t y
      discriminant separability data.csv -t y -o witness.csv
    """
    check_output(output, overwrite, data)
    labelled = reading.training(data, target)
    if not json:
        tell_findings(labelled.training.findings)
    from ..inference.linear_separability import linear_separability

    rows, y = labelled.rows, labelled.training.y
    found = linear_separability(rows, y)
    columns = _witnesses(found, list(labelled.training.schema.names), rows, y)
    write_columns(columns, output)
    values = {**labelled.source, **found.to_dict(), "witness": columns, "file": output}
    show(values, lambda shown: _separability_page(shown, str(found)), json)


def _witnesses(found: Any, names: list[str], rows: Any, y: Any) -> dict[str, list[Any]]:
    """The proof of each pair: a weight of each column and the constant, or of each row that makes the common point."""
    columns: dict[str, list[Any]] = {name: [] for name in ("first", "second", "part", "name", "value")}

    def add(pair: Any, part: str, entries: Any) -> None:
        for name, value in entries:
            for column, entry in zip(columns.values(), (*map(str, pair), part, str(name), float(value)), strict=True):
                column.append(entry)

    for pair, witness in found.pairs.items():
        if hasattr(witness, "margin"):
            add(pair, "hyperplane", [*zip(names, witness.coef, strict=True), ("constant", witness.intercept)])
            add(pair, "margin", [("width", witness.margin)])
            add(pair, "support vectors", [(f"row {i}", a) for i, a in _support(pair, rows, y)])
        else:
            sides = ((witness.rows_first, witness.weights_first), (witness.rows_second, witness.weights_second))
            for label, (numbers, shares) in zip(pair, sides, strict=True):
                rows_of = [f"row {i}" for i in numbers]
                add(pair, f"weights of rows of {label}", zip(rows_of, shares, strict=True))
            add(pair, "common point", zip(names, witness.point, strict=True))
    return columns


def _support(pair: Any, rows: Any, y: Any) -> list[tuple[int, float]]:
    """The rows on the margin between two classes, with their multipliers."""
    import numpy as np

    from ..errors import DegenerateDataError
    from ..estimators.svm import SupportVectorClassifier

    chosen = np.flatnonzero(np.isin(y, pair))
    try:
        model = SupportVectorClassifier("hard").fit(rows[chosen], y[chosen])
    except DegenerateDataError:  # a gap too narrow for its units
        return []
    return [(int(chosen[i]), float(abs(a))) for i, a in zip(model.support_, model.dual_coef_.ravel(), strict=True)]


def _separability_page(found: dict[str, Any], told: str) -> Page:
    columns, page = found["witness"], [told]
    rows = list(zip(*columns.values(), strict=True))
    for pair in dict.fromkeys(row[:2] for row in rows):
        own = [[row[2], row[3], number(row[4], 6)] for row in rows if row[:2] == pair]
        page.append(grid(f"Witness for {pair[0]} and {pair[1]}", ["part", "of", "value"], own[:40], names=2))
    return page
