"""The model that classifies an image: fitted to areas or samples, or read from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError, ParameterError
from .console import say, told
from .options import read_costs, read_priors
from .raster_check import read_areas

if TYPE_CHECKING:
    from ..decision import Decision
    from ..raster import Band
    from ..raster.accuracy import MapAccuracy
    from ..raster.samples import Samples


@dataclass(frozen=True)
class Where:
    """Where the training areas are, and how to read them."""

    areas: str | None
    class_field: str | None
    layer: str | None
    crs: str | None
    names: Mapping[str, str]

    @property
    def described(self) -> bool:
        """Whether anything is said about areas besides their file."""
        return bool(self.class_field or self.layer or self.crs or self.names)


@dataclass(frozen=True)
class Wanted:
    """What the command line says about the model."""

    image: str | list[str]
    where: Where
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

        if costs is None and reject_cost is None:
            return None
        return Decision(read_costs(costs, self.model.classes_.tolist()), reject_cost=reject_cost)

    def judged(self, decision: Decision | None, reject: float | None) -> MapAccuracy | None:
        """How right such a map is on areas not seen; None, with the reason told, where that cannot be known."""
        from ..errors import DiscriminantError
        from ..raster.validate import held_out_accuracy

        if self.samples is None:
            return None
        try:
            return held_out_accuracy(self.model, self.samples, decision=decision, reject=reject, n_jobs=-1)
        except DiscriminantError as error:
            say(f"Note: the model was not judged on areas it has not seen. {told(error)}")
            return None

    def save(self, path: str) -> None:
        """Write the model with the bands it is for."""
        from ..storage import save

        training = None
        if self.samples is not None:
            training = {"pixels": self.samples.n_pixels, "image": self.samples.origin.to_dict()}
        save(self.model, path, training=training, bands=[band.to_dict() for band in self.bands], name=self.name)


def trained(wanted: Wanted) -> Trained:
    """The model of a command, fitted where it has to be; from then on the run knows the bands by name."""
    given = sum(one is not None for one in (wanted.where.areas, wanted.samples, wanted.model_file))
    if given != 1:
        told = f"{given or 'none'} {'was' if not given else 'were'} given"
        raise ParameterError(f"Give one of --areas, --samples and --model-file to say what to learn from; {told}.")
    return _from_file(wanted) if wanted.model_file is not None else _fitted(wanted)


def _fitted(wanted: Wanted) -> Trained:
    from ..data.rows import as_rows
    from ..raster import draw_samples, load_samples
    from ..raster.models import image_model

    where = wanted.where
    if where.areas is not None:
        marked = read_areas(where.areas, where.class_field, where.layer, where.crs, where.names)
        samples = draw_samples(wanted.image, marked, n_jobs=-1)
    else:
        assert wanted.samples is not None
        if where.described:
            raise ParameterError(
                "--class-field, --layer, --crs and --name are for --areas: kept samples have their classes."
            )
        samples = load_samples(wanted.samples)
    classes = samples.classes.tolist()
    model = image_model(wanted.name, classes, read_priors(wanted.priors, classes))
    model.fit(as_rows(samples.X, samples.band_names), samples.y)
    return Trained(model, wanted.name, samples.bands, samples)


def _from_file(wanted: Wanted) -> Trained:
    from ..raster import Band
    from ..storage import read_model_file

    assert wanted.model_file is not None
    if wanted.where.described or wanted.priors is not None:
        raise ParameterError(
            "--class-field, --layer, --crs, --name and --priors are for training: a model from a file has learned "
            "already."
        )
    file = read_model_file(wanted.model_file)
    bands = file.metadata.get("bands")
    if bands is None:
        raise InputError(
            f"{wanted.model_file} does not say which bands it was trained on, so it is no model for images. Keep one "
            "with discriminant raster classify --save-model."
        )
    return Trained(file.model, str(file.metadata.get("name")), [Band(**band) for band in bands], None)
