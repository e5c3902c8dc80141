"""Multiclass classification by binary classifiers: one-versus-rest, one-versus-one and output codes.

All are described by a codebook, a matrix with a row for each class and a column for each binary problem. +1 and -1 are
the sides of a class in that problem; 0 excludes its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, RandomState, RowBlock
from .data import check_choice, check_integer, require
from .engine import one_blas_thread
from .errors import InputError, ParameterError
from .losses import Hinge, Logistic
from .rules import LinearRule

Decoding = Literal["confidence", "votes", "votes+confidence", "hamming", "loss"]
DecodingLoss = Literal["hinge", "logistic", "exponential"]
DECODINGS: tuple[Decoding, ...] = get_args(Decoding)
LOSSES: tuple[DecodingLoss, ...] = get_args(DecodingLoss)
#: Scores are decoded in parts of this many numbers, which fit into a core's cache.
CACHED_SCORES: Final = 1 << 17
#: Exponents of the exponential loss are capped here, far below overflow (709).
MAX_EXPONENT: Final = 500.0
#: Random codes drawn; the one with the largest row distance is used.
N_RANDOM_CODES: Final = 300
#: An exhaustive code has 2^(K-1) - 1 columns: 2,047 for 12 classes.
MAX_EXHAUSTIVE_CLASSES: Final = 12


@dataclass(frozen=True, eq=False)
class Codebook:
    """The side, -1 or +1, of each class (row) in each binary problem (column); 0 excludes the class.

    Invalid codebooks are refused: equal rows (classes that are not distinguished), rows of zeros (classes that are not
    learned), columns without both sides, and columns that are equal or opposite (they train the same classifier).
    Opposite rows are valid.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_columns)
        -1, 0 and +1.

    See Also
    --------
    OneVsRest, OneVsOne : The most common codes.
    OutputCode : Other codes.

    References
    ----------
    Allwein, E. L., Schapire, R. E. & Singer, Y. (2000). Reducing multiclass to binary. J. Machine Learning Research 1.

    Examples
    --------
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
        equal = equal_rows(matrix)
        if equal is not None:
            a, b = equal
            raise ParameterError(
                f"Rows {a} and {b} of the code are equal, so the classes cannot be distinguished. Use different rows."
            )
        if not matrix.any(axis=1).all():
            k = int(np.argmin(matrix.any(axis=1)))
            raise ParameterError(
                f"Row {k} of the code is all 0, so no column separates this class. Use -1 or +1 in a column."
            )
        both = (matrix > 0).any(axis=0) & (matrix < 0).any(axis=0)
        if not both.all():
            raise ParameterError(
                f"Column {int(np.argmin(both))} of the code must have both -1 and +1. Convert codes of 0 and "
                "1 with 2 * code - 1; 0 excludes a class."
            )
        equal = equal_rows(same_lead(matrix).T)
        if equal is not None:
            a, b = equal
            how = "equal" if np.array_equal(matrix[:, a], matrix[:, b]) else "complementary (one is minus the other)"
            raise ParameterError(
                f"Columns {a} and {b} of the code are {how}: they train the same classifier. Drop one."
            )
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
        """The Hamming distances between rows (K, K); a column that excludes either class counts 1/2."""
        return row_distances(self.matrix)

    @property
    def closest_classes(self) -> tuple[int, int]:
        """The two classes whose rows are closest."""
        first, second = np.triu_indices(self.n_classes, k=1)
        place = int(np.argmin(self.distances[first, second]))
        return int(first[place]), int(second[place])

    @property
    def row_distance(self) -> float:
        """The minimum distance of two rows; without zeros, fewer errors than half of it are corrected."""
        return float(self.distances[self.closest_classes])

    def encode(self, codes: Array) -> Array:
        """The side of each row in each column (n, M), from its class code.

        Parameters
        ----------
        codes : array of int of shape (n_rows,)
            Class index of each row.

        Returns
        -------
        array of shape (n_rows, n_columns)
        """
        return self.matrix[codes]

    def targets(self, codes: Array, column: int) -> tuple[Array | None, Array]:
        """The rows used in a column (None: all), and their sides -1.0 or +1.0.

        Parameters
        ----------
        codes : array of int of shape (n_rows,)
            Class index of each row.
        column : int
            Column of the codebook.

        Returns
        -------
        rows : array of int, or None
        sides : array of float, one for each of these rows
        """
        side = self.matrix[:, column].take(codes)
        if self.matrix[:, column].all():
            return None, side.astype(np.float64)
        rows = np.flatnonzero(side != 0)
        return rows, side[rows].astype(np.float64)

    def decode(self, scores: Array, decoding: Decoding, loss: DecodingLoss = "logistic") -> Array:
        """The score of each class (n, K) from the scores of the binary problems (n, M).

        ==================  ==========================================================================================
        decoding            score of class k
        ==================  ==========================================================================================
        confidence          sum of the scores of its own columns, in which it is the only class on its side
        votes               number of its own columns that decide for it; 1/2 for a default class without own columns
        votes+confidence    votes plus a term between -1/3 and 1/3 that breaks ties by confidence
        hamming             minus the number of columns that decide against it; columns that exclude it count 1/2
        loss                minus the sum of ``L(side * score)`` over all columns; ``L(0)`` for columns that exclude it
        ==================  ==========================================================================================

        Two classes share one column: for every decoding, their scores are minus and plus half of its score. Rows with
        scores that are not finite get NaN for every class.

        Parameters
        ----------
        scores : array of shape (n_rows, n_columns)
            Scores of the binary problems, positive for the side +1.
        decoding : {"confidence", "votes", "votes+confidence", "hamming", "loss"}
            See the table.
        loss : {"hinge", "logistic", "exponential"}, default="logistic"
            For ``decoding="loss"``.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        if scores.shape[1] != self.n_columns:
            raise InputError(f"Scores have {scores.shape[1]} columns, but the codebook has {self.n_columns}.")
        check_choice("decoding", decoding, DECODINGS)
        check_choice("loss", loss, LOSSES)
        out = np.empty((len(scores), self.n_classes))
        with one_blas_thread(), np.errstate(invalid="ignore", over="ignore"):
            for part in parts_in_cache(len(scores), self.n_columns):
                out[part] = self._class_scores(scores[part], decoding, loss)
                out[part][~np.isfinite(scores[part].sum(axis=1))] = np.nan
        return out

    @cached_property
    def own(self) -> Array:
        """The sides in columns where a class is alone on its side, else 0 (K, M).

        In one-versus-rest these are the diagonal, in one-versus-one all pairs with the class. One class may have no own
        column: it is the default class for rows that no other class claims.
        """
        sides = self.matrix.astype(np.float64)
        alone = np.where(sides > 0, (sides > 0).sum(axis=0), (sides < 0).sum(axis=0)) == 1
        own = np.where(alone, sides, 0.0)
        none = np.flatnonzero(~own.any(axis=1))
        if none.size > 1:
            raise ParameterError(
                f"Decoding by votes or confidence requires columns in which a class is alone on its side; rows "
                f"{none[0]} and {none[1]} of this code have none. Use decoding 'hamming' or 'loss'."
            )
        return own

    def _class_scores(self, scores: Array, decoding: Decoding, loss: DecodingLoss) -> Array:
        if self.n_classes == 2:
            return 0.5 * scores * self.matrix[:, 0]
        if decoding == "hamming":
            return self._agreement(scores)
        if decoding == "loss":  # Allwein, Schapire & Singer (2000)
            value, sides = _LOSS_VALUES[loss], self.matrix.T
            of_sides = value(scores) @ (sides > 0).astype(np.float64) + value(-scores) @ (sides < 0).astype(np.float64)
            return -(of_sides + value(np.zeros(1)) * (sides == 0).sum(axis=0))
        if decoding == "votes":
            return self._votes(scores)
        confidence = scores @ self.own.T
        if decoding == "confidence":
            return confidence
        return self._votes(scores) + confidence / (3.0 * (np.abs(confidence) + 1.0))

    def _votes(self, scores: Array) -> Array:
        columns = np.abs(self.own).sum(axis=1)
        return 0.5 * (_signs(scores) @ self.own.T + columns + (columns == 0))

    def _agreement(self, scores: Array) -> Array:
        return 0.5 * (_signs(scores) @ self.matrix.T.astype(np.float64) - self.n_columns)


@dataclass(frozen=True, eq=False)
class Ambiguity:
    """The candidate classes of each row before ties are broken; rows with none or several are ambiguous."""

    candidates: Array  #: (n, K) of bool

    @property
    def counts(self) -> Array:
        """The number of candidates of each row."""
        return np.count_nonzero(self.candidates, axis=1)

    @property
    def none(self) -> Array:
        """Rows without a candidate."""
        return self.counts == 0

    @property
    def several(self) -> Array:
        """Rows with more than one candidate."""
        return self.counts > 1


def ambiguous(scores: Array, codebook: Codebook, by: Literal["votes", "hamming"] = "votes") -> Ambiguity:
    """The candidate classes of each row before ties are broken, from the scores of the binary problems (n, M).

    By votes, they are the classes with the most votes, if there are any: in one-versus-rest the classes that claim the
    row (none, one or several), or the default class if no other claims it; in one-versus-one the classes that win most
    pairs. By Hamming distance, they are the classes with the closest code.

    >>> from discriminant.multiclass import one_vs_rest
    >>> triangle = ambiguous(np.array([[-1.0, -2.0, -1.0], [1.0, 3.0, -1.0]]), one_vs_rest(3))
    >>> triangle.none, triangle.several
    (array([ True, False]), array([False,  True]))
    """
    check_choice("by", by, ("votes", "hamming"))
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise InputError(f"Scores must be finite: row {row} has {scores[row].tolist()}.")
    counted = codebook._votes(scores) if by == "votes" else codebook._agreement(scores)
    candidates = counted == counted.max(axis=1, keepdims=True)
    return Ambiguity(candidates & (counted > 0) if by == "votes" else candidates)


def same_lead(matrix: Array) -> Array:
    """The columns with signs such that their first non-zero entry is -1: opposite columns become equal."""
    lead = np.take_along_axis(matrix, np.argmax(matrix != 0, axis=0)[None], axis=0)
    return np.where(lead > 0, -matrix, matrix)


def row_distances(matrix: Array) -> Array:
    """The Hamming distances between rows; a column that excludes either class counts 1/2."""
    sides = matrix.astype(np.float64)
    return 0.5 * (matrix.shape[1] - sides @ sides.T)


def _sides(matrix: ArrayLike) -> Array:
    """A valid code as a copy of type int8."""
    try:
        values = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"A code must be a matrix of -1, 0 and +1, got {matrix!r}.") from error
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 1:
        raise ParameterError(
            f"A code has shape {values.shape}; expected at least two rows (classes) and one column (binary problem)."
        )
    wrong = ~np.isin(values, (-1.0, 0.0, 1.0))
    if wrong.any():
        k, m = np.argwhere(wrong)[0]
        raise ParameterError(f"A code must consist of -1, 0 and +1: row {k}, column {m} is {values[k, m]:g}.")
    return values.astype(np.int8)


def equal_rows(matrix: Array) -> tuple[int, int] | None:
    """The first two equal rows, if there are any."""
    seen: dict[bytes, int] = {}
    for k, row in enumerate(np.ascontiguousarray(matrix)):
        before = seen.setdefault(row.tobytes(), k)
        if before != k:
            return before, k
    return None


def parts_in_cache(n_rows: int, width: int) -> Iterator[slice]:
    """Consecutive parts of the rows whose scores of this width fit into a core's cache."""
    step = max(CACHED_SCORES // width, 64)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _signs(scores: Array) -> Array:
    return np.where(scores > 0, 1.0, -1.0)


@lru_cache
def one_vs_rest(n_classes: int) -> Codebook:
    """Each class against all others: K columns, for two classes one.

    >>> one_vs_rest(3).matrix
    array([[ 1, -1, -1], [-1,  1, -1], [-1, -1,  1]], dtype=int8)
    """
    check_integer("n_classes", n_classes, 2)
    matrix = 2 * np.eye(n_classes, dtype=np.int8) - 1
    return Codebook(matrix[:, 1:] if n_classes == 2 else matrix)


def one_vs_rest_default(n_classes: int) -> Codebook:
    """Each class but the last against all others: K - 1 columns; the last class is the default."""
    check_integer("n_classes", n_classes, 2)
    return Codebook(2 * np.eye(n_classes, n_classes - 1, dtype=np.int8) - 1)


@lru_cache  # validating a code takes as long as a small fit
def one_vs_one(n_classes: int) -> Codebook:
    """Each pair of classes: K (K - 1) / 2 columns in the order (0, 1), (0, 2), ...; the second class has side +1.

    >>> one_vs_one(3).matrix
    array([[-1, -1,  0], [ 1,  0, -1], [ 0,  1,  1]], dtype=int8)
    """
    check_integer("n_classes", n_classes, 2)
    first, second = np.triu_indices(n_classes, k=1)
    matrix = np.zeros((n_classes, len(first)), dtype=np.int8)
    columns = np.arange(len(first))
    matrix[first, columns], matrix[second, columns] = -1, 1
    return Codebook(matrix)


def exhaustive_code(n_classes: int) -> Codebook:
    """All partitions of the classes into two groups: 2^(K-1) - 1 columns, with row distance 2^(K-2).

    >>> exhaustive_code(3).matrix
    array([[-1, -1, -1], [ 1, -1,  1], [-1,  1,  1]], dtype=int8)
    """
    check_integer("n_classes", n_classes, 2)
    count = _dense_columns(n_classes)
    if n_classes > MAX_EXHAUSTIVE_CLASSES:
        raise ParameterError(
            f"An exhaustive code of {n_classes} classes has {count:,} columns; at most {MAX_EXHAUSTIVE_CLASSES} "
            "classes are allowed. Use a dense or sparse code."
        )
    bits = (np.arange(1, count + 1) >> np.arange(n_classes - 1)[:, None]) & 1
    return Codebook(np.concatenate((np.full((1, count), -1), 2 * bits - 1)))


def dense_code(n_classes: int, rng: RandomState = None, length: int | None = None) -> Codebook:
    """A random code of -1 and +1 with 10 log2 K columns by default: the best of many draws by row distance.

    With fewer than six classes it has all possible columns, which are fewer.

    >>> code = dense_code(8, rng=0)
    >>> code.n_columns, code.row_distance
    (30, 14.0)
    """
    check_integer("n_classes", n_classes, 2)
    return _best_of_draws(n_classes, rng, length, 10, _dense_columns(n_classes), [-1, 1])


def sparse_code(n_classes: int, rng: RandomState = None, length: int | None = None) -> Codebook:
    """A random code, half 0 and else -1 or +1, with 15 log2 K columns by default: the best of many draws.

    With fewer than five classes it has all possible columns, which are fewer.
    """
    check_integer("n_classes", n_classes, 2)
    available = (3**n_classes - 2 ** (n_classes + 1) + 1) // 2
    return _best_of_draws(n_classes, rng, length, 15, available, [-1, 0, 0, 1])


def _best_of_draws(
    n_classes: int, rng: RandomState, length: int | None, per_bit: int, available: int, symbols: list[int]
) -> Codebook:
    """The random code with the largest row distance, with ``per_bit`` log2 K columns unless a length is given."""
    if length is None:
        length = min(math.ceil(per_bit * math.log2(n_classes)), available)
    check_integer("length", length, next(m for m in range(1, n_classes) if len(set(symbols)) ** m >= n_classes))
    if length > available:
        raise ParameterError(
            f"length={length} exceeds the number of different columns for {n_classes} classes, {available:,}. Omit it "
            "or use a smaller length."
        )
    rng, best, farthest = np.random.default_rng(rng), None, -1.0
    with one_blas_thread():
        for _ in range(N_RANDOM_CODES if length < available else 1):  # there is one code with all columns
            matrix = _distinct_columns(n_classes, int(length), np.array(symbols, dtype=np.int8), rng)
            distance = row_distances(matrix)[np.triu_indices(n_classes, k=1)].min()
            if distance > farthest and matrix.any(axis=1).all() and equal_rows(matrix) is None:
                best, farthest = matrix, distance
    if best is None:
        raise ParameterError(
            f"None of {N_RANDOM_CODES} random codes of length {length} distinguishes all {n_classes} classes. Use a "
            "longer code."
        )
    return Codebook(best)


def _distinct_columns(n_classes: int, length: int, symbols: Array, rng: np.random.Generator) -> Array:
    """``length`` random columns with both sides, none equal or opposite to another, in the order drawn."""
    kept = np.empty((n_classes, 0), dtype=np.int8)
    while kept.shape[1] < length:
        fresh = symbols[rng.integers(len(symbols), size=(n_classes, 2 * length))]
        fresh = fresh[:, (fresh > 0).any(axis=0) & (fresh < 0).any(axis=0)]
        kept = np.concatenate((kept, same_lead(fresh)), axis=1)
        kept = kept[:, np.sort(np.unique(kept, axis=1, return_index=True)[1])]
    return kept[:, :length]


def _dense_columns(n_classes: int) -> int:
    """The number of partitions of the classes into two groups."""
    return int(2 ** (n_classes - 1) - 1)


@dataclass(frozen=True)
class CodebookRule:
    """The scores of binary problems, decoded to scores of classes."""

    columns: Any  #: a `LinearRule` or fitted classifiers: their scores (n, M) are above 0 for the side +1
    codebook: Codebook
    decoding: Decoding
    loss: DecodingLoss = "logistic"

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns of the rows."""
        return self.codebook.n_classes, self.columns.sizes[1]

    def _check_parts(self) -> None:
        require(hasattr(type(self.columns), "sizes") and isinstance(self.codebook, Codebook), self, "kinds")
        require(self.columns.sizes[0] == self.codebook.n_columns, self, "number of columns")
        require(self.decoding in DECODINGS and self.loss in LOSSES, self, "decoding")

    def scores(self, block: RowBlock) -> Array:
        # With many columns the scores of a block are much larger than the block: parts stay in cache.
        linear = isinstance(self.columns, LinearRule)
        parts = [block[part] for part in parts_in_cache(block.shape[0], self.codebook.n_columns)] if linear else [block]
        return np.concatenate(
            [self.codebook.decode(self.columns.scores(part), self.decoding, self.loss) for part in parts]
        )

    def simplified(self) -> CodebookRule | LinearRule:
        """An equivalent linear rule, if the columns are linear and there is one for each class (or two classes)."""
        columns, book = self.columns, self.codebook
        if isinstance(columns, LinearRule):
            if book.n_classes == 2 and book.matrix[1, 0] > 0:
                return LinearRule.of_scores(columns.centre, columns.coef, columns.constants)
            if self.decoding == "confidence" and np.array_equal(book.own, np.eye(book.n_classes)):
                return columns
        return self

    def turned(self) -> CodebookRule:
        """The linear rule with the sides of every column exchanged: it differs where a score is exactly 0."""
        linear = replace(self.columns, coef=-self.columns.coef, constants=-self.columns.constants)
        return replace(self, columns=linear, codebook=Codebook(-self.codebook.matrix))


_LOSS_VALUES: dict[DecodingLoss, Callable[[Array], Array]] = {
    "hinge": lambda margins: Hinge().value_and_slope(margins)[0],
    "logistic": lambda margins: Logistic().value_and_slope(margins)[0],
    "exponential": lambda margins: np.exp(np.minimum(-margins, MAX_EXPONENT)),
}
