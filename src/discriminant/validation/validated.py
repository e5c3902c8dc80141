"""What an internal validation found: corrected measures, a corrected calibration curve, and unstable predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from ..arrays import Array
from ..errors import ParameterError
from ..evaluation.by_group import GroupMeasures
from ..evaluation.intervals import RANGE_MARK, RANGE_NOTE
from ..evaluation.recalibration import CalibrationCurve
from ..results import Result, aligned, decimal, metric_name, percent, quoted, several, visible

Method = Literal["bootstrap", "cv"]


@dataclass(frozen=True)
class ValidatedMeasure:
    """A measure of performance, corrected for optimism.

    Attributes
    ----------
    measure : str
        Its name; ``auc[label]`` is that of a class against the others.
    apparent : float
        On the training rows, which the model was fitted to.
    training, test : float
        Means over the resamples: of the repeated models on their own rows, and on the original rows; of a
        cross-validation on the rows held out.
    optimism : float
        ``training - test``; of a cross-validation ``apparent - test``.
    corrected : float
        ``apparent - optimism``.
    low, high : float
        Ends of the confidence interval, or of the range, of the corrected measure.
    is_range : bool
        Whether they are those of a range, whose coverage is not known.
    """

    measure: str
    apparent: float
    training: float
    test: float
    optimism: float
    corrected: float
    low: float
    high: float
    is_range: bool = True


@dataclass(frozen=True)
class UnstableRow:
    """A row with its predicted probability, the range of it over resamples, and how often its class changed."""

    row: int
    probability: float
    low: float
    high: float
    changed: float


@dataclass(frozen=True, eq=False, repr=False)
class Instability(Result):
    """How much the predictions of rows vary over the models of the resamples (Riley & Collins 2023).

    Attributes
    ----------
    probability : array of shape (n_rows,)
        Predicted by the model: of the second of two classes, of several classes of the predicted one.
    resampled : float32 array of shape (n_resamples, n_rows)
        The same, predicted by the models of the resamples.
    changed : array of shape (n_rows,)
        Classification instability index: the share of the resamples whose model predicts another class.
    level : float
        Of the ranges.

    See Also
    --------
    validate : Computes it.
    """

    probability: Array
    resampled: Array
    changed: Array
    level: float

    def _columns(self) -> Mapping[str, Any]:
        low, high = self.ranges
        return {"probability": self.probability, "low": low, "high": high, "changed": self.changed}

    def __str__(self) -> str:
        error, changed = decimal(self.mean_absolute_error), percent(float(self.changed.mean()))
        return f"prediction instability: mean absolute difference {error}, classes changed {changed}"

    @cached_property
    def ranges(self) -> Array:
        """Quantiles of the resampled predictions of each row, of shape (2, n_rows)."""
        tail = (1 - self.level) / 2
        return np.quantile(self.resampled, [tail, 1 - tail], axis=0)

    @property
    def mean_absolute_error(self) -> float:
        """The mean distance of a resampled prediction from that of the model."""
        return float(np.abs(self.resampled - self.probability).mean())

    def least_stable(self, count: int = 5) -> list[UnstableRow]:
        """The rows with the widest ranges.

        Parameters
        ----------
        count : int, default=5
            How many.

        Returns
        -------
        list of UnstableRow
            The widest first.
        """
        low, high = self.ranges
        order = np.argsort(low - high, kind="stable")[:count]
        columns = (self.probability, low, high, self.changed)
        return [UnstableRow(int(i), *(float(column[i]) for column in columns)) for i in order]


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Result):
    """What an internal validation found.

    Attributes
    ----------
    rows : list of ValidatedMeasure
        Every measure, apparent and corrected.
    method : {"bootstrap", "cv"}
        How it was found.
    n_resamples : int
        Resamples, or repeats of a cross-validation, that the figures rest on.
    failed : dict of str to int
        How many resamples were left out, by reason.
    level : float
        Of the intervals and ranges.
    instability : Instability or None
        Of the predictions of rows; None for a cross-validation, and where the predictions would not fit in memory.
    curve : CalibrationCurve or None
        The calibration curve of the second of two classes, corrected for optimism, if it was asked for.
    by_group : GroupMeasures or None
        Corrected measures of groups of rows, with differences to the rest, if ``by`` was given.
    notes : list of str
        What could not be computed, and why.

    See Also
    --------
    validate : Computes it.
    """

    rows: list[ValidatedMeasure]
    method: Method
    n_resamples: int
    failed: dict[str, int]
    level: float
    instability: Instability | None = field(default=None)
    curve: CalibrationCurve | None = field(default=None)
    by_group: GroupMeasures | None = field(default=None)
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, measure: str) -> ValidatedMeasure:
        for row in self.rows:
            if row.measure == measure:
                return row
        known = quoted([row.measure for row in self.rows], 30)
        raise ParameterError(f"Unknown measure {measure!r}. Expected one of: {known}.")

    def to_dict(self) -> dict[str, Any]:
        """The measures and how they were found, without the predictions of the resamples.

        Returns
        -------
        dict
            Plain numbers and text.
        """
        found = super().to_dict()
        del found["instability"]
        return found

    def __str__(self) -> str:
        ends = [f"[{100 * self.level:g} %", "interval]"]
        table = [["measure", "apparent", "training", "test", "optimism", "corrected", *ends]]
        for row in self.rows:
            numbers = (row.apparent, row.training, row.test, row.optimism, row.corrected, row.low, row.high)
            cells = [decimal(number) for number in numbers]
            table.append([visible(metric_name(row.measure)), *cells[:-1], cells[-1] + RANGE_MARK * row.is_range])
        what = "optimism bootstrap" if self.method == "bootstrap" else "repeated cross-validation"
        lines = [f"Internal validation: {what}, {several(self.n_resamples, _UNITS[self.method])}", *aligned(table)]
        lines += [RANGE_NOTE] if any(row.is_range for row in self.rows) else []
        lines += [f"left out: {several(count, 'resample')}: {reason}" for reason, count in self.failed.items()]
        lines += [f"note: {note}" for note in self.notes]
        if self.curve is not None:
            lines.append(f"corrected {self.curve}")
        if self.instability is not None:
            lines.append(str(self.instability))
        if self.by_group is not None:
            lines += ["", "Corrected measures by group", str(self.by_group)]
        return "\n".join(lines)


_UNITS: Final[dict[Method, str]] = {"bootstrap": "resample", "cv": "repeat"}
