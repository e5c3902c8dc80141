"""The figures and results of each lesson of the Learn page, and the values for its code in ``lessons.toml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from ..arrays import Array, Classifier, MatrixLike
from ..errors import DegenerateDataError, InputError
from ..report.page import drawing
from ..results import several
from .learn_views import FRAMES, RESOLUTION, Shown

if TYPE_CHECKING:
    from .. import Perceptron
    from ..report.page import Drawing
    from .learn_points import Points

Given = Mapping[str, Any]
Draw = Callable[[Mapping[str, Classifier]], "list[Drawing]"]

_POINT: Final = {
    "type": "scatter", "mode": "markers", "name": "threshold", "hoverinfo": "skip", "showlegend": False,
    "marker": {"color": "#D55E00", "size": 13, "line": {"color": "white", "width": 2}},
}  # fmt: skip


def _named(name: str) -> dict[str, str]:
    """The class of a model and its constructor call, for the code."""
    from ..estimators.registry import MODELS, new_model

    return {"kind": MODELS[name], "model": repr(new_model(name))}


def _regions(points: Points, model: Classifier, place: str = "plane") -> Drawing:
    from ..figures import decision_regions

    return drawing(place, decision_regions, model, points.X, points.y, resolution=RESOLUTION, limits=_limits(points))


def _limits(points: Points) -> Array | None:
    return points.limits if points.paintable else None


def _errors(points: Points, model: Classifier) -> str:
    return f"{int((model.predict(points.X) != points.y).sum()):,} of {len(points.y):,}"


def model_view(points: Points, given: Given) -> Shown:
    """Decision regions of any model."""
    from ..estimators.registry import new_model

    name = given["model"]
    model = new_model(name).fit(points.X, points.y)
    return Shown(
        [_regions(points, model)],
        {"Misclassified": _errors(points, model), "Classes": str(len(points.present))},
        _named(name),
        {"model": name},
    )


def line_view(points: Points, given: Given) -> Shown:
    """A decision boundary with the distances of the rows, or with its margin."""
    from .. import SupportVectorClassifier, figures
    from ..estimators.given import LinearClassifier
    from ..estimators.registry import new_model

    _two_classes(points)
    name, margin = given["model"], given["model"] in ("svm", "hard")
    new = SupportVectorClassifier(C=given["C"]) if name == "svm" else None
    new = SupportVectorClassifier("hard") if name == "hard" else new or new_model(name)
    model = new.fit(points.X, points.y)
    distance = LinearClassifier.of(model).origin_distance
    facts = {"Misclassified": _errors(points, model), "‖w‖": _length(model)}
    facts["Distance of the boundary from the origin"] = f"{distance:.4g}"
    if margin:
        facts |= {"Margin 2 / ‖w‖": f"{model.margin_:.4g}", "Support vectors": f"{len(model.support_):,}"}
    settings = {"svm": {"model": "svm", "C": given["C"]}, "hard": {"model": "svm", "margin": "hard"}}
    return Shown(
        [drawing("plane", figures.boundary, model, points.X, points.y, _limits(points))],
        facts,
        {"kind": type(new).__name__, "model": repr(new)},
        settings.get(name, {"model": name}),
    )


def svm_view(points: Points, given: Given) -> Shown:
    """The steps of sequential minimal optimisation to the soft margin."""
    from .. import SupportVectorClassifier, figures

    _two_classes(points)
    new = SupportVectorClassifier(C=given["C"])
    model = new.fit(points.X, points.y)
    facts = {"Misclassified": _errors(points, model), "Margin 2 / ‖w‖": f"{model.margin_:.4g}"}
    facts["Support vectors"] = f"{len(model.support_):,}"
    return Shown(
        [drawing("plane", figures.support_vector_steps, model, points.X, points.y, FRAMES, _limits(points))],
        facts,
        {"model": repr(new)},
        {"model": "svm", "C": given["C"]},
    )


def perceptron_view(points: Points, given: Given) -> Shown:
    """The updates of the perceptron, in its primal and dual form."""
    from .. import Perceptron, figures

    _two_classes(points)
    rule, epochs = given["rule"], given["passes"]
    primal, dual = (
        Perceptron(form, rule=rule, max_iter=epochs, trace=True).fit(points.X, points.y) for form in ("primal", "dual")
    )
    bound, n_ties = _bound(primal), int((primal.decision_function(points.X) == 0).sum())
    facts = {"Updates": f"{primal.updates_:,}", "Epochs": f"{primal.n_iter_:,}"} | (bound or _NO_BOUND)
    if n_ties:
        facts["Rows on the boundary"] = f"{n_ties}, predicted as {primal.classes_[0]}"
    return Shown(
        [
            drawing("plane", figures.perceptron_trace, primal, points.X, points.y, FRAMES, _limits(points)),
            drawing("dual", figures.dual_trace, dual, points.X, points.y, FRAMES),
        ],
        facts,
        {"settings": f"rule={rule!r}, max_iter={epochs}, trace=True"},
        {"rule": rule, "max_iter": epochs},
        result=f"{_end(primal, epochs, bool(bound))} Misclassified: {_errors(points, primal)}.",
    )


def _end(model: Perceptron, max_epochs: int, is_separable: bool) -> str:
    """Why training ended."""
    if model.converged_:
        return f"Converged in epoch {model.n_iter_}: no row is misclassified."
    cause = "" if is_separable else ": the classes are not linearly separable"
    if model.n_iter_ < max_epochs:
        return f"Stopped after {several(model.n_iter_, 'epoch')}, because the weights repeat{cause}."
    return f"Stopped after the maximum of {several(max_epochs, 'epoch')}{cause}."


_NO_BOUND: Final = {"Bound R² / γ²": "none: not linearly separable"}


def _bound(model: Perceptron) -> dict[str, str]:
    """The bound on the number of updates and its parts; empty without linear separability."""
    try:
        proof = model.certificate()
    except DegenerateDataError:
        return {}
    assert not isinstance(proof, list)  # that is for more than two classes
    return {
        "Bound R² / γ²": f"{proof.bound:,.4g}", "Largest norm of a row R": f"{proof.R:.4g}",
        "Distance of the nearest row γ": f"{proof.gamma:.4g}",  # noqa: RUF001 - the symbol of the bound
        "Cosine with max-margin weights": f"{proof.alignment:.3f}",
        "Lower bound on the cosine": f"{proof.least_alignment:.3f}",
    }  # fmt: skip


def likelihood_view(points: Points, given: Given) -> Shown:
    """The paths of three solvers to the maximum of the likelihood."""
    from .. import LogisticRegression, figures
    from ..solvers import IRLS, GradientDescent, StochasticGradient

    _two_classes(points)
    rate, batch, steps = given["rate"], given["batch"], given["steps"]
    solvers: dict[str, Any] = {
        "gradient": GradientDescent(rate or None),
        "mini-batch": StochasticGradient(rate or None, given["schedule"], batch=batch),
        "Newton": IRLS(),
    }
    models = {
        name: LogisticRegression(solver=solver, trace=True, max_iter=steps, random_state=0).fit(points.X, points.y)
        for name, solver in solvers.items()
    }
    if points.paintable:
        plane = drawing("plane", figures.boundary_paths, models, points.X, points.y, FRAMES, points.limits)
    else:
        plane = _regions(points, models["Newton"])
        plane = replace(plane, explanation=f"After the last Newton step. {plane.explanation}")
    draw = f"boundary_paths(models, X, y, {FRAMES})" if points.paintable else "decision_regions(models['Newton'], X, y)"
    ends = {f"Final log-likelihood: {name}": f"{model.trace_.log_likelihood[-1]:.5g}" for name, model in models.items()}
    written = ",\n".join(
        f"    {name!r}: LogisticRegression(solver={solver!r}, trace=True, max_iter={steps}, random_state=0).fit(X, y)"
        for name, solver in solvers.items()
    )
    return Shown(
        [plane, drawing("likelihood", figures.likelihood_paths, models, points.X, points.y, FRAMES)],
        ends,
        {"models": written, "plane": draw},
        {},
    )


def sphering_view(points: Points, given: Given) -> Shown:  # noqa: ARG001
    """LDA before and after sphering."""
    from .. import LinearDiscriminantAnalysis, figures

    model = LinearDiscriminantAnalysis().fit(points.X, points.y)
    moved = drawing("plane", figures.sphering_movement, model, points.X, points.y, limits=None)
    distances = model.mean_distances()
    return Shown(
        [moved, _regions(points, model, "regions")],
        {"Misclassified": _errors(points, model), "Largest distance between sphered means": f"{distances.max():.4g}"},
        {},
        {},
    )


def qda_view(points: Points, given: Given) -> Shown:  # noqa: ARG001
    """Decision regions with a common covariance matrix, and with one for each class."""
    from .. import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

    models = {"LDA": LinearDiscriminantAnalysis(), "QDA": QuadraticDiscriminantAnalysis()}
    fitted = {name: model.fit(points.X, points.y) for name, model in models.items()}
    return Shown(
        [_regions(points, model, name) for name, model in fitted.items()],
        {f"Misclassified: {name}": _errors(points, model) for name, model in fitted.items()},
        {},
        {"model": "qda"},
    )


def fisher_view(points: Points, given: Given) -> Shown:
    """The boundary of Fisher's discriminant, and the projected rows."""
    from .. import FisherDiscriminant, figures

    _two_classes(points)
    rule = given["threshold"]
    model = FisherDiscriminant(rule).fit(points.X, points.y)
    return Shown(
        [
            drawing("plane", figures.boundary, model, points.X, points.y, _limits(points)),
            drawing("histograms", figures.projected_histograms, model, points.X, points.y),
        ],
        {"Misclassified": _errors(points, model), "Threshold": f"{-float(model.intercept_[0]):.4g}"},
        {"threshold": repr(rule)},
        {"threshold": rule},
    )


class _Fittable(Classifier, Protocol):
    def fit(self, X: MatrixLike, y: Array) -> object:
        """Fit to rows with their classes."""


def _compared(points: Points, third: tuple[str, _Fittable], draw: Draw, settings: Mapping[str, str | float]) -> Shown:
    """Least squares, logistic regression and a third model; a small penalty keeps separated classes finite."""
    from .. import LeastSquaresClassifier, LogisticRegression

    models: dict[str, _Fittable] = {
        "least squares": LeastSquaresClassifier(),
        "logistic regression": LogisticRegression(alpha=0.001),
    }
    models[third[0]] = third[1]
    written = ",\n".join(f"    {name!r}: {model!r}.fit(X, y)" for name, model in models.items())
    for model in models.values():
        model.fit(points.X, points.y)
    return Shown(
        draw(models),
        {f"Misclassified: {name}": _errors(points, model) for name, model in models.items()},
        {"kinds": ", ".join(type(model).__name__ for model in models.values()), "models": written},
        settings,
    )


def masking_view(points: Points, given: Given) -> Shown:  # noqa: ARG001
    """Decision regions of three models, one of which masks a class."""
    from .. import LinearDiscriminantAnalysis

    def draw(models: Mapping[str, Classifier]) -> list[Drawing]:
        return [_regions(points, model, name) for name, model in models.items()]

    return _compared(points, ("LDA", LinearDiscriminantAnalysis()), draw, {"model": "least-squares"})


def outliers_view(points: Points, given: Given) -> Shown:  # noqa: ARG001
    """Boundaries of three models, one of which is sensitive to outliers."""
    from .. import SupportVectorClassifier, figures

    def draw(models: Mapping[str, Classifier]) -> list[Drawing]:
        limits = _limits(points)
        return [drawing("plane", figures.boundaries, models, points.X, points.y, resolution=RESOLUTION, limits=limits)]

    return _compared(points, ("support vector machine", SupportVectorClassifier()), draw, {})


def many_view(points: Points, given: Given) -> Shown:
    """One-vs-rest and one-vs-one with the same binary classifier."""
    from .. import OneVsOne, OneVsRest
    from ..estimators.registry import new_model
    from ..figures.points import grid

    name = given["model"]
    combined = {kind.__name__: kind(new_model(name)).fit(points.X, points.y) for kind in (OneVsRest, OneVsOne)}
    facts: dict[str, str] = {}
    for kind, model in combined.items():
        found = model.ambiguous(points.X)
        ambiguous = int((found.none | found.several).sum())
        facts |= {f"{kind}: misclassified": _errors(points, model), f"{kind}: ambiguous": several(ambiguous, "row")}
        if points.paintable:
            everywhere = model.ambiguous(points.in_form(grid(points.limits, RESOLUTION)[2]))
            share = float((everywhere.none | everywhere.several).mean())
            facts[f"{kind}: ambiguous area"] = f"{100 * share:.1f} %"
    areas = [f"{kind} {facts[area]}" for kind in combined if (area := f"{kind}: ambiguous area") in facts]
    result = f"Ambiguous area: {', '.join(areas)}." if areas else ""
    pictures = [_regions(points, model, kind) for kind, model in combined.items()]
    return Shown(pictures, facts, _named(name), {"model": name}, result=result)


def _costs(points: Points, cost: float) -> tuple[dict[Any, dict[Any, float]], Any, Any]:
    """The costs of the two errors in units of a false positive of the second class, and the two classes."""
    first, second = (points.labels[k] for k in points.present)
    return {second: {first: cost}, first: {second: 1.0}}, first, second


def _two_classes(points: Points) -> None:
    if len(points.present) != 2:
        raise InputError(
            f"This lesson needs points of exactly two classes, got {len(points.present)}. Paint or erase points."
        )


def decision_view(points: Points, given: Given) -> Shown:
    """Decision regions under other priors and costs."""
    from .. import Decision, DecisionClassifier
    from ..estimators.registry import new_model

    _two_classes(points)
    costs, first, second = _costs(points, given["cost"])
    share, reject = given["prior"], given["reject"] or None
    decision = Decision(costs, priors={first: 1 - share, second: share}, reject_cost=reject)
    model = DecisionClassifier(new_model(given["model"]), decision).fit(points.X, points.y)
    answers = model.predict(points.X)
    rejected = int((answers == "abstain").sum())
    wrong = int(((answers != points.y) & (answers != "abstain")).sum())
    return Shown(
        [_regions(points, model)],
        {"Misclassified": f"{wrong:,} of {len(points.y):,}", "Rejected": f"{rejected:,}"},
        {**_named(given["model"]), "decision": repr(decision)},
        {"model": given["model"]},
    )


def bayes_view(points: Points, given: Given) -> Shown:
    """The best possible decision, for known class densities."""
    from .. import BayesClassifier, bayes_error, figures
    from ..datasets import load
    from ..theory import density_curves

    known = None if points.edited or points.source in ("blank", "iris") else load(points.source)
    if known is None or known.distributions is None:
        raise InputError("The true densities of these points are not known. Choose an unedited simulated dataset.")
    first, *others = known.distributions
    share = given["prior"]
    priors = {first: share, **{label: (1 - share) / len(others) for label in others}}
    error = bayes_error(known.distributions, priors)
    if points.paintable:
        picture = _regions(points, BayesClassifier(known.distributions, priors))
        imports = "BayesClassifier, bayes_error, figures"
        draw = "decision_regions(BayesClassifier(data.distributions, priors), X, y)"
    else:
        picture = drawing("plane", figures.class_densities, density_curves(known.distributions, priors))
        imports = "bayes_error, figures, theory"
        draw = "class_densities(theory.density_curves(data.distributions, priors))"
    return Shown(
        [picture],
        {"Bayes error": f"{error.error:.4f}", "Majority-class error": f"{1 - max(priors.values()):.4f}"},
        {"imports": imports, "priors": repr(priors), "draw": draw},
        {},
    )


def separable_view(points: Points, given: Given) -> Shown:
    """Coefficients that diverge under separation, and those of Firth's method."""
    from .. import LogisticRegression, figures, linear_separability
    from ..solvers import IRLS

    _two_classes(points)
    steps = given["steps"]
    models = {
        "maximum likelihood": LogisticRegression(solver=IRLS(), max_iter=steps, trace=True).fit(points.X, points.y),
        "Firth": LogisticRegression(firth=True).fit(points.X, points.y),
    }
    found = linear_separability(points.X, points.y)
    return Shown(
        [
            drawing("plane", figures.boundary_paths, models, points.X, points.y, FRAMES, _limits(points)),
            drawing("growth", figures.coefficient_growth, models, FRAMES),
        ],
        {"Linearly separable": "yes" if found.separable else "no", "‖w‖, Firth": _length(models["Firth"])}
        | {f"‖w‖ after {steps} iterations": _length(models["maximum likelihood"])},
        {"steps": str(steps)},
        {},
    )


class _LinearModel(Protocol):
    coef_: Array


def _length(model: _LinearModel) -> str:
    return f"{np.linalg.norm(model.coef_):.4g}"


def roc_view(points: Points, given: Given) -> Shown:
    """A threshold as a decision boundary and as a point of the ROC curve."""
    from .. import Decision, DecisionClassifier, figures, roc
    from ..estimators.registry import new_model

    _two_classes(points)
    threshold, name = given["threshold"], given["model"]
    costs, first, second = _costs(points, (1 - threshold) / threshold)
    model = new_model(name).fit(points.X, points.y)
    decided = DecisionClassifier(model, Decision(costs)).fit(points.X, points.y)
    curve = roc(points.y, model.predict_proba(points.X)[:, 1], positive=second)
    predicted = decided.predict(points.X) == second
    hits, alarms = (float(predicted[points.y == label].mean()) for label in (second, first))
    picture = drawing("roc", figures.roc_curve, curve)
    if picture.figure is not None:
        picture.figure["data"].append({**_POINT, "x": [alarms], "y": [hits]})
    return Shown(
        [_regions(points, decided), picture],
        {"AUC": f"{curve.auc:.4f}", "True positive rate": f"{hits:.3f}", "False positive rate": f"{alarms:.3f}"},
        {**_named(name), "costs": repr(costs), "positive": repr(second)},
        {"model": name},
    )


#: The function of each lesson, by its name in addresses.
LESSONS: dict[str, Callable[[Points, Given], Shown]] = {
    "model": model_view,
    "line": line_view,
    "svm": svm_view,
    "perceptron": perceptron_view,
    "likelihood": likelihood_view,
    "sphering": sphering_view,
    "qda": qda_view,
    "fisher": fisher_view,
    "masking": masking_view,
    "outliers": outliers_view,
    "many": many_view,
    "decision": decision_view,
    "bayes": bayes_view,
    "separable": separable_view,
    "roc": roc_view,
}
