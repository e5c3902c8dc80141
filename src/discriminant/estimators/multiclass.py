"""Many classes from binary problems: one-versus-rest, one-versus-one and output codes.

Each column of a codebook is a binary problem, whose scores the codebook reads as scores of the classes (Dietterich &
Bakiri 1995; Allwein, Schapire & Singer 2000). Two kinds of classifier are made of binary problems: meta-estimators over
any classifier, which fit a copy of it for each column, and the support vector machine and the perceptron, which solve
all problems over the same rows. A meta-estimator of one of the latter lets it solve all problems too, so
``OneVsOne(SupportVectorClassifier())`` is ``SupportVectorClassifier(multiclass="one-vs-one")`` with the machines apart.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_method_params, _num_samples

from .. import multiclass as codebooks
from ..arrays import Array
from ..data import LabelledRows, Rows, array_from, as_frame, as_rows, check_choice, csr_of_floats, drawn, require
from ..engine import map_rows, side_by_side
from ..errors import DtypeError, InputError, ParameterError, Setting
from ..multiclass import Ambiguity, Codebook, CodebookRule, Decoding, DecodingLoss
from ..results import shown
from ..rules import LinearRule
from .base import MetaClassifierMixin, RuleClassifier, all_or_nothing, by_partition, computable, refuse_weightless

#: Log-odds of a probability that rounds to 1 would be infinite; this is the closest to 1 that does not.
_SURE = 1.0 - float(np.finfo(np.float64).epsneg)
#: Nothing but a sign, which half of it still has.
_ABOVE_0 = float(np.finfo(np.float64).tiny)
_SCHEMES: dict[str, tuple[Callable[[int], Codebook], Decoding]] = {
    "one-vs-rest": (codebooks.one_vs_rest, "confidence"),
    "one-vs-one": (codebooks.one_vs_one, "votes+confidence"),
}


class CodebookClassifier(RuleClassifier):
    """A classifier of many classes by binary problems, one for each column of a codebook."""

    codebook_: Codebook
    coef_: Array
    intercept_: Array
    #: whether a binary problem's score of exactly 0 is its second class's
    _zero_is_second: Any = False
    #: by what candidates are counted before ties are broken
    _counted_by: ClassVar[Literal["votes", "hamming"]] = "votes"

    _make_codebook: Callable[[int], Codebook]  #: the code of this scheme for so many classes
    _decoding: Callable[[], tuple[Decoding, DecodingLoss]]  #: how the columns' scores are read

    @property
    def code_distance_(self) -> float:
        """The row distance of the code: the smallest Hamming distance of two classes, zeros counted 1/2."""
        return self.codebook_.row_distance

    def ambiguous(self, X: Any) -> Ambiguity:
        """Which rows no class or several classes claim, before ties are broken.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            The rows to look at.

        Returns
        -------
        Ambiguity
            ``none`` and ``several`` (n_rows,) say which rows are ambiguous, ``candidates`` (n_rows, n_classes) between
            which classes, in the order of ``classes_``.
        """
        rows = self._rows(X)
        read = self._column_rule()
        candidates = np.empty((rows.n_rows, len(self.classes_)), dtype=bool)

        def write(block: Any, where: slice) -> None:
            scores = read.columns.scores(block)
            candidates[where] = codebooks.ambiguous(scores, read.codebook, self._counted_by).candidates

        try:
            map_rows(rows, write, self.n_jobs)
        except InputError:
            rows.refuse_nonfinite()
            raise
        return Ambiguity(candidates)

    def _set_rule(self, columns: LinearRule | BinaryClassifiers) -> None:
        """Classify by the scores of the binary problems."""
        if isinstance(columns, LinearRule):
            self.coef_, self.intercept_ = columns.coef, columns.intercept
        rule = CodebookRule(columns, self.codebook_, *self._decoding()).simplified()
        self.rule_ = self._turned(rule) if isinstance(rule, CodebookRule) else rule

    def _turned(self, rule: CodebookRule) -> CodebookRule:
        return rule.turned() if self._zero_is_second and isinstance(rule.columns, LinearRule) else rule

    def _column_rule(self) -> CodebookRule:
        """The scores of the binary problems, before they are summed up."""
        rule = self.rule_
        if isinstance(rule, CodebookRule):
            return rule
        if len(self.classes_) == 2:
            rule = LinearRule(rule.centre, np.diff(rule.coef, axis=0), np.diff(rule.constants))
        return self._turned(CodebookRule(rule, self.codebook_, *self._decoding()))

    @property
    def _last_wins(self) -> bool:
        return bool(self._zero_is_second) and len(self.classes_) == 2 and bool(self.codebook_.matrix[1, 0] > 0)

    def _named(self, column: int) -> str:
        """How a message calls a binary problem."""
        first, second = (self.classes_[self.codebook_.matrix[:, column] == side] for side in (-1, 1))
        against = f"class {shown(first[0])}" if len(first) == 1 else "the rest"
        return f"class {shown(second[0])} against {against}"


class BinaryLearner(CodebookClassifier):
    """A linear classifier of two classes that solves all binary problems of more classes over the same rows."""

    multiclass: Literal["one-vs-rest", "one-vs-one"]
    random_state: Any
    _own_state = ("_training",)
    _training: LabelledRows
    _solves_apart: Any = True  #: not, where a model of a binary problem needs more than its solution

    _solutions: Callable[[LabelledRows], list[Any]]  #: the solutions of all binary problems of ``codebook_``
    _columns_of: Callable[[list[Any]], LinearRule]  #: the scores of solved problems
    _keep: Callable[[list[Any], Array], None]  #: sets the fitted attributes but those of the rule, of rows so coded
    _warn_unsolved: Callable[[list[Any]], None]  #: warns of binary problems that were not solved

    def _learn(self, data: LabelledRows) -> None:
        self._training = data
        self.codebook_ = self._make_codebook(len(self.classes_))
        solutions = self._solutions(data)
        self._adopt(solutions, data.codes)
        self._warn_unsolved(solutions)

    def _adopt(self, solutions: list[Any], codes: Array) -> None:
        self._set_rule(self._columns_of(solutions))
        self._keep(solutions, codes)

    def _solved_apart(self, data: LabelledRows, scheme: CodebookMetaClassifier) -> tuple[list[Any], LinearRule]:
        """The binary problems of a scheme: a model of each, as if fitted to its rows, and the scores of all."""
        self._check_parameters()
        self.classes_, self.codebook_, self.n_jobs = scheme.classes_, scheme.codebook_, scheme.n_jobs
        with computable(data):
            solutions = self._solutions(data)
        self._warn_unsolved(solutions)
        unfitted = copies_of(scheme.estimator)
        columns = {name: vars(scheme)[name] for name in ("n_features_in_", "feature_names_in_") if name in vars(scheme)}
        models = []
        for column, solution in enumerate(solutions):
            rows, side = self.codebook_.targets(data.codes, column)
            model, codes = unfitted(), (side > 0).astype(data.codes.dtype)
            vars(model).update(columns, classes_=scheme.sides_[column])
            model.codebook_ = model._make_codebook(2)
            model._adopt([solution], codes)
            if rows is None:
                model._training = replace(data, classes=scheme.sides_[column], codes=codes)
            models.append(model)
        return models, self._columns_of(solutions)

    def _make_codebook(self, n_classes: int) -> Codebook:
        return _SCHEMES[self.multiclass][0](n_classes)

    def _decoding(self) -> tuple[Decoding, DecodingLoss]:
        return _SCHEMES[self.multiclass][1], "logistic"

    def _check_parameters(self) -> None:
        check_choice("multiclass", self.multiclass, tuple(_SCHEMES))

    def _seed(self) -> int:
        """A whole number drawn from ``random_state``."""
        try:
            return int(np.random.default_rng(self.random_state).integers(1 << 32))
        except (TypeError, ValueError) as error:
            wanted = " must be None, a whole number of at least 0 or a NumPy generator, got "
            raise ParameterError(Setting("random_state"), f"{wanted}{self.random_state!r}.") from error

    def _one_or_each(self, values: list[Any]) -> Any:
        """The value of the only binary problem, or an array with one for each."""
        return values[0] if len(self.classes_) == 2 else np.array(values)


class CodebookMetaClassifier(MetaClassifierMixin, CodebookClassifier):
    """A classifier of many classes made of copies of a binary one, one for each column of a codebook."""

    estimators_: list[Any]
    sides_: Array
    class_count_: Array
    not_ready_: str
    _compares_scores: ClassVar[tuple[str, Any]]  #: the parameter, and its value, that decisions are not enough for

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit one binary classifier for each column of the code.

        Parameters
        ----------
        X : whatever ``estimator`` reads, of shape (n_rows, n_columns)
            It is handed on as it is; only columns that leave classes out copy the rows they need.
        y : array-like of shape (n_rows,)
            Class labels: strings, integers or booleans.
        sample_weight : array-like of shape (n_rows,), default=None
            Handed on to ``estimator``, which must take it.
        **params : dict
            Other metadata, handed on as ``estimator`` requests it, where scikit-learn's metadata routing is enabled.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._forget()
            training, routed = self._begun("fit", X, y, None, sample_weight, params)
            refuse_weightless(self.class_count_, self.classes_)  # binary classifiers would name a side instead
            if isinstance(self.estimator, BinaryLearner) and self.estimator._solves_apart and not routed:
                data = replace(training, rows=as_rows(training.rows.table))  # type: ignore[attr-defined]
                self.estimators_, columns = clone(self.estimator)._solved_apart(data, self)
                self._set_rule(columns)
            else:
                unfitted = copies_of(self.estimator)
                self._learn_columns("fit", training, routed, lambda _: unfitted())
                self._set_rule(self._scored_columns())
        return self

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Go on learning from more rows, with the ``partial_fit`` of every binary classifier.

        Parameters
        ----------
        X : whatever ``estimator`` reads, of shape (n_rows, n_columns)
            The next rows.
        y : array-like of shape (n_rows,)
            The labels of these rows.
        classes : array-like, default=None
            Every class there will be, in the first call; without it, those of the first ``y``.
        sample_weight : array-like of shape (n_rows,), default=None
            Like ``params`` handed on.
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
            else:  # classes that have not come yet could neither win nor lose
                label = shown(self.classes_[int(np.argmin(self.class_count_))])
                self.not_ready_ = f"no rows of class {label} have come yet."
        return self

    def _begun(
        self, method: str, X: Any, y: Any, classes: Any, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[LabelledRows, dict[str, Any]]:
        """The rows to learn from, and what is handed on with them; the first time also the code."""
        self._check_parameters()
        first = not hasattr(self, "estimators_")
        routed = self._routed(method, sample_weight, params)
        training = self._labelled(X, y, routed.pop("sample_weight", None), classes, first)
        if first:
            self.codebook_ = self._make_codebook(len(self.classes_))
            self.sides_ = self._side_labels()
        self.class_count_ = (0 if first else self.class_count_) + training.class_weights
        return training, routed

    def _learn_columns(
        self, method: str, training: LabelledRows, params: dict[str, Any], before: Callable[[int], Any]
    ) -> None:
        """Have every column's classifier, as it was ``before``, learn the rows of its two sides, if there are any."""
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
                error.add_note(f"This happened in {type(self).__name__}, learning {self._named(column)}.")
                raise
            if method == "fit" and rows is not None and isinstance(binary, RuleClassifier):
                for name in set(binary._own_state) & set(vars(binary)):  # a copy of rows that nobody else holds
                    delattr(binary, name)
            return binary

        self.estimators_ = on_threads(learned, list(range(self.codebook_.n_columns)), self.n_jobs)

    def _check_parameters(self) -> None:
        binary = self.estimator
        name = binary.__name__ if isinstance(binary, type) else type(binary).__name__
        if isinstance(binary, type) or not (hasattr(binary, "fit") and hasattr(binary, "predict")):
            raise ParameterError(f"estimator must be a classifier object with fit and predict, got {binary!r}.")
        if is_regressor(binary):
            raise ParameterError(f"estimator must be a classifier, and {name} is for regression.")
        if get_tags(binary).input_tags.pairwise:
            raise ParameterError(f"estimator {name} wants a matrix of pairs of rows as X; give it the rows themselves.")
        parameter, value = self._compares_scores
        if getattr(self, parameter) == value and not (
            hasattr(binary, "decision_function") or hasattr(binary, "predict_proba")
        ):
            raise ParameterError(
                f"{type(self).__name__}({parameter}={value!r}) compares scores, and {name} has neither "
                "decision_function nor predict_proba. Use a scheme that counts votes: OneVsRest(vote=True), "
                "OneVsOne(decision='votes') or OutputCode(decoding='hamming')."
            )

    def _scored_columns(self) -> LinearRule | BinaryClassifiers:
        return linear_columns(self.estimators_) or BinaryClassifiers(self.estimators_, self.sides_[:, 1], self.n_jobs)

    def _rows(self, X: Any) -> Rows:
        self._ready()
        linear = isinstance(getattr(self.rule_, "columns", self.rule_), LinearRule)
        X = self._as_fitted(X)
        return super()._readable(X, first=False) if linear else self._readable(X, first=False)

    def _readable(self, X: Any, first: bool) -> TableRows:
        """``X`` as the binary classifiers get it; the first time its columns are noted, later they are compared."""
        table = TableRows(X)
        if not first and hasattr(self, "n_features_in_") and len(table.table.shape) == 1:
            raise InputError(
                "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(1, -1) if it is one row."
            )
        self._check_columns(X, reset=first)
        return table


@dataclass(eq=False, repr=False)
class OneVsRest(CodebookMetaClassifier):
    """Each class against all others, by K binary classifiers; the class of the highest score.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; each column fits a clone of it on the labels 0 and 1.
    vote : bool, default=False
        The voting form: K - 1 classifiers that claim rows for their class or do not. Rows that nobody claims are of the
        last class, those that several claim go to the surest claimant.
    n_jobs : int, default=None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    codebook_ : Codebook
        What each column learns; ``codebook_.matrix`` is (K, M).
    code_distance_ : float
        Smallest Hamming distance of two of its rows.
    class_count_ : array of shape (K,)
        Weight of each class in the training rows.
    estimators_ : list of the M fitted classifiers
    sides_ : array of shape (M, 2)
        The labels that each of them learned for the sides -1 and +1.
    coef_, intercept_ : arrays of shape (M, p) and (M,)
        Where all of them are linear; rows are then scored by one product.

    See Also
    --------
    OneVsOne : Each pair of classes instead.
    OutputCode : Codes with columns to spare, which correct errors.

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

    _compares_scores = ("vote", False)

    @available_if(lambda self: not self.vote and hasattr(self.estimator, "predict_proba"))
    @by_partition("probability")
    def predict_proba(self, X: Any) -> Array:
        """The probabilities that the binary classifiers give their classes, divided by their sum.

        Parameters
        ----------
        X : array-like, frame or CSR matrix
            Rows that ``estimator`` can read.

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
    """Each pair of classes by a binary classifier of its own; the class that wins most pairings.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; each pair fits a clone of it on the rows of these two classes, with
        their own labels.
    decision : "votes" or "confidence", default="votes"
        Count the pairings won and let the sum of scores decide between equals; or take the sum of scores alone.
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
        Where all of them are linear; rows are then scored by one product.

    See Also
    --------
    OneVsRest : Fewer classifiers, on more rows each.
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

    _compares_scores = ("decision", "confidence")

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
    """Each class as a string of bits, each bit learned by a binary classifier; the class whose string is closest.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; each column fits a clone of it on the labels 0 and 1.
    code : "dense", "sparse", "exhaustive", or array of shape (K, M) of -1, 0 and +1, default="dense"
        Random bits, 10 log2 K of them; random bits of which half leave the class out, 15 log2 K; every way to part the
        classes in two; or a table of your own, rows in the sorted order of the classes. Random codes are the best of
        many draws by the distance of their rows.
    decoding : "hamming" or "loss", default="hamming"
        Count the bits that differ, one left out as 1/2; or add up a loss of the scores (Allwein, Schapire & Singer,
        2000).
    loss : "logistic", "hinge" or "exponential", default="logistic"
        For ``decoding="loss"``: best the one that ``estimator`` minimises.
    length : int, default=None
        Columns of a dense or sparse code.
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
        The labels that they learned for the sides -1 and +1 of their column.
    coef_, intercept_ : arrays of shape (M, p) and (M,)
        Coefficients of linear classifiers.

    See Also
    --------
    OneVsRest, OneVsOne : The codes used most.

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
    _compares_scores = ("decoding", "loss")

    def _make_codebook(self, n_classes: int) -> Codebook:
        if isinstance(self.code, str):
            if self.code == "exhaustive":
                return codebooks.exhaustive_code(n_classes)
            maker = codebooks.dense_code if self.code == "dense" else codebooks.sparse_code
            return maker(n_classes, self.random_state, self.length)
        codebook = self.code if isinstance(self.code, Codebook) else Codebook(self.code)
        if codebook.n_classes != n_classes:
            raise ParameterError(
                f"code has {codebook.n_classes} rows, but y has {n_classes} classes: {self.classes_.tolist()}. Give "
                "one row for each class, in this order."
            )
        return codebook

    def _decoding(self) -> tuple[Decoding, DecodingLoss]:
        return self.decoding, self.loss

    def _check_parameters(self) -> None:
        if isinstance(self.code, str) and self.code not in ("dense", "sparse", "exhaustive"):
            raise ParameterError(f"code must be 'dense', 'sparse', 'exhaustive' or a table, got {self.code!r}.")
        check_choice("decoding", self.decoding, ("hamming", "loss"))
        check_choice("loss", self.loss, codebooks.LOSSES)
        if self.length is not None and not (isinstance(self.code, str) and self.code in ("dense", "sparse")):
            raise ParameterError("length is for dense and sparse codes; this one has a length of its own.")
        super()._check_parameters()

    def _named(self, column: int) -> str:
        return f"column {column} of the code"


class TableRows(Rows):
    """Rows of any table a classifier can read, handed on as they are; whether it can, the classifier says."""

    def __init__(self, X: Any) -> None:
        plain = isinstance(X, (np.ndarray, Rows)) and not isinstance(X, np.ma.MaskedArray)
        self.table = csr_of_floats(X) if sp.issparse(X) else X if plain or as_frame(X) is not None else array_from(X)
        try:
            self.n_rows = _num_samples(self.table)
        except TypeError as error:
            raise DtypeError(f"X must be a table with a row for each case. {error}") from error
        self.n_columns = self.table.shape[1] if len(self.table.shape) > 1 else 1
        if np.iscomplexobj(self.table):
            raise InputError("Complex data not supported: X has complex values. Use their real and imaginary parts.")
        if self.n_rows == 0:
            raise InputError(f"Found array with 0 sample(s) (shape={self.table.shape}): X is empty.")

    @property
    def spans(self) -> list[range]:
        """One: the classifiers work side by side, not the rows."""
        return [range(0, self.n_rows, self.block_rows)]

    def block(self, start: int, stop: int) -> Any:
        return self.table if stop - start == self.n_rows else _safe_indexing(self.table, slice(start, stop))

    def every(self, step: int) -> TableRows:
        return TableRows(self.take(drawn(self.n_rows, step)))

    def take(self, chosen: Array) -> Any:
        return self.table[chosen] if type(self.table) is np.ndarray else _safe_indexing(self.table, chosen)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        """Left to the classifiers: some read missing values."""


@dataclass(frozen=True)
class BinaryClassifiers:
    """Fitted binary classifiers as columns of scores; ``sides`` are their labels of the side +1."""

    estimators: list[Any]
    sides: Array
    n_jobs: int | None

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classifiers, and of columns of their rows."""
        return len(self.estimators), self.estimators[0].n_features_in_

    def _check_parts(self) -> None:
        own = self.estimators
        require(isinstance(own, list) and own and all(hasattr(one, "rule_") for one in own), self, "classifiers")
        require(len({one.n_features_in_ for one in own}) == 1, self, "numbers of columns")
        require(isinstance(self.sides, np.ndarray) and len(self.sides) == len(own), self, "sides")

    def scores(self, block: Any) -> Array:
        tasks = list(zip(self.estimators, self.sides, strict=True))
        return np.column_stack(on_threads(lambda task: binary_scores(task[0], task[1], block), tasks, self.n_jobs))


def binary_scores(estimator: Any, side: Any, X: Any) -> Array:
    """The scores for the side +1: its decision function, else log-odds, else the bare decisions -1 and +1.

    A score of exactly 0 that the classifier itself takes for the side +1 becomes the smallest one above 0.
    """
    if hasattr(estimator, "decision_function"):
        scores = np.array(estimator.decision_function(X), dtype=np.float64).ravel()
    elif hasattr(estimator, "predict_proba"):
        p = np.clip(np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1], 1.0 - _SURE, _SURE)
        scores = np.log(p) - np.log1p(-p)
    else:
        return np.where(np.asarray(estimator.predict(X)) == side, 1.0, -1.0)
    even = np.flatnonzero(scores == 0)
    if even.size:
        claimed = np.asarray(estimator.predict(_safe_indexing(X, even))) == side
        scores[even[claimed]] = _ABOVE_0
    return scores


def copies_of(estimator: Any) -> Callable[[], Any]:
    """A maker of unfitted classifiers like this one.

    Where no parameter can change, copies of one clone are as good as clones, which take as long as a small fit.
    """
    first = clone(estimator)
    plain = getattr(type(first), "__sklearn_clone__", None) is BaseEstimator.__sklearn_clone__ and all(
        value is None or isinstance(value, (bool, int, float, str)) for value in first.get_params(deep=False).values()
    )
    return partial(copy if plain else clone, first)


def linear_columns(estimators: list[Any]) -> LinearRule | None:
    """The scores of all columns as one linear rule, if every classifier is linear and known to score by it."""
    parts = [_linear(estimator) for estimator in estimators]
    if any(part is None for part in parts):
        return None
    centres, coef, constants = (np.stack(values) for values in zip(*parts, strict=True))
    centre = centres.mean(axis=0)
    constants = constants + np.einsum("mj,mj->m", coef, centre - centres)
    return LinearRule(centre, coef, constants) if np.isfinite(constants).all() else None


def _linear(estimator: Any) -> tuple[Array, Array, float] | None:
    """Centre, coefficients and constant of a linear classifier of two classes."""
    scoring = getattr(type(estimator), "decision_function", None)
    rule = getattr(estimator, "rule_", None)
    if scoring is RuleClassifier.decision_function and isinstance(rule, LinearRule):
        return rule.centre, rule.coef[1] - rule.coef[0], rule.constants[1] - rule.constants[0]
    coef = getattr(estimator, "coef_", None)
    if not isinstance(coef, np.ndarray) or len(coef) != 1:
        return None
    from sklearn.linear_model._base import LinearClassifierMixin  # slow to load

    if scoring is LinearClassifierMixin.decision_function:
        return np.zeros(coef.shape[1]), coef[0].astype(np.float64), float(np.ravel(estimator.intercept_)[0])
    return None


def on_threads(function: Callable[[Any], Any], tasks: list[Any], n_jobs: int | None) -> list[Any]:
    """As `side_by_side`, under the caller's scikit-learn settings, which belong to one thread."""
    settings = get_config()

    def run(task: Any) -> Any:
        with config_context(**settings):
            return function(task)

    return side_by_side(run, tasks, n_jobs)
