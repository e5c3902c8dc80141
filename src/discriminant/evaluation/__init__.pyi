"""Public names of the evaluation of classifiers, and where they are defined."""

from .confusion import ConfusionMatrix
from .curves import (
    AucComparison,
    BestThreshold,
    PrecisionRecall,
    PrecisionRecalls,
    Roc,
    Rocs,
    compare_auc,
    precision_recall,
    roc,
)
from .evaluation import Evaluation, evaluate, evaluation_of
from .intervals import Estimate, Interval, wilson_interval
from .probabilities import BrierParts, CalibrationBins, CalibrationLine, RiskCoverage, calibration_line, risk_coverage
from .streaming import Evaluator, ScoreHistogram

__all__ = [
    "AucComparison",
    "BestThreshold",
    "BrierParts",
    "CalibrationBins",
    "CalibrationLine",
    "ConfusionMatrix",
    "Estimate",
    "Evaluation",
    "Evaluator",
    "Interval",
    "PrecisionRecall",
    "PrecisionRecalls",
    "RiskCoverage",
    "Roc",
    "Rocs",
    "ScoreHistogram",
    "calibration_line",
    "compare_auc",
    "evaluate",
    "evaluation_of",
    "precision_recall",
    "risk_coverage",
    "roc",
    "wilson_interval",
]
