"""Class priors of a place where only unlabelled rows are known, from their posteriors.

Two estimates. Where posteriors are exact (known densities) the priors of highest likelihood (Saerens, Latinne &
Decaestecker 2002), with the test and the intervals of the likelihood ratio. Where a classifier was fitted, its
posteriors differ from the true ones by chance and by overfitting, which that likelihood does not know: on 200 training
rows its test of no change rejected 19 to 68 % of true hypotheses. There, scores of held-out training rows are the
standard that scores of the new rows are compared with: refitted on folds, a classifier gives every class a mean score
on rows it was not fitted to, and the priors are the shares at which these make up the mean of the new rows. That is
unbiased for any scores, so that the classifier need not be calibrated, and its variance is that of two samples' means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from scipy.optimize import brentq, nnls
from scipy.special import chdtrc, chdtri, fdtrc, ndtri
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from ..arrays import Array
from ..data import check_integer, check_number, check_weights, codes_among
from ..errors import DegenerateDataError, InputError, ParameterError, warn
from ..folds import repeated_folds
from ..results import Result, p_value, plain
from .posteriors import Posterior, kept_priors, posterior

#: Information below this share of the whole is rounding.
_FLAT = 1e-14
#: Variance of scores below this share of the largest is rounding.
FLAT_SCORE_VARIANCE: Final = 1e-10
#: With fewer training rows of a class the variance of its scores is not known well enough.
MIN_CLASS_ROWS: Final = 10

UNKNOWN_ERROR: Final = (
    "no intervals or test: the error of the fitted model is not known. Use estimate_priors(model, X, training=(X, y)), "
    "or exact=True where posteriors are those of known densities"
)

UNINFORMATIVE: Final = "the classifier does not separate the classes well enough to estimate priors"


@dataclass(frozen=True, eq=False, repr=False)
class PriorEstimate(Result):
    """Class priors estimated from unlabelled rows.

    Attributes
    ----------
    classes, priors : arrays of shape (K,)
    low, high : arrays of shape (K,)
        Ends of the confidence interval of each prior; NaN where there is none.
    level : float
        Of the intervals.
    p_value : float
        Of the test that the priors are still those of the training rows; NaN where there is none.
    covariance : array of shape (K, K)
        Of the estimates; NaN where it is not known.
    note : str
        Why there are no intervals or no test, or how they were made.
    log_likelihood : float
        Of the rows at the priors of highest likelihood, against the training priors, given the posteriors: 0 means that
        those fit as well as any.
    gap : float
        The mean log-likelihood of the rows is at most this far below its maximum.
    n_iter : int
    """

    classes: Array
    priors: Array
    low: Array
    high: Array
    level: float
    p_value: float
    covariance: Array
    note: str
    log_likelihood: float
    gap: float
    n_iter: int

    @property
    def standard_errors(self) -> Array:
        """The standard error of each prior; NaN for estimates of 0 and 1, which an interval describes better."""
        inside = (self.priors > 0) & (self.priors < 1)
        return np.where(inside, np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)), np.nan)

    def _columns(self) -> dict[str, list[Any]]:
        found = {"prior": self.priors, "standard_error": self.standard_errors, "low": self.low, "high": self.high}
        return {"class": self.classes.tolist(), **{name: values.tolist() for name, values in found.items()}}

    def __str__(self) -> str:
        rows = zip(self.classes, self.priors, self.low, self.high, strict=True)
        listed = [
            f"{plain(label)} {prior:.4f}" + ("" if math.isnan(low) else f" ({low:.4f} to {high:.4f})")
            for label, prior, low, high in rows
        ]
        level = "" if np.isnan(self.low).all() else f" ({100 * self.level:g} % intervals)"
        test = f" Test of no change: {p_value(self.p_value, name='p')}." if not math.isnan(self.p_value) else ""
        note = f" Note: {self.note}." if self.note else ""
        return f"Estimated priors{level}: {', '.join(listed)}.{test}{note}"


def estimate_priors(
    posterior: Any,
    X: Any = None,
    training: tuple[Any, ...] | None = None,
    *,
    exact: bool = False,
    level: float = 0.95,
    n_folds: int = 10,
    random_state: int = 0,
    tol: float = 1e-10,
    max_iter: int = 1000,
    sample_weight: Any = None,
) -> PriorEstimate:
    """The class priors of unlabelled rows, where only the shares of the classes differ from the training rows.

    With a fitted classifier, ``X`` and ``training`` the classifier is refitted on folds of the training rows. The
    priors are the shares at which the mean scores of held-out training rows of each class (their posteriors, moved
    towards the new priors) make up the mean score of the new rows. Intervals invert a score test, as Fieller's do; the
    test of no change compares the mean scores of both samples (Hotelling). Both include the sampling error of the
    training rows, and neither needs calibrated probabilities.

    With a `Posterior` the priors are those under which the rows are most likely: ``sum_i log sum_k p_ik new_k / old_k``
    is maximised by the EM iteration of Saerens, Latinne and Decaestecker (2002), or a Newton step among the priors of 0
    or more where it leads higher. Intervals and the test, by the likelihood ratio, are given where the posteriors are
    ``exact``.

    Parameters
    ----------
    posterior : Posterior, or fitted classifier
        A posterior has the priors of the training rows.
    X : array-like or frame, optional
        The unlabelled rows, for a classifier.
    training : tuple (X, y) or (X, y, sample_weight), optional
        The rows that the classifier was fitted to, a random sample, with their labels and frequencies.
    exact : bool, default=False
        Whether a posterior comes from known densities, such as those of `BayesClassifier`, rather than a fitted model.
    level : float, default=0.95
        Of the intervals.
    n_folds : int, default=10
        How often the classifier is refitted.
    random_state : int, default=0
        For the folds.
    tol : float, default=1e-10
        Bound on the distance from the maximum, in mean log-likelihood, to stop at.
    max_iter : int, default=1000
        Iterations to stop after, with a warning.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies of the unlabelled rows.

    Returns
    -------
    PriorEstimate
        With intervals and a test of no change, where the error of the posteriors is known.

    See Also
    --------
    Posterior.with_priors : Moves probabilities to the priors found.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities.
    Bella, Ferri, Hernandez-Orallo and Ramirez-Quintana (2010), Quantification via probability estimators.
    Fieller (1954), Some problems in interval estimation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X[::2], y[::2])
    >>> field = X[1::2][y[1::2] != 0]
    >>> print(estimate_priors(model, field, training=(X[::2], y[::2])))
    Estimated priors (95 % intervals): 0 0.0000 (0.0000 to 0.0713), 1 0.5193 (0.3577 to 0.6713),
    2 0.4807 (0.3287 to 0.6423). Test of no change: p = 0.0013.
    """
    check_number("tol", tol, least=0, open_below=True)
    check_number("level", level, 0, 1, open_below=True)
    check_integer("max_iter", max_iter, 1)
    if training is None:
        return _most_likely_estimate(posterior, sample_weight, tol, max_iter, level, exact)
    if X is None or isinstance(posterior, Posterior):
        raise ParameterError(
            "training= needs a fitted classifier and the unlabelled rows: estimate_priors(model, X, training=(X, y))."
        )
    check_integer("n_folds", n_folds, 2)
    sample = _TrainingSample.of(posterior, training)
    found = sample.posterior(posterior, X)
    likeliest = _most_likely_estimate(found, sample_weight, tol, max_iter, level, exact=False)
    # Scores between both priors tell classes apart that are rare or absent in either place.
    scored = sample.held_out(posterior, X, sample_weight, (likeliest.priors + sample.shares) / 2, n_folds, random_state)
    return scored.estimate(likeliest, level)


def _most_likely_estimate(
    posterior: Any, sample_weight: Any, tol: float, max_iter: int, level: float, exact: bool
) -> PriorEstimate:
    """The priors of highest likelihood; where posteriors are exact, with intervals and a test."""
    ratio, share, total = _likelihood_ratios(posterior, sample_weight)
    priors, gap, n_iter = _most_likely(ratio, share, posterior.priors / posterior.priors.sum(), tol, max_iter)
    if gap > tol:
        warn(
            f"estimate_priors stopped after {max_iter} iterations with a gap of {gap:.2g} in mean log-likelihood, "
            f"above tol={tol:g}. Raise max_iter.",
            ConvergenceWarning,
        )
    highest, K = total * _value(ratio, share, priors), len(priors)
    low, high, p, covariance = np.full(K, np.nan), np.full(K, np.nan), math.nan, np.full((K, K), np.nan)
    if exact:
        covariance = _covariance(ratio, share, priors) / total
        p = float(chdtrc(K - 1, 2 * max(highest, 0.0)))
        least = highest - chdtri(1, 1 - level) / 2
        for k in range(K):
            low[k], high[k] = _profile_ends(_profile(ratio, share, priors, k, total), float(priors[k]), least)
    note = "" if exact else UNKNOWN_ERROR
    ends = (low, high, level, p, covariance, note)
    return PriorEstimate(posterior.classes, priors, *ends, max(highest, 0.0), max(gap, 0.0), n_iter)


def _profile(ratio: Array, share: Array, priors: Array, k: int, total: float) -> Callable[[float], float]:
    """The log-likelihood of rows at each prior of class k, the most likely one over those of the others."""
    others = np.delete(ratio, k, axis=1)
    start = np.delete(priors, k) + 1e-3
    start /= start.sum()

    def value(prior: float) -> float:
        mixed = prior * ratio[:, [k]] + (1 - prior) * others
        if not mixed.any(axis=1).all():
            return -math.inf  # some row can only be of another class
        return total * _value(mixed, share, _most_likely(mixed, share, start, 1e-9, 200)[0])

    return value


def _profile_ends(value: Callable[[float], float], best: float, least: float) -> tuple[float, float]:
    """Where the profile falls to ``least`` on both sides of its maximum; 0 and 1 where it does not."""
    ends = []
    for end in (0.0, 1.0):
        reached = end == best or value(end) >= least
        ends.append(end if reached else float(brentq(lambda v: max(value(v), least - 1e6) - least, end, best)))
    return ends[0], ends[1]


@dataclass(frozen=True)
class _TrainingSample:
    """Labelled rows that a classifier was fitted to."""

    X: Any
    y: Array
    codes: Array
    weight: Array | None

    @classmethod
    def of(cls, model: Any, training: tuple[Any, ...]) -> Self:
        """The rows, with labels among the classes of the model."""
        if not isinstance(training, tuple) or len(training) not in (2, 3):
            raise ParameterError("training must be (X, y) or (X, y, sample_weight), the rows the model was fitted to.")
        X, y = training[:2]
        codes = codes_among("y", y, model.classes_)
        weight = check_weights(training[2] if len(training) == 3 else None, len(codes))
        counts = np.bincount(codes, weights=weight, minlength=len(model.classes_))
        if counts.min() < MIN_CLASS_ROWS:
            label = plain(model.classes_[np.argmin(counts)])
            raise DegenerateDataError(
                f"Class {label!r} has {counts.min():g} training rows. How much its posteriors vary is not known from "
                f"fewer than {MIN_CLASS_ROWS}: estimate_priors(posterior(model, X)) gives the priors without intervals."
            )
        return cls(X, np.asarray(model.classes_)[codes], codes, weight)

    @property
    def weights(self) -> Array:
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    @property
    def shares(self) -> Array:
        """Of the classes."""
        counts = np.bincount(self.codes, weights=self.weights)
        return counts / counts.sum()

    def posterior(self, model: Any, X: Any) -> Posterior:
        """The posterior of rows by a model, whose priors are the shares of the classes unless it has kept others."""
        return posterior(model, X, self.shares if kept_priors(model) is None else None)

    def held_out(
        self, model: Any, X: Any, sample_weight: Any, priors: Array, n_folds: int, random_state: int
    ) -> _HeldOutScores:
        """The posteriors under ``priors`` of training rows by models that were not fitted to them.

        They are differences from the mean that the same model gives to the new rows: what it adds to both is lost.
        """
        K, weight = len(priors), check_weights(sample_weight, len(X) if hasattr(X, "__len__") else X.shape[0])
        scores, total, products = np.empty((len(self.codes), K)), 0.0, np.zeros((K, K))
        splits = repeated_folds(self.codes, n_folds, random_state, most=1)
        for train, held in splits:
            frequency = {} if self.weight is None else {"sample_weight": self.weight[train]}
            refitted = clone(model).fit(_safe_indexing(self.X, train), self.y[train], **frequency)
            new = self.posterior(refitted, X).with_priors(priors).probabilities
            own = self.posterior(refitted, _safe_indexing(self.X, held)).with_priors(priors).probabilities
            mean = np.average(new, axis=0, weights=weight)
            scores[held], new = own - mean, new - mean
            total, products = total + new, products + new.T @ new
        n_splits = len(splits)
        jackknife = (products - np.transpose(total) @ total / n_splits) * (n_splits - 1) / n_splits / len(new)
        n_new = float(len(new) if weight is None else weight.sum())
        return _HeldOutScores(scores, self.codes, self.weights, n_new, jackknife)


@dataclass(frozen=True)
class _HeldOutScores:
    """Scores of labelled rows as differences from the mean score of ``n_new`` new rows.

    ``fitting`` is the part of a score's variance that comes from the training rows of its model, by the jackknife. It
    matters beyond the variance of the scores because a row held out by one model is a training row of the others. In
    a linear discriminant a held-out mean of class k and its score are then correlated by the rows of class k: for
    shares v and 1 - v of two classes with n1 and n0 rows the variance grows by ``fitting (v / n1 - (1 - v) / n0)^2 /
    (1 / n1 + 1 / n0)``, by nothing at the shares of the training rows.
    """

    scores: Array
    codes: Array
    weights: Array
    n_new: float
    fitting: Array

    def estimate(self, likeliest: PriorEstimate, level: float) -> PriorEstimate:
        """The priors at which the classes' mean scores make up the mean of the new rows, which is 0."""
        counts = np.bincount(self.codes, weights=self.weights)
        K, members = len(counts), [self.codes == k for k in range(len(counts))]
        means = np.stack([np.average(self.scores[own], axis=0, weights=self.weights[own]) for own in members])
        # Combinations of the scores whose mean is 1 for one class and 0 for the others; the last row is a constant.
        system = np.column_stack((means, np.ones(K)))
        combined = np.linalg.lstsq(system, np.eye(K), rcond=1e-8)[0]
        raw = combined[-1]
        values = self.scores @ combined[:-1] + raw
        variances = (
            np.stack([self.weights[own] @ np.square(values[own] - np.eye(K)[k]) for k, own in enumerate(members)])
            / (counts - 1)[:, None]
        )
        fitting = np.diagonal(combined[:-1].T @ self.fitting @ combined[:-1])
        ends = [self._interval(k, raw, variances[:, k], counts, float(fitting[k]), level) for k in range(K)]
        low, high = np.transpose(ends)
        priors = np.clip(raw, 0.0, None)
        priors /= priors.sum()
        note = "" if (high - low < 1).any() else UNINFORMATIVE
        covariance = self._covariance(values, members, priors, counts)
        return replace(
            likeliest, priors=priors, low=low, high=high, p_value=self._p_value(), covariance=covariance, note=note
        )

    def _interval(
        self, k: int, raw: Array, variance: Array, counts: Array, fitting: float, level: float
    ) -> tuple[float, float]:
        """The priors of class k that a score test does not reject, its variance being that under the prior tested.

        A prior v makes the variance of a row's score ``v var_k + (1 - v) var_others + v (1 - v)``; the classes' own
        means vary, too. The ends are the roots of a quadratic function (Wilson's where scores are 0 and 1).
        """
        others = np.arange(len(raw)) != k
        share = np.clip(raw[others], 1e-12, None)
        share /= share.sum()
        var_k, var_o = variance[k], float(share @ variance[others])
        n_k, n_o = float(counts[k]), 1 / float(np.square(share) @ (1 / counts[others]))
        error_k, error_o = var_k / n_k, float(np.square(share) @ (variance[others] / counts[others]))
        shared = fitting / (1 / n_k + 1 / n_o)
        z2, m, b = float(ndtri(0.5 + level / 2)) ** 2, self.n_new, raw[k]
        square = 1 + z2 / m - z2 * (error_k + error_o + shared * (1 / n_k + 1 / n_o) ** 2)
        linear = -2 * b - z2 * ((var_k - var_o + 1) / m - 2 * error_o - 2 * shared / n_o * (1 / n_k + 1 / n_o))
        constant = b * b - z2 * (var_o / m + error_o + shared / n_o**2)
        root = linear * linear - 4 * square * constant
        if square <= 0 or root < 0:
            return 0.0, 1.0
        ends = (-linear + np.array([-1.0, 1.0]) * math.sqrt(root)) / (2 * square)
        return tuple(np.clip(ends, 0.0, 1.0).tolist())

    def _covariance(self, values: Array, members: list[Array], priors: Array, counts: Array) -> Array:
        """Of the estimated priors."""
        K = len(priors)
        within = np.stack([np.cov(values[own].T, aweights=self.weights[own], ddof=0).reshape(K, K) for own in members])
        mixed = np.tensordot(priors, within, 1) + np.diag(priors) - np.outer(priors, priors)
        return mixed / self.n_new + np.tensordot(np.square(priors) / counts, within, 1)

    def _p_value(self) -> float:
        """Hotelling's test that both samples have the same mean score."""
        n = float(self.weights.sum())
        mean = np.average(self.scores, axis=0, weights=self.weights)
        covariance = np.cov(self.scores.T, aweights=self.weights, ddof=0) * n / (n - 1)
        variances, axes = np.linalg.eigh(covariance * (1 / n + 1 / self.n_new))
        kept = variances > FLAT_SCORE_VARIANCE * variances.max()
        rank, statistic = int(kept.sum()), float(np.square(mean @ axes[:, kept]) @ (1 / variances[kept]))
        return float(fdtrc(rank, n - rank, statistic * (n - rank) / (rank * (n - 1))))


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
