"""``discriminant raster``: from training areas on an image to a class map and its accuracy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DegenerateDataError, InputError, ParameterError, Setting
from . import options
from .console import Page, check_output, command_line, say, shortened, show, tell_findings, told
from .fit import Settings, read_settings, with_settings
from .options import application, command, option, pairs, read_costs, read_priors

if TYPE_CHECKING:
    from ..decision import Decision
    from ..raster import Band, ClassMap, ClassSeparability, HeldOutAccuracy, Image, Legend, Samples

_EPILOG = """
From areas to a map that has been checked:

\b
  discriminant raster samples image.tif areas.gpkg --class-field cover
  discriminant raster classify image.tif --areas areas.gpkg --class-field cover -o map.tif --report map.html
  discriminant raster sample-design map.tif -o check.gpkg
  discriminant raster accuracy map.tif check.gpkg --class-field reference --stratified
"""

app = application("raster", "Satellite and aerial images: samples, classify, accuracy, sample-design.", _EPILOG)

Images = Annotated[
    list[str],
    typer.Argument(
        metavar="IMAGE", help="The image: a GeoTIFF, PNG or JPEG, or the files of its bands in their order."
    ),
]
Crs = Annotated[
    str | None, option("EPSG:N", "The coordinate system of an image whose file says none, or a wrong one.", "--crs")
]
MapPath = Annotated[str, typer.Argument(metavar="MAP", help="A class map (.tif).")]
Names = Annotated[
    list[str] | None,
    option(
        "VALUE=CLASS", "The class that a number or colour (#rrggbb) of an image stands for; may be repeated.", "--name"
    ),
]

GroupDistance = Annotated[
    float | None,
    option(
        "METRES",
        "Hold areas closer than this out together (pixels for an image without coordinates). [default: points within "
        "the distance over which pixels of a class are correlated]",
    ),
]

_BANDS = Setting("bands")
_BY_HAND = (
    "These numbers count the reference pixels as they are. Reference areas chosen by hand say little about the rest of "
    "the map; for points drawn by raster sample-design give --stratified."
)


@dataclass(frozen=True)
class ImageOptions:
    """How an image is read."""

    bands: Annotated[
        str | None,
        option(
            "BAND,...", "The bands to read, by number or name, such as 1,2,4 or 1-4; by default all but transparency."
        ),
    ] = None
    crs: Crs = None
    nodata: Annotated[
        float | None, option("VALUE", "The value of pixels without a measurement, where the file declares none.")
    ] = None

    def open(self, images: list[str]) -> Image:
        """The image of some files."""
        from ..raster import open_image

        return open_image(images, self.bands, self.crs, self.nodata)


@dataclass(frozen=True)
class AreaOptions:
    """How areas are read."""

    class_field: Annotated[
        str | None, option("FIELD", "The field of the areas that has the class.", "--class-field", "-c")
    ] = None
    layer: Annotated[str | None, option("NAME", "The layer with the areas, where a file has several.")] = None
    areas_crs: Annotated[
        str | None, option("EPSG:N", "The coordinate system of areas whose file says none, or a wrong one.")
    ] = None
    name: Names = None

    @property
    def given(self) -> bool:
        """Whether anything is said about areas besides their file."""
        return bool(self.class_field or self.layer or self.areas_crs or self.name)

    def open(self, path: str, named: bool = True) -> Any:
        """The areas of a file; ``named`` says whether names are for its values."""
        from ..raster import open_areas

        names = pairs("--name", self.name or ()) if named else {}
        return open_areas(path, self.class_field, self.layer, self.areas_crs, names or None)


@dataclass(frozen=True)
class TrainingSource(AreaOptions):
    """What the model of a map learns from, or the file it comes from."""

    areas: Annotated[str | None, option("FILE", "Training areas: polygons, points or an image of classes.")] = None
    samples: Annotated[str | None, option("FILE", "Samples kept by raster samples, instead of areas.")] = None
    model: Annotated[
        str,
        option(
            "NAME",
            "auto (regularised by held-out areas), maximum-likelihood, qda, lda, minimum-distance, logistic, "
            "gaussian-nb or svm.",
        ),
    ] = "auto"
    settings: Settings = None
    model_file: Annotated[str | None, option("FILE", "A model kept by --save-model, instead of areas.")] = None
    priors: Annotated[str | None, option("CLASS=SHARE,...", "How frequent each class is on the ground.")] = None

    def trained(self, image: Image, group_distance: float | None) -> TrainedModel:
        """The model, fitted where it has to be."""
        given = sum(one is not None for one in (self.areas, self.samples, self.model_file))
        if given != 1:
            count = f"{given or 'none'} {'was' if not given else 'were'} given"
            raise ParameterError(f"Give one of --areas, --samples and --model-file to say what to learn from; {count}.")
        return self._from_file(self.model_file) if self.model_file is not None else self._fitted(image, group_distance)

    def _fitted(self, image: Image, group_distance: float | None) -> TrainedModel:
        from ..raster import draw_samples, fit_image_model, image_model, load_samples

        if self.samples is None:
            assert self.areas is not None
            samples = draw_samples(image, self.open(self.areas), n_jobs=-1)
        elif self.given:
            raise ParameterError(
                "--class-field, --layer, --areas-crs and --name are for --areas: kept samples have their classes."
            )
        else:
            samples = load_samples(self.samples)
        classes = samples.classes.tolist()
        model = image_model(self.model, classes, read_priors(self.priors, classes))
        with_settings(model, self.model, read_settings(self.settings or []), classes)
        _tell_findings(image, samples)
        try:
            fit_image_model(model, samples, group_distance)
        except DegenerateDataError as error:
            raise DegenerateDataError(
                *error.parts, " Columns are bands here: choose them with ", _BANDS, "."
            ) from error
        return TrainedModel(model, self.model, samples.bands, samples.training, samples)

    def _from_file(self, path: str) -> TrainedModel:
        from ..raster.image import stored_bands
        from ..storage.model_file import read_model_file

        if self.given or self.priors is not None or self.settings:
            raise ParameterError(
                "--class-field, --layer, --areas-crs, --name, --priors and --set are for training: a model from a file "
                "has learned already."
            )
        file = read_model_file(path)
        bands = file.metadata.get("bands")
        if bands is None:
            raise InputError(
                f"{path} does not say which bands it was trained on, so it is no model for images. Keep one with "
                "discriminant raster classify --save-model."
            )
        name, training = str(file.metadata.get("name")), file.metadata.get("training")
        return TrainedModel(file.model, name, stored_bands(bands, path), training, None)


@dataclass(frozen=True)
class TrainedModel:
    """A fitted model, the bands it is for, and the samples it learned from, where they are at hand."""

    model: Any
    name: str
    bands: Sequence[Band]
    training: dict[str, Any] | None
    samples: Samples | None

    def decision(self, costs: str | None, reject_cost: float | None) -> Decision | None:
        """The rule that decides, or None where the model's own prediction is taken."""
        from ..decision import Decision

        if costs is None and reject_cost is None:
            return None
        return Decision(read_costs(costs, self.model.classes_.tolist()), reject_cost=reject_cost)

    def held_out(
        self, decision: Decision | None, reject: float | None, group_distance: float | None
    ) -> HeldOutAccuracy | None:
        """How right such a map is on areas not seen; None, with the reason told, where that cannot be known."""
        from ..errors import DiscriminantError
        from ..raster import held_out_accuracy

        if self.samples is None:
            return None
        try:
            form: dict[str, Any] = {"decision": decision, "reject": reject, "n_jobs": -1}
            return held_out_accuracy(self.model, self.samples, group_distance=group_distance, **form)
        except DiscriminantError as error:
            say(f"Note: the model was not judged on areas it has not seen. {told(error)}")
            return None

    def save(self, path: str) -> None:
        """Write the model with the bands it is for."""
        from ..results import jsonable
        from ..storage.model_file import save

        save(self.model, path, training=self.training, bands=jsonable(self.bands), name=self.name)


@dataclass(frozen=True)
class MapOptions:
    """What is decided about each pixel, and what is written of it."""

    probability: Annotated[str | None, option("FILE", "Also write the probability of the most probable class.")] = None
    probabilities: Annotated[str | None, option("FILE", "Also write the probability of every class, a band each.")] = (
        None
    )
    probability_type: Annotated[
        str, option("TYPE", "Probabilities in whole 'percent', or as 'float32' from 0 to 1.")
    ] = "percent"
    reject: Annotated[
        float | None,
        option(
            "SHARE", "Give no class to pixels outside the region that holds this share of their class, such as 0.99."
        ),
    ] = None
    reject_cost: Annotated[
        float | None, option("COST", "What giving no class costs, where a wrong class costs 1 (or see --costs).")
    ] = None
    costs: options.Costs = None
    colour: Annotated[
        list[str] | None, option("CLASS=#RRGGBB", "The colour of a class on the map; may be repeated.")
    ] = None
    overviews: Annotated[bool, typer.Option("--overviews", help="Add smaller copies, for large maps.")] = False

    @property
    def settings(self) -> dict[str, Any]:
        """What `classify_image` takes of them as it is."""
        same = ("reject", "probability", "probabilities", "probability_type", "overviews")
        return {**{name: getattr(self, name) for name in same}, "colours": pairs("--colour", self.colour or ())}


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
    reading: AreaOptions,
    picture: ImageOptions,
    output: Annotated[str | None, option("FILE", "Keep the samples in a file (.parquet).", "--output", "-o")] = None,
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
        check_output(path, overwrite, *images, areas)
    with picture.open(images) as image:
        drawn = draw_samples(image, reading.open(areas), n_jobs=-1)
        found = _separability(drawn)
        _tell_findings(drawn, found)
        if output is not None:
            save_samples(drawn, output)
        if report is not None:
            _write_report(report, image, samples=drawn, separability=found)
    values = {"separability": found, "image": images, "areas": areas, "file": output, "report": report}
    show({**drawn.statistics.to_dict(), **values}, lambda _: _samples_page(drawn, found, output, report), json)


@app.command()
@command
def classify(
    images: Images,
    output: Annotated[str, option("FILE", "The class map (.tif).", "--output", "-o")],
    source: TrainingSource,
    picture: ImageOptions,
    making: MapOptions,
    save_model: Annotated[str | None, option("FILE", "Keep the model (.dsc).")] = None,
    validate: Annotated[
        bool, typer.Option(help="Judge the model on training areas it has not seen, held out in turn.")
    ] = True,
    group_distance: GroupDistance = None,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Give every pixel of an image a class.

    The model learns from training areas, from kept samples, or comes from a file. Pixels without a value get none.

    \b
    Examples:
      discriminant raster classify image.tif --areas areas.gpkg -c cover -o map.tif
      discriminant raster classify naip.tif --bands 1-4 --areas areas.gpkg -c cover -o map.tif
      discriminant raster classify image.tif --areas areas.gpkg -c cover --reject 0.99 --probability p.tif -o map.tif
      discriminant raster classify image.tif --samples samples.parquet --model lda --save-model lda.dsc -o map.tif
      discriminant raster classify other.tif --model-file lda.dsc -o other_map.tif
    """
    from ..raster import bands_like, classify_image

    for path in (save_model, report):
        check_output(path, overwrite, *images, source.areas, source.samples, source.model_file)
    with picture.open(images) as given:
        trained = source.trained(given, group_distance)
        image = bands_like(trained.bands, given)
        if image is not given or trained.samples is None:
            _tell_findings(image)
        decision = trained.decision(making.costs, making.reject_cost)
        settings: dict[str, Any] = {**making.settings, "decision": decision, "overwrite": overwrite, "progress": None}
        learned: dict[str, Any] = {"trained_on": trained.bands, "training": trained.training}
        made = classify_image(trained.model, image, output, **learned, **settings)
        held_out = trained.held_out(decision, making.reject, group_distance) if validate else None
        if save_model is not None:
            trained.save(save_model)
        if report is not None:
            found = None if trained.samples is None else _separability(trained.samples)
            _write_report(
                report, image, samples=trained.samples, separability=found, class_map=made.path, model=trained.model,
                held_out=held_out,
            )  # fmt: skip
    values = {**made.to_dict(), "model": trained.name, "model_file": save_model, "report": report}
    show({**values, "held_out_areas": held_out}, lambda shown: _map_page(made, held_out, shown), json)


@app.command()
@command
def accuracy(
    class_map: MapPath,
    reference: Annotated[
        str,
        typer.Argument(metavar="REFERENCE", help="Areas or points whose true class is known, or an image of classes."),
    ],
    reading: AreaOptions,
    stratified: Annotated[
        bool,
        typer.Option(
            "--stratified",
            help="The reference was drawn at random within each map class (raster sample-design): also estimate "
            "accuracies and areas that allow for the area of each class.",
        ),
    ] = False,
    level: Annotated[float, option("SHARE", "The level of the intervals.")] = 0.95,
    crs: Crs = None,
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
    from ..raster import assess_map, open_image
    from ..raster.areas import is_image_name
    from ..raster.class_map import written_legend

    check_output(report, overwrite, class_map, reference)
    legend = written_legend(class_map)
    truth = reading.open(reference, named=is_image_name(reference))
    others = () if legend is None or legend.rejected is None else (legend.rejected.label,)
    with open_image(class_map, crs=crs) as image:
        # Of a painted reference --name says what its own values are.
        given = None if legend is not None and is_image_name(reference) else reading.name
        found = assess_map(image, truth, None, _names(legend, given), others, n_jobs=-1)
    adjusted = found.area_adjusted(level) if stratified else None
    _tell_findings(found)
    unit = "pixels" if found.hectares is None else "hectares"
    if report is not None:
        _write_report(report, None, class_map=class_map, accuracy=found.accuracy, adjusted=adjusted, area_unit=unit)
    told = [_BY_HAND] if adjusted is None else [f"{adjusted}\nareas in {unit}"]
    values = {**found.accuracy.to_dict(), "area_adjusted": adjusted, "area_unit": unit, "report": report}
    show(values, lambda _: [str(found.accuracy), *told, *_report_line(report)], json)


@app.command()
@command
def sample_design(
    class_map: MapPath,
    output: Annotated[str, option("FILE", "The points (.gpkg or .geojson).", "--output", "-o")],
    total: Annotated[int | None, option("N", "How many pixels to check; by default as many as are needed.")] = None,
    at_least: Annotated[int, option("N", "The fewest in each class.")] = 50,
    users_accuracy: Annotated[float, option("SHARE", "The user's accuracy that is expected of the map.")] = 0.8,
    standard_error: Annotated[
        float, option("SHARE", "The standard error that is wanted for the overall accuracy.")
    ] = 0.01,
    name: Names = None,
    crs: Crs = None,
    seed: Annotated[int, option("N", "Another number draws other pixels.")] = 0,
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
    from ..raster import draw_design, open_image
    from ..raster.areas import shapes_driver
    from ..raster.class_map import written_legend

    check_output(output, overwrite, class_map)
    shapes_driver(output)
    names = _names(written_legend(class_map), name)
    with open_image(class_map, crs=crs) as image:
        design = draw_design(image, total, at_least, users_accuracy, standard_error, names, seed, n_jobs=-1)
    design.save(output)
    then = shlex.join(["discriminant", "raster", "accuracy", class_map, output])
    words = f"Written to {output}. Fill in the field reference, then: {then} --class-field reference --stratified"
    values = {"map": class_map, "strata": design.to_dict()["strata"], "file": output}
    show(values, lambda _: [str(design), words], json)


def _names(legend: Legend | None, given: list[str] | None) -> dict[int, Any] | None:
    """What the codes of the map stand for: the options, and for other codes what the map says itself."""
    known, names = {} if legend is None else legend.names, pairs("--name", given or ())
    try:
        return known | {int(code): label for code, label in names.items()} or None
    except ValueError:
        raise ParameterError(f"--name: the codes of the map are whole numbers, got {', '.join(names)}.") from None


def _separability(drawn: Samples) -> ClassSeparability | None:
    """How far apart the classes are; None, with the reason told, where that cannot be known."""
    from ..errors import DegenerateDataError
    from ..raster import class_separability

    try:
        return class_separability(drawn)
    except DegenerateDataError as error:
        say(f"Note: {told(error)}")
        return None


def _tell_findings(*results: Any) -> None:
    """What was found, each thing once."""
    tell_findings(finding for result in results if result is not None for finding in result.findings)


def _samples_page(drawn: Samples, found: Any, output: str | None, report: str | None) -> Page:
    head = f"{drawn.n_pixels:,} pixels of {len(drawn.classes)} classes in {len(drawn.bands)} bands"
    written = [f"Written to {output}."] if output else []
    distances = [] if found is None else [str(found)]
    return [head, str(drawn.statistics), *distances, *written, *_report_line(report)]


def _map_page(made: ClassMap, held_out: HeldOutAccuracy | None, values: dict[str, Any]) -> Page:
    columns = made.written
    title = f"{values['model']}: {sum(made.pixels.values()):,} pixels with values, {made.n_nodata:,} without"
    return [
        *shortened(title, list(columns), list(zip(*columns.values(), strict=True))),
        f"Written: {', '.join(map(str, made.files))}.",
        *([] if held_out is None else [f"On training areas held out in turn:\n{held_out}"]),
        "Areas counted on a map carry its errors: raster sample-design and raster accuracy correct them.",
        *_report_line(values["report"]),
    ]


def _report_line(report: str | None) -> list[str]:
    return [f"Report: {report}"] if report else []


def _write_report(path: str, image: Any, **parts: Any) -> None:
    from ..report.raster_page import write_raster_report

    write_raster_report(path, image, **parts, command=command_line())
