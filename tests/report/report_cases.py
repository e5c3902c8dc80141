"""Reports of many kinds that the tests of text and of the page share."""

import functools

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris

from discriminant import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    SupportVectorClassifier,
    compare,
    learning_curve,
    read_training,
)
from discriminant.evaluation import LabelledPredictions, evaluation_of
from discriminant.evaluation.by_group import predictions_by_group
from discriminant.report import TableReport, write_report

HOSTILE = "</script><script>alert(\"1\")</script> & 'b'"
HOSTILE_COLUMN = "<img src=x onerror=alert(2)> {{ 7 * 7 }} $x$"
COSTS = {"benign": {"benign": 0, "malignant": 1}, "malignant": {"benign": 8, "malignant": 0}}


@functools.cache
def cancer():
    """Rows, labels and names of two classes."""
    data = load_breast_cancer()
    return data.data[:, :6], data.target_names[data.target], tuple(data.feature_names[:6])


@functools.cache
def iris_table():
    """Three classes as a table that was read, with a column worth a remark."""
    frame = load_iris(as_frame=True).frame
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[frame.pop("target")]
    frame["colour"] = np.where(np.arange(150) % 7 == 0, "red", "blue")
    frame.loc[::10, "petal width (cm)"] = np.nan
    frame["row_id"] = np.arange(150)
    return read_training(frame, "species")


@functools.cache
def compared(kind):
    """A comparison, its training rows and its models, by the kind of data."""
    if kind == "two":
        X, y, names = cancer()
        models = {"LDA": LinearDiscriminantAnalysis(), "logistic": LogisticRegression(), "naive Bayes": GaussianNB()}
        training = (X, y, names)
    else:
        training = iris_table()
        X, y = training.X, training.y
        models = {"LDA": LinearDiscriminantAnalysis(), "SVM": SupportVectorClassifier()}
    return compare(models, X, y, cv=5), training, {name: model.fit(X, y) for name, model in models.items()}


def two_classes(path):
    result, training, models = compared("two")
    predictions = result.cross_validation.labelled_predictions("logistic")
    groups = predictions_by_group(predictions, np.where(training[0][:, 0] > 14, "large", "small"), name="size")
    return write_report(
        path, TableReport(result, training, model=models["logistic"], model_name="logistic", by_group=groups)
    )


def two_classes_with_costs(path):
    result, training, models = compared("two")
    X, y, _ = training
    curve = learning_curve(models["LDA"], X, y, sizes=[50, 100, 200, 400])
    return write_report(
        path,
        TableReport(
            result,
            training,
            model=models["LDA"],
            model_name="LDA",
            given_costs=COSTS,
            learning_curve=curve,
            command="discriminant compare cancer.csv --target diagnosis --costs costs.csv",
            title="Tumours",
        ),
    )


def three_classes(path):
    result, training, models = compared("three")
    return write_report(path, TableReport(result, training, model=models["LDA"], model_name="LDA"))


def margins(path):
    result, training, models = compared("three")
    return write_report(path, TableReport(result, training, model=models["SVM"], model_name="SVM"))


def margins_of_two(path):
    X, y, names = cancer()
    model = SupportVectorClassifier()
    return write_report(path, TableReport(compare({"SVM": model}, X, y, cv=3), (X, y, names), model=model.fit(X, y)))


def hostile(path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.array([HOSTILE, "<b>bold</b>", "a & b"])[np.argmax(X + rng.normal(size=X.shape), axis=1)]
    frame = pd.DataFrame({HOSTILE_COLUMN: X[:, 0], HOSTILE: X[:, 1], "c": X[:, 2], "y</td>": y})
    training = read_training(frame, "y</td>")
    model = LinearDiscriminantAnalysis()
    result = compare({HOSTILE: model}, training.X, training.y, cv=3)
    costs = {truth: {action: float(truth != action) for action in set(y)} for truth in set(y)}
    return write_report(
        path,
        TableReport(
            result, training, model=model.fit(training.X, training.y), given_costs=costs, command=HOSTILE, title=HOSTILE
        ),
    )


def many_columns(path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 200))
    y = np.where(X[:, 7] + X[:, 50] + rng.normal(size=500) > 0, "yes", "no")
    model = LinearDiscriminantAnalysis(shrinkage=0.2)
    result = compare({"LDA": model}, X, y, cv=3)
    return write_report(path, TableReport(result, (X, y, [f"gene {j}" for j in range(200)]), model=model.fit(X, y)))


def many_classes(path):
    rng = np.random.default_rng(2)
    y = np.repeat([f"a long class name {k}" for k in range(20)], 15)
    X = 3 * rng.normal(size=(20, 4))[np.repeat(np.arange(20), 15)] + rng.normal(size=(300, 4))
    model = LinearDiscriminantAnalysis()
    return write_report(path, TableReport(compare({"LDA": model}, X, y, cv=3), (X, y), model=model.fit(X, y)))


def poor_class(path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 2)), np.array(["common"] * 57 + ["rare"] * 3)
    model = LinearDiscriminantAnalysis()
    return write_report(path, TableReport(compare({"LDA": model}, X, y, cv=3), (X, y), model=model.fit(X, y)))


def one_evaluation(path):
    """Nothing but the evaluation of predicted classes."""
    return write_report(
        path,
        TableReport(
            None, None, given_evaluation=evaluation_of(LabelledPredictions(list("aabbab"), predicted=list("abbbab")))
        ),
    )


KINDS = {
    made.__name__: made
    for made in (
        two_classes,
        two_classes_with_costs,
        three_classes,
        margins,
        margins_of_two,
        hostile,
        many_columns,
        many_classes,
        poor_class,
        one_evaluation,
    )
}
