"""Logistic regression, binary and multinomial, at a given penalty strength."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array, MatrixLike
from ..data import TrainingData, dense_rows, with_offset
from ..errors import AliasWarning, Message, Model, ParameterError, Part, SeparationWarning, Setting, warn
from ..inference.estimable import EstimableObjective
from ..inference.firth import FirthData, firth_fit
from ..inference.ml_existence import LogisticSeparation, detect_separation
from ..losses import log_loss
from ..moments.covariance import factorised
from ..objective import Objective, Standardisation
from ..rules import LinearRule
from ..solvers import Solution
from ..solvers.choice import EXACT_TOLERANCE, default_tolerance, named_solver
from ..solvers.gradient import HELD_OUT_SHARE, ONE_PASS, Epochs, Stream, minimise_streamed, split_rows
from ..solvers.solution import Trace
from ..solvers.textbook import StochasticGradient
from .base import by_class_or_difference, refuse_weightless
from .checks import check_finite
from .logistic_estimates import MAX_CHECKED_PARAMETERS
from .logistic_inference import LogisticInference
from .mixins import StreamingMixin

# Maximum likelihood is checked for separation if the curvature has fallen to this fraction of that at 0 and scores are
# this large.
LOST_CURVATURE: Final = 1e-3
LARGE_SCORE: Final = 8.0
# With more parameters the Hessians of this check cost more than the fit.
MAX_HESSIAN_CHECK_PARAMETERS: Final = 2_000


class LogisticClassifier(LogisticInference, StreamingMixin):
    """The base of logistic regressions with given and tuned penalties."""

    solver: Any = "auto"
    early_stopping = False
    trace = False
    random_state: Any
    _stream_state = "stream_"
    _own_state = ("_training", "_remaining", "_estimated", "_design")

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
            Class labels. Datasets have their own labels, weights and offsets.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies if they are whole numbers, else importances such as survey weights; this matters to inference
            (`summary`), not to estimates.
        offset : array-like of shape (n_rows,) or (n_rows, K), optional
            Known part of the scores.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group (patient, site) are held out together in tuning.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, offset, groups=groups)

    def _learn(self, data: TrainingData, offset: ArrayLike | None = None) -> None:
        self._minimise(self._objective(with_offset(data, offset)))

    def _minimise(self, objective: Objective, start: Array | None = None) -> None:
        self._training = objective
        refuse_weightless(objective.class_weights, objective.data.classes)
        self.aliased_, self.separation_ = (), None
        if self.firth:
            self._keep_firth(objective)
        else:
            self._keep(objective, self._solved(objective, start))

    def _learn_more(self, data: TrainingData, first: bool) -> None:
        stream = Stream.start(self._objective(data)) if first else self.stream_
        self.stream_: Stream = stream.after(data.gather(), self.random_state)
        check_finite(self.stream_.theta, data)
        self._set_rule(self.stream_.objective.standardised.centre, *self.stream_.objective.linear(self.stream_.average))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.firth and self.alpha:
            raise ParameterError(Setting("firth", True), " is itself a penalty. Use ", Setting("alpha", 0), ".")
        if self.early_stopping and self.solver not in ("auto", "sgd"):
            raise ParameterError(Setting("early_stopping"), f" needs solver 'sgd' or 'auto', got {self.solver!r}.")

    def _accept(self, classes: Array) -> None:
        super()._accept(classes)
        self._reference_code(None)

    def _objective(self, data: TrainingData, std: Array | None = None) -> Objective:
        """The objective; ``std`` are the standard deviations of the columns, if they are known."""
        loss, penalty = log_loss(len(data.classes)), self._penalty()
        std = self._units(data, penalty, std) if self.alpha > 0 else None
        # Textbook solvers use the units of the data, all others standardised columns.
        standard = None if getattr(self.solver, "standardised", True) else Standardisation.none(data.rows.n_columns)
        return Objective(data, loss, penalty, self.fit_intercept, standard, std, self.n_jobs)

    @property
    def _takes_passes(self) -> bool:
        passes = ("auto", "newton", "lbfgs", "newton-cg", "coordinate", "gradient", "sgd")
        return not self.firth and not self.early_stopping and self.solver in passes

    def _solved(self, objective: Objective, start: Array | None = None) -> Solution:
        data, options = objective.data, dict[str, Any](trace=self.trace)
        solver = "sgd" if self.early_stopping else self.solver
        minimise = named_solver(solver, objective)
        if solver == "sgd" and data.is_streamed:
            return minimise_streamed(objective, self.random_state)
        if isinstance(solver, StochasticGradient):
            options["rng"] = self.random_state
        if solver == "sgd":
            held_out = None
            if self.early_stopping:
                objective, held_out = split_rows(objective, HELD_OUT_SHARE, self.random_state)
            options["epochs"] = Epochs(self.random_state, held_out)
        tol, start = self._tolerance(objective), np.zeros(objective.shape) if start is None else start
        solution = minimise(objective, start, tol, self.max_iter, **options)
        check_finite(solution.objective, data)
        return solution

    def _tolerance(self, objective: Objective) -> float:
        if self.tol is not None:
            return self.tol
        return default_tolerance(objective) if self.solver == "auto" else EXACT_TOLERANCE

    def _complete(self, objective: Objective) -> None:
        """Continue a fit that ended at the sampling error of the loss."""
        if self.tol is None and self.solution_.converged and self._tolerance(objective) > EXACT_TOLERANCE:
            minimise = named_solver("auto", objective)
            if self.solution_.suboptimality > EXACT_TOLERANCE:
                self._keep(objective, minimise(objective, self.solution_.theta, EXACT_TOLERANCE, self.max_iter))

    def _keep(self, objective: Objective, solution: Solution) -> None:
        if len(solution.theta) > objective.n_linear_predictors and objective.penalty.l1 == 0:
            solution = replace(solution, theta=objective.contrasts @ solution.theta)
        if self.alpha == 0 and objective.n_parameters <= MAX_HESSIAN_CHECK_PARAMETERS:
            solution = self._check_identifiability(objective, solution)
        self.solution_, self.n_iter_ = solution, max(solution.iterations, 1)
        if self.trace:
            self.trace_ = Trace.of(objective, solution.trace)
        self._set_rule(objective.standardised.centre, *objective.linear(solution.theta))
        least = objective.data.smallest_weight
        # A row whose own class has more than half of the probability adds less than log 2 to the loss.
        separated = solution.objective * objective.total_weight < np.log(2) * least
        if self.separation_ is not None:
            return
        if self.alpha == 0 and not objective.data.has_offset and separated:
            warn_separated("complete", "", Setting("alpha"), " > 0")
        elif not solution.converged and solution.reason not in ("early stopping", ONE_PASS):
            warn_unconverged(solution, self._tolerance(objective), ", or use ", Setting("solver", "auto"), ".")

    def _set_rule(self, centre: Array, coef: Array, intercept: Array) -> None:
        """Set the rule of these scores of all classes, or of the second of two against the first."""
        self.rule_ = LinearRule.of_scores(centre, coef, intercept)
        self.coef_, self.intercept_ = by_class_or_difference(self.rule_)

    def _check_identifiability(self, objective: Objective, solution: Solution) -> Solution:
        """The solution without aliased columns; sets ``aliased_`` and ``separation_``.

        Both appear as directions without curvature in a sample of the rows.
        """
        enough = max(4_000, 20 * objective.n_parameters)
        sample = objective.sample(max(1, objective.data.n_rows // enough))
        sound = solution.converged and solution.objective > 1e-6
        if sound and (
            objective.n_parameters > MAX_CHECKED_PARAMETERS or lost_curvature(sample, solution.theta) > LOST_CURVATURE
        ):
            return solution
        problem = EstimableObjective.of(objective)
        theta, self.aliased_ = solution.theta, problem.aliased
        if self.aliased_:
            solution = _without_aliased(problem, solution, sound)
            theta = solution.theta
            aliased = self._columns(self.aliased_)
            remedy = "Remove them to interpret the other coefficients."
            warn(f"Collinear, coefficient set to 0: {aliased}. {remedy}", AliasWarning)
        if not sound or objective.largest_score(theta) > LARGE_SCORE:
            self.separation_ = self._separation(objective, theta)
        return solution

    def _separation(self, objective: Objective, theta: Array) -> LogisticSeparation | None:
        """Whether maximum likelihood has no finite solution, decided by a linear programme."""
        data = objective.data.sample()  # rows are not separated if a sample of them is not
        counted = slice(None) if data.weight is None else data.weight > 0
        X = dense_rows(data.rows.block(0, data.n_rows))[counted]
        coef, intercept = objective.linear(theta)
        scores = np.column_stack((coef, intercept - coef @ objective.standardised.centre))
        start = np.vstack((np.zeros_like(scores), scores)) if len(scores) == 1 else scores
        found = detect_separation(X, data.codes[counted], len(data.classes), self.fit_intercept, start)
        if found.kind == "none":
            return None
        where = "" if data.n_rows == objective.data.n_rows else f" in a sample of {data.n_rows:,} rows"
        infinite = f" Columns with infinite coefficients{where}: {self._columns(found.columns)}."
        warn_separated(found.kind, infinite, Setting("firth", True), " or ", Setting("alpha"), " > 0")
        return found

    def _keep_firth(self, objective: Objective) -> None:
        rows, K, p = FirthData.of(objective), len(self.classes_), objective.n_columns
        if not np.isfinite(rows.X).all():
            objective.data.rows.refuse_nonfinite()
        fit = firth_fit(rows, None if K == 2 else K, self.fit_intercept)
        self.firth_, self.n_iter_ = fit, max(fit.iterations, 1)
        if not fit.converged:
            warn(f"Firth's likelihood did not converge. Iterations: {fit.iterations}.", ConvergenceWarning)
        scores = np.atleast_2d(fit.coef)
        if K > 2:  # log-odds against the last class become scores that sum to 0 over the classes
            scores = np.append(scores, np.zeros((1, p + 1)), axis=0)
            scores -= scores.mean(axis=0)
        self._set_rule(np.zeros(p), scores[:, :p], scores[:, p])


@dataclass(eq=False, repr=False)
class LogisticRegression(LogisticClassifier):
    """Logistic regression: log-odds linear in the columns, two classes or many.

    Minimises ``sum_i w_i loss_i / sum_i w_i + alpha * ((1 - l1_ratio) / 2 |v|^2 + l1_ratio |v|_1)`` with the logistic
    loss (two classes) or the softmax cross-entropy, v the coefficients times the standard deviations of their columns;
    the intercept is never penalised. ``alpha=0``, the default, is maximum likelihood.

    `partial_fit` makes one pass of stochastic gradient descent over its rows, with decreasing step lengths and columns
    standardised by the first rows.

    Parameters
    ----------
    alpha : float, default=0.0
        Strength of the penalty.
    l1_ratio : float, default=0.0
        Share of the L1 penalty: 0 ridge, 1 lasso.
    standardize : bool, default=True
        Whether the penalty applies to standardised columns (divisor n, as glmnet), so that units do not matter;
        coefficients are reported in the units of the data. False is scikit-learn's objective, for columns of one kind
        such as words. Indicators of levels (rows of `read_training` and `TableEncoder`) are not standardised for a
        ridge, which would otherwise shrink rare levels less than others.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    solver : str or solver object, default="auto"
        "auto", "newton", "lbfgs", "newton-cg", "coordinate", "gradient", "sgd"; the table in `discriminant.solvers`
        lists the choices of "auto". Textbook solvers in the units of the data: `solvers.GradientDescent`,
        `solvers.StochasticGradient` and `solvers.IRLS`.
    reference : a class, default=None
        Reference class of `log_odds` and `summary`. Default: the first of two classes, the last of several.
    firth : bool, default=False
        Firth's penalised likelihood (Jeffreys prior): finite estimates also for separated data.
    tol : float, default=None
        Relative suboptimality of the objective to stop at. Default: 1e-10; for a ridge with more than 2,000 parameters
        and solver "auto" ``0.01 / sqrt(n)``, a hundredth of the sampling error of the mean loss of n rows. Inference
        (`summary`) first continues such a fit to 1e-10. ``solution_.suboptimality`` is the value reached.
    max_iter : int, default=500
        Maximum number of iterations.
    early_stopping : bool, default=False
        Stop when the loss of a held-out tenth of the rows stops falling (solvers "sgd" and "auto").
    trace : bool, default=False
        Keep every iteration in ``trace_``.
    class_weight : None, "balanced" or dict, default=None
        Factors of the weights of rows: equal total weight of all classes ("balanced"), or a factor by class (default
        1).
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.
    random_state : int, default=None
        For "sgd" and `solvers.StochasticGradient`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (1, p) and (1,) for two classes; (K, p) and (K,) for more, the symmetric softmax
        form, in which each column's coefficients sum to 0 over the classes
    solution_ : Solution
        Objective, iterations and stopping reason of the solver.
    trace_ : solvers.Trace
        Iterates in the units of the data, with ``trace=True``.
    separation_ : LogisticSeparation or None
        Set if maximum likelihood has no finite solution.

    See Also
    --------
    LogisticRegressionCV : Penalty strength chosen by cross-validation.
    LogisticRegressionPath : A path of penalty strengths.

    References
    ----------
    McCullagh, P. & Nelder, J. A. (1989). Generalized Linear Models (IRLS).
    Firth, D. (1993). Bias reduction of maximum likelihood estimates. Biometrika 80.
    Albert, A. & Anderson, J. A. (1984). On the existence of maximum likelihood estimates in logistic regression models.
    Biometrika 71 (separation).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(alpha=0.01).fit(X[["mean radius", "mean texture"]], y)
    >>> model.solution_.converged
    True
    >>> round(model.score(X[["mean radius", "mean texture"]], y), 2)
    0.88
    """

    alpha: float = 0.0
    _: KW_ONLY
    l1_ratio: float = 0.0
    standardize: bool = True
    fit_intercept: bool = True
    solver: Any = "auto"
    reference: Any = None
    firth: bool = False
    tol: float | None = None
    max_iter: int = 500
    early_stopping: bool = False
    trace: bool = False
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None


def warn_unconverged(solution: Solution, tol: float, *remedy: Part) -> None:
    """Warn of a solver that did not converge, with its suboptimality and a remedy."""
    reached = (
        f"Solver {solution.solver!r} did not converge ({solution.reason}). Iterations: {solution.iterations}, relative "
        f"suboptimality: {solution.suboptimality:.1e} (tol={tol:g}). Raise "
    )
    warn(Message(reached, Setting("max_iter"), *remedy), ConvergenceWarning)


def warn_separated(kind: str, columns: str, *remedy: Part) -> None:
    """Warn of separated classes, whose coefficients have no meaning."""
    problem = f"The classes are separated ({kind}): no finite maximum-likelihood estimate exists.{columns} Use "
    warn(Message(problem, *remedy, "; for predictions only, ", Model("AutoClassifier"), "."), SeparationWarning)


def lost_curvature(objective: Objective, theta: Array) -> float:
    """The smallest ratio of the curvature at ``theta`` to that at 0, over all directions; 0 for collinear columns."""
    before = factorised(objective.value_gradient_hessian(np.zeros(objective.shape))[2])
    if before.rank < objective.n_parameters:
        return 0.0
    root = before.from_whitened(np.eye(before.rank))
    return float(np.linalg.eigvalsh(root.T @ objective.value_gradient_hessian(theta)[2] @ root)[0])


def _without_aliased(problem: EstimableObjective, solution: Solution, sound: bool) -> Solution:
    """The solution with coefficient 0 for aliased columns.

    Columns may be collinear up to rounding only: then the others are fitted again, if the solver had converged.
    """
    theta = problem.nearest(solution.theta)
    value = problem.value_gradient_hessian(theta)[0]
    if sound:
        theta, value = problem.minimum(theta)
    return replace(solution, theta=problem.whole(theta), objective=value)
