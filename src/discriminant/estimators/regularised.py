"""Regularised discriminant analysis: between one covariance for all classes, one for each, and a sphere.

Pooling, shrinkage and temperature are chosen together by the log-loss of held-out rows. The principal axes of the
covariances at one pooling serve every shrinkage, and log-densities every temperature: for K classes, p columns and n
rows a pooling costs ``K p^3`` for each split, and ``n K p^2``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from ..arrays import Array
from ..data import LabelledRows, as_rows, check_integer, check_number, dense_parts, two_valued
from ..decision.posteriors import TEMPERATURES, TemperedLosses, check_priors
from ..engine import side_by_side
from ..errors import DegenerateDataError, Setting
from ..folds import HeldOut, TunedRule
from ..moments.covariance import ClassSpectra, row_span, standard_deviations
from ..moments.statistic import ClassMoments, Grain, Needs
from ..rules import LinearRule, QuadraticRule, log_softmax
from .base import (
    MOST_NUMBERS_OF_FOLDS,
    PosteriorClassifier,
    by_class_or_difference,
    collected,
    constant_columns,
    moments_in_folds,
    refuse_weightless,
)

#: What is tried: from LDA to QDA, and from each covariance to a sphere.
_POOLINGS = np.array([1.0, 0.9, 0.6, 0.3, 0.1, 0.0])
_SHRINKAGES = np.array([0.0, 0.003, 0.03, 0.1, 0.3, 0.6, 0.9, 1.0])
#: A covariance for each class is not tried where a pooling takes more multiplications than this.
_MOST_WORK = 2e9
#: The settings are chosen on this many rows: more of them would hardly change the choice.
ENOUGH_ROWS = 20_000
#: Log-densities of so many rows, classes and settings stay in a core's cache.
_CACHED_DENSITIES = 1 << 17
#: So many are kept until the choice is made (64 MB); more are computed again at what was chosen.
_KEPT_DENSITIES = 1 << 23


@dataclass(frozen=True)
class Grid:
    """What is tried: poolings, shrinkages, and one temperature or (None) all of them."""

    poolings: Array
    shrinkages: Array
    temperature: float | None

    @property
    def grain(self) -> Grain:
        """The scatter that covariances are read from: of each class, unless they have all of it in common."""
        return "pooled" if (self.poolings == 1).all() else "class"

    def restricted(self, n_classes: int, n_columns: int, held: HeldOut) -> Grid:
        """Without covariances of single classes where they would take too long; a single pooling stays."""
        work = n_classes * n_columns**2 * (10.0 * n_columns * held.n_splits + 2.0 * len(held.rows))
        return self if work <= _MOST_WORK else replace(self, poolings=self.poolings[:1])


#: The whole grid.
ALL = Grid(_POOLINGS, _SHRINKAGES, None)


@dataclass(frozen=True)
class Frame:
    """The columns as distances are measured in them: from a centre, in units, without those that do not vary.

    Shrinkage averages the variance over ``n_columns``: after a rotation there are more than there are coordinates.
    """

    centre: Array
    units: Array
    kept: Array
    n_columns: int

    @classmethod
    def of_columns(cls, data: LabelledRows, moments: ClassMoments) -> Frame:
        """In standard deviations over all rows; columns of two values are as long as the step between them.

        The standard deviation within classes would make a sphere of a column that hardly varies there.
        """
        variance = moments.column_variances()
        kept = np.setdiff1d(np.arange(len(variance)), constant_columns(variance, moments.mean))
        units = standard_deviations(variance)
        two, _, step = two_valued(data.rows)
        return cls(moments.overall_mean(), np.where(two, step, units), kept, len(kept))

    def rows(self, block: Any) -> Array:
        """Rows in these coordinates."""
        parts = [X[:, self.kept] - self.centre[self.kept] for X, _ in dense_parts(block)]
        rows = np.concatenate([np.empty((0, len(self.kept))), *parts])
        rows /= self.units[self.kept]
        return rows

    def turned(self, data: LabelledRows) -> tuple[LabelledRows, Self, Array]:
        """The rows in as many dimensions as there are of them, the frame of these, and their directions (p, r)."""
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
        """A rule for coordinates as one for the columns."""
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
    """Fits to the parts of some splits, and what they say of the rows held out."""

    data: LabelledRows
    held: HeldOut
    frame: Frame
    grid: Grid
    log_priors: Array
    moments: Callable[[int], ClassMoments]  #: of the rows that a split learns from

    def searched(self, n_jobs: int | None) -> tuple[Array, Callable[[int, int], Array]]:
        """The mean held-out loss at each pooling, shrinkage and temperature; NaN where a covariance is singular.

        And what gives the log-densities (n_pairs, K) at the numbers of a pooling and a shrinkage, minus infinity in a
        class of which no row was seen: they are kept from the search, unless they are too many. Where they are few they
        are summed up at once, those of all splits together.
        """
        n_poolings, n_shrinkages, _ = self._shape
        count = len(self.held.rows) * n_poolings * n_shrinkages * len(self.log_priors)
        if count <= _CACHED_DENSITIES:
            densities = self._densities(n_jobs)
            summed, total = self._summed(densities, slice(None))
            return summed / (total or np.nan), lambda pooling, shrinkage: densities[:, pooling, shrinkage]
        keep = count <= _KEPT_DENSITIES
        parts = side_by_side(lambda split: self._losses_of(split, keep), list(range(self.held.n_splits)), n_jobs)
        total, nothing = sum(weight for _, weight, _ in parts), np.zeros(self._shape)
        losses = np.asarray(sum((losses for losses, _, _ in parts), nothing) / (total or np.nan))
        if keep:
            kept = [densities for _, _, densities in parts]
            return losses, lambda pooling, shrinkage: self._of_pairs([own[pooling][:, shrinkage] for own in kept])
        return losses, lambda pooling, shrinkage: self._at(pooling, shrinkage)._densities(n_jobs)[:, 0, 0]

    @property
    def _shape(self) -> tuple[int, int, int]:
        n_temperatures = len(TEMPERATURES) if self.grid.temperature is None else 1
        return len(self.grid.poolings), len(self.grid.shrinkages), n_temperatures

    def _at(self, pooling: int, shrinkage: int) -> Search:
        """The same with one pooling and one shrinkage."""
        poolings, shrinkages = self.grid.poolings[[pooling]], self.grid.shrinkages[[shrinkage]]
        return replace(self, grid=replace(self.grid, poolings=poolings, shrinkages=shrinkages))

    def _densities(self, n_jobs: int | None) -> Array:
        """The log-densities of all pairs, (n_pairs, poolings, shrinkages, K)."""
        splits = list(range(self.held.n_splits))
        return self._of_pairs(side_by_side(lambda k: np.stack(list(self._densities_of(k)), axis=1), splits, n_jobs))

    def _of_pairs(self, parts: list[Array]) -> Array:
        """What there is for the pairs of each split, in the order of the pairs."""
        found = np.empty((len(self.held.rows), *parts[0].shape[1:]))
        for split, own in enumerate(parts):
            found[self.held.fits == split] = own
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

    def _losses_of(self, split: int, keep: bool) -> tuple[Array, float, list[Array]]:
        """The summed losses of one split, the weight of its pairs, and their log-densities, pooling by pooling."""
        pairs = np.flatnonzero(self.held.fits == split)
        losses, kept, weight = [], list[Array](), 0.0
        for densities in self._densities_of(split):
            summed, weight = self._summed(densities[:, None], pairs)
            losses.append(summed)
            kept += [densities] if keep else []
        return np.concatenate(losses), weight, kept

    def _summed(self, densities: Array, pairs: Any) -> tuple[Array, float]:
        """The same of these pairs, by their log-densities."""
        whole, fixed = held_out_losses(self.data, self.held, densities, self.log_priors, pairs), self.grid.temperature
        total = float(whole.weight.sum())
        if fixed is None:
            return whole.of_grid(), total
        summed = np.zeros((densities.shape[1], *self._shape[1:]))
        step = max(1, _CACHED_DENSITIES // densities[0].size) if len(densities) else 1
        for start in range(0, len(whole.codes), step):
            summed += whole.part(slice(start, start + step)).at(fixed)[0][..., None]
        return summed, total


def part_seen(data: LabelledRows, held: HeldOut, split: int) -> LabelledRows:
    """The same rows, of which only those count that a split learns from."""
    return replace(data, weight=held.seen[:, split] * data.weight_of(slice(None)))


def held_out_losses(
    data: LabelledRows, held: HeldOut, log_densities: Array, log_priors: Array, pairs: Any = slice(None)
) -> TemperedLosses:
    """The losses of all pairs (or some) whose class the split had seen; log-densities have shape (n_pairs, ..., K)."""
    rows = held.rows[pairs]
    codes = data.codes[rows]
    own = log_densities[np.arange(len(codes)), ..., codes]
    known = ~np.isneginf(own).all(axis=tuple(range(1, own.ndim)))
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
    """What the covariances are read from."""
    statistic = ClassMoments(len(data.classes), data.rows.n_columns, grid.grain)
    found: ClassMoments = collected(data, statistic, n_jobs)
    return found


def moments_of_splits(
    data: LabelledRows, held: HeldOut, grid: Grid, n_jobs: int | None
) -> Callable[[int], ClassMoments]:
    """What gives the moments of the rows that a split learns from: merged from those of folds, if splits are folds."""
    n_rows, p = data.rows.shape
    if not held.is_partition or (held.n_splits + 1) * len(data.classes) * p * p > MOST_NUMBERS_OF_FOLDS:
        return lambda split: class_moments(part_seen(data, held, split), grid, n_jobs=1)
    folds = moments_in_folds(data, Needs(grid.grain), held.fits, held.n_splits, max(n_rows, p), n_jobs)
    return [train for train, _ in folds.splits()].__getitem__


def regularised_rule(data: LabelledRows, held: HeldOut, grid: Grid = ALL, n_jobs: int | None = None) -> TunedRule:
    """Regularised discriminant analysis with the settings of least held-out log-loss.

    Parameters
    ----------
    data : LabelledRows
        Coded rows.
    held : HeldOut
        What each split holds out; a row may be held out several times.
    grid : Grid, default=ALL
        What is tried.
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
    """The same with one covariance and more columns than rows, in as many dimensions as there are rows.

    Rows and means have no part outside the span of the rows, and what lies there is the same for all classes.
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
        raise DegenerateDataError("No column varies within the classes: there is no covariance to estimate.")
    search = Search(data, held, frame, grid, log_priors, moments_of_splits(data, held, grid, n_jobs))
    losses, densities_at = search.searched(n_jobs)
    # Where no split has a covariance, that of all rows is shrunk as far as can be.
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
            "A covariance is singular: columns that can be computed from others, or too few rows. Set ",
            Setting("shrinkage"), " above 0, or leave its choice to ", Setting("shrinkage", "cv"), ".",
        )  # fmt: skip
    rule = spectra.rule(settings["shrinkage"], settings["temperature"], log_shares(present))
    return frame.in_columns(rule).spread_over(moments.present)


@dataclass(eq=False, repr=False)
class RegularizedDiscriminantAnalysis(PosteriorClassifier):
    """Regularised discriminant analysis: normal classes with covariances between LDA's, QDA's and a sphere.

    The score of class k is ``log prior_k + t log density_k``, the density normal with covariance
    ``(1 - g) S_k(l) + g (tr S_k(l) / p) I``, where ``S_k(l)`` is the scatter ``(1 - l) scatter_k + l scatter`` over the
    same mixture of weights. ``l = 1`` is LDA, ``l = g = 0`` QDA (with the divisors N and N_k); a temperature t below 1
    corrects densities that are too sure of themselves, as those of columns that are not normal are.

    Columns are measured by their standard deviation over all rows, those of two values by the step between them:
    units do not matter. With more columns than rows one covariance is taken for all classes, unless told otherwise.

    Parameters
    ----------
    priors : array-like or dict, default=None
        Class probabilities, in class order or by label. Default: the shares of the training rows.
    pooling : float in [0, 1] or "cv", default="cv"
        From each class's own covariance (0) to the one that they have in common (1): l.
    shrinkage : float in [0, 1] or "cv", default="cv"
        How far covariances move towards a sphere: g.
    temperature : float in (0, 1] or "cv", default="cv"
        How much of the log-densities counts: t. What is "cv" is chosen together, by the log-loss of held-out rows.
    folds : int, default=5
        Folds of "cv"; rows are dealt into them up to five times where they are few.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
    pooling_, shrinkage_, temperature_ : float
        What was chosen or given.
    loss_ : float
        The held-out log-loss with them.
    class_count_ : array of shape (K,)
        The weight of each class among the training rows.
    means_ : array of shape (K, p)
        Of the classes; known with no more columns than rows, like the covariances.
    covariances_ : array of shape (K, p, p)
        With the pooling and shrinkage that were chosen, divided as maximum likelihood does.
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes
        Where ``pooling_`` is 1, so that scores are linear.

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
            raise AttributeError("covariances_ is not known: there were more columns than rows.")
        inverses = self.rule_.spheres @ self.rule_.spheres.transpose(0, 2, 1) / self.temperature_
        return np.linalg.inv(inverses)

    def _describe(self, data: LabelledRows, tuned: TunedRule) -> None:
        """Keep the class means; and the covariance where it is one for all, which a linear rule does not hold."""
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
        """The rule of all rows, with settings that enough of them have chosen."""
        temperature = None if self.temperature == "cv" else float(self.temperature)
        grid = Grid(_tried(self.pooling, _POOLINGS), _tried(self.shrinkage, _SHRINKAGES), temperature)
        sample = data.every(-(-data.n_rows // ENOUGH_ROWS))
        held = HeldOut.repeated(sample.codes, self.folds, groups=sample.cluster)
        tuned = regularised_rule(sample, held, grid, self.n_jobs)
        if sample.n_rows == data.n_rows:
            return tuned
        chosen = replace(grid, poolings=np.array([tuned.settings["pooling"]]))
        moments = class_moments(data, chosen, self.n_jobs)
        return replace(tuned, rule=fitted_rule(Frame.of_columns(data, moments), moments, tuned.settings))


def _tried(given: float | Literal["cv"], grid: Array) -> Array:
    return grid if given == "cv" else np.array([float(given)])
