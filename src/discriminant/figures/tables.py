"""The confusion matrix as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.counts import ConfusionMatrix
from . import house

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Array = np.ndarray[Any, Any]

#: With more classes than this, numbers in the cells could not be read; they stand in the hover texts.
_MOST_WRITTEN = 16


def confusion(matrix: ConfusionMatrix) -> Figure:
    """The confusion matrix: a row for each true class, a column for each prediction; counts and shares of the row.

    Parameters
    ----------
    matrix : ConfusionMatrix
        Such as ``confusion`` of an `Evaluation`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from discriminant.evaluation import ConfusionMatrix
    >>> figure = confusion(ConfusionMatrix.of(["cat", "cat", "dog"], ["cat", "dog", "dog"]))
    >>> figure.layout.xaxis.title.text, figure.layout.yaxis.title.text
    ('prediction', 'truth')
    >>> figure.data[0].text
    (['1<br>50.0 %', '1<br>50.0 %'], ['0<br>0.0 %', '1<br>100.0 %'])
    """
    remedy = "Make one: ConfusionMatrix.of(y, predicted); an Evaluation has it as confusion."
    house.expect(matrix, (ConfusionMatrix,), "confusion", remedy)
    truth = [house.written(label) for label in matrix.classes.tolist()]
    prediction = [house.written(label) for label in matrix.predictions.tolist()]
    shares = matrix.normalised("truth")
    made = house.figure(
        "Confusion matrix",
        f"{house.counted(matrix.total)} rows, accuracy {matrix.accuracy:.1%}. Cells: rows, and their share of the "
        "true class; colour: that share.",
        height=max(440, 150 + 46 * min(len(truth), 2 * _MOST_WRITTEN)),
    )
    _add_cells(made, matrix.counts, shares, truth, prediction)
    made.update_xaxes(**_class_axis("prediction", prediction, side="bottom"))
    return made.update_yaxes(**_class_axis("truth", truth, autorange="reversed"))


def _class_axis(title: str, names: list[str], **more: Any) -> dict[str, Any]:
    """An axis of classes by their number: names that look alike or like numbers stay apart."""
    places = list(range(len(names)))
    return house.axis(title, tickvals=places, ticktext=names, showgrid=False, ticks="", **more)


def _add_cells(made: Figure, counts: Array, shares: Array, truth: list[str], prediction: list[str]) -> None:
    text = [[_cell(n, share) for n, share in zip(*row, strict=True)] for row in zip(counts, shares, strict=True)]
    hover = [
        [_sentence(counts[i, j], shares[i, j], truth[i], prediction[j]) for j in range(len(prediction))]
        for i in range(len(truth))
    ]
    legible = max(len(truth), len(prediction)) <= _MOST_WRITTEN
    made.add_heatmap(
        z=shares, x=list(range(len(prediction))), y=list(range(len(truth))),
        zmin=0, zmax=1, xgap=2, ygap=2, hoverongaps=True,
        colorscale=[[0, "#ffffff"], [1, house.colour(0)]],
        colorbar={"title": {"text": "share of true class", "side": "right"}, "tickformat": ".0%", "outlinewidth": 0},
        text=text, texttemplate="%{text}" if legible else "",
        customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _cell(count: float, share: float) -> str:
    return house.counted(count) if math.isnan(share) else f"{house.counted(count)}<br>{100 * share:.1f} %"


def _sentence(count: float, share: float, truth: str, prediction: str) -> str:
    if math.isnan(share):
        return f"no row is {truth}"
    return f"{house.counted(count)} rows that are {truth} were predicted {prediction}<br>({share:.1%} of all {truth})"
