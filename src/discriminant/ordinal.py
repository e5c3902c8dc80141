"""Log-probabilities of ordered classes as functions of K - 1 scores, with their derivatives.

With thresholds ``theta_j`` and a linear predictor ``eta`` the scores of a row are ``s_j = theta_j - eta``, j = 1 to
K - 1, so that larger predictors favour higher classes. With the distribution function F of a link, the forms are

=============  ==============================================  ==================================
form           model                                           R's VGAM
=============  ==============================================  ==================================
cumulative     P(y <= j) = F(s_j)                              ``cumulative``, ``propodds``
continuation   P(y = j | y >= j) = F(s_j)                      ``sratio``
adjacent       log P(y = j) / P(y = j + 1) = s_j               ``acat(reverse = TRUE)``
=============  ==============================================  ==================================

The negative log-likelihood is convex in the scores for the three links (Pratt 1981). Probabilities of intervals are
computed on the logarithmic scale, where neither tails nor narrow intervals cancel.

References
----------
McCullagh, P. (1980). Regression models for ordinal data. Journal of the Royal Statistical Society B 42.
Pratt, J. W. (1981). Concavity of the log likelihood. Journal of the American Statistical Association 76.
Agresti, A. (2010). Analysis of Ordinal Categorical Data, 2nd edition, chapters 3 to 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from .arrays import Array
from .dependencies import Deferred

special: Any = Deferred("scipy.special")  # slow to import, and other rules do not need it

OrdinalForm = Literal["cumulative", "continuation", "adjacent"]
OrdinalLink = Literal["logit", "probit", "cloglog"]
LOG_ROOT_TWO_PI: Final = 0.5 * float(np.log(2 * np.pi))


class Interval(NamedTuple):
    """``log(F(upper) - F(lower))`` and its derivatives in both limits."""

    value: Array
    upper: Array
    lower: Array
    upper_upper: Array
    lower_lower: Array
    upper_lower: Array


def _logit_interval(lower: Array, upper: Array) -> Interval:
    width = -np.expm1(lower - upper)
    value = special.log_expit(upper) + special.log_expit(-lower) + np.log(width)
    above, below, ratio = special.expit(-upper), special.expit(lower), np.exp(lower - upper) / width
    crossed = ratio * (1 + ratio)
    second = -above * (1 - above) - crossed, -below * (1 - below) - crossed
    return Interval(value, above + ratio, -below - ratio, *second, crossed)


def _probit_interval(lower: Array, upper: Array) -> Interval:
    flipped = lower + upper > 0  # logarithms are precise in the lower tail
    low, high = (special.log_ndtr(np.where(flipped, -b, a)) for a, b in ((lower, upper), (upper, lower)))
    value = high + np.log(-np.expm1(low - high))
    at_upper, at_lower = (np.exp(-0.5 * np.square(s) - LOG_ROOT_TWO_PI - value) for s in (upper, lower))
    upper, lower = (np.where(np.isfinite(s), s, 0.0) for s in (upper, lower))
    second = -at_upper * (upper + at_upper), at_lower * (lower - at_lower)
    return Interval(value, at_upper, -at_lower, *second, at_upper * at_lower)


def _cloglog_interval(lower: Array, upper: Array) -> Interval:
    a, b = np.exp(lower), np.exp(upper)
    hazard = np.where(np.isinf(upper), np.inf, -b * np.expm1(lower - upper))  # b - a without cancellation
    value = np.log(-np.expm1(-hazard)) - a
    ratio = 1 / np.expm1(hazard)
    b = np.where(ratio > 0, b, 0.0)
    at_upper, at_lower = b * ratio, a * (1 + ratio)
    second = at_upper * (1 - b - at_upper), -at_lower * (1 + a * ratio)
    return Interval(value, at_upper, -at_lower, *second, at_upper * at_lower)


@dataclass(frozen=True)
class LinkFunction:
    """A link: the log-probability of an interval, and the score of a probability."""

    interval: Callable[[Array, Array], Interval]
    score: Callable[[Array], Array]


LINKS: Final[dict[str, LinkFunction]] = {
    "logit": LinkFunction(_logit_interval, lambda p: special.logit(p)),
    "probit": LinkFunction(_probit_interval, lambda p: special.ndtri(p)),
    "cloglog": LinkFunction(_cloglog_interval, lambda p: np.log(-np.log1p(-p))),
}


class Derivatives(NamedTuple):
    """The negative log-likelihood of each row, its slopes (n, m) and curvatures (n, m, m) in the m scores."""

    values: Array
    slopes: Array
    curvatures: Array


@dataclass(frozen=True)
class OrderedClasses:
    """A form and a link; codes of rows are 0 for the lowest class to K - 1 for the highest."""

    form: OrdinalForm = "cumulative"
    link: OrdinalLink = "logit"

    def null_scores(self, class_weights: Array) -> Array:
        """The K - 1 scores of least mean loss if all rows have the same."""
        below, above = np.cumsum(class_weights)[:-1], np.cumsum(class_weights[::-1])[::-1]
        score = LINKS[self.link].score
        if self.form == "cumulative":
            return score(below / class_weights.sum())
        if self.form == "continuation":
            return score(class_weights[:-1] / above[:-1])
        return np.log(class_weights[:-1]) - np.log(class_weights[1:])

    def log_probabilities(self, scores: Array) -> Array:
        """The log-probability of each class, (n, K)."""
        end, interval = np.full((len(scores), 1), np.inf), LINKS[self.link].interval
        with np.errstate(all="ignore"):
            if self.form == "cumulative":
                return interval(np.hstack((-end, scores)), np.hstack((scores, end))).value
            if self.form == "continuation":
                ends = np.full_like(scores, np.inf)
                stays, goes_on = interval(-ends, scores).value, interval(scores, ends).value
                none = np.zeros((len(scores), 1))
                return np.hstack((stays, none)) + np.hstack((none, np.cumsum(goes_on, axis=1)))
            return _adjacent_logs(scores)

    def derivatives(self, scores: Array, codes: Array, second: bool = True) -> Derivatives:
        """The negative log-likelihood of rows and its derivatives; infinite where a probability is not positive."""
        with np.errstate(all="ignore"):
            found = _FORMS[self.form](LINKS[self.link].interval, scores, codes, second)
            return found._replace(values=np.where(np.isnan(found.values), np.inf, found.values))

    def margins(self, code: int, n_scores: int) -> Array:
        """The functions of the scores, (margins, scores), that no recession direction decreases for a class."""
        unit, place = np.eye(n_scores), np.arange(n_scores)
        if self.form == "cumulative":
            return np.concatenate((unit[code : code + 1], -unit[max(code - 1, 0) : code]))
        if self.form == "continuation":
            return np.concatenate((unit[code : code + 1], -unit[:code]))
        # The log-odds of the class against each other class: sums of the scores between both.
        higher = (place >= code) & (place <= np.arange(code, n_scores)[:, None])
        lower = (place < code) & (place >= np.arange(code)[:, None])
        return np.concatenate((higher.astype(np.float64), -lower.astype(np.float64)))


def _adjacent_logs(scores: Array) -> Array:
    """The log-probabilities of adjacent categories: the softmax of the sums of scores from each class on."""
    sums = np.zeros((len(scores), scores.shape[1] + 1))
    sums[:, :-1] = np.cumsum(scores[:, ::-1], axis=1)[:, ::-1]
    sums -= sums.max(axis=1, keepdims=True)
    sums -= np.log(np.exp(sums).sum(axis=1, keepdims=True))
    return sums


def _cumulative(interval: Callable[[Array, Array], Interval], scores: Array, codes: Array, second: bool) -> Derivatives:
    n, m = scores.shape
    row = np.arange(n)
    ends = np.empty((n, m + 2))
    ends[:, 0], ends[:, 1:-1], ends[:, -1] = -np.inf, scores, np.inf
    found = interval(ends[row, codes], ends[row, codes + 1])
    slopes = np.zeros((n, m + 2))
    slopes[row, codes], slopes[row, codes + 1] = -found.lower, -found.upper
    curvatures = np.zeros((n, m + 2, m + 2) if second else (0, m + 2, m + 2))
    if second:
        curvatures[row, codes, codes], curvatures[row, codes + 1, codes + 1] = -found.lower_lower, -found.upper_upper
        curvatures[row, codes, codes + 1] = curvatures[row, codes + 1, codes] = -found.upper_lower
    return Derivatives(-found.value, slopes[:, 1:-1], curvatures[:, 1:-1, 1:-1])


def _continuation(
    interval: Callable[[Array, Array], Interval], scores: Array, codes: Array, second: bool
) -> Derivatives:
    place = np.arange(scores.shape[1])
    passed, stopped = place < codes[:, None], place == codes[:, None]
    found = interval(np.where(passed, scores, -np.inf), np.where(stopped, scores, np.inf))
    slopes = -np.where(passed, found.lower, np.where(stopped, found.upper, 0.0))
    curvatures = np.zeros((len(scores) if second else 0, len(place), len(place)))
    if second:
        own = np.where(passed, found.lower_lower, np.where(stopped, found.upper_upper, 0.0))
        curvatures[:, place, place] = -own
    return Derivatives(-np.where(passed | stopped, found.value, 0.0).sum(axis=1), slopes, curvatures)


def _adjacent(
    interval: Callable[[Array, Array], Interval],  # noqa: ARG001
    scores: Array,
    codes: Array,
    second: bool,
) -> Derivatives:
    logs, place = _adjacent_logs(scores), np.arange(scores.shape[1])
    below = np.cumsum(np.exp(logs), axis=1)[:, :-1]
    above = np.cumsum(np.exp(logs[:, ::-1]), axis=1)[:, ::-1][:, 1:]
    is_below = codes[:, None] <= place
    slopes = np.where(is_below, -above, below)
    curvatures = np.zeros((0, len(place), len(place)))
    if second:
        first, last = np.minimum.outer(place, place), np.maximum.outer(place, place)
        curvatures = below[:, first] * above[:, last]
    return Derivatives(-logs[np.arange(len(scores)), codes], slopes, curvatures)


_FORMS: Final = {"cumulative": _cumulative, "continuation": _continuation, "adjacent": _adjacent}
