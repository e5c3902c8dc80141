"""Intervals of measures that a bootstrap corrects for optimism.

In a resample, whose population is the original rows, a corrected measure has a known error. Errors are computed on a
scale on which a measure has no bounds: the logit of AUC, accuracies and ranked probability score, the logarithm of the
Brier score, of the log-loss and of 1 - R2, Fisher's scale of Somers' D. The apparent AUC, which is the true one of the
resamples, is too high, and the deviation of high AUCs too small; that of their logits is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit, logit

from ..arrays import Array
from ..evaluation.intervals import quantile


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
