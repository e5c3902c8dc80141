"""Tables out of a model: ``discriminant sample`` draws rows, ``discriminant transform`` turns rows to coordinates."""

from __future__ import annotations

from typing import Annotated, Any

from ..errors import ParameterError
from . import options
from .console import check_output, file_or_none, table_writer
from .modelfile import StoredModel, batches, opened
from .options import TableOptions, command, option


@command
def sample(
    model: options.ModelPath,
    n: Annotated[int, option("N", "How many rows.", "--rows", "-n")] = 100,
    label: Annotated[str | None, option("LABEL", "Rows of one class; by the priors if not given.", "--class")] = None,
    seed: Annotated[int, option("N", "The same seed draws the same rows.")] = 0,
    output: options.Output = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Draw rows from a generative model (lda, qda, gaussian-nb, naive-bayes).

    Columns are those of the model: numbers, and marks of levels where columns were categories.

    \b
    Examples:
      discriminant sample model.dsc -n 1000 -o synthetic.csv
      discriminant sample model.dsc --class ill
    """
    output = file_or_none(output)
    check_output(output, overwrite, model)
    stored = opened(model)
    if not hasattr(stored.model, "sample"):
        raise ParameterError(f"{stored.name} has no distribution of rows to draw from: use lda, qda or gaussian-nb.")
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
        str | None,
        option(
            "CLASS|all",
            "Sphered coordinates, in which the covariance within classes is 1: 'all' of lda, a class of qda.",
        ),
    ] = None,
    output: options.Output = None,
    absent: options.Absent = "refuse",
    reading: TableOptions = TableOptions(),
    overwrite: options.Overwrite = False,
) -> None:
    """Write the rows of a table in the discriminant coordinates of a model, with what it predicts.

    \b
    Examples:
      discriminant transform lda.dsc data.csv -o axes.csv
      discriminant transform lda.dsc data.csv --sphere all
      discriminant transform qda.dsc data.csv --sphere ill
    """
    import pyarrow as pa

    output = file_or_none(output)
    check_output(output, overwrite, model, data)
    stored = opened(model)
    table = stored.table(reading, data, absent)
    with table_writer(output, "refuse") as write:
        for first, batch in batches(table):
            X, kept = stored.coded(batch, absent, first)
            if kept is not None and not kept.all():
                raise ParameterError("Some rows miss values, and the model leaves such rows out: fill them first.")
            coordinates, name = _coordinates(stored, X, sphere)
            columns: dict[str, Any] = {f"{name} {j + 1}": values for j, values in enumerate(coordinates.T)}
            write(pa.table({**columns, "prediction": stored.model.predict(X)}))
    stored.tell_report()


def _coordinates(stored: StoredModel, X: Any, sphere: str | None) -> tuple[Any, str]:
    """The coordinates of coded rows, and what an axis is called."""
    from ..decision.costs import class_written

    model = stored.model
    if sphere is None:
        if not hasattr(model, "transform"):
            raise ParameterError(f"{stored.name} has no discriminant axes: use lda, or --sphere with qda.")
        return model.transform(X), "axis"
    if not hasattr(model, "sphere"):
        raise ParameterError(f"{stored.name} has no sphere: use lda or qda.")
    if hasattr(model, "scalings_"):
        return model.sphere(X), "sphered"
    return model.sphere(X, class_written(sphere, stored.classes)), "sphered"
