"""Training step by step: every frame is a step that was made."""

import itertools
import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pictures import legend, sound, subtitle, trees

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, SupportVectorClassifier
from discriminant.datasets import load
from discriminant.errors import ColumnError, InputError, LabelError, ParameterError
from discriminant.estimators.perceptron import Perceptron
from discriminant.figures import descent_trace, perceptron_trace, support_vector_steps
from discriminant.margins.pairwise import pairwise_steps


def apart(distance=3.0, n=60, seed=0):
    """Two classes in a plane that a line separates."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, "up", "down")
    return rng.uniform(-1, 1, size=(n, 2)) + distance * (y == "up")[:, None], y


def frame_words(frame):
    return frame.layout.title.subtitle.text.replace("<br>", " ")


def test_every_frame_is_an_update_with_its_line_and_its_row():
    X, y = apart()
    model = Perceptron(trace=True).fit(X, y)
    figure = sound(perceptron_trace(model, X, y))
    assert len(figure.frames) == model.updates_ + 1
    assert legend(figure) == ["down", "up", "boundary", "row of the update"]
    for frame, step in zip(figure.frames[1:], model.trace_, strict=True):
        down, up, line, row = frame.data
        for side, sign in ((down, -1), (up, 1)):
            corners = np.column_stack((side.x, side.y)).astype(float)
            assert (sign * (corners @ step.coef + step.intercept) >= -1e-9).all()
        if line.x != (None,):
            ends = np.column_stack((line.x, line.y))
            assert_allclose(ends @ step.coef + step.intercept, 0, atol=1e-9)
        assert_array_equal([*row.x, *row.y], X[step.row])
        assert f"Update {step.updates} of {model.updates_}, pass {step.epoch}: row {step.row} " in frame_words(frame)
    assert frame_words(figure.frames[0]).startswith("Start at w = 0, b = 0")
    assert subtitle(figure) == frame_words(figure.frames[0])
    marks = [step.args[0][0] for step in figure.layout.sliders[0].steps]
    assert marks == [frame.name for frame in figure.frames]


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_the_steps_of_the_soft_margin_end_at_the_fitted_model(C):
    data = load("far_rows")
    model = SupportVectorClassifier(C=C).fit(data.X, data.y)
    sign = np.where(data.y == model.classes_[1], 1.0, -1.0)
    steps = pairwise_steps(data.X.astype(float), sign, C)
    assert_allclose(steps[-1].coef, model.coef_[0], atol=1e-3)
    assert (np.diff([step.objective for step in steps]) > -1e-12).all()
    for step in steps:
        assert abs(step.alpha @ sign) < 1e-9
        assert ((step.alpha >= 0) & (step.alpha <= C)).all()
        assert_allclose(step.coef, (step.alpha * sign) @ data.X, atol=1e-9)
    for before, after in itertools.pairwise(steps):
        assert set(np.flatnonzero(before.alpha != after.alpha)) <= set(after.pair)
    figure = sound(support_vector_steps(model, data.X, data.y, frames=20))
    assert len(figure.frames) == min(20, len(steps))
    line, *margins, supports, _ = figure.frames[-1].data
    ends = np.column_stack((line.x, line.y))
    assert_allclose(ends @ steps[-1].coef + steps[-1].intercept, 0, atol=1e-6)
    for level, margin in zip((-1, 1), margins, strict=True):
        values = np.column_stack((margin.x, margin.y)) @ steps[-1].coef + steps[-1].intercept
        assert_allclose(values, level, atol=1e-6)
    assert len(supports.x) == np.count_nonzero(steps[-1].alpha)


def test_steps_of_another_margin_are_refused():
    data = load("and")
    for other in (SupportVectorClassifier("hard"), SupportVectorClassifier(loss="squared_hinge")):
        with pytest.raises(ParameterError, match="soft margin"):
            support_vector_steps(other.fit(data.X, data.y), data.X, data.y)


def test_many_updates_are_subsampled_said_so_and_small():
    X, y = trees(2, p=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Perceptron(trace=True, max_iter=50).fit(X, y)
    total = len(model.trace_) + 1
    assert total > 200
    figure = sound(perceptron_trace(model, X, y, frames=40))
    assert len(figure.frames) == 40
    assert f"40 of {total:,} steps are shown" in subtitle(figure)
    assert frame_words(figure.frames[-1]).startswith(f"Update {total - 1:,} of")
    assert max(len(json.dumps(frame.to_plotly_json())) for frame in figure.frames) < 2_000
    kept = next(trace for trace in figure.data if trace.name == "fitted model")
    assert_allclose(np.column_stack((kept.x, kept.y)) @ model.coef_[0] + model.intercept_[0], 0, atol=1e-9)


def test_traces_that_cannot_be_drawn_are_refused():
    X, y = apart()
    with pytest.raises(ParameterError, match="trace=True"):
        perceptron_trace(Perceptron().fit(X, y), X, y)
    with pytest.raises(InputError, match="got LinearDiscriminantAnalysis"):
        perceptron_trace(LinearDiscriminantAnalysis().fit(X, y), X, y)
    wide = np.column_stack((X, X[:, 0]))
    with pytest.raises(ColumnError, match="X has 3"):
        perceptron_trace(Perceptron(trace=True).fit(wide, y), wide, y)
    three = np.where(X[:, 0] > 3, "top", y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = Perceptron(trace=True, max_iter=5).fit(X, three)
    with pytest.raises(LabelError, match="fitted to 3"):
        perceptron_trace(many, X, three)
    model = Perceptron(trace=True).fit(X[::-1], y[::-1])
    last = max(step.row for step in model.trace_)
    with pytest.raises(ParameterError, match="training rows"):
        perceptron_trace(model, X[:last], y[:last])
    streamed = Perceptron(trace=True).partial_fit(X, y).partial_fit(-X, y)
    with pytest.raises(ParameterError, match="partial_fit"):
        perceptron_trace(streamed, -X, y)


@pytest.mark.parametrize("solver", ["gradient", "newton", "lbfgs", "sgd"])
def test_the_objective_is_drawn_at_every_iteration(solver):
    X, y = trees(3)
    model = LogisticRegression(alpha=0.1, solver=solver, trace=True, random_state=0).fit(X, y)
    steps = model.solution_.trace
    figure = sound(descent_trace(model))
    assert_array_equal(figure.data[0].y, [step.value for step in steps])
    assert len(figure.data) == 2
    for frame in figure.frames:
        (dot,) = frame.data
        assert dot.y[0] == steps[dot.x[0]].value
        assert frame_words(frame).startswith(f"Iteration {dot.x[0]} of {len(steps) - 1}")
    assert figure.frames[-1].data[0].x[0] == len(steps) - 1


def test_many_iterations_are_subsampled_and_said_so():
    X, y = trees(2, p=2)
    model = LogisticRegression(alpha=1e-4, solver="gradient", trace=True, tol=1e-12).fit(X * [1, 0.5], y)
    total = len(model.solution_.trace)
    figure = sound(descent_trace(model, frames=5))
    assert len(figure.frames) == 5 < total
    assert f"5 of {total} iterations are shown" in subtitle(figure)
    assert max(len(json.dumps(frame.to_plotly_json())) for frame in figure.frames) < 3_000


def test_models_without_iterations_are_refused():
    X, y = trees(2)
    for model in (LogisticRegression(alpha=0.1), LinearDiscriminantAnalysis(), LogisticRegression(firth=True)):
        with pytest.raises(ParameterError, match="trace"):
            descent_trace(model.fit(X, y))
