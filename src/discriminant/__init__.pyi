"""Everything public, and where it is defined."""

from . import datasets, effects, errors, figures, raster, solvers, theory
from .decision.posteriors import Posterior, posterior, top_k
from .decision.prior_shift import estimate_priors
from .decision.rules import Decision
from .estimators.auto import AutoClassifier
from .estimators.bayesian import BayesianLinearDiscriminantAnalysis
from .estimators.coefficients import coefficient_table, member_coefficients
from .estimators.counterfactuals import nearest_changes
from .estimators.decision import DecisionClassifier
from .estimators.diagnostics import Diagnostics, diagnostics
from .estimators.discriminant import LinearDiscriminantAnalysis
from .estimators.explanations import column_effects, contributions, nomogram
from .estimators.given import LinearClassifier
from .estimators.linear import FisherDiscriminant, LeastSquaresClassifier, MinimumDistance, SpectralAngle
from .estimators.logistic import LogisticRegression
from .estimators.logistic_cv import LogisticRegressionCV, LogisticRegressionPath
from .estimators.losses import LossClassifier
from .estimators.moment_classifier import fit_all
from .estimators.multiclass import OneVsOne, OneVsRest, OutputCode
from .estimators.naive_bayes import GaussianNB, NaiveBayes
from .estimators.ordinal import OrdinalLogisticRegression
from .estimators.pair_effects import pair_effects
from .estimators.perceptron import Perceptron
from .estimators.prediction_sets import PredictionSets
from .estimators.published import published_model
from .estimators.quadratic import QuadraticDiscriminantAnalysis
from .estimators.regularised import RegularizedDiscriminantAnalysis
from .estimators.svm import SupportVectorClassifier
from .evaluation.auc_comparison import compare_auc
from .evaluation.by_group import GroupMeasures, evaluate_by_group
from .evaluation.calibration import CalibrationBins
from .evaluation.class_curves import precision_recall, roc
from .evaluation.confusion import ConfusionMatrix
from .evaluation.decision_curve import DecisionCurve, decision_curve
from .evaluation.model_evaluation import evaluate, evaluation_of
from .evaluation.model_update import Recalibration, recalibrate
from .evaluation.predictions import EvaluationOptions, LabelledPredictions
from .evaluation.probabilities import risk_coverage
from .evaluation.recalibration import CalibrationCurve, calibration_curve, calibration_line
from .evaluation.streaming import Evaluator, ScoreHistogram
from .folds import forward_chaining
from .inference.linear_separability import linear_separability
from .multiclass import Codebook
from .partitions.opening import open_dataset
from .report.table_report import TableReport, write_report
from .storage.export import export
from .storage.model_file import load, read_model_file, save
from .tables.encoder import TableEncoder
from .tables.schema import Schema
from .tables.sources import open_table
from .tables.training import read_training
from .theory.bayes import BayesClassifier, bayes_error
from .theory.distributions import Gaussian
from .validation.comparison import compare
from .validation.cross_validation import cross_validate
from .validation.degree_curve import degree_curve
from .validation.learning_curve import error_sources, learning_curve
from .validation.optimism import ValidationOptions, validate
from .validation.paired import mcnemar
from .validation.sample_size import SampleSize, sample_size
from .validation.validated import Instability, Validation
from .versions import show_versions

__version__: str

__all__ = [
    "AutoClassifier",
    "BayesClassifier",
    "BayesianLinearDiscriminantAnalysis",
    "CalibrationBins",
    "CalibrationCurve",
    "Codebook",
    "ConfusionMatrix",
    "Decision",
    "DecisionClassifier",
    "DecisionCurve",
    "Diagnostics",
    "EvaluationOptions",
    "Evaluator",
    "FisherDiscriminant",
    "Gaussian",
    "GaussianNB",
    "GroupMeasures",
    "Instability",
    "LabelledPredictions",
    "LeastSquaresClassifier",
    "LinearClassifier",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "LogisticRegressionCV",
    "LogisticRegressionPath",
    "LossClassifier",
    "MinimumDistance",
    "NaiveBayes",
    "OneVsOne",
    "OneVsRest",
    "OrdinalLogisticRegression",
    "OutputCode",
    "Perceptron",
    "Posterior",
    "PredictionSets",
    "QuadraticDiscriminantAnalysis",
    "Recalibration",
    "RegularizedDiscriminantAnalysis",
    "SampleSize",
    "Schema",
    "ScoreHistogram",
    "SpectralAngle",
    "SupportVectorClassifier",
    "TableEncoder",
    "TableReport",
    "Validation",
    "ValidationOptions",
    "__version__",
    "bayes_error",
    "calibration_curve",
    "calibration_line",
    "coefficient_table",
    "column_effects",
    "compare",
    "compare_auc",
    "contributions",
    "cross_validate",
    "datasets",
    "decision_curve",
    "degree_curve",
    "diagnostics",
    "effects",
    "error_sources",
    "errors",
    "estimate_priors",
    "evaluate",
    "evaluate_by_group",
    "evaluation_of",
    "export",
    "figures",
    "fit_all",
    "forward_chaining",
    "learning_curve",
    "linear_separability",
    "load",
    "mcnemar",
    "member_coefficients",
    "nearest_changes",
    "nomogram",
    "open_dataset",
    "open_table",
    "pair_effects",
    "posterior",
    "precision_recall",
    "published_model",
    "raster",
    "read_model_file",
    "read_training",
    "recalibrate",
    "risk_coverage",
    "roc",
    "sample_size",
    "save",
    "show_versions",
    "solvers",
    "theory",
    "top_k",
    "validate",
    "write_report",
]
