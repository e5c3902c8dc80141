"""Linear classification, whole: from a table, a text matrix or an image to a decision that can be defended.

Everything public is here; modules below are private to the package. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .decision.bayes import BayesClassifier
    from .decision.bayes_risk import bayes_error
    from .decision.bounds import bhattacharyya, chernoff, class_distances, error_bounds
    from .decision.divergence import cross_entropy, entropy, js_divergence, kl_divergence
    from .decision.gaussians import Gaussian, class_gaussians
    from .decision.posteriors import Posterior, posterior, top_k
    from .decision.rules import Decision
    from .decision.shift import estimate_priors
    from .estimators.decided import DecisionClassifier
    from .estimators.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from .estimators.fisher import FisherDiscriminant
    from .estimators.least_squares import LeastSquaresClassifier
    from .estimators.logistic import LogisticRegression
    from .estimators.logistic_path import LogisticRegressionCV, LogisticRegressionPath
    from .estimators.many_classes import OneVsOne, OneVsRest, OutputCode
    from .estimators.minimum_distance import MinimumDistance
    from .estimators.naive_bayes import GaussianNB, NaiveBayes
    from .estimators.perceptron import Perceptron
    from .estimators.svm import SupportVectorClassifier
    from .estimators.together import fit_all
    from .evaluation.calibration import CalibrationBins, calibration_line
    from .evaluation.comparison import compare_auc
    from .evaluation.counts import ConfusionMatrix
    from .evaluation.evaluate import evaluate, evaluation_of
    from .evaluation.histogram import ScoreHistogram
    from .evaluation.many import precision_recall, roc
    from .evaluation.selective import risk_coverage
    from .evaluation.stream import Evaluator
    from .inference.separability import separability
    from .multiclass import Codebook
    from .report.html import write_report
    from .storage.export import export
    from .storage.files import load, read_model_file, save
    from .tables.encoder import TableEncoder
    from .tables.reading import open_table
    from .tables.schema import Schema
    from .tables.training import read_training
    from .validation.compare import compare
    from .validation.cross import cross_validate
    from .validation.curves import learning_curve
    from .validation.mcnemar import mcnemar
    from .validation.sources import error_sources

__version__ = "0.1.0"

_HOME = {
    "BayesClassifier": "decision.bayes",
    "CalibrationBins": "evaluation.calibration",
    "Codebook": "multiclass",
    "ConfusionMatrix": "evaluation.counts",
    "Decision": "decision.rules",
    "DecisionClassifier": "estimators.decided",
    "Evaluator": "evaluation.stream",
    "FisherDiscriminant": "estimators.fisher",
    "Gaussian": "decision.gaussians",
    "GaussianNB": "estimators.naive_bayes",
    "LeastSquaresClassifier": "estimators.least_squares",
    "LinearDiscriminantAnalysis": "estimators.discriminant",
    "LogisticRegression": "estimators.logistic",
    "LogisticRegressionCV": "estimators.logistic_path",
    "LogisticRegressionPath": "estimators.logistic_path",
    "MinimumDistance": "estimators.minimum_distance",
    "NaiveBayes": "estimators.naive_bayes",
    "OneVsOne": "estimators.many_classes",
    "OneVsRest": "estimators.many_classes",
    "OutputCode": "estimators.many_classes",
    "Perceptron": "estimators.perceptron",
    "Posterior": "decision.posteriors",
    "QuadraticDiscriminantAnalysis": "estimators.discriminant",
    "Schema": "tables.schema",
    "ScoreHistogram": "evaluation.histogram",
    "SupportVectorClassifier": "estimators.svm",
    "TableEncoder": "tables.encoder",
    "bayes_error": "decision.bayes_risk",
    "bhattacharyya": "decision.bounds",
    "calibration_line": "evaluation.calibration",
    "chernoff": "decision.bounds",
    "class_distances": "decision.bounds",
    "class_gaussians": "decision.gaussians",
    "compare": "validation.compare",
    "compare_auc": "evaluation.comparison",
    "cross_entropy": "decision.divergence",
    "cross_validate": "validation.cross",
    "entropy": "decision.divergence",
    "error_bounds": "decision.bounds",
    "error_sources": "validation.sources",
    "estimate_priors": "decision.shift",
    "evaluate": "evaluation.evaluate",
    "evaluation_of": "evaluation.evaluate",
    "export": "storage.export",
    "fit_all": "estimators.together",
    "js_divergence": "decision.divergence",
    "kl_divergence": "decision.divergence",
    "learning_curve": "validation.curves",
    "load": "storage.files",
    "mcnemar": "validation.mcnemar",
    "open_table": "tables.reading",
    "posterior": "decision.posteriors",
    "precision_recall": "evaluation.many",
    "read_model_file": "storage.files",
    "read_training": "tables.training",
    "risk_coverage": "evaluation.selective",
    "roc": "evaluation.many",
    "save": "storage.files",
    "separability": "inference.separability",
    "top_k": "decision.posteriors",
    "write_report": "report.html",
}

__all__ = [
    "BayesClassifier",
    "CalibrationBins",
    "Codebook",
    "ConfusionMatrix",
    "Decision",
    "DecisionClassifier",
    "Evaluator",
    "FisherDiscriminant",
    "Gaussian",
    "GaussianNB",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "LogisticRegressionCV",
    "LogisticRegressionPath",
    "MinimumDistance",
    "NaiveBayes",
    "OneVsOne",
    "OneVsRest",
    "OutputCode",
    "Perceptron",
    "Posterior",
    "QuadraticDiscriminantAnalysis",
    "Schema",
    "ScoreHistogram",
    "SupportVectorClassifier",
    "TableEncoder",
    "__version__",
    "bayes_error",
    "bhattacharyya",
    "calibration_line",
    "chernoff",
    "class_distances",
    "class_gaussians",
    "compare",
    "compare_auc",
    "cross_entropy",
    "cross_validate",
    "entropy",
    "error_bounds",
    "error_sources",
    "estimate_priors",
    "evaluate",
    "evaluation_of",
    "export",
    "fit_all",
    "js_divergence",
    "kl_divergence",
    "learning_curve",
    "load",
    "mcnemar",
    "open_table",
    "posterior",
    "precision_recall",
    "read_model_file",
    "read_training",
    "risk_coverage",
    "roc",
    "save",
    "separability",
    "top_k",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
