"""Map accuracy: the agreement of a class map with reference areas, points or labels.

A reference sample drawn within each map class (see `design`) is weighted by the areas of the map (see `stratified`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array, ArrayLike
from ..engine import parallel_map
from ..errors import DegenerateDataError, InputError, LabelError, Setting
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.rates import ratio
from ..results import (
    Finding,
    Result,
    aligned,
    count,
    jsonable,
    listed,
    matrix_frame,
    percent,
    plain,
    printed_findings,
    shortened,
    shown,
)
from .area_pixels import area_finding
from .areas import Areas, LabelImage, as_areas, file_digest, spelling
from .class_map import class_extents, labels_of_codes, refuse_many_bands
from .image import Image, Paths, opened
from .label_image import no_labels_error
from .samples import invalid_pixels, pixel_values
from .stratified import MAX_PRINTED_CLASSES, AreaAdjusted, area_adjusted_accuracy

if TYPE_CHECKING:
    from rasterio.windows import Window

#: Tag of a map with the description of the training areas of its model.
TRAINING_TAG: Final = "TRAINING"
_BY_CLASS = ("producers_accuracy", "users_accuracy", "specificity")
#: A wider confusion matrix is printed as a list of classes.
MAX_MATRIX_COLUMNS: Final = 14
_WHOLE = re.compile(r"-?[0-9]+")


def _of_confusion(name: str, doc: str) -> Any:
    """A property of the confusion matrix under another name."""
    return property(attrgetter(f"confusion.{name}"), doc=doc)


@dataclass(frozen=True, eq=False, repr=False)
class MapAccuracy(Result):
    """The agreement of a map with a reference sample, pixel by pixel.

    Attributes
    ----------
    confusion : ConfusionMatrix
        Rows are the reference, columns the map.
    overall_accuracy, kappa : float
    producers_accuracy, users_accuracy, specificity : arrays of shape (classes,)
    quantity_disagreement, allocation_disagreement : float

    See Also
    --------
    map_accuracy : From two columns of labels.
    assess_map : From a map and a reference in files.

    Notes
    -----
    Producer's accuracy of a class: the share of its reference pixels that are mapped as the class. User's accuracy: the
    share of the pixels mapped as the class whose reference is the class. Specificity: the share of the reference pixels
    of other classes that are not mapped as the class. Counts are not weighted; for a sample stratified by map class,
    `area_adjusted_accuracy` weights them by the areas of the map.

    References
    ----------
    Pontius, R. G. & Millones, M. (2011). Death to Kappa: birth of quantity disagreement and allocation disagreement for
    accuracy assessment. International Journal of Remote Sensing 32, 4407-4429.

    Examples
    --------
    >>> found = map_accuracy(["water", "water", "sand", "sand", "sand"], ["water", "sand", "sand", "sand", "water"])
    >>> found.producers_accuracy, found.users_accuracy
    (array([0.66666667, 0.5       ]), array([0.66666667, 0.5       ]))
    >>> round(found.quantity_disagreement, 3), round(found.allocation_disagreement, 3)
    (0.0, 0.4)
    """

    confusion: ConfusionMatrix

    classes = _of_confusion("classes", "The classes of the reference.")
    overall_accuracy = _of_confusion("accuracy", "The share of reference pixels mapped as their class.")
    producers_accuracy = _of_confusion("recall", "By class: the share of its reference pixels mapped as it.")
    users_accuracy = _of_confusion("precision", "By class: the share of pixels mapped as it whose reference is it.")
    specificity = _of_confusion("specificity", "By class: the share of other reference pixels not mapped as it.")
    kappa = _of_confusion("kappa", "Cohen's kappa.")

    @property
    def quantity_disagreement(self) -> float:
        """Half the sum over classes of ``|share in the reference - share in the map|`` (Pontius & Millones 2011)."""
        shares = self._shares
        return float(np.abs(shares.sum(axis=1) - shares.sum(axis=0)).sum() / 2)

    @property
    def allocation_disagreement(self) -> float:
        """The sum over classes of ``min(omission, commission)``: errors that swapping pixels on the map would correct.

        Quantity and allocation disagreement sum to 1 minus the overall accuracy.
        """
        shares = self._shares
        correct = np.diagonal(shares)
        return float(np.minimum(shares.sum(axis=1) - correct, shares.sum(axis=0) - correct).sum())

    @property
    def _shares(self) -> Array:
        """The share of pixels by reference and map, square: values only of the map (such as "rejected") are in both."""
        counts = self.confusion.counts
        square = np.zeros((counts.shape[1], counts.shape[1]))
        square[: counts.shape[0]] = counts
        return ratio(square, square.sum())

    def _columns(self) -> dict[str, Any]:
        return {"class": self.classes.tolist(), **{name: getattr(self, name) for name in _BY_CLASS}}

    def to_frame(self, backend: str | None = None) -> Any:
        """The counts with reference in rows and map in columns; with ``backend``, the accuracies of each class.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Return producer's accuracy, user's accuracy and specificity by class, as a frame of this package.

        Returns
        -------
        frame
        """
        if backend is not None:
            return super().to_frame(backend)
        matrix = self.confusion
        return matrix_frame(matrix.counts, matrix.classes.tolist(), matrix.predictions.tolist(), "reference", "map")

    def to_dict(self) -> dict[str, Any]:
        """Counts and measures as plain values; undefined ones are None.

        Returns
        -------
        dict
            Rows are the reference, columns the map.
        """
        overall = ("overall_accuracy", "kappa", "quantity_disagreement", "allocation_disagreement")
        values = {
            "rows": "reference",
            "columns": "map",
            "reference_classes": self.confusion.classes,
            "map_classes": self.confusion.predictions,
            "counts": self.confusion.counts,
            **{name: getattr(self, name) for name in overall},
            **{name: dict(zip(self.classes, getattr(self, name), strict=True)) for name in _BY_CLASS},
        }
        return jsonable(values)

    @property
    def written(self) -> list[list[str]]:
        """The counts as text: a row for each class with its measures, the totals, and user's accuracies."""
        matrix, total = self.confusion, self.confusion.counts.sum(axis=0)
        by_row = zip(matrix.classes, matrix.counts, self.producers_accuracy, self.specificity, strict=True)
        rows = [
            [str(label), *map(count, counts), count(counts.sum()), percent(producers), percent(specificity)]
            for label, counts, producers, specificity in by_row
        ]
        users = [*map(percent, self.users_accuracy), *[""] * (len(total) - len(self.classes))]
        last = ["user's", *users, "", percent(self.overall_accuracy), ""]
        return [*rows, ["total", *map(count, total), count(total.sum()), "", ""], last]

    def _by_class_lines(self) -> list[str]:
        """A line for each class."""
        counts = self.confusion.counts
        rows = [["class", "reference", "map", "producer's", "user's", "specificity"]]
        totals, measures = (counts.sum(axis=1), counts.sum(axis=0)), [getattr(self, name) for name in _BY_CLASS]
        for k, label in enumerate(self.classes[:MAX_PRINTED_CLASSES]):
            rows.append([shortened(label), *(count(n[k]) for n in totals), *(percent(part[k]) for part in measures)])
        n_more = len(counts) - MAX_PRINTED_CLASSES
        return [*aligned(rows), *([f"... and {n_more} more classes"] if n_more > 0 else [])]

    def _matrix_lines(self) -> list[str]:
        """The confusion matrix."""
        head = ["reference", *map(str, self.confusion.predictions), "total", "producer's", "specificity"]
        words = "Rows: reference; columns: map. Producer's accuracy and specificity by row, user's accuracy by column."
        return [words, *aligned([list(map(shortened, row)) for row in [head, *self.written]])]

    def __str__(self) -> str:
        is_long = len(self.confusion.predictions) > MAX_MATRIX_COLUMNS
        summary = (
            f"Overall accuracy: {percent(self.overall_accuracy)}, kappa: {self.kappa:.4f}, quantity disagreement: "
            f"{percent(self.quantity_disagreement)}, allocation disagreement: {percent(self.allocation_disagreement)}"
        )
        return "\n".join([*(self._by_class_lines() if is_long else self._matrix_lines()), summary])


def map_accuracy(
    reference: ArrayLike,
    mapped: ArrayLike,
    classes: Iterable[Hashable] | None = None,
    actions: Iterable[Hashable] | None = None,
) -> MapAccuracy:
    """Compute the agreement of mapped classes with a reference sample.

    Parameters
    ----------
    reference, mapped : array-like of shape (n_pixels,)
        The reference class and the mapped class of each pixel.
    classes : array-like, optional
        All classes; other labels are then an error.
    actions : array-like, optional
        Other values of the map, such as "rejected".

    Returns
    -------
    MapAccuracy

    See Also
    --------
    assess_map : The same for a map and areas in files.

    Examples
    --------
    >>> from discriminant.raster import map_accuracy
    >>> map_accuracy(["a", "a", "b", "b"], ["a", "b", "b", "b"]).overall_accuracy
    0.75
    """
    return MapAccuracy(ConfusionMatrix.of(reference, mapped, classes, actions=actions))


@dataclass(frozen=True, eq=False, repr=False)
class MapAssessment(Result):
    """The accuracy of a map against reference pixels.

    Attributes
    ----------
    accuracy : MapAccuracy
        Accuracy with equal weights of all reference pixels.
    map_pixels : dict
        The number of pixels of each class on the whole map.
    hectares : dict or None
        The area of each class of the map on the ground, if the map has a coordinate system.
    findings : tuple of Finding
    not_a_sample : str, default=""
        Why the reference is not a random sample of single pixels; empty if no reason is known.

    See Also
    --------
    assess_map : Assesses a map.
    """

    accuracy: MapAccuracy
    map_pixels: dict[Any, int]
    hectares: dict[Any, float] | None
    findings: tuple[Finding, ...]
    not_a_sample: str = ""

    def area_adjusted(self, level: float = 0.95) -> AreaAdjusted:
        """Accuracies and areas weighted by the areas of the map classes, for a reference stratified by map class.

        Areas are in hectares on the ground if the map has a coordinate system, else in pixels. A reference with
        training areas of the map or with areas of several pixels raises an error: it is not a random sample.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the intervals.

        Returns
        -------
        AreaAdjusted
            Estimates with standard errors.
        """
        if self.not_a_sample:
            raise InputError(
                f"{self.not_a_sample} Area-adjusted accuracy requires a random sample of pixels within each map "
                "class: draw one with draw_design (raster sample-design)."
            )
        areas: dict[Any, Any] = self.map_pixels if self.hectares is None else self.hectares
        return area_adjusted_accuracy(self.accuracy, areas, level=level)

    def _columns(self) -> dict[str, Any]:
        return self.accuracy._columns()

    def __str__(self) -> str:
        return "\n".join([str(self.accuracy), *printed_findings(self.findings)])


def assess_map(
    class_map: Image | Paths,
    reference: str | os.PathLike[str] | Areas | LabelImage,
    class_field: str | None = None,
    names: Mapping[int, Hashable] | None = None,
    others: tuple[Hashable, ...] = (),
    n_jobs: int | None = None,
) -> MapAssessment:
    """Assess the accuracy of a class map with reference areas, points or painted labels.

    Parameters
    ----------
    class_map : path or Image
        The map: one band of class codes.
    reference : path, Areas or LabelImage
        Areas with known class, see `open_areas`.
    class_field : str, optional
        For a path: the field with the reference class.
    names : dict, optional
        The class of each code of the map. Default: the codes are the classes. Reference classes are matched by their
        text, ignoring case and spaces: the text "3" matches the number 3.
    others : tuple, default=()
        Values of the map that are not classes, such as "rejected", as named in ``names``.
    n_jobs : int, optional
        Number of threads: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    MapAssessment

    See Also
    --------
    draw_design : Draws reference points at random within each map class.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> truth = np.repeat(np.array([[[1, 2]]], dtype="uint8"), 4, axis=2).repeat(4, axis=1)
    >>> form = {"crs": "EPSG:32632", "transform": rasterio.Affine(100, 0, 500_000, 0, -100, 200_000), "nodata": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, values in (("truth", truth), ("map", np.roll(truth, 1, axis=2))):
    ...         with rasterio.open(f"{folder}/{name}.tif", "w", "GTiff", 8, 4, 1, dtype="uint8", **form) as file:
    ...             file.write(values)
    ...     found = assess_map(f"{folder}/map.tif", f"{folder}/truth.tif")
    >>> found.accuracy.overall_accuracy, found.map_pixels
    (0.75, {1: 16, 2: 16})
    >>> {code: round(area, 3) for code, area in found.hectares.items()}  # the scale of UTM is 0.9996 there
    {1: 16.013, 2: 16.013}
    """
    reference = as_areas(reference, class_field)
    with opened(class_map) as image:
        refuse_many_bands(image)
        if isinstance(reference, LabelImage):
            found = _counted_by_window(reference, image, n_jobs)
        else:
            found = _counted_in_areas(reference, image, n_jobs)
        mapped = labels_of_codes(found.codes, names, image)
        known = {*mapped.tolist(), *(plain(label) for label in (names or {}).values())} - {*others}
        truth = _as_on_map(found.labels, known)
        if not {*truth.tolist()} & {*mapped.tolist()}:
            in_reference, on_map = (listed(sorted(map(shown, {*labels.tolist()}))) for labels in (truth, mapped))
            words = (
                f"No class in common: {reference.source} has {in_reference}, the map {image.label} has {on_map}. Use "
            )
            raise LabelError(words + "the same names, or name the codes of the map with ", Setting("names"), ".")
        labels = {*truth.tolist(), *mapped.tolist()}
        classes = sorted(labels - {*others}, key=lambda label: (isinstance(label, str), label))
        actions = [label for label in others if label in labels]
        accuracy = MapAccuracy(ConfusionMatrix.of_counts(truth, mapped, found.counts, classes, actions))
        pixels, hectares = class_extents(image, names, n_jobs)
        findings, reason = found.findings, ""
        if _is_training_file(image, reference.path):
            reason = f"{reference.source} has the training areas of the map {image.label}, according to its metadata."
            words = f"{reason} Accuracy on training data is optimistic: use held-out reference data."
            findings = (*findings, area_finding("warning", "training-areas", words))
        elif found.has_patches and found.counts.sum() < sum(pixels.values()):
            reason = f"{reference.source} has areas of several pixels, which are not a random sample of the map."
        return MapAssessment(accuracy, pixels, hectares, findings, reason)


@dataclass(frozen=True)
class _PairCounts:
    """Pairs of reference label and map code with their counts, and whether reference areas have several pixels."""

    labels: Array
    codes: Array
    counts: Array
    has_patches: bool
    findings: tuple[Finding, ...]


def _counted_in_areas(reference: Areas, image: Image, n_jobs: int | None) -> _PairCounts:
    """The reference pixels of shapes, one by one."""
    nothing = f"The map {image.label} has no class in the areas of {reference.source}."
    values, pixels = pixel_values(image, reference.pixels(image), nothing, n_jobs)
    has_patches = len(np.unique(pixels.area)) < len(pixels.area)
    ones = np.ones(len(pixels.area), dtype=np.int64)
    return _PairCounts(pixels.labels[pixels.area], values[:, 0], ones, has_patches, pixels.findings)


def _counted_by_window(reference: LabelImage, image: Image, n_jobs: int | None) -> _PairCounts:
    """The reference pixels of a painted image, counted by window because they may cover the whole map."""
    with reference.marked(image) as (read, notes):

        def counted(window: Window) -> tuple[Array, Array, Array, int, bool]:
            values, marked = read(window)
            codes, valid = image.read(window)
            both = marked & valid
            labels, label = np.unique(values[both], return_inverse=True)
            mapped, code = np.unique(codes[0][both], return_inverse=True)
            pairs, counts = np.unique(label * len(mapped) + code, return_counts=True)
            touching = bool((marked[:, 1:] & marked[:, :-1]).any() or (marked[1:] & marked[:-1]).any())
            n_codes = max(len(mapped), 1)
            return labels[pairs // n_codes], mapped[pairs % n_codes], counts, int(np.count_nonzero(marked)), touching

        labels, codes, counts, n_marked, touching = zip(
            *parallel_map(counted, list(image.windows()), n_jobs), strict=True
        )
    if not any(n_marked):
        raise no_labels_error(reference.source, image)
    total = np.concatenate(counts)
    if not total.size:
        raise DegenerateDataError(
            f"The map {image.label} has no class where {reference.source} has labels. Check that both cover the same "
            "area."
        )
    findings = (*notes, *invalid_pixels(sum(n_marked) - int(total.sum()), sum(n_marked)))
    return _PairCounts(
        reference.classes_of(np.concatenate(labels)), np.concatenate(codes), total, any(touching), findings
    )


def _is_training_file(image: Image, path: str) -> bool:
    """Whether a reference file is the one with the training areas of the map, according to the map's metadata."""
    try:
        training = json.loads(image.tags.get(TRAINING_TAG, ""))
    except ValueError:
        return False
    if not isinstance(training, dict) or not path:
        return False
    if training.get("areas_sha256"):
        return bool(training["areas_sha256"] == file_digest(path))
    return bool(training.get("areas") == Path(path).name)


def _as_on_map(labels: Array, classes: Set[Hashable]) -> Array:
    """Reference labels as classes of the map: numbers for text such as "3", the spelling of the map for names."""
    texts = [str(plain(label)) for label in labels]
    by_spelling = {spelling(label): label for label in classes if isinstance(label, str)}
    if all(isinstance(label, str) for label in classes):
        return np.array([text if text in classes else by_spelling.get(spelling(text), text) for text in texts])
    if all(isinstance(label, int) for label in classes) and all(_WHOLE.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts])
    return labels
