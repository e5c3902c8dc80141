"""From probabilities to actions: posteriors, costs, abstaining, prior shift, and what the best decision could reach."""

from .bayes import BayesClassifier
from .bayes_risk import BayesError, bayes_error
from .bounds import (
    ChernoffDistance,
    ClassDistances,
    ErrorBounds,
    bhattacharyya,
    chernoff,
    class_distances,
    error_bounds,
)
from .divergence import cross_entropy, entropy, js_divergence, kl_divergence
from .gaussians import Gaussian, class_gaussians
from .posteriors import Posterior, TopClasses, posterior, top_k
from .rules import Decision
from .shift import PriorEstimate, estimate_priors
from .words import Explanation

__all__ = [
    "BayesClassifier",
    "BayesError",
    "ChernoffDistance",
    "ClassDistances",
    "Decision",
    "ErrorBounds",
    "Explanation",
    "Gaussian",
    "Posterior",
    "PriorEstimate",
    "TopClasses",
    "bayes_error",
    "bhattacharyya",
    "chernoff",
    "class_distances",
    "class_gaussians",
    "cross_entropy",
    "entropy",
    "error_bounds",
    "estimate_priors",
    "js_divergence",
    "kl_divergence",
    "posterior",
    "top_k",
]
