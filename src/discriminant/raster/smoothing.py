"""Smoothing of class maps: probabilities by their neighbourhood, majority filter, and removal of small patches.

Probabilities are rounded to 1/65,535, so that their sums over windows are exact and a pixel has the same class in
whatever window of the image it is computed, if the window is read with a margin of `Smoothing.margin` pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ..arrays import Array
from ..data import check_choice, check_integer, check_number
from ..errors import ParameterError, Setting
from ..kernels import context as kernels
from ..kernels import pixels
from .files import extra

if TYPE_CHECKING:
    from rasterio.windows import Window

METHODS: Final = ("bayes", "potts", "majority")
#: Largest side of a window of neighbours.
MAX_WINDOW: Final = 101
#: Sweeps of iterated conditional modes. Besag (1986) found convergence after about six; each reaches up to 4 pixels.
POTTS_SWEEPS: Final = 6
POTTS_REACH: Final = 4
#: The share that stands for probability 1.
WHOLE: Final = 65_535
#: Strength of the majority filter: below 1, so that a pixel keeps its class if others have as many pixels.
_MAJORITY_STRENGTH: Final = 0.999


@dataclass(frozen=True)
class Smoothing:
    """How the class probabilities of pixels are smoothed by their neighbourhood.

    Parameters
    ----------
    method : {"bayes", "potts", "majority"}, default="bayes"
        ``bayes``: the probability of a class at a pixel is a noisy observation, whose prior has the mean and variance
        of the probabilities in the window of the pixel; the result is the posterior mean (empirical Bayes; Camara et
        al. 2024 use logits). ``potts``: iterated conditional modes of a Potts model with eight neighbours (Besag 1986).
        ``majority``: the most frequent class in the window.
    window : int, default=7
        The side of the window in pixels, an odd number; not for ``potts``.
    strength : float, default=1.0
        For ``bayes``, above 0 and up to 1: the weight of the neighbourhood where probabilities vary most; 1 is the mean
        of the window. For ``potts``: the gain in log-probability for each neighbour of the same class. Not for
        ``majority``.

    See Also
    --------
    choose_smoothing : Selects method, window and strength on held-out areas.
    MapRule : Uses it for a map.

    References
    ----------
    Besag, J. (1986). On the statistical analysis of dirty pictures. Journal of the Royal Statistical Society B 48,
    259-302.

    Camara, G. et al. (2024). Bayesian inference for post-processing of remote-sensing image classification. Remote
    Sensing 16, 4572.

    Examples
    --------
    >>> from discriminant.raster import Smoothing
    >>> print(Smoothing("bayes", 5))
    Bayesian smoothing, 5 x 5 pixels, strength 1
    """

    method: str = "bayes"
    window: int = 7
    strength: float = 1.0

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_integer("window", self.window, 3)
        if self.window % 2 == 0 or self.window > MAX_WINDOW:
            raise ParameterError(Setting("window"), f" must be odd and at most {MAX_WINDOW}, got {self.window}.")
        check_number("strength", self.strength, 0, 1 if self.method == "bayes" else np.inf, open_below=True)

    @property
    def margin(self) -> int:
        """The distance in pixels up to which a pixel depends on others."""
        return POTTS_REACH * POTTS_SWEEPS + 1 if self.method == "potts" else self.window // 2

    @property
    def needs_probabilities(self) -> bool:
        """Whether the model must have predicted probabilities."""
        return self.method != "majority"

    def __str__(self) -> str:
        size = f"{self.window} x {self.window} pixels"
        if self.method == "majority":
            return f"majority filter, {size}"
        name = f"Bayesian smoothing, {size}" if self.method == "bayes" else "Potts model"
        return f"{name}, strength {self.strength:g}"

    def smoothed(self, shares: Array, valid: Array, top: int = 0, left: int = 0) -> Array:
        """Smooth probabilities.

        Parameters
        ----------
        shares : uint16 array of shape (K, height, width)
            The probability of each class times 65,535.
        valid : bool array of shape (height, width)
            Pixels with a value; others do not count.
        top, left : int, default=0
            The row and column of the first pixel in the image.

        Returns
        -------
        uint16 array of shape (K, height, width)
        """
        shares, valid = np.ascontiguousarray(shares), np.ascontiguousarray(valid)
        out = np.empty_like(shares)
        if self.method == "potts":
            kernels.potts_modes(shares, valid, float(self.strength), POTTS_SWEEPS, top, left, out)
            return out
        strength = _MAJORITY_STRENGTH if self.method == "majority" else self.strength
        # The variance of a probability is at most 1/4; there the neighbourhood has the weight ``strength``.
        noise = np.inf if strength == 1 else strength / (4 * (1 - strength))
        kernels.neighbourhood_means(shares, valid, self.window // 2, noise, out)
        return out


def highest(shares: Array, valid: Array, labels: Array, nodata: int) -> Array:
    """The label of the class with the largest share, shape (n,); ``nodata`` for pixels that are not valid."""
    out = np.empty(len(valid), dtype=labels.dtype)
    pixels.highest_codes(np.ascontiguousarray(shares), valid, labels, labels.dtype.type(nodata), out)
    return out


def one_hot(codes: Array, labels: Array) -> Array:
    """Shares of classes, shape (K, height, width), that are whole for the code of a pixel."""
    return np.stack([np.where(codes == label, WHOLE, 0).astype(np.uint16) for label in labels])


def sieved(codes: Array, nodata: int, min_pixels: int) -> Array:
    """A map in which patches of fewer than ``min_pixels`` pixels are replaced by the larger patches around them.

    Patches are pixels of one code that are connected along sides. Large patches grow into small ones, ring by ring, up
    to ``min_pixels`` rings, so every patch has the minimum size unless there is no large one within that distance. A
    pixel depends on those within `sieve_margin`.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (height, width)
        The map.
    nodata : int
        The code of pixels without a class, which are unchanged.
    min_pixels : int
        The minimum mapping unit, in pixels.

    Returns
    -------
    array
        Of the same shape and type.

    See Also
    --------
    MapRule : Applies it to a map.

    Examples
    --------
    >>> from discriminant.raster import sieved
    >>> sieved(np.array([[1, 1, 1], [1, 2, 1], [1, 3, 1]], dtype="uint8"), 0, 2).tolist()
    [[1, 1, 1], [1, 1, 1], [1, 1, 1]]
    """
    check_integer("min_pixels", min_pixels, 1)
    codes = np.ascontiguousarray(codes)
    out = np.empty_like(codes)
    kernels.sieve(codes, codes.dtype.type(nodata), min_pixels, out)
    return out


def sieve_margin(min_pixels: int) -> int:
    """The distance in pixels up to which a pixel of a sieved map depends on others."""
    return 2 * min_pixels if min_pixels > 1 else 0


def widened(window: Window, margin: int, shape: tuple[int, int]) -> Window:
    """A window with a margin on all sides, within an image of this height and width."""
    top, left = max(window.row_off - margin, 0), max(window.col_off - margin, 0)
    bottom = min(window.row_off + window.height + margin, shape[0])
    right = min(window.col_off + window.width + margin, shape[1])
    return extra("rasterio.windows").Window(left, top, right - left, bottom - top)


def within(window: Window, outer: Window) -> tuple[slice, slice]:
    """The rows and columns of a window in an array of a wider one."""
    top, left = window.row_off - outer.row_off, window.col_off - outer.col_off
    return slice(top, top + window.height), slice(left, left + window.width)
