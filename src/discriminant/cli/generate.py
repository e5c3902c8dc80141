"""``discriminant learn sample`` and ``transform``: rows sampled from a model, and rows in its discriminant axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ParameterError
from ..workflow.stored import StoredModel, numbered_batches, open_model
from . import options
from .console import print_findings
from .options import TableOptions, command, option, print_encoding
from .output import check_output, file_or_none, table_writer

if TYPE_CHECKING:
    from ..arrays import Array, MatrixLike


@command
def sample(
    model: options.ModelPath,
    n: Annotated[int, option("N", "Number of rows.", "--rows", "-n")] = 100,
    label: Annotated[str | None, option("CLASS", "Class of the rows.  [default: by the priors]", "--class")] = None,
    seed: Annotated[int, option("N", "Random seed.")] = 0,
    output: options.TableFile = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Sample rows from a generative model.

    Generative models are lda, qda, gaussian-nb and naive-bayes. The columns are those of the model: numbers, and
    indicators of levels for categories.

    Examples:
      discriminant learn sample model.dsc -n 1000 -o synthetic.csv
      discriminant learn sample model.dsc --class ill
    """
    output = file_or_none(output)
    check_output(output, overwrite, model)
    stored = open_model(model)
    if not hasattr(stored.model, "sample"):
        raise ParameterError(f"{stored.name} is not a generative model. Use lda, qda, gaussian-nb or naive-bayes.")
    import numpy as np
    import pyarrow as pa

    from ..decision.costs import class_written

    wanted = None if label is None else class_written(label, stored.classes)
    X, y = stored.model.sample(n, random_state=seed, label=wanted)
    target = stored.schema.target
    columns = dict(zip(stored.schema.names, np.asarray(X, dtype=np.float64).T, strict=True))
    columns["class" if target is None or target.name is None else target.name] = y
    with table_writer(output, "refuse") as write:
        write(pa.table(columns))


@command
def transform(
    model: options.ModelPath,
    data: options.Data,
    sphere: Annotated[
        str | None, option("CLASS|all", "Sphered coordinates instead: 'all' for lda, a class for qda.")
    ] = None,
    output: options.TableFile = None,
    missing_columns: options.MissingColumns = "refuse",
    reading: TableOptions = TableOptions(),
    overwrite: options.Overwrite = False,
) -> None:
    """Write discriminant coordinates and predictions.

    The output has a row for each row of the table. In sphered coordinates the within-class covariance is the identity.

    Examples:
      discriminant learn transform lda.dsc data.csv -o axes.csv
      discriminant learn transform lda.dsc data.csv --sphere all
      discriminant learn transform qda.dsc data.csv --sphere ill
    """
    import pyarrow as pa

    output = file_or_none(output)
    check_output(output, overwrite, model, data)
    stored = open_model(model)
    table = stored.table(reading, data, missing_columns)
    print_findings(table.findings)
    with table_writer(output, "refuse") as write:
        for first, batch in numbered_batches(table):
            X, kept = stored.coded(batch, missing_columns, first)
            if kept is not None and not kept.all():
                raise ParameterError(
                    "Some rows have missing values, but the model was fitted without such rows (--missing drop). "
                    "Remove or impute them."
                )
            coordinates, name = _coordinates(stored, X, sphere)
            columns: dict[str, Any] = {f"{name} {j + 1}": values for j, values in enumerate(coordinates.T)}
            write(pa.table({**columns, "prediction": stored.model.predict(X)}))
    print_encoding(stored)


def _coordinates(stored: StoredModel, X: MatrixLike, sphere: str | None) -> tuple[Array, str]:
    """The coordinates of coded rows, and the name of an axis."""
    from ..decision.costs import class_written

    model = stored.model
    if sphere is None:
        if not hasattr(model, "transform"):
            raise ParameterError(f"{stored.name} has no discriminant axes. Use lda, or --sphere with qda.")
        return model.transform(X), "axis"
    if not hasattr(model, "sphere"):
        raise ParameterError(f"{stored.name} has no sphered coordinates. Use lda or qda.")
    if hasattr(model, "scalings_"):
        return model.sphere(X), "sphered"
    return model.sphere(X, class_written(sphere, stored.classes)), "sphered"
