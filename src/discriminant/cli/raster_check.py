"""``discriminant raster accuracy`` and ``sample-design``: how right a class map is, and what to look at to know."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from . import options
from .console import Page, check_output, command_line, say, show
from .options import command, pairs

if TYPE_CHECKING:
    from ..raster.class_map import Legend

MapPath = Annotated[str, typer.Argument(metavar="MAP", help="A class map (.tif).")]
ClassField = Annotated[
    str | None, typer.Option("--class-field", "-c", metavar="FIELD", help="The field of the areas that has the class.")
]

Layer = Annotated[str | None, typer.Option(metavar="NAME", help="The layer with the areas, where a file has several.")]
AreasSystem = Annotated[
    str | None,
    typer.Option("--crs", metavar="EPSG:N", help="The coordinate system of areas whose file does not say it."),
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="VALUE=CLASS",
        help="The class that a number or colour (#rrggbb) of an image stands for; may be repeated.",
    ),
]

_BY_HAND = (
    "These numbers count the reference pixels as they are. Reference areas chosen by hand say little about the rest of "
    "the map; for points drawn by raster sample-design give --stratified."
)


def read_areas(path: str, class_field: str | None, layer: str | None, crs: str | None, names: Mapping[str, str]) -> Any:
    """The areas of a file, by what the options say about it."""
    from ..raster.areas import open_areas

    return open_areas(path, class_field, layer, crs, dict(names) or None)


@command
def accuracy(
    class_map: MapPath,
    reference: Annotated[
        str,
        typer.Argument(metavar="REFERENCE", help="Areas or points whose true class is known, or an image of classes."),
    ],
    class_field: ClassField = None,
    layer: Layer = None,
    crs: AreasSystem = None,
    name: Names = None,
    stratified: Annotated[
        bool,
        typer.Option(
            "--stratified",
            help="The reference was drawn at random within each map class (raster sample-design): also estimate "
            "accuracies and areas that allow for the area of each class.",
        ),
    ] = False,
    level: Annotated[float, typer.Option(metavar="SHARE", help="The level of the intervals.")] = 0.95,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Hold a class map against places whose class is known.

    \b
    Examples:
      discriminant raster accuracy map.tif test_areas.gpkg --class-field cover
      discriminant raster accuracy map.tif checked.gpkg --class-field reference --stratified
    """
    from ..raster.accuracy import assess_map
    from ..raster.areas import is_image_name

    check_output(report, overwrite)
    legend, given = _legend(class_map), pairs("--name", name or ())
    truth = read_areas(reference, class_field, layer, crs, given if is_image_name(reference) else {})
    others = () if legend is None or legend.rejected is None else (legend.rejected.label,)
    found = assess_map(class_map, truth, None, _names(legend, given), others, n_jobs=-1)
    adjusted = found.area_adjusted(level) if stratified else None
    for finding in found.findings:
        say(f"{finding.severity.capitalize()}: {finding.message}")
    unit = "pixels" if found.hectares is None else "hectares"
    if report is not None:
        _write_report(report, class_map, found.accuracy, adjusted, unit)
    values = {**found.accuracy.to_dict(), "area_adjusted": None, "area_unit": unit, "report": report}
    if adjusted is not None:
        values["area_adjusted"] = adjusted.to_dict()
    show(values, lambda _: _accuracy_page(found.accuracy, adjusted, unit, report), json)


@command
def sample_design(
    class_map: MapPath,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The points (.gpkg or .geojson).")],
    total: Annotated[
        int | None, typer.Option(metavar="N", help="How many pixels to check; by default as many as are needed.")
    ] = None,
    at_least: Annotated[int, typer.Option(metavar="N", help="The fewest in each class.")] = 50,
    users_accuracy: Annotated[
        float, typer.Option(metavar="SHARE", help="The user's accuracy that is expected of the map.")
    ] = 0.8,
    standard_error: Annotated[
        float, typer.Option(metavar="SHARE", help="The standard error that is wanted for the overall accuracy.")
    ] = 0.01,
    name: Names = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another number draws other pixels.")] = 0,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Draw pixels of a class map to be checked, at random within each class.

    The points have an empty field, reference: look at each place, write its true class there, and give the file to
    raster accuracy with --stratified.

    \b
    Examples:
      discriminant raster sample-design map.tif -o check.gpkg
      discriminant raster sample-design map.tif --total 600 --at-least 75 -o check.gpkg
    """
    from ..raster.design import draw_design, points_driver

    check_output(output, overwrite)
    points_driver(output)
    legend = _legend(class_map)
    design = draw_design(
        class_map,
        total,
        at_least,
        users_accuracy,
        standard_error,
        names=_names(legend, pairs("--name", name or ())),
        random_state=seed,
        n_jobs=-1,
    )
    design.save(output)
    rows = zip(design.strata, design.pixels.tolist(), design.allocation.tolist(), strict=True)
    strata = [{"class": label, "pixels": pixels, "to_check": n} for label, pixels, n in rows]
    show(
        {"map": class_map, "strata": strata, "file": output},
        lambda _: _design_page(design, class_map, output),
        json,
    )


def _legend(path: str) -> Legend | None:
    """What the codes of the map stand for; None for a map of another program, whose codes are its classes."""
    from ..raster.class_map import written_legend

    return written_legend(path)


def _names(legend: Legend | None, given: Mapping[str, str]) -> dict[int, Any] | None:
    """What the codes of the map stand for: what it says itself, or the options."""
    if legend is not None:
        return legend.names
    try:
        return {int(code): label for code, label in given.items()} or None
    except ValueError:
        raise ParameterError(f"--name: the codes of the map are whole numbers, got {', '.join(given)}.") from None


def _accuracy_page(accuracy: Any, adjusted: Any, unit: str, report: str | None) -> Page:
    told = [_BY_HAND] if adjusted is None else [f"{adjusted}\nareas in {unit}"]
    return [str(accuracy), *told, *([f"Report: {report}"] if report else [])]


def _design_page(design: Any, class_map: str, output: str) -> Page:
    then = shlex.join(["discriminant", "raster", "accuracy", class_map, output])
    return [
        str(design),
        f"Written to {output}. Fill in the field reference, then: {then} --class-field reference --stratified",
    ]


def _write_report(path: str, class_map: str, accuracy: Any, adjusted: Any, unit: str) -> None:
    from ..report.raster_page import write_raster_report

    write_raster_report(
        path,
        None,
        class_map=class_map,
        accuracy=accuracy,
        adjusted=adjusted,
        area_unit=unit,
        command=command_line(),
    )
