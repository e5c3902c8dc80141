"""``discriminant figure``: any figure of a table or of a model file, as a page or as an image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, ParameterError
from ..results import suggestion
from . import options
from .console import check_output, show
from .evaluate import labelled_rows
from .fit import Settings, made_model, read_settings
from .modelfile import opened
from .options import TrainingOptions, command, option

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ..evaluation import Evaluation


#: Files of costs, a column, the shape of images and the positive class, as they were written.
Asked = tuple[str | None, str | None, tuple[int, int], str | None]


@dataclass
class Subject:
    """What is drawn: a fitted model with rows and their classes, and what else was asked for."""

    model: Any
    X: Any
    y: Any
    name: str
    unseen: bool  #: the model has not seen these rows
    costs: Any
    column: str | None
    shape: tuple[int, int]
    positive: Any  #: the positive class, where one was named
    coefficients: Any = None  #: the table of coefficients that a model file holds

    @property
    def fresh(self) -> Any:
        """The model, not fitted."""
        from sklearn.base import clone

        return clone(self.model)

    def evaluation(self) -> Evaluation:
        """How good the model is on rows it has not seen: these, or by cross-validation."""
        from ..evaluation import evaluate
        from ..validation.cross_validation import cross_validate

        if self.unseen:
            return evaluate(self.model, self.X, self.y, costs=self.costs, positive=self.positive)
        models, settings = {self.name: self.fresh}, {"costs": self.costs, "positive": self.positive}
        return cross_validate(models, self.X, self.y, keep="posteriors", **settings).evaluation(self.name)

    def measured(self, what: str) -> Any:
        """A part of the evaluation that models without probabilities do not have."""
        found = getattr(self.evaluation(), what)
        if found is None:
            raise ParameterError(f"The model {self.name} has no {what.replace('_', ' ')}: it has no probabilities.")
        return found


def _one_curve(subject: Subject) -> Any:
    """The ROC curve that a cost curve is drawn of: the positive class, else that of --column, else the first class."""
    found = subject.measured("roc")
    if not hasattr(found, "keys"):
        return found
    labels = {str(label): label for label in found}
    return found[labels.get(subject.column or "", next(iter(labels.values())))]


def _projections(subject: Subject) -> Figure:
    from .. import FisherDiscriminant, MinimumDistance, figures

    models = {"difference of means": MinimumDistance(), "Fisher": FisherDiscriminant()}
    return figures.projections({k: v.fit(subject.X, subject.y) for k, v in models.items()}, subject.X, subject.y)


def _moving_boundary(subject: Subject) -> Figure:
    from .. import Decision, figures

    if subject.costs is None:
        raise ParameterError("moving-boundary draws what costs do to a boundary: give --costs FILE.")
    decisions = {"most probable class": Decision(), "least expected cost": Decision(subject.costs)}
    return figures.moving_boundary(subject.model, subject.X, subject.y, decisions)


def _solved(subject: Subject) -> dict[str, Any]:
    """Logistic regression, or another loss, by solvers as they are taught, with their iterations."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from ..solvers import IRLS, GradientDescent, StochasticGradient

    if subject.name not in ("logistic", "lms"):
        raise ParameterError("The ways of solvers are those of --model logistic and --model lms.")
    solvers = {"gradient steps": GradientDescent(), "stochastic gradient": StochasticGradient(), "IRLS": IRLS()}
    if getattr(subject.model, "loss", "") == "squared_sigmoid":
        del solvers["IRLS"]  # which needs a convex loss
    options = {"trace": True, "max_iter": 100, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # gradients are shown on their way
        return {
            name: subject.fresh.set_params(solver=solver, **options).fit(subject.X, subject.y)
            for name, solver in solvers.items()
        }


def _of_solvers(name: str) -> Callable[[Subject], Figure]:
    """A figure of the ways of solvers."""

    def draw(subject: Subject) -> Figure:
        from .. import figures

        made: Figure = getattr(figures, name)(_solved(subject), subject.X, subject.y)
        return made

    return draw


def _coefficient_growth(subject: Subject) -> Figure:
    from .. import LogisticRegression, figures
    from ..solvers import IRLS

    models: dict[str, Any] = {
        "maximum likelihood": LogisticRegression(solver=IRLS(), trace=True),
        "Firth": LogisticRegression(firth=True),
    }
    return figures.coefficient_growth({name: model.fit(subject.X, subject.y) for name, model in models.items()})


def _boundaries(subject: Subject) -> Figure:
    from .. import LeastSquaresClassifier, LinearDiscriminantAnalysis, LogisticRegression, figures

    models: dict[str, Any] = {
        "least squares": LeastSquaresClassifier(),
        "LDA": LinearDiscriminantAnalysis(),
        "logistic regression": LogisticRegression(alpha=0.001),
    }
    return figures.boundaries({k: v.fit(subject.X, subject.y) for k, v in models.items()}, subject.X, subject.y)


def _scatter(subject: Subject) -> Figure:
    from .. import figures

    return figures.scatter(subject.X, subject.y)


def _class_densities(subject: Subject) -> Figure:
    from .. import figures
    from ..theory import class_gaussians, density_curves

    priors = dict(zip(subject.model.classes_.tolist(), subject.model.priors_.tolist(), strict=True))
    return figures.class_densities(density_curves(class_gaussians(subject.model), priors))


def _regularisation_path(subject: Subject) -> Figure:
    from .. import LogisticRegressionPath, figures

    return figures.regularisation_path(LogisticRegressionPath().fit(subject.X, subject.y))


def _images(subject: Subject) -> Figure:
    from .. import figures

    rows = subject.X.block(0, min(len(subject.y), 20)) if hasattr(subject.X, "block") else subject.X[:20]
    return figures.images(rows, subject.shape, subject.y[:20])


def _effect(subject: Subject) -> Figure:
    from .. import figures

    if subject.column is None or not hasattr(subject.model, "effect"):
        raise ParameterError("effect draws one column of a logistic model: give --column NAME and --model logistic.")
    return figures.effect(subject.model.effect(subject.column))


def _comparison(subject: Subject) -> Figure:
    from .. import compare, figures

    return figures.comparison(compare(None, subject.X, subject.y))


def _of_rows(name: str) -> Callable[[Subject], Figure]:
    """A figure of a model with rows."""

    def draw(subject: Subject) -> Figure:
        from .. import figures

        made: Figure = getattr(figures, name)(subject.model, subject.X, subject.y)
        return made

    return draw


def _of_model(name: str, **settings: Any) -> Callable[[Subject], Figure]:
    """A figure of a model alone."""

    def draw(subject: Subject) -> Figure:
        from .. import figures

        made: Figure = getattr(figures, name)(subject.model, **settings)
        return made

    return draw


def _coefficients(odds_ratios: bool) -> Callable[[Subject], Figure]:
    """The coefficients of a model, with the intervals that its file has."""

    def draw(subject: Subject) -> Figure:
        from .. import figures

        return figures.coefficients(subject.coefficients or subject.model, odds_ratios=odds_ratios)

    return draw


def _of_evaluation(name: str, what: str) -> Callable[[Subject], Figure]:
    """A figure of a part of the evaluation."""

    def draw(subject: Subject) -> Figure:
        from .. import figures

        made: Figure = getattr(figures, name)(subject.measured(what))
        return made

    return draw


def _of_validation(name: str) -> Callable[[Subject], Figure]:
    """A figure of what the function of the same name finds about the model."""

    def draw(subject: Subject) -> Figure:
        import discriminant

        from .. import figures

        made: Figure = getattr(figures, name)(getattr(discriminant, name)(subject.fresh, subject.X, subject.y))
        return made

    return draw


def _calibration_curve(subject: Subject) -> Figure:
    """Of the positive class; without one, of each."""
    from .. import figures

    found = subject.evaluation()
    if not found.calibration:
        raise ParameterError(f"The model {subject.name} has no calibration: it has no probabilities.")
    one = found.positive
    return figures.calibration_curve(found.calibration if one is None else {one: found.calibration[one]})


def _cost_curve(subject: Subject) -> Figure:
    from .. import figures

    return figures.cost_curve(_one_curve(subject), costs=subject.costs)


def _code_matrix(subject: Subject) -> Figure:
    from .. import OneVsOne, figures

    model = subject.model if hasattr(subject.model, "codebook_") else OneVsOne(subject.fresh).fit(subject.X, subject.y)
    return figures.code_matrix(model.codebook_, model.classes_)


#: What is drawn, by the name of the figure; and the model that it takes if none is named.
KINDS: dict[str, tuple[Callable[[Subject], Figure], str]] = {
    "decision-regions": (_of_rows("decision_regions"), "lda"),
    "scatter": (_scatter, "lda"),
    "boundary": (_of_rows("boundary"), "lda"),
    "boundaries": (_boundaries, "lda"),
    "moving-boundary": (_moving_boundary, "lda"),
    "hyperplane": (_of_rows("hyperplane"), "lda"),
    "score-surface": (_of_rows("score_surface"), "least-squares"),
    "sphering": (_of_rows("sphering"), "lda"),
    "sphering-movement": (_of_rows("sphering_movement"), "lda"),
    "projected-histograms": (_of_rows("projected_histograms"), "fisher"),
    "projections": (_projections, "fisher"),
    "class-densities": (_class_densities, "qda"),
    "coefficients": (_coefficients(odds_ratios=False), "logistic"),
    "odds-ratios": (_coefficients(odds_ratios=True), "logistic"),
    "effect": (_effect, "logistic"),
    "regularisation-path": (_regularisation_path, "lda"),
    "code-matrix": (_code_matrix, "lda"),
    "images": (_images, "lda"),
    "perceptron-trace": (_of_rows("perceptron_trace"), "perceptron"),
    "dual-trace": (_of_rows("dual_trace"), "perceptron"),
    "descent-trace": (_of_model("descent_trace"), "logistic"),
    "likelihood-paths": (_of_solvers("likelihood_paths"), "logistic"),
    "boundary-paths": (_of_solvers("boundary_paths"), "logistic"),
    "coefficient-growth": (_coefficient_growth, "logistic"),
    "confusion": (_of_evaluation("confusion", "confusion"), "auto"),
    "roc-curve": (_of_evaluation("roc_curve", "roc"), "auto"),
    "precision-recall-curve": (_of_evaluation("precision_recall_curve", "precision_recall"), "auto"),
    "calibration-curve": (_calibration_curve, "auto"),
    "risk-coverage": (_of_evaluation("risk_coverage", "risk_coverage"), "auto"),
    "cost-curve": (_cost_curve, "auto"),
    "learning-curve": (_of_validation("learning_curve"), "lda"),
    "degree-curve": (_of_validation("degree_curve"), "ridge"),
    "error-sources": (_of_validation("error_sources"), "lda"),
    "comparison": (_comparison, "lda"),
}
#: Figures that need no data.
_ALONE = ("loss-curves",)
#: Figures of models alone.
_WITHOUT_ROWS = ("coefficients", "odds-ratios")
_OF_THE_POSITIVE_CLASS = ("roc-curve", "precision-recall-curve", "calibration-curve", "cost-curve")
#: Figures of models that keep their iterations.
_TRACED = ("perceptron-trace", "dual-trace", "descent-trace")


@command
def figure(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join((*KINDS, *_ALONE))}.")],
    source: Annotated[
        str | None, typer.Argument(metavar="[SOURCE]", help="A labelled table, to which a model is fitted; or a model.")
    ] = None,
    output: Annotated[
        str, option("FILE", "A page (.html), or an image (.svg, .png).", "--output", "-o")
    ] = "figure.html",
    target: options.Target = None,
    rows: Annotated[str | None, option("DATA", "Labelled rows to draw, where SOURCE is a model file.")] = None,
    model: Annotated[str | None, option("NAME", "The model to fit; each kind has its own if none is named.")] = None,
    settings: Settings = None,
    costs: options.Costs = None,
    positive: options.Positive = None,
    column: Annotated[str | None, option("NAME", "The column of an effect, or the class of a cost curve.")] = None,
    shape: Annotated[str, option("ROWSxCOLUMNS", "The shape of images.")] = "20x20",
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Draw a figure of a table or of a model.

    A table gets a model fitted to it, and what judges a model is then cross-validated. A model file is drawn with the
    rows of --rows. Images need the package kaleido and a browser (chromium).

    \b
    Examples:
      discriminant figure decision-regions data.csv -t y --model lda -o regions.html
      discriminant figure roc-curve model.dsc --rows test.csv -o roc.svg
      discriminant figure perceptron-trace data.csv -t y -o steps.html
      discriminant figure loss-curves -o losses.png
    """
    from ..figures import alt_text

    check_output(output, overwrite, source, rows, costs)
    if kind not in KINDS and kind not in _ALONE:
        known = (*KINDS, *_ALONE)
        raise ParameterError(f"No figure is called {kind!r}.{suggestion(kind, known)} Kinds: {', '.join(known)}.")
    if positive is not None and kind not in _OF_THE_POSITIVE_CLASS:
        raise ParameterError(f"--positive is for {', '.join(_OF_THE_POSITIVE_CLASS)}; {kind} has no positive class.")
    made = _drawn(kind, source, rows, target, model, settings, (costs, column, _size(shape), positive), reading)
    _write(made, output)
    values = {"figure": kind, "file": output, "shows": alt_text(made)}
    show(values, lambda found: [found["shows"], f"Written to {found['file']}."], json)


def _size(text: str) -> tuple[int, int]:
    height, _, width = text.partition("x")
    if not (height.isdigit() and width.isdigit()):
        raise ParameterError(f"--shape takes ROWSxCOLUMNS, such as 20x20; got {text!r}.")
    return int(height), int(width)


def _write(made: Figure, output: str) -> None:
    from ..figures import write_html, write_image

    (write_html if output.lower().endswith((".html", ".htm")) else write_image)(made, output)


def _drawn(
    kind: str,
    source: str | None,
    rows: str | None,
    target: str | None,
    model: str | None,
    settings: list[str] | None,
    asked: Asked,
    reading: TrainingOptions,
) -> Figure:
    from ..figures import loss_curves

    if kind in _ALONE:
        return loss_curves()
    if source is None:
        raise ParameterError(f"{kind} draws a table or a model: name its file, and -t COLUMN for a table.")
    draw, usual = KINDS[kind]
    if source.lower().endswith(".dsc"):
        return draw(_stored(kind, source, rows, asked, reading))
    given = read_settings(settings or [])
    if kind in _TRACED:
        given = {"trace": "true", **given}
    return draw(_fitted(source, target, model or usual, given, asked, reading))


def _stored(kind: str, path: str, rows: str | None, asked: Asked, reading: TrainingOptions) -> Subject:
    """The model of a file, with rows that it has not seen."""
    from ..estimators.coefficients import CoefficientTable

    stored = opened(path)
    if rows is None and kind not in _WITHOUT_ROWS:
        raise InputError(f"A figure of {path} needs rows: give a labelled table, --rows DATA.")
    X, y = None, None
    if rows is not None:
        X, y = labelled_rows(stored, stored.table(reading, rows, "refuse"), "refuse")
        stored.tell_report()
    known = (stored.metadata.get("learned") or {}).get("coefficients")
    subject = _subject(stored.model, X, y, stored.name, True, stored.classes, asked)
    return replace(subject, coefficients=None if known is None else CoefficientTable.from_dict(known))


def _subject(model: Any, X: Any, y: Any, name: str, unseen: bool, classes: list[Any], asked: Asked) -> Subject:
    """A model with rows, and what was asked for in the words of its classes."""
    costs, column, shape, positive = asked
    read, label = options.read_costs(costs, classes), options.read_positive(positive, classes)
    return Subject(model, X, y, name, unseen, read, column, shape, label)


def _fitted(
    data: str, target: str | None, name: str, given: dict[str, str], asked: Asked, reading: TrainingOptions
) -> Subject:
    """A model fitted to a table."""
    from ..estimators.registry import coding_for

    labelled = reading.training(data, target, None, None, name, coding_for(name, given))
    made = made_model(name, labelled, given).fit(labelled.rows, labelled.training.y)
    return _subject(made, labelled.rows, labelled.training.y, name, False, made.classes_.tolist(), asked)
