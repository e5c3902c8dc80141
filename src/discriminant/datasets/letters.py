"""Ten letters as images of 20 x 20 pixels, the size that the photocells of the first perceptron had, made anew.

Each letter is a grid of 5 x 7 strokes that a seeded generator enlarges, moves, slants and disturbs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import check_integer
from .tables import Array, Dataset

#: Pixels along each side of an image, and of a stroke.
SIDE, _STROKE = 20, 2
#: The largest slant in pixels over the height, and the share of pixels that are swapped.
_SLANT, _NOISE = 3, 0.03
_LETTERS = {
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "C": "01111 10000 10000 10000 10000 10000 01111",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "H": "10001 10001 10001 11111 10001 10001 10001",
    "K": "10001 10010 10100 11000 10100 10010 10001",
    "L": "10000 10000 10000 10000 10000 10000 11111",
    "N": "10001 11001 10101 10011 10001 10001 10001",
    "S": "01111 10000 10000 01110 00001 00001 11110",
    "T": "11111 00100 00100 00100 00100 00100 00100",
    "X": "10001 10001 01010 00100 01010 10001 10001",
}


def characters(n: int = 400, random_state: Any = 0) -> Dataset:
    """Images of ten letters, 20 x 20 pixels of 0 and 1: what the perceptron was built to read.

    Parameters
    ----------
    n : int, default=400
        Images, as many of each letter as of the others.
    random_state : int or numpy Generator, default=0
        Moves, slants and disturbs the letters.

    Returns
    -------
    Dataset
        400 columns, row by row of the image; ``X.reshape(-1, 20, 20)`` are the images.

    See Also
    --------
    discriminant.Perceptron : Reads them.

    References
    ----------
    Rosenblatt, F. (1958). The perceptron: a probabilistic model for information storage and organization in the
    brain. Psychological Review 65, 386-408.

    Examples
    --------
    >>> from discriminant.datasets import characters
    >>> image = characters().X[0].reshape(20, 20)
    >>> image.shape, sorted(set(image.ravel().tolist()))
    ((20, 20), [0.0, 1.0])
    """
    check_integer("n", n, len(_LETTERS))
    rng = np.random.default_rng(random_state)
    y = np.array(list(_LETTERS))[np.arange(n) % len(_LETTERS)]
    X = np.array([_image(_LETTERS[str(letter)], rng).ravel() for letter in y])
    return Dataset(
        "characters",
        "Letters as images",
        "A row is an image of a letter, 20 x 20 pixels of 0 and 1: moved, slanted, and 3 % of its pixels swapped.",
        "drawn by this package from ten letters of 5 x 7 strokes",
        {f"pixel_{i}_{j}": X[:, SIDE * i + j] for i in range(SIDE) for j in range(SIDE)},
        y,
        "letter",
    )


def _image(letter: str, rng: np.random.Generator) -> Array:
    """One image of a letter."""
    strokes = np.array([[int(bit) for bit in row] for row in letter.split()])
    large = strokes.repeat(_STROKE, axis=0).repeat(_STROKE, axis=1)
    height, width = large.shape
    slant = rng.uniform(-_SLANT / 2, _SLANT / 2)
    top, left = rng.integers(0, SIDE - height + 1), rng.integers(_SLANT - 1, SIDE - width - _SLANT + 2)
    image = np.zeros((SIDE, SIDE))
    for i, row in enumerate(large):
        at = left + round(slant * (0.5 - i / height))
        image[top + i, at : at + width] = row
    swapped = rng.random(image.shape) < _NOISE
    return np.where(swapped, 1.0 - image, image)
