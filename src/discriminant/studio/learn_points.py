"""The points of the Learn page: their source, changes, and their coding in an address."""

from __future__ import annotations

import base64
import binascii
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..data import as_rows
from ..datasets import Dataset, load, worked_examples
from ..errors import InputError
from ..figures.points import box
from ..results import several
from ..workflow.tables import Preparation, Reading, Roles, read_labelled, source_file
from .learn_views import EXAMPLES, PRESETS

#: Points of a plane; browsers draw more slowly.
MAX_POINTS: Final = 2_000
#: Classes to paint on an empty plane.
PAINTED: Final = ("A", "B", "C", "D", "E")
#: Points in an address: two coordinates in this many steps across the plane, and a class.
_STEPS: Final = 2**16 - 1
_PACKED: Final = np.dtype([("x", "<u2"), ("y", "<u2"), ("k", "u1")])


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of one or two columns, on a plane whose limits stay fixed while rows change."""

    source: str  #: their dataset or file
    edited: bool  #: whether they differ from the source
    ids: Array
    values: Array
    codes: Array
    labels: tuple[Any, ...]
    columns: tuple[str, ...]
    limits: Array
    target: str = "class"

    @property
    def paintable(self) -> bool:
        """Whether the points can be painted: they have two columns."""
        return len(self.columns) == 2

    @cached_property
    def X(self) -> Any:
        """The rows with the names of their columns."""
        return self.in_form(self.values)

    def in_form(self, values: Array) -> Any:
        """Other rows with the names of the columns."""
        return as_rows(values, self.columns)

    @cached_property
    def y(self) -> Array:
        """The class of each row."""
        return np.array(self.labels)[self.codes]

    @cached_property
    def present(self) -> tuple[int, ...]:
        """The codes of the classes that have points."""
        return tuple(np.unique(self.codes).tolist())

    def changed(self, changes: Sequence[Sequence[float]]) -> Points:
        """The points after changes: [id, x, y, class] adds or moves a point, [id] removes it."""
        rows = {int(i): (*map(float, v), int(k)) for i, v, k in zip(self.ids, self.values, self.codes, strict=True)}
        for one in changes:
            number, *row = one
            if not row:
                rows.pop(int(number), None)
            elif len(row) == 3 and np.isfinite(row).all() and 0 <= int(row[2]) < len(self.labels):
                rows[int(number)] = (float(row[0]), float(row[1]), int(row[2]))
        if len(rows) > MAX_POINTS:
            raise InputError(f"Too many points: at most {MAX_POINTS:,} are possible. Erase some.")
        values = np.array([row[:2] for row in rows.values()]).reshape(-1, 2)
        codes = np.array([row[2] for row in rows.values()], dtype=np.int64)
        return replace(self, edited=True, ids=np.array(list(rows), dtype=np.int64), values=values, codes=codes)

    def packed(self) -> str:
        """The points as text for an address."""
        share = (self.values - self.limits[0]) / (self.limits[1] - self.limits[0])
        packed = np.empty(len(self.values), dtype=_PACKED)
        packed["x"], packed["y"] = (np.clip(share, 0, 1) * _STEPS).round().T
        packed["k"] = self.codes
        return base64.urlsafe_b64encode(packed.tobytes()).decode().rstrip("=")

    def unpacked(self, text: str) -> Points:
        """The points of an address, on this plane."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
            packed = np.frombuffer(raw, dtype=_PACKED)
        except (binascii.Error, ValueError):
            raise InputError("The points in the address are incomplete. Copy the whole address.") from None
        if len(packed) > MAX_POINTS or not (packed["k"] < len(self.labels)).all() or not self.paintable:
            raise InputError("The points in the address do not belong to this dataset. Copy the whole address.")
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
        """The command that writes ``points.csv``; edited points are downloaded."""
        if not self.edited and self.source in PRESETS and self.source not in ("blank", "iris"):
            return f"discriminant dataset {self.source} -o points.csv\n"
        return "# Download points.csv with the button on the page.\n"

    def __str__(self) -> str:
        return several(len(self.values), "point")


@cache
def preset(name: str) -> Points:
    """The points of a dataset."""
    if name == "blank":
        limits = np.array([[0.0, 0.0], [10.0, 10.0]])
        none = np.empty(0, dtype=np.int64)
        return Points(name, False, none, np.empty((0, 2)), none, PAINTED, ("x1", "x2"), limits)
    if name not in PRESETS:
        raise InputError(f"Unknown dataset {name!r}. Expected one of: {', '.join(PRESETS)}.")
    found = _iris() if name == "iris" else _dataset(load(name))
    return replace(found, source=name)


def points_of(
    source: str, values: Array, y: Array, columns: Sequence[str], target: str = "class", edited: bool = False
) -> Points:
    """Rows as points, on a plane with a margin."""
    labels, codes = np.unique(y, return_inverse=True)
    ids = np.arange(1, len(values) + 1)
    plane = values if values.shape[1] == 2 else np.column_stack((values, values))
    limits = _padded(box(plane))
    return Points(source, edited, ids, values, codes, tuple(labels.tolist()), tuple(columns), limits, target)


@dataclass(frozen=True)
class Columns:
    """A table with numeric columns for the axes and a column of classes."""

    path: Path
    label: str
    names: tuple[str, ...]
    target: str
    numbers: tuple[str, ...]

    @classmethod
    def opened(cls, path: Path, label: str, target: str | None = None) -> Columns:
        """Open a file; by default the target is its last column."""
        names = tuple(Reading().open(source_file(path, label)).columns)
        target = names[-1] if target is None else target
        schema = read_labelled(source_file(path, label), Roles(target), preparation=Preparation(rare=1)).schema
        numbers = tuple(column.name for column in schema.used if column.kind == "number")
        if not numbers:
            raise InputError(f"{label} has no numeric column besides {target!r}. Two numeric columns are needed.")
        return cls(path, label, names, target, numbers)

    def points(self, across: str, up: str) -> Points:
        """Two columns as points; a fixed random sample if there are too many rows."""
        others = [name for name in self.names if name not in (across, up, self.target)]
        types = [f"{name}=number" for name in (across, up)]
        preparation = Preparation(drop=others, types=types, missing="drop", rare=1)
        found = read_labelled(source_file(self.path, self.label), Roles(self.target), preparation=preparation).training
        places = [found.schema.names.index(name) for name in (across, up) if name in found.schema.names]
        if across == up or len(places) != 2:
            raise InputError("Choose two different columns that are not constant.")
        values, y = np.asarray(found.X, dtype=np.float64)[:, places], np.asarray(found.y)
        if len(np.unique(y)) > len(PAINTED):
            raise InputError(
                f"Target {self.target!r} has {len(np.unique(y))} classes; at most {len(PAINTED)} can be shown. "
                "Choose another target column."
            )
        if len(values) > MAX_POINTS:
            chosen = np.sort(np.random.default_rng(0).permutation(len(values))[:MAX_POINTS])
            values, y = values[chosen], y[chosen]
        return points_of(self.label, values, y, (across, up), self.target, edited=True)


def _padded(edges: Array) -> Array:
    """The limits with a margin to paint in."""
    padding = 0.12 * (edges[1] - edges[0])
    return np.stack((edges[0] - padding, edges[1] + padding))


def _dataset(data: Dataset) -> Points:
    return points_of(data.name, data.X.astype(np.float64), np.asarray(data.y), data.columns, data.target)


def _iris() -> Points:
    from sklearn.datasets import load_iris

    data = load_iris()
    return points_of("iris", data.data[:, 2:], data.target_names[data.target], ("petal length", "petal width"))


@cache
def example_titles() -> dict[str, str]:
    """The titles of the worked examples that have a lesson."""
    known = worked_examples()
    return {name: known[name].title for name in EXAMPLES}
