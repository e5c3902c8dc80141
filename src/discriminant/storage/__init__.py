"""Models in files, and models in other languages."""

from ..errors import ModelFileError
from .export import export
from .model_file import ModelFile, load, read_model_file, save

__all__ = ["ModelFile", "ModelFileError", "export", "load", "read_model_file", "save"]
