"""Pictures of models and of how good they are, as plotly figures. They draw; the numbers come from below.

A figure's module, and plotly, are imported when the figure is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    "boundary": "lines",
    "calibration_curve": "curves",
    "coefficients": "terms",
    "comparison": "models",
    "confusion": "tables",
    "cost_curve": "curves",
    "decision_regions": "regions",
    "descent_trace": "descent",
    "error_sources": "models",
    "learning_curve": "models",
    "perceptron_trace": "steps",
    "precision_recall_curve": "curves",
    "projected_histograms": "lines",
    "regularisation_path": "paths",
    "risk_coverage": "curves",
    "roc_curve": "curves",
    "write_html": "house",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
