"""What each view of the Learn page draws of the points, and the same calls as Python and as a command.

A view calls the library; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DegenerateDataError, InputError
from ..report.page import drawing
from ..results import several
from .learn_views import FRAMES, RESOLUTION, Shown

if TYPE_CHECKING:
    from ..report.page import Drawing
    from .learn_points import Points

Given = Mapping[str, Any]


def _python(points: Points, imports: str, *lines: str) -> str:
    """A program that shows the same."""
    body = "\n".join(lines)
    return f"from discriminant import {imports}\n{points.python()}\n{body}\n"


def _command(points: Points, kind: str, **settings: Any) -> str:
    model = settings.pop("model", None)
    words = ["discriminant figure", kind, "points.csv", "-t", points.target]
    words += [] if model is None else ["--model", str(model)]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return f"{points.commands()}{' '.join(words)} --rare 1 -o figure.html"


def _regions(points: Points, model: Any, place: str = "plane") -> Drawing:
    from ..figures import decision_regions

    return drawing(place, decision_regions, model, points.X, points.y, resolution=RESOLUTION, limits=_limits(points))


def _limits(points: Points) -> Any:
    return points.limits if points.paintable else None


def _errors(points: Points, model: Any) -> str:
    return f"{int((model.predict(points.X) != points.y).sum()):,} of {len(points.y):,}"


def model_view(points: Points, given: Given) -> Shown:
    """Regions of any model."""
    from ..estimators.registry import MODELS as CLASSES
    from ..estimators.registry import new_model

    name = given["model"]
    model = new_model(name).fit(points.X, points.y)
    return Shown(
        [_regions(points, model)],
        {"Misclassified": _errors(points, model), "Classes": str(len(points.present))},
        _python(
            points,
            f"{CLASSES[name]}, figures",
            f"model = {new_model(name)!r}.fit(X, y)",
            "figures.decision_regions(model, X, y).show()",
        ),
        _command(points, "decision-regions", model=name),
    )


def line_view(points: Points, given: Given) -> Shown:
    """A line with its distances, or its margin."""
    from .. import SupportVectorClassifier, figures
    from ..estimators.given import LinearClassifier
    from ..estimators.registry import MODELS as CLASSES
    from ..estimators.registry import new_model

    _two_classes(points)
    name, margin = given["model"], given["model"] in ("svm", "hard")
    new = SupportVectorClassifier(C=given["C"]) if name == "svm" else None
    new = SupportVectorClassifier("hard") if name == "hard" else new or new_model(name)
    model = new.fit(points.X, points.y)
    far = LinearClassifier.of(model).origin_distance
    facts = {"Misclassified": _errors(points, model), "|w|": _length(model), "Distance of the origin": f"{far:.4g}"}
    if margin:
        facts |= {"Margin 2 / |w|": f"{model.margin_:.4g}", "Support vectors": f"{len(model.support_):,}"}
    settings = {"svm": {"model": "svm", "C": given["C"]}, "hard": {"model": "svm", "margin": "hard"}}
    return Shown(
        [drawing("plane", figures.boundary, model, points.X, points.y, _limits(points))],
        facts,
        _python(
            points,
            f"{CLASSES['svm' if margin else name]}, figures",
            f"model = {new!r}.fit(X, y)",
            "figures.boundary(model, X, y).show()",
        ),
        _command(points, "boundary", **settings.get(name, {"model": name})),
    )


def perceptron_view(points: Points, given: Given) -> Shown:
    """Updates of the perceptron, in both forms."""
    from .. import Perceptron, figures

    _two_classes(points)
    rule, epochs = given["rule"], given["passes"]
    primal, dual = (
        Perceptron(form, rule=rule, max_iter=epochs, trace=True).fit(points.X, points.y) for form in ("primal", "dual")
    )
    facts = {"Updates": f"{primal.updates_:,}", "Passes": f"{primal.n_iter_:,}", **_bound(primal)}
    made = f"Perceptron({{}}, rule={rule!r}, max_iter={epochs}, trace=True).fit(X, y)"
    return Shown(
        [
            drawing("plane", figures.perceptron_trace, primal, points.X, points.y, FRAMES, _limits(points)),
            drawing("dual", figures.dual_trace, dual, points.X, points.y, FRAMES),
        ],
        facts,
        _python(
            points,
            "Perceptron, figures",
            "primal = " + made.format("'primal'"),
            "dual = " + made.format("'dual'"),
            f"figures.perceptron_trace(primal, X, y, {FRAMES}).show()",
            f"figures.dual_trace(dual, X, y, {FRAMES}).show()",
            "print(primal.certificate())",
        ),
        _command(points, "perceptron-trace", rule=rule, max_iter=epochs),
    )


def _bound(model: Any) -> dict[str, str]:
    try:
        proof = model.certificate()
    except DegenerateDataError:
        return {"Bound R² / γ²": "none: no line separates"}
    return {
        "Bound R² / γ²": f"{proof.bound:,.4g}", "Longest row": f"{proof.R:.4g}",
        "Widest margin": f"{proof.gamma:.4g}",
        "Cosine with its direction": f"{proof.alignment:.3f}", "It is at least": f"{proof.least_alignment:.3f}",
    }  # fmt: skip


def likelihood_view(points: Points, given: Given) -> Shown:
    """Three solvers on their way up."""
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
    plane = (
        drawing("plane", figures.boundary_paths, models, points.X, points.y, FRAMES, points.limits)
        if points.paintable
        else _regions(points, models["Newton"])
    )
    ends = {f"Log-likelihood, {name}": f"{model.trace_.log_likelihood[-1]:.5g}" for name, model in models.items()}
    written = ",\n".join(
        f"    {name!r}: LogisticRegression(solver={solver!r}, trace=True, max_iter={steps}, random_state=0).fit(X, y)"
        for name, solver in solvers.items()
    )
    return Shown(
        [plane, drawing("likelihood", figures.likelihood_paths, models, points.X, points.y, FRAMES)],
        ends,
        _python(
            points,
            "LogisticRegression, figures",
            "from discriminant.solvers import IRLS, GradientDescent, StochasticGradient\n",
            f"models = {{\n{written},\n}}",
            f"figures.boundary_paths(models, X, y, {FRAMES}).show()"
            if points.paintable
            else "figures.decision_regions(models['Newton'], X, y).show()",
            f"figures.likelihood_paths(models, X, y, {FRAMES}).show()",
        ),
        _command(points, "likelihood-paths"),
    )


def sphering_view(points: Points, given: Given) -> Shown:  # noqa: ARG001
    """LDA before and after sphering."""
    from .. import LinearDiscriminantAnalysis, figures

    model = LinearDiscriminantAnalysis().fit(points.X, points.y)
    moved = drawing("plane", figures.sphering_movement, model, points.X, points.y, limits=None)
    distances = model.mean_distances()
    return Shown(
        [moved, _regions(points, model, "regions")],
        {"Misclassified": _errors(points, model), "Largest distance of means, sphered": f"{distances.max():.4g}"},
        _python(
            points,
            "LinearDiscriminantAnalysis, figures",
            "model = LinearDiscriminantAnalysis().fit(X, y)",
            "figures.sphering_movement(model, X, y).show()",
            "figures.decision_regions(model, X, y).show()",
        ),
        _command(points, "sphering-movement"),
    )


def fisher_view(points: Points, given: Given) -> Shown:
    """Fisher's line and the projected rows."""
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
        _python(
            points,
            "FisherDiscriminant, figures",
            f"model = FisherDiscriminant({rule!r}).fit(X, y)",
            "figures.boundary(model, X, y).show()",
            "figures.projected_histograms(model, X, y).show()",
        ),
        _command(points, "projected-histograms", threshold=rule),
    )


def _beside() -> dict[str, Any]:
    """Three models; a breath of a penalty lets logistic regression end where a line separates."""
    from .. import LeastSquaresClassifier, LinearDiscriminantAnalysis, LogisticRegression

    return {
        "least squares": LeastSquaresClassifier(),
        "LDA": LinearDiscriminantAnalysis(),
        "logistic regression": LogisticRegression(alpha=0.001),
    }


def _beside_fitted(points: Points) -> dict[str, Any]:
    return {name: model.fit(points.X, points.y) for name, model in _beside().items()}


def _beside_python(points: Points, *lines: str) -> str:
    models = _beside()
    fitted = ",\n".join(f"    {name!r}: {model!r}.fit(X, y)" for name, model in models.items())
    imports = ", ".join(type(model).__name__ for model in models.values())
    return _python(points, f"{imports}, figures", f"models = {{\n{fitted},\n}}", *lines)


def masking_view(points: Points, given: Given) -> Shown:  # noqa: ARG001
    """Regions of three models, of which one hides a class."""
    models = _beside_fitted(points)
    return Shown(
        [_regions(points, model, name) for name, model in models.items()],
        {f"Misclassified by {name}": _errors(points, model) for name, model in models.items()},
        _beside_python(points, "for model in models.values():", "    figures.decision_regions(model, X, y).show()"),
        _command(points, "decision-regions", model="least-squares"),
    )


def outliers_view(points: Points, given: Given) -> Shown:  # noqa: ARG001
    """Lines of three models, of which one is pulled."""
    from .. import figures

    models = _beside_fitted(points)
    lines = drawing(
        "plane", figures.boundaries, models, points.X, points.y, resolution=RESOLUTION, limits=_limits(points)
    )
    return Shown(
        [lines],
        {f"Misclassified by {name}": _errors(points, model) for name, model in models.items()},
        _beside_python(points, "figures.boundaries(models, X, y).show()"),
        _command(points, "boundaries"),
    )


def many_view(points: Points, given: Given) -> Shown:
    """One against the rest, and one against one."""
    from .. import OneVsOne, OneVsRest
    from ..estimators.registry import MODELS as CLASSES
    from ..estimators.registry import new_model

    name = given["model"]
    combined = {kind.__name__: kind(new_model(name)).fit(points.X, points.y) for kind in (OneVsRest, OneVsOne)}
    facts: dict[str, str] = {}
    for kind, model in combined.items():
        found = model.ambiguous(points.X)
        ambiguous = int((found.none | found.several).sum())
        facts |= {f"{kind}: misclassified": _errors(points, model), f"{kind}: ambiguous": several(ambiguous, "row")}
    return Shown(
        [_regions(points, model, kind) for kind, model in combined.items()],
        facts,
        _python(
            points,
            f"OneVsOne, OneVsRest, {CLASSES[name]}, figures",
            f"for combine in (OneVsRest, OneVsOne):\n    model = combine({new_model(name)!r}).fit(X, y)",
            "    figures.decision_regions(model, X, y).show()",
        ),
        _command(points, "decision-regions", model=name),
    )


def _costs(points: Points, cost: float) -> tuple[dict[Any, dict[Any, float]], Any, Any]:
    """Costs of the two errors, and the two classes: missing the second costs so many times a false alarm."""
    first, second = (points.labels[k] for k in points.present)
    return {second: {first: cost}, first: {second: 1.0}}, first, second


def _two_classes(points: Points) -> None:
    if len(points.present) != 2:
        raise InputError(f"This view is of two classes, and there are {len(points.present)}: erase the others.")


def decision_view(points: Points, given: Given) -> Shown:
    """Regions under other shares and costs."""
    from .. import Decision, DecisionClassifier
    from ..estimators.registry import MODELS as CLASSES
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
        {"Wrong": f"{wrong:,} of {len(points.y):,}", "Left undecided": f"{rejected:,}"},
        _python(
            points,
            f"{CLASSES[given['model']]}, Decision, DecisionClassifier, figures",
            f"decision = {decision!r}",
            f"model = DecisionClassifier({new_model(given['model'])!r}, decision).fit(X, y)",
            "figures.decision_regions(model, X, y).show()",
        ),
        _command(points, "decision-regions", model=given["model"]),
    )


def bayes_view(points: Points, given: Given) -> Shown:
    """The best decision that there is."""
    from .. import BayesClassifier, bayes_error, figures
    from ..datasets import load
    from ..theory import density_curves

    known = None if points.edited or points.source in ("blank", "iris") else load(points.source)
    if known is None or known.distributions is None:
        raise InputError("True densities are known of the points that were drawn from some, not of others.")
    first, *others = known.distributions
    share = given["prior"]
    priors = {first: share, **{label: (1 - share) / len(others) for label in others}}
    error = bayes_error(known.distributions, priors)
    if points.paintable:
        picture = _regions(points, BayesClassifier(known.distributions, priors))
        draw = "figures.decision_regions(BayesClassifier(data.distributions, priors), X, y).show()"
    else:
        picture = drawing("plane", figures.class_densities, density_curves(known.distributions, priors))
        draw = "figures.class_densities(density_curves(data.distributions, priors)).show()"
    return Shown(
        [picture],
        {"Bayes error": f"{error.error:.4f}", "A priori error": f"{1 - max(priors.values()):.4f}"},
        _python(
            points,
            "BayesClassifier, bayes_error, figures" if points.paintable else "bayes_error, figures",
            *([] if points.paintable else ["from discriminant.theory import density_curves\n"]),
            f"priors = {priors!r}",
            "print(bayes_error(data.distributions, priors))",
            draw,
        ),
        _command(points, "class-densities"),
    )


def separable_view(points: Points, given: Given) -> Shown:
    """Coefficients that grow without end, and some that do not."""
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
        {"A line separates": "yes" if found.separable else "no", "|w| of Firth": _length(models["Firth"])}
        | {f"|w| after {steps} steps": _length(models["maximum likelihood"])},
        _python(
            points,
            "LogisticRegression, figures, linear_separability",
            "from discriminant.solvers import IRLS\n",
            "models = {",
            f"    'maximum likelihood': LogisticRegression(solver=IRLS(), max_iter={steps}, trace=True).fit(X, y),",
            "    'Firth': LogisticRegression(firth=True).fit(X, y),",
            "}",
            "print(linear_separability(X, y))",
            "figures.boundary_paths(models, X, y).show()",
            "figures.coefficient_growth(models).show()",
        ),
        _command(points, "coefficient-growth"),
    )


def _length(model: Any) -> str:
    return f"{np.linalg.norm(model.coef_):.4g}"


def roc_view(points: Points, given: Given) -> Shown:
    """A threshold in the plane and on the curve."""
    from .. import Decision, DecisionClassifier, figures, roc
    from ..estimators.registry import MODELS as CLASSES
    from ..estimators.registry import new_model

    _two_classes(points)
    threshold, name = given["threshold"], given["model"]
    costs, first, second = _costs(points, (1 - threshold) / threshold)
    model = new_model(name).fit(points.X, points.y)
    decided = DecisionClassifier(model, Decision(costs)).fit(points.X, points.y)
    curve = roc(points.y, model.predict_proba(points.X)[:, 1], positive=second)
    called = decided.predict(points.X) == second
    hits, alarms = (float(called[points.y == label].mean()) for label in (second, first))
    picture = drawing("roc", figures.roc_curve, curve)
    if picture.figure is not None:
        picture.figure["data"].append(_here(alarms, hits))
    return Shown(
        [_regions(points, decided), picture],
        {"AUC": f"{curve.auc:.4f}", "True positive rate": f"{hits:.3f}", "False positive rate": f"{alarms:.3f}"},
        _python(
            points,
            f"{CLASSES[name]}, Decision, DecisionClassifier, figures, roc",
            f"model = {new_model(name)!r}.fit(X, y)",
            f"decision = Decision({costs!r})",
            "decided = DecisionClassifier(model, decision).fit(X, y)",
            f"figures.roc_curve(roc(y, model.predict_proba(X)[:, 1], positive={second!r})).show()",
            "figures.decision_regions(decided, X, y).show()",
        ),
        _command(points, "roc-curve", model=name),
    )


def _here(x: float, y: float) -> dict[str, Any]:
    return {
        "type": "scatter", "x": [x], "y": [y], "mode": "markers", "name": "the threshold", "hoverinfo": "skip",
        "marker": {"color": "#D55E00", "size": 13, "line": {"color": "white", "width": 2}},
    }  # fmt: skip


#: What draws each view, by its name in addresses.
LESSONS: dict[str, Callable[[Points, Given], Shown]] = {
    "model": model_view,
    "line": line_view,
    "perceptron": perceptron_view,
    "likelihood": likelihood_view,
    "sphering": sphering_view,
    "fisher": fisher_view,
    "masking": masking_view,
    "outliers": outliers_view,
    "many": many_view,
    "decision": decision_view,
    "bayes": bayes_view,
    "separable": separable_view,
    "roc": roc_view,
}
