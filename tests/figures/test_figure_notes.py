"""Pictures that lecture notes draw: densities, one column, hatched regions, boundaries that move, space, sphering."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pictures import legend, named, sound, subtitle
from scipy.stats import expon, norm

import discriminant as d
from discriminant import datasets, figures
from discriminant.errors import ColumnError, InputError, LabelError, ParameterError
from discriminant.multiclass import exhaustive_code, one_vs_one
from discriminant.solvers import IRLS, GradientDescent
from discriminant.theory import density_curves


def fitted(model, data):
    return model.fit(data.X, data.y)


def test_the_shaded_areas_are_the_bayes_error():
    data = datasets.avocados()
    curves = density_curves(data.distributions, data.priors)
    figure = sound(figures.class_densities(curves))
    shaded = [trace for trace in figure.data if trace.fill == "tozeroy"]
    area = sum(np.trapezoid(trace.y, trace.x) for trace in shaded)
    assert_allclose(area, curves.error.error, rtol=5e-3)
    assert "1.494" in subtitle(figure)


@pytest.mark.parametrize(
    ("laws", "thresholds"),
    [
        ([norm(0, 1), norm(2, 1)], [1.0]),
        ([norm(0, 1), norm(0, 3)], [-1.5722277, 1.5722277]),
        ([norm(0, 1), norm(0.1, 1), norm(8, 1)], [0.05, 4.05]),
        ([expon(0, 1), expon(0, 3)], [np.log(3) / (1 - 1 / 3)]),
    ],
)
def test_thresholds_are_where_the_most_probable_class_changes(laws, thresholds):
    curves = density_curves(laws)
    assert_allclose(curves.thresholds, thresholds, rtol=1e-4)
    assert (np.diff(curves.decided) != 0).sum() == len(thresholds)


def test_densities_of_several_columns_or_of_counts_are_refused():
    with pytest.raises(ParameterError, match="one column"):
        density_curves(datasets.triangle().distributions)
    with pytest.raises(ParameterError, match="continuous"):
        density_curves([[0.5, 0.5], [0.1, 0.9]])
    with pytest.raises(InputError, match="DensityCurves"):
        figures.class_densities(norm(0, 1))


def test_one_column_is_drawn_as_posteriors_with_the_threshold():
    data = datasets.six_rows()
    model = fitted(d.LogisticRegression(), data)
    figure = sound(figures.decision_regions(model, data.X, data.y))
    curve = figure.data[1]
    assert_allclose(curve.y, 1 / (1 + np.exp(-(model.intercept_[0] + model.coef_[0, 0] * curve.x))), rtol=1e-6)
    assert "3.5" in subtitle(figure)
    assert "2 of 6" in subtitle(figure)


def test_one_column_of_a_model_without_probabilities_is_drawn_as_scores():
    data = datasets.two_normals()
    figure = sound(figures.decision_regions(fitted(d.SupportVectorClassifier(), data), data.X, data.y))
    assert figure.layout.yaxis.title.text == "Score"


def test_regions_that_no_class_or_several_claim_are_hatched_where_the_model_says_so():
    data = datasets.triangle()
    model = fitted(d.OneVsRest(d.LeastSquaresClassifier()), data)
    figure = sound(figures.decision_regions(model, data.X, data.y))
    for name, flag in (("ambiguous: no class", "none"), ("ambiguous: several classes", "several")):
        trace = named(figure, name)
        ends = np.array([(x, y) for x, y in zip(trace.x, trace.y, strict=True) if x is not None], dtype=float)
        found = model.ambiguous(ends)
        assert getattr(found, flag).all()
        for own, words in zip(found.candidates, trace.text, strict=True):
            tied = [str(label) for label in model.classes_[own]]
            assert all(label in words for label in tied) if tied else words == "ambiguous: no class"
    assert "ambiguous: no class" not in legend(
        figures.decision_regions(fitted(d.LinearDiscriminantAnalysis(), data), data.X, data.y)
    )


def test_boundaries_move_to_where_the_risks_are_equal():
    data = datasets.crossed_normals()
    model = fitted(d.LinearDiscriminantAnalysis(), data)
    costs = d.Decision({"second": {"first": 10.0}, "first": {"second": 1.0}})
    figure = sound(figures.moving_boundary(model, data.X, data.y, {"equal": d.Decision(), "dear": costs}))
    grid = [np.array(figure.data[2].x), np.array(figure.data[2].y)]
    rows = np.column_stack([part.ravel() for part in np.meshgrid(*grid)])
    second = model.predict_proba(rows)[:, 1]
    for trace, threshold in zip(figure.data[2:], (0.5, 1 / 11), strict=True):
        clear = np.abs(second - threshold) > 1e-4
        assert_allclose((trace.z.ravel() < 0)[clear], (second > threshold)[clear])
    with pytest.raises(ParameterError, match="two classes"):
        figures.moving_boundary(fitted(d.GaussianNB(), datasets.triangle()), *_rows(datasets.triangle()), {})


def _rows(data):
    return data.X, data.y


def test_directions_below_each_other_count_what_their_models_get_wrong():
    data = datasets.crossed_normals()
    models = {
        name: fitted(model, data)
        for name, model in (("means", d.MinimumDistance()), ("Fisher", d.FisherDiscriminant()))
    }
    figure = sound(figures.projections(models, data.X, data.y))
    for title, model in zip(figure.layout.annotations, models.values(), strict=True):
        assert f": {np.sum(model.predict(data.X) != data.y)} of 400" in title.text
    with pytest.raises(ParameterError, match="by name"):
        figures.projections([], data.X, data.y)


def test_the_plane_in_space_holds_its_equation():
    X, y = datasets.vowels().X[:, :3], datasets.vowels().y <= 5
    model = d.LinearDiscriminantAnalysis().fit(X, y)
    figure = sound_in_space(figures.hyperplane(model, X, y))
    surface = next(trace for trace in figure.data if trace.type == "surface")
    points = np.stack([np.asarray(getattr(surface, axis)) for axis in "xyz"], axis=-1)
    inside = np.isfinite(points).all(axis=-1)
    assert inside.any()
    assert_allclose(points[inside] @ model.coef_[0] + model.intercept_[0], 0, atol=1e-9)
    with pytest.raises(ColumnError, match="3 columns"):
        figures.hyperplane(d.LinearDiscriminantAnalysis().fit(X[:, :2], y), X[:, :2], y)
    with pytest.raises(LabelError):
        figures.hyperplane(d.LinearDiscriminantAnalysis().fit(X, datasets.vowels().y), X, datasets.vowels().y)


def sound_in_space(figure):
    assert figure.layout.scene.xaxis.title.text
    assert figure.layout.meta["alt"] in figures.alt_text(figure)
    return figure


@pytest.mark.parametrize("make", [datasets.far_rows, datasets.three_in_a_row])
def test_surfaces_are_the_scores_of_the_model(make):
    data = make()
    model = fitted(d.LeastSquaresClassifier(), data)
    figure = sound_in_space(figures.score_surface(model, data.X, data.y))
    surfaces = [trace for trace in figure.data if trace.type == "surface"]
    corner = np.array([[surfaces[0].x[0], surfaces[0].y[-1]]])
    assert_allclose([trace.z[-1, 0] for trace in surfaces], np.ravel(model.decision_function(corner)))
    with pytest.raises(ColumnError, match="2 columns"):
        figures.score_surface(d.GaussianNB().fit(data.X[:, :1], data.y), data.X[:, :1], data.y)


def test_sphered_rows_have_the_unit_circle_within_classes():
    data = datasets.crossed_normals()
    model = fitted(d.LinearDiscriminantAnalysis(), data)
    figure = sound(figures.sphering(model, data.X, data.y))
    rings = [trace for trace in figure.data if trace.mode == "lines"]
    for trace in rings[-2:] if rings[-1].xaxis == "x2" else rings:
        assert_allclose(np.ptp(trace.x), 2, rtol=1e-3)
    with pytest.raises(InputError, match="LinearDiscriminantAnalysis"):
        figures.sphering(fitted(d.GaussianNB(), data), data.X, data.y)


def test_a_code_is_drawn_with_the_names_of_its_classes():
    figure = sound(figures.code_matrix(exhaustive_code(4), ["sport", "politics", "science", "leisure"]))
    assert "1 error" in subtitle(figure)
    assert figure.layout.yaxis.ticktext[0] == "sport"
    assert (figures.code_matrix(one_vs_one(3)).data[0].z == 0).sum() == 3


def test_images_are_the_rows_of_a_table():
    data = datasets.characters(20)
    figure = figures.images(data.X[:4], (20, 20), data.y[:4], columns=2)
    assert_allclose(figure.data[3].z, data.X[3].reshape(20, 20))
    with pytest.raises(ParameterError, match="20 x 21"):
        figures.images(data.X[:4], (20, 21), data.y[:4])


def test_several_classifiers_share_one_roc():
    given = datasets.worked_example("two-roc-curves").given
    figure = sound(figures.roc_curve({name: d.roc(given["y"], given[name]) for name in "AB"}))
    assert [entry.partition(":")[0] for entry in legend(figure)] == ["random classifier", "A", "B"]
    assert figure.layout.title.text == "ROC curve by classifier"
    with pytest.raises(InputError, match="got list"):
        figures.roc_curve({"A": [0.1, 0.2]})


def test_losses_are_their_formulas():
    figure = sound(figures.loss_curves())
    formulas = {
        "0-1": lambda m: m < 0,
        "perceptron": lambda m: np.maximum(-m, 0),
        "hinge": lambda m: np.maximum(1 - m, 0),
        "squared": lambda m: (1 - m) ** 2 / 2,
        "logistic": lambda m: np.log1p(np.exp(-m)),
    }
    for name, formula in formulas.items():
        trace = named(figure, name)
        clear = trace.x != 0
        assert_allclose(trace.y[clear], formula(trace.x[clear]), atol=1e-12)
    assert legend(figures.loss_curves(["squared_sigmoid"])) == ["squared error of a sigmoid, (1 - s(m))²"]
    for wrong in ("hinge", [], ["huber"]):
        with pytest.raises(ParameterError, match="losses"):
            figures.loss_curves(wrong)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_paths_go_over_the_log_likelihood_in_the_units_of_the_data():
    example = datasets.worked_example("newton-steps")
    data = example.given["data"]
    models = {
        "gradient ascent": d.LogisticRegression(solver=GradientDescent(), trace=True, max_iter=5).fit(data.X, data.y),
        "IRLS": d.LogisticRegression(solver=IRLS(), trace=True).fit(data.X, data.y),
    }
    figure = sound(figures.likelihood_paths(models, data.X, data.y))
    surface, _, newton = figure.data
    assert_allclose([newton.x[2], newton.y[2]], example.numbers["second iterate"])
    i, j = 5, 20
    p = 1 / (1 + np.exp(-(surface.x[j] + surface.y[i] * data.X[:, 0])))
    assert_allclose(surface.z[i, j], np.log(np.where(data.y == 1, p, 1 - p)).sum(), rtol=1e-5)
    with pytest.raises(ParameterError, match="trace=True"):
        figures.likelihood_paths({"LDA": fitted(d.LinearDiscriminantAnalysis(), data)}, data.X, data.y)
    with pytest.raises(ParameterError, match="by name"):
        figures.likelihood_paths(models["IRLS"], data.X, data.y)


def test_two_coefficients_are_drawn_with_the_intercept_of_the_end():
    data = datasets.curved()
    model = d.LogisticRegression(solver=IRLS(), trace=True).fit(data.X, data.y)
    figure = sound(figures.likelihood_paths({"IRLS": model}, data.X, data.y))
    assert figure.layout.xaxis.title.text == "Coefficient of x0"
    assert_allclose([figure.data[1].x[-1], figure.data[1].y[-1]], model.coef_[0], rtol=1e-6)
    three = np.column_stack((data.X, data.X[:, 0] ** 2))
    of_three = d.LogisticRegression(solver=IRLS(), trace=True).fit(three, data.y)
    with pytest.raises(ColumnError, match="one or two columns"):
        figures.likelihood_paths({"IRLS": of_three}, three, data.y)


def test_overfitting_shows_in_the_gap_between_training_and_held_out_rows():
    data = datasets.curved(80)
    found = d.degree_curve(d.LogisticRegression(alpha=1e-8), data.X, data.y, degrees=[1, 2, 6])
    assert found.best == 2
    assert found.n_columns.tolist() == [2, 5, 27]
    assert (np.diff(found.train_errors) < 0).all()
    assert found.held_out[2].value > found.held_out[1].value
    figure = sound(figures.degree_curve(found))
    assert_allclose(named(figure, "training error").y, found.train_errors)
    assert list(found.to_frame("pandas").columns)[:2] == ["degree", "columns"]
    with pytest.raises(ParameterError, match="degrees"):
        d.degree_curve(d.LogisticRegression(), data.X, data.y, degrees=[2, 1])
