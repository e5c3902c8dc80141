"""Linear support vector machines, with soft and with hard margin."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, MatrixLike
from ..data import LabelledRows, TrainingData, as_rows, check_choice, check_integer, check_number, require
from ..decision.posteriors import TemperedLosses
from ..engine import one_blas_thread, parallel_map
from ..errors import NotReadyError, NotSeparableError, ParameterError, Setting, warn
from ..folds import HeldOut, TunedRule
from ..losses import SquaredHinge, log_loss
from ..margins.active_set import row_span
from ..margins.convex_hulls import CommonPoint
from ..margins.hard_margin import maximum_margin
from ..margins.problem import MarginFit, MarginProblem, is_wide
from ..margins.soft_margin import soft_margin
from ..multiclass import Codebook
from ..objective import ElasticNet, Objective, column_std
from ..rules import LinearRule, log_softmax
from ..solvers.ridge_cv import FoldFits, ridge_paths
from ..solvers.row_span import RowSpan
from ..solvers.row_span import is_wide as is_smooth_and_wide
from ..solvers.solution import Solution
from .base import all_or_nothing, refuse_weightless
from .checks import extreme_values
from .codebook_classifier import BinaryLearner
from .mixins import CalibratedMixin

# Machines of at most this many values and at least this many columns take a quarter of a millisecond: threads would
# lose more waiting for the GIL.
MAX_SERIAL_VALUES: Final = 40_000
MIN_SERIAL_COLUMNS: Final = 64


@dataclass(eq=False, repr=False)
class SupportVectorClassifier(CalibratedMixin, BinaryLearner):
    """Linear support vector machine: the hyperplane with the widest margin.

    Soft margin: minimises ``|w|^2 / 2 + C sum_i s_i loss_i`` with the hinge loss ``max(1 - y (w'x + b), 0)`` or its
    square, ``s`` the sample weights; the intercept is not penalised. Hard margin: minimises ``|w|^2 / 2`` subject to
    ``y (w'x + b) >= 1`` for every row, the limit of the soft margin for large C.

    Parameters
    ----------
    margin : {"soft", "hard"}, default="soft"
        With "hard", classes that are not separable raise a `NotSeparableError`, whose ``witness`` proves it:
        ``witness.check(X, y)``, or ``witness.check(X, y == label)`` for one class against the rest.
    C : float, default=1.0
        Cost of the slacks (soft margin).
    standardize : bool, default=False
        Whether to standardise the columns for w, so that units do not matter; ``coef_`` is in the units of the data.
        Otherwise margins and predictions depend on the units.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss of the soft margin.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    multiclass : {"one-vs-rest", "one-vs-one"}, default="one-vs-rest"
        For more than two classes: each against all others and the highest score wins; or each pair and the most votes
        win, with ties broken by scores.
    solver : {"auto", "newton", "dual", "active-set"}, default="auto"
        "newton": exact, few passes over the rows, up to some hundred columns; "dual": dual coordinate ascent, for more
        columns and sparse rows; "active-set": exact, up to a thousand rows of many columns. "auto" chooses by shape.
    tol : float, default=1e-06
        Duality gap relative to the objective to stop at, a bound on the suboptimality.
    max_iter : int, default=5000
        Maximum number of sweeps over the rows ("dual").
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Calibrate probabilities for ``predict_proba``, with the 5 folds of scikit-learn. Predictions do not change.
    class_weight : None, "balanced" or dict, default=None
        Factors of the weights of rows, as in `LogisticRegression`.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.
    random_state : int, default=None
        Seed of the order of rows in "dual".

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (1, p) and (1,) for two classes, else one row for each binary problem
    support_ : array of int
        Indices of the support vectors.
    dual_coef_ : array of shape (1, n_support), or one row for each binary problem
        Their multipliers times y: ``coef_ = dual_coef_ @ support_vectors_`` up to ``tol``, with ``standardize`` divided
        by the variances of the columns.
    n_support_ : array of shape (K,)
        Support vectors of each class.
    margin_ : float, or array with one for each binary problem
        Width of the margin, ``2 / |w|``.
    slacks_ : array of shape (n,), or one row for each binary problem (NaN for rows of other classes)
    solution_ : Solution, or list with one for each binary problem
        Objective, duality gap and passes of the solver.
    codebook_ : Codebook
        The binary problems.

    See Also
    --------
    OneVsOne : Pairs of classes with separate models.
    Perceptron : Any separating hyperplane.

    References
    ----------
    Cortes, C. & Vapnik, V. (1995). Support-vector networks. Machine Learning 20.
    Hsieh, C.-J. et al. (2008). A dual coordinate descent method for large-scale linear SVM. ICML.
    Platt, J. (1999). Probabilistic outputs for support vector machines (calibration).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [4, 2], [2, 4]])
    >>> y = ["near"] * 3 + ["far"] * 3
    >>> model = SupportVectorClassifier(margin="hard").fit(X, y)
    >>> model.support_, round(model.margin_, 3)
    (array([2, 5]), 2.828)
    >>> bool(model.solution_.duality_gap < 1e-9)
    True
    """

    margin: Literal["soft", "hard"] = "soft"
    _: KW_ONLY
    C: float = 1.0
    standardize: bool = False
    loss: Literal["hinge", "squared_hinge"] = "hinge"
    fit_intercept: bool = True
    multiclass: Literal["one-vs-rest", "one-vs-one"] = "one-vs-rest"
    solver: Literal["auto", "newton", "dual", "active-set"] = "auto"
    tol: float = 1e-6
    max_iter: int = 5000
    calibration: Literal["sigmoid", "isotonic"] | None = None
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the hyperplane of each binary problem, and the calibration.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Numbers, preferably standardised.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Frequencies, factors of C.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group (patient, site) are held out together in calibration.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            super().fit(X, y, sample_weight, groups=groups)
            self._calibrate(self._training)
        return self

    def _learn(self, data: TrainingData) -> None:
        some = data.sample()  # all rows of a small dataset
        super()._learn(some if some.n_rows == data.n_rows else data)

    @property
    def _takes_passes(self) -> bool:
        return self.margin == "soft" and self.calibration is None and self.solver in ("auto", "newton")

    @property
    def support_(self) -> Array:
        """Indices of the support vectors of any binary problem."""
        return np.unique(self._multipliers().indices)

    @property
    def dual_coef_(self) -> Array:
        """The multipliers of the support vectors times y, a row for each binary problem."""
        multipliers = self._multipliers()
        return multipliers[:, np.unique(multipliers.indices)].toarray()

    def _multipliers(self) -> sp.csr_array:
        """The multipliers times y, of each row in each binary problem."""
        self._refuse_passes()
        used, (column, row, side) = self._alpha_ > 0, self._places()
        shape = self.codebook_.n_columns, len(self._codes_)
        return sp.csr_array(((self._alpha_ * side)[used], (column[used], row[used])), shape)

    @property
    def n_support_(self) -> Array:
        """The number of support vectors of each class."""
        support = self.support_
        return np.bincount(self._codes_[support], minlength=len(self.classes_))

    @property
    def slacks_(self) -> Array:
        """The slack of each row; with several classes in each binary problem, NaN for rows of other classes."""
        self._refuse_passes()
        slacks = np.full((self.codebook_.n_columns, len(self._codes_)), np.nan)
        column, row, _ = self._places()
        slacks[column, row] = self._slack_
        return slacks[0] if len(self.classes_) == 2 else slacks

    def _refuse_passes(self) -> None:
        """Refuse results for single rows of a streamed fit."""
        check_is_fitted(self)
        if not hasattr(self, "_codes_"):
            raise NotReadyError("A fit to a streamed dataset has no multipliers and slacks. Fit to rows in memory.")

    def _places(self) -> tuple[Array, Array, Array]:
        """Binary problem, row and side of each entry of ``_alpha_``."""
        sides = self.codebook_.matrix.T[:, self._codes_]
        column, row = np.nonzero(sides)
        return column, row, sides[column, row]

    @property
    def support_vectors_(self) -> Any:
        """The rows of ``support_`` in the training data."""
        check_is_fitted(self, "rule_")
        if not hasattr(self, "_training"):
            raise NotReadyError(
                "This needs the training rows, which model files do not contain. Use X[model.support_], or fit again."
            )
        return self._training.gather().rows.take(self.support_)

    def _check_parts(self) -> None:
        """Check the multipliers: one for each row of each binary problem."""
        learned = vars(self)
        if "_codes_" not in learned:
            return
        codes, book = learned["_codes_"], self.codebook_
        whole = isinstance(codes, np.ndarray) and codes.dtype.kind == "i" and codes.ndim == 1 and codes.size > 0
        require(isinstance(book, Codebook) and whole, self, "codes")
        require(0 <= codes.min() <= codes.max() < book.n_classes, self, "codes")
        rows = np.bincount(codes, minlength=book.n_classes) @ np.abs(book.matrix)
        for name in ("_alpha_", "_slack_"):
            values: Any = learned.get(name)
            require(isinstance(values, np.ndarray) and values.dtype == np.float64, self, name)
            require(values.shape == (int(rows.sum()),), self, name)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("margin", self.margin, ("soft", "hard"))
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        check_choice("solver", self.solver, ("auto", "newton", "dual", "active-set"))
        check_number("C", self.C, 0, open_below=True)
        check_number("tol", self.tol, 0, 1, open_below=True)
        check_integer("max_iter", self.max_iter, 1)

    def _solutions(self, data: TrainingData) -> list[MarginFit]:
        refuse_weightless(data.class_weights, data.classes)
        columns, std = list(range(self.codebook_.n_columns)), None
        measured = data
        if self.standardize:
            std = column_std(data, self.n_jobs)
            measured = data.in_units(std)
        span = self._span(measured) if len(columns) > 1 and not data.is_streamed else None
        try:
            n_jobs = 1 if self._solves_in_turn(data) else self.n_jobs
            fits = parallel_map(lambda column: self._solved(measured, column, span), columns, n_jobs)
            sound = all(
                np.isfinite([*fit.coef, fit.solution.objective, fit.solution.suboptimality]).all() for fit in fits
            )
        except NotSeparableError as error:
            if std is not None:
                error.witness = replace(error.witness, point=error.witness.point * std)
            raise
        except OverflowError:
            sound = False
        if not sound:
            data.rows.refuse_nonfinite()
            raise extreme_values(data) or ParameterError(
                Setting("C", self.C), " times the weights is too large: the objective overflows. Lower it."
            )
        return fits if std is None else [fit.in_units_of_data(std) for fit in fits]

    def _solves_in_turn(self, data: TrainingData) -> bool:
        """Whether the machines are so small that threads would not pay off."""
        n, p = data.rows.shape
        share = np.abs(self.codebook_.matrix).mean()
        if data.is_streamed:  # passes are parallel
            return True
        return self.margin == "soft" and p >= MIN_SERIAL_COLUMNS and share * n * p <= MAX_SERIAL_VALUES

    def _span(self, data: TrainingData) -> Array | None:
        """Rows of many columns rotated to their span, for all binary problems."""
        problem = MarginProblem(data, float(self.C), fit_intercept=bool(self.fit_intercept), n_jobs=self.n_jobs)
        wanted = self.margin == "soft" and self.solver in ("auto", "active-set") and is_wide(problem)
        with one_blas_thread(), np.errstate(all="ignore"):
            return row_span(problem) if wanted else None

    def _solved(self, data: TrainingData, column: int, span: Array | None) -> MarginFit:
        """The solution of a binary problem, without rows of weight 0."""
        sides = self.codebook_.matrix[:, column]
        if data.is_streamed:
            return self._fitted(data.against(sides), np.empty(0), column, None)
        part, rows = data.gather().against(sides), np.flatnonzero(sides[data.gather().codes])
        counted = np.flatnonzero(np.ones(len(rows)) if part.weight is None else part.weight)
        if len(counted) == len(rows):
            return self._fitted(part, rows, column, span)
        return _with_idle_rows(self._fitted(part.take(counted), rows[counted], column, span), part, counted)

    def _fitted(self, data: TrainingData, rows: Array, column: int, span: Array | None) -> MarginFit:
        """The solution of a binary problem with these ``rows`` of the table."""
        if self.margin == "hard":
            return self._hard(data, rows, column)
        squared, seed = self.loss == "squared_hinge", 0 if self.random_state is None else self._seed()
        own = None if span is None else span[rows]
        problem = MarginProblem(data, float(self.C), squared, bool(self.fit_intercept), self.n_jobs, own)
        with np.errstate(all="ignore"):  # overflow is checked in the result
            return soft_margin(problem, self.solver, self.tol, self.max_iter, seed)

    def _hard(self, data: TrainingData, rows: Array, column: int) -> MarginFit:
        try:
            data = data.gather()
            found = maximum_margin(data.rows, 2.0 * data.codes - 1.0, bool(self.fit_intercept))
        except NotSeparableError as error:
            raise NotSeparableError(
                f"Not linearly separable: {self._named(column)} (proof: attribute 'witness' of this error). Use ",
                Setting("margin", "soft"),
                ".",
                witness=self._witness(error.witness, rows, column),
            ) from None
        value = 0.5 * float(found.coef @ found.coef)
        solution = Solution(
            theta=np.append(found.coef, found.intercept)[None],
            objective=value,
            gradient_norm=found.gradient_norm,
            suboptimality=found.duality_gap,
            duality_gap=found.duality_gap * value,
            passes=float("nan"),
            iterations=found.iterations,
            converged=True,
            reason="optimal",
            solver="active set",
        )
        centre = np.zeros(len(found.coef))
        return MarginFit(centre, found.coef, found.intercept, found.alpha, np.zeros(data.n_rows), solution)

    def _witness(self, found: CommonPoint, rows: Array, column: int) -> CommonPoint:
        """The proof by rows and classes of the table (of ``y == label`` for one against the rest)."""
        sides = [np.flatnonzero(self.codebook_.matrix[:, column] == side) for side in (-1, 1)]
        pair = all(len(side) == 1 for side in sides)
        names = tuple(self.classes_[side[0]] for side in sides) if pair else (False, True)
        first, second = rows[found.rows_first], rows[found.rows_second]
        return replace(found, rows_first=first, rows_second=second, classes=names)

    def _columns_of(self, solutions: list[MarginFit]) -> LinearRule:
        centre = solutions[0].centre
        constants = np.array([fit.constant + fit.coef @ (centre - fit.centre) for fit in solutions])
        return LinearRule(centre, np.array([fit.coef for fit in solutions]), constants)

    def _keep(self, solutions: list[MarginFit], codes: Array | None) -> None:
        reached = [fit.solution for fit in solutions]
        self.solution_: Any = reached[0] if len(self.classes_) == 2 else reached
        self.n_iter_ = max(max(solution.iterations for solution in reached), 1)
        # Multipliers and slacks of the rows of all binary problems; none for streamed rows.
        if codes is not None:
            self._alpha_ = np.concatenate([fit.alpha for fit in solutions])
            self._slack_ = np.concatenate([fit.slacks for fit in solutions])
            self._codes_ = codes
        with np.errstate(divide="ignore"):
            self.margin_ = self._one_or_each([fit.margin for fit in solutions])

    def _warn_unsolved(self, solutions: list[MarginFit]) -> None:
        failed = [column for column, fit in enumerate(solutions) if not fit.solution.converged]
        if failed:
            worst = max(failed, key=lambda column: solutions[column].solution.suboptimality)
            solution = solutions[worst].solution
            warn(
                f"Solver {solution.solver!r} did not converge for {self._named(worst)} ({solution.reason}). "
                f"Iterations: {solution.iterations}, relative suboptimality: {solution.suboptimality:.1e} "
                f"(tol={self.tol:g}). Raise max_iter, lower C, or standardise the columns.",
                ConvergenceWarning,
            )


def _with_idle_rows(fit: MarginFit, data: LabelledRows, counted: Array) -> MarginFit:
    """The solution for all rows from that of the ``counted`` rows; the others have slack, and multiplier 0."""
    idle = np.setdiff1d(np.arange(data.n_rows), counted)
    rule = LinearRule(fit.centre, fit.coef[None], np.array([fit.constant]))
    scores = rule.scores(data.rows.take(idle))[:, 0]
    alpha, slacks = np.zeros(data.n_rows), np.empty(data.n_rows)
    alpha[counted], slacks[counted] = fit.alpha, fit.slacks
    slacks[idle] = np.maximum(1.0 - (2.0 * data.codes[idle] - 1.0) * scores, 0.0)
    return replace(fit, alpha=alpha, slacks=slacks)


# Costs of slack, divided by the number of columns.
_COSTS = np.array([0.03, 0.3, 3.0, 30.0])
# With more classes only the cost with the best temperature is calibrated.
MAX_CALIBRATED_CLASSES: Final = 6
# Maximum slope of a temperature-scaled margin.
MAX_SLOPE: Final = 16.0
# Ridge penalties of the calibration.
_CALIBRATION_RIDGES = np.array([1e-2, 1e-3, 1e-4])
# Tolerance and iterations of the fits of splits.
SPLIT_TOL: Final = 1e-4
MAX_SPLIT_ITERATIONS: Final = 30


def support_vector_rule(data: LabelledRows, held: HeldOut, n_jobs: int | None = None) -> TunedRule:
    """One-versus-rest support vector machines with the squared hinge, calibrated on held-out rows.

    A logistic regression on all margins gives linear log-posteriors. Columns are standardised. The setting is "C".
    """
    n_classes, std = len(data.classes), column_std(data, n_jobs)
    whole = Objective(data, SquaredHinge(), ElasticNet(1.0), penalty_scale=std, n_jobs=1)
    whole = replace(whole, standard=whole.standardised)
    span = RowSpan.of(whole) if is_smooth_and_wide(whole) else None
    own = whole if span is None else span.objective
    costs = _COSTS / whole.n_columns
    alphas = 1 / (costs * whole.total_weight)

    def solved(k: int) -> list[FoldFits]:
        side = replace(own.data.gather(), classes=np.arange(2), codes=(data.codes == k).astype(data.codes.dtype))
        return list(ridge_paths(replace(own, data=side), held, alphas, SPLIT_TOL, MAX_SPLIT_ITERATIONS))

    paths = parallel_map(solved, [1] if n_classes == 2 else list(range(n_classes)), n_jobs)
    margins = [np.concatenate([path[c].scores for path in paths], axis=1) for c in range(len(_COSTS))]
    tried = list(range(len(costs)))
    if n_classes > MAX_CALIBRATED_CLASSES:
        tried = [int(np.argmin([_tempered_loss(data, held, own) for own in margins]))]
    calibrated = {c: _calibrated_margins(data, held, margins[c]) for c in tried}
    best = min(tried, key=lambda c: calibrated[c][1])
    calibration, loss, posteriors = calibrated[best]
    theta = np.concatenate([path[best].theta[-1] for path in paths])
    theta = theta if span is None else span.to_columns(theta[:, None])[:, 0]
    coef, intercept = theta[:, :-1] / whole.standardised.scale, theta[:, -1]
    rule = LinearRule(whole.standardised.centre, calibration.coef @ coef, calibration.scores(intercept[None])[0])
    return TunedRule(rule, {"C": float(costs[best])}, loss, posteriors)


def _tempered_loss(data: LabelledRows, held: HeldOut, margins: Array) -> float:
    """The held-out loss of temperature-scaled margins."""
    priors, weight = np.zeros(margins.shape[1]), data.weight_of(held.rows)
    return float(TemperedLosses(MAX_SLOPE * margins, priors, data.codes[held.rows], weight).of_grid().min())


def _calibrated_margins(data: LabelledRows, held: HeldOut, margins: Array) -> tuple[LinearRule, float, Array]:
    """The calibration of margins, its cross-validated loss and log-posteriors."""
    n_classes, codes, row = len(data.classes), data.codes[held.rows], held.rows
    pairs = LabelledRows(as_rows(margins), data.classes, codes, data.weight_of(row))
    of_row = held.fits[held.first[row]] if held.n_splits > 1 else row % 2  # pairs of a row are held out together
    splits = [(np.flatnonzero(of_row != f), np.flatnonzero(of_row == f)) for f in np.unique(of_row)]
    apart = HeldOut.by_splits(splits, len(row))
    loss = log_loss(n_classes)
    objective = Objective(pairs, loss, ElasticNet(1.0), penalty_scale=column_std(pairs, 1), n_jobs=1)
    objective = replace(objective, standard=objective.standardised)
    fits = list(ridge_paths(objective, apart, _CALIBRATION_RIDGES, SPLIT_TOL, MAX_SPLIT_ITERATIONS))
    scores = [own.scores if n_classes > 2 else own.scores * [0.0, 1.0] for own in fits]
    posteriors = [log_softmax(own) for own in scores]
    losses = [-np.average(own[np.arange(len(codes)), codes], weights=pairs.weight) for own in posteriors]
    best = int(np.argmin(losses))
    rule = LinearRule.of_scores(objective.standardised.centre, *objective.linear(fits[best].theta[-1]))
    return rule, float(losses[best]), posteriors[best]
