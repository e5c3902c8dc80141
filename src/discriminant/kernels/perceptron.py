"""The perceptron's walk through rows, one after the other, and the count of rows that weights get wrong.

A walk visits rows ``order[start:]``, of which ``sides`` (+1 or -1) says where they belong, and changes ``weights``
(p + 1 numbers, the intercept last) in place by ``side * (x, constant)`` at every mistake. ``clock`` holds the visits
and the updates so far. ``lag`` (of size 0 where no average is wanted) collects the updates times the visits before
them: the mean of the weights after each visit is then ``weights - lag / visits``, at the price of an update's own
nonzeros.

A walk returns the place it has come to: the end, or the one after the ``most``-th update. Where a score is not finite,
which is how NaN, infinity and overflow show, walks and counts return ``-1 - place``.

Places of nonzeros are read as unsigned: where they might be negative, Numba would count them from the end, and looking
at the sign took a quarter of a pass.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel


@kernel
def _wrong(side, score, nonpositive):  # type: ignore[no-untyped-def]
    """Whether a row is a mistake: ``side * score <= 0``, or ``side * sign(score) < 0`` with sign(0) = 1."""
    if nonpositive:
        return side * score <= 0.0
    return (score >= 0.0) != (side > 0.0)


@summing_kernel
def _dense_score(X, i, weights):  # type: ignore[no-untyped-def]
    score = 0.0
    for j in range(X.shape[1]):
        score += X[i, j] * weights[j]
    return score + weights[X.shape[1]]


@summing_kernel
def _csr_score(data, indices, indptr, i, weights):  # type: ignore[no-untyped-def]
    score = 0.0
    for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        score += data[e] * weights[np.uint64(indices[e])]
    return score + weights[weights.size - 1]


@kernel
def _add_dense(X, i, factor, constant, out):  # type: ignore[no-untyped-def]
    for j in range(X.shape[1]):
        out[j] += factor * X[i, j]
    out[X.shape[1]] += factor * constant


@kernel
def _add_csr(data, indices, indptr, i, factor, constant, out):  # type: ignore[no-untyped-def]
    for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        out[np.uint64(indices[e])] += factor * data[e]
    out[out.size - 1] += factor * constant


@kernel
def dense_walk(X, constant, order, sides, start, most, nonpositive, weights, lag, clock):  # type: ignore[no-untyped-def]
    """Walk through rows of an array."""
    end = clock[1] + most
    for place in range(start, order.size):
        i, side = order[place], sides[place]
        score = _dense_score(X, i, weights)
        if not abs(score) < np.inf:
            return -1 - place
        clock[0] += 1
        if _wrong(side, score, nonpositive):
            _add_dense(X, i, side, constant, weights)
            if lag.size:
                _add_dense(X, i, side * (clock[0] - 1), constant, lag)
            clock[1] += 1
            if clock[1] == end:
                return place + 1
    return order.size


@kernel
def csr_walk(data, indices, indptr, constant, order, sides, start, most, nonpositive, weights, lag, clock):  # type: ignore[no-untyped-def]
    """Walk through rows of a CSR matrix; a visit costs the row's nonzeros only."""
    end = clock[1] + most
    for place in range(start, order.size):
        i, side = order[place], sides[place]
        score = _csr_score(data, indices, indptr, i, weights)
        if not abs(score) < np.inf:
            return -1 - place
        clock[0] += 1
        if _wrong(side, score, nonpositive):
            _add_csr(data, indices, indptr, i, side, constant, weights)
            if lag.size:
                _add_csr(data, indices, indptr, i, side * (clock[0] - 1), constant, lag)
            clock[1] += 1
            if clock[1] == end:
                return place + 1
    return order.size


@kernel
def gram_walk(gram, alpha, order, sides, start, most, nonpositive, scores, lag, clock):  # type: ignore[no-untyped-def]
    """Walk in the dual form: ``alpha[i]`` counts the updates caused by row ``i``, and ``scores`` follow from them.

    They are ``gram (alpha sides)``, one for each row; ``lag`` belongs to ``alpha``.
    """
    end = clock[1] + most
    for place in range(start, order.size):
        i, side = order[place], sides[place]
        if not abs(scores[i]) < np.inf:
            return -1 - place
        clock[0] += 1
        if _wrong(side, scores[i], nonpositive):
            alpha[i] += 1
            for k in range(scores.size):
                scores[k] += side * gram[i, k]
            if lag.size:
                lag[i] += clock[0] - 1
            clock[1] += 1
            if clock[1] == end:
                return place + 1
    return order.size


@kernel
def dense_mistakes(X, order, sides, nonpositive, weights):  # type: ignore[no-untyped-def]
    """How many rows of an array the weights get wrong."""
    count = 0
    for place in range(order.size):
        score = _dense_score(X, order[place], weights)
        if not abs(score) < np.inf:
            return -1 - place
        count += _wrong(sides[place], score, nonpositive)
    return count


@kernel
def csr_mistakes(data, indices, indptr, order, sides, nonpositive, weights):  # type: ignore[no-untyped-def]
    """How many rows of a CSR matrix the weights get wrong."""
    count = 0
    for place in range(order.size):
        score = _csr_score(data, indices, indptr, order[place], weights)
        if not abs(score) < np.inf:
            return -1 - place
        count += _wrong(sides[place], score, nonpositive)
    return count


@kernel
def score_mistakes(order, sides, nonpositive, scores):  # type: ignore[no-untyped-def]
    """How many rows are on the wrong side by their scores."""
    count = 0
    for place in range(order.size):
        if not abs(scores[order[place]]) < np.inf:
            return -1 - place
        count += _wrong(sides[place], scores[order[place]], nonpositive)
    return count
