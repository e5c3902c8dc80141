"""Masks of images: pixels that are left out because of their value or bits in another raster, such as clouds."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..errors import InputError, ParameterError, Setting
from .files import Grid, ImageFiles, label_of, refuse_other_grid

if TYPE_CHECKING:
    from rasterio.io import DatasetReader
    from rasterio.windows import Window


#: Values of Sentinel-2's scene classification: no data, saturated, cloud shadow, cloud (medium and high probability),
#: thin cirrus. Bits of Landsat Collection 2 QA_PIXEL: fill, dilated cloud, cirrus, cloud, cloud shadow. Bits of
#: Sentinel-2's QA60: opaque clouds, cirrus.
PRESETS: Final = {"sentinel2-scl": "0,1,3,8-10", "landsat-qa": "bits 0-4", "sentinel2-qa60": "bits 10,11"}
_NUMBERS = re.compile(r"(?P<bits>bits )?(?P<numbers>[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)")


@dataclass(frozen=True)
class Mask:
    """A raster on the grid of an image whose values mark pixels to leave out.

    Parameters
    ----------
    path : str
        The file; its first band is read.
    masked : str, optional
        Values that are left out, such as ``"3,8-10"``; bits, such as ``"bits 1,3-4"``; or the name of a product:
        ``"sentinel2-scl"``, ``"landsat-qa"``, ``"sentinel2-qa60"``. Default: all values but 0.

    See Also
    --------
    open_image : Opens an image with a mask.

    Examples
    --------
    >>> from discriminant.raster import Mask
    >>> Mask("SCL.tif", "sentinel2-scl").numbers
    (False, (0, 1, 3, 8, 9, 10))
    >>> Mask("QA_PIXEL.tif", "bits 3,4").numbers
    (True, (3, 4))
    """

    path: str | os.PathLike[str]
    masked: str | None = None

    def __post_init__(self) -> None:
        _ = self.numbers

    @property
    def numbers(self) -> tuple[bool, tuple[int, ...]]:
        """Whether bits are tested, and the bits or values that are left out; empty for all but 0."""
        if self.masked is None:
            return False, ()
        parsed = _NUMBERS.fullmatch(PRESETS.get(self.masked, self.masked))
        if parsed is None:
            raise ParameterError(
                Setting("mask_values"), f" must be values such as 3,8-10, bits such as 'bits 1,3-4', or one of "
                f"{', '.join(PRESETS)}; got {self.masked!r}.",
            )  # fmt: skip
        limits = [[int(one) for one in part.split("-")] for part in parsed["numbers"].split(",")]
        return parsed["bits"] is not None, tuple(n for part in limits for n in range(part[0], part[-1] + 1))


class OpenMask:
    """A mask whose file is open."""

    def __init__(self, mask: Mask, image: str, first: DatasetReader, resample: bool = False) -> None:
        path = os.fspath(mask.path)
        self._files = ImageFiles([path], *(("nearest", Grid.of(first)) if resample else ()))
        try:
            [dataset] = self._files.datasets()
            refuse_other_grid(image, first, path, dataset)
            self._test = _test_of(mask, np.dtype(dataset.dtypes[0]))
        except BaseException:
            self.close()
            raise

    def read(self, window: Window | None = None, shape: tuple[int, int] | None = None) -> Array:
        """Which pixels of a window are left out."""
        [dataset] = self._files.datasets()
        return self._test.of(dataset.read(1, window=window, out_shape=shape))

    def close(self) -> None:
        self._files.close()


@dataclass(frozen=True)
class _Test:
    """Tests values of a mask."""

    values: Array | None
    bits: int

    def of(self, values: Array) -> Array:
        if self.bits:
            return np.asarray((values & values.dtype.type(self.bits)) != 0)
        return np.asarray(values != 0 if self.values is None else np.isin(values, self.values))


def _test_of(mask: Mask, dtype: np.dtype[np.integer[Any]]) -> _Test:
    """The test of a mask for values of a type; an error for bits and values that the type does not have."""
    by_bits, numbers = mask.numbers
    name = label_of([os.fspath(mask.path)])
    if not numbers:
        return _Test(None, 0)
    if dtype.kind not in "iu":
        raise InputError(f"The mask {name} has type {dtype}. Expected integers with values or bits. Convert it.")
    limits = np.iinfo(dtype)
    largest = limits.bits - (dtype.kind == "i") - 1 if by_bits else limits.max
    if max(numbers) > largest:
        what = "bit" if by_bits else "value"
        raise InputError(
            f"The mask {name} has type {dtype}, whose largest {what} is {largest}, got {what} {max(numbers)}. Correct ",
            Setting("mask_values"), ".",
        )  # fmt: skip
    return _Test(None, sum(1 << bit for bit in numbers)) if by_bits else _Test(np.array(numbers, dtype=dtype), 0)
