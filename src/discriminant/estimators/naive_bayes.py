"""Naive Bayes: columns independent within each class, each with its own distribution."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final

import narwhals.stable.v2 as nw
import numpy as np
from scipy.special import logit

from ..arrays import Array, MatrixLike
from ..data import (
    DISTRIBUTIONS,
    AnyRows,
    LabelledRows,
    MixedBlock,
    MixedRows,
    MixedView,
    Rows,
    TrainingData,
    as_table,
    check_number,
    column_distributions,
    dense_parts,
    is_streamed,
    require,
    two_valued,
)
from ..engine import parallel_map
from ..errors import DiscriminantWarning, ParameterError, Part, Setting, warn
from ..folds import HeldOut, TunedRule
from ..moments.covariance import gaussian_diagonal_rule
from ..moments.folds import MomentsSpec
from ..moments.levels import TableMoments, level_log_probabilities
from ..moments.statistic import ClassMoments
from ..results import listed, quoted
from ..rules import DiagonalRule, LevelRule, LinearRule, MixedRule
from .generative import GenerativeClassifier
from .moment_classifier import ClassStatistics, collected, constant_columns
from .regularised import held_out_losses, log_shares, part_seen, tempered


def smoothed_variances(moments: ClassMoments, smoothing: float) -> Array:
    """Variance of each column in each class, plus ``smoothing`` times its variance over all rows."""
    with np.errstate(invalid="ignore"):  # classes without rows
        return moments.scatter / moments.weight[:, None] + smoothing * moments.column_variances()


def _constant_column(smoothing: float) -> tuple[str, *tuple[Part, ...]]:
    """Where a column must vary, and the remedy if it does not."""
    if smoothing:
        return "over all rows", "Remove it."
    return "within a class", "Set ", Setting("var_smoothing"), " above 0, or remove it."


@dataclass(eq=False, repr=False)
class GaussianNB(GenerativeClassifier):
    """Gaussian naive Bayes: normal columns, independent within each class.

    The score of class k is ``log prior_k - sum_j [log(2 pi v_kj) + (x_j - mu_kj)^2 / v_kj] / 2``, with ``v_kj`` the
    mean squared distance from the class mean.

    Parameters
    ----------
    priors : array-like or dict, default=None
        Class probabilities, in class order or by label. Default: the shares of the training rows.
    var_smoothing : float, default=1e-09
        Fraction of a column's variance over all rows added to its variance in each class.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
    means_, variances_ : arrays of shape (K, p)
    moments_ : the class moments

    See Also
    --------
    NaiveBayes : Other distributions.
    QuadraticDiscriminantAnalysis : With correlated columns.

    References
    ----------
    Hand, D. J. & Yu, K. (2001). Idiot's Bayes: not so stupid after all? International Statistical Review 69.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> model.predict(X[[0, 75, 149]]), round(model.score(X, y), 2)
    (array([0, 1, 2]), 0.96)
    """

    priors: Any = None
    _: KW_ONLY
    var_smoothing: float = 1e-9
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        check_number("var_smoothing", self.var_smoothing, 0)

    def _moments_spec(self) -> MomentsSpec:
        return MomentsSpec("diagonal")

    def _estimate(self, statistics: ClassStatistics) -> None:
        moments: Any = statistics.moments
        variances = smoothed_variances(moments, self.var_smoothing)
        constant = constant_columns(variances.min(axis=0), moments.mean)
        self._refuse_constant(constant, *_constant_column(self.var_smoothing))
        self.variances_ = statistics.expand(variances)
        self.rule_ = gaussian_diagonal_rule(moments.mean, variances, statistics.log_priors)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        return rng.normal(self.means_[k], np.sqrt(self.variances_[k]), (n, self.n_features_in_))


@dataclass(eq=False, repr=False)
class NaiveBayes(GenerativeClassifier):
    """Naive Bayes with a distribution for each column.

    The score of class k is ``log prior_k + sum_j log P(x_j | k)``, where ``P(x_j | k)`` is

    - "gaussian": normal with the mean and variance of the class;
    - "categorical": ``(N_kl + alpha) / (N_k + alpha L)`` for level l of L; unseen levels have no effect, with a
      warning;
    - "bernoulli": yes/no columns (0 or 1), ``(N_k1 + alpha) / (N_k + 2 alpha)`` for a 1;
    - "counts": independent Poisson columns, rates shrunk towards the overall rate with the weight of ``alpha`` rows;
    - "multinomial": the shares of all such columns in a row's total, as for word counts:
      ``(sum_kj + alpha) / (sum_k + alpha m)`` for column j of m.

    Parameters
    ----------
    distributions : "auto", a name, a list with one name per column, or a dict from column to name, default="auto"
        "auto" (also for columns not in the dict): text and categories are categorical, booleans bernoulli, other
        numbers gaussian.
    priors : array-like or dict, default=None
        Class probabilities, in class order or by label. Default: the shares of the training rows.
    alpha : float, default=1.0
        Additive smoothing of counts.
    var_smoothing : float, default=1e-09
        Fraction of a normal column's variance over all rows added to its variance in each class.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_, priors_ : arrays of shape (K,)
    distributions_ : tuple of the distribution of each column
    moments_ : the class moments

    See Also
    --------
    GaussianNB : Normal columns only.

    References
    ----------
    McCallum, A. & Nigam, K. (1998). A comparison of event models for naive Bayes text classification. AAAI workshop.
    Hand, D. J. & Yu, K. (2001). Idiot's Bayes: not so stupid after all? International Statistical Review 69.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "size": [1.0, 1.4, 3.1, 2.8]})
    >>> model = NaiveBayes().fit(X, ["a", "a", "b", "b"])
    >>> model.distributions_
    ('categorical', 'gaussian')
    >>> model.predict(pd.DataFrame({"colour": ["blue"], "size": [1.2]}))
    array(['a'], dtype='<U1')
    """

    distributions: Any = "auto"
    _: KW_ONLY
    priors: Any = None
    alpha: float = 1.0
    var_smoothing: float = 1e-9
    n_jobs: int | None = None

    _reads = ("sparse", "categorical", "string")
    _reads_class_moments = False
    _lasting = (*GenerativeClassifier._lasting, "distributions_")

    def _check_parameters(self) -> None:
        check_number("var_smoothing", self.var_smoothing, 0)
        check_number("alpha", self.alpha, 0, open_below=True)

    def _check_parts(self) -> None:
        kinds = vars(self).get("distributions_")
        if kinds is not None:
            require(isinstance(kinds, tuple) and all(kind in DISTRIBUTIONS for kind in kinds), self, "distributions_")
            require(len(kinds) == self.n_features_in_, self, "distributions_ has another number of columns")
        if isinstance(vars(self).get("rule_"), MixedRule):
            categorical = 0 if kinds is None else kinds.count("categorical")
            require(len(self.rule_.categorical) == categorical and kinds is not None, self, "distributions_")

    def _moments_spec(self) -> MomentsSpec:
        return MomentsSpec("diagonal")

    def _readable(self, X: MatrixLike | AnyRows, first: bool) -> Any:
        if is_streamed(X):
            self._check_columns(X, reset=first)
            if first:
                self.distributions_ = column_distributions(np.empty((1, X.shape[1])), self.distributions, X.names)
                self._frame_backend = None
            return X.viewed(MixedView(self.distributions_, X.names))
        table, names = as_table(X), X.names if isinstance(X, Rows) else None
        self._check_columns(X, reset=first)
        if first:
            self.distributions_ = column_distributions(table, self.distributions, names)
            self._frame_backend = getattr(table, "implementation", None)
        return MixedRows(table, self.distributions_, names)

    def _rows(self, X: MatrixLike | AnyRows) -> AnyRows:
        rows = super()._rows(X)
        places = [j for j, kind in enumerate(self.distributions_) if kind == "categorical"]
        counts = _level_counts(rows) if places else []
        for j, rule, found in zip(places, self.rule_.categorical, counts, strict=True):
            unseen = found - Counter(dict.fromkeys(rule.levels, rows.n_rows))
            if unseen:
                affected = f"Unseen levels of {rows.column_label(j)}: {quoted(unseen, 3)} (rows: {unseen.total():,})."
                warn(f"{affected} The column has no effect in these rows.", DiscriminantWarning)
        return rows

    def _statistic(self, data: TrainingData, first_row: int) -> TableMoments:  # noqa: ARG002
        n_levels = self.distributions_.count("categorical")
        return TableMoments(len(data.classes), data.rows.n_columns - n_levels, n_levels)

    def _log_joint(self, X: MatrixLike) -> Array:
        unscaled = {"counts", "multinomial"} & set(self.distributions_)
        if unscaled:
            raise ParameterError(f"Columns with distribution {listed(sorted(unscaled))} have no normalised density.")
        return self._scores(X)

    def _estimate(self, statistics: ClassStatistics) -> None:
        moments: Any = statistics.moments
        kinds = np.array([kind for kind in self.distributions_ if kind != "categorical"], dtype=object)
        normal, linear = np.flatnonzero(kinds == "gaussian"), np.flatnonzero(kinds != "gaussian")
        tables = [LevelRule(*level_log_probabilities(table, moments.weight, self.alpha)) for table in moments.tables]
        means, variances = moments.mean[:, normal], smoothed_variances(moments, self.var_smoothing)[:, normal]
        if normal.size:
            constant = self._numeric_columns[normal[constant_columns(variances.min(axis=0), means)]]
            self._refuse_constant(constant, *_constant_column(self.var_smoothing))
        gaussian = gaussian_diagonal_rule(means, variances, np.zeros(len(means)))
        self.rule_ = MixedRule(gaussian, normal, self._linear_rule(statistics, kinds, linear), linear, tables)

    def _linear_rule(self, statistics: ClassStatistics, kinds: Array, columns: Array) -> LinearRule:
        """The rule of columns whose log-probabilities are linear in their values."""
        rates, weight = statistics.moments.mean, statistics.moments.weight
        coef, constants = np.zeros(rates.shape), statistics.log_priors.copy()
        for kind in ("bernoulli", "counts", "multinomial"):
            own = np.flatnonzero(kinds == kind)
            if own.size:
                parameter = _parameter(kind, rates[:, own], weight, self.alpha)
                # Columns without counts have rate 0 in every class, and no effect.
                coef[:, own] = np.log(np.where(parameter > 0, parameter, 1.0))
                if kind == "bernoulli":
                    coef[:, own] -= np.log1p(-parameter)
                    constants += np.log1p(-parameter).sum(axis=1)
                elif kind == "counts":
                    constants -= parameter.sum(axis=1)
        return LinearRule(np.zeros(len(columns)), coef[:, columns], constants)

    @property
    def _numeric_columns(self) -> Array:
        return np.flatnonzero([kind != "categorical" for kind in self.distributions_])

    def _drawn_rows(self, codes: Array, rng: np.random.Generator) -> Any:
        """Columns sampled one by one, as a frame if the model was fitted to one."""
        columns: list[Any] = [None] * self.n_features_in_
        places = np.flatnonzero([kind == "categorical" for kind in self.distributions_])
        for j, rule in zip(places, self.rule_.categorical, strict=True):
            drawn = np.empty(len(codes), dtype=np.int64)
            for k in np.unique(codes):
                shares = np.exp(rule.table[:-1, k])
                drawn[codes == k] = rng.choice(len(shares), size=np.sum(codes == k), p=shares / shares.sum())
            columns[j] = [rule.levels[i] for i in drawn]
        for kind in sorted(set(self.distributions_) - {"categorical"}):
            own = np.flatnonzero([k == kind for k in self.distributions_])
            drawn = self._drawn_numbers(kind, np.searchsorted(self._numeric_columns, own), codes, rng)
            for j, values in zip(own, drawn.T, strict=True):
                columns[j] = values
        if hasattr(self, "feature_names_in_"):
            named = dict(zip(self.feature_names_in_, columns, strict=True))
            return nw.from_dict(named, backend=self._frame_backend).to_native()
        return np.column_stack(columns) if not len(places) else np.array(columns, dtype=object).T

    def _drawn_numbers(self, kind: str, places: Array, codes: Array, rng: np.random.Generator) -> Array:
        moments = self.moments_
        if kind == "gaussian":
            variances = smoothed_variances(moments, self.var_smoothing)[:, places]
            return rng.normal(moments.mean[:, places][codes], np.sqrt(variances)[codes])
        parameter = _parameter(kind, moments.mean[:, places], moments.weight, self.alpha)[codes]
        if kind == "bernoulli":
            return (rng.random(parameter.shape) < parameter).astype(float)
        if kind == "counts":
            return rng.poisson(parameter).astype(float)
        totals = rng.poisson(moments.mean[:, places].sum(axis=1)[codes])
        return rng.multinomial(totals, parameter).astype(float)


def _level_counts(rows: AnyRows) -> list[Counter[Any]]:
    """The number of rows of each level of each categorical column."""
    return [sum(own, Counter()) for own in zip(*rows.map_blocks(_levels_of), strict=True)]


def _levels_of(block: MixedBlock, where: slice) -> list[Counter[Any]]:  # noqa: ARG001
    return [Counter(values) for values in block.levels]


def _parameter(kind: str, rates: Array, weight: Array, alpha: float) -> Array:
    """Smoothed parameters by class: shares of ones ("bernoulli"), rates ("counts"), or shares ("multinomial")."""
    sums, n = rates * weight[:, None], weight[:, None]
    if kind == "bernoulli":
        return (sums + alpha) / (n + 2 * alpha)
    if kind == "counts":
        return (sums + alpha * (weight @ rates / weight.sum())) / (n + alpha)
    sums += alpha
    return sums / sums.sum(axis=1, keepdims=True)


# Rows of the prior that shrinks classes towards all rows: no variance and no share is 0.
PRIOR_ROWS: Final = 2.0
# Numbers that stay in the cache of a core.
CACHED_VALUES: Final = 1 << 15
# Poolings of the variances, from pooled to separate.
POOLINGS: Final = np.array([1.0, 0.5, 0.1, 0.0])


@dataclass(frozen=True)
class _Columns:
    """Columns over all rows; those of two values by the lower value, the step to the other, and its share."""

    two: Array
    low: Array
    step: Array
    share: Array
    variance: Array

    @classmethod
    def of_rows(cls, rows: Rows, moments: ClassMoments) -> _Columns:
        (two, low, step), variance = two_valued(rows), moments.column_variances()
        two = two & (variance > 0)  # the other value has weight
        share = np.divide(moments.overall_mean() - low, step, out=np.full(len(low), 0.5), where=two)
        return cls(two, low, np.where(two, step, 1.0), share, variance)

    def rule(self, moments: ClassMoments, pooling: float) -> DiagonalRule:
        """The rule of normal columns, and of columns of two values by normals with the same log-odds."""
        present = moments.only_present()
        means, variances, constants = self._parts(present, np.array([pooling]))
        return DiagonalRule(means, variances[0], constants[0]).expand_classes(moments.present)

    def scores(self, block: Array, moments: ClassMoments) -> Array:
        """The scores at all poolings, (rows, poolings, K)."""
        means, variances, constants = self._parts(moments.only_present(), POOLINGS)
        out = np.full((block.shape[0], len(POOLINGS), moments.n_classes), -np.inf)
        halved_precisions, step = 0.5 / variances, max(1, CACHED_VALUES // len(self.two))
        parts = ((X[i : i + step], where.start + i) for X, where in dense_parts(block) for i in range(0, len(X), step))
        for X, start in parts:
            for own, k in enumerate(np.flatnonzero(moments.present)):
                distances = (X - means[own]) ** 2 @ halved_precisions[:, own].T
                out[start : start + len(X), :, k] = constants[:, own] - distances
        return out

    def _parts(self, moments: ClassMoments, poolings: Array) -> tuple[Array, Array, Array]:
        """Means (K, p), variances (poolings, K, p) and constants (poolings, K)."""
        n, scatter, own = moments.weight[:, None], moments.scatter, 1 - poolings[:, None, None]
        mixed = own * scatter + (1 - own) * scatter.sum(axis=0) + PRIOR_ROWS * self.variance
        variances = mixed / (own * n + (1 - own) * moments.total_weight + PRIOR_ROWS)
        variances = np.where(self.variance > 0, variances, 1.0)
        means, constants, two = moments.mean, -0.5 * np.log(variances), self.two
        if two.any():
            low, step = self.low[two], self.step[two]
            shares = n * (moments.mean[:, two] - low) / step + PRIOR_ROWS * self.share[two]
            shares /= n + PRIOR_ROWS
            odds, means = logit(shares), means.copy()
            means[:, two], variances[..., two] = low + step * odds, step**2
            constants[..., two] = 0.5 * odds**2 + np.log1p(-shares)
        return means, variances, constants.sum(axis=2)


def naive_bayes_rule(data: LabelledRows, held: HeldOut, n_jobs: int | None = None) -> TunedRule:
    """Naive Bayes of coded rows, with the pooling of variances and temperature of the smallest held-out log-loss.

    Parameters
    ----------
    data : LabelledRows
        Coded rows; columns are normal or have two values.
    held : HeldOut
        The splits; rows may be held out several times.
    n_jobs : int, default=None
        Threads of the splits.

    Returns
    -------
    TunedRule
        With the settings "pooling" and "temperature".
    """
    kind = ClassMoments(len(data.classes), data.rows.n_columns, "diagonal")
    whole: ClassMoments = collected(data, kind, n_jobs)
    columns, log_priors = _Columns.of_rows(data.rows, whole), log_shares(whole)

    def densities_of(split: int) -> Array:
        moments = collected(part_seen(data, held, split), kind, 1)
        return columns.scores(data.rows.take(held.rows[held.fits == split]), moments)

    densities = np.empty((len(held.rows), len(POOLINGS), len(log_priors)))
    for split, found in enumerate(parallel_map(densities_of, list(range(held.n_splits)), n_jobs)):
        densities[held.fits == split] = found
    losses = held_out_losses(data, held, densities, log_priors).of_grid()
    best = int(np.argmin(losses.min(axis=1)))
    temperature, loss, posteriors = tempered(data, held, densities[:, best], log_priors)
    rule = columns.rule(whole, POOLINGS[best])
    scaled = replace(rule, variances=rule.variances / temperature, constants=temperature * rule.constants + log_priors)
    return TunedRule(scaled, {"pooling": float(POOLINGS[best]), "temperature": temperature}, loss, posteriors)
