"""Every lesson of the Learn page without a browser: its figures and numbers, and that its code gives the same."""

import base64
import csv
import json
import shlex

import numpy as np
import plotly.graph_objects as go
import pytest
from typer.testing import CliRunner

from discriminant import Decision, DecisionClassifier, LinearDiscriminantAnalysis, Perceptron, datasets, errors
from discriminant.cli import app
from discriminant.datasets import worked_example
from discriminant.report.page import drawing
from discriminant.studio.learn_page import mathml
from discriminant.studio.learn_points import MAX_POINTS, PRESETS, preset
from discriminant.studio.learn_views import EXAMPLES, RESOLUTION, VIEWS, bare

#: The lessons show what the warnings of a fit say.
pytestmark = pytest.mark.filterwarnings("ignore")


def shown(name, points=None, **given):
    view = VIEWS[name]
    found = view.points if points is None else points
    return view.shown(preset(found) if isinstance(found, str) else found, view.settings(given))


def painted(*rows):
    """Points on the empty plane: x, y and class."""
    return preset("blank").changed([[i, *row] for i, row in enumerate(rows, 1)])


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_draws_what_plotly_takes(name):
    found = shown(name)
    assert not [one.reason for one in found.drawings if one.figure is None]
    for one in found.drawings:
        whole = json.loads(json.dumps(one.figure))
        for trace in whole["data"]:
            if trace["type"] == "heatmap":
                assert trace.pop("z")["width"] == RESOLUTION
        go.Figure(whole)
        assert one.title
        assert one.alt
    assert found.facts


@pytest.mark.parametrize("name", VIEWS)
def test_copied_python_shows_the_same(name, monkeypatch):
    found, drawn = shown(name), []
    monkeypatch.setattr(go.Figure, "show", lambda figure: drawn.append(figure))
    exec(compile(found.python, name, "exec"), {})
    assert len(drawn) == len(found.drawings)
    copied = [drawing("", lambda figure=figure: figure) for figure in drawn]
    # Arrays have no names: columns are x0 and x1 there.
    assert sorted(one.title.rstrip("012") for one in copied) == sorted(one.title.rstrip("12") for one in found.drawings)


@pytest.mark.parametrize("name", VIEWS)
def test_copied_commands_run(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for line in shown(name).command.splitlines():
        program, *words = shlex.split(line)
        assert program == "discriminant"
        ran = CliRunner().invoke(app, words)
        assert ran.exit_code == 0, (line, ran.stderr)
    assert (tmp_path / "figure.html").stat().st_size > 100_000


@pytest.mark.parametrize("name", VIEWS)
def test_every_formula_is_drawn_whole(name):
    for caption, tex in VIEWS[name].formulas:
        made = mathml(tex)
        assert made.startswith("<math")
        assert "\\" not in made  # the converter leaves unknown commands unchanged
        assert caption
    assert VIEWS[name].lead


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("points", [p for p in PRESETS if p != "blank"])
def test_any_lesson_of_any_points_is_drawn_or_refused_with_a_reason(name, points):
    try:
        reasons = [one.reason for one in shown(name, points).drawings if one.figure is None]
    except errors.DiscriminantError as error:
        reasons = [str(error)]
    assert all(len(words) > 20 for words in reasons)


@pytest.mark.parametrize("name", VIEWS)
def test_settings_of_an_address_are_taken_or_left(name):
    view = VIEWS[name]
    usual = view.settings({})
    assert view.settings({one.name: "<script>" for one in view.controls}) == usual
    for one in view.controls:
        for value in one.options:
            assert view.settings({one.name: str(value)})[one.name] == value


def test_numbers_are_those_of_the_worked_examples():
    for gate in ("and", "or"):
        known = worked_example(f"{gate}-perceptron").numbers
        for rule in ("sign", "nonpositive"):
            facts = shown("perceptron", gate, rule=rule).facts
            assert facts["Updates"] == str(known[f"{rule}: updates"])
            assert float(facts["Bound R² / γ²"]) == pytest.approx(known["bound"])
    masked = worked_example("masking").numbers
    assert shown("masking").facts["Misclassified: least squares"] == f"{100 - masked['least squares']} of 300"
    outliers = worked_example("far-rows").numbers
    assert shown("outliers").facts["Misclassified: least squares"] == f"{outliers['least squares']} of 90"
    error = worked_example("bayes-error").numbers["error"]
    assert shown("bayes").facts["Bayes error"] == f"{error:.4f}"
    newton = worked_example("newton-steps").numbers["log-likelihood"]
    assert float(shown("likelihood").facts["Final log-likelihood: Newton"]) == pytest.approx(newton, abs=1e-4)


def test_the_picture_of_the_avocado_agrees_with_its_numbers():
    given, numbers = worked_example("avocado").given, worked_example("avocado").numbers
    view, points, settings = EXAMPLES["avocado"]
    found = shown(view, points, **settings)
    curves = {trace["name"]: trace for trace in found.drawings[0].figure["data"] if trace.get("mode") == "lines"}
    at = {
        label: np.interp(1.4, *(np.asarray(decoded(curves[label][axis])) for axis in "xy")) for label in given["priors"]
    }
    assert at["organic"] / sum(at.values()) == pytest.approx(numbers["posterior of organic"], abs=1e-3)
    view, points, settings = EXAMPLES["avocado-costs"]
    model = DecisionClassifier(
        LinearDiscriminantAnalysis(), Decision({"organic": {"ordinary": 0.5}, "ordinary": {"organic": 1.0}})
    )
    data = datasets.load(points)
    assert model.fit(data.X, data.y).predict([[1.4]]) == worked_example("avocado-costs").numbers["decision"]


def decoded(values):
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]) if isinstance(values, dict) else values


def test_no_line_no_bound():
    facts = shown("perceptron", "xor").facts
    assert facts["Bound R² / γ²"] == "none: not linearly separable"


def test_the_class_of_rows_on_the_boundary_is_stated():
    assert shown("perceptron", "and").facts["Rows on the boundary"] == "1, predicted as -1"
    assert "Rows on the boundary" not in shown("perceptron", "xor").facts


def test_settings_move_what_is_shown():
    def wrong(**given):
        return shown("decision", **given).facts

    assert wrong() != wrong(cost="10.0")
    assert wrong()["Rejected"] == "0"
    assert int(wrong(reject="0.1")["Rejected"]) > int(wrong(reject="0.3")["Rejected"]) > 0
    assert shown("roc", threshold="0.9").facts != shown("roc").facts
    assert shown("line", C="0.001").facts != shown("line").facts
    assert shown("bayes", prior="0.9").facts["Bayes error"] < shown("bayes").facts["Bayes error"]


def test_separated_classes_grow_without_end_and_firth_does_not():
    few, many = (shown("separable", steps=str(n)).facts for n in (5, 20))
    assert few["‖w‖, Firth"] == many["‖w‖, Firth"]
    assert float(many["‖w‖ after 20 iterations"]) > 3 * float(few["‖w‖ after 5 iterations"])
    assert few["Linearly separable"] == "yes"
    assert shown("separable", "crossed_normals").facts["Linearly separable"] == "no"


def test_true_densities_of_painted_points_are_not_made_up():
    with pytest.raises(errors.InputError, match="densities"):
        shown("bayes", preset("two_normals").__class__.changed(preset("crossed_normals"), [[1]]))


def test_three_classes_in_a_view_of_two_are_refused_by_name():
    with pytest.raises(errors.InputError, match="3"):
        shown("roc", "triangle")


def test_few_points_are_no_error():
    for points in (painted(), painted((1, 1, 0)), painted((1, 1, 2), (2, 2, 2))):
        found = shown("model", points)
        assert "at least two classes" in found.drawings[0].explanation
        assert not found.python


def test_classes_keep_their_colours():
    found = shown("model", painted((1, 1, 0), (2, 1, 0), (1, 2, 0), (8, 8, 3), (9, 8, 3), (8, 9, 3)))
    rows = [trace for trace in found.drawings[0].figure["data"] if trace.get("meta") == "rows"]
    assert [(trace["name"], trace["marker"]["symbol"]) for trace in rows] == [("A", "circle"), ("D", "diamond")]


def test_points_change_by_their_numbers():
    points = painted((1, 1, 0), (2, 2, 1)).changed([[1, 5, 5, 0], [2], [7, 3, 3, 4], [8, 1, 1, 9], [9, np.inf, 1, 0]])
    assert points.values.tolist() == [[5, 5], [3, 3]]
    assert points.y.tolist() == ["A", "E"]
    assert points.edited
    with pytest.raises(errors.InputError, match="2,000"):
        points.changed([[i, 1, 1, 0] for i in range(10, 11 + MAX_POINTS)])


def test_an_address_holds_points():
    points = preset("triangle").changed([[1]])
    again = preset("triangle").unpacked(points.packed())
    step = (points.limits[1] - points.limits[0]) / 2**16
    assert (np.abs(again.values - points.values) <= step).all()
    assert (again.codes == points.codes).all()
    for wrong in ("!!!", "abc", preset("triangle").packed()[:-3] + "____"):
        with pytest.raises(errors.InputError, match="address"):
            preset("and").unpacked(wrong)
    with pytest.raises(errors.InputError, match="address"):
        preset("two_normals").unpacked(points.packed())


def test_points_are_written_with_all_digits():
    points = preset("crossed_normals")
    rows = list(csv.reader(points.csv().splitlines()))
    assert rows[0] == ["x1", "x2", "class"]
    assert np.array_equal(np.array([row[:2] for row in rows[1:]], dtype=float), points.values)


def test_edited_points_are_copied_as_they_are(monkeypatch):
    drawn = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: drawn.append(figure))
    points = preset("and").changed([[1, 0.25, -0.125, 0]])
    names = {}
    exec(compile(shown("perceptron", points).python, "copied", "exec"), names)
    assert np.array_equal(names["X"], points.values)
    data = datasets.load("and")
    moved = data.X.astype(float)
    moved[0] = 0.25, -0.125
    assert len(names["primal"].trace_) == len(Perceptron(trace=True).fit(moved, data.y).trace_)


def test_bare_points_are_drawn_without_a_model():
    figure = bare(preset("iris")).drawings[0].figure
    assert [trace["name"] for trace in figure["data"]] == ["setosa", "versicolor", "virginica"]
