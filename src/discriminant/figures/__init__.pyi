"""Every figure, and where it is drawn."""

from .animation import descent_trace, perceptron_trace
from .models import boundary, coefficients, decision_regions, effect, projected_histograms, regularisation_path
from .performance import (
    calibration_curve,
    comparison,
    confusion,
    cost_curve,
    error_sources,
    learning_curve,
    precision_recall_curve,
    risk_coverage,
    roc_curve,
)
from .theme import write_html

__all__ = [
    "boundary",
    "calibration_curve",
    "coefficients",
    "comparison",
    "confusion",
    "cost_curve",
    "decision_regions",
    "descent_trace",
    "effect",
    "error_sources",
    "learning_curve",
    "perceptron_trace",
    "precision_recall_curve",
    "projected_histograms",
    "regularisation_path",
    "risk_coverage",
    "roc_curve",
    "write_html",
]
