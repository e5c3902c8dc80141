"""Regularised discriminant analysis: between one covariance for all classes, one for each, and a sphere.

Pooling, shrinkage and temperature minimise the held-out log-loss. The principal axes of the covariances at one pooling
serve every shrinkage, and log-densities every temperature: for K classes, p columns and n rows a pooling costs
``K p^3`` for each split, and ``n K p^2``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final, Literal, Self

import numpy as np

from ..arrays import Array
from ..data import LabelledRows, as_rows, check_integer, check_number, dense_parts, two_valued
from ..decision.posteriors import TEMPERATURES, TemperedLosses, check_priors
from ..engine import parallel_map
from ..errors import DegenerateDataError, Setting
from ..folds import HeldOut, TunedRule
from ..moments.covariance import ClassSpectra, row_span, standard_deviations
from ..moments.folds import MomentsSpec
from ..moments.statistic import ClassMoments, CovarianceStructure
from ..rules import LinearRule, QuadraticRule, log_softmax
from .base import PosteriorClassifier, by_class_or_difference, refuse_weightless
from .moment_classifier import MAX_FOLD_MOMENT_NUMBERS, collected, constant_columns, moments_in_folds

# The grid: from LDA to QDA, and from each covariance to a sphere.
_POOLINGS: Final = np.array([1.0, 0.9, 0.6, 0.3, 0.1, 0.0])
_SHRINKAGES: Final = np.array([0.0, 0.003, 0.03, 0.1, 0.3, 0.6, 0.9, 1.0])
# Covariances of single classes are not tried if a pooling takes more multiplications (about a second).
MAX_POOLING_OPERATIONS: Final = 2e9
# The settings are chosen on a subsample of at most this many rows.
MAX_TUNING_ROWS: Final = 20_000
# Number of log-densities that stay in the cache of a core.
CACHED_DENSITIES: Final = 1 << 17


@dataclass(frozen=True)
class Grid:
    """The grid of poolings, shrinkages, and one temperature or (None) all of them."""

    poolings: Array
    shrinkages: Array
    temperature: float | None

    @property
    def structure(self) -> CovarianceStructure:
        """The scatter that covariances are read from: of each class, unless they have all of it in common."""
        return "pooled" if (self.poolings == 1).all() else "class"

    def restricted(self, n_classes: int, n_columns: int, held: HeldOut) -> Grid:
        """The grid without class covariances if they are too expensive."""
        work = n_classes * n_columns**2 * (10.0 * n_columns * held.n_splits + 2.0 * len(held.rows))
        return self if work <= MAX_POOLING_OPERATIONS else replace(self, poolings=self.poolings[:1])


#: The whole grid.
ALL = Grid(_POOLINGS, _SHRINKAGES, None)


@dataclass(frozen=True)
class Frame:
    """Standardised columns: a centre and units, without constant columns.

    Shrinkage averages the variance over ``n_columns``, which a rotation to fewer coordinates does not change.
    """

    centre: Array
    units: Array
    kept: Array
    n_columns: int

    @classmethod
    def of_columns(cls, data: LabelledRows, moments: ClassMoments) -> Frame:
        """Units: standard deviations over all rows; for columns of two values the difference of these.

        Standard deviations within classes would overweight columns that hardly vary there.
        """
        variance = moments.column_variances()
        kept = np.setdiff1d(np.arange(len(variance)), constant_columns(variance, moments.mean))
        units = standard_deviations(variance)
        two, _, step = two_valued(data.rows)
        return cls(moments.overall_mean(), np.where(two, step, units), kept, len(kept))

    def rows(self, block: Array) -> Array:
        """Rows in these coordinates."""
        parts = [X[:, self.kept] - self.centre[self.kept] for X, _ in dense_parts(block)]
        rows = np.concatenate([np.empty((0, len(self.kept))), *parts])
        rows /= self.units[self.kept]
        return rows

    def turned(self, data: LabelledRows) -> tuple[LabelledRows, Self, Array]:
        """The rows rotated to their span, the frame of these, and the directions (p, r)."""
        columns = self.rows(data.rows.block(0, data.n_rows))
        rows, back = row_span(columns)
        r = rows.shape[1]
        frame = replace(self, centre=np.zeros(r), units=np.ones(r), kept=np.arange(r))
        return replace(data, rows=as_rows(rows)), frame, columns.T @ back

    def spectra(self, moments: ClassMoments, pooling: float) -> ClassSpectra:
        """The covariances at this pooling."""
        units, kept = self.units[self.kept], self.kept
        scatter = moments.scatter[:, kept[:, None], kept] / np.outer(units, units)
        means = ((moments.mean - self.centre) / self.units)[:, kept]
        return ClassSpectra.pooled(means, scatter, moments.weight, pooling, self.n_columns)

    def in_columns(self, rule: LinearRule | QuadraticRule) -> LinearRule | QuadraticRule:
        """The rule for columns of a rule for coordinates."""
        p, kept, units = len(self.units), self.kept, self.units[self.kept]
        if isinstance(rule, LinearRule):
            coef = np.zeros((len(rule.coef), p))
            coef[:, kept] = rule.coef / units
            return LinearRule(self.centre, coef, rule.constants)
        K = len(rule.constants)
        offsets, spheres = np.zeros((K, p)), np.zeros((K, p, p))
        offsets[:, kept] = rule.offsets * units
        spheres[:, kept[:, None], kept] = rule.spheres / units[:, None]
        return QuadraticRule(self.centre, offsets, spheres, rule.constants)


@dataclass(frozen=True)
class Search:
    """Fits to the training parts of splits, and their held-out losses."""

    data: LabelledRows
    held: HeldOut
    frame: Frame
    grid: Grid
    log_priors: Array
    moments: Callable[[int], ClassMoments]  #: of the training part of a split

    def searched(self, n_jobs: int | None) -> tuple[Array, Callable[[int, int], Array]]:
        """The mean held-out loss at each pooling, shrinkage and temperature; NaN if a covariance is singular.

        Also a function from the indices of a pooling and a shrinkage to log-densities (n_pairs, K), minus infinity for
        classes without training rows: all of them would take too much memory.
        """
        parts = parallel_map(self._losses_of, list(range(self.held.n_splits)), n_jobs)
        total = sum(weight for _, weight in parts)
        losses = np.asarray(sum((losses for losses, _ in parts), np.zeros(self._shape)) / (total or np.nan))
        return losses, lambda pooling, shrinkage: self._densities(pooling, shrinkage, n_jobs)

    @property
    def _shape(self) -> tuple[int, int, int]:
        n_temperatures = len(TEMPERATURES) if self.grid.temperature is None else 1
        return len(self.grid.poolings), len(self.grid.shrinkages), n_temperatures

    def _densities(self, pooling: int, shrinkage: int, n_jobs: int | None) -> Array:
        """The log-densities of all pairs at one pooling and one shrinkage, (n_pairs, K)."""
        poolings, shrinkages = self.grid.poolings[[pooling]], self.grid.shrinkages[[shrinkage]]
        search = replace(self, grid=replace(self.grid, poolings=poolings, shrinkages=shrinkages))
        parts = parallel_map(lambda split: next(search._densities_of(split)), list(range(self.held.n_splits)), n_jobs)
        found = np.empty((len(self.held.rows), len(self.log_priors)))
        for split, own in enumerate(parts):
            found[self.held.fits == split] = own[:, 0]
        return found

    def _densities_of(self, split: int) -> Iterator[Array]:
        """The log-densities of the pairs of one split, (pairs, shrinkages, K), pooling after pooling."""
        moments = self.moments(split)
        rows = self.frame.rows(self.data.rows.take(self.held.rows[self.held.fits == split]))
        for pooling in self.grid.poolings:
            spectra = self.frame.spectra(moments.only_present(), float(pooling))
            found = own = spectra.log_densities(rows, self.grid.shrinkages)
            if own.shape[2] < len(self.log_priors):
                found = np.full((*own.shape[:2], len(self.log_priors)), -np.inf)
                found[:, :, moments.present] = own
            yield found

    def _losses_of(self, split: int) -> tuple[Array, float]:
        """The summed losses of one split, (poolings, shrinkages, temperatures), and the weight of its pairs."""
        pairs, fixed = np.flatnonzero(self.held.fits == split), self.grid.temperature
        losses, weight = np.zeros(self._shape), 0.0
        for summed, densities in zip(losses, self._densities_of(split), strict=True):
            whole = held_out_losses(self.data, self.held, densities, self.log_priors, pairs)
            weight = float(whole.weight.sum())
            if fixed is None:
                summed[:] = whole.of_grid()
                continue
            step = max(1, CACHED_DENSITIES // densities[0].size) if len(densities) else 1
            for start in range(0, len(whole.codes), step):
                summed += whole.part(slice(start, start + step)).at(fixed)[0][:, None]
        return losses, weight


def part_seen(data: LabelledRows, held: HeldOut, split: int) -> LabelledRows:
    """The rows with weight 0 for those that a split holds out."""
    return replace(data, weight=held.seen[:, split] * data.weight_of(slice(None)))


def held_out_losses(
    data: LabelledRows, held: HeldOut, log_densities: Array, log_priors: Array, pairs: Array | slice = slice(None)
) -> TemperedLosses:
    """The losses of pairs whose class has training rows; log-densities have shape (n_pairs, ..., K)."""
    rows = held.rows[pairs]
    codes = data.codes[rows]
    own = log_densities[np.arange(len(codes)), ..., codes]
    known = np.asarray(~np.isneginf(own).all(axis=tuple(range(1, own.ndim))))
    whole = TemperedLosses(log_densities, log_priors, codes, data.weight_of(rows))
    return whole if known.all() else whole.part(known)


def tempered(
    data: LabelledRows, held: HeldOut, log_densities: Array, log_priors: Array, temperature: float | None = None
) -> tuple[float, float, Array]:
    """The best temperature, if none is given, with its mean loss and the log-posteriors of all pairs."""
    losses = held_out_losses(data, held, log_densities, log_priors)
    temperature = losses.best() if temperature is None else temperature
    total = float(losses.weight.sum())
    loss = float(losses.at(temperature)[0]) / total if total > 0 else float("inf")
    return temperature, loss, log_softmax(temperature * log_densities + log_priors)


def log_shares(moments: ClassMoments) -> Array:
    """The logarithms of the classes' shares of the weight."""
    with np.errstate(divide="ignore"):
        return np.log(moments.weight / moments.total_weight)


def class_moments(data: LabelledRows, grid: Grid, n_jobs: int | None) -> ClassMoments:
    """The moments that covariances are estimated from."""
    statistic = ClassMoments(len(data.classes), data.rows.n_columns, grid.structure)
    found: ClassMoments = collected(data, statistic, n_jobs)
    return found


def moments_of_splits(
    data: LabelledRows, held: HeldOut, grid: Grid, n_jobs: int | None
) -> Callable[[int], ClassMoments]:
    """A function from a split to the moments of its training part, merged from those of folds if possible."""
    n_rows, p = data.rows.shape
    if not held.is_partition or (held.n_splits + 1) * len(data.classes) * p * p > MAX_FOLD_MOMENT_NUMBERS:
        return lambda split: class_moments(part_seen(data, held, split), grid, n_jobs=1)
    folds = moments_in_folds(data, MomentsSpec(grid.structure), held.fits, held.n_splits, max(n_rows, p), n_jobs)
    return [train for train, _ in folds.splits()].__getitem__


def regularised_rule(data: LabelledRows, held: HeldOut, grid: Grid = ALL, n_jobs: int | None = None) -> TunedRule:
    """Regularised discriminant analysis with the settings of the smallest held-out log-loss.

    Parameters
    ----------
    data : LabelledRows
        Coded rows.
    held : HeldOut
        The splits; rows may be held out several times.
    grid : Grid, default=ALL
        Settings to try.
    n_jobs : int, default=None
        Threads of the splits.

    Returns
    -------
    TunedRule
        With the settings "pooling", "shrinkage" and "temperature".
    """
    n_rows, n_columns = data.rows.shape
    if n_rows < n_columns and grid.poolings[0] == 1:
        return _in_span_of_rows(data, held, replace(grid, poolings=grid.poolings[:1]), n_jobs)
    grid = grid.restricted(len(data.classes), n_columns, held)
    moments = class_moments(data, grid, n_jobs)
    return _tuned(data, held, Frame.of_columns(data, moments), grid, moments, n_jobs)


def _in_span_of_rows(data: LabelledRows, held: HeldOut, grid: Grid, n_jobs: int | None) -> TunedRule:
    """The same with one covariance and more columns than rows, in the span of the rows.

    Outside the span all classes have the same density.
    """
    K, p = len(data.classes), data.rows.n_columns
    frame = Frame.of_columns(data, collected(data, ClassMoments(K, p, "diagonal"), n_jobs))
    turned, own, directions = frame.turned(data)
    found = _tuned(turned, held, own, grid, class_moments(turned, grid, n_jobs), n_jobs)
    return replace(found, rule=frame.in_columns(replace(found.rule, coef=found.rule.coef @ directions.T)))


def _tuned(
    data: LabelledRows, held: HeldOut, frame: Frame, grid: Grid, moments: ClassMoments, n_jobs: int | None
) -> TunedRule:
    log_priors = log_shares(moments)
    if not moments.column_scatter()[frame.kept].any():
        raise DegenerateDataError("No column varies within the classes, so the covariance is 0. Check the columns.")
    search = Search(data, held, frame, grid, log_priors, moments_of_splits(data, held, grid, n_jobs))
    losses, densities_at = search.searched(n_jobs)
    # Without a regular covariance in any split, shrinkage is maximal.
    found = (0, -1, 0) if np.isnan(losses).all() else np.unravel_index(int(np.nanargmin(losses)), losses.shape)
    pooling, shrinkage = float(grid.poolings[found[0]]), float(grid.shrinkages[found[1]])
    densities = np.nan_to_num(densities_at(int(found[0]), int(found[1])), nan=0.0, neginf=-np.inf)
    temperature, loss, posteriors = tempered(data, held, densities, log_priors, grid.temperature)
    settings = {"pooling": pooling, "shrinkage": shrinkage, "temperature": temperature}
    return TunedRule(fitted_rule(frame, moments, settings), settings, loss, posteriors)


def fitted_rule(frame: Frame, moments: ClassMoments, settings: dict[str, float]) -> LinearRule | QuadraticRule:
    """The rule of these moments at these settings, with the shares of the classes as priors."""
    present = moments.only_present()
    spectra = frame.spectra(present, settings["pooling"])
    if np.isnan(spectra.shrunk(np.array([settings["shrinkage"]]))[1]).any():
        raise DegenerateDataError(
            "A covariance is singular (collinear columns or too few rows). Set ", Setting("shrinkage"),
            " above 0, or use ", Setting("shrinkage", "cv"), ".",
        )  # fmt: skip
    rule = spectra.rule(settings["shrinkage"], settings["temperature"], log_shares(present))
    return frame.in_columns(rule).expand_classes(moments.present)


def fitted_to(data: LabelledRows, tuned: TunedRule, grid: Grid, n_jobs: int | None) -> TunedRule:
    """The rule of other rows with tuned settings."""
    moments = class_moments(data, replace(grid, poolings=np.array([tuned.settings["pooling"]])), n_jobs)
    return replace(tuned, rule=fitted_rule(Frame.of_columns(data, moments), moments, tuned.settings))


@dataclass(eq=False, repr=False)
class RegularizedDiscriminantAnalysis(PosteriorClassifier):
    """Regularised discriminant analysis: normal classes with covariances between LDA's, QDA's and a sphere.

    The score of class k is ``log prior_k + t log density_k``, the density normal with covariance
    ``(1 - g) S_k(l) + g (tr S_k(l) / p) I``, where ``S_k(l)`` is the scatter ``(1 - l) scatter_k + l scatter`` over the
    same mixture of weights. ``l = 1`` is LDA, ``l = g = 0`` QDA (with the divisors N and N_k); a temperature t below 1
    corrects overconfident densities, as those of columns that are not normal.

    Columns are standardised over all rows, those of two values by their difference, so that units do not matter. With
    more columns than rows the covariance is pooled by default.

    Parameters
    ----------
    priors : array-like or dict, default=None
        Class probabilities, in class order or by label. Default: the shares of the training rows.
    pooling : float in [0, 1] or "cv", default="cv"
        Weight l, from class covariances (0) to the pooled covariance (1).
    shrinkage : float in [0, 1] or "cv", default="cv"
        Weight g, from the estimated covariances (0) to a multiple of the identity (1).
    temperature : float in (0, 1] or "cv", default="cv"
        Factor t of the log-densities. All "cv" settings are chosen together by the held-out log-loss.
    folds : int, default=5
        Number of folds of "cv", repeated up to five times for few rows.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
    pooling_, shrinkage_, temperature_ : float
        The chosen or given settings.
    loss_ : float
        Their held-out log-loss.
    class_count_ : array of shape (K,)
        Weight of each class in the training data.
    means_ : array of shape (K, p)
        Class means; like the covariances only with no more columns than rows.
    covariances_ : array of shape (K, p, p)
        With pooling and shrinkage, by maximum likelihood.
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes
        If ``pooling_`` is 1, so that scores are linear.

    See Also
    --------
    LinearDiscriminantAnalysis : One covariance for all classes.
    QuadraticDiscriminantAnalysis : One for each class.

    References
    ----------
    Friedman, J. H. (1989). Regularized discriminant analysis. J. American Statistical Association 84.
    Guo, C., Pleiss, G., Sun, Y. & Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML
    (temperature).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RegularizedDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    priors: Any = None
    _: KW_ONLY
    pooling: float | Literal["cv"] = "cv"
    shrinkage: float | Literal["cv"] = "cv"
    temperature: float | Literal["cv"] = "cv"
    folds: int = 5
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        check_integer("folds", self.folds, 2)
        for name in ("pooling", "shrinkage", "temperature"):
            if getattr(self, name) != "cv":
                check_number(name, getattr(self, name), 0, 1, open_below=name == "temperature")

    def _learn(self, data: LabelledRows) -> None:
        weight = data.class_weights
        refuse_weightless(weight, data.classes)
        shares = weight / weight.sum()
        self.priors_ = shares if self.priors is None else check_priors(self.priors, data.classes)
        tuned = self._tuned(data)
        for name, value in tuned.settings.items():
            setattr(self, f"{name}_", value)
        self.loss_, self.class_count_ = tuned.loss, weight
        if data.n_rows >= data.rows.n_columns:
            self._describe(data, tuned)
        with np.errstate(divide="ignore"):
            self.rule_ = replace(tuned.rule, constants=tuned.rule.constants + np.log(self.priors_ / shares))
        if isinstance(self.rule_, LinearRule):
            self.coef_, self.intercept_ = by_class_or_difference(self.rule_)

    @property
    def covariances_(self) -> Array:
        """The covariance of each class."""
        if hasattr(self, "covariance_"):
            return np.broadcast_to(self.covariance_, (len(self.classes_), *self.covariance_.shape))
        if not isinstance(self.rule_, QuadraticRule):
            raise AttributeError("covariances_ is not available with more columns than rows.")
        inverses = self.rule_.spheres @ self.rule_.spheres.transpose(0, 2, 1) / self.temperature_
        return np.linalg.inv(inverses)

    def _describe(self, data: LabelledRows, tuned: TunedRule) -> None:
        """Set the class means, and the pooled covariance of a linear rule."""
        if isinstance(tuned.rule, QuadraticRule):
            self.means_ = tuned.rule.centre + tuned.rule.offsets
            return
        grid = Grid(np.ones(1), np.zeros(1), 1.0)
        moments = class_moments(data, grid, self.n_jobs)
        frame = Frame.of_columns(data, moments)
        spectra = frame.spectra(moments, 1.0)
        variances = spectra.shrunk(np.array([self.shrinkage_]))[0][0, 0]
        root = np.zeros((data.rows.n_columns, len(frame.kept)))
        root[frame.kept] = frame.units[frame.kept, None] * spectra.axes[0] * np.sqrt(variances)
        self.means_, self.covariance_ = moments.mean, root @ root.T

    def _tuned(self, data: LabelledRows) -> TunedRule:
        """The rule of all rows, with settings chosen on a subsample."""
        temperature = None if self.temperature == "cv" else float(self.temperature)
        grid = Grid(_tried(self.pooling, _POOLINGS), _tried(self.shrinkage, _SHRINKAGES), temperature)
        sample = data.sample(-(-data.n_rows // MAX_TUNING_ROWS))
        held = HeldOut.repeated(sample.codes, self.folds, groups=sample.cluster)
        tuned = regularised_rule(sample, held, grid, self.n_jobs)
        return tuned if sample.n_rows == data.n_rows else fitted_to(data, tuned, grid, self.n_jobs)


def _tried(given: float | Literal["cv"], grid: Array) -> Array:
    return grid if given == "cv" else np.array([float(given)])
