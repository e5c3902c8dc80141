"""Estimation of class priors in a target population from unlabelled rows (prior shift).

There are two estimates. If posteriors are exact (known densities), priors are estimated by maximum likelihood (Saerens,
Latinne & Decaestecker 2002), with likelihood-ratio test and intervals. The posteriors of a fitted classifier have
estimation error, which this likelihood ignores: with 200 training rows its test of no shift rejected 19 to 68 % of true
hypotheses. For a classifier, scores of the new rows are therefore compared with held-out scores of the training rows:
the priors are the weights at which the classes' mean held-out scores reproduce the mean score of the new rows. This is
unbiased for any scores, so that the classifier need not be calibrated, and has the variance of two sample means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, nnls
from scipy.special import chdtrc, chdtri, fdtrc, ndtri
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from ..arrays import Array, MatrixLike, ProbabilisticClassifier
from ..data import check_number, check_weights, codes_among
from ..errors import DegenerateDataError, InputError, ParameterError, warn
from ..folds import repeated_folds
from ..results import Result, p_value, plain
from .posteriors import Posterior, kept_priors, posterior

#: Information below this share of its trace is rounding.
INFORMATION_ROUNDING: Final = 1e-14
#: Variance of scores below this share of the largest is rounding.
FLAT_SCORE_VARIANCE: Final = 1e-10
#: Minimum number of training rows of a class to estimate the variance of its scores.
MIN_CLASS_ROWS: Final = 10

#: Number of refits of the classifier: more folds have larger training parts and cost time.
FOLDS: Final = 10
#: Gap to the maximum of the mean log-likelihood at which iterations stop: for the estimate, and for the many points of
#: a profile.
TOLERANCE: Final = 1e-10
PROFILE_TOLERANCE: Final = 1e-9
#: Newton steps usually converge in tens of iterations.
MAX_ITERATIONS: Final = 1_000

UNKNOWN_ERROR: Final = (
    "no intervals or test, because the error of the fitted model is unknown. Use estimate_priors(model, X, "
    "training=(X, y)), or exact=True for posteriors of known densities"
)

#: Wider intervals are omitted: they are truncated at 0 or 1 and covered in up to 98.5 % of samples.
MAX_INTERVAL_WIDTH: Final = 0.5

UNINFORMATIVE: Final = "the classifier does not separate the classes well enough to estimate priors"
TOO_WIDE: Final = "intervals wider than half of the range are omitted"


@dataclass(frozen=True, eq=False, repr=False)
class PriorEstimate(Result):
    """Class priors estimated from unlabelled rows.

    Attributes
    ----------
    classes, priors : arrays of shape (K,)
    low, high : arrays of shape (K,)
        Confidence limits of each prior; NaN if unknown or wider than half of the range.
    level : float
        Confidence level.
    p_value : float
        P-value of the test that the priors equal those of the training data; NaN if unknown.
    covariance : array of shape (K, K)
        Covariance of the estimates; NaN if unknown.
    note : str
        Reason for missing intervals and tests.
    log_likelihood : float
        Maximum log-likelihood of the rows relative to that of the training priors; 0 if those are optimal.
    gap : float
        Bound on the distance of the mean log-likelihood from its maximum.
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
        """The standard error of each prior; NaN for estimates of 0 and 1."""
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
        test = f" Test of no prior shift: {p_value(self.p_value, name='p')}." if not math.isnan(self.p_value) else ""
        note = f" Note: {self.note}." if self.note else ""
        return f"Estimated priors{level}: {', '.join(listed)}.{test}{note}"


def estimate_priors(
    posterior: Posterior | ProbabilisticClassifier,
    X: MatrixLike | None = None,
    training: tuple[Any, ...] | None = None,
    *,
    exact: bool = False,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> PriorEstimate:
    """Estimate the class priors of unlabelled rows under prior shift.

    With a fitted classifier, ``X`` and ``training``, the classifier is refitted on folds of the training data. The
    priors are the weights at which the mean held-out scores of the classes (posteriors, shifted towards the new priors)
    reproduce the mean score of the new rows. Intervals invert a score test, like Fieller's; the test of no prior shift
    compares the mean scores of both samples (Hotelling). Both include the sampling error of the training data, and do
    not require calibrated probabilities.

    With a `Posterior`, the priors maximise the likelihood ``sum_i log sum_k p_ik new_k / old_k`` by the EM iteration of
    Saerens, Latinne and Decaestecker (2002) with Newton steps. Likelihood-ratio intervals and test are available if the
    posteriors are ``exact``.

    Parameters
    ----------
    posterior : Posterior, or fitted classifier
        A posterior includes the training priors.
    X : array-like or frame, optional
        Unlabelled rows, for a classifier.
    training : tuple (X, y) or (X, y, sample_weight), optional
        Training data of the classifier, a random sample, with labels and frequencies.
    exact : bool, default=False
        Whether the posterior is that of known densities, such as `BayesClassifier`, and not of a fitted model.
    level : float, default=0.95
        Confidence level.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies of the unlabelled rows.

    Returns
    -------
    PriorEstimate
        With intervals and a test of no prior shift, if the error of the posteriors is known.

    See Also
    --------
    Posterior.with_priors : Posteriors under the estimated priors.

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
    2 0.4807 (0.3287 to 0.6423). Test of no prior shift: p = 0.0013.
    """
    check_number("level", level, 0, 1, open_below=True)
    if training is None:
        return _most_likely_estimate(posterior, sample_weight, level, exact)
    if X is None or isinstance(posterior, Posterior):
        raise ParameterError(
            "training requires a fitted classifier and unlabelled rows. Use estimate_priors(model, X, training=(X, y))."
        )
    sample = _TrainingSample.of(posterior, training)
    found = sample.posterior(posterior, X)
    likeliest = _most_likely_estimate(found, sample_weight, level, exact=False)
    # Scores under intermediate priors also distinguish classes that are rare in either population.
    scored = sample.held_out(posterior, X, sample_weight, (likeliest.priors + sample.shares) / 2)
    return scored.estimate(likeliest, level)


def _most_likely_estimate(
    posterior: Posterior | ProbabilisticClassifier, sample_weight: ArrayLike | None, level: float, exact: bool
) -> PriorEstimate:
    """The maximum-likelihood priors; with intervals and test if posteriors are exact."""
    known = _with_training_priors(posterior)
    ratio, share, total = _likelihood_ratios(known, sample_weight)
    priors, gap, n_iter = _most_likely(ratio, share, known.priors / known.priors.sum(), TOLERANCE)
    if gap > TOLERANCE:
        warn(
            f"estimate_priors did not converge. Iterations: {n_iter}, gap in mean log-likelihood: {gap:.2g}. The "
            "priors are approximate: use more unlabelled rows.",
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
    return PriorEstimate(known.classes, priors, *ends, max(highest, 0.0), max(gap, 0.0), n_iter)


def _profile(ratio: Array, share: Array, priors: Array, k: int, total: float) -> Callable[[float], float]:
    """The profile log-likelihood of the prior of class k, maximised over the other priors."""
    others = np.delete(ratio, k, axis=1)
    start = np.delete(priors, k) + 1e-3
    start /= start.sum()

    def value(prior: float) -> float:
        mixed = prior * ratio[:, [k]] + (1 - prior) * others
        if not mixed.any(axis=1).all():
            return -math.inf  # some row can only belong to another class
        return total * _value(mixed, share, _most_likely(mixed, share, start, PROFILE_TOLERANCE)[0])

    return value


def _profile_ends(value: Callable[[float], float], best: float, least: float) -> tuple[float, float]:
    """The limits where the profile equals ``least``; 0 and 1 if it is larger everywhere."""
    ends = []
    for end in (0.0, 1.0):
        reached = end == best or value(end) >= least
        ends.append(end if reached else float(brentq(lambda v: max(value(v), least - 1e6) - least, end, best)))
    return ends[0], ends[1]


@dataclass(frozen=True)
class _TrainingSample:
    """The training data of a classifier."""

    X: Any
    y: Array
    codes: Array
    weight: Array | None

    @classmethod
    def of(cls, model: ProbabilisticClassifier, training: tuple[Any, ...]) -> Self:
        """The rows, with labels among the classes of the model."""
        if not isinstance(training, tuple) or len(training) not in (2, 3):
            raise ParameterError(
                "training must be (X, y) or (X, y, sample_weight). Give the training data of the model."
            )
        X, y = training[:2]
        codes = codes_among("y", y, model.classes_)
        weight = check_weights(training[2] if len(training) == 3 else None, len(codes))
        counts = np.bincount(codes, weights=weight, minlength=len(model.classes_))
        if counts.min() < MIN_CLASS_ROWS:
            label = plain(model.classes_[np.argmin(counts)])
            raise DegenerateDataError(
                f"Class {label!r} has {counts.min():g} training rows; intervals require at least {MIN_CLASS_ROWS}. Use "
                "estimate_priors(posterior(model, X)) for priors without intervals."
            )
        return cls(X, np.asarray(model.classes_)[codes], codes, weight)

    @property
    def weights(self) -> Array:
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    @property
    def shares(self) -> Array:
        """The class proportions."""
        counts = np.bincount(self.codes, weights=self.weights)
        return counts / counts.sum()

    def posterior(self, model: ProbabilisticClassifier, X: MatrixLike) -> Posterior:
        """The posterior of rows by a model; its priors are the class proportions unless the model stores them."""
        return posterior(model, X, self.shares if kept_priors(model) is None else None)

    def held_out(
        self, model: ProbabilisticClassifier, X: Any, sample_weight: ArrayLike | None, priors: Array
    ) -> _HeldOutScores:
        """Held-out posteriors of the training rows under ``priors``, minus the same model's mean of the new rows."""
        K, weight = len(priors), check_weights(sample_weight, len(X) if hasattr(X, "__len__") else X.shape[0])
        scores, total, products = np.empty((len(self.codes), K)), 0.0, np.zeros((K, K))
        splits = repeated_folds(self.codes, FOLDS, 0, most=1)
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
    """Held-out scores of labelled rows minus the mean score of ``n_new`` new rows.

    ``fitting`` is the jackknife variance of a score due to the training data of its model. It adds to the variance of
    means because a held-out row is a training row of the other models. In a linear discriminant, for shares v and 1 - v
    of two classes with n1 and n0 rows, the variance increases by ``fitting (v / n1 - (1 - v) / n0)^2 / (1 / n1 +
    1 / n0)``, which is 0 at the shares of the training data.
    """

    scores: Array
    codes: Array
    weights: Array
    n_new: float
    fitting: Array

    def estimate(self, likeliest: PriorEstimate, level: float) -> PriorEstimate:
        """The priors at which the classes' mean scores average to that of the new rows, which is 0."""
        counts = np.bincount(self.codes, weights=self.weights)
        K, members = len(counts), [self.codes == k for k in range(len(counts))]
        means = np.stack([np.average(self.scores[own], axis=0, weights=self.weights[own]) for own in members])
        # Linear combinations of the scores with mean 1 for one class and 0 for the others; the last row is a constant.
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
        wide = high - low > MAX_INTERVAL_WIDTH
        low[wide] = high[wide] = np.nan
        note = UNINFORMATIVE if wide.all() else TOO_WIDE if wide.any() else ""
        covariance = self._covariance(values, members, priors, counts)
        return replace(
            likeliest, priors=priors, low=low, high=high, p_value=self._p_value(), covariance=covariance, note=note
        )

    def _interval(
        self, k: int, raw: Array, variance: Array, counts: Array, fitting: float, level: float
    ) -> tuple[float, float]:
        """The priors of class k that a score test with the variance under the tested prior does not reject.

        Under prior v the variance of a row's score is ``v var_k + (1 - v) var_others + v (1 - v)``; the class means
        have sampling error, too. The limits are roots of a quadratic (Wilson's interval for scores 0 and 1).
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
        """The covariance of the estimated priors."""
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


def _with_training_priors(posterior: Posterior | ProbabilisticClassifier) -> Posterior:
    """The posterior; raises an error if its training priors are unknown."""
    if not isinstance(posterior, Posterior) or posterior.priors is None:
        raise ParameterError(
            "estimate_priors requires a Posterior with training priors. Use Posterior(probabilities, classes, priors) "
            "or posterior(model, X, priors=...)."
        )
    return posterior


def _likelihood_ratios(posterior: Posterior, sample_weight: ArrayLike | None) -> tuple[Array, Array, float]:
    """``p_ik / old_k`` of each row, its share of the weight, and the weight of all."""
    possible = posterior.priors > 0
    ratio = np.where(possible, posterior.probabilities / np.where(possible, posterior.priors, 1.0), 0.0)
    if not ratio.any(axis=1).all():
        row = int(np.argmin(ratio.any(axis=1)))
        raise InputError(
            f"Row {row} has probability 0 for every class with a positive training prior. Drop it, or check the priors."
        )
    weight = check_weights(sample_weight, len(posterior))
    weight = np.ones(len(posterior)) if weight is None else weight
    return ratio, weight / weight.sum(), float(weight.sum())


def _most_likely(ratio: Array, share: Array, priors: Array, tol: float) -> tuple[Array, float, int]:
    """The maximum-likelihood priors, a bound on the gap of the mean log-likelihood, and the number of iterations."""
    for iteration in range(MAX_ITERATIONS + 1):
        # The gradient of the mean log-likelihood; at the maximum no entry exceeds 1.
        slope = (share / (ratio @ priors)) @ ratio
        gap = float(slope.max() - 1)
        if gap <= tol or iteration == MAX_ITERATIONS:
            break
        # The better of an EM step, which always increases the likelihood, and a Newton step, which converges fast.
        steps = [priors * slope, _newton_priors(_information(ratio, share, priors), slope)]
        priors = max((step / step.sum() for step in steps if step.any()), key=lambda step: _value(ratio, share, step))
    # Priors that EM only decreases towards 0 are set to 0.
    kept = np.where((priors < tol) & (slope < 1), 0.0, priors)
    return kept / kept.sum(), gap, iteration


def _value(ratio: Array, share: Array, priors: Array) -> float:
    with np.errstate(divide="ignore"):
        return float(share @ np.log(ratio @ priors))


def _newton_priors(information: Array, slope: Array) -> Array:
    """The maximiser of the quadratic approximation over non-negative priors.

    The constraint that priors sum to 1 is replaced by a term ``-sum(priors)``, which does not change the maximum (Kim,
    Carbonetto, Stephens and Anitescu, 2020), so that it is a non-negative least-squares problem.
    """
    ridge = INFORMATION_ROUNDING * np.trace(information) * np.eye(len(slope))
    root = np.linalg.cholesky(information + ridge)
    return nnls(root.T, np.linalg.solve(root, 2 * slope - 1))[0]


def _information(ratio: Array, share: Array, priors: Array) -> Array:
    scaled = ratio / (ratio @ priors)[:, None]
    return (scaled * share[:, None]).T @ scaled


def _covariance(ratio: Array, share: Array, priors: Array) -> Array:
    """The inverse mean information on the simplex of classes with positive priors."""
    present = np.flatnonzero(priors > 0)
    # Orthonormal directions (columns) that keep the sum of the priors.
    contrasts = np.linalg.svd(np.ones((1, len(present))))[2][1:].T
    information = _information(ratio[:, present], share, priors[present])
    values, axes = np.linalg.eigh(contrasts.T @ information @ contrasts)
    is_regular = (values > INFORMATION_ROUNDING * np.trace(information)).all()
    inverse = (axes / values) @ axes.T if is_regular else np.full_like(axes, np.nan)
    out = np.zeros((len(priors), len(priors)))
    out[np.ix_(present, present)] = contrasts @ inverse @ contrasts.T
    return out
