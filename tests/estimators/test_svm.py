"""The support vector classifier: the widest margin, its support vectors, and everything an estimator promises."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from discriminant.data import labelled_rows
from discriminant.errors import (
    ColumnError,
    DegenerateDataError,
    DiscriminantError,
    DtypeError,
    InputError,
    LabelError,
    NotReadyError,
    NotSeparableError,
    ParameterError,
    WeightError,
)
from discriminant.estimators.logistic import LogisticRegression
from discriminant.estimators.svm import SupportVectorClassifier, support_vector_rule
from discriminant.folds import HeldOut
from discriminant.margins import interior_point
from discriminant.storage.model_file import load, save
from helpers import REFERENCE, assert_reference, fitted_state, normal_classes, reference
from margin_problems import assert_optimal, problem

SCHEMES = ["one-vs-rest", "one-vs-one"]
every_solver = pytest.mark.parametrize("solver", ["newton", "dual", "active-set"])
every_loss = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
every_scheme = pytest.mark.parametrize("multiclass", SCHEMES)

X2, y2 = normal_classes(n=90, p=4, K=2)
X3, y3 = normal_classes(n=120, p=4, K=3)


def fitted(X=X2, y=y2, weight=None, **parameters):
    return SupportVectorClassifier(**parameters).fit(X, y, weight)


def apart(n=30, p=3, seed=0, K=2):
    """Rows of classes that hyperplanes separate."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(n, p)) + 9 * np.eye(K, p)[y], y


def assert_same_coefficients(model, other, column=0):
    """As far as the duality gaps say: |coef - optimum|^2 / 2 is no more than the gap."""
    solutions = [each.solution_ if len(each.classes_) == 2 else each.solution_[column] for each in (model, other)]
    bound = sum(np.sqrt(2 * one.duality_gap + 1e-15 * one.objective) for one in solutions)
    assert np.linalg.norm(model.coef_[column] - other.coef_[column]) <= bound + 1e-9 * np.abs(model.coef_).max()


# --- published figures ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    table = pd.read_csv(REFERENCE / reference("iris_svm")["data"])
    X = table.drop(columns="Species")
    return (X - X.mean()) / X.std(ddof=1), table["Species"]


@every_solver
def test_iris(iris, solver):
    X, y = iris
    figures = reference("iris_svm")
    model = SupportVectorClassifier(multiclass="one-vs-one", solver=solver, tol=1e-10).fit(X, y)
    assert_reference(model.n_support_, figures, "n_support")
    assert_reference(len(model.support_), figures, "n_support_total")
    assert_reference(confusion_matrix(y, model.predict(X)), figures, "confusion_rows_true")
    counts = np.count_nonzero(model.dual_coef_, axis=1)
    names = [model.classes_[column != 0] for column in model.codebook_.matrix.T]
    assert [f"{first}-{second}" for first, second in names] == list(figures["expected"]["pairwise_support_vectors"])
    assert_reference(counts, figures, "pairwise_support_vectors")


def test_iris_is_that_of_libsvm(iris):
    X, y = iris
    model, other = SupportVectorClassifier(multiclass="one-vs-one").fit(X, y), SVC(kernel="linear", tol=1e-10).fit(X, y)
    assert_array_equal(model.support_, np.sort(other.support_))
    assert_array_equal(model.n_support_, other.n_support_)
    assert_array_equal(model.predict(X), other.predict(X))
    assert_allclose(-model.coef_, other.coef_, rtol=1e-4)  # libsvm's score is above 0 for the first class of a pair
    assert_allclose(-model.intercept_, other.intercept_, rtol=1e-4)


# --- what a fitted model says of itself -------------------------------------------------------------------------------


@every_loss
@every_solver
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_classes(loss, solver, fit_intercept):
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(y2))
    model = fitted(weight=weight, loss=loss, solver=solver, fit_intercept=fit_intercept, C=0.7)
    found = assert_optimal(model, X2, y2, weight)
    assert model.coef_.shape == (1, 4)
    assert model.intercept_.shape == (1,)
    assert fit_intercept or model.intercept_ == 0
    assert_array_equal(model.support_, np.flatnonzero(found.alpha))
    assert_array_equal(model.n_support_, np.bincount(y2[model.support_], minlength=2))
    assert_array_equal(model.support_vectors_, X2[model.support_])
    assert_allclose(model.slacks_, found.slacks, atol=1e-12)
    assert_allclose(model.margin_, 2 / np.linalg.norm(model.coef_))
    assert isinstance(model.margin_, float)
    assert_allclose(model.decision_function(X2), X2 @ model.coef_[0] + model.intercept_, atol=1e-12)
    assert_array_equal(model.predict(X2), (model.decision_function(X2) > 0).astype(int))
    assert model.solution_.converged


@every_scheme
@every_loss
@every_solver
def test_many_classes_are_binary_problems_each_of_which_is_solved(multiclass, loss, solver):
    weight = np.random.default_rng(1).choice([0.0, 1.0, 3.0], len(y3))
    names = np.array(["ash", "elm", "oak"])[y3]
    model = fitted(X3, names, weight, multiclass=multiclass, loss=loss, solver=solver)
    n_columns = model.codebook_.n_columns
    assert model.coef_.shape == (n_columns, 4)
    assert model.dual_coef_.shape == (n_columns, len(model.support_))
    assert model.margin_.shape == (n_columns,)
    assert model.slacks_.shape == (n_columns, len(y3))
    assert_array_equal(model.n_support_, [np.sum(names[model.support_] == label) for label in model.classes_])
    for column in range(n_columns):
        found = assert_optimal(model, X3, names, weight, column)
        part = model.codebook_.matrix[:, column][y3] != 0
        assert_allclose(model.slacks_[column, part], found.slacks, atol=1e-12)
        assert np.isnan(model.slacks_[column, ~part]).all()
        alone = fitted(X3[part], model.codebook_.matrix[:, column][y3[part]], weight[part], loss=loss, solver="newton")
        assert_allclose(model.solution_[column].objective, alone.solution_.objective, rtol=1e-6)


def test_one_against_the_rest_takes_the_highest_score():
    model = fitted(X3, y3)
    scores = X3 @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X3), scores, atol=1e-12)
    assert_array_equal(model.predict(X3), scores.argmax(axis=1))


def test_one_against_one_takes_the_most_votes():
    model = fitted(X3, y3, multiclass="one-vs-one")
    side = X3 @ model.coef_.T + model.intercept_ > 0
    matrix = model.codebook_.matrix
    votes = np.stack([(side == (matrix[k] > 0))[:, matrix[k] != 0].sum(axis=1) for k in range(3)], axis=1)
    clear = (votes == 2).any(axis=1)
    assert clear.mean() > 0.9
    assert_array_equal(model.predict(X3)[clear], votes[clear].argmax(axis=1))
    assert_array_equal(model.decision_function(X3).argmax(axis=1), model.predict(X3))


@every_scheme
def test_two_classes_are_one_problem_in_either_scheme(multiclass):
    assert_array_equal(fitted(multiclass=multiclass).coef_, fitted().coef_)


# --- hard margin, and the soft one at both ends -----------------------------------------------------------------------


def quadratic_programme(X, y, fit_intercept):
    """The hard margin by SciPy's sequential least squares: |w|^2 / 2 and w."""
    p, sign = X.shape[1], np.where(y > 0, 1.0, -1.0)
    margins = np.column_stack((X * sign[:, None], sign * fit_intercept))
    found = minimize(
        lambda z: 0.5 * z[:p] @ z[:p],
        np.zeros(p + 1),
        jac=lambda z: np.append(z[:p], 0.0),
        constraints=[{"type": "ineq", "fun": lambda z: margins @ z - 1, "jac": lambda z: margins}],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1_000},
    )
    assert found.success, found.message
    return found.fun, found.x[:p]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_hard_margin_is_that_of_a_quadratic_programme(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    y = np.arange(25) % 2
    X = rng.normal(size=(25, 3)) + np.where(y, 3, -3)[:, None]
    model = fitted(X, y, margin="hard", fit_intercept=fit_intercept)
    objective, coef = quadratic_programme(X, y, fit_intercept)
    assert_allclose(model.solution_.objective, objective, rtol=1e-8)
    assert_allclose(model.coef_[0], coef, rtol=1e-5, atol=1e-8)
    assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_, rtol=1e-9, atol=1e-12)
    assert model.solution_.duality_gap <= 1e-9 * objective
    distances = np.where(y, 1, -1) * model.decision_function(X)
    assert_allclose(distances[model.support_], 1, rtol=1e-9)
    assert distances.min() >= 1 - 1e-9
    assert_array_equal(model.slacks_, np.zeros(25))


@every_solver
@every_loss
def test_the_soft_margin_becomes_the_hard_one_as_slack_gets_dear(solver, loss):
    X, y = apart()
    hard = fitted(X, y, margin="hard")
    distances = []
    for C in (1.0, 1e3, 1e6):
        soft = fitted(X, y, C=C, solver=solver, loss=loss, tol=1e-9)
        distances.append(float(np.abs(soft.coef_ - hard.coef_).max()))
    assert distances[2] <= 1e-5 * np.abs(hard.coef_).max()
    assert_allclose(soft.margin_, hard.margin_, rtol=1e-5)
    assert_allclose(soft.intercept_, hard.intercept_, rtol=1e-4)
    if loss == "hinge":  # from some C on it is the same
        assert distances[1] <= 1e-6
        assert_array_equal(soft.support_, hard.support_)


@every_solver
@every_loss
def test_the_coefficients_vanish_as_slack_gets_cheap(solver, loss):
    for C in (1e-6, 1e-9):
        model = fitted(C=C, solver=solver, loss=loss)
        bound = 4 * C * np.abs(X2).sum(axis=0)  # no slack is above 2 here, so neither is a multiplier above 4 C
        assert (np.abs(model.coef_[0]) <= bound).all()
        assert model.slacks_.max() <= 2 + 1e-6


def test_rows_of_weight_0_set_no_condition_on_a_hard_margin():
    X, y = apart()
    model = fitted(X, y, margin="hard")
    far_side = np.vstack((X, X[y == 1][:2]))  # twins of another class
    labels, weight = np.append(y, [0, 0]), np.append(np.ones(len(y)), [0, 0])
    again = fitted(far_side, labels, weight, margin="hard")
    assert_array_equal(again.coef_, model.coef_)
    assert_array_equal(again.support_, model.support_)
    assert_allclose(again.slacks_[-2:], 1 + model.decision_function(X[y == 1][:2]))


def not_separable(X, y, weight=None, **parameters):
    with pytest.raises(NotSeparableError) as caught:
        fitted(X, y, weight, margin="hard", **parameters)
    return caught.value


def assert_combination(witness, X, is_first, is_second):
    """The witness is a point of both hulls, of rows that are in the classes they are said to be in."""
    assert is_first[witness.rows_first].all()
    assert is_second[witness.rows_second].all()
    means = []
    for rows, weights in ((witness.rows_first, witness.weights_first), (witness.rows_second, witness.weights_second)):
        assert (weights > 0).all()
        if not witness.cones:
            assert_allclose(weights.sum(), 1)
        means.append(weights @ X[rows])
    assert_allclose(*means, atol=1e-9 * np.abs(X).max())


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_witness_of_two_classes(fit_intercept):
    names = np.array(["no", "yes"])[y2]
    error = not_separable(X2, names, fit_intercept=fit_intercept)
    assert re.search("class 'yes' against class 'no'.*witness.*margin='soft'", str(error))
    assert error.witness.classes == ("no", "yes")
    assert error.witness.check(X2, names) < 1e-9
    assert_combination(error.witness, X2, names == "no", names == "yes")


def touching_pair():
    """Three classes, of which only the last two cannot be separated; the rest of the table is in between."""
    X, y = apart(60, 3, K=3)
    X[y == 2] = X[y == 1] + 0.1
    return X, np.array(["ash", "elm", "oak"])[y]


def test_the_witness_of_a_pair_names_rows_of_the_table():
    X, y = touching_pair()
    error = not_separable(X, y, multiclass="one-vs-one")
    assert "class 'oak' against class 'elm'" in str(error)
    assert error.witness.classes == ("elm", "oak")
    assert error.witness.check(X, y) < 1e-9
    assert_combination(error.witness, X, y == "elm", y == "oak")


def test_the_witness_of_a_class_against_the_rest_names_rows_of_the_table():
    X, y = touching_pair()
    error = not_separable(X, y)
    label = re.search("class '(.*)' against the rest", str(error)).group(1)
    assert label in ("elm", "oak")
    assert error.witness.check(X, y == label) < 1e-9
    assert_combination(error.witness, X, y != label, y == label)


@every_scheme
def test_the_witness_has_no_rows_of_weight_0(multiclass):
    X, y = touching_pair()
    weight = np.ones(len(y))
    weight[::4] = 0
    witness = not_separable(X, y, weight, multiclass=multiclass).witness
    assert (weight[np.concatenate((witness.rows_first, witness.rows_second))] > 0).all()
    if multiclass == "one-vs-one":
        assert witness.check(X, y) < 1e-9


def test_the_error_can_be_pickled_with_its_witness():
    error = not_separable(X2, y2)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.witness.check(X2, y2) == error.witness.check(X2, y2)


# --- what must not matter ---------------------------------------------------------------------------------------------


@every_loss
@every_solver
@given(st.integers(0, 100))
def test_a_weight_counts_like_as_many_rows(loss, solver, seed):
    X, y, _ = problem("plain", seed)
    times = np.random.default_rng(seed).integers(0, 4, len(y))
    times[[0, -1]] = 1
    weighted = fitted(X, y, times, C=0.5, loss=loss, solver=solver, tol=1e-10)
    repeated = fitted(np.repeat(X, times, axis=0), np.repeat(y, times), C=0.5, loss=loss, solver=solver, tol=1e-10)
    assert_allclose(weighted.solution_.objective, repeated.solution_.objective, rtol=1e-9)
    assert_same_coefficients(weighted, repeated)


def test_weights_multiply_C():
    model, other = fitted(weight=np.full(len(y2), 3.0), C=0.2), fitted(C=0.6)
    assert_allclose(model.coef_, other.coef_, rtol=1e-9)


@every_loss
@every_solver
def test_the_order_of_rows_does_not_matter(loss, solver):
    order = np.random.default_rng(0).permutation(len(y3))
    model = fitted(X3, y3, loss=loss, solver=solver, tol=1e-10)
    other = fitted(X3[order], y3[order], loss=loss, solver=solver, tol=1e-10)
    for column in range(3):
        assert_same_coefficients(model, other, column)
    assert_allclose(other.slacks_, model.slacks_[:, order], atol=1e-4)


@every_scheme
def test_names_of_classes_do_not_matter(multiclass):
    model = fitted(X3, y3, multiclass=multiclass)
    for names in (["a", "b", "c"], [-5, 3, 1_000_000], [False, True]):
        y = np.array(names)[y3 % len(names)]
        other = fitted(X3, y, multiclass=multiclass)
        if len(names) == 3:
            assert_array_equal(other.coef_, model.coef_)
            assert_array_equal(other.predict(X3), np.array(names)[model.predict(X3)])
        assert other.predict(X3).dtype == y.dtype


def test_swapped_classes_swap_the_sides():
    model, other = fitted(), fitted(y=1 - y2)
    assert_allclose(other.coef_, -model.coef_, rtol=1e-7)
    assert_allclose(other.intercept_, -model.intercept_, rtol=1e-7)
    assert_array_equal(other.support_, model.support_)


@every_scheme
@every_solver
def test_threads_do_not_matter(multiclass, solver):
    first, second = (fitted(X3, y3, multiclass=multiclass, solver=solver, n_jobs=n_jobs) for n_jobs in (1, 2))
    second.n_jobs = 1
    assert fitted_state(first) == fitted_state(second)


def test_threads_do_not_matter_where_one_problem_has_many_rows():
    X, y = normal_classes(n=60_000, p=8, K=2)
    first, second = (fitted(X, y, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert len(first._training.partitions) > 1
    assert_array_equal(first.coef_, second.coef_)
    assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert first.solution_.objective == second.solution_.objective


CONTAINERS = {
    "float32": lambda X: X.astype(np.float32),
    "columns first": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "integers": lambda X: X.astype(np.int32),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@every_solver
def test_containers_do_not_matter(container, solver):
    X = np.round(2 * X2)  # numbers that all of them can hold
    model = fitted(X, y2, solver=solver, tol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        other = fitted(container(X), y2, solver=solver, tol=1e-10)
        assert_allclose(other.coef_, model.coef_, rtol=1e-5, atol=1e-8)
        assert_array_equal(other.predict(container(X)), model.predict(X))
    taken = other.support_vectors_
    taken = taken.toarray() if sp.issparse(taken) else taken
    assert_array_equal(taken, X[other.support_])


def test_a_common_offset_costs_no_digits():
    model, other = fitted(), fitted(X2 + 1e6)
    assert_allclose(other.coef_, model.coef_, rtol=1e-7)
    assert_allclose(other.decision_function(X2 + 1e6), model.decision_function(X2), atol=1e-7)


def test_the_unit_of_all_columns_is_a_matter_of_C():
    for unit in (1e-6, 1e6):
        other = fitted(X2 * unit, C=1 / unit**2)
        assert_allclose(other.coef_ * unit, fitted().coef_, rtol=1e-6)


# --- copies -----------------------------------------------------------------------------------------------------------


@every_scheme
def test_pickled_models_predict_and_say_what_they_lack(multiclass):
    model = fitted(X3, y3, multiclass=multiclass)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X3), model.decision_function(X3))
    assert_array_equal(X3[again.support_], model.support_vectors_)
    assert len(pickle.dumps(model)) < len(pickle.dumps(X3)) + 20 * len(y3) * 8
    with pytest.raises(NotReadyError, match=re.escape("X[model.support_]")):
        _ = again.support_vectors_


def test_stored_models_say_what_they_lack(tmp_path):
    save(fitted(), tmp_path / "model.dsc")
    again = load(tmp_path / "model.dsc")
    assert_array_equal(again.decision_function(X2), fitted().decision_function(X2))
    with pytest.raises(NotReadyError, match="training rows"):
        _ = again.support_vectors_


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_stored_models_keep_their_calibration(tmp_path, method):
    model = fitted(X3, y3, calibration=method)
    save(model, tmp_path / "model.dsc")
    assert_array_equal(load(tmp_path / "model.dsc").predict_proba(X3), model.predict_proba(X3))


@pytest.mark.parametrize("name", ["support_", "dual_coef_", "n_support_", "slacks_", "support_vectors_"])
def test_what_only_a_fit_can_tell_is_not_there_before(name):
    model = SupportVectorClassifier()
    assert not hasattr(model, name)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(model, name)


@pytest.mark.parametrize("multiclass", ["one-vs-rest", "one-vs-one"])
def test_parameters_set_after_the_fit_do_not_change_what_it_found(multiclass):
    model = fitted(X3, y3, multiclass=multiclass)
    names = ("support_", "dual_coef_", "n_support_", "slacks_", "support_vectors_")
    before = [getattr(model, name) for name in names]
    other = {"one-vs-rest": "one-vs-one", "one-vs-one": "one-vs-rest"}[multiclass]
    model.set_params(multiclass=other, margin="hard", C=7.0, loss="squared_hinge", fit_intercept=False)
    for name, value in zip(names, before, strict=True):
        assert_array_equal(getattr(model, name), value)


def test_a_clone_is_not_fitted_and_fits_the_same():
    model = fitted(C=0.3, loss="squared_hinge", fit_intercept=False)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    for use in (copy.predict, copy.decision_function):
        with pytest.raises(NotFittedError):
            use(X2)
    with pytest.raises(NotFittedError):
        _ = copy.support_vectors_
    assert_array_equal(copy.fit(X2, y2).coef_, model.coef_)


# --- probabilities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize(("X", "y"), [(X2, y2), (X3, y3)], ids=["two", "three"])
def test_calibration_is_that_of_scikit_learn_and_leaves_predictions_alone(method, X, y):
    model, plain = fitted(X, y, calibration=method), fitted(X, y)
    probability = model.predict_proba(X)
    assert probability.shape == (len(y), len(model.classes_))
    assert_allclose(probability.sum(axis=1), 1)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    other = CalibratedClassifierCV(SupportVectorClassifier(), method=method, cv=folds, ensemble=False).fit(X, y)
    assert_allclose(probability, other.predict_proba(X), atol=1e-6)  # whose sigmoids are that precise
    assert_array_equal(model.predict(X), plain.predict(X))
    assert_array_equal(model.coef_, plain.coef_)


def test_without_calibration_there_are_no_probabilities():
    model = fitted()
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        _ = model.predict_proba
    assert re.search("predict_proba.*calibration='sigmoid'", str(caught.value.__cause__))


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_calibration_takes_every_container(container):
    X = container(np.round(2 * X2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        probability = fitted(X, y2, calibration="sigmoid").predict_proba(X)
        assert_allclose(probability, fitted(np.round(2 * X2), calibration="sigmoid").predict_proba(np.round(2 * X2)))


def test_rows_of_weight_0_are_left_out_of_calibration():
    weight = np.random.default_rng(0).choice([0.0, 1.0], len(y2))
    model = fitted(weight=weight, calibration="sigmoid")
    other = fitted(X2[weight > 0], y2[weight > 0], calibration="sigmoid")
    assert_allclose(model.predict_proba(X2), other.predict_proba(X2), rtol=1e-6)


def test_calibration_asked_for_after_the_fit_is_not_there():
    model = fitted().set_params(calibration="sigmoid")
    with pytest.raises(NotReadyError, match="calibration='sigmoid'"):
        model.predict_proba(X2)


def test_calibration_needs_two_rows_of_every_class():
    y = np.where(np.arange(len(y2)) == 5, 2, y2)
    with pytest.raises(DegenerateDataError, match="class 2"):
        fitted(y=y, calibration="sigmoid")
    few = np.where(np.arange(len(y2)) % 40 == 5, 2, y2)
    assert fitted(y=few, calibration="sigmoid").predict_proba(X2).shape == (len(y2), 3)


# --- what cannot be used ----------------------------------------------------------------------------------------------

SETTINGS = {
    "soft": {},
    "hard": {"margin": "hard"},
    "squared": {"loss": "squared_hinge"},
    "dual": {"solver": "dual"},
    "squared-dual": {"solver": "dual", "loss": "squared_hinge"},
    "active-set": {"solver": "active-set"},
    "squared-active-set": {"solver": "active-set", "loss": "squared_hinge"},
}
every_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


def refused(error, words, X=X2, y=y2, weight=None, **parameters):
    """By a new estimator and by one with a past, which is what it was afterwards."""
    old = fitted()
    before, parameters_before = fitted_state(old), old.get_params()
    for model in (SupportVectorClassifier(**parameters), old.set_params(**parameters)):
        with pytest.raises(error) as caught:
            model.fit(X, y, weight)
        assert isinstance(caught.value, DiscriminantError)
        for word in words:
            assert re.search(word, str(caught.value)), f"{word!r} is not in: {caught.value}"
    assert fitted_state(old.set_params(**parameters_before)) == before


def with_value(value):
    changed = X2.copy()
    changed[7, 2] = value
    return changed


@every_setting
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_missing_and_infinite_values_are_named_by_place(setting, value, word):
    bad = with_value(value)
    for X in (bad, bad.astype(np.float32), sp.csr_array(bad)):
        refused(InputError, [word, "column 2", "row 7"], X, **setting)
    refused(InputError, [word, "column 'c'", "row 7"], pd.DataFrame(bad, columns=list("abcd")), **setting)


@every_setting
@pytest.mark.parametrize("multiclass", SCHEMES)
def test_a_bad_value_of_many_classes_is_named_by_its_row_in_the_table(setting, multiclass):
    bad = X3.copy()
    bad[-1, 1] = np.nan
    refused(InputError, ["NaN", "column 1", f"row {len(y3) - 1}"], bad, y3, multiclass=multiclass, **setting)


@every_setting
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_values_whose_squares_overflow_are_refused(setting, container):
    words = ["1e\\+200"] if setting.get("margin") == "hard" else ["column 2", "too large"]
    refused(InputError, words, container(with_value(1e200)), **setting)


@every_setting
def test_a_single_enormous_value_is_solved_for_or_told(setting):
    """Whatever can be said of such data, nothing overflows on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = SupportVectorClassifier(**setting).fit(with_value(1e100), y2)
        except NotSeparableError:
            return
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    assert np.isfinite(model.coef_).all()
    assert bool(caught) == (not model.solution_.converged)


BAD_PARAMETERS = [
    *[("C", value) for value in (0, -1.0, np.nan, np.inf, "one", None, True)],
    *[("tol", value) for value in (0.0, -1e-6, 2.0, np.nan, "small")],
    *[("max_iter", value) for value in (0, -1, 1.5, "many", True)],
    *[("margin", value) for value in ("wide", None, 1)],
    *[("loss", value) for value in ("logistic", None, ["hinge"])],
    *[("solver", value) for value in ("sgd", None)],
    *[("multiclass", value) for value in ("ovr", None, "crammer_singer")],
    *[("calibration", value) for value in ("platt", True)],
    *[("n_jobs", value) for value in (0, 1.5, "2", True)],
]


@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS, ids=str)
def test_parameters_that_cannot_be_are_refused(name, value):
    refused(ParameterError, [name, re.escape(str(value))], **{name: value})


@pytest.mark.parametrize("value", [np.array(["hinge", "hinge"]), {"hinge"}])
def test_a_collection_is_no_option(value):
    refused(ParameterError, ["loss must be 'hinge' or 'squared_hinge'"], loss=value)


@pytest.mark.parametrize("value", ["chance", -1, 1.5])
def test_a_random_state_that_is_none_is_refused(value):
    refused(ParameterError, ["random_state", str(value)], solver="dual", random_state=value)


def test_costs_that_overflow_are_refused():
    refused(ParameterError, ["C=1e\\+300", "Lower it"], C=1e300)


BAD_LABELS = {
    "none at all": (None, LabelError, ["label per row"]),
    "one class": (np.full(90, "cat"), LabelError, ["'cat'"]),
    "continuous": (X2[:, 0], LabelError, ["continuous"]),
    "a missing one": (np.array(["a", "b", None] * 30, dtype=object), LabelError, ["None", "row 2"]),
    "too few": (y2[:-1], InputError, ["90", "89", "one label per row"]),
    "two columns": (np.column_stack((y2, y2)), InputError, [r"\(90, 2\)"]),
}


@pytest.mark.parametrize(("y", "error", "words"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_labels_that_are_no_classes_are_refused(y, error, words):
    refused(error, words, y=y)


BAD_WEIGHTS = {
    "negative": (np.where(np.arange(90) == 5, -2.0, 1.0), ["row 5", "-2"]),
    "not a number": (np.where(np.arange(90) == 5, np.nan, 1.0), ["NaN", "row 5"]),
    "all zero": (np.zeros(90), ["zero"]),
    "zero for a class": ((y2 == 0).astype(float), ["class 1", "zero"]),
    "too few": (np.ones(89), ["89", "90"]),
    "text": (["one"] * 90, ["sample_weight"]),
}


@pytest.mark.parametrize(("weight", "words"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
@pytest.mark.parametrize("margin", ["soft", "hard"])
def test_weights_that_are_no_frequencies_are_refused(weight, words, margin):
    refused(WeightError, words, weight=weight, margin=margin)


BAD_TABLES = {
    "one row too long": ([[1.0, 2.0], [3.0]], InputError, ["same number of values"]),
    "a vector": (X2[:, 0], InputError, ["2D array", "[Rr]eshape"]),
    "no columns": (X2[:, :0], InputError, ["0 feature"]),
    "text": (np.full((90, 2), "a"), DtypeError, ["not numbers"]),
    "complex numbers": (X2 + 1j, InputError, ["[Cc]omplex"]),
    "a column of text": (pd.DataFrame({"a": X2[:, 0], "b": ["u", "v", "w"] * 30}), ColumnError, ["'b'"]),
}


@pytest.mark.parametrize(("X", "error", "words"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_what_is_not_a_table_of_numbers_is_refused(X, error, words):
    refused(error, words, X)


def test_prediction_wants_the_columns_of_the_fit():
    model = fitted(pd.DataFrame(X2, columns=list("abcd")))
    with pytest.raises(ColumnError, match="order"):
        model.predict(pd.DataFrame(X2, columns=list("badc")))
    with pytest.raises(ColumnError, match="3 features"):
        fitted().predict(X2[:, :3])
    with pytest.raises(InputError, match=r"NaN: column 2, row 7"):
        fitted().predict(with_value(np.nan))


def test_a_fit_that_fails_in_calibration_leaves_the_old_model():
    refused(DegenerateDataError, ["class 2"], y=np.where(np.arange(90) == 5, 2, y2), calibration="sigmoid")


def test_a_fit_forgets_the_one_before():
    model = fitted(X3, y3, calibration="sigmoid")
    model.set_params(calibration=None).fit(X2, y2)
    fresh = fitted()
    assert set(vars(model)) == set(vars(fresh))
    assert_array_equal(model.coef_, fresh.coef_)


def test_what_is_not_reached_is_told_with_a_bound(monkeypatch):
    monkeypatch.setattr(interior_point, "MAX_STEP_OPERATIONS", 0)
    with pytest.warns(ConvergenceWarning, match=r"class 1.*class 0.*max_iter"):
        model = fitted(C=1e3, solver="dual", max_iter=5)
    assert not model.solution_.converged
    assert model.solution_.iterations == model.n_iter_ == 5
    assert_optimal(model, X2, y2, tol=model.solution_.suboptimality)


# --- columns measured by their standard deviation -------------------------------------------------------------------

UNITS = np.array([1e-3, 1.0, 40.0, 1e5])


@pytest.mark.parametrize(
    "parameters",
    [{"C": 0.3}, {"C": 0.3, "loss": "squared_hinge"}, {"C": 2.0, "multiclass": "one-vs-one"}, {"solver": "dual"}],
    ids=str,
)
def test_standardised_margins_are_those_of_columns_divided_by_their_standard_deviation(parameters):
    weight = np.random.default_rng(0).integers(0, 3, len(y3))
    sd = np.sqrt(np.cov(X3 * UNITS, rowvar=False, ddof=0, fweights=weight).diagonal())
    model = fitted(X3 * UNITS, y3, weight, standardize=True, **parameters)
    plain = fitted(X3 * UNITS / sd, y3, weight, **parameters)
    assert_allclose(model.coef_ * sd, plain.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(model.intercept_, plain.intercept_, rtol=1e-6, atol=1e-8)
    assert_allclose(model.margin_, plain.margin_, rtol=1e-6)
    assert_allclose(model.slacks_, plain.slacks_, rtol=1e-5, atol=1e-6)
    own = model.dual_coef_ @ model.support_vectors_ / sd**2
    assert_allclose(own * sd, model.coef_ * sd, rtol=1e-3, atol=1e-4)
    sparse = fitted(sp.csr_array(X3 * UNITS), y3, weight, standardize=True, **parameters)
    assert_allclose(sparse.coef_ * sd, model.coef_ * sd, rtol=1e-2, atol=1e-2)


def test_standardised_hard_margins_do_not_depend_on_units():
    X, y = apart(p=4)
    models = [fitted(rows, y, margin="hard", standardize=True) for rows in (X, X * UNITS)]
    assert_allclose(models[1].coef_ * UNITS, models[0].coef_, rtol=1e-6)
    assert_allclose(models[1].margin_, models[0].margin_, rtol=1e-8)
    with pytest.raises(NotSeparableError) as told:
        fitted(X2 * UNITS, margin="hard", standardize=True)
    assert told.value.witness.check(X2 * UNITS, y2) < 1e-6
    assert_allclose(
        told.value.witness.point, (X2 * UNITS)[told.value.witness.rows_first].T @ told.value.witness.weights_first
    )


# --- calibrated on splits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("X", "y"), [(X2, y2), (X3, y3)], ids=["two classes", "three"])
def test_calibrated_margins_are_those_of_machines_fitted_apart(X, y):
    held = HeldOut.repeated(y, 4)
    tuned = support_vector_rule(labelled_rows(X * UNITS, y), held)
    Z, margins = X / X.std(axis=0), []
    for split in range(held.n_splits):
        train = held.seen[:, split]
        cost = tuned.settings["C"] * len(y) / train.sum()  # the penalty is the same beside a mean loss
        machine = SupportVectorClassifier(C=cost, loss="squared_hinge").fit(Z[train], y[train])
        scores = machine.decision_function(Z[held.rows[held.fits == split]])
        margins.append(scores.reshape(len(scores), -1))
    order = np.argsort(np.concatenate([np.flatnonzero(held.fits == split) for split in range(held.n_splits)]))
    margins, fold = np.concatenate(margins)[order], held.fits[held.first[held.rows]]
    best = np.inf
    for alpha in (1e-2, 1e-3, 1e-4):
        logs = np.empty((len(fold), y.max() + 1))
        for f in np.unique(fold):
            line = LogisticRegression(alpha).fit(margins[fold != f], y[held.rows][fold != f])
            logs[fold == f] = line.predict_log_proba(margins[fold == f])
        loss = -logs[np.arange(len(fold)), y[held.rows]].mean()
        if loss < best:
            best, expected = loss, logs
    assert_allclose(tuned.loss, best, rtol=0.01)
    assert np.abs(np.exp(tuned.log_posteriors) - np.exp(expected)).mean() < 0.01
    own = np.exp(log_softmax(tuned.rule.scores(X * UNITS), axis=1))
    assert np.mean(own.argmax(axis=1) == y) > 0.7
    assert_allclose(own.mean(axis=0), np.bincount(y) / len(y), atol=0.05)


def test_calibrated_margins_of_more_columns_than_rows_and_of_rare_classes():
    X, y = normal_classes(n=50, p=80)
    y[:2] = 3
    held = HeldOut.repeated(y)
    tuned, other = (support_vector_rule(labelled_rows(rows, y), held) for rows in (X, sp.csr_array(X * 3)))
    assert np.isfinite(tuned.log_posteriors).all()
    assert_allclose(tuned.rule.scores(X).shape, (50, 4))
    assert_allclose(other.loss, tuned.loss, rtol=0.02)
