"""Class distributions: normal, frozen SciPy distributions, and tables of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, MatrixLike
from ..data import as_rows, is_missing, label_array
from ..decision.posteriors import class_array
from ..errors import DegenerateDataError, InputError, ParameterError
from ..results import plain
from .distributions import Gaussian, refuse_other_dimensions

if TYPE_CHECKING:
    from scipy.stats.distributions import rv_frozen

#: Class distributions by class, in a list, or as a table of probabilities.
Distributions: TypeAlias = "Mapping[Any, Any] | Sequence[Any] | Array"


def probabilities(name: str, given: ArrayLike, error: type[Exception] = InputError) -> Array:
    """Valid probabilities along the last axis as an array."""
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as reason:
        raise error(f"{name} must be probabilities: {reason}.") from reason
    if table.ndim == 0 or table.shape[-1] == 0:
        raise error(f"{name} must be an array of probabilities, got {given!r}.")
    if not (table >= 0).all():
        place = tuple(int(i) for i in np.argwhere(~(table >= 0))[0])
        raise error(f"{name} must be probabilities: the entry {place} is {table[place]:g}. Use numbers from 0 to 1.")
    total = table.sum(axis=-1)
    if not (np.abs(total - 1) <= 1e-6).all():
        worst = total.flat[int(np.abs(total - 1).argmax())]
        raise error(f"The probabilities of {name} must sum to 1, got {worst:.8g}. Divide them by their sum.")
    return table


class Density(Protocol):
    """The distribution of the rows of one class, such as a `Gaussian`."""

    @property
    def dimension(self) -> int:
        """The number of columns."""

    @property
    def discrete(self) -> bool:
        """Whether the distribution is discrete, with probabilities instead of densities."""

    def log_density(self, X: Array) -> Array:
        """The log-density, or log-probability, at each row."""

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` random rows, an array of shape (n, dimension)."""


class FrozenDensity:
    """A frozen SciPy distribution, or another with ``logpdf`` or ``logpmf`` and ``rvs``."""

    def __init__(self, frozen: rv_frozen) -> None:
        self.frozen = frozen
        self.discrete = not hasattr(frozen, "logpdf")
        self._log: Callable[[Array], Array] = frozen.logpmf if self.discrete else frozen.logpdf
        self.on_a_line = hasattr(frozen, "ppf")
        self.dimension = int(np.size(frozen.rvs(size=1, random_state=np.random.default_rng(0))))

    def log_density(self, X: Array) -> Array:
        return np.asarray(self._log(X[:, 0] if self.on_a_line else X)).reshape(len(X))

    def quantiles(self, shares: ArrayLike) -> Array:
        """Quantiles of a distribution of one column."""
        return np.asarray(self.frozen.ppf(shares), dtype=np.float64)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.frozen.rvs(size=n, random_state=rng), dtype=np.float64).reshape(n, self.dimension)


def _frozen(frozen: rv_frozen) -> FrozenDensity:
    """A frozen distribution; some, such as SciPy's dirichlet, do not accept rows and are refused."""
    density = FrozenDensity(frozen)
    try:
        density.log_density(density.draw(density.dimension + 1, np.random.default_rng(0)))
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise ParameterError(
            f"The log-density of {type(frozen).__name__} does not accept rows of shape (n, {density.dimension}): "
            f"{reason}. Use an object with logpdf(rows) and rvs(size, random_state)."
        ) from error
    return density


class TableDensity:
    """Probabilities of finitely many values; rows contain the codes of the values."""

    dimension = 1
    discrete = True

    def __init__(self, probabilities: Array) -> None:
        self.probabilities = probabilities

    def log_density(self, X: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[X[:, 0].astype(np.intp)])

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        codes = rng.choice(len(self.probabilities), size=n, p=self.probabilities)
        return codes[:, None].astype(np.float64)


@dataclass(frozen=True)
class ClassDensities:
    """The distributions of all classes."""

    classes: Array
    densities: list[Density]
    values: list[Any] | None = None  #: values of the codes of a table

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

    def rows(self, X: MatrixLike) -> Array:
        """``X`` as an array of rows; a single column may be one-dimensional."""
        flat = X if np.asarray(X).ndim != 1 else np.reshape(np.asarray(X), (-1, 1))
        if self.values is not None:
            return self._coded(flat)
        table = as_rows(flat)
        if table.n_columns != self.dimension:
            raise InputError(f"X has {table.n_columns} columns, but the distributions have {self.dimension}.")
        table.refuse_nonfinite()
        block = table.block(0, table.n_rows)
        return np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)

    def _coded(self, X: MatrixLike) -> Array:
        assert self.values is not None
        cells = np.asarray(X, dtype=object)
        if cells.ndim != 2 or cells.shape[1] != 1:
            raise InputError(f"X must be one column of values of the table, got shape {cells.shape}.")
        position = {value: code for code, value in enumerate(self.values)}
        for row, value in enumerate(cells[:, 0]):
            if is_missing(value) or value not in position:
                raise InputError(f"Row {row} has the value {plain(value)!r}; expected one of the table: {self.values}.")
        return np.array([[position[value]] for value in cells[:, 0]], dtype=np.float64)


def class_densities(distributions: Distributions, classes: ArrayLike | None = None) -> ClassDensities:
    """Class distributions in any of the accepted forms."""
    labels, given = _by_class(distributions, classes)
    tables = [isinstance(one, (Mapping, list, tuple, np.ndarray)) for one in given]
    if any(tables):
        if not all(tables):
            raise ParameterError(
                f"Class {labels[tables.index(True)]!r} is a table, class {labels[tables.index(False)]!r} is not. Use "
                "distributions of one kind."
            )
        values, shares = _common_values(labels, given)
        return ClassDensities(label_array(labels), [TableDensity(row) for row in shares], values)
    densities = [_density(label, one) for label, one in zip(labels, given, strict=True)]
    refuse_other_dimensions(labels, [density.dimension for density in densities])
    for label, density in zip(labels, densities, strict=True):
        if density.discrete != densities[0].discrete:
            raise ParameterError(
                f"Classes {labels[0]!r} and {label!r} mix a discrete and a continuous distribution. Use distributions "
                "of one kind."
            )
    return ClassDensities(label_array(labels), densities)


def _by_class(distributions: Distributions, classes: ArrayLike | None) -> tuple[list[Any], list[Any]]:
    if isinstance(distributions, Mapping):
        labels, given = [plain(label) for label in distributions], list(distributions.values())
        if classes is not None:
            raise ParameterError("classes is for distributions in a list; a dict already names them. Omit classes.")
    else:
        given = list(distributions) if isinstance(distributions, (list, tuple, np.ndarray)) else []
        labels = list(range(len(given))) if classes is None else [plain(label) for label in class_array(classes)]
    if len(given) < 2 or len(labels) != len(given):
        raise ParameterError(
            "distributions must be a list or dict with a distribution for each of at least two classes, or a table "
            f"(K, n_values); got {len(given)} distributions and classes {labels}."
        )
    return labels, given


def _common_values(labels: Sequence[Hashable], tables: list[Any]) -> tuple[list[Any], Array]:
    """The values of all tables, and the probabilities of each class over them."""
    named = [isinstance(table, Mapping) for table in tables]
    if all(named):
        values = list(dict.fromkeys(plain(value) for table in tables for value in table))
        rows = [[table.get(value, 0.0) for value in values] for table in tables]
    elif any(named):
        raise ParameterError("Some tables are dicts, others are not. Use a dict for every class, or for none.")
    else:
        values, rows = list(range(len(tables[0]))), [list(table) for table in tables]
    for label, row in zip(labels, rows, strict=True):
        if len(row) != len(values):
            raise ParameterError(f"The table of class {label!r} has {len(row)} values, expected {len(values)}.")
    found = np.stack([probabilities(f"class {k!r}", row, ParameterError) for k, row in zip(labels, rows, strict=True)])
    return values, found / found.sum(axis=1, keepdims=True)


def _density(label: Hashable, one: Any) -> Density:
    """A distribution as a `Density`."""
    if hasattr(one, "ppf") and np.ndim(one.ppf(0.5)) > 0:
        raise ParameterError(
            f"Class {label!r} has a distribution with array parameters ({np.size(one.ppf(0.5))} distributions). Use "
            "scalar parameters, or Gaussian(mean, covariance) for several columns."
        )
    gaussian = one if isinstance(one, Gaussian) else _scipy_gaussian(one)
    if gaussian is not None:
        return gaussian
    if hasattr(one, "rvs") and (hasattr(one, "logpdf") or hasattr(one, "logpmf")):
        return _frozen(one)
    raise ParameterError(
        f"Class {label!r} has {one!r}, expected a frozen scipy.stats distribution such as scipy.stats.norm(0, 1), a "
        "Gaussian(mean, covariance), or a table of probabilities."
    )


def _scipy_gaussian(one: Any) -> Gaussian | None:
    """A SciPy normal distribution as a `Gaussian`, for which exact results are available."""
    name = type(one).__name__
    if name == "multivariate_normal_frozen":
        with suppress(DegenerateDataError):  # SciPy allows singular covariances
            return Gaussian(one.mean, one.cov)
    if name in ("rv_continuous_frozen", "rv_frozen") and getattr(one.dist, "name", "") == "norm":
        return Gaussian(float(one.mean()), float(one.var()))
    return None
