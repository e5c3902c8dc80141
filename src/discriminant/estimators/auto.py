"""AutoClassifier: families of models, tuned on the same held-out rows and pooled.

Every family is fitted to the same splits. Its settings minimise the held-out log-loss; the weights of the linear pool
of posteriors maximise the held-out likelihood, by the EM algorithm for mixtures (stacking, Smyth & Wolpert 1999).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, MatrixLike
from ..data import (
    AnyRows,
    LabelledRows,
    TrainingData,
    as_frame,
    check_choice,
    check_integer,
    check_order,
    class_order,
    declared_order,
)
from ..errors import DegenerateDataError, NotReadyError, ParameterError, Setting
from ..folds import HeldOut, TunedRule
from ..moments.statistic import ClassMoments
from ..results import Result, aligned, decimal, listed, percent
from ..rules import LinearRule, PoolRule
from ..tables.encoder import TableEncoder
from .base import PosteriorClassifier, by_class_or_difference, refuse_weightless
from .dense_columns import Families
from .families import FAMILIES, LINEAR
from .tuning import Training

# Settings and weights are chosen on a subsample of at most this many rows, at least MIN_CLASS_ROWS of every class.
# Logistic regression and discriminant analysis are then fitted to all rows; the others hardly change.
MAX_TUNING_ROWS: Final = 20_000
MIN_CLASS_ROWS: Final = 20
# The weight of the uniform prior on the pool weights, in rows.
PRIOR_ROWS: Final = 1.0
MAX_POOL_STEPS: Final = 500
POOL_TOL: Final = 1e-6
# Families with a smaller weight are dropped: they cost time and file size.
MIN_FAMILY_WEIGHT: Final = 0.005
# The weight of the baseline, and the part of the pool that it gives to all classes equally: no probability is 0, and
# the probability of a rare class hardly changes.
MIN_BASELINE_WEIGHT: Final = 1e-4
UNIFORM_WEIGHT: Final = 1e-5


def baseline(training: Training) -> TunedRule:
    """The class frequencies, for every row."""
    weight = training.whole.class_weights
    return _constant(training, weight / weight.sum())


def _constant(training: Training, shares: Array) -> TunedRule:
    p = training.data.rows.n_columns
    posteriors = np.tile(np.log(shares), (len(training.codes), 1))
    rule = LinearRule(np.zeros(p), np.zeros((len(shares), p)), np.log(shares))
    return TunedRule(rule, {}, training.loss(posteriors), posteriors)


def pooled_baseline(training: Training, own: TunedRule, weight: float) -> TunedRule:
    """The baseline of a pool in which it has this weight."""
    equal = UNIFORM_WEIGHT / weight
    return _constant(training, (1 - equal) * np.exp(own.rule.intercept) + equal / len(own.rule.intercept))


def pool_weights(training: Training, members: Iterable[TunedRule]) -> Array:
    """The weights that maximise the likelihood of the pooled posteriors of held-out rows; the baseline is last."""
    pairs = np.arange(len(training.codes))
    likelihood = np.exp(np.stack([member.log_posteriors[pairs, training.codes] for member in members], axis=1))
    share = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    # rows held out several times count once
    count = training.weight * (len(np.unique(training.held.rows)) / len(pairs))
    for _ in range(MAX_POOL_STEPS):
        responsibility = share * likelihood
        responsibility /= responsibility.sum(axis=1, keepdims=True)
        before, share = share, count @ responsibility + PRIOR_ROWS / len(share)
        share /= share.sum()
        if np.abs(share - before).max() < POOL_TOL:
            break
    share[:-1] = np.where(share[:-1] < min(MIN_FAMILY_WEIGHT, share[:-1].max()), 0.0, share[:-1])
    share[-1] = max(share[-1], MIN_BASELINE_WEIGHT)
    return share / share.sum()


# A caveat on the loss that chose settings and weights.
_OPTIMISTIC: Final = " (optimistic: use compare for the log-loss on held-out data)."


@dataclass(frozen=True)
class Member:
    """One family of a pool.

    Attributes
    ----------
    name : str
        Name of the family.
    weight : float
        Weight in the pool.
    loss : float
        Held-out log-loss, minimised over the settings: optimistic.
    settings : dict
        Chosen settings.
    """

    name: str
    weight: float
    loss: float
    settings: dict[str, float]


@dataclass(frozen=True, repr=False)
class PoolSummary(Result):
    """The pool of an `AutoClassifier` and the loss of each family.

    Attributes
    ----------
    rows : list of Member
        The families, the largest weight first.
    loss : float
        Held-out log-loss of the pool, which also chose settings and weights: optimistic. `compare` and
        `cross_validate` repeat the tuning within each training fold.
    choose : {"pool", "best"}
        Whether families are pooled or one is selected.
    left_out : dict
        Families that were not fitted, with the reason.
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
        """The summary as plain values, with its first sentence as ``words``.

        Returns
        -------
        dict
            By name of the field.
        """
        return {"words": self.words(), **super().to_dict()}

    def words(self) -> str:
        """The selected or pooled families and their log-loss."""
        families = [member for member in self.rows if member.name != "baseline"]
        best = min(families, key=lambda member: member.loss)
        if self.choose == "best":
            return f"Selected: {best.name}. Tuning log-loss: {decimal(best.loss, 4)}{_OPTIMISTIC}"
        used = listed([f"{member.name} ({percent(member.weight, 0)})" for member in families if member.weight >= 0.05])
        alone = f"best family: {best.name}, {decimal(best.loss, 4)}"
        return f"Pool: {used}. Tuning log-loss: {decimal(self.loss, 4)}; {alone}{_OPTIMISTIC}"


@dataclass(eq=False, repr=False)
class AutoClassifier(PosteriorClassifier):
    """A pool of tuned families of models, weighted by their held-out likelihood.

    The families are ridge and lasso logistic regression, regularised discriminant analysis (between LDA and QDA),
    naive Bayes, a calibrated support vector machine, and ridges on splines, on products of the columns, and on bins and
    levels with selected pairs of them; for classes with an order also ordinal regression (adjacent categories, with a
    ridge penalty). Each minimises the held-out log-loss of five folds (repeated up to five times for few rows); the
    posterior is their weighted mean. With more than 20,000 rows, a subsample of this size chooses settings and weights.

    Frames with levels, dates and missing values are coded by `TableEncoder`. Sparse columns of words and of levels of
    categories with more than 50 have effects in ridge, ordinal regression and support vectors; the other families have
    the dense columns and the effects of the sparse ones in the ridge.

    Parameters
    ----------
    families : list of str, "linear" or None, default=None
        Some of "ridge", "ordinal", "rda", "naive-bayes", "svm", "splines", "products", "pairs" and "lasso"; "linear"
        are those with a coefficient for each column. Default: all that support the rows.
    choose : {"pool", "best"}, default="pool"
        Pool the families, or select the one with the smallest held-out log-loss.
    folds : int, default=5
        Number of folds.
    classes_order : sequence of labels, default=None
        All classes from the lowest to the highest. Default: the order of an ordered categorical, else none.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    members_ : list of Member
        The families with their weights, held-out losses and settings, and the baseline (class frequencies) with weight
        0.0001 or more.
    loss_ : float
        Held-out log-loss of the pool, optimistic because it chose settings and weights; see
        ``compare(AutoClassifier(), X, y)``.
    left_out_ : dict
        Families that were not fitted, with the reason.
    encoder_ : TableEncoder
        The coding of a frame with text, dates or missing values.
    coef_, intercept_ : arrays of shape (K, p) and (K,); (1, p) and (1,) for two classes
        Of the selected family, if it is linear.
    xbar_ : array of shape (p,)
        Means of the (coded) columns.

    See Also
    --------
    LogisticRegression : Maximum likelihood, with inference.
    member_coefficients : The coefficients of the linear families.
    column_effects : Effects of columns.
    compare : Comparison of models on held-out data.

    References
    ----------
    Smyth, P. & Wolpert, D. (1999). Linearly combining density estimators via stacking. Machine Learning 36.
    Friedman, J., Hastie, T. & Tibshirani, R. (2010). Regularization paths for generalized linear models via coordinate
    descent. J. Statistical Software 33.
    Eilers, P. H. C. & Marx, B. D. (1996). Flexible smoothing with B-splines and penalties. Statistical Science 11.
    Lou, Y., Caruana, R., Gehrke, J. & Hooker, G. (2013). Accurate intelligible models with pairwise interactions. KDD.

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
    classes_order: Any = None
    n_jobs: int | None = None
    _own_state = ("_held_out",)

    def describe(self) -> PoolSummary:
        """The pool and the loss of each family.

        Returns
        -------
        PoolSummary
        """
        self._ready()
        rows = sorted(self.members_, key=lambda member: -member.weight)
        return PoolSummary(rows, self.loss_, self.choose, self.left_out_)

    def out_of_fold_posteriors(self) -> Array:
        """The posteriors of held-out training rows, which also chose settings and weights; `PredictionSets` takes them.

        Returns
        -------
        array of shape (repeats, n_rows, K)
            NaN for rows that were not held out.
        """
        kept: tuple[HeldOut, Array] | None = getattr(self, "_held_out", None)
        if kept is None:
            limit = f"a fit in this process, to at most {MAX_TUNING_ROWS:,} rows"
            raise NotReadyError(f"Out-of-fold posteriors are available after {limit}. Use cross_validate.")
        held, pooled = kept
        repeat = np.arange(len(pooled)) - held.first[held.rows]
        posteriors = np.full((repeat.max() + 1, len(held.seen), pooled.shape[1]), np.nan)
        posteriors[repeat, held.rows] = pooled
        return posteriors

    def _check_parameters(self) -> None:
        check_choice("choose", self.choose, ("pool", "best"))
        check_integer("folds", self.folds, 2)
        check_order(self.classes_order)
        unknown = [name for name in self._families() if name not in FAMILIES]
        if unknown or not self._families():
            raise ParameterError(Setting("families"), f" must be 'linear' or some of {', '.join(FAMILIES)}.")

    def _families(self) -> list[str]:
        if self.families is None:
            return list(FAMILIES)
        return [name for name in FAMILIES if name in LINEAR] if self.families == "linear" else self.families

    def _fit(
        self, X: MatrixLike | AnyRows, y: Any, sample_weight: ArrayLike | None, *_: Any, groups: ArrayLike | None = None
    ) -> Self:
        return super()._fit(X, y, sample_weight, declared_order(y), groups=groups)

    def _rows_to_fit(
        self, X: MatrixLike | AnyRows, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> TrainingData:
        if not needs_coding(X):
            return super()._rows_to_fit(X, y, sample_weight)
        encoder = TableEncoder(coding="sparse").fit(X, y)
        encoder.schema_ = encoder.schema_.with_unseen_as_reference  # scores are not linear in the coding
        data = super()._rows_to_fit(encoder.rows(X), y, sample_weight)
        self.encoder_ = encoder
        return data

    def _learn(self, data: LabelledRows, declared: list[Any] | None = None) -> None:
        refuse_weightless(data.class_weights, data.classes)
        order = class_order(data.classes, self.classes_order, declared)
        if order is not None:
            self.classes_order_ = data.classes[order]
        training = replace(self._training(data), order=order)
        if not len(training.codes):
            raise DegenerateDataError("Every class has a single row, so none can be held out. Add rows.")
        moments = ClassMoments(len(data.classes), data.rows.n_columns, "diagonal")
        self.xbar_ = data.reduce(moments, self.n_jobs).overall_mean()
        self.left_out_ = dict[str, str]()
        members = {**self._tuned(training), "baseline": baseline(training)}
        weights = self._weights(training, list(members.values()))
        pairs = zip(members.items(), weights.tolist(), strict=True)
        self.members_ = [Member(name, weight, own.loss, own.settings) for (name, own), weight in pairs]
        members["baseline"] = pooled_baseline(training, members["baseline"], weights[-1])
        pooled = np.einsum("m,mik->ik", weights, np.exp([own.log_posteriors for own in members.values()]))
        self.loss_ = training.loss(np.log(pooled))
        self._held_out = (training.held, pooled) if training.whole is training.data else None
        self.rule_ = PoolRule([own.rule for own in members.values()], weights)
        heaviest = self.rule_.rules[int(np.argmax(weights))]
        if self.choose == "best" and isinstance(heaviest, LinearRule):
            self.coef_, self.intercept_ = by_class_or_difference(heaviest)

    def _training(self, data: LabelledRows) -> Training:
        """The rows with splits; many rows are subsampled by class, with some rows of every class.

        Rows of oversampled classes have weights below 1. Without these, naive Bayes and support vectors gave a class of
        90 in 300,000 rows three times its probability.
        """
        sample = data
        if data.n_rows > MAX_TUNING_ROWS:
            order, place = np.random.default_rng(0).permutation(data.n_rows), np.empty(data.n_rows)
            for code in range(len(data.classes)):
                own = order[data.codes[order] == code]
                place[own] = np.where(np.arange(len(own)) < MIN_CLASS_ROWS, -1.0, np.arange(len(own)) / len(own))
            sample = data.take(np.sort(np.argsort(place, kind="stable")[:MAX_TUNING_ROWS]))
            if np.bincount(data.codes).min() * MAX_TUNING_ROWS < MIN_CLASS_ROWS * data.n_rows:
                shares = data.class_weights / data.total_weight
                sample = sample.times(shares * sample.total_weight / sample.class_weights)
        return Training(sample, HeldOut.repeated(sample.codes, self.folds, groups=sample.cluster), data, self.n_jobs)

    def _tuned(self, training: Training) -> dict[str, TunedRule]:
        """The fits of all families that support the rows; sets the reasons for the others."""
        members, names = dict[str, TunedRule](), self._families()
        if names is not self.families and (training.order is None or len(training.order) == 2):
            names.remove("ordinal")  # two classes are those of ridge
        families = Families.of(training)
        for name in names:
            try:
                best = min(members.values(), key=lambda member: member.loss, default=None)
                members[name] = families.rule(name, best)
            except DegenerateDataError as error:
                self.left_out_[name] = str(error)
        if not members:
            reasons = (f" {name}: {reason}" for name, reason in self.left_out_.items())
            raise DegenerateDataError("No family can be fitted.", *reasons)
        return members

    def _weights(self, training: Training, members: list[TunedRule]) -> Array:
        if self.choose == "pool":
            return pool_weights(training, members)
        weights = np.zeros(len(members))
        weights[-1] = MIN_BASELINE_WEIGHT
        weights[int(np.argmin([member.loss for member in members[:-1]]))] = 1 - MIN_BASELINE_WEIGHT
        return weights


def needs_coding(X: MatrixLike) -> bool:
    """Whether X is a frame with missing values or columns other than numbers."""
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
