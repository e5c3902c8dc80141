"""Logistic and softmax regression with an L1 penalty, on a small table kept by columns, without a return to Python.

``columns`` (p, n) are standardised, the last one 1 where there is an intercept; ``theta`` and the ``gradient`` of the
mean loss (C, p); ``scores`` (C, n). ``penalty`` is ``(l1, ridge)``, each (p,), 0 for the intercept. ``rows`` are
``(weight, curves, shares)``: weights (n,) that sum to 1, the weighted curvature of each score (C, n), and of several
scores the probabilities (C, n).

A quadratic model of the loss at the present scores is minimised over the *members*, the columns that may matter, by
coordinate descent (Friedman, Hastie & Tibshirani 2010). Instead of the model's Hessian its slopes in the scores are
kept: a visit costs n, and a change C n.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .interior_point import cholesky, solve_factored
from .losses import mean_logistic_loss
from .scores import exponential, logarithm
from .vectors import copy_matrix_into, inner, places

#: A model is minimised until sweeps promise less than this share of what they have gained, and than the square root of
#: its share of the objective: far from the minimum the next model is better, near it errors are to square.
_SHARE = 0.02
#: A jump costs about as many sweeps as the support has columns, and is not tried before so many.
_SWEEPS_PER_MEMBER, _LEAST_SWEEPS, _MOST_JUMPS = 1.0, 12, 60
#: Sweeps creep where one gains more than this share of the one before.
_CREEPING = 0.9
#: What the diagonal of a singular matrix is raised by, relatively: enough for a Cholesky factor.
_COLLINEAR = 1e-11
#: A set of members starts with at most this many columns beyond those that the strong rule keeps, and then doubles.
_FIRST_MEMBERS = 256
#: Models are minimised to a share of the tolerance, a smaller one below this: coefficients have half the digits of the
#: objective.
_LAST = 1e-9
#: The strong rule discards columns whose gradient is below the penalty by what that has fallen. One left out wrongly
#: costs a pass over all of them, one too many a few visits, so the rule allows for a greater fall,
_LENIENT = 2.0
#: but where strengths are far apart not for more than leaves this share of the penalty.
_LEAST_BOUND = 0.5
OPTIMAL, STEPS_USED_UP, NO_DESCENT, NOT_FINITE = range(4)


@kernel
def standardised_columns(X, centre, scale, start, out):  # type: ignore[no-untyped-def]
    """Write the columns of some rows, ``(x - centre) / scale``, to ``out`` (columns, all rows), from ``start`` on."""
    n, p = X.shape
    for first in range(0, p, 16):  # a few columns at a time, which share the cache lines of both sides
        for i in range(n):
            for j in range(first, min(first + 16, p)):
                out[j, start + i] = (X[i, j] - centre[j]) / scale[j]


@summing_kernel
def weighted_losses(scores, codes, rows, slopes):  # type: ignore[no-untyped-def]
    """The mean loss; writes the weighted slopes, curvatures and probabilities of all scores."""
    weight, curves, shares = rows
    n_scores, n = scores.shape
    if n_scores == 1:
        return mean_logistic_loss(scores[0], codes, weight, slopes[0], curves[0])
    top, mass = scores[0].copy(), np.zeros(n)
    for k in range(1, n_scores):
        for i in range(n):
            top[i] = max(top[i], scores[k, i])
    for k in range(n_scores):
        for i in range(n):
            shares[k, i] = exponential(scores[k, i] - top[i])
            mass[i] += shares[k, i]
    for k in range(n_scores):
        for i in range(n):
            shares[k, i] /= mass[i]
            slopes[k, i] = weight[i] * (shares[k, i] - (1.0 if codes[i] == k else 0.0))
            curves[k, i] = weight[i] * shares[k, i] * (1.0 - shares[k, i])
    total = 0.0
    for i in range(n):
        total += weight[i] * (logarithm(mass[i]) + top[i] - scores[codes[i], i])
    return total


@summing_kernel
def add_scores(columns, members, before, theta, scores):  # type: ignore[no-untyped-def]
    """Change the scores as the coefficients of the members change from ``before`` to ``theta``."""
    for j in members:
        for k in range(theta.shape[0]):
            change = theta[k, j] - before[k, j]
            if change != 0.0:
                for i in range(scores.shape[1]):
                    scores[k, i] += change * columns[j, i]


@kernel
def add_products(columns, slopes, out):  # type: ignore[no-untyped-def]
    """Write the gradient of the mean loss in all parameters."""
    for j in range(columns.shape[0]):
        for k in range(slopes.shape[0]):
            out[k, j] = inner(columns[j], slopes[k])


@summing_kernel
def _add_bend(column, k, change, rows, slopes):  # type: ignore[no-untyped-def]
    """Change the model's slopes in the scores as the coefficient of a column in score ``k`` changes."""
    weight, curves, shares = rows
    for i in range(column.size):
        slopes[k, i] += change * column[i] * curves[k, i]
    for m in range(slopes.shape[0]):
        if m != k:
            for i in range(column.size):
                slopes[m, i] -= change * column[i] * weight[i] * shares[k, i] * shares[m, i]


@summing_kernel
def _sweep(columns, members, over_all, penalty, rows, diagonal, theta, slopes):  # type: ignore[no-untyped-def]
    """Coordinate descent over all members, or over those that are not 0; what the model gains."""
    l1, ridge = penalty
    gain = 0.0
    for a in range(members.size):
        j = members[a]
        for k in range(theta.shape[0]):
            x = theta[k, j]
            if not over_all and x == 0.0 and l1[j] > 0.0:
                continue
            slope = inner(columns[j], slopes[k]) + ridge[j] * x
            if x == 0.0 and abs(slope) <= l1[j]:
                continue
            if diagonal[k, a] < 0.0:
                diagonal[k, a] = 0.0
                for i in range(columns.shape[1]):
                    diagonal[k, a] += columns[j, i] * columns[j, i] * rows[1][k, i]
            curvature, new = diagonal[k, a] + ridge[j], 0.0 if l1[j] > 0.0 else x
            if curvature > 0.0:
                aim = x - slope / curvature
                new = np.sign(aim) * max(abs(aim) - l1[j] / curvature, 0.0)
            change = new - x
            if change != 0.0:
                gain -= change * (slope + 0.5 * curvature * change) + l1[j] * (abs(new) - abs(x))
                theta[k, j] = new
                _add_bend(columns[j], k, change, rows, slopes)
    return gain


@kernel
def _support(members, penalty, theta):  # type: ignore[no-untyped-def]
    """The scores and columns of the coefficients among the members that are not 0, or not penalised."""
    scores, columns, size = np.empty(theta.size, np.int64), np.empty(theta.size, np.int64), 0
    for a in range(members.size):
        for k in range(theta.shape[0]):
            if theta[k, members[a]] != 0.0 or penalty[0][members[a]] == 0.0:
                scores[size], columns[size] = k, members[a]
                size += 1
    return scores[:size], columns[:size]


@summing_kernel
def _jump(columns, support, penalty, rows, theta, slopes):  # type: ignore[no-untyped-def]
    """Go to the model's minimum over the support, or to where the first coefficient becomes 0; the gain, the length.

    Sweeps creep where columns are nearly collinear; once they have settled the signs, this is what is left to do.
    """
    (l1, ridge), (ks, js), size = penalty, support, support[0].size
    matrix, slope, step = np.empty((size, size)), np.empty(size), np.empty(size)
    room = np.empty(slopes.shape)
    for u in range(size):
        k, j = ks[u], js[u]
        for m in range(room.shape[0]):
            for i in range(room.shape[1]):
                room[m, i] = 0.0
        _add_bend(columns[j], k, 1.0, rows, room)
        slope[u] = inner(columns[j], slopes[k]) + ridge[j] * theta[k, j] + l1[j] * np.sign(theta[k, j])
        for v in range(u + 1):
            matrix[u, v] = inner(columns[js[v]], room[ks[v]])
        # Where columns are collinear the step is long, and ends where a coefficient becomes 0.
        matrix[u, u] = (matrix[u, u] + ridge[j]) * (1.0 + _COLLINEAR)
    cholesky(matrix, 0.01 * _COLLINEAR)
    solve_factored(matrix, slope, step)
    length = 1.0
    for u in range(size):
        x = theta[ks[u], js[u]]
        if l1[js[u]] > 0.0 and step[u] * x > 0.0:
            length = min(length, x / step[u])
    for u in range(size):
        k, j = ks[u], js[u]
        x = theta[k, j]
        crosses = l1[j] > 0.0 and step[u] * x > 0.0 and x / step[u] <= length
        theta[k, j] = 0.0 if crosses else x - length * step[u]
        _add_bend(columns[j], k, theta[k, j] - x, rows, slopes)
    return length * (1.0 - 0.5 * length) * inner(slope, step), length


@kernel
def _minimise_model(columns, members, penalty, rows, theta, slopes, value, enough):  # type: ignore[no-untyped-def]
    """Minimise the model over the members; what it gains, what is left to gain, and the sweeps.

    Sweeps go over all members, then over the support until these promise little, and so on. What they promise follows
    from the rate at which their gains fall. Where they creep, between columns that are nearly collinear, that is a
    guess, and what is left is not known: infinity.
    """
    diagonal = np.full((theta.shape[0], members.size), -1.0)
    gained, before, rate, slowest, sweeps, since_jump, jumps, length = 0.0, np.inf, 0.0, 0.0, 0, 0, 0, 1.0
    while True:
        over_all = before == np.inf
        gain = _sweep(columns, members, over_all, penalty, rows, diagonal, theta, slopes)
        gained += gain
        sweeps, since_jump = sweeps + 1, since_jump + 1
        if not over_all:  # else the set of columns is another one, and the last rate as good a guess as any
            rate = min(gain / before, 0.999) if before > 0.0 else 0.0
            slowest = max(slowest, rate)
        share = min(_SHARE, np.sqrt(max(gained, 0.0) / (value + 1e-300)))
        promised = max(gain, gain * rate / (1.0 - rate))
        little = promised <= max(enough, share * gained)
        # A jump that was cut short is followed by another, with the coefficients that are left.
        if (little and over_all and length == 1.0) or jumps == _MOST_JUMPS or not np.isfinite(gain):
            return gained, promised if slowest <= _CREEPING and jumps == 0 else np.inf, sweeps
        before = np.inf if little else gain
        if length < 1.0 or (since_jump >= _LEAST_SWEEPS and not little):
            support = _support(members, penalty, theta)
            if length < 1.0 or since_jump >= _SWEEPS_PER_MEMBER * support[0].size:
                more, length = _jump(columns, support, penalty, rows, theta, slopes)
                gained += max(more, 0.0)
                length = length if more > enough else 1.0
                jumps, since_jump, before = jumps + 1, 0, np.inf


@kernel
def _penalty_of(theta, members, penalty):  # type: ignore[no-untyped-def]
    l1, ridge = penalty
    total = 0.0
    for j in members:
        for k in range(theta.shape[0]):
            total += (l1[j] + 0.5 * ridge[j] * abs(theta[k, j])) * abs(theta[k, j])
    return total


@kernel
def _line_search(columns, codes, members, penalty, rows, start, theta, scores, slopes, value, gain):  # type: ignore[no-untyped-def]
    """Go from ``start`` towards ``theta`` as far as the objective falls enough; the loss or infinity, the length."""
    aim, changed, length = theta, np.empty(scores.shape), 1.0
    while length > 1e-4:
        copy_matrix_into(changed, scores)
        add_scores(columns, members, start, theta, changed)
        loss = weighted_losses(changed, codes, rows, slopes)
        if loss + _penalty_of(theta, members, penalty) <= value - 1e-4 * length * gain + 1e-15 * value:
            copy_matrix_into(scores, changed)
            return loss, length
        if length == 1.0:
            aim = theta.copy()
        length *= 0.25
        for j in members:
            for k in range(theta.shape[0]):
                theta[k, j] = start[k, j] + length * (aim[k, j] - start[k, j])
    copy_matrix_into(theta, start)
    weighted_losses(scores, codes, rows, slopes)
    return np.inf, 0.0


@summing_kernel
def _missed(rows, model, slopes):  # type: ignore[no-untyped-def]
    """A bound of what another step would gain because the loss is not quadratic.

    Where the ``model`` has its minimum its slopes differ from the true ones by d; the next step gains d'X H^-1 X'd / 2,
    H = X'WX with the curvatures W at hand, which is at most d'W^-1 d / 2.
    """
    weight, curves, shares = rows
    n_scores, n = slopes.shape
    total = 0.0
    for k in range(n_scores):
        for i in range(n):
            difference = slopes[k, i] - model[k, i]
            if difference != 0.0:
                curve = curves[0, i] if n_scores == 1 else weight[i] * shares[k, i]
                total += 0.5 * difference * difference / curve
    return total


@kernel
def _minimise_members(columns, codes, members, penalty, rows, theta, scores, slopes, loss, tol, most):  # type: ignore[no-untyped-def]
    """Proximal Newton steps over the members until what is left to gain is a share ``tol`` of the objective or less.

    Returns the mean loss, what is left, the steps, the sweeps, and why there were no more. What a model gains is always
    taken; of a start that was good enough the step is not counted.
    """
    model, steps, sweeps = np.empty(slopes.shape), 0, 0
    precision = tol * min(0.1, 0.01 * tol / _LAST)
    while True:
        value, start = loss + _penalty_of(theta, members, penalty), theta.copy()
        copy_matrix_into(model, slopes)
        gain, left, more = _minimise_model(columns, members, penalty, rows, theta, model, value, precision * value)
        sweeps += more
        optimal = gain <= tol * value
        if not np.isfinite(gain + value) or (steps >= most and not optimal):
            copy_matrix_into(theta, start)
            return loss, gain, steps, sweeps, STEPS_USED_UP if np.isfinite(gain + value) else NOT_FINITE
        new, length = _line_search(columns, codes, members, penalty, rows, start, theta, scores, slopes, value, gain)
        if new == np.inf:
            return loss, gain, steps, sweeps, OPTIMAL if gain <= max(tol, 1e-7) * value else NO_DESCENT
        left = left + _missed(rows, model, slopes) if length == 1.0 else np.inf
        loss, steps = new, steps + (not optimal)
        if optimal or left <= tol * value:
            return loss, min(left, gain), steps, sweeps, OPTIMAL


@kernel
def _lacking(columns, is_member, penalty, curves, theta, gradient):  # type: ignore[no-untyped-def]
    """What columns that are no members would gain, each by itself."""
    l1, ridge = penalty
    total = 0.0
    for j in range(l1.size):
        for k in range(theta.shape[0]):
            over = abs(gradient[k, j]) - l1[j]
            if over > 0.0 and not is_member[j]:
                curvature = ridge[j]
                for i in range(columns.shape[1]):
                    curvature += columns[j, i] * columns[j, i] * curves[k, i]
                total += 0.5 * over * over / curvature
    return total


@kernel
def _join(is_member, penalty, bound, theta, gradient):  # type: ignore[no-untyped-def]
    """Mark columns whose gradient exceeds ``bound`` times the penalty, the steepest where they are many; how many."""
    l1 = penalty[0]
    ratio, wanted, size = np.zeros(l1.size), 0, 0
    for j in range(l1.size):
        for k in range(theta.shape[0]):
            is_member[j] |= theta[k, j] != 0.0 or l1[j] == 0.0
        size += is_member[j]
        if not is_member[j]:
            for k in range(theta.shape[0]):
                ratio[j] = max(ratio[j], abs(gradient[k, j]) / l1[j])
            wanted += ratio[j] > bound
    while wanted > size + _FIRST_MEMBERS:
        bound *= 1.1
        wanted = 0
        for j in range(l1.size):
            wanted += ratio[j] > bound
    for j in range(l1.size):
        is_member[j] |= ratio[j] > bound
    return wanted


@kernel
def _minimise_penalised(columns, codes, penalty, bound, rows, theta, scores, slopes, loss, gradient, tol, most):  # type: ignore[no-untyped-def]
    """Minimise mean loss plus penalty from ``theta``, with its ``scores`` and what follows from them, all in place.

    Columns whose ``gradient`` exceeds ``bound`` times the penalty are members from the start. Then the gradient of all
    columns tells which are missing; they join unless all of them together would not be noticed.
    """
    is_member = np.zeros(columns.shape[0], dtype=np.bool_)
    steps, visits, passes = 0, 0, 0
    _join(is_member, penalty, bound, theta, gradient)
    while True:
        members = places(is_member)
        loss, left, more, sweeps, reason = _minimise_members(
            columns, codes, members, penalty, rows, theta, scores, slopes, loss, tol, most - steps
        )
        steps, visits, passes = steps + more, visits + sweeps * members.size, passes + 1
        add_products(columns, slopes, gradient)
        left += _lacking(columns, is_member, penalty, rows[1], theta, gradient)
        enough = left <= tol * (loss + _penalty_of(theta, members, penalty))
        if reason != OPTIMAL or enough or _join(is_member, penalty, 1.0, theta, gradient) == 0:
            return loss, left, steps, visits, passes, reason


@kernel
def _carrying(theta):  # type: ignore[no-untyped-def]
    """The columns with a coefficient that is not 0."""
    found, size = np.empty(theta.shape[1], np.int64), 0
    for j in range(theta.shape[1]):
        for k in range(theta.shape[0]):
            if theta[k, j] != 0.0:
                found[size] = j
                size += 1
                break
    return found[:size]


@kernel
def _go_ahead(columns, codes, penalty, length, older, rows, offset, theta, scores, slopes, loss):  # type: ignore[no-untyped-def]
    """Start from where the last two solutions point to, if the objective is less there than at the last; the loss.

    Coefficients that are 0, or would change their sign, stay as they are.
    """
    carrying = _carrying(theta)
    value = loss + _penalty_of(theta, carrying, penalty)
    ahead, moved = theta.copy(), offset.copy()
    for j in carrying:
        for k in range(theta.shape[0]):
            aim = theta[k, j] + length * (theta[k, j] - older[k, j])
            if aim * theta[k, j] > 0.0:
                ahead[k, j] = aim
    add_scores(columns, carrying, np.zeros(theta.shape), ahead, moved)
    loss = weighted_losses(moved, codes, rows, slopes)
    if loss + _penalty_of(ahead, carrying, penalty) < value:
        copy_matrix_into(theta, ahead)
        copy_matrix_into(scores, moved)
        return loss
    return weighted_losses(scores, codes, rows, slopes)


@kernel
def minimise_path(columns, codes, weight, offset, units, strengths, tol, most, state, thetas, gradients, found):  # type: ignore[no-untyped-def]
    """Minimise mean loss plus penalty at decreasing strengths, each from where the two before it point to.

    ``units`` (l1, ridge) times a strength are its penalty. The first two strengths are those of ``state``, which goes
    along: coefficients at the first and at the second, and the gradient of the mean loss at the second; where they are
    equal, the second need not be solved. Columns are screened by the sequential strong rule (Tibshirani et al. 2012).

    Of each strength that follows, ``thetas`` and ``gradients`` take the solution and the gradient of its mean loss,
    ``found`` the mean loss, what is left to gain, the steps, the sweeps over a column, the passes over all columns, and
    why it ended.
    """
    older, theta, gradient = state
    rows = (weight, np.empty(offset.shape), np.empty(offset.shape))
    scores, slopes = offset.copy(), np.empty(offset.shape)
    add_scores(columns, _carrying(theta), np.zeros(theta.shape), theta, scores)
    loss = weighted_losses(scores, codes, rows, slopes)
    for s in range(found.shape[0]):
        oldest, stronger, strength = strengths[s], strengths[s + 1], strengths[s + 2]
        penalty, last = (np.empty(theta.shape[1]), np.empty(theta.shape[1])), theta.copy()
        for j in range(theta.shape[1]):
            penalty[0][j], penalty[1][j] = strength * units[0][j], strength * units[1][j]
        if oldest != stronger:
            length = (strength - stronger) / (stronger - oldest)
            loss = _go_ahead(columns, codes, penalty, length, older, rows, offset, theta, scores, slopes, loss)
        bound = max(1.0 - _LENIENT * (stronger / max(strength, 1e-300) - 1.0), _LEAST_BOUND)
        loss, left, steps, visits, passes, reason = _minimise_penalised(
            columns, codes, penalty, bound, rows, theta, scores, slopes, loss, gradient, tol, most
        )
        found[s, 0], found[s, 1], found[s, 2] = loss, left, steps
        found[s, 3], found[s, 4], found[s, 5] = visits, passes, reason
        copy_matrix_into(older, last)
        copy_matrix_into(thetas[s], theta)
        copy_matrix_into(gradients[s], gradient)
