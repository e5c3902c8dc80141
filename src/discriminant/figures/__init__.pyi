"""Every figure, and where it is drawn."""

from .animation import descent_trace, dual_trace, perceptron_trace
from .densities import class_densities, loss_curves
from .geometry import (
    boundary,
    hyperplane,
    projected_histograms,
    projections,
    score_surface,
    sphering,
    sphering_movement,
)
from .models import code_matrix, coefficients, effect, images, regularisation_path
from .paths import boundary_paths, coefficient_growth, likelihood_paths
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
from .points import scatter
from .regions import boundaries, decision_regions, moving_boundary
from .theme import alt_text, write_html, write_image

__all__ = [
    "alt_text",
    "boundaries",
    "boundary",
    "boundary_paths",
    "calibration_curve",
    "class_densities",
    "code_matrix",
    "coefficient_growth",
    "coefficients",
    "comparison",
    "confusion",
    "cost_curve",
    "decision_regions",
    "degree_curve",
    "descent_trace",
    "dual_trace",
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
    "scatter",
    "score_surface",
    "sphering",
    "sphering_movement",
    "write_html",
    "write_image",
]
