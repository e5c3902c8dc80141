"""Logistic regression on bins and levels and on pairs of them: an additive model with selected interactions.

Numbers are cut into bins at quantiles, or at each of a few distinct values. The functions of a number are the
eigenvectors of a second-difference penalty on its bins, scaled by the root of their prior variance, so that a ridge
penalises differences between neighbouring bins (Whittaker 1923; Eilers & Marx 1996). The functions of a category are
its centred levels. Interactions of two columns are the products of their functions.

1. The additive model is fitted to all splits at once.
2. All pairs are screened by score tests of their interactions on the residuals of held-out rows, as sums over the bins
   of both columns (Lou, Caruana, Gehrke & Hooker 2013). Each split selects pairs by its training rows only, so that
   held-out losses are not biased by the selection.
3. The selected pairs, and all that the budget allows, are added and the ridge strength is tuned again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from ..arrays import Array
from ..basis import Basis, Piecewise, powers
from ..data import LabelledRows, Rows, as_rows
from ..errors import DegenerateDataError
from ..folds import TunedRule
from ..losses import log_loss
from ..objective import ElasticNet, Objective
from ..rules import ExpandedRule, LinearRule, log_softmax
from ..solvers.choice import named_solver
from ..solvers.ridge_cv import RidgeChoice
from .logistic_cv import strengths
from .tuning import ExpandedRows, Training, linear_rule

# Bins of a number; numbers with at most this many distinct values have a bin for each of them.
N_BINS: Final = 8
# Functions of a number with more distinct values: of its own effect, and in each pair.
N_SMOOTH: Final = 6
N_SMOOTH_IN_PAIRS: Final = 3
# The weight of squared second differences relative to squared values in the prior of a number's effect.
SMOOTHNESS: Final = 2.0
# Eigenvalues below this share of the largest are rounding: the penalised functions are centred.
ZERO_EIGENVALUE: Final = 1e-6
# Prior variance of interactions relative to that of the columns' own effects.
PAIR_VARIANCE: Final = 0.5
# Pairs are selected if their score statistic is this many standard deviations above its expectation; the alternative
# is all pairs. Rules of many weak pairs (exactly two of six attributes are set) need the latter.
MIN_PAIR_SCORES: Final = (3.0, -np.inf)
# Maximum number of additive functions and of products; the latter are limited by the time of a pass as well. With 300
# the log-loss of vowel is 49 % larger, of ionosphere 8 %; without the limit of the time letterrecognition has 12 % less
# and takes 3.5 times as long.
MAX_FUNCTIONS: Final = 1_000
MAX_PASS_WORK: Final = 2e7
# Relative suboptimality of the fits and most steps at a strength: predictions hardly change beyond them.
TOL: Final = 1e-4
MAX_STEPS: Final = 30


def bins(column: int, values: Array) -> Piecewise | None:
    """Centred step functions of a number, the smoothest first; None for a constant."""
    distinct = np.unique(values)
    places = np.arange(1, len(distinct))
    if len(distinct) > N_BINS:
        quantiles = np.quantile(values, np.arange(1, N_BINS) / N_BINS, method="lower")
        places = np.setdiff1d(np.searchsorted(distinct, quantiles, side="right"), [len(distinct)])
    if not len(places):
        return None
    breaks = (distinct[places - 1] + distinct[places]) / 2
    breaks = np.where(breaks > distinct[places - 1], breaks, distinct[places])  # neighbours whose mean is rounded down
    n_bins = len(breaks) + 1
    shares = np.bincount(np.searchsorted(breaks, values, side="right"), minlength=n_bins) / len(values)
    differences = np.diff(np.eye(n_bins), 2, axis=0)
    centring = np.eye(n_bins) - shares
    prior = centring @ np.linalg.inv(np.eye(n_bins) + SMOOTHNESS * differences.T @ differences) @ centring.T
    variances, directions = np.linalg.eigh(prior)
    n_basis = min(int((variances > ZERO_EIGENVALUE * variances[-1]).sum()), N_BINS)
    if len(distinct) > N_BINS:
        n_basis = min(n_basis, N_SMOOTH)
    values_of_bins = (directions * np.sqrt(np.maximum(variances, 0.0)))[:, ::-1][:, :n_basis]
    values_of_bins = values_of_bins / np.sqrt(shares @ (values_of_bins**2).sum(axis=1))
    return Piecewise(column, breaks, np.append(breaks[0], breaks), values_of_bins[:, :, None].copy())


@dataclass(frozen=True)
class Terms:
    """The functions of all factors: of each number its bins, of each category its levels.

    Parameters
    ----------
    n_columns : int
        Columns of the rows.
    functions : list of Piecewise
    factor : int array of shape (n_basis,)
        The factor of each function.
    paired : bool array of shape (n_basis,)
        Whether the function is multiplied in pairs.
    """

    n_columns: int
    functions: list[Piecewise]
    factor: Array
    paired: Array

    @classmethod
    def of(cls, rows: Rows, values: Array) -> Terms:
        """The functions of the columns; consecutive indicators that exclude each other are levels of one factor."""
        functions, factors, paired = list[Piecewise](), list[int](), list[bool]()
        is_level = np.zeros(rows.n_columns, dtype=bool) if rows.is_indicator is None else rows.is_indicator
        factor, taken = 0, np.ones(len(values), dtype=bool)
        for j, column in enumerate(values.T):
            found = powers(j, 1, centre=float(column.mean())) if is_level[j] else bins(j, column)
            if found is None or (is_level[j] and len(np.unique(column)) < 2):
                continue
            new = not is_level[j] or bool((taken & (column != 0)).any())
            taken = (column != 0) if new else taken | (column != 0)
            taken |= not is_level[j]
            factor += new
            n = found.n_outputs
            n_paired = N_SMOOTH_IN_PAIRS if n == N_SMOOTH and len(np.unique(column)) > N_BINS else n
            functions.append(found)
            factors += [factor - 1] * n
            paired += [True] * n_paired + [False] * (n - n_paired)
        if not functions:
            raise DegenerateDataError("every column is constant.")
        if len(factors) > MAX_FUNCTIONS:
            raise DegenerateDataError("too many columns.")
        return cls(rows.n_columns, functions, np.array(factors), np.array(paired))

    @property
    def n_basis(self) -> int:
        return len(self.factor)

    @cached_property
    def pairs(self) -> Array:
        """All pairs of factors, (n_pairs, 2)."""
        return np.column_stack(np.triu_indices(int(self.factor[-1]) + 1, 1))

    @cached_property
    def n_products(self) -> Array:
        """The number of products of each pair."""
        sizes = np.bincount(self.factor[self.paired])
        return np.asarray(sizes[self.pairs].prod(axis=1))

    def basis(self, pairs: Array) -> tuple[Basis, Array]:
        """The functions and the products of these pairs, and the place of each output's pair, -1 for none."""
        own = [np.flatnonzero((self.factor == k) & self.paired) for k in range(int(self.factor[-1]) + 1)]
        outputs, place = [[k, -1] for k in range(self.n_basis)], [-1] * self.n_basis
        for p, (one, other) in enumerate(self.pairs[pairs]):
            products = [[i, j] for i in own[one] for j in own[other]]
            outputs += products
            place += [p] * len(products)
        return Basis(self.n_columns, np.zeros(0, np.int64), self.functions, np.array(outputs)), np.array(place)

    def scores(self, columns: Array, residuals: Array, variances: Array) -> Array:
        """The standardised score statistic of each pair, for the columns of the functions.

        The statistic is the squared length of the sums of residuals times products. Residuals and variances of each
        score are (n_rows, n_scores).
        """
        own = columns[:, self.paired]
        squares, of_factor = own**2, np.eye(int(self.factor[-1]) + 1)[self.factor[self.paired]]
        difference = variance_sum = np.zeros((of_factor.shape[1],) * 2)
        for residual, variance in zip(residuals.T, variances.T, strict=True):
            length, expected = (own.T @ (own * residual[:, None])) ** 2, squares.T @ (squares * variance[:, None])
            difference = difference + of_factor.T @ (length - expected) @ of_factor
            variance_sum = variance_sum + of_factor.T @ (2 * expected**2) @ of_factor
        standardised = difference / np.sqrt(np.where(variance_sum > 0, variance_sum, np.inf))
        return np.asarray(standardised[tuple(self.pairs.T)])


@dataclass(frozen=True)
class Candidate:
    """The fits of all splits with some pairs, at the best strength."""

    objective: Objective
    basis: Basis
    alphas: Array  #: the strengths that were given
    choice: RidgeChoice
    posteriors: Array  #: of all held-out rows
    loss: float
    kept: Array  #: the outputs of the basis that the fit to all rows has
    n_pairs: int  #: that it has

    @classmethod
    def of(cls, training: Training, terms: Terms, alphas: Array, chosen: Array) -> Candidate:
        """The candidate whose fits have the chosen pairs, (fits, n_pairs)."""
        used = np.flatnonzero(chosen.any(axis=0))
        basis, place = terms.basis(used)
        free = np.ones((len(chosen), len(place)), dtype=bool)
        free[:, place >= 0] = chosen[:, used[place[place >= 0]]]
        scale = np.where(place >= 0, PAIR_VARIANCE**-0.5, 1.0)
        objective = _objective(training, training.data, as_rows(basis.expand(training.values)), scale)
        alphas = alphas if len(alphas) else strengths(objective, None, None)[::2]
        held = replace(training.held, columns=free) if len(used) else training.held
        choice = RidgeChoice.among(objective, held, alphas, TOL, 1, MAX_STEPS)
        scores = choice.best.scores
        posteriors = log_softmax(scores if scores.shape[1] > 1 else scores * [0.0, 1.0])
        return cls(
            objective, basis, alphas, choice, posteriors, training.loss(posteriors), free[-1], int(chosen[-1].sum())
        )

    def tuned(self, training: Training) -> TunedRule:
        """The rule of all rows, without the products of pairs that it does not have."""
        alpha, theta, basis = self.choice.best.alpha, self.choice.best.theta[-1], self.basis
        objective, kept = self.objective, np.flatnonzero(self.kept)
        if training.whole is not training.data:
            basis, kept = replace(basis, outputs=basis.outputs[kept]), np.arange(len(kept))
            scale = np.asarray(objective.penalty_scale)[self.kept]
            objective = _objective(training, training.whole, ExpandedRows(training.whole.rows, basis), scale)
            objective = replace(objective, penalty=ElasticNet(alpha))
            theta = named_solver("auto", objective)(objective, np.zeros(objective.shape), TOL, 200).theta
        rule = linear_rule(objective, theta)
        rule = LinearRule(rule.centre[kept], np.ascontiguousarray(rule.coef[:, kept]), rule.constants)
        own = ExpandedRule(replace(basis, outputs=basis.outputs[kept]), rule)
        return TunedRule(own, {"alpha": alpha, "pairs": self.n_pairs}, self.loss, self.posteriors)


def _objective(training: Training, data: LabelledRows, columns: Rows, scale: Array) -> Objective:
    loss = log_loss(len(data.classes))
    data = replace(data, rows=columns)
    found = Objective(data, loss, ElasticNet(1.0), penalty_scale=scale, n_jobs=training.n_jobs)
    return replace(found, standard=found.standardised)


@dataclass(frozen=True)
class Evidence:
    """What the additive model leaves of each row: residuals and variances of the scores of rows held out."""

    columns: Array  #: the functions of all factors
    residuals: Array
    variances: Array

    @classmethod
    def of(cls, training: Training, terms: Terms, posteriors: Array) -> Evidence:
        """From the posteriors of held-out rows."""
        data, held = training.data, training.held
        n_classes, counts = len(data.classes), np.bincount(held.rows, minlength=data.n_rows)
        mean = np.zeros((data.n_rows, n_classes))
        np.add.at(mean, held.rows, np.exp(posteriors))
        mean /= np.maximum(counts, 1)[:, None]
        weight = ((counts > 0) * data.weight_of(np.arange(data.n_rows)))[:, None]
        residuals, variances = weight * (np.eye(n_classes)[data.codes] - mean), weight**2 * mean * (1 - mean)
        scores = slice(1, None) if n_classes == 2 else slice(None)  # those of two classes are opposite
        columns = terms.basis(np.zeros(0, np.int64))[0].expand(training.values)
        return cls(columns, residuals[:, scores], variances[:, scores])

    def chosen(self, terms: Terms, seen: Array, budget: float, least: float) -> Array:
        """The pairs of each fit, (fits, n_pairs), by its training rows: the largest scores first."""
        found = np.zeros((seen.shape[1], len(terms.pairs)), dtype=bool)
        for fit, rows in enumerate(seen.T):
            scores = terms.scores(self.columns[rows], self.residuals[rows], self.variances[rows])
            order = np.argsort(-scores, kind="stable")
            order = order[np.cumsum(terms.n_products[order]) <= budget]
            found[fit, order[scores[order] >= least]] = True
        return found


def pairs_rule(training: Training) -> TunedRule:
    """Ridge logistic regression on functions of bins and levels and on products of pairs of them.

    Pairs and strength are chosen by the first repeat of the splits.
    """
    terms = Terms.of(training.data.rows, training.values)
    search = replace(training, held=training.held.first_repeat)
    none = np.zeros((search.held.seen.shape[1], len(terms.pairs)), dtype=bool)
    best, least = Candidate.of(search, terms, np.zeros(0), none), np.inf
    # Interactions need at least about the strength of the additive model.
    alphas = best.alphas[max(int(np.argmax(best.alphas == best.choice.best.alpha)) - 1, 0) :]
    evidence = Evidence.of(search, terms, best.posteriors)
    work = search.held.seen.size * evidence.residuals.shape[1]
    budget = min(MAX_FUNCTIONS, MAX_PASS_WORK / work)
    before = none
    for threshold in MIN_PAIR_SCORES:
        chosen = evidence.chosen(terms, search.held.seen, budget, threshold)
        # Weaker pairs than those that do not help are tried only if there are no more: rules of many weak pairs.
        is_exhausted = before is not none and least == np.inf and terms.n_products.sum() > budget
        if not (is_exhausted or np.array_equal(chosen, before)):
            found = Candidate.of(search, terms, alphas, chosen)
            best, least = (found, threshold) if found.loss < best.loss else (best, least)
        before = chosen
    if search.held is not training.held:
        chosen = evidence.chosen(terms, training.held.seen, budget, least)
        last = int(np.argmax(best.alphas == best.choice.best.alpha))
        best = Candidate.of(training, terms, best.alphas[max(last - 1, 0) : last + 1], chosen)
    return best.tuned(training)
