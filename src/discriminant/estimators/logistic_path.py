"""Whole regularisation paths of logistic regression, and the choice of a strength by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold, check_cv

from ..data import LabelledRows
from ..data.checks import check_choice, check_integer, check_offset
from ..engine import side_by_side
from ..errors import LabelError, ParameterError, Setting
from ..objective import ElasticNet, Objective
from ..results import shown
from ..solvers import Solution
from ..solvers.coordinate import alpha_grid, regularisation_path
from ..solvers.smooth import named_solver
from .base import all_or_nothing, finite_rows, refuse_weightless
from .logistic import LogisticClassifier, LogisticRegression

Array = np.ndarray[Any, Any]

#: A pure ridge has no strength at which all coefficients are 0: its grid starts where that of this lasso share would.
_LEAST_L1_SHARE = 1e-3


def solve_path(objective: Objective, alphas: Array, tol: float, max_iter: int) -> list[Solution]:
    """The solutions at decreasing strengths, each started from the one before."""
    l1_ratio = objective.penalty.l1_ratio
    if l1_ratio > 0:
        return regularisation_path(objective, alphas, tol, max_iter)
    solutions: list[Solution] = []
    for alpha in alphas:
        here = replace(objective, penalty=ElasticNet(float(alpha), l1_ratio), passes=[0.0])
        start = solutions[-1].theta if solutions else np.zeros(here.shape)
        solutions.append(named_solver("auto", here)(here, start, tol, max_iter))
    return solutions


@dataclass(eq=False, repr=False)
class PathParameters:
    """The parameters of a regularisation path."""

    alphas: Any = None
    _: KW_ONLY
    n_alphas: int = 50
    ratio: float = 1e-3
    l1_ratio: float = 1.0
    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 500
    n_jobs: int | None = None

    def _strengths(self, objective: Objective) -> Array:
        """The strengths of the path, decreasing: those given, or evenly spaced (in logarithms) below the largest."""
        if self.alphas is None:
            least = max(objective.penalty.l1_ratio, _LEAST_L1_SHARE)
            grid = alpha_grid(replace(objective, penalty=ElasticNet(1.0, least)), self.n_alphas, self.ratio)
        else:
            grid = np.sort(np.asarray(self.alphas, dtype=np.float64).ravel())[::-1]
        if grid.size == 0 or not np.isfinite(grid).all() or not (grid > 0).all():
            raise ParameterError(Setting("alphas"), " must be positive numbers, the strengths of the path.")
        return grid


@dataclass(eq=False, repr=False)
class LogisticRegressionPath(PathParameters, BaseEstimator):
    """Logistic regression at a whole sequence of penalty strengths.

    Parameters
    ----------
    alphas : array-like, default=None
        Strengths. Default: ``n_alphas`` of them, from the smallest at which all coefficients are 0 down to ``ratio``
        times that.
    n_alphas : int, default=50
        Number of strengths, where none are given.
    ratio : float, default=0.001
        The least of them over the largest.
    l1_ratio : float, default=1.0
        Share of the L1 penalty.
    fit_intercept : bool, default=True
        Whether the scores have a constant, which is not penalised.
    tol : float, default=1e-08
        Relative distance of the objective from its minimum to stop at, at each strength.
    max_iter : int, default=500
        Most iterations at each strength.
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
    LogisticRegressionCV : one of the strengths, chosen by cross-validation.

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
    [0, 1, 1, 2, 4]
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model at every strength."""
        with all_or_nothing(self):
            model = LogisticRegression(
                1.0, l1_ratio=self.l1_ratio, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs
            )
            model._check_parameters()
            data = model._labelled(X, y, sample_weight)
            objective = model._objective(data, None)
            refuse_weightless(objective.class_weights, data.classes)
            with finite_rows(data):
                self.alphas_ = self._strengths(objective)
                self.solutions_ = solve_path(objective, self.alphas_, self.tol, self.max_iter)
            model._refuse_nonfinite([solution.objective for solution in self.solutions_], data)
            found = []
            for solution in self.solutions_:
                model._set_rule(objective.standardised.centre, *objective.linear(solution.theta))
                found.append((model.coef_, model.intercept_))
            self.coefs_, self.intercepts_ = (np.stack(part) for part in zip(*found, strict=True))
            for name in ("classes_", "n_features_in_", "feature_names_in_"):
                if hasattr(model, name):
                    setattr(self, name, getattr(model, name))
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegressionCV(PathParameters, LogisticClassifier):
    """Logistic regression whose penalty strength is chosen by cross-validation.

    The folds run side by side, each along the whole path. A fold's training part is the same rows with weight 0 for the
    fold: nothing is copied.

    Parameters
    ----------
    alphas : array-like, default=None
        Strengths to choose from. Default: those of `LogisticRegressionPath`.
    n_alphas, ratio : int, default=50, and float, default=0.001
        Number of strengths and the least over the largest, where none are given.
    l1_ratio : float, default=1.0
        Share of the L1 penalty: 0 ridge, 1 lasso.
    fit_intercept : bool, default=True
        Whether the log-odds have a constant.
    tol : float, default=1e-08
        Relative distance of the objective from its minimum to stop at.
    max_iter : int, default=500
        Most iterations of a fit.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.
    cv : int or splitter, default=10
        Folds of the cross-validation: their number, or what scikit-learn takes as ``cv``.
    rule : {"one-se", "min"}, default="one-se"
        Take the strongest penalty whose held-out loss is within one standard error of the least, or the least itself.
    reference : a class, default=None
        The class `log_odds` and `summary` compare with.
    random_state : int, default=None
        For the folds.

    Attributes
    ----------
    alpha_ : float
        The strength chosen.
    alphas_ : array of shape (A,), decreasing
    losses_, loss_std_errors_ : arrays of shape (A,)
        Held-out mean log-loss, and its standard error over the folds.
    n_splits_ : int
        Number of folds.
    coef_, intercept_, classes_, solution_
        As in `LogisticRegression`, fitted to all rows at ``alpha_``.

    See Also
    --------
    LogisticRegression : at a given strength.
    LogisticRegressionPath : all strengths.

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

    cv: Any = 10
    rule: Literal["one-se", "min"] = "one-se"
    reference: Any = None
    random_state: Any = None

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """The strength chosen (1 before there is one)."""
        return float(getattr(self, "alpha_", 1.0))

    def _learn(self, data: LabelledRows, offset: Any = None) -> None:
        objective = self._objective(data, check_offset(offset, data.n_rows, len(data.classes)))
        refuse_weightless(objective.class_weights, data.classes)
        objective = replace(objective, standard=objective.standardised)
        with finite_rows(data):
            self.alphas_ = self._strengths(objective)
            self.losses_, self.loss_std_errors_ = self._held_out(objective)
        self._refuse_nonfinite(self.losses_, data)
        self.alpha_ = float(self.alphas_[chosen_strength(self.losses_, self.loss_std_errors_, self.rule)])
        super()._learn(data, offset)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.cv, Real):
            check_integer("cv", self.cv, 2)
        check_choice("rule", self.rule, ("one-se", "min"))

    def _held_out(self, objective: Objective) -> tuple[Array, Array]:
        """Mean and standard error over the folds of the held-out loss, at every strength."""
        data, splits = objective.data, self._splits(objective.data)
        self.n_splits_ = len(splits)

        def part(rows: Array) -> Objective:
            """The objective of the chosen rows: the others have weight 0."""
            weight = np.zeros(data.n_rows)
            weight[rows] = 1.0 if data.weight is None else data.weight[rows]
            return replace(objective, data=replace(data, weight=weight), passes=[0.0], n_jobs=1)

        def losses_of(split: tuple[Array, Array]) -> Array:
            train, held = map(part, split)
            path = solve_path(train, self.alphas_, self.tol, self.max_iter)
            return np.array([held.mean_loss(solution.theta) for solution in path])

        losses = np.stack(side_by_side(losses_of, splits, self.n_jobs))
        return losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(self.n_splits_)

    def _splits(self, data: LabelledRows) -> list[tuple[Array, Array]]:
        """The rows to train on and those held out, for each fold."""
        splitter: Any = check_cv(self.cv, data.codes, classifier=True)
        if isinstance(self.cv, Real):
            counts = np.bincount(data.codes)
            if counts.min() < self.cv:
                label, fewest = shown(data.classes[int(np.argmin(counts))]), counts.min()
                raise LabelError(f"Class {label} has {fewest} rows, fewer than the {self.cv} folds. Use fewer folds.")
            splitter = StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state)
        return list(splitter.split(data.codes, data.codes))


def chosen_strength(losses: Array, errors: Array, rule: str) -> int:
    """The place of the least loss, or of the strongest penalty within one standard error of it."""
    best = int(np.argmin(losses))
    if rule == "min":
        return best
    return int(np.argmax(losses <= losses[best] + errors[best]))
