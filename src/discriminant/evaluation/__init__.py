"""How good a classifier is: counts, curves, calibration, each number with an interval."""

from .calibration import BrierParts, CalibrationBins, CalibrationLine, calibration_line
from .comparison import AucComparison, compare_auc
from .counts import ConfusionMatrix
from .curves import PrecisionRecall, Roc
from .evaluate import evaluate, evaluation_of
from .histogram import ScoreHistogram
from .intervals import Interval, wilson_interval
from .many import PrecisionRecalls, Rocs, precision_recall, roc
from .report import Estimate, Evaluation
from .selective import RiskCoverage, risk_coverage
from .stream import Evaluator
from .thresholds import BestThreshold

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
