"""Logistic regression along a path of penalty strengths, and with a cross-validated strength."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any, Final, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..arrays import Array, MatrixLike
from ..data import LabelledRows, TrainingData, check_choice, check_integer, with_offset
from ..engine import parallel_map
from ..errors import LabelError, Model, ParameterError, Setting
from ..folds import HeldOut, repeated_folds
from ..objective import ElasticNet, Objective, PassCounter, column_std
from ..solvers import Solution
from ..solvers.choice import named_solver
from ..solvers.columns import Columns
from ..solvers.coordinate import HELD_OUT_STRENGTHS, alpha_grid, held_out_losses, regularisation_path
from ..solvers.ridge_cv import HeldOutLosses, RidgeChoice, held_out_path, strength_prior
from .base import all_or_nothing, refuse_weightless
from .checks import check_finite, computable
from .logistic import LogisticClassifier, LogisticRegression

# Below this L1 ratio a penalty behaves like a ridge before coefficients become 0.
MIN_L1_RATIO: Final = 1e-3
# Strengths of a ridge path for each factor of 10: neighbours hardly differ in held-out loss.
RIDGES_PER_DECADE: Final = 2
# The weakest ridge, in rows of average information: less changes nothing.
WEAKEST_RIDGE: Final = 1e-4
# Tolerances of the fits of folds: differences between strengths are far larger.
FOLD_TOL: Final = 1e-6
L1_FOLD_TOL: Final = 1e-4
# A ridge path ends this many strengths after the smallest held-out loss.
MAX_RISING: Final = 3
# An L1 path ends at the best strength divided by this factor.
L1_PATH_MARGIN: Final = 2.5
# Maximum number of repeats of the folds; ridges share their passes, so that repeats cost little.
MAX_REPEATS: Final = 5
MAX_L1_REPEATS: Final = 2
# ``cv="holdout"`` holds out one part of this many.
HELD_OUT_PARTS: Final = 5


def solve_path(objective: Objective, alphas: Array, tol: float, max_iter: int) -> list[Solution]:
    """The solutions at decreasing strengths, with warm starts."""
    if objective.penalty.l1_ratio > 0:
        return regularisation_path(objective, alphas, tol, max_iter)
    solutions: list[Solution] = []
    for alpha in alphas:
        here = replace(objective, penalty=ElasticNet(float(alpha)), counter=PassCounter())
        start = solutions[-1].theta if solutions else np.zeros(here.shape)
        solutions.append(named_solver("auto", here)(here, start, tol, max_iter))
    return solutions


def strengths(objective: Objective, n: int | None, ratio: float | None) -> Array:
    """A geometric sequence of decreasing strengths from the null model to almost no penalty.

    With an L1 penalty, from the strength where all coefficients are 0 down to ``ratio`` times that (as glmnet, 1e-4, or
    1e-2 with more columns than rows). A ridge begins at the total information of all columns.
    """
    n_rows, p = objective.data.rows.shape
    if objective.penalty.l1_ratio >= MIN_L1_RATIO:
        least = ratio or (1e-4 if n_rows > p else 1e-2)
        return alpha_grid(objective, n or 50, least)
    shares = objective.class_weights / objective.total_weight
    largest = float((shares * (1 - shares)).max() * (objective.scaled_std**2).sum())
    least = ratio or WEAKEST_RIDGE / objective.total_weight / largest
    return largest * np.geomspace(1.0, least, n or 1 + math.ceil(-RIDGES_PER_DECADE * math.log10(least)))


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
        """The decreasing strengths of the path: as given, or a geometric sequence."""
        if self.alphas is None:
            grid = strengths(objective, self.n_alphas, self.ratio)
        else:
            grid = np.sort(np.asarray(self.alphas, dtype=np.float64).ravel())[::-1]
        if grid.size == 0 or not np.isfinite(grid).all() or not (grid > 0).all():
            raise ParameterError(Setting("alphas"), f" must be positive numbers, got {self.alphas!r}.")
        return grid


# Parameters of the model of a path.
_GIVEN = ("l1_ratio", "standardize", "fit_intercept", "class_weight", "n_jobs")


@dataclass(eq=False, repr=False)
class LogisticRegressionPath(PathParameters, BaseEstimator):
    """Logistic regression along a path of penalty strengths.

    Parameters
    ----------
    alphas : array-like, default=None
        Strengths. Default: ``n_alphas`` of them, from the smallest at which all coefficients are 0 down to ``ratio``
        times that.
    n_alphas : int, default=None
        Number of strengths. Default: 50, or for a ridge penalty two for each factor of 10.
    ratio : float, default=None
        Ratio of the smallest to the largest. Default: 1e-4, 1e-2 with more columns than rows; a ridge of 1e-4 rows.
    l1_ratio : float, default=1.0
        Share of the L1 penalty.
    standardize : bool, default=True
        Whether the penalty applies to standardised columns.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    tol : float, default=1e-08
        Relative suboptimality of the objective to stop at, at each strength.
    max_iter : int, default=500
        Maximum number of iterations at each strength.
    class_weight : None, "balanced" or dict, default=None
        Factors of the weights of rows: equal total weight of all classes ("balanced"), or a factor by class (default
        1).
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
    LogisticRegressionCV : Cross-validated strength.

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

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model at every strength, the strongest penalty first.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Training rows.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies of the rows.

        Returns
        -------
        LogisticRegressionPath
            The fitted path.
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

    Held-out rows have weight 0, so that nothing is copied. With a ridge all folds share the passes; with more columns
    than rows the problem is rotated to the span of the rows.

    Parameters
    ----------
    alphas : array-like, default=None
        Strengths. Default: those of `LogisticRegressionPath`.
    n_alphas, ratio : int and float, default=None
        As in `LogisticRegressionPath`.
    l1_ratio : float or list of float, default=0.0
        Share of the L1 penalty: 0 ridge, 1 lasso; of several the one with the smallest held-out loss.
    standardize : bool, default=True
        Whether the penalty applies to standardised columns.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float, default=None
        Relative suboptimality of the objective to stop at, as in `LogisticRegression`; that of folds is at least 1e-6.
    max_iter : int, default=500
        Maximum number of iterations of a fit.
    class_weight : None, "balanced" or dict, default=None
        Factors of the weights of rows: equal total weight of all classes ("balanced"), or a factor by class (default
        1).
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.
    cv : int, "holdout" or splitter, default=5
        Number of folds, or a ``cv`` of scikit-learn. Folds are stratified, and the only row of a class is never held
        out; for few rows they are repeated up to five times (twice with an L1 penalty). "holdout" holds out a fifth of
        the rows once: ridges of many rows, columns and classes take a fraction of the time.
    rule : {"min", "one-se"}, default="min"
        Smallest held-out loss, or strongest penalty within one standard error of it. A weak prior regularises the
        choice of a ridge penalty, except among given ``alphas``.
    reference : a class, default=None
        Reference class of `log_odds` and `summary`.
    random_state : int, default=None
        Seed of the folds.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The chosen strength and L1 share.
    alphas_ : array of shape (A,), decreasing
    losses_, loss_std_errors_ : arrays of shape (A,)
        Held-out mean log-loss, and its standard error over the folds, or with "holdout" over the rows.
    n_splits_ : int
        Number of folds.
    coef_, intercept_, classes_, solution_
        As in `LogisticRegression`, fitted to all rows with ``alpha_``.

    See Also
    --------
    LogisticRegression : Given strength.
    LogisticRegressionPath : A path of strengths.

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
    tol: float | None = None  # type: ignore[assignment]
    cv: Any = 5
    rule: Literal["min", "one-se"] = "min"
    reference: Any = None
    random_state: Any = None

    _takes_passes = False

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """The chosen strength (1 before the fit)."""
        return float(getattr(self, "alpha_", 1.0))

    def _penalty(self) -> ElasticNet:
        return ElasticNet(self.alpha, getattr(self, "l1_ratio_", 0.0))

    def _learn(self, data: TrainingData, offset: ArrayLike | None = None) -> None:
        for name in ("alpha_", "l1_ratio_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        data = with_offset(data, offset).gather()
        std = column_std(data, self.n_jobs) if self.standardize else None
        objective = self._objective(data, std)
        refuse_weightless(objective.class_weights, data.classes)
        objective = replace(objective, standard=objective.standardised)
        splits = self._splits(data)
        self.n_splits_, best, prior, start = len(splits), np.inf, np.zeros(1), None
        held = np.concatenate([rows for _, rows in splits])
        n_folds = len(splits) * len(np.unique(held)) / len(held)  # folds of one repeat
        for ratio in np.ravel(self.l1_ratio).tolist():
            penalty = ElasticNet(1.0, ratio)
            own = replace(objective, penalty=penalty, penalty_scale=self._units(data, penalty, std))
            found = self._held_out(own, splits, n_folds)
            check_finite(found.losses, data)
            if found.losses.min() < best:
                best, self.l1_ratio_, self.alphas_ = float(found.losses.min()), ratio, found.alphas
                self.losses_, self.loss_std_errors_, start = found.losses, found.errors, found.theta
                weak = self.alphas is None and ratio == 0  # no prior on given strengths
                prior = strength_prior(own, found.alphas) if weak else np.zeros(len(found.alphas))
        self.alpha_ = float(self.alphas_[chosen_strength(self.losses_ + prior, self.loss_std_errors_, self.rule)])
        self._minimise(self._objective(data, std), start)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for ratio in np.ravel(self.l1_ratio).tolist():
            ElasticNet(1.0, ratio)
        if isinstance(self.cv, Real):
            check_integer("cv", self.cv, 2)
        if self._has_one_split and np.any(self.l1_ratio):
            raise ParameterError(Setting("cv", "holdout"), " needs a ridge penalty. Use ", Setting("l1_ratio", 0), ".")
        check_choice("rule", self.rule, ("min", "one-se"))

    @property
    def _has_one_split(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "holdout"

    def _held_out(self, objective: Objective, splits: list[tuple[Array, Array]], n_folds: float) -> HeldOutLosses:
        """The held-out losses of all strengths; ``n_folds`` are those of one repeat."""
        alphas = self._strengths(objective)
        most = MAX_RISING if self.alphas is None else None  # given strengths are all tried
        if self._has_one_split:
            return held_out_path(objective, splits[0], alphas, self.tol, self.max_iter, most)
        if objective.penalty.l1 == 0:
            held, tol = HeldOut.by_splits(splits, objective.data.n_rows), max(self.tol or 0.0, FOLD_TOL)
            found = RidgeChoice.among(objective, held, alphas, tol, most, self.max_iter)
            alphas, losses = found.alphas, found.losses
        else:
            alphas, losses = self._lasso_losses(objective, splits, alphas)
        return HeldOutLosses(alphas, losses.mean(axis=0), losses.std(axis=0, ddof=1) / math.sqrt(n_folds))

    def _lasso_losses(
        self, objective: Objective, splits: list[tuple[Array, Array]], alphas: Array
    ) -> tuple[Array, Array]:
        """The strengths that were tried, and the held-out losses (splits, strengths)."""
        columns, tol = Columns.of(objective), max(self.tol or 0.0, L1_FOLD_TOL)
        paths = [
            held_out_losses(objective.part(train), objective.part(held), alphas, tol, self.max_iter, columns)
            for train, held in splits
        ]

        def next_losses(split: int) -> Array:
            return np.array(list(islice(paths[split], HELD_OUT_STRENGTHS)))

        losses = np.empty((len(splits), 0))
        while losses.shape[1] < len(alphas):
            further = parallel_map(next_losses, list(range(len(splits))), self.n_jobs)
            losses = np.concatenate((losses, np.stack(further)), axis=1)
            best, last = alphas[np.argmin(losses.mean(axis=0))], alphas[losses.shape[1] - 1]
            if self.alphas is None and best > L1_PATH_MARGIN * last:
                break
        return alphas[: losses.shape[1]], losses

    def _splits(self, data: LabelledRows) -> list[tuple[Array, Array]]:
        """The training and held-out rows of each fold."""
        if not (isinstance(self.cv, Real) or self._has_one_split):
            from sklearn.model_selection import check_cv  # slow to load

            return list(check_cv(self.cv, data.codes, classifier=True).split(data.codes, data.codes, data.cluster))
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(1 << 30))
        if self._has_one_split:
            return repeated_folds(data.codes, HELD_OUT_PARTS, seed, 1, data.cluster)[:1] or self._no_splits()
        folds: Any = self.cv
        tall = data.n_rows > data.rows.n_columns  # paths of many columns are slow
        most = (MAX_L1_REPEATS if tall else 1) if np.any(self.l1_ratio) else MAX_REPEATS
        splits = repeated_folds(data.codes, folds, seed, most, data.cluster)
        return splits if len(splits) > 1 else self._no_splits()

    def _no_splits(self) -> NoReturn:
        raise LabelError(
            "Cross-validation requires at least one class with two or more rows. Add rows, or use ",
            Model("LogisticRegression"),
            " with a given ", Setting("alpha"), ".",
        )  # fmt: skip


def chosen_strength(losses: Array, errors: Array, rule: str) -> int:
    """The index of the smallest loss, or of the strongest penalty within one standard error of it."""
    best = int(np.argmin(losses))
    return best if rule == "min" else int(np.argmax(losses <= losses[best] + errors[best]))
