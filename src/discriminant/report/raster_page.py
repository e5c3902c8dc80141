"""The report of an image: pictures, samples, class separability, map and accuracy, as one HTML file."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from ..arrays import Array, Classifier
from ..raster import figures
from ..raster.accuracy import MapAccuracy
from ..raster.applicability import ApplicabilityMap
from ..raster.change import MapChange
from ..raster.class_map import class_extents, map_legend, written_classes
from ..raster.image import Image, Paths, opened
from ..raster.models import HeldOutAccuracy
from ..raster.samples import Samples
from ..raster.separability import BIAS, MAX_PRINTED_PAIRS, SCALE, ClassSeparability
from ..raster.smoothing_choice import SmoothingChoice
from ..raster.stratified import AreaAdjusted
from ..results import count, percent, several
from .page import Block, Blocks, Section, drawing, quoted, significant, table_block, versions, write_page

MapPath = str | os.PathLike[str]

HELD_OUT = (
    " Whole areas were held out, because pixels of one area are correlated. Their pixels were classified with the same "
    "settings as the map."
)


@dataclass(frozen=True, eq=False)
class RasterReport:
    """The parts of the report of an image; the page has the sections of the parts that are given.

    Parameters
    ----------
    image : Image, path or list of paths, or None
    samples : Samples, optional
        The samples, for counts, signatures, histograms and scatter plots.
    separability : ClassSeparability, optional
    class_map : path, optional
        A map of `classify_image`, or one band of class codes.
    model : fitted classifier, optional
        The model of the map.
    held_out : MapAccuracy, optional
        The accuracy on training areas that were held out.
    accuracy : MapAccuracy, optional
        The accuracy of the map, by reference areas or points.
    adjusted : AreaAdjusted, optional
        The area-adjusted accuracy, for a sample stratified by map class.
    area_unit : str, default ""
        The unit of areas, such as "hectares".
    command : str, optional
        The command that wrote the page.
    title : str, optional
        The title of the page. Default: named after the image or the map.
    smoothing : SmoothingChoice, optional
        The smoothing of the map, selected on held-out areas.
    applicability : ApplicabilityMap, optional
        The share of the image in the area of applicability.
    change : MapChange, optional
        The change between two maps; ``class_map`` is the change map.
    """

    image: Image | Paths | None
    samples: Samples | None = None
    separability: ClassSeparability | None = None
    class_map: MapPath | None = None
    model: Classifier | None = None
    held_out: MapAccuracy | None = None
    accuracy: MapAccuracy | None = None
    adjusted: AreaAdjusted | None = None
    area_unit: str = ""
    command: str | None = None
    title: str | None = None
    smoothing: SmoothingChoice | None = None
    applicability: ApplicabilityMap | None = None
    change: MapChange | None = None


def write_raster_report(path: str | os.PathLike[str], report: RasterReport) -> Path:
    """Write the report of an image, its samples, its map and its accuracy, and return its path.

    Parameters
    ----------
    path : str or path
        The file; it is written completely or not at all.
    report : RasterReport
        The parts of the page, which works offline.

    Returns
    -------
    Path
    """
    image, class_map, samples, separability = report.image, report.class_map, report.samples, report.separability
    pictured = "Map" if image is None else "Image" if class_map is None else "Image and map"
    colours = None if class_map is None else {entry.label: entry.colour for entry in map_legend(class_map).entries}
    accuracy, adjusted = report.accuracy, report.adjusted
    parts: list[tuple[str, str, Any]] = [
        ("answer", "Summary", _answer(report)),
        ("pictures", pictured, _pictures(image, class_map)),
        ("samples", "Samples", samples and samples_blocks(samples, separability, colours)),
        ("separability", "Class separability", separability and separability_blocks(separability)),
        ("smoothing", "Smoothing", report.smoothing and smoothing_blocks(report.smoothing)),
        ("applicability", "Area of applicability", report.applicability and applicability_blocks(report.applicability)),
        ("change", "Change", report.change and change_blocks(report.change)),
        ("held-out", "Accuracy on held-out areas", report.held_out and agreement_blocks(report.held_out)),
        ("accuracy", "Map accuracy", accuracy and agreement_blocks(accuracy, " on the map", "")),
        ("adjusted", "Estimated areas", adjusted and adjusted_blocks(adjusted, report.area_unit)),
        ("reproduction", "Reproducing this report", _reproduction(report.command, report.model)),
    ]
    sections = [Section(name, heading, {"blocks": blocks}) for name, heading, blocks in parts if blocks]
    return write_page(path, "raster.html", report.title or _title(image, class_map), _facts(image, class_map), sections)


def _facts(image: Image | Paths | None, class_map: MapPath | None) -> list[str]:
    """The files of the page, and the size of the first."""
    source_path = class_map if image is None else image
    assert source_path is not None
    with opened(source_path) as source:
        height, width = source.shape
        facts = [_name(source), f"{count(width)} x {count(height)} pixels", several(source.n_bands, "band")]
    return facts if image is None or class_map is None else [*facts, f"map {Path(class_map).name}"]


def _answer(report: RasterReport) -> Blocks:
    """The summary: at most three bullets, and a recommendation."""
    found: list[str] = []
    if report.adjusted is not None:
        found.append(f"Overall accuracy (area-adjusted, stratified sample): {report.adjusted.written_overall}.")
        found.append(_lowest_accuracy(report.adjusted, report.adjusted.classes))
    pixels = (report.accuracy, "reference pixels"), (report.held_out, "held-out areas")
    for measured, where in pixels:
        if measured is not None and not found:
            share = percent(measured.overall_accuracy)
            found.append(f"Overall accuracy ({where}): {share}; kappa {significant(measured.kappa, 3)}.")
            found.append(_lowest_accuracy(measured, measured.classes.tolist()))
    if report.separability is not None:
        found.append(report.separability.readings[0])
    if report.samples is not None:
        stats = report.samples.statistics
        n_areas, k = several(int(sum(stats.areas)), "area"), int(np.argmin(stats.counts))
        smallest = f"smallest class: {quoted(stats.classes[k])}, {count(stats.counts[k])} pixels"
        found.append(f"Samples: {count(int(sum(stats.counts)))} pixels of {n_areas}; {smallest}.")
    if not found:
        return []
    content = {"bullets": found[:3], "recommendation": _advice(report), "keys": []}
    return [Block("answer", content)]


def _lowest_accuracy(found: MapAccuracy | AreaAdjusted, classes: Sequence[Hashable]) -> str:
    return lowest_accuracy_sentence(classes, found.producers_accuracy, found.users_accuracy)


def lowest_accuracy_sentence(classes: Sequence[Hashable], producers: Array, users: Array) -> str:
    """The class with the lowest producer's accuracy, if classes differ in it."""
    known = [k for k in range(len(classes)) if producers[k] == producers[k]]
    k = min(known, key=lambda k: producers[k])
    lowest = percent(float(producers[k]))
    if lowest == percent(float(max(producers[k] for k in known))):
        return f"Producer's accuracy of every class: {lowest}."
    return f"Lowest producer's accuracy: {quoted(classes[k])} {lowest} (user's accuracy {percent(float(users[k]))})."


def _advice(report: RasterReport) -> str:
    if report.adjusted is not None:
        return "Publish the estimated areas with their intervals, not the pixel counts of the map."
    if report.accuracy is not None:
        return "Estimate areas from a sample stratified by map class, which corrects for the errors of the map."
    if report.held_out is not None:
        return "Assess the map with a stratified random sample: accuracy near training areas is optimistic."
    found = report.separability
    close = None if found is None else min(found.pairs, key=lambda pair: pair.jeffries_matusita)
    if close is not None and close.reading in ("poor", "very poor"):
        names = f"{quoted(close.first)} from {quoted(close.second)}"
        return f"Add bands or indices that separate {names}, or merge the two classes."
    return "Classify the image with these samples, and estimate the accuracy on held-out areas."


def _title(image: Image | Paths | None, class_map: MapPath | None) -> str:
    if image is None:
        return f"Accuracy of {Path(class_map or '').name}"
    with opened(image) as source:
        name = _name(source)
    return f"Classification of {name}" if class_map is not None else f"Training samples of {name}"


def _pictures(image: Image | Paths | None, class_map: MapPath | None) -> Blocks:
    pictures, table = [], []
    if image is not None:
        with opened(image) as source:
            pictures.append(_image_picture(source))
    if class_map is not None:
        content, legend = figures.map_picture(class_map)
        words = f"{several(len(legend.classes), 'class', 'classes')}; nodata pixels are white."
        pictures.append(_picture(content, f"Map {Path(class_map).name}", words))
        with opened(class_map) as source:
            columns = written_classes(legend, *class_extents(source, legend.names))
        head, rows = [name.capitalize() for name in columns], list(zip(*columns.values(), strict=True))
        colours = [entry.colour for entry in legend.entries]
        table = [
            table_block("Legend of the map", head, rows, colours=colours),
            Block("remark", "Areas by pixel counting, not corrected for the errors of the map."),
        ]
    return [Block("pictures", pictures), *table] if pictures else []


def _image_picture(source: Image) -> dict[str, str]:
    bands = [source.band_names[j] for j in figures.shown_bands(source)]
    height, width = source.shape
    shown = f"as red, green and blue: {', '.join(bands)}" if len(bands) == 3 else f"in grey: {bands[0]}"
    words = f"{count(width)} x {count(height)} pixels in {several(source.n_bands, 'band')}, shown {shown}."
    return _picture(figures.image_picture(source), f"Image {_name(source)}", words)


def _picture(content: bytes, title: str, explanation: str) -> dict[str, str]:
    source = "data:image/png;base64," + b64encode(content).decode("ascii")
    return {"source": source, "title": title, "explanation": explanation}


def _name(source: Image) -> str:
    """The name of an image: its file, or the first of its files and the number of others."""
    more = f" and {several(len(source.paths) - 1, 'more file')}" if len(source.paths) > 1 else ""
    return f"{Path(source.paths[0]).name}{more}"


def samples_blocks(
    samples: Samples, separability: ClassSeparability | None, colours: Mapping[Any, str] | None
) -> Blocks:
    """Counts, means and standard deviations, with figures; the scatter plot has the two most separating bands."""
    found = samples.statistics
    rows = []
    for k, label in enumerate(found.classes.tolist()):
        moments = zip(found.means[k], found.sds[k], strict=True)
        values = [f"{significant(mean, 4)} ± {significant(sd, 3)}" for mean, sd in moments]
        rows.append([str(label), count(found.counts[k]), count(found.areas[k]), *values])
    best_bands = [] if separability is None else [gain.band for gain in separability.bands[:2]]
    head = ["Class", "Pixels", "Areas", *samples.band_names]
    return [
        table_block("Table of samples", head, rows, style="bands"),
        Block("remark", "Mean ± standard deviation of each class in each band."),
        *(Block("remark", f"{band.name} = {band.expression}") for band in samples.bands if band.expression),
        *([Block("findings", samples.findings)] if samples.findings else []),
        drawing("plot-signatures", figures.signatures, samples, colours=colours),
        drawing("plot-histograms", figures.histograms, samples, colours=colours),
        drawing("plot-scatter", figures.band_scatter, samples, *best_bands, colours=colours),
        drawing("plot-axes", figures.discriminant_scatter, samples, colours=colours),
    ]


def separability_blocks(found: ClassSeparability) -> Blocks:
    """The distances of the closest pairs of classes, and of the bands."""
    pairs = ["Class 1", "Class 2", "Bhattacharyya", "Jeffries-Matusita", "Transformed divergence", "Bias-corrected"]
    pairs += ["Expected by chance", "Separability"]
    bands = ["Band", "Alone", "Cumulative mean", "Cumulative minimum"]
    others = len(found.pairs) - MAX_PRINTED_PAIRS
    more = f" Closest pairs; {count(others)} more distant pairs are not listed." if others > 0 else ""
    of_all = "Jeffries-Matusita distance of all pairs of classes; bands in the order of forward selection."
    return [
        *(Block("words", reading) for reading in found.readings),
        table_block("Table of distances", pairs, found.written_pairs, text_columns=(0, 1, 7)),
        Block("remark", f"Jeffries-Matusita distance and transformed divergence: {SCALE}.{more} {BIAS}"),
        drawing("plot-separability", figures.separability_matrix, found),
        Block("heading", "Band selection"),
        table_block("Table of bands", bands, found.written_bands),
        Block("remark", of_all),
    ]


def applicability_blocks(found: ApplicabilityMap) -> Blocks:
    """The share of the image in the area of applicability."""
    words = (
        "The dissimilarity index of a pixel is its distance to the nearest training pixel in the standardised bands, "
        "divided by the mean distance between training pixels. The threshold is the largest dissimilarity index "
        "between training pixels of different areas, excluding outliers (Meyer & Pebesma 2021). "
        "The held-out accuracy applies only to pixels inside this area."
    )
    return [Block("lead", str(found)), Block("remark", words)]


def change_blocks(found: MapChange) -> Blocks:
    """The cross-tabulation of both maps."""
    values, unit = (found.pixels, "pixels") if found.hectares is None else (found.hectares, "hectares")
    rows = [
        [str(label), *(significant(value, 6) for value in (*line, line.sum()))]
        for label, line in zip(found.before, values, strict=True)
    ]
    head = [f"First map (rows), second map (columns), {unit}", *map(str, found.after), "Total"]
    same = percent(found.unchanged / max(int(found.pixels.sum()), 1))
    words = (
        "Change areas obtained by pixel counting are biased by the errors of both maps. Estimate areas from a sample "
        "of the change map."
    )
    return [
        Block("lead", f"Unchanged: {same} of the pixels."),
        table_block("Table of changes", head, rows),
        Block("remark", words),
    ]


def smoothing_blocks(found: SmoothingChoice) -> Blocks:
    """The accuracies of all compared settings, and the chosen one."""
    columns = found._columns()
    rows = [[name, percent(accuracy), percent(error)] for name, accuracy, error in zip(*columns.values(), strict=True)]
    head = ["Smoothing", "Accuracy on held-out areas", "Standard error of the difference"]
    words = (
        "The weakest setting whose accuracy is within one standard error of the highest is chosen. Standard errors are "
        "computed between groups of areas."
    )
    return [Block("lead", found.sentence), table_block("Table of smoothing", head, rows), Block("remark", words)]


def agreement_blocks(found: MapAccuracy, where: str = "", remark: str = HELD_OUT) -> Blocks:
    """The confusion matrix of a map, or of held-out areas."""
    overall, kappa = percent(found.overall_accuracy), significant(found.kappa, 3)
    *rows, total, users = found.written
    rows += [["Total", *total[1:]], ["User's accuracy", *users[1:]]]
    head = ["Reference (rows), map (columns)", *map(str, found.confusion.predictions), "Total"]
    head += ["Producer's accuracy", "Specificity"]
    definitions = (
        "Producer's accuracy: share of the reference pixels of a class that are mapped as the class (recall). User's "
        "accuracy: share of the pixels mapped as a class that belong to it (precision). Quantity disagreement: "
        f"{percent(found.quantity_disagreement)}; allocation disagreement: {percent(found.allocation_disagreement)}."
    )
    return [
        Block("lead", f"Overall accuracy{where}: {overall}; kappa {kappa}."),
        table_block("Confusion matrix, rows reference, columns map", head, rows),
        Block("remark", definitions + remark),
        *([Block("remark", found.groups.sentence)] if _is_grouped(found) else []),
    ]


def _is_grouped(found: MapAccuracy) -> TypeGuard[HeldOutAccuracy]:
    """Whether close areas were held out together."""
    return isinstance(found, HeldOutAccuracy) and bool(found.groups.distance)


def adjusted_blocks(found: AreaAdjusted, unit: str) -> Blocks:
    """Area-adjusted accuracies and areas."""
    area = f"Area ({unit})" if unit else "Area"
    written = [[str(label), *cells] for label, cells in zip(found.classes, found.written, strict=True)]
    accuracies = ["Class", "User's accuracy", "Producer's accuracy", "Specificity"], [cells[:4] for cells in written]
    areas = ["Class", area, "Area on the map"], [[cells[0], *cells[4:]] for cells in written]
    wald = [[str(label), *cells] for label, cells in zip(found.classes, found.written_wald, strict=True)]
    method = (
        f"Estimated from a sample stratified by map class, weighted by the area of each class on the map, with "
        f"{100 * found.level:g} % confidence intervals."
    )
    return [
        Block("lead", f"Overall accuracy: {found.written_overall}."),
        table_block("Table of adjusted accuracies", *accuracies),
        table_block("Table of adjusted areas", *areas),
        Block("remark", method),
        table_block("Table of Wald intervals", ["Class", *(f"± {name}" for name in (*accuracies[0][1:], area))], wald),
        Block("remark", f"{found.wald_sentence} Wald intervals are too narrow for small samples and rare errors."),
        drawing("plot-areas", figures.area_estimates, found, unit=unit),
        *(Block("remark", note) for note in found.notes),
    ]


def _reproduction(command: str | None, model: Classifier | None) -> Blocks:
    code = [command, None if model is None else repr(model)]
    packages = ", ".join(f"{name} {version}" for name, version in versions("rasterio"))
    return [*(Block("code", text) for text in code if text), Block("versions", packages)]
