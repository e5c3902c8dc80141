"""Bands of images: names and types, and the comparison with the bands that a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..errors import ColumnError, InputError, Message, Setting
from ..results import Finding, listed
from .dates import comparable_names, matched_days, order_by_date, ranks

if TYPE_CHECKING:
    from .image import Image


#: Embeddings have 64 bands or more; the lengths of their pixels vary by rounding to 8 bits only.
MIN_EMBEDDING_BANDS: Final = 32
MAX_LENGTH_VARIATION: Final = 0.02
MAX_TESTED_PIXELS: Final = 10_000
#: Number of bands listed in a message.
MAX_NAMED_BANDS: Final = 20


@dataclass(frozen=True)
class Band:
    """A band of an image: its name, type, position and scaling.

    A band without a description in the file is named after its number or, in a stack of files, after its file.

    Parameters
    ----------
    name : str
        The name of the band.
    dtype : str
        The type of its values, such as "uint16".
    named : bool, default=False
        Whether the name comes from the file.
    number : int, default=0
        Its number in the image, from 1, including bands that are not read.
    of : int, default=0
        The number of bands in the image, including those that are not read.
    scale, offset : float, default=1.0 and 0.0
        The physical value is ``scale * value + offset``, according to the file.
    expression : str, default=""
        For a computed band, see `add_indices`: how it is computed.

    See Also
    --------
    Image : Has bands.
    refuse_other_bands : Compares bands.

    Examples
    --------
    >>> from discriminant.raster import Band
    >>> Band("near infrared", "uint16", named=True).name
    'near infrared'
    """

    name: str
    dtype: str
    named: bool = False
    number: int = 0
    of: int = 0
    scale: float = 1.0
    offset: float = 0.0
    expression: str = ""


def stored_bands(values: Sequence[dict[str, Any]], source: str) -> tuple[Band, ...]:
    """The bands described in a file of samples or of a model."""
    try:
        bands = tuple(Band(**one) for one in values)
    except TypeError:
        bands = ()
    if not bands or any(_field_types(band) != _field_types(Band("", "")) for band in bands):
        raise InputError(f"{source} does not describe the bands of its images. It may be damaged: write it again.")
    return bands


def embedding_findings(values: Array) -> tuple[Finding, ...]:
    """A note if pixels, shape (n, bands), are vectors of one length in many bands, such as those of a neural network.

    Quantised embeddings store ``v`` or the square root of ``|v|`` with the sign of ``v``, so both lengths are tested.
    """
    if values.shape[1] < MIN_EMBEDDING_BANDS or not len(values):
        return ()
    squares = np.square(values[:: 1 + len(values) // MAX_TESTED_PIXELS].astype(np.float64))
    lengths = (np.sqrt((squares**power).sum(axis=1)) for power in (1, 2))
    if not any(length.std() <= MAX_LENGTH_VARIATION * length.mean() for length in lengths):
        return ()
    words = f"All pixel vectors have the same norm ({values.shape[1]} bands), as in the embedding of a neural network. "
    advice = "Logistic regression is recommended: "
    return (Finding("note", "embedding", None, Message(words, advice, Setting("model", "logistic"), ".")),)


def _field_types(band: Band) -> dict[str, type]:
    return {name: type(value) for name, value in vars(band).items()}


def refuse_other_bands(trained: Sequence[Band], image: Image) -> None:
    """Raise an error unless an image has the same bands as the training image, in the same order and of the same type.

    Names written in the files must agree, unless the bands of the image were chosen by the user. Names taken from file
    names may differ between scenes; they are refused only if the order of the bands has changed.

    Parameters
    ----------
    trained : sequence of Band
        The bands of the training image.
    image : Image
        The image to classify.

    See Also
    --------
    bands_like : Selects the bands of a model by name or number.
    classify_image : Checks the bands before it starts.
    open_image : Opens the image.

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant.raster import Band, Image, refuse_other_bands
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     grid = {"transform": rasterio.Affine.scale(10), "dtype": "uint8"}
    ...     rasterio.open(f"{folder}/new.tif", "w", "GTiff", 2, 2, 3, **grid).close()
    ...     with Image([f"{folder}/new.tif"]) as image:
    ...         refuse_other_bands([Band(name, "uint8", True) for name in ("red", "green", "blue")], image)
    """
    wanted = [band.name for band in trained]
    expected, found = (listed(names, MAX_NAMED_BANDS) for names in (wanted, image.band_names))
    both = f"Training image: {expected}; {image.label}: {found}."
    advice = " Select the bands of the training image, in the same order (", Setting("bands"), ")."
    if len(wanted) != image.n_bands:
        words = f"{image.label} must have the {len(wanted)} bands of the training image, got {image.n_bands}. {both}"
        raise ColumnError(words, *advice)
    stored, own = _stored(trained), _stored(image.bands)
    if ranks(stored) and ranks(own) and ranks(stored) != ranks(own):
        raise ColumnError(f"The dates of {image.label} are not in the order of the training image. {both}", *advice)
    old_names, new_names = comparable_names(stored, own)
    old_names, new_names = [*old_names, *wanted[len(stored) :]], [*new_names, *image.band_names[len(own) :]]
    for number, (old, new) in enumerate(zip(trained, image.bands, strict=True), start=1):
        old_name, new_name = old_names[number - 1], new_names[number - 1]
        moved = new_name in old_names and (new.named or not image.chosen)
        if old_name != new_name and ((old.named and new.named and not image.chosen) or moved):
            words = f"Band {number} of the image must be {old.name!r}, as in the training image, got {new.name!r}."
            raise ColumnError(f"{words} {both}", *advice)
        if old.dtype != new.dtype and not (old.dtype[:5] == new.dtype[:5] == "float"):
            words = f"Band {new.name!r} has type {new.dtype}; in the training image: {old.dtype}."
            raise ColumnError(f"{words} Convert the image to that type.")
        if old.expression != new.expression:
            words = f"Band {new.name!r} is {_source(new)}; in the training image: {_source(old)}."
            raise ColumnError(f"{words} Leave out ", Setting("index"), " to compute bands as in the training image.")
        if (old.scale, old.offset) != (new.scale, new.offset):
            words = f"Band {new.name!r} has the scaling {_scaling(new)}; in the training image: {_scaling(old)}."
            raise ColumnError(f"{words} Convert the image to that scaling.")


def _stored(bands: Sequence[Band]) -> list[Band]:
    """The bands that are read from files; computed bands follow them."""
    return [band for band in bands if not band.expression]


def _source(band: Band) -> str:
    return f"computed as {band.expression}" if band.expression else "read from the file"


def _scaling(band: Band) -> str:
    return f"{band.scale:.10g} x value + {band.offset:.10g}"


def bands_like(trained: Sequence[Band], image: Image) -> Image:
    """The image with the bands that a model was trained on, where they can be identified.

    Bands of several dates, written in their names or in those of the files (2024-05-01, 20240501), are matched in
    chronological order. Others are matched by the names written in the files or, if there are none and both images have
    the same number of bands, by their numbers. If neither is possible, or the user has chosen the bands, those of the
    image are unchanged. Computed bands of the model are added.

    Parameters
    ----------
    trained, image : sequence of Band, and Image
        As in `refuse_other_bands`.

    Returns
    -------
    Image
        Its bands still have to be checked with `refuse_other_bands`.

    See Also
    --------
    refuse_other_bands : Raises an error for other bands.
    open_image : Selects bands.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> from discriminant.raster import Band, bands_like, open_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"transform": rasterio.Affine.scale(10), "count": 3, "dtype": "uint8"}
    ...     with rasterio.open(f"{folder}/new.tif", "w", driver="GTiff", width=2, height=2, **form) as file:
    ...         file.write(np.ones((3, 2, 2), dtype="uint8"))
    ...     with open_image(f"{folder}/new.tif") as image:
    ...         bands_like([Band("blue", "uint8", True), Band("red", "uint8", True)], image).band_names
    ('blue', 'red')
    """
    computed, stored = [band for band in trained if band.expression], _stored(trained)
    found = _selected(stored, image)
    if not computed or any(band.expression for band in image.bands):
        return found
    from .band_math import computed_like

    numbers = {old.number: new.number for old, new in zip(stored, found.bands, strict=False)}
    if not ranks(image.all_bands):  # dates may be in another order
        numbers = {band.number: band.number for band in found.all_bands} | numbers
    return computed_like(computed, found, numbers)


def _selected(trained: Sequence[Band], image: Image) -> Image:
    """The image with the bands of the files that a model was trained on, where they can be identified."""
    if image.chosen or not trained:
        return image
    places = {band.name: band.number for band in image.all_bands if band.named}
    by_date = order_by_date(trained, image.bands)
    if by_date is not None:
        numbers, by = [image.bands[place].number for place in by_date], "date"
    elif all(band.named and band.name in places for band in trained):
        numbers, by = [places[band.name] for band in trained], "band name"
    elif not ranks(image.all_bands) and all(band.of == len(image.all_bands) and band.number for band in trained):
        numbers, by = [band.number for band in trained], "band number"
    else:
        return image
    if any(band.expression for band in image.bands):
        return image
    days = matched_days(trained, [image.all_bands[number - 1] for number in numbers])
    if numbers == [band.number for band in image.bands] and not days:
        return image
    found = image.take(numbers)
    words = (
        f"{image.label}: bands {listed(numbers, MAX_NAMED_BANDS)} were selected to match the training image by {by}."
    )
    words += f" Dates: {listed(days, MAX_NAMED_BANDS)}." if days else ""
    found.chosen, found.findings = False, (*found.findings, Finding("note", "bands", None, words))
    return found
