"""What is read of a file to predict answers as the model does, bit by bit, and is left alone where it cannot."""

import json

import numpy as np
import polars as pl
import pytest
from hostile_files import document
from stored_models import STORED, fitted, training

from discriminant import LogisticRegression, NaiveBayes
from discriminant.data import as_rows
from discriminant.errors import ModelFileError
from discriminant.storage.model_file import StoredRule, read_to_predict, save

NAMES = ["a", "b", "c", "d"]
KINDS = ("lda", "qda", "gaussian-nb", "naive-bayes", "logistic", "auto", "rda")
PLAIN = [name for name in STORED if name.startswith(KINDS)]


def stored(model, path):
    save(model, path)
    return read_to_predict(path)


@pytest.mark.parametrize("name", PLAIN)
def test_a_stored_rule_answers_as_its_model(name, tmp_path):
    X, y = training(name)
    model = fitted(name, as_rows(X, NAMES), y)
    file = stored(model, tmp_path / "model.dsc")
    assert type(file.model) is StoredRule
    rows = as_rows(X, NAMES)
    np.testing.assert_array_equal(file.model.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(file.model.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(file.model.classes_, model.classes_)
    assert file.metadata["class"] == type(model).__name__


@pytest.mark.parametrize("name", ["svm", "one-vs-rest", "decided-costs", "fisher", "perceptron-two"])
def test_other_models_are_read_whole(name, tmp_path):
    X, y = training(name)
    model = fitted(name, as_rows(X, NAMES), y)
    file = stored(model, tmp_path / "model.dsc")
    assert type(file.model) is type(model)


def test_what_models_do_to_their_rows_first_is_left_to_them(tmp_path):
    frame = {"x": [0.1, 0.4, 0.9, 0.2, 0.7, 0.6, 0.3, 0.8], "g": list("ababbaab"), "y": list("nyynynyy")}
    by_formula = LogisticRegression.from_formula("y ~ x", pl.DataFrame(frame))
    assert type(stored(by_formula, tmp_path / "formula.dsc").model) is LogisticRegression
    categories = NaiveBayes().fit(pl.DataFrame(frame).select("x", "g"), frame["y"])
    assert type(stored(categories, tmp_path / "categories.dsc").model) is NaiveBayes


@pytest.mark.parametrize(
    "changed",
    [
        {"rule_": 3},
        {"n_features_in_": 3},
        {"classes_": 1},
        {"feature_names_in_": {"objects": [[1], [1]]}},
        {"rule_": {"float": "x"}},
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(changed, tmp_path):
    rule = {"object": ["LevelRule", {}]}
    parts = {"classes_": {"objects": [[2], ["a", "b"]]}, "feature_names_in_": {"objects": [[1], ["x"]]}}
    parts |= {"n_features_in_": 1, "n_jobs": None, "rule_": rule, **changed}
    path = tmp_path / "model.dsc"
    path.write_bytes(document(json.dumps({"object": ["LinearDiscriminantAnalysis", parts]})))
    with pytest.raises(ModelFileError, match=r"model\.dsc"):
        read_to_predict(path)
