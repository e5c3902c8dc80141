"""Ten letters as images of 20 x 20 pixels, the number of photocells of the first perceptron.

Each letter is a grid of 5 x 7 strokes that a seeded generator scales, shifts, slants and adds noise to.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..data import check_integer
from .tables import Array, Dataset, RandomSeed, described

#: Pixels along each side of an image, and of a stroke.
SIDE: Final = 20
STROKE: Final = 2
#: The largest slant in pixels over the height.
MAX_SLANT: Final = 3
#: The share of inverted pixels.
NOISE_SHARE: Final = 0.03
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


def characters(n: int = 400, random_state: RandomSeed = 0) -> Dataset:
    """Images of ten letters with 20 x 20 binary pixels, the task of the first perceptron.

    Parameters
    ----------
    n : int, default=400
        Images, equally many of each letter.
    random_state : int or numpy Generator, default=0
        Shifts and slants the letters and adds noise.

    Returns
    -------
    Dataset
        400 columns, the pixels of an image by row; ``X.reshape(-1, 20, 20)`` are the images.

    See Also
    --------
    discriminant.Perceptron : Classifies them.

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
    pixels = {f"pixel_{i}_{j}": X[:, SIDE * i + j] for i in range(SIDE) for j in range(SIDE)}
    return described("characters", pixels, y)


def _image(letter: str, rng: np.random.Generator) -> Array:
    """One image of a letter."""
    strokes = np.array([[int(bit) for bit in row] for row in letter.split()])
    large = strokes.repeat(STROKE, axis=0).repeat(STROKE, axis=1)
    height, width = large.shape
    slant = rng.uniform(-MAX_SLANT / 2, MAX_SLANT / 2)
    top, left = rng.integers(0, SIDE - height + 1), rng.integers(MAX_SLANT - 1, SIDE - width - MAX_SLANT + 2)
    image = np.zeros((SIDE, SIDE))
    for i, row in enumerate(large):
        at = left + round(slant * (0.5 - i / height))
        image[top + i, at : at + width] = row
    is_inverted = rng.random(image.shape) < NOISE_SHARE
    return np.where(is_inverted, 1.0 - image, image)
