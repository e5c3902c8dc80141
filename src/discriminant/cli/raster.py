"""``discriminant raster``: training samples, classification and accuracy assessment of images."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DegenerateDataError, InputError, ParameterError
from ..workflow.tables import name_value_pairs
from . import options
from .console import command_line, print_message, rendered
from .options import Command, application, command, flag, option
from .output import Page, Values, check_output, facts, shortened, show
from .raster_options import (
    AREAS_PANEL,
    AreaOptions,
    ImageOptions,
    MapOptions,
    TrainedModel,
    TrainingSource,
    print_image_findings,
    read_macro,
)

if TYPE_CHECKING:
    from ..raster import (
        ApplicabilityMap,
        ClassMap,
        ClassSeparability,
        HeldOutAccuracy,
        Image,
        Legend,
        Samples,
        SmoothingChoice,
    )

_EPILOG = """
Examples:
  discriminant raster samples image.tif areas.gpkg --class-field cover
  discriminant raster classify image.tif --areas areas.gpkg --class-field cover -o map.tif --report map.html
  discriminant raster sample-design map.tif -o check.gpkg
  discriminant raster accuracy map.tif check.gpkg --class-field reference --stratified
  discriminant raster change 2015.tif 2025.tif -o change.tif
  discriminant raster export map.tif -o map.gpkg
"""

app = application("raster", "Commands for satellite and aerial images.", _EPILOG)

Images = Annotated[
    list[str],
    typer.Argument(metavar="IMAGE", help="Image (GeoTIFF, PNG, JPEG), one file per band in order, or a folder."),
]
Crs = Annotated[str | None, option("EPSG:N", "Coordinate system, if missing or wrong in the file.", "--crs")]
MapPath = Annotated[str, typer.Argument(metavar="MAP", help="Class map (.tif).")]
Names = Annotated[
    list[str] | None, option("VALUE=CLASS", "Class of a number or colour (#rrggbb); repeatable.", "--name")
]
_UNWEIGHTED = (
    "Counts of reference pixels, not weighted by area. For points of raster sample-design, --stratified estimates the "
    "accuracy of the whole map."
)


@app.command(cls=Command)
@command
def samples(
    images: Images,
    areas: Annotated[
        str, typer.Argument(metavar="AREAS", help="Training areas (GeoPackage, GeoJSON, Shapefile, or an image).")
    ],
    reading: AreaOptions,
    picture: ImageOptions,
    output: Annotated[
        str | None, option("FILE", "Samples (.parquet), or class statistics only (.json).", "--output", "-o")
    ] = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Extract training samples from areas, with statistics.

    The statistics include the separability of the classes.

    Examples:
      discriminant raster samples image.tif areas.gpkg --class-field cover
      discriminant raster samples b2.tif b3.tif b4.tif areas.geojson -c cover --report samples.html
      discriminant raster samples image.tif areas.gpkg -c cover -o signatures.json
      discriminant raster samples photo.png painted.png --name "#ff0000=roof" --name "#00ff00=grass"
    """
    from ..raster import draw_samples, save_samples, save_signatures
    from ..raster.signatures import is_signatures_file

    for path in (output, report):
        check_output(path, overwrite, *images, areas)
    with picture.open(images) as image:
        drawn = draw_samples(image, reading.open(areas), n_jobs=-1)
        found = _separability(drawn)
        print_image_findings(drawn, found)
        if output is not None:
            (save_signatures if is_signatures_file(output) else save_samples)(drawn, output)
        if report is not None:
            from ..report.raster_page import RasterReport, write_raster_report

            write_raster_report(report, RasterReport(image, drawn, found, command=command_line()))
    values = {"separability": found, "image": images, "areas": areas, "file": output, "report": report}
    show({**drawn.statistics.to_dict(), **values}, lambda shown: _samples_page(drawn, found, shown), json)


@app.command(cls=Command)
@command
def classify(
    images: Images,
    output: Annotated[str, option("FILE", "Output file of the class map (.tif).", "--output", "-o")],
    source: TrainingSource,
    picture: ImageOptions,
    making: MapOptions,
    save_model: Annotated[
        str | None, option("FILE", "Model file (.dsc).  [default: not saved]", panel=options.OUTPUT)
    ] = None,
    validate: Annotated[
        bool, typer.Option(help="Estimate the accuracy on held-out areas.", rich_help_panel=AREAS_PANEL)
    ] = True,
    group_distance: Annotated[
        float | None,
        option(
            "METRES",
            "Areas closer than this are held out together.  [default: correlation length of pixels]",
            panel=AREAS_PANEL,
        ),
    ] = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Classify the pixels of an image.

    The model is fitted to training areas or samples, or read from a file. The default, auto, is regularised
    discriminant analysis tuned on held-out areas. Pixels with missing values have no class.

    Examples:
      discriminant raster classify image.tif --areas areas.gpkg -c cover -o map.tif
      discriminant raster classify naip.tif --bands 1-4 --areas areas.gpkg -c cover -o map.tif
      discriminant raster classify image.tif --areas areas.gpkg -c cover --reject 0.99 --probability p.tif -o map.tif
      discriminant raster classify image.tif --samples samples.parquet --model lda --save-model lda.dsc -o map.tif
      discriminant raster classify other.tif --model-file lda.dsc -o other_map.tif
      discriminant raster classify tiles/*.tif --each --model-file lda.dsc -o maps
      discriminant raster classify other.tif --samples signatures.json --model spectral-angle -o other_map.tif
      discriminant raster classify image.tif --areas areas.gpkg -c cover --smoothing bayes --min-pixels 10 -o map.tif
      discriminant raster classify b*.tif --mask SCL.tif --mask-values sentinel2-scl --areas areas.gpkg -o map.tif
      discriminant raster classify image.tif --areas areas.gpkg -c crop --macro wheat=crop --macro maize=crop -o map.tif
    """
    from ..raster import bands_like, classify_image, map_applicability

    if making.each:
        single = {**making.single_files, "--areas": source.areas, "--save-model": save_model, "--report": report}
        refused = [name for name, value in single.items() if value is not None]
        if refused:
            raise ParameterError(f"{refused[0]} does not apply to --each, which maps with a given model. Leave it out.")
        maps = _mapped_each(images, output, source.trained, picture, making, overwrite)
        show({"maps": [one.to_dict() for one in maps]}, lambda _: list(map(str, maps)), json)
        return
    for path in (save_model, report):
        check_output(path, overwrite, *images, source.areas, source.samples, source.model_file)
    with picture.open(images) as given:
        trained = source.trained(given, group_distance)
        image = bands_like(trained.bands, given)
        if image is not given or trained.samples is None:
            print_image_findings(image)
        rule, written = trained.rule(making), making.written(trained.training, overwrite)
        smoothing = trained.smoothing(image, making, rule)
        if smoothing is not None and rule.smoothing is None:
            rule = replace(rule, smoothing=smoothing.chosen)
        applicability = trained.applicability(making.applicability, overwrite)
        made = classify_image(trained.model, image, output, rule, written, trained.bands)
        applicable = None
        if applicability is not None and making.applicability is not None:
            applicable = map_applicability(applicability, image, making.applicability, overwrite, progress=None)
        held_out = None if not validate else trained.held_out(rule) if smoothing is None else smoothing.accuracy
        if save_model is not None:
            trained.save(save_model)
        if report is not None:
            from ..report.raster_page import RasterReport, write_raster_report

            found = None if trained.samples is None else _separability(trained.samples)
            parts = RasterReport(
                image, trained.samples, found, made.path, trained.model, held_out, command=command_line(),
                smoothing=smoothing, applicability=applicable,
            )  # fmt: skip
            write_raster_report(report, parts)
    values = {**made.to_dict(), "model": trained.name, "model_file": save_model, "report": report}
    values |= {"held_out_areas": held_out, "smoothing": smoothing, "applicability": applicable}
    show(values, lambda shown: _map_page(made, [smoothing, applicable], held_out, shown), json)


@app.command(cls=Command)
@command
def accuracy(
    class_map: MapPath,
    reference: Annotated[
        str, typer.Argument(metavar="REFERENCE", help="Areas or points of known class, or an image of classes.")
    ],
    reading: AreaOptions,
    stratified: Annotated[
        bool, flag("Area-weighted estimates, for points drawn by raster sample-design.", "--stratified")
    ] = False,
    level: Annotated[float, option("X", "Confidence level.")] = 0.95,
    macro: Annotated[
        list[str] | None,
        option("CLASS=MACRO", "Merge classes of map and reference; or a file with two columns; repeatable."),
    ] = None,
    crs: Crs = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Assess the accuracy of a class map with reference data.

    Examples:
      discriminant raster accuracy map.tif test_areas.gpkg --class-field cover
      discriminant raster accuracy map.tif checked.gpkg --class-field reference --stratified
      discriminant raster accuracy map.tif test_areas.gpkg -c crop --macro wheat=crop --macro maize=crop
    """
    from ..raster import assess_map, class_pixels, open_image
    from ..raster.class_map import written_legend
    from ..raster.label_image import is_image_name

    check_output(report, overwrite, class_map, reference)
    legend = written_legend(class_map)
    truth = reading.open(reference, uses_names=is_image_name(reference))
    others = () if legend is None or legend.rejected is None else (legend.rejected.label,)
    with open_image(class_map, crs=crs) as image:
        # With an image as reference, --name is for the values of the reference.
        given = None if legend is not None and is_image_name(reference) else reading.name
        names = _names(legend, given)
        merged = read_macro(macro)
        if merged is not None:
            truth, names = merged.reference(truth), merged.names(names or {code: code for code in class_pixels(image)})
        found = assess_map(image, truth, None, names, others, n_jobs=-1)
    adjusted = found.area_adjusted(level) if stratified else None
    print_image_findings(found)
    unit = "pixels" if found.hectares is None else "hectares"
    if report is not None:
        from ..report.raster_page import RasterReport, write_raster_report

        parts = RasterReport(
            None, class_map=class_map, accuracy=found.accuracy, adjusted=adjusted, area_unit=unit,
            command=command_line(),
        )  # fmt: skip
        write_raster_report(report, parts)
    estimates = _UNWEIGHTED if adjusted is None else f"{adjusted}\nArea unit: {unit}"
    values = {**found.accuracy.to_dict(), "area_adjusted": adjusted, "area_unit": unit, "report": report}
    show(values, lambda _: [str(found.accuracy), estimates, *_outputs(Report=report)], json)


@app.command(cls=Command)
@command
def change(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="First class map (.tif).")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="Second class map (.tif) on the same grid.")],
    output: Annotated[str, option("FILE", "Output file of the change map (.tif).", "--output", "-o")],
    macro: Annotated[
        list[str] | None,
        option("PAIR=STRATUM", "Merge changes, such as 'forest > water=loss'; or a file with two columns; repeatable."),
    ] = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Compare two class maps.

    The change map has one class per pair of classes. Draw a sample from it with raster sample-design, then estimate
    change areas with raster accuracy --stratified.

    Examples:
      discriminant raster change 2015.tif 2025.tif -o change.tif
      discriminant raster change 2015.tif 2025.tif --macro "forest > water=loss" -o change.tif
    """
    from ..raster import map_change

    check_output(report, overwrite, before, after)
    found = map_change(before, after, output, read_macro(macro), overwrite)
    if report is not None:
        from ..report.raster_page import RasterReport, write_raster_report

        write_raster_report(report, RasterReport(None, class_map=output, change=found, command=command_line()))
    columns = found.change_map.written
    table = shortened("Change map", list(columns), list(zip(*columns.values(), strict=True)))
    biased = (
        "Change areas obtained by pixel counting are biased by the errors of both maps: estimate areas from a sample "
        "(raster sample-design)."
    )
    page = [str(found), *table, biased, *_outputs(Output=", ".join(map(str, found.change_map.files)), Report=report)]
    show({**found.to_dict(), "report": report}, lambda _: page, json)


@app.command(cls=Command)
@command
def mosaic(
    tiles: Annotated[list[str], typer.Argument(metavar="TILE", help="Images or class maps on one grid.")],
    output: Annotated[str, option("FILE", "Output file of the mosaic (.vrt).", "--output", "-o")],
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Join tiles to a virtual raster.

    The mosaic refers to the tiles and is read like one image or one class map.

    Examples:
      discriminant raster mosaic tiles/*.tif -o scene.vrt
      discriminant raster mosaic maps/*.tif -o map.vrt
    """
    from ..raster import mosaic_tiles

    check_output(output, overwrite, *tiles)
    made = str(mosaic_tiles(tiles, output, overwrite))
    show({"tiles": len(tiles), "file": made}, lambda _: [facts({"Tiles": str(len(tiles)), "Output": made})], json)


@app.command(cls=Command)
@command
def export(
    class_map: MapPath,
    output: Annotated[
        str, option("FILE", "Polygons (.gpkg, .geojson) or STAC item (.json) of the map.", "--output", "-o")
    ],
    probability: Annotated[
        str | None, option("FILE", "Probability map (.tif); polygons have its mean.", "--probability")
    ] = None,
    date: Annotated[
        str | None,
        option("DATE", "Date of the image for STAC, or START/END.  [default: date stored in the file]", "--date"),
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Export a class map for other programs.

    Polygons have the class, number of pixels, hectares and mean probability of each patch. A STAC item describes the
    map for catalogues.

    Examples:
      discriminant raster export map.tif -o map.gpkg --probability probability.tif
      discriminant raster export map.tif -o map.json --date 2024-06-01
    """
    from ..raster import map_item, map_polygons

    check_output(output, overwrite, class_map, probability)
    is_item = output.lower().endswith(".json")
    unused = "--probability" if is_item and probability is not None else "--date" if date and not is_item else None
    if unused is not None:
        raise ParameterError(f"{unused} does not apply to {output}. Leave it out.")
    if is_item:
        show(map_item(class_map, output, date, overwrite), lambda _: [facts({"Output": output})], json)
        return
    found = map_polygons(class_map, output, probability, overwrite)
    show(found.to_dict(), lambda _: [str(found), facts({"Output": output})], json)


@app.command(cls=Command)
@command
def sample_design(
    class_map: MapPath,
    output: Annotated[
        str, option("FILE", "Output file of the points (.gpkg, .geojson, .shp, .kml or .csv).", "--output", "-o")
    ],
    total: Annotated[int | None, option("N", "Sample size.  [default: from --standard-error]")] = None,
    at_least: Annotated[int, option("N", "Minimum sample size per class.")] = 50,
    users_accuracy: Annotated[float, option("SHARE", "Expected user's accuracy.")] = 0.8,
    standard_error: Annotated[float, option("SHARE", "Target standard error of the overall accuracy.")] = 0.01,
    name: Names = None,
    crs: Crs = None,
    seed: Annotated[int, option("N", "Random seed.")] = 0,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Draw a stratified random sample of map pixels.

    The sample is for accuracy assessment. The points have an empty field, reference. Enter the true class of each
    point there, then run raster accuracy with --stratified.

    Examples:
      discriminant raster sample-design map.tif -o check.gpkg
      discriminant raster sample-design map.tif --total 600 --at-least 75 -o check.gpkg
    """
    from ..raster import DesignSize, draw_design, open_image
    from ..raster.areas import shapes_driver
    from ..raster.class_map import written_legend

    check_output(output, overwrite, class_map)
    shapes_driver(output, points=True)
    names = _names(written_legend(class_map), name)
    with open_image(class_map, crs=crs) as image:
        size = DesignSize(total, at_least, users_accuracy, standard_error)
        design = draw_design(image, size, names, seed, n_jobs=-1)
    design.save(output)
    assess = ["discriminant", "raster", "accuracy", class_map, output, "--class-field", "reference", "--stratified"]
    if output.lower().endswith(".csv") and (code := design.crs_code) is not None:
        assess += ["--areas-crs", code]
    steps = {"Output": output, "Next": f"enter the classes in the field reference, then run {shlex.join(assess)}"}
    values = {"map": class_map, "strata": design.to_dict()["strata"], "file": output}
    show(values, lambda _: [str(design), facts(steps)], json)


def _mapped_each(
    images: Sequence[str],
    folder: str,
    trained: Callable[[Image, None], TrainedModel],
    picture: ImageOptions,
    making: MapOptions,
    overwrite: bool,
) -> list[ClassMap]:
    """The maps of several images by one model; all images and names are checked before the first map is written."""
    from ..raster import bands_like, classify_image, refuse_other_bands
    from ..raster.output import check_raster_target

    targets = [Path(folder, Path(path).stem + ".tif") for path in images]
    if len(set(targets)) < len(targets):
        raise ParameterError(
            "The maps of --each are named after the images, which must have different names. Rename them."
        )
    with picture.open([images[0]]) as first:
        model = trained(first, None)
    for path in images:
        with picture.open([path]) as image:
            refuse_other_bands(model.bands, bands_like(model.bands, image))
    try:
        Path(folder).mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot create the folder {folder!r}: {error.strerror}. Give another folder.") from error
    for target in targets:
        check_raster_target(target, overwrite)
    rule, written = model.rule(making), making.written(model.training, overwrite)
    maps = []
    for path, target in zip(images, targets, strict=True):
        with picture.open([path]) as image:
            maps.append(classify_image(model.model, image, target, rule, written, model.bands))
    return maps


def _names(legend: Legend | None, given: list[str] | None) -> dict[int, Any] | None:
    """The classes of the codes of a map, by the options or else by its legend."""
    known, names = {} if legend is None else legend.names, name_value_pairs("--name", given or ())
    try:
        return known | {int(code): label for code, label in names.items()} or None
    except ValueError:
        raise ParameterError(f"--name: codes of a map are integers, got {', '.join(names)}.") from None


def _separability(drawn: Samples) -> ClassSeparability | None:
    """The separability of the classes; None, with a note, if it cannot be estimated."""
    from ..raster import class_separability

    try:
        return class_separability(drawn)
    except DegenerateDataError as error:
        print_message(f"Note: {rendered(error)}")
        return None


def _samples_page(drawn: Samples, found: ClassSeparability | None, values: Values) -> Page:
    size = {"Pixels": f"{drawn.n_pixels:,}", "Classes": str(len(drawn.classes)), "Bands": str(len(drawn.bands))}
    distances = [] if found is None else [str(found)]
    return [facts(size), str(drawn.statistics), *distances, *_outputs(Output=values["file"], Report=values["report"])]


def _map_page(
    made: ClassMap,
    parts: Sequence[SmoothingChoice | ApplicabilityMap | None],
    held_out: HeldOutAccuracy | None,
    values: Values,
) -> Page:
    columns = made.written
    size = {
        "Model": values["model"],
        "Classified pixels": f"{sum(made.pixels.values()):,}",
        "Nodata pixels": f"{made.n_nodata:,}",
        **({"Masked pixels": f"{made.n_masked:,}"} if made.n_masked else {}),
    }
    return [
        facts(size),
        *shortened("Map classes", list(columns), list(zip(*columns.values(), strict=True))),
        *(str(part) for part in parts if part is not None),
        *([] if held_out is None else [f"Accuracy on held-out training areas\n{held_out}"]),
        "Pixel counts are biased estimates of areas: estimate areas with raster sample-design and raster accuracy.",
        *_outputs(Output=", ".join(map(str, made.files)), Report=values["report"]),
    ]


def _outputs(**files: str | None) -> Page:
    return [facts(files)] if any(files.values()) else []
