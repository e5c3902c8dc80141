"""Simulated images of fields: pixels of a field resemble each other, as fields of one class differ."""

from dataclasses import dataclass

import numpy as np

from discriminant.raster import Band, SampleOrigin, Samples

#: A coordinate system of metres, and pixels of 10 m.
ORIGIN = SampleOrigin(("scene.tif",), (0, 0), "EPSG:32633", (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0))


@dataclass(frozen=True)
class Fields:
    """Fields in a row, each with a class, and what its pixels have in common.

    ``between`` is the standard deviation of fields of one class in every band, ``within`` that of pixels of a field.
    """

    n_fields: int
    n_classes: int = 3
    n_bands: int = 6
    between: float = 2.0
    within: float = 0.5
    side: int = 20
    gap: int = 30
    seed: int = 0

    def samples(self, per_field, points=True, fields=None):
        """Pixels of the fields: points, each an area of its own, or an area for each field."""
        rng = np.random.default_rng(self.seed)
        means = np.random.default_rng(99).normal(size=(self.n_classes, self.n_bands))
        field = np.arange(self.n_fields)
        effects = means[field % self.n_classes] + rng.normal(0, self.between, (self.n_fields, self.n_bands))
        chosen = field if fields is None else np.asarray(fields)
        own = np.repeat(chosen, per_field)
        place = np.concatenate([rng.choice(self.side**2, per_field, replace=False) for _ in chosen])
        rows, columns = place // self.side, place % self.side + own * (self.side + self.gap)
        X = effects[own] + rng.normal(0, self.within, (len(own), self.n_bands))
        areas = np.arange(len(own)) if points else own
        bands = tuple(Band(f"b{j}", "float64") for j in range(self.n_bands))
        labels = np.array(["crop", "grass", "wood", "bare"])[own % self.n_classes]
        return Samples(X, labels, areas, rows, columns, bands, ORIGIN)
