"""Effects on the probability scale: averaged predictions, comparisons and slopes of a fitted model."""

from .options import EffectOptions
from .results import Effects
from .verbs import comparisons, predictions, slopes, typical_row

__all__ = ["EffectOptions", "Effects", "comparisons", "predictions", "slopes", "typical_row"]
