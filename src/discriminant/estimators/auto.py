"""A classifier that needs no choices: families of models, tuned on the same held-out rows and pooled.

Every family is fitted to the same splits. What it says of the rows held out chooses its settings, by log-loss, and then
its weight in a linear pool of posteriors: that under which the pooled posteriors of the held-out rows are likeliest,
found by the EM algorithm for mixtures (stacked densities, Smyth & Wolpert 1999).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from ..arrays import Array
from ..basis import Basis, b_splines, clipped
from ..data import LabelledRows, Rows, SparseRows, as_frame, as_rows, check_choice, check_integer, dense_rows
from ..engine import reduce, side_by_side
from ..errors import DegenerateDataError, ParameterError, Setting
from ..folds import HeldOut, TunedRule
from ..moments.statistic import ClassMoments
from ..objective import ElasticNet, Logistic, Objective, Softmax, penalty_units
from ..results import Result, aligned, decimal, listed
from ..rules import ExpandedRule, LinearRule, PoolRule, log_softmax
from ..solvers.coordinate import Columns, alpha_grid, regularisation_path
from ..solvers.smooth import RidgeChoice, named_solver
from ..tables.encoder import TableEncoder
from .base import PosteriorClassifier, by_class_or_difference, refuse_weightless
from .logistic import strengths
from .naive_bayes import naive_bayes_rule
from .regularised import ALL, Frame, class_moments, fitted_rule, regularised_rule
from .svm import support_vector_rule

#: Settings and weights are found on this many rows, these of every class at least. Logistic regressions and
#: discriminant analysis are then fitted to all; naive Bayes and margins would gain nothing.
ENOUGH_ROWS: Final = 20_000
_FEWEST_ROWS = 20
#: Rows that the prior of the pool's weights stands for, spread over the families.
_PRIOR_ROWS = 1.0
_MOST_POOL_STEPS, _POOL_TOL = 500, 1e-6
#: A family that would weigh less than this is not asked: it would cost time, and files their size, for nothing.
_LEAST_WEIGHT = 0.005
#: The baseline's least weight, and the part of the pool that it shares equally among the classes: none is ever ruled
#: out, however rare, and the probabilities of a rare one stay its own where the baseline weighs much.
_LEAST_BASELINE, _SHARED_EQUALLY = 1e-4, 1e-5
#: A column with fewer values has no shape to find; one with more has so many knots, at quantiles.
_FEWEST_VALUES, _KNOTS = 9, 6
#: Columns are multiplied up to so many standard deviations from their mean, and only if there are no more than these.
_MOST_DEVIATION, _MOST_MULTIPLIED = 4.0, 40
#: No more numbers are made of columns than this, and no covariance of more columns is decomposed in every split.
_MOST_EXPANDED, _MOST_DECOMPOSED = 5e7, 1_500
#: How close the fits of folds come to their minimum: differences between strengths are far larger.
_FOLD_TOL, _LASSO_TOL = 1e-5, 1e-3
_LASSOS = 15
#: With more parameters, rows and fits than this product, strengths are farther apart.
_MUCH_WORK = 2e9


@dataclass(frozen=True)
class Training:
    """The rows of a fit, and the splits that all families share; of many rows a sample, with all of them beside it."""

    data: LabelledRows
    held: HeldOut
    whole: LabelledRows
    n_jobs: int | None

    @cached_property
    def values(self) -> Array:
        """The rows as one array."""
        return np.asarray(dense_rows(self.data.rows.block(0, self.data.n_rows)), dtype=np.float64)

    @cached_property
    def weight(self) -> Array:
        """Of each pair of a row and a split that holds it out."""
        return np.ones(len(self.held.rows)) if self.data.weight is None else self.data.weight[self.held.rows]

    @cached_property
    def codes(self) -> Array:
        """The class of each of these pairs."""
        return self.data.codes[self.held.rows]

    def loss(self, log_posteriors: Array) -> float:
        """The mean log-loss of these pairs."""
        return float(-np.average(log_posteriors[np.arange(len(self.codes)), self.codes], weights=self.weight))


class ExpandedRows(Rows):
    """Functions of the columns of other rows, made block by block."""

    def __init__(self, rows: Rows, basis: Basis) -> None:
        self.rows, self.basis = rows, basis
        self.n_rows, self.n_columns = rows.n_rows, basis.n_outputs
        self.marks = _marks(rows, basis)

    def block(self, start: int, stop: int) -> Array:
        return self.basis.expand(self.rows.block(start, stop))

    def every(self, step: int) -> ExpandedRows:
        return ExpandedRows(self.rows.every(step), self.basis)

    def take(self, chosen: Array) -> Array:
        return self.basis.expand(self.rows.take(chosen))


def _marks(rows: Rows, basis: Basis) -> Array | None:
    """Which outputs of a basis are marks of levels: those and their products, as they are."""
    if rows.marks is None:
        return None
    factors = np.append(np.zeros(basis.n_factors, dtype=bool), True)
    factors[: len(basis.columns)] = rows.marks[basis.columns]
    return np.asarray(factors[basis.outputs].all(axis=1))


def _objective(data: LabelledRows, l1_ratio: float, n_jobs: int | None) -> Objective:
    loss, rows = Logistic() if len(data.classes) == 2 else Softmax(), data.rows
    # a sparse matrix of unknown columns, such as words, is left in its own units
    unknown = isinstance(rows, SparseRows) and rows.marks is None
    penalty = ElasticNet(1.0, l1_ratio)
    spread = None if unknown else penalty_units(data, penalty, n_jobs)
    found = Objective(data, loss, penalty, spread=spread, n_jobs=n_jobs, symmetric=l1_ratio > 0)
    return replace(found, standard=found.standardised)


def _both(scores: Array, axis: int) -> Array:
    """Scores of both classes where only the second's is given: the first's is 0."""
    return scores if scores.shape[axis] > 1 else np.concatenate((np.zeros_like(scores), scores), axis=axis)


def _linear_rule(objective: Objective, theta: Array) -> LinearRule:
    coef, intercept = objective.linear(theta)
    return LinearRule(objective.standardised.centre, _both(coef, 0), _both(intercept, 0))


def ridge_rule(training: Training, basis: Basis | None = None) -> TunedRule:
    """Ridge logistic regression, of functions of the columns where a basis is given."""
    data = training.data
    if basis is not None:
        data = replace(data, rows=as_rows(basis.expand(training.values), marks=_marks(data.rows, basis)))
    objective = _objective(data, 0.0, training.n_jobs)
    alphas = strengths(objective, None, None)
    if objective.n_parameters * data.n_rows * training.held.n_splits > _MUCH_WORK:
        alphas = alphas[::2]
    found = RidgeChoice.among(objective, training.held, alphas, _FOLD_TOL, 200, 2)
    alpha, theta = found.best.alpha, found.best.theta[-1]
    if training.whole is not training.data:
        rows = training.whole.rows
        whole = replace(training.whole, rows=rows if basis is None else ExpandedRows(rows, basis))
        objective = replace(_objective(whole, 0.0, training.n_jobs), penalty=ElasticNet(alpha))
        theta = named_solver("auto", objective)(objective, np.zeros(objective.shape), _FOLD_TOL, 200).theta
    rule: Any = _linear_rule(objective, theta)
    if basis is not None:
        rule = ExpandedRule(basis, rule)
    posteriors = log_softmax(_both(found.best.scores, 1))
    return TunedRule(rule, {"alpha": alpha}, training.loss(posteriors), posteriors)


def lasso_rule(training: Training) -> TunedRule:
    """Logistic regression with an L1 penalty."""
    data, held = training.data, training.held
    objective = _objective(data, 1.0, training.n_jobs)
    alphas = alpha_grid(objective, _LASSOS, 1e-3 if data.n_rows > data.rows.n_columns else 1e-2)
    columns = Columns.of(objective)

    def posteriors_of(split: int) -> Array:
        part = objective.part(np.flatnonzero(held.seen[:, split]))
        block = data.rows.take(held.rows[held.fits == split])
        path = regularisation_path(part, alphas, _LASSO_TOL, 100, columns=columns)
        return np.stack([log_softmax(_linear_rule(part, solution.theta).scores(block)) for solution in path])

    posteriors = np.empty((len(alphas), len(held.rows), len(data.classes)))
    for split, found in enumerate(side_by_side(posteriors_of, list(range(held.n_splits)), training.n_jobs)):
        posteriors[:, held.fits == split] = found
    losses = [training.loss(own) for own in posteriors]
    best = int(np.argmin(losses))
    whole = objective if training.whole is data else _objective(training.whole, 1.0, training.n_jobs)
    theta = regularisation_path(whole, alphas[: best + 1], _LASSO_TOL, 100)[-1].theta
    return TunedRule(_linear_rule(whole, theta), {"alpha": float(alphas[best])}, losses[best], posteriors[best])


def rda_rule(training: Training) -> TunedRule:
    """Regularised discriminant analysis."""
    if min(training.data.rows.shape) > _MOST_DECOMPOSED:
        raise DegenerateDataError("there are too many columns.")
    found = regularised_rule(training.data, training.held, n_jobs=training.n_jobs)
    if training.whole is training.data:
        return found
    moments = class_moments(
        training.whole, replace(ALL, poolings=np.array([found.settings["pooling"]])), training.n_jobs
    )
    return replace(found, rule=fitted_rule(Frame.of_columns(training.whole, moments), moments, found.settings))


def spline_rule(training: Training) -> TunedRule:
    """A ridge on B-splines of the columns with many values, beside all columns as they are."""
    return ridge_rule(training, spline_basis(training.values, _KNOTS))


def spline_basis(values: Array, n_knots: int) -> Basis:
    """All columns, and B-splines of those with many values."""
    if values.size * (n_knots + 2) > _MOST_EXPANDED:
        raise DegenerateDataError("there are too many columns.")
    functions = []
    for j, column in enumerate(values.T):
        if len(np.unique(column)) >= _FEWEST_VALUES:
            knots = np.unique(np.quantile(column, np.linspace(0, 1, n_knots)))
            functions += [b_splines(j, knots)] * (len(knots) > 2)
    if not functions:
        raise DegenerateDataError("no column has values enough.")
    p = values.shape[1]
    ends = p + np.cumsum([function.n_outputs for function in functions])
    # All of a column's add up to 1: one of them can go.
    outputs = np.delete(np.arange(ends[-1]), ends - 1)
    return Basis(p, np.arange(p), functions, outputs[:, None])


def product_rule(training: Training) -> TunedRule:
    """A ridge on all columns, their squares and their products."""
    return ridge_rule(training, product_basis(training.values))


def product_basis(values: Array) -> Basis:
    """All columns, and the product of every two."""
    p = values.shape[1]
    if p > _MOST_MULTIPLIED:
        raise DegenerateDataError(f"there are more than {_MOST_MULTIPLIED} columns.")
    centre, scale = values.mean(axis=0), values.std(axis=0)
    functions = [clipped(j, centre[j], scale[j] or 1.0, _MOST_DEVIATION) for j in range(p)]
    outputs = np.concatenate(([[j, -1] for j in range(p)], p + np.column_stack(np.triu_indices(p))))
    basis = Basis(p, np.arange(p), functions, outputs)
    distinct = np.unique(basis.expand(values), axis=1, return_index=True)[1]
    return replace(basis, outputs=outputs[np.sort(distinct)])


#: How each family is fitted, by its name.
FAMILIES: dict[str, Callable[[Training], TunedRule]] = {
    "ridge": ridge_rule,
    "lasso": lasso_rule,
    "rda": rda_rule,
    "naive-bayes": lambda training: naive_bayes_rule(training.data, training.held, training.n_jobs),
    "svm": lambda training: support_vector_rule(training.data, training.held, training.n_jobs),
    "splines": spline_rule,
    "products": product_rule,
}
#: Those whose scores are sums of columns times coefficients.
LINEAR = ("ridge", "lasso", "svm")
#: Those that do without all rows as one dense array.
_FOR_SPARSE = ("ridge", "svm")


def baseline(training: Training) -> TunedRule:
    """The shares of the classes, whatever the row: as they are, for families are judged beside their loss."""
    weight = training.whole.class_weights
    return _constant(training, weight / weight.sum())


def _constant(training: Training, shares: Array) -> TunedRule:
    p = training.data.rows.n_columns
    posteriors = np.tile(np.log(shares), (len(training.codes), 1))
    rule = LinearRule(np.zeros(p), np.zeros((len(shares), p)), np.log(shares))
    return TunedRule(rule, {}, training.loss(posteriors), posteriors)


def pooled_baseline(training: Training, own: TunedRule, weight: float) -> TunedRule:
    """The baseline as it stands in a pool, in which it has this weight."""
    equal = _SHARED_EQUALLY / weight
    return _constant(training, (1 - equal) * np.exp(own.rule.intercept) + equal / len(own.rule.intercept))


def pool_weights(training: Training, members: Iterable[TunedRule]) -> Array:
    """The weights under which the pooled posteriors of held-out rows are likeliest; the baseline comes last."""
    pairs = np.arange(len(training.codes))
    likelihood = np.exp(np.stack([member.log_posteriors[pairs, training.codes] for member in members], axis=1))
    share = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    # a row that is held out several times counts once
    count = training.weight * (len(np.unique(training.held.rows)) / len(pairs))
    for _ in range(_MOST_POOL_STEPS):
        responsibility = share * likelihood
        responsibility /= responsibility.sum(axis=1, keepdims=True)
        before, share = share, count @ responsibility + _PRIOR_ROWS / len(share)
        share /= share.sum()
        if np.abs(share - before).max() < _POOL_TOL:
            break
    share[:-1] = np.where(share[:-1] < min(_LEAST_WEIGHT, share[:-1].max()), 0.0, share[:-1])
    share[-1] = max(share[-1], _LEAST_BASELINE)
    return share / share.sum()


#: What is said of a loss that chose settings and weights.
_OPTIMISTIC: Final = (
    ". It is optimistic, because it chose settings and weights: cross-validation of the model (compare) estimates the "
    "log-loss on new rows."
)


@dataclass(frozen=True)
class Member:
    """One family of a pool.

    Attributes
    ----------
    name : str
        Of the family.
    weight : float
        Its share of the pool.
    loss : float
        The log-loss of the rows held out, with the settings that were chosen by it: optimistic.
    settings : dict
        What was chosen for it.
    """

    name: str
    weight: float
    loss: float
    settings: dict[str, float]


@dataclass(frozen=True, repr=False)
class PoolSummary(Result):
    """What an `AutoClassifier` took, and what each family would have given.

    Attributes
    ----------
    rows : list of Member
        The families, the heaviest first.
    loss : float
        The log-loss of the pool on the rows held out, which also chose settings and weights: optimistic, and no
        estimate for new rows. `compare` and `cross_validate` repeat the tuning within each training part.
    choose : {"pool", "best"}
        How the families were brought together.
    left_out : dict
        Families that were not fitted, and why.
    """

    rows: list[Member]
    loss: float
    choose: str
    left_out: dict[str, str]

    def __str__(self) -> str:
        table = [["family", "tuning log-loss", "weight", "settings"]]
        for member in self.rows:
            chosen = ", ".join(f"{name} = {value:.3g}" for name, value in member.settings.items())
            table.append([member.name, decimal(member.loss, 4), f"{member.weight:.2f}", chosen])
        lines = [self.words(), "", *aligned(table)]
        return "\n".join([*lines, *(f"{name}: left out, {reason}" for name, reason in self.left_out.items())])

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and text, and in words what was taken.

        Returns
        -------
        dict
            By name of the field.
        """
        return {"words": self.words(), **super().to_dict()}

    def words(self) -> str:
        """What was taken and why, in a sentence or two."""
        families = [member for member in self.rows if member.name != "baseline"]
        best = min(families, key=lambda member: member.loss)
        if self.choose == "best":
            return f"{best.name} has the least tuning log-loss, {decimal(best.loss, 4)}{_OPTIMISTIC}"
        used = listed([f"{member.name} ({member.weight:.0%})" for member in families if member.weight >= 0.05])
        alone = f"best family alone, {best.name}: {decimal(best.loss, 4)}"
        return f"A pool of {used}. Tuning log-loss: {decimal(self.loss, 4)} ({alone}){_OPTIMISTIC}"


@dataclass(eq=False, repr=False)
class AutoClassifier(PosteriorClassifier):
    """A classifier without choices: the posteriors of several tuned families, pooled by what held-out rows say.

    The families are ridge and lasso logistic regression, regularised discriminant analysis (between LDA and QDA),
    naive Bayes, a calibrated support vector machine, and ridges on splines and on products of the columns. Each is
    tuned by the log-loss of held-out rows; the posterior is the mean of theirs, with the weights under which held-out
    rows are likeliest. What is held out are five folds, dealt anew up to five times where rows are few; of more than
    20,000 rows a sample of that many chooses settings and weights.

    Frames with text, dates and missing values are taken as they are: `TableEncoder` codes them.

    Parameters
    ----------
    families : list of str, "linear" or None, default=None
        Which of "ridge", "lasso", "rda", "naive-bayes", "svm", "splines" and "products" take part; "linear" are those
        with a coefficient for each column. Default: all that suit the rows.
    choose : {"pool", "best"}, default="pool"
        Pool the families, or take the one with the least held-out log-loss, for a model that can be read.
    folds : int, default=5
        Folds that rows are held out in.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    members_ : list of Member
        The families with their weights, held-out losses and settings, and the baseline (the shares of the classes),
        whose weight is at least 0.0001: no class is ever ruled out.
    loss_ : float
        The pool's log-loss on the rows held out, which also chose settings and weights: optimistic. For an estimate
        with a confidence interval compare the model, also alone: ``compare(AutoClassifier(), X, y).chosen``.
    left_out_ : dict
        Families that were not fitted, and why.
    encoder_ : TableEncoder
        Where the rows were a frame that had to be coded.
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes
        Of the family chosen by "best", where its scores are linear.
    xbar_ : array of shape (p,)
        Means of the (coded) columns.

    See Also
    --------
    LogisticRegression : Maximum likelihood, with inference.
    member_coefficients : The coefficients of the families that have some.
    column_effects : What each column does.
    compare : Models side by side, on rows that none of them has seen.

    References
    ----------
    Smyth, P. & Wolpert, D. (1999). Linearly combining density estimators via stacking. Machine Learning 36.
    Friedman, J., Hastie, T. & Tibshirani, R. (2010). Regularization paths for generalized linear models via coordinate
    descent. J. Statistical Software 33.
    Eilers, P. H. C. & Marx, B. D. (1996). Flexible smoothing with B-splines and penalties. Statistical Science 11.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = AutoClassifier(["ridge", "rda"]).fit(X, y)
    >>> [member.name for member in model.members_]
    ['ridge', 'rda', 'baseline']
    >>> model.score(X, y) > 0.98
    True
    """

    families: Any = None
    _: KW_ONLY
    choose: Literal["pool", "best"] = "pool"
    folds: int = 5
    n_jobs: int | None = None

    def describe(self) -> PoolSummary:
        """What was taken, and what each family would have given.

        Returns
        -------
        PoolSummary
        """
        self._ready()
        rows = sorted(self.members_, key=lambda member: -member.weight)
        return PoolSummary(rows, self.loss_, self.choose, self.left_out_)

    def _check_parameters(self) -> None:
        check_choice("choose", self.choose, ("pool", "best"))
        check_integer("folds", self.folds, 2)
        unknown = [name for name in self._families() if name not in FAMILIES]
        if unknown or not self._families():
            raise ParameterError(Setting("families"), f" must be some of {', '.join(FAMILIES)}, or 'linear'.")

    def _families(self) -> list[str]:
        if self.families is None:
            return list(FAMILIES)
        return [name for name in FAMILIES if name in LINEAR] if self.families == "linear" else list(self.families)

    def _rows_to_fit(self, X: Any, y: Any, sample_weight: Any) -> LabelledRows:
        if not needs_coding(X):
            return super()._rows_to_fit(X, y, sample_weight)
        encoder = TableEncoder(coding="full").fit(X, y)
        encoder.schema_ = encoder.schema_.with_unseen_as_reference  # products of averages are no averages
        data = super()._rows_to_fit(encoder.rows(X), y, sample_weight)
        self.encoder_ = encoder
        return data

    def _learn(self, data: LabelledRows) -> None:
        refuse_weightless(data.class_weights, data.classes)
        training = self._training(data)
        if not len(training.codes):
            raise DegenerateDataError("Every class has one row: none can be held out to choose by.")
        moments = ClassMoments(len(data.classes), data.rows.n_columns, "diagonal")
        self.xbar_ = reduce(data, moments, self.n_jobs).overall_mean()
        self.left_out_ = dict[str, str]()
        members = {**self._tuned(training), "baseline": baseline(training)}
        weights = self._weights(training, list(members.values()))
        pairs = zip(members.items(), weights.tolist(), strict=True)
        self.members_ = [Member(name, weight, own.loss, own.settings) for (name, own), weight in pairs]
        members["baseline"] = pooled_baseline(training, members["baseline"], weights[-1])
        pooled = np.einsum("m,mik->ik", weights, np.exp([own.log_posteriors for own in members.values()]))
        self.loss_ = training.loss(np.log(pooled))
        self.rule_ = PoolRule([own.rule for own in members.values()], weights)
        heaviest = self.rule_.rules[int(np.argmax(weights))]
        if self.choose == "best" and isinstance(heaviest, LinearRule):
            self.coef_, self.intercept_ = by_class_or_difference(heaviest)

    def _training(self, data: LabelledRows) -> Training:
        """The rows with splits; of many rows a sample in which every class has its share, and some rows at least.

        Rows of a class that would have fewer weigh less than one, so that the class keeps its share: without that,
        naive Bayes and support vectors gave a class of 90 in 300,000 rows three times its probability.
        """
        sample = data
        if data.n_rows > ENOUGH_ROWS:
            order, place = np.random.default_rng(0).permutation(data.n_rows), np.empty(data.n_rows)
            for code in range(len(data.classes)):
                own = order[data.codes[order] == code]
                place[own] = np.where(np.arange(len(own)) < _FEWEST_ROWS, -1.0, np.arange(len(own)) / len(own))
            sample = data.take(np.sort(np.argsort(place, kind="stable")[:ENOUGH_ROWS]))
            if np.bincount(data.codes).min() * ENOUGH_ROWS < _FEWEST_ROWS * data.n_rows:
                shares = data.class_weights / data.total_weight
                sample = sample.times(shares * sample.total_weight / sample.class_weights)
        return Training(sample, HeldOut.repeated(sample.codes, self.folds, groups=sample.cluster), data, self.n_jobs)

    def _tuned(self, training: Training) -> dict[str, TunedRule]:
        """Every family that suits the rows; why others do not is kept."""
        members = dict[str, TunedRule]()
        for name in self._families():
            try:
                if isinstance(training.data.rows, SparseRows) and name not in _FOR_SPARSE:
                    raise DegenerateDataError("the rows are a sparse matrix.")
                members[name] = FAMILIES[name](training)
            except DegenerateDataError as error:
                self.left_out_[name] = str(error)
        if not members:
            raise DegenerateDataError(
                "No family can be fitted.", *(f" {n}: {why}" for n, why in self.left_out_.items())
            )
        return members

    def _weights(self, training: Training, members: list[TunedRule]) -> Array:
        if self.choose == "pool":
            return pool_weights(training, members)
        weights = np.zeros(len(members))
        weights[-1] = _LEAST_BASELINE
        weights[int(np.argmin([member.loss for member in members[:-1]]))] = 1 - _LEAST_BASELINE
        return weights


def needs_coding(X: Any) -> bool:
    """Whether X is a frame with gaps, or with something else than numbers."""
    frame = as_frame(X)
    if frame is None:
        return False
    kinds = frame.schema
    if not all(kind.is_numeric() for kind in kinds.values()):
        return True
    return any(
        column.null_count() > 0 or (kinds[column.name].is_float() and column.is_nan().any())
        for column in frame.iter_columns()
    )
