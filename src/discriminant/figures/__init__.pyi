"""Every figure, and where it is drawn."""

from .animation import descent_trace, likelihood_paths, perceptron_trace
from .densities import class_densities, loss_curves
from .geometry import boundary, hyperplane, projected_histograms, projections, score_surface, sphering
from .models import code_matrix, coefficients, effect, images, regularisation_path
from .performance import (
    calibration_curve,
    comparison,
    confusion,
    cost_curve,
    degree_curve,
    error_sources,
    learning_curve,
    precision_recall_curve,
    risk_coverage,
    roc_curve,
)
from .regions import decision_regions, moving_boundary
from .theme import alt_text, write_html, write_image

__all__ = [
    "alt_text",
    "boundary",
    "calibration_curve",
    "class_densities",
    "code_matrix",
    "coefficients",
    "comparison",
    "confusion",
    "cost_curve",
    "decision_regions",
    "degree_curve",
    "descent_trace",
    "effect",
    "error_sources",
    "hyperplane",
    "images",
    "learning_curve",
    "likelihood_paths",
    "loss_curves",
    "moving_boundary",
    "perceptron_trace",
    "precision_recall_curve",
    "projected_histograms",
    "projections",
    "regularisation_path",
    "risk_coverage",
    "roc_curve",
    "score_surface",
    "sphering",
    "write_html",
    "write_image",
]
