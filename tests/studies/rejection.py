"""The share of the rows of a class that are rejected by their Mahalanobis distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from scipy.special import gammaincinv

from discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discriminant.theory import class_gaussians, distance_limits

TITLE: Final = "Rejection by distance"
TEXT: Final = """
Four normal classes have n training rows each, and separate covariances (QDA) or a common one (LDA). `reject=0.99` and
`reject=0.95` reject rows by their Mahalanobis distance, outside Hotelling's prediction region of the class. Each
replication has 1,000 new rows. The columns of the table:

- **nominal**: the intended share of new rows of the class that are rejected, 1 % or 5 %.
- **rejected**: the simulated share, which may differ from the nominal one by a tenth of it and two standard errors of
  the simulation.
- **beyond chi-square**: the share beyond the quantile of the chi-square distribution, which treats means and
  covariances as known.
"""
REPLICATIONS: Final = 1_000
SAMPLE: Final = 100
N_CLASSES: Final = 4
NEW_ROWS: Final = 250
#: Bands and rows of each class; 64 bands with 190 rows are an airborne spectrometer with small training areas.
SIZES: Final = ((3, 20), (6, 60), (12, 40), (64, 190))
SHARES: Final = (0.95, 0.99)
#: The share that is rejected may differ from the nominal one by a tenth of it.
TOLERANCE: Final = 0.1


def tasks() -> list[tuple]:
    """Every model, number of bands and of rows, and share that is kept."""
    return [("rejection", model, p, n, share) for model in ("qda", "lda") for p, n in SIZES for share in SHARES]


def run(task: tuple, replications: int) -> dict[str, float]:
    """The shares rejected, and the standard error of the first between replications."""
    _, name, p, n, share = task
    found, chi_square = [], []
    for replication in range(replications):
        rng = np.random.default_rng([p, n, round(1000 * share), name == "lda", replication])
        n_roots = 1 if name == "lda" else N_CLASSES
        roots = np.eye(p) + 0.3 * rng.normal(size=(n_roots, p, p))
        y = np.repeat(np.arange(N_CLASSES), n)
        X = _drawn(rng, roots, y)
        model = (LinearDiscriminantAnalysis() if name == "lda" else QuadraticDiscriminantAnalysis()).fit(X, y)
        new = np.repeat(np.arange(N_CLASSES), NEW_ROWS)
        rows, limits = _drawn(rng, roots, new), distance_limits(model, share)
        for k, gaussian in class_gaussians(model).items():
            steps = (rows[new == k] - gaussian.mean) @ gaussian.inverse_root.T
            distance = np.square(steps).sum(axis=1)
            found.append(np.mean(distance > limits[k]))
            chi_square.append(np.mean(distance > 2 * gammaincinv(p / 2, share)))
    error = np.std(found) / np.sqrt(len(found))
    return {"rejected": float(np.mean(found)), "chi_square": float(np.mean(chi_square)), "error": float(error)}


def _drawn(rng: np.random.Generator, roots: np.ndarray, y: np.ndarray) -> np.ndarray:
    noise = np.einsum("ij,ijk->ik", rng.normal(size=(len(y), roots.shape[1])), roots[y % len(roots)])
    return noise + 2.0 * y[:, None]


def table(found: Mapping[tuple, Mapping[str, float]]) -> list[str]:
    """A line for each setting."""
    head = ["| model | bands | n | nominal | rejected | beyond chi-square |", "|---|---:|---:|---:|---:|---:|"]
    lines = [
        f"| {name.upper()} | {p} | {n} | {1 - share:.2f} | {one['rejected']:.4f} | {one['chi_square']:.4f} |"
        for (_, name, p, n, share), one in found.items()
    ]
    return [*head, *lines]


def check(found: Mapping[tuple, Mapping[str, float]], replications: int) -> list[str]:
    """Settings where the share rejected differs from the nominal one by more than a tenth and two standard errors."""
    return [
        f"{task}: rejected {one['rejected']:.4f}, nominal {1 - task[-1]:.2f}"
        for task, one in found.items()
        if abs(one["rejected"] - (1 - task[-1])) > TOLERANCE * (1 - task[-1]) + 2 * one["error"]
    ]
