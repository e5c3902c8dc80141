"""Coefficients, paths and comparisons: the numbers drawn are those of the models."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pictures import legend, named, sound, subtitle, trees

from discriminant import (
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LogisticRegressionCV,
    LogisticRegressionPath,
    OrdinalLogisticRegression,
    QuadraticDiscriminantAnalysis,
    column_effects,
)
from discriminant.errors import InputError, LabelError, ParameterError
from discriminant.estimators.perceptron import Perceptron
from discriminant.figures import (
    category_curves,
    coefficients,
    comparison,
    effect,
    error_sources,
    learning_curve,
    regularisation_path,
)
from discriminant.validation.comparison import compare
from discriminant.validation.learning_curve import error_sources as measured_sources
from discriminant.validation.learning_curve import learning_curve as measured_curve


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("odds", [False, True])
def test_coefficients_are_those_of_the_summary(K, odds):
    X, y = trees(K)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = LogisticRegression(alpha=0.01).fit(frame, y)
    figure = sound(coefficients(model, odds_ratios=odds, level=0.9))
    assert list(figure.layout.yaxis.ticktext) == ["a", "b", "c", "d"]
    scale = np.exp if odds else np.asarray
    rows = [row for row in model.summary(level=0.9).rows if row.term != "intercept"]
    reference = "ash" if K == 2 else "cedar"
    for outcome in {row.outcome for row in rows}:
        trace = named(figure, f"{outcome} against {reference}")
        own = [row for row in rows if row.outcome == outcome]
        assert_allclose(trace.x, scale([row.estimate for row in own]))
        assert_allclose(trace.x + trace.error_x.array, scale([row.high for row in own]))
        assert_allclose(trace.x - trace.error_x.arrayminus, scale([row.low for row in own]))
        assert_array_equal(np.round(trace.y), range(4))
    assert len(legend(figure)) == K - 1
    assert "90 % credible intervals" in subtitle(figure)


@pytest.mark.parametrize("K", [2, 3])
def test_an_effect_is_a_curve_with_its_band_for_each_outcome(K):
    X, y = trees(K)
    frame = pd.DataFrame(X, columns=["<a>", "b", "c", "d"]).assign(tree=y)
    model = LogisticRegression.from_formula("tree ~ ns(`<a>`, df=3) + b", frame, alpha=0.01)
    found = model.effect("<a>", level=0.9)
    figure = sound(effect(found))
    reference = "ash" if K == 2 else "cedar"
    assert figure.layout.title.text == "Effect of &lt;a&gt;"
    assert len(legend(figure)) == K - 1
    assert "90 %" in subtitle(figure)
    for outcome in {point.outcome for point in found.points}:
        own = [point for point in found.points if point.outcome == outcome]
        curve = named(figure, f"{outcome} against {reference}")
        assert_allclose(curve.y, [point.estimate for point in own])
        (band,) = [trace for trace in figure.data if trace.name == curve.name and trace.fill == "toself"]
        assert_allclose(band.y, [*(p.high for p in own), *(p.low for p in own[::-1])])


def test_an_effect_without_intervals_is_a_curve_alone():
    X, y = trees(2)
    found = column_effects(GaussianNB().fit(X, y), X.mean(axis=0), X.min(axis=0), X.max(axis=0))
    figure = sound(effect(found["x0"]))
    assert [trace.mode for trace in figure.data] == ["lines"]
    assert_allclose(figure.data[0].y, [point.estimate for point in found["x0"].points])
    assert "interval" not in subtitle(figure)


def test_an_effect_of_levels_has_dots_with_intervals():
    X, y = trees(2)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(tree=y, site=np.arange(len(y)) % 3)
    found = LogisticRegression.from_formula("tree ~ a + C(site)", frame, alpha=0.01).effect("site")
    trace = sound(effect(found)).data[0]
    assert list(trace.x) == ["0", "1", "2"]
    assert_allclose(trace.y + trace.error_y.array, [point.high for point in found.points])
    with pytest.raises(InputError, match=r"Effect.*str"):
        effect("site")


def test_an_l1_penalty_and_a_stored_model_have_points_and_say_why():
    X, y = trees(3)
    lasso = LogisticRegression(alpha=0.02, l1_ratio=1.0).fit(X, y)
    figure = sound(coefficients(lasso))
    outcomes, coef, _ = lasso.log_odds()
    for outcome, row in zip(outcomes, coef, strict=True):
        trace = named(figure, f"{outcome} against cedar")
        assert_allclose(trace.x, row)
        assert trace.error_x.array is None
    assert "selection by an L1 penalty" in subtitle(figure)
    stored = pickle.loads(pickle.dumps(LogisticRegression(alpha=0.1).fit(X, y)))
    assert "No intervals" in subtitle(sound(coefficients(stored)))


def test_the_largest_columns_are_drawn_where_there_are_many_and_said_by_what():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = X[:, [3, 17, 30]].sum(axis=1) + rng.normal(size=300) > 0
    model = LogisticRegression(alpha=0.01).fit(X, y)
    sizes = [row.size for row in model.summary().rows if row.term != "intercept"]
    figure = sound(coefficients(model, most=5))
    assert list(figure.layout.yaxis.ticktext) == [f"x{j}" for j in sorted(np.argsort(sizes)[-5:])]
    assert "The 5 of 40 columns with the largest |coefficient| in standard errors" in subtitle(figure)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    figure = sound(coefficients(lda, most=5))
    assert list(figure.layout.yaxis.ticktext) == [f"x{j}" for j in sorted(np.argsort(np.abs(lda.coef_[0]))[-5:])]
    assert "depends on the units" in subtitle(figure)


def test_infinite_and_aliased_coefficients_are_named_and_not_drawn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 2 * rng.normal(size=60) > 0
    aliased = np.column_stack((X, X[:, 0] + X[:, 1]))
    separated = np.column_stack((X, (X[:, 0] > 1) & y))
    separated[separated[:, 2] == 1, 2] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [LogisticRegression().fit(table, y) for table in (aliased, separated)]
    for model in models:
        for odds in (False, True):
            figure = sound(coefficients(model, odds_ratios=odds))
            assert ": x2." in subtitle(figure)
            assert len(figure.data[0].x) == 2


def test_every_linear_model_names_what_its_coefficients_tell_apart():
    X, y = trees(3)
    X += 20 * np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])[np.searchsorted(["ash", "birch", "cedar"], y)]
    assert legend(coefficients(LinearDiscriminantAnalysis().fit(X, y))) == ["ash against cedar", "birch against cedar"]
    rest, pairs = (Perceptron(multiclass=kind).fit(X, y) for kind in ("one-vs-rest", "one-vs-one"))
    assert legend(coefficients(rest)) == [f"{label} against the rest" for label in ("ash", "birch", "cedar")]
    assert sorted(legend(coefficients(pairs))) == ["birch against ash", "cedar against ash", "cedar against birch"]
    for k, trace in enumerate(coefficients(pairs).data):
        assert_array_equal(trace.x, pairs.coef_[k])


def test_models_without_coefficients_or_log_odds_are_refused():
    X, y = trees(2)
    with pytest.raises(ParameterError, match="QuadraticDiscriminantAnalysis"):
        coefficients(QuadraticDiscriminantAnalysis().fit(X, y))
    with pytest.raises(ParameterError, match=r"LeastSquaresClassifier.*odds_ratios=True"):
        coefficients(LeastSquaresClassifier().fit(X, y), odds_ratios=True)
    with pytest.raises(ParameterError, match="most"):
        coefficients(LinearDiscriminantAnalysis().fit(X, y), most=0)


@pytest.mark.parametrize("K", [2, 3])
def test_paths_are_the_coefficients_at_every_strength(K):
    X, y = trees(K)
    path = LogisticRegressionPath(n_alphas=8).fit(X, y)
    figure = sound(regularisation_path(path))
    for k in range(1 if K == 2 else K):
        for j in range(4):
            trace = [t for t in figure.data if t.name == f"x{j}"][k]
            assert_array_equal(trace.x, path.alphas_)
            assert_array_equal(trace.y, path.coefs_[:, k, j])
    assert sorted(legend(figure)) == ["x0", "x1", "x2", "x3"]
    used = [int((coef != 0).any(axis=0).sum()) for coef in path.coefs_]
    assert_array_equal([t.y for t in figure.data if t.name == "selected columns"], [used])
    titles = [axis.title.text for axis in figure.select_yaxes()]
    assert titles[:K] == (["Coefficient (birch)", "Selected columns"] if K == 2 else
                          ["Coefficient (ash)", "Coefficient (birch)", "Coefficient (cedar)"])  # fmt: skip


def test_classes_of_a_path_can_be_chosen():
    X, y = trees(3)
    path = LogisticRegressionPath(n_alphas=4).fit(X, y)
    figure = sound(regularisation_path(path, classes=["cedar"]))
    assert_array_equal(named(figure, "x1").y, path.coefs_[:, 2, 1])
    with pytest.raises(LabelError, match="'oak'"):
        regularisation_path(path, classes=["oak"])
    many = LogisticRegressionPath(n_alphas=2).fit(np.tile(X, (2, 1)), np.arange(300) % 8)
    with pytest.raises(ParameterError, match="classes"):
        regularisation_path(many)


def test_a_ridge_path_counts_no_columns_and_few_are_coloured():
    X, y = trees(2)
    figure = sound(regularisation_path(LogisticRegressionPath(n_alphas=4, l1_ratio=0.0).fit(X, y), most=2))
    assert "selected columns" not in [trace.name for trace in figure.data]
    assert len(legend(figure)) == 3
    assert "the 2 of 4 columns" in subtitle(figure)


@pytest.mark.parametrize("rule", ["one-se", "min"])
def test_the_held_out_loss_has_standard_errors_and_the_choice(rule):
    X, y = trees(2)
    model = LogisticRegressionCV(n_alphas=8, cv=3, rule=rule, random_state=0).fit(X, y)
    path = LogisticRegressionPath(n_alphas=8).fit(X, y)
    for figure in (regularisation_path(model), regularisation_path(path, cross_validation=model)):
        (loss,) = [trace for trace in sound(figure).data if trace.name == "held-out loss"]
        assert_array_equal(loss.x, model.alphas_)
        assert_array_equal(loss.y, model.losses_)
        assert_array_equal(loss.error_y.array, model.loss_std_errors_)
        drawn = {shape.x0 for shape in figure.layout.shapes}
        assert drawn == {model.alpha_, model.alphas_[np.argmin(model.losses_)]}
        assert f"alpha = {model.alpha_:.4g}" in subtitle(figure)
        marks = {note.text: 10**note.x for note in figure.layout.annotations}
        assert_allclose(marks["selected"], model.alpha_)


def test_of_very_many_columns_the_largest_are_drawn_and_the_others_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 260))
    y = X[:, 0] + rng.normal(size=400) > 0
    path = LogisticRegressionPath(n_alphas=3, ratio=0.3, l1_ratio=0.0).fit(X, y)
    figure = sound(regularisation_path(path, most=8))
    others = named(figure, "other columns")
    assert np.isnan(others.y).sum() == 200
    assert "the 8 of 260 columns" in subtitle(figure)
    assert "52 columns" in subtitle(figure)
    largest = np.abs(path.coefs_).max(axis=(0, 1))
    ranked = np.argsort(-largest)
    assert legend(figure) == ["other columns", *(f"x{j}" for j in ranked[:8])]
    assert_array_equal(others.y[:3], path.coefs_[:, 0, ranked[8]])
    assert_array_equal(others.x[:3], path.alphas_)


def test_other_models_have_no_path():
    X, y = trees(2)
    path = LogisticRegressionPath(n_alphas=2).fit(X, y)
    with pytest.raises(InputError, match="LogisticRegressionCV, got LogisticRegressionPath"):
        regularisation_path(path, path)
    with pytest.raises(InputError, match="LogisticRegressionPath or LogisticRegressionCV, got LogisticRegression"):
        regularisation_path(LogisticRegression(alpha=0.1).fit(X, y))


def test_the_learning_curve_has_means_bands_and_the_power_law():
    X, y = trees(3)
    curve = measured_curve(LinearDiscriminantAnalysis(), X, y, sizes=[30, 60, 110], cv=4)
    figure = sound(learning_curve(curve))
    for name, step in (("training error", curve.train), ("held-out error", curve.validation)):
        line = named(figure, name)
        assert_array_equal(line.x, curve.sizes)
        assert_allclose(line.y, [step(i).value for i in range(3)])
        (band,) = [trace for trace in figure.data if trace.name == name and trace.showlegend is False]
        ends = np.array([list(step(i).interval()) for i in range(3)]).clip(0, 1)
        assert_allclose(band.y, [*ends[:, 1], *ends[::-1, 0]])
    law = named(figure, "fitted power law")
    assert_allclose(law.y, curve.power_law.at(law.x))
    assert list(figure.layout.xaxis.ticktext) == ["30", "60", "110"]


def test_a_single_split_has_a_learning_curve_with_a_band_of_its_held_out_rows():
    X, y = trees(2)
    split = [(np.arange(100), np.arange(100, 150))]
    curve = measured_curve(LinearDiscriminantAnalysis(), X, y, sizes=[30, 60], cv=split)
    figure = sound(learning_curve(curve))
    assert len(figure.data) == 4
    assert [trace.name for trace in figure.data if trace.showlegend is False] == ["held-out error"]


def test_compared_models_stand_in_order_with_their_intervals():
    X, y = trees(3)
    models = {"LDA": LinearDiscriminantAnalysis(), "naive <Bayes>": GaussianNB()}
    result = compare(models, X, y, cv=5)
    figure = sound(comparison(result))
    ranking = [name.replace("<", "&lt;").replace(">", "&gt;") for name in result.ranking]
    assert list(figure.layout.yaxis.ticktext) == ranking
    found = {}
    for trace in figure.data[1:]:
        for place, mean, up, down in zip(trace.y, trace.x, trace.error_x.array, trace.error_x.arrayminus, strict=True):
            found[result.ranking[int(place)]] = (mean, mean - down, mean + up)
    for name in result.ranking:
        crossed, by = result.cross_validation, (name, result.metric)
        assert_allclose(found[name], [crossed.mean(*by), *crossed.interval(*by, level=result.level)])
    alike = named(figure, "best or not significantly different")
    assert [result.ranking[int(place)] for place in alike.y] == result.not_significantly_different
    splits = named(figure, "splits")
    assert_allclose(splits.x[:5], result.cross_validation.scores(result.best, result.metric))
    assert result.sentence.replace("<", "&lt;").replace(">", "&gt;") in subtitle(figure)


@pytest.mark.parametrize("metric", ["log_loss", "auc"])
def test_models_can_be_compared_by_other_measures(metric):
    X, y = trees(2)
    result = compare({"LDA": LinearDiscriminantAnalysis()}, X, y, cv=4, metric=metric)
    assert {"log_loss": "log-loss", "auc": "AUC"}[metric] in sound(comparison(result)).layout.xaxis.title.text


@pytest.mark.parametrize("bayes_error", [None, 0.02])
def test_sources_of_error_are_drawn_and_unknown_ones_named(bayes_error):
    X, y = trees(2)
    sources = measured_sources(LinearDiscriminantAnalysis(), X, y, bayes_error, sizes=[30, 60, 120])
    figure = sound(error_sources(sources))
    (bars,) = figure.data
    sizes = dict(zip((figure.layout.yaxis.ticktext[int(place)] for place in bars.y), bars.x, strict=True))
    expected = {"total": sources.total.value, "estimation": sources.estimation.value, "optimisation": 0.0}
    if bayes_error is not None:
        expected |= {"approximation": sources.approximation.value, "Bayes error": 0.02}
        assert_allclose(sizes["total"], sizes["Bayes error"] + sizes["approximation"] + sizes["estimation"])
    assert sizes == expected
    assert ("Bayes error (unknown)" in figure.layout.yaxis.ticktext) == (bayes_error is None)
    assert_allclose(bars.x[1] + bars.error_x.array[1], sources.estimation.interval().high)


@pytest.mark.parametrize("draw", [learning_curve, comparison, error_sources])
def test_other_results_are_refused_by_name(draw):
    with pytest.raises(InputError, match=f"figures.{draw.__name__} .*dict"):
        draw({})


def test_odds_ratios_have_ticks_with_their_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = LogisticRegression().fit(X, X[:, 0] + rng.normal(size=200) > 0)
    axis = coefficients(model, odds_ratios=True).layout.xaxis
    assert (axis.type, axis.tickformat) == ("log", ".4~g")


@pytest.mark.parametrize("cumulative", [False, True])
def test_category_curves_are_the_probabilities_of_the_model(cumulative):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["<a>", "b"])
    y = np.digitize(X["<a>"] + rng.logistic(size=300), [-1, 1])
    model = OrdinalLogisticRegression(classes_order=[2, 1, 0]).fit(X, y)
    found = model.category_curves("<a>", [-1.0, 0.0, 2.0])
    held = pd.DataFrame({"<a>": [-1.0, 0.0, 2.0], "b": X["b"].median()})
    expected = model.predict_proba(held)[:, ::-1]
    assert_allclose(found.probabilities, expected)
    figure = sound(category_curves(found, cumulative))
    drawn = np.column_stack([curve.y for curve in figure.data])
    assert_allclose(drawn, np.cumsum(expected, axis=1)[:, :2] if cumulative else expected)
    assert "&lt;a&gt;" in figure.layout.title.text


def test_category_curves_of_levels_are_dots():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "age": rng.normal(size=200)})
    frame["grade"] = np.array(["low", "mid", "top"])[np.digitize(frame.age + rng.logistic(size=200), [-1, 1])]
    model = OrdinalLogisticRegression.from_formula("grade ~ sex + age", frame, classes_order=["low", "mid", "top"])
    found = model.category_curves("sex")
    assert set(found.values) == {"f", "m"}
    figure = sound(category_curves(found))
    assert [dots.mode for dots in figure.data] == ["markers"] * 3
    assert "low" in str(found)
