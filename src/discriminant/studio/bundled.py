"""Examples: datasets of scikit-learn, written as CSV files, and the image of `discriminant.datasets.scene`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

#: Loader and target column of each example table, by title.
BUNDLED: Final = {
    "Tumours (569 rows, two classes)": ("breast_cancer", "diagnosis"),
    "Iris (150 rows, three classes)": ("iris", "species"),
    "Wines (178 rows, three classes)": ("wine", "cultivar"),
}


def write_bundled(name: str, folder: Path) -> Path:
    """Return the file of an example table; write it if it does not exist."""
    from sklearn import datasets

    loader, target = BUNDLED[name]
    path = folder / f"{loader.replace('_', '-')}.csv"
    if not path.exists():
        data = getattr(datasets, f"load_{loader}")()
        labels = data.target_names[data.target].tolist()
        rows = ([*values, label] for values, label in zip(data.data.tolist(), labels, strict=True))
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[*map(str, data.feature_names), target], *rows])
    return path


def write_scene(folder: Path) -> Path:
    """Return the file of the example image, with areas beside it; write it if it does not exist."""
    from ..datasets import scene

    path = folder / "examples" / "scene" / "scene.tif"
    return path if path.exists() else scene().write(path.parent)["image"]
