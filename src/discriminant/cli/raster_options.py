"""Options of the commands on images: how images and areas are read, models trained and maps made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from ..errors import DegenerateDataError, InputError, ParameterError, Setting
from ..workflow.models import read_settings, with_settings
from ..workflow.tables import name_value_pairs
from . import options
from .console import print_findings, print_message, rendered
from .options import flag, option, read_costs, read_priors

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from .. import raster
    from ..raster import (
        Applicability,
        AreaGroups,
        Areas,
        Band,
        ClassSeparability,
        HeldOutAccuracy,
        Image,
        LabelImage,
        MacroClasses,
        MapAssessment,
        MapRule,
        Samples,
        Smoothing,
        SmoothingChoice,
    )

IMAGE_PANEL: Final = "Image"
AREAS_PANEL: Final = "Areas"
_MAP = "Map"
_BANDS = Setting("bands")


@dataclass(frozen=True)
class ImageOptions:
    """How an image is read."""

    bands: Annotated[
        str | None,
        option("BAND,...", "Bands by number or name: 1,2,4 or 1-4.  [default: all but alpha]", panel=IMAGE_PANEL),
    ] = None
    crs: Annotated[
        str | None, option("EPSG:N", "Coordinate system, if missing or wrong in the file.", panel=IMAGE_PANEL)
    ] = None
    nodata: Annotated[float | None, option("VALUE", "Nodata value, if missing in the file.", panel=IMAGE_PANEL)] = None
    mask: Annotated[
        str | None, option("FILE", "Mask raster: pixels to exclude, such as clouds.", panel=IMAGE_PANEL)
    ] = None
    resample: Annotated[
        str | None,
        option(
            "METHOD",
            "Resampling of files on other grids: auto, nearest, bilinear, cubic, average.  "
            "[default: none; other grids are an error]",
            panel=IMAGE_PANEL,
        ),
    ] = None
    mask_values: Annotated[
        str | None,
        option(
            "VALUES",
            "Masked values (3,8-10), bits ('bits 1,3'), sentinel2-scl, landsat-qa or sentinel2-qa60.  [default: all "
            "nonzero values]",
            panel=IMAGE_PANEL,
        ),
    ] = None

    index: Annotated[
        list[str] | None,
        option("NAME", "Computed band: NDVI, NDWI, NBR, EVI ... or 'NAME=EXPRESSION'; repeatable.", panel=IMAGE_PANEL),
    ] = None
    roles: Annotated[
        str | None,
        option("nir=4,red=3", "Bands for --index.  [default: from the names of the bands]", panel=IMAGE_PANEL),
    ] = None

    def open(self, images: list[str]) -> Image:
        """Open the image."""
        from ..raster import Mask, add_indices, open_image

        if self.mask is None and self.mask_values is not None:
            raise ParameterError("--mask-values applies to --mask. Give the file of the mask, or leave it out.")
        mask = None if self.mask is None else Mask(self.mask, self.mask_values)
        if self.roles is not None and not self.index:
            raise ParameterError("--roles applies to --index. Give an index, or leave it out.")
        image = open_image(images, self.bands, self.crs, self.nodata, mask, self.resample)
        try:
            roles = name_value_pairs("--roles", [] if self.roles is None else self.roles.split(","))
            return add_indices(image, self.index, roles) if self.index else image
        except BaseException:
            image.close()
            raise


@dataclass(frozen=True)
class AreaOptions:
    """How areas are read."""

    class_field: Annotated[
        str | None,
        option("FIELD", "Field with the class of each area.  [default: the only field]", "--class-field", "-c"),
    ] = None
    layer: Annotated[
        str | None, option("NAME", "Layer of the areas.  [default: the only layer]", panel=AREAS_PANEL)
    ] = None
    areas_crs: Annotated[
        str | None,
        option("EPSG:N", "Coordinate system of the areas, if missing or wrong in the file.", panel=AREAS_PANEL),
    ] = None
    name: Annotated[
        list[str] | None,
        option("VALUE=CLASS", "Class of a number or colour (#rrggbb); repeatable.", "--name", panel=AREAS_PANEL),
    ] = None

    @property
    def is_given(self) -> bool:
        """Whether an option for areas was given."""
        return bool(self.class_field or self.layer or self.areas_crs or self.name)

    def open(self, path: str, uses_names: bool = True) -> Areas | LabelImage:
        """Open a file of areas; ``uses_names`` if ``--name`` is for its values."""
        from ..raster import open_areas

        names = name_value_pairs("--name", self.name or ()) if uses_names else {}
        return open_areas(path, self.class_field, self.layer, self.areas_crs, names or None)


@dataclass(frozen=True)
class TrainingSource(AreaOptions):
    """The training data of the model of a map, or its model file."""

    areas: Annotated[str | None, option("FILE", "Training areas: polygons, points or an image of classes.")] = None
    samples: Annotated[
        str | None, option("FILE", "Samples or class statistics written by raster samples, instead of --areas.")
    ] = None
    model_file: Annotated[str | None, option("FILE", "Model file written by --save-model, instead of --areas.")] = None
    model: Annotated[
        str,
        option(
            "NAME",
            "auto, maximum-likelihood, qda, lda, minimum-distance, spectral-angle, logistic, gaussian-nb or svm.",
        ),
    ] = "auto"
    settings: options.Settings = None
    priors: Annotated[str | None, option("A=0.3,B=0.7", "Class priors in the mapped region.")] = None

    def trained(self, image: Image, group_distance: float | None) -> TrainedModel:
        """The model, fitted or read from its file."""
        given = sum(one is not None for one in (self.areas, self.samples, self.model_file))
        if given != 1:
            raise ParameterError(f"Training data: give exactly one of --areas, --samples, --model-file; got {given}.")
        if self.model_file is not None and any(band.expression for band in image.bands):
            raise ParameterError(
                "--index applies to training, but --model-file has its own computed bands. Leave it out."
            )
        return self._from_file(self.model_file) if self.model_file is not None else self._fitted(image, group_distance)

    def _fitted(self, image: Image, group_distance: float | None) -> TrainedModel:
        from ..raster import area_groups, draw_samples, fit_image_model, image_model, load_samples
        from ..raster.signatures import is_signatures_file

        if self.samples is None:
            assert self.areas is not None
            samples = draw_samples(image, self.open(self.areas), n_jobs=-1)
        elif self.is_given:
            raise ParameterError(
                "--class-field, --layer, --areas-crs and --name apply to --areas, not to --samples. Leave them out."
            )
        elif is_signatures_file(self.samples):
            return self._from_signatures(self.samples)
        else:
            samples = load_samples(self.samples)
        classes = samples.classes.tolist()
        model = image_model(self.model, classes, read_priors(self.priors, classes))
        with_settings(model, self.model, read_settings(self.settings or []), classes)
        kept = [one for one in samples.findings if (one.kind, self.model) != ("embedding", "logistic")]
        print_image_findings(image, replace(samples, findings=tuple(kept)))
        groups = area_groups(samples, group_distance=group_distance)
        try:
            fit_image_model(model, samples, groups)
        except DegenerateDataError as error:
            raise DegenerateDataError(*error.parts, " The columns are bands; select them with ", _BANDS, ".") from error
        return TrainedModel(model, self.model, samples.bands, samples.training, samples, groups)

    def _from_signatures(self, path: str) -> TrainedModel:
        from ..raster import fit_signatures, image_model, load_signatures

        found = load_signatures(path)
        classes = found.classes.tolist()
        model: BaseEstimator | str = self.model
        if self.model != "auto" or self.settings or self.priors is not None:
            model = image_model(self.model, classes, read_priors(self.priors, classes))
            with_settings(model, self.model, read_settings(self.settings or []), classes)
        return TrainedModel(fit_signatures(model, found), self.model, found.bands, found.training, None)

    def _from_file(self, path: str) -> TrainedModel:
        from ..raster.bands import stored_bands
        from ..storage.model_file import read_model_file

        if self.is_given or self.priors is not None or self.settings:
            raise ParameterError(
                "--class-field, --layer, --areas-crs, --name, --priors and --set apply to training, but --model-file "
                "is a fitted model. Leave them out."
            )
        file = read_model_file(path)
        bands = file.metadata.get("bands")
        if bands is None:
            raise InputError(
                f"{path} is not a model of an image: it has no bands. Save one with discriminant raster classify "
                "--save-model."
            )
        name, training = str(file.metadata.get("name")), file.metadata.get("training")
        return TrainedModel(file.model, name, stored_bands(bands, path), training, None)


@dataclass(frozen=True)
class TrainedModel:
    """A fitted model, its bands, and its training samples, if known."""

    model: BaseEstimator
    name: str
    bands: Sequence[Band]
    training: dict[str, Any] | None
    samples: Samples | None
    groups: AreaGroups | None = None

    def rule(self, making: MapOptions) -> MapRule:
        """The rule that assigns classes to pixels."""
        from ..decision import Decision
        from ..raster import MapRule

        decision = None
        if making.costs is not None or making.reject_cost is not None:
            costs = read_costs(making.costs, self.model.classes_.tolist())
            decision = Decision(costs, reject_cost=making.reject_cost)
        return MapRule(decision, making.reject, making.fixed_smoothing, making.min_pixels, making.macro_classes)

    def smoothing(self, image: Image, making: MapOptions, rule: MapRule) -> SmoothingChoice | None:
        """The smoothing of a map with its held-out accuracy; None without smoothing or training samples."""
        from ..raster import choose_smoothing

        if making.smoothing == "none":
            return None
        if self.samples is None:
            if rule.smoothing is None:
                raise ParameterError(
                    "--smoothing is selected on held-out areas, which need training pixels. Give "
                    "--smoothing-window or --smoothing-strength, or train with --areas."
                )
            return None
        candidates = making.smoothing if rule.smoothing is None else [rule.smoothing]
        return choose_smoothing(self.model, image, self.samples, candidates, self.groups, rule)

    def applicability(self, path: str | None, overwrite: bool) -> Applicability | None:
        """The area of applicability, if a path is given; raises the errors of its output before anything is written."""
        from ..raster import area_of_applicability
        from ..raster.output import check_raster_target

        if path is None:
            return None
        check_raster_target(path, overwrite)
        if self.samples is None:
            raise ParameterError(
                "--applicability compares pixels with training pixels. Train with --areas or with pixels as --samples."
            )
        return area_of_applicability(self.samples, self.groups)

    def held_out(self, rule: MapRule) -> HeldOutAccuracy | None:
        """The accuracy on held-out areas; None, with a note, if it cannot be estimated."""
        from ..errors import DiscriminantError
        from ..raster import held_out_accuracy

        if self.samples is None:
            return None
        try:
            return held_out_accuracy(self.model, self.samples, groups=self.groups, rule=rule)
        except DiscriminantError as error:
            print_message(f"Note: Accuracy on held-out areas not available. {rendered(error)}")
            return None

    def save(self, path: str) -> None:
        """Write the model with its bands."""
        from ..results import jsonable
        from ..storage.model_file import save

        save(self.model, path, training=self.training, bands=jsonable(self.bands), name=self.name)


@dataclass(frozen=True)
class MapOptions:
    """How pixels are classified, and what is written."""

    reject: Annotated[
        float | None,
        option(
            "SHARE",
            "Reject pixels outside the region that contains this proportion of their class, e.g. 0.99.  "
            "[default: no rejection]",
            panel=_MAP,
        ),
    ] = None
    reject_cost: Annotated[
        float | None,
        option(
            "COST",
            "Cost of rejecting a pixel, in units of --costs; rejected pixels have no class.  [default: no rejection]",
            panel=_MAP,
        ),
    ] = None
    costs: Annotated[
        str | None, option("FILE", "Cost table: true classes in rows, decisions in columns.", panel=_MAP)
    ] = None
    colour: Annotated[
        list[str] | None, option("CLASS=#RRGGBB", "Colour of a class on the map; repeatable.", panel=_MAP)
    ] = None
    probability: Annotated[
        str | None, option("FILE", "Probability of the most probable class (.tif).", panel=options.OUTPUT)
    ] = None
    probabilities: Annotated[
        str | None, option("FILE", "Probability of each class, one band each (.tif).", panel=options.OUTPUT)
    ] = None
    probability_type: Annotated[
        str, option("TYPE", "percent (integers) or float32 (0 to 1).", panel=options.OUTPUT)
    ] = "percent"
    overviews: Annotated[bool, flag("Add overviews, for large maps.", "--overviews", panel=options.OUTPUT)] = False
    cog: Annotated[bool, flag("Write cloud-optimised GeoTIFF.", "--cog", panel=options.OUTPUT)] = False
    smoothing: Annotated[
        str, option("METHOD", "Smooth by neighbours: bayes, potts, majority, auto or none.", panel=_MAP)
    ] = "none"
    smoothing_window: Annotated[
        int | None, option("PIXELS", "Window width in pixels (odd).  [default: selected on held-out areas]", panel=_MAP)
    ] = None
    smoothing_strength: Annotated[
        float | None,
        option("NUMBER", "Strength of bayes or potts smoothing.  [default: selected on held-out areas]", panel=_MAP),
    ] = None
    min_pixels: Annotated[
        int,
        option(
            "PIXELS", "Minimum mapping unit in pixels; smaller patches are merged into adjacent patches.", panel=_MAP
        ),
    ] = 1
    macro: Annotated[
        list[str] | None,
        option(
            "CLASS=MACRO", "Merge classes in the map; or a file with two columns; repeatable.", "--macro", panel=_MAP
        ),
    ] = None
    subclass_map: Annotated[
        str | None, option("FILE", "With --macro: map of the subclasses before merging (.tif).", panel=options.OUTPUT)
    ] = None

    applicability: Annotated[
        str | None,
        option("FILE", "Dissimilarity to the training pixels and area of applicability (.tif).", panel=options.OUTPUT),
    ] = None

    each: Annotated[
        bool, flag("Map each IMAGE on its own; --output is the folder of the maps.", "--each", panel=options.OUTPUT)
    ] = False

    @property
    def single_files(self) -> dict[str, str | None]:
        """The files that are written for one map, by option."""
        return {
            "--probability": self.probability,
            "--probabilities": self.probabilities,
            "--subclass-map": self.subclass_map,
            "--applicability": self.applicability,
        }

    @property
    def fixed_smoothing(self) -> Smoothing | None:
        """The smoothing whose window or strength is given."""
        from ..raster import Smoothing

        if self.smoothing_window is None and self.smoothing_strength is None:
            return None
        if self.smoothing in ("none", "auto"):
            raise ParameterError(
                "--smoothing-window and --smoothing-strength require --smoothing bayes, potts or majority. Choose one "
                "of these methods."
            )
        default = Smoothing(self.smoothing)
        return replace(
            default,
            window=default.window if self.smoothing_window is None else self.smoothing_window,
            strength=default.strength if self.smoothing_strength is None else self.smoothing_strength,
        )

    @property
    def macro_classes(self) -> MacroClasses | None:
        """The classes to merge."""
        return read_macro(self.macro)

    def written(self, training: dict[str, Any] | None, overwrite: bool) -> raster.MapOptions:
        """What `classify_image` writes."""
        from .. import raster

        return raster.MapOptions(
            probability=self.probability,
            probabilities=self.probabilities,
            probability_type=self.probability_type,
            subclass_map=self.subclass_map,
            colours=name_value_pairs("--colour", self.colour or ()),
            overviews=self.overviews,
            cog=self.cog,
            overwrite=overwrite,
            training=training,
            progress=None,
        )


def print_image_findings(*results: Image | Samples | ClassSeparability | MapAssessment | None) -> None:
    """Write the findings of several results to standard error."""
    print_findings(finding for result in results if result is not None for finding in result.findings)


def read_macro(given: list[str] | None) -> MacroClasses | None:
    """Macro-classes given as pairs or in files."""
    from ..raster import MacroClasses, read_macro_classes

    if not given:
        return None
    files = [one for one in given if "=" not in one]
    of = dict(pair for path in files for pair in read_macro_classes(path).of.items())
    return MacroClasses(of | name_value_pairs("--macro", [one for one in given if "=" in one]))
