"""Honest validation of samples: pixels of one area are alike, so areas are held out, never single pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.checks import check_integer, label_array
from ..decision.rules import Decision
from ..engine import in_order
from ..errors import LabelError, ParameterError, Setting
from ..results import shown
from ..validation.cross_validation import CrossValidation, cross_validate
from ..validation.splits import Split, labelled_table, plan_rounds
from .accuracy import MapAccuracy, map_accuracy
from .models import PixelClassifier, pixel_classifier
from .samples import Samples

Array = np.ndarray[Any, Any]


def area_groups(samples: Samples, block: int | None = None) -> Array:
    """The group of each pixel: its area, or with ``block`` the square of so many pixels that holds the area's centre.

    Neighbouring areas resemble each other too; blocks keep them together.
    """
    _, area = np.unique(samples.areas, return_inverse=True)
    if block is None:
        return area
    check_integer("block", block, 1)
    n = np.bincount(area)
    down, right = (np.bincount(area, weights=place) / n // block for place in (samples.rows, samples.columns))
    _, square = np.unique(np.column_stack((down, right)), axis=0, return_inverse=True)
    return square[area]


def _groups_and_counts(samples: Samples, block: int | None) -> tuple[Array, Array]:
    """The group of each pixel, and the pixels of each class in each group; refuses a class of one group."""
    groups = area_groups(samples, block)
    counts = np.zeros((len(samples.classes), groups.max() + 1), dtype=np.int64)
    np.add.at(counts, (np.searchsorted(samples.classes, samples.y), groups), 1)
    single = np.flatnonzero(np.count_nonzero(counts, axis=1) < 2)
    if single.size:
        where = "area" if block is None else f"block of {block} x {block} pixels"
        raise LabelError(
            f"Class {shown(samples.classes[single[0]])} comes from one {where} only: it cannot be both learned and "
            "tested. Mark it in more places, use smaller blocks, or leave it out (Samples.of_classes)."
        )
    return groups, counts


def split_by_area(
    samples: Samples, test_share: float = 0.3, block: int | None = None, random_state: Any = 0
) -> tuple[Samples, Samples]:
    """Samples to learn from and samples to test with, that have no area in common.

    Areas are drawn at random until every class has about ``test_share`` of its pixels among the test samples, as far
    as whole areas allow; each class keeps at least one area (or block of areas) on either side.

    Parameters
    ----------
    samples : Samples
    test_share : float, default 0.3
    block : int, default None
        Areas with their centres in one square of so many pixels stay together.
    random_state : int or Generator, default 0

    Returns
    -------
    training, test : Samples

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from discriminant.raster import Band, Samples
    >>> iris, place = load_iris(), np.arange(150)
    >>> bands = tuple(Band(name, "float64") for name in iris.feature_names)
    >>> samples = Samples(iris.data, iris.target_names[iris.target], place // 10, place, place, bands)
    >>> training, test = split_by_area(samples)
    >>> training.n_pixels, test.n_pixels, set(training.areas) & set(test.areas)
    (90, 60, set())
    """
    if not 0 < test_share < 1:
        raise ParameterError(Setting("test_share"), f" must lie between 0 and 1, got {test_share!r}.")
    groups, counts = _groups_and_counts(samples, block)
    held = _held_out(counts, test_share, np.random.default_rng(random_state))
    untested = np.flatnonzero(counts[:, held].sum(axis=1) == 0)
    if untested.size:
        raise LabelError(
            f"Class {shown(samples.classes[untested[0]])} shares its blocks with classes that need them for learning: "
            "no pixel of it is left to test with. Use smaller blocks, or another random_state."
        )
    test = held[groups]
    return samples.take(~test), samples.take(test)


def cross_validate_areas(
    models: Any, samples: Samples, folds: int = 5, block: int | None = None, **more: Any
) -> CrossValidation:
    """Scores of models on areas they have not seen: spatial cross-validation.

    Parameters
    ----------
    models : a classifier, a list of them, or a dict from names to classifiers
    samples : Samples
    folds, block
        As in `held_out_accuracy`.
    **more
        Further parameters of `discriminant.cross_validate`.

    Returns
    -------
    CrossValidation

    See Also
    --------
    held_out_accuracy : The accuracy of a map, with its costs and rejection.
    """
    groups, _ = _groups_and_counts(samples, block)
    return cross_validate(models, samples.X, samples.y, cv=folds, groups=groups, **more)


def held_out_accuracy(
    model: Any,
    samples: Samples,
    folds: int = 5,
    block: int | None = None,
    *,
    decision: Decision | None = None,
    reject: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> MapAccuracy:
    """How right a map would be on areas the model has not seen, made as `classify_image` makes it.

    Areas are held out in turn. Their pixels are given classes by a copy of the model that was fitted to the others,
    with the costs and the rejection of the map: rejected pixels have a column of their own, and count as not right.

    Parameters
    ----------
    model : classifier
        Need not be fitted.
    samples : Samples
    folds : int, default 5
    block : int, default None
        Areas with their centres in one square of so many pixels are held out together.
    decision, reject
        As in `classify_image`.
    random_state : int or Generator, default 0
        Decides which areas are held out together.
    n_jobs : int, default None
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Returns
    -------
    MapAccuracy

    See Also
    --------
    cross_validate_areas : Scores of several models.

    Examples
    --------
    >>> from discriminant import QuadraticDiscriminantAnalysis
    >>> from discriminant.raster import Band, Samples
    >>> y, area = np.repeat(["sand", "water"], 60), np.arange(120) // 20
    >>> X = np.random.default_rng(0).normal(3.0 * (y == "sand")[:, None], 1.0, (120, 2))
    >>> samples = Samples(X, y, area, area, area, (Band("red", "float64"), Band("blue", "float64")))
    >>> held_out_accuracy(QuadraticDiscriminantAnalysis(), samples, folds=3, reject=0.9).confusion.predictions.tolist()
    ['sand', 'water', 'rejected']
    """
    groups, _ = _groups_and_counts(samples, block)
    [dealt] = plan_rounds(labelled_table(samples.X, samples.y, groups=groups), folds, 1, True, random_state)
    mapped = np.empty(samples.n_pixels, dtype=object)
    others: dict[Any, None] = {}

    def classified(split: Split) -> tuple[Array, PixelClassifier, Array]:
        fitted = clone(model).fit(samples.X[split.train], samples.y[split.train])
        classifier = pixel_classifier(fitted, decision, reject)
        pixels = np.ascontiguousarray(samples.X[split.test].T)
        return split.test, classifier, classifier.codes(pixels, np.ones(len(split.test), bool))

    for test, classifier, codes in in_order(classified, dealt.splits, n_jobs):
        names = classifier.legend.names
        mapped[test] = [names[code] for code in codes.tolist()]
        others |= dict.fromkeys(names.values())
    actions = [label for label in others if label not in samples.classes.tolist()]
    return map_accuracy(samples.y, label_array(mapped.tolist()), samples.classes, actions)


def _held_out(counts: Array, share: float, rng: np.random.Generator) -> Array:
    """Which groups are held out: in random order, those that a class still lacks and no class needs for learning."""
    held = np.zeros(counts.shape[1], dtype=bool)
    wanted = share * counts.sum(axis=1)
    for fewest in (True, False):
        for group in rng.permutation(counts.shape[1]):
            own = counts[:, group] > 0
            tested = counts[:, held].sum(axis=1)
            lacks = tested == 0 if fewest else tested + counts[:, group] / 2 <= wanted
            keeps = np.count_nonzero(counts[:, ~held], axis=1) > 1
            if not held[group] and (own & lacks).any() and (keeps | ~own).all():
                held[group] = True
    return held
