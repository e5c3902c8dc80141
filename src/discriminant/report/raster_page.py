"""The report of an image: what it looks like, what was sampled, the map, and how right it is, as one HTML file."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ..raster import figures
from ..raster.accuracy import AreaAdjusted, MapAccuracy
from ..raster.class_map import class_extents, map_legend, written_classes
from ..raster.image import Image, Paths, opened
from ..raster.models import HeldOutAccuracy
from ..raster.samples import Samples
from ..raster.separability import BIAS, MOST_PAIRS, SCALE, ClassSeparability
from ..results import count, percent, several
from .page import Drawing, Section, drawing, quoted, significant, versions, write_page


@dataclass(frozen=True)
class Block:
    """A block of a section: the kind of its element (as ``raster.html`` writes it), and what stands in it."""

    kind: str
    content: Any


Blocks = list[Block | Drawing]

HELD_OUT = (
    " Whole areas were held out in turn, because pixels of one area resemble each other, and their pixels were given "
    "classes as those of the map were."
)


def write_raster_report(
    path: str | os.PathLike[str],
    image: Image | Paths | None,
    *,
    samples: Samples | None = None,
    separability: ClassSeparability | None = None,
    class_map: str | os.PathLike[str] | None = None,
    model: Any = None,
    held_out: MapAccuracy | None = None,
    accuracy: MapAccuracy | None = None,
    adjusted: AreaAdjusted | None = None,
    area_unit: str = "",
    command: str | None = None,
    title: str | None = None,
) -> Path:
    """Write a page about an image, its samples, its map and its accuracy, and return its path.

    The page opens without a network. Only the parts are on it that something was given for.

    Parameters
    ----------
    path : str or path
        The file; it appears whole or not at all.
    image : Image, path or list of paths, or None
    samples : Samples, default None
        For counts, signatures, histograms and scatter plots.
    separability : ClassSeparability, default None
    class_map : path, default None
        A map that `classify_image` wrote, or one band of class codes.
    model : fitted classifier, default None
        What made it.
    held_out : MapAccuracy, default None
        Of training areas that were held out while the model was fitted to the others.
    accuracy : MapAccuracy, default None
        Of the map, by reference areas or points.
    adjusted : AreaAdjusted, default None
        The same for a sample that was stratified by map class.
    area_unit : str, default ""
        What its areas are counted in, such as "hectares".
    command : str, default None
        What made the page.
    title : str, default None
        What the page is called; by default after the image or the map.

    Returns
    -------
    Path
    """
    pictured = "The map" if image is None else "The image" if class_map is None else "Image and map"
    unseen = "How right the model is on areas it has not seen"
    colours = None if class_map is None else {entry.label: entry.colour for entry in map_legend(class_map).entries}
    parts: list[tuple[str, str, Any]] = [
        ("answer", "The answer", _answer(samples, separability, held_out, accuracy, adjusted)),
        ("pictures", pictured, _pictures(image, class_map)),
        ("samples", "The samples", samples and samples_blocks(samples, separability, colours)),
        ("separability", "How well the classes can be told apart", separability and separability_blocks(separability)),
        ("held-out", unseen, held_out and agreement_blocks(held_out)),
        ("accuracy", "How right the map is", accuracy and agreement_blocks(accuracy, " on the map", "")),
        ("adjusted", "What the classes cover, estimated", adjusted and adjusted_blocks(adjusted, area_unit)),
        ("reproduction", "How to reproduce this", _reproduction(command, model)),
    ]
    sections = [Section(name, heading, {"blocks": blocks}) for name, heading, blocks in parts if blocks]
    return write_page(path, "raster.html", title or _title(image, class_map), _facts(image, class_map), sections)


def _facts(image: Image | Paths | None, class_map: Any) -> list[str]:
    """The files that the page is about, and the size of the first."""
    with opened(class_map if image is None else image) as source:
        height, width = source.shape
        facts = [_name(source), f"{count(width)} x {count(height)} pixels", several(source.n_bands, "band")]
    return facts if image is None or class_map is None else [*facts, f"map {Path(class_map).name}"]


def _answer(
    samples: Samples | None,
    separability: ClassSeparability | None,
    held_out: MapAccuracy | None,
    accuracy: MapAccuracy | None,
    adjusted: AreaAdjusted | None,
) -> Blocks:
    """What was found in three bullets at most, and what to do next."""
    found: list[str] = []
    if adjusted is not None:
        found.append(f"Overall accuracy {adjusted.written_overall}, estimated from a sample drawn by map class.")
        found.append(lowest_accuracy_sentence(adjusted.classes, adjusted.producers_accuracy, adjusted.users_accuracy))
    for measured, where in ((accuracy, "reference pixels"), (held_out, "pixels of areas that were held out")):
        if measured is not None and not found:
            share = percent(measured.overall_accuracy)
            found.append(f"Overall accuracy of the {where}: {share}; kappa {significant(measured.kappa, 3)}.")
            found.append(
                lowest_accuracy_sentence(
                    measured.classes.tolist(), measured.producers_accuracy, measured.users_accuracy
                )
            )
    if separability is not None:
        found.append(separability.readings[0])
    if samples is not None:
        stats = samples.statistics
        n_areas = several(int(sum(stats.areas)), "area")
        found.append(f"{count(int(sum(stats.counts)))} pixels of {n_areas} were sampled; {_least(stats)}.")
    if not found:
        return []
    advice = _advice(separability, held_out, accuracy, adjusted)
    return [Block("answer", {"bullets": found[:3], "recommendation": advice, "sentences": [], "keys": []})]


def lowest_accuracy_sentence(classes: Sequence[Any], producers: Any, users: Any) -> str:
    """The class with the lowest producer's accuracy, where classes differ in it."""
    known = [k for k in range(len(classes)) if producers[k] == producers[k]]
    k = min(known, key=lambda k: producers[k])
    lowest = percent(float(producers[k]))
    if lowest == percent(float(max(producers[k] for k in known))):
        return f"Producer's accuracy of every class: {lowest}."
    return f"Lowest producer's accuracy: {quoted(classes[k])} {lowest} (user's accuracy {percent(float(users[k]))})."


def _least(stats: Any) -> str:
    k = min(range(len(stats.classes)), key=lambda k: stats.counts[k])
    return f"smallest class {quoted(stats.classes[k])} with {count(stats.counts[k])}"


def _advice(
    separability: ClassSeparability | None,
    held_out: MapAccuracy | None,
    accuracy: MapAccuracy | None,
    adjusted: AreaAdjusted | None,
) -> str:
    if adjusted is not None:
        return "Report the estimated areas with their intervals rather than the pixels counted on the map."
    if accuracy is not None:
        return "Before areas are read off the map, check a sample drawn by map class: it corrects for the map's errors."
    if held_out is not None:
        return "Check the map by a sample of pixels drawn by map class: neighbours of training areas flatter a model."
    close = None if separability is None else min(separability.pairs, key=lambda pair: pair.jeffries_matusita)
    if close is not None and close.reading in ("poorly", "hardly"):
        return f"Draw more areas of {quoted(close.first)} and {quoted(close.second)}, or make one class of them."
    return "Classify the image with these samples, and hold areas out to see how right the map will be."


def _table(label: str, head: Sequence[str], rows: Sequence[Sequence[str]], **more: Any) -> Block:
    """A table: ``more`` says which columns are text, the colours of rows that are classes, and a style."""
    form = {"label": label, "head": head, "rows": rows, "text_columns": (0,), "colours": (), "style": ""}
    return Block("table", {**form, **more})


def _title(image: Image | Paths | None, class_map: Any) -> str:
    if image is None:
        return f"The map {Path(class_map).name}"
    with opened(image) as source:
        name = _name(source)
    return f"Classes of {name}" if class_map is not None else f"Samples of {name}"


def _pictures(image: Image | Paths | None, class_map: Any) -> Blocks:
    pictures, table = [], []
    if image is not None:
        with opened(image) as source:
            pictures.append(_image_picture(source))
    if class_map is not None:
        content, legend = figures.map_picture(class_map)
        words = f"{several(len(legend.classes), 'class', 'classes')}; pixels without a value are left white."
        pictures.append(_picture(content, f"The map {Path(class_map).name}", words))
        with opened(class_map) as source:
            columns = written_classes(legend, *class_extents(source, legend.names))
        head, rows = [name.capitalize() for name in columns], list(zip(*columns.values(), strict=True))
        colours = [entry.colour for entry in legend.entries]
        table = [
            _table("Legend of the map", head, rows, colours=colours),
            Block("remark", "Counted on the map, errors and all."),
        ]
    return [Block("pictures", pictures), *table] if pictures else []


def _image_picture(source: Image) -> dict[str, str]:
    bands = [source.band_names[j] for j in figures.shown_bands(source)]
    height, width = source.shape
    drawn = f"{', '.join(bands)} as red, green and blue" if len(bands) == 3 else f"{bands[0]} in grey"
    words = f"{count(width)} x {count(height)} pixels in {several(source.n_bands, 'band')}; drawn: {drawn}."
    return _picture(figures.image_picture(source), f"The image {_name(source)}", words)


def _picture(content: bytes, title: str, explanation: str) -> dict[str, str]:
    source = "data:image/png;base64," + b64encode(content).decode("ascii")
    return {"source": source, "title": title, "explanation": explanation}


def _name(source: Image) -> str:
    """What the page calls an image: its file, or the first of its files and how many more there are."""
    more = f" and {several(len(source.paths) - 1, 'more file')}" if len(source.paths) > 1 else ""
    return f"{Path(source.paths[0]).name}{more}"


def samples_blocks(
    samples: Samples, separability: ClassSeparability | None, colours: Mapping[Any, str] | None
) -> Blocks:
    """Counts and spread; the plane that is drawn is that of the two bands that tell most, where that is known."""
    found = samples.statistics
    rows = []
    for k, label in enumerate(found.classes.tolist()):
        spread = zip(found.means[k], found.sds[k], strict=True)
        values = [f"{significant(mean, 4)} ± {significant(sd, 3)}" for mean, sd in spread]
        rows.append([str(label), count(found.counts[k]), count(found.areas[k]), *values])
    telling = [] if separability is None else [gain.band for gain in separability.bands[:2]]
    head = ["Class", "Pixels", "Areas", *samples.band_names]
    return [
        _table("Table of samples", head, rows, style="bands"),
        Block("remark", "Mean ± standard deviation of each class in each band."),
        *([Block("findings", samples.findings)] if samples.findings else []),
        drawing("plot-signatures", figures.signatures, samples, colours=colours),
        drawing("plot-histograms", figures.histograms, samples, colours=colours),
        drawing("plot-scatter", figures.band_scatter, samples, *telling, colours=colours),
        drawing("plot-axes", figures.discriminant_scatter, samples, colours=colours),
    ]


def separability_blocks(found: ClassSeparability) -> Blocks:
    """The distances of the closest pairs, and which bands help."""
    pairs = ["Class", "Class", "Bhattacharyya", "Jeffries-Matusita", "Transformed divergence", "Without bias"]
    pairs += ["By chance", "Separable"]
    bands = ["Band", "Alone", "Mean with those above", "Least with those above"]
    others = len(found.pairs) - MOST_PAIRS
    more = f" The closest pairs; {count(others)} more are further apart." if others > 0 else ""
    of_all = "Jeffries-Matusita distance of all pairs of classes, bands added in the order in which they help."
    return [
        *(Block("words", reading) for reading in found.readings),
        _table("Table of distances", pairs, found.written_pairs, text_columns=(0, 1, 7)),
        Block("remark", f"Jeffries-Matusita distance and transformed divergence: {SCALE}.{more} {BIAS}"),
        drawing("plot-separability", figures.separability_matrix, found),
        Block("heading", "Which bands help"),
        _table("Table of bands", bands, found.written_bands),
        Block("remark", of_all),
    ]


def agreement_blocks(found: MapAccuracy, where: str = "", remark: str = HELD_OUT) -> Blocks:
    """The confusion matrix of a map, or of areas that were held out."""
    overall, kappa = percent(found.overall_accuracy), significant(found.kappa, 3)
    *rows, total, users = found.written
    rows += [["Total", *total[1:]], ["User's accuracy", *users[1:]]]
    head = ["Reference (rows), map (columns)", *map(str, found.confusion.predictions), "Total"]
    head += ["Producer's accuracy", "Specificity"]
    told = (
        "Producer's accuracy: of the reference pixels of a class, the share mapped as the class. User's accuracy: of "
        "the pixels mapped as a class, the share that is of it. Specificity: of the reference pixels of other classes, "
        "the share not mapped as the class. Quantity disagreement "
        f"{percent(found.quantity_disagreement)}, allocation disagreement {percent(found.allocation_disagreement)}."
    )
    return [
        Block("lead", f"{overall} of the reference pixels have their class{where}; kappa {kappa}."),
        _table("Confusion matrix, rows reference, columns map", head, rows),
        Block("remark", told + remark),
        *([Block("remark", found.groups.sentence)] if _is_grouped(found) else []),
    ]


def _is_grouped(found: MapAccuracy) -> TypeGuard[HeldOutAccuracy]:
    """Whether areas were held out together because they are close to each other."""
    return isinstance(found, HeldOutAccuracy) and bool(found.groups.distance)


def adjusted_blocks(found: AreaAdjusted, unit: str) -> Blocks:
    """Accuracies and areas that allow for how much of the map each class has."""
    area = f"Area ({unit})" if unit else "Area"
    written = [[str(label), *cells] for label, cells in zip(found.classes, found.written, strict=True)]
    accuracies = ["Class", "User's accuracy", "Producer's accuracy", "Specificity"], [cells[:4] for cells in written]
    areas = ["Class", area, "Area on the map"], [[cells[0], *cells[4:]] for cells in written]
    told = (
        f"Estimated from a sample stratified by map class, with {100 * found.level:g} % intervals: each class counts "
        "by its area on the map."
    )
    return [
        Block("lead", f"Overall accuracy {found.written_overall}."),
        _table("Table of adjusted accuracies", *accuracies),
        _table("Table of adjusted areas", *areas),
        Block("remark", told),
        drawing("plot-areas", figures.area_estimates, found, unit=unit),
        *(Block("remark", note) for note in found.notes),
    ]


def _reproduction(command: str | None, model: Any) -> Blocks:
    code = [command, None if model is None else repr(model)]
    told = ", ".join(f"{name} {version}" for name, version in versions("rasterio"))
    return [*(Block("code", text) for text in code if text), Block("versions", told)]
