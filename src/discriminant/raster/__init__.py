"""Images: training areas, samples, separability, whole maps and their accuracy."""

from .accuracy import MapAccuracy, map_accuracy
from .area_adjusted import AreaAdjusted, area_adjusted_accuracy
from .areas import Areas, open_areas
from .assess import MapAssessment, assess_map, class_pixels, pixel_hectares
from .classify import ClassMap, classify_image, read_class_map
from .design import SampleDesign, allocate, draw_design, sample_size
from .image import Band, Image, open_image, refuse_other_bands
from .label_image import LabelImage
from .legend import Legend, legend_of_file, make_legend
from .models import image_model
from .samples import Origin, Samples, Training, draw_samples
from .samples_file import load_samples, save_samples
from .separability import Separability, separability
from .statistics import ClassStatistics
from .validate import cross_validate_areas, held_out_accuracy, split_by_area

__all__ = [
    "AreaAdjusted",
    "Areas",
    "Band",
    "ClassMap",
    "ClassStatistics",
    "Image",
    "LabelImage",
    "Legend",
    "MapAccuracy",
    "MapAssessment",
    "Origin",
    "SampleDesign",
    "Samples",
    "Separability",
    "Training",
    "allocate",
    "area_adjusted_accuracy",
    "assess_map",
    "class_pixels",
    "classify_image",
    "cross_validate_areas",
    "draw_design",
    "draw_samples",
    "held_out_accuracy",
    "image_model",
    "legend_of_file",
    "load_samples",
    "make_legend",
    "map_accuracy",
    "open_areas",
    "open_image",
    "pixel_hectares",
    "read_class_map",
    "refuse_other_bands",
    "sample_size",
    "save_samples",
    "separability",
    "split_by_area",
]
