"""Everything public, and where it is defined."""

from . import datasets, errors, figures, raster, solvers, theory
from .decision.posteriors import Posterior, posterior, top_k
from .decision.prior_shift import estimate_priors
from .decision.rules import Decision
from .estimators.auto import AutoClassifier
from .estimators.base import fit_all
from .estimators.bayesian import BayesianLinearDiscriminantAnalysis
from .estimators.coefficients import coefficient_table, member_coefficients
from .estimators.counterfactuals import nearest_changes
from .estimators.decision import DecisionClassifier
from .estimators.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from .estimators.explanations import column_effects, contributions, nomogram
from .estimators.given import LinearClassifier
from .estimators.linear import FisherDiscriminant, LeastSquaresClassifier, MinimumDistance
from .estimators.logistic import LogisticRegression, LogisticRegressionCV, LogisticRegressionPath
from .estimators.losses import LossClassifier
from .estimators.multiclass import OneVsOne, OneVsRest, OutputCode
from .estimators.naive_bayes import GaussianNB, NaiveBayes
from .estimators.perceptron import Perceptron
from .estimators.regularised import RegularizedDiscriminantAnalysis
from .estimators.svm import SupportVectorClassifier
from .evaluation.confusion import ConfusionMatrix
from .evaluation.curves import compare_auc, precision_recall, roc
from .evaluation.evaluation import evaluate, evaluation_of
from .evaluation.probabilities import CalibrationBins, calibration_line, risk_coverage
from .evaluation.streaming import Evaluator, ScoreHistogram
from .folds import forward_chaining
from .inference.linear_separability import linear_separability
from .multiclass import Codebook
from .partitions.dataset import open_dataset
from .report.table_report import write_report
from .storage.export import export
from .storage.model_file import load, read_model_file, save
from .tables.encoder import TableEncoder
from .tables.schema import Schema
from .tables.sources import open_table
from .tables.training import read_training
from .theory.bayes import BayesClassifier, bayes_error
from .theory.distributions import Gaussian
from .validation.comparison import compare, mcnemar
from .validation.cross_validation import cross_validate
from .validation.degree_curve import degree_curve
from .validation.learning_curve import error_sources, learning_curve
from .versions import show_versions

__version__: str

__all__ = [
    "AutoClassifier",
    "BayesClassifier",
    "BayesianLinearDiscriminantAnalysis",
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
    "OutputCode",
    "Perceptron",
    "Posterior",
    "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
    "Schema",
    "ScoreHistogram",
    "SupportVectorClassifier",
    "TableEncoder",
    "__version__",
    "bayes_error",
    "calibration_line",
    "coefficient_table",
    "column_effects",
    "compare",
    "compare_auc",
    "contributions",
    "cross_validate",
    "datasets",
    "degree_curve",
    "error_sources",
    "errors",
    "estimate_priors",
    "evaluate",
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
    "posterior",
    "precision_recall",
    "raster",
    "read_model_file",
    "read_training",
    "risk_coverage",
    "roc",
    "save",
    "show_versions",
    "solvers",
    "theory",
    "top_k",
    "write_report",
]
