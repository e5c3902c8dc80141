"""Pictures in a plane: regions, boundaries, projections. What they show is what the models say."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pictures import legend, named, sound, subtitle, trees
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from discriminant import (
    FisherDiscriminant,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    OneVsOne,
    QuadraticDiscriminantAnalysis,
)
from discriminant.data import as_rows
from discriminant.datasets import load
from discriminant.errors import ColumnError, DegenerateDataError, InputError, LabelError, ParameterError
from discriminant.estimators.decision import DecisionClassifier
from discriminant.figures import boundary, decision_regions, projected_histograms
from discriminant.figures.geometry import SeparatingLine
from discriminant.figures.points import MAX_POINTS


def heatmaps(figure):
    return [trace for trace in figure.data if trace.type == "heatmap"]


def grid_of(figure):
    trace = heatmaps(figure)[0]
    return np.column_stack([part.ravel() for part in np.meshgrid(trace.x, trace.y)])


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), LogisticRegression()])
def test_regions_are_the_predictions_and_their_strength_is_the_largest_posterior(model, K):
    X, y = trees(K, p=2)
    figure = sound(decision_regions(model.fit(X, y), X, y, resolution=30))
    grid = grid_of(figure)
    predicted, posterior = model.predict(grid), model.predict_proba(grid).max(axis=1)
    covered = np.zeros(len(grid), dtype=int)
    for trace in heatmaps(figure):
        inside = np.isfinite(trace.z.ravel())
        label = trace.hovertemplate.split(": ")[1].split("<")[0]
        assert_array_equal(inside, predicted == label)
        assert_allclose(trace.z.ravel()[inside], posterior[inside], rtol=1e-6)
        covered += inside
    assert_array_equal(covered, 1)


@pytest.mark.parametrize("K", [2, 3])
def test_boundary_lines_are_where_the_prediction_changes(K):
    X, y = trees(K, p=2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    figure = decision_regions(model, X, y, resolution=30)
    contours = [trace for trace in figure.data if trace.type == "contour"]
    assert len(contours) == (1 if K == 2 else K)
    predicted = model.predict(grid_of(figure))
    for k, trace in enumerate(contours):
        assert_array_equal(trace.z.ravel() > 0, predicted == model.classes_[k])


def test_points_and_misclassified_rows_are_those_of_the_model():
    X, y = trees(p=2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    figure = decision_regions(model, X, y)
    wrong = model.predict(X) != y
    assert legend(figure) == ["ash", "birch", "cedar", f"misclassified ({wrong.sum()})"]
    for label in model.classes_:
        trace = named(figure, label)
        assert_array_equal(np.column_stack((trace.x, trace.y)), X[y == label])
    ringed = named(figure, "misclassified")
    assert_array_equal(np.column_stack((ringed.x, ringed.y)), X[wrong])
    assert f"{wrong.sum()} of 150" in subtitle(figure)
    row = int(np.flatnonzero(wrong)[0])
    place = int(np.flatnonzero(np.flatnonzero(y == y[row]) == row)[0])
    assert named(figure, y[row]).text[place] == f"row {row}: {y[row]}, predicted {model.predict(X)[row]} (wrong)"


def test_more_columns_are_drawn_by_a_refit_in_discriminant_directions_and_said_so():
    X, y = trees(p=4)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    figure = sound(decision_regions(model, X, y, resolution=20))
    Z = lda.transform(X)
    refit = QuadraticDiscriminantAnalysis().fit(Z, y)
    assert_allclose(named(figure, "ash").x, Z[y == "ash", 0])
    assert_array_equal(np.isfinite(heatmaps(figure)[0].z).ravel(), refit.predict(grid_of(figure)) == "ash")
    words = subtitle(figure)
    assert "of the same kind" in words
    assert f"{np.count_nonzero(refit.predict(Z) != y)} of 150" in words
    assert f"{np.count_nonzero(model.predict(X) != y)} (model on all columns)" in words


def test_two_classes_have_one_discriminant_direction_and_an_axis_beside_it():
    X, y = trees(2, p=5)
    figure = sound(decision_regions(FisherDiscriminant().fit(X, y), X, y))
    along = LinearDiscriminantAnalysis().fit(X, y).transform(X)[:, 0]
    x, across = (np.concatenate([getattr(named(figure, name), axis) for name in ("ash", "birch")]) for axis in "xy")
    assert_allclose(np.sort(x), np.sort(along))
    assert abs(np.corrcoef(x, across)[0, 1]) < 1e-10
    assert figure.layout.yaxis.title.text == "First principal component of the residuals"


def test_two_features_are_a_refit_to_these():
    X, y = trees(p=4)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = LinearDiscriminantAnalysis().fit(frame, y)
    figures = [decision_regions(model, frame, y, features=chosen, resolution=20) for chosen in (["d", "b"], [3, 1])]
    for figure in figures:
        assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("d", "b")
        refit = LinearDiscriminantAnalysis().fit(X[:, [3, 1]], y)
        assert_array_equal(np.isfinite(heatmaps(figure)[0].z).ravel(), refit.predict(grid_of(figure)) == "ash")
        assert "columns d and b of 4" in subtitle(figure)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_name_the_axes_and_give_the_same_picture(form):
    X, y = trees(p=2)
    frame = form({"width": X[:, 0], "height": X[:, 1]})
    figure = decision_regions(LinearDiscriminantAnalysis().fit(frame, y), frame, y, resolution=20)
    plain = decision_regions(LinearDiscriminantAnalysis().fit(X, y), X, y, resolution=20)
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("width", "height")
    assert (plain.layout.xaxis.title.text, plain.layout.yaxis.title.text) == ("x0", "x1")
    for one, other in zip(heatmaps(figure), heatmaps(plain), strict=True):
        assert_array_equal(one.z, other.z)


def test_a_model_without_probabilities_or_scores_has_flat_regions_and_boundaries_all_the_same():
    X, y = trees(p=2)

    class OnlyLabels(KNeighborsClassifier):
        predict_proba = property()

    figure = sound(decision_regions(OnlyLabels().fit(X, y), X, y, resolution=20))
    assert "posterior" not in subtitle(figure)
    for trace in heatmaps(figure):
        assert len(np.unique(trace.z[np.isfinite(trace.z)])) == 1
    assert sum(trace.type == "contour" for trace in figure.data) == 3


def test_actions_that_are_no_class_have_a_region():
    X, y = trees(2, p=2)
    costs = {"ash": {"ash": 0, "birch": 1, "abstain": 0.1}, "birch": {"ash": 1, "birch": 0, "abstain": 0.1}}
    model = DecisionClassifier(LinearDiscriminantAnalysis(), costs).fit(X, y)
    figure = sound(decision_regions(model, X, y, resolution=30))
    (grey,) = [trace for trace in heatmaps(figure) if "abstain" in trace.hovertemplate]
    assert_array_equal(np.isfinite(grey.z).ravel(), model.predict(grid_of(figure)) == "abstain")


def test_names_cannot_break_the_picture():
    X, y = trees(2, p=2)
    labels = np.where(y == "ash", "a<b> & %{x}", "$5")
    frame = pd.DataFrame(X, columns=["<i>", "$x$"])
    figure = sound(decision_regions(LinearDiscriminantAnalysis().fit(frame, labels), frame, labels, resolution=20))
    assert legend(figure)[:2] == ["&#36;5", "a&lt;b&gt; &amp; %&#123;x}"]
    assert figure.layout.xaxis.title.text == "&lt;i&gt;"


def test_many_rows_are_thinned_and_said_so():
    X, y = trees(2, p=2, n=3 * MAX_POINTS)
    model = LinearDiscriminantAnalysis().fit(X, y)
    figure = decision_regions(model, X, y, resolution=20)
    assert sum(len(named(figure, label).x) for label in model.classes_) == MAX_POINTS
    assert f"{MAX_POINTS:,} of {3 * MAX_POINTS:,} rows are drawn" in subtitle(figure)
    assert f"{np.count_nonzero(model.predict(X) != y):,} of" in subtitle(figure)


def test_separated_classes_can_be_drawn_without_a_warning():
    X, y = trees(2, p=3)
    X[y == "birch"] += 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression().fit(X, y)
    assert ": 0 of" in subtitle(decision_regions(model, X, y, resolution=20))


@pytest.mark.parametrize(
    ("features", "error", "words"),
    [(["x0"], ParameterError, "two"), ("x0", ParameterError, "two"), ([0, 0], ParameterError, "different"),
     ([0, "z"], ColumnError, "'z'"), ([0, 7], ColumnError, "7")],
)  # fmt: skip
def test_features_that_are_not_two_columns_are_refused(features, error, words):
    X, y = trees(p=3)
    with pytest.raises(error, match=words):
        decision_regions(LinearDiscriminantAnalysis().fit(X, y), X, y, features=features)


def test_what_cannot_be_drawn_in_a_plane_is_refused():
    X, y = trees(p=2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    with pytest.raises(LabelError, match="'oak'"):
        decision_regions(model, X, np.where(y == "ash", "oak", y))
    with pytest.raises(LabelError, match="None"):
        decision_regions(model, X, None)
    with pytest.raises(InputError, match="y has 10"):
        decision_regions(model, X, y[:10])
    with pytest.raises(InputError, match="row 3"):
        decision_regions(model, np.where(np.arange(150)[:, None] == 3, np.nan, X), y)
    with pytest.raises(ParameterError, match="resolution"):
        decision_regions(model, X, y, resolution=2)


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression(), FisherDiscriminant()])
@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_the_line_has_no_score_and_distances_are_scores_over_the_length(model, unit):
    X, y = trees(2, p=2)
    X = X * [1.0, unit]
    figure = sound(boundary(model.fit(X, y), X, y))
    line = named(figure, "boundary")
    w, b = model.coef_[0], model.intercept_[0]
    ends = np.column_stack((line.x, line.y))
    assert_allclose(ends @ w + b, 0, atol=1e-9 * np.abs(ends * w).max())
    distances = np.abs(X @ w + b) / np.linalg.norm(w)
    for label in model.classes_:
        joint = named(figure, f"nearest {label}")
        assert joint.name == f"nearest {label}: {distances[y == label].min():.3g}"
        segment = np.diff(np.column_stack((joint.x, joint.y)), axis=0)[0]
        assert_allclose(np.linalg.norm(segment), distances[y == label].min(), rtol=1e-6)
        assert_allclose(abs(segment @ w), np.linalg.norm(segment) * np.linalg.norm(w), rtol=1e-6)
    words = subtitle(figure)
    assert f"|b| / |w| = {abs(b) / np.linalg.norm(w):.4g}" in words
    assert "birch" in words
    assert ("different scales" in words) == (unit != 1)


def test_the_equation_in_words():
    assert SeparatingLine(np.array([1.5, -2.0]), -3.0).equation(["a", "b"]) == "1.5 a - 2 b - 3 = 0"
    assert SeparatingLine(np.array([-1.5, 2.0]), 0.0).equation(["a", "b"]) == "- 1.5 a + 2 b + 0 = 0"


@pytest.mark.parametrize("seed", range(20))
def test_a_line_reaches_beyond_the_rectangle(seed):
    rng = np.random.default_rng(seed)
    plane = SeparatingLine(rng.normal(size=2), float(rng.normal()))
    edges = np.sort(rng.normal(size=(2, 2)), axis=0)
    corners = np.array([[x, y] for x in edges[:, 0] for y in edges[:, 1]])
    ends = plane.ends(edges)
    assert_allclose(ends @ plane.w + plane.b, 0, atol=1e-10)
    assert plane.crosses(edges) == (abs(np.sign(corners @ plane.w + plane.b).sum()) != 4)
    assert (np.abs((ends[0] - ends[1]) / (edges[1] - edges[0])).max() > 1.4).all()
    if plane.crosses(edges):
        assert ((ends < edges[0]) | (ends > edges[1])).any(axis=1).all()


@pytest.mark.parametrize("w", [[1.0, 0.0], [0.0, 1.0]])
def test_upright_and_level_lines_cross_the_rectangle(w):
    ends = SeparatingLine(np.array(w), -0.5).ends(np.array([[0.0, 0.0], [1.0, 2.0]]))
    assert_allclose(ends @ w, 0.5)


def test_a_support_vector_machine_has_its_margin_and_support_vectors():
    X, y = trees(2, p=2)
    model = SVC(kernel="linear", C=0.5).fit(X, y)
    figure = sound(boundary(model, X, y))
    ringed = named(figure, "support vectors")
    assert_array_equal(np.column_stack((ringed.x, ringed.y)), model.support_vectors_)
    lines = [trace for trace in figure.data if trace.name == "margin, -1 and +1"]
    levels = [np.column_stack((trace.x, trace.y)) @ model.coef_[0] + model.intercept_[0] for trace in lines]
    assert_allclose(levels, [[-1, -1], [1, 1]], atol=1e-9)
    assert f"Margin 2 / |w| = {2 / np.linalg.norm(model.coef_):.4g}" in subtitle(figure)


def test_a_boundary_outside_the_picture_is_said():
    X, y = trees(2, p=2)
    model = LinearDiscriminantAnalysis(priors=[1 - 1e-12, 1e-12]).fit(X, y)
    assert "outside the plot" in subtitle(sound(boundary(model, X, y)))


def test_a_boundary_of_other_models_is_refused():
    X, y = trees(2, p=3)
    with pytest.raises(ColumnError, match="X has 3"):
        boundary(LinearDiscriminantAnalysis().fit(X, y), X, y)
    with pytest.raises(ParameterError, match="QuadraticDiscriminantAnalysis has none"):
        boundary(QuadraticDiscriminantAnalysis().fit(X[:, :2], y), X[:, :2], y)
    Z, z = trees(3, p=2)
    with pytest.raises(LabelError, match="fitted to 3"):
        boundary(LinearDiscriminantAnalysis().fit(Z, z), Z, z)
    lasso = LogisticRegression(alpha=100.0, l1_ratio=1.0).fit(X[:, :2], y)
    with pytest.raises(DegenerateDataError, match="coefficients"):
        boundary(lasso, X[:, :2], y)


@pytest.mark.parametrize("model", [FisherDiscriminant("bayes"), LinearDiscriminantAnalysis(), LogisticRegression()])
def test_histograms_count_every_row_once_and_are_cut_at_the_threshold(model):
    X, y = trees(2)
    figure = sound(projected_histograms(model.fit(X, y), X, y))
    along = X @ model.coef_[0]
    for label in model.classes_:
        bars = named(figure, label)
        assert bars.customdata[:, 2].sum() == np.count_nonzero(y == label)
        assert_allclose(bars.y, bars.customdata[:, 2] / np.count_nonzero(y == label))
        edges = np.append(bars.customdata[:, 0], bars.customdata[-1, 1])
        assert_array_equal(bars.customdata[:, 2], np.histogram(along[y == label], edges)[0])
    (cut,) = figure.layout.shapes
    assert cut.x0 == cut.x1 == -model.intercept_[0]
    wrong = model.predict(X) != y
    first, second = (np.count_nonzero(wrong & (y == label)) for label in model.classes_)
    assert f"{first} of {np.count_nonzero(y == 'ash')} rows of ash, {second} of" in subtitle(figure)


def test_histograms_of_three_classes_lie_along_the_first_discriminant_direction():
    X, y = trees(3)
    model = LinearDiscriminantAnalysis().fit(X, y)
    figure = sound(projected_histograms(model, X, y))
    along = model.transform(X)[:, 0]
    assert legend(figure) == ["ash", "birch", "cedar"]
    assert named(figure, "ash").customdata[0, 0] == along.min()
    assert named(figure, "ash").customdata[-1, 1] == along.max()
    assert not figure.layout.shapes


def test_histograms_with_one_class_absent_sparse_rows_and_a_threshold_beyond_all():
    X, y = trees(2)
    model = FisherDiscriminant("bayes", priors=[1.0, 0.0]).fit(X, y)
    figure = sound(projected_histograms(model, csr_array(X[y == "ash"]), y[y == "ash"]))
    assert legend(figure) == ["ash"]
    assert not figure.layout.shapes
    assert "outside the range" in subtitle(figure)


def test_histograms_of_other_models_are_refused():
    X, y = trees(3)
    with pytest.raises(LabelError, match="fitted to 3"):
        projected_histograms(LogisticRegression(alpha=0.1).fit(X, y), X, y)
    Z, z = trees(2)
    with pytest.raises(ColumnError, match="X has 3 columns"):
        projected_histograms(FisherDiscriminant().fit(Z, z), Z[:, :3], z)


@pytest.mark.parametrize("form", [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "b"])], ids=["array", "pandas"])
def test_two_columns_drawn_the_other_way_round_are_the_model_itself(form):
    X, y = trees(p=2)
    model = LinearDiscriminantAnalysis().fit(form(X), y)
    figure = sound(decision_regions(model, form(X), y, features=[1, 0], resolution=20))
    assert "of the same kind" not in subtitle(figure)
    straight = decision_regions(model, form(X), y, resolution=20)
    assert figure.layout.xaxis.title.text == straight.layout.yaxis.title.text
    for one, other in zip(heatmaps(figure), heatmaps(straight), strict=True):
        assert_array_equal(one.z, other.z.T)
    assert legend(figure) == legend(straight)


def test_named_rows_are_drawn_without_a_warning_and_with_their_names():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b"], 30)
    rows = as_rows(X + (y == "b")[:, None], ["length", "width"])
    figure = decision_regions(LinearDiscriminantAnalysis().fit(rows, y), rows, y)
    assert figure.layout.xaxis.title.text == "length"


def test_boundaries_of_votes_are_exact_where_scores_jump():
    """Lines between the regions of one-vs-one are those of its binary models, however coarse the grid."""
    data = load("pinwheel")
    model = OneVsOne(LeastSquaresClassifier()).fit(data.X, data.y)
    figure = decision_regions(model, data.X, data.y, resolution=20)
    (line,) = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "lines"]
    ends = np.column_stack((line.x, line.y)).reshape(-1, 3, 2)[:, 0].astype(float)  # where a side of a cell is crossed
    step = 1e-2
    around = np.stack([ends + step * np.array(to) for to in ((1, 0), (-1, 0), (0, 1), (0, -1))])
    labels = np.stack([model.predict(part) for part in around])
    assert (labels != labels[0]).any(axis=0).all()
    assert len(ends) > 40
