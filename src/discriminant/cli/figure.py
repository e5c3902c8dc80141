"""``discriminant figure``: draw any figure of a table or of a model file, as a page or an image."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import discriminant

from .. import figures, solvers, theory
from ..errors import InputError, ParameterError
from ..results import suggestion
from ..workflow.evaluating import calibrated_sets, labelled_rows, outcome_probabilities
from ..workflow.models import ModelSpec, read_settings
from ..workflow.stored import open_model
from ..workflow.tables import Roles, read_labelled
from ..workflow.validating import column_of, groups_of
from . import options
from .console import print_findings
from .evaluate import print_unlabelled
from .options import CostTable, TrainingOptions, command, option, print_encoding
from .output import check_output, facts, show, write_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from sklearn.base import BaseEstimator

    from ..arrays import Array, MatrixLike
    from ..estimators.coefficients import CoefficientTable
    from ..estimators.prediction_sets import PredictionSets
    from ..evaluation import Evaluation
    from ..tables.schema import Schema
    from ..validation.validated import Validation

# The iterations that are drawn: gradient methods are shown before they converge.
DRAWN_ITERATIONS: Final = 100
# The rows that are drawn as images: a page of them.
DRAWN_IMAGES: Final = 20
# The resamples of the figure of instability (Riley & Collins 2023 use 200 to 1,000).
DRAWN_RESAMPLES: Final = 200
# A risk-coverage curve is over all nominal coverages: this one only bounds the number of calibration rows from below.
CALIBRATED_COVERAGE: Final = 0.5


@dataclass
class Subject:
    """A fitted model with labelled rows, and what else a figure depends on."""

    model: BaseEstimator
    X: MatrixLike
    y: Array
    name: str
    is_held_out: bool  #: whether the rows are held-out data
    costs: CostTable | None
    column: str | None
    shape: tuple[int, int]
    positive: Hashable | None
    learned: BaseEstimator | CoefficientTable  #: the model, or the table of coefficients of its file
    groups: Array | None = None  #: the values of ``column`` for figures of groups
    sets: PredictionSets | None = None  #: calibrated prediction sets, for their risk-coverage curve
    schema: Schema | None = None  #: the coding of the rows

    @property
    def fresh(self) -> BaseEstimator:
        """The model, not fitted."""
        from sklearn.base import clone

        return clone(self.model)

    def evaluation(self) -> Evaluation:
        """The evaluation of the model on held-out data: these rows, or by cross-validation."""
        if self.is_held_out:
            options = discriminant.EvaluationOptions(costs=self.costs, positive=self.positive)
            return discriminant.evaluate(self.model, self.X, self.y, options=options)
        asked: dict[str, Any] = {"keep": "posteriors", "costs": self.costs, "positive": self.positive}
        return discriminant.cross_validate({"model": self.fresh}, self.X, self.y, **asked).evaluation("model")

    def outcome(self) -> tuple[Array, Array]:
        """Whether rows are of the positive class, and its probability on held-out rows."""
        return outcome_probabilities(self.model, self.X, self.y, self.is_held_out, self.positive)

    @property
    def solved(self) -> dict[str, BaseEstimator]:
        """The model fitted by each teaching solver, with its iterations."""
        import warnings

        from sklearn.exceptions import ConvergenceWarning

        if self.name not in ("logistic", "lms"):
            raise ParameterError("Figures of solver paths need --model logistic or --model lms.")
        kinds = {"gradient steps": "GradientDescent", "stochastic gradient": "StochasticGradient", "IRLS": "IRLS"}
        if getattr(self.model, "loss", "") == "squared_sigmoid":
            del kinds["IRLS"]  # it needs a convex loss
        shared = {"trace": True, "max_iter": DRAWN_ITERATIONS, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return {
                name: self.fresh.set_params(solver=getattr(solvers, kind)(), **shared).fit(self.X, self.y)
                for name, kind in kinds.items()
            }

    def measured(self, part: str) -> Any:
        """A part of the evaluation that needs probabilities."""
        found = getattr(self.evaluation(), part)
        if found is None:
            wanted = part.replace("_", " ")
            raise ParameterError(
                f"{self.name} does not predict probabilities, which a {wanted} requires. Use a model with "
                "probabilities."
            )
        return found


Draw = Callable[[Subject], "Figure"]
#: The parts of a subject that most figures show.
_SUBJECT: Final = ("model", "X", "y")


def _of(name: str, *parts: str, **settings: bool) -> Draw:
    """A figure of parts of the subject; by default of the model with its rows."""
    return lambda subject: getattr(figures, name)(*(getattr(subject, part) for part in parts or _SUBJECT), **settings)


def _of_models(name: str, models: Callable[[], dict[str, BaseEstimator]], takes_rows: bool = True) -> Draw:
    """A figure of several models fitted to the same rows."""

    def draw(subject: Subject) -> Figure:
        fitted = {title: model.fit(subject.X, subject.y) for title, model in models().items()}
        return getattr(figures, name)(fitted, *((subject.X, subject.y) if takes_rows else ()))

    return draw


def _of_evaluation(name: str, part: str) -> Draw:
    """A figure of a part of the evaluation."""
    return lambda subject: getattr(figures, name)(subject.measured(part))


def _of_validation(name: str) -> Draw:
    """A figure of the result of the function with the same name."""
    return lambda subject: getattr(figures, name)(getattr(discriminant, name)(subject.fresh, subject.X, subject.y))


def _projection_models() -> dict[str, BaseEstimator]:
    return {"difference of means": discriminant.MinimumDistance(), "Fisher": discriminant.FisherDiscriminant()}


def _boundary_models() -> dict[str, BaseEstimator]:
    return {
        "least squares": discriminant.LeastSquaresClassifier(),
        "LDA": discriminant.LinearDiscriminantAnalysis(),
        "logistic regression": discriminant.LogisticRegression(alpha=0.001),
    }


def _growth_models() -> dict[str, BaseEstimator]:
    return {
        "maximum likelihood": discriminant.LogisticRegression(solver=solvers.IRLS(), trace=True),
        "Firth": discriminant.LogisticRegression(firth=True),
    }


def _moving_boundary(subject: Subject) -> Figure:
    if subject.costs is None:
        raise ParameterError("moving-boundary shows the effect of costs on the boundary. Add --costs FILE.")
    by_cost = discriminant.Decision(subject.costs)
    decisions = {"most probable class": discriminant.Decision(), "minimum expected cost": by_cost}
    return figures.moving_boundary(subject.model, subject.X, subject.y, decisions)


def _class_densities(subject: Subject) -> Figure:
    priors = dict(zip(subject.model.classes_.tolist(), subject.model.priors_.tolist(), strict=True))
    return figures.class_densities(theory.density_curves(theory.class_gaussians(subject.model), priors))


def _regularisation_path(subject: Subject) -> Figure:
    return figures.regularisation_path(discriminant.LogisticRegressionPath().fit(subject.X, subject.y))


def _images(subject: Subject) -> Figure:
    n, X = min(len(subject.y), DRAWN_IMAGES), subject.X
    rows = X.block(0, n) if hasattr(X, "block") else X[:n]  # type: ignore[index]
    return figures.images(rows, subject.shape, subject.y[:n].tolist())


def _effect(subject: Subject) -> Figure:
    if subject.column is None or not hasattr(subject.model, "effect"):
        raise ParameterError("effect draws one column of a logistic model. Add --column NAME and --model logistic.")
    return figures.effect(subject.model.effect(subject.column))


def _pair_effect(subject: Subject) -> Figure:
    """The strongest interaction of two columns, or of ``--column`` with another."""
    from ..data import as_rows, dense_rows

    rows = as_rows(subject.X)
    X = dense_rows(rows.block(0, rows.n_rows))
    every = discriminant.pair_effects(subject.model, X.mean(axis=0), X.min(axis=0), X.max(axis=0), subject.schema)
    found = next((one for one in every.rows if subject.column in (None, *one.columns)), None)
    if found is None:
        of_column = "" if subject.column is None else f" of {subject.column!r}"
        raise ParameterError(
            f"{subject.name} has no interactions of pairs{of_column}. Expected a pool with pairs: use --model auto, or "
            "another --column."
        )
    return figures.pair_effect(found)


def _category_curves(subject: Subject) -> Figure:
    if subject.column is None or not hasattr(subject.model, "category_curves"):
        raise ParameterError(
            "category-curves draws one column of an ordinal model. Add --column NAME and --model ordinal."
        )
    return figures.category_curves(subject.model.category_curves(subject.column))


def _smooth_calibration(subject: Subject) -> Figure:
    return figures.smooth_calibration({subject.name: discriminant.calibration_curve(*subject.outcome())})


def _decision_curve(subject: Subject) -> Figure:
    from ..decision.costs import read_costs

    truth, p = subject.outcome()
    costs = None
    if subject.costs is not None:
        costs = read_costs(subject.costs).aligned(subject.model.classes_)[0]
    return figures.decision_curve(discriminant.decision_curve(truth, {subject.name: p}, costs=costs))


def _validated(subject: Subject, **more: Any) -> Validation:
    """The internal validation with the resamples of figures."""
    options = discriminant.ValidationOptions(resamples=DRAWN_RESAMPLES, inner_resamples=0, **more)
    return discriminant.validate(subject.fresh, subject.X, subject.y, options)


def _instability(subject: Subject) -> Figure:
    found = _validated(subject).instability
    assert found is not None
    return figures.instability(found)


def _slopes(subject: Subject) -> Figure:
    return figures.effects(discriminant.effects.slopes(subject.model, subject.X, subject.column))


def _group_measures(subject: Subject) -> Figure:
    """Measures by the values of ``--column``: corrected for optimism, or on held-out rows."""
    if subject.groups is None:
        raise ParameterError("group-measures needs a column of groups. Add --column NAME.")
    name = subject.column or "group"
    if subject.is_held_out:
        found = discriminant.evaluate_by_group(subject.model, subject.X, subject.y, subject.groups, name=name)
        return figures.group_measures(found)
    of_training = _validated(subject, by=subject.groups, by_name=name).by_group
    assert of_training is not None
    return figures.group_measures(of_training)


def _of_diagnostics(name: str) -> Draw:
    """A figure of the residuals of a logistic regression."""
    return lambda subject: getattr(figures, name)(discriminant.diagnostics(subject.model))


def _comparison(subject: Subject) -> Figure:
    return figures.comparison(discriminant.compare(None, subject.X, subject.y))


def _calibration_curve(subject: Subject) -> Figure:
    """The calibration curve of the positive class; without one, of each class."""
    found = subject.evaluation()
    if not found.calibration:
        raise ParameterError(
            f"{subject.name} does not predict probabilities, which a calibration curve requires. Use a model with "
            "probabilities."
        )
    one = found.positive
    return figures.calibration_curve(found.calibration if one is None else {one: found.calibration[one]})


def _cost_curve(subject: Subject) -> Figure:
    """The cost curve of the positive class, or else of the class given by ``--column``, or else of the first class."""
    found = subject.measured("roc")
    if hasattr(found, "keys"):
        labels = {str(label): label for label in found}
        found = found[labels.get(subject.column or "", next(iter(labels.values())))]
    return figures.cost_curve(found, costs=subject.costs)


def _risk_coverage(subject: Subject) -> Figure:
    """The curve of the largest posterior, and that of calibrated prediction sets."""
    curves = {"largest posterior": subject.measured("risk_coverage")}
    if subject.sets is not None:
        curves["prediction sets"] = subject.sets.evaluate(subject.X, subject.y).risk_coverage
    return figures.risk_coverage(curves)


def _code_matrix(subject: Subject) -> Figure:
    model = (
        subject.model
        if hasattr(subject.model, "codebook_")
        else discriminant.OneVsOne(subject.fresh).fit(subject.X, subject.y)
    )
    return figures.code_matrix(model.codebook_, model.classes_)


#: By name of the figure: the function that draws it, and its default model.
KINDS: dict[str, tuple[Draw, str]] = {
    "decision-regions": (_of("decision_regions"), "lda"),
    "scatter": (_of("scatter", "X", "y"), "lda"),
    "boundary": (_of("boundary"), "lda"),
    "boundaries": (_of_models("boundaries", _boundary_models), "lda"),
    "moving-boundary": (_moving_boundary, "lda"),
    "hyperplane": (_of("hyperplane"), "lda"),
    "score-surface": (_of("score_surface"), "least-squares"),
    "sphering": (_of("sphering"), "lda"),
    "sphering-movement": (_of("sphering_movement"), "lda"),
    "projected-histograms": (_of("projected_histograms"), "fisher"),
    "projections": (_of_models("projections", _projection_models), "fisher"),
    "class-densities": (_class_densities, "qda"),
    "coefficients": (_of("coefficients", "learned", odds_ratios=False), "logistic"),
    "odds-ratios": (_of("coefficients", "learned", odds_ratios=True), "logistic"),
    "effect": (_effect, "logistic"),
    "pair-effect": (_pair_effect, "auto"),
    "category-curves": (_category_curves, "ordinal"),
    "regularisation-path": (_regularisation_path, "lda"),
    "code-matrix": (_code_matrix, "lda"),
    "images": (_images, "lda"),
    "perceptron-trace": (_of("perceptron_trace"), "perceptron"),
    "dual-trace": (_of("dual_trace"), "perceptron"),
    "support-vector-steps": (_of("support_vector_steps"), "svm"),
    "descent-trace": (_of("descent_trace", "model"), "logistic"),
    "likelihood-paths": (_of("likelihood_paths", "solved", "X", "y"), "logistic"),
    "boundary-paths": (_of("boundary_paths", "solved", "X", "y"), "logistic"),
    "coefficient-growth": (_of_models("coefficient_growth", _growth_models, takes_rows=False), "logistic"),
    "confusion": (_of_evaluation("confusion", "confusion"), "auto"),
    "roc-curve": (_of_evaluation("roc_curve", "roc"), "auto"),
    "precision-recall-curve": (_of_evaluation("precision_recall_curve", "precision_recall"), "auto"),
    "calibration-curve": (_calibration_curve, "auto"),
    "smooth-calibration": (_smooth_calibration, "logistic"),
    "decision-curve": (_decision_curve, "logistic"),
    "instability": (_instability, "logistic"),
    "effects": (_slopes, "logistic"),
    "group-measures": (_group_measures, "logistic"),
    "binned-residuals": (_of_diagnostics("binned_residuals"), "logistic"),
    "influence": (_of_diagnostics("influence"), "logistic"),
    "risk-coverage": (_risk_coverage, "auto"),
    "cost-curve": (_cost_curve, "auto"),
    "learning-curve": (_of_validation("learning_curve"), "lda"),
    "degree-curve": (_of_validation("degree_curve"), "ridge"),
    "error-sources": (_of_validation("error_sources"), "lda"),
    "comparison": (_comparison, "lda"),
}
#: Figures that need no data.
_ALONE = ("loss-curves",)
#: Figures that need a model, but no rows.
_WITHOUT_ROWS = ("coefficients", "odds-ratios")
_OF_POSITIVE_CLASS = (
    "roc-curve", "precision-recall-curve", "calibration-curve", "cost-curve", "smooth-calibration", "decision-curve",
)  # fmt: skip
#: Figures whose ``--column`` has groups of rows.
_BY_GROUP = ("group-measures",)
#: Figures of models that keep their iterations.
_TRACED = ("perceptron-trace", "dual-trace", "descent-trace")


@dataclass(frozen=True)
class FigureOptions:
    """The subject of a figure: a table or a model file, and what is drawn of it."""

    target: options.Target = None
    rows: Annotated[str | None, option("DATA", "Labelled rows, if SOURCE is a model file.")] = None
    model: Annotated[str | None, option("NAME", "Model to fit to a table.  [default: depends on KIND]")] = None
    settings: options.Settings = None
    ordered: options.Ordered = None
    costs: options.Costs = None
    positive: options.Positive = None
    column: Annotated[
        str | None,
        option(
            "NAME", "Column for effect, pair-effect, effects, category-curves and group-measures; class for cost-curve."
        ),
    ] = None
    shape: Annotated[str, option("ROWSxCOLUMNS", "Shape of images.")] = "20x20"
    calibration: options.CalibrationRows = None

    def subject(self, model: BaseEstimator, rows: tuple[MatrixLike, Array], name: str, is_held_out: bool) -> Subject:
        """A fitted model with rows and these options."""
        height, _, width = self.shape.partition("x")
        if not (height.isdigit() and width.isdigit()):
            raise ParameterError(f"--shape takes ROWSxCOLUMNS, such as 20x20; got {self.shape!r}.")
        classes, shape = model.classes_.tolist(), (int(height), int(width))
        costs, positive = options.read_costs(self.costs, classes), options.read_positive(self.positive, classes)
        return Subject(model, *rows, name, is_held_out, costs, self.column, shape, positive, model)

    def fitted(self, data: str, kind: str, reading: TrainingOptions) -> Subject:
        """A model fitted to a table."""
        if self.calibration is not None:
            raise ParameterError("--calibration needs a model file, not a table. Fit the model first, and give --rows.")
        given = read_settings(self.settings)
        if kind in _TRACED:
            given = {"trace": "true", **given}
        spec = ModelSpec(self.model or KINDS[kind][1], given)
        labelled = read_labelled(data, Roles(self.target), reading, spec.coding)
        spec = options.with_order(spec, self.ordered, list(labelled.class_rows))
        rows = labelled.rows, labelled.labels
        subject = self.subject(spec.new(labelled).fit(*rows), rows, spec.name, False)
        subject = replace(subject, schema=labelled.schema)
        if kind not in _BY_GROUP or self.column is None:
            return subject
        return replace(subject, groups=column_of(labelled, self.column))

    def stored(self, path: str, kind: str, reading: TrainingOptions) -> Subject:
        """The model of a file, with held-out rows."""
        stored = open_model(path)
        rows: tuple[Any, Any] = (None, None)
        groups: Array | None = None
        if self.rows is not None:
            table = stored.table(reading, self.rows)
            print_findings(table.findings)
            labelled = labelled_rows(stored, table)
            print_unlabelled(labelled)
            rows = labelled.X, labelled.y
            if kind in _BY_GROUP and self.column is not None:
                groups = groups_of(table, self.column, labelled.row_numbers)
            print_encoding(stored)
        elif kind not in _WITHOUT_ROWS:
            raise InputError(f"{kind} needs labelled rows for {path}. Add --rows DATA.")
        sets = None
        if self.calibration is not None:
            sets = calibrated_sets(stored, stored.table(reading, self.calibration), CALIBRATED_COVERAGE)
        subject = self.subject(stored.model, rows, stored.name, True)
        return replace(
            subject, learned=stored.coefficients or stored.model, groups=groups, sets=sets, schema=stored.schema
        )


def _listed_kinds() -> str:
    """The kinds of figures as indented lines, for the help; names are not broken at their hyphens."""
    kinds = ", ".join((*KINDS, *_ALONE)) + "."
    return textwrap.fill(kinds, 98, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


@command
def figure(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Kind of figure; see the list below.")],
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="Labelled table, to which a model is fitted, or model file.")
    ] = None,
    output: Annotated[str, option("FILE", "Page (.html) or image (.svg, .png).", "--output", "-o")] = "figure.html",
    asked: FigureOptions = FigureOptions(),
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Draw a figure of a table or of a model.

    Figures that evaluate a model use cross-validation for a table, and --rows for a model file. Images need kaleido and
    a browser (chromium).

    Examples:
      discriminant figure decision-regions data.csv -t y --model lda -o regions.html
      discriminant figure roc-curve model.dsc --rows test.csv -o roc.svg
      discriminant figure perceptron-trace data.csv -t y -o steps.html
      discriminant figure loss-curves -o losses.png
    """
    check_output(output, overwrite, source, asked.rows, asked.costs, asked.calibration)
    if kind not in KINDS and kind not in _ALONE:
        known = (*KINDS, *_ALONE)
        raise ParameterError(f"Unknown figure {kind!r}.{suggestion(kind, known)} Expected one of: {', '.join(known)}.")
    if asked.calibration is not None and kind != "risk-coverage":
        raise ParameterError(f"--calibration does not apply to {kind}, only to risk-coverage. Leave it out.")
    if asked.positive is not None and kind not in _OF_POSITIVE_CLASS:
        raise ParameterError(
            f"--positive does not apply to {kind}, only to {', '.join(_OF_POSITIVE_CLASS)}. Leave it out."
        )
    if kind in _ALONE:
        made = figures.loss_curves()
    elif source is None:
        raise ParameterError(f"{kind} needs a table or a model file. Add its name, and -t COLUMN for a table.")
    else:
        load = asked.stored if source.lower().endswith(".dsc") else asked.fitted
        made = KINDS[kind][0](load(source, kind, reading))
    write_figure(made, output)
    values = {"figure": kind, "file": output, "shows": figures.alt_text(made)}
    show(values, lambda found: [facts({"Figure": found["shows"], "Output": found["file"]})], json)


figure.__doc__ = f"{inspect.cleandoc(str(figure.__doc__))}\n\nKinds:\n{_listed_kinds()}"
