"""Where the winner is right and wrong: confusion, curves and calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evaluation.curves import Roc, Rocs
from .drawing import drawing
from .material import Material
from .numbers import between, count, measured, percent, quoted

#: Remarks of an evaluation that other parts of the report make themselves.
_SAID_ELSEWHERE = ("not available", "cost is the mean cost")
CLASS_MEASURES = ("recall", "precision", "f1", "auc")
_NO_SCORES = "There are no scores to draw it from: the model's probabilities or margins of held-out rows were not kept."
_NO_PROBABILITIES = (
    "Calibration is a matter of probabilities, and this model gives none: its scores are distances from the boundary. "
    "Calibrated probabilities can be learned from held-out rows with DecisionClassifier(calibration=…)."
)


@dataclass(frozen=True)
class Confused:
    """Rows of one class that were given another: how many, and of how many."""

    truth: str
    prediction: str
    n: float
    total: float

    @property
    def words(self) -> str:
        return (
            f"{quoted(self.truth)} taken for {quoted(self.prediction)} ({count(self.n)} of {count(self.total)} rows of "
            f"{quoted(self.truth)})"
        )


def confused(material: Material) -> list[Confused]:
    """All confusions that happened, the most frequent first."""
    confusion = material.evaluation.confusion
    assert confusion is not None
    counts = confusion.counts
    found = [
        Confused(str(truth), str(prediction), float(counts[i, j]), float(counts[i].sum()))
        for i, truth in enumerate(confusion.classes.tolist())
        for j, prediction in enumerate(confusion.predictions.tolist())
        if i != j and counts[i, j] > 0
    ]
    return sorted(found, key=lambda pair: -pair.n)


def confusion_part(material: Material) -> dict[str, Any]:
    """What the part on right and wrong answers shows."""
    from ..figures import confusion as confusion_figure

    evaluation = material.evaluation
    return {
        "evaluated_on": material.evaluated_on,
        "n_rows": count(evaluation.n_rows),
        "worst": [pair.words for pair in confused(material)[:3]],
        "classes": _class_lines(material),
        "measures": _measures(material),
        "notes": [note for note in evaluation.notes if not any(said in note for said in _SAID_ELSEWHERE)],
        "drawing": drawing("plot-confusion", confusion_figure, evaluation.confusion),
    }


def _measures(material: Material) -> list[str]:
    """The measures of each class; the AUC of two classes is the same for both, and told with its curve."""
    known = {found.metric for found in material.evaluation.estimates}
    return [m for m in CLASS_MEASURES if m in known and (m != "auc" or len(material.classes) > 2)]


def _class_lines(material: Material) -> list[dict[str, Any]]:
    confusion, lines = material.evaluation.confusion, []
    assert confusion is not None
    for label, rows in zip(material.classes, confusion.counts.sum(axis=1).tolist(), strict=True):
        found = [material.evaluation[metric, label] for metric in _measures(material)]
        cells = [(measured(one.metric, one.value), between(one.metric, one.low, one.high)) for one in found]
        lines.append({"label": str(label), "rows": count(rows), "cells": cells})
    return lines


def roc_part(material: Material) -> dict[str, Any]:
    """What the part on the ROC curve shows."""
    from ..figures import roc_curve

    curve = material.evaluation.roc
    if curve is None:
        return {"reason": _NO_SCORES, "sentence": ""}
    auc = material.evaluation["auc"]
    if math.isnan(auc.value):
        return {"reason": auc.note, "sentence": ""}
    ends = between("auc", auc.low, auc.high)
    known = f"AUC {auc.value:.3f}{f' ({ends})' if ends else ''}"
    if isinstance(curve, Rocs):
        pairs = f"A row of a class scores above a row of another class in {percent(auc.value)} of all pairs"
        sentence = f"{pairs}, averaged over the classes: {known}."
    else:
        pairs = f"A row of {quoted(curve.positive)} scores above a row of the other class"
        sentence = f"{pairs} in {percent(auc.value)} of all pairs: {known}."
    return {"reason": "", "sentence": sentence, "drawing": drawing("plot-roc", roc_curve, curve)}


def calibration_part(material: Material) -> dict[str, Any]:
    """What the part on calibration shows."""
    from ..figures import calibration_curve

    evaluation = material.evaluation
    if not evaluation.calibration:
        return {"reason": _NO_PROBABILITIES if evaluation.roc is not None else _NO_SCORES, "sentences": []}
    bins, curve = evaluation.calibration, evaluation.roc
    # Of two classes one tells all: the other's probabilities are the complement.
    shown = bins[curve.positive] if isinstance(curve, Roc) else bins
    return {
        "reason": "",
        "distance": f"{100 * np.mean([found.ece() for found in bins.values()]):.1f}",
        "sentences": _calibration_sentences(material),
        "drawing": drawing("plot-calibration", calibration_curve, shown),
    }


def _calibration_sentences(material: Material) -> list[str]:
    bins, line = material.evaluation.calibration, material.evaluation.calibration_line
    errors = {label: found.ece() for label, found in bins.items()}
    worst = max(errors, key=lambda label: errors[label])
    sentences = []
    if len(errors) > 2:
        sentences.append(f"It is largest for {quoted(worst)}, {100 * errors[worst]:.1f} points.")
    if line is not None and math.isfinite(line.slope):
        sentences.append(_slope_sentence(line.slope, line.slope_error))
    return sentences


def _slope_sentence(slope: float, error: float) -> str:
    known = f"slope of the log-odds {slope:.2f}, standard error {error:.2f}"
    if abs(slope - 1) < 2 * error:
        return f"Probabilities are neither too sure nor too timid, as far as these rows can tell ({known}; 1 is right)."
    if slope < 1:
        return f"Probabilities are too sure: extreme ones come true less often than they say ({known}; 1 is right)."
    return f"Probabilities are too timid: the truth is more clear-cut than they say ({known}; 1 is right)."
