"""``discriminant learn theory``: the Bayes error of densities; ``separability``: linear separability of classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from ..errors import ParameterError
from ..results import number
from . import options
from .course import CourseOptions
from .options import command, option
from .output import Page, Values, grid, show

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.stats import rv_frozen

    from ..arrays import Array
    from ..data import Rows
    from ..inference.linear_separability import LinearSeparability
    from ..theory import Gaussian

#: A distribution, or the probabilities of a table.
Density: TypeAlias = "Gaussian | rv_frozen | Sequence[float]"
#: ``name(1, 2)``.
_CALL = re.compile(r"\s*([a-z_0-9]+)\s*\(([^()]*)\)\s*")
# Entries of a witness that are printed; JSON and -o have all.
MAX_WITNESS_ROWS: Final = 40


@command
def theory(
    densities: Annotated[
        list[str],
        typer.Argument(
            metavar="DENSITY...",
            help="Distributions of scipy.stats ('norm(0, 1)'), probabilities (0.65,0.35) or a model file.",
        ),
    ],
    priors: Annotated[str | None, option("P,Q", "Class priors.  [default: equal, or those of the model]")] = None,
    json: options.Json = False,
) -> None:
    """Show the Bayes error of densities, and their divergences.

    Give two or more densities, or one model file of lda, qda or gaussian-nb.

    Examples:
      discriminant learn theory "norm(0, 1)" "norm(2, 1)"
      discriminant learn theory 0.65,0.35 0.35,0.65 --priors 0.4,0.6
      discriminant learn theory qda.dsc
    """
    from ..theory import bayes_error

    shares: Array | list[float] | None
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


def _given(texts: Sequence[str]) -> list[tuple[str, Density]]:
    """Densities by their text; repeated texts are numbered."""
    names = [text if texts.count(text) == 1 else f"{text} #{i + 1}" for i, text in enumerate(texts)]
    return [(name, _density(text)) for name, text in zip(names, texts, strict=True)]


def _density(text: str) -> Density:
    import scipy.stats

    call = _CALL.fullmatch(text)
    if call is None:
        return _numbers(text, "DENSITY")
    kind = getattr(scipy.stats, call[1], None)
    if not isinstance(kind, (scipy.stats.rv_continuous, scipy.stats.rv_discrete)):
        raise ParameterError(
            f"{call[1]!r} is not a distribution of scipy.stats. Use the name of one, such as norm, gamma or binom."
        )
    try:
        return kind(*_numbers(call[2], text))
    except TypeError as error:
        raise ParameterError(f"{text}: invalid parameters ({error}). Give those of scipy.stats.{call[1]}.") from None


def _numbers(text: str, what: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"{what}: expected comma-separated numbers, got {text!r}.") from None


def _fitted(path: str) -> tuple[dict[str, Any], Array | None]:
    """The normal distributions of a stored model's classes, and its priors."""
    from ..storage import load
    from ..theory import class_gaussians

    model = load(path)
    return class_gaussians(model), getattr(model, "priors_", None)


def _compared(known: Mapping[str, Density], first: str, second: str) -> Values:
    """The divergences of two densities that have a closed form."""
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


def _as_gaussian(density: Density) -> Any:
    """The density, as a `Gaussian` if it is a normal distribution of SciPy."""
    from ..theory import Gaussian

    frozen: Any = density
    if getattr(getattr(frozen, "dist", None), "name", "") == "norm":
        return Gaussian([frozen.mean()], [[frozen.var()]])
    return frozen


def _theory_page(found: Values, summary: str) -> Page:
    head = ["first", "second", "KL", "KL reversed", "JS", "Bhattacharyya"]
    rows = [[str(pair.get(name)) if name in head[:2] else number(pair.get(name)) for name in head]
            for pair in found["pairs"]]  # fmt: skip
    return [summary, grid("Divergences", head, rows, names=2)]


@command
def separability(data: options.Data, target: options.Target = None, course: CourseOptions = CourseOptions()) -> None:
    """Show whether a hyperplane separates the classes.

    The proof for separable classes: the maximum-margin hyperplane and its support vectors. For other classes: a point
    in both convex hulls, with the weights of the rows.

    Examples:
      discriminant learn separability data.csv -t y
      discriminant learn separability data.csv -t y -o witness.csv
    """
    labelled = course.labelled(data, target)
    from ..inference.linear_separability import linear_separability

    rows, y = labelled.rows, labelled.labels
    found = linear_separability(rows, y)
    columns = _witnesses(found, list(labelled.schema.names), rows, y)
    values = {**found.to_dict(), "witness": columns}
    course.show(labelled, columns, values, lambda shown: _separability_page(shown, str(found)))


def _witnesses(found: LinearSeparability, names: list[str], rows: Rows, y: Array) -> dict[str, list[Any]]:
    """The proof for each pair: the hyperplane and its support vectors, or the common point and its row weights."""
    from ..margins.convex_hulls import Hyperplane

    columns: dict[str, list[Any]] = {name: [] for name in ("first", "second", "part", "name", "value")}

    def add(part: str, entries: Iterable[tuple[str, float]]) -> None:
        for name, value in entries:
            for column, entry in zip(columns.values(), (*map(str, pair), part, name, float(value)), strict=True):
                column.append(entry)

    for pair, witness in found.pairs.items():
        if isinstance(witness, Hyperplane):
            add("hyperplane", [*zip(names, witness.coef, strict=True), ("constant", witness.intercept)])
            add("margin", [("width", witness.margin)])
            add("support vectors", _support(pair, rows, y))
        else:
            sides = ((witness.rows_first, witness.weights_first), (witness.rows_second, witness.weights_second))
            for label, (numbers, shares) in zip(pair, sides, strict=True):
                add(f"weights of rows of {label}", zip((f"row {i}" for i in numbers), shares, strict=True))
            add("common point", zip(names, witness.point, strict=True))
    return columns


def _support(pair: ArrayLike, rows: Rows, y: Array) -> list[tuple[str, float]]:
    """The rows on the margin between two classes, with their multipliers."""
    import numpy as np

    from ..errors import DegenerateDataError
    from ..estimators.svm import SupportVectorClassifier

    chosen = np.flatnonzero(np.isin(y, pair))
    try:
        model = SupportVectorClassifier("hard").fit(rows[chosen], y[chosen])
    except DegenerateDataError:  # the margin is too narrow for the units of the columns
        return []
    return [(f"row {chosen[i]}", abs(a)) for i, a in zip(model.support_, model.dual_coef_.ravel(), strict=True)]


def _separability_page(found: Values, summary: str) -> Page:
    page: Page = [summary]
    rows = list(zip(*found["witness"].values(), strict=True))
    for pair in dict.fromkeys(row[:2] for row in rows):
        own = [[row[2], row[3], number(row[4], 6)] for row in rows if row[:2] == pair]
        page.append(grid(f"Proof: {pair[0]} vs {pair[1]}", ["part", "name", "value"], own[:MAX_WITNESS_ROWS], names=2))
    return page
