"""The points of the Learn page: where they come from, how they change, and how an address holds them."""

from __future__ import annotations

import base64
import binascii
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..data import as_rows
from ..datasets import Dataset, load, worked_examples
from ..errors import InputError
from ..figures.points import box
from ..results import several
from .learn_catalogue import EXAMPLES, PRESETS

#: Points of a plane at most: beyond it a browser draws slowly, and more teach nothing.
MOST_POINTS = 2_000
#: Classes to paint.
PAINTED = ("A", "B", "C", "D", "E")
#: Points in an address: each is two coordinates in this many steps across the plane, and a class.
_STEPS = 2**16 - 1
_PACKED = np.dtype([("x", "<u2"), ("y", "<u2"), ("k", "u1")])


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of one or two columns, on a plane whose edges stay where they are while rows change."""

    source: str  #: the preset or file they come from
    edited: bool  #: whether they are no longer those of the source
    ids: Array
    values: Array
    codes: Array
    labels: tuple[Any, ...]
    columns: tuple[str, ...]
    limits: Array
    target: str = "class"

    @property
    def paintable(self) -> bool:
        """Whether there is a plane to paint on."""
        return len(self.columns) == 2

    @cached_property
    def X(self) -> Any:
        """The rows with the names of their columns."""
        return as_rows(self.values, self.columns)

    @cached_property
    def y(self) -> Array:
        """The class of each row."""
        return np.array(self.labels)[self.codes]

    @cached_property
    def present(self) -> tuple[int, ...]:
        """The places of the classes that have points."""
        return tuple(np.unique(self.codes).tolist())

    def changed(self, changes: Sequence[Sequence[float]]) -> Points:
        """With points added or moved, as [id, x, y, class], or taken away, as [id]."""
        rows = {int(i): (*map(float, v), int(k)) for i, v, k in zip(self.ids, self.values, self.codes, strict=True)}
        for one in changes:
            number, *row = one
            if not row:
                rows.pop(int(number), None)
            elif len(row) == 3 and np.isfinite(row).all() and 0 <= int(row[2]) < len(self.labels):
                rows[int(number)] = (float(row[0]), float(row[1]), int(row[2]))
        if len(rows) > MOST_POINTS:
            raise InputError(f"A plane holds {MOST_POINTS:,} points at most.")
        values = np.array([row[:2] for row in rows.values()]).reshape(-1, 2)
        codes = np.array([row[2] for row in rows.values()], dtype=np.int64)
        return replace(self, edited=True, ids=np.array(list(rows), dtype=np.int64), values=values, codes=codes)

    def packed(self) -> str:
        """The points as letters of an address."""
        share = (self.values - self.limits[0]) / (self.limits[1] - self.limits[0])
        packed = np.empty(len(self.values), dtype=_PACKED)
        packed["x"], packed["y"] = (np.clip(share, 0, 1) * _STEPS).round().T
        packed["k"] = self.codes
        return base64.urlsafe_b64encode(packed.tobytes()).decode().rstrip("=")

    def unpacked(self, text: str) -> Points:
        """The points that letters of an address stand for, on this plane."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
            packed = np.frombuffer(raw, dtype=_PACKED)
        except (binascii.Error, ValueError):
            raise InputError("The address does not hold points as it should: copy it whole.") from None
        if len(packed) > MOST_POINTS or not (packed["k"] < len(self.labels)).all() or not self.paintable:
            raise InputError("The address holds points that do not belong on this plane: copy it whole.")
        share = np.column_stack((packed["x"], packed["y"])) / _STEPS
        values = self.limits[0] + share * (self.limits[1] - self.limits[0])
        ids, codes = np.arange(1, len(packed) + 1), packed["k"].astype(np.int64)
        return replace(self, edited=True, ids=ids, values=values, codes=codes)

    def csv(self) -> str:
        """The points as the text of a file."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.columns, self.target])
        writer.writerows([*map(repr, map(float, v)), label] for v, label in zip(self.values, self.y, strict=True))
        return text.getvalue()

    def python(self) -> str:
        """The points in Python: ``X`` and ``y``."""
        if not self.edited and self.source in PRESETS and self.source not in ("blank", "iris"):
            return f"from discriminant.datasets import load\n\ndata = load({self.source!r})\nX, y = data.X, data.y\n"
        if not self.edited and self.source == "iris":
            return (
                "from sklearn.datasets import load_iris\n\ndata = load_iris()\nX = data.data[:, 2:]\n"
                "y = data.target_names[data.target]\n"
            )
        rows = ", ".join(f"[{', '.join(f'{value:.6g}' for value in row)}]" for row in self.values)
        return f"import numpy as np\n\nX = np.array([{rows}])\ny = np.array({self.y.tolist()!r})\n"

    def commands(self) -> str:
        """What makes ``points.csv`` of a preset; other points are downloaded."""
        if not self.edited and self.source in PRESETS and self.source not in ("blank", "iris"):
            return f"discriminant dataset {self.source} -o points.csv\n"
        return "# points.csv: its button is beside the points\n"

    def __str__(self) -> str:
        return several(len(self.values), "point")


@cache
def preset(name: str) -> Points:
    """The points of a preset."""
    if name == "blank":
        limits = np.array([[0.0, 0.0], [10.0, 10.0]])
        none = np.empty(0, dtype=np.int64)
        return Points(name, False, none, np.empty((0, 2)), none, PAINTED, ("x1", "x2"), limits)
    if name not in PRESETS:
        raise InputError(f"No points are called {name!r}. Names: {', '.join(PRESETS)}.")
    found = _iris() if name == "iris" else _dataset(load(name))
    return replace(found, source=name)


def points_of(
    source: str, values: Array, y: Array, columns: Sequence[str], target: str = "class", edited: bool = False
) -> Points:
    """Rows as points, with room around them."""
    labels, codes = np.unique(y, return_inverse=True)
    ids = np.arange(1, len(values) + 1)
    plane = values if values.shape[1] == 2 else np.column_stack((values, values))
    limits = _roomy(box(plane))
    return Points(source, edited, ids, values, codes, tuple(labels.tolist()), tuple(columns), limits, target)


@dataclass(frozen=True)
class Columns:
    """A table whose columns can be points: two numbers, and a class."""

    path: Path
    label: str
    names: tuple[str, ...]
    target: str
    numbers: tuple[str, ...]

    @classmethod
    def opened(cls, path: Path, label: str, target: str | None = None) -> Columns:
        """A file with its columns; the last one has the classes unless another is named."""
        from ..tables import open_table, read_training
        from ..tables.sources import open_source

        names = tuple(open_table(open_source(path, label)).columns)
        target = names[-1] if target is None else target
        schema = read_training(open_table(open_source(path, label)), target, rare=1).schema
        numbers = tuple(column.name for column in schema.used if column.kind == "number")
        if not numbers:
            raise InputError(f"{label} has no column of numbers beside {target!r}, and a plane needs two.")
        return cls(path, label, names, target, numbers)

    def points(self, across: str, up: str) -> Points:
        """Two columns as points; of many rows a sample, the same each time."""
        from ..tables import open_table, read_training
        from ..tables.sources import open_source

        others = [name for name in self.names if name not in (across, up, self.target)]
        types = {across: "number", up: "number"}
        table = open_table(open_source(self.path, self.label))
        found = read_training(table, self.target, drop=others, types=types, missing="drop", rare=1)
        places = [found.schema.names.index(name) for name in (across, up) if name in found.schema.names]
        if across == up or len(places) != 2:
            raise InputError("Choose two different columns that vary.")
        values, y = np.asarray(found.X, dtype=np.float64)[:, places], np.asarray(found.y)
        if len(np.unique(y)) > len(PAINTED):
            raise InputError(f"{self.target!r} has {len(np.unique(y))} classes; a plane shows {len(PAINTED)} at most.")
        if len(values) > MOST_POINTS:
            chosen = np.sort(np.random.default_rng(0).permutation(len(values))[:MOST_POINTS])
            values, y = values[chosen], y[chosen]
        return points_of(self.label, values, y, (across, up), self.target, edited=True)


def _roomy(edges: Array) -> Array:
    """Some more room around all rows, to paint in."""
    room = 0.12 * (edges[1] - edges[0])
    return np.stack((edges[0] - room, edges[1] + room))


def _dataset(data: Dataset) -> Points:
    return points_of(data.name, data.X.astype(np.float64), np.asarray(data.y), data.columns, data.target)


def _iris() -> Points:
    from sklearn.datasets import load_iris

    data = load_iris()
    return points_of("iris", data.data[:, 2:], data.target_names[data.target], ("petal length", "petal width"))


@cache
def example_titles() -> dict[str, str]:
    """What the worked examples that can be watched are called."""
    known = worked_examples()
    return {name: known[name].title for name in EXAMPLES}
