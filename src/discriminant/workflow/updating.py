"""Published models, and updates of stored models on new rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import InputError, ParameterError
from ..results import jsonable, plain
from .fitting import learned_values
from .stored import StoredModel
from .tables import Reading

if TYPE_CHECKING:
    from ..arrays import Array
    from ..estimators.given import LinearClassifier
    from ..evaluation.model_update import Recalibration
    from ..evaluation.recalibration import CalibrationCurve, CalibrationLine
    from ..tables import TrainingTable
    from ..tables.schema import Schema

#: Updates on the command line, the smallest first.
UPDATES: Final = ("in-the-large", "logistic", "refit")


def coefficients_of_file(path: str, reading: Reading) -> dict[str, float]:
    """The coefficients in a table: terms in its first column, estimates in its second one."""
    table = reading.open(path)
    data = table.read()
    if data.num_columns < 2:
        raise InputError(f"{path} has one column. Expected terms in the first column and coefficients in the second.")
    found: dict[str, float] = {}
    for term, value in zip(data.column(0).to_pylist(), data.column(1).to_pylist(), strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{path}: the coefficient of {term!r} must be a number, got {value!r}.")
        if term in found:
            raise InputError(f"{path} has two coefficients of {term!r}. Give each term one row.")
        found[str(term)] = float(value)
    return found


def save_published(
    coefficients: dict[str, float], classes: Sequence[Any], target: str | None, path: str | Path
) -> LinearClassifier:
    """Write a published model as a model file, and return it."""
    from ..estimators.published import published_model
    from ..tables.labels import Target

    model = published_model(coefficients, classes, target)
    schema: Any = model.encoder_.schema_
    labels = [plain(label) for label in model.classes_]
    kind: Any = "integer" if isinstance(labels[0], int) else "text"
    del model.encoder_  # models of files take rows that the schema has coded
    _save(model, path, replace(schema, target=Target(target, kind, tuple(labels)), missing="drop"), "published")
    return model


def _save(model: LinearClassifier, path: str | Path, schema: Schema, name: str) -> None:
    """Write a model with given coefficients, and the learned values that `explain` shows."""
    from ..storage.model_file import save

    save(model, path, schema=schema, name=name, learned=jsonable(learned_values(model, schema)))


@dataclass(frozen=True, eq=False)
class UpdatedModel:
    """A stored model on new rows: its calibration, and the update that these justify."""

    stored: StoredModel
    recalibration: Recalibration
    line: CalibrationLine
    curve: CalibrationCurve
    columns: Array | None  #: of the linear predictor; None if the model is not linear in columns

    def model(self, update: str | None = None) -> LinearClassifier:
        """The model after one of `UPDATES`, by default the recommended one."""
        from ..estimators.given import LinearClassifier
        from ..evaluation.model_update import REFIT

        chosen = self._row(update)
        own: Any = self.stored.model
        if self.columns is None:
            raise ParameterError(
                f"{self.stored.name} is not linear in its columns, so its update cannot be written. Use a "
                "linear model, such as logistic."
            )
        coef, intercept = _linear_predictor(own)
        if chosen.update == REFIT:
            intercept, coef = self._refitted(coef)
        else:
            intercept, coef = chosen.intercept + chosen.slope * intercept, chosen.slope * coef
        made = LinearClassifier(coef, float(intercept), classes=own.classes_)
        for name in ("feature_names_in_", "basis_", "formula_"):
            if hasattr(own, name):
                setattr(made, name, getattr(own, name))
        return made

    def _refitted(self, coef: Array) -> tuple[float, Array]:
        """Intercept and coefficients of the refit; constant columns keep theirs."""
        import numpy as np

        assert self.recalibration.coefficients is not None
        assert self.columns is not None
        intercept, slopes = self.recalibration.coefficients[0], self.recalibration.coefficients[1:]
        constant = np.isnan(slopes)
        intercept -= self.columns[0, constant] @ coef[constant]
        return float(intercept), np.where(constant, coef, slopes)

    @property
    def constant_columns(self) -> list[str]:
        """Columns that are constant in the new rows, so that a refit keeps their coefficients."""
        import numpy as np

        from ..estimators.coefficients import column_names

        if self.recalibration.coefficients is None:
            return []
        model = self.stored.model
        names = column_names(model) if hasattr(model, "formula_") else self.stored.schema.names
        return [names[j] for j in np.flatnonzero(np.isnan(self.recalibration.coefficients[1:]))]

    def _row(self, update: str | None) -> Any:
        from ..evaluation.model_update import IN_THE_LARGE, LOGISTIC, REFIT

        names = dict(zip(UPDATES, (IN_THE_LARGE, LOGISTIC, REFIT), strict=True))
        wanted = self.recalibration.recommended if update is None else names.get(update)
        found = next((row for row in self.recalibration.rows if row.update == wanted), None)
        if found is None:
            raise ParameterError(f"There is no update {update!r} of {self.stored.name} on these rows.")
        return found

    def save(self, path: str | Path, update: str | None = None) -> None:
        """Write the updated model."""
        _save(self.model(update), path, self.stored.schema, f"{self.stored.name}, updated")


def updated(stored: StoredModel, rows: TrainingTable, with_refit: bool = True) -> UpdatedModel:
    """The updates of a stored model of two classes that labelled rows justify."""
    from ..evaluation.model_update import recalibrate
    from ..evaluation.recalibration import calibration_curve, calibration_line

    model = stored.model
    if len(stored.classes) != 2 or not hasattr(model, "predict_proba"):
        raise ParameterError(f"{stored.name} cannot be recalibrated: this needs probabilities of two classes.")
    truth, p = rows.codes == 1, model.predict_proba(rows.X)[:, 1]
    columns = _columns(model, rows) if _linear_predictor(model) is not None else None
    refitted = columns if with_refit else None
    found = recalibrate(truth, p, rows.weights, columns=refitted)
    shared: dict[str, Any] = {"sample_weight": rows.weights, "groups": rows.groups}
    line, curve = calibration_line(truth, p, **shared), calibration_curve(truth, p, **shared)
    return UpdatedModel(stored, found, line, curve, columns)


def _linear_predictor(model: Any) -> Any:
    """Coefficients and intercept of the log-odds of the second class; None if these are not linear."""
    import numpy as np

    from ..estimators.given import LinearClassifier
    from ..estimators.logistic_inference import LogisticInference

    if not isinstance(model, LinearClassifier | LogisticInference):
        return None
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])


def _columns(model: Any, rows: TrainingTable) -> Array:
    """The columns of the linear predictor."""
    import numpy as np

    from ..data import as_rows, dense_rows

    found = as_rows(model._as_fitted(rows.X))
    return np.asarray(dense_rows(found.block(0, found.n_rows)), dtype=np.float64)
