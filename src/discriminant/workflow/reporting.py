"""The report of a validated model."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DiscriminantError
from .fitting import FittedModel
from .tables import LabelledTable, severest_first

if TYPE_CHECKING:
    from ..effects import Effects
    from ..estimators.coefficients import CoefficientTable
    from ..estimators.diagnostics import Diagnostics
    from ..evaluation.decision_curve import DecisionCurve
    from ..report.validation_page import ValidationReport
    from ..validation.sample_size import SampleSize
    from ..validation.validated import Validation


def write_validation_report(fitted: FittedModel, found: Validation, path: str | Path, command: str) -> Path:
    """Write the report of a validated model, with all parts that the model has."""
    from ..report.validation_page import write_validation_report as write

    return write(path, validation_report(fitted, found, command))


def validation_report(fitted: FittedModel, found: Validation, command: str | None = None) -> ValidationReport:
    """The contents of the report of a validated model."""
    from ..report.validation_page import ValidationReport

    labelled = fitted.table
    training = labelled.training
    return ValidationReport(
        found,
        fitted.model,
        fitted.name,
        labelled.source["data"],
        labelled.class_rows,
        [(column.name, column.treatment) for column in training.schema.used],
        training.n_dropped,
        severest_first(training.findings),
        _coefficients(fitted, labelled),
        _diagnostics(fitted),
        _slopes(fitted, labelled),
        _decision_curve(fitted, labelled),
        _sample_size(found, labelled, fitted.model.n_features_in_),
        training.row_numbers,
        command,
    )


def _coefficients(fitted: FittedModel, labelled: LabelledTable) -> CoefficientTable | None:
    from ..estimators.coefficients import coefficient_table, column_names

    if not hasattr(fitted.model, "coef_"):
        return None
    has_formula = hasattr(fitted.model, "formula_")
    names = column_names(fitted.model) if has_formula else labelled.schema.names
    return coefficient_table(fitted.model, names, schema=None if has_formula else labelled.schema)


def _diagnostics(fitted: FittedModel) -> Diagnostics | None:
    """Diagnostics, if the model has some."""
    from ..estimators.diagnostics import diagnostics

    try:
        return diagnostics(fitted.model)
    except DiscriminantError:
        return None


def _slopes(fitted: FittedModel, labelled: LabelledTable) -> Effects | None:
    """Average slopes in the numeric columns, if there are any."""
    from ..effects import EffectOptions, slopes
    from .effects import raw_columns, with_encoder

    try:
        frame = raw_columns(labelled.table, labelled.schema, labelled.training.row_numbers)
        options = EffectOptions(weights=labelled.training.weights)
        return slopes(with_encoder(fitted.model, labelled.schema), frame, options=options)
    except DiscriminantError:
        return None


def _decision_curve(fitted: FittedModel, labelled: LabelledTable) -> DecisionCurve | None:
    """The decision curve of out-of-fold predictions for the second of two classes."""
    from ..evaluation.decision_curve import decision_curve
    from ..validation.cross_validation import cross_validate
    from .validating import design_of

    if len(labelled.class_rows) != 2:
        return None
    rows, model = design_of(fitted)
    training = labelled.training
    shared: dict[str, Any] = {"sample_weight": training.weights, "groups": training.groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            crossed = cross_validate({"model": model}, rows, training.y, keep="posteriors", **shared)
        except DiscriminantError:
            return None
    p = np.asarray(crossed.posteriors("model"))[:, 1]
    return decision_curve(training.codes == 1, {fitted.name: p}, **shared)


def _sample_size(found: Validation, labelled: LabelledTable, n_parameters: int) -> SampleSize | None:
    """What the criteria ask for, with the corrected Nagelkerke R2 of the validation."""
    from ..validation.sample_size import max_cox_snell, sample_size

    counts = np.array(list(labelled.class_rows.values()), dtype=np.float64)
    shares = counts / counts.sum()
    corrected = found["r2"].corrected
    if len(shares) > 2 or not (math.isfinite(corrected) and 0 < corrected < 1):
        return None
    return sample_size(n_parameters, float(shares[1]), r2=corrected * max_cox_snell(shares))
