"""A linear classifier of two classes by its loss, with textbook solvers.

Stochastic gradients of the squared loss are Widrow and Hoff's least mean squares (LMS, Adaline). The squared error of a
sigmoid, in contrast to the logistic loss, is not convex and flat for badly misclassified rows. An iteration costs a
pass over the rows, for `solvers.StochasticGradient` a mini-batch.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from ..arrays import Array, MatrixLike
from ..data import LabelledRows, check_choice, check_integer, check_number
from ..errors import ParameterError, Setting
from ..losses import MARGIN_LOSSES
from ..objective import NO_PENALTY, Objective, Standardisation
from ..rules import LinearRule
from ..solvers.solution import Trace
from ..solvers.textbook import IRLS, GradientDescent, StochasticGradient
from .base import RuleClassifier, by_class_or_difference, refuse_many_classes, refuse_weightless
from .logistic import warn_unconverged

# Smooth losses, for gradient descent.
LOSSES = tuple(name for name, loss in MARGIN_LOSSES.items() if loss.is_smooth)
_OF_PROBABILITIES = ("logistic", "squared_sigmoid")


def _has_probabilities(model: BaseEstimator) -> bool:
    if model.loss not in _OF_PROBABILITIES:
        raise AttributeError(f"loss={model.loss!r} does not predict probabilities. Use loss='logistic'.")
    return True


@dataclass(eq=False, repr=False)
class LossClassifier(RuleClassifier):
    """The linear classifier of two classes with the smallest mean loss, by iterations from w = 0, b = 0.

    Minimises ``sum_i w_i f(m_i) / sum_i w_i`` with the margin ``m = y (w'x + b)``, y = -1 for the first class and +1
    for the second. It shows losses and solvers in the units of the data; for applications use `LogisticRegression`,
    `LeastSquaresClassifier` or `SupportVectorClassifier`.

    Parameters
    ----------
    loss : {"squared", "squared_sigmoid", "logistic", "squared_hinge"}, default="squared"
        f(m): ``(1 - m)^2 / 2``, which is ``(y - score)^2 / 2`` (LMS); ``(1 - s)^2`` with ``s = 1 / (1 + e^-m)``, the
        squared error of a probability; ``log(1 + e^-m)``; ``max(1 - m, 0)^2``. The second is not convex: stationary
        points need not be minima.
    solver : solver object, default=None
        `solvers.GradientDescent`, `solvers.StochasticGradient` or, if the loss is convex, `solvers.IRLS`. Default:
        gradient descent. One row at a time with the rate eta / n is LMS with the step eta:
        ``w + eta (y - score) x``.
    fit_intercept : bool, default=True
        Whether to fit b.
    max_iter : int, default=10000
        Maximum number of steps.
    tol : float, default=1e-06
        Relative suboptimality of the objective to stop at, estimated by the gradient.
    trace : bool, default=False
        Keep every iteration in ``trace_``.
    random_state : int, default=None
        Seed of the order of rows in `solvers.StochasticGradient`.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (2,)
    coef_, intercept_ : arrays of shape (1, p) and (1,)
    solution_ : Solution
        Objective and stopping reason of the solver.
    trace_ : solvers.Trace
        Iterates, with ``trace=True``; ``log_likelihood`` is minus the sum of the losses.

    See Also
    --------
    LinearClassifier : Losses at given weights.
    LeastSquaresClassifier : The squared loss in closed form.

    References
    ----------
    Widrow, B. & Hoff, M. E. (1960). Adaptive switching circuits. IRE WESCON Convention Record 4.

    Examples
    --------
    >>> from discriminant.datasets import six_rows
    >>> from discriminant.solvers import IRLS
    >>> data = six_rows()
    >>> lms = LossClassifier(trace=True).fit(data.X, data.y)
    >>> least_squares = LossClassifier(solver=IRLS()).fit(data.X, data.y)  # Newton's step is the last one
    >>> lms.coef_.round(3), least_squares.coef_.round(3)
    (array([[0.4]]), array([[0.4]]))
    """

    loss: Literal["squared", "squared_sigmoid", "logistic", "squared_hinge"] = "squared"
    _: KW_ONLY
    solver: Any = None
    fit_intercept: bool = True
    max_iter: int = 10_000
    tol: float = 1e-6
    trace: bool = False
    random_state: Any = None
    n_jobs: int | None = None

    _own_state = ("_training",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @available_if(_has_probabilities)
    def predict_proba(self, X: MatrixLike) -> Array:
        """The probabilities ``1 - s`` and ``s`` of the two classes, for the logistic and squared sigmoid losses.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows to classify.

        Returns
        -------
        array of shape (n_rows, 2)
        """
        rows = self._rows(X)
        return self._scorer.posterior(rows)

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_number("tol", self.tol, 0, 1, open_below=True)
        check_integer("max_iter", self.max_iter, 1)
        if self.solver is not None and not hasattr(self.solver, "minimise"):
            known = ", ".join(f"solvers.{kind.__name__}()" for kind in (GradientDescent, StochasticGradient, IRLS))
            raise ParameterError(Setting("solver"), f" must be one of {known}, got {self.solver!r}.")

    def _check_classes(self, classes: Array) -> None:
        super()._check_classes(classes)
        refuse_many_classes(self, classes, "OneVsRest")

    def _learn(self, data: LabelledRows) -> None:
        refuse_weightless(data.class_weights, data.classes)
        solver, none = self.solver or GradientDescent(), Standardisation.none(data.rows.n_columns)
        units = none if not getattr(solver, "standardised", True) else None
        objective = Objective(data, MARGIN_LOSSES[self.loss], NO_PENALTY, self.fit_intercept, units, n_jobs=self.n_jobs)
        random = {"rng": self.random_state} if isinstance(solver, StochasticGradient) else {}
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is checked below
            found = solver.minimise(
                objective, np.zeros(objective.shape), self.tol, self.max_iter, trace=self.trace, **random
            )
        if found.reason == "not finite":
            data.rows.refuse_nonfinite()
            diverged = f"The solver diverged after {found.iterations} iterations. Decrease its learning rate ("
            raise ParameterError(diverged, Setting("rate"), ").")
        self._training, self.solution_, self.n_iter_ = objective, found, max(found.iterations, 1)
        if self.trace:
            self.trace_ = Trace.of(objective, found.trace)
        self.rule_ = LinearRule.of_scores(objective.standardised.centre, *objective.linear(found.theta))
        self.coef_, self.intercept_ = by_class_or_difference(self.rule_)
        if found.reason == "max_iter":
            warn_unconverged(found, self.tol, " or the rate of the solver.")
