"""The report of an image: what it looks like, what was sampled, the map, and how right it is, as one HTML file."""

from __future__ import annotations

import math
import os
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..raster.accuracy import AreaAdjusted, MapAccuracy
from ..raster.class_map import Legend, class_pixels
from ..raster.figures import image_picture, map_picture, shown_bands
from ..raster.image import Image, Paths, opened
from ..raster.samples import Samples
from ..raster.separability import SCALE, ClassSeparability
from ..results import several
from .page import Drawing, Section, count, decimal, drawing, percent, versions, write_page


@dataclass(frozen=True)
class Picture:
    """A picture on the page, and what is said about it."""

    source: str  #: as a data address
    title: str
    explanation: str


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
    samples : Samples, optional
        For counts, signatures, histograms and scatter plots.
    separability : ClassSeparability, optional
    class_map : path, optional
        A map that `classify_image` wrote, or one band of class codes.
    model : fitted classifier, optional
        What made it.
    held_out : MapAccuracy, optional
        Of training areas that were held out while the model was fitted to the others.
    accuracy : MapAccuracy, optional
        Of the map, by reference areas or points.
    adjusted : AreaAdjusted, optional
        The same for a sample that was stratified by map class.
    area_unit : str
        What its areas are counted in, such as "hectares".
    command : str, optional
        What made the page.
    title : str, optional

    Returns
    -------
    Path
    """
    sections = []
    if image is not None or class_map is not None:
        heading = "The map" if image is None else "The image" if class_map is None else "Image and map"
        sections.append(Section("pictures", heading, _pictures(image, class_map)))
    if samples is not None:
        sections.append(Section("samples", "The samples", _samples(samples, separability)))
    if separability is not None:
        sections.append(Section("separability", "How well the classes can be told apart", _separability(separability)))
    if held_out is not None:
        sections.append(Section("held-out", "How right the model is on areas it has not seen", _agreement(held_out)))
    if accuracy is not None:
        sections.append(Section("accuracy", "How right the map is", _agreement(accuracy)))
    if adjusted is not None:
        sections.append(Section("adjusted", "What the classes cover, estimated", _adjusted(adjusted, area_unit)))
    sections.append(Section("reproduction", "How to reproduce this", _reproduction(command, model)))
    return write_page(path, "raster.html", title or _title(image, class_map), [], sections)


def _title(image: Image | Paths | None, class_map: Any) -> str:
    if image is None:
        return f"The map {Path(class_map).name}"
    with opened(image) as source:
        name = _name(source)
    return f"Classes of {name}" if class_map is not None else f"Samples of {name}"


def _pictures(image: Image | Paths | None, class_map: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"pictures": [], "legend": []}
    if image is not None:
        with opened(image) as source:
            found["pictures"].append(_image_picture(source))
    if class_map is not None:
        content, legend = map_picture(class_map)
        words = f"{several(len(legend.classes), 'class', 'classes')}; pixels without a value are left white."
        found["pictures"].append(Picture(_data(content), f"The map {Path(class_map).name}", words))
        found |= _map_classes(class_map, legend)
    return found


def _map_classes(class_map: Any, legend: Legend) -> dict[str, Any]:
    """The classes of the map with their colours, and how much of it each has."""
    with opened(class_map) as source:
        pixels, hectares = class_pixels(source, legend.names), source.pixel_hectares
    total = sum(pixels.values())
    return {
        "hectares": hectares is not None,
        "legend": [
            {
                "colour": entry.colour,
                "name": entry.name,
                "values": [
                    str(entry.code),
                    count(n),
                    percent(n / total if total else math.nan),
                    *([] if hectares is None else [f"{n * hectares:,.2f}"]),
                ],
            }
            for entry in legend.entries
            for n in [pixels.get(entry.label, 0)]
        ],
    }


def _image_picture(source: Image) -> Picture:
    bands = [source.band_names[j] for j in shown_bands(source)]
    height, width = source.shape
    drawn = f"{', '.join(bands)} as red, green and blue" if len(bands) == 3 else f"{bands[0]} in grey"
    words = f"{count(width)} x {count(height)} pixels in {several(source.n_bands, 'band')}; drawn: {drawn}."
    return Picture(_data(image_picture(source)), f"The image {_name(source)}", words)


def _name(source: Image) -> str:
    """What the page calls an image: its file, or the first of its files and how many more there are."""
    more = f" and {several(len(source.paths) - 1, 'more file')}" if len(source.paths) > 1 else ""
    return f"{Path(source.paths[0]).name}{more}"


def _data(content: bytes) -> str:
    return "data:image/png;base64," + b64encode(content).decode("ascii")


def _samples(samples: Samples, separability: ClassSeparability | None) -> dict[str, Any]:
    statistics = samples.statistics
    lines = [
        {
            "label": str(label),
            "pixels": count(statistics.counts[k]),
            "areas": count(statistics.areas[k]),
            "values": [
                f"{decimal(mean, 4)} ± {decimal(sd, 3)}"
                for mean, sd in zip(statistics.means[k], statistics.sds[k], strict=True)
            ],
        }
        for k, label in enumerate(statistics.classes.tolist())
    ]
    return {
        "bands": samples.band_names,
        "lines": lines,
        "findings": [{"severity": one.severity, "message": one.message} for one in samples.findings],
        "drawings": _sample_drawings(samples, separability),
    }


def _sample_drawings(samples: Samples, separability: ClassSeparability | None) -> list[Drawing]:
    """The figures of the samples; the plane is that of the two bands that tell most, where that is known."""
    from ..raster import figures

    telling = [] if separability is None else [gain.band for gain in separability.bands[:2]]
    return [
        drawing("plot-signatures", figures.signatures, samples),
        drawing("plot-histograms", figures.histograms, samples),
        drawing("plot-scatter", figures.band_scatter, samples, *telling),
        drawing("plot-axes", figures.discriminant_scatter, samples),
    ]


def _separability(found: ClassSeparability) -> dict[str, Any]:
    from ..raster import figures

    return {
        "drawings": [drawing("plot-separability", figures.separability_matrix, found)],
        "readings": found.readings,
        "scale": SCALE,
        "pairs": [
            {
                "first": str(pair.first),
                "second": str(pair.second),
                "values": [
                    f"{value:.3f}"
                    for value in (pair.bhattacharyya, pair.jeffries_matusita, pair.transformed_divergence)
                ],
                "reading": pair.reading,
            }
            for pair in found.pairs
        ],
        "bands": [
            {"name": gain.band, "values": [f"{value:.3f}" for value in (gain.alone, gain.mean, gain.least)]}
            for gain in found.bands
        ],
    }


def _agreement(found: MapAccuracy) -> dict[str, Any]:
    matrix = found.confusion
    return {
        "mapped": [str(label) for label in matrix.predictions.tolist()],
        "lines": [
            {"label": str(label), "counts": [count(n) for n in row], "total": count(row.sum()), "share": percent(share)}
            for label, row, share in zip(
                matrix.classes.tolist(), matrix.counts, found.producers_accuracy.tolist(), strict=True
            )
        ],
        "users": [percent(share) for share in found.users_accuracy.tolist()],
        "others": len(matrix.predictions) - len(matrix.classes),
        "totals": [count(n) for n in (*matrix.counts.sum(axis=0), matrix.counts.sum())],
        "overall": percent(found.overall_accuracy),
        "kappa": decimal(found.kappa, 3),
        "quantity": percent(found.quantity_disagreement),
        "allocation": percent(found.allocation_disagreement),
    }


def _adjusted(found: AreaAdjusted, unit: str) -> dict[str, Any]:
    from ..raster import figures

    return {
        "lines": [
            {"label": str(label), "values": cells} for label, cells in zip(found.classes, found.written, strict=True)
        ],
        "unit": unit,
        "drawings": [drawing("plot-areas", figures.area_estimates, found, unit=unit)],
        "overall": found.written_overall,
        "level": f"{100 * found.level:g} %",
        "notes": found.notes,
    }


def _reproduction(command: str | None, model: Any) -> dict[str, Any]:
    return {
        "command": command,
        "model": None if model is None else repr(model),
        "versions": versions("rasterio"),
    }
