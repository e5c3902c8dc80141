"""Counting for evaluation: pairs of labels, merged scores, placements, calibration bins."""

from __future__ import annotations

import numpy as np

from . import kernel


def _count_pairs(first, second, least, out):  # type: ignore[no-untyped-def]
    np.add.at(out[0], (first - least, second - least), 1)


@kernel(in_numpy=_count_pairs)
def count_pairs(first, second, least, out):  # type: ignore[no-untyped-def]
    """Count pairs of integers from ``least`` on, into ``out`` (4, range, range).

    Four tables in turn: neighbours that fall into the same cell need not wait for one another.
    """
    whole = first.shape[0] - first.shape[0] % 4
    for i in range(0, whole, 4):
        out[0, first[i] - least, second[i] - least] += 1
        out[1, first[i + 1] - least, second[i + 1] - least] += 1
        out[2, first[i + 2] - least, second[i + 2] - least] += 1
        out[3, first[i + 3] - least, second[i + 3] - least] += 1
    for i in range(whole, first.shape[0]):
        out[0, first[i] - least, second[i] - least] += 1


@kernel
def merge_scores(positives, negatives, values, positive, negative):  # type: ignore[no-untyped-def]
    """Merge two ascending arrays; return how many distinct values they have.

    Writes each distinct value, largest first, and how often it stands in either array.
    """
    i, j, g = positives.shape[0] - 1, negatives.shape[0] - 1, 0
    while i >= 0 or j >= 0:
        value = positives[i] if j < 0 or (i >= 0 and positives[i] >= negatives[j]) else negatives[j]
        first_i, first_j = i, j
        while i >= 0 and positives[i] == value:
            i -= 1
        while j >= 0 and negatives[j] == value:
            j -= 1
        values[g], positive[g], negative[g] = value, first_i - i, first_j - j
        g += 1
    return g


@kernel
def placements(positive, negative, of_positive, of_negative):  # type: ignore[no-untyped-def]
    """Write, for each distinct score (largest first), the share of the other side that it is on the right side of.

    For a positive row the share of negatives below it, for a negative row the share of positives above it; rows with
    the same score count half.
    """
    total_positive, total_negative = positive.sum(), negative.sum()
    above, below = 0.0, total_negative
    for g in range(positive.shape[0]):
        below -= negative[g]
        of_positive[g] = (below + 0.5 * negative[g]) / total_negative
        of_negative[g] = (above + 0.5 * positive[g]) / total_positive
        above += positive[g]


@kernel
def placement_moments(positive, negative, centre):  # type: ignore[no-untyped-def]
    """Weighted sums of `placements` less ``centre`` and of their squares, without writing them.

    Returned in the order: positive rows, their squares, negative rows, their squares.
    """
    total_positive, total_negative = positive.sum(), negative.sum()
    above, below = 0.0, total_negative
    first, first_squares, second, second_squares = 0.0, 0.0, 0.0, 0.0
    for g in range(positive.shape[0]):
        below -= negative[g]
        of_positive = (below + 0.5 * negative[g]) / total_negative - centre
        of_negative = (above + 0.5 * positive[g]) / total_positive - centre
        above += positive[g]
        first += positive[g] * of_positive
        first_squares += positive[g] * of_positive * of_positive
        second += negative[g] * of_negative
        second_squares += negative[g] * of_negative * of_negative
    return first, first_squares, second, second_squares


@kernel
def bin_posterior(posterior, codes, weight, out):  # type: ignore[no-untyped-def]
    """Add rows to ``out`` (K, bins, 5): weight, and sums of p, y, p^2 and p y, where y is 1 for rows of the class."""
    bins = out.shape[1]
    for i in range(posterior.shape[0]):
        w = weight[i]
        for k in range(posterior.shape[1]):
            p = posterior[i, k]
            b = min(int(p * bins), bins - 1)
            out[k, b, 0] += w
            out[k, b, 1] += w * p
            out[k, b, 3] += w * p * p
            if codes[i] == k:
                out[k, b, 2] += w
                out[k, b, 4] += w * p
