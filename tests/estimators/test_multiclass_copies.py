"""Binary classifiers of a codebook, and their multipliers in model files."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier

import discriminant as ours
from discriminant.errors import ModelFileError
from discriminant.storage.model_file import load, save


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
    X[:, 0] += y
    model, other = ours.OneVsRest(RidgeClassifier()).fit(X, y), OneVsRestClassifier(RidgeClassifier()).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("_alpha_", lambda values: values[:-1]),
        ("_slack_", lambda values: values.astype(np.float32)),
        ("_codes_", lambda values: values + 2),
        ("_codes_", lambda values: values[:0]),
        ("_codes_", lambda values: values.astype(float)),
    ],
)
def test_multipliers_that_do_not_fit_are_refused(tmp_path, name, change):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    X[:, 0] += y
    model = ours.SupportVectorClassifier(multiclass="one-vs-one").fit(X, y)
    save(model, tmp_path / "good.dsc")
    back = load(tmp_path / "good.dsc")
    np.testing.assert_array_equal(back.dual_coef_, model.dual_coef_)
    np.testing.assert_array_equal(back.support_, model.support_)
    np.testing.assert_array_equal(back.slacks_, model.slacks_)
    setattr(model, name, change(getattr(model, name)))
    save(model, tmp_path / "bad.dsc")
    with pytest.raises(ModelFileError, match="SupportVector"):
        load(tmp_path / "bad.dsc")
