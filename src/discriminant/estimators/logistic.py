"""Logistic regression, two classes and many: at a given strength of the penalty, along a path, and cross-validated."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..arrays import Array
from ..data import LabelledRows, check_choice, check_integer, check_number, dense_rows, with_offset
from ..engine import side_by_side
from ..errors import AliasWarning, LabelError, Message, Model, ParameterError, Part, SeparationWarning, Setting, warn
from ..folds import HeldOut, repeated_folds
from ..inference.estimable import EstimableObjective
from ..inference.firth import firth_binary, firth_data, firth_multinomial
from ..inference.ml_existence import LogisticSeparation, detect_separation
from ..moments.covariance import factorised
from ..objective import ElasticNet, Logistic, Objective, Softmax, Standardisation, column_spread, penalty_units
from ..rules import LinearRule
from ..solvers import Solution
from ..solvers.coordinate import Columns, alpha_grid, held_out_losses, regularisation_path
from ..solvers.gradient import HELD_OUT_SHARE, ONE_PASS, Stream, split_rows, streamed
from ..solvers.plain import StochasticGradient
from ..solvers.smooth import RidgeChoice, named_solver, strength_prior
from ..solvers.trace import Trace
from .base import StreamingMixin, all_or_nothing, by_class_or_difference, check_finite, computable, refuse_weightless
from .logistic_estimates import MAX_CHECKED_PARAMETERS
from .logistic_inference import LogisticInference

#: Divergence shows in curvature this small (relative to that at the start) along with scores this large.
_FLAT, _LARGE_SCORE = 1e-3, 8.0
#: With more parameters a Hessian costs too much.
_MOST_PARAMETERS = 2_000
#: Below this share of L1 a penalty shrinks like a ridge long before it makes coefficients 0.
_LEAST_L1_SHARE = 1e-3
#: A path of ridges has so many strengths for each factor of 10.
_RIDGES_PER_DECADE = 2
#: How close the fits of folds come to their minimum: differences between strengths are far larger.
_FOLD_TOL = 1e-6
#: The path of ridges ends when the held-out loss was least so many strengths ago.
_RISING = 3
#: With an L1 penalty: the same tolerance; how much weaker than the best strength the last one is where the path ends;
#: how many strengths are looked at before folds wait for each other.
_L1_FOLD_TOL, _L1_WEAKER, _L1_STEP = 1e-4, 2.5, 3
#: How often folds are dealt at most: ridges go along the path together, and more of them cost little.
_MOST_DEALS, _MOST_L1_DEALS = 5, 2
#: The weakest ridge, in rows of average information: what less changes is rounding.
_WEAKEST_RIDGE = 1e-4


class LogisticClassifier(LogisticInference, StreamingMixin):
    """Logistic regression, however the strength of its penalty is found."""

    solver: Any = "auto"
    standardize: bool
    max_iter: int
    early_stopping = False
    trace = False
    random_state: Any
    _stream_state = "stream_"
    _own_state = ("_training", "_remaining", "_estimated", "_design")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, *, groups: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, frame, CSR matrix of shape (n_rows, n_columns), or rows of `open_dataset`
            Numbers, a column for each term; float32, float64 and CSR are read where they stand. See `open_dataset` for
            rows in files.
        y : array-like of shape (n_rows,), default=None
            Class labels. A dataset has its own, and weights and offsets, too.
        sample_weight : array-like of shape (n_rows,), optional
            Whole numbers count rows: weight 3 is three such rows. Others, such as survey weights, are importances:
            that changes inference (`summary`), not the estimates.
        offset : array-like of shape (n_rows,) or (n_rows, K), optional
            Known part of the scores.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group (patient, site) are held out together where the model tunes or calibrates itself.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, offset, groups=groups)

    def _learn(self, data: LabelledRows, offset: Any = None) -> None:
        self._minimise(self._objective(with_offset(data, offset)))

    def _minimise(self, objective: Objective) -> None:
        self._training = objective
        refuse_weightless(objective.class_weights, objective.data.classes)
        self.aliased_, self.separation_ = (), None
        if self.firth:
            self._keep_firth(objective)
        else:
            self._keep(objective, self._solved(objective))

    def _learn_more(self, data: LabelledRows, first: bool) -> None:
        stream = Stream.start(self._objective(data)) if first else self.stream_
        self.stream_: Stream = stream.after(data, self.random_state)
        check_finite(self.stream_.theta, data)
        self._set_rule(self.stream_.objective.standardised.centre, *self.stream_.objective.linear(self.stream_.average))

    def _check_parameters(self) -> None:
        self._penalty()
        check_number("tol", self.tol, 0, 1, open_below=True)
        check_integer("max_iter", self.max_iter, 1)
        if self.firth and self.alpha:
            raise ParameterError(Setting("firth", True), " is a penalty of its own: set ", Setting("alpha", 0), ".")
        if self.early_stopping and self.solver not in ("auto", "sgd"):
            raise ParameterError(f"early_stopping needs solver 'sgd' (or 'auto'), got {self.solver!r}.")

    def _accept(self, data: LabelledRows) -> None:
        super()._accept(data)
        self._reference_code(None)

    def _penalty(self) -> ElasticNet:
        return ElasticNet(self.alpha, self.l1_ratio)

    def _objective(self, data: LabelledRows, spread: Array | None = None) -> Objective:
        """What is minimised; the standard deviations of the columns are looked for where they are not known."""
        loss, penalty = Logistic() if len(data.classes) == 2 else Softmax(), self._penalty()
        spread = self._units(data, penalty, spread) if self.alpha > 0 else None
        # A solver as it is taught goes through the units of the data; all others through standardised columns.
        standard = None if getattr(self.solver, "standardised", True) else Standardisation.none(data.rows.n_columns)
        return Objective(data, loss, penalty, self.fit_intercept, standard, spread, self.n_jobs)

    def _units(self, data: LabelledRows, penalty: ElasticNet, spread: Array | None) -> Array | None:
        return penalty_units(data, penalty, self.n_jobs, spread) if self.standardize else None

    @property
    def _takes_passes(self) -> bool:
        passes = ("auto", "newton", "lbfgs", "newton-cg", "coordinate", "gradient", "sgd")
        return not self.firth and not self.early_stopping and self.solver in passes

    def _solved(self, objective: Objective) -> Solution:
        data, options = objective.data, dict[str, Any](trace=self.trace)
        solver = "sgd" if self.early_stopping else self.solver
        minimise = named_solver(solver, objective)
        if solver == "sgd" or isinstance(solver, StochasticGradient):
            options["rng"] = self.random_state
        if solver == "sgd" and data.codes is None:
            return streamed(objective, self.random_state)
        if self.early_stopping:
            objective, options["held_out"] = split_rows(objective, HELD_OUT_SHARE, self.random_state)
        solution = minimise(objective, np.zeros(objective.shape), self.tol, self.max_iter, **options)
        check_finite(solution.objective, data)
        return solution

    def _keep(self, objective: Objective, solution: Solution) -> None:
        if len(solution.theta) > objective.n_functions and objective.penalty.l1 == 0:
            solution = replace(solution, theta=objective.contrasts @ solution.theta)
        if self.alpha == 0 and objective.n_parameters <= _MOST_PARAMETERS:
            solution = self._looked_into(objective, solution)
        self.solution_, self.n_iter_ = solution, max(solution.iterations, 1)
        if self.trace:
            self.trace_ = Trace.of(objective, solution.trace)
        self._set_rule(objective.standardised.centre, *objective.linear(solution.theta))
        least = objective.data.least_weight
        # A row whose own class has more than half of the probability adds less than log 2 to the loss.
        separated = solution.objective * objective.total_weight < np.log(2) * least
        if self.separation_ is not None:
            return
        if self.alpha == 0 and objective.data.offset is None and separated:
            told = (
                "The classes are separated (complete): the model puts every row on its own side, and the larger its "
                "coefficients, the better it fits. It classifies, but they have no meaning. What works: "
            )
            works = (Setting("alpha"), " > 0, or, to predict, ", Model("AutoClassifier"), ".")
            warn(Message(told, *works), SeparationWarning)
        elif not solution.converged and solution.reason not in ("early stopping", ONE_PASS):
            warn_unconverged(solution, self.tol, ", or use ", Setting("solver", "auto"), ".")

    def _set_rule(self, centre: Array, coef: Array, intercept: Array) -> None:
        """Classify by these scores of all classes, or of the second of two against the first."""
        self.rule_ = LinearRule.of_scores(centre, coef, intercept)
        self.coef_, self.intercept_ = by_class_or_difference(self.rule_)

    def _looked_into(self, objective: Objective, solution: Solution) -> Solution:
        """The solution without aliased columns; sets ``aliased_`` and ``separation_`` where the fit shows signs.

        Both show in directions without curvature, and a sample of the rows tells whether there are any.
        """
        enough = max(4_000, 20 * objective.n_parameters)
        sample = objective.every(max(1, objective.data.n_rows // enough))
        sound = solution.converged and solution.objective > 1e-6
        if sound and (
            objective.n_parameters > MAX_CHECKED_PARAMETERS or lost_curvature(sample, solution.theta) > _FLAT
        ):
            return solution
        problem = EstimableObjective.of(objective)
        theta, self.aliased_ = solution.theta, problem.aliased
        if self.aliased_:
            solution = _without_aliased(problem, solution, sound)
            theta = solution.theta
            named = self._columns(self.aliased_)
            warn(
                f"{named[0].upper()}{named[1:]} can be computed from the columns before (or the "
                "intercept), to rounding: the coefficient is set to 0.",
                AliasWarning,
            )
        if not sound or objective.largest_score(theta) > _LARGE_SCORE:
            self.separation_ = self._separation(objective, theta)
        return solution

    def _separation(self, objective: Objective, theta: Array) -> LogisticSeparation | None:
        """Whether maximum likelihood has no finite solution, decided by a linear programme."""
        data = objective.data.every(1)  # of a dataset its sample: where that is not separated, the rows are not
        counted = slice(None) if data.weight is None else data.weight > 0
        X = dense_rows(data.rows.block(0, data.n_rows))[counted]
        coef, intercept = objective.linear(theta)
        scores = np.column_stack((coef, intercept - coef @ objective.standardised.centre))
        start = np.vstack((np.zeros_like(scores), scores)) if len(scores) == 1 else scores
        found = detect_separation(X, data.codes[counted], len(data.classes), self.fit_intercept, start)
        if found.kind == "none":
            return None
        where = "" if data.n_rows == objective.data.n_rows else f" in a sample of {data.n_rows:,} rows"
        told = (
            f"The classes are separated ({found.kind}){where}: no finite maximum-likelihood estimate exists. Columns "
            f"with infinite coefficients: {self._columns(found.columns)}. The model classifies, but these coefficients "
            "have no meaning. What works: "
        )
        works = (Setting("firth", True), ", ", Setting("alpha"), " > 0, or, to predict, ", Model("AutoClassifier"), ".")
        warn(Message(told, *works), SeparationWarning)
        return found

    def _keep_firth(self, objective: Objective) -> None:
        rows, K, p = firth_data(objective), len(self.classes_), objective.n_columns
        if not np.isfinite(rows["X"]).all():
            objective.data.rows.refuse_nonfinite()
        if K == 2:
            fit = firth_binary(**rows, fit_intercept=self.fit_intercept)
        else:
            fit = firth_multinomial(**rows, n_classes=K, fit_intercept=self.fit_intercept)
        self.firth_, self.n_iter_ = fit, max(fit.iterations, 1)
        if not fit.converged:
            warn(f"Firth's likelihood: not converged after {fit.iterations} iterations.", ConvergenceWarning)
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

    `partial_fit` takes one pass of stochastic gradient steps over its rows, for streams that are never seen whole: step
    lengths fall as more rows are seen, and columns are standardised as the first rows suggest.

    Parameters
    ----------
    alpha : float, default=0.0
        Strength of the penalty.
    l1_ratio : float, default=0.0
        Share of the L1 penalty: 0 ridge, 1 lasso.
    standardize : bool, default=True
        Whether the penalty measures columns by their standard deviation (1 / rows, as glmnet does), so that their units
        do not matter; coefficients are reported in the units of the data either way. False, with v the coefficients as
        they are, is scikit-learn's objective, and what suits columns of one kind, such as the words of a text matrix.
        Where columns are known to be marks of levels (rows of `read_training` and `TableEncoder`), a ridge leaves these
        as they are: rare levels are not to be shrunk less than others.
    fit_intercept : bool, default=True
        Whether the scores have a constant, which is not penalised.
    solver : str or solver object, default="auto"
        "auto", "newton", "lbfgs", "newton-cg", "coordinate", "gradient", "sgd"; the table in `discriminant.solvers`
        says which "auto" takes. Solvers as they are taught, in the units of the data and slow on purpose:
        `solvers.GradientDescent`, `solvers.StochasticGradient` and `solvers.IRLS`.
    reference : a class, default=None
        The class `log_odds` and `summary` compare with. Default: the first of two classes, the last of many.
    firth : bool, default=False
        Firth's penalised likelihood (Jeffreys prior): finite estimates also for separated data.
    tol : float, default=1e-10
        Relative distance of the objective from its minimum to stop at.
    max_iter : int, default=500
        Most iterations.
    early_stopping : bool, default=False
        Hold out a tenth of the rows and stop when their loss stops falling (solvers "sgd" and "auto").
    trace : bool, default=False
        Keep every iteration in ``trace_``.
    class_weight : None, "balanced" or dict, default=None
        What the weight of each row is multiplied by: with "balanced" each class counts alike, a dict has a number by
        class (1 for classes left out).
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
        What the solver reached and why it stopped.
    trace_ : solvers.Trace
        The way there in the units of the data, with ``trace=True``.
    separation_ : LogisticSeparation or None
        Found when maximum likelihood has no finite solution.

    See Also
    --------
    LogisticRegressionCV : The strength of the penalty chosen by cross-validation.
    LogisticRegressionPath : All strengths.

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
    tol: float = 1e-10
    max_iter: int = 500
    early_stopping: bool = False
    trace: bool = False
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None


def warn_unconverged(solution: Solution, tol: float, *remedy: Part) -> None:
    """Say how far from the minimum a solver stopped, and what may help beside more steps."""
    told = (
        f"solver {solution.solver!r} stopped after {solution.iterations} iterations ({solution.reason}) at "
        f"an estimated relative excess of {solution.excess:.1e} (tol={tol:g}). Raise "
    )
    warn(Message(told, Setting("max_iter"), *remedy), ConvergenceWarning)


def lost_curvature(objective: Objective, theta: Array) -> float:
    """The least share of the curvature at 0 that is left at ``theta``, over all directions; 0 for collinear columns."""
    before = factorised(objective.value_gradient_hessian(np.zeros(objective.shape))[2])
    if before.rank < objective.n_parameters:
        return 0.0
    root = before.from_sphere(np.eye(before.rank))
    return float(np.linalg.eigvalsh(root.T @ objective.value_gradient_hessian(theta)[2] @ root)[0])


def _without_aliased(problem: EstimableObjective, solution: Solution, sound: bool) -> Solution:
    """The solution with 0 for aliased columns.

    A column may follow from others nearly, not exactly: then the others are fitted again, unless the solver stopped
    short of the optimum anyway.
    """
    theta = problem.nearest(solution.theta)
    value = problem.value_gradient_hessian(theta)[0]
    if sound:
        theta, value = problem.minimum(theta)
    return replace(solution, theta=problem.whole(theta), objective=value)


def solve_path(objective: Objective, alphas: Array, tol: float, max_iter: int) -> list[Solution]:
    """The solutions at decreasing strengths, each started from the one before."""
    if objective.penalty.l1_ratio > 0:
        return regularisation_path(objective, alphas, tol, max_iter)
    solutions: list[Solution] = []
    for alpha in alphas:
        here = replace(objective, penalty=ElasticNet(float(alpha)), passes=[0.0])
        start = solutions[-1].theta if solutions else np.zeros(here.shape)
        solutions.append(named_solver("auto", here)(here, start, tol, max_iter))
    return solutions


def strengths(objective: Objective, n: int | None, ratio: float | None) -> Array:
    """Decreasing strengths from the null model to a model nearly without a penalty, in equal proportions.

    With an L1 part, from where all coefficients are 0 down to ``ratio`` times that (as glmnet, 1e-4, and 1e-2 with more
    columns than rows). A ridge makes none 0: it begins where it outweighs the information of all columns together.
    """
    n_rows, p = objective.data.rows.shape
    if objective.penalty.l1_ratio >= _LEAST_L1_SHARE:
        least = ratio or (1e-4 if n_rows > p else 1e-2)
        return alpha_grid(objective, n or 50, least)
    shares = objective.class_weights / objective.total_weight
    largest = float((shares * (1 - shares)).max() * (objective.penalised_deviations**2).sum())
    least = ratio or _WEAKEST_RIDGE / objective.total_weight / largest
    return largest * np.geomspace(1.0, least, n or 1 + math.ceil(-_RIDGES_PER_DECADE * math.log10(least)))


@dataclass(eq=False, repr=False)
class PathParameters:
    """The parameters of a regularisation path."""

    alphas: Any = None
    _: KW_ONLY
    n_alphas: int | None = None
    ratio: float | None = None
    l1_ratio: float = 1.0
    standardize: bool = True
    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 500
    class_weight: Any = None
    n_jobs: int | None = None

    def _strengths(self, objective: Objective) -> Array:
        """The strengths of the path, decreasing: those given, or evenly spaced (in logarithms) below the largest."""
        if self.alphas is None:
            grid = strengths(objective, self.n_alphas, self.ratio)
        else:
            grid = np.sort(np.asarray(self.alphas, dtype=np.float64).ravel())[::-1]
        if grid.size == 0 or not np.isfinite(grid).all() or not (grid > 0).all():
            raise ParameterError(Setting("alphas"), " must be positive numbers, the strengths of the path.")
        return grid


#: What a path hands on to the model whose path it is.
_GIVEN = ("l1_ratio", "standardize", "fit_intercept", "class_weight", "n_jobs")


@dataclass(eq=False, repr=False)
class LogisticRegressionPath(PathParameters, BaseEstimator):
    """Logistic regression at a whole sequence of penalty strengths.

    Parameters
    ----------
    alphas : array-like, default=None
        Strengths. Default: ``n_alphas`` of them, from the smallest at which all coefficients are 0 down to ``ratio``
        times that.
    n_alphas : int, default=None
        Number of strengths, where none are given: 50, or for a ridge two for each factor of 10.
    ratio : float, default=None
        The least of them over the largest: 1e-4, 1e-2 with more columns than rows; ridges become as weak as 1e-4 rows.
    l1_ratio : float, default=1.0
        Share of the L1 penalty.
    standardize : bool, default=True
        Whether the penalty measures columns by their standard deviation.
    fit_intercept : bool, default=True
        Whether the scores have a constant, which is not penalised.
    tol : float, default=1e-08
        Relative distance of the objective from its minimum to stop at, at each strength.
    max_iter : int, default=500
        Most iterations at each of the strengths.
    class_weight : None, "balanced" or dict, default=None
        What the weight of each row is multiplied by: with "balanced" each class counts alike, a dict has a number by
        class (1 for classes left out).
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    alphas_ : array of shape (A,), decreasing
    coefs_ : array of shape (A, 1, p), or (A, K, p) for more than two classes
    intercepts_ : array of shape (A, 1) or (A, K)
    solutions_ : list of Solution

    See Also
    --------
    LogisticRegressionCV : One of the strengths, chosen by cross-validation.

    References
    ----------
    Friedman, J., Hastie, T. & Tibshirani, R. (2010). Regularization paths for generalized linear models via coordinate
    descent. J. Statistical Software 33.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = LogisticRegressionPath(n_alphas=5, l1_ratio=1.0).fit(X, y)
    >>> [int((coef != 0).sum()) for coef in path.coefs_]
    [0, 5, 13, 22, 27]
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model at every strength, the strongest penalty first.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows to learn from.
        y : array-like of shape (n_rows,)
            The class of each row.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies of the rows.

        Returns
        -------
        LogisticRegressionPath
            The path itself.
        """
        with all_or_nothing(self):
            given = {name: getattr(self, name) for name in _GIVEN}
            model = LogisticRegression(1.0, **given)
            model._check_parameters()
            data = model._labelled(X, y, sample_weight)
            objective = model._objective(data)
            refuse_weightless(objective.class_weights, data.classes)
            with computable(data):
                self.alphas_ = self._strengths(objective)
                self.solutions_ = solve_path(objective, self.alphas_, self.tol, self.max_iter)
            check_finite([solution.objective for solution in self.solutions_], data)
            found = []
            for solution in self.solutions_:
                model._set_rule(objective.standardised.centre, *objective.linear(solution.theta))
                found.append((model.coef_, model.intercept_))
            self.coefs_, self.intercepts_ = (np.stack(part) for part in zip(*found, strict=True))
            shared = ("classes_", "n_features_in_", "feature_names_in_")
            self.__dict__.update({name: getattr(model, name) for name in shared if hasattr(model, name)})
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegressionCV(PathParameters, LogisticClassifier):
    """Logistic regression whose penalty strength is chosen by cross-validation.

    A fold's training part is the same rows with weight 0 for the fold: nothing is copied. With a ridge all folds go
    along the path together, and a pass serves them all; more columns than rows are rotated to the span of the rows.

    Parameters
    ----------
    alphas : array-like, default=None
        Strengths to choose from. Default: those of `LogisticRegressionPath`.
    n_alphas, ratio : int and float, default=None
        Number of strengths and the least over the largest, where none are given.
    l1_ratio : float or list of float, default=0.0
        Share of the L1 penalty: 0 ridge, 1 lasso; of several the one with the least held-out loss.
    standardize : bool, default=True
        Whether the penalty measures columns by their standard deviation.
    fit_intercept : bool, default=True
        Whether the log-odds have a constant.
    tol : float, default=1e-08
        Relative distance of the objective from its minimum to stop at.
    max_iter : int, default=500
        Most iterations of a fit.
    class_weight : None, "balanced" or dict, default=None
        What the weight of each row is multiplied by: with "balanced" each class counts alike, a dict has a number by
        class (1 for classes left out).
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.
    cv : int or splitter, default=5
        Folds of the cross-validation, or what scikit-learn takes as ``cv``. Every class is dealt to all folds, and the
        only row of one is never held out; where rows are few, folds are dealt up to five times (twice with an L1 part).
    rule : {"min", "one-se"}, default="min"
        Take the least held-out loss, or the strongest penalty within one standard error of it. Where the rows are too
        few to tell strengths of a ridge apart, a weak prior decides; not between ``alphas`` that are given.
    reference : a class, default=None
        The class `log_odds` and `summary` compare with.
    random_state : int, default=None
        For the folds.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The strength and the share of L1 chosen.
    alphas_ : array of shape (A,), decreasing
    losses_, loss_std_errors_ : arrays of shape (A,)
        Held-out mean log-loss, and its standard error over the folds.
    n_splits_ : int
        Number of folds.
    coef_, intercept_, classes_, solution_
        As in `LogisticRegression`, fitted to all rows at ``alpha_``.

    See Also
    --------
    LogisticRegression : At a given strength.
    LogisticRegressionPath : All strengths.

    References
    ----------
    Friedman, J., Hastie, T. & Tibshirani, R. (2010). Regularization paths for generalized linear models via coordinate
    descent. J. Statistical Software 33.
    Breiman, L., Friedman, J., Olshen, R. & Stone, C. (1984). Classification and Regression Trees (one standard error).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(n_alphas=10, cv=5, random_state=0).fit(X / X.std(axis=0), y)
    >>> model.score(X / X.std(axis=0), y) > 0.95
    True
    """

    l1_ratio: Any = 0.0
    cv: Any = 5
    rule: Literal["min", "one-se"] = "min"
    reference: Any = None
    random_state: Any = None

    _takes_passes = False

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """The strength chosen (1 before there is one)."""
        return float(getattr(self, "alpha_", 1.0))

    def _penalty(self) -> ElasticNet:
        return ElasticNet(self.alpha, getattr(self, "l1_ratio_", 0.0))

    def _learn(self, data: LabelledRows, offset: Any = None) -> None:
        for name in ("alpha_", "l1_ratio_"):  # an earlier fit's
            self.__dict__.pop(name, None)
        data = with_offset(data, offset)
        spread = column_spread(data, self.n_jobs) if self.standardize else None
        objective = self._objective(data, spread)
        refuse_weightless(objective.class_weights, data.classes)
        objective = replace(objective, standard=objective.standardised)
        splits = self._splits(data)
        self.n_splits_, best, prior = len(splits), np.inf, np.zeros(1)
        held = np.concatenate([rows for _, rows in splits])
        n_folds = len(splits) * len(np.unique(held)) / len(held)  # of one deal: others see the same rows
        for ratio in np.ravel(self.l1_ratio).tolist():
            penalty = ElasticNet(1.0, ratio)
            own = replace(objective, penalty=penalty, spread=self._units(data, penalty, spread))
            alphas, losses = self._held_out(own, splits)
            mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / math.sqrt(n_folds)
            check_finite(mean, data)
            if mean.min() < best:
                best, self.l1_ratio_, self.alphas_ = float(mean.min()), ratio, alphas
                self.losses_, self.loss_std_errors_ = mean, error
                weak = self.alphas is None and ratio == 0  # who gives strengths wants the least loss
                prior = strength_prior(own, alphas) if weak else np.zeros(len(alphas))
        self.alpha_ = float(self.alphas_[chosen_strength(self.losses_ + prior, self.loss_std_errors_, self.rule)])
        self._minimise(self._objective(data, spread))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for ratio in np.ravel(self.l1_ratio).tolist():
            ElasticNet(1.0, ratio)
        if isinstance(self.cv, Real):
            check_integer("cv", self.cv, 2)
        check_choice("rule", self.rule, ("min", "one-se"))

    def _held_out(self, objective: Objective, splits: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """The strengths, and the held-out loss of each split at each of them."""
        alphas = self._strengths(objective)
        if objective.penalty.l1 == 0:
            held = HeldOut.by_splits(splits, objective.data.n_rows)
            most = _RISING if self.alphas is None else None  # a given grid is gone through to its end
            found = RidgeChoice.among(objective, held, alphas, max(self.tol, _FOLD_TOL), self.max_iter, most)
            return found.alphas, found.losses

        columns, tol = Columns.of(objective), max(self.tol, _L1_FOLD_TOL)
        paths = [
            held_out_losses(objective.part(train), objective.part(held), alphas, tol, self.max_iter, _L1_STEP, columns)
            for train, held in splits
        ]

        def next_losses(split: int) -> Array:
            return np.array(list(islice(paths[split], _L1_STEP)))

        losses = np.empty((len(splits), 0))
        while losses.shape[1] < len(alphas):
            further = side_by_side(next_losses, list(range(len(splits))), self.n_jobs)
            losses = np.concatenate((losses, np.stack(further)), axis=1)
            best, last = alphas[np.argmin(losses.mean(axis=0))], alphas[losses.shape[1] - 1]
            if self.alphas is None and best > _L1_WEAKER * last:
                break
        return alphas[: losses.shape[1]], losses

    def _splits(self, data: LabelledRows) -> list[tuple[Array, Array]]:
        """The rows to train on and those held out, for each fold."""
        if not isinstance(self.cv, Real):
            from sklearn.model_selection import check_cv  # slow to load

            return list(check_cv(self.cv, data.codes, classifier=True).split(data.codes, data.codes, data.cluster))
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(1 << 30))
        folds: Any = self.cv
        tall = data.n_rows > data.rows.n_columns  # paths of many columns take long
        most = (_MOST_L1_DEALS if tall else 1) if np.any(self.l1_ratio) else _MOST_DEALS
        splits = repeated_folds(data.codes, folds, seed, most, data.cluster)
        if len(splits) < 2:
            raise LabelError(
                "No class has two rows: without its only row a fold cannot learn a class. Give classes more rows, or "
                "use ", Model("LogisticRegression"), " at a given ", Setting("alpha"), ".",
            )  # fmt: skip
        return splits


def chosen_strength(losses: Array, errors: Array, rule: str) -> int:
    """The place of the least loss, or of the strongest penalty within one standard error of it."""
    best = int(np.argmin(losses))
    return best if rule == "min" else int(np.argmax(losses <= losses[best] + errors[best]))
