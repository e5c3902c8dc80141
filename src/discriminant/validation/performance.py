"""Measures of predicted probabilities, as an internal validation repeats them in every resample.

The models of many resamples are measured together, each on its own rows and on all: these differ only in the weights
of the rows, so that the scores of a model are ranked once.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
from scipy.special import xlogy

from ..arrays import Array
from ..evaluation.ranking import aucs
from ..evaluation.recalibration import fitted_lines, log_odds
from ..solvers.weightings import BLOCK_VALUES

#: The least probability in a log-loss.
MIN_PROBABILITY: Final = 1e-300


def performance(posterior: Array, codes: Array, weight: Array, rank: Array | None = None) -> dict[str, float]:
    """Measures of probabilities (n, K): of two classes those of the second one, of several the means over the classes.

    ``r2`` is Nagelkerke's; of two classes that of the recalibrated linear predictor, as in R's rms. Measures of a class
    that several classes have are called ``auc[k]``, ``calibration_intercept[k]`` and ``calibration_slope[k]``, with k
    the number of the class. Ordered classes, of these ranks, also have ``rps`` and ``somers_d`` (`evaluation.ordinal`).
    """
    kept = weight > 0
    found = performances(posterior[None, kept], codes[kept], weight[None, None, kept], rank)
    return {name: float(values[0, 0]) for name, values in found.items()}


def performances(posterior: Array, codes: Array, weights: Array, rank: Array | None = None) -> dict[str, Array]:
    """`performance` of the models (m, n, K), for several weightings (m, s, n) of their rows: arrays (m, s)."""
    step = max(1, BLOCK_VALUES // max(1, weights[0].size))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [
            _of_block(posterior[start : start + step], codes, weights[start : start + step], rank)
            for start in range(0, len(posterior), step)
        ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _of_block(posterior: Array, codes: Array, weights: Array, rank: Array | None) -> dict[str, Array]:
    K = posterior.shape[2]
    truth = codes[:, None] == np.arange(K)
    total = weights.sum(axis=2)
    counts = weights @ truth.astype(np.float64)
    shares = counts / total[:, :, None]
    null = -total * xlogy(shares, shares).sum(axis=2)
    own = np.maximum(posterior[:, np.arange(len(codes)), codes], MIN_PROBABILITY)
    is_right = (posterior.argmax(axis=2) == codes)[:, None]
    right = (weights * is_right) @ truth.astype(np.float64)
    error = posterior - truth
    squares = np.einsum("mnk,mnk->mn", error, error) / (2 if K == 2 else 1)
    undefined = np.full(total.shape, np.nan)
    found = {
        "auc": undefined,
        "brier": _sums(weights, squares) / total,
        "log_loss": -_sums(weights, np.log(own)) / total,
        "r2": undefined,
        "calibration_intercept": undefined,
        "calibration_slope": undefined,
        "accuracy": right.sum(axis=2) / total,
        "balanced_accuracy": np.nansum(right / counts, axis=2) / (counts > 0).sum(axis=2),
    }
    if K == 2:
        recalibrated, loss = _of_class(posterior[:, :, 1], truth[:, 1], weights)
        return found | recalibrated | {"r2": nagelkerke(loss, null, total)}
    if rank is not None:
        found |= _of_ordered(posterior[:, :, np.argsort(rank)], rank[codes], weights, total)
    by_class = [_of_class(posterior[:, :, k], truth[:, k], weights)[0] for k in range(K)]
    found |= {name: np.mean([one[name] for one in by_class], axis=0) for name in by_class[0]}
    found["r2"] = nagelkerke(found["log_loss"] * total, null, total)
    return found | {f"{name}[{k}]": one[name] for k, one in enumerate(by_class) for name in one}


def _of_ordered(posterior: Array, truth: Array, weights: Array, total: Array) -> dict[str, Array]:
    """Ranked probability score and Somers' D; classes are in their order, ``truth`` is the rank of each row."""
    K = posterior.shape[2]
    below = np.cumsum(posterior, axis=2)[:, :, :-1] - (truth[:, None] <= np.arange(K - 1))
    score, concordance, comparable = posterior @ np.arange(K), np.zeros_like(total), np.zeros_like(total)
    for low, high in combinations(range(K), 2):
        rows = (truth == low) | (truth == high)
        own, is_high = weights[:, :, rows], truth[rows] == high
        pairs = (own * is_high).sum(axis=2) * (own * ~is_high).sum(axis=2)
        difference = 2 * aucs(is_high, score[:, rows], own) - 1
        concordance += np.where(pairs > 0, pairs * difference, 0.0)
        comparable += pairs
    rps = _sums(weights, np.einsum("mnk,mnk->mn", below, below) / (K - 1)) / total
    return {"rps": rps, "somers_d": concordance / comparable}


def _sums(weights: Array, values: Array) -> Array:
    """Weighted sums (m, s) of values (m, n)."""
    return np.asarray((weights @ values[:, :, None])[:, :, 0])


def _of_class(p: Array, truth: Array, weights: Array) -> tuple[dict[str, Array], Array]:
    """AUC, intercept and slope of the calibration line of a class, and the total log-loss of this line."""
    (m, s, n), x = weights.shape, log_odds(p)
    lines = fitted_lines(np.repeat(x, s, axis=0), truth, weights.reshape(m * s, n)).reshape(m, s, 2)
    scores = (lines[:, :, :1] + lines[:, :, 1:] * x[:, None]) * np.where(truth, 1.0, -1.0)
    losses = np.maximum(-scores, 0.0) + np.log1p(np.exp(-np.abs(scores)))
    ranked = aucs(truth, p, weights)
    found = {"auc": ranked, "calibration_intercept": lines[:, :, 0], "calibration_slope": lines[:, :, 1]}
    return found, np.einsum("msn,msn->ms", weights, losses)


def nagelkerke(loss: Array, null: Array, total: Array) -> Array:
    """Nagelkerke's R2 of models with this total log-loss, where that of the class proportions alone is ``null``."""
    most = -np.expm1(-2 * null / total)
    return np.where(most > 0, -np.expm1(2 * (loss - null) / total) / most, np.nan)
