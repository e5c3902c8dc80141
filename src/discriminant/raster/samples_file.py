"""Samples in files: Parquet, which other programs read too, or npz."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..storage.writing import write_whole
from ..tables.learning import Finding
from .image import Band
from .samples import Origin, Samples

Array = np.ndarray[Any, Any]

_FORMAT, _VERSION = "discriminant samples", 1
_KEY = b"discriminant"
_PLACES = ("class", "area", "row", "column")


def save_samples(samples: Samples, path: str | os.PathLike[str]) -> None:
    """Write samples to a file, whole or not at all: ``.parquet`` (a column for each band) or ``.npz``.

    Parameters
    ----------
    samples : Samples
    path : path

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from discriminant.raster import Band, Samples, load_samples, save_samples
    >>> values, place = np.array([[7], [9]], dtype="uint8"), np.array([0, 1])
    >>> samples = Samples(values, np.array(["sand", "water"]), place, place, place, (Band("red", "uint8"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_samples(samples, f"{folder}/samples.parquet")
    ...     load_samples(f"{folder}/samples.parquet").y
    array(['sand', 'water'], dtype='<U5')
    """
    content = {".parquet": _parquet, ".npz": _npz}[_ending(path)](samples)
    write_whole(path, content)


def load_samples(path: str | os.PathLike[str]) -> Samples:
    """The samples that `save_samples` wrote to a file.

    Parameters
    ----------
    path : path

    Returns
    -------
    Samples
    """
    ending, name = _ending(path), os.fspath(path)
    if not os.path.isfile(path):
        raise InputError(f"There is no file {name!r}. Check its name and folder.")
    try:
        return {".parquet": _from_parquet, ".npz": _from_npz}[ending](name)
    except InputError:
        raise
    except Exception as error:
        # Whatever a damaged or foreign file runs into while it is read.
        raise InputError(
            f"{name!r} cannot be read as samples ({type(error).__name__}: {error}). Give a file written by "
            "save_samples or by the command 'raster samples'."
        ) from error


def _ending(path: str | os.PathLike[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in (".parquet", ".npz"):
        raise InputError(f"Samples are kept in files that end in .parquet or .npz, got {os.fspath(path)!r}.")
    return ending


def _description(samples: Samples) -> str:
    return json.dumps(
        {
            "format": _FORMAT,
            "version": _VERSION,
            "bands": [band.to_dict() for band in samples.bands],
            "origin": samples.origin.to_dict(),
            "findings": [finding.to_dict() for finding in samples.findings],
        }
    )


def _described(text: str | bytes, arrays: dict[str, Array], X: Array) -> Samples:
    told = json.loads(text)
    if told.get("format") != _FORMAT or told.get("version") != _VERSION:
        raise InputError(f"Expected {_FORMAT} of version {_VERSION}, got {told.get('format')} {told.get('version')}.")
    origin: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in told["origin"].items()
    }
    samples = Samples(
        X, arrays["class"], arrays["area"], arrays["row"], arrays["column"],
        tuple(Band(**band) for band in told["bands"]), Origin(**origin),
        tuple(Finding(**finding) for finding in told["findings"]),
    )  # fmt: skip
    if X.shape != (samples.n_pixels, len(samples.bands)):
        raise InputError(f"The file promises {len(samples.bands)} bands and holds values of shape {X.shape}.")
    return samples


def _places(samples: Samples) -> dict[str, Array]:
    return dict(zip(_PLACES, (samples.y, samples.areas, samples.rows, samples.columns), strict=True))


def _parquet(samples: Samples) -> bytes:
    import pyarrow
    import pyarrow.parquet

    # The places of the bands come first in their names, so that no band can be called like another column.
    x, y = samples.coordinates.T
    columns = {**_places(samples), "x": x, "y": y}
    names = [*columns, *(f"{j + 1}: {band}" for j, band in enumerate(samples.band_names))]
    arrays = [pyarrow.array(values) for values in (*columns.values(), *samples.X.T)]
    table = pyarrow.Table.from_arrays(arrays, names).replace_schema_metadata({_KEY: _description(samples)})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def _from_parquet(path: str) -> Samples:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        raise InputError(f"{path!r} is a table, but no samples of an image. Give a file written by save_samples.")
    places = {key: _plain_array(table[key].to_numpy()) for key in _PLACES}
    bands = [table[j].to_numpy() for j in range(len(_PLACES) + 2, table.num_columns)]
    return _described(text, places, np.ascontiguousarray(np.stack(bands, axis=1)))


def _plain_array(values: Array) -> Array:
    """Text as NumPy's own, not as objects."""
    return values.astype(str) if values.dtype == object else values


def _npz(samples: Samples) -> bytes:
    stream = io.BytesIO()
    arrays: dict[str, Any] = {"X": samples.X, "description": np.array(_description(samples)), **_places(samples)}
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def _from_npz(path: str) -> Samples:
    # NumPy would leave a damaged file open.
    with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
        return _described(str(file["description"]), {key: file[key] for key in _PLACES}, file["X"])
