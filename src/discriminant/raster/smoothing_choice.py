"""The smoothing of a map, selected on held-out areas.

A copy of the model is fitted without some areas and classifies their pixels, which are smoothed with their whole
neighbourhood in the image. Smoothing with the highest accuracy is best for the interior of areas and blurs what is
small, so the weakest one is chosen whose accuracy is within one standard error of the highest (Breiman et al. 1984).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..arrays import Array, Classifier
from ..data import as_rows, check_choice
from ..engine import in_order
from ..errors import InputError, ParameterError
from ..results import Result, aligned, jsonable, percent
from ..validation.labelled_table import labelled_table
from ..validation.splits import plan_rounds
from .files import extra
from .groups import AreaGroups, area_groups, class_counts
from .image import Image, Paths, opened
from .models import N_FOLDS, HeldOutAccuracy, MapRule, agreement, fit_in_area_groups, share_scorer
from .samples import Samples
from .smoothing import METHODS, Smoothing, highest, one_hot, widened

#: Settings that are compared, from weak to strong.
WINDOWS: Final = (3, 5, 7, 9, 11)
BAYES_STRENGTHS: Final = (0.5, 1.0)
POTTS_STRENGTHS: Final = (0.25, 0.5, 1.0, 2.0)
#: Pixels are read in squares of this side in pixels, cut to the pixels in them, with a margin.
BLOCK_SIDE: Final = 64


def smoothing_candidates(method: str = "bayes") -> list[Smoothing]:
    """The settings of a method that are compared, from weak to strong; ``auto`` has those of ``bayes`` and ``potts``.

    >>> [str(one) for one in smoothing_candidates("potts")][0]
    'Potts model, strength 0.25'
    """
    check_choice("smoothing", method, ("auto", *METHODS))
    found = []
    if method in ("auto", "potts"):
        found += [Smoothing("potts", strength=strength) for strength in POTTS_STRENGTHS]
    if method in ("auto", "bayes"):
        found += [Smoothing("bayes", window, strength) for window in WINDOWS for strength in BAYES_STRENGTHS]
    return found or [Smoothing("majority", window) for window in WINDOWS]


@dataclass(frozen=True, eq=False, repr=False)
class SmoothingChoice(Result):
    """Accuracies on held-out areas without and with smoothing, and the chosen smoothing.

    Attributes
    ----------
    candidates : list of Smoothing
        The settings that were compared.
    accuracies : array of shape (1 + candidates,)
        The share of held-out pixels with the correct class: without smoothing first, then for each candidate.
    standard_errors : array of shape (1 + candidates,)
        Of the difference to the highest accuracy, between groups of areas.
    chosen : Smoothing or None
        None if smoothing does not help.
    accuracy : HeldOutAccuracy
        The confusion matrix with the chosen smoothing.

    See Also
    --------
    choose_smoothing : Computes it.
    """

    candidates: list[Smoothing]
    accuracies: Array
    standard_errors: Array
    chosen: Smoothing | None
    accuracy: HeldOutAccuracy

    @property
    def gain(self) -> float:
        """The accuracy with the chosen smoothing minus that without."""
        return self.accuracy.overall_accuracy - float(self.accuracies[0])

    @property
    def sentence(self) -> str:
        """The chosen smoothing and its gain."""
        if self.chosen is None:
            return f"No smoothing: accuracy on held-out areas {percent(self.accuracies[0])} without it."
        after, before = percent(self.accuracy.overall_accuracy), percent(self.accuracies[0])
        name = str(self.chosen)
        return f"{name[0].upper()}{name[1:]}: accuracy on held-out areas {after} ({before} without)."

    def _columns(self) -> dict[str, Any]:
        return {
            "smoothing": ["none", *map(str, self.candidates)],
            "accuracy": self.accuracies,
            "standard_error": self.standard_errors,
        }

    def to_dict(self) -> dict[str, Any]:
        """Accuracies and the chosen smoothing as plain values.

        Returns
        -------
        dict
            ``chosen`` is None if smoothing does not help.
        """
        chosen = None if self.chosen is None else vars(self.chosen)
        return jsonable({**self._columns(), "chosen": chosen, "gain": self.gain})

    def __str__(self) -> str:
        rows = [["smoothing", "accuracy", "s.e. of the difference"]]
        for name, accuracy, se in zip(*self._columns().values(), strict=True):
            rows.append([name, percent(accuracy), percent(se)])
        return "\n".join([*aligned(rows), self.sentence])


def choose_smoothing(
    model: BaseEstimator,
    image: Image | Paths,
    samples: Samples,
    candidates: str | Sequence[Smoothing] = "bayes",
    groups: AreaGroups | None = None,
    rule: MapRule | None = None,
) -> SmoothingChoice:
    """Select the smoothing of a map on held-out areas.

    Parameters
    ----------
    model : classifier
        It need not be fitted; for other methods than ``majority`` with predicted probabilities.
    image : Image, path or list of paths
        The image of the samples.
    samples : Samples
        Samples with several areas of each class.
    candidates : {"bayes", "potts", "majority", "auto"} or list of Smoothing, default="bayes"
        The settings of a method that are compared, or settings from weak to strong.
    groups : AreaGroups, optional
        Areas that are held out together. Default: `area_groups`.
    rule : MapRule, optional
        Its macro-classes are used; accuracies are those of the most probable class.

    Returns
    -------
    SmoothingChoice

    See Also
    --------
    MapRule : Uses the smoothing for a map.
    held_out_accuracy : The accuracy without smoothing.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. & Stone, C. J. (1984). Classification and Regression Trees. Wadsworth.
    Section 3.4.3.

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.raster import choose_smoothing, draw_samples
    >>> truth = np.kron(np.arange(16).reshape(4, 4) % 3 % 2 + 1, np.ones((10, 10))).astype("uint8")
    >>> areas = truth * (np.add.outer(*2 * [10 * (np.arange(40) % 10 == 9)]) == 0).astype("uint8")
    >>> noisy = np.random.default_rng(0).normal(truth, 0.7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"driver": "GTiff", "count": 1, "width": 40, "height": 40, "transform": rasterio.Affine.scale(10)}
    ...     for name, values in (("image", noisy), ("areas", areas)):
    ...         with rasterio.open(f"{folder}/{name}.tif", "w", **form, dtype=values.dtype) as file:
    ...             file.write(values[None])
    ...     samples = draw_samples(f"{folder}/image.tif", f"{folder}/areas.tif")
    ...     found = choose_smoothing(LinearDiscriminantAnalysis(), f"{folder}/image.tif", samples)
    >>> found.chosen is not None, found.gain > 0.1
    (True, True)
    """
    found, rule = groups or area_groups(samples), rule or MapRule()
    compared = smoothing_candidates(candidates) if isinstance(candidates, str) else list(candidates)
    if not compared:
        raise ParameterError("choose_smoothing needs at least one candidate, got an empty list.")
    with opened(image) as source:
        if source.shape != samples.origin.shape or len(source.bands) != len(samples.bands):
            raise InputError(f"The samples are not from the image {source.label}. Give the image they were drawn from.")
        codes = _held_out_codes(model, source, samples, found, compared)
    labels = [samples.classes[row] for row in codes]
    agreed = [agreement(samples, label, samples.classes.tolist(), rule) for label in labels]
    truth = samples.y if rule.macro is None else rule.macro.labels(samples.y.tolist())
    mapped = labels if rule.macro is None else [rule.macro.labels(label.tolist()) for label in labels]
    correct = np.stack([label == truth for label in mapped]).astype(np.float64)
    accuracies = correct.mean(axis=1)
    best = int(np.argmax(accuracies))
    errors = np.array([_standard_error(correct[best] - row, found.groups) for row in correct])
    near = accuracies >= accuracies[best] - errors
    place = int(np.argmax(near))
    chosen = None if place == 0 else compared[place - 1]
    return SmoothingChoice(compared, accuracies, errors, chosen, HeldOutAccuracy(agreed[place].confusion, found))


def _standard_error(differences: Array, groups: Array) -> float:
    """The standard error of a mean of pixels that are correlated within groups."""
    totals = np.bincount(groups, differences - differences.mean())
    totals = totals[np.bincount(groups) > 0]
    return float(np.sqrt((totals**2).sum() * len(totals) / max(len(totals) - 1, 1)) / len(differences))


def _held_out_codes(
    model: BaseEstimator, image: Image, samples: Samples, groups: AreaGroups, candidates: Sequence[Smoothing]
) -> Array:
    """The class index of each held-out pixel without smoothing and with each candidate, (1 + candidates, n_pixels)."""
    folds = min(N_FOLDS, class_counts(samples, groups).shape[1])
    [plan] = plan_rounds(labelled_table(samples.X, samples.y, groups=groups.groups), folds, 1, True, 0)
    fold = np.empty(samples.n_pixels, dtype=np.int64)
    fitted: list[Classifier] = []
    for number, split in enumerate(plan.splits):
        train = split.train
        own = fit_in_area_groups(clone(model), as_rows(samples.X[train]), samples.y[train], groups.groups[train])
        fitted.append(own)
        fold[split.test] = number
    codes = np.empty((1 + len(candidates), samples.n_pixels), dtype=np.int64)
    margin = max(candidate.margin for candidate in candidates)

    def classified(pixels: Array) -> tuple[Array, Array]:
        rows, columns = samples.rows[pixels], samples.columns[pixels]
        window = extra("rasterio.windows").Window(
            int(columns.min()), int(rows.min()), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1
        )
        outer = widened(window, margin, image.shape)
        values, valid = image.read(outer)
        flat, out = np.ascontiguousarray(values.reshape(len(values), -1)), np.empty((len(codes), len(pixels)), np.int64)
        for number in np.unique(fold[pixels]):
            own = fold[pixels] == number
            place = rows[own] - outer.row_off, columns[own] - outer.col_off
            parts = _variants(fitted[number], flat, valid, candidates, (outer.row_off, outer.col_off))
            for part, line in zip(parts, out, strict=True):
                line[own] = np.searchsorted(samples.classes, fitted[number].classes_)[part[place]]
        return pixels, out

    for pixels, out in in_order(classified, list(_blocks(samples)), None):
        codes[:, pixels] = out
    return codes


def _variants(
    model: Classifier, pixels: Array, valid: Array, candidates: Sequence[Smoothing], origin: tuple[int, int]
) -> Iterator[Array]:
    """The class index of each pixel without smoothing and with each candidate, shape (height, width)."""
    if hasattr(model, "predict_proba"):
        shares = share_scorer(model)(pixels, valid.ravel()).reshape(-1, *valid.shape)
        plain = _most_probable(shares, valid)
    else:
        predicted = model.predict(pixels.T.astype(np.float64))
        plain = np.searchsorted(model.classes_, predicted).reshape(valid.shape)
        shares = None
    yield plain
    for candidate in candidates:
        if shares is None and candidate.needs_probabilities:
            raise ParameterError(
                f"{type(model).__name__} does not predict probabilities to smooth. Use the method 'majority'."
            )
        known = one_hot(plain, np.arange(len(model.classes_))) if not candidate.needs_probabilities else shares
        smoothed = candidate.smoothed(np.asarray(known), valid, *origin)
        yield _most_probable(smoothed, valid)


def _most_probable(shares: Array, valid: Array) -> Array:
    """The index of the class with the largest share, shape (height, width)."""
    labels = np.arange(len(shares), dtype=np.int32)
    return highest(shares.reshape(len(shares), -1), valid.ravel(), labels, 0).reshape(valid.shape)


def _blocks(samples: Samples) -> Iterator[Array]:
    """Indexes of pixels by square of the image."""
    _, block = np.unique(
        np.column_stack((samples.rows // BLOCK_SIDE, samples.columns // BLOCK_SIDE)), axis=0, return_inverse=True
    )
    block = np.asarray(block).ravel()
    order = np.argsort(block, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(block[order])) + 1)
