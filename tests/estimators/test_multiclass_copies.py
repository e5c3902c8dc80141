"""The binary classifiers of a code are as independent of each other and of the one given as clones are."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import discriminant as ours
from discriminant.errors import ModelFileError
from discriminant.estimators.multiclass import copies_of
from discriminant.storage.model_file import load, save


class WithList(ClassifierMixin, BaseEstimator):
    def __init__(self, values=None):
        self.values = values


class OwnClone(ClassifierMixin, BaseEstimator):
    def __sklearn_clone__(self):
        made = OwnClone()
        made.cloned = True
        return made


def test_copies_are_unfitted_and_apart():
    given = LinearSVC(C=3.0)
    given.fit([[0.0], [1.0]], [0, 1])
    make = copies_of(given)
    first, second = make(), make()
    assert first.get_params() == given.get_params()
    assert not hasattr(first, "coef_")
    first.fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(second, "coef_")
    second.set_params(C=1.0)
    assert first.C == 3.0


def test_parameters_that_can_change_are_copied_too():
    make = copies_of(WithList([1]))
    first, second = make(), make()
    first.values.append(2)
    assert second.values == [1]


def test_classifiers_that_clone_themselves_do():
    assert copies_of(OwnClone())().cloned


def test_schemes_over_copies_equal_schemes_over_clones():
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
    with pytest.raises(ModelFileError, match="do not fit each other"):
        load(tmp_path / "bad.dsc")
