"""A sketch is the figure: what both come to is compared, figure by figure, so that no page shows another picture."""

import base64
import json
import warnings

import numpy as np
import plotly.graph_objects as go
import pytest

from discriminant import (
    Decision,
    FisherDiscriminant,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    OneVsRest,
    Perceptron,
    SupportVectorClassifier,
    figures,
    roc,
)
from discriminant.datasets import avocados, crossed_normals, load, triangle
from discriminant.figures.sketch import Sketch
from discriminant.figures.theme import sketches
from discriminant.solvers import IRLS
from discriminant.theory import density_curves

TWO, THREE, AND = crossed_normals(60), triangle(45), load("and")


def fitted(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data.X, data.y)


def of(name, model, data, *more, **options):
    return lambda: getattr(figures, name)(fitted(model, data), data.X, data.y, *more, **options)


LDA, SOFT, TRACED = LinearDiscriminantAnalysis(), SupportVectorClassifier(), Perceptron(trace=True)
DRAWN = {
    "regions": of("decision_regions", LDA, THREE, resolution=20),
    "regions within limits": of("decision_regions", LDA, THREE, resolution=20, limits=[[-9, -8], [7, 6]]),
    "ambiguous": of("decision_regions", OneVsRest(LDA), THREE, resolution=30),
    "one column": of("decision_regions", LDA, avocados(50)),
    "boundary": of("boundary", LDA, TWO),
    "margin": of("boundary", SupportVectorClassifier(), TWO, limits=[[-9, -8], [7, 6]]),
    "moving": of("moving_boundary", LDA, TWO, {"a": Decision(), "b": Decision(priors=[0.1, 0.9])}, resolution=20),
    "histograms": of("projected_histograms", FisherDiscriminant(), TWO),
    "support vectors": of("support_vector_steps", SOFT, AND, limits=[[-1, -1], [2, 2]]),
    "perceptron": of("perceptron_trace", TRACED, AND, limits=[[-1, -1], [2, 2]]),
    "dual": of("dual_trace", TRACED, AND),
    "likelihood": lambda: figures.likelihood_paths(
        {"IRLS": fitted(LogisticRegression(solver=IRLS(), trace=True), TWO)}, TWO.X, TWO.y
    ),
    "densities": lambda: figures.class_densities(density_curves(avocados().distributions, avocados().priors)),
    "roc": lambda: figures.roc_curve(roc(TWO.y, TWO.X[:, 0])),
    "scatter": lambda: figures.scatter(THREE.X, THREE.y),
}
#: Buttons and sliders of plotly's own, and the room for them: a page that plays a sketch has its own.
PLAYING = ("updatemenus", "sliders", "height")


def comparable(value):
    """What plotly draws, arrays as lists however they are written."""
    if isinstance(value, dict):
        if "bdata" in value:
            array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            shape = [int(n) for n in str(value.get("shape", len(array))).split(",")]
            return comparable(array.astype(np.float64).reshape(shape).tolist())
        return {name: comparable(part) for name, part in value.items() if part != {}}
    if isinstance(value, list):
        return [comparable(part) for part in value]
    if isinstance(value, float):
        return None if np.isnan(value) else float(f"{value:.6g}")
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("name", DRAWN)
def test_a_sketch_comes_to_the_same_as_the_figure(name):
    whole = json.loads(DRAWN[name]().to_json())
    with sketches():
        made = DRAWN[name]()
    assert isinstance(made, Sketch)
    drawn = json.loads(go.Figure(made.to_dict()).to_json())  # plotly takes every property of it
    if "frames" in whole:
        for values in (whole["layout"], drawn["layout"]):
            for part in PLAYING:
                values.pop(part, None)
            values["margin"].pop("b", None)
    assert comparable(drawn) == comparable(whole)


def test_figures_are_plotlys_own_again_afterwards():
    with pytest.raises(ZeroDivisionError), sketches():
        1 / 0  # noqa: B018
    assert isinstance(DRAWN["scatter"](), go.Figure)


def test_a_class_keeps_its_look_where_others_have_no_rows():
    with sketches(places=(0, 3, 4)):
        made = DRAWN["scatter"]()
    assert [trace["marker"]["symbol"] for trace in made.data] == ["circle", "diamond", "cross"]


def test_sketches_are_described_as_figures_are():
    with sketches():
        assert figures.alt_text(DRAWN["boundary"]()) == figures.alt_text(DRAWN["boundary"]())


def test_what_a_sketch_does_not_know_is_not_drawn_by_chance():
    with pytest.raises(AttributeError):
        Sketch({}).write_image("x.png")


@pytest.mark.parametrize("limits", [[[0, 0], [0, 1]], [[0, 0]], [[0, np.nan], [1, 1]], "wide"])
def test_limits_that_are_none_are_refused(limits):
    with pytest.raises(ValueError, match="limits"):
        figures.scatter(TWO.X, TWO.y, limits=limits)


def test_a_grid_in_bytes_is_the_grid():
    with sketches():
        made = DRAWN["regions"]()
    for whole, written in zip(made.data, made.in_bytes()["data"], strict=True):
        if whole["type"] == "heatmap":
            grid = written["z"]
            steps = np.frombuffer(base64.b64decode(grid["bytes"]), dtype=np.uint8).reshape(-1, grid["width"])
            values = np.where(steps == 255, np.nan, grid["low"] + (grid["high"] - grid["low"]) * steps / 254)
            assert np.allclose(values, whole["z"], atol=0.003, equal_nan=True)
