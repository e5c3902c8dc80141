"""Gaussian discriminant analysis: one covariance for all classes (linear) or one for each (quadratic)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import LabelledRows, check_integer, dense_parts
from ..engine import map_rows
from ..errors import (
    DegenerateDataError,
    DiscriminantWarning,
    LabelError,
    Model,
    NotReadyError,
    ParameterError,
    Part,
    Setting,
    warn,
)
from ..folds import HeldOut
from ..moments.covariance import (
    SHRINKAGE_GRID,
    ClassSpectra,
    Covariance,
    Scatter,
    cross_validated,
    discriminant_directions,
    gaussian_quadratic_rule,
    ledoit_wolf,
    nearest_centroid_rule,
    oas,
)
from ..moments.statistic import ClassMoments, Needs
from ..results import shown
from ..rules import LinearRule
from .base import (
    MomentClassifier,
    PosteriorClassifier,
    Reading,
    collected,
    constant_columns,
    refuse_weightless,
    whole_of,
    with_names,
)
from .regularised import ENOUGH_ROWS, Frame, Grid, Search, held_out_losses, log_shares, moments_of_splits

#: Principal axes with less than this share of the largest variance are known to few digits.
_ROUNDING = 1e-10


class GenerativeClassifier(PosteriorClassifier, MomentClassifier):
    """A classifier with a distribution for the rows of each class, read from moments: rows can be drawn from it."""

    def sample(self, n_samples: int = 1, random_state: Any = None, label: Any = None) -> tuple[Any, Array]:
        """Draw rows and their labels from the fitted distribution.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows to draw.
        random_state : int or numpy Generator, optional
            Makes the draw repeatable.
        label : a class, optional
            Draw from this class only; otherwise classes are drawn by their priors.

        Returns
        -------
        X : array of shape (n_samples, n_columns)
            The rows; of `NaiveBayes` a frame, if it was fitted with one.
        y : array of shape (n_samples,)
            The class of each.
        """
        self._ready()
        check_integer("n_samples", n_samples, 1)
        rng = np.random.default_rng(random_state)
        seen = whole_of(self.moments_).present
        if label is None:
            priors = np.where(seen, self.priors_, 0.0)
            codes = rng.choice(len(self.classes_), size=n_samples, p=priors / priors.sum())
        else:
            codes = np.full(n_samples, self._code_of(label))
        return self._drawn_rows(codes, rng), self.classes_[codes]

    def log_density(self, X: Any, label: Any = None) -> Array:
        """The logarithm of the density of each row: ``p(x) = sum_k prior_k p(x | k)``, or that of one class.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows in the columns of the model.
        label : a class, optional
            The density of this class, ``p(x | label)``; otherwise that of all rows, the evidence of Bayes' rule.

        Returns
        -------
        array of shape (n_rows,)
        """
        self._ready()
        joint = self._log_joint(X)
        if label is None:
            return np.asarray(logsumexp(joint, axis=1))
        k = self._code_of(label)
        return joint[:, k] - np.log(self.priors_[k])

    def _log_joint(self, X: Any) -> Array:
        """``log prior_k + log p(x | k)`` of each row and class: the scores, where they lack no constant."""
        return self._scores(X)

    def _scores(self, X: Any) -> Array:
        """The scores of all classes, of two as well."""
        return self._mapped(X, self.rule_.scores, len(self.classes_))

    def _mapped(self, X: Any, function: Callable[[Any], Array], width: int) -> Array:
        """What ``function`` makes of every block of rows, ``width`` numbers a row."""
        rows = self._rows(X)
        out = np.empty((rows.n_rows, width))

        def write(block: Any, where: slice) -> None:
            out[where] = function(block)

        map_rows(rows, write, self.n_jobs)
        if not np.isfinite(out).all():
            rows.refuse_nonfinite()
        return out

    def _code_of(self, label: Any) -> int:
        """The number of a class that rows were seen of."""
        found = np.flatnonzero(self.classes_ == label)
        if found.size == 0:
            raise LabelError(f"{label!r} is not a class of this model: {self.classes_.tolist()}.")
        if not whole_of(self.moments_).present[found[0]]:
            raise NotReadyError(f"Class {shown(label)} has not been seen yet: there is no row of it.")
        return int(found[0])

    def _drawn_rows(self, codes: Array, rng: np.random.Generator) -> Any:
        rows = np.empty((len(codes), self.n_features_in_))
        for k in np.unique(codes):
            own = np.flatnonzero(codes == k)
            rows[own] = self._draw(int(k), len(own), rng)
        return rows

    @abstractmethod
    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        """``n`` rows of class ``k``."""


class ScatterMixin:
    """The scatter matrices of a model that is read from moments: ``S_T = S_W + S_B``."""

    moments_: Any

    @property
    def scatter_within_(self) -> Array:
        """S_W: the sum over all rows of ``(x - mu_k)(x - mu_k)'``, a p x p matrix."""
        return whole_of(self.moments_).within().matrix

    @property
    def scatter_between_(self) -> Array:
        """S_B: the sum over the classes of ``N_k (mu_k - mu)(mu_k - mu)'``."""
        moments = whole_of(self.moments_)
        steps = np.where(moments.present[:, None], moments.mean - moments.overall_mean(), 0.0)
        return (moments.weight[:, None] * steps).T @ steps

    @property
    def scatter_total_(self) -> Array:
        """S_T: the sum over all rows of ``(x - mu)(x - mu)'``."""
        return whole_of(self.moments_).total().matrix


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
        How far S moves towards ``(tr S / p) I``. "cv" takes the value with the best held-out likelihood of 20,
        from fold moments collected in the same pass. Shrinkage, unlike the rest of the model, depends on the units of
        the columns: standardise them where they differ.
    n_components : int, default=None
        Columns of `transform`; at most K - 1.
    rank : int, default=None
        Classify in the first ``rank`` discriminant directions only (reduced-rank LDA).
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
        Discriminant directions, in MASS's normalisation: the covariance within classes is the identity.
    explained_variance_ratio_ : array of shape (r,)
        Share of each direction in the variance between classes ("proportion of trace").
    svd_ : array of shape (r,)
        Ratio of the standard deviations between and within classes along each direction, as MASS prints it.
    covariance_ : array of shape (p, p)
        S, after shrinkage.
    scatter_within_, scatter_between_, scatter_total_ : arrays of shape (p, p)
        S_W, S_B and their sum S_T, sums over rows.
    shrinkage_ : float
    moments_ : the statistic the model was read from

    See Also
    --------
    QuadraticDiscriminantAnalysis : A covariance for each class.
    FisherDiscriminant : The direction for two classes, with a choice of thresholds.

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

    def transform(self, X: Any) -> Array:
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

    def delta(self, X: Any) -> Array:
        """The discriminant functions as textbooks write them, measured from 0 and not from the centre.

        ``delta_k(x) = log prior_k - mu_k' S^-1 mu_k / 2 + x' S^-1 mu_k``: the scores plus what all classes have in
        common, so that differences, and decisions, are the same.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows in the columns of the model.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        self._ready()
        pull = self._covariance().solve(self.xbar_[None])
        common = LinearRule(np.zeros(len(self.xbar_)), pull, -0.5 * pull @ self.xbar_)
        return self._scores(X) + self._mapped(X, common.scores, 1)

    def _log_joint(self, X: Any) -> Array:
        covariance, p = self._covariance(), len(self.xbar_)
        refuse_singular(covariance.rank, p, ("Set ", Setting("shrinkage"), "."))
        # What the scores leave out is the density of a normal distribution about the centre.
        whole = self._mapped(X, lambda block: self._about_centre(block, covariance), 1)
        return self._scores(X) - 0.5 * (whole + p * np.log(2 * np.pi) + covariance.log_determinant)

    def _about_centre(self, block: Any, covariance: Covariance) -> Array:
        """The squared Mahalanobis distance of each row from the centre."""
        parts = [covariance.to_sphere(part - self.xbar_) for part, _ in dense_parts(block)]
        return np.concatenate([np.einsum("ij,ij->i", part, part) for part in parts])[:, None]

    def _covariance(self) -> Covariance:
        return self._within().covariance(self._divisor(), self.shrinkage_)

    def mean_distances(self, unbiased: bool = False) -> Array:
        """The Mahalanobis distances between the class means.

        Parameters
        ----------
        unbiased : bool, default=False
            Whether squared distances are freed of what the columns add by chance (Lachenbruch & Mickey 1968), which is
            much where rows are few; 0 where nothing is left. Without shrinkage only.

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
            raise ParameterError("Distances of a covariance that was shrunk have no unbiased estimate: unbiased=False.")
        rank, per_row = sphered.shape[1], 1 / self.moments_.weight
        chance = rank * (per_row + per_row[:, None])
        kept = 1 - (rank + 1) / (self.moments_.weight.sum() - len(per_row))
        found = np.sqrt(np.maximum(kept * distances**2 - chance, 0.0))
        np.fill_diagonal(found, 0.0)
        return found

    def sphere(self, X: Any) -> Array:
        """Rows measured from the centre, turned to the principal axes of the covariance and scaled to variance 1.

        With ``S = U D U'`` these are ``D^-1/2 U' (x - m)``: uncorrelated within classes, so that LDA is the nearest
        class mean, corrected by the prior. Directions without variance are left out.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows in the columns of the model.

        Returns
        -------
        array of shape (n_rows, rank of S)
            Their coordinates.
        """
        self._ready()
        within, divisor = self._within(), self._divisor()
        axes, values = within.spectrum()
        variances = (1 - self.shrinkage_) * values / divisor + self.shrinkage_ * within.mean_variance(divisor)
        if len(variances) == within.n_columns and variances.min() > _ROUNDING * variances.max():
            return self._projected(X, axes / np.sqrt(variances))
        # Units too different, or too few rows, for principal axes: any other sphering has the same distances.
        covariance = self._covariance()

        def sphered(block: Any) -> Array:
            return np.concatenate([covariance.to_sphere(part - self.xbar_) for part, _ in dense_parts(block)])

        return self._mapped(X, sphered, covariance.rank)

    def _projected(self, X: Any, directions: Array) -> Array:
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

    def _needs(self) -> Needs:
        folds = self.folds if self.shrinkage == "cv" else 0
        return Needs("pooled", fourth=self.shrinkage == "ledoit-wolf", folds=folds)

    def _check_parameters(self) -> None:
        check_shrinkage(self.shrinkage, ("oas", "ledoit-wolf", "cv"), self.folds)
        for name, value in (("n_components", self.n_components), ("rank", self.rank)):
            if value is not None:
                check_integer(name, value, 1)

    def _read(self, reading: Reading) -> None:
        moments, n = reading.moments, reading.moments.total_weight
        divisor = positive_divisor(n, moments.n_classes)
        self.shrinkage_ = self._chosen_shrinkage(n, reading)
        if self.shrinkage_ == 0:
            covariance = self._invertible(reading, divisor)
        elif moments.within().diagonal().any():
            covariance = moments.within().covariance(divisor, self.shrinkage_)
        else:
            raise DegenerateDataError("No column varies within the classes: there is no covariance to estimate.")
        self.xbar_ = moments.centre(reading.priors / reading.priors.sum())
        directions = discriminant_directions(moments.mean, self.xbar_, reading.priors, n, covariance)
        self._check_rank(len(directions.singular), moments.n_classes)
        self.rule_ = nearest_centroid_rule(moments.mean, reading.log_priors, directions, self.rank)
        self.scalings_, self.svd_ = directions.scalings, directions.singular
        self.explained_variance_ratio_ = self.svd_**2 / (self.svd_**2).sum()

    def _chosen_shrinkage(self, n: float, reading: Reading) -> float:
        if self.shrinkage == "oas":
            return oas(reading.moments.within(), n)
        if self.shrinkage == "ledoit-wolf":
            return ledoit_wolf(reading.moments.within(), n, reading.moments.mean_fourth_power())
        if self.shrinkage == "cv":
            chosen, self.shrinkage_losses_ = cross_validated(reading.collected)
            return chosen
        return float(self.shrinkage or 0.0)

    def _check_rank(self, available: int, seen: int) -> None:
        for name, value in (("n_components", self.n_components), ("rank", self.rank)):
            if value is not None and value > available:
                message = (
                    f"{name}={value}, but there are only {available} discriminant directions (at most one fewer than "
                    f"the {len(self.classes_)} classes, and no more than columns)."
                )
                # More classes may be on their way.
                waiting = max(value, seen) < len(self.classes_)
                raise DegenerateDataError(message) if waiting else ParameterError(message)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        return self.means_[k] + self._covariance().draw(n, rng)


@dataclass(eq=False, repr=False)
class QuadraticDiscriminantAnalysis(ScatterMixin, GenerativeClassifier):
    """Quadratic discriminant analysis: normal classes, each with its own covariance.

    The score of class k is ``log prior_k - log|S_k| / 2 - (x - mu_k)' S_k^-1 (x - mu_k) / 2``, with S_k the scatter of
    the class divided by N_k - 1.

    Parameters
    ----------
    priors : array-like or dict, default=None
        Probability of each class, as a list or by label; without them, those of the rows it is fitted to.
    shrinkage : None, float in [0, 1], "oas" or "cv", default=None
        How far each S_k moves towards ``(tr S_k / p) I``: one amount for all or one for each class ("oas"). "cv" takes
        that of 20 with the least log-loss of held-out rows, together with a temperature, by which log-densities are
        multiplied; a class without a covariance of its own then has that which the classes have in common.
    folds : int, default=10
        How many folds "cv" has; rows are dealt into them several times where they are few.
    n_jobs : int, default=None
        Threads, which do not change the result: -1 all cores, None as many as BLAS uses.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
    means_ : array of shape (K, p)
    covariances_ : array of shape (K, p, p)
    scatter_within_, scatter_between_, scatter_total_ : arrays of shape (p, p)
        S_W, S_B and their sum S_T.
    shrinkage_ : array of shape (K,)
    temperature_ : float
        What "cv" chose, at most 1.
    shrinkage_losses_ : array of shape (20,)
        The held-out log-loss at each value that "cv" tried, NaN where a covariance is singular.
    moments_ : the statistic the model was read from

    See Also
    --------
    RegularizedDiscriminantAnalysis : Between this and the linear one, and less sure of itself.
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

    _needs_all_rows = ("shrinkage", "cv", "looks at all rows again to choose", "shrinkage='oas'")

    @property
    def covariances_(self) -> Array:
        """The covariance of each class after shrinkage."""
        check_is_fitted(self, "rule_")
        scatters = class_scatters(whole_of(self.moments_), self._borrows)
        amounts = zip(scatters, self.shrinkage_, strict=True)
        return np.stack([scatter.shrunk(divisor, amount) for (scatter, divisor, _), amount in amounts])

    def delta(self, X: Any) -> Array:
        """The discriminant functions ``log prior_k - log|S_k| / 2 - (x - mu_k)' S_k^-1 (x - mu_k) / 2``.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows in the columns of the model.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        return self._log_joint(X) + 0.5 * self.n_features_in_ * np.log(2 * np.pi)

    def sphere(self, X: Any, label: Any) -> Array:
        """Rows measured from the mean of a class, in the principal axes of its covariance, scaled to variance 1.

        With ``S_k = U D U'`` these are ``D^-1/2 U' (x - mu_k)``, and ``log|S_k|`` is the sum of the logarithms of D:
        the squared length is the Mahalanobis distance that `delta` has.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows in the columns of the model.
        label : a class
            Whose covariance and mean.

        Returns
        -------
        array of shape (n_rows, n_columns)
        """
        self._ready()
        k = self._code_of(label)
        variances, axes = np.linalg.eigh(self.covariances_[k])
        rule = LinearRule(self.means_[k], (axes / np.sqrt(variances)).T[::-1], np.zeros(len(variances)))
        return self._mapped(X, rule.scores, len(variances))

    def _log_joint(self, X: Any) -> Array:
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
        """Whether classes without a covariance of their own take the common one."""
        return self.shrinkage == "cv"

    def _needs(self) -> Needs:
        return Needs("class")

    def _check_parameters(self) -> None:
        check_shrinkage(self.shrinkage, ("oas", "cv"), self.folds)

    def _learn(self, data: LabelledRows) -> None:
        if self.shrinkage == "cv":
            refuse_weightless(data.class_weights, data.classes)
            some = data.every(-(-data.n_rows // ENOUGH_ROWS))
            self.shrinkage_losses_, self.temperature_ = _held_out_choice(some, self.folds, self.n_jobs)
        super()._learn(data)

    def _read(self, reading: Reading) -> None:
        moments = reading.moments
        scatters = class_scatters(moments, self._borrows)
        for k, label in enumerate(map(shown, reading.classes)):
            _, divisor, own = scatters[k]
            if divisor <= 0:
                few = f"{label} has {moments.weight[k]:g} row(s)"
                instead = ("Add rows, leave the class out, or use ", Model("LinearDiscriminantAnalysis"), ".")
                raise DegenerateDataError(f"Class {few}: a covariance of its own needs at least 2. ", *instead)
            if not own:
                warn(
                    f"Class {label} has no covariance of its own, as nothing varies in it: it has the one that the "
                    "classes have in common.",
                    DiscriminantWarning,
                )
        amounts = self._chosen_shrinkage(moments)
        covariances = [self._class_covariance(reading, k, scatters[k], amounts[k]) for k in range(moments.n_classes)]
        self.shrinkage_ = reading.spread(amounts)
        centre = moments.overall_mean()
        temperature = getattr(self, "temperature_", 1.0)
        self.rule_ = gaussian_quadratic_rule(moments.mean, covariances, reading.log_priors, centre, temperature)

    def _chosen_shrinkage(self, moments: ClassMoments) -> Array:
        if self.shrinkage == "oas":
            return np.array([oas(moments.of_class(k), moments.weight[k]) for k in range(moments.n_classes)])
        chosen = self.shrinkage or 0.0
        if chosen == "cv":
            known = ~np.isnan(self.shrinkage_losses_)
            chosen = SHRINKAGE_GRID[int(np.nanargmin(self.shrinkage_losses_))] if known.any() else 1.0
        return np.full(moments.n_classes, float(chosen))

    def _class_covariance(
        self, reading: Reading, k: int, found: tuple[Scatter, float, bool], shrinkage: float
    ) -> Covariance:
        (scatter, divisor, _), mean, weight = found, reading.moments.mean[k], reading.moments.weight[k]
        label = shown(reading.classes[k])
        pooled = (" remove columns, or use ", Model("LinearDiscriminantAnalysis"), ".")
        remedy = ("Set shrinkage (for example ", Setting("shrinkage", "cv"), "),", *pooled)
        variance = scatter.diagonal() / divisor
        if shrinkage == 0:
            self._refuse_constant(constant_columns(variance, mean[None]), f"in class {label}", *remedy)
        elif not variance.any():
            raise DegenerateDataError(f"No column varies in class {label}: it has no covariance to estimate.")
        covariance = scatter.covariance(divisor, shrinkage)
        if covariance.rank == len(mean):
            return covariance
        if weight <= len(mean):
            reason = f"it has {weight:g} rows for {len(mean)} columns"
        else:
            reason = f"in it, {self._columns(covariance.aliased)} can be computed from the columns before"
        raise DegenerateDataError(f"The covariance of class {label} is singular: {reason}. ", *remedy)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        scatter, divisor, _ = class_scatters(whole_of(self.moments_), self._borrows)[k]
        return self.means_[k] + scatter.covariance(divisor, self.shrinkage_[k]).draw(n, rng)


def class_scatters(moments: ClassMoments, borrow: bool) -> list[tuple[Scatter, float, bool]]:
    """The scatter of each class, its divisor, and whether it is the class's own.

    With ``borrow`` a class in which nothing varies has the scatter of all.
    """
    fine, found = moments.at("class"), list[tuple[Scatter, float, bool]]()
    for k in range(fine.n_classes):
        own = fine.of_class(k)
        if borrow and not (fine.weight[k] > 1 and own.diagonal().any()):
            found.append((fine.within(), fine.total_weight - fine.n_classes, False))
        else:
            found.append((own, float(fine.weight[k]) - 1, True))
    return found


class _OwnCovariances(Frame):
    """Columns in their own units, and each class with its covariance, if it has one."""

    def spectra(self, moments: ClassMoments, pooling: float) -> ClassSpectra:  # noqa: ARG002
        found = class_scatters(moments, borrow=True)
        # Too few rows for a divisor are too few for a covariance: 0 is singular at every shrinkage.
        covariances = np.stack(
            [scatter.matrix / divisor if divisor > 0 else 0 * scatter.matrix for scatter, divisor, _ in found]
        )
        return ClassSpectra.of(moments.mean - self.centre, covariances, self.n_columns)


def _held_out_choice(data: LabelledRows, folds: int, n_jobs: int | None) -> tuple[Array, float]:
    """The least held-out log-loss at each shrinkage, and the temperature of the least of all."""
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


def check_shrinkage(shrinkage: Any, names: tuple[str, ...], folds: int) -> None:
    """Refuse a shrinkage that is neither None, a number in [0, 1] nor one of the names."""
    if shrinkage == "cv":
        check_integer("folds", folds, 2)
    named = shrinkage is None or (isinstance(shrinkage, str) and shrinkage in names)
    number = isinstance(shrinkage, Real) and not isinstance(shrinkage, bool)
    if not named and not (number and 0 <= shrinkage <= 1):
        allowed = ", ".join(map(repr, names))
        raise ParameterError(f"shrinkage must be None, a number from 0 to 1, or one of {allowed}; got {shrinkage!r}.")


def refuse_singular(rank: int, p: int, remedy: tuple[Part, ...] = ("Remove columns.",)) -> None:
    """Refuse densities where some directions do not vary within the classes."""
    if rank < p:
        told = f"The covariance is singular ({rank} of {p} directions vary within classes): rows have no density. "
        raise DegenerateDataError(told, *remedy)


def positive_divisor(n: float, K: int) -> float:
    """N - K, the divisor of the pooled covariance, which has to be positive."""
    if n <= K:
        raise DegenerateDataError(
            f"{n:g} rows (total weight) in {K} classes: a covariance within classes needs more rows than classes. "
            "Weights are read as row counts: scale them so that they sum to the number of rows."
        )
    return n - K
