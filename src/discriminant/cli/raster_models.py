"""The model that classifies an image: fitted to areas or samples, or read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError, ParameterError
from .running import Run, say

if TYPE_CHECKING:
    from ..decision import Decision
    from ..raster import Band
    from ..raster.accuracy import MapAccuracy
    from ..raster.samples import Samples


@dataclass(frozen=True)
class Wanted:
    """What the command line says about the model."""

    image: str | list[str]
    areas: str | None
    class_field: str | None
    samples: str | None
    model_file: str | None
    name: str
    priors: str | None


@dataclass(frozen=True)
class Trained:
    """A fitted model, the bands it is for, and the samples it learned from, where they are at hand."""

    model: Any
    name: str
    bands: Sequence[Band]
    samples: Samples | None

    def decision(self, costs: str | None, reject_cost: float | None) -> Decision | None:
        """The rule that decides, or None where the model's own answer is taken."""
        from ..decision import Decision
        from .costs import costs_in_words, read_cost_file

        if costs is None and reject_cost is None:
            return None
        costed = read_cost_file(costs, self.model.classes_.tolist())
        if costed is not None:
            say(costs_in_words(costed))
        return Decision(costed, reject_cost=reject_cost)

    def judged(self) -> MapAccuracy | None:
        """How well the model does on areas it has not seen; None, with the reason told, where that cannot be known."""
        from sklearn.base import clone

        from ..errors import DiscriminantError
        from ..raster.accuracy import MapAccuracy
        from ..raster.validate import cross_validate_areas

        if self.samples is None:
            return None
        try:
            found = cross_validate_areas({self.name: clone(self.model)}, self.samples, metrics="accuracy", n_jobs=-1)
        except DiscriminantError as error:
            say(f"Note: the model was not judged on areas it has not seen. {error}")
            return None
        return MapAccuracy(found.confusion(self.name))

    def save(self, path: str) -> None:
        """Write the model with the bands it is for."""
        from ..storage import save

        training = None
        if self.samples is not None:
            training = {"pixels": self.samples.n_pixels, "image": self.samples.origin.to_dict()}
        save(self.model, path, training=training, bands=[band.to_dict() for band in self.bands], name=self.name)


def trained(wanted: Wanted, run: Run) -> Trained:
    """The model of a command, fitted where it has to be; from then on the run knows the bands by name."""
    given = [name for name in ("areas", "samples", "model_file") if getattr(wanted, name) is not None]
    if len(given) != 1:
        told = "none was given" if not given else f"{len(given)} were given"
        raise ParameterError(f"Give one of --areas, --samples and --model-file to say what to learn from; {told}.")
    return _from_file(wanted) if wanted.model_file is not None else _fitted(wanted, run)


def _fitted(wanted: Wanted, run: Run) -> Trained:
    from ..raster import draw_samples, load_samples
    from ..raster.models import image_model
    from .costs import read_priors

    if wanted.samples is not None:
        if wanted.class_field is not None:
            raise ParameterError("--class-field is for --areas: kept samples have their classes.")
        samples = load_samples(wanted.samples)
    else:
        samples = draw_samples(wanted.image, wanted.areas, wanted.class_field, n_jobs=-1)
    run.names, classes = samples.band_names, samples.classes.tolist()
    model = image_model(wanted.name, classes, read_priors(wanted.priors, classes))
    model.fit(samples.X, samples.y)
    return Trained(model, wanted.name, samples.bands, samples)


def _from_file(wanted: Wanted) -> Trained:
    from ..raster import Band
    from ..storage import read_model_file

    assert wanted.model_file is not None
    if wanted.class_field is not None or wanted.priors is not None:
        raise ParameterError("--class-field and --priors are for training: a model from a file has learned already.")
    file = read_model_file(wanted.model_file)
    bands = file.metadata.get("bands")
    if bands is None:
        raise InputError(
            f"{wanted.model_file} does not say which bands it was trained on, so it is no model for images. Keep one "
            "with discriminant raster classify --save-model."
        )
    return Trained(file.model, str(file.metadata.get("name")), [Band(**band) for band in bands], None)
