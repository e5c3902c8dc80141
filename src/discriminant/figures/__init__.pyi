"""Every figure, and where it is drawn."""

from .curves import calibration_curve, cost_curve, precision_recall_curve, risk_coverage, roc_curve
from .descent import descent_trace
from .house import write_html
from .lines import boundary, projected_histograms
from .models import comparison, error_sources, learning_curve
from .paths import regularisation_path
from .regions import decision_regions
from .steps import perceptron_trace
from .tables import confusion
from .terms import coefficients

__all__ = [
    "boundary",
    "calibration_curve",
    "coefficients",
    "comparison",
    "confusion",
    "cost_curve",
    "decision_regions",
    "descent_trace",
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
