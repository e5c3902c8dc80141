"""The report of an image: what it looks like, what was sampled, the map, and how right it is, as one HTML file."""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..raster.accuracy import MapAccuracy
from ..raster.area_adjusted import AreaAdjusted
from ..raster.image import Image, Paths, opened
from ..raster.quicklook import image_picture, map_picture, shown_bands
from ..raster.samples import Samples
from ..raster.separability import SCALE, Separability
from ..storage.writing import write_whole
from .drawing import Drawing, drawing
from .html import environment
from .numbers import count, decimal, percent, several
from .reproduction import versions


@dataclass(frozen=True)
class Picture:
    """A picture on the page, and what is said about it."""

    source: str  #: as a data address
    title: str
    explanation: str


@dataclass(frozen=True)
class Section:
    """A numbered part of the page: its address, its heading and what it shows."""

    name: str
    heading: str
    content: dict[str, Any]


def write_raster_report(
    path: str | os.PathLike[str],
    image: Image | Paths | None,
    *,
    samples: Samples | None = None,
    separability: Separability | None = None,
    class_map: str | os.PathLike[str] | None = None,
    model: Any = None,
    held_out: MapAccuracy | None = None,
    accuracy: MapAccuracy | None = None,
    adjusted: AreaAdjusted | None = None,
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
    separability : Separability, optional
    class_map : path, optional
        A map that `classify_image` wrote.
    model : fitted classifier, optional
        What made it.
    held_out : MapAccuracy, optional
        Of training areas that were held out while the model was fitted to the others.
    accuracy : MapAccuracy, optional
        Of the map, by reference areas or points.
    adjusted : AreaAdjusted, optional
        The same for a sample that was stratified by map class.
    command : str, optional
        What made the page.
    title : str, optional

    Returns
    -------
    Path
    """
    sections = []
    if image is not None or class_map is not None:
        sections.append(Section("pictures", "Image and map", _pictures(image, class_map)))
    if samples is not None:
        sections.append(Section("samples", "The samples", _samples(samples)))
    if separability is not None:
        sections.append(Section("separability", "How well the classes can be told apart", _separability(separability)))
    if held_out is not None:
        sections.append(Section("held-out", "How right the model is on areas it has not seen", _agreement(held_out)))
    if accuracy is not None:
        sections.append(Section("accuracy", "How right the map is", _agreement(accuracy)))
    if adjusted is not None:
        sections.append(Section("adjusted", "What the classes cover, estimated", _adjusted(adjusted)))
    sections.append(Section("reproduction", "How to reproduce this", _reproduction(command, model)))
    write_whole(path, _rendered(title or _title(image, class_map), sections).encode("utf-8"))
    return Path(path)


def _rendered(title: str, sections: list[Section]) -> str:
    from plotly.offline import get_plotlyjs

    drawings = [one for section in sections for one in section.content.get("drawings", ()) if one.figure is not None]
    today = datetime.now(UTC)
    return (
        environment()
        .get_template("raster.html")
        .render(
            title=title,
            subtitle=f"{today.day} {today:%B %Y}",
            sections=sections,
            figures={one.place: one.figure for one in drawings},
            plotly=get_plotlyjs() if drawings else "",
        )
    )


def _title(image: Image | Paths | None, class_map: Any) -> str:
    if image is None:
        return f"The map {Path(class_map).name}"
    with opened(image) as source:
        name = Path(source.paths[0]).name
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
        found["legend"] = legend.entries
    return found


def _image_picture(source: Image) -> Picture:
    bands = [source.band_names[j] for j in shown_bands(source)]
    height, width = source.shape
    drawn = f"{', '.join(bands)} as red, green and blue" if len(bands) == 3 else f"{bands[0]} in grey"
    words = f"{count(width)} x {count(height)} pixels in {several(source.n_bands, 'band')}; drawn: {drawn}."
    return Picture(_data(image_picture(source)), f"The image {Path(source.paths[0]).name}", words)


def _data(content: bytes) -> str:
    return "data:image/png;base64," + b64encode(content).decode("ascii")


def _samples(samples: Samples) -> dict[str, Any]:
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
        "drawings": _sample_drawings(samples),
    }


def _sample_drawings(samples: Samples) -> list[Drawing]:
    from ..raster import figures

    return [
        drawing("plot-signatures", figures.signatures, samples),
        drawing("plot-histograms", figures.histograms, samples),
        drawing("plot-scatter", figures.band_scatter, samples),
        drawing("plot-axes", figures.discriminant_scatter, samples),
    ]


def _separability(found: Separability) -> dict[str, Any]:
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
        "overall": percent(found.overall_accuracy),
        "kappa": decimal(found.kappa, 3),
        "quantity": percent(found.quantity_disagreement),
        "allocation": percent(found.allocation_disagreement),
    }


def _adjusted(found: AreaAdjusted) -> dict[str, Any]:
    from ..raster import figures

    widths = {measure: found.halfwidth(measure) for measure in ("users_accuracy", "producers_accuracy", "area")}
    lines = []
    for k, label in enumerate(found.classes):
        shares = [
            f"{percent(getattr(found, measure)[k])} ± {percent(widths[measure][k])}"
            for measure in ("users_accuracy", "producers_accuracy")
        ]
        area = f"{decimal(found.area[k], 6)} ± {decimal(widths['area'][k], 4)}"
        mapped = decimal(found.map_areas[found.strata.index(label)], 6)
        lines.append({"label": str(label), "values": [*shares, area, mapped]})
    return {
        "lines": lines,
        "drawings": [drawing("plot-areas", figures.area_estimates, found)],
        "overall": f"{percent(found.overall_accuracy)} ± {percent(found.halfwidth('overall'))}",
        "level": f"{100 * found.level:g} %",
        "notes": found.notes,
    }


def _reproduction(command: str | None, model: Any) -> dict[str, Any]:
    return {
        "command": command,
        "model": None if model is None else repr(model),
        "versions": [*versions(), *_raster_versions()],
    }


def _raster_versions() -> list[tuple[str, str]]:
    from importlib import metadata

    return [("rasterio", metadata.version("rasterio"))]
