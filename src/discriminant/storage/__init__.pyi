"""Public names of models in files, and where they are defined."""

from .model_file import ModelFile, load, read_model_file, save

__all__ = ["ModelFile", "load", "read_model_file", "save"]
