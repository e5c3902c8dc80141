"""Gaussian discriminant analysis: one covariance for all classes (linear) or one for each (quadratic)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, MatrixLike
from ..data import check_integer, dense_parts
from ..errors import DegenerateDataError, ParameterError, Setting
from ..moments.covariance import (
    Covariance,
    Scatter,
    cross_validated,
    discriminant_directions,
    ledoit_wolf,
    nearest_centroid_rule,
    oas,
)
from ..moments.folds import MomentsSpec
from ..rules import LinearRule
from .base import with_names
from .generative import (
    MIN_VARIANCE_RATIO,
    GenerativeClassifier,
    ScatterMixin,
    check_shrinkage,
    positive_divisor,
    refuse_singular,
)
from .moment_classifier import ClassStatistics, whole_of


@dataclass(eq=False, repr=False)
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ScatterMixin, GenerativeClassifier):
    """Linear discriminant analysis: normal classes that share one covariance.

    The score of class k is ``log prior_k - (mu_k - m)' S^-1 (mu_k - m) / 2 + (x - m)' S^-1 (mu_k - m)``, with S the
    scatter about the class means divided by N - K and m the class means averaged by their priors.

    Parameters
    ----------
    priors : array-like or dict, default=None
        Class probabilities, in class order or by label. Default: the shares of the training rows.
    shrinkage : None, float in [0, 1], "oas", "ledoit-wolf" or "cv", default=None
        Weight of ``(tr S / p) I`` in S. "cv" maximises the held-out likelihood over 20 values, from fold moments of the
        same pass. Shrinkage depends on the units of the columns: standardise them if they differ.
    n_components : int, default=None
        Number of columns of `transform`, at most K - 1.
    rank : int, default=None
        Number of discriminant directions for classification (reduced-rank LDA).
    folds : int, default=10
        Folds of ``shrinkage="cv"``.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
    means_ : array of shape (K, p)
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes
    scalings_ : array of shape (p, r)
        Discriminant directions, with identity covariance within classes (as R's MASS).
    explained_variance_ratio_ : array of shape (r,)
        Share of each direction in the variance between classes ("proportion of trace").
    svd_ : array of shape (r,)
        Ratio of the standard deviations between and within classes along each direction, as MASS prints it.
    covariance_ : array of shape (p, p)
        S, after shrinkage.
    scatter_within_, scatter_between_, scatter_total_ : arrays of shape (p, p)
        S_W, S_B and their sum S_T, sums over rows.
    shrinkage_ : float
    moments_ : the class moments

    See Also
    --------
    QuadraticDiscriminantAnalysis : A covariance for each class.
    FisherDiscriminant : Two classes, with a choice of thresholds.

    References
    ----------
    Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics 7.
    Ledoit, O. & Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance matrices. Journal of
    Multivariate Analysis 88.
    Chen, Y., Wiesel, A., Eldar, Y. C. & Hero, A. O. (2010). Shrinkage algorithms for MMSE covariance estimation
    ("oas"). IEEE Trans. Signal Processing 58.
    Hastie, T., Tibshirani, R. & Friedman, J. (2009). The Elements of Statistical Learning, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.explained_variance_ratio_.round(4)
    array([0.9912, 0.0088])
    >>> model.score(X, y)
    0.98
    """

    priors: Any = None
    _: KW_ONLY
    shrinkage: float | Literal["oas", "ledoit-wolf", "cv"] | None = None
    n_components: int | None = None
    rank: int | None = None
    folds: int = 10
    n_jobs: int | None = None

    def transform(self, X: MatrixLike) -> Array:
        """Coordinates of the rows along the first ``n_components`` discriminant directions.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows to project.

        Returns
        -------
        array of shape (n_rows, n_components)
            Measured from ``xbar_``.
        """
        self._ready()
        return self._projected(X, self.scalings_[:, : self.n_components])

    def delta(self, X: MatrixLike) -> Array:
        """The discriminant functions of textbooks, measured from 0 instead of the centre.

        ``delta_k(x) = log prior_k - mu_k' S^-1 mu_k / 2 + x' S^-1 mu_k``: the scores plus a term that is the
        same for all classes.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows with the columns of the model.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        self._ready()
        direction = self._covariance().solve(self.xbar_[None])
        common = LinearRule(np.zeros(len(self.xbar_)), direction, -0.5 * direction @ self.xbar_)
        return self._scores(X) + self._mapped(X, common.scores, 1)

    def _log_joint(self, X: MatrixLike) -> Array:
        covariance, p = self._covariance(), len(self.xbar_)
        refuse_singular(covariance.rank, p, ("Set ", Setting("shrinkage"), "."))
        # The scores omit the normal density about the centre.
        whole = self._mapped(X, lambda block: self._about_centre(block, covariance), 1)
        return self._scores(X) - 0.5 * (whole + p * np.log(2 * np.pi) + covariance.log_determinant)

    def _about_centre(self, block: Array, covariance: Covariance) -> Array:
        """The squared Mahalanobis distance of each row from the centre."""
        parts = [covariance.whiten(part - self.xbar_) for part, _ in dense_parts(block)]
        return np.concatenate([np.einsum("ij,ij->i", part, part) for part in parts])[:, None]

    def _covariance(self) -> Covariance:
        return self._within().covariance(self._divisor(), self.shrinkage_)

    def mean_distances(self, unbiased: bool = False) -> Array:
        """The Mahalanobis distances between the class means.

        Parameters
        ----------
        unbiased : bool, default=False
            Whether to correct squared distances for bias (Lachenbruch & Mickey 1968), down to 0. Without shrinkage
            only.

        Returns
        -------
        array of shape (n_classes, n_classes)
            In standard deviations within classes.
        """
        from scipy.spatial.distance import pdist, squareform  # slow to load

        sphered = self.sphere(with_names(self, self.means_))
        distances = squareform(pdist(sphered))
        if not unbiased:
            return distances
        if self.shrinkage_ > 0:
            raise ParameterError(Setting("unbiased", True), " needs ", Setting("shrinkage", None), ".")
        rank, per_row = sphered.shape[1], 1 / self.moments_.weight
        chance = rank * (per_row + per_row[:, None])
        kept = 1 - (rank + 1) / (self.moments_.weight.sum() - len(per_row))
        found = np.sqrt(np.maximum(kept * distances**2 - chance, 0.0))
        np.fill_diagonal(found, 0.0)
        return found

    def sphere(self, X: MatrixLike) -> Array:
        """Whitened rows: principal components of the covariance within classes, with variance 1.

        With ``S = U D U'`` these are ``D^-1/2 U' (x - m)``: LDA is the nearest class mean in these
        coordinates, corrected by the prior. Directions without variance are omitted.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows with the columns of the model.

        Returns
        -------
        array of shape (n_rows, rank of S)
            Coordinates.
        """
        self._ready()
        within, divisor = self._within(), self._divisor()
        axes, values = within.spectrum()
        variances = (1 - self.shrinkage_) * values / divisor + self.shrinkage_ * within.mean_variance(divisor)
        if len(variances) == within.n_columns and variances.min() > MIN_VARIANCE_RATIO * variances.max():
            return self._projected(X, axes / np.sqrt(variances))
        # Without accurate principal axes, any other whitening has the same distances.
        covariance = self._covariance()

        def sphered(block: Array) -> Array:
            return np.concatenate([covariance.whiten(part - self.xbar_) for part, _ in dense_parts(block)])

        return self._mapped(X, sphered, covariance.rank)

    def _projected(self, X: MatrixLike, directions: Array) -> Array:
        """``(x - centre) @ directions`` of every row."""
        rule = LinearRule(self.xbar_, directions.T, np.zeros(directions.shape[1]))
        return self._mapped(X, rule.scores, directions.shape[1])

    @property
    def covariance_(self) -> Array:
        """The covariance within classes after shrinkage, a p x p matrix."""
        return self._within().shrunk(self._divisor(), self.shrinkage_)

    @property
    def trace_criterion_(self) -> float:
        """Fisher's criterion ``tr(S_W^-1 S_B)`` of the discriminant directions."""
        return float(self._eigenvalues().sum())

    @property
    def determinant_criterion_(self) -> float:
        """Fisher's criterion ``det(A' S_B A) / det(A' S_W A)`` of the discriminant directions A."""
        return float(self._eigenvalues().prod())

    def _eigenvalues(self) -> Array:
        check_is_fitted(self, "svd_")
        return self.svd_**2 * (np.count_nonzero(whole_of(self.moments_).present) - 1) / self._divisor()

    def _within(self) -> Scatter:
        check_is_fitted(self, "rule_")
        return whole_of(self.moments_).within()

    def _divisor(self) -> float:
        whole = whole_of(self.moments_)
        return whole.total_weight - np.count_nonzero(whole.present)

    @property
    def _n_features_out(self) -> int:
        return self.scalings_[:, : self.n_components].shape[1]

    def _moments_spec(self) -> MomentsSpec:
        folds = self.folds if self.shrinkage == "cv" else 0
        return MomentsSpec("pooled", fourth=self.shrinkage == "ledoit-wolf", folds=folds)

    def _check_parameters(self) -> None:
        check_shrinkage(self.shrinkage, ("oas", "ledoit-wolf", "cv"), self.folds)
        for name, value in (("n_components", self.n_components), ("rank", self.rank)):
            if value is not None:
                check_integer(name, value, 1)

    def _estimate(self, statistics: ClassStatistics) -> None:
        moments, n = statistics.moments, statistics.moments.total_weight
        divisor = positive_divisor(n, moments.n_classes)
        self.shrinkage_ = self._chosen_shrinkage(n, statistics)
        if self.shrinkage_ == 0:
            covariance = self._invertible(statistics, divisor)
        elif moments.within().diagonal().any():
            covariance = moments.within().covariance(divisor, self.shrinkage_)
        else:
            raise DegenerateDataError("No column varies within the classes, so the covariance is 0. Check the columns.")
        self.xbar_ = moments.centre(statistics.priors / statistics.priors.sum())
        directions = discriminant_directions(moments.mean, self.xbar_, statistics.priors, n, covariance)
        self._check_rank(len(directions.singular), moments.n_classes)
        self.rule_ = nearest_centroid_rule(moments.mean, statistics.log_priors, directions, self.rank)
        self.scalings_, self.svd_ = directions.scalings, directions.singular
        self.explained_variance_ratio_ = self.svd_**2 / (self.svd_**2).sum()

    def _chosen_shrinkage(self, n: float, statistics: ClassStatistics) -> float:
        if self.shrinkage == "oas":
            return oas(statistics.moments.within(), n)
        if self.shrinkage == "ledoit-wolf":
            return ledoit_wolf(statistics.moments.within(), n, statistics.moments.mean_fourth_power())
        if self.shrinkage == "cv":
            chosen, self.shrinkage_losses_ = cross_validated(statistics.collected)
            return chosen
        return float(self.shrinkage or 0.0)

    def _check_rank(self, available: int, seen: int) -> None:
        for name, value in (("n_components", self.n_components), ("rank", self.rank)):
            if value is not None and value > available:
                # partial_fit may get rows of more classes later
                error = DegenerateDataError if max(value, seen) < len(self.classes_) else ParameterError
                raise error(Setting(name, value), f" is above the number of discriminant directions: {available}.")

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        return self.means_[k] + self._covariance().draw(n, rng)
