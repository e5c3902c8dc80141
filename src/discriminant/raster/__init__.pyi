"""Everything public for images, and where it is defined."""

from .accuracy import AreaAdjusted, MapAccuracy, MapAssessment, area_adjusted_accuracy, assess_map, map_accuracy
from .areas import Areas, LabelImage, open_areas
from .class_map import ClassMap, Legend, LegendEntry, class_pixels, legend_of_file, make_legend, read_class_map
from .classify import classify_image
from .design import SampleDesign, allocate, draw_design, sample_size
from .groups import AreaGroups, area_groups
from .image import Band, Image, bands_like, open_image, refuse_other_bands
from .models import (
    HeldOutAccuracy,
    cross_validate_areas,
    fit_image_model,
    held_out_accuracy,
    image_model,
    split_by_area,
)
from .samples import ClassStatistics, SampleOrigin, Samples, draw_samples, load_samples, save_samples
from .separability import ClassPair, ClassSeparability, class_separability

__all__ = [
    "AreaAdjusted",
    "AreaGroups",
    "Areas",
    "Band",
    "ClassMap",
    "ClassPair",
    "ClassSeparability",
    "ClassStatistics",
    "HeldOutAccuracy",
    "Image",
    "LabelImage",
    "Legend",
    "LegendEntry",
    "MapAccuracy",
    "MapAssessment",
    "SampleDesign",
    "SampleOrigin",
    "Samples",
    "allocate",
    "area_adjusted_accuracy",
    "area_groups",
    "assess_map",
    "bands_like",
    "class_pixels",
    "class_separability",
    "classify_image",
    "cross_validate_areas",
    "draw_design",
    "draw_samples",
    "fit_image_model",
    "held_out_accuracy",
    "image_model",
    "legend_of_file",
    "load_samples",
    "make_legend",
    "map_accuracy",
    "open_areas",
    "open_image",
    "read_class_map",
    "refuse_other_bands",
    "sample_size",
    "save_samples",
    "split_by_area",
]
