"""A codebook: what each binary problem learns, and how the problems' scores are read as scores of classes.

A score above 0 speaks for the side +1, any other for the side -1, as in the predictions of most classifiers; for those
that read a score of exactly 0 the other way round, `CodedRule.turned` exchanges the sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from ..engine.blas import one_blas_thread
from ..errors import InputError, ParameterError
from ..losses import Hinge, Logistic

Array = np.ndarray[Any, Any]

Decoding = Literal["confidence", "votes", "votes+confidence", "hamming", "loss"]
DecodingLoss = Literal["hinge", "logistic", "exponential"]
DECODINGS: tuple[Decoding, ...] = get_args(Decoding)
LOSSES: tuple[DecodingLoss, ...] = get_args(DecodingLoss)

#: The scores of this many numbers' worth of rows stay in a core's cache while they are decoded.
_DECODED_NUMBERS = 1 << 17
#: The exponential of more than this is a score out of all proportion, and no longer a number a little further on.
_LARGEST_EXPONENT = 500.0


@dataclass(frozen=True, eq=False)
class Codebook:
    """The sides, -1 or +1, that each class (row) takes in each binary problem (column); 0 leaves it out.

    Refused are tables that cannot work: equal rows (nothing tells these classes apart), a row of zeros (a class that
    nobody learns), a column without both sides, and columns that are equal or opposite (they train the same classifier,
    which would only count twice). Opposite *rows* are welcome: they are as far from each other as rows can be, and the
    only way to code two classes.

    >>> code = Codebook([[-1, -1, 0], [1, 0, -1], [0, 1, 1]])
    >>> code.n_classes, code.n_columns, code.row_distance
    (3, 3, 2.0)
    >>> rows, side = code.targets(np.array([0, 1, 2, 1]), column=2)
    >>> rows, side
    (array([1, 2, 3]), array([-1.,  1., -1.]))
    """

    matrix: Array

    def __post_init__(self) -> None:
        matrix = _sides(self.matrix)
        _refuse_rows(matrix)
        _refuse_columns(matrix)
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @property
    def n_classes(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def distances(self) -> Array:
        """The Hamming distance of each pair of rows (K, K); a column that leaves either class out counts 1/2."""
        return row_distances(self.matrix)

    @property
    def closest_classes(self) -> tuple[int, int]:
        """The two classes whose rows are closest."""
        first, second = np.triu_indices(self.n_classes, k=1)
        place = int(np.argmin(self.distances[first, second]))
        return int(first[place]), int(second[place])

    @property
    def row_distance(self) -> float:
        """The distance of the two closest rows: without zeros, fewer wrong columns than half of it never mislead."""
        return float(self.distances[self.closest_classes])

    def encode(self, codes: Array) -> Array:
        """The sides of each row in each column (n, M), from its class code."""
        return self.matrix[codes]

    def targets(self, codes: Array, column: int) -> tuple[Array | None, Array]:
        """The rows that take part in a column (None: all of them), and their sides -1.0 or +1.0."""
        side = self.matrix[:, column].take(codes)
        if self.matrix[:, column].all():
            return None, side.astype(np.float64)
        rows = np.flatnonzero(side != 0)
        return rows, side[rows].astype(np.float64)

    def decode(self, scores: Array, decoding: Decoding, loss: DecodingLoss = "logistic") -> Array:
        """The score of each class (n, K), larger is better, from the columns' scores (n, M).

        ==================  ==========================================================================================
        decoding            score of class k
        ==================  ==========================================================================================
        confidence          sum of the scores of its own columns, those where it stands alone on its side
        votes               number of its own columns that decide for it; the default class, if any, has 1/2
        votes+confidence    votes, and between -1/3 and 1/3 for the confidence: it decides where votes are equal
        hamming             minus the number of columns that decide against it; where it is left out, 1/2
        loss                minus the sum of losses ``L(side * score)`` over all columns; where it is left out, ``L(0)``
        ==================  ==========================================================================================

        Two classes share one column; whatever the decoding, their scores are minus and plus half of the column's. A row
        with a score that is not finite gets NaN for every class.
        """
        if scores.shape[1] != self.n_columns:
            raise InputError(f"The codebook has {self.n_columns} columns, got scores of {scores.shape[1]}.")
        read = self._reading(decoding, loss)
        out = np.empty((len(scores), self.n_classes))
        with one_blas_thread(), np.errstate(invalid="ignore", over="ignore"):
            for part in parts_in_cache(len(scores), self.n_columns):
                out[part] = read(scores[part])
                out[part][~np.isfinite(scores[part].sum(axis=1))] = np.nan
        return out

    @cached_property
    def own(self) -> Array:
        """The sides in columns where a class stands alone on its side, else 0 (K, M).

        In one-versus-rest this is each class's column, in one-versus-one all of its pairings. One class may own none:
        it is the default, for rows that no other class claims.
        """
        sides = self.matrix.astype(np.float64)
        alone = np.where(sides > 0, (sides > 0).sum(axis=0), (sides < 0).sum(axis=0)) == 1
        own = np.where(alone, sides, 0.0)
        none = np.flatnonzero(~own.any(axis=1))
        if none.size > 1:
            raise ParameterError(
                f"Votes and confidences need columns in which a class stands alone on its side; rows {none[0]} and "
                f"{none[1]} of this code have none. Use decoding 'hamming' or 'loss'."
            )
        return own

    def _reading(self, decoding: Decoding, loss: DecodingLoss) -> Callable[[Array], Array]:
        if decoding not in DECODINGS:
            raise ParameterError(f"decoding must be one of {', '.join(map(repr, DECODINGS))}, got {decoding!r}.")
        if loss not in LOSSES:
            raise ParameterError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {loss!r}.")
        if self.n_classes == 2:
            return lambda scores: 0.5 * scores * self.matrix[:, 0]
        if decoding == "loss":
            return lambda scores: -self._losses(scores, loss)
        return {
            "confidence": self._confidence,
            "votes": self._votes,
            "votes+confidence": self._votes_and_confidence,
            "hamming": self._agreement,
        }[decoding]

    def _confidence(self, scores: Array) -> Array:
        return scores @ self.own.T

    def _votes(self, scores: Array) -> Array:
        columns = np.abs(self.own).sum(axis=1)
        return 0.5 * (_signs(scores) @ self.own.T + columns + (columns == 0))

    def _votes_and_confidence(self, scores: Array) -> Array:
        confidence = self._confidence(scores)
        return self._votes(scores) + confidence / (3.0 * (np.abs(confidence) + 1.0))

    def _agreement(self, scores: Array) -> Array:
        return 0.5 * (_signs(scores) @ self.matrix.T.astype(np.float64) - self.n_columns)

    def _losses(self, scores: Array, loss: DecodingLoss) -> Array:
        """Allwein, Schapire & Singer (2000): the loss of the row's scores, were it of class k."""
        value = _LOSS_VALUES[loss]
        total = value(scores) @ (self.matrix.T > 0).astype(np.float64)
        total += value(-scores) @ (self.matrix.T < 0).astype(np.float64)
        return total + value(np.zeros(1)) * (self.matrix == 0).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Ambiguity:
    """Which classes each row could be given before ties are broken.

    One candidate is a decision; none and several are ambiguous.
    """

    candidates: Array  #: (n, K) of bool

    @property
    def counts(self) -> Array:
        """The number of candidates of each row."""
        return np.count_nonzero(self.candidates, axis=1)

    @property
    def none(self) -> Array:
        """Rows that no class claims."""
        return self.counts == 0

    @property
    def several(self) -> Array:
        """Rows with more than one candidate."""
        return self.counts > 1


def ambiguous(scores: Array, codebook: Codebook, by: Literal["votes", "hamming"] = "votes") -> Ambiguity:
    """The candidates of each row, from the columns' scores (n, M), before ties are broken.

    By votes, candidates are the classes with the most votes, if there are any votes: under one-versus-rest the classes
    that claim the row (none, one or several), or the default class where there is one and no other claims it; under
    one-versus-one the winners of the tournament. By Hamming distance, they are the classes whose code is closest.

    >>> from discriminant.multiclass import one_vs_rest
    >>> triangle = ambiguous(np.array([[-1.0, -2.0, -1.0], [1.0, 3.0, -1.0]]), one_vs_rest(3))
    >>> triangle.none, triangle.several
    (array([ True, False]), array([False,  True]))
    """
    if by not in ("votes", "hamming"):
        raise ParameterError(f"by must be 'votes' or 'hamming', got {by!r}.")
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise InputError(f"Scores must be finite numbers to be counted: row {row} has {scores[row].tolist()}.")
    counted = codebook._votes(scores) if by == "votes" else codebook._agreement(scores)
    candidates = counted == counted.max(axis=1, keepdims=True)
    return Ambiguity(candidates & (counted > 0) if by == "votes" else candidates)


def same_lead(matrix: Array) -> Array:
    """The columns with their first class that takes part on the side -1; opposite columns become equal."""
    lead = np.take_along_axis(matrix, np.argmax(matrix != 0, axis=0)[None], axis=0)
    return np.where(lead > 0, -matrix, matrix)


def row_distances(matrix: Array) -> Array:
    """The Hamming distance of each pair of rows; a column that leaves either class out counts 1/2."""
    sides = matrix.astype(np.float64)
    return 0.5 * (matrix.shape[1] - sides @ sides.T)


def _sides(matrix: Any) -> Array:
    """The table as int8, copied."""
    try:
        values = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"A code is a table of -1, 0 and +1, got {matrix!r}.") from error
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 1:
        raise ParameterError(
            "A code is a table with a row for each of at least two classes and a column for each binary problem, got "
            f"shape {values.shape}."
        )
    wrong = ~np.isin(values, (-1.0, 0.0, 1.0))
    if wrong.any():
        k, m = np.argwhere(wrong)[0]
        raise ParameterError(f"A code has the values -1, 0 and +1 only: row {k}, column {m} is {values[k, m]:g}.")
    return values.astype(np.int8)


def _refuse_rows(matrix: Array) -> None:
    equal = equal_rows(matrix)
    if equal is not None:
        raise ParameterError(
            f"Rows {equal[0]} and {equal[1]} of the code are equal: nothing tells these classes apart."
        )
    if not matrix.any(axis=1).all():
        k = int(np.argmin(matrix.any(axis=1)))
        raise ParameterError(f"Row {k} of the code is all 0: no column learns this class.")


def _refuse_columns(matrix: Array) -> None:
    both = (matrix > 0).any(axis=0) & (matrix < 0).any(axis=0)
    if not both.all():
        raise ParameterError(
            f"Column {int(np.argmin(both))} of the code does not have both -1 and +1: there is nothing to learn in it. "
            "0 leaves a class out; write codes of 0 and 1 as 2 * code - 1."
        )
    equal = equal_rows(same_lead(matrix).T)
    if equal is not None:
        a, b = equal
        how = "equal" if np.array_equal(matrix[:, a], matrix[:, b]) else "complementary (one is minus the other)"
        raise ParameterError(f"Columns {a} and {b} of the code are {how}: they train the same classifier. Drop one.")


def equal_rows(matrix: Array) -> tuple[int, int] | None:
    """The first two equal rows, if there are any."""
    seen: dict[bytes, int] = {}
    for k, row in enumerate(np.ascontiguousarray(matrix)):
        before = seen.setdefault(row.tobytes(), k)
        if before != k:
            return before, k
    return None


def parts_in_cache(n_rows: int, width: int) -> Iterator[slice]:
    """Consecutive parts of the rows, small enough for scores of this width to stay in a core's cache."""
    step = max(_DECODED_NUMBERS // width, 64)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _signs(scores: Array) -> Array:
    return np.where(scores > 0, 1.0, -1.0)


def _exponential(margins: Array) -> Array:
    return np.exp(np.minimum(-margins, _LARGEST_EXPONENT))


_LOSS_VALUES: dict[DecodingLoss, Callable[[Array], Array]] = {
    "hinge": lambda margins: Hinge().value_and_slope(margins)[0],
    "logistic": lambda margins: Logistic().value_and_slope(margins.ravel())[0].reshape(margins.shape),
    "exponential": _exponential,
}
