"""Logistic regression: solvers agree, laws hold, inference is right, bad input is named."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import discriminant
from discriminant import LogisticRegression, LogisticRegressionCV, LogisticRegressionPath, objective
from discriminant.data import as_rows
from discriminant.errors import (
    CollinearityWarning,
    InputError,
    LabelError,
    NotReadyError,
    ParameterError,
    SeparationWarning,
    WeightError,
)
from discriminant.estimators import logistic_cv

SMOOTH = ("newton", "lbfgs", "newton-cg", "gradient", "sgd", "coordinate")


def rows(n=600, p=4, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    W = rng.normal(size=(K, p))
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("solver", SMOOTH)
def test_all_solvers_reach_one_optimum(solver, alpha, K):
    X, y = rows(K=K)
    best = LogisticRegression(alpha=alpha, tol=1e-15).fit(X, y)
    found = LogisticRegression(alpha=alpha, solver=solver, tol=1e-15, max_iter=20_000, random_state=0).fit(X, y)
    assert found.solution_.solver == solver
    assert_allclose(found.coef_, best.coef_, atol=1e-6)
    assert_allclose(found.intercept_, best.intercept_, atol=1e-6)


@pytest.mark.parametrize("K", [2, 4])
def test_the_default_stops_within_1e_9_of_the_optimum(K):
    X, y = rows(n=30_000, p=8, K=K)
    default, tight = LogisticRegression().fit(X, y), LogisticRegression(tol=1e-15).fit(X, y)
    losses = [-np.log(m.predict_proba(X)[np.arange(len(y)), y]).mean() for m in (default, tight)]
    assert losses[0] <= losses[1] * (1 + 1e-9)


@pytest.mark.parametrize("K", [2, 3])
def test_coefficients_are_scikit_learns(K):
    X, y = rows(K=K)
    alpha = 0.01
    peer = SklearnLogistic(C=1 / (alpha * len(y)), tol=1e-12, max_iter=10_000).fit(X, y)
    ours = LogisticRegression(alpha=alpha, standardize=False, tol=1e-15).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    assert_allclose(ours.intercept_, peer.intercept_, atol=1e-6)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("K", [2, 3])
def test_the_penalty_measures_columns_by_their_standard_deviation(K, l1_ratio):
    """As a fit to standardised columns, in the units of the data; weights are repeated rows, dense is sparse."""
    X, y = rows(K=K)
    X = np.where(np.abs(X) < 0.3, 0.0, X) * np.geomspace(1e-4, 1e4, X.shape[1])
    weight = np.arange(len(y)) % 3
    many = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    centre, spread = many[0].mean(axis=0), many[0].std(axis=0)
    given = {"alpha": 0.02, "l1_ratio": l1_ratio, "tol": 1e-13}
    plain = LogisticRegression(**given, standardize=False).fit((many[0] - centre) / spread, many[1])
    for model in (
        LogisticRegression(**given).fit(*many),
        LogisticRegression(**given).fit(X, y, weight),
        LogisticRegression(**given).fit(sp.csr_array(X), y, weight),
    ):
        assert_allclose(model.coef_ * spread, plain.coef_, rtol=1e-5, atol=1e-7)
        at_centre = model.intercept_ + model.coef_ @ centre - plain.intercept_
        assert_allclose(at_centre if K == 2 else at_centre - at_centre.mean(), 0.0, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.02])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "newton-cg"])
def test_dense_is_sparse(solver, alpha):
    X, y = rows(K=3)
    X[np.abs(X) < 0.7] = 0.0
    dense = LogisticRegression(alpha=alpha, solver=solver, tol=1e-15).fit(X, y)
    sparse = LogisticRegression(alpha=alpha, solver=solver, tol=1e-15).fit(sp.csr_array(X), y)
    assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)
    assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("K", [2, 3])
def test_weights_are_repeated_rows_standard_errors_too(K):
    X, y = rows(n=200, K=K)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = LogisticRegression(tol=1e-15).fit(X, y, sample_weight=weight)
    repeated = LogisticRegression(tol=1e-15).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    for kind in ("model", "robust"):
        errors = [[r.std_error for r in m.summary(covariance=kind).rows] for m in (weighted, repeated)]
        assert_allclose(errors[0], errors[1], rtol=1e-7)
    assert weighted.summary().bic == pytest.approx(repeated.summary().bic)


def test_units_and_offsets_of_columns_do_not_matter():
    X, y = rows(K=3)
    scale, shift = np.array([1e-8, 1e8, 1.0, 1e4]), np.array([0.0, 1e8, 1e6, -3e4])
    plain, moved = LogisticRegression(tol=1e-14).fit(X, y), LogisticRegression(tol=1e-14).fit(X * scale + shift, y)
    assert_allclose(moved.predict_proba(X * scale + shift), plain.predict_proba(X), atol=1e-6)
    assert_allclose(moved.coef_ * scale, plain.coef_, rtol=1e-5)


def test_threads_change_nothing():
    X, y = rows(n=60_000, p=12)
    fits = [LogisticRegression(n_jobs=jobs).fit(X, y).coef_.tobytes() for jobs in (1, 2, 5)]
    assert len(set(fits)) == 1


def test_float32_and_frames_give_the_same():
    X, y = rows()
    single = X.astype(np.float32)
    double = LogisticRegression(tol=1e-14).fit(single.astype(np.float64), y)
    assert_allclose(LogisticRegression(tol=1e-14).fit(single, y).coef_, double.coef_, atol=1e-7)
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert_allclose(LogisticRegression().fit(frame, y).coef_, LogisticRegression().fit(X, y).coef_, atol=1e-9)


def test_offset_is_a_column_with_coefficient_one():
    X, y = rows()
    known = 0.7 * X[:, 0]
    held = LogisticRegression(tol=1e-15).fit(X[:, 1:], y, offset=known)
    peer = sm.GLM(y, sm.add_constant(X[:, 1:]), family=sm.families.Binomial(), offset=known).fit(tol=1e-14)
    assert_allclose(np.append(held.intercept_, held.coef_), peer.params, atol=1e-7)
    assert held.summary().null_log_likelihood == pytest.approx(peer.llnull, abs=1e-6)


def test_score_equations_hold_at_the_optimum():
    X, y = rows()
    probability = LogisticRegression(tol=1e-15).fit(X, y).predict_proba(X)[:, 1]
    assert probability.sum() == pytest.approx(y.sum(), abs=1e-6)


def test_log_odds_against_any_reference_give_the_same_probabilities():
    X, y = rows(K=4)
    model = LogisticRegression().fit(X, y)
    for reference in range(4):
        outcomes, coef, intercept = model.log_odds(reference)
        odds = np.exp(X @ coef.T + intercept)
        probability = odds / (1 + odds.sum(axis=1, keepdims=True))
        assert_allclose(probability, model.predict_proba(X)[:, outcomes], atol=1e-10)
    assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12)


def test_summary_is_statsmodels():
    X, y = rows()
    ours = LogisticRegression(tol=1e-15).fit(X, y).summary()
    peer = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14)
    assert_allclose([r.estimate for r in ours.rows], peer.params, atol=1e-8)
    assert_allclose([r.std_error for r in ours.rows], peer.bse, rtol=1e-7)
    assert_allclose([r.p_value for r in ours.rows], peer.pvalues, rtol=1e-5, atol=1e-300)
    assert_allclose([(r.low, r.high) for r in ours.rows], peer.conf_int(), rtol=1e-6)
    assert_allclose(
        [ours.log_likelihood, ours.aic, ours.bic, ours.pseudo_r2], [peer.llf, peer.aic, peer.bic, peer.prsquared]
    )


@pytest.mark.parametrize("kind", ["robust", "clustered"])
def test_sandwich_covariances_are_statsmodels(kind):
    X, y = rows()
    groups = np.arange(len(y)) // 7
    ours = LogisticRegression(tol=1e-15).fit(X, y)
    if kind == "robust":
        errors = [r.std_error for r in ours.summary(covariance="robust").rows]
        peer = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14, cov_type="HC0").bse
        assert_allclose(errors, peer, rtol=1e-6)
    else:
        errors = [r.std_error for r in ours.summary(covariance="clustered", clusters=groups).rows]
        options = {"groups": groups, "use_correction": False}
        peer = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14, cov_type="cluster", cov_kwds=options).bse
        count = groups.max() + 1
        assert_allclose(errors, peer * np.sqrt(count / (count - 1)), rtol=1e-6)


def test_multinomial_summary_is_statsmodels():
    X, y = rows(K=3)
    ours = LogisticRegression(tol=1e-15).fit(X, y).summary(reference=0)
    peer = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14, maxiter=100)
    assert_allclose([r.estimate for r in ours.rows], peer.params.T.ravel(), atol=1e-7)
    assert_allclose([r.std_error for r in ours.rows], peer.bse.T.ravel(), rtol=1e-6)
    assert [r.outcome for r in ours.rows] == [1] * 5 + [2] * 5


def test_importance_weights_are_not_frequencies():
    X, y = rows(n=300)
    weight = np.full(len(y), 4.0)
    model = LogisticRegression(tol=1e-15).fit(X, y, sample_weight=weight)
    plain = [r.std_error for r in LogisticRegression(tol=1e-15).fit(X, y).summary(covariance="robust").rows]
    frequency = [r.std_error for r in model.summary(covariance="robust").rows]
    importance = [r.std_error for r in model.summary(weights="importance", covariance="HC0").rows]
    assert_allclose(importance, plain, rtol=1e-7)  # a common factor of importance changes nothing
    assert_allclose(frequency, np.array(plain) / 2, rtol=1e-7)  # four times the rows halve the error


def test_profile_interval_ends_raise_the_deviance_by_the_quantile():
    X, y = rows(n=120, p=2)
    model = LogisticRegression(tol=1e-15).fit(X, y)
    for _, term, low, high in model.conf_int(method="profile"):
        if term == "intercept":
            continue
        j = int(term[1:])
        for end in (low, high):
            held = LogisticRegression(tol=1e-15).fit(np.delete(X, j, axis=1), y, offset=end * X[:, j])
            rise = 2 * (model.summary().log_likelihood - held.summary().log_likelihood)
            assert rise == pytest.approx(3.841458820694124, abs=1e-6)


def test_likelihood_ratio_tests():
    X, y = rows(K=3)
    whole = LogisticRegression(tol=1e-15).fit(X, y)
    part = LogisticRegression(tol=1e-15).fit(X[:, :3], y)
    nested = whole.likelihood_ratio_test(part)
    by_term = whole.term_tests()["x3"]
    assert nested.df == by_term.df == 2
    assert nested.statistic == pytest.approx(by_term.statistic, rel=1e-7)
    with pytest.raises(ParameterError, match="nested"):
        part.likelihood_ratio_test(whole)
    assert f"df 2, p {nested.p_value:.4f}" in str(nested) or "p < 0.0001" in str(nested)
    assert nested.to_dict() == {"statistic": nested.statistic, "df": 2, "p_value": nested.p_value}
    table = whole.term_tests().to_frame()
    assert list(table.columns) == ["term", "statistic", "df", "p_value"]
    assert len(str(whole.term_tests()).splitlines()) == 2 + len(table)


def test_intervals_are_a_table():
    X, y = rows(K=3)
    found = LogisticRegression().fit(X, y).conf_int(level=0.9)
    table = found.to_frame()
    assert list(table.columns) == ["outcome", "term", "low", "high"]
    assert len(table) == len(list(found)) == len(str(found).splitlines()) - 2
    assert str(found).startswith("Confidence intervals, 90 % (wald)")


def test_summary_prints_and_gives_frames():
    X, y = rows()
    frame = pd.DataFrame(X, columns=["age", "dose", "weight", "height"])
    summary = LogisticRegression().fit(frame, np.array(["no", "yes"])[y]).summary()
    text = str(summary)
    assert "dose" in text
    assert "odds ratio" in text
    assert "log-odds of 'yes'" in text
    assert list(summary.to_frame()["term"]) == ["intercept", "age", "dose", "weight", "height"]
    assert summary.to_frame(backend="polars").shape == (5, 10)


def test_polynomial_terms_carry_their_names():
    X, y = rows(p=2)
    pipe = make_pipeline(PolynomialFeatures(2, include_bias=False).set_output(transform="pandas"), LogisticRegression())
    pipe.fit(pd.DataFrame(X, columns=["a", "b"]), y)
    assert [r.term for r in pipe[-1].summary().rows] == ["intercept", "a", "b", "a^2", "a b", "b^2"]


@pytest.mark.parametrize("K", [2, 3])
def test_a_ridge_has_credible_intervals_and_no_tests(K):
    """Its covariance is the inverse of the information plus the precision of the prior."""
    X, y = rows(K=K)
    model = LogisticRegression(alpha=0.1).fit(X, y)
    summary = model.summary()
    assert summary.interval == "credible"
    assert np.isnan([(row.z, row.p_value) for row in summary.rows]).all()
    assert all(row.low < row.estimate < row.high for row in summary.rows)
    assert any("ridge" in note for note in summary.notes)
    if K == 2:
        design = np.column_stack([np.ones(len(y)), X])
        p = model.predict_proba(X)[:, 1]
        precision = np.diag(np.append(0.0, len(y) * 0.1 * X.var(axis=0)))
        covariance = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]) + precision)
        assert_allclose([row.std_error for row in summary.rows], np.sqrt(np.diagonal(covariance)), rtol=1e-6)
    assert LogisticRegression().fit(X, y).summary().interval == "confidence"


def test_what_a_ridge_cannot_hold_is_refused():
    X, y = rows()
    model = LogisticRegression(alpha=0.1).fit(X, y)
    for ask in (
        model.conf_int,
        lambda: model.summary(covariance="robust"),
        lambda: model.summary(weights="importance"),
        LogisticRegression(alpha=0.1, class_weight="balanced").fit(X, y).summary,
    ):
        with pytest.raises(ParameterError, match="alpha"):
            ask()


def test_l1_refuses():
    X, y = rows()
    with pytest.raises(ParameterError, match="l1_ratio"):
        LogisticRegression(alpha=0.1, l1_ratio=1.0).fit(X, y).summary()


def test_collinear_columns_are_named_and_the_rest_keep_their_errors():
    X, y = rows()
    wide = pd.DataFrame(np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(y), 3.0)]), columns=list("abcdef"))
    with pytest.warns(CollinearityWarning, match="'e'.*'f'"):
        model = LogisticRegression(tol=1e-15).fit(wide, y)
    plain = LogisticRegression(tol=1e-15).fit(X, y)
    assert_allclose(model.predict_proba(wide), plain.predict_proba(X), atol=1e-8)
    table = model.summary()
    assert_allclose([r.std_error for r in table.rows[:5]], [r.std_error for r in plain.summary().rows], rtol=1e-5)
    assert np.isnan([r.estimate for r in table.rows[5:]]).all()
    assert table.n_parameters == 5


@pytest.mark.parametrize("alpha", [1e-9, 0.003, 0.2, 1e6])
def test_a_ridge_counts_the_parameters_it_leaves_free(alpha):
    """By the trace of the hat matrix; columns given twice do not count twice."""
    X, y = rows()
    wide = np.column_stack([X, X[:, :2]])
    model = LogisticRegression(alpha=alpha, tol=1e-15).fit(wide, y)
    p = model.predict_proba(wide)[:, 1]
    design = np.column_stack([wide, np.ones(len(y))]) * np.sqrt(p * (1 - p))[:, None]
    penalty = np.diag([*(len(y) * alpha * wide.var(axis=0)), 0.0])
    free = np.trace(design @ np.linalg.solve(design.T @ design + penalty, design.T))
    table = model.summary()
    assert table.n_parameters == pytest.approx(free, rel=1e-6)
    assert 1 < free < 1 + X.shape[1]
    assert table.aic == pytest.approx(table.deviance + 2 * free)


@pytest.mark.parametrize("K", [2, 3])
def test_separation_warns_and_still_classifies(K):
    rng = np.random.default_rng(0)
    y = np.arange(90) % K
    X = rng.normal(size=(90, 2)) * 0.1 + 3 * np.eye(3)[y][:, :2]
    with pytest.warns(SeparationWarning, match="complete"):
        model = LogisticRegression().fit(X, y)
    assert model.score(X, y) == 1.0
    assert all(not np.isfinite(r.estimate) for r in model.summary().rows if r.term != "intercept")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(LogisticRegression(firth=True).fit(X, y).coef_).all()
        assert np.isfinite(LogisticRegression(alpha=0.1).fit(X, y).coef_).all()


def test_strong_but_overlapping_data_are_not_called_separated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 2)) * 6
    y = (X[:, 0] + 0.3 * rng.logistic(size=4_000) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    assert model.separation_ is None
    assert model.solution_.converged


def test_solution_and_trace():
    X, y = rows()
    model = LogisticRegression(solver="gradient", trace=True, max_iter=5_000).fit(X, y)
    values = [step.value for step in model.solution_.trace]
    assert values == sorted(values, reverse=True)
    assert model.solution_.reason == "optimal"
    assert model.solution_.passes >= len(values)


def test_early_stopping_stops_early():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 60)), rng.integers(0, 2, 120)
    model = LogisticRegression(early_stopping=True, random_state=0, alpha=1e-4).fit(X, y)
    assert model.solution_.reason == "early stopping"
    with pytest.raises(ParameterError, match="sgd"):
        LogisticRegression(early_stopping=True, solver="newton").fit(X, y)
    with pytest.raises(ParameterError, match="l1"):
        LogisticRegression(0.1, l1_ratio=1.0, early_stopping=True).fit(X, y)


def test_streams_learn():
    X, y = rows(n=20_000)
    model = LogisticRegression(random_state=0)
    for start in range(0, len(y), 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500], classes=[0, 1])
    assert_allclose(model.coef_, LogisticRegression().fit(X, y).coef_, atol=0.15)


def test_too_few_iterations_warn_with_the_remedy():
    X, y = rows()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        LogisticRegression(solver="gradient", max_iter=2).fit(X, y)


def test_a_stored_model_predicts_but_has_no_rows_to_look_at():
    X, y = rows()
    model = LogisticRegression().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=0)
    with pytest.raises(NotReadyError, match="training rows"):
        again.summary()


def test_firth_multinomial_of_two_classes_is_binary():
    X, y = rows(n=60, K=3)
    model = LogisticRegression(firth=True).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert len(model.summary(reference=1).rows) == 10


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("K", [2, 3])
def test_a_path_is_its_separate_fits(l1_ratio, K):
    X, y = rows(K=K)
    path = LogisticRegressionPath(n_alphas=5, l1_ratio=l1_ratio, tol=1e-12).fit(X, y)
    for alpha, coef in zip(path.alphas_, path.coefs_, strict=True):
        single = LogisticRegression(alpha=alpha, l1_ratio=l1_ratio, tol=1e-12).fit(X, y)
        assert_allclose(coef, single.coef_, atol=2e-5)
    if l1_ratio:
        assert not path.coefs_[0].any()


def test_cross_validation_chooses_by_held_out_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = (X[:, 0] - X[:, 1] + rng.logistic(size=400) > 0).astype(int)
    least = LogisticRegressionCV(n_alphas=12, cv=5, rule="min", random_state=0).fit(X, y)
    sparser = LogisticRegressionCV(n_alphas=12, cv=5, rule="one-se", random_state=0).fit(X, y)
    assert least.alpha_ == least.alphas_[np.argmin(least.losses_)]
    assert sparser.alpha_ >= least.alpha_
    assert (sparser.coef_ != 0).sum() <= (least.coef_ != 0).sum()
    assert sparser.coef_[0, :2].all()
    again = LogisticRegressionCV(n_alphas=12, cv=5, rule="min", random_state=0, n_jobs=1).fit(X, y)
    assert again.losses_.tobytes() == least.losses_.tobytes()


@pytest.mark.parametrize(("standardize", "passes"), [(True, 1), (False, 0)])
def test_cross_validation_takes_the_units_of_columns_once(standardize, passes, monkeypatch):
    X, y = rows(n=80, p=3)
    taken, column_std = [], objective.column_std

    def counted(*args):
        taken.append(args)
        return column_std(*args)

    for module in (objective, logistic_cv):
        monkeypatch.setattr(module, "column_std", counted)
    LogisticRegressionCV(n_alphas=3, cv=3, l1_ratio=[0.0, 1.0], standardize=standardize).fit(X, y)
    assert len(taken) == passes


def test_rows_too_few_to_tell_strengths_apart_leave_the_choice_to_a_prior():
    """Around root p / n, and worth less than a row or two; not between strengths that are given."""
    rng = np.random.default_rng(1)
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 4)) + 1.2 * (2 * y - 1)[:, None] * np.array([1, 1, 0, 0])
    chosen = LogisticRegressionCV().fit(X, y)
    least = LogisticRegressionCV(chosen.alphas_).fit(X, y)
    assert least.alpha_ == least.alphas_[np.argmin(least.losses_)] != chosen.alpha_
    far, near = (abs(np.log(24 * model.alpha_ / 2)) for model in (least, chosen))
    assert near < far
    assert chosen.losses_[chosen.alphas_ == chosen.alpha_] < least.losses_.min() + (far / 3) ** 2 / 2 / 24


def test_marks_of_levels_are_measured_as_they_are():
    """However rare: in rows that know which columns are marks, a penalty measures only the others by their spread."""
    rng = np.random.default_rng(0)
    numbers, marks = 50 * rng.normal(size=(200, 2)), np.eye(3)[rng.choice(3, 200, p=[0.6, 0.3, 0.1])]
    X, known = np.hstack((numbers, marks)), np.array([False, False, True, True, True])
    y = (numbers[:, 0] / 50 + 2 * marks[:, 2] + rng.logistic(size=200) > 0).astype(int)
    spread = np.append(numbers.std(axis=0), np.ones(3))
    found = LogisticRegression(alpha=0.05).fit(as_rows(X, is_indicator=known), y)
    raw = LogisticRegression(alpha=0.05, standardize=False).fit(X / spread, y)
    assert_allclose(found.coef_ * spread, raw.coef_, rtol=1e-5)
    sparse = LogisticRegression(alpha=0.05).fit(as_rows(sp.csr_matrix(X), is_indicator=known), y)
    assert_allclose(sparse.coef_, found.coef_, rtol=1e-5)


def test_bad_input_is_named():
    X, y = rows()
    model = LogisticRegression().fit(X, y)
    before = model.coef_.copy()
    bad = X.copy()
    bad[3, 1] = np.nan
    for solver in ("auto", "lbfgs", "newton-cg", "coordinate", "gradient", "sgd"):
        with pytest.raises(InputError, match="column 1, row 3"):
            LogisticRegression(solver=solver, alpha=0.1).fit(bad, y)
    with pytest.raises(InputError, match="NaN"):
        model.fit(bad, y)
    with pytest.raises(LabelError, match="class"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(WeightError, match="zero"):
        model.fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(WeightError, match="class 1"):
        model.fit(X, y, sample_weight=(y == 0) * 1.0)
    with pytest.raises(InputError, match="offset"):
        model.fit(X, y, offset=np.zeros(3))
    assert (model.coef_ == before).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"l1_ratio": 1.5, "alpha": 1.0}, "l1_ratio"),
        ({"solver": "magic"}, "'magic'.*newton"),
        ({"solver": "newton", "alpha": 1.0, "l1_ratio": 0.5}, "coordinate"),
        ({"reference": 7}, "7"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"firth": True, "alpha": 1.0}, "firth"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = rows(n=50)
    with pytest.raises((ParameterError, LabelError), match=message):
        LogisticRegression(**parameters).fit(X, y)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "newton-cg", "coordinate"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_an_intercept_the_scores_of_the_origin_are_zero(solver, n_classes):
    """The optimum is that of the columns as they are, not of centred ones."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4)) + np.array([2.0, -1.0, 0.5, 3.0])
    y = (X @ rng.normal(size=(4, n_classes)) / 3 + rng.gumbel(size=(300, n_classes))).argmax(axis=1)
    model = LogisticRegression(0.01, standardize=False, fit_intercept=False, solver=solver, tol=1e-12).fit(X, y)
    other = SklearnLogistic(C=1 / (0.01 * 300), fit_intercept=False, tol=1e-10, max_iter=5000)
    assert_allclose(model.predict_proba(X), other.fit(X, y).predict_proba(X), atol=1e-5)
    assert_allclose(model.intercept_, 0.0, atol=1e-12)
    assert_allclose(np.ptp(model.predict_proba(np.zeros((1, 4)))), 0.0, atol=1e-12)


def test_more_columns_than_anything_is_looked_for_still_say_that_the_classes_are_separated():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2000)), np.arange(60) % 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = LogisticRegression().fit(X, y)
    assert [warning.category for warning in told] == [SeparationWarning]
    assert "(complete)" in str(told[0].message)
    assert (model.predict(X) == y).all()
    X[:2], y[:2] = X[0], [0, 1]  # two rows that no coefficients tell apart
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        LogisticRegression().fit(X, y)
    assert not any("(complete)" in str(warning.message) for warning in told)


class TestShortOfTheOptimum:
    """What is said of the optimum is not said of another point."""

    @staticmethod
    def stopped(**settings):
        X, y = rows()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return LogisticRegression(**{"solver": "gradient", "max_iter": 2, **settings}).fit(X, y)

    @pytest.mark.parametrize("alpha", [0.0, 0.01])
    def test_the_summary_says_so_at_its_top_and_how_far(self, alpha):
        model = self.stopped(alpha=alpha)
        best = LogisticRegression(alpha).fit(*rows())
        short = model._training.total_weight * (model.solution_.objective - best.solution_.objective)
        summary = model.summary()
        first, second = str(summary).splitlines()[:2]
        assert "not converged" in first
        assert "max_iter" in second
        assert float(re.search(r"is ([\d.]+) below", second)[1]) == pytest.approx(short, rel=1e-3)
        assert all(np.isnan([row.std_error, row.z, row.p_value, row.low, row.high]).all() for row in summary.rows)
        assert np.isnan([summary.aic, summary.bic]).all()
        assert_allclose([row.estimate for row in summary.rows[1:]], model.coef_[0])

    def test_tests_and_intervals_refuse(self):
        model, best = self.stopped(), LogisticRegression().fit(*rows())
        smaller = LogisticRegression().fit(rows()[0][:, :1], rows()[1])
        for ask in (
            model.conf_int,
            lambda: model.conf_int(method="profile"),
            model.term_tests,
            lambda: model.effect("x0"),
            lambda: model.likelihood_ratio_test(smaller),
        ):
            with pytest.raises(NotReadyError, match="max_iter"):
                ask()
        assert best.likelihood_ratio_test(smaller).p_value >= 0

    def test_the_table_of_coefficients_has_no_errors_then(self):
        table = discriminant.coefficient_table(self.stopped())
        assert not table.has_errors
        assert "below its maximum" in str(table.reason)

    def test_a_point_that_is_as_good_counts_as_the_optimum(self):
        X, y = rows()
        model = self.stopped(solver="newton", max_iter=6, tol=1e-16)
        assert_allclose([r.std_error for r in model.summary().rows],
                        [r.std_error for r in LogisticRegression().fit(X, y).summary().rows], rtol=1e-3)  # fmt: skip

    def test_a_loose_tolerance_is_no_optimum_either(self):
        X, y = rows()
        model = LogisticRegression(tol=0.2, solver="gradient").fit(X, y)
        assert model.solution_.converged
        assert model.summary().unfinished

    def test_early_stopping_keeps_what_it_found(self):
        X, y = rows(n=300)
        model = LogisticRegression(early_stopping=True, random_state=0).fit(X, y)
        assert model.summary().unfinished
        reached = model._training.value_and_gradient(model.solution_.theta)[0]
        loss = -model.predict_log_proba(X)[np.arange(len(y)), y].mean()
        assert reached == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("standardize", [True, False])
def test_the_strengths_that_are_tried_do_not_depend_on_how_rows_are_stored(standardize):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    X = np.round(rng.normal(size=(120, 4)) + np.outer(y, [3.0, 0.0, -0.7, 0.2]), 3)
    dense, sparse = (
        LogisticRegressionCV(l1_ratio=0.0, standardize=standardize).fit(rows, y) for rows in (X, sp.csr_matrix(X))
    )
    assert_allclose(sparse.alphas_, dense.alphas_, rtol=1e-10)
    assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6)
