"""Every figure, and where it is drawn."""

from .concepts import class_densities, dual_trace, loss_curves, perceptron_trace
from .curves import calibration_curve, cost_curve, precision_recall_curve, risk_coverage, roc_curve
from .directions import projected_histograms, projections, sphering, sphering_movement
from .geometry import boundary, hyperplane, score_surface
from .iterations import boundary_paths, coefficient_growth, descent_trace, likelihood_paths
from .models import category_curves, code_matrix, coefficients, effect, images, pair_effect, regularisation_path
from .performance import comparison, confusion, degree_curve, error_sources, learning_curve
from .points import scatter
from .regions import boundaries, decision_regions, moving_boundary
from .support_vectors import support_vector_steps
from .theme import alt_text, write_html, write_image
from .validation import (
    binned_residuals,
    decision_curve,
    effects,
    group_measures,
    influence,
    instability,
    smooth_calibration,
)

__all__ = [
    "alt_text",
    "binned_residuals",
    "boundaries",
    "boundary",
    "boundary_paths",
    "calibration_curve",
    "category_curves",
    "class_densities",
    "code_matrix",
    "coefficient_growth",
    "coefficients",
    "comparison",
    "confusion",
    "cost_curve",
    "decision_curve",
    "decision_regions",
    "degree_curve",
    "descent_trace",
    "dual_trace",
    "effect",
    "effects",
    "error_sources",
    "group_measures",
    "hyperplane",
    "images",
    "influence",
    "instability",
    "learning_curve",
    "likelihood_paths",
    "loss_curves",
    "moving_boundary",
    "pair_effect",
    "perceptron_trace",
    "precision_recall_curve",
    "projected_histograms",
    "projections",
    "regularisation_path",
    "risk_coverage",
    "roc_curve",
    "scatter",
    "score_surface",
    "smooth_calibration",
    "sphering",
    "sphering_movement",
    "support_vector_steps",
    "write_html",
    "write_image",
]
