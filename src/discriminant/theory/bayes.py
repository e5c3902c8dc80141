"""The Bayes classifier of known class distributions, and the Bayes error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Final, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr, softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from ..arrays import Array, MatrixLike, PerClass, RandomState
from ..data import check_choice, check_integer, encode_labels
from ..decision.posteriors import check_priors, equal_priors
from ..errors import InputError, LabelError, ParameterError
from ..results import Result, listed, number, shown
from .densities import ClassDensities, Distributions, FrozenDensity, TableDensity, class_densities
from .distributions import Gaussian, GaussianPairs


class BayesClassifier(ClassifierMixin, BaseEstimator):
    """The Bayes classifier of known class distributions: the class of highest prior times density.

    It has no parameters to estimate; `fit` only validates the labels.

    Parameters
    ----------
    distributions : list, dict by class, or table
        For each class a frozen ``scipy.stats`` distribution, a `Gaussian`, or a table: an array (K, n_values) of
        probabilities of the values 0, 1, ..., or a dict of probabilities by value.
    priors : array-like or dict, optional
        Class priors by class or in the order of the distributions. Default: equal.
    classes : array-like, optional
        Class labels of a list or table. Default: 0, ..., K - 1.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
        In sorted order of the classes.

    See Also
    --------
    bayes_error : Its error rate.
    density_curves : Its densities and thresholds for one column.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> model = BayesClassifier({"low": norm(0, 1), "high": norm(2, 1)}, priors={"low": 0.8, "high": 0.2})
    >>> model.predict([[1.2], [2.5]])
    array(['low', 'high'], dtype='<U4')
    >>> model.classes_, model.predict_proba([[1.2]]).round(3)
    (array(['high', 'low'], dtype='<U4'), array([[0.272, 0.728]]))
    """

    def __init__(
        self, distributions: Distributions, priors: PerClass | None = None, classes: ArrayLike | None = None
    ) -> None:
        self.distributions = distributions
        self.priors = priors
        self.classes = classes

    @property
    def classes_(self) -> Array:
        """The classes in sorted order."""
        return self._known()[0].classes

    @property
    def priors_(self) -> Array:
        """The prior of each class."""
        return self._known()[1]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Validate the labels.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Rows.
        y : array-like of shape (n_rows,)
            Their labels.

        Returns
        -------
        BayesClassifier
            Itself.
        """
        rows = self._known()[0].rows(X)
        found, _ = encode_labels(y, len(rows))
        for label in found:
            if label not in self.classes_.tolist():
                raise LabelError(f"Label {shown(label)} has no distribution. Classes: {self.classes_.tolist()}.")
        return self

    def log_joint(self, X: MatrixLike) -> Array:
        """The log-density of each row plus the log-prior, for each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Rows; a single column may be one-dimensional.

        Returns
        -------
        array of shape (n_rows, K)
            In sorted order of the classes.
        """
        densities, priors = self._known()
        return densities.log_joint(densities.rows(X), priors)

    def predict_log_proba(self, X: MatrixLike) -> Array:
        """The logarithm of the posterior probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            As for `log_joint`.

        Returns
        -------
        array of shape (n_rows, K)
            In sorted order of the classes.
        """
        joint = self.log_joint(X)
        total = logsumexp(joint, axis=1, keepdims=True)
        if not np.isfinite(total).all():
            row = int(np.argmin(np.isfinite(total[:, 0])))
            raise InputError(
                f"Row {row} has density 0 in all classes with positive prior. Drop it, or use distributions with "
                "larger support."
            )
        return joint - total

    def predict_proba(self, X: MatrixLike) -> Array:
        """The posterior probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Rows.

        Returns
        -------
        array of shape (n_rows, K)
            Rows sum to 1.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: MatrixLike) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Rows.

        Returns
        -------
        array of shape (n_rows,)
            Labels.
        """
        return self.classes_[self.predict_log_proba(X).argmax(axis=1)]

    def _known(self) -> tuple[ClassDensities, Array]:
        """Distributions and priors in sorted order of the classes."""
        given = class_densities(self.distributions, self.classes)
        order = np.argsort(given.classes)
        densities = [given.densities[k] for k in order]
        return ClassDensities(given.classes[order], densities, given.values), priors_of(self.priors, given)[order]


def priors_of(priors: PerClass | None, densities: ClassDensities) -> Array:
    """The priors given, or equal ones."""
    return equal_priors(densities.classes) if priors is None else check_priors(priors, densities.classes)


Method = Literal["auto", "exact", "quadrature", "monte-carlo"]

#: Tail probability of each class that is neglected in sums over counts.
TAIL_PROBABILITY: Final = 1e-15
#: Maximum number of values of a count that are summed.
MAX_COUNT_VALUES: Final = 10_000_000
#: Quantiles per class between which crossings of densities are searched.
N_QUANTILES: Final = 400


@dataclass(frozen=True, repr=False)
class BayesError(Result):
    """The error rate of the Bayes classifier, the minimum of all classifiers of the same columns.

    Attributes
    ----------
    error : float
    method : "exact", "quadrature" or "monte-carlo"
    standard_error : float
        Monte Carlo standard error; 0 for other methods.
    numerical_error : float
        Estimated quadrature error; 0 for other methods.

    See Also
    --------
    bayes_error : Computes it.
    """

    error: float
    method: str
    standard_error: float = 0.0
    numerical_error: float = 0.0

    def __str__(self) -> str:
        if self.method == "monte-carlo":
            return f"Bayes error {self.error:.6g} (Monte Carlo, standard error {self.standard_error:.2g})"
        return f"Bayes error {self.error:.6g} ({self.method})"


def bayes_error(
    distributions: Distributions,
    priors: PerClass | None = None,
    method: Method = "auto",
    n: int = 100_000,
    random_state: RandomState = 0,
    classes: ArrayLike | None = None,
) -> BayesError:
    """The error of the Bayes classifier, ``1 - E[max_k p(k | x)]``: no classifier has a lower one.

    Parameters
    ----------
    distributions : list, dict by class, or table
        Class distributions, as in `BayesClassifier`.
    priors : array-like or dict, optional
        Class priors. Default: equal.
    method : {"auto", "exact", "quadrature", "monte-carlo"}, default="auto"
        Exact: tables, counts (up to a tail probability of 1e-15), normal distributions of one column, and two normal
        distributions with equal covariance. Quadrature: continuous distributions of one column. Monte Carlo: all.
        "auto" uses the first applicable method.
    n : int, default=100_000
        Number of Monte Carlo draws, allocated to classes by their priors. Estimates and standard errors are not
        reliable for errors below a few in n.
    random_state : int, numpy Generator or None, default=0
        For Monte Carlo.
    classes : array-like, optional
        Class labels of a list or table.

    Returns
    -------
    BayesError
        The error, the method, and its accuracy.

    See Also
    --------
    BayesClassifier : The classifier with this error.
    error_bounds : Bounds for normal classes.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> print(bayes_error([norm(0, 1), norm(2, 1)]))
    Bayes error 0.158655 (exact)
    >>> print(bayes_error([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]], priors=[0.5, 0.5]))
    Bayes error 0.3 (exact)
    """
    check_choice("method", method, get_args(Method))
    densities = class_densities(distributions, classes)
    share = priors_of(priors, densities)
    share = share / share.sum()
    if method in ("auto", "exact"):
        error = _exact(densities, share)
        if error is not None:
            return BayesError(float(error), "exact")
    on_a_line = densities.dimension == 1 and not densities.discrete
    if method == "exact" or (method == "quadrature" and not on_a_line):
        raise ParameterError(f"method={method!r} is not available for these distributions. Use method='auto'.")
    if on_a_line and method != "monte-carlo":
        return _quadrature(densities, share)
    check_integer("n", n, 2)
    return _monte_carlo(densities, share, n, np.random.default_rng(random_state))


def _exact(densities: ClassDensities, share: Array) -> float | None:
    """The error in closed form or as a finite sum, if available."""
    parts = densities.densities
    if tables := [part.probabilities for part in parts if isinstance(part, TableDensity)]:
        return _left_over(share[:, None] * np.array(tables))
    gaussians = [part for part in parts if isinstance(part, Gaussian)]
    if len(gaussians) == len(parts):
        if densities.dimension == 1:
            return _normal_lines(gaussians, share)
        return _equal_covariances(gaussians, share) if len(parts) == 2 else None
    return _counts(densities, share) if densities.discrete and densities.dimension == 1 else None


def _left_over(joint: Array) -> float:
    """The total joint probability of all but the most probable class; ``joint`` has a row for each class."""
    return float(np.delete(np.sort(joint, axis=0), -1, axis=0).sum())


def _counts(densities: ClassDensities, share: Array) -> float | None:
    """The error of count distributions, as a sum over values."""
    ends = [
        part.quantiles([TAIL_PROBABILITY, 1 - TAIL_PROBABILITY])
        for part in densities.densities
        if isinstance(part, FrozenDensity)
    ]
    if not sum(high - low for low, high in ends) < MAX_COUNT_VALUES:
        return None
    values = np.unique(np.concatenate([np.arange(low, high + 1) for low, high in ends]))
    return _left_over(np.exp(densities.log_joint(values[:, None], share)).T)


def _equal_covariances(gaussians: list[Gaussian], share: Array) -> float | None:
    """The error of two normal classes with equal covariance, a function of their Mahalanobis distance."""
    first, second = gaussians
    if not np.allclose(first.covariance, second.covariance, rtol=1e-12, atol=0):
        return None
    distance = float(np.linalg.norm(GaussianPairs.of(gaussians, np.array([0]), np.array([1])).shift))
    if distance == 0 or share.min() == 0:
        return float(share.min())
    cut = np.log(share[0] / share[1]) / distance
    return float(share[0] * ndtr(-distance / 2 - cut) + share[1] * ndtr(-distance / 2 + cut))


def _normal_lines(gaussians: list[Gaussian], share: Array) -> float:
    """The error of normal classes of one column, summed over intervals between crossings of their densities."""
    present = np.flatnonzero(share > 0)
    mean = np.array([gaussians[k].mean[0] for k in present])
    deviation = np.sqrt([gaussians[k].covariance[0, 0] for k in present])
    share = share[present]
    pairs = [list(pair) for pair in combinations(range(len(share)), 2)]
    crossings = [normal_crossings(mean[pair], deviation[pair], share[pair]) for pair in pairs]
    cuts = np.unique(np.concatenate([[-np.inf, np.inf], *crossings]))
    return sum(_lost_between(low, high, mean, deviation, share) for low, high in pairwise(cuts))


def normal_crossings(mean: Array, deviation: Array, share: Array) -> Array:
    """The points where two normal densities times their priors are equal: the roots of a quadratic."""
    centre, scale = mean.mean(), deviation.max()
    m, s = (mean - centre) / scale, deviation / scale
    quadratic = (s[0] - s[1]) * (s[0] + s[1]) / (2 * s[0] ** 2 * s[1] ** 2)
    linear = m[0] / s[0] ** 2 - m[1] / s[1] ** 2
    constant = 0.5 * ((m[1] / s[1]) ** 2 - (m[0] / s[0]) ** 2) + np.log(share[0] / share[1]) - np.log(s[0] / s[1])
    discriminant = linear**2 - 4 * quadratic * constant
    if discriminant < 0:
        return np.array([])
    # This form of the roots is stable if the quadratic coefficient is almost 0.
    q = -0.5 * (linear + np.copysign(np.sqrt(discriminant), linear))
    roots = np.array([top / bottom for top, bottom in ((q, quadratic), (constant, q)) if bottom != 0])
    return centre + scale * roots[np.isfinite(roots)]


def _lost_between(low: float, high: float, mean: Array, deviation: Array, share: Array) -> float:
    """The joint probability of all but the most probable class in an interval without crossings."""
    a, b = (low - mean) / deviation, (high - mean) / deviation
    # In the upper tail use survival functions, which are precise there.
    mass = share * np.where(a > 0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
    # The most probable class at an inner point; limits may be infinite.
    start = low if np.isfinite(low) else min(high, mean[0]) - deviation.max()
    stop = high if np.isfinite(high) else max(low, mean[0]) + deviation.max()
    inside = (start + stop) / 2
    joint = np.log(share) - 0.5 * ((inside - mean) / deviation) ** 2 - np.log(deviation)
    return float(np.delete(mass, int(np.argmax(joint))).sum())


def _quadrature(densities: ClassDensities, share: Array) -> BayesError:
    """The error of continuous distributions of one column, integrated piecewise between crossings."""

    def lost(x: float) -> float:
        joint = np.exp(densities.log_joint(np.array([[x]]), share)[0])
        return float(np.sort(joint)[:-1].sum())

    # Points between which the integrand is smooth and has no peak too narrow for the quadrature.
    shares = np.concatenate(([0.0, 1e-12, 1e-6], np.linspace(0, 1, N_QUANTILES + 2)[1:-1], [1 - 1e-6, 1 - 1e-12, 1.0]))
    present = [part for part, prior in zip(densities.densities, share, strict=True) if prior > 0]
    quantiles = [part.quantiles(shares) for part in present if isinstance(part, (Gaussian, FrozenDensity))]
    grid = np.unique(np.concatenate(quantiles))
    finite = grid[np.isfinite(grid)]
    coarse = np.concatenate(
        [values[:: N_QUANTILES // 8] for values in quantiles] + [values[[0, -1]] for values in quantiles]
    )
    pieces = pairwise(np.unique(np.concatenate((coarse, crossings_on(densities, share, finite)))))
    results = [quad(lost, low, high, epsabs=1e-13, epsrel=1e-11, limit=200) for low, high in pieces]
    error, uncertainty = np.sum(results, axis=0)
    return BayesError(float(error), "quadrature", numerical_error=float(uncertainty))


def crossings_on(densities: ClassDensities, share: Array, grid: Array) -> Array:
    """The points where two densities times their priors cross between points of the grid."""

    def gap_at(x: float, i: int, j: int) -> float:
        values = densities.log_joint(np.array([[x]]), share)[0]
        return float(values[i] - values[j])

    joint = densities.log_joint(grid[:, None], share)
    found = []
    for i, j in combinations(np.flatnonzero(share > 0).tolist(), 2):
        with np.errstate(invalid="ignore"):
            gap = joint[:, i] - joint[:, j]
        changes = np.isfinite(gap[:-1]) & np.isfinite(gap[1:]) & (np.sign(gap[:-1]) * np.sign(gap[1:]) < 0)
        for a in np.flatnonzero(changes):
            found.append(brentq(gap_at, grid[a], grid[a + 1], args=(i, j)))
    return np.array(found)


def _monte_carlo(densities: ClassDensities, share: Array, n: int, rng: np.random.Generator) -> BayesError:
    """The mean of ``1 - max posterior`` over rows drawn from each class in proportion to its prior."""
    error = variance = 0.0
    for part, prior in zip(densities.densities, share, strict=True):
        if prior == 0:
            continue
        rows = part.draw(max(2, round(n * prior)), rng)
        # The other classes' probabilities are summed: 1 minus the maximum would round small errors to 0.
        lost = np.sort(softmax(densities.log_joint(rows, share), axis=1), axis=1)[:, :-1].sum(axis=1)
        error += prior * lost.mean()
        variance += prior**2 * lost.var(ddof=1) / len(lost)
    return BayesError(float(error), "monte-carlo", standard_error=float(np.sqrt(variance)))


#: Probability of every class beyond either end of the curves.
CURVE_TAIL_PROBABILITY: Final = 5e-4


@dataclass(frozen=True, repr=False, eq=False)
class DensityCurves(Result):
    """Densities of the classes of one column, times their priors.

    Attributes
    ----------
    classes : array of shape (K,)
        Class labels.
    priors : array of shape (K,)
        Class priors.
    x : array of shape (n,)
        Points, including the thresholds.
    joint : array of shape (K, n)
        Prior times density of each class at each point.
    thresholds : array
        Points where the most probable class changes.
    error : BayesError
        The Bayes error.

    See Also
    --------
    density_curves : Computes them.
    """

    classes: Array
    priors: Array
    x: Array
    joint: Array
    thresholds: Array
    error: BayesError

    @property
    def decided(self) -> Array:
        """The code of the most probable class at each point."""
        return self.joint.argmax(axis=0)

    def _columns(self) -> Mapping[str, Any]:
        return {"x": self.x, **{str(label): row for label, row in zip(self.classes.tolist(), self.joint, strict=True)}}

    def __str__(self) -> str:
        where = listed(map(number, self.thresholds)) if len(self.thresholds) else "none"
        return f"{len(self.classes)} classes, {len(self.x)} points; thresholds: {where}; {self.error}"


def density_curves(
    distributions: Distributions, priors: PerClass | None = None, n: int = 401, classes: ArrayLike | None = None
) -> DensityCurves:
    """Class densities of one column times their priors, with thresholds and the Bayes error.

    Parameters
    ----------
    distributions : list or dict by class
        Distributions of one column: `Gaussian`, or frozen ``scipy.stats`` distributions.
    priors : array-like or dict, optional
        Class priors. Default: equal.
    n : int, default=401
        Number of evenly spaced points; thresholds are added.
    classes : array-like, optional
        Class labels of a list.

    Returns
    -------
    DensityCurves
        Input of `discriminant.figures.class_densities`.

    See Also
    --------
    bayes_error : The Bayes error alone.
    class_distances : Distances between normal classes of any number of columns.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> print(density_curves([norm(0, 1), norm(2, 1)], priors=[0.3, 0.7]))
    2 classes, 402 points; thresholds: 0.5764; Bayes error 0.138749 (exact)
    """
    check_integer("n", n, 2)
    densities = class_densities(distributions, classes)
    if densities.dimension != 1 or densities.discrete:
        raise ParameterError("density_curves requires continuous distributions of one column. See bayes_error.")
    share = priors_of(priors, densities)
    share = share / share.sum()
    parts = [part for part in densities.densities if isinstance(part, (Gaussian, FrozenDensity))]
    ends = np.array([part.quantiles([CURVE_TAIL_PROBABILITY, 1 - CURVE_TAIL_PROBABILITY]) for part in parts])
    even = np.linspace(ends[:, 0].min(), ends[:, 1].max(), n)
    crossings = crossings_on(densities, share, even)
    step = 1e-6 * (even[1] - even[0])
    sides = [densities.log_joint((crossings + side)[:, None], share).argmax(axis=1) for side in (-step, step)]
    thresholds = np.unique(crossings[sides[0] != sides[1]]) if len(crossings) else crossings
    x = np.unique(np.concatenate((even, thresholds)))
    joint = np.exp(densities.log_joint(x[:, None], share)).T
    error = bayes_error(distributions, priors, classes=classes)
    return DensityCurves(densities.classes, share, x, joint, thresholds, error)
