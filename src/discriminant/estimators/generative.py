"""Classifiers with a density for each class: densities, sampling, scatter matrices and their shrinkage."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, Final

import numpy as np
from scipy.special import logsumexp

from ..arrays import Array, Label, MatrixLike, RandomState, RowBlock
from ..data import check_integer
from ..errors import DegenerateDataError, LabelError, NotReadyError, ParameterError, Part, Setting
from ..moments.covariance import Scatter
from ..moments.statistic import ClassMoments
from ..results import shown
from .base import PosteriorClassifier
from .moment_classifier import MomentClassifier, whole_of

# Principal axes with less than this fraction of the largest variance are inaccurate.
MIN_VARIANCE_RATIO: Final = 1e-10


def _write(function: Callable[[RowBlock], Array], block: Array, out: Array) -> bool:
    out[...] = function(block)
    return True


class GenerativeClassifier(PosteriorClassifier, MomentClassifier):
    """A classifier with a density for each class, estimated from moments."""

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, label: Label | None = None
    ) -> tuple[Any, Array]:
        """Sample rows and labels from the fitted distribution.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int or numpy Generator, optional
            Seed.
        label : a class, optional
            Sample from this class only. Default: classes by their priors.

        Returns
        -------
        X : array of shape (n_samples, n_columns)
            The rows; a frame if `NaiveBayes` was fitted to one.
        y : array of shape (n_samples,)
            Their classes.
        """
        self._ready()
        check_integer("n_samples", n_samples, 1)
        rng = np.random.default_rng(random_state)
        seen = whole_of(self.moments_).present
        if label is None:
            priors = np.where(seen, self.priors_, 0.0)
            codes = rng.choice(len(self.classes_), size=n_samples, p=priors / priors.sum())
        else:
            codes = np.full(n_samples, self._code_of(label))
        return self._drawn_rows(codes, rng), self.classes_[codes]

    def log_density(self, X: MatrixLike, label: Label | None = None) -> Array:
        """The log-density of each row, ``log sum_k prior_k p(x | k)``, or that of one class.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows in the columns of the model.
        label : a class, optional
            Class of ``p(x | label)``. Default: the mixture of all classes (evidence).

        Returns
        -------
        array of shape (n_rows,)
        """
        self._ready()
        joint = self._log_joint(X)
        if label is None:
            return np.asarray(logsumexp(joint, axis=1))
        k = self._code_of(label)
        return joint[:, k] - np.log(self.priors_[k])

    def _log_joint(self, X: MatrixLike) -> Array:
        """``log prior_k + log p(x | k)`` of each row and class."""
        return self._scores(X)

    def _scores(self, X: MatrixLike) -> Array:
        """The scores of all classes."""
        return self._mapped(X, self.rule_.scores, len(self.classes_))

    def _mapped(self, X: MatrixLike, function: Callable[[RowBlock], Array], width: int) -> Array:
        """``function`` of every block of rows, ``width`` numbers a row."""
        rows = self._rows(X)
        out = np.empty((rows.n_rows, width))
        rows.fill(out, partial(_write, function), self.n_jobs)
        if not np.isfinite(out).all():
            rows.refuse_nonfinite()
        return out

    def _code_of(self, label: Label) -> int:
        """The code of a class with training rows."""
        found = np.flatnonzero(self.classes_ == label)
        if found.size == 0:
            raise LabelError(f"Unknown class {label!r}. Classes: {self.classes_.tolist()}.")
        if not whole_of(self.moments_).present[found[0]]:
            raise NotReadyError(f"Class {shown(label)} has no training rows yet. Use another class.")
        return int(found[0])

    def _drawn_rows(self, codes: Array, rng: np.random.Generator) -> Any:
        rows = np.empty((len(codes), self.n_features_in_))
        for k in np.unique(codes):
            own = np.flatnonzero(codes == k)
            rows[own] = self._draw(int(k), len(own), rng)
        return rows

    @abstractmethod
    def _draw(self, k: int, n: int, rng: np.random.Generator) -> Array:
        """``n`` rows of class ``k``."""


class ScatterMixin:
    """The scatter matrices of a moment model: ``S_T = S_W + S_B``."""

    moments_: Any

    @property
    def scatter_within_(self) -> Array:
        """S_W: the sum over all rows of ``(x - mu_k)(x - mu_k)'``, a p x p matrix."""
        return whole_of(self.moments_).within().matrix

    @property
    def scatter_between_(self) -> Array:
        """S_B: the sum over the classes of ``N_k (mu_k - mu)(mu_k - mu)'``."""
        moments = whole_of(self.moments_)
        steps = np.where(moments.present[:, None], moments.mean - moments.overall_mean(), 0.0)
        return (moments.weight[:, None] * steps).T @ steps

    @property
    def scatter_total_(self) -> Array:
        """S_T: the sum over all rows of ``(x - mu)(x - mu)'``."""
        return whole_of(self.moments_).total().matrix


def class_scatters(moments: ClassMoments, borrow: bool) -> list[tuple[Scatter, float, bool]]:
    """The scatter of each class, its divisor, and whether it is the class's own.

    With ``borrow``, classes without variation get the pooled scatter.
    """
    fine, found = moments.with_structure("class"), list[tuple[Scatter, float, bool]]()
    for k in range(fine.n_classes):
        own = fine.of_class(k)
        if borrow and not (fine.weight[k] > 1 and own.diagonal().any()):
            found.append((fine.within(), fine.total_weight - fine.n_classes, False))
        else:
            found.append((own, float(fine.weight[k]) - 1, True))
    return found


def check_shrinkage(shrinkage: float | str | None, names: tuple[str, ...], folds: int) -> None:
    """Check that shrinkage is None, a number in [0, 1] or one of the names."""
    if shrinkage == "cv":
        check_integer("folds", folds, 2)
    named = shrinkage is None or (isinstance(shrinkage, str) and shrinkage in names)
    number = isinstance(shrinkage, Real) and not isinstance(shrinkage, bool) and 0 <= float(shrinkage) <= 1
    if not named and not number:
        allowed = ", ".join(map(repr, names))
        wrong = f" must be None, a number from 0 to 1, or one of {allowed}, got {shrinkage!r}."
        raise ParameterError(Setting("shrinkage"), wrong)


def refuse_singular(rank: int, p: int, remedy: tuple[Part, ...] = ("Remove columns.",)) -> None:
    """Refuse densities of a singular covariance."""
    if rank < p:
        problem = f"The covariance is singular (rank {rank} of {p}), so the density does not exist. "
        raise DegenerateDataError(problem, *remedy)


def positive_divisor(n: float, K: int) -> float:
    """N - K, the divisor of the pooled covariance."""
    if n <= K:
        raise DegenerateDataError(
            f"Total weight {n:g} in {K} classes: a covariance needs more rows than classes. Scale the weights to "
            "sum to the number of rows."
        )
    return n - K
