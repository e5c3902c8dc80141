"""Class priors of a place where only unlabelled rows are known, from their posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import chdtrc
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..data import check_integer, check_number, check_weights
from ..errors import InputError, ParameterError, warn
from ..results import Result, p_value, plain
from .posteriors import Posterior

#: Information below this share of the whole is rounding.
_FLAT = 1e-14


@dataclass(frozen=True, eq=False, repr=False)
class PriorEstimate(Result):
    """Class priors estimated from unlabelled rows.

    Attributes
    ----------
    classes, priors : arrays of shape (K,)
    covariance : array of shape (K, K)
        Inverse of the observed information on the priors that sum to 1; 0 for a class estimated absent, NaN where the
        posteriors cannot tell classes apart.
    log_likelihood : float
        Of the rows, against the training priors: 0 says that those fit as well as any.
    gap : float
        The mean log-likelihood of the rows is at most this far below its maximum.
    n_iter : int
    """

    classes: Array
    priors: Array
    covariance: Array
    log_likelihood: float
    gap: float
    n_iter: int

    @property
    def standard_errors(self) -> Array:
        """The standard error of each prior, the model's posteriors taken as exact."""
        return np.sqrt(np.diagonal(self.covariance))

    @property
    def p_value(self) -> float:
        """Of the likelihood-ratio test that the priors are still those of the training rows."""
        return float(chdtrc(len(self.classes) - 1, 2 * self.log_likelihood))

    def _columns(self) -> dict[str, list[Any]]:
        errors = self.standard_errors.tolist()
        return {"class": self.classes.tolist(), "prior": self.priors.tolist(), "standard_error": errors}

    def __str__(self) -> str:
        rows = zip(self.classes, self.priors, self.standard_errors, strict=True)
        listed = ", ".join(f"{plain(label)} {prior:.4f} (s.e. {error:.4f})" for label, prior, error in rows)
        return f"Estimated priors: {listed}. Test of no change: {p_value(self.p_value, name='p')}."


def estimate_priors(
    posterior: Posterior, tol: float = 1e-10, max_iter: int = 1000, sample_weight: Any = None
) -> PriorEstimate:
    """The class priors under which rows without labels are most likely, given their posteriors under other priors.

    Maximises ``sum_i log sum_k p_ik new_k / old_k`` by the EM iteration of Saerens, Latinne and Decaestecker (2002):
    the new priors are the means of the posteriors under the last ones. The function is concave, and where a Newton step
    among the priors of 0 or more leads higher it is taken instead, which makes the end quick and exact.

    Parameters
    ----------
    posterior : Posterior
        With the priors of the training rows.
    tol : float, default=1e-10
        Bound on the distance from the maximum, in mean log-likelihood, to stop at.
    max_iter : int, default=1000
        Iterations to stop after, with a warning.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies.

    Returns
    -------
    PriorEstimate
        With standard errors and a test of no change.

    See Also
    --------
    Posterior.with_priors : Moves probabilities to the priors found.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.decision.posteriors import posterior
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> field = X[y != 0][:80]
    >>> print(estimate_priors(posterior(model, field)))
    Estimated priors: 0 0.0000 (s.e. 0.0000), 1 0.6167 (s.e. 0.0570), 2 0.3833 (s.e. 0.0570).
    Test of no change: p < 0.0001.
    """
    ratio, share, total = _likelihood_ratios(posterior, sample_weight)
    check_number("tol", tol, least=0, open_below=True)
    check_integer("max_iter", max_iter, 1)
    priors, gap, n_iter = _most_likely(ratio, share, posterior.priors / posterior.priors.sum(), tol, max_iter)
    if gap > tol:
        warn(
            f"estimate_priors stopped after {max_iter} iterations with a gap of {gap:.2g} in mean log-likelihood, "
            f"above tol={tol:g}. Raise max_iter.",
            ConvergenceWarning,
        )
    log_likelihood = total * _value(ratio, share, priors)
    covariance = _covariance(ratio, share, priors) / total
    return PriorEstimate(posterior.classes, priors, covariance, max(log_likelihood, 0.0), max(gap, 0.0), n_iter)


def _likelihood_ratios(posterior: Any, sample_weight: Any) -> tuple[Array, Array, float]:
    """``p_ik / old_k`` of each row, its share of the weight, and the weight of all."""
    if not isinstance(posterior, Posterior) or posterior.priors is None:
        raise ParameterError(
            "estimate_priors needs a Posterior with the priors of the training rows: Posterior(probabilities, classes, "
            "priors) or posterior(model, X, priors=...)."
        )
    possible = posterior.priors > 0
    ratio = np.where(possible, posterior.probabilities / np.where(possible, posterior.priors, 1.0), 0.0)
    if not ratio.any(axis=1).all():
        row = int(np.argmin(ratio.any(axis=1)))
        raise InputError(f"Row {row} has probability 0 for every class with a positive training prior.")
    weight = check_weights(sample_weight, len(posterior))
    weight = np.ones(len(posterior)) if weight is None else weight
    return ratio, weight / weight.sum(), float(weight.sum())


def _most_likely(ratio: Array, share: Array, priors: Array, tol: float, max_iter: int) -> tuple[Array, float, int]:
    """The priors of highest likelihood, the bound on their distance from it, and the iterations taken."""
    for iteration in range(max_iter + 1):
        # The gradient of the mean log-likelihood; the maximum is where no entry is above 1.
        slope = (share / (ratio @ priors)) @ ratio
        gap = float(slope.max() - 1)
        if gap <= tol or iteration == max_iter:
            break
        # The better of a step of EM, which always rises, and a Newton step, which ends the iteration.
        steps = [priors * slope, _newton_priors(_information(ratio, share, priors), slope)]
        priors = max((step / step.sum() for step in steps if step.any()), key=lambda step: _value(ratio, share, step))
    # Priors that EM only brings ever closer to 0 are 0: the likelihood rises as they go.
    kept = np.where((priors < tol) & (slope < 1), 0.0, priors)
    return kept / kept.sum(), gap, iteration


def _value(ratio: Array, share: Array, priors: Array) -> float:
    with np.errstate(divide="ignore"):
        return float(share @ np.log(ratio @ priors))


def _newton_priors(information: Array, slope: Array) -> Array:
    """Where the quadratic approximation is highest among priors of 0 or more; some may be exactly 0.

    That the priors sum to 1 is left to a term ``-sum(priors)``, which does not move the maximum (Kim, Carbonetto,
    Stephens and Anitescu, 2020): what remains is a least-squares problem with non-negative unknowns.
    """
    ridge = _FLAT * np.trace(information) * np.eye(len(slope))
    root = np.linalg.cholesky(information + ridge)
    return nnls(root.T, np.linalg.solve(root, 2 * slope - 1))[0]


def _information(ratio: Array, share: Array, priors: Array) -> Array:
    scaled = ratio / (ratio @ priors)[:, None]
    return (scaled * share[:, None]).T @ scaled


def _covariance(ratio: Array, share: Array, priors: Array) -> Array:
    """The inverse information of one row on the simplex of the classes present."""
    present = np.flatnonzero(priors > 0)
    # Orthonormal directions in which entries change but their sum does not, one a column.
    contrasts = np.linalg.svd(np.ones((1, len(present))))[2][1:].T
    information = _information(ratio[:, present], share, priors[present])
    values, axes = np.linalg.eigh(contrasts.T @ information @ contrasts)
    told_apart = (values > _FLAT * np.trace(information)).all()
    inverse = (axes / values) @ axes.T if told_apart else np.full_like(axes, np.nan)
    out = np.zeros((len(priors), len(priors)))
    out[np.ix_(present, present)] = contrasts @ inverse @ contrasts.T
    return out
