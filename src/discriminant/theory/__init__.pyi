"""Every public name of the theory, and where it is defined."""

from .bayes import BayesClassifier, BayesError, DensityCurves, bayes_error, density_curves
from .distances import (
    ChernoffDistance,
    ClassDistances,
    ErrorBounds,
    bhattacharyya,
    chernoff,
    class_distances,
    cross_entropy,
    entropy,
    error_bounds,
    js_divergence,
    kl_divergence,
    unbiased_bhattacharyya,
)
from .distributions import Gaussian, class_gaussians, distance_limits

__all__ = [
    "BayesClassifier",
    "BayesError",
    "ChernoffDistance",
    "ClassDistances",
    "DensityCurves",
    "ErrorBounds",
    "Gaussian",
    "bayes_error",
    "bhattacharyya",
    "chernoff",
    "class_distances",
    "class_gaussians",
    "cross_entropy",
    "density_curves",
    "distance_limits",
    "entropy",
    "error_bounds",
    "js_divergence",
    "kl_divergence",
    "unbiased_bhattacharyya",
]
