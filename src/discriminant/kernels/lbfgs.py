"""L-BFGS of many fits at once: the two loops of its recursion (Nocedal 1980), for each fit with its own pairs.

A few fits of a small table are a thousand products of short vectors: in NumPy each costs more than its arithmetic.
``steps`` and ``changes`` (memory, fits, parameters) and the ``inverses`` of their products (memory, fits) are read at
the places ``order``, the oldest first; ``chosen`` are the fits that ``q`` (chosen, parameters) belongs to.
"""

from __future__ import annotations

from . import summing_kernel


@summing_kernel
def first_loop(steps, changes, inverses, order, chosen, shares, q):  # type: ignore[no-untyped-def]
    """From the newest pair to the oldest: take what they explain off the gradients ``q``; writes their ``shares``."""
    for g in range(chosen.size):
        fit = chosen[g]
        for t in range(order.size - 1, -1, -1):
            step, change, product = steps[order[t], fit], changes[order[t], fit], 0.0
            for i in range(step.size):
                product += step[i] * q[g, i]
            share = inverses[order[t], fit] * product
            shares[g, t] = share
            for i in range(step.size):
                q[g, i] -= share * change[i]


@summing_kernel
def second_loop(steps, changes, inverses, order, chosen, shares, q):  # type: ignore[no-untyped-def]
    """From the oldest pair to the newest: add what they explain to the directions ``q``."""
    for g in range(chosen.size):
        fit = chosen[g]
        for t in range(order.size):
            step, change, product = steps[order[t], fit], changes[order[t], fit], 0.0
            for i in range(step.size):
                product += change[i] * q[g, i]
            share = shares[g, t] - inverses[order[t], fit] * product
            for i in range(step.size):
                q[g, i] += share * step[i]
