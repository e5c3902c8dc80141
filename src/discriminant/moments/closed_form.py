"""From moments to rules: the algebra on small matrices that follows the one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rules import DiagonalRule, LinearRule, QuadraticRule
from .scatter import Covariance, Scatter
from .statistic import Moments

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Directions:
    """Discriminant directions, best first, in MASS's normalisation: within-class covariance is the identity.

    ``singular[l]**2`` is the variance of the class means along direction l, in units of the variance within, weighted
    by N * prior / (K - 1).
    """

    centre: Array
    scalings: Array
    singular: Array

    def coordinates(self, rows: Array, rank: int | None = None) -> Array:
        return (rows - self.centre) @ self.scalings[:, :rank]


def discriminant_directions(means: Array, centre: Array, priors: Array, n: float, covariance: Covariance) -> Directions:
    """The directions in which the class means differ most, compared with the spread within classes."""
    factor = np.sqrt(n * priors / (len(means) - 1))
    between = covariance.to_sphere(factor[:, None] * (means - centre))
    left, singular, axes = np.linalg.svd(between, full_matrices=False)
    tolerance = 1e-12 * singular[0] + np.finfo(float).tiny
    kept = np.flatnonzero(singular > tolerance)[: len(means) - 1]
    # A direction has no sign of its own: the class that lies farthest out shall lie on the positive side.
    farthest = left[np.abs(left[:, kept]).argmax(axis=0), kept]
    scalings = covariance.from_sphere((axes[kept] * np.sign(farthest)[:, None]).T)
    return Directions(centre, scalings, singular[kept])


def nearest_centroid_rule(means: Array, log_priors: Array, directions: Directions, rank: int | None) -> LinearRule:
    """The class whose mean is nearest in the first ``rank`` directions, the prior taken into account."""
    centroids = directions.coordinates(means, rank)
    coef = centroids @ directions.scalings[:, :rank].T
    return LinearRule(directions.centre, coef, log_priors - 0.5 * np.einsum("kr,kr->k", centroids, centroids))


def gaussian_quadratic_rule(
    means: Array, covariances: list[Covariance], log_priors: Array, centre: Array
) -> QuadraticRule:
    """The class of highest log-density plus log-prior, each class with its own covariance."""
    constants = log_priors - 0.5 * np.array([c.log_determinant for c in covariances])
    spheres = np.stack([c.from_sphere(np.eye(len(centre))) for c in covariances])
    return QuadraticRule(centre, means - centre, spheres, constants)


def gaussian_diagonal_rule(means: Array, variances: Array, log_priors: Array) -> DiagonalRule:
    """The same with independent columns."""
    return DiagonalRule(means, variances, log_priors - 0.5 * np.log(2 * np.pi * variances).sum(axis=1))


def least_squares_coefficients(total: Scatter, cross: Array, ridge: float = 0.0) -> tuple[Array, Covariance]:
    """Rows of B' in ``min |Y - X B|^2 + ridge |B|^2`` (columns centred), and the factorised ``X'X + ridge I``.

    ``total`` is the scatter of X, ``cross`` the centred products ``Y'X``, one row per response.
    """
    factor = total.covariance(ridge=ridge)
    return factor.solve(cross), factor


def indicator_products(moments: Moments) -> Array:
    """``Y'X`` for the one-hot responses, centred: row k is ``N_k (mean_k - mean)``."""
    steps = np.where(moments.present[:, None], moments.mean - moments.overall_mean(), 0.0)
    return moments.weight[:, None] * steps
