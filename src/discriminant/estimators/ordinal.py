"""Ordinal regression: classes with an order."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, Final, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array, MatrixLike
from ..data import TrainingData, check_choice, check_order, class_order, declared_order, with_offset
from ..errors import (
    AliasWarning,
    ColumnError,
    DiscriminantWarning,
    Message,
    ParameterError,
    SeparationWarning,
    Setting,
    warn,
)
from ..inference.estimable import EstimableObjective
from ..losses import OrdinalLoss
from ..ordinal import OrderedClasses, OrdinalForm, OrdinalLink
from ..ordinal_objective import CrossedRowsPass, OrdinalObjective
from ..results import plain
from ..rules import OrdinalRule
from ..solvers import Solution
from ..solvers.ordinal import minimise_ordinal
from .base import refuse_weightless
from .checks import check_finite
from .ordinal_estimates import ordinal_separation
from .ordinal_inference import OrdinalInference

# Maximum likelihood is checked for separation if a score is this large or the solver did not converge.
LARGE_SCORE: Final = 8.0


@dataclass(eq=False, repr=False)
class OrdinalLogisticRegression(OrdinalInference):
    """Regression for classes with an order, such as grades or stages: proportional odds and its relatives.

    With thresholds ``theta_j`` and ``eta = x . coef``, the cumulative form with the logit link is the proportional odds
    model ``P(y <= j) = 1 / (1 + exp(eta - theta_j))``: one unit of a column multiplies the odds of a higher class by
    ``exp(coef)``, at every threshold. Minimises the mean negative log-likelihood plus
    ``alpha * ((1 - l1_ratio) / 2 |v|^2 + l1_ratio |v|_1)``, v the slopes times the standard deviations of their
    columns; thresholds are not penalised. ``alpha=0``, the default, is maximum likelihood. Two classes are binary
    logistic regression.

    Parameters
    ----------
    classes_order : sequence of labels, default=None
        All classes from the lowest to the highest. Default: the order of an ordered categorical (pandas, polars Enum,
        Arrow dictionary), else the sorted order; a warning shows the sorted order of text labels. Scikit-learn's
        ``cross_val_predict`` encodes labels, which loses their order: use `cross_validate`, or encode them before.
    form : {"cumulative", "continuation", "adjacent"}, default="cumulative"
        ``F(theta_j - eta)`` is P(y <= j); P(y = j | y >= j); or the odds of class j against class j + 1.
    link : {"logit", "probit", "cloglog"}, default="logit"
        The distribution function F: logistic, normal, or ``1 - exp(-exp(s))``. The adjacent form has the logit.
    nonparallel : column name or index, or sequence of them, default=()
        Columns with a slope for each threshold (partial proportional odds). The name of a category stands for all its
        indicators. Where fitted cumulative probabilities cross, predictions sort them; they remain between 0 and 1.
    alpha : float, default=0.0
        Strength of the penalty.
    l1_ratio : float, default=0.0
        Share of the L1 penalty: 0 ridge, 1 lasso.
    standardize : bool, default=True
        Whether the penalty applies to standardised columns, as in `LogisticRegression`.
    tol : float, default=1e-10
        Relative suboptimality of the objective to stop at.
    max_iter : int, default=500
        Maximum number of iterations.
    class_weight : None, "balanced" or dict, default=None
        Factors of the weights of rows, as in `LogisticRegression`.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes in sorted order, the order of the columns of ``predict_proba``.
    classes_order_ : array of shape (K,)
        The classes from the lowest to the highest.
    coef_ : array of shape (1, p), or (K - 1, p) with nonparallel columns
        Positive coefficients favour higher classes.
    thresholds_ : array of shape (K - 1,)
    nonparallel_ : array of int
        Indices of the nonparallel columns.
    solution_ : Solution
        Objective, iterations and stopping reason of the solver.
    separation_ : LogisticSeparation or None
        Set if maximum likelihood has no finite solution.
    n_crossed_ : int
        Training rows in which fitted cumulative probabilities cross.

    See Also
    --------
    LogisticRegression : For classes without an order.

    References
    ----------
    McCullagh, P. (1980). Regression models for ordinal data. Journal of the Royal Statistical Society B 42.
    Agresti, A. (2010). Analysis of Ordinal Categorical Data, 2nd edition.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import OrdinalLogisticRegression
    >>> X = np.array([[1.0], [2], [3], [4], [5], [6], [7], [8], [9]])
    >>> y = ["low", "low", "medium", "low", "medium", "high", "medium", "high", "high"]
    >>> model = OrdinalLogisticRegression(classes_order=["low", "medium", "high"]).fit(X, y)
    >>> model.predict([[1.5], [5], [9]]).tolist()
    ['low', 'medium', 'high']
    >>> model.coef_.round(3), model.thresholds_.round(2)
    (array([[1.248]]), array([4.32, 8.16]))
    """

    _: KW_ONLY
    classes_order: Any = None
    form: OrdinalForm = "cumulative"
    link: OrdinalLink = "logit"
    nonparallel: Any = ()
    alpha: float = 0.0
    l1_ratio: float = 0.0
    standardize: bool = True
    tol: float = 1e-10
    max_iter: int = 500
    class_weight: Any = None
    n_jobs: int | None = None

    _own_state = ("_training", "_estimated", "_declared_order")
    _takes_passes = True
    _has_one_score = True
    __hash__ = object.__hash__

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, frame, CSR matrix of shape (n_rows, n_columns), or rows of `open_dataset`
            Numbers; float32, float64 and CSR are not copied. See `open_dataset` for rows in files.
        y : array-like of shape (n_rows,), default=None
            Class labels. Datasets have their own labels and weights.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies if they are whole numbers, else importances such as survey weights; this matters to inference
            (`summary`), not to estimates.
        offset : array-like of shape (n_rows,), optional
            Known part of the linear predictor.
        groups : array-like of shape (n_rows,), default=None
            Without effect; models that tune themselves hold out the rows of a group together.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, declared_order(y), offset, groups=groups)

    def _check_parameters(self) -> None:
        check_choice("form", self.form, get_args(OrdinalForm))
        check_choice("link", self.link, get_args(OrdinalLink))
        if self.form == "adjacent" and self.link != "logit":
            wrong = f" does not support link={self.link!r}. Use "
            raise ParameterError(Setting("form", "adjacent"), wrong, Setting("link", "logit"), ".")
        super()._check_parameters()
        check_order(self.classes_order)

    def _learn(self, data: TrainingData, declared: list[Any] | None = None, offset: ArrayLike | None = None) -> None:
        if data.has_offset and len(data.classes) > 2:
            raise ParameterError(
                "Offsets in datasets are supported for two classes only. Use rows in memory and ",
                Setting("offset"),
                ".",
            )
        refuse_weightless(data.class_weights, data.classes)
        order = self._order(data.classes, declared)
        rank, data = np.argsort(order), with_offset(data, offset, one_score=True)
        penalty = self._penalty()
        scale = self._units(data, penalty) if self.alpha > 0 else None
        loss = OrdinalLoss(OrderedClasses(self.form, self.link), rank)
        objective = OrdinalObjective(
            data, loss, penalty, penalty_scale=scale, n_jobs=self.n_jobs, nonparallel=self._nonparallel_columns(data)
        )
        self.classes_order_, self._training = data.classes[order], objective
        solution = minimise_ordinal(objective, np.zeros(objective.shape), self.tol, self.max_iter)
        check_finite(solution.objective, data)
        self._keep(objective, solution, order)

    def _order(self, classes: Array, declared: list[Any] | None) -> Array:
        """The codes of the classes from the lowest to the highest; sorted without an order."""
        order = class_order(classes, self.classes_order, declared)
        if order is not None:
            return order
        if classes.dtype.kind in "USO" and len(classes) > 2:
            listed = " < ".join(str(plain(label)) for label in classes)
            warn(
                Message(
                    f"No class order was given; the sorted order is used: {listed}. Set ", Setting("classes_order"), "."
                ),
                DiscriminantWarning,
            )
        return np.arange(len(classes))

    def _nonparallel_columns(self, data: TrainingData) -> tuple[int, ...]:
        """The indices of nonparallel columns; the name of a category or term stands for its columns."""
        n_columns = data.rows.n_columns
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{j}" for j in range(n_columns)])]
        found: set[int] = set()
        for given in [self.nonparallel] if np.ndim(self.nonparallel) == 0 else self.nonparallel:
            if isinstance(given, str):
                own = [
                    j for j, name in enumerate(names) if name == given or name.startswith((f"{given}=", f"{given}["))
                ]
            else:
                is_index = isinstance(given, Integral) and not isinstance(given, bool)
                own = [int(given)] if is_index and 0 <= int(given) < n_columns else []
            if not own:
                raise ColumnError(f"Unknown column {given!r} in nonparallel. Columns: {', '.join(names[:8])}.")
            found.update(own)
        return tuple(sorted(found)) if len(data.classes) > 2 else ()

    def _keep(self, objective: OrdinalObjective, solution: Solution, order: Array) -> None:
        """Keep the solution and the rule, without aliased columns."""
        self.aliased_, self.separation_ = (), None
        if self.alpha == 0:
            solution = self._without_aliased(objective, solution)
            if not solution.converged or objective.sample(1).largest_score(solution.theta) > LARGE_SCORE:
                self.separation_ = ordinal_separation(objective, solution.theta)
        self.solution_, self.n_iter_ = solution, max(solution.iterations, 1)
        coef, cuts = objective.coefficients(solution.theta)
        centre = objective.standardised.centre
        self.rule_ = OrdinalRule(centre, coef, cuts, order, len(order), self.form, self.link)
        self.coef_, self.thresholds_ = coef, cuts + coef @ centre
        self.nonparallel_ = np.array(objective.nonparallel, dtype=int)
        self.n_crossed_ = self._crossed(objective)
        if self.separation_ is not None:
            infinite = self._columns(self.separation_.columns)
            kind = self.separation_.kind
            text = f"The classes are separated ({kind}): no finite maximum-likelihood estimate exists. "
            advice = f"Columns with infinite coefficients: {infinite}. Use "
            warn(Message(text, advice, Setting("alpha"), " > 0."), SeparationWarning)
        elif not solution.converged:
            text = (
                f"Ordinal regression did not converge ({solution.reason}) in {solution.iterations} iterations. Raise "
            )
            warn(Message(text, Setting("max_iter"), " or ", Setting("alpha"), "."), ConvergenceWarning)

    def _without_aliased(self, objective: OrdinalObjective, solution: Solution) -> Solution:
        """The solution with 0 for slopes that are not estimable."""
        problem = EstimableObjective.of(objective)
        if not problem.aliased:
            return solution
        self.aliased_ = problem.aliased
        columns = np.unique(objective.parameters.slope_columns[list(problem.aliased)])
        names = self._columns(columns)
        remedy = "Remove them to interpret the other coefficients."
        warn(f"Collinear, coefficient set to 0: {names}. {remedy}", AliasWarning)
        theta = problem.whole(problem.nearest(solution.theta))
        return replace(solution, theta=theta, objective=objective.value_and_gradient(theta)[0])

    def _crossed(self, objective: OrdinalObjective) -> int:
        """The number of training rows in which cumulative probabilities cross; with a warning."""
        if not objective.nonparallel or self.form != "cumulative":
            return 0
        total = objective.reduce(CrossedRowsPass(objective, self.solution_.theta))
        if total.value:
            text = f"Cumulative probabilities cross in {int(total.value):,} training rows; predictions sort them. Use "
            warn(
                Message(text, Setting("form", "continuation"), " or fewer columns in ", Setting("nonparallel"), "."),
                DiscriminantWarning,
            )
        return int(total.value)
