"""Linear support vector machines, with soft and with hard margin."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import LabelledRows, Rows, Source, as_rows, check_choice, check_integer, check_number, require
from ..decision.posteriors import TemperedLosses
from ..engine import one_blas_thread, side_by_side
from ..errors import NotReadyError, NotSeparableError, ParameterError, Setting, warn
from ..folds import HeldOut, TunedRule
from ..margins.active_set import row_span
from ..margins.convex_hulls import CommonPoint
from ..margins.hard_margin import maximum_margin
from ..margins.problem import MarginFit, MarginProblem, is_wide
from ..margins.soft_margin import soft_margin
from ..multiclass import Codebook
from ..objective import ElasticNet, Logistic, Objective, Softmax, SquaredHinge, column_spread
from ..rules import LinearRule, log_softmax
from ..solvers.smooth import FoldFits, Solution, ridge_paths, rotated
from ..solvers.smooth import is_wide as is_smooth_and_wide
from .base import CalibratedMixin, all_or_nothing, extreme_values, refuse_weightless
from .multiclass import BinaryLearner

#: Machines of up to so many numbers, but no fewer columns than these, are solved in a quarter of a millisecond.
_SMALL_MACHINE, _FEW_UNKNOWNS = 40_000, 64


@dataclass(eq=False, repr=False)
class SupportVectorClassifier(CalibratedMixin, BinaryLearner):
    """Linear support vector machine: the hyperplane with the widest margin.

    Soft margin: minimises ``|w|^2 / 2 + C sum_i s_i loss_i`` with the hinge loss ``max(1 - y (w'x + b), 0)`` or its
    square, ``s`` the sample weights; the intercept is not penalised. Hard margin: minimises ``|w|^2 / 2`` with
    ``y (w'x + b) >= 1`` for every row, to which the soft margin comes as C grows; as C goes to 0, w does.

    Parameters
    ----------
    margin : {"soft", "hard"}, default="soft"
        With "hard", classes that no hyperplane separates raise a `NotSeparableError` with a proof: its ``witness``,
        which ``witness.check(X, y)`` checks, or ``witness.check(X, y == label)`` for one class against the rest.
    C : float, default=1.0
        What slack costs (soft margin).
    standardize : bool, default=False
        Whether margins measure columns by their standard deviation over all rows, so that units do not matter; w is
        then that of the columns divided by it, and ``coef_`` is in the units of the data either way. Without it
        margins, and with them predictions, depend on the units.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Of the soft margin.
    fit_intercept : bool, default=True
        Whether the scores have a constant, which is not penalised.
    multiclass : {"one-vs-rest", "one-vs-one"}, default="one-vs-rest"
        For more than two classes: each against all others, the highest score wins; or each pair, the most votes win,
        and the scores decide among equals.
    solver : {"auto", "newton", "dual", "active-set"}, default="auto"
        "newton" for up to some hundred columns, exact and with few passes over the rows whatever C; "dual", coordinate
        ascent in the dual, for more columns and for sparse rows; "active-set", exact, for up to a thousand rows of many
        columns. "auto" chooses by shape.
    tol : float, default=1e-06
        Duality gap, relative to the objective, to stop at: a proven bound on the distance from the minimum.
    max_iter : int, default=5000
        Most sweeps over the rows ("dual").
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Learn probabilities from the margins, by scikit-learn's calibration with 5 folds; ``predict_proba`` exists only
        then. Predictions are still those of the margins.
    class_weight : None, "balanced" or dict, default=None
        Multiplied into the weights of the rows, as in `LogisticRegression`.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.
    random_state : int, default=None
        For the order of the rows in "dual".

    Attributes
    ----------
    classes_ : array of shape (K,)
    coef_, intercept_ : arrays of shape (1, p) and (1,) for two classes, else one row for each binary problem
    support_ : array of int
        The rows with a multiplier above 0, in ascending order.
    dual_coef_ : array of shape (1, n_support), or one row for each binary problem
        Their multipliers times y: ``coef_ = dual_coef_ @ support_vectors_``, as exactly as ``tol`` asks for; with
        ``standardize`` over the variances of the columns.
    n_support_ : array of shape (K,)
        Support vectors of each class.
    margin_ : float, or array with one for each binary problem
        Width of the margin, ``2 / |w|``.
    slacks_ : array of shape (n,), or one row for each binary problem (NaN for rows that take no part)
    solution_ : Solution, or list with one for each binary problem
        What the solver reached: objective, duality gap, passes over the rows.
    codebook_ : Codebook
        Which classes each binary problem tells apart.

    See Also
    --------
    OneVsOne : The machines of the pairs as models of their own.
    Perceptron : Some separating hyperplane instead of the one with the widest margin.

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Find the hyperplane of each binary problem, and learn the calibration if there is to be one.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Numbers. Columns of like size make for quick and exact solutions.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Multiplies C: weight 3 counts like three such rows.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group (patient, site) are held out together by calibration.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            super().fit(X, y, sample_weight, groups=groups)
            self._calibrate(self._training)
        return self

    def _learn(self, data: LabelledRows) -> None:
        some = data.every(1)  # of a dataset its sample, which are all rows of a small one
        super()._learn(some if some.n_rows == data.n_rows else data)

    @property
    def _takes_passes(self) -> bool:
        return self.margin == "soft" and self.calibration is None and self.solver in ("auto", "newton")

    @property
    def _solves_apart(self) -> bool:
        return self.calibration is None and self.class_weight is None

    @property
    def support_(self) -> Array:
        """The rows with a multiplier above 0 in some binary problem, in ascending order."""
        return np.unique(self._multipliers().indices)

    @property
    def dual_coef_(self) -> Array:
        """The multipliers of the support vectors times y, a row for each binary problem."""
        multipliers = self._multipliers()
        return multipliers[:, np.unique(multipliers.indices)].toarray()

    def _multipliers(self) -> sp.csr_array:
        """The multipliers above 0 times y, of each row in each binary problem."""
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
        """The slack of each row; of many classes, in each binary problem, NaN where it takes no part."""
        self._refuse_passes()
        slacks = np.full((self.codebook_.n_columns, len(self._codes_)), np.nan)
        column, row, _ = self._places()
        slacks[column, row] = self._slack_
        return slacks[0] if len(self.classes_) == 2 else slacks

    def _refuse_passes(self) -> None:
        """Refuse to speak of single rows where they were passed over."""
        check_is_fitted(self)
        if not hasattr(self, "_codes_"):
            raise NotReadyError(
                "This machine was fitted by passes over a dataset, and keeps no multipliers and slacks of its rows."
            )

    def _places(self) -> tuple[Array, Array, Array]:
        """Binary problem, row and side of each entry of ``_alpha_``."""
        sides = self.codebook_.matrix.T[:, self._codes_]
        column, row = np.nonzero(sides)
        return column, row, sides[column, row]

    @property
    def support_vectors_(self) -> Any:
        """The rows of ``support_``, from the table the model was fitted on."""
        check_is_fitted(self, "rule_")
        if not hasattr(self, "_training"):
            raise NotReadyError(
                "A stored model does not carry its training rows: take X[model.support_], or fit again."
            )
        return self._training.rows.take(self.support_)

    def _check_parts(self) -> None:
        """The multipliers: one for each row of each binary problem."""
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

    def _solutions(self, data: LabelledRows) -> list[MarginFit]:
        refuse_weightless(data.class_weights, data.classes)
        columns, spread = list(range(self.codebook_.n_columns)), None
        measured = data
        if self.standardize:
            spread = column_spread(data, self.n_jobs)
            measured = replace(data, rows=_in_units(data.rows, spread))
        span = self._span(measured) if len(columns) > 1 and data.codes is not None else None
        try:
            n_jobs = 1 if self._solves_in_turn(data) else self.n_jobs
            fits = side_by_side(lambda column: self._solved(measured, column, span), columns, n_jobs)
            sound = all(np.isfinite([*fit.coef, fit.solution.objective, fit.solution.excess]).all() for fit in fits)
        except NotSeparableError as error:
            if spread is not None:
                error.witness = replace(error.witness, point=error.witness.point * spread)
            raise
        except OverflowError:
            sound = False
        if not sound:
            data.rows.refuse_nonfinite()
            raise extreme_values(data) or ParameterError(
                f"C={self.C:g} times the weights is too large: the objective overflows. Lower it."
            )
        return fits if spread is None else [fit.in_units_of_data(spread) for fit in fits]

    def _solves_in_turn(self, data: LabelledRows) -> bool:
        """Whether a machine takes less time than threads that take turns with Python's lock lose."""
        n, p = data.rows.shape
        share = np.abs(self.codebook_.matrix).mean()
        if data.codes is None:  # passes are read side by side
            return True
        return self.margin == "soft" and p >= _FEW_UNKNOWNS and share * n * p <= _SMALL_MACHINE

    def _span(self, data: LabelledRows) -> Array | None:
        """Few rows of many columns in fewer, for all binary problems."""
        problem = MarginProblem(data, float(self.C), fit_intercept=bool(self.fit_intercept), n_jobs=self.n_jobs)
        wanted = self.margin == "soft" and self.solver in ("auto", "active-set") and is_wide(problem)
        with one_blas_thread(), np.errstate(all="ignore"):
            return row_span(problem) if wanted else None

    def _solved(self, data: LabelledRows, column: int, span: Array | None) -> MarginFit:
        """The solution of a binary problem; rows of weight 0 take no part in finding it."""
        if data.codes is None:
            return self._fitted(data.against(self.codebook_.matrix[:, column]), np.empty(0), column, None)
        chosen, side = self.codebook_.targets(data.codes, column)
        rows, part = (np.arange(data.n_rows), data) if chosen is None else (chosen, data.take(chosen))
        part = replace(part, classes=data.classes[:2], codes=(side > 0).astype(part.codes.dtype))
        counted = np.flatnonzero(np.ones(len(rows)) if part.weight is None else part.weight)
        if len(counted) == len(rows):
            return self._fitted(part, rows, column, span)
        return _with_idle_rows(self._fitted(part.take(counted), rows[counted], column, span), part, counted)

    def _fitted(self, data: LabelledRows, rows: Array, column: int, span: Array | None) -> MarginFit:
        """The solution of a binary problem with these ``rows`` of the table."""
        if self.margin == "hard":
            return self._hard(data, rows, column)
        squared, seed = self.loss == "squared_hinge", 0 if self.random_state is None else self._seed()
        own = None if span is None else span[rows]
        problem = MarginProblem(data, float(self.C), squared, bool(self.fit_intercept), self.n_jobs, own)
        with np.errstate(all="ignore"):  # what overflows shows in the result
            return soft_margin(problem, self.solver, self.tol, self.max_iter, seed)

    def _hard(self, data: LabelledRows, rows: Array, column: int) -> MarginFit:
        try:
            found = maximum_margin(data.rows, 2.0 * data.codes - 1.0, bool(self.fit_intercept))
        except NotSeparableError as error:
            raise NotSeparableError(
                f"No hyperplane separates {self._named(column)}: there is no hard margin. The error's witness proves "
                "it. Use ",
                Setting("margin", "soft"),
                ".",
                witness=self._witness(error.witness, rows, column),
            ) from None
        value = 0.5 * float(found.coef @ found.coef)
        solution = Solution(
            theta=np.append(found.coef, found.intercept)[None],
            objective=value,
            gradient_norm=found.gradient_norm,
            excess=found.duality_gap,
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
        """The proof in terms of the table: its rows, and its classes (of ``y == label``, for one against the rest)."""
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
        # Of the rows of each binary problem, one after the other: multipliers and slacks. And the class of each row.
        # Rows that are read anew in every pass have none that could be kept.
        if codes is not None:
            self._alpha_ = np.concatenate([fit.alpha for fit in solutions])
            self._slack_ = np.concatenate([fit.slacks for fit in solutions])
            self._codes_ = codes
        with np.errstate(divide="ignore"):
            self.margin_ = self._one_or_each([fit.margin for fit in solutions])

    def _warn_unsolved(self, solutions: list[MarginFit]) -> None:
        failed = [column for column, fit in enumerate(solutions) if not fit.solution.converged]
        if failed:
            worst = max(failed, key=lambda column: solutions[column].solution.excess)
            solution = solutions[worst].solution
            warn(
                f"solver {solution.solver!r} stopped after {solution.iterations} iterations ({solution.reason}) in "
                f"{self._named(worst)}, at most {solution.excess:.1e} above the minimum, relative to it "
                f"(tol={self.tol:g}). Raise max_iter or tol, lower C, or scale the columns.",
                ConvergenceWarning,
            )


def _in_units(rows: Rows, units: Array) -> Rows:
    """The columns divided by these."""
    if isinstance(rows, Source):
        return replace(rows, view=partial(_divided, units))  # type: ignore[type-var]
    values = rows.block(0, rows.n_rows)
    return as_rows(values @ sp.diags_array(1 / units) if sp.issparse(values) else values / units, rows.names)


def _divided(units: Array, X: Array, start: int) -> Array:  # noqa: ARG001
    return X / units


def _with_idle_rows(fit: MarginFit, data: LabelledRows, counted: Array) -> MarginFit:
    """The solution of the ``counted`` rows among all of them; the others have no multiplier, but slack."""
    idle = np.setdiff1d(np.arange(data.n_rows), counted)
    rule = LinearRule(fit.centre, fit.coef[None], np.array([fit.constant]))
    scores = rule.scores(data.rows.take(idle))[:, 0]
    alpha, slacks = np.zeros(data.n_rows), np.empty(data.n_rows)
    alpha[counted], slacks[counted] = fit.alpha, fit.slacks
    slacks[idle] = np.maximum(1.0 - (2.0 * data.codes[idle] - 1.0) * scores, 0.0)
    return replace(fit, alpha=alpha, slacks=slacks)


#: What slack costs, from little to much, over the sum of the variances of the columns.
_COSTS = np.array([0.03, 0.3, 3.0, 30.0])
#: With more classes the calibration takes too long to be made for every cost.
_FEW_CLASSES = 6
#: Most that a margin is multiplied by to make a score of it.
_STEEPEST = 16.0
#: Ridges of the calibration, in mean losses.
_CALIBRATION_RIDGES = np.array([1e-2, 1e-3, 1e-4])
#: How close the fits of splits come to their minimum, and in how many steps at most.
_SPLIT_TOL, _SPLIT_STEPS = 1e-4, 30


def support_vector_rule(data: LabelledRows, held: HeldOut, n_jobs: int | None = None) -> TunedRule:
    """Support vector machines with the squared hinge, each class against the others, calibrated on rows held out.

    Margins become log-posteriors by a logistic regression on all of them, so that the whole is linear. Columns are
    measured by their standard deviation. The setting is "C".
    """
    n_classes, spread = len(data.classes), column_spread(data, n_jobs)
    whole = Objective(data, SquaredHinge(), ElasticNet(1.0), spread=spread, n_jobs=1)
    whole = replace(whole, standard=whole.standardised)
    rotation = rotated(whole) if is_smooth_and_wide(whole) else None
    own = whole if rotation is None else rotation.objective
    costs = _COSTS / whole.n_columns
    alphas = 1 / (costs * whole.total_weight)

    def solved(k: int) -> list[FoldFits]:
        side = replace(own.data, classes=np.arange(2), codes=(data.codes == k).astype(data.codes.dtype))
        return list(ridge_paths(replace(own, data=side), held, alphas, _SPLIT_TOL, _SPLIT_STEPS))

    paths = side_by_side(solved, [1] if n_classes == 2 else list(range(n_classes)), n_jobs)
    margins = [np.concatenate([path[c].scores for path in paths], axis=1) for c in range(len(_COSTS))]
    tried = list(range(len(costs)))
    if n_classes > _FEW_CLASSES:
        tried = [int(np.argmin([_tempered_loss(data, held, own) for own in margins]))]
    calibrated = {c: _calibrated_margins(data, held, margins[c]) for c in tried}
    best = min(tried, key=lambda c: calibrated[c][1])
    calibration, loss, posteriors = calibrated[best]
    theta = np.concatenate([path[best].theta[-1] for path in paths])
    theta = theta if rotation is None else rotation.to_columns(theta[:, None])[:, 0]
    coef, intercept = theta[:, :-1] / whole.standardised.scale, theta[:, -1]
    rule = LinearRule(whole.standardised.centre, calibration.coef @ coef, calibration.scores(intercept[None])[0])
    return TunedRule(rule, {"C": float(costs[best])}, loss, posteriors)


def _tempered_loss(data: LabelledRows, held: HeldOut, margins: Array) -> float:
    """The held-out loss of margins times the best number: enough to choose a cost by."""
    priors, weight = np.zeros(margins.shape[1]), data.weight_of(held.rows)
    return float(TemperedLosses(_STEEPEST * margins, priors, data.codes[held.rows], weight).of_grid().min())


def _calibrated_margins(data: LabelledRows, held: HeldOut, margins: Array) -> tuple[LinearRule, float, Array]:
    """From margins to log-posteriors, and the loss and log-posteriors of pairs that took no part in learning that."""
    n_classes, codes, row = len(data.classes), data.codes[held.rows], held.rows
    pairs = LabelledRows(as_rows(margins), data.classes, codes, data.weight_of(row))
    of_row = held.fits[held.first[row]] if held.n_splits > 1 else row % 2  # a row's pairs are held out together
    splits = [(np.flatnonzero(of_row != f), np.flatnonzero(of_row == f)) for f in np.unique(of_row)]
    apart = HeldOut.by_splits(splits, len(row))
    loss: Any = Logistic() if n_classes == 2 else Softmax()
    objective = Objective(pairs, loss, ElasticNet(1.0), spread=column_spread(pairs, 1), n_jobs=1)
    objective = replace(objective, standard=objective.standardised)
    fits = list(ridge_paths(objective, apart, _CALIBRATION_RIDGES, _SPLIT_TOL, _SPLIT_STEPS))
    scores = [own.scores if n_classes > 2 else own.scores * [0.0, 1.0] for own in fits]
    posteriors = [log_softmax(own) for own in scores]
    losses = [-np.average(own[np.arange(len(codes)), codes], weights=pairs.weight) for own in posteriors]
    best = int(np.argmin(losses))
    coef, intercept = objective.linear(fits[best].theta[-1])
    if n_classes == 2:
        coef, intercept = np.concatenate((0 * coef, coef)), np.append(0.0, intercept)
    return LinearRule(objective.standardised.centre, coef, intercept), float(losses[best]), posteriors[best]
