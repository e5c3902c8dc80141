"""Means of row values such as losses, with intervals for skewed distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ..arrays import Array
from .intervals import MIN_EFFECTIVE_ROWS, Interval, no_interval, quantile
from .sampling import ENOUGH_ROWS, SamplingDesign

#: For the range of a mean (see `Mean.interval`): pseudo-rows with the losses that the model expects (two, as in
#: Wilson's interval), additional pseudo-rows with the losses expected by a model that is overconfident by a factor of
#: 2, and the weight of the symmetric interval in the lower limit. Larger values give wider ranges. Without pseudo-rows
#: ranges covered in 55 % of samples with few large losses; with them, in 92 % or more.
_EXPECTED_ROWS: Final = 2.0


_OVERCONFIDENT_ROWS: Final = 10.0


_SYMMETRIC_SHARE: Final = 0.25


@dataclass(frozen=True, eq=False)
class Mean:
    """A weighted mean of values of rows, which can be merged with that of other rows.

    ``squares``, ``cubes`` and ``fourths`` are weighted sums of powers of the deviations from the mean. ``expected`` has
    the sums over rows of the value, its square and its cube that a model expects: by its probabilities, then by
    probabilities of half the log-odds; None without expected values.
    """

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    fourths: float = 0.0
    expected: Array | None = None

    @classmethod
    def of(cls, values: Array, weight: Array | None = None, expected: Array | None = None) -> Mean:
        """The mean of these values."""
        weights = np.ones(len(values)) if weight is None else weight
        total = float(weights.sum())
        if total == 0:
            return cls()
        mean = float(weights @ values) / total
        shifted = values - mean
        squares = np.square(shifted)
        second, third, fourth = (float(weights @ power) for power in (squares, shifted * squares, np.square(squares)))
        return cls(total, mean, second, third, fourth, expected)

    def merged(self, other: Mean) -> Mean:
        """The merged statistic (Chan, Golub & LeVeque)."""
        a, b = self.weight, other.weight
        total = a + b
        if a == 0 or b == 0:
            return self if b == 0 else other
        shift = other.mean - self.mean
        squares = self.squares + other.squares + shift * shift * a * b / total
        cubes = self.cubes + other.cubes + shift**3 * a * b * (a - b) / total**2
        cubes += 3 * shift * (a * other.squares - b * self.squares) / total
        fourths = self.fourths + other.fourths + shift**4 * a * b * (a * a - a * b + b * b) / total**3
        fourths += 6 * shift * shift * (a * a * other.squares + b * b * self.squares) / total**2
        fourths += 4 * shift * (a * other.cubes - b * self.cubes) / total
        expected = None if self.expected is None or other.expected is None else self.expected + other.expected
        return Mean(total, self.mean + shift * b / total, squares, cubes, fourths, expected)

    @property
    def effective_rows(self) -> float:
        """The effective number of rows of its variance (see `effective_rows`)."""
        return self.squares**2 / self.fourths if self.fourths > 0 else math.inf

    def interval(
        self, level: float, draws: float | None = None, degrees: float | None = None, rows: float | None = None
    ) -> Interval:
        """The interval of a mean of values that may be skewed, such as losses.

        As in Wilson's interval, the variance is that of the mean at each limit: it changes with the mean by the ratio
        of the third to the second central moment. ``draws`` is the number of independent rows, by default the weight,
        ``degrees`` are the degrees of freedom of the variance, and ``rows`` its effective number of rows.
        Samples with fewer than `MIN_EFFECTIVE_ROWS` may not include the large losses: pseudo-rows are then added to the
        moments (see the constants above), and the wider of the two intervals is a range.
        """
        n = self.weight if draws is None else draws
        if not n > 1:
            return no_interval(level, "one row has no variance")
        distance = quantile(level, n - 1 if degrees is None else degrees) / math.sqrt(n)
        behind, method = self.effective_rows if rows is None else rows, "Student's t, for skewed losses"
        varies = self.squares > 1e-24 * self.weight * self.mean**2
        if varies and behind >= MIN_EFFECTIVE_ROWS:
            return Interval(*self._ends(distance, n, (0.0, 0.0), 0.0), level, method)
        added = [(0.0, 0.0)]
        if self.expected is not None and n <= ENOUGH_ROWS:
            added = [(_EXPECTED_ROWS, 0.0), (_EXPECTED_ROWS, _OVERCONFIDENT_ROWS)]
        ends = [self._ends(distance, n, rows, _SYMMETRIC_SHARE) for rows in added]
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        found = Interval(low, high, level, method)
        return found if low == high else found.resting_on(behind if varies else 0.0)

    def _ends(self, distance: float, n: float, added: tuple[float, float], symmetric: float) -> tuple[float, float]:
        """The means at a distance of ``quantile`` standard deviations from this one, each with its own variance.

        ``symmetric`` is the weight of the symmetric interval in the lower limit.
        """
        moments = np.array([0.0, self.squares, self.cubes]) * n / self.weight
        for rows, (e1, e2, e3) in zip(added, np.zeros((2, 3)) if self.expected is None else self.expected, strict=True):
            m, e1, e2, e3 = self.mean, e1 / self.weight, e2 / self.weight, e3 / self.weight
            moments += rows * np.array([e1 - m, e2 - m * (2 * e1 - m), e3 - m * (3 * e2 - m * (3 * e1 - m))])
        first, second, third = moments / (n + sum(added))
        variance = second - first * first
        # expected values are raw sums, whose differences have their rounding error
        rounding = 1e-24 * (self.mean**2 + second) + 1e-14 * self.mean**2 * sum(added) / (n + sum(added))
        if not variance > rounding:
            return self.mean, self.mean  # every row has the same value for every class
        slope = (third - first * (3 * second - 2 * first * first)) / variance
        centre = self.mean + distance * distance * slope / 2
        half = math.hypot(distance * math.sqrt(max(variance - first * slope, 0.0)), distance * distance * slope / 2)
        low = (1 - symmetric) * (centre - half) + symmetric * (self.mean - distance * math.sqrt(variance))
        return low, centre + half


def mean_interval(
    values: Array, design: SamplingDesign, level: float, expected: Array | None = None
) -> tuple[float, Interval]:
    """The weighted mean of row values with its interval, with effective rows if rows are in clusters."""
    found = Mean.of(values, design.weight, expected)
    if design.clusters is None:
        return found.mean, found.interval(level)
    deviations = values - found.mean
    worth, rows = design.worth(deviations, found.squares), design.rows_behind(deviations)
    interval = found.interval(level, worth, design.degrees, rows)
    return found.mean, replace(interval, method=f"{interval.method}{design.words}")
