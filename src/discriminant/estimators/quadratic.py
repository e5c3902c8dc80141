"""Quadratic discriminant analysis: a covariance for each class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Label, MatrixLike
from ..data import LabelledRows, TrainingData
from ..errors import DegenerateDataError, DiscriminantWarning, Model, Setting, warn
from ..folds import HeldOut
from ..moments.covariance import SHRINKAGE_GRID, ClassSpectra, Covariance, Scatter, gaussian_quadratic_rule, oas
from ..moments.folds import MomentsSpec
from ..moments.statistic import ClassMoments
from ..results import shown
from ..rules import LinearRule
from .base import refuse_weightless
from .generative import GenerativeClassifier, ScatterMixin, check_shrinkage, class_scatters
from .moment_classifier import ClassStatistics, collected, constant_columns, whole_of
from .regularised import MAX_TUNING_ROWS, Frame, Grid, Search, held_out_losses, log_shares, moments_of_splits


@dataclass(eq=False, repr=False)
class QuadraticDiscriminantAnalysis(ScatterMixin, GenerativeClassifier):
    """Quadratic discriminant analysis: normal classes, each with its own covariance.

    The score of class k is ``log prior_k - log|S_k| / 2 - (x - mu_k)' S_k^-1 (x - mu_k) / 2``, with S_k the scatter of
    the class divided by N_k - 1.

    Parameters
    ----------
    priors : array-like or dict, default=None
        Class probabilities, in class order or by label. Default: the shares of the training rows.
    shrinkage : None, float in [0, 1], "oas" or "cv", default=None
        Weight of ``(tr S_k / p) I`` in S_k, one for all classes or one for each ("oas"). "cv" minimises the held-out
        log-loss over 20 values, together with a temperature, a factor of the log-densities; classes without variation
        then get the pooled covariance.
    folds : int, default=10
        Number of folds of "cv", repeated for few rows.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
    means_ : array of shape (K, p)
    covariances_ : array of shape (K, p, p)
    scatter_within_, scatter_between_, scatter_total_ : arrays of shape (p, p)
        S_W, S_B and their sum S_T.
    shrinkage_ : array of shape (K,)
    temperature_ : float
        The choice of "cv", at most 1.
    shrinkage_losses_ : array of shape (20,)
        Held-out log-loss at each value of "cv", NaN if a covariance is singular.
    moments_ : the class moments

    See Also
    --------
    RegularizedDiscriminantAnalysis : Between LDA and QDA, with calibrated posteriors.
    LinearDiscriminantAnalysis : One covariance for all classes.
    GaussianNB : Columns independent within each class.

    References
    ----------
    Hastie, T., Tibshirani, R. & Friedman, J. (2009). The Elements of Statistical Learning, section 4.3.
    Friedman, J. H. (1989). Regularized discriminant analysis. J. American Statistical Association 84.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> QuadraticDiscriminantAnalysis().fit(X, y).score(X, y)
    0.98
    """

    priors: Any = None
    _: KW_ONLY
    shrinkage: float | Literal["oas", "cv"] | None = None
    folds: int = 10
    n_jobs: int | None = None

    _needs_all_rows = ("shrinkage", "cv", "shrinkage='oas'")

    @property
    def covariances_(self) -> Array:
        """The covariance of each class after shrinkage."""
        check_is_fitted(self, "rule_")
        scatters = class_scatters(whole_of(self.moments_), self._borrows)
        amounts = zip(scatters, self.shrinkage_, strict=True)
        return np.stack([scatter.shrunk(divisor, amount) for (scatter, divisor, _), amount in amounts])

    def delta(self, X: MatrixLike) -> Array:
        """The discriminant functions ``log prior_k - log|S_k| / 2 - (x - mu_k)' S_k^-1 (x - mu_k) / 2``.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows with the columns of the model.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        return self._log_joint(X) + 0.5 * self.n_features_in_ * np.log(2 * np.pi)

    def sphere(self, X: MatrixLike, label: Label) -> Array:
        """Rows whitened by the mean and covariance of a class.

        With ``S_k = U D U'`` these are ``D^-1/2 U' (x - mu_k)``, and ``log|S_k|`` is the sum of the logarithms of D:
        the squared length is the Mahalanobis distance that `delta` has.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows with the columns of the model.
        label : a class
            The class.

        Returns
        -------
        array of shape (n_rows, n_columns)
        """
        self._ready()
        k = self._code_of(label)
        variances, axes = np.linalg.eigh(self.covariances_[k])
        rule = LinearRule(self.means_[k], (axes / np.sqrt(variances)).T[::-1], np.zeros(len(variances)))
        return self._mapped(X, rule.scores, len(variances))

    def _log_joint(self, X: MatrixLike) -> Array:
        self._ready()
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors_)
        densities = (self._scores(X) - log_priors) / getattr(self, "temperature_", 1.0)
        return densities + log_priors - 0.5 * self.n_features_in_ * np.log(2 * np.pi)

    @property
    def _reads_class_moments(self) -> bool:
        return not self._borrows

    @property
    def _borrows(self) -> bool:
        """Whether classes without variation get the pooled covariance."""
        return self.shrinkage == "cv"

    def _moments_spec(self) -> MomentsSpec:
        return MomentsSpec("class")

    def _check_parameters(self) -> None:
        check_shrinkage(self.shrinkage, ("oas", "cv"), self.folds)

    def _learn(self, data: TrainingData) -> None:
        if self.shrinkage == "cv":
            refuse_weightless(data.class_weights, data.classes)
            some = data.sample(-(-data.n_rows // MAX_TUNING_ROWS))
            self.shrinkage_losses_, self.temperature_ = _held_out_choice(some, self.folds, self.n_jobs)
        super()._learn(data)

    def _estimate(self, statistics: ClassStatistics) -> None:
        moments = statistics.moments
        scatters = class_scatters(moments, self._borrows)
        for k, label in enumerate(map(shown, statistics.classes)):
            _, divisor, own = scatters[k]
            if divisor <= 0:
                reason = f"A covariance needs 2 rows; class {label} has {moments.weight[k]:g}. Add rows, or use "
                raise DegenerateDataError(reason, Model("LinearDiscriminantAnalysis"), ".")
            if not own:
                warn(f"No column varies in class {label}: the pooled covariance is used.", DiscriminantWarning)
        amounts = self._chosen_shrinkage(moments)
        covariances = [self._class_covariance(statistics, k, scatters[k], amounts[k]) for k in range(moments.n_classes)]
        self.shrinkage_ = statistics.expand(amounts)
        centre = moments.overall_mean()
        temperature = getattr(self, "temperature_", 1.0)
        self.rule_ = gaussian_quadratic_rule(moments.mean, covariances, statistics.log_priors, centre, temperature)

    def _chosen_shrinkage(self, moments: ClassMoments) -> Array:
        if self.shrinkage == "oas":
            return np.array([oas(moments.of_class(k), moments.weight[k]) for k in range(moments.n_classes)])
        chosen = self.shrinkage or 0.0
        if chosen == "cv":
            known = ~np.isnan(self.shrinkage_losses_)
            chosen = SHRINKAGE_GRID[int(np.nanargmin(self.shrinkage_losses_))] if known.any() else 1.0
        return np.full(moments.n_classes, float(chosen))

    def _class_covariance(
        self, statistics: ClassStatistics, k: int, found: tuple[Scatter, float, bool], shrinkage: float
    ) -> Covariance:
        (scatter, divisor, _), mean, weight = found, statistics.moments.mean[k], statistics.moments.weight[k]
        label = shown(statistics.classes[k])
        instead = (" or ", Model("LinearDiscriminantAnalysis"), ", or remove columns.")
        remedy = ("Use ", Setting("shrinkage", "cv"), *instead)
        variance = scatter.diagonal() / divisor
        if shrinkage == 0:
            self._refuse_constant(constant_columns(variance, mean[None]), f"in class {label}", *remedy)
        elif not variance.any():
            raise DegenerateDataError(f"No column varies in class {label}. Leave the class out.")
        covariance = scatter.covariance(divisor, shrinkage)
        if covariance.rank == len(mean):
            return covariance
        if weight <= len(mean):
            reason = f"{weight:g} rows for {len(mean)} columns"
        else:
            reason = f"collinear {self._columns(covariance.aliased)}"
        raise DegenerateDataError(f"The covariance of class {label} is singular: {reason}. ", *remedy)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        scatter, divisor, _ = class_scatters(whole_of(self.moments_), self._borrows)[k]
        return self.means_[k] + scatter.covariance(divisor, self.shrinkage_[k]).draw(n, rng)


class _OwnCovariances(Frame):
    """Columns in their own units, with class covariances."""

    def spectra(self, moments: ClassMoments, pooling: float) -> ClassSpectra:  # noqa: ARG002
        found = class_scatters(moments, borrow=True)
        # Without a positive divisor the covariance is 0, which is singular at every shrinkage.
        covariances = np.stack(
            [scatter.matrix / divisor if divisor > 0 else 0 * scatter.matrix for scatter, divisor, _ in found]
        )
        return ClassSpectra.of(moments.mean - self.centre, covariances, self.n_columns)


def _held_out_choice(data: LabelledRows, folds: int, n_jobs: int | None) -> tuple[Array, float]:
    """The smallest held-out log-loss at each shrinkage, and the best temperature."""
    held, p = HeldOut.repeated(data.codes, folds, groups=data.cluster), data.rows.n_columns
    moments = collected(data, ClassMoments(len(data.classes), p, "diagonal"), n_jobs)
    frame = _OwnCovariances(moments.overall_mean(), np.ones(p), np.arange(p), p)
    if data.n_rows < p:
        data, frame, _ = frame.turned(data)
    grid = Grid(np.zeros(1), SHRINKAGE_GRID, None)
    search = Search(data, held, frame, grid, log_shares(moments), moments_of_splits(data, held, grid, n_jobs))
    (found,), densities_at = search.searched(n_jobs)
    losses = found.min(axis=1)
    if np.isnan(losses).all():
        return losses, 1.0
    best = int(np.nanargmin(losses))
    tempered = held_out_losses(data, held, densities_at(0, best), search.log_priors)
    return losses, tempered.best(int(np.argmin(found[best])))
