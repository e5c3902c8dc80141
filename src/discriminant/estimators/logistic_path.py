"""Whole regularisation paths of logistic regression, and the choice of a strength by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

from ..data import LabelledRows
from ..data.labels import check_offset
from ..data.parameters import check_integer
from ..engine import side_by_side
from ..errors import LabelError, ParameterError
from ..objective import ElasticNet, Objective
from ..results import shown
from ..solvers import Solution
from ..solvers.choose import named_solver
from ..solvers.coordinate import alpha_grid, regularisation_path
from .base import all_or_nothing
from .logistic import LogisticRegression, finite_rows, refuse_weightless_classes

Array = np.ndarray[Any, Any]

#: A pure ridge has no strength at which all coefficients are 0: its grid starts where that of this lasso share would.
_LEAST_L1_SHARE = 1e-3


def strengths(objective: Objective, alphas: Any, n_alphas: int, ratio: float) -> Array:
    """The strengths of a path, decreasing: those given, or evenly spaced (in logarithms) below the largest sensible."""
    if alphas is None:
        least = max(objective.penalty.l1_ratio, _LEAST_L1_SHARE)
        grid = alpha_grid(replace(objective, penalty=ElasticNet(1.0, least)), n_alphas, ratio)
    else:
        grid = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if grid.size == 0 or not np.isfinite(grid).all() or not (grid > 0).all():
        raise ParameterError("alphas must be positive numbers, the strengths of the path.")
    return grid


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


class LogisticRegressionPath(BaseEstimator):
    """Logistic regression at a whole sequence of penalty strengths.

    Parameters
    ----------
    alphas : array-like, optional
        Strengths. Default: ``n_alphas`` of them, from the smallest at which all coefficients are 0 down to ``ratio``
        times that.
    n_alphas : int
    ratio : float
    l1_ratio : float
        Share of the L1 penalty.
    fit_intercept : bool
    tol, max_iter, n_jobs
        As in `LogisticRegression`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    alphas_ : array of shape (A,), decreasing
    coefs_ : array of shape (A, 1, p), or (A, K, p) for more than two classes
    intercepts_ : array of shape (A, 1) or (A, K)
    solutions_ : list of Solution

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = LogisticRegressionPath(n_alphas=5, l1_ratio=1.0).fit(X, y)
    >>> [int((coef != 0).sum()) for coef in path.coefs_]
    [0, 1, 1, 2, 4]
    """

    def __init__(
        self,
        alphas: Any = None,
        n_alphas: int = 50,
        ratio: float = 1e-3,
        l1_ratio: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 500,
        n_jobs: int | None = None,
    ) -> None:
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.ratio = ratio
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model at every strength."""
        with all_or_nothing(self):
            model = LogisticRegression(1.0, self.l1_ratio, self.fit_intercept, n_jobs=self.n_jobs)
            model._check_parameters()
            data = model._labelled(X, y, sample_weight)
            refuse_weightless_classes(data)
            objective = model._objective(data, None)
            with finite_rows(data):
                self.alphas_ = strengths(objective, self.alphas, self.n_alphas, self.ratio)
                self.solutions_ = solve_path(objective, self.alphas_, self.tol, self.max_iter)
            model._refuse_nonfinite([solution.objective for solution in self.solutions_], data)
            found = [linear_attributes(model, objective, solution) for solution in self.solutions_]
            self.coefs_, self.intercepts_ = (np.stack(part) for part in zip(*found, strict=True))
            for name in ("classes_", "n_features_in_", "feature_names_in_"):
                if hasattr(model, name):
                    setattr(self, name, getattr(model, name))
        return self


def linear_attributes(model: LogisticRegression, objective: Objective, solution: Solution) -> tuple[Array, Array]:
    """``coef_`` and ``intercept_`` of a solution."""
    model._set_rule(objective, solution.theta)
    return model.coef_, model.intercept_


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression whose penalty strength is chosen by cross-validation.

    The folds run side by side, each along the whole path. A fold's training part is the same rows with weight 0 for the
    fold: nothing is copied.

    Parameters
    ----------
    alphas, n_alphas, ratio, l1_ratio, fit_intercept, tol, max_iter, n_jobs
        As in `LogisticRegressionPath`.
    folds : int
    rule : {"one-se", "min"}
        Take the strongest penalty whose held-out loss is within one standard error of the least, or the least itself.
    reference : a class, optional
        The class `log_odds` and `summary` compare with.
    random_state : int, optional
        For the folds.

    Attributes
    ----------
    alpha_ : float
        The strength chosen.
    alphas_ : array of shape (A,), decreasing
    losses_, loss_std_errors_ : arrays of shape (A,)
        Held-out mean log-loss, and its standard error over the folds.
    coef_, intercept_, classes_, solution_
        As in `LogisticRegression`, fitted to all rows at ``alpha_``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(n_alphas=10, folds=5, random_state=0).fit(X / X.std(axis=0), y)
    >>> model.score(X / X.std(axis=0), y) > 0.95
    True
    """

    # What the base class takes as parameters, and this one does not.
    solver, firth, early_stopping, trace = "auto", False, False, False

    def __init__(
        self,
        alphas: Any = None,
        n_alphas: int = 50,
        ratio: float = 1e-3,
        l1_ratio: float = 1.0,
        fit_intercept: bool = True,
        folds: int = 10,
        rule: Literal["one-se", "min"] = "one-se",
        reference: Any = None,
        tol: float = 1e-8,
        max_iter: int = 500,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.ratio = ratio
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.folds = folds
        self.rule = rule
        self.reference = reference
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """The strength chosen (1 before there is one)."""
        return float(getattr(self, "alpha_", 1.0))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Self:
        """Choose the strength by cross-validation and fit the model at it."""
        with all_or_nothing(self):
            self._forget()
            self._check_parameters()
            data = self._labelled(X, y, sample_weight)
            refuse_weightless_classes(data)
            objective = self._objective(data, check_offset(offset, data.n_rows, len(data.classes)))
            objective = replace(objective, standard=objective.standardised)
            with finite_rows(data):
                self.alphas_ = strengths(objective, self.alphas, self.n_alphas, self.ratio)
                self.losses_, self.loss_std_errors_ = self._held_out(objective)
            self._refuse_nonfinite(self.losses_, data)
            self.alpha_ = float(self.alphas_[chosen_strength(self.losses_, self.loss_std_errors_, self.rule)])
            self._training = self._objective(data, objective.offset)
            self._keep(self._training, self._solved(self._training))
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("folds", self.folds, 2)
        if self.rule not in ("one-se", "min"):
            raise ParameterError(f"rule must be 'one-se' or 'min', got {self.rule!r}.")

    def _held_out(self, objective: Objective) -> tuple[Array, Array]:
        """Mean and standard error over the folds of the held-out loss, at every strength."""
        fold = self._fold_of_rows(objective.data)

        def losses_of(f: int) -> Array:
            train, held = (replace(_weighted(objective, part), n_jobs=1) for part in (fold != f, fold == f))
            path = solve_path(train, self.alphas_, self.tol, self.max_iter)
            return np.array([held.mean_loss(solution.theta) for solution in path])

        losses = np.stack(side_by_side(losses_of, list(range(self.folds)), self.n_jobs))
        return losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(self.folds)

    def _fold_of_rows(self, data: LabelledRows) -> Array:
        fewest = int(np.bincount(data.codes).min())
        if fewest < self.folds:
            label = shown(data.classes[int(np.argmin(np.bincount(data.codes)))])
            raise LabelError(f"Class {label} has {fewest} rows, fewer than the {self.folds} folds. Use fewer folds.")
        fold = np.empty(data.n_rows, dtype=np.int64)
        splitter = StratifiedKFold(self.folds, shuffle=True, random_state=self.random_state)
        for f, (_, held) in enumerate(splitter.split(data.codes, data.codes)):
            fold[held] = f
        return fold


def chosen_strength(losses: Array, errors: Array, rule: str) -> int:
    """The place of the least loss, or of the strongest penalty within one standard error of it."""
    best = int(np.argmin(losses))
    if rule == "min":
        return best
    return int(np.argmax(losses <= losses[best] + errors[best]))


def _weighted(objective: Objective, chosen: Array) -> Objective:
    """The objective of the chosen rows: the others have weight 0."""
    weight = chosen.astype(np.float64) if objective.data.weight is None else objective.data.weight * chosen
    return replace(objective, data=replace(objective.data, weight=weight), passes=[0.0])
