"""The confusion matrix and its measures, with intervals.

Rows are the truth, columns the prediction: the classes in the same order, then actions other than classes ("abstain").
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from copy import copy
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np

from ..arrays import Array, ArrayLike, RandomState
from ..data import check_choice, label_array, ordered, position_of, sorted_classes, unknown_label
from ..decision.rules import ABSTAIN
from ..errors import LabelError, ParameterError
from ..results import WIDTH, Result, aligned, count, matrix_frame, metric_name, plain, shortened, shown
from . import rates
from .intervals import Interval, check_level
from .rates import AVERAGES, OVERALL, Average, Undefined, averaged, named_rate, ratio
from .table_sample import CrossTable, Margins, Mergeable, TableSample, cross_table, margins

#: A class is hidden by the accuracy if its recall is lower than the accuracy by more than this.
_HIDDEN: Final = 0.1

#: Lists of labels.
Labels: TypeAlias = Iterable[Hashable]


def _measure(metric: str, doc: str) -> property:
    """The rate of each class, or the measure of the whole matrix, of this name."""
    overall = metric in OVERALL
    return property(lambda self: self.overall(metric) if overall else self.rate(metric), doc=doc)


class ConfusionMatrix(Mergeable, Result):
    """Counts of rows by true class (rows) and predicted class or action (columns).

    Parameters
    ----------
    classes : array-like, optional
        All classes; other labels are then an error. By default the classes are the labels that occur in truth or
        prediction.
    actions : array-like, optional
        Actions other than the classes that can be predicted; "abstain" is always allowed.

    Attributes
    ----------
    classes : array of shape (K,)
        In sorted order; the rows.
    predictions : array of shape (A,)
        The columns: the classes, then other actions.
    counts : array of shape (K, A)
        int64, or float64 sums of weights.

    See Also
    --------
    evaluate : Everything at once, with intervals.
    Evaluator : The same of rows that come in parts.

    Notes
    -----
    Rates are those of each class against all others. A rate without a denominator is NaN, and `undefined` has the
    reason. Averages over classes are then NaN too; ``undefined="skip"`` averages the others. Abstentions count as
    errors in accuracy and recall, and not at all in precision.

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

    def __init__(self, classes: Labels | None = None, actions: Labels | None = None) -> None:
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
        """The class with the lowest recall, if it is more than ten percentage points below the accuracy; else None."""
        recall = np.where(np.isnan(self.rate("recall")), np.inf, self.rate("recall"))
        k = int(np.argmin(recall))
        return plain(self.classes[k]) if recall[k] < self.overall("accuracy") - _HIDDEN else None

    @property
    def most_frequent(self) -> tuple[Any, float]:
        """The class with the most rows, and its share."""
        rows = self.counts.sum(axis=1)
        k = int(np.argmax(rows))
        return plain(self.classes[k]), float(rows[k] / rows.sum())

    @classmethod
    def of_counts(
        cls, truth: Labels, predicted: Labels, counts: Array, classes: Labels, actions: Labels | None = None
    ) -> ConfusionMatrix:
        """The matrix of pairs of labels with counts; a pair may occur several times.

        Parameters
        ----------
        truth, predicted : array-like of shape (n_pairs,)
            Labels.
        counts : int array of shape (n_pairs,)
            Number of rows of each pair.
        classes, actions : array-like
            All classes, and other actions that can be predicted.

        Returns
        -------
        ConfusionMatrix
        """
        matrix = cls(classes, actions)
        row, column = position_of(matrix._table.truth), position_of(matrix._table.prediction)
        cells = [row[plain(label)] for label in truth], [column[plain(label)] for label in predicted]
        np.add.at(matrix._table.counts, cells, counts)
        return matrix

    @classmethod
    def of(
        cls,
        y: ArrayLike,
        predicted: ArrayLike,
        classes: Labels | None = None,
        sample_weight: ArrayLike | None = None,
        actions: Labels | None = None,
    ) -> ConfusionMatrix:
        """The confusion matrix of rows.

        Parameters
        ----------
        y, predicted : array-like of shape (n_rows,)
            True labels, and predicted labels or actions.
        classes : array-like, optional
            All classes, as for `ConfusionMatrix`.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies: weight 3 counts as three rows.
        actions : array-like, optional
            Other actions, as for `ConfusionMatrix`.

        Returns
        -------
        ConfusionMatrix
            Of all the rows.
        """
        return cls(classes, actions).update(y, predicted, sample_weight)

    @classmethod
    def from_counts(cls, counts: ArrayLike, classes: Labels, actions: Labels | None = None) -> ConfusionMatrix:
        """The matrix of given counts: rows are the truth, columns the prediction, in the order of the names.

        Parameters
        ----------
        counts : array-like of shape (K, A)
            Counts, or sums of weights.
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

    def update(self, y: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows; returns the matrix itself.

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
        """Add the counts of another matrix; returns the matrix itself.

        Parameters
        ----------
        other : ConfusionMatrix
            A matrix of other rows, with the same classes or new ones.

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
        """An independent copy.

        Returns
        -------
        ConfusionMatrix
            Equal to this one.
        """
        return copy(self)

    def _take(self, table: CrossTable) -> None:
        """Add a cross table with its classes and actions; the matrix is unchanged if a label is refused."""
        classes = ordered(self._table.truth, table.truth) if self.declared is None else self.declared
        extra = list(self.extra)
        if ABSTAIN in table.prediction and ABSTAIN not in classes and ABSTAIN not in extra:
            extra.append(ABSTAIN)
        for label in table.truth:
            if label in extra:
                raise LabelError(
                    f"{shown(label)} is a true label in y and an action that is not a class. Rename the action."
                )
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
        """F_m = (m + 1) P R / (R + m P) of each class; m = 1 is F1, and m = beta^2 in the other convention.

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
        """A rate of each class by its name; NaN if it is undefined.

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
            raise ParameterError(f"Unknown measure {metric!r}. Expected one of: {', '.join(map(repr, OVERALL))}.")
        return float(OVERALL[metric].of(self._margins))

    def average(self, metric: str, how: Average = "macro", undefined: Undefined = "nan", m: float = 1.0) -> float:
        """A rate averaged over classes.

        Parameters
        ----------
        metric : str
            "recall", "precision", "specificity", "fnr", "fpr", "npv", "jaccard", "f1" or "f".
        how : {"macro", "micro", "weighted"}, default="macro"
            "macro": equal weights of the classes; "micro": counts are added before dividing; "weighted": by the rows of
            each class.
        undefined : {"nan", "skip"}, default="nan"
            Whether an undefined rate of a class makes the average NaN or is excluded.
        m : float, default=1.0
            For "f".

        Returns
        -------
        float
            The average.
        """
        return float(averaged(self._margins, named_rate(metric, m), how, undefined))

    accuracy = _measure("accuracy", "The share of all rows that are correctly classified; abstentions are not.")
    error_rate = _measure("error_rate", "The share of all rows that are not correctly classified.")
    coverage = _measure("coverage", "The share of all rows given any class.")
    selective_accuracy = _measure(
        "selective_accuracy", "The share of correctly classified rows among those that were given any class."
    )
    kappa = _measure("kappa", "Cohen's kappa.")
    mcc = _measure("mcc", "Matthews's correlation coefficient, for two classes or many.")

    def balanced_accuracy(self, undefined: Undefined = "nan") -> float:
        """The mean recall of all classes.

        Parameters
        ----------
        undefined : {"nan", "skip"}, default="nan"
            "nan": the mean is NaN if a class has no rows; "skip": such classes are excluded.

        Returns
        -------
        float
            From 0 to 1.
        """
        return self.average("recall", "macro", undefined)

    def undefined(self, metric: str) -> dict[Any, str]:
        """The reasons why a measure is undefined, by class; the key of a measure of the whole matrix is "overall".

        Parameters
        ----------
        metric : str
            A rate of a class or a measure of the whole matrix.

        Returns
        -------
        dict of str
            Empty if the measure is defined.

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
        self,
        metric: str,
        of: Hashable | None = None,
        level: float = 0.95,
        random_state: RandomState = 0,
        m: float = 1.0,
    ) -> Interval:
        """A confidence interval of a measure of this matrix, for independent rows.

        Parameters
        ----------
        metric : str
            A rate of a class, or "accuracy", "error_rate", "coverage", "selective_accuracy", "balanced_accuracy",
            "kappa" or "mcc".
        of : a class, "macro", "micro" or "weighted", optional
            Class or average, for the rate of a class.
        level : float, default=0.95
            Of the interval.
        random_state : int or Generator, default=0
            Seed of the bootstrap.
        m : float, default=1.0
            For "f".

        Returns
        -------
        Interval
            Wilson's interval for proportions; for other measures Jeffreys's interval with two classes, and the BCa
            bootstrap with more.

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
                return rates.share_interval(sample, metric, level)
            return rates.other_intervals(sample, [(metric, "overall")], level, random_state)[0]
        rate = named_rate(metric, m)
        metric = "f1" if metric == "f" and m == 1 else metric
        if of in AVERAGES and of not in classes:
            if metric != "f":
                return rates.other_intervals(sample, [(metric, of)], level, random_state)[0]
            return sample.intervals(lambda c: averaged(c, rate, of)[..., None], ["logit"], level, random_state)[0]
        if of is None:
            raise ParameterError(f"{metric} is a rate by class: of must be in {classes} or {list(AVERAGES)}.")
        if of not in classes:
            raise LabelError(f"{shown(of)} is neither a class ({classes}) nor an average ({list(AVERAGES)}).")
        k = classes.index(of)
        if metric != "f":
            return rates.class_intervals(sample, metric, level)[k]
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

    def to_frame(self, backend: str | None = None) -> Any:
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
        """The counts with named axes and margins, or the largest off-diagonal cells of a large table."""
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
        return [f"{shape}, exceeds the page width; the largest confusions:", *aligned(rows, left=2)]
