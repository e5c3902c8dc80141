"""Public names of decisions from probabilities, and where they are defined."""

from .posteriors import Posterior, TopClasses, posterior, top_k
from .prior_shift import PriorEstimate, estimate_priors
from .rules import Decision, Explanation

__all__ = [
    "Decision",
    "Explanation",
    "Posterior",
    "PriorEstimate",
    "TopClasses",
    "estimate_priors",
    "posterior",
    "top_k",
]
