"""Classifiers estimated from class moments: one pass over the rows, exact partial_fit, several models at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, MatrixLike
from ..data import LabelledRows, TrainingData
from ..decision.posteriors import check_priors
from ..errors import (
    AliasWarning,
    CollinearityWarning,
    DegenerateDataError,
    InputError,
    ParameterError,
    Part,
    Setting,
    warn,
)
from ..folds import group_folds
from ..moments.covariance import Covariance
from ..moments.folds import FoldMoments, MomentsSpec, combined_spec, merged, projected
from ..moments.statistic import ClassMoments
from ..results import shown
from ..rules import LinearRule
from .base import RuleClassifier, all_or_nothing, by_class_or_difference, refuse_weightless
from .checks import computable, extreme_values
from .mixins import StreamingMixin

# A standard deviation below this fraction of the values is rounding error.
CONSTANT_TOLERANCE: Final = 8 * float(np.finfo(np.float64).eps)


class MomentClassifier(StreamingMixin, RuleClassifier):
    """A classifier that is read from class moments, in one pass over the rows.

    A subclass declares which moments it requires (`_moments_spec`) and estimates the model from them (`_estimate`).
    Fitting, streaming and merging are implemented here: after `partial_fit`, the model equals one `fit` on all rows.
    """

    moments_: Any
    _stream_state = "moments_"
    _moments_spec: Callable[[], MomentsSpec]  #: which moments the model requires
    _estimate: Callable[[ClassStatistics], None]  #: sets ``rule_`` and the other fitted attributes from the moments
    _lasting: tuple[str, ...] = (
        "classes_", "n_features_in_", "feature_names_in_", "moments_", "encoder_", "basis_", "formula_"
    )  # fmt: skip

    @property
    def _reads_class_moments(self) -> bool:
        """Whether a fit needs class moments alone."""
        return True

    @property
    def _takes_passes(self) -> bool:
        return True

    def _learn(self, data: TrainingData) -> None:
        self._set_estimates(self._pass_over(data))
        self._refine(data)

    def _learn_more(self, data: TrainingData, first: bool) -> None:
        moments = self._pass_over(data, 0 if first else self.moments_.n_rows)
        if not first:
            moments = merged(self.moments_, moments)
        self._forget_rule()
        self.moments_ = moments
        try:
            self._estimate_present(whole_of(moments))
        except DegenerateDataError as error:  # more rows are needed to read the model
            self._forget_rule()
            self.not_ready_ = str(error)

    def _refine(self, data: TrainingData) -> None:
        """Use the rows again, for estimates that need more than moments."""

    def _pass_over(self, data: TrainingData, first_row: int = 0) -> Any:
        n_folds = self._moments_spec().folds
        whole = None if data.is_streamed else data.gather()
        if n_folds and whole is not None and whole.cluster is not None:
            fold = group_folds(whole.codes, whole.cluster, n_folds)
            return moments_in_folds(whole, self._moments_spec(), fold, n_folds, data.n_rows, self.n_jobs)
        return collected(data, self._statistic(data, first_row), self.n_jobs)

    def _statistic(self, data: TrainingData, first_row: int) -> Any:
        return self._moments_spec().statistic(data.n_rows, len(data.classes), data.rows.n_columns, first_row)

    def _set_estimates(self, moments: ClassMoments | FoldMoments) -> None:
        """Keep the moments and estimate the model from them."""
        whole = whole_of(moments)
        refuse_weightless(whole.weight, self.classes_)
        self.moments_ = moments
        self._estimate_present(whole)

    def _estimate_present(self, whole: ClassMoments) -> None:
        """Estimate the model of the classes seen so far; the others are never predicted yet."""
        present = whole.present
        if np.count_nonzero(present) < 2:
            seen = ", ".join(map(shown, self.classes_[present].tolist()))
            contained = f"only class {seen}" if seen else "no class"
            raise DegenerateDataError(f"the rows so far contain {contained}; at least two classes are required.")
        given = getattr(self, "priors", None)
        shares = whole.weight / whole.weight.sum()
        self.priors_ = shares if given is None else check_priors(given, self.classes_)
        self.means_ = np.where(present[:, None], whole.mean, np.nan)
        classes, priors = self.classes_[present], self.priors_[present]
        self._estimate(ClassStatistics(whole.only_present(), self.moments_, present, classes, priors))
        self.rule_ = self.rule_.expand_classes(present)
        if isinstance(self.rule_, LinearRule):
            self.coef_, self.intercept_ = by_class_or_difference(self.rule_)

    def _forget_rule(self) -> None:
        """Drop the estimates, keep the moments."""
        for name in [name for name in vars(self) if name.endswith("_") and name not in self._lasting]:
            delattr(self, name)

    def _refuse_constant(self, constant: Array, where: str, *remedy: Part) -> None:
        if constant.size:
            raise DegenerateDataError(f"Constant {where}: {self._columns(constant)}. ", *remedy)

    def _invertible(self, statistics: ClassStatistics, divisor: float) -> Covariance:
        """The covariance within classes for a model that has to invert it.

        A column that does not vary at all is refused. One that varies between classes only is left out, with a
        warning: its within-class variance is 0.
        """
        moments, within = statistics.moments, statistics.moments.within()
        constant = constant_columns(within.diagonal() / divisor, moments.mean)
        if constant.size:
            means = moments.mean[:, constant]
            everywhere = np.ptp(means, axis=0) <= CONSTANT_TOLERANCE * np.abs(means).max(axis=0)
            self._refuse_constant(constant[everywhere], "over all rows", "Remove it.")
            warn(
                f"Left out because they are constant within every class: {self._columns(constant)}. Check for label "
                "leakage, or set shrinkage to include them.",
                CollinearityWarning,
            )
            within = within.without(constant)
        covariance = within.covariance(divisor)
        if covariance.rank == 0:
            raise DegenerateDataError("No column varies within the classes, so the covariance is 0. Check the columns.")
        self._warn_if_aliased([j for j in covariance.aliased if j not in constant])
        return covariance

    def _warn_if_aliased(self, aliased: Sequence[int]) -> None:
        """Name the columns that add nothing, because they are linear functions of others within the classes."""
        if aliased:
            warn(
                f"Collinear within the classes: {self._columns(aliased)}. Remove these columns to interpret "
                "individual coefficients.",
                AliasWarning,
            )


@dataclass(frozen=True)
class ClassStatistics:
    """The sufficient statistics of a model: moments and priors of the classes seen so far."""

    moments: ClassMoments
    collected: Any  #: the same in folds, where the model asked for them
    present: Array
    classes: Array
    priors: Array

    @property
    def log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.priors)

    def expand(self, values: Array) -> Array:
        """One value for each class of the model, NaN for classes without rows."""
        out = np.full((len(self.present), *values.shape[1:]), np.nan)
        out[self.present] = values
        return out


def whole_of(moments: ClassMoments | FoldMoments) -> ClassMoments:
    """The moments of all rows, whether they were collected in folds or not."""
    return moments.whole() if isinstance(moments, FoldMoments) else moments


def collected(data: TrainingData, statistic: ClassMoments | FoldMoments, n_jobs: int | None) -> Any:
    """The statistic of all rows; refuses NaN, infinity, and values whose squares overflow."""
    total = data.reduce(statistic, n_jobs)
    with np.errstate(invalid="ignore", over="ignore"):
        moments = whole_of(total)
        if moments.is_finite():
            if (moments.column_scatter() == 0).any() and (underflow := extreme_values(data)) is not None:
                raise underflow
            return total
    data.rows.refuse_nonfinite()
    raise extreme_values(data) or InputError("Values of X are too large: their powers overflow. Rescale the columns.")


# Moments of all folds in memory (256 MB); with more numbers each fold takes a pass of its own.
MAX_FOLD_MOMENT_NUMBERS = 1 << 25


def moments_in_folds(
    data: LabelledRows, needs: MomentsSpec, fold: Array, n_folds: int, fewest_rows: int, n_jobs: int | None
) -> FoldMoments:
    """The moments of each fold, in one pass, for models of ``fewest_rows`` rows or more."""
    n_classes = len(data.classes)
    empty = replace(needs, folds=n_folds).statistic(fewest_rows, n_classes, data.rows.n_columns)
    codes = fold.astype(np.int32) * np.int32(n_classes) + data.codes
    return FoldMoments(collected(replace(data, codes=codes), empty.cells, n_jobs), n_folds)


def constant_columns(variance: Array, means: Array) -> Array:
    """Columns whose variance is 0 up to rounding."""
    return np.flatnonzero(np.sqrt(variance) <= CONSTANT_TOLERANCE * np.abs(means).max(axis=0))


def fit_all(
    models: Iterable[M], X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, n_jobs: int | None = None
) -> list[M]:
    """Fit several moment models in one pass over the rows, with the same results as separate fits.

    Parameters
    ----------
    models : iterable or dict of estimators
        Discriminant analyses, naive Bayes and other moment models.
    X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
        Training rows.
    y : array-like of shape (n_rows,)
        Their labels.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies of the rows.
    n_jobs : int, optional
        Threads of the pass: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    list of the same estimators, fitted

    See Also
    --------
    compare : Cross-validation of such models, also in one pass.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> [model.score(X, y) for model in fit_all([LinearDiscriminantAnalysis(), GaussianNB()], X, y)]
    [0.98, 0.96]
    """
    chosen = list(models.values()) if isinstance(models, Mapping) else list(models)
    if not chosen:
        raise ParameterError(Setting("models"), " is empty. Give at least one model.")
    for model in chosen:
        if not isinstance(model, MomentClassifier) or not model._reads_class_moments:
            raise ParameterError(f"{type(model).__name__} cannot share a pass with other models. Fit it separately.")
    with ExitStack() as stack:
        for model in chosen:
            stack.enter_context(all_or_nothing(model))
            model._forget()
            model._check_parameters()
        data = chosen[0]._labelled(X, y, sample_weight)
        for model in chosen[1:]:
            model._check_columns(X, reset=True)
            model._accept(data.classes)
        needs = combined_spec(model._moments_spec() for model in chosen)
        moments = collected(data, needs.statistic(data.n_rows, len(data.classes), data.rows.n_columns), n_jobs)
        with computable(data):
            for model in chosen:
                model._set_estimates(projected(moments, model._moments_spec()))
                model._refine(data)
    return chosen


def fit_moments(model: M, moments: ClassMoments, classes: Array, names: Sequence[str]) -> M:
    """Fit a model to class moments with structure "class" instead of rows, with the same result.

    ``names`` are the columns. After an error the model is unchanged.
    """
    reads = isinstance(model, MomentClassifier) and model._reads_class_moments and model._takes_passes
    spec = model._moments_spec() if reads else MomentsSpec("class", fourth=True)
    if spec.folds or spec.fourth:
        raise ParameterError(
            f"{type(model).__name__} with these settings needs training rows, not only means and covariances. Use lda, "
            "qda, maximum-likelihood, minimum-distance, spectral-angle or gaussian-nb with fixed settings."
        )
    with all_or_nothing(model):
        model._forget()
        model._check_parameters()
        model.n_features_in_, model.feature_names_in_ = len(names), np.array(names, dtype=object)
        model._accept(classes)
        model._set_estimates(projected(moments, spec))
    return model


M = TypeVar("M", bound=MomentClassifier)
