"""The rows and the winner's regions in the plane in which the classes differ most."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .drawing import drawing
from .material import Material

#: Points across the picture, and points of the regions of all classes together: each is a number in the file.
_RESOLUTION, _POINTS = 120, 80_000


def regions_part(material: Material) -> dict[str, Any]:
    """What the part on decision regions shows."""
    if material.model is None or material.rows is None:
        return {"reason": "The fitted model and the rows are needed to draw them, and were not given to the report."}
    if len(material.rows.names) < 2:
        return {"reason": "There is only one column: its boundaries are points, not regions."}
    if sp.issparse(material.rows.X):
        return {"reason": "The rows are sparse and wide: a picture in two directions would need all of them at once."}
    return {"reason": "", "drawing": drawing("plot-regions", _figure, material)}


def _figure(material: Material) -> Any:
    from ..figures import decision_regions, theme

    rows = material.rows
    assert rows is not None
    finest = int(np.sqrt(_POINTS / len(material.classes)))
    figure = decision_regions(material.model, rows.X, rows.y, resolution=min(_RESOLUTION, finest))
    if len(rows.names) == 2:
        figure.update_xaxes(title={"text": theme.written(rows.names[0])})
        figure.update_yaxes(title={"text": theme.written(rows.names[1])})
    return figure
