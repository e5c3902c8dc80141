"""The perceptron's walk through rows, one after the other, and the count of rows that weights get wrong.

A walk visits rows ``order[start:]``, of which ``sides`` (+1 or -1) says where they belong. ``learned`` holds
``(weights, lag, clock, reach)``: at every mistake the weights (p + 1 numbers, the intercept last) change in place by
``side * (x, constant)``; ``clock`` holds the visits and the updates so far; ``lag`` (of size 0 where no average is
wanted) collects the updates times the visits before them, so that the mean of the weights after each visit is ``weights
- lag / visits``, at the price of an update's own nonzeros; ``reach`` holds the sum of the lengths of the rows that made
the weights.

A score is a tie where it is 0 but for rounding: the weights are a sum of rows, each of which has its digits cut off, so
the score of row x is known to about ``eps * |x| * reach``. `TIE` times as much counts as 0. Then decimals, which
floating point does not have, make the updates that they make on paper, in the primal and in the dual form.

A walk returns the place it has come to: the end, or the one after the ``most``-th update. Where a score is not finite,
which is how NaN, infinity and overflow show, walks and counts return ``-1 - place``.
"""

from __future__ import annotations

import numpy as np

from . import kernel
from .rows import add, dot_and_square

#: A score of fewer units of its rounding is a tie. Those of 1,562 updates on Fisher's irises came to 1.1 at most, and
#: the next score is a hundred million times as far.
TIE = 4.0
_TIE = TIE * float(np.finfo(np.float64).eps)


@kernel
def _wrong(side, score, nonpositive, near):  # type: ignore[no-untyped-def]
    """Whether a row is a mistake: ``side * score <= 0``, or ``side * sign(score) < 0`` with sign(0) = 1.

    A score of at most ``near`` is 0.
    """
    if abs(score) <= near:
        return nonpositive or side < 0.0
    if nonpositive:
        return side * score <= 0.0
    return (score >= 0.0) != (side > 0.0)


@kernel
def walk(rows, order, sides, rule, learned, start, most):  # type: ignore[no-untyped-def]
    """Walk through dense or CSR rows; ``rule`` is (constant, nonpositive)."""
    weights, lag, clock, reach = learned
    constant, nonpositive = rule
    end = clock[1] + most
    for place in range(start, order.size):
        i, side = order[place], sides[place]
        score, square = dot_and_square(rows, i, weights)
        score += weights[weights.size - 1]
        if not abs(score) < np.inf:
            return -1 - place
        clock[0] += 1
        length = np.sqrt(square + constant)
        if _wrong(side, score, nonpositive, _TIE * reach[0] * length):
            add(rows, i, side, weights)
            weights[weights.size - 1] += side * constant
            reach[0] += length
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
    """Walk in the dual form; ``learned`` is (alpha, scores, lag, clock, reach).

    ``alpha[i]`` counts the updates caused by row ``i``, and the scores ``gram (alpha sides)``, one for each row, follow
    from them; ``lag`` belongs to ``alpha``.
    """
    alpha, scores, lag, clock, reach = learned
    end = clock[1] + most
    for place in range(start, order.size):
        i, side = order[place], sides[place]
        if not abs(scores[i]) < np.inf:
            return -1 - place
        clock[0] += 1
        length = np.sqrt(gram[i, i])
        if _wrong(side, scores[i], rule[1], _TIE * reach[0] * length):
            alpha[i] += 1
            add(gram, i, side, scores)
            reach[0] += length
            if lag.size:
                lag[i] += clock[0] - 1
            clock[1] += 1
            if clock[1] == end:
                return place + 1
    return order.size


@kernel
def mistakes(rows, order, sides, rule, weights, reach):  # type: ignore[no-untyped-def]
    """How many dense or CSR rows the weights get wrong."""
    count = 0
    constant, nonpositive = rule
    for place in range(order.size):
        i = order[place]
        score, square = dot_and_square(rows, i, weights)
        score += weights[weights.size - 1]
        if not abs(score) < np.inf:
            return -1 - place
        length = np.sqrt(square + constant)
        count += _wrong(sides[place], score, nonpositive, _TIE * reach[0] * length)
    return count


@kernel
def gram_mistakes(gram, order, sides, rule, scores, reach):  # type: ignore[no-untyped-def]
    """The same of scores that are known."""
    count = 0
    for place in range(order.size):
        i = order[place]
        if not abs(scores[i]) < np.inf:
            return -1 - place
        count += _wrong(sides[place], scores[i], rule[1], _TIE * reach[0] * np.sqrt(gram[i, i]))
    return count
