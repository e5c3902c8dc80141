"""Class distributions of one interface: log-density of rows and rows drawn, whatever they are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.naming import plain
from ..data.rows import as_rows, is_missing
from ..errors import DegenerateDataError, InputError, ParameterError
from .gaussians import Gaussian, refuse_other_dimensions
from .posteriors import class_array, label_array

Array = np.ndarray[Any, Any]


class Density(ABC):
    """The distribution of the rows of one class."""

    dimension: int
    discrete: bool = False

    @abstractmethod
    def log_density(self, rows: Array) -> Array:
        """The logarithm of the density, or of the probability, at each row."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` rows, an array of shape (n, dimension)."""


class GaussianDensity(Density):
    """A normal distribution of any number of columns."""

    def __init__(self, gaussian: Gaussian) -> None:
        self.gaussian = gaussian
        self.dimension = gaussian.dimension

    def log_density(self, rows: Array) -> Array:
        return self.gaussian.log_density(rows)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return self.gaussian.draw(n, rng)


class LineDensity(Density):
    """A frozen distribution of one number."""

    dimension = 1

    def __init__(self, frozen: Any) -> None:
        self.frozen = frozen
        self.discrete = not hasattr(frozen, "logpdf")
        self._log: Callable[[Array], Array] = frozen.logpmf if self.discrete else frozen.logpdf

    def log_density(self, rows: Array) -> Array:
        return np.asarray(self._log(rows[:, 0]))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.frozen.rvs(size=n, random_state=rng), dtype=np.float64).reshape(n, 1)

    def quantiles(self, shares: Any) -> Array:
        """Values below which these shares of the distribution lie."""
        return np.asarray(self.frozen.ppf(shares), dtype=np.float64)


class ManyColumnsDensity(Density):
    """A frozen multivariate distribution."""

    def __init__(self, frozen: Any) -> None:
        self.frozen = frozen
        self.discrete = not hasattr(frozen, "logpdf")
        self._log: Callable[[Array], Any] = frozen.logpmf if self.discrete else frozen.logpdf
        self.dimension = int(np.size(frozen.rvs(size=1, random_state=np.random.default_rng(0))))
        self._refuse_other_layouts()

    def log_density(self, rows: Array) -> Array:
        return np.asarray(self._log(rows)).reshape(len(rows))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.frozen.rvs(size=n, random_state=rng)).reshape(n, self.dimension)

    def _refuse_other_layouts(self) -> None:
        """Some multivariate distributions, such as SciPy's dirichlet, do not take one case a row."""
        try:
            self.log_density(self.draw(self.dimension + 1, np.random.default_rng(0)))
        except ValueError as error:
            raise ParameterError(
                f"The log-density of {type(self.frozen).__name__} does not take rows of shape (n, {self.dimension}): "
                f"{error}. Give an object with logpdf(rows) and rvs(size, random_state)."
            ) from error


class TableDensity(Density):
    """Probabilities of a finite number of values; a row holds the code of its value."""

    dimension = 1
    discrete = True

    def __init__(self, probabilities: Array) -> None:
        self.probabilities = probabilities

    def log_density(self, rows: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[rows[:, 0].astype(np.intp)])

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        codes = rng.choice(len(self.probabilities), size=n, p=self.probabilities)
        return codes[:, None].astype(np.float64)


@dataclass(frozen=True)
class ClassDensities:
    """The distribution of each class over rows of the same kind."""

    classes: Array
    densities: list[Density]
    values: list[Any] | None = None  #: what the codes of a table stand for

    @property
    def dimension(self) -> int:
        return self.densities[0].dimension

    @property
    def discrete(self) -> bool:
        return self.densities[0].discrete

    def log_joint(self, rows: Array, priors: Array) -> Array:
        """The log-density of each row plus the log-prior, for each class."""
        with np.errstate(divide="ignore"):
            return np.column_stack([density.log_density(rows) for density in self.densities]) + np.log(priors)

    def rows(self, X: Any) -> Array:
        """``X`` as the array the densities take; a single column may come flat."""
        flat = X if np.ndim(X) != 1 else np.reshape(np.asarray(X), (-1, 1))
        if self.values is not None:
            return self._coded(flat)
        table = as_rows(flat)
        if table.n_columns != self.dimension:
            raise InputError(f"X has {table.n_columns} columns, but the distributions have {self.dimension}.")
        table.refuse_nonfinite()
        block = table.block(0, table.n_rows)
        return np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)

    def _coded(self, X: Any) -> Array:
        assert self.values is not None
        cells = np.asarray(X, dtype=object)
        if cells.ndim != 2 or cells.shape[1] != 1:
            raise InputError(f"X must be one column of values of the table, got shape {cells.shape}.")
        position = {value: code for code, value in enumerate(self.values)}
        for row, value in enumerate(cells[:, 0]):
            if is_missing(value) or value not in position:
                raise InputError(f"Row {row} has the value {plain(value)!r}, which is not in the table: {self.values}.")
        return np.array([[position[value]] for value in cells[:, 0]], dtype=np.float64)


def class_densities(distributions: Any, classes: Any = None) -> ClassDensities:
    """Distributions in any of the accepted forms, by class."""
    labels, given = _by_class(distributions, classes)
    tables = [isinstance(one, Mapping) or _is_row_of_numbers(one) for one in given]
    if any(tables):
        if not all(tables):
            raise ParameterError(
                f"Class {labels[tables.index(True)]!r} is a table, class {labels[tables.index(False)]!r} is not: give "
                "distributions of one kind."
            )
        values, probabilities = _common_values(labels, given)
        return ClassDensities(label_array(labels), [TableDensity(p) for p in probabilities], values)
    densities = [_density(label, one) for label, one in zip(labels, given, strict=True)]
    refuse_other_dimensions(labels, [density.dimension for density in densities])
    for label, density in zip(labels, densities, strict=True):
        if density.discrete != densities[0].discrete:
            raise ParameterError(
                f"Classes {labels[0]!r} and {label!r} mix a discrete with a continuous distribution: probabilities and "
                "densities cannot be compared."
            )
    return ClassDensities(label_array(labels), densities)


def _by_class(distributions: Any, classes: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(distributions, Mapping):
        labels, given = [plain(label) for label in distributions], list(distributions.values())
        if classes is not None:
            raise ParameterError("classes= is for distributions in a list; in a dict they have names already.")
    else:
        given = list(distributions) if isinstance(distributions, (list, tuple, np.ndarray)) else []
        labels = list(range(len(given))) if classes is None else [plain(label) for label in class_array(classes)]
    if len(given) < 2 or len(labels) != len(given):
        raise ParameterError(
            "distributions must be a list with one distribution for each of at least two classes, a dict by class, or "
            f"a table (K, n_values); got {len(given)} distributions and classes {labels}."
        )
    return labels, given


def _is_row_of_numbers(one: Any) -> bool:
    return isinstance(one, (list, tuple)) or (isinstance(one, np.ndarray) and one.ndim == 1)


def _common_values(labels: list[Any], tables: list[Any]) -> tuple[list[Any], Array]:
    """The values of all tables, and the probabilities of each class over them."""
    named = [isinstance(table, Mapping) for table in tables]
    if all(named):
        values = list(dict.fromkeys(plain(value) for table in tables for value in table))
        rows = [[table.get(value, 0.0) for value in values] for table in tables]
    elif any(named):
        raise ParameterError("Some tables name their values, others do not: give a dict for every class, or for none.")
    else:
        values, rows = list(range(len(tables[0]))), [list(table) for table in tables]
    for label, row in zip(labels, rows, strict=True):
        _check_table(label, row, len(values))
    probabilities = np.array(rows, dtype=np.float64)
    return values, probabilities / probabilities.sum(axis=1, keepdims=True)


def _check_table(label: Any, row: list[Any], n_values: int) -> None:
    if len(row) != n_values:
        raise ParameterError(f"The table of class {label!r} has {len(row)} values, expected {n_values} like the first.")
    try:
        numbers = np.array(row, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The table of class {label!r} must be probabilities: {error}.") from error
    if not (numbers >= 0).all() or not abs(numbers.sum() - 1) <= 1e-6:
        raise ParameterError(
            f"The probabilities of class {label!r} must be 0 or more and sum to 1, got {numbers.tolist()} "
            f"with sum {numbers.sum():.6g}."
        )


def _density(label: Any, one: Any) -> Density:
    """A distribution by what it offers."""
    if hasattr(one, "ppf") and np.ndim(one.ppf(0.5)) > 0:
        raise ParameterError(
            f"Class {label!r} has {np.size(one.ppf(0.5))} distributions in one: its parameters are arrays. Give "
            "numbers, or Gaussian(mean, covariance) for several columns."
        )
    gaussian = one if isinstance(one, Gaussian) else _scipy_gaussian(one)
    if gaussian is not None:
        return GaussianDensity(gaussian)
    if hasattr(one, "ppf") and hasattr(one, "rvs"):
        return LineDensity(one)
    if hasattr(one, "rvs") and (hasattr(one, "logpdf") or hasattr(one, "logpmf")):
        return ManyColumnsDensity(one)
    raise ParameterError(
        f"Class {label!r} has {one!r}, expected a frozen scipy.stats distribution such as scipy.stats.norm(0, 1), a "
        "Gaussian(mean, covariance), or a table of probabilities."
    )


def _scipy_gaussian(one: Any) -> Gaussian | None:
    """SciPy's normal distributions as ours, which have exact results."""
    name = type(one).__name__
    if name == "multivariate_normal_frozen":
        with suppress(DegenerateDataError):  # SciPy allows singular covariances
            return Gaussian(one.mean, one.cov)
    if name in ("rv_continuous_frozen", "rv_frozen") and getattr(one.dist, "name", "") == "norm":
        return Gaussian(float(one.mean()), float(one.var()))
    return None
