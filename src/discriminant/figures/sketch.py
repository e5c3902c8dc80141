"""Figures as plain values: what plotly's own objects come to, without building and checking them.

Problem: a server that answers a class room draws dozens of figures a second, and most of the time of a figure is
plotly's checking of every property (regions of three classes: 30 ms, as a sketch 5 ms). Method: a `Sketch` has the few
methods by which figures of this package are made, and collects dictionaries. It is the same picture: the tests compare
what both come to, figure by figure.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array

#: Arrays of fewer numbers are shorter, and easier to read, as text.
_BINARY = 32
#: The byte of a grid that stands for no number.
_NONE = 255


class Sketch:
    """A figure in the making, with the methods of plotly's that this package calls."""

    def __init__(self, layout: Mapping[str, Any]) -> None:
        self.data: list[dict[str, Any]] = []
        self.frames: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}
        self.update_layout(layout)

    def __getattr__(self, name: str) -> Callable[..., Sketch]:
        if not name.startswith("add_"):
            raise AttributeError(name)
        return partial(self._add, name.removeprefix("add_"))

    def _add(self, kind: str, **values: Any) -> Sketch:
        return self.add_traces([{"type": kind, **values}])

    def add_traces(self, traces: Sequence[Mapping[str, Any]]) -> Sketch:
        """Draw more."""
        self.data.extend({name: value for name, value in trace.items() if value is not None} for trace in traces)
        return self

    def add_annotation(self, **values: Any) -> Sketch:
        """Write something into the picture."""
        self.layout.setdefault("annotations", []).append(values)
        return self

    def add_vline(self, x: float, line: Mapping[str, Any], annotation: Mapping[str, Any] | None = None) -> Sketch:
        """A vertical line from edge to edge, with words at its upper end."""
        ends = {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
        self.layout.setdefault("shapes", []).append({**ends, "line": dict(line)})
        if annotation is not None:
            place = {"x": x, "y": 1, "xref": "x", "yref": "y domain", "showarrow": False, "xanchor": "left"}
            self.add_annotation(**{**place, "yanchor": "top", **annotation})
        return self

    def update_layout(self, values: Mapping[str, Any] | None = None, **more: Any) -> Sketch:
        """Change the layout; what is not named stays."""
        _merge(self.layout, {**(values or {}), **more})
        return self

    def update_xaxes(self, **values: Any) -> Sketch:
        """Change the horizontal axis."""
        return self.update_layout(xaxis=values)

    def update_yaxes(self, **values: Any) -> Sketch:
        """Change the vertical axis."""
        return self.update_layout(yaxis=values)

    def to_dict(self) -> dict[str, Any]:
        """What plotly's program draws: data, layout and frames, as JSON takes them."""
        found: dict[str, Any] = _written({"data": self.data, "layout": self.layout, "frames": self.frames})
        return found

    def in_bytes(self) -> dict[str, Any]:
        """The same for a page that reads grids of one byte a number: ``bytes``, which go from ``low`` to ``high``.

        The last of 256 values is none. It is a fifth of the letters, and what a screen shows of a grid.
        """
        found = self.to_dict()
        for written, trace in zip(found["data"], self.data, strict=True):
            if trace["type"] == "heatmap":
                written["z"] = _bytes(np.asarray(trace["z"], dtype=np.float64))
        return found


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping):
            _merge(into.setdefault(name, {}), value)
        elif value is not None:
            into[name] = value


def _written(value: Any) -> Any:
    """A value as JSON takes it; long arrays as plotly's program reads them, in a third of the letters."""
    if isinstance(value, Mapping):
        return {name: _written(part) for name, part in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return _array(value) if value.dtype.kind in "fiu" and value.size >= _BINARY else _written(value.tolist())
    if isinstance(value, list | tuple):
        return [_written(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _bytes(grid: Array) -> dict[str, Any]:
    there = np.isfinite(grid)
    low, high = (float(grid[there].min()), float(grid[there].max())) if there.any() else (0.0, 1.0)
    steps = np.full(grid.shape, _NONE, dtype=np.uint8)
    steps[there] = np.round((_NONE - 1) * (grid[there] - low) / max(high - low, 1e-300))
    written = base64.b64encode(steps.tobytes()).decode()
    return {"bytes": written, "low": low, "high": high, "width": grid.shape[1]}


def _array(values: Array) -> dict[str, Any]:
    kept = values.dtype in (np.float64, np.int16)
    narrow = values if kept else values.astype(np.float32)
    made = {"dtype": f"{narrow.dtype.kind}{narrow.itemsize}", "bdata": base64.b64encode(narrow.tobytes()).decode()}
    return made if values.ndim == 1 else {**made, "shape": ", ".join(map(str, values.shape))}
