"""Linear classifiers in closed form: Fisher's discriminant, least squares, the nearest class mean."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from ..arrays import Array
from ..data import LabelledRows, check_choice, check_integer, check_number, fold_of_rows
from ..engine import map_rows
from ..errors import DegenerateDataError, LabelError, Setting
from ..moments.covariance import standard_deviations
from ..moments.statistic import ClassMoments, Needs
from ..rules import LinearRule
from .base import CalibratedMixin, MomentClassifier, Reading, constant_columns, refuse_many_classes
from .discriminant import ScatterMixin, positive_divisor


@dataclass(eq=False, repr=False)
class FisherDiscriminant(ScatterMixin, MomentClassifier):
    """Fisher's linear discriminant: ``w = S_W^-1 (mu_2 - mu_1)`` and a threshold on ``w'x``.

    Rows with ``w'x`` above the threshold are of the second class (in sorted order). The direction assumes no
    distribution; the score is a distance along it, not a probability.

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

    _needs_all_rows = ("threshold", "cv", "searches over the projections of all rows", "threshold='bayes'")

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

    def _needs(self) -> Needs:
        if self.threshold == "bayes":
            return Needs("class")
        return Needs("pooled", folds=self.folds if self.threshold == "cv" else 0)

    def _read(self, reading: Reading) -> None:
        moments = reading.moments
        centre, direction = moments.overall_mean(), self._direction(moments, reading)
        # Positions on the direction are measured from the centre: an offset of the columns would swamp them.
        means = (moments.mean - centre) @ direction
        self.projected_means_ = means + centre @ direction
        if self.threshold == "bayes":
            along = [moments.of_class(k).along(direction[:, None])[0] for k in range(2)]
            self.projected_sds_ = np.sqrt(np.array(along) / np.maximum(moments.weight - 1, 1))
            cut = least_error_cut(means, self.projected_sds_, reading.priors)
        else:
            pooled = moments.within().along(direction[:, None])[0]
            self.projected_sds_ = np.full(2, np.sqrt(pooled / (moments.total_weight - 2)))
            cut = float(reading.priors @ means if self.threshold == "prior-weighted" else means.mean())
        self._cut_at(cut, centre, direction)

    @property
    def _takes_passes(self) -> bool:
        return self.threshold != "cv"

    def _refine(self, data: LabelledRows) -> None:
        if self.threshold == "cv":
            centre, direction = self.rule_.centre, self.rule_.coef[1]
            low, high = (self.means_ - centre) @ direction
            position = _least_error_position(self._held_out_positions(data, centre), data, self.priors_)
            self._cut_at((low + high) / 2 + position * (high - low) / 2, centre, direction)

    def _direction(self, moments: ClassMoments, reading: Reading | None = None) -> Array:
        """``S_W^-1 (mu_2 - mu_1)``; columns that cannot be used are refused or named for the ``reading`` as a whole."""
        divisor = positive_divisor(moments.total_weight, moments.n_classes)
        covariance = moments.within().covariance(divisor) if reading is None else self._invertible(reading, divisor)
        return covariance.solve(np.diff(moments.mean, axis=0))[0]

    def _cut_at(self, cut: float, centre: Array, direction: Array) -> None:
        """Set the rule that cuts ``direction`` at ``cut``, measured from the centre."""
        self.rule_ = LinearRule(centre, np.stack([np.zeros_like(direction), direction]), np.array([0.0, -cut]))
        self.threshold_ = float(cut + centre @ direction)
        self.coef_, self.intercept_ = direction[None], np.array([-self.threshold_])

    def _held_out_positions(self, data: LabelledRows, centre: Array) -> Array:
        """Where each row falls on the direction fitted without its fold; the class means lie at -1 and +1."""
        scales = [self._standardised(train, centre) for train, _ in self.moments_.splits()]
        rule = LinearRule(centre, np.stack([d for d, _ in scales]), np.array([c for _, c in scales]))
        positions = np.empty(data.n_rows)

        def write(block: Any, where: slice) -> None:
            fold = fold_of_rows(where.start, where.stop - where.start, len(scales))
            positions[where] = np.take_along_axis(rule.scores(block), fold[:, None], axis=1)[:, 0]

        map_rows(data.rows, write, self.n_jobs)
        return positions

    def _standardised(self, train: ClassMoments, centre: Array) -> tuple[Array, float]:
        """Direction and constant that put the two class means of a training part at -1 and +1."""
        if not train.present.all():
            raise DegenerateDataError(
                Setting("folds", self.folds), " leaves a training part with one class only. Use fewer folds."
            )
        direction = self._direction(train)
        low, high = (train.mean - centre) @ direction
        scale = 2 / (high - low)
        return scale * direction, -scale * (low + high) / 2


def least_error_cut(means: Array, sds: Array, priors: Array) -> float:
    """The cut of least expected error between two normal distributions, the second lying to the right.

    Their weighted densities cross in at most two points; where they do not cross, one class wins everywhere.
    """
    gaps = means[::-1] - means
    flat = sds <= 1e-9 * np.abs(gaps)
    if not priors.all():
        crossings = np.empty(0)
    elif flat.any():  # the rows of such a class all lie at its mean: cut beside it, towards the other
        crossings = (means + 1e-6 * gaps)[flat]
    else:
        from ..theory.bayes import normal_crossings  # slow to load

        crossings = normal_crossings(means, sds, priors)
    candidates = np.append(crossings, [-np.inf, np.inf])
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = priors[0] * ndtr((means[0] - candidates) / sds[0]) + priors[1] * ndtr((candidates - means[1]) / sds[1])
    best = float(candidates[int(np.nanargmin(missed))])
    # A classifier that never cuts is still a rule: put the cut beyond everything that can come.
    return best if np.isfinite(best) else np.sign(best) * float(np.finfo(np.float64).max) / 4


def _least_error_position(positions: Array, data: LabelledRows, priors: Array) -> float:
    """The cut with the least weighted error; of equally good ones, that in the gap nearest to the middle."""
    weight = np.ones(data.n_rows) if data.weight is None else data.weight
    weight = weight * (priors / np.bincount(data.codes, weights=weight, minlength=2))[data.codes]
    order = np.argsort(positions, kind="stable")
    ordered, gain = positions[order], np.where(data.codes[order] == 1, weight[order], -weight[order])
    # Error with the cut after the first i rows, up to a constant: second-class rows passed minus first-class ones.
    error = np.concatenate(([0.0], np.cumsum(gain)))
    edges = np.concatenate(([ordered[0] - 1], ordered, [ordered[-1] + 1]))
    cuts, possible = (edges[:-1] + edges[1:]) / 2, edges[1:] > edges[:-1]
    best = np.flatnonzero(possible & (error <= error[possible].min() + 1e-12 * weight.sum()))
    return float(cuts[best[np.argmin(np.abs(cuts[best]))]])


@dataclass(eq=False, repr=False)
class LeastSquaresClassifier(CalibratedMixin, MomentClassifier):
    """Linear regression of coded labels on the columns; the class of the highest fitted value.

    Minimises ``sum of w_i |y_i - B'x_i - b|^2 + alpha |D B|^2`` with an unpenalised intercept, D the columns' standard
    deviations. The fitted values are scores, not probabilities: they sum to 1 but may be negative. With three or more
    classes a class in the middle of the others can be *masked*: it never has the highest value. ``masked_classes_``
    names such classes.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty, 0 for ordinary least squares.
    standardize : bool, default=True
        Whether the penalty measures columns by their standard deviation, so that their units do not matter; False: D is
        the identity, as in scikit-learn.
    coding : {"one-hot", "fisher"}, default="one-hot"
        Responses: 1 for the own class and 0 else; or, for two classes, ``N/N_2`` for the second and ``-N/N_1`` for
        the first, which makes the coefficients proportional to Fisher's direction and the intercept ``-w'mean``.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Learn probabilities from the fitted values of held-out rows, by scikit-learn's calibration with 5 folds;
        ``predict_proba`` exists only then, and not after `partial_fit`. Predictions are still those of the values.
    class_weight : None, "balanced" or dict, default=None
        Multiplied into the weights of the rows, as in `LogisticRegression`.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes
    masked_classes_ : array
        Classes whose own mean is given to another class.

    See Also
    --------
    LinearDiscriminantAnalysis : Does not mask classes.

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

    def _refine(self, data: LabelledRows) -> None:
        self._calibrate(data)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, 0)
        check_choice("coding", self.coding, ("one-hot", "fisher"))

    def _check_classes(self, classes: Array) -> None:
        super()._check_classes(classes)
        if self.coding == "fisher" and len(classes) > 2:
            wanted, instead = Setting("coding", "fisher"), Setting("coding", "one-hot")
            raise LabelError(wanted, f" is for two classes, got {len(classes)}. Use ", instead, ".")

    def _needs(self) -> Needs:
        return Needs("pooled")

    def _read(self, reading: Reading) -> None:
        moments = reading.moments
        total, n = moments.total(), moments.total_weight
        if self.alpha == 0:
            constant = constant_columns(total.diagonal() / n, moments.mean)
            self._refuse_constant(constant, "over all rows", "The intercept already stands for it: remove it.")
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
        self.masked_classes_ = reading.classes[np.diagonal(scores) <= rivals + 1e-9]


@dataclass(eq=False, repr=False)
class MinimumDistance(MomentClassifier):
    """The class whose mean is nearest, in plain (Euclidean) distance.

    The score of class k is ``(x - m) . (mu_k - m) - |mu_k - m|^2 / 2``, with m the mean of all rows: half of what the
    squared distance to ``mu_k`` falls short of that to m. It is no log-density, so there are no probabilities.
    Distances depend on the units of the columns: standardise columns that differ in size, or use
    `LinearDiscriminantAnalysis`, which measures distances in standard deviations.

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
    LinearDiscriminantAnalysis : Distances in standard deviations within the classes.

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

    def _needs(self) -> Needs:
        return Needs("diagonal")

    def _read(self, reading: Reading) -> None:
        centre = reading.moments.overall_mean()
        steps = reading.moments.mean - centre
        self.rule_ = LinearRule(centre, steps, -0.5 * np.einsum("kj,kj->k", steps, steps))
