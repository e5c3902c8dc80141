"""Conformal prediction sets of any classifier with probabilities."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from ..arrays import Array, MatrixLike
from ..data import (
    check_choice,
    check_integer,
    check_number,
    check_weights,
    codes_among,
    declared_order,
    encode_labels,
    label_column,
    same_length,
)
from ..errors import DegenerateDataError, InputError, ParameterError, Setting, WeightError
from ..evaluation.inputs import read_posterior
from ..evaluation.probabilities import RiskCoverage
from ..evaluation.ranking import rank
from ..evaluation.sampling import SamplingDesign
from ..folds import grouped_folds
from .base import all_or_nothing, in_declared_order
from .class_sets import (
    CONFORMITY_SCORES,
    CalibrationScores,
    ClassSets,
    ConformityScore,
    ScoreOptions,
    SetEvaluation,
    is_contained,
    set_measures,
)

METHODS: Final = ("split", "cross", "prefit")


class _Rows(NamedTuple):
    """The rows given to `fit`; ``order`` is that which the column of the labels declares."""

    X: MatrixLike
    labels: Array
    weight: Array | None
    order: list[Any] | None


@dataclass(eq=False, repr=False)
class PredictionSets(MetaEstimatorMixin, BaseEstimator):
    """Sets of classes that contain the true class with a chosen probability (conformal prediction).

    If the rows are exchangeable, the sets of new rows contain their true class with at least the chosen probability on
    average, whatever the classifier and the distribution. A good classifier has small sets. Without ``random_state``
    for ties the coverage is slightly above the nominal one.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``.
    coverage : float, default=0.9
        Nominal coverage of the sets.
    score : {"aps", "lac", "raps"}, default="aps"
        Conformity score: sums of sorted probabilities (adaptive sets), one minus the probability (smallest sets), or
        adaptive sets with a penalty on their size.
    method : {"split", "cross", "prefit"}, default="split"
        "split": the classifier is fitted to some of the rows and calibrated on the others. "cross": classifiers fitted
        to the other folds calibrate the rows of each fold, and all of them predict (CV+); its coverage is at least
        ``2 coverage - 1`` and in practice near ``coverage``. "prefit": the classifier is fitted already; all rows
        calibrate, and must be held-out rows, or `fit` is given out-of-fold probabilities of the training rows (coverage
        is then approximate, near ``coverage`` if the fits of folds differ little).
    by_class : bool, default=False
        Whether each class has its own calibration: coverage then holds for the rows of every class.
    calibration_share : float, default=0.25
        Share of the rows that calibrate with "split".
    cv : int, default=5
        Folds of "cross".
    randomized : bool, default=False
        Whether scores of "aps" and "raps" subtract a random share of the class's probability, for exact coverage and
        smaller sets.
    penalty : float, default=0.01
        Penalty of "raps" for each class beyond ``free_classes``.
    free_classes : int, default=1
        Classes of "raps" without a penalty.
    allow_empty : bool, default=True
        Whether sets may be empty, for rows that are unlike the calibration rows of every class. Otherwise they contain
        the first class of larger sets, without ``by_class`` the most probable one.
    random_state : int, default=0
        Of the split, the folds and the randomisation.

    Attributes
    ----------
    classes_ : array of shape (K,)
    estimators_ : list of classifiers
        One, or one for each fold of "cross".
    calibration_ : list of lists of CalibrationScores
        For each of these, the scores of its calibration rows, by class with ``by_class``.

    See Also
    --------
    Decision : Rejection of rows by cost.
    risk_coverage : The error against the share of rows with an answer.

    References
    ----------
    Vovk, V., Gammerman, A. & Shafer, G. (2005). Algorithmic Learning in a Random World.
    Romano, Y., Sesia, M. & Candes, E. (2020). Classification with valid and adaptive coverage. NeurIPS 33.
    Sadinle, M., Lei, J. & Wasserman, L. (2019). Least ambiguous set-valued classifiers with bounded error levels. JASA
    114.
    Angelopoulos, A. et al. (2021). Uncertainty sets for image classifiers using conformal prediction. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from discriminant import LogisticRegression, PredictionSets
    >>> X, y = load_wine(return_X_y=True)
    >>> model = PredictionSets(LogisticRegression(alpha=0.1), coverage=0.9, score="lac").fit(X[::2, :2], y[::2])
    >>> sets = model.predict(X[1:90:25, :2])
    >>> list(sets), sets.decide().tolist()
    ([[0, 1, 2], [0, 2], [0], [0, 1]], ['abstain', 'abstain', 0, 'abstain'])
    >>> round(model.evaluate(X[1::2, :2], y[1::2])["all"].coverage, 3)
    0.888
    """

    estimator: Any
    coverage: float = 0.9
    _: KW_ONLY
    score: ConformityScore = "aps"
    method: Literal["split", "cross", "prefit"] = "split"
    by_class: bool = False
    calibration_share: float = 0.25
    cv: int = 5
    randomized: bool = False
    penalty: float = 0.01
    free_classes: int = 1
    allow_empty: bool = True
    random_state: int = 0

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        posterior: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier, unless it is fitted already, and calibrate the sets.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
            Rows as the classifier accepts them.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies of the rows.
        groups : array-like of shape (n_rows,), optional
            Rows of one group are together in the fit or in the calibration.
        posterior : array-like of shape (n_rows, K) or (repeats, n_rows, K), optional
            Out-of-fold probabilities of the rows, such as ``cross_validate(...).posteriors(name)``, columns in sorted
            order of the classes: they calibrate a classifier that was fitted to the same rows ("prefit"), without
            another fit. Rows of NaN do not calibrate. Default: the probabilities of the classifier.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._check_parameters()
            labels, order = label_column("y", y), declared_order(y)
            if _num_samples(X) != len(labels):
                raise InputError(f"X has {_num_samples(X)} rows, y has {len(labels)}. Give the class of each row.")
            weight = check_weights(sample_weight, len(labels))
            classes, codes = self._classes(labels)
            self.classes_, self.estimators_, self.calibration_ = classes, [], []
            uniform = self._uniform(len(codes), "calibration")
            if posterior is not None:
                self._calibrate_out_of_fold(posterior, codes, weight, uniform)
                return self
            for train, held in self._splits(codes, groups):
                fitted = self._fitted(_Rows(X, classes[codes], weight, order), train)
                found = self._posterior(fitted, _safe_indexing(X, held))
                scores = self._options.scores(found, None if uniform is None else uniform[held])
                own = scores[np.arange(len(held)), codes[held]]
                self.estimators_.append(fitted)
                self.calibration_.append(self._sorted(own, codes[held], None if weight is None else weight[held]))
            self._refuse_few()
        return self

    def _calibrate_out_of_fold(
        self, posterior: ArrayLike, codes: Array, weight: Array | None, uniform: Array | None
    ) -> None:
        """Calibrate the fitted classifier by given probabilities; repeats share the weight of a row."""
        if self.method != "prefit":
            reason = " needs a fitted classifier. Use "
            raise ParameterError(Setting("posterior"), reason, Setting("method", "prefit"), ".")
        repeats = np.asarray(posterior, dtype=np.float64)
        repeats = repeats[None] if repeats.ndim == 2 else repeats
        shape = len(codes), len(self.classes_)
        if repeats.ndim != 3 or repeats.shape[1:] != shape:
            wrong = f"posterior has shape {np.shape(posterior)}; expected {shape}: rows x classes, or repeats of it."
            raise InputError(wrong)
        is_known = ~np.isnan(repeats).all(axis=2)
        rows = np.nonzero(is_known)[1]
        found = read_posterior(repeats[is_known], self.classes_)[1]
        scores = self._options.scores(found, None if uniform is None else uniform[rows])
        shared = (np.ones(len(codes)) if weight is None else weight) / np.maximum(is_known.sum(axis=0), 1)
        self.estimators_ = [self.estimator]
        self.calibration_ = [self._sorted(scores[np.arange(len(rows)), codes[rows]], codes[rows], shared[rows])]
        self._refuse_few()

    def _check_parameters(self) -> None:
        check_number("coverage", self.coverage, 0, 1, open_below=True)
        check_choice("score", self.score, CONFORMITY_SCORES)
        check_choice("method", self.method, METHODS)
        check_number("calibration_share", self.calibration_share, 0, 1, open_below=True)
        check_integer("cv", self.cv, 2)
        check_number("penalty", self.penalty, 0)
        check_integer("free_classes", self.free_classes, 0)
        check_integer("random_state", self.random_state, 0)
        if self.coverage == 1 or self.calibration_share == 1:
            name = "coverage" if self.coverage == 1 else "calibration_share"
            raise ParameterError(Setting(name), f" must be between 0 and 1, got {getattr(self, name)!r}.")

    def _classes(self, labels: Array) -> tuple[Array, Array]:
        """The classes, and the code of each label; those of a fitted classifier are given."""
        if self.method != "prefit":
            return encode_labels(labels, len(labels))
        check_is_fitted(self.estimator)
        known = np.asarray(self.estimator.classes_)
        return known, codes_among("y", labels, known)

    @property
    def _options(self) -> ScoreOptions:
        return ScoreOptions(self.score, self.penalty, self.free_classes)

    def _uniform(self, n_rows: int, use: Literal["calibration", "prediction"]) -> Array | None:
        """A uniform random number for each row; None without randomisation."""
        if not self.randomized or self.score == "lac":
            return None
        return np.random.default_rng([self.random_state, use == "prediction"]).random(n_rows)

    def _splits(self, codes: Array, groups: ArrayLike | None) -> list[tuple[Array, Array]]:
        """Training and calibration rows of each classifier."""
        rows, rng = np.arange(len(codes)), np.random.default_rng(self.random_state)
        if self.method == "prefit":
            return [(rows[:0], rows)]
        unit = rows if groups is None else np.unique(label_column("groups", groups), return_inverse=True)[1]
        if len(unit) != len(codes):
            raise InputError(f"groups has {len(unit)} values for {len(codes)} rows. Give the group of each row.")
        n_units, n_parts = int(unit.max()) + 1, self.cv if self.method == "cross" else 2
        if n_units < n_parts:
            raise DegenerateDataError(f"{n_units} rows or groups cannot be split into {n_parts} parts. Add rows.")
        order = rng.permutation(n_units)
        if self.method == "split":
            n_held = min(max(round(self.calibration_share * n_units), 1), n_units - 1)
            held = (order < n_held)[unit]
            return [(rows[~held], rows[held])]
        fold = order[unit] % self.cv if groups is None else grouped_folds(codes, unit, self.cv, self.random_state)
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold[fold >= 0])]

    def _fitted(self, rows: _Rows, train: Array) -> Any:
        if self.method == "prefit":
            return self.estimator
        labels = rows.labels[train]
        if len(np.unique(labels)) < 2:
            raise DegenerateDataError("The rows used to fit the classifier have only one class. Add rows.")
        given = {}
        if rows.weight is not None:
            if not has_fit_parameter(self.estimator, "sample_weight"):
                raise WeightError(f"{type(self.estimator).__name__} does not support sample_weight. Leave it out.")
            given["sample_weight"] = rows.weight[train]
        model = in_declared_order(self.estimator, rows.order, labels, self.classes_)
        return model.fit(_safe_indexing(rows.X, train), labels, **given)

    def _posterior(self, fitted: Any, X: MatrixLike) -> Array:
        """The probabilities of all classes; classes without training rows have probability 0."""
        if not hasattr(fitted, "predict_proba"):
            reason = f"{type(fitted).__name__} does not predict probabilities. Use a classifier with predict_proba."
            raise ParameterError(Setting("estimator"), ": ", reason)
        found = np.asarray(fitted.predict_proba(X))
        if len(fitted.classes_) == len(self.classes_):
            return found
        whole = np.zeros((len(found), len(self.classes_)))
        whole[:, np.searchsorted(self.classes_, fitted.classes_)] = found
        return whole

    def _sorted(self, scores: Array, codes: Array, weight: Array | None) -> list[CalibrationScores]:
        weight = np.ones(len(scores)) if weight is None else weight
        if not self.by_class:
            return [CalibrationScores.of(scores, weight)]
        return [CalibrationScores.of(scores[codes == k], weight[codes == k]) for k in range(len(self.classes_))]

    def _refuse_few(self) -> None:
        """Raise an error if a set would contain a class whatever its score, because too few rows calibrate."""
        totals = [sum(part.total for part in parts) for parts in zip(*self.calibration_, strict=True)]
        needed = self.coverage / (1 - self.coverage)
        for k, total in enumerate(totals):
            if total < needed * (1 - 1e-9):
                whose = f" of class {self.classes_[k]!r}" if self.by_class else ""
                wrong = (
                    f"{total:g} calibration rows{whose} are too few for this coverage; {needed:.0f} are needed. Lower "
                )
                others = (", or use ", Setting("method", "cross")) if self.method == "split" else ()
                raise DegenerateDataError(wrong, Setting("coverage"), *others, ".")

    def predict(self, X: MatrixLike) -> ClassSets:
        """The set of classes of each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Rows as the classifier accepts them.

        Returns
        -------
        ClassSets
            ``list(sets)`` are lists of labels; ``sets.decide()`` answers only where a set has one class.
        """
        below, totals, order = self._calibrated(X)
        contains = [is_contained(n, total, self.coverage) for n, total in zip(below.T, totals, strict=True)]
        found = np.column_stack(contains)
        if not self.allow_empty:
            empty = np.flatnonzero(~found.any(axis=1))
            found[empty, order[empty, 0]] = True
        return ClassSets(found, self.classes_)

    def _calibrated(self, X: MatrixLike) -> tuple[Array, Array, Array]:
        """The weight of calibration rows with smaller scores than each class, and of all; the order of the classes.

        The sets of increasing nominal coverages include the classes in this order.
        """
        check_is_fitted(self, "calibration_")
        below: Any = 0.0
        mean: Any = 0.0
        totals = np.zeros(len(self.calibration_[0]))
        for fitted, parts in zip(self.estimators_, self.calibration_, strict=True):
            posterior = self._posterior(fitted, X)
            scores = self._options.scores(posterior, self._uniform(len(posterior), "prediction"))
            by_class = parts if self.by_class else parts * len(self.classes_)
            below = below + np.column_stack([own.below(s) for own, s in zip(by_class, scores.T, strict=True)])
            totals += [part.total for part in parts]
            mean = mean + posterior
        whole = np.broadcast_to(totals, len(self.classes_))
        return below, whole, np.lexsort((-mean, below / (whole + 1)), axis=1)

    def _risk_coverage(self, X: MatrixLike, codes: Array, weight: Array) -> RiskCoverage:
        """The risk-coverage curve of sets with one class.

        A class is in the sets of nominal coverages above its level; a set has one class up to the second smallest
        level, the confidence of the row.
        """
        below, totals, order = self._calibrated(X)
        confidence = np.take_along_axis(below / (totals + 1), order[:, 1:2], axis=1)[:, 0]
        return RiskCoverage(rank(order[:, 0] == codes, confidence, weight), "conformal confidence")

    def evaluate(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        level: float = 0.95,
    ) -> SetEvaluation:
        """The empirical coverage and mean size of the sets of held-out rows.

        Parameters
        ----------
        X : array-like, frame or sparse matrix
            Held-out rows.
        y : array-like of shape (n_rows,)
            Their classes.
        sample_weight : array-like of shape (n_rows,), optional
            As of `evaluate`.
        groups : array-like of shape (n_rows,), optional
            Rows of one group are not independent; coverage is also reported by group.
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        SetEvaluation
            Of all rows, by class and by group; with the error of the rows whose set has one class.
        """
        check_number("level", level, 0, 1, open_below=True)
        sets = self.predict(X)
        codes = codes_among("y", y, self.classes_)
        same_length(X=sets, y=codes)
        design = SamplingDesign.read(sample_weight, groups, len(codes))
        named = None if groups is None else label_column("groups", groups)
        curve = self._risk_coverage(X, codes, design.weights)
        return SetEvaluation(set_measures(sets, codes, design, named, level), self.coverage, level, curve)
