"""Over- and underfitting in words, from scores on training rows and on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .resampled import Estimate, corrected_mean

Array = np.ndarray[Any, Any]

#: A difference is worth a word only from this share of the error it is measured against.
_NOTABLE = 0.1


def fitting_notes(
    name: str, train: Array, held_out: Array, baseline: Array, ratio: float, one_split_error: float = np.nan
) -> list[str]:
    """What accuracies on training rows and on held-out rows say about a model, a sentence for each sign.

    Overfitting: the gap between the two is beyond chance and a notable part of the error. Underfitting: even on the
    rows it learned from, the model is hardly better than the most frequent class.
    """
    gap = _paired(train - held_out, ratio, one_split_error)
    notes = []
    if gap.interval().low > 0 and gap.value > _NOTABLE * (1 - held_out.mean()):
        notes.append(
            f"{name} overfits: accuracy {train.mean():.4f} on the rows it learned from, {held_out.mean():.4f} on "
            f"held-out rows (gap {gap}). More rows, fewer columns or a stronger penalty "
            "narrow it."
        )
    gain = _paired(train - baseline, ratio, one_split_error)
    if gain.interval().low <= 0 or gain.value <= _NOTABLE * (1 - baseline.mean()):
        notes.append(
            f"{name} underfits: accuracy {train.mean():.4f} on the rows it learned from and {held_out.mean():.4f} on "
            f"held-out rows, where the most frequent class alone reaches {baseline.mean():.4f}. Other columns, terms "
            "of higher order or a weaker penalty may help."
        )
    return notes


def _paired(differences: Array, ratio: float, one_split_error: float) -> Estimate:
    if len(differences) == 1:
        return Estimate(float(differences[0]), one_split_error, np.inf)
    return corrected_mean(differences, ratio)
