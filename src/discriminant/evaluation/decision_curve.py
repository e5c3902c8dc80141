"""Decision curves: the net benefit of acting on predicted probabilities, over thresholds (Vickers & Elkin 2006).

Treating rows with probability t or more implies that a false positive costs t / (1 - t) true positives. The net benefit
per
row is ``TP / n - FP / n * t / (1 - t)``: 0 if no row is treated, ``share - (1 - share) t / (1 - t)`` if all are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ..arrays import Array
from ..data import same_length
from ..errors import ParameterError, Setting
from ..results import Result, aligned, decimal, visible
from .inputs import outcome_column, probability_column
from .sampling import SamplingDesign

TREAT_ALL: Final = "treat all"
TREAT_NONE: Final = "treat none"
#: Confidence of the pointwise intervals.
LEVEL: Final = 0.95
#: Rows of the printed table.
PRINTED_THRESHOLDS: Final = 9


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(Result):
    """The net benefit of models at thresholds.

    Attributes
    ----------
    thresholds : array of shape (n_thresholds,)
        Probabilities from which rows are treated.
    net_benefit : dict of str to array of shape (n_thresholds,)
        By model, and of treating all and none. In units of a true positive per row, or of the costs.
    low, high : dict of str to array of shape (n_thresholds,)
        Limits of pointwise 95 % intervals, from the normal distribution.
    costs : tuple of two floats, or None
        Additional costs of a false negative and a false positive over the correct decision, if costs were given.

    See Also
    --------
    decision_curve : Computes it.
    """

    thresholds: Array
    net_benefit: dict[str, Array]
    low: dict[str, Array]
    high: dict[str, Array]
    costs: tuple[float, float] | None = None

    @property
    def cost_threshold(self) -> float | None:
        """The threshold with the minimum expected cost; None without costs."""
        return None if self.costs is None else self.costs[1] / sum(self.costs)

    def _columns(self) -> Mapping[str, Any]:
        return {"threshold": self.thresholds} | self.net_benefit

    def __str__(self) -> str:
        unit = "per row" if self.costs is None else "in costs saved per row"
        names = list(self.net_benefit)
        step = max(1, len(self.thresholds) // PRINTED_THRESHOLDS)
        table = [["threshold", *map(visible, names)]]
        for i in range(0, len(self.thresholds), step):
            table.append([decimal(self.thresholds[i], 2), *(decimal(self.net_benefit[name][i]) for name in names)])
        lines = [f"Net benefit {unit}", *aligned(table)]
        if self.cost_threshold is not None:
            lines.append(f"threshold of minimum expected cost: {decimal(self.cost_threshold, 3)}")
        return "\n".join(lines)


def decision_curve(
    outcome: ArrayLike,
    probabilities: ArrayLike | Mapping[str, ArrayLike],
    thresholds: Sequence[float] | Array | None = None,
    costs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> DecisionCurve:
    """The net benefit of one or several models over thresholds, against treating all rows and none.

    Probabilities should be those of held-out rows: on training rows the net benefit is optimistic.

    Parameters
    ----------
    outcome : array-like of shape (n_rows,)
        True or False, 1 or 0.
    probabilities : array-like of shape (n_rows,), or dict of str to such
        Predicted probabilities of the outcome, of one model or by name.
    thresholds : array-like, optional
        Between 0 and 1; default: 0.01, 0.02, ..., 0.99.
    costs : array-like of shape (2, 2), optional
        The cost of each decision (column) for each true class (row), negative first. The net benefit is then in these
        units: the saved cost per row compared with treating none.
    sample_weight : array-like of shape (n_rows,), optional
        Whole weights are frequencies, others importances.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are not independent.

    Returns
    -------
    DecisionCurve

    See Also
    --------
    evaluate : Measures of a model on test rows.

    References
    ----------
    Vickers, A. J. & Elkin, E. B. (2006). Decision curve analysis: a novel method for evaluating prediction models.
    Medical Decision Making 26.

    Examples
    --------
    >>> from discriminant import decision_curve
    >>> found = decision_curve([1, 0, 1, 0, 0], [0.8, 0.3, 0.6, 0.5, 0.1], thresholds=[0.2, 0.5])
    >>> print(found)
    Net benefit per row
    threshold   model  treat all  treat none
    0.20       0.3000     0.2500      0.0000
    0.50       0.2000    -0.2000      0.0000
    """
    truth = outcome_column(outcome)
    given = probabilities if isinstance(probabilities, Mapping) else {"model": probabilities}
    models = {str(name): probability_column(p) for name, p in given.items()}
    for name, p in models.items():
        same_length(**{"outcome": truth, name: p})
    grid = np.arange(1, 100) / 100 if thresholds is None else np.asarray(thresholds, dtype=np.float64).ravel()
    if not grid.size or not ((grid > 0) & (grid < 1)).all():
        raise ParameterError(Setting("thresholds"), " must be between 0 and 1.")
    excess = None if costs is None else _excess_costs(costs)
    design = SamplingDesign.read(sample_weight, groups, len(truth))
    models |= {TREAT_ALL: np.ones(len(truth)), TREAT_NONE: np.zeros(len(truth))}
    found = {name: _curve(truth, p, grid, excess, design) for name, p in models.items()}
    half_width = float(ndtri(0.5 + LEVEL / 2))
    benefit = {name: value for name, (value, _) in found.items()}
    low = {name: value - half_width * error for name, (value, error) in found.items()}
    high = {name: value + half_width * error for name, (value, error) in found.items()}
    return DecisionCurve(grid, benefit, low, high, excess)


def _excess_costs(costs: ArrayLike) -> tuple[float, float]:
    """The additional costs of a false negative and a false positive over the correct decision."""
    table = np.asarray(costs, dtype=np.float64)
    if table.shape != (2, 2):
        raise ParameterError(Setting("costs"), f" must have shape (2, 2), got {table.shape}.")
    excess = float(table[1, 0] - table[1, 1]), float(table[0, 1] - table[0, 0])
    if not min(excess) > 0:
        raise ParameterError(Setting("costs"), " must be higher for wrong decisions than for correct ones.")
    return excess


def _curve(
    truth: Array, p: Array, grid: Array, excess: tuple[float, float] | None, design: SamplingDesign
) -> tuple[Array, Array]:
    """The net benefit at each threshold and its standard error, as a mean over rows or clusters."""
    weights = design.weights
    total = weights.sum()
    values, errors = np.empty(len(grid)), np.empty(len(grid))
    for i, t in enumerate(grid):
        gain, loss = (1.0, t / (1 - t)) if excess is None else excess
        benefit = np.where(p >= t, np.where(truth, gain, -loss), 0.0)
        values[i] = weights @ benefit / total
        influence = weights * (benefit - values[i]) / total
        if design.clusters is not None:
            influence = design.sums(influence)
        n = len(influence)
        errors[i] = np.sqrt(n / (n - 1) * (influence @ influence)) if n > 1 else np.nan
    return values, errors
