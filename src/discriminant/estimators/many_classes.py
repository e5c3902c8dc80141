"""Many classes from any binary classifier: one-versus-rest, one-versus-one and output codes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..engine import side_by_side
from ..errors import ParameterError
from ..multiclass import (
    LOSSES,
    Codebook,
    Decoding,
    DecodingLoss,
    dense_code,
    exhaustive_code,
    one_vs_one,
    one_vs_rest,
    one_vs_rest_default,
    sparse_code,
)
from ..results import shown
from .binary_columns import in_same_config
from .coded import CodedClassifier

Array = np.ndarray[Any, Any]


class OneVsRest(CodedClassifier):
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


class OneVsOne(CodedClassifier):
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


class OutputCode(CodedClassifier):
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
