"""``discriminant learn trace``, ``path`` and ``learning-curve``: how models are fitted, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from ..errors import ParameterError
from ..results import number
from ..workflow.fitting import fit
from ..workflow.models import ModelSpec, read_settings
from ..workflow.tables import LabelledTable, Roles, read_labelled
from . import options
from .console import print_findings
from .options import TrainingOptions, command, option
from .output import Page, Values, check_output, facts, shortened, show, write_columns

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..solvers import IRLS, GradientDescent, StochasticGradient
    from ..tables.column import Coding

#: Solvers for teaching, which keep the units of the data.
_TEACHING_SOLVERS: Final = ("gradient-descent", "stochastic-gradient", "irls")
#: The default solver of each model with iterates.
_DEFAULT_SOLVERS: Final = {"logistic": "irls", "lms": "gradient-descent"}
# Coefficients of a path that are printed: what fits a line of 100 characters.
MAX_PATH_COLUMNS: Final = 8
# Rows of a perceptron whose updates are listed.
MAX_LISTED_ROWS: Final = 20


@dataclass(frozen=True)
class CourseOptions(TrainingOptions):
    """How a labelled table is read, and where the steps are written."""

    output: options.TableFile = None
    overwrite: options.Overwrite = False
    json: options.Json = False

    def labelled(
        self, data: str, target: str | None, weights: str | None = None, coding: Coding = "reference"
    ) -> LabelledTable:
        """The training data; their findings are printed."""
        check_output(self.output, self.overwrite, data)
        labelled = read_labelled(data, Roles(target, weights), self, coding)
        print_findings(labelled.training.findings, quiet=self.json)
        return labelled

    def show(
        self, labelled: LabelledTable, columns: Mapping[str, Sequence[Any]], values: Values,
        page: Callable[[Values], Page],
    ) -> None:  # fmt: skip
        """Write the steps to the output file, and show the result."""
        write_columns(columns, self.output)
        show({**labelled.source, **values, "file": self.output}, page, self.json)


@command
def trace(
    data: options.Data,
    target: options.Target = None,
    model: Annotated[str, option("NAME", "perceptron, logistic or lms.")] = "perceptron",
    settings: options.Settings = None,
    solver: Annotated[
        str | None, option("NAME", "gradient-descent, stochastic-gradient, irls, or a solver of fit (logistic).")
    ] = None,
    rate: Annotated[
        float | None, option("ETA", "Initial learning rate of a gradient solver.  [default: 1 / largest curvature]")
    ] = None,
    schedule: Annotated[
        str | None,
        option("NAME", "Learning-rate schedule: constant, decaying, square-root or line-search.  [default: constant]"),
    ] = None,
    batch: Annotated[int | None, option("B", "Mini-batch size.  [default: 1]")] = None,
    course: CourseOptions = CourseOptions(),
) -> None:
    """Show the steps of a fit: updates or iterates.

    Perceptron: every update, the updates by row (alpha) and the bound R^2/gamma^2. Logistic regression: every iterate
    with its log-likelihood. Least mean squares (lms), or another loss: every iterate with the sum of losses. Gradient
    solvers work in the units of the data; the default solver is irls for logistic, gradient-descent for lms.

    Examples:
      discriminant learn trace data.csv -t y
      discriminant learn trace data.csv -t y --set rule=nonpositive --set form=dual
      discriminant learn trace data.csv -t y --model logistic --solver irls
      discriminant learn trace data.csv -t y --model logistic --solver gradient-descent --rate 0.01 -o steps.csv
      discriminant learn trace data.csv -t y --model lms --set loss=squared_sigmoid
    """
    if model not in ("perceptron", *_DEFAULT_SOLVERS):
        raise ParameterError(f"--model must be one of perceptron, {', '.join(_DEFAULT_SOLVERS)}; got {model!r}.")
    given = {"rate": rate, "schedule": schedule, "batch": batch}
    if model == "perceptron" and (solver is not None or any(value is not None for value in given.values())):
        raise ParameterError(
            "--solver, --rate, --schedule and --batch require --model logistic or lms. Leave them out; for the "
            "perceptron, set the learning rate with --set eta=0.1."
        )
    labelled = course.labelled(data, target)
    made = ModelSpec(model, read_settings(settings)).new(labelled).set_params(trace=True)
    if model in _DEFAULT_SOLVERS:
        made.set_params(solver=_solver(solver or _DEFAULT_SOLVERS[model], given))
    fitted = fit(made, model, labelled).model
    values, columns = _updates(fitted, list(labelled.schema.names)) if model == "perceptron" else _iterates(fitted)
    course.show(labelled, columns, {"model": model, **values}, _trace_page)


def _solver(name: str, given: Mapping[str, float | str | None]) -> str | GradientDescent | StochasticGradient | IRLS:
    """A teaching solver, or the name of another solver."""
    from ..solvers import IRLS, GradientDescent, StochasticGradient

    known: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    if name in _TEACHING_SOLVERS:
        kind: Any = {"gradient-descent": GradientDescent, "stochastic-gradient": StochasticGradient}.get(name, IRLS)
        try:
            return kind(**known)
        except TypeError:
            unknown = sorted(set(known) - set(kind().__dict__))
            raise ParameterError(f"--solver {name} does not use --{unknown[0]}. Leave it out.") from None
    if known:
        raise ParameterError(
            f"--{next(iter(known))} needs a gradient solver, not --solver {name}. Use --solver stochastic-gradient."
        )
    return name


def _updates(model: BaseEstimator, names: list[str]) -> tuple[Values, dict[str, Any]]:
    """The updates of a perceptron, the number by row, and the bound."""
    import numpy as np

    from ..errors import DegenerateDataError

    is_multiclass = len(model.classes_) > 2
    names = [f"w of {name}" for name in names]  # distinct from the names of the other columns
    columns: dict[str, list[Any]] = {"problem": [], "pass": [], "row": [], **{name: [] for name in names}, "b": []}
    counts = np.zeros((len(model.walks_), model._training.n_rows), dtype=int)
    for problem, steps in enumerate(model.trace_ if is_multiclass else [model.trace_]):
        for step in steps:
            counts[problem, step.row] += 1
            weights = dict(zip(names, step.coef.tolist(), strict=True))
            step_values = {"problem": model._named(problem), "pass": step.epoch, "row": step.row, "b": step.intercept}
            for name, value in (step_values | weights).items():
                columns[name].append(value)
    try:
        found = model.certificate()
        certificates, reason = [one.to_dict() for one in (found if is_multiclass else [found])], None
    except DegenerateDataError as error:
        certificates, reason = [], str(error)
    if not is_multiclass:
        del columns["problem"]
    values = {
        "classes": model.classes_.tolist(),
        "converged": model.converged_,
        "updates": np.ravel(model.updates_).tolist(),
        "alpha": [{int(row): int(own[row]) for row in np.flatnonzero(own)} for own in counts],
        "certificates": certificates,
        "no_certificate": reason,
        "steps": columns,
    }
    return values, columns


def _iterates(model: BaseEstimator) -> tuple[Values, dict[str, Any]]:
    """The iterates of a solver, and its report on the last one."""
    columns = dict(model.trace_._columns())
    if getattr(model, "loss", "logistic") != "logistic":  # other losses are no likelihoods
        columns["sum_of_losses"] = [-value for value in columns.pop("log_likelihood")]
    return {"classes": model.classes_.tolist(), "solution": str(model.solution_), "steps": columns}, columns


def _trace_page(found: Values) -> Page:
    steps = found["steps"]
    rows = [
        [value if isinstance(value, str) else number(value, 6) for value in row]
        for row in zip(*steps.values(), strict=True)
    ]
    title = "Weights after each update" if found["model"] == "perceptron" else "Iterates"
    page = shortened(title, [name.replace("_", " ") for name in steps], rows)
    if found["model"] in _DEFAULT_SOLVERS:
        return [*page, found["solution"]]
    for counts, updates in zip(found["alpha"], found["updates"], strict=True):
        by_row = ", ".join(f"row {row}: {n}" for row, n in list(counts.items())[:MAX_LISTED_ROWS])
        page.append(facts({"Updates": f"{updates:,}", "Updates by row (alpha)": by_row}))
    for one in found["certificates"]:
        bound, radius, margin = (number(one[name], 6) for name in ("bound", "R", "gamma"))
        page.append(f"Bound on the updates: R^2/gamma^2 = {bound} (R = {radius}, gamma = {margin})")
    return page + ([f"No bound: {found['no_certificate']}"] if found["no_certificate"] else [])


@command
def path(
    data: options.Data,
    target: options.Target = None,
    l1_ratio: Annotated[float, option("SHARE", "Elastic-net mixing: 1 for lasso, 0 for ridge.")] = 1.0,
    n_alphas: Annotated[
        int | None, option("N", "Number of penalty strengths.  [default: 50; for ridge 2 per factor of 10]")
    ] = None,
    weights: options.Weights = None,
    course: CourseOptions = CourseOptions(),
) -> None:
    """Show the regularisation path of logistic regression.

    Examples:
      discriminant learn path data.csv -t y
      discriminant learn path data.csv -t y --l1-ratio 0 -o ridge.csv
    """
    labelled = course.labelled(data, target, weights, "full")
    from ..estimators.logistic_cv import LogisticRegressionPath

    found = fit(LogisticRegressionPath(l1_ratio=l1_ratio, n_alphas=n_alphas), "path", labelled).model
    columns: dict[str, list[Any]] = {"alpha": found.alphas_.tolist()}
    classes = found.classes_.tolist()
    for k, outcome in enumerate(classes[1:] if len(classes) == 2 else classes):
        own = "" if len(classes) == 2 else f" ({outcome})"
        columns[f"intercept{own}"] = found.intercepts_[:, k].tolist()
        for j, name in enumerate(labelled.schema.names):
            columns[f"{name}{own}"] = found.coefs_[:, k, j].tolist()
    columns["columns"] = (found.coefs_ != 0).any(axis=1).sum(axis=1).tolist()
    course.show(labelled, columns, {"l1_ratio": l1_ratio, "classes": classes, "path": columns}, _path_page)


def _path_page(found: Values) -> Page:
    steps = found["path"]
    names = [name for name in steps if name not in ("alpha", "columns")]
    shown = ["alpha", "columns", *names[:MAX_PATH_COLUMNS]]
    rows = [[number(steps[name][i]) for name in shown] for i in range(len(steps["alpha"]))]
    hidden = len(steps) - len(shown)
    more = [f"... and {hidden} more columns (-o FILE or --json)"] if hidden else []
    is_binary = len(found["classes"]) == 2
    scores = f"log-odds of {found['classes'][1]}" if is_binary else "scores of the classes"
    return [*shortened(f"Coefficients by penalty strength ({scores})", shown, rows), *more]


@command
def learning_curve(
    data: options.Data,
    target: options.Target = None,
    model: Annotated[str, option("NAME", "Model, as for fit.")] = "lda",
    settings: options.Settings = None,
    bayes_error: Annotated[float | None, option("SHARE", "Known Bayes error, to separate approximation error.")] = None,
    folds: Annotated[int, option("N", "Number of folds.")] = 5,
    seed: Annotated[int, option("N", "Random seed of the folds.")] = 0,
    course: CourseOptions = CourseOptions(),
) -> None:
    """Show the learning curve and the sources of error.

    The learning curve is the error by number of training rows. The sources of error are estimation, approximation and
    optimisation.

    Examples:
      discriminant learn learning-curve data.csv -t y --model qda
      discriminant learn learning-curve data.csv -t y --model logistic --bayes-error 0.16 -o curve.csv
    """
    spec = ModelSpec(model, read_settings(settings))
    labelled = course.labelled(data, target)
    from ..validation.learning_curve import error_sources

    found = error_sources(
        spec.new(labelled), labelled.rows, labelled.labels, bayes_error, cv=folds, random_state=seed, progress=False
    )
    values = {"model": model, "sources": found.to_dict(), "curve": found.curve.to_dict()}
    course.show(labelled, found.curve.to_frame(), values, lambda _: [str(found.curve), str(found)])
