"""Class densities over one column, and where the Bayes decision between them changes.

Each density times its prior, at points that reach far into every tail; thresholds are where the largest of them changes
owner (roots between the points, by Brent's method). What lies below the largest is the Bayes error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..data import check_integer
from ..errors import ParameterError
from ..results import Result, listed, number
from .bayes import BayesError, bayes_error, crossings_on, priors_of
from .distributions import FrozenDensity, Gaussian, class_densities

#: The share of every class that the curves leave out at each end.
_TAIL = 5e-4


@dataclass(frozen=True, repr=False, eq=False)
class DensityCurves(Result):
    """Densities of the classes over one column, times their priors.

    Attributes
    ----------
    classes : array of shape (K,)
        Labels, in the order given.
    priors : array of shape (K,)
        Their probabilities.
    x : array of shape (n,)
        Points, thresholds among them.
    joint : array of shape (K, n)
        Prior times density of each class at each point.
    thresholds : array
        Where the most probable class changes.
    error : BayesError
        The least error any classifier can have.

    See Also
    --------
    density_curves : Makes them.
    """

    classes: Array
    priors: Array
    x: Array
    joint: Array
    thresholds: Array
    error: BayesError

    @property
    def decided(self) -> Array:
        """The code of the most probable class at each point."""
        return self.joint.argmax(axis=0)

    def _columns(self) -> Mapping[str, Any]:
        return {"x": self.x, **{str(label): row for label, row in zip(self.classes.tolist(), self.joint, strict=True)}}

    def __str__(self) -> str:
        where = listed(map(number, self.thresholds)) if len(self.thresholds) else "nowhere"
        return f"{len(self.classes)} classes over {len(self.x)} points; the decision changes at {where}; {self.error}"


def density_curves(distributions: Any, priors: Any = None, n: int = 401, classes: Any = None) -> DensityCurves:
    """Densities of classes over one column, times their priors, with the thresholds between them and the Bayes error.

    Parameters
    ----------
    distributions : list or dict by class
        Of one column: `Gaussian`, or frozen distributions of ``scipy.stats``.
    priors : array-like or dict, optional
        Class probabilities. Default: equal.
    n : int, default=401
        Points, evenly spaced; thresholds come in addition.
    classes : array-like, optional
        Names of the classes of a list.

    Returns
    -------
    DensityCurves
        To be drawn by `discriminant.figures.class_densities`.

    See Also
    --------
    bayes_error : The error alone.
    class_distances : How far apart normal classes are, in any number of columns.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> print(density_curves([norm(0, 1), norm(2, 1)], priors=[0.3, 0.7]))
    2 classes over 402 points; the decision changes at 0.5764; Bayes error 0.138749 (exact)
    """
    check_integer("n", n, 2)
    densities = class_densities(distributions, classes)
    if densities.dimension != 1 or densities.discrete:
        raise ParameterError("density_curves needs continuous distributions of one column.")
    share = priors_of(priors, densities)
    share = share / share.sum()
    parts = [part for part in densities.densities if isinstance(part, (Gaussian, FrozenDensity))]
    ends = np.array([part.quantiles([_TAIL, 1 - _TAIL]) for part in parts])
    even = np.linspace(ends[:, 0].min(), ends[:, 1].max(), n)
    crossings = crossings_on(densities, share, even)
    step = 1e-6 * (even[1] - even[0])
    sides = [densities.log_joint((crossings + side)[:, None], share).argmax(axis=1) for side in (-step, step)]
    thresholds = np.unique(crossings[sides[0] != sides[1]]) if len(crossings) else crossings
    x = np.unique(np.concatenate((even, thresholds)))
    joint = np.exp(densities.log_joint(x[:, None], share)).T
    error = bayes_error(distributions, priors, classes=classes)
    return DensityCurves(densities.classes, share, x, joint, thresholds, error)
