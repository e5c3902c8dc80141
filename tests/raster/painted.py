"""Small images with known classes."""

import numpy as np
import rasterio

#: Coordinates of a Sentinel-2 tile: metres, 10 m a pixel.
GRID = {"crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 500_000, 0, -10, 5_000_000)}


def write_image(path, values, nodata=None, names=None, **more):
    """A GeoTIFF of these bands (bands, height, width)."""
    values = np.asarray(values)
    count, height, width = values.shape
    # Without this, the fourth band of bytes would count as transparency.
    form = {
        **GRID,
        "photometric": "MINISBLACK",
        **more,
        "driver": "GTiff",
        "count": count,
        "height": height,
        "width": width,
    }
    with rasterio.open(path, "w", **form, dtype=values.dtype, nodata=nodata) as file:
        file.write(values)
        for number, name in enumerate(names or (), start=1):
            file.set_band_description(number, name)
    return path


def read_raster(path):
    """All bands of a raster."""
    with rasterio.open(path) as file:
        return file.read()


def scene(height=60, width=70, n_bands=4, labels=("forest", "sand", "water"), dtype="uint16", seed=0):
    """Bands of an image of normal classes that overlap, the true class of every pixel, and some rows to learn from."""
    rng = np.random.default_rng(seed)
    labels = np.asarray(labels)
    codes = rng.integers(0, len(labels), (height, width))
    means = rng.uniform(80, 130, (len(labels), n_bands))
    roots = 12 * (np.eye(n_bands) + 0.4 * rng.normal(size=(len(labels), n_bands, n_bands)))
    noise = np.einsum("hwj,hwjr->hwr", rng.normal(size=(height, width, n_bands)), roots[codes])
    values = np.clip(means[codes] + noise, 1, 250).transpose(2, 0, 1).astype(dtype)
    X = values.reshape(n_bands, -1).T.astype(np.float64)
    return values, labels[codes], (X[::3], labels[codes].ravel()[::3])


def rows_of(values):
    """The pixels of bands as rows."""
    return values.reshape(len(values), -1).T.astype(np.float64)
