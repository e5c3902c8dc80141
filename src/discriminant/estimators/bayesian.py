"""Bayesian linear discriminant analysis: classes by their posterior predictive densities.

Model: rows of class k are normal with mean mu_k and a covariance Sigma that all classes share. The prior is conjugate
(normal-inverse-Wishart): ``Sigma ~ IW(nu S_0, nu)`` and ``mu_k | Sigma ~ N(m_0, Sigma / kappa)``. With ``nu = 0`` and
``kappa = 0`` it is Jeffreys' ``|Sigma|^-(p + 1)/2`` with flat means. Parameters are integrated out: a new row of class
k has a multivariate t density (Geisser 1964; Murphy 2012, section 4.6), read from the class moments in closed form,
O(p^3) after one pass:

- ``kappa_k = kappa + N_k`` and ``m_k = (kappa m_0 + N_k mean_k) / kappa_k``;
- ``nu_n = nu + N``, less K where the means are flat, and ``S = (nu S_0 + S_W + sum_k kappa N_k / kappa_k (mean_k - m_0)
  (mean_k - m_0)') / nu_n``;
- p(x | k) is t with ``d = nu_n - p + 1`` degrees of freedom about m_k, of scale ``S (1 + 1 / kappa_k) nu_n / d``.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ..arrays import Array, MatrixLike
from ..data import check_number
from ..errors import DegenerateDataError, ParameterError, Setting
from ..moments.covariance import Covariance, Scatter
from ..moments.folds import MomentsSpec
from ..moments.statistic import ClassMoments
from ..rules import StudentRule
from .generative import GenerativeClassifier, ScatterMixin, positive_divisor, refuse_singular
from .moment_classifier import ClassStatistics, constant_columns


@dataclass(eq=False, repr=False)
class BayesianLinearDiscriminantAnalysis(ScatterMixin, GenerativeClassifier):
    """Linear discriminant analysis with the means and the covariance integrated out.

    The density of class k is its posterior predictive density, a multivariate t distribution, where
    `LinearDiscriminantAnalysis` plugs in estimates. With few rows tails are heavier and posteriors nearer to the
    priors; classes with fewer rows are wider, by ``1 + 1 / N_k``, so that boundaries are curved.

    Parameters
    ----------
    priors : array-like or dict, default=None
        Class probabilities, as in `LinearDiscriminantAnalysis`.
    kappa : float, default=0.0
        Prior rows of each class mean; 0 is a flat prior.
    nu : float, default=0.0
        Prior degrees of freedom of the covariance; 0 is Jeffreys' prior, which needs N - K >= p.
    location : array-like of shape (p,), default=None
        Prior mean m_0. Default: the mean of the rows.
    covariance : array-like of shape (p, p), default=None
        Prior covariance S_0. Default: diagonal, with the variances within classes (over all rows for columns without
        such variance), so that units do not matter.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
    means_ : array of shape (K, p)
        Class means of the rows.
    locations_ : array of shape (K, p)
        Centres m_k of the predictive densities: class means shrunk towards m_0.
    kappa_ : array of shape (K,)
        ``kappa + N_k``.
    degrees_ : float
        Degrees of freedom d of the predictive densities.
    scatter_within_, scatter_between_, scatter_total_ : arrays of shape (p, p)
        S_W, S_B and S_T, sums over rows.
    moments_ : the class moments

    See Also
    --------
    LinearDiscriminantAnalysis : With plug-in estimates.

    References
    ----------
    Geisser, S. (1964). Posterior odds for multivariate normal classifications. J. Royal Statistical Society B 26.
    Murphy, K. P. (2012). Machine Learning: A Probabilistic Perspective, section 4.6.

    Examples
    --------
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]], ["a", "a", "a", "b", "b", "b"]
    >>> LinearDiscriminantAnalysis().fit(X, y).predict_proba([[4.5]]).round(3)
    array([[0.002, 0.998]])
    >>> BayesianLinearDiscriminantAnalysis().fit(X, y).predict_proba([[4.5]]).round(3)
    array([[0.054, 0.946]])
    """

    priors: Any = None
    _: KW_ONLY
    kappa: float = 0.0
    nu: float = 0.0
    location: Any = None
    covariance: Any = None
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        for strength, guess in (("kappa", "location"), ("nu", "covariance")):
            check_number(strength, getattr(self, strength), 0)
            if getattr(self, strength) == 0 and getattr(self, guess) is not None:
                raise ParameterError(
                    Setting(guess), " has no effect without ", Setting(strength), " > 0. Set ", Setting(strength), "."
                )

    def _moments_spec(self) -> MomentsSpec:
        return MomentsSpec("pooled")

    def _estimate(self, statistics: ClassStatistics) -> None:
        moments, kappas = statistics.moments, self.kappa + statistics.moments.weight
        expected = self._expected_mean(moments)
        rows = float(self.nu + moments.total_weight - (0 if self.kappa else moments.n_classes))
        covariance = self._expected_covariance(statistics, expected, rows)
        self.degrees_ = rows - covariance.rank + 1
        self.kappa_ = statistics.expand(kappas)
        centres = (self.kappa * expected + moments.weight[:, None] * moments.mean) / kappas[:, None]
        self.locations_ = statistics.expand(centres)
        # 1. The constants of a t density with rows - rank + 1 degrees of freedom, in the covariance S.
        rank, widths, origin = covariance.rank, 1 + 1 / kappas, moments.overall_mean()
        whole = gammaln((rows + 1) / 2) - gammaln(self.degrees_ / 2) - 0.5 * rank * np.log(np.pi * rows)
        constants = statistics.log_priors + whole - 0.5 * (covariance.log_determinant + rank * np.log(widths))
        # 2. Its logarithm falls with log(1 + distance^2 / (width rows)), whatever the rank.
        powers, sphere = np.full(len(widths), (rows + 1) / 2), covariance.from_whitened(np.eye(rank))
        self.rule_ = StudentRule(origin, sphere, centres - origin, 1 / (widths * rows), powers, constants)

    def _expected_mean(self, moments: ClassMoments) -> Array:
        return moments.overall_mean() if self.location is None else _given("location", self.location, moments.n_columns)

    def _expected_covariance(self, statistics: ClassStatistics, expected: Array, rows: float) -> Covariance:
        """S, with the rows of the prior included."""
        moments, p = statistics.moments, statistics.moments.n_columns
        if rows < p:
            raise DegenerateDataError(
                f"A covariance of {p} columns requires {p} degrees of freedom; the data provide {max(rows, 0):g}. "
                "Remove columns, or use a prior such as ", Setting("nu", p), ".",
            )  # fmt: skip
        if self.kappa == self.nu == 0:
            return self._invertible(statistics, rows)
        within, weight = moments.within(), moments.weight
        factor = np.sqrt(self.kappa * weight / (self.kappa + weight))
        scatter = within.plus(factor[:, None] * (moments.mean - expected))
        if self.nu > 0 and self.covariance is None:
            variances = within.diagonal() / positive_divisor(moments.total_weight, moments.n_classes)
            flat = constant_columns(variances, moments.mean)
            variances[flat] = moments.column_variances()[flat]
            constant = constant_columns(variances, moments.mean)
            self._refuse_constant(constant, "over all rows", "Remove it.")
            return scatter.covariance(rows, ridge=self.nu / rows, units=np.sqrt(variances))
        guess = 0.0 if self.covariance is None else self.nu * _given("covariance", self.covariance, p, p)
        covariance = Scatter(scatter.matrix + guess).covariance(rows)
        if covariance.rank < p:
            singular = "The posterior covariance is singular. Use a covariance of full rank and "
            raise DegenerateDataError(singular, Setting("nu"), " > 0.")
        return covariance

    def _log_joint(self, X: MatrixLike) -> Array:
        refuse_singular(self.rule_.sphere.shape[1], self.n_features_in_)
        return self._scores(X)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        steps = rng.standard_normal((n, self.rule_.sphere.shape[1])) @ np.linalg.pinv(self.rule_.sphere)
        return self.locations_[k] + steps / np.sqrt(self.rule_.rates[k] * rng.chisquare(self.degrees_, (n, 1)))


def _given(name: str, value: ArrayLike, *shape: int) -> Array:
    """A parameter of finite numbers of this shape, symmetric if it is a matrix."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != shape or not np.isfinite(found).all() or not np.allclose(found, found.T, rtol=1e-9, atol=0):
        wanted = " x ".join(map(str, shape))
        raise ParameterError(Setting(name), f" must be {wanted} finite numbers{', symmetric' * (len(shape) - 1)}.")
    return found
