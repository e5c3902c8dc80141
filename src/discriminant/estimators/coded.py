"""What the schemes for many classes share: one binary classifier for each column of a codebook."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from ..data import Rows, check_weights, encode_labels
from ..data.labels import sorted_classes
from ..engine import map_rows, side_by_side
from ..errors import InputError, LabelError, ParameterError, WeightError
from ..multiclass import Ambiguity, Codebook, CodedRule, Decoding, DecodingLoss, ambiguous
from ..results import shown
from ..rules import LinearRule
from .base import RuleClassifier, all_or_nothing
from .binary_columns import (
    Committee,
    LabelledTable,
    TableRows,
    copies_of,
    forget_rows,
    gives_scores,
    in_same_config,
    linear_columns,
    zero_is_second,
)

Array = np.ndarray[Any, Any]


class CodedClassifier(MetaEstimatorMixin, RuleClassifier):
    """A classifier of many classes made of binary ones, one for each column of a codebook."""

    estimator: Any
    n_jobs: int | None
    codebook_: Codebook
    estimators_: list[Any]
    sides_: Array
    class_count_: Array
    not_ready_: str
    #: by what candidates are counted before ties are broken
    _counted_by: ClassVar[Literal["votes", "hamming"]] = "votes"

    @abstractmethod
    def _make_codebook(self, n_classes: int) -> Codebook:
        """The code of this scheme for so many classes."""

    @abstractmethod
    def _reading(self) -> tuple[Decoding, DecodingLoss]:
        """How the columns' scores are read."""

    @abstractmethod
    def _column_name(self, column: int) -> str:
        """How a message calls a column."""

    def _side_labels(self) -> Array:
        """The labels (M, 2) that the binary classifiers learn for their sides -1 and +1."""
        return np.tile([0, 1], (self.codebook_.n_columns, 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one binary classifier for each column of the code.

        Parameters
        ----------
        X : whatever ``estimator`` reads, of shape (n_rows, n_columns)
            It is handed on as it is; only columns that leave classes out copy the rows they need.
        y : array-like of shape (n_rows,)
            Class labels: strings, integers or booleans.
        sample_weight : array-like of shape (n_rows,), optional
            Handed on to ``estimator``, which must take it.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._forget()
            self._check_parameters()
            training = self._training(X, y, sample_weight)
            self._refuse_weightless(training)
            self._take_over(training)
            unfitted = copies_of(self.estimator)
            self.estimators_ = self._on_threads(lambda m: self._fitted(training, m, unfitted()))
            self._set_rule()
        return self

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning from more rows, with the ``partial_fit`` of every binary classifier.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            All classes that will ever come, in the first call. Without it they are those of the first ``y``.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._check_parameters()
            first = not hasattr(self, "estimators_")
            training = self._training(X, y, sample_weight, classes, first)
            before = 0 if first else self.class_count_
            self._take_over(training, first)
            self.class_count_ = before + self.class_count_
            self.estimators_ = self._on_threads(lambda m: self._updated(training, m, first))
            self._set_rule_or_wait()
        return self

    @property
    def _last_wins(self) -> bool:
        return len(self.classes_) == 2 and zero_is_second(self.estimator) and bool(self.codebook_.matrix[1, 0] > 0)

    def ambiguous(self, X: Any) -> Ambiguity:
        """Which rows no class or several classes claim, before ties are broken.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        Ambiguity
            ``none`` and ``several`` (n_rows,) say which rows are ambiguous, ``candidates`` (n_rows, n_classes) between
            which classes, in the order of ``classes_``.
        """
        rows = self._rows(X)
        candidates = np.empty((rows.n_rows, len(self.classes_)), dtype=bool)

        def write(block: Any, where: slice) -> None:
            scores = self.rule_.columns.scores(block)
            candidates[where] = ambiguous(scores, self.rule_.codebook, self._counted_by).candidates

        try:
            map_rows(rows, write, self.n_jobs)
        except InputError:
            rows.refuse_nonfinite()
            raise
        return Ambiguity(candidates)

    @property
    def code_distance_(self) -> float:
        """The row distance of the code: the smallest Hamming distance of two classes, zeros counted 1/2."""
        return self.codebook_.row_distance

    def _check_parameters(self) -> None:
        binary = self.estimator
        name = binary.__name__ if isinstance(binary, type) else type(binary).__name__
        if isinstance(binary, type) or not (hasattr(binary, "fit") and hasattr(binary, "predict")):
            raise ParameterError(f"estimator must be a classifier object with fit and predict, got {binary!r}.")
        if is_regressor(binary):
            raise ParameterError(f"estimator must be a classifier, and {name} is for regression.")
        if get_tags(binary).input_tags.pairwise:
            raise ParameterError(f"estimator {name} wants a matrix of pairs of rows as X; give it the rows themselves.")
        asking = self._asks_for_scores()
        if asking and not gives_scores(binary):
            raise ParameterError(
                f"{asking} compares scores, and {name} has neither decision_function nor predict_proba. Use a scheme "
                "that counts votes: OneVsRest(vote=True), OneVsOne(decision='votes') or OutputCode(decoding='hamming')."
            )

    @abstractmethod
    def _asks_for_scores(self) -> str:
        """The parameter that needs more than decisions of the binary classifiers; empty if decisions are enough."""

    def _training(self, X: Any, y: Any, sample_weight: Any, classes: Any = None, first: bool = True) -> LabelledTable:
        table = self._table(X, first)
        declared = None if classes is None else sorted_classes(classes)
        if not first:
            self._refuse_other_classes(declared)
            declared = self.classes_
        found, codes = encode_labels(y, table.n_rows, declared)
        if len(found) < 2:
            raise LabelError(f"y has only one class, {shown(found[0])}: a classifier needs at least two classes.")
        weight = check_weights(sample_weight, table.n_rows)
        if weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise WeightError(f"{type(self.estimator).__name__} does not take sample_weight: leave the weights out.")
        return LabelledTable(table, found, codes, weight)

    def _refuse_weightless(self, training: LabelledTable) -> None:
        """Named here, because the binary classifiers know sides and not classes."""
        totals = training.class_weights()
        if not totals.all():
            label = shown(training.classes[int(np.argmin(totals))])
            raise WeightError(f"All rows of class {label} have weight zero. Leave them out, or give them weight.")

    def _take_over(self, training: LabelledTable, first: bool = True) -> None:
        self.classes_, self.class_count_ = training.classes, training.class_weights()
        if first:
            self.codebook_ = self._make_codebook(len(training.classes))
            self.sides_ = self._side_labels()

    def _on_threads(self, column_estimator: Callable[[int], Any]) -> list[Any]:
        return side_by_side(in_same_config(column_estimator), list(range(self.codebook_.n_columns)), self.n_jobs)

    def _fitted(self, training: LabelledTable, column: int, binary: Any) -> Any:
        X, labels, weight = self._binary(training, column)
        with self._naming(column):
            binary = binary.fit(X, labels, **weight)
        if X is not training.rows.table:
            forget_rows(binary)
        return binary

    def _updated(self, training: LabelledTable, column: int, first: bool) -> Any:
        """A copy of the column's classifier that has learned the rows of its two sides, if there are any."""
        X, labels, weight = self._binary(training, column)
        binary = clone(self.estimator) if first else deepcopy(self.estimators_[column])
        if len(labels):
            with self._naming(column):
                binary.partial_fit(X, labels, classes=self.sides_[column], **weight)
        return binary

    def _binary(self, training: LabelledTable, column: int) -> tuple[Any, Array, dict[str, Array]]:
        """The rows of a column, the labels of their sides, and the weights to hand on."""
        rows, side = self.codebook_.targets(training.codes, column)
        labels = self.sides_[column][(side > 0).astype(np.intp)]
        weight = training.weight
        X = training.rows.table if rows is None else training.rows.take(rows)
        if weight is None:
            return X, labels, {}
        return X, labels, {"sample_weight": weight if rows is None else weight[rows]}

    @contextmanager
    def _naming(self, column: int) -> Iterator[None]:
        """Say of an error in which binary problem it arose."""
        try:
            yield
        except Exception as error:
            error.add_note(f"This happened in {type(self).__name__}, learning {self._column_name(column)}.")
            raise

    def _set_rule(self) -> None:
        linear = linear_columns(self.estimators_)
        if linear is not None:
            self.coef_, self.intercept_ = linear.coef, linear.intercept
        columns = linear or Committee(self.estimators_, self.sides_[:, 1], self.n_jobs)
        rule = CodedRule(columns, self.codebook_, *self._reading())
        self.rule_ = rule.turned() if linear is not None and zero_is_second(self.estimator) else rule

    def _set_rule_or_wait(self) -> None:
        """Predict only when every class has been seen; the others could neither win nor lose."""
        for name in ("rule_", "coef_", "intercept_", "not_ready_"):
            if hasattr(self, name):
                delattr(self, name)
        if self.class_count_.all():
            self._set_rule()
        else:
            label = shown(self.classes_[int(np.argmin(self.class_count_))])
            self.not_ready_ = f"no rows of class {label} have come yet."

    def _readable(self, X: Any, first: bool) -> Rows:
        if not isinstance(self.rule_.columns, LinearRule):
            return self._table(X, first)
        return super()._readable(X, first)

    def _table(self, X: Any, first: bool) -> TableRows:
        """``X`` as the binary classifiers get it; the first time its columns are noted, later they are compared."""
        table = TableRows(X)
        if not first and hasattr(self, "n_features_in_") and len(table.table.shape) == 1:
            raise InputError(
                "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(1, -1) if it is one row."
            )
        self._check_columns(X, reset=first)
        return table
