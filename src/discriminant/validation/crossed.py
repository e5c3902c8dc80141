"""What cross-validation found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.intervals import Interval, wilson_interval
from ..results import frame_of, plain
from .answers import CEILINGS
from .fitting import fitting_notes
from .resampled import Estimate, corrected_mean
from .text import aligned, jsonable

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of each model on each split, with means, intervals and what was predicted.

    Attributes
    ----------
    models : tuple of str
    metrics : tuple of str
    classes : array of shape (K,)
    values : array of shape (models, splits, metrics)
        Scores on the held-out rows; NaN where a model has no such score (posteriors from a model without them).
    train_values : array of the same shape, or None
        Scores on the rows learned from, if asked for.
    baseline : array of shape (splits,)
        Accuracy on the held-out rows of always predicting the class that is most frequent among the training rows.
    counts : array of shape (models, K, K)
        Held-out rows by true class (rows) and predicted class (columns), over all splits.
    ratio : float
        Size of a test part over that of its training part, on average.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    classes: Array
    values: Array
    baseline: Array
    counts: Array
    ratio: float
    train_values: Array | None = None
    errors: Array = field(default_factory=lambda: np.empty(0), repr=False)  #: within one split, as means over rows
    kept_codes: dict[str, Array] = field(default_factory=dict, repr=False)
    kept_posteriors: dict[str, Array] = field(default_factory=dict, repr=False)

    @property
    def n_splits(self) -> int:
        return int(self.values.shape[1])

    def scores(self, model: str, metric: str = "accuracy") -> Array:
        """The score of each split."""
        return self.values[self._model(model), :, self._metric(metric)]

    def train_scores(self, model: str, metric: str = "accuracy") -> Array:
        """The score of each split on the rows the model learned from."""
        if self.train_values is None:
            raise ParameterError("There are no scores on training rows. Ask for them: train_scores=True.")
        return self.train_values[self._model(model), :, self._metric(metric)]

    def mean(self, model: str, metric: str = "accuracy") -> float:
        """The mean over the splits."""
        return self.estimate(model, metric).value

    def estimate(self, model: str, metric: str = "accuracy") -> Estimate:
        """The mean with a standard error that allows for the rows the splits share (Nadeau & Bengio 2003).

        Of a single split the standard error is that of a mean over its rows.
        """
        scores = self.scores(model, metric)
        if len(scores) == 1:
            error = float(self.errors[self._model(model), 0, self._metric(metric)])
            return Estimate(float(scores[0]), error, math.inf)
        return corrected_mean(scores, self.ratio)

    def interval(self, model: str, metric: str = "accuracy", level: float = 0.95) -> Interval:
        """A confidence interval of the mean, cut off where the measure ends; Wilson's for a share in a single split."""
        estimate = self.estimate(model, metric)
        if self.n_splits == 1 and metric in ("accuracy", "error"):
            return wilson_interval(estimate.value, float(self.counts[self._model(model)].sum()), level)
        floor = -math.inf if metric == "cost" else 0.0
        return estimate.interval(level).within(floor, CEILINGS.get(metric, math.inf))

    def difference(self, first: str, second: str, metric: str = "accuracy") -> Estimate:
        """The first model's mean minus the second's, split by split, with its standard error."""
        gaps = self.scores(first, metric) - self.scores(second, metric)
        if len(gaps) == 1:
            return Estimate(float(gaps[0]), math.nan, math.nan)
        return corrected_mean(gaps, self.ratio)

    def confusion(self, model: str) -> ConfusionMatrix:
        """Held-out rows by true and predicted class, over all splits."""
        return ConfusionMatrix.from_counts(self.counts[self._model(model)], self.classes)

    def predictions(self, model: str) -> Array:
        """The class predicted for each row while it was held out; with repeats, a row of the result for each."""
        return self.classes[self._kept(self.kept_codes, model, "predictions")]

    def posteriors(self, model: str) -> Array:
        """The posteriors of each row while it was held out; with repeats, along a first axis."""
        return self._kept(self.kept_posteriors, model, "posteriors")

    def _kept(self, kept: dict[str, Array], model: str, what: str) -> Array:
        self._model(model)
        if model not in kept:
            raise ParameterError(
                f"No {what} of model {model!r} were kept. Ask for them with keep={what!r}; models whose scores are not "
                "probabilities have no posteriors."
            )
        return kept[model][0] if len(kept[model]) == 1 else kept[model]

    @cached_property
    def notes(self) -> list[str]:
        """Signs of over- and underfitting in words; needs scores on the training rows."""
        if self.train_values is None or "accuracy" not in self.metrics:
            return []
        notes = []
        for name in self.models:
            notes += fitting_notes(
                name, self.train_scores(name), self.scores(name), self.baseline, self.ratio, self._one_split_error(name)
            )
        return notes

    def _one_split_error(self, model: str) -> float:
        """The standard error of one split's accuracy, all there is to judge by if there is but one."""
        return float(self.errors[self._model(model), 0, self._metric("accuracy")])

    def to_frame(self) -> Any:
        """A frame with one row for each model and split: the scores, and those on training rows if there are any."""
        pairs = [(name, split) for name in self.models for split in range(self.n_splits)]
        columns: dict[str, list[Any]] = {"model": [name for name, _ in pairs], "split": [split for _, split in pairs]}
        for m, metric in enumerate(self.metrics):
            columns[metric] = self.values[:, :, m].ravel().tolist()
            if self.train_values is not None:
                columns[f"train_{metric}"] = self.train_values[:, :, m].ravel().tolist()
        return frame_of(columns)

    def to_dict(self) -> dict[str, Any]:
        """Everything that is printed, and the scores it comes from, in plain numbers and text."""
        return jsonable(
            {
                "classes": [plain(label) for label in self.classes],
                "splits": self.n_splits,
                "models": {
                    name: {metric: self._summary(name, metric) for metric in self.metrics} for name in self.models
                },
                "confusion": {name: self.counts[i].tolist() for i, name in enumerate(self.models)},
                "baseline_accuracy": float(self.baseline.mean()),
                "notes": self.notes,
            }
        )

    def _summary(self, model: str, metric: str) -> dict[str, Any]:
        lower, upper = self.interval(model, metric)
        summary = {"mean": self.mean(model, metric), "lower": lower, "upper": upper}
        summary["scores"] = self.scores(model, metric).tolist()
        if self.train_values is not None:
            summary["train_scores"] = self.train_scores(model, metric).tolist()
        return summary

    def __str__(self) -> str:
        head = ["model", *self.metrics] + (["accuracy in training"] if self._shows_training else [])
        lines = aligned([head, *([name, *self._cells(name)] for name in self.models)])
        how = f"mean of {self.n_splits} splits" if self.n_splits > 1 else "one split"
        foot = f"{how}, 95 % intervals; the most frequent class alone reaches {self.baseline.mean():.4f}"
        return "\n".join([*lines, foot, *self.notes])

    __repr__ = __str__

    @property
    def _shows_training(self) -> bool:
        return self.train_values is not None and "accuracy" in self.metrics

    def _cells(self, model: str) -> Sequence[str]:
        cells = [self._cell(model, metric) for metric in self.metrics]
        return [*cells, f"{self.train_scores(model).mean():.4f}"] if self._shows_training else cells

    def _cell(self, model: str, metric: str) -> str:
        estimate = self.estimate(model, metric)
        if not math.isfinite(estimate.value):
            return "not available"
        if self.n_splits > 1 and math.isfinite(estimate.standard_error):
            return str(estimate)
        low, high = self.interval(model, metric)
        return f"{estimate.value:.4f}" + (f" ({low:.4f} to {high:.4f})" if math.isfinite(low) else "")

    def _model(self, name: str) -> int:
        if name not in self.models:
            raise ParameterError(f"There is no model {name!r}. Models: {', '.join(self.models)}.")
        return self.models.index(name)

    def _metric(self, name: str) -> int:
        if name not in self.metrics:
            raise ParameterError(f"{name!r} was not measured. Measured: {', '.join(self.metrics)}.")
        return self.metrics.index(name)
