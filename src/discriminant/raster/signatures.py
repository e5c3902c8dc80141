"""Signature libraries: the statistics of classes in the bands of an image, in a file, and models trained on them.

The file is JSON: ``format`` and ``version``; ``bands``, each with ``name``, ``dtype`` and the other fields of `Band`;
``classes``, each with ``class``, ``pixels``, ``mean`` (a number for each band) and ``covariance`` (a row for each band,
divisor n - 1). A class without covariance can train the models that use means only.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import Array
from ..data import label_array
from ..errors import DegenerateDataError, InputError, LabelError
from ..estimators.moment_classifier import fit_moments
from ..files import write_whole
from ..moments.statistic import ClassMoments
from ..results import Result, aligned, jsonable, shown
from .bands import Band, stored_bands
from .files import check_file
from .models import PIXELS_PER_BAND, image_model
from .samples import Samples

_FORMAT, _VERSION = "discriminant signatures", 1
#: Largest difference between a covariance and its transpose, relative to its largest value.
ASYMMETRY: Final = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Signatures(Result):
    """The statistics of classes in the bands of an image.

    Attributes
    ----------
    bands : tuple of Band
    classes : array of shape (K,)
    counts : array of shape (K,)
        Numbers of pixels.
    means : array of shape (K, p)
    covariances : array of shape (K, p, p)
        With divisor n - 1; NaN where unknown.
    training : dict
        A description of the training data.

    See Also
    --------
    load_signatures : Reads them from a file.
    fit_signatures : Fits a model to them.
    """

    bands: tuple[Band, ...]
    classes: Array
    counts: Array
    means: Array
    covariances: Array
    training: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, samples: Samples) -> Signatures:
        """The signatures of samples.

        Parameters
        ----------
        samples : Samples
            The samples.

        Returns
        -------
        Signatures
        """
        found = samples.statistics
        return cls(samples.bands, found.classes, found.counts, found.means, found.covariances, samples.training)

    def moments(self) -> ClassMoments:
        """Counts, means and scatter, as the models of this package use them.

        Returns
        -------
        ClassMoments
        """
        made = ClassMoments(len(self.classes), len(self.bands), "class")
        made.counts, made.weight, made.mean = self.counts.astype(np.int64), self.counts.astype(float), self.means
        degrees = np.maximum(self.counts - 1.0, 0.0)[:, None, None]
        made.scatter = np.where(degrees > 0, self.covariances * degrees, 0.0)
        return made

    def _columns(self) -> dict[str, Any]:
        names, (K, p) = [band.name for band in self.bands], self.means.shape
        sds = np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        by_class = {"class": np.repeat(self.classes, p).tolist(), "pixels": np.repeat(self.counts, p)}
        return {**by_class, "band": names * K, "mean": self.means.ravel(), "sd": sds.ravel()}

    def to_dict(self) -> dict[str, Any]:
        """The content of the file.

        Returns
        -------
        dict
            ``format``, ``version``, ``bands``, ``classes`` and ``training``.
        """
        records = [
            {"class": label, "pixels": n, "mean": mean, "covariance": cov if np.isfinite(cov).all() else None}
            for label, n, mean, cov in zip(self.classes, self.counts, self.means, self.covariances, strict=True)
        ]
        head = {"format": _FORMAT, "version": _VERSION, "bands": self.bands, "training": self.training}
        return jsonable({**head, "classes": records})

    def __str__(self) -> str:
        rows = [
            ["class", "pixels"],
            *([str(label), f"{n:,}"] for label, n in zip(self.classes, self.counts, strict=True)),
        ]
        return "\n".join([f"Signatures of {len(self.classes)} classes in {len(self.bands)} bands", *aligned(rows)])


def save_signatures(signatures: Signatures | Samples, path: str | os.PathLike[str]) -> None:
    """Write the signatures of classes to a JSON file.

    Parameters
    ----------
    signatures : Signatures or Samples
        The statistics of classes, or samples.
    path : path
        Output file (``.json``); an existing file is replaced.

    See Also
    --------
    load_signatures : Reads the file.
    save_samples : Writes the pixels.

    Examples
    --------
    >>> import tempfile
    >>> from discriminant.raster import Band, Samples, load_signatures, save_signatures
    >>> values, place = np.array([[7.0], [9.0], [20.0], [24.0]]), np.arange(4)
    >>> labels = np.array(["water", "water", "sand", "sand"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_signatures(Samples(values, labels, place, place, place, (Band("red", "float64"),)), f"{folder}/s.json")
    ...     found = load_signatures(f"{folder}/s.json")
    >>> found.means.ravel().tolist(), found.covariances.ravel().tolist()
    ([22.0, 8.0], [8.0, 2.0])
    """
    if not is_signatures_file(path):
        raise InputError(f"Signatures are stored as JSON, got {os.fspath(path)!r}. Give a name that ends in .json.")
    known = Signatures.of(signatures) if isinstance(signatures, Samples) else signatures
    write_whole(path, json.dumps(known.to_dict(), ensure_ascii=False, indent=1).encode())


def is_signatures_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file has signatures, by its name."""
    return Path(path).suffix.lower() == ".json"


def load_signatures(path: str | os.PathLike[str]) -> Signatures:
    """Read signatures written by `save_signatures`, or by another program in the same format.

    Parameters
    ----------
    path : path
        Input file (``.json``).

    Returns
    -------
    Signatures

    See Also
    --------
    fit_signatures : Fits a model to them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from discriminant.raster import load_signatures
    >>> text = '''{"format": "discriminant signatures", "version": 1, "bands": [{"name": "red", "dtype": "uint8"}],
    ... "classes": [{"class": "sand", "pixels": 9, "mean": [80]}, {"class": "water", "pixels": 5, "mean": [20]}]}'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "library.json").write_text(text)
    ...     load_signatures(f"{folder}/library.json").classes.tolist()
    ['sand', 'water']
    """
    name = os.fspath(path)
    check_file(name)
    try:
        content = json.loads(Path(name).read_text(encoding="utf-8"))
        described = content["format"], content["version"]
        if described != (_FORMAT, _VERSION):
            raise InputError(f"{name!r}: expected {_FORMAT} of version {_VERSION}, got {described}. Write them again.")
        return _checked(content, name)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"Cannot read signatures from {name!r} ({type(error).__name__}: {error}). Give a JSON file written by "
            "save_signatures or by the command 'raster samples'."
        ) from error


def _checked(content: dict[str, Any], name: str) -> Signatures:
    """Signatures from the content of a file."""
    bands, records = stored_bands(content["bands"], repr(name)), content["classes"]
    p, labels = len(bands), label_array([record["class"] for record in records])
    if len(set(labels.tolist())) < len(labels) or len(labels) < 2:
        raise LabelError(f"{name!r} must have two or more different classes, got {labels.tolist()}. Correct the file.")
    order = np.argsort(labels, kind="stable")  # models have their classes in this order
    counts, means, covariances = np.zeros(len(labels)), np.zeros((len(labels), p)), np.full((len(labels), p, p), np.nan)
    for k, record in enumerate(records):
        where = f"class {shown(labels[k])} of {name!r}"
        counts[k], mean = record["pixels"], np.asarray(record["mean"], dtype=np.float64)
        given = record.get("covariance")
        covariance = covariances[k] if given is None else np.asarray(given, dtype=np.float64)
        if mean.shape != (p,) or covariance.shape != (p, p):
            raise InputError(
                f"The mean of {where} must have {p} numbers, one for each band, and the covariance {p} x {p}. "
                "Correct the file."
            )
        if not np.isfinite(mean).all() or counts[k] < 1 or counts[k] % 1:
            raise InputError(f"The {where} must have a finite mean and 1 or more pixels. Correct the file.")
        if given is not None and not _is_covariance(covariance):
            raise InputError(
                f"The covariance of {where} is not symmetric with variances of 0 or more. Correct the file."
            )
        means[k], covariances[k] = mean, covariance
    training = dict(content.get("training") or {})
    return Signatures(bands, labels[order], counts[order].astype(np.int64), means[order], covariances[order], training)


def _is_covariance(values: Array) -> bool:
    """Whether a matrix is symmetric and has no negative eigenvalue, up to rounding."""
    if not np.isfinite(values).all():
        return False
    largest = ASYMMETRY * np.abs(values).max()
    return bool(np.abs(values - values.T).max() <= largest and np.linalg.eigvalsh(values).min() >= -largest)


def fit_signatures(model: BaseEstimator | str, signatures: Signatures) -> BaseEstimator:
    """Fit a classifier to the signatures of classes, with the same result as to their pixels.

    Parameters
    ----------
    model : classifier or str
        A model of class means and covariances, or its name in `image_model`: lda, qda, maximum-likelihood, gaussian-nb,
        minimum-distance or spectral-angle. ``auto`` is maximum-likelihood if each class has 10 pixels for every band,
        else lda.
    signatures : Signatures
        The statistics of the classes.

    Returns
    -------
    classifier
        The fitted model.

    See Also
    --------
    fit_image_model : Fits a model to pixels.

    Examples
    --------
    >>> from discriminant.raster import Band, Signatures, fit_signatures
    >>> library = Signatures((Band("red", "uint8"),), np.array(["sand", "water"]), np.array([9, 9]),
    ...                      np.array([[80.0], [20.0]]), np.array([[[9.0]], [[4.0]]]))
    >>> fit_signatures("lda", library).means_.ravel().tolist()
    [80.0, 20.0]
    """
    if isinstance(model, str):
        is_large = signatures.counts.min() >= PIXELS_PER_BAND * len(signatures.bands)
        name = ("maximum-likelihood" if is_large else "lda") if model == "auto" else model
        model = image_model(name, signatures.classes.tolist())
    known = np.isfinite(signatures.covariances).all(axis=(1, 2)) | (signatures.counts == 1)
    if not known.all() and type(model).__name__ not in ("MinimumDistance", "SpectralAngle"):
        raise DegenerateDataError(
            f"Class {shown(signatures.classes[~known][0])} has no covariance, which {type(model).__name__} needs. Use "
            "minimum-distance or spectral-angle, or add the covariance."
        )
    names = [band.name for band in signatures.bands]
    fitted: BaseEstimator = fit_moments(model, signatures.moments(), signatures.classes, names)
    return fitted
