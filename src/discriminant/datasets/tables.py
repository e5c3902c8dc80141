"""Tables of the lecture notes: drawn from known densities, written down, or published.

Data that the notes show in pictures only (avocado prices, classes in a row, elongated classes, outlying rows) are drawn
from normal distributions by a seeded generator. The densities come with the rows, so that estimates can be compared
with the truth.

Ten letters are images of 20 x 20 pixels, the number of photocells of the first perceptron. Each is a grid of 5 x 7
strokes that a seeded generator scales, shifts, slants and adds noise to.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from ..arrays import Array
from ..data import check_choice, check_integer
from ..results import Result, listed, several
from ..theory.distributions import Gaussian

Gate = Literal["and", "or", "xor"]
#: What ``random_state`` takes.
RandomSeed: TypeAlias = int | np.random.Generator


@dataclass(frozen=True, repr=False, eq=False)
class Dataset(Result):
    """A labelled table with its description.

    Attributes
    ----------
    name, title, description, source : str
        The name for `load`; a short title; the rows, the columns and the purpose of the data; their origin, or how they
        were made.
    data : dict of arrays
        The columns by name, without the target.
    y : array of shape (n_rows,)
        The classes.
    target : str
        The name of the class column.
    distributions : dict of Gaussian, optional
        The density of each class, if the rows were drawn from densities.
    priors : dict of float, optional
        The probability of each class, if it is known.

    See Also
    --------
    load : Creates a dataset by name.
    worked_examples : The questions of the notes about the data.
    """

    name: str
    title: str
    description: str
    source: str
    data: Mapping[str, Array]
    y: Array
    target: str = "class"
    distributions: Mapping[Any, Gaussian] | None = None
    priors: Mapping[Any, float] | None = None

    @property
    def X(self) -> Array:
        """The columns as a matrix of shape (n_rows, n_columns)."""
        return np.column_stack(list(self.data.values()))

    @property
    def columns(self) -> list[str]:
        """The names of the columns of `X`."""
        return list(self.data)

    def _columns(self) -> Mapping[str, Any]:
        return {**self.data, self.target: self.y}

    def __str__(self) -> str:
        classes, counts = np.unique(self.y, return_counts=True)
        shares = [f"{label} ({n:,})" for label, n in zip(classes.tolist(), counts.tolist(), strict=True)]
        size = f"{several(len(self.y), 'row')}, {several(len(self.data), 'column')}"
        lines = [
            f"{self.title}: {size}; {self.target}: {listed(shares, 12)}",
            self.description,
            f"Source: {self.source}",
        ]
        return "\n".join(lines)


_DRAWN: Final = "drawn by this package from the normal distributions that come with it"


@cache
def _descriptions() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files(__package__) / "descriptions.toml").read_text(encoding="utf-8"))


def described(name: str, data: Mapping[str, Array], y: Array, **known: Any) -> Dataset:
    """A dataset with the description of its name."""
    texts = _descriptions()[name]
    source, target = texts.get("source", _DRAWN), texts.get("target", "class")
    return Dataset(name, texts["title"], texts["description"], source, data, y, target, **known)


def _drawn(name: str, n: int, least: int, random_state: RandomSeed) -> Dataset:
    """A dataset of rows drawn from the distribution of each class."""
    check_integer("n", n, least)
    texts, rng = _descriptions()[name], np.random.default_rng(random_state)
    laws = {label: Gaussian(**law) for label, law in texts["laws"].items()}
    others = [round(texts["second_share"] * n)] if "second_share" in texts else [n // len(laws)] * (len(laws) - 1)
    counts = [n - sum(others), *others]
    draws = zip(laws.values(), counts, strict=True)
    X = np.concatenate([rng.multivariate_normal(law.mean, law.covariance, rows) for law, rows in draws])
    priors = {label: rows / n for label, rows in zip(laws, counts, strict=True)}
    data = dict(zip(texts["columns"], X.T, strict=True))
    return described(name, data, np.repeat(np.array(list(laws)), counts), distributions=laws, priors=priors)


def avocados(n: int = 500, random_state: RandomSeed = 0) -> Dataset:
    """Prices of ordinary and organic avocados: two overlapping normal densities.

    Parameters
    ----------
    n : int, default=500
        Rows; two fifths of them are organic.
    random_state : int or numpy Generator, default=0
        Draws the prices.

    Returns
    -------
    Dataset
        One column, ``price``.

    See Also
    --------
    worked_example : The decision about one avocado, with and without costs.

    Examples
    --------
    >>> from discriminant.datasets import avocados
    >>> print(avocados())
    Prices of avocados: 500 rows, 1 column; kind: ordinary (300) and organic (200)
    A row is an avocado, its price in dollars. No threshold on the price separates the kinds.
    Source: drawn by this package from the normal distributions that come with it
    """
    return _drawn("avocados", n, 5, random_state)


def avocado_weights(n: int = 500, random_state: RandomSeed = 0) -> Dataset:
    """Weights of avocados, ordinary and organic: two normal densities with known values at 1.4.

    Parameters
    ----------
    n : int, default=500
        Rows; two fifths of them are organic.
    random_state : int or numpy Generator, default=0
        Draws the weights.

    Returns
    -------
    Dataset
        One column, ``weight``.

    See Also
    --------
    avocados : Their prices.
    worked_example : The decision about an avocado of weight 1.4, with and without costs.

    Examples
    --------
    >>> from discriminant.datasets import avocado_weights
    >>> laws = avocado_weights().distributions
    >>> {kind: round(float(law.log_density([[1.4]])[0]), 2) for kind, law in laws.items()}
    {'ordinary': -1.05, 'organic': -0.43}
    """
    return _drawn("avocado_weights", n, 5, random_state)


def two_normals(n: int = 400, random_state: RandomSeed = 0) -> Dataset:
    """Two classes with one column, N(0, 1) and N(2, 1), of which all properties are known.

    Parameters
    ----------
    n : int, default=400
        Rows, half of them of each class.
    random_state : int or numpy Generator, default=0
        Draws the rows.

    Returns
    -------
    Dataset
        With its distributions. The Bayes error is ``Phi(-1)`` = 0.1587.

    See Also
    --------
    discriminant.bayes_error : The lowest error rate of any classifier.

    Examples
    --------
    >>> from discriminant import bayes_error
    >>> from discriminant.datasets import two_normals
    >>> data = two_normals()
    >>> print(bayes_error(data.distributions, data.priors))
    Bayes error 0.158655 (exact)
    """
    return _drawn("two_normals", n, 2, random_state)


def crossed_normals(n: int = 400, random_state: RandomSeed = 0) -> Dataset:
    """Two elongated classes, oblique to the line between their means: an example for Fisher's direction.

    Parameters
    ----------
    n : int, default=400
        Rows, half of them of each class.
    random_state : int or numpy Generator, default=0
        Draws the rows.

    Returns
    -------
    Dataset
        Two columns.

    See Also
    --------
    discriminant.FisherDiscriminant : Finds the direction that separates them.

    Examples
    --------
    >>> from discriminant import FisherDiscriminant
    >>> from discriminant.datasets import crossed_normals
    >>> data = crossed_normals()
    >>> round(FisherDiscriminant().fit(data.X, data.y).score(data.X, data.y), 3)
    0.97
    """
    return _drawn("crossed_normals", n, 2, random_state)


def three_in_a_row(n: int = 300, random_state: RandomSeed = 0) -> Dataset:
    """Three classes in a row: least squares masks the middle one.

    Parameters
    ----------
    n : int, default=300
        Rows, a third of them of each class.
    random_state : int or numpy Generator, default=0
        Draws the rows.

    Returns
    -------
    Dataset
        Two columns.

    See Also
    --------
    discriminant.LeastSquaresClassifier : Hardly ever predicts the middle class.

    Examples
    --------
    >>> from discriminant import LeastSquaresClassifier, LinearDiscriminantAnalysis
    >>> from discriminant.datasets import three_in_a_row
    >>> data = three_in_a_row()
    >>> (LeastSquaresClassifier().fit(data.X, data.y).predict(data.X) == "middle").sum()
    np.int64(9)
    >>> (LinearDiscriminantAnalysis().fit(data.X, data.y).predict(data.X) == "middle").sum()
    np.int64(100)
    """
    return _drawn("three_in_a_row", n, 3, random_state)


def triangle(n: int = 150, random_state: RandomSeed = 0) -> Dataset:
    """Three classes around a centre: one-vs-rest and one-vs-one have ambiguous regions.

    Parameters
    ----------
    n : int, default=150
        Rows, a third of them of each class.
    random_state : int or numpy Generator, default=0
        Draws the rows.

    Returns
    -------
    Dataset
        Two columns.

    See Also
    --------
    discriminant.OneVsRest : Reports ambiguous rows.

    Examples
    --------
    >>> from discriminant.datasets import triangle
    >>> triangle().columns
    ['x1', 'x2']
    """
    return _drawn("triangle", n, 3, random_state)


def pinwheel(n: int = 150, random_state: RandomSeed = 0) -> Dataset:
    """Three classes around a centre, each turned against it: the votes of one-vs-one are cyclic in the middle.

    Parameters
    ----------
    n : int, default=150
        Rows, a third of them of each class.
    random_state : int or numpy Generator, default=0
        Draws the rows.

    Returns
    -------
    Dataset
        Two columns.

    See Also
    --------
    triangle : Three classes around a centre, without a turn.

    Examples
    --------
    >>> from discriminant.datasets import pinwheel
    >>> pinwheel().columns
    ['x1', 'x2']
    """
    return _drawn("pinwheel", n, 3, random_state)


def far_rows(n: int = 80, far: int = 10, random_state: RandomSeed = 0) -> Dataset:
    """Two linearly separable classes, with outlying rows of one class on its own side.

    Parameters
    ----------
    n : int, default=80
        Rows near the boundary, half of them of each class.
    far : int, default=10
        Outlying rows of the second class.
    random_state : int or numpy Generator, default=0
        Draws the rows.

    Returns
    -------
    Dataset
        Two columns.

    See Also
    --------
    discriminant.LeastSquaresClassifier : Is affected by rows far on the correct side.

    Examples
    --------
    >>> from discriminant import LeastSquaresClassifier, LogisticRegression
    >>> from discriminant.datasets import far_rows
    >>> data = far_rows()
    >>> [int((model.fit(data.X, data.y).predict(data.X) != data.y).sum())
    ...  for model in (LeastSquaresClassifier(), LogisticRegression(alpha=1e-3))]
    [12, 0]
    """
    check_integer("n", n, 2)
    check_integer("far", far, 0)
    rng = np.random.default_rng(random_state)
    near = [rng.normal((centre, 0.0), (0.35, 1.0), (n // 2, 2)) for centre in (-1.0, 1.0)]
    X = np.concatenate([*near, rng.normal((8.0, -5.0), 0.5, (far, 2))])
    y = np.array(["first"] * (n // 2) + ["second"] * (n // 2 + far))
    return described("far_rows", {"x1": X[:, 0], "x2": X[:, 1]}, y)


def curved(n: int = 120, random_state: RandomSeed = 0) -> Dataset:
    """Two classes with a curved boundary and label noise: low degrees underfit, high degrees overfit.

    Parameters
    ----------
    n : int, default=120
        Rows.
    random_state : int or numpy Generator, default=0
        Draws rows and labels.

    Returns
    -------
    Dataset
        Two columns.

    See Also
    --------
    discriminant.LogisticRegression : Fits powers of columns with a formula.

    Examples
    --------
    >>> from discriminant.datasets import curved
    >>> curved().y.mean().round(2)
    np.float64(0.47)
    """
    check_integer("n", n, 4)
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-2, 2, (n, 2))
    inside = X[:, 1] > X[:, 0] ** 2 - 1.2
    y = np.where(rng.random(n) < 0.12, ~inside, inside).astype(int)
    return described("curved", {"x1": X[:, 0], "x2": X[:, 1]}, y)


#: The values of the functions for 00, 01, 10 and 11.
_GATES: dict[str, tuple[int, int, int, int]] = {"and": (-1, -1, -1, 1), "or": (-1, 1, 1, 1), "xor": (-1, 1, 1, -1)}


def logic_gate(gate: Gate = "and") -> Dataset:
    """AND, OR or XOR of two bits with labels -1 and +1; the perceptron cannot learn XOR.

    Parameters
    ----------
    gate : {"and", "or", "xor"}, default="and"
        The function.

    Returns
    -------
    Dataset
        The rows 00, 01, 10, 11.

    See Also
    --------
    discriminant.Perceptron : Learns two of them.
    discriminant.linear_separability : Proves that the third cannot be learned.

    Examples
    --------
    >>> from discriminant import linear_separability
    >>> from discriminant.datasets import logic_gate
    >>> [linear_separability(*(data.X, data.y)).separable for data in map(logic_gate, ("and", "or", "xor"))]
    [True, True, False]
    """
    check_choice("gate", gate, get_args(Gate))
    bits = {"x1": np.array([0.0, 0.0, 1.0, 1.0]), "x2": np.array([0.0, 1.0, 0.0, 1.0])}
    return described(gate, bits, np.array(_GATES[gate]))


def six_rows() -> Dataset:
    """Six rows of one column with overlapping classes: logistic regression by hand.

    Returns
    -------
    Dataset
        One column, x = 1 to 6, and the classes 0, 0, 1, 0, 1, 1.

    See Also
    --------
    worked_example : The iterates of Newton's method on these rows.

    Examples
    --------
    >>> from discriminant.datasets import six_rows
    >>> six_rows().y
    array([0, 0, 1, 0, 1, 1])
    """
    return described("six_rows", {"x": np.arange(1.0, 7.0)}, np.array([0, 0, 1, 0, 1, 1]))


#: (class, sex, age): the numbers of deaths and of survivors.
_TITANIC = {
    ("first", "male", "child"): (0, 5), ("second", "male", "child"): (0, 11), ("third", "male", "child"): (35, 13),
    ("first", "female", "child"): (0, 1), ("second", "female", "child"): (0, 13),
    ("third", "female", "child"): (17, 14),
    ("first", "male", "adult"): (118, 57), ("second", "male", "adult"): (154, 14),
    ("third", "male", "adult"): (387, 75), ("crew", "male", "adult"): (670, 192),
    ("first", "female", "adult"): (4, 140), ("second", "female", "adult"): (13, 80),
    ("third", "female", "adult"): (89, 76), ("crew", "female", "adult"): (3, 20),
}  # fmt: skip


def titanic() -> Dataset:
    """The 2,201 people on board the Titanic, by class, sex and age, and whether they survived.

    Returns
    -------
    Dataset
        Three columns of text.

    See Also
    --------
    discriminant.LogisticRegression : Odds ratios by a formula.

    References
    ----------
    Dawson, R. J. M. (1995). The "Unusual Episode" Data Revisited. Journal of Statistics Education 3(3).

    Examples
    --------
    >>> from discriminant.datasets import titanic
    >>> print(str(titanic()).partition(";")[0])
    Survival on the Titanic: 2,201 rows, 3 columns
    """
    cells = [(*key, n) for key, counts in _TITANIC.items() for n in counts]
    repeats = [n for *_, n in cells]
    data = {name: np.repeat([cell[j] for cell in cells], repeats) for j, name in enumerate(("class", "sex", "age"))}
    return described("titanic", data, np.repeat(["died", "survived"] * len(_TITANIC), repeats))


def vowels(part: Literal["train", "test"] = "train") -> Dataset:
    """Eleven vowels spoken by fifteen people, as ten numbers each: reduced-rank LDA.

    Parameters
    ----------
    part : {"train", "test"}, default="train"
        The 528 rows of eight speakers, or the 462 of the seven others.

    Returns
    -------
    Dataset
        Ten columns, classes 1 to 11.

    See Also
    --------
    discriminant.LinearDiscriminantAnalysis : Classifies in few directions.

    References
    ----------
    Robinson, A. J. (1989). Dynamic Error Propagation Networks. Data: Deterding, UCI Machine Learning Repository
    (Connectionist Bench, Vowel Recognition), CC BY 4.0. Hastie, T., Tibshirani, R. & Friedman, J. (2009). The Elements
    of Statistical Learning, section 4.3.3.

    Examples
    --------
    >>> from discriminant.datasets import vowels
    >>> vowels().X.shape, vowels("test").X.shape
    ((528, 10), (462, 10))
    """
    check_choice("part", part, ("train", "test"))
    text = (files(__package__) / "vowel.csv").read_text(encoding="utf-8")
    rows = [row for row in csv.DictReader(text.splitlines()) if row["split"] == part]
    data = {f"x{j}": np.array([float(row[f"x{j}"]) for row in rows]) for j in range(1, 11)}
    return described("vowels", data, np.array([int(row["y"]) for row in rows]))


#: Pixels along each side of an image, and of a stroke.
SIDE: Final = 20
STROKE: Final = 2
#: The largest slant in pixels over the height.
MAX_SLANT: Final = 3
#: The share of inverted pixels.
NOISE_SHARE: Final = 0.03


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
    strokes, rng = _descriptions()["characters"]["strokes"], np.random.default_rng(random_state)
    check_integer("n", n, len(strokes))
    y = np.array(list(strokes))[np.arange(n) % len(strokes)]
    X = np.array([_image(strokes[str(letter)], rng).ravel() for letter in y])
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
