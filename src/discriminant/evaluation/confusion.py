"""The confusion matrix and every measure of it, defined or not, each with its interval.

Rows are the truth, columns the prediction: a column for each class, in the same order, then actions that are no class
("abstain"). All measures need only the diagonal and the margins of the table (`Margins`), whose arrays may have leading
axes, so that the formula of the estimate is also that of its bootstrap. A measure whose denominator is 0 is NaN.
"""

from __future__ import annotations

import math
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, cast

import numpy as np

from ..arrays import Array
from ..data import (
    check_choice,
    check_number,
    check_weights,
    consecutive_runs,
    encoded,
    label_array,
    label_column,
    ordered,
    position_of,
    same_length,
    sorted_classes,
    unknown_label,
)
from ..decision.rules import ABSTAIN
from ..engine import side_by_side
from ..errors import LabelError, ParameterError
from ..kernels import counting as kernels
from ..results import WIDTH, Result, aligned, count, matrix_frame, metric_name, plain, shortened, shown
from .intervals import Interval, Margins, Scale, Statistic, TableSample, check_level, margins, no_interval

Average = Literal["macro", "micro", "weighted"]
Undefined = Literal["nan", "skip"]

AVERAGES: tuple[Average, ...] = ("macro", "micro", "weighted")

#: Integers are counted as they stand while a table of their range has at most this many cells.
_MOST_CELLS = 1 << 16
#: Rows that a worker counts at once, and how many such parts there may be.
_PART_ROWS, _MOST_PARTS = 1 << 18, 32

#: With three classes or more and fewer rows of one, resamples show too little variation of a mean over classes: with 10
#: rows in 200 of the rarest class 79 % of intervals of the balanced accuracy covered.
MIN_CLASS_ROWS: Final = 15.0


@dataclass(frozen=True)
class Rate:
    """A ratio of counts of each class, and the words for a denominator of 0."""

    part: dict[str, float]
    base: dict[str, float]
    undefined: str

    def of(self, counts: Margins) -> Array:
        return ratio(counts.combined(self.part), self.base_of(counts))

    def base_of(self, counts: Margins) -> Array:
        return counts.combined(self.base)


_ABSENT, _ALONE = "no row is of class {label}", "every row is of class {label}"


_NEITHER = "no row is of class {label} or was predicted so"


RATES = {
    "f1": Rate({"tp": 2}, {"truth": 1, "predicted": 1}, _NEITHER),
    "recall": Rate({"tp": 1}, {"truth": 1}, _ABSENT),
    "precision": Rate({"tp": 1}, {"predicted": 1}, "no row was predicted {label}"),
    "specificity": Rate({"negative": 1, "predicted": -1, "tp": 1}, {"negative": 1}, _ALONE),
    "fnr": Rate({"truth": 1, "tp": -1}, {"truth": 1}, _ABSENT),
    "fpr": Rate({"predicted": 1, "tp": -1}, {"negative": 1}, _ALONE),
    "npv": Rate(
        {"predicted_negative": 1, "truth": -1, "tp": 1}, {"predicted_negative": 1}, "every row was predicted {label}"
    ),
    "jaccard": Rate({"tp": 1}, {"truth": 1, "predicted": 1, "tp": -1}, _NEITHER),
}


def named_rate(metric: str, m: float = 1.0) -> Rate:
    """The rate of this name; "f" is F_m = (m + 1) P R / (R + m P), where m is beta squared in the other convention."""
    if metric == "f":
        check_number("m", m, 0)
        return Rate({"tp": 1 + m}, {"truth": m, "predicted": 1}, RATES["f1" if m > 0 else "precision"].undefined)
    if metric not in RATES:
        raise ParameterError(f"Unknown measure {metric!r}. Rates: 'f', {_quoted(RATES)}; {_quoted(OVERALL)}.")
    return RATES[metric]


def averaged(counts: Margins, rate: Rate, how: Average, undefined: Undefined = "nan") -> Array:
    """The rate averaged over classes.

    "macro": every class counts the same; "weighted": by its rows; "micro": counts are added before dividing. A class
    for which the rate is undefined makes macro and weighted averages NaN; "skip" leaves it out.
    """
    check_choice("undefined", undefined, ("nan", "skip"))
    check_choice("how", how, AVERAGES)
    if how == "micro":
        return ratio(counts.combined(rate.part).sum(axis=-1), rate.base_of(counts).sum(axis=-1))
    values = rate.of(counts)
    weight = np.ones(values.shape) if how == "macro" else counts.truth
    counted = (weight > 0) & ~np.isnan(values) if undefined == "skip" else weight > 0
    weight = np.where(counted, weight, 0.0)
    return ratio((weight * np.where(counted, values, 0.0)).sum(axis=-1), weight.sum(axis=-1))


@dataclass(frozen=True)
class Overall:
    """A measure of the whole table.

    A proportion of rows has ``base``, the rows it is a proportion of (their number in `Margins`); another measure a
    scale without bounds.
    """

    of: Statistic
    base: Literal["total", "covered"] | None = None
    scale: Scale = "logit"
    undefined: str = "truth or prediction is the same for every row"


def _average(metric: str, how: str) -> Statistic:
    rate = named_rate(metric)
    return lambda counts: averaged(counts, rate, cast(Average, how))


def _mcc(counts: Margins) -> Array:
    """The correlation of truth and prediction (Matthews 1975), for any number of classes (Gorodkin 2004)."""
    of_truth = (counts.truth * counts.negative).sum(axis=-1)
    of_prediction = (counts.columns * (counts.columns.sum(axis=-1, keepdims=True) - counts.columns)).sum(axis=-1)
    return ratio(_beyond_chance(counts), np.sqrt(of_truth) * np.sqrt(of_prediction))


def _beyond_chance(counts: Margins) -> Array:
    return counts.total * counts.tp.sum(axis=-1) - (counts.truth * counts.predicted).sum(axis=-1)


OVERALL = {
    "accuracy": Overall(_average("recall", "micro"), "total"),
    "error_rate": Overall(_average("fnr", "micro"), "total"),
    "coverage": Overall(lambda counts: ratio(counts.covered, counts.columns.sum(axis=-1)), "total"),
    "selective_accuracy": Overall(_average("precision", "micro"), "covered", undefined="no row was given a class"),
    "balanced_accuracy": Overall(_average("recall", "macro")),
    # Agreement beyond that of independent labels with the same margins (Cohen 1960).
    "kappa": Overall(
        lambda counts: ratio(_beyond_chance(counts), (counts.truth * counts.predicted_negative).sum(axis=-1)),
        scale="fisher",
    ),
    "mcc": Overall(_mcc, scale="fisher"),
}


#: Micro averages that are proportions of rows, by the measure of the whole table that they equal.
MICRO_SHARES: Final = {"recall": "accuracy", "fnr": "error_rate", "precision": "selective_accuracy"}


def ratio(part: Array, base: Array) -> Array:
    """``part / base``, NaN where the base is 0."""
    part, base = np.asarray(part, dtype=np.float64), np.asarray(base, dtype=np.float64)
    return np.divide(part, base, out=np.full(np.broadcast(part, base).shape, np.nan), where=base != 0)


#: Accuracy does not stand for a class whose recall is lower by more than this.
_HIDDEN = 0.1


def _quoted(names: Any) -> str:
    return ", ".join(map(repr, names))


def _measure(metric: str, doc: str) -> property:
    """The rate of each class, or the measure of the whole matrix, of this name."""
    overall = metric in OVERALL
    return property(lambda self: self.overall(metric) if overall else self.rate(metric), doc=doc)


class Mergeable:
    """What is collected of rows part by part: ``a + b`` is that of the rows of both, and changes neither."""

    def __add__(self, other: Self) -> Self:
        return deepcopy(self).merge(other) if isinstance(other, type(self)) else NotImplemented

    def merge(self, other: Self) -> Self:
        raise NotImplementedError


class ConfusionMatrix(Mergeable, Result):
    """How often each class (rows: truth) was predicted as each class or action (columns: prediction).

    Parameters
    ----------
    classes : array-like, optional
        All classes; a label that is not among them is then an error. Without it the matrix grows with the labels it
        sees, truth and prediction together.
    actions : array-like, optional
        What may be predicted besides the classes. "abstain" needs no mention, unless it is a class.

    Attributes
    ----------
    classes : array of shape (K,)
        In sorted order; the rows.
    predictions : array of shape (A,)
        What the columns stand for: the classes, then the actions that are none.
    counts : array of shape (K, A)
        int64, or float64 sums of weights.

    See Also
    --------
    evaluate : Everything at once, with intervals.
    Evaluator : The same of rows that come in parts.

    Notes
    -----
    Rates are those of each class against all others, one for each class. Where one has no denominator it is NaN, and
    `undefined` says why. Averages over classes are then NaN too; ``undefined="skip"`` averages the others. Abstaining
    is neither right nor left out: it lowers accuracy and recall, not precision.

    References
    ----------
    Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20.
    Gorodkin, J. (2004). Comparing two K-category assignments by a K-category correlation coefficient.
    Computational Biology and Chemistry 28.

    Examples
    --------
    >>> found = ConfusionMatrix.of(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", "abstain"])
    >>> print(found)
    confusion matrix: rows = truth, columns = prediction
                 prediction
    truth        cat  dog  abstain  total
    cat            1    1        0      2
    dog            0    1        1      2
    total          1    2        1      4
    >>> found.recall, found.precision
    (array([0.5, 0.5]), array([1. , 0.5]))
    >>> found.merge(ConfusionMatrix.of(["dog"], ["dog"])).counts
    array([[1, 1, 0],
           [0, 2, 1]])
    """

    def __init__(self, classes: Any = None, actions: Any = None) -> None:
        self.declared = None if classes is None else sorted_classes(classes).tolist()
        self.extra = [] if actions is None else list(actions)
        names = self.declared or []
        columns = [*names, *self.extra]
        self._table = CrossTable(names, columns, np.zeros((len(names), len(columns)), dtype=np.int64))

    @property
    def classes(self) -> Array:
        return label_array(self._table.truth)

    @property
    def predictions(self) -> Array:
        return label_array(self._table.prediction)

    @property
    def counts(self) -> Array:
        return self._table.counts

    @property
    def hidden_class(self) -> Any:
        """The class found least often, where accuracy hides it: its recall is more than ten points lower; else None."""
        recall = np.where(np.isnan(self.rate("recall")), np.inf, self.rate("recall"))
        k = int(np.argmin(recall))
        return plain(self.classes[k]) if recall[k] < self.overall("accuracy") - _HIDDEN else None

    @property
    def most_frequent(self) -> tuple[Any, float]:
        """The class with the most rows, and its share: how often always naming it is right."""
        rows = self.counts.sum(axis=1)
        k = int(np.argmax(rows))
        return plain(self.classes[k]), float(rows[k] / rows.sum())

    @classmethod
    def of_counts(cls, truth: Any, predicted: Any, counts: Array, classes: Any, actions: Any = None) -> ConfusionMatrix:
        """From pairs of labels and how many rows have each pair; a pair may come several times.

        Parameters
        ----------
        truth, predicted : array-like of shape (n_pairs,)
            Labels.
        counts : int array of shape (n_pairs,)
            How many rows have them.
        classes, actions : array-like
            All classes, and what else may be predicted.

        Returns
        -------
        ConfusionMatrix
        """
        matrix = cls(classes, actions)
        place = [
            {label: i for i, label in enumerate(names)} for names in (matrix._table.truth, matrix._table.prediction)
        ]
        rows, columns = (
            [known[plain(label)] for label in labels] for known, labels in zip(place, (truth, predicted), strict=True)
        )
        np.add.at(matrix._table.counts, (rows, columns), counts)
        return matrix

    @classmethod
    def of(
        cls, y: Any, predicted: Any, classes: Any = None, sample_weight: Any = None, actions: Any = None
    ) -> ConfusionMatrix:
        """The confusion matrix of these rows.

        Parameters
        ----------
        y, predicted : array-like of shape (n_rows,)
            True labels, and predicted labels or actions.
        classes : array-like, optional
            All classes, as for the class.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies: weight 3 counts as three rows.
        actions : array-like, optional
            Other predictions, as for the class.

        Returns
        -------
        ConfusionMatrix
            Of all the rows.
        """
        return cls(classes, actions).update(y, predicted, sample_weight)

    @classmethod
    def from_counts(cls, counts: Any, classes: Any, actions: Any = None) -> ConfusionMatrix:
        """The matrix of counts that were made elsewhere: rows truth, columns prediction, in the order of the names.

        Parameters
        ----------
        counts : array-like of shape (K, A)
            How often each class was given each prediction, or sums of weights.
        classes : array-like of shape (K,)
            Names of the rows and of the first K columns.
        actions : array-like of shape (A - K,), optional
            Names of the other columns.

        Returns
        -------
        ConfusionMatrix
            It can be updated and merged.
        """
        made = cls(classes, actions)
        values, names = np.asarray(counts), list(classes)
        columns = [*names, *made.extra]
        if values.shape != (len(names), len(columns)):
            raise ParameterError(
                f"counts must have {len(names)} rows (truth) and {len(columns)} columns (prediction), got shape "
                f"{values.shape}."
            )
        if values.dtype.kind not in "iuf" or not np.isfinite(values).all() or values.min() < 0:
            raise ParameterError("counts must be finite numbers, 0 or more.")
        made._take(CrossTable(names, columns, values.astype(np.float64 if values.dtype.kind == "f" else np.int64)))
        return made

    def update(self, y: Any, predicted: Any, sample_weight: Any = None) -> Self:
        """Count more rows; returns the matrix itself.

        Parameters
        ----------
        y, predicted : array-like of shape (n_rows,)
            True labels, and predicted labels or actions.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies.

        Returns
        -------
        ConfusionMatrix
            Itself.
        """
        self._take(cross_table(y, predicted, sample_weight))
        return self

    def merge(self, other: Self) -> Self:
        """Add what another matrix has counted; returns the matrix itself.

        Parameters
        ----------
        other : ConfusionMatrix
            Of other rows, with the same classes or new ones.

        Returns
        -------
        ConfusionMatrix
            Itself, with the counts of both.
        """
        joined = ConfusionMatrix(self.declared, list(dict.fromkeys([*self.extra, *other.extra])))
        joined._take(self._table)
        joined._take(other._table)
        self.extra, self._table = joined.extra, joined._table
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfusionMatrix):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> ConfusionMatrix:
        """A matrix with the same counts that can be updated by itself.

        Returns
        -------
        ConfusionMatrix
            Equal to this one.
        """
        return copy(self)

    def _take(self, table: CrossTable) -> None:
        """Add a cross table: its classes, and its actions that are none; nothing changes if a label is refused."""
        classes = ordered(self._table.truth, table.truth) if self.declared is None else self.declared
        extra = list(self.extra)
        if ABSTAIN in table.prediction and ABSTAIN not in classes and ABSTAIN not in extra:
            extra.append(ABSTAIN)
        for label in table.truth:
            if label in extra:
                raise LabelError(f"{shown(label)} is a true label in y, but stood for an action that is not a class.")
        predicted = [label for label in table.prediction if label not in extra]
        if self.declared is None:
            classes = ordered(classes, predicted)
        remedy = "declare predictions that are not classes: actions=[...]"
        for name, labels, more in (("y", table.truth, ()), ("predicted", predicted, (remedy,))):
            for label in labels:
                if label not in classes:
                    raise unknown_label(name, label, classes, *more)
        columns = [*classes, *extra]
        counts = self._table.arranged(classes, columns) + table.arranged(classes, columns)
        self.extra, self._table = extra, CrossTable(classes, columns, counts)

    @property
    def total(self) -> float:
        """All rows, or the sum of their weights."""
        return self.counts.sum().item()

    @property
    def _margins(self) -> Margins:
        return margins(self.counts)

    @property
    def tp(self) -> Array:
        """Rows of the class predicted as the class."""
        return np.diagonal(self.counts)

    @property
    def fn(self) -> Array:
        """Rows of the class predicted as anything else."""
        return self.counts.sum(axis=1) - self.tp

    @property
    def fp(self) -> Array:
        """Rows of other classes predicted as the class."""
        return self.counts.sum(axis=0)[: len(self.counts)] - self.tp

    @property
    def tn(self) -> Array:
        """Rows of other classes predicted as anything else."""
        return self.counts.sum() - self.tp - self.fn - self.fp

    recall = sensitivity = producers_accuracy = _measure(
        "recall",
        "TP / (TP + FN): the share of the class's rows that were found. Also sensitivity, producer's accuracy.",
    )
    precision = users_accuracy = _measure(
        "precision", "TP / (TP + FP): the share of the predictions of the class that were right. Also user's accuracy."
    )
    specificity = _measure(
        "specificity", "TN / (TN + FP): the share of the other classes' rows that were not taken for the class."
    )
    fnr = _measure("fnr", "FN / (TP + FN): the share of the class's rows that were missed.")
    fpr = _measure("fpr", "FP / (FP + TN): the share of the other classes' rows that were taken for the class.")
    npv = _measure(
        "npv", "TN / (TN + FN): the share of the predictions of other classes that were right not to name the class."
    )

    def f(self, m: float = 1.0) -> Array:
        """F_m = (m + 1) P R / (R + m P) of each class; m = 1 is F1, and m is beta squared in the other convention.

        Parameters
        ----------
        m : float, default=1.0
            Weight of the recall, 0 or more.

        Returns
        -------
        array of shape (K,)
            From 0 to 1, or NaN.
        """
        return self.rate("f", m)

    def rate(self, metric: str, m: float = 1.0) -> Array:
        """A rate of each class by its name, NaN where it is undefined.

        Parameters
        ----------
        metric : str
            Name of the rate, as in `average`.
        m : float, default=1.0
            For "f".

        Returns
        -------
        array of shape (K,)
            In the order of ``classes``.
        """
        return named_rate(metric, m).of(self._margins)

    def overall(self, metric: str) -> float:
        """A measure of the whole matrix by its name, such as "balanced_accuracy" or "kappa".

        Parameters
        ----------
        metric : str
            "accuracy", "error_rate", "coverage", "selective_accuracy", "balanced_accuracy", "kappa" or "mcc".

        Returns
        -------
        float
            NaN where it is undefined.
        """
        if metric not in OVERALL:
            raise ParameterError(f"Unknown measure {metric!r}. Measures: {_quoted(OVERALL)}.")
        return float(OVERALL[metric].of(self._margins))

    def average(self, metric: str, how: Average = "macro", undefined: Undefined = "nan", m: float = 1.0) -> float:
        """A rate averaged over classes.

        Parameters
        ----------
        metric : str
            "recall", "precision", "specificity", "fnr", "fpr", "npv", "jaccard", "f1" or "f".
        how : {"macro", "micro", "weighted"}, default="macro"
            Every class alike; counts added before dividing; by the rows of each class.
        undefined : {"nan", "skip"}, default="nan"
            Whether a class for which the rate is undefined makes the average NaN or is left out of it.
        m : float, default=1.0
            For "f".

        Returns
        -------
        float
            The average.
        """
        return float(averaged(self._margins, named_rate(metric, m), how, undefined))

    accuracy = _measure("accuracy", "The share of all rows given their own class; abstaining is not.")
    error_rate = _measure("error_rate", "The share of all rows not given their own class.")
    coverage = _measure("coverage", "The share of all rows given any class.")
    selective_accuracy = _measure(
        "selective_accuracy", "The share given their own class among the rows given any (accuracy when decided)."
    )
    kappa = _measure("kappa", "Cohen's kappa.")
    mcc = _measure("mcc", "Matthews's correlation coefficient, for two classes or many.")

    def balanced_accuracy(self, undefined: Undefined = "nan") -> float:
        """The mean recall of all classes.

        Parameters
        ----------
        undefined : {"nan", "skip"}, default="nan"
            What a class without rows does to the mean.

        Returns
        -------
        float
            From 0 to 1.
        """
        return self.average("recall", "macro", undefined)

    def undefined(self, metric: str) -> dict[Any, str]:
        """Why the measure is undefined, by class; a measure of the whole matrix has the key "overall".

        Parameters
        ----------
        metric : str
            A rate of a class or a measure of the whole matrix.

        Returns
        -------
        dict of str
            Empty where the measure is defined.

        Examples
        --------
        >>> ConfusionMatrix.of(["a", "b"], ["a", "a"]).undefined("precision")
        {'b': "precision of class 'b': no row was predicted 'b'"}
        """
        if metric in OVERALL:
            if not np.isnan(self.overall(metric)):
                return {}
            reason = OVERALL[metric].undefined
            if self.total == 0:
                reason = "no row has been counted"
            elif metric == "balanced_accuracy":
                reason = "; ".join(self.undefined("recall").values())
            return {"overall": f"{metric_name(metric)}: {reason}"}
        rate, names = named_rate(metric), self.classes.tolist()
        return {
            label: f"{metric_name(metric)} of class {shown(label)}: {rate.undefined.format(label=shown(label))}"
            for label, value in zip(names, self.rate(metric), strict=True)
            if np.isnan(value)
        }

    def interval(
        self, metric: str, of: Any = None, level: float = 0.95, random_state: Any = 0, m: float = 1.0
    ) -> Interval:
        """A confidence interval of a measure of this matrix, for rows that were drawn independently.

        Parameters
        ----------
        metric : str
            A rate of a class, or "accuracy", "error_rate", "coverage", "selective_accuracy", "balanced_accuracy",
            "kappa" or "mcc".
        of : a class, "macro", "micro" or "weighted", optional
            For the rate of a class: which class, or which average.
        level : float, default=0.95
            Of the interval.
        random_state : int or Generator, default=0
            For measures that are bootstrapped.
        m : float, default=1.0
            For "f".

        Returns
        -------
        Interval
            Wilson's for proportions; for other measures Jeffreys's of the table with two classes, with more the BCa
            bootstrap.

        References
        ----------
        Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA 22.
        Efron, B. (1987). Better bootstrap confidence intervals. JASA 82.
        Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Interval estimation for a binomial proportion. Statistical
        Science 16.

        Examples
        --------
        >>> found = ConfusionMatrix.of([0] * 40 + [1] * 60, [0] * 36 + [1] * 64)
        >>> print(found.interval("recall", of=0))
        0.7695 to 0.9604 (95 %, Wilson)
        """
        sample, classes = TableSample(self.counts), self._table.truth
        check_level(level)
        if metric in OVERALL:
            if OVERALL[metric].base is not None:
                return share_interval(sample, metric, level)
            return other_intervals(sample, [(metric, "overall")], level, random_state)[0]
        rate = named_rate(metric, m)
        metric = "f1" if metric == "f" and m == 1 else metric
        if of in AVERAGES and of not in classes:
            if metric != "f":
                return other_intervals(sample, [(metric, of)], level, random_state)[0]
            return sample.intervals(lambda c: averaged(c, rate, of)[..., None], ["logit"], level, random_state)[0]
        if of is None:
            raise ParameterError(f"{metric} is a rate of a class: give of=, one of {classes} or of {list(AVERAGES)}.")
        if of not in classes:
            raise LabelError(f"{shown(of)} is not among the classes {classes}, nor an average {list(AVERAGES)}.")
        k = classes.index(of)
        if metric != "f":
            return class_intervals(sample, metric, level)[k]
        return sample.intervals(lambda c: rate.of(c)[..., [k]], ["logit"], level, random_state)[0]

    def normalised(self, by: Literal["truth", "prediction", "all"] = "truth") -> Array:
        """The counts as shares of their row (truth), column (prediction) or all rows; NaN where there are none.

        Parameters
        ----------
        by : {"truth", "prediction", "all"}, default="truth"
            What sums to 1.

        Returns
        -------
        array of shape (K, A)
            Shares.
        """
        axes: dict[str, Any] = {"truth": -1, "prediction": -2, "all": (-2, -1)}
        check_choice("by", by, tuple(axes))
        return ratio(self.counts, self.counts.sum(axis=axes[by], keepdims=True))

    def _columns(self) -> dict[str, Any]:
        counts = dict(zip(map(str, self.predictions.tolist()), self.counts.T, strict=True))
        return {"truth": self.classes.tolist(), **counts}

    def to_frame(self, backend: Any = None) -> Any:
        """The counts: as a pandas frame with named axes, or as a frame of ``backend`` with the truth as a column.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow".

        Returns
        -------
        frame
            One row for each class.
        """
        if backend is not None:
            return super().to_frame(backend)
        return matrix_frame(self.counts, self.classes.tolist(), self.predictions.tolist(), "truth", "prediction")

    def to_dict(self) -> dict[str, Any]:
        """The matrix as plain values for JSON.

        Returns
        -------
        dict
            Classes, predictions and counts.
        """
        return {
            "rows": "truth",
            "columns": "prediction",
            "classes": self.classes.tolist(),
            "predictions": self.predictions.tolist(),
            "counts": self.counts.tolist(),
        }

    def __str__(self) -> str:
        """The counts with named axes and margins; where that is too wide, the largest off-diagonal cells."""
        head = "confusion matrix: rows = truth, columns = prediction"
        cells = [["truth".ljust(11), *map(shortened, self.predictions), "total"]]
        for label, row in zip([*self.classes, "total"], [*self.counts, self.counts.sum(axis=0)], strict=True):
            cells.append([shortened(label), *map(count, row), count(row.sum())])
        lines = aligned(cells)
        if max(map(len, lines)) > WIDTH:
            return "\n".join([head, *self._largest_confusions()])
        indent = max(len(row[0]) for row in cells) + 2
        return "\n".join([head, " " * indent + "prediction", *lines])

    def _largest_confusions(self, most: int = 10) -> list[str]:
        errors = self.counts.astype(np.float64)
        np.fill_diagonal(errors, 0)
        rows = [["truth", "prediction", "rows"]]
        for cell in np.argsort(-errors, axis=None, kind="stable")[:most]:
            i, j = np.unravel_index(cell, errors.shape)
            if errors[i, j] > 0:
                rows.append([shortened(self.classes[i]), shortened(self.predictions[j]), count(float(errors[i, j]))])
        shape = f"{len(self.classes)} classes by {len(self.predictions)} predictions"
        return [f"{shape}, too wide to print; the largest confusions:", *aligned(rows, left=2)]


@dataclass(frozen=True)
class CrossTable:
    """How often each label of the truth met each label of the prediction; labels in no particular order."""

    truth: list[Any]
    prediction: list[Any]
    counts: Array

    def arranged(self, rows: list[Any], columns: list[Any]) -> Array:
        """The counts with these labels of rows and columns; labels that did not occur count 0."""
        out = np.zeros((len(rows), len(columns)), dtype=self.counts.dtype)
        row, column = position_of(rows), position_of(columns)
        chosen = np.ix_([row[label] for label in self.truth], [column[label] for label in self.prediction])
        out[chosen] = self.counts
        return out


def cross_table(y: Any, predicted: Any, sample_weight: Any = None) -> CrossTable:
    """The cross table of two label columns: int64 counts, or float64 sums of weights."""
    truth, prediction = label_column("y", y), label_column("predicted", predicted)
    same_length(y=truth, predicted=prediction)
    weight = check_weights(sample_weight, len(truth))
    if weight is None and truth.dtype.kind in "iub" and prediction.dtype.kind in "iub":
        least = min(int(truth.min()), int(prediction.min()))
        size = max(int(truth.max()), int(prediction.max())) - least + 1
        if size * size <= _MOST_CELLS and least + size <= 2**63:
            return _integer_table(truth, prediction, least, size)
    rows, row_codes = encoded(truth)
    columns, column_codes = encoded(prediction)
    cell = row_codes * np.int64(len(columns)) + column_codes
    counts = np.bincount(cell, weights=weight, minlength=len(rows) * len(columns))
    return CrossTable(rows, columns, counts.reshape(len(rows), len(columns)))


def _integer_table(truth: Array, prediction: Array, least: int, size: int) -> CrossTable:
    starts = range(0, len(truth), _PART_ROWS)

    def of_part(part: range) -> Array:
        out = np.zeros((4, size, size), dtype=np.int64)
        for start in part:
            where = slice(start, start + _PART_ROWS)
            pair = (np.ascontiguousarray(labels[where], dtype=np.int64) for labels in (truth, prediction))
            kernels.count_pairs(*pair, least, out)
        return out.sum(axis=0)

    counts = np.sum(side_by_side(of_part, consecutive_runs(starts, _MOST_PARTS)), axis=0)
    rows, columns = np.flatnonzero(counts.any(axis=1)), np.flatnonzero(counts.any(axis=0))
    boolean = truth.dtype.kind == "b" and prediction.dtype.kind == "b"
    names = [(bool(label) if boolean else label) for label in range(least, least + size)]
    return CrossTable([names[i] for i in rows], [names[j] for j in columns], counts[np.ix_(rows, columns)])


def share_interval(sample: TableSample, metric: str, level: float) -> Interval:
    """The interval of a proportion of the whole table."""
    share, base = OVERALL[metric].of, cast(str, OVERALL[metric].base)
    return sample.share_intervals(lambda c: share(c)[..., None], lambda c: getattr(c, base)[..., None], level)[0]


def class_intervals(sample: TableSample, metric: str, level: float) -> list[Interval]:
    """The interval of a rate of each class.

    F1 is an increasing function of the Jaccard index, ``2 J / (1 + J)``, which is a proportion: that of the rows of
    the class among the rows that are of the class or were predicted so.
    """
    if metric != "f1":
        return sample.share_intervals(RATES[metric].of, RATES[metric].base_of, level)
    jaccard = RATES["jaccard"]
    found = sample.share_intervals(jaccard.of, jaccard.base_of, level, "Wilson of the Jaccard index")
    return [interval.mapped(lambda j: 2 * j / (1 + j)) for interval in found]


def table_statistic(metric: str, of: str | int) -> Statistic:
    """A measure of a table, given as ("kappa", "overall"), ("recall", "macro"), or ("recall", 1): of one class."""
    if isinstance(of, int):
        rate = named_rate(metric)
        return lambda counts: rate.of(counts)[..., of]
    return OVERALL[metric].of if of == "overall" else _average(metric, of)


def other_intervals(
    sample: TableSample, wanted: list[tuple[str, str]], level: float, random_state: Any
) -> list[Interval]:
    """The intervals of measures that are no proportions, given as ("kappa", "overall") or ("recall", "macro")."""
    functions = [table_statistic(metric, of) for metric, of in wanted]
    shares = {
        i: MICRO_SHARES[metric] for i, (metric, of) in enumerate(wanted) if of == "micro" and metric in MICRO_SHARES
    }
    scales: list[Scale] = [OVERALL[metric].scale if of == "overall" else "logit" for metric, of in wanted]
    found = sample.intervals(
        lambda counts: np.stack([function(counts) for function in functions], axis=-1), scales, level, random_state
    )
    truth = sample.margins.truth
    is_too_rare = sample.by_cluster is None and len(truth) > 2 and truth.min(initial=math.inf) < MIN_CLASS_ROWS
    for i, (metric, of) in enumerate(wanted):
        if i in shares:
            found[i] = share_interval(sample, shares[i], level)
        elif math.isnan(found[i].low):
            # At the end of its range every resample leaves the measure there.
            metric, of = ("recall", "macro") if metric == "balanced_accuracy" else (metric, of)
            if of in ("macro", "weighted"):
                found[i] = _mean_of_limits(sample, metric, of, level) or found[i]
            else:
                found[i] = _with_most_errors(sample, functions[i], level) or found[i]
        elif is_too_rare and (of == "macro" or metric == "balanced_accuracy"):
            reason = f"the rarest class has {truth.min():g} rows, of which at least {MIN_CLASS_ROWS:g} are needed"
            found[i] = no_interval(level, reason)
        elif (metric, of) == ("f1", "macro") and sample.by_cluster is None and not sample.margins.predicted.all():
            found[i] = no_interval(level, "no row was assigned to one of the classes")
    return found


def _mean_of_limits(sample: TableSample, metric: str, how: str, level: float) -> Interval | None:
    """The interval of a mean of rates of classes that are all 0 or all 1: the mean of their limits.

    The true mean can lie beyond it only if the true rate of some class lies beyond that class's own limit, and then
    the class alone makes such a table too improbable.
    """
    values, truth = named_rate(metric).of(sample.margins), sample.margins.truth
    weight = np.ones(len(truth)) if how == "macro" else truth
    there = weight > 0
    if not there.any() or not ((values[there] == 0).all() or (values[there] == 1).all()):
        return None
    ends = np.array([tuple(interval) for interval in class_intervals(sample, metric, level)])[there]
    low, high = np.average(ends, axis=0, weights=weight[there])
    return Interval(float(low), float(high), level, "mean of the classes' Wilson limits")


def _with_most_errors(sample: TableSample, function: Statistic, level: float) -> Interval | None:
    """The interval of a measure of a table without errors: to where the most errors that Wilson's limit allows lead it.

    They are spread over the classes by their rows, and the margins of the table stay.
    """
    counts, right = sample.margins, share_interval(sample, "selective_accuracy", level)
    value = float(function(counts))
    end = 0.0 if value < 0.5 else 1.0
    if float(OVERALL["selective_accuracy"].of(counts)) != 1 or not abs(value - end) <= 1e-12:
        return None
    worst = float(function(Margins(right.low * counts.tp, counts.truth, counts.columns)))
    return Interval(min(worst, end), max(worst, end), level, f"{right.method}, of the errors")
