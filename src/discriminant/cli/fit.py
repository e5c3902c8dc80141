"""``discriminant fit``: fit a model to a labelled table and store it."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Annotated

from ..results import jsonable, listed, number, percent
from ..workflow.fitting import fit as fit_model
from ..workflow.fitting import learned_values, requested_tests, training_table
from ..workflow.models import MODEL_NAMES, ModelSpec, read_settings
from ..workflow.tables import AnyLabelled, Roles, severest_first
from . import options
from .console import print_findings, rendered
from .explain import learned_page
from .options import ScaleOptions, TrainingOptions, command, files_of, flag, option
from .output import Page, Values, check_output, facts, show

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

# Lines that fit a terminal of 80 columns, with no break within a name.
_NAMES = fill(", ".join(MODEL_NAMES), 54, break_on_hyphens=False)
_INFERENCE = "Inference and multiclass schemes"


@command
def fit(
    data: options.Files,
    target: options.Target = None,
    model: Annotated[
        str | None, option("NAME", f"\b\n{_NAMES}.\n[default: auto; logistic with a formula, ordinal with --ordered]")
    ] = None,
    settings: options.Settings = None,
    formula: options.FormulaText = None,
    output: Annotated[str | None, option("FILE", "Model file (.dsc).  [default: not saved]", "--output", "-o")] = None,
    weights: options.Weights = None,
    groups: options.Groups = None,
    ordered: options.Ordered = None,
    coefficients: Annotated[bool, flag("Print coefficients, class means and axes.", "--coefficients")] = False,
    term_tests: Annotated[
        str | None,
        option(
            "TYPE", "Likelihood-ratio tests of terms: II, III or drop1.  [default: II with a formula]", panel=_INFERENCE
        ),
    ] = None,
    hypotheses: Annotated[
        list[str] | None,
        option(
            "EQUATION", "Linear hypothesis (Wald test), e.g. 'age = 0'; repeatable.", "--hypothesis", panel=_INFERENCE
        ),
    ] = None,
    multiclass: Annotated[
        str | None,
        option("SCHEME", "Scheme of binary models: one-vs-rest, one-vs-one or output-code.", panel=_INFERENCE),
    ] = None,
    scale: ScaleOptions = ScaleOptions(),
    reading: TrainingOptions = TrainingOptions(),
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Fit a model and save it.

    The default model, auto, tunes several families of models by cross-validation and averages their probabilities.
    Coefficients with standard errors (maximum likelihood: --model logistic, or a formula) are always printed;
    --coefficients prints those of other models.

    Examples:
      discriminant fit data.csv -t y -o model.dsc
      discriminant fit data.csv -t y --model lda --set shrinkage=oas -o model.dsc
      discriminant fit data.csv -t y --model logistic --set alpha=0.01 --set l1_ratio=1 --drop id
      discriminant fit data.csv -t grade --ordered low,medium,high -o model.dsc
      discriminant fit data.csv -t y --model perceptron --multiclass one-vs-one
      discriminant fit "data/*.parquet" -t y --model lda -o model.dsc
      discriminant fit data.csv --formula "y ~ age + C(race) * dose" --hypothesis "race=b = race=c"
    """  # fmt: skip
    check_output(output, overwrite, *data)
    name = model or ("ordinal" if ordered is not None else "auto" if formula is None else "logistic")
    spec = ModelSpec(name, read_settings(settings), multiclass)
    labelled = training_table(files_of(data), Roles(target, weights, groups), reading, scale, spec, formula)
    print_findings(labelled.training.findings, quiet=json)
    spec = options.with_order(spec, ordered, list(labelled.class_rows))
    fitted = fit_model(spec.new(labelled), name, labelled)
    learned = learned_values(fitted.model, labelled.schema) | requested_tests(fitted, term_tests, hypotheses)
    learned["properties"] = _properties(fitted.model, labelled)
    if output is not None:
        fitted.save(output, jsonable(learned, rendered))
    values = {
        **labelled.source,
        "name": name,
        "columns": fitted.model.n_features_in_,
        **learned,
        "training_metrics": fitted.training_metrics,
        "findings": severest_first(labelled.training.findings),
        "file": output,
    }
    show(values, lambda found: _page(found, coefficients), json)
    scale.finish()


def _properties(model: BaseEstimator, labelled: AnyLabelled) -> dict[str, str]:
    """What only some models have: masked classes, support vectors, updates, ambiguous rows."""
    import numpy as np

    found, n = {}, labelled.n_rows
    if len(masked := list(getattr(model, "masked_classes_", ()))):
        found["Masked classes"] = f"{listed(masked)} (never predicted at their own mean)"
    if hasattr(model, "support_"):
        found["Support vectors"] = f"{len(model.support_):,} of {n:,} rows"
        found["Margin"] = ", ".join(number(width) for width in np.ravel(model.margin_))
    if hasattr(model, "updates_"):
        found["Updates"] = ", ".join(map(str, np.ravel(model.updates_)))
    if len(model.classes_) > 2 and hasattr(model, "ambiguous") and not labelled.is_streamed:
        rows = model.ambiguous(labelled.rows)
        none, several = int(rows.none.sum()), int(rows.several.sum())
        found["Ambiguous rows"] = (
            f"{none + several:,} of {n:,} (no class: {none:,}, several classes: {several:,}); see discriminant "
            "predict --ambiguous"
        )
    return found


def _page(found: Values, coefficients: bool) -> Page:
    metrics = found["training_metrics"]
    accuracy, balanced, majority = map(percent, metrics.values())
    is_better = metrics["accuracy"] > metrics["baseline_accuracy"]
    no_better = "" if is_better else "; no better than the majority class"
    table = found.get("coefficients")
    with_coefficients = coefficients or (table is not None and bool(table["fit"]))
    head = {
        "Model": f"{found['name']} ({found['model']})",
        "Target": found["target"] or "labels of the file",
        "Training data": f"{found['data']} ({found['rows']:,} rows, {found['columns']:,} columns)",
    }
    tail = {
        **found["properties"],
        "Training accuracy": f"{accuracy} (majority class {majority}, balanced accuracy {balanced}){no_better}",
        "Held-out accuracy": "use discriminant evaluate MODEL DATA, or discriminant compare",
        "Coefficients": None if with_coefficients else "use --coefficients, or discriminant explain MODEL",
        "Model file": found["file"] or "not saved (use -o)",
    }
    return [facts(head), *learned_page(found, with_coefficients), facts(tail)]
