"""Multiclass classification by binary problems: one-versus-rest, one-versus-one and output codes.

Each column of a codebook defines a binary problem, and the codebook combines the binary scores into scores of the
classes (Dietterich & Bakiri 1995; Allwein, Schapire & Singer 2000). The meta-estimators of this module fit a clone of
any classifier for each column; the support vector machine and the perceptron solve all problems over the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_method_params

from .. import multiclass as codebooks
from ..arrays import Array, MatrixLike
from ..data import AnyRows, LabelledRows, as_rows, check_choice
from ..errors import InputError, ParameterError, Setting
from ..multiclass import Codebook, Decoding, DecodingLoss
from ..results import shown
from ..rules import LinearRule
from .base import RuleClassifier, all_or_nothing, by_partition, refuse_weightless
from .binary_classifiers import BinaryClassifiers, TableRows, linear_columns, on_threads
from .codebook_classifier import CodebookClassifier
from .mixins import MetaClassifierMixin


class CodebookMetaClassifier(MetaClassifierMixin, CodebookClassifier):
    """A multiclass classifier made of clones of a binary one, one for each column of a codebook."""

    estimators_: list[Any]
    sides_: Array
    class_count_: Array
    not_ready_: str
    _needs_scores: ClassVar[tuple[str, str | bool]]  #: the parameter and its value for which labels are not enough

    @property
    def _zero_is_second(self) -> bool:
        return bool(getattr(type(self.estimator), "_zero_is_second", False))

    def _side_labels(self) -> Array:
        """The labels (M, 2) that the binary classifiers learn for their sides -1 and +1."""
        return np.tile([0, 1], (self.codebook_.n_columns, 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Fit one binary classifier for each column of the code.

        Parameters
        ----------
        X : any table that ``estimator`` accepts, of shape (n_rows, n_columns)
            Passed on unchanged, or as the rows of the classes of a binary problem.
        y : array-like of shape (n_rows,)
            Class labels: strings, integers or booleans.
        sample_weight : array-like of shape (n_rows,), default=None
            Passed on to ``estimator``, which must accept it.
        **params : dict
            Other metadata for ``estimator``, with scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._forget()
            training, routed = self._begun("fit", X, y, None, sample_weight, params)
            refuse_weightless(self.class_count_, self.classes_)  # binary classifiers would name a side instead
            self._learn_columns("fit", training, routed, lambda _: clone(self.estimator))
            self._set_rule(self._scored_columns())
        return self

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Continue the fit with more rows, by the ``partial_fit`` of every binary classifier.

        Parameters
        ----------
        X : any table that ``estimator`` accepts, of shape (n_rows, n_columns)
            More rows.
        y : array-like of shape (n_rows,)
            The labels of these rows.
        classes : array-like, default=None
            All classes, in the first call. Default: those of the first ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Passed on to ``estimator``.
        **params : dict
            As in `fit`.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            known = getattr(self, "estimators_", None)
            training, routed = self._begun("partial_fit", X, y, classes, sample_weight, params)
            before = (lambda _: clone(self.estimator)) if known is None else lambda column: deepcopy(known[column])
            self._learn_columns("partial_fit", training, routed, before)
            for name in {"rule_", "coef_", "intercept_", "not_ready_"} & set(vars(self)):
                delattr(self, name)
            if self.class_count_.all():
                self._set_rule(self._scored_columns())
            else:
                label = shown(self.classes_[int(np.argmin(self.class_count_))])
                self.not_ready_ = f"no rows of class {label} so far."
        return self

    def _begun(
        self,
        method: str,
        X: MatrixLike,
        y: ArrayLike | None,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
    ) -> tuple[LabelledRows, dict[str, Any]]:
        """The training rows and the metadata for the binary classifiers; the first call also makes the codebook."""
        self._check_parameters()
        first = not hasattr(self, "estimators_")
        routed = self._routed(method, sample_weight, params)
        training = self._labelled(X, y, routed.pop("sample_weight", None), classes, first).gather()
        if first:
            self.codebook_ = self._make_codebook(len(self.classes_))
            self.sides_ = self._side_labels()
        self.class_count_ = (0 if first else self.class_count_) + training.class_weights
        return training, routed

    def _learn_columns(
        self, method: str, training: LabelledRows, params: dict[str, Any], before: Callable[[int], BaseEstimator]
    ) -> None:
        """Fit the classifier of every column, as it was ``before``, to the rows of its two sides."""
        table: Any = training.rows
        if training.weight is not None:
            params = {**params, "sample_weight": training.weight}

        def learned(column: int) -> Any:
            rows, side = self.codebook_.targets(training.codes, column)
            labels, binary = self.sides_[column][(side > 0).astype(np.intp)], before(column)
            X, own = table.table, params
            if rows is not None:
                X, own = table.take(rows), _check_method_params(table.table, params, indices=rows) if params else {}
            try:
                if method == "fit":
                    binary.fit(X, labels, **own)
                elif len(labels):
                    binary.partial_fit(X, labels, classes=self.sides_[column], **own)
            except Exception as error:
                if isinstance(error, InputError):  # name the row of the whole table
                    as_rows(table.table).refuse_nonfinite()
                error.add_note(f"Raised by {type(self).__name__} in the binary problem {self._named(column)}.")
                raise
            if method == "fit" and rows is not None and isinstance(binary, RuleClassifier):
                for name in set(binary._own_state) & set(vars(binary)):  # copies of training rows
                    delattr(binary, name)
            return binary

        self.estimators_ = on_threads(learned, list(range(self.codebook_.n_columns)), self.n_jobs)

    def _check_parameters(self) -> None:
        binary = self.estimator
        name = binary.__name__ if isinstance(binary, type) else type(binary).__name__
        if isinstance(binary, type) or not (hasattr(binary, "fit") and hasattr(binary, "predict")):
            raise ParameterError(Setting("estimator"), f" must be a classifier with fit and predict, got {binary!r}.")
        if is_regressor(binary) or get_tags(binary).input_tags.pairwise:
            raise ParameterError(Setting("estimator"), f" must be a classifier that takes feature rows, got a {name}.")
        parameter, value = self._needs_scores
        if getattr(self, parameter) == value and not (
            hasattr(binary, "decision_function") or hasattr(binary, "predict_proba")
        ):
            raise ParameterError(
                Setting(parameter, value), f" needs scores, but {name} has no decision_function or predict_proba. "
                "Use OneVsRest(vote=True), OneVsOne(decision='votes') or OutputCode(decoding='hamming').",
            )  # fmt: skip

    def _scored_columns(self) -> LinearRule | BinaryClassifiers:
        return linear_columns(self.estimators_) or BinaryClassifiers(self.estimators_, self.sides_[:, 1], self.n_jobs)

    def _rows(self, X: MatrixLike | AnyRows) -> AnyRows:
        self._ready()
        linear = isinstance(getattr(self.rule_, "columns", self.rule_), LinearRule)
        X = self._as_fitted(X)
        return super()._readable(X, first=False) if linear else self._readable(X, first=False)

    def _readable(self, X: MatrixLike | AnyRows, first: bool) -> TableRows:
        """``X`` for the binary classifiers; the first fit records its columns, later calls compare them."""
        table = TableRows(X)
        if not first and hasattr(self, "n_features_in_") and len(table.table.shape) == 1:
            raise InputError(
                "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(1, -1) if it is one row."
            )
        self._check_columns(X, reset=first)
        return table


@dataclass(eq=False, repr=False)
class OneVsRest(CodebookMetaClassifier):
    """One-versus-rest: a binary classifier of each class against all others; the highest score wins.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; a clone for each column learns the labels 0 and 1.
    vote : bool, default=False
        Use K - 1 classifiers that vote for their class. Rows without a vote get the last class, rows with several the
        class of the highest score.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    codebook_ : Codebook
        The binary problems; ``codebook_.matrix`` is (K, M).
    code_distance_ : float
        Smallest Hamming distance of two of its rows.
    class_count_ : array of shape (K,)
        Weight of each class in the training rows.
    estimators_ : list of the M fitted classifiers
    sides_ : array of shape (M, 2)
        Their labels for the sides -1 and +1.
    coef_, intercept_ : arrays of shape (M, p) and (M,)
        If all of them are linear.

    See Also
    --------
    OneVsOne : A classifier for each pair of classes.
    OutputCode : Error-correcting output codes.

    References
    ----------
    Rifkin, R. & Klautau, A. (2004). In defense of one-vs-all classification. J. Machine Learning Research 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OneVsRest(LinearDiscriminantAnalysis()).fit(X, y)
    >>> model.coef_.shape, model.predict(X.iloc[[0, 60, 120]])
    ((3, 4), array([0, 1, 2]))
    >>> rows = model.ambiguous(X)
    >>> int(rows.none.sum()), int(rows.several.sum())
    (19, 10)
    """

    estimator: Any
    _: KW_ONLY
    vote: bool = False
    n_jobs: int | None = None

    _needs_scores = ("vote", False)

    @available_if(lambda self: not self.vote and hasattr(self.estimator, "predict_proba"))
    @by_partition("probability")
    def predict_proba(self, X: MatrixLike) -> Array:
        """The probabilities of the binary classifiers, normalised to sum 1.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows as ``estimator`` accepts them.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        self._ready()
        table = self._readable(self._as_fitted(X), first=False).table
        claims = np.column_stack(
            on_threads(lambda binary: np.asarray(binary.predict_proba(table))[:, 1], self.estimators_, self.n_jobs)
        ).astype(np.float64, copy=False)
        if len(self.classes_) == 2:
            return np.column_stack((1.0 - claims, claims))
        total = claims.sum(axis=1, keepdims=True)
        equal = np.full_like(claims, 1.0 / len(self.classes_))
        return np.divide(claims, total, out=equal, where=total > 0)

    def _make_codebook(self, n_classes: int) -> Codebook:
        return codebooks.one_vs_rest_default(n_classes) if self.vote else codebooks.one_vs_rest(n_classes)

    def _decoding(self) -> tuple[Decoding, DecodingLoss]:
        return ("votes+confidence" if self.vote else "confidence"), "logistic"

    def _check_parameters(self) -> None:
        check_choice("vote", self.vote, (True, False))
        super()._check_parameters()


@dataclass(eq=False, repr=False)
class OneVsOne(CodebookMetaClassifier):
    """One-versus-one: a binary classifier for each pair of classes; the most votes win.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; a clone for each pair is fitted to the rows of these two classes.
    decision : "votes" or "confidence", default="votes"
        Votes, with ties broken by the sum of scores; or the sum of scores alone.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    codebook_ : Codebook
        Its M = K (K - 1) / 2 columns are the pairs (0, 1), (0, 2), ... of the classes, with scores above 0 for the
        second of the two.
    code_distance_ : float
        Smallest Hamming distance of two rows of the codebook.
    class_count_ : array of shape (K,)
        Weight of each class in the training rows.
    estimators_ : list of the M fitted classifiers
    sides_ : array of shape (M, 2)
        The two classes of each of them.
    coef_, intercept_ : arrays of shape (M, p) and (M,)
        If all of them are linear.

    See Also
    --------
    OneVsRest : Fewer classifiers with more rows each.
    OutputCode : Codes of any length.

    References
    ----------
    Friedman, J. H. (1996). Another approach to polychotomous classification. Technical report, Stanford University.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsOne(LogisticRegression(alpha=0.01)).fit(X, y)
    >>> len(model.estimators_), round(model.score(X, y), 2)
    (3, 0.97)
    >>> int(model.ambiguous(X).several.sum())
    0
    """

    estimator: Any
    _: KW_ONLY
    decision: Literal["votes", "confidence"] = "votes"
    n_jobs: int | None = None

    _needs_scores = ("decision", "confidence")

    def _make_codebook(self, n_classes: int) -> Codebook:
        return codebooks.one_vs_one(n_classes)

    def _decoding(self) -> tuple[Decoding, DecodingLoss]:
        return ("votes+confidence" if self.decision == "votes" else "confidence"), "logistic"

    def _check_parameters(self) -> None:
        check_choice("decision", self.decision, ("votes", "confidence"))
        super()._check_parameters()

    def _side_labels(self) -> Array:
        return self.classes_[np.column_stack(np.triu_indices(len(self.classes_), k=1))]


@dataclass(eq=False, repr=False)
class OutputCode(CodebookMetaClassifier):
    """Output codes: a binary classifier for each bit of a code word; the class of the nearest code word.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; a clone for each column learns the labels 0 and 1.
    code : "dense", "sparse", "exhaustive", or array of shape (K, M) of -1, 0 and +1, default="dense"
        10 log2 K random bits; 15 log2 K random bits with half of the entries 0; all bipartitions of the classes; or a
        code matrix, rows in the sorted order of the classes. Random codes have the largest row distance of many draws.
    decoding : "hamming" or "loss", default="hamming"
        The number of differing bits, zeros counting 1/2; or the sum of a loss of the scores (Allwein, Schapire &
        Singer 2000).
    loss : "logistic", "hinge" or "exponential", default="logistic"
        For ``decoding="loss"``; preferably that of ``estimator``.
    length : int, default=None
        Number of columns of a dense or sparse code.
    random_state : int, default=None
        For dense and sparse codes.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    codebook_ : Codebook
        One column for each bit.
    code_distance_ : float
        Smallest Hamming distance of two classes.
    class_count_ : array of shape (K,)
        Weight of each class in the training rows.
    estimators_ : list of the fitted classifiers of the bits
    sides_ : array of shape (M, 2)
        Their labels for the sides -1 and +1.
    coef_, intercept_ : arrays of shape (M, p) and (M,)
        If all classifiers are linear.

    See Also
    --------
    OneVsRest, OneVsOne : The most common codes.

    References
    ----------
    Dietterich, T. G. & Bakiri, G. (1995). Solving multiclass learning problems via error-correcting output codes. J.
    Artificial Intelligence Research 2.
    Allwein, E. L., Schapire, R. E. & Singer, Y. (2000). Reducing multiclass to binary. J. Machine Learning Research 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from discriminant import LogisticRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OutputCode(LogisticRegression(alpha=0.01), decoding="loss", random_state=0).fit(X, y)
    >>> model.codebook_.n_columns, model.code_distance_, round(model.score(X, y), 2)
    (34, 14.0, 0.95)
    """

    estimator: Any
    _: KW_ONLY
    code: Any = "dense"
    decoding: Literal["hamming", "loss"] = "hamming"
    loss: DecodingLoss = "logistic"
    length: int | None = None
    random_state: Any = None
    n_jobs: int | None = None

    _counted_by = "hamming"
    _needs_scores = ("decoding", "loss")

    def _make_codebook(self, n_classes: int) -> Codebook:
        if isinstance(self.code, str):
            if self.code == "exhaustive":
                return codebooks.exhaustive_code(n_classes)
            maker = codebooks.dense_code if self.code == "dense" else codebooks.sparse_code
            return maker(n_classes, self.random_state, self.length)
        codebook = self.code if isinstance(self.code, Codebook) else Codebook(self.code)
        if codebook.n_classes != n_classes:
            wrong = f" has {codebook.n_classes} rows; expected one for each class: {self.classes_.tolist()}."
            raise ParameterError(Setting("code"), wrong)
        return codebook

    def _decoding(self) -> tuple[Decoding, DecodingLoss]:
        return self.decoding, self.loss

    def _check_parameters(self) -> None:
        if isinstance(self.code, str) and self.code not in ("dense", "sparse", "exhaustive"):
            raise ParameterError(
                Setting("code"), f" must be 'dense', 'sparse', 'exhaustive' or a matrix, got {self.code!r}."
            )
        check_choice("decoding", self.decoding, ("hamming", "loss"))
        check_choice("loss", self.loss, codebooks.LOSSES)
        if self.length is not None and not (isinstance(self.code, str) and self.code in ("dense", "sparse")):
            raise ParameterError(Setting("length"), " applies only to dense and sparse codes. Leave it out.")
        super()._check_parameters()

    def _named(self, column: int) -> str:
        return f"column {column} of the code"
