"""Everything public for images, and where it is defined."""

from .accuracy import MapAccuracy, MapAssessment, assess_map, map_accuracy
from .applicability import Applicability, ApplicabilityMap, area_of_applicability, map_applicability
from .areas import Areas, open_areas
from .band_math import add_indices
from .bands import Band, bands_like, refuse_other_bands
from .change import MapChange, map_change
from .class_map import ClassMap, Legend, LegendEntry, class_pixels, legend_of_file, make_legend, read_class_map
from .classify import MapOptions, classify_image
from .design import DesignSize, SampleDesign, allocate, draw_design, sample_size
from .groups import AreaGroups, area_groups
from .image import Image, open_image
from .label_image import LabelImage
from .macro import MacroClasses, read_macro_classes
from .masks import Mask
from .models import (
    HeldOutAccuracy,
    MapRule,
    cross_validate_areas,
    fit_image_model,
    held_out_accuracy,
    image_model,
    split_by_area,
)
from .mosaic import mosaic_tiles
from .polygons import MapPolygons, map_polygons
from .samples import ClassStatistics, SampleOrigin, Samples, draw_samples, load_samples, save_samples
from .separability import ClassPair, ClassSeparability, class_separability
from .signatures import Signatures, fit_signatures, load_signatures, save_signatures
from .smoothing import Smoothing, sieved
from .smoothing_choice import SmoothingChoice, choose_smoothing
from .stac import map_item
from .stratified import AreaAdjusted, area_adjusted_accuracy

__all__ = [
    "Applicability",
    "ApplicabilityMap",
    "AreaAdjusted",
    "AreaGroups",
    "Areas",
    "Band",
    "ClassMap",
    "ClassPair",
    "ClassSeparability",
    "ClassStatistics",
    "DesignSize",
    "HeldOutAccuracy",
    "Image",
    "LabelImage",
    "Legend",
    "LegendEntry",
    "MacroClasses",
    "MapAccuracy",
    "MapAssessment",
    "MapChange",
    "MapOptions",
    "MapPolygons",
    "MapRule",
    "Mask",
    "SampleDesign",
    "SampleOrigin",
    "Samples",
    "Signatures",
    "Smoothing",
    "SmoothingChoice",
    "add_indices",
    "allocate",
    "area_adjusted_accuracy",
    "area_groups",
    "area_of_applicability",
    "assess_map",
    "bands_like",
    "choose_smoothing",
    "class_pixels",
    "class_separability",
    "classify_image",
    "cross_validate_areas",
    "draw_design",
    "draw_samples",
    "fit_image_model",
    "fit_signatures",
    "held_out_accuracy",
    "image_model",
    "legend_of_file",
    "load_samples",
    "load_signatures",
    "make_legend",
    "map_accuracy",
    "map_applicability",
    "map_change",
    "map_item",
    "map_polygons",
    "mosaic_tiles",
    "open_areas",
    "open_image",
    "read_class_map",
    "read_macro_classes",
    "refuse_other_bands",
    "sample_size",
    "save_samples",
    "save_signatures",
    "sieved",
    "split_by_area",
]
