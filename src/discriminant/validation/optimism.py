"""Internal validation: how well a model would predict new rows, from the rows it was fitted to.

The optimism bootstrap (Efron & Gong 1983; Harrell, Lee & Mark 1996) repeats the whole fit, with all tuning, on rows
drawn with replacement. What the repeated model achieves on its own rows less what it achieves on the original rows is
its optimism; the mean over resamples is subtracted from the apparent performance.

A resample also shows how far a corrected measure may be from the true one: the original rows are then the population,
and its model has a corrected performance, and its true performance on these. The correction of a resample needs
resamples of the resample (double bootstrap, Noma et al. 2021); a few are enough, because the variance that their small
number adds is known and subtracted. The interval rests on the standard deviation of the difference of corrected and
true performance over resamples, on scales without bounds. Without inner resamples the
correction is taken as the same in all resamples, and the ends are called a range: they cover too rarely where the
signal is weak.

These scales are the logit of AUC, accuracies and ranked probability score, the logarithm of the
Brier score, of the log-loss and of 1 - R2, Fisher's scale of Somers' D. The apparent AUC, which is the true one of the
resamples, is too high, and the deviation of high AUCs too small; that of their logits is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr
from sklearn.utils.validation import has_fit_parameter

from ..arrays import Array, MatrixLike, RandomState
from ..data import check_choice, check_integer, label_column, same_length
from ..decision.posteriors import innermost
from ..engine import parallel_map
from ..errors import DegenerateDataError, InputError, ParameterError, Setting, WeightError
from ..estimators.base import PosteriorClassifier
from ..evaluation.by_group import GroupMeasure, GroupMeasures, adjusted, group_masks
from ..evaluation.intervals import check_level, quantile
from ..evaluation.ordinal import class_ranks
from ..evaluation.recalibration import CalibrationCurve, CorrectedCurve
from ..results import plain, shown
from ..solvers.weightings import BLOCK_VALUES
from .labelled_table import LabelledTable, labelled_table
from .performance import performance, performances
from .resampling import Refits, Units, posterior_of
from .splits import plan_rounds
from .validated import Instability, Method, ValidatedMeasure, Validation

#: By name of the measure.
Measures = Mapping[str, Array]
#: Predictions of all resamples are kept for the instability up to this many numbers (200 MB).
MAX_KEPT_PREDICTIONS: Final = 50_000_000
#: Resamples, folds and repeats by default.
RESAMPLES: Final = 500
FOLDS: Final = 10
REPEATS: Final = 20
#: Rows drawn again for the interval of a cross-validation.
CV_RESAMPLES: Final = 400
#: Resamples that are resampled for the intervals: their standard deviation has a relative error of 7 %.
DOUBLE_RESAMPLES: Final = 100
#: Resamples of each of these by default, for fits that are made together.
INNER_RESAMPLES: Final = 12
#: Weights of rows in resamples of resamples that are drawn at a time (4 MB).
BLOCK_WEIGHTS: Final = 1 << 19
#: Measures whose intervals keep their level in simulated samples (docs/coverage.md), with the rows of the rarer class
#: that they need: in smaller samples the interval of the Brier score is too wide. Also, rows of that class per column.
COVERED: Final = {"auc": 0, "brier": 50, "calibration_slope": 0}
MIN_EVENTS_PER_COLUMN: Final = 10
UNKNOWN: Final = (math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class ValidationOptions:
    """Options of `validate`.

    Parameters
    ----------
    method : {"bootstrap", "cv"}, default="bootstrap"
        Optimism bootstrap, or repeated k-fold cross-validation.
    resamples : int or array of shape (n_resamples, n_rows), optional
        Number of bootstrap resamples, 500 by default, or the numbers of their rows.
    folds, repeats : int, optional
        Of the cross-validation: 10 folds, 20 repeats by default.
    sample_weight : array-like of shape (n_rows,), optional
        Whole numbers are frequencies: copies are drawn one by one. Others are importances, drawn with their row.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are drawn, and held out, together.
    level : float, default=0.95
        Of the intervals.
    inner_resamples : int, optional
        Resamples of each of the first 100 resamples, for the intervals (double bootstrap). Default: 12 for logistic
        regression by maximum likelihood of two classes, whose fits take little time; 0 for other models, whose measures
        then have ranges.
    curve : bool, default=False
        Whether the calibration curve of two classes is corrected, too.
    by : array-like of shape (n_rows,), optional
        Groups of rows whose measures are corrected separately, with differences to the rest; their name is ``by_name``.
    by_name : str, default="group"
        What ``by`` is called in the table.
    random_state : int or Generator, default=0
        Of the resamples or folds.
    n_jobs : int, optional
        Threads that fit models.

    See Also
    --------
    validate : Takes these options.

    Examples
    --------
    >>> from discriminant import ValidationOptions
    >>> ValidationOptions(method="cv", repeats=5).repeats
    5
    """

    method: Method = "bootstrap"
    resamples: int | ArrayLike | None = None
    folds: int | None = None
    repeats: int | None = None
    sample_weight: ArrayLike | None = None
    groups: ArrayLike | None = None
    level: float = 0.95
    inner_resamples: int | None = None
    curve: bool = False
    by: ArrayLike | None = None
    by_name: str = "group"
    random_state: RandomState = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_choice("method", self.method, ("bootstrap", "cv"))
        if self.resamples is not None and np.ndim(self.resamples) == 0:
            check_integer("resamples", self.resamples, 2)
        if self.inner_resamples not in (None, 0):
            check_integer("inner_resamples", self.inner_resamples, 2)
        for name, smallest in (("folds", 2), ("repeats", 1)):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), smallest)
        self._refuse_unused()
        check_level(self.level)

    def _refuse_unused(self) -> None:
        """Refuse options of the other method."""
        if self.method == "cv":
            other, unused = "bootstrap", {
                "resamples": self.resamples, "inner_resamples": self.inner_resamples, "curve": self.curve or None,
                "by": self.by,
            }  # fmt: skip
        else:
            other, unused = "cv", {"folds": self.folds, "repeats": self.repeats}
        for name, value in unused.items():
            if value is not None:
                used = Setting("method", self.method), ". Leave it out, or use ", Setting("method", other), "."
                raise ParameterError(Setting(name), " is not used with ", *used)


def validate(
    model: PosteriorClassifier, X: MatrixLike, y: ArrayLike, options: ValidationOptions | None = None
) -> Validation:
    """Internal validation of a model: its performance on new rows, corrected for optimism, with intervals.

    The whole procedure is repeated in every resample, with all tuning and selection that ``model.fit`` does.

    Parameters
    ----------
    model : classifier
        With ``predict_proba``; it is cloned and not changed.
    X : array-like, sparse matrix or frame of shape (n_rows, n_columns)
        The training rows.
    y : array-like of shape (n_rows,)
        Their classes.
    options : ValidationOptions, optional
        Method, resamples, weights, groups, confidence level.

    Returns
    -------
    Validation
        AUC, Brier score, log-loss, Nagelkerke's R2, calibration intercept and slope, accuracy and balanced accuracy; of
        several classes the means over the classes, and AUC and calibration of each class against the others; of an
        ordinal model also the ranked probability score and Somers' D.

    See Also
    --------
    compare : Several models on the same rows.
    evaluate : A model on test rows.

    References
    ----------
    Noma, H. et al. (2021). Confidence intervals of prediction accuracy measures for multivariable prediction models
    based on the bootstrap-based optimism correction methods. Statistics in Medicine 40.
    Efron, B. & Gong, G. (1983). A leisurely look at the bootstrap, the jackknife, and cross-validation. American
    Statistician 37.
    Harrell, F. E., Lee, K. L. & Mark, D. B. (1996). Multivariable prognostic models. Statistics in Medicine 15.
    Riley, R. D. & Collins, G. S. (2023). Stability of clinical prediction models developed using statistical or machine
    learning methods. Biometrical Journal 65.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, ValidationOptions, validate
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = validate(LogisticRegression(), X[["mean radius", "mean texture"]], y, ValidationOptions(resamples=50))
    >>> print(f"{found['auc'].corrected:.3f}")
    0.951
    """
    options = options or ValidationOptions()
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"{type(model).__name__} does not predict probabilities. Use a calibrated or probabilistic model."
        )
    table = labelled_table(X, y, options.sample_weight, options.groups)
    if table.weight is not None and not has_fit_parameter(model, "sample_weight"):
        raise WeightError(f"{type(model).__name__} does not support sample_weight. Leave it out.")
    way = _bootstrap if options.method == "bootstrap" else _cross_validation
    return way(model, table, options)


class _Bootstrap:
    """The resamples of one validation, and the measures of their models."""

    def __init__(self, model: Any, table: LabelledTable, options: ValidationOptions) -> None:
        self.table, self.options = table, options
        self.weight = np.ones(table.n_rows) if table.weight is None else table.weight
        self.rng = np.random.default_rng(options.random_state)
        fitted = table.fitted(model)
        self.posterior, self.rank = posterior_of(fitted, table), _rank(fitted, table)
        self.refits = Refits(model, table, options.n_jobs)
        if options.resamples is None or np.ndim(options.resamples) == 0:
            self.units = Units.of(table)
            size = RESAMPLES if options.resamples is None else int(options.resamples)  # type: ignore[arg-type]
            self.counts = self.units.drawn(self.units.counts, size, self.rng)
        else:
            self.units = Units(np.ones(table.n_rows), None, self.weight)
            self.counts = self.units.given(options.resamples)
        self.groups = _groups(options.by, table)
        self.notes: list[str] = []
        self.curve = self._curve() if options.curve else None
        self.kept: list[Array] = []
        self.used: list[int] = []
        self.failed: dict[str, int] = {}
        self._measures: list[Measures] = []
        self._by_group: list[list[Measures]] = [[] for _ in self.groups]

    def _curve(self) -> CorrectedCurve | None:
        """The calibration curve of the model; None, with a note, if it is not finite."""
        if len(self.table.classes) > 2:
            raise ParameterError(
                Setting("curve"), " requires two classes. Use the calibration of evaluate for several."
            )
        try:
            return CorrectedCurve.of(self.table.codes == 1, self.posterior[:, 1], self.weight)
        except DegenerateDataError as error:
            self.notes.append(f"no calibration curve: {error}")
            return None

    def corrected_curve(self) -> CalibrationCurve | None:
        """The optimism-corrected curve; None, with a note, if it is not finite."""
        try:
            return None if self.curve is None else self.curve.corrected()
        except DegenerateDataError as error:
            self.notes.append(f"no corrected calibration curve: {error}")
            return None

    def run(self) -> None:
        """Fit the model to all resamples and measure it on its own rows and on all."""
        weights = self.units.weights(self.counts)
        for numbers, posterior in self._fitted(weights, self.failed):
            self.used += numbers.tolist()
            self._add(weights[numbers], posterior)
        if len(self.used) < 2:
            raise InputError(
                f"{sum(self.failed.values())} of {len(weights)} resamples failed: {'; '.join(self.failed)}. Merge rare "
                "classes, or use a penalty."
            )

    def _fitted(self, weights: Array, failed: dict[str, int]) -> Iterator[tuple[Array, Array]]:
        """Blocks of models of weightings of the rows: their numbers and predictions (m, n, K); failures are counted."""
        refits = enumerate(self.refits.of(weights))
        while block := list(islice(refits, max(1, BLOCK_VALUES // self.table.n_rows))):
            for _, refit in block:
                if refit.posterior is None:
                    failed[refit.failure] = failed.get(refit.failure, 0) + 1
            numbers = [number for number, refit in block if refit.posterior is not None]
            if numbers:
                posterior = np.stack([refit.posterior for _, refit in block if refit.posterior is not None])
                yield np.array(numbers), posterior

    def _add(self, own: Array, posterior: Array) -> None:
        """Add models with the weights of their own rows and their predictions for all."""
        weights = np.stack((own, np.broadcast_to(self.weight, own.shape)), axis=1)
        self._measures.append(self.measured(posterior, weights))
        for measures, (_, mask) in zip(self._by_group, self.groups, strict=True):
            parts = [self.measured(posterior, weights * part) for part in (mask, ~mask)]
            measures.append({name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]})
        if self.keeps_predictions:
            self.kept.append(posterior)
        if self.curve is not None:
            for one, weight in zip(posterior, own, strict=True):
                self.curve.add(one[:, 1], weight)

    def apparent(self, mask: Array | float = 1.0) -> dict[str, float]:
        """Measures of the model itself, on all rows or some."""
        return performance(self.posterior, self.table.codes, self.weight * mask, self.rank)

    def measured(self, posterior: Array, weights: Array) -> Measures:
        """Measures of models with several weightings of the rows."""
        return performances(posterior, self.table.codes, weights, self.rank)

    @cached_property
    def measures(self) -> Measures:
        """Measures (B, 2) of the models of the resamples on their own rows and on all."""
        return joined(self._measures)

    @cached_property
    def by_group(self) -> list[Measures]:
        """Measures (B, 2, 2) of each group and of the rest, on their own rows and on all."""
        return [joined(parts) for parts in self._by_group]

    @property
    def keeps_predictions(self) -> bool:
        """Whether the predictions of all resamples fit in memory."""
        return len(self.counts) * self.table.n_rows <= MAX_KEPT_PREDICTIONS

    @cached_property
    def repeats(self) -> dict[str, Repeats]:
        """By measure: the first resamples with their own corrections; empty without inner resamples."""
        inner = self.options.inner_resamples
        size = (INNER_RESAMPLES if self.refits.is_likelihood else 0) if inner is None else inner
        if not size:
            return {}
        outer = np.array(self.used[:DOUBLE_RESAMPLES])
        step = max(1, BLOCK_WEIGHTS // (size * self.table.n_rows))
        inner_optimism = [self._inner_optimism(outer[i : i + step], size) for i in range(0, len(outer), step)]
        found = {}
        for name, optimism in joined(inner_optimism).items():
            known = np.isfinite(optimism)
            count = known.sum(axis=1)
            enough = count > 1
            optimism, count = np.where(known, optimism, np.nan)[enough], count[enough]
            training, test = self.measures[name][: len(outer)][enough].T
            noise = np.nanvar(optimism, axis=1, ddof=1) / count
            parts = np.stack((training - np.nanmean(optimism, axis=1), test, noise))
            found[name] = Repeats(*parts[:, np.isfinite(parts).all(axis=0)])
        return found

    def _inner_optimism(self, outer: Array, size: int) -> Measures:
        """The optimism (m, size) in resamples of the resamples with these numbers; NaN for those that failed."""
        drawn = [self.units.drawn(self.counts[number], size, self.rng) for number in outer]
        weights = self.units.weights(np.concatenate(drawn))
        base = np.repeat(self.units.weights(self.counts[outer]), size, axis=0)
        optimism = {name: np.full(len(weights), np.nan) for name in self.measures}
        for numbers, posterior in self._fitted(weights, {}):
            both = np.stack((weights[numbers], base[numbers]), axis=1)
            for name, values in self.measured(posterior, both).items():
                optimism[name][numbers] = values[:, 0] - values[:, 1]
        return {name: values.reshape(len(outer), size) for name, values in optimism.items()}


def joined(parts: Sequence[Measures]) -> Measures:
    """Measures of the models of all parts."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _rank(fitted: Any, table: LabelledTable) -> Array | None:
    """The ranks of the classes of an ordinal model."""
    order = getattr(innermost(fitted), "classes_order_", None)
    return None if order is None else class_ranks(order.tolist(), table.classes)


def _bootstrap(model: Any, table: LabelledTable, options: ValidationOptions) -> Validation:
    found = _Bootstrap(model, table, options)
    found.run()
    apparent = found.apparent()
    rarest = float(np.bincount(table.codes, found.weight).min())
    is_rich = found.refits.is_likelihood and rarest >= MIN_EVENTS_PER_COLUMN * table.n_columns
    rows = []
    for name, value in apparent.items():
        is_covered = is_rich and name in COVERED and rarest >= COVERED[name]
        rows.append(_measure(name, value, found.measures[name], found.repeats.get(name), options.level, is_covered))
    instability = _instability(found.posterior, np.concatenate(found.kept), options.level) if found.kept else None
    curve = found.corrected_curve()
    groups = _group_measures(found, options) if found.groups else None
    parts = (instability, curve, groups, found.notes)
    return Validation(_named(rows, table), "bootstrap", len(found.used), found.failed, options.level, *parts)


def _measure(
    name: str, apparent: float, pairs: Array, repeats: Repeats | None, level: float, is_covered: bool
) -> ValidatedMeasure:
    """A measure whose optimism is the mean difference of the pairs (B, 2)."""
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    if len(pairs) < 2:
        return ValidatedMeasure(name, apparent, *UNKNOWN)
    training, test = (float(mean) for mean in pairs.mean(axis=0))
    is_double = repeats is not None and len(repeats) > 1
    corrected = apparent - (training - test)
    used = repeats if repeats is not None and is_double else Repeats.of_pairs(pairs)
    low, high = interval(name, corrected, used, level)
    is_range = not (is_double and is_covered)
    return ValidatedMeasure(name, apparent, training, test, training - test, corrected, low, high, is_range)


def _groups(by: ArrayLike | None, table: LabelledTable) -> list[tuple[Any, Array]]:
    """The groups whose measures are corrected separately, with the masks of their rows."""
    if by is None:
        return []
    labels = label_column("by", by)
    same_length(X=table.codes, by=labels)
    return group_masks(labels)


def _group_measures(found: _Bootstrap, options: ValidationOptions) -> GroupMeasures:
    """Corrected measures of the groups and the rest, and their differences, with ranges."""
    rows, notes, table = list[GroupMeasure](), list[str](), found.table
    for g, (group, mask) in enumerate(found.groups):
        present = np.unique(table.codes[mask])
        if len(present) < 2:
            label = shown(plain(table.classes[present[0]]))
            notes.append(f"Group {shown(group)} has rows of class {label} only: it has no AUC and no calibration slope")
        own, rest = found.apparent(mask), found.apparent(~mask)
        for name, measures in found.by_group[g].items():
            known = measures[np.isfinite(measures).all(axis=(1, 2))]
            scope = "overall" if "[" not in name else plain(table.classes[int(name.partition("[")[2][:-1])])
            labels = (group, int(mask.sum()), name.partition("[")[0], scope)
            rows.append(_group_measure(labels, own[name], rest[name], known, options.level))
    return GroupMeasures(adjusted(rows), options.by_name, options.level, notes)


def _group_measure(
    labels: tuple[Any, int, str, Any], own: float, rest: float, measures: Array, level: float
) -> GroupMeasure:
    """A group's measure and that of the rest, from their pairs (B, 2, 2) in the resamples."""
    if len(measures) < 2 or not math.isfinite(own - rest):
        note = "not defined in this group or in the rest"
        return GroupMeasure(*labels, *UNKNOWN, math.nan, math.nan, is_range=True, note=note)
    optimism = measures[:, :, 0] - measures[:, :, 1]
    value, others = own - float(optimism[:, 0].mean()), rest - float(optimism[:, 1].mean())
    ends = interval(labels[2], value, Repeats.of_pairs(measures[:, 0]), level)
    deviation = float((optimism[:, 0] - optimism[:, 1]).std(ddof=1))
    half_width = quantile(level) * deviation
    difference = value - others
    p = float(2 * ndtr(-abs(difference) / deviation)) if deviation > 0 else math.nan
    numbers = (value, ends[0], ends[1], others, difference, difference - half_width, difference + half_width, p)
    return GroupMeasure(*labels, *numbers, is_range=True)


def _instability(posterior: Array, resampled: Array, level: float) -> Instability:
    predicted = posterior.argmax(axis=1)
    shown = np.ones(len(posterior), dtype=np.intp) if posterior.shape[1] == 2 else predicted
    place = np.arange(len(posterior))
    changed = (resampled.argmax(axis=2) != predicted).mean(axis=0)
    return Instability(posterior[place, shown], resampled[:, place, shown].astype(np.float32), changed, level)


def _named(rows: list[ValidatedMeasure], table: LabelledTable) -> list[ValidatedMeasure]:
    """Measures of a class by its label instead of its number."""
    labels = {f"[{k}]": f"[{plain(label)}]" for k, label in enumerate(table.classes)}
    named = []
    for row in rows:
        name, bracket, number = row.measure.partition("[")
        named.append(replace(row, measure=name + labels[bracket + number]) if bracket else row)
    return named


def _cross_validation(model: Any, table: LabelledTable, options: ValidationOptions) -> Validation:
    """Repeated k-fold: the measures of all held-out rows of a repeat together, and their mean over the repeats."""
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    whole = table.fitted(model)
    rank = _rank(whole, table)
    apparent = performance(posterior_of(whole, table), table.codes, weight, rank)
    rounds = plan_rounds(table, options.folds or FOLDS, options.repeats or REPEATS, True, options.random_state)
    held_out = []
    for part in rounds:
        posterior = np.empty((table.n_rows, len(table.classes)))
        fits = parallel_map(lambda split: table.fitted(model, split.train), part.splits, options.n_jobs)
        for split, fitted in zip(part.splits, fits, strict=True):
            posterior[split.test] = fitted.predict_proba(table.rows(split.test))
        held_out.append(posterior)
    test = [performance(posterior, table.codes, weight, rank) for posterior in held_out]
    units = Units.of(table)
    drawn = units.weights(units.drawn(units.counts, CV_RESAMPLES, np.random.default_rng(options.random_state)))
    varied = [performance(held_out[b % len(held_out)], table.codes, own, rank) for b, own in enumerate(drawn)]
    rows = []
    for name, value in apparent.items():
        mean = float(np.mean([one[name] for one in test]))
        values = np.array([one[name] for one in varied])
        values = values[np.isfinite(values)]
        tail = (1 - options.level) / 2
        low, high = np.quantile(values, [tail, 1 - tail]) if values.size else (math.nan, math.nan)
        rows.append(ValidatedMeasure(name, value, value, mean, value - mean, mean, float(low), float(high)))
    return Validation(_named(rows, table), "cv", len(rounds), {}, options.level)


@dataclass(frozen=True)
class Scale:
    """A function of a measure, its inverse, its derivative, and the range of the measure."""

    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    ends: tuple[float, float] = (-math.inf, math.inf)


IDENTITY: Final = Scale(np.asarray, np.asarray, np.ones_like)
LOGIT: Final = Scale(logit, expit, lambda value: 1 / (value * (1 - value)), (0.0, 1.0))
LOG: Final = Scale(np.log, np.exp, lambda value: 1 / value, (0.0, math.inf))
LOG_REST: Final = Scale(
    lambda value: -np.log1p(-value), lambda value: -np.expm1(-value), lambda value: 1 / (1 - value), (-math.inf, 1.0)
)
FISHER: Final = Scale(np.arctanh, np.tanh, lambda value: 1 / (1 - np.square(value)), (-1.0, 1.0))
SCALES: Final[Mapping[str, Scale]] = {
    "auc": LOGIT, "accuracy": LOGIT, "balanced_accuracy": LOGIT, "rps": LOGIT, "brier": LOG, "log_loss": LOG,
    "r2": LOG_REST, "somers_d": FISHER,
}  # fmt: skip


@dataclass(frozen=True)
class Repeats:
    """A measure in resamples: corrected for optimism, its true value in the original rows, and the variance of the
    former that is due to the number of inner resamples.
    """

    corrected: Array
    true: Array
    noise: Array

    def __len__(self) -> int:
        return len(self.corrected)

    @classmethod
    def of_pairs(cls, pairs: Array) -> Repeats:
        """Measures (B, 2) in resamples and in the original rows, with the same correction in all resamples."""
        training, test = pairs.T
        return cls(training - (training - test).mean(), test, np.zeros(len(pairs)))


def interval(name: str, corrected: float, repeats: Repeats, level: float) -> tuple[float, float]:
    """The ends of the interval of a corrected measure.

    If a measure reaches the end of its range in a resample, such as an accuracy of 1, errors are those of the measure
    itself, and the interval ends at the end of the range.
    """
    scale = SCALES.get(name.partition("[")[0], IDENTITY)
    with np.errstate(all="ignore"):
        centre = float(scale.forward(np.array(corrected)))
        errors = scale.forward(repeats.corrected) - scale.forward(repeats.true)
        noise = repeats.noise * np.square(scale.slope(repeats.corrected))
    bounds = scale.ends
    if not (math.isfinite(centre) and np.isfinite(errors).all() and np.isfinite(noise).all()):
        scale, centre, errors, noise = IDENTITY, corrected, repeats.corrected - repeats.true, repeats.noise
    raw = float(errors.var(ddof=1))
    net = raw - float(noise.mean())
    half_width = quantile(level) * math.sqrt(net if net > 0 else raw)
    low, high = scale.inverse(np.array([centre - half_width, centre + half_width]))
    return float(np.clip(low, *bounds)), float(np.clip(high, *bounds))
