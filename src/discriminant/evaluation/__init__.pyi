"""Public names of the evaluation of classifiers, and where they are defined."""

from .auc_comparison import AucComparison, compare_auc
from .calibration import BrierParts, CalibrationBins
from .class_curves import ClassCurves, precision_recall, roc
from .confusion import ConfusionMatrix
from .curves import BestThreshold, ThresholdCurve
from .evaluation import Evaluation
from .intervals import Estimate, Interval, wilson_interval
from .model_evaluation import evaluate, evaluation_of
from .predictions import EvaluationOptions, LabelledPredictions
from .probabilities import RiskCoverage, risk_coverage
from .recalibration import CalibrationLine, calibration_line
from .streaming import Evaluator, ScoreHistogram

__all__ = [
    "AucComparison",
    "BestThreshold",
    "BrierParts",
    "CalibrationBins",
    "CalibrationLine",
    "ClassCurves",
    "ConfusionMatrix",
    "Estimate",
    "Evaluation",
    "EvaluationOptions",
    "Evaluator",
    "Interval",
    "LabelledPredictions",
    "RiskCoverage",
    "ScoreHistogram",
    "ThresholdCurve",
    "calibration_line",
    "compare_auc",
    "evaluate",
    "evaluation_of",
    "precision_recall",
    "risk_coverage",
    "roc",
    "wilson_interval",
]
