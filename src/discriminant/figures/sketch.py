"""Figures as plain values, without building and checking plotly's objects.

Most of the time for a figure is spent on plotly's validation of properties (decision regions of three classes: 30 ms,
as a sketch 5 ms), too much for a server that draws dozens of figures per second. A `Sketch` has the few methods of
plotly's figures that this package calls, and collects dictionaries. Tests compare sketches with figures.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from ..arrays import Array

#: The value of a property of a figure.
Property: TypeAlias = "str | float | bool | Array | Sequence[Property] | Mapping[str, Property] | None"
#: Shorter arrays are written as text.
MIN_BINARY_SIZE: Final = 32
#: The byte of a grid for a missing value.
MISSING_BYTE: Final = 255


class Sketch:
    """A figure with the methods of plotly's figures that this package calls."""

    def __init__(self, layout: Mapping[str, Property]) -> None:
        self.data: list[dict[str, Any]] = []
        self.frames: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}
        self.update_layout(layout)

    def __getattr__(self, name: str) -> Callable[..., Sketch]:
        if not name.startswith("add_"):
            raise AttributeError(name)
        return partial(self._add, name.removeprefix("add_"))

    def _add(self, kind: str, **values: Property) -> Sketch:
        return self.add_traces([{"type": kind, **values}])

    def add_traces(self, traces: Sequence[Mapping[str, Property]]) -> Sketch:
        """Add traces."""
        self.data.extend({name: value for name, value in trace.items() if value is not None} for trace in traces)
        return self

    def add_annotation(self, **values: Property) -> Sketch:
        """Add a text."""
        self.layout.setdefault("annotations", []).append(values)
        return self

    def add_vline(
        self, x: float, line: Mapping[str, Property], annotation: Mapping[str, Property] | None = None
    ) -> Sketch:
        """Add a vertical line over the whole height, with a text at its upper end."""
        ends = {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
        self.layout.setdefault("shapes", []).append({**ends, "line": dict(line)})
        if annotation is not None:
            place: dict[str, Property] = {
                "x": x,
                "y": 1,
                "xref": "x",
                "yref": "y domain",
                "showarrow": False,
                "xanchor": "left",
            }
            self.add_annotation(**{**place, "yanchor": "top", **annotation})
        return self

    def update_layout(self, values: Mapping[str, Property] | None = None, **more: Property) -> Sketch:
        """Change the given properties of the layout."""
        _merge(self.layout, {**(values or {}), **more})
        return self

    def update_xaxes(self, **values: Property) -> Sketch:
        """Change the horizontal axis."""
        return self.update_layout(xaxis=values)

    def update_yaxes(self, **values: Property) -> Sketch:
        """Change the vertical axis."""
        return self.update_layout(yaxis=values)

    def to_dict(self) -> dict[str, Any]:
        """Data, layout and frames for plotly.js, as JSON-serialisable values."""
        found: dict[str, Any] = _written({"data": self.data, "layout": self.layout, "frames": self.frames})
        return found

    def in_bytes(self) -> dict[str, Any]:
        """Like `to_dict`, with heat maps of one byte per value: ``bytes``, which range from ``low`` to ``high``.

        The last of 256 values means missing. This takes a fifth of the characters, with the resolution of a screen.
        """
        found = self.to_dict()
        for written, trace in zip(found["data"], self.data, strict=True):
            if trace["type"] == "heatmap":
                written["z"] = _bytes(np.asarray(trace["z"], dtype=np.float64))
        return found


def _merge(into: dict[str, Any], values: Mapping[str, Property]) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping):
            _merge(into.setdefault(name, {}), value)
        elif value is not None:
            into[name] = value


def _written(value: Property) -> Any:
    """A JSON-serialisable value; long arrays in the binary form of plotly.js, with a third of the characters."""
    if isinstance(value, Mapping):
        return {name: _written(part) for name, part in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return (
            _array(value) if value.dtype.kind in "fiu" and value.size >= MIN_BINARY_SIZE else _written(value.tolist())
        )
    if isinstance(value, list | tuple):
        return [_written(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _bytes(grid: Array) -> dict[str, Any]:
    there = np.isfinite(grid)
    low, high = (float(grid[there].min()), float(grid[there].max())) if there.any() else (0.0, 1.0)
    steps = np.full(grid.shape, MISSING_BYTE, dtype=np.uint8)
    steps[there] = np.round((MISSING_BYTE - 1) * (grid[there] - low) / max(high - low, 1e-300))
    written = base64.b64encode(steps.tobytes()).decode()
    return {"bytes": written, "low": low, "high": high, "width": grid.shape[1]}


def _array(values: Array) -> dict[str, Any]:
    kept = values.dtype in (np.float64, np.int16)
    narrow = values if kept else values.astype(np.float32)
    made = {"dtype": f"{narrow.dtype.kind}{narrow.itemsize}", "bdata": base64.b64encode(narrow.tobytes()).decode()}
    return made if values.ndim == 1 else {**made, "shape": ", ".join(map(str, values.shape))}
