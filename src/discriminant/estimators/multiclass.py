"""Many classes from binary classifiers: one-versus-rest, one-versus-one and output codes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, has_fit_parameter

from ..data import Rows, check_weights, encode_labels
from ..data.labels import sorted_classes
from ..data.parameters import require
from ..data.rows import array_from, as_frame
from ..engine import map_rows, side_by_side
from ..errors import DtypeError, InputError, LabelError, ParameterError, WeightError
from ..multiclass import (
    LOSSES,
    Ambiguity,
    Codebook,
    CodebookRule,
    Decoding,
    DecodingLoss,
    ambiguous,
    dense_code,
    exhaustive_code,
    one_vs_one,
    one_vs_rest,
    one_vs_rest_default,
    sparse_code,
)
from ..results import shown
from ..rules import LinearRule
from .base import RuleClassifier, all_or_nothing

Array = np.ndarray[Any, Any]
#: Log-odds of a probability that rounds to 1 would be infinite; this is the closest to 1 that does not.
_SURE = 1.0 - float(np.finfo(np.float64).epsneg)
#: Nothing but a sign, which half of it still has.
_ABOVE_0 = float(np.finfo(np.float64).tiny)
#: Kept, because checking a code takes as long as a small fit.
_SCHEMES = {"one-vs-rest": lru_cache(one_vs_rest), "one-vs-one": lru_cache(one_vs_one)}


class CodebookClassifier(MetaEstimatorMixin, RuleClassifier):
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
        columns = linear or BinaryClassifiers(self.estimators_, self.sides_[:, 1], self.n_jobs)
        rule = CodebookRule(columns, self.codebook_, *self._reading())
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


class OneVsRest(CodebookClassifier):
    """Each class against all others, by K binary classifiers; the class of the highest score.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; each column fits a clone of it on the labels 0 and 1.
    vote : bool
        The voting form: K - 1 classifiers that claim rows for their class or do not. Rows that nobody claims are of the
        last class, those that several claim go to the surest claimant.
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 all cores. Classifiers that hold Python's lock while they are fitted gain
        nothing from them. The result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    codebook_ : Codebook
        What each column learns; ``codebook_.matrix`` is (K, M).
    code_distance_ : float
        Smallest Hamming distance of two of its rows.
    estimators_ : list of the M fitted classifiers
    sides_ : array of shape (M, 2)
        The labels that each of them learned for the sides -1 and +1.
    coef_, intercept_ : arrays of shape (M, p) and (M,)
        Where all of them are linear; rows are then scored by one product.

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

    def __init__(self, estimator: Any, vote: bool = False, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.vote = vote
        self.n_jobs = n_jobs

    @available_if(lambda self: not self.vote and hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """The probabilities that the binary classifiers give their classes, divided by their sum."""
        self._ready()
        table = self._table(X, first=False).table
        of_column = in_same_config(lambda binary: np.asarray(binary.predict_proba(table), dtype=np.float64)[:, 1])
        claims = np.column_stack(side_by_side(of_column, self.estimators_, self.n_jobs))
        if len(self.classes_) == 2:
            return np.column_stack((1.0 - claims, claims))
        total = claims.sum(axis=1, keepdims=True)
        equal = np.full_like(claims, 1.0 / len(self.classes_))
        return np.divide(claims, total, out=equal, where=total > 0)

    def _make_codebook(self, n_classes: int) -> Codebook:
        return one_vs_rest_default(n_classes) if self.vote else one_vs_rest(n_classes)

    def _reading(self) -> tuple[Decoding, DecodingLoss]:
        return ("votes+confidence" if self.vote else "confidence"), "logistic"

    def _asks_for_scores(self) -> str:
        return "" if self.vote else "OneVsRest(vote=False)"

    def _check_parameters(self) -> None:
        if not isinstance(self.vote, (bool, np.bool_)):
            raise ParameterError(f"vote must be True or False, got {self.vote!r}.")
        super()._check_parameters()

    def _column_name(self, column: int) -> str:
        own = int(np.argmax(self.codebook_.matrix[:, column]))
        return f"class {shown(self.classes_[own])} against the rest"


class OneVsOne(CodebookClassifier):
    """Each pair of classes by a binary classifier of its own; the class that wins most pairings.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; each pair fits a clone of it on the rows of these two classes, with
        their own labels.
    decision : "votes" or "confidence"
        Count the pairings won and let the sum of scores decide between equals; or take the sum of scores alone.
    n_jobs : int, optional
        As in `OneVsRest`.

    Attributes
    ----------
    classes_, codebook_, code_distance_, estimators_, sides_, coef_, intercept_
        As in `OneVsRest`; the M = K (K - 1) / 2 columns are the pairs (0, 1), (0, 2), ... of the classes, with scores
        above 0 for the second of the two.

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

    def __init__(
        self, estimator: Any, decision: Literal["votes", "confidence"] = "votes", n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.decision = decision
        self.n_jobs = n_jobs

    def _make_codebook(self, n_classes: int) -> Codebook:
        return one_vs_one(n_classes)

    def _reading(self) -> tuple[Decoding, DecodingLoss]:
        return ("votes+confidence" if self.decision == "votes" else "confidence"), "logistic"

    def _asks_for_scores(self) -> str:
        return "" if self.decision == "votes" else "OneVsOne(decision='confidence')"

    def _check_parameters(self) -> None:
        if self.decision not in ("votes", "confidence"):
            raise ParameterError(f"decision must be 'votes' or 'confidence', got {self.decision!r}.")
        super()._check_parameters()

    def _side_labels(self) -> Array:
        return self.classes_[np.column_stack(np.triu_indices(len(self.classes_), k=1))]

    def _column_name(self, column: int) -> str:
        first, second = self.sides_[column]
        return f"class {shown(first)} against class {shown(second)}"


class OutputCode(CodebookClassifier):
    """Each class as a string of bits, each bit learned by a binary classifier; the class whose string is closest.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier of two classes; each column fits a clone of it on the labels 0 and 1.
    code : "dense", "sparse", "exhaustive", or array of shape (K, M) of -1, 0 and +1
        Random bits, 10 log2 K of them; random bits of which half leave the class out, 15 log2 K; every way to part the
        classes in two; or a table of your own, rows in the sorted order of the classes. Random codes are the best of
        many draws by the distance of their rows.
    decoding : "hamming" or "loss"
        Count the bits that differ, one left out as 1/2; or add up a loss of the scores (Allwein, Schapire & Singer,
        2000).
    loss : "logistic", "hinge" or "exponential"
        For ``decoding="loss"``: best the one that ``estimator`` minimises.
    length : int, optional
        Columns of a dense or sparse code.
    random_state : int, optional
        For dense and sparse codes.
    n_jobs : int, optional
        As in `OneVsRest`.

    Attributes
    ----------
    classes_, codebook_, code_distance_, estimators_, sides_, coef_, intercept_
        As in `OneVsRest`, with one column for each bit.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from discriminant import LogisticRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OutputCode(LogisticRegression(alpha=1.0), decoding="loss", random_state=0).fit(X, y)
    >>> model.codebook_.n_columns, model.code_distance_, round(model.score(X, y), 2)
    (34, 14.0, 0.95)
    """

    _counted_by = "hamming"

    def __init__(
        self,
        estimator: Any,
        code: Any = "dense",
        decoding: Literal["hamming", "loss"] = "hamming",
        loss: DecodingLoss = "logistic",
        length: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.code = code
        self.decoding = decoding
        self.loss = loss
        self.length = length
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _make_codebook(self, n_classes: int) -> Codebook:
        if isinstance(self.code, str):
            if self.code == "exhaustive":
                return exhaustive_code(n_classes)
            maker = dense_code if self.code == "dense" else sparse_code
            return maker(n_classes, self.random_state, self.length)
        codebook = self.code if isinstance(self.code, Codebook) else Codebook(self.code)
        if codebook.n_classes != n_classes:
            raise ParameterError(
                f"code has {codebook.n_classes} rows, but y has {n_classes} classes: {self.classes_.tolist()}. Give "
                "one row for each class, in this order."
            )
        return codebook

    def _reading(self) -> tuple[Decoding, DecodingLoss]:
        return self.decoding, self.loss

    def _asks_for_scores(self) -> str:
        return "" if self.decoding == "hamming" else "OutputCode(decoding='loss')"

    def _check_parameters(self) -> None:
        if isinstance(self.code, str) and self.code not in ("dense", "sparse", "exhaustive"):
            raise ParameterError(f"code must be 'dense', 'sparse', 'exhaustive' or a table, got {self.code!r}.")
        if self.decoding not in ("hamming", "loss"):
            raise ParameterError(f"decoding must be 'hamming' or 'loss', got {self.decoding!r}.")
        if self.loss not in LOSSES:
            raise ParameterError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {self.loss!r}.")
        if self.length is not None and not (isinstance(self.code, str) and self.code in ("dense", "sparse")):
            raise ParameterError("length is for dense and sparse codes; this one has a length of its own.")
        super()._check_parameters()

    def _column_name(self, column: int) -> str:
        return f"column {column} of the code"


class BinaryProblems(RuleClassifier):
    """A linear classifier of two classes that takes more of them through a codebook."""

    multiclass: Literal["one-vs-rest", "one-vs-one"]
    random_state: Any
    codebook_: Codebook
    coef_: Array
    intercept_: Array
    #: whether a score of exactly 0 is the second class's
    _zero_is_second: ClassVar[bool] = False

    def _check_parameters(self) -> None:
        self._check_option("multiclass", tuple(_SCHEMES))

    def _check_option(self, name: str, allowed: tuple[str | None, ...]) -> None:
        value = getattr(self, name)
        if not (value is None or isinstance(value, str)) or value not in allowed:
            options = " or ".join(map(repr, allowed))
            raise ParameterError(f"{name} must be {options}, got {value!r}.")

    def _seed(self) -> int:
        """A whole number drawn from ``random_state``."""
        try:
            return int(np.random.default_rng(self.random_state).integers(1 << 32))
        except (TypeError, ValueError) as error:
            raise ParameterError(
                "random_state must be None, a whole number of at least 0 or a NumPy generator, got "
                f"{self.random_state!r}."
            ) from error

    def _codebook(self) -> Codebook:
        return _SCHEMES[self.multiclass](len(self.classes_))

    def _set_binary_rule(self, centre: Array, coef: Array, constants: Array) -> None:
        """Classify by the scores of the binary problems, one row each of ``coef``."""
        linear = LinearRule(centre, coef, constants)
        self.coef_, self.intercept_ = linear.coef, linear.intercept
        if len(self.classes_) == 2:
            self.rule_ = LinearRule(centre, np.concatenate((0 * coef, coef)), np.append(0.0, constants))
        elif self.codebook_.matrix.all():  # nobody is left out: each class against the rest
            self.rule_ = linear
        else:
            rule = CodebookRule(linear, self.codebook_, "votes+confidence")
            self.rule_ = rule.turned() if self._zero_is_second else rule

    @property
    def _last_wins(self) -> bool:
        return self._zero_is_second and len(self.classes_) == 2

    def _one_or_each(self, values: list[Any]) -> Any:
        """The value of the only binary problem, or an array with one for each."""
        return values[0] if len(self.classes_) == 2 else np.array(values)

    def _named(self, column: int) -> str:
        """How a message calls a binary problem."""
        first, second = (np.flatnonzero(self.codebook_.matrix[:, column] == side) for side in (-1, 1))
        against = f"class {shown(self.classes_[first[0]])}" if len(first) == 1 else "the rest"
        return f"class {shown(self.classes_[second[0]])} against {against}"


class TableRows(Rows):
    """Rows of any table a classifier can read, handed on as they are; whether it can, the classifier says."""

    def __init__(self, X: Any) -> None:
        plain = isinstance(X, (np.ndarray, Rows)) and not isinstance(X, np.ma.MaskedArray)
        self.table = X.tocsr() if sp.issparse(X) else X if plain or as_frame(X) is not None else array_from(X)
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
        return TableRows(self.take(np.arange(0, self.n_rows, step)))

    def take(self, chosen: Array) -> Any:
        return self.table[chosen] if type(self.table) is np.ndarray else _safe_indexing(self.table, chosen)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        """Left to the classifiers: some read missing values."""


@dataclass(frozen=True)
class LabelledTable:
    """A table with a class code and a weight for each row."""

    rows: TableRows
    classes: Array
    codes: Array
    weight: Array | None

    def class_weights(self) -> Array:
        """The weight of each class, its number of rows where there are no weights."""
        return np.bincount(self.codes, weights=self.weight, minlength=len(self.classes)).astype(np.float64)


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
        of_column = in_same_config(lambda m: binary_scores(self.estimators[m], self.sides[m], block))
        return np.column_stack(side_by_side(of_column, list(range(len(self.estimators))), self.n_jobs))


def binary_scores(estimator: Any, side: Any, X: Any) -> Array:
    """The scores for the side +1: its decision function, else log-odds, else the bare decisions -1 and +1.

    A score of exactly 0 that the classifier itself takes for the side +1 becomes the smallest one above 0.
    """
    scores = _scores(estimator, side, X)
    even = np.flatnonzero(scores == 0)
    if even.size:
        claimed = np.asarray(estimator.predict(_safe_indexing(X, even))) == side
        scores[even[claimed]] = _ABOVE_0
    return scores


def _scores(estimator: Any, side: Any, X: Any) -> Array:
    if hasattr(estimator, "decision_function"):
        return np.array(estimator.decision_function(X), dtype=np.float64).ravel()
    if hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1]
        p = np.clip(p, 1.0 - _SURE, _SURE)
        return np.log(p) - np.log1p(-p)
    return np.where(np.asarray(estimator.predict(X)) == side, 1.0, -1.0)


def copies_of(estimator: Any) -> Callable[[], Any]:
    """A maker of unfitted classifiers like this one.

    Where no parameter can change, copies of one clone are as good as clones, which take as long as a small fit.
    """
    first = clone(estimator)
    plain = getattr(type(first), "__sklearn_clone__", None) is BaseEstimator.__sklearn_clone__ and all(
        value is None or isinstance(value, (bool, int, float, str)) for value in first.get_params(deep=False).values()
    )
    return partial(copy if plain else clone, first)


def forget_rows(estimator: Any) -> None:
    """Let a model of this package go of its training rows, which here are a copy that nobody else holds."""
    if isinstance(estimator, RuleClassifier):
        for name in set(estimator._own_state) & set(vars(estimator)):
            delattr(estimator, name)


def zero_is_second(estimator: Any) -> bool:
    """Whether a classifier with linear scores gives one of exactly 0 to its second class, as the perceptron does."""
    return bool(getattr(type(estimator), "_zero_is_second", False))


def gives_scores(estimator: Any) -> bool:
    return hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")


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


def in_same_config(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function under the caller's scikit-learn settings, which belong to one thread, on whatever thread it runs."""
    settings = get_config()

    def run(task: Any) -> Any:
        with config_context(**settings):
            return function(task)

    return run
