"""Every dataset and worked example, and where it is defined."""

from .catalogue import WorkedExample, load, names, worked_example, worked_examples
from .scenes import Scene, scene
from .tables import (
    Dataset,
    avocado_weights,
    avocados,
    characters,
    crossed_normals,
    curved,
    far_rows,
    logic_gate,
    pinwheel,
    six_rows,
    three_in_a_row,
    titanic,
    triangle,
    two_normals,
    vowels,
)

__all__ = [
    "Dataset",
    "Scene",
    "WorkedExample",
    "avocado_weights",
    "avocados",
    "characters",
    "crossed_normals",
    "curved",
    "far_rows",
    "load",
    "logic_gate",
    "names",
    "pinwheel",
    "scene",
    "six_rows",
    "three_in_a_row",
    "titanic",
    "triangle",
    "two_normals",
    "vowels",
    "worked_example",
    "worked_examples",
]
