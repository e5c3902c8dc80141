"""The subjects of the lecture notes on linear classification, with the call, the command and the figure for each.

``python tests/notes/rows.py`` writes docs/rows.md; the tests run every cell.
"""

# ruff: noqa: E501
from dataclasses import dataclass
from pathlib import Path

SETUP = """\
import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_iris

import discriminant as d
from discriminant import datasets, figures, raster, solvers, theory
from discriminant.raster import figures as pictures

X, y = load_iris(return_X_y=True)  # iris.csv
X2, y2 = X[50:, 2:], y[50:]  # two.csv: two species, two columns
gate, xor, six = datasets.logic_gate("and"), datasets.logic_gate("xor"), datasets.six_rows()
row, triangle = datasets.three_in_a_row(), datasets.triangle()
lda, qda = d.LinearDiscriminantAnalysis().fit(X2, y2), d.QuadraticDiscriminantAnalysis().fit(X2, y2)
logistic = d.LogisticRegression().fit(X2, y2)
normals = [norm(0, 1), norm(2, 1)]
costs = {1: {2: 1.0}, 2: {1: 5.0}}  # costs.csv
"""
_TWO = "two.csv -t kind"


@dataclass(frozen=True)
class Row:
    """A subject with its call, command and figure; a cell may give the reason why there is none."""

    id: str
    what: str
    call: str
    command: str
    figure: str


def none(reason: str) -> str:
    return f"none, because {reason}"


_ONE_NUMBER = none("the result is a number")
ROWS = [
    Row("D1", "Bayes classifier and Bayes error", "d.bayes_error(normals)", "learn theory 'norm(0, 1)' 'norm(2, 1)'",
        "figures.class_densities(theory.density_curves(normals))"),
    Row("D2", "a priori, MAP and ML decisions", "d.BayesClassifier(normals, [0.9, 0.1]).predict([[1.2]])",
        "predict lda.dsc two.csv --priors versicolor=0.9,virginica=0.1",
        "figures.moving_boundary(lda, X2, y2, {'ML': d.Decision(), 'MAP': d.Decision(priors=[0.9, 0.1])})"),
    Row("D3", "minimum risk", "d.Decision(costs).risk(d.posterior(lda, X2))", "explain lda.dsc two.csv --row 0 --costs costs.csv",
        "figures.moving_boundary(lda, X2, y2, {'equal': d.Decision(), 'unequal': d.Decision(costs)})"),
    Row("D4", "cost matrix", "d.Decision(costs).decide(d.posterior(lda, X2))", "predict lda.dsc two.csv --costs costs.csv",
        "figures.cost_curve(d.roc(y2, lda.predict_proba(X2)[:, 1]), cost_fn=5)"),
    Row("D5", "reject option", "d.risk_coverage(y2, lda.predict_proba(X2), lda.classes_)", "predict lda.dsc two.csv --reject-cost 0.1",
        "figures.risk_coverage(d.risk_coverage(y2, lda.predict_proba(X2), lda.classes_))"),
    Row("D6", "divergences", "theory.kl_divergence([0.5, 0.5], [0.2, 0.8])", "learn theory 0.5,0.5 0.2,0.8",
        none("the result is two numbers")),
    Row("D7", "three sources of error", "d.error_sources(lda, X2, y2, cv=3, sizes=[30, 45, 60])",
        f"learn learning-curve {_TWO} --model lda --folds 3",
        "figures.error_sources(d.error_sources(lda, X2, y2, cv=3, sizes=[30, 45, 60]))"),
    Row("G1", "least-squares classifier, masking", "d.LeastSquaresClassifier().fit(row.X, row.y).masked_classes_",
        "fit row.csv -t kind --model least-squares",
        "figures.decision_regions(d.LeastSquaresClassifier().fit(row.X, row.y), row.X, row.y)"),
    Row("G2", "LDA", "lda.delta(X2)", f"fit {_TWO} --model lda", "figures.decision_regions(lda, X2, y2)"),
    Row("G2", "Bayesian LDA", "d.BayesianLinearDiscriminantAnalysis().fit(X2[::10], y2[::10]).predict_proba(X2)",
        f"fit {_TWO} --model bayesian-lda",
        "figures.decision_regions(d.BayesianLinearDiscriminantAnalysis().fit(X2[::10], y2[::10]), X2[::10], y2[::10])"),
    Row("G3", "QDA", "qda.delta(X2)", f"fit {_TWO} --model qda", "figures.decision_regions(qda, X2, y2)"),
    Row("G4", "sphering", "lda.sphere(X2), qda.sphere(X2, 1)", "learn transform lda.dsc two.csv --sphere all",
        "figures.sphering(lda, X2, y2)"),
    Row("G5", "reduced-rank LDA", "d.LinearDiscriminantAnalysis(rank=1).fit(X, y).explained_variance_ratio_",
        "fit iris.csv -t kind --model lda --set rank=1",
        "figures.scatter(d.LinearDiscriminantAnalysis(n_components=2).fit(X, y).transform(X), y)"),
    Row("G6", "Fisher's discriminant, two classes", "d.FisherDiscriminant('bayes').fit(X2, y2).threshold_",
        f"fit {_TWO} --model fisher --set threshold=bayes",
        "figures.projected_histograms(d.FisherDiscriminant().fit(X2, y2), X2, y2)"),
    Row("G7", "Fisher's discriminant, K classes", "d.LinearDiscriminantAnalysis().fit(X, y).scatter_between_",
        "learn transform iris.dsc iris.csv", "figures.projected_histograms(d.LinearDiscriminantAnalysis().fit(X, y), X, y)"),
    Row("G8", "naive Bayes", "d.NaiveBayes(distributions='gaussian').fit(X, y).predict(X)",
        "fit iris.csv -t kind --model naive-bayes", "figures.decision_regions(d.GaussianNB().fit(X2, y2), X2, y2)"),
    Row("G9", "generative sampling, marginal density", "qda.sample(5, random_state=0), qda.log_density(X2)",
        "learn sample lda.dsc -n 5", "figures.class_densities(theory.density_curves(normals))"),
    Row("L1", "perceptron, primal", "d.Perceptron().fit(gate.X, gate.y).updates_", "learn trace and.csv -t kind --rare 1",
        "figures.perceptron_trace(d.Perceptron(trace=True).fit(gate.X, gate.y), gate.X, gate.y)"),
    Row("L2", "perceptron, dual", "d.Perceptron('dual').fit(gate.X, gate.y).alpha_",
        "learn trace and.csv -t kind --rare 1 --set form=dual",
        "figures.perceptron_trace(d.Perceptron('dual', trace=True).fit(gate.X, gate.y), gate.X, gate.y)"),
    Row("L3", "perceptron convergence bound", "d.Perceptron().fit(gate.X, gate.y).certificate()",
        "learn trace and.csv -t kind --rare 1 --json", none("the bound is a number")),
    Row("L4", "linear separability", "d.linear_separability(xor.X, xor.y).witness",
        "learn separability xor.csv -t kind --rare 1", none("XOR is a table of four rows")),
    Row("L5", "hard-margin SVM", "d.SupportVectorClassifier('hard').fit(gate.X, gate.y).margin_",
        "learn separability and.csv -t kind --rare 1",
        "figures.boundary(d.SupportVectorClassifier('hard').fit(gate.X, gate.y), gate.X, gate.y)"),
    Row("L6", "soft-margin SVM", "d.SupportVectorClassifier(C=2).fit(X2, y2).support_",
        f"fit {_TWO} --model svm --set C=2", "figures.boundary(d.SupportVectorClassifier(C=2).fit(X2, y2), X2, y2)"),
    Row("L7", "logistic regression step by step",
        "d.LogisticRegression(solver=solvers.IRLS(), trace=True).fit(six.X, six.y).trace_",
        "learn trace six.csv -t kind --rare 1 --model logistic --solver irls",
        "figures.likelihood_paths({'IRLS': d.LogisticRegression(solver=solvers.IRLS(), trace=True).fit(six.X, six.y)}, "
        "six.X, six.y)"),
    Row("L7", "least mean squares (Widrow-Hoff)",
        "d.LossClassifier('squared', solver=solvers.StochasticGradient(0.001), random_state=0).fit(six.X, six.y).coef_",
        "learn trace six.csv -t kind --rare 1 --model lms",
        "figures.likelihood_paths({'LMS': d.LossClassifier('squared', trace=True).fit(six.X, six.y)}, six.X, six.y)"),
    Row("L7", "squared error of a sigmoid, not convex",
        "d.LossClassifier('squared_sigmoid', trace=True).fit(six.X, six.y).trace_",
        "learn trace six.csv -t kind --rare 1 --model lms --set loss=squared_sigmoid",
        "figures.loss_curves(['logistic', 'squared_sigmoid'])"),
    Row("L8", "inference in logistic regression", "logistic.summary(), logistic.term_tests()", "explain logistic.dsc",
        "figures.coefficients(logistic)"),
    Row("L9", "multinomial logistic regression", "d.LogisticRegression(0.01).fit(X, y).log_odds(0)",
        "fit iris.csv -t kind --model logistic --set alpha=0.01", "figures.coefficients(d.LogisticRegression(0.01).fit(X, y))"),
    Row("L10", "regularisation", "d.LogisticRegressionPath(n_alphas=10).fit(X2, y2).coefs_", f"learn path {_TWO} --n-alphas 10",
        "figures.regularisation_path(d.LogisticRegressionPath(n_alphas=10).fit(X2, y2))"),
    Row("L11", "LDA and logistic regression", "lda.coef_, logistic.coef_", f"compare {_TWO} --models lda,logistic",
        "figures.projections({'LDA': lda, 'logistic': logistic}, X2, y2)"),
    Row("C1", "one-vs-rest", "d.OneVsRest(d.LeastSquaresClassifier()).fit(X, y).estimators_",
        "fit iris.csv -t kind --model least-squares --multiclass one-vs-rest",
        "figures.decision_regions(d.OneVsRest(d.LeastSquaresClassifier()).fit(triangle.X, triangle.y), triangle.X, triangle.y)"),
    Row("C2", "one-vs-one", "d.OneVsOne(d.LinearDiscriminantAnalysis()).fit(X, y).estimators_",
        "fit iris.csv -t kind --model lda --multiclass one-vs-one",
        "figures.decision_regions(d.OneVsOne(d.LeastSquaresClassifier()).fit(triangle.X, triangle.y), triangle.X, triangle.y)"),
    Row("C3", "error-correcting output codes", "d.OutputCode(d.LinearDiscriminantAnalysis(), code='exhaustive').fit(X, y).codebook_",
        "fit iris.csv -t kind --model lda --multiclass output-code",
        "figures.code_matrix(d.OutputCode(d.LinearDiscriminantAnalysis(), code='exhaustive').fit(X, y).codebook_)"),
    Row("C4", "joint discriminants", "d.LeastSquaresClassifier().fit(X, y).decision_function(X)",
        "fit iris.csv -t kind --model least-squares",
        "figures.decision_regions(d.LinearDiscriminantAnalysis().fit(triangle.X, triangle.y), triangle.X, triangle.y)"),
    Row("C5", "ambiguous rows", "d.OneVsRest(d.LeastSquaresClassifier()).fit(triangle.X, triangle.y).ambiguous(triangle.X)",
        "predict rest.dsc triangle.csv --ambiguous",
        "figures.decision_regions(d.OneVsRest(d.LeastSquaresClassifier()).fit(triangle.X, triangle.y), triangle.X, triangle.y)"),
    Row("E1", "error rate, accuracy", "d.evaluate(lda, X2, y2)", "evaluate lda.dsc two.csv", _ONE_NUMBER),
    Row("E2", "confusion matrix", "d.ConfusionMatrix.of(y2, lda.predict(X2))", "evaluate lda.dsc two.csv --json",
        "figures.confusion(d.ConfusionMatrix.of(y2, lda.predict(X2)))"),
    Row("E3", "rates of each class", "d.ConfusionMatrix.of(y2, lda.predict(X2)).fnr", "evaluate lda.dsc two.csv --f-measure 1",
        "figures.confusion(d.ConfusionMatrix.of(y2, lda.predict(X2)))"),
    Row("E4", "F-measure", "d.ConfusionMatrix.of(y2, lda.predict(X2)).f(4)", "evaluate lda.dsc two.csv --f-measure 4", _ONE_NUMBER),
    Row("E5", "ROC and AUC", "d.roc(y2, lda.predict_proba(X2)[:, 1]).auc", "evaluate logistic.dsc two.csv",
        "figures.roc_curve({'LDA': d.roc(y2, lda.predict_proba(X2)[:, 1]), "
        "'logistic': d.roc(y2, logistic.predict_proba(X2)[:, 1])})"),
    Row("E6", "validation", "d.cross_validate(lda, X2, y2, cv=3)", f"compare {_TWO} --models lda,qda",
        "figures.learning_curve(d.learning_curve(lda, X2, y2, cv=3, sizes=[30, 45, 60]))"),
    Row("geometry", "hyperplane, distances", "d.LinearClassifier([3, 4], -10).distance([[5, 5]])", "learn transform lda.dsc two.csv",
        "figures.hyperplane(d.LinearDiscriminantAnalysis().fit(X[50:, 1:], y2), X[50:, 1:], y2)"),
    Row("losses", "comparison of losses", "d.LinearClassifier([1, 1]).losses(X2, y2 - 1, 'hinge')",
        none("losses of given weights need no table"), "figures.loss_curves()"),
    Row("I1", "choose training areas", "raster.open_areas('areas.geojson', 'class')",
        none("areas are drawn in the studio"), none("areas are drawn in the studio")),
    Row("I2", "class statistics of the samples", "samples.X.mean(axis=0)",
        "raster samples scene.tif areas.geojson --class-field class", "pictures.histograms(samples)"),
    Row("I3", "separability of the samples", "raster.class_separability(samples)",
        "raster samples scene.tif areas.geojson --class-field class --json", "pictures.discriminant_scatter(samples)"),
    Row("I4", "classify the image",
        "raster.classify_image(qda4, 'scene.tif', 'call.tif', options=raster.MapOptions(overwrite=True))",
        "raster classify scene.tif --areas areas.geojson --class-field class --model qda -o map.tif --overwrite",
        "pictures.map_picture('map.tif')"),
    Row("I5", "accuracy of the map", "raster.held_out_accuracy(qda4, samples, folds=2)",
        "raster accuracy map.tif areas.geojson --class-field class", none("E2 has the matrix")),
]  # fmt: skip


def page() -> str:
    """docs/rows.md."""
    head = (
        "# Subjects of the lecture notes\n\nThis table lists the Python call, the command (`discriminant ...`) and the figure for each subject "
        "of the lecture\nnotes. It is generated by `python tests/notes/rows.py`; a test runs every cell after this setup:\n\n"
        f"```python\n{SETUP}```\n\n| id | subject | call | command | figure |\n|---|---|---|---|---|\n"
    )
    cells = (
        "| " + " | ".join([row.id, row.what, *(_cell(text) for text in (row.call, row.command, row.figure))]) + " |"
        for row in ROWS
    )
    return head + "\n".join(cells) + "\n"


def _cell(text: str) -> str:
    return text if text.startswith("none, because") else f"`{text}`".replace("|", "\\|")


if __name__ == "__main__":
    (Path(__file__).parents[2] / "docs" / "rows.md").write_text(page(), encoding="utf-8")
