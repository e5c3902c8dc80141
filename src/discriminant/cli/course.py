"""How a model is learned: ``discriminant trace``, ``path`` and ``learning-curve``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ParameterError
from ..results import number, several
from . import options
from .console import Page, check_output, shortened, show, tell_findings, write_columns
from .fit import Settings, made_model, read_settings
from .options import Labelled, TrainingOptions, command, option

if TYPE_CHECKING:
    from ..tables.schema import Coding


#: Solvers as they are taught, by the names of the command line.
_SOLVERS = ("gradient-descent", "stochastic-gradient", "irls")
#: The solver of each model whose iterates are shown, if none is named.
_USUAL = {"logistic": "irls", "lms": "gradient-descent"}


@dataclass(frozen=True)
class CourseOptions(TrainingOptions):
    """How a labelled table is read, and where the steps of what is learned from it go."""

    output: Annotated[str | None, option("FILE", "Also as a table: .csv, .parquet or .arrow.", "--output", "-o")] = None
    overwrite: options.Overwrite = False
    json: options.Json = False

    def labelled(
        self, data: str, target: str | None, model: str, weights: str | None = None, coding: Coding = "reference"
    ) -> Labelled:
        """The table that a model is learned from; what was found in it is told."""
        check_output(self.output, self.overwrite, data)
        labelled = self.training(data, target, weights, None, model, coding)
        if not self.json:
            tell_findings(labelled.training.findings)
        return labelled

    def show(self, labelled: Labelled, columns: Any, values: dict[str, Any], page: Callable[..., Page]) -> None:
        """Write the steps, and show them with what else was found."""
        write_columns(columns, self.output)
        show({**labelled.source, **values, "file": self.output}, page, self.json)


@command
def trace(
    data: options.Data,
    target: options.Target = None,
    model: Annotated[str, option("NAME", "perceptron, logistic or lms.")] = "perceptron",
    solver: Annotated[
        str | None,
        option(
            "NAME",
            "Of logistic and lms: gradient-descent, stochastic-gradient or irls, as they are taught, in the units "
            "of the data; of logistic also a name that fit takes (newton, lbfgs, ...).  [default: irls; of lms "
            "gradient-descent]",
        ),
    ] = None,
    rate: Annotated[float | None, option("ETA", "First step length of the gradient solvers.")] = None,
    schedule: Annotated[
        str | None, option("NAME", "Step lengths: constant, decaying, square-root or line-search.")
    ] = None,
    batch: Annotated[int | None, option("B", "Rows of a mini-batch.")] = None,
    settings: Settings = None,
    course: CourseOptions = CourseOptions(),
) -> None:
    """Show how a model is learned, step by step.

    Of a perceptron every update, how often each row caused one (alpha), and the bound R^2/gamma^2 on their number; of
    logistic regression every iterate with its log-likelihood; of least mean squares (Widrow-Hoff), or another loss by
    --set loss=squared_sigmoid, every iterate with the sum of its losses.

    \b
    Examples:
      discriminant trace data.csv -t y
      discriminant trace data.csv -t y --set rule=nonpositive --set form=dual
      discriminant trace data.csv -t y --model logistic --solver irls
      discriminant trace data.csv -t y --model logistic --solver gradient-descent --rate 0.01 -o steps.csv
      discriminant trace data.csv -t y --model lms --set loss=squared_sigmoid
    """
    if model not in ("perceptron", *_USUAL):
        raise ParameterError(f"--model {model}: steps are shown of perceptron, logistic and lms.")
    given = {"rate": rate, "schedule": schedule, "batch": batch}
    if model == "perceptron" and (solver is not None or any(value is not None for value in given.values())):
        raise ParameterError("--solver, --rate, --schedule and --batch are of logistic and lms. Use --set eta=0.1.")
    labelled = course.labelled(data, target, model)
    made = made_model(model, labelled, read_settings(settings or []))
    if model in _USUAL:
        made.set_params(solver=_solver(solver or _USUAL[model], given))
    made.set_params(trace=True).fit(labelled.rows, labelled.training.y)
    named = list(labelled.training.schema.names)
    values, columns = _updates(made, named) if model == "perceptron" else _iterates(made)
    course.show(labelled, columns, {"model": model, **values}, _trace_page)


def _solver(name: str, given: Mapping[str, Any]) -> Any:
    """A solver as it is taught, or the name of one of `fit`."""
    from ..solvers import IRLS, GradientDescent, StochasticGradient

    known = {option: value for option, value in given.items() if value is not None}
    if name in _SOLVERS:
        kind: Any = {"gradient-descent": GradientDescent, "stochastic-gradient": StochasticGradient}.get(name, IRLS)
        try:
            return kind(**known)
        except TypeError:
            unknown = sorted(set(known) - set(kind().__dict__))
            raise ParameterError(f"--solver {name} has no --{unknown[0]}.") from None
    if known:
        raise ParameterError(f"--{next(iter(known))} is of {_SOLVERS[0]} and {_SOLVERS[1]}, not of --solver {name}.")
    return name


def _updates(model: Any, names: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The updates of a perceptron, with what each row caused and the bound."""
    import numpy as np

    from ..errors import DegenerateDataError

    many = len(model.classes_) > 2
    names = [f"w of {name}" for name in names]  # which cannot be the name of another column here
    columns: dict[str, list[Any]] = {"problem": [], "pass": [], "row": [], **{name: [] for name in names}, "b": []}
    counts = np.zeros((len(model.walks_), model._training.n_rows), dtype=int)
    for problem, steps in enumerate(model.trace_ if many else [model.trace_]):
        for step in steps:
            counts[problem, step.row] += 1
            columns["problem"].append(model._named(problem))
            columns["pass"].append(step.epoch)
            columns["row"].append(step.row)
            columns["b"].append(step.intercept)
            for name, weight in zip(names, step.coef.tolist(), strict=True):
                columns[name].append(weight)
    try:
        found = model.certificate()
        certificates, reason = [one.to_dict() for one in (found if many else [found])], None
    except DegenerateDataError as error:
        certificates, reason = [], str(error)
    if not many:
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


def _iterates(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The iterates of a solver, and what it says of the last."""
    columns = dict(model.trace_._columns())
    if getattr(model, "loss", "logistic") != "logistic":  # which has no likelihood
        columns["sum_of_losses"] = [-value for value in columns.pop("log_likelihood")]
    return {"classes": model.classes_.tolist(), "solution": str(model.solution_), "steps": columns}, columns


def _trace_page(found: dict[str, Any]) -> Page:
    steps = found["steps"]
    rows = [[value if isinstance(value, str) else number(value, 6) for value in row]
            for row in zip(*steps.values(), strict=True)]  # fmt: skip
    title = "Updates: weights after each" if found["model"] == "perceptron" else "Iterates"
    page = shortened(title, [name.replace("_", " ") for name in steps], rows)
    if found["model"] in _USUAL:
        return [*page, found["solution"]]
    for counts, updates in zip(found["alpha"], found["updates"], strict=True):
        caused = ", ".join(f"row {row}: {n}" for row, n in list(counts.items())[:20])
        page.append(f"{several(updates, 'update')} (alpha, by the row that caused them): {caused or 'none'}.")
    for one in found["certificates"]:
        page.append(
            f"At most R^2/gamma^2 = {number(one['bound'], 6)} updates (R = {number(one['R'], 6)}, gamma = "
            f"{number(one['gamma'], 6)}); made {one['updates']}."
        )
    return page + ([found["no_certificate"]] if found["no_certificate"] else [])


@command
def path(
    data: options.Data,
    target: options.Target = None,
    l1_ratio: Annotated[float, option("SHARE", "Of the L1 penalty: 1 lasso, 0 ridge.")] = 1.0,
    n_alphas: Annotated[int | None, option("N", "Number of strengths.")] = None,
    weights: options.Weights = None,
    course: CourseOptions = CourseOptions(),
) -> None:
    """The coefficients of logistic regression along a whole path of penalties, from the strongest to nearly none.

    \b
    Examples:
      discriminant path data.csv -t y
      discriminant path data.csv -t y --l1-ratio 0 -o ridge.csv
    """
    labelled = course.labelled(data, target, "lasso", weights, "full")
    from ..estimators.logistic import LogisticRegressionPath

    found = LogisticRegressionPath(l1_ratio=l1_ratio, n_alphas=n_alphas)
    found.fit(labelled.rows, labelled.training.y, **labelled.weights)
    columns: dict[str, list[Any]] = {"alpha": found.alphas_.tolist()}
    classes = found.classes_.tolist()
    for k, outcome in enumerate(classes[1:] if len(classes) == 2 else classes):
        own = "" if len(classes) == 2 else f" ({outcome})"
        columns[f"intercept{own}"] = found.intercepts_[:, k].tolist()
        for j, name in enumerate(labelled.training.schema.names):
            columns[f"{name}{own}"] = found.coefs_[:, k, j].tolist()
    columns["columns"] = (found.coefs_ != 0).any(axis=1).sum(axis=1).tolist()
    course.show(labelled, columns, {"l1_ratio": l1_ratio, "classes": classes, "path": columns}, _path_page)


def _path_page(found: dict[str, Any]) -> Page:
    steps = found["path"]
    names = [name for name in steps if name != "alpha"]
    shown = ["alpha", "columns", *[name for name in names if name != "columns"][:8]]
    rows = [[number(steps[name][i]) for name in shown] for i in range(len(steps["alpha"]))]
    more = [] if len(steps) <= len(shown) else [f"{len(steps) - len(shown)} columns more: -o FILE and --json have all."]
    kind = "Log-odds of " + str(found["classes"][1]) if len(found["classes"]) == 2 else "Scores of the classes"
    return [*shortened(f"{kind} at each strength of the penalty", shown, rows), *more]


@command
def learning_curve(
    data: options.Data,
    target: options.Target = None,
    model: Annotated[str, option("NAME", "A model that fit takes.")] = "lda",
    settings: Settings = None,
    bayes_error: Annotated[
        float | None, option("SHARE", "The error no classifier avoids, if known: the rest is approximation.")
    ] = None,
    folds: Annotated[int, option("N", "Of the cross-validation.")] = 5,
    seed: Annotated[int, option("N", "Of the folds.")] = 0,
    course: CourseOptions = CourseOptions(),
) -> None:
    """The error for a growing number of rows, and its three sources: estimation, approximation, optimisation.

    \b
    Examples:
      discriminant learning-curve data.csv -t y --model qda
      discriminant learning-curve data.csv -t y --model logistic --bayes-error 0.16 -o curve.csv
    """
    labelled = course.labelled(data, target, model)
    from ..validation.learning_curve import error_sources

    made = made_model(model, labelled, read_settings(settings or []))
    found = error_sources(
        made, labelled.rows, labelled.training.y, bayes_error, cv=folds, random_state=seed, progress=False
    )
    values = {"model": model, "sources": found.to_dict(), "curve": found.curve.to_dict()}
    course.show(labelled, found.curve.to_frame(), values, lambda _: [str(found.curve), str(found)])
