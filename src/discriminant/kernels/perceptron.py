"""The perceptron's walk through rows, one after the other, and the count of rows that weights get wrong.

A walk visits rows ``order[start:]``, of which ``sides`` (+1 or -1) says where they belong. ``learned`` holds
``(weights, lag, clock)``: at every mistake the weights (p + 1 numbers, the intercept last) change in place by ``side *
(x, constant)``; ``clock`` holds the visits and the updates so far; ``lag`` (of size 0 where no average is wanted)
collects the updates times the visits before them, so that the mean of the weights after each visit is ``weights - lag /
visits``, at the price of an update's own nonzeros.

A walk returns the place it has come to: the end, or the one after the ``most``-th update. Where a score is not finite,
which is how NaN, infinity and overflow show, walks and counts return ``-1 - place``.
"""

from __future__ import annotations

import numpy as np

from . import kernel
from .rows import add, dot


@kernel
def _wrong(side, score, nonpositive):  # type: ignore[no-untyped-def]
    """Whether a row is a mistake: ``side * score <= 0``, or ``side * sign(score) < 0`` with sign(0) = 1."""
    if nonpositive:
        return side * score <= 0.0
    return (score >= 0.0) != (side > 0.0)


@kernel
def walk(rows, order, sides, rule, learned, start, most):  # type: ignore[no-untyped-def]
    """Walk through dense or CSR rows; ``rule`` is (constant, nonpositive)."""
    weights, lag, clock = learned
    constant, nonpositive = rule
    end = clock[1] + most
    for place in range(start, order.size):
        i, side = order[place], sides[place]
        score = dot(rows, i, weights) + weights[weights.size - 1]
        if not abs(score) < np.inf:
            return -1 - place
        clock[0] += 1
        if _wrong(side, score, nonpositive):
            add(rows, i, side, weights)
            weights[weights.size - 1] += side * constant
            if lag.size:
                before = side * (clock[0] - 1)
                add(rows, i, before, lag)
                lag[lag.size - 1] += before * constant
            clock[1] += 1
            if clock[1] == end:
                return place + 1
    return order.size


@kernel
def gram_walk(gram, order, sides, rule, learned, start, most):  # type: ignore[no-untyped-def]
    """Walk in the dual form; ``learned`` is (alpha, scores, lag, clock).

    ``alpha[i]`` counts the updates caused by row ``i``, and the scores ``gram (alpha sides)``, one for each row, follow
    from them; ``lag`` belongs to ``alpha``.
    """
    alpha, scores, lag, clock = learned
    end = clock[1] + most
    for place in range(start, order.size):
        i, side = order[place], sides[place]
        if not abs(scores[i]) < np.inf:
            return -1 - place
        clock[0] += 1
        if _wrong(side, scores[i], rule[1]):
            alpha[i] += 1
            add(gram, i, side, scores)
            if lag.size:
                lag[i] += clock[0] - 1
            clock[1] += 1
            if clock[1] == end:
                return place + 1
    return order.size


@kernel
def mistakes(rows, order, sides, nonpositive, weights):  # type: ignore[no-untyped-def]
    """How many dense or CSR rows the weights get wrong."""
    count = 0
    for place in range(order.size):
        score = dot(rows, order[place], weights) + weights[weights.size - 1]
        if not abs(score) < np.inf:
            return -1 - place
        count += _wrong(sides[place], score, nonpositive)
    return count
