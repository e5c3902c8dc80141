"""``discriminant raster``: from training areas on an image to a class map and its accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .console import Page, check_output, command_line, say, shortened, show, told
from .options import command, pairs
from .raster_check import AreasSystem, ClassField, Layer, Names, accuracy, read_areas, sample_design

if TYPE_CHECKING:
    from ..raster.classify import ClassMap
    from ..raster.samples import Samples

_EPILOG = """
From areas to a map that has been checked:

\b
  discriminant raster samples image.tif areas.gpkg --class-field cover
  discriminant raster classify image.tif --areas areas.gpkg --class-field cover -o map.tif --report map.html
  discriminant raster sample-design map.tif -o check.gpkg
  discriminant raster accuracy map.tif check.gpkg --class-field reference --stratified
"""

app = typer.Typer(
    name="raster",
    help="Satellite and aerial images: samples, classify, accuracy, sample-design.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Images = Annotated[
    list[str],
    typer.Argument(
        metavar="IMAGE", help="The image: a GeoTIFF, PNG or JPEG, or the files of its bands in their order."
    ),
]


@app.command()
@command
def samples(
    images: Images,
    areas: Annotated[
        str,
        typer.Argument(
            metavar="AREAS", help="Training areas: GeoPackage, GeoJSON or Shapefile, or an image of painted classes."
        ),
    ],
    class_field: ClassField = None,
    layer: Layer = None,
    crs: AreasSystem = None,
    name: Names = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Keep the samples in a file (.parquet or .npz)."),
    ] = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Look at the pixels of training areas, and at how well their classes can be told apart.

    \b
    Examples:
      discriminant raster samples image.tif areas.gpkg --class-field cover
      discriminant raster samples b2.tif b3.tif b4.tif areas.geojson -c cover --report samples.html
      discriminant raster samples photo.png painted.png --name "#ff0000=roof" --name "#00ff00=grass"
    """
    from ..raster import draw_samples, save_samples

    for path in (output, report):
        check_output(path, overwrite)
    marked = read_areas(areas, class_field, layer, crs, pairs("--name", name or ()))
    drawn = draw_samples(_image(images), marked, n_jobs=-1)
    found = _separability(drawn)
    _tell_findings(drawn, found)
    if output is not None:
        save_samples(drawn, output)
    if report is not None:
        _write_report(report, _image(images), drawn, found)
    values = {**drawn.statistics.to_dict(), "separability": None if found is None else found.to_dict()}
    values |= {"image": images, "areas": areas, "file": output, "report": report}
    show(values, lambda _: _samples_page(drawn, found, output, report), json)


@app.command()
@command
def classify(
    images: Images,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The class map (.tif).")],
    areas: Annotated[
        str | None, typer.Option(metavar="FILE", help="Training areas: polygons, points or an image of classes.")
    ] = None,
    class_field: ClassField = None,
    layer: Layer = None,
    crs: AreasSystem = None,
    name: Names = None,
    samples: Annotated[
        str | None, typer.Option(metavar="FILE", help="Samples kept by raster samples, instead of areas.")
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="maximum-likelihood, qda, lda, minimum-distance, logistic, gaussian-nb or svm.",
        ),
    ] = "maximum-likelihood",
    model_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A model kept by --save-model, instead of areas.")
    ] = None,
    save_model: Annotated[str | None, typer.Option(metavar="FILE", help="Keep the model (.dsc).")] = None,
    priors: Annotated[
        str | None, typer.Option(metavar="CLASS=SHARE,...", help="How frequent each class is on the ground.")
    ] = None,
    probability: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write the probability of the most probable class.")
    ] = None,
    probabilities: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write the probability of every class, a band each.")
    ] = None,
    probability_type: Annotated[
        str, typer.Option(metavar="TYPE", help="Probabilities in whole 'percent', or as 'float32' from 0 to 1.")
    ] = "percent",
    reject: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Give no class to pixels outside the region that holds this share of their class, such as 0.99.",
        ),
    ] = None,
    reject_cost: Annotated[
        float | None,
        typer.Option(metavar="COST", help="What giving no class costs, where a wrong class costs 1 (or see --costs)."),
    ] = None,
    costs: options.Costs = None,
    colour: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS=#RRGGBB", help="The colour of a class on the map; may be repeated."),
    ] = None,
    overviews: Annotated[bool, typer.Option("--overviews", help="Add smaller copies, for large maps.")] = False,
    validate: Annotated[
        bool, typer.Option(help="Judge the model on training areas it has not seen, held out in turn.")
    ] = True,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Give every pixel of an image a class.

    The model learns from training areas, from kept samples, or comes from a file. Pixels without a value get none.

    \b
    Examples:
      discriminant raster classify image.tif --areas areas.gpkg -c cover -o map.tif
      discriminant raster classify image.tif --areas areas.gpkg -c cover --reject 0.99 --probability p.tif -o map.tif
      discriminant raster classify image.tif --samples samples.parquet --model lda --save-model lda.dsc -o map.tif
      discriminant raster classify other.tif --model-file lda.dsc -o other_map.tif
    """
    from ..raster.classify import classify_image
    from .raster_models import Wanted, Where, trained

    for path in (save_model, report):
        check_output(path, overwrite)
    where = Where(areas, class_field, layer, crs, pairs("--name", name or ()))
    wanted = Wanted(_image(images), where, samples, model_file, model, priors)
    known = trained(wanted)
    if known.samples is not None:
        _tell_findings(known.samples, None)
    decision = known.decision(costs, reject_cost)
    made = classify_image(
        known.model,
        wanted.image,
        output,
        trained_on=known.bands,
        decision=decision,
        reject=reject,
        probability=probability,
        probabilities=probabilities,
        probability_type=probability_type,  # type: ignore[arg-type]
        colours=pairs("--colour", colour or ()),
        overviews=overviews,
        overwrite=overwrite,
        progress=None,
    )
    judged = known.judged(decision, reject) if validate else None
    if save_model is not None:
        known.save(save_model)
    if report is not None:
        found = None if known.samples is None else _separability(known.samples)
        _write_report(report, wanted.image, known.samples, found, made, known.model, judged)
    values = {**made.to_dict(), "model": known.name, "model_file": save_model, "report": report}
    show(
        {**values, "held_out_areas": None if judged is None else judged.to_dict()},
        lambda shown: _map_page(made, judged, shown),
        json,
    )


app.command()(accuracy)
app.command()(sample_design)


def _image(images: list[str]) -> str | list[str]:
    return images[0] if len(images) == 1 else images


def _separability(drawn: Samples) -> Any:
    """How far apart the classes are; None, with the reason told, where that cannot be known."""
    from ..errors import DegenerateDataError
    from ..raster.separability import class_separability

    try:
        return class_separability(drawn)
    except DegenerateDataError as error:
        say(f"Note: {told(error)}")
        return None


def _tell_findings(drawn: Samples, found: Any) -> None:
    for finding in (*drawn.findings, *(() if found is None else found.findings)):
        say(f"{finding.severity.capitalize()}: {finding.message}")


def _samples_page(drawn: Samples, found: Any, output: str | None, report: str | None) -> Page:
    head = f"{drawn.n_pixels:,} pixels of {len(drawn.classes)} classes in {len(drawn.bands)} bands"
    written = [f"Written to {output}."] if output else []
    told = [] if found is None else [str(found)]
    return [head, str(drawn.statistics), *told, *written, *([f"Report: {report}"] if report else [])]


def _map_page(made: ClassMap, judged: Any, values: dict[str, Any]) -> Page:
    from ..results import percent

    total = sum(made.pixels.values())
    head = ["class", "code", "pixels", "share", *(["hectares"] if made.areas is not None else [])]
    rows = []
    for entry in made.legend.entries:
        n = made.pixels[entry.label]
        area = [] if made.areas is None else [f"{made.areas[entry.label]:,.2f}"]
        rows.append([entry.name, entry.code, f"{n:,}", percent(n / total if total else None), *area])
    files = ", ".join(str(path) for path in made.files)
    return [
        *shortened(f"{values['model']}: {total:,} pixels with values, {made.n_nodata:,} without", head, rows),
        f"Written: {files}.",
        *([] if judged is None else [f"On training areas held out in turn:\n{judged}"]),
        "Areas counted on a map carry its errors: raster sample-design and raster accuracy correct them.",
        *([f"Report: {values['report']}"] if values["report"] else []),
    ]


def _write_report(
    path: str,
    image: Any,
    drawn: Samples | None,
    found: Any,
    made: ClassMap | None = None,
    model: Any = None,
    judged: Any = None,
) -> None:
    from ..report.raster_page import write_raster_report

    write_raster_report(
        path,
        image,
        samples=drawn,
        separability=found,
        class_map=None if made is None else made.path,
        model=model,
        held_out=judged,
        command=command_line(),
    )
