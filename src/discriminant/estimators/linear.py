"""Linear classifiers in closed form: Fisher's discriminant, least squares, minimum distance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from ..arrays import Array
from ..data import LabelledRows, TrainingData, check_choice, check_integer, check_number, fold_of_rows
from ..engine import map_rows
from ..errors import DegenerateDataError, LabelError, Setting
from ..moments.covariance import standard_deviations
from ..moments.folds import MomentsSpec
from ..moments.statistic import ClassMoments
from ..rules import LinearRule
from .base import refuse_many_classes
from .generative import ScatterMixin, positive_divisor
from .mixins import CalibratedMixin
from .moment_classifier import ClassStatistics, MomentClassifier, constant_columns


@dataclass(eq=False, repr=False)
class FisherDiscriminant(ScatterMixin, MomentClassifier):
    """Fisher's linear discriminant: ``w = S_W^-1 (mu_2 - mu_1)`` and a threshold on ``w'x``.

    Rows with ``w'x`` above the threshold get the second class (in sorted order). Scores are not probabilities.

    Parameters
    ----------
    threshold : {"midpoint", "prior-weighted", "bayes", "cv"}, default="midpoint"
        Where to cut: halfway between the projected means; at their average weighted by the priors; where normal
        distributions fitted to the two classes' projections cross, so that the expected error is least; or where the
        fewest held-out rows are on the wrong side (one-dimensional search over the projections of cross-validation).
    priors : array-like or dict, default=None
        Class probabilities. Default: the shares of the training rows.
    folds : int, default=10
        Folds of ``threshold="cv"``.
    n_jobs : int, default=None
        Threads of the pass over the rows: -1 all cores, None as many as BLAS uses.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (2,)
    coef_, intercept_ : arrays of shape (1, p) and (1,)
    threshold_ : float
        Compared with ``X @ coef_[0]``.
    projected_means_, projected_sds_ : arrays of shape (2,)
        Mean of ``w'x`` in each class, and its standard deviation (pooled over the classes, or each class's own for
        threshold "bayes").
    scatter_within_, scatter_between_, scatter_total_ : arrays of shape (p, p)
        S_W, S_B and S_T.

    See Also
    --------
    LinearDiscriminantAnalysis : More classes, and probabilities.

    References
    ----------
    Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics 7.
    Anderson, T. W. & Bahadur, R. R. (1962). Classification into two multivariate normal distributions with different
    covariance matrices. Annals of Mathematical Statistics 33.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FisherDiscriminant(threshold="bayes").fit(X, y)
    >>> round(model.score(X, y), 3)
    0.972
    """

    threshold: Literal["midpoint", "prior-weighted", "bayes", "cv"] = "midpoint"
    _: KW_ONLY
    priors: Any = None
    folds: int = 10
    n_jobs: int | None = None

    _needs_all_rows = ("threshold", "cv", "threshold='bayes'")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _check_parameters(self) -> None:
        check_choice("threshold", self.threshold, ("midpoint", "prior-weighted", "bayes", "cv"))
        check_integer("folds", self.folds, 2)

    def _check_classes(self, classes: Array) -> None:
        super()._check_classes(classes)
        refuse_many_classes(self, classes, "LinearDiscriminantAnalysis")

    def _moments_spec(self) -> MomentsSpec:
        if self.threshold == "bayes":
            return MomentsSpec("class")
        return MomentsSpec("pooled", folds=self.folds if self.threshold == "cv" else 0)

    def _estimate(self, statistics: ClassStatistics) -> None:
        moments = statistics.moments
        centre, direction = moments.overall_mean(), self._direction(moments, statistics)
        # Positions are measured from the centre, for accuracy with large offsets of columns.
        means = (moments.mean - centre) @ direction
        self.projected_means_ = means + centre @ direction
        if self.threshold == "bayes":
            along = [moments.of_class(k).along(direction[:, None])[0] for k in range(2)]
            self.projected_sds_ = np.sqrt(np.array(along) / np.maximum(moments.weight - 1, 1))
            cut = least_error_cut(means, self.projected_sds_, statistics.priors)
        else:
            pooled = moments.within().along(direction[:, None])[0]
            self.projected_sds_ = np.full(2, np.sqrt(pooled / (moments.total_weight - 2)))
            cut = float(statistics.priors @ means if self.threshold == "prior-weighted" else means.mean())
        self._cut_at(cut, centre, direction)

    @property
    def _takes_passes(self) -> bool:
        return self.threshold != "cv"

    def _refine(self, data: TrainingData) -> None:
        if self.threshold == "cv":
            centre, direction = self.rule_.centre, self.rule_.coef[1]
            low, high = (self.means_ - centre) @ direction
            whole = data.gather()
            position = _least_error_position(self._held_out_positions(whole, centre), whole, self.priors_)
            self._cut_at((low + high) / 2 + position * (high - low) / 2, centre, direction)

    def _direction(self, moments: ClassMoments, statistics: ClassStatistics | None = None) -> Array:
        """``S_W^-1 (mu_2 - mu_1)``; with ``statistics`` degenerate columns are refused or named."""
        divisor = positive_divisor(moments.total_weight, moments.n_classes)
        covariance = (
            moments.within().covariance(divisor) if statistics is None else self._invertible(statistics, divisor)
        )
        return covariance.solve(np.diff(moments.mean, axis=0))[0]

    def _cut_at(self, cut: float, centre: Array, direction: Array) -> None:
        """Set the rule with this threshold along ``direction``, measured from the centre."""
        self.rule_ = LinearRule(centre, np.stack([np.zeros_like(direction), direction]), np.array([0.0, -cut]))
        self.threshold_ = float(cut + centre @ direction)
        self.coef_, self.intercept_ = direction[None], np.array([-self.threshold_])

    def _held_out_positions(self, data: LabelledRows, centre: Array) -> Array:
        """Position of each row on the direction fitted without its fold; class means are at -1 and +1."""
        scales = [self._standardised(train, centre) for train, _ in self.moments_.splits()]
        rule = LinearRule(centre, np.stack([d for d, _ in scales]), np.array([c for _, c in scales]))
        positions = np.empty(data.n_rows)

        def write(block: Array, where: slice) -> None:
            fold = fold_of_rows(where.start, where.stop - where.start, len(scales))
            positions[where] = np.take_along_axis(rule.scores(block), fold[:, None], axis=1)[:, 0]

        map_rows(data.rows, write, self.n_jobs)
        return positions

    def _standardised(self, train: ClassMoments, centre: Array) -> tuple[Array, float]:
        """Direction and constant that map the class means of a training fold to -1 and +1."""
        if not train.present.all():
            raise DegenerateDataError(
                Setting("folds", self.folds), " leaves training rows of one class only. Use fewer folds."
            )
        direction = self._direction(train)
        low, high = (train.mean - centre) @ direction
        scale = 2 / (high - low)
        return scale * direction, -scale * (low + high) / 2


def least_error_cut(means: Array, sds: Array, priors: Array) -> float:
    """The threshold of the smallest error between two normal distributions, the second with the larger mean.

    Their weighted densities cross in at most two points; if they do not cross, one class wins everywhere.
    """
    gaps = means[::-1] - means
    flat = sds <= 1e-9 * np.abs(gaps)
    if not priors.all():
        crossings = np.empty(0)
    elif flat.any():  # a class without variance: the threshold is next to its mean
        crossings = (means + 1e-6 * gaps)[flat]
    else:
        from ..theory.bayes import normal_crossings  # slow to load

        crossings = normal_crossings(means, sds, priors)
    candidates = np.append(crossings, [-np.inf, np.inf])
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = priors[0] * ndtr((means[0] - candidates) / sds[0]) + priors[1] * ndtr((candidates - means[1]) / sds[1])
    best = float(candidates[int(np.nanargmin(missed))])
    # If one class wins everywhere, the threshold is beyond all values.
    return best if np.isfinite(best) else np.sign(best) * float(np.finfo(np.float64).max) / 4


def _least_error_position(positions: Array, data: LabelledRows, priors: Array) -> float:
    """The threshold with the smallest weighted error; of equal ones the nearest to the middle."""
    weight = np.ones(data.n_rows) if data.weight is None else data.weight
    weight = weight * (priors / np.bincount(data.codes, weights=weight, minlength=2))[data.codes]
    order = np.argsort(positions, kind="stable")
    ordered, gain = positions[order], np.where(data.codes[order] == 1, weight[order], -weight[order])
    # Error of the threshold after the first i rows, up to a constant.
    error = np.concatenate(([0.0], np.cumsum(gain)))
    edges = np.concatenate(([ordered[0] - 1], ordered, [ordered[-1] + 1]))
    cuts, possible = (edges[:-1] + edges[1:]) / 2, edges[1:] > edges[:-1]
    best = np.flatnonzero(possible & (error <= error[possible].min() + 1e-12 * weight.sum()))
    return float(cuts[best[np.argmin(np.abs(cuts[best]))]])


@dataclass(eq=False, repr=False)
class LeastSquaresClassifier(CalibratedMixin, MomentClassifier):
    """Linear regression of class indicators on the columns; the class of the highest fitted value.

    Minimises ``sum of w_i |y_i - B'x_i - b|^2 + alpha |D B|^2`` with an unpenalised intercept, D the columns' standard
    deviations. Fitted values sum to 1 but are not probabilities. With three or more classes a class between others can
    be *masked*: it never has the highest value. ``masked_classes_`` lists such classes.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty, 0 for ordinary least squares.
    standardize : bool, default=True
        Whether the penalty applies to standardised columns; False: D is the identity, as in scikit-learn.
    coding : {"one-hot", "fisher"}, default="one-hot"
        Responses: class indicators; or, for two classes, ``N/N_2`` and ``-N/N_1``, which gives Fisher's direction and
        the intercept ``-w'mean``.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Calibrate probabilities for ``predict_proba``, with the 5 folds of scikit-learn; not after `partial_fit`.
        Predictions do not change.
    class_weight : None, "balanced" or dict, default=None
        Factors of the weights of rows, as in `LogisticRegression`.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes
    masked_classes_ : array
        Classes whose mean is classified as another class.

    See Also
    --------
    LinearDiscriminantAnalysis : Without masking.

    References
    ----------
    Bishop, C. M. (2006). Pattern Recognition and Machine Learning, sections 4.1.3 and 4.1.5.
    Hastie, T., Tibshirani, R. & Friedman, J. (2009). The Elements of Statistical Learning, section 4.2 (masking).

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> LeastSquaresClassifier().fit(X, ["a", "a", "b", "b", "c", "c"]).masked_classes_
    array(['b'], dtype='<U1')
    """

    alpha: float = 0.0
    _: KW_ONLY
    standardize: bool = True
    coding: Literal["one-hot", "fisher"] = "one-hot"
    calibration: Literal["sigmoid", "isotonic"] | None = None
    class_weight: Any = None
    n_jobs: int | None = None

    @property
    def _takes_passes(self) -> bool:
        return self.calibration is None

    def _refine(self, data: TrainingData) -> None:
        self._calibrate(data)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, 0)
        check_choice("coding", self.coding, ("one-hot", "fisher"))

    def _check_classes(self, classes: Array) -> None:
        super()._check_classes(classes)
        if self.coding == "fisher" and len(classes) > 2:
            reason = (Setting("coding", "fisher"), f" supports two classes, got {len(classes)}. Use ")
            raise LabelError(*reason, Setting("coding", "one-hot"), ".")

    def _moments_spec(self) -> MomentsSpec:
        return MomentsSpec("pooled")

    def _estimate(self, statistics: ClassStatistics) -> None:
        moments = statistics.moments
        total, n = moments.total(), moments.total_weight
        if self.alpha == 0:
            constant = constant_columns(total.diagonal() / n, moments.mean)
            self._refuse_constant(constant, "over all rows", "Remove it.")
        # Centred products of responses and columns, and the mean of each response.
        if self.coding == "one-hot":
            steps = np.where(moments.present[:, None], moments.mean - moments.overall_mean(), 0.0)
            products, heights = moments.weight[:, None] * steps, moments.weight / n
        else:
            step = n * np.diff(moments.mean, axis=0)
            products, heights = np.concatenate((np.zeros_like(step), step)), np.zeros(2)
        # min |Y - X B|^2 + alpha |D B|^2 in centred columns: the scatter is X'X, the products are Y'X.
        units = standard_deviations(total.diagonal() / n) if self.standardize and self.alpha > 0 else None
        factor = total.covariance(ridge=self.alpha, units=units)
        coef = factor.solve(products)
        self._warn_if_aliased(factor.aliased)
        self.rule_ = LinearRule(moments.overall_mean(), coef, heights)
        scores = self.rule_.scores(moments.mean)  # scores[k, l] is class l's at the mean of class k
        rivals = np.where(np.eye(len(scores), dtype=bool), -np.inf, scores).max(axis=1)
        self.masked_classes_ = statistics.classes[np.diagonal(scores) <= rivals + 1e-9]


@dataclass(eq=False, repr=False)
class MinimumDistance(MomentClassifier):
    """The class of the nearest mean, in Euclidean distance.

    The score of class k is ``(x - m) . (mu_k - m) - |mu_k - m|^2 / 2``, with m the mean of all rows: half the
    difference of the squared distances to m and to ``mu_k``. There are no probabilities. Standardise columns with
    different units, or use `LinearDiscriminantAnalysis`.

    Parameters
    ----------
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    means_ : array of shape (K, p)
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes

    See Also
    --------
    LinearDiscriminantAnalysis : Mahalanobis distances.

    References
    ----------
    Richards, J. A. (2013). Remote Sensing Digital Image Analysis, chapter 8.

    Examples
    --------
    >>> model = MinimumDistance().fit([[0.0, 0.0], [0.0, 2.0], [8.0, 1.0]], ["water", "water", "forest"])
    >>> model.predict([[3.9, 1.0], [4.1, 1.0]])
    array(['water', 'forest'], dtype='<U6')
    """

    _: KW_ONLY
    n_jobs: int | None = None

    def _moments_spec(self) -> MomentsSpec:
        return MomentsSpec("diagonal")

    def _estimate(self, statistics: ClassStatistics) -> None:
        centre = statistics.moments.overall_mean()
        steps = statistics.moments.mean - centre
        self.rule_ = LinearRule(centre, steps, -0.5 * np.einsum("kj,kj->k", steps, steps))


@dataclass(eq=False, repr=False)
class SpectralAngle(MomentClassifier):
    """The class whose mean has the smallest angle to a row (spectral angle mapper).

    The score of class k is ``x . mu_k / |mu_k|``, the length of x times the cosine of the angle, so a factor such as
    illumination does not change the class. There are no probabilities. Rows are not centred: columns must have a common
    zero, such as reflectances.

    Parameters
    ----------
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    means_ : array of shape (K, p)
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes

    See Also
    --------
    MinimumDistance : The nearest mean.

    References
    ----------
    Kruse, F. A. et al. (1993). The spectral image processing system (SIPS). Remote Sensing of Environment 44, 145-163.

    Examples
    --------
    >>> model = SpectralAngle().fit([[1.0, 4.0], [2.0, 8.0], [3.0, 2.0]], ["water", "water", "sand"])
    >>> model.predict([[0.1, 0.4], [30.0, 20.0]])
    array(['water', 'sand'], dtype='<U5')
    """

    _: KW_ONLY
    n_jobs: int | None = None

    def _moments_spec(self) -> MomentsSpec:
        return MomentsSpec("diagonal")

    def _estimate(self, statistics: ClassStatistics) -> None:
        means = statistics.moments.mean
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        directions = np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
        self.rule_ = LinearRule(np.zeros(means.shape[1]), directions, np.zeros(len(means)))
