"""Classifiers of images by the names they have in remote sensing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import chi2

from ..data.parameters import check_number
from ..decision.posteriors import posterior
from ..decision.rules import ABSTAIN, Decision
from ..errors import ParameterError
from ..estimators.base import RuleClassifier
from ..kernels import pixels as kernels
from ..results import plain
from ..rules import DiagonalRule, LinearRule, QuadraticRule
from ..theory.distributions import class_gaussians
from .class_map import Legend, make_legend

Array = np.ndarray[Any, Any]

#: Where each model is, and what it is in words.
_HOME = {
    "maximum-likelihood": ("discriminant", "QuadraticDiscriminantAnalysis"),
    "qda": ("discriminant", "QuadraticDiscriminantAnalysis"),
    "lda": ("discriminant", "LinearDiscriminantAnalysis"),
    "minimum-distance": ("linear", "MinimumDistance"),
    "logistic": ("logistic", "LogisticRegression"),
    "naive-bayes": ("naive_bayes", "GaussianNB"),
    "svm": ("svm", "SupportVectorClassifier"),
}
NAMES = tuple(_HOME)
_WITH_PRIORS = ("maximum-likelihood", "qda", "lda", "naive-bayes")


def image_model(name: str, classes: Sequence[Any], priors: Mapping[Any, float] | None = None) -> Any:
    """The classifier that goes by this name, not yet fitted.

    Parameters
    ----------
    name : str
        ``maximum-likelihood``: normal classes with a covariance each, all equally likely beforehand; with ``priors``
        the most probable class (MAP). ``qda``: the same with the shares of the samples as priors. ``lda``: one
        covariance for all classes. ``minimum-distance``: the nearest class mean. ``naive-bayes``: bands independent
        within classes. ``logistic``: logistic regression with a weak penalty. ``svm``: support vector machine.
    classes : list
        The classes that are going to be told apart.
    priors : dict, optional
        How frequent each class is on the ground, by name.

    Examples
    --------
    >>> image_model("maximum-likelihood", ["forest", "water"])
    QuadraticDiscriminantAnalysis(priors=[0.5, 0.5])
    """
    if name not in _HOME:
        raise ParameterError(f"There is no model {name!r}. Known: {', '.join(NAMES)}.")
    if priors is not None and name not in _WITH_PRIORS:
        raise ParameterError(f"{name} does not look at priors. Leave them out, or use {', '.join(_WITH_PRIORS)}.")
    home, kind = _HOME[name]
    return getattr(import_module(f"..estimators.{home}", __package__), kind)(**_settings(name, classes, priors))


def _settings(name: str, classes: Sequence[Any], priors: Mapping[Any, float] | None) -> dict[str, Any]:
    if priors is not None:
        return {"priors": {plain(label): share for label, share in priors.items()}}
    if name == "maximum-likelihood":
        return {"priors": [1 / len(classes)] * len(classes)}
    # Areas that can be told apart without error would have infinite coefficients without any penalty.
    return {"alpha": 1e-4} if name == "logistic" else {}


#: From pixels (bands, n) and where they hold values (n,) to codes (n,).
Scorer = Callable[[Array, Array], Array]

#: Models without a kernel of their own see this many pixels at a time, as rows of float64.
_CHUNK = 1 << 16


def map_labels(model: Any, decision: Decision | None) -> tuple[list[Any], bool]:
    """What can stand in the map, and whether a pixel may be given no class."""
    actions = getattr(model, "actions_", None) if decision is None else decision.actions_for(model.classes_)
    if actions is None:
        return [plain(label) for label in model.classes_], False
    labels = [plain(label) for label in actions]
    return [label for label in labels if label != ABSTAIN], ABSTAIN in labels


def scorer(model: Any, legend: Legend, decision: Decision | None) -> Scorer:
    """How pixels get their codes: by a kernel where the model is a plain rule, else by the model's own answers."""
    plainly = decision is None and isinstance(model, RuleClassifier) and type(model).predict is RuleClassifier.predict
    rule = model.rule_ if plainly else None
    if isinstance(rule, LinearRule):
        return _by_kernel(kernels.linear_codes, legend, rule.centre, rule.coef, rule.constants)
    if isinstance(rule, DiagonalRule):
        rule = _as_quadratic(rule)
    if isinstance(rule, QuadraticRule):
        sphered = np.einsum("kj,kjr->kr", rule.offsets, rule.spheres)
        return _by_kernel(kernels.quadratic_codes, legend, rule.centre, sphered, rule.spheres, rule.constants)
    if decision is not None:
        chosen = decision
        return _by_prediction(lambda rows: chosen.decide(posterior(model, rows)), legend)
    return _by_prediction(model.predict, legend)


def _as_quadratic(rule: DiagonalRule) -> QuadraticRule:
    spheres = np.stack([np.diag(1 / np.sqrt(variances)) for variances in rule.variances])
    return QuadraticRule(np.zeros(rule.means.shape[1]), rule.means, spheres, rule.constants)


def _by_kernel(kernel: Any, legend: Legend, *rule: Array) -> Scorer:
    numbers = [np.ascontiguousarray(part, dtype=np.float64) for part in rule]
    labels, nodata = legend.codes, np.dtype(legend.dtype).type(legend.nodata)

    def score(pixels: Array, valid: Array) -> Array:
        out = np.empty(len(valid), dtype=legend.dtype)
        kernel(pixels, valid, *numbers, labels, nodata, out)
        return out

    return score


def _by_prediction(answer: Callable[[Array], Array], legend: Legend) -> Scorer:
    codes = {entry.label: entry.code for entry in legend.classes}
    if legend.rejected is not None:
        codes.setdefault(ABSTAIN, legend.rejected.code)

    def score(pixels: Array, valid: Array) -> Array:
        out = np.full(len(valid), legend.nodata, dtype=legend.dtype)
        for rows, where in _rows(pixels, valid):
            labels = np.asarray(answer(rows)).tolist()
            out[where] = np.fromiter(map(codes.__getitem__, labels), legend.dtype, len(labels))
        return out

    return score


def _rows(pixels: Array, valid: Array) -> Iterator[tuple[Array, Array]]:
    """The pixels that hold values as rows of numbers, and where they stand, some at a time."""
    places = np.flatnonzero(valid)
    for start in range(0, len(places), _CHUNK):
        where = places[start : start + _CHUNK]
        yield np.ascontiguousarray(pixels[:, where].T, dtype=np.float64), where


@dataclass(frozen=True)
class TypicalityThreshold:
    """Gives no class to pixels that are too far from the class they were given."""

    means: Array
    spheres: Array
    farthest: float  #: the largest squared distance that is near enough
    places: Array  #: the class of each code, -1 for none
    reject: int

    def apply(self, pixels: Array, codes: Array) -> None:
        """Replace the codes of pixels that are too far."""
        kernels.reject_far(
            pixels, self.means, self.spheres, self.places, self.farthest, codes.dtype.type(self.reject), codes
        )


def typicality_threshold(model: Any, legend: Legend, share: float) -> TypicalityThreshold:
    """The limit within which a class keeps this share of its own pixels, if they are normal.

    The squared distance of a pixel from the mean of its class, in the metric of its covariance, is chi-square
    distributed with as many degrees of freedom as bands.
    """
    check_number("reject", share, 0, 1, open_below=True)
    if share == 1:
        raise ParameterError("reject must be a share below 1, such as 0.99: with 1 no pixel is too far, got 1.")
    gaussians = class_gaussians(model)
    assert legend.rejected is not None
    places = np.full(1 + int(np.iinfo(legend.dtype).max), -1, dtype=np.int64)
    known = {entry.label: entry.code for entry in legend.classes}
    for k, label in enumerate(gaussians):
        if label in known:
            places[known[label]] = k
    found = list(gaussians.values())
    return TypicalityThreshold(
        np.stack([gaussian.mean for gaussian in found]),
        np.stack([gaussian.inverse_root.T for gaussian in found]),
        float(chi2.ppf(share, found[0].dimension)),
        places,
        legend.rejected.code,
    )


@dataclass(frozen=True)
class PixelClassifier:
    """What gives pixels the codes they have on a map: the model or a decision, and then what is too far."""

    legend: Legend
    score: Scorer
    typicality_threshold: TypicalityThreshold | None

    def codes(self, pixels: Array, valid: Array) -> Array:
        """The codes of pixels (bands, n), of which some hold values (n,)."""
        found = self.score(pixels, valid)
        if self.typicality_threshold is not None:
            self.typicality_threshold.apply(pixels, found)
        return found


def pixel_classifier(
    model: Any, decision: Decision | None = None, reject: float | None = None, colours: Mapping[Any, str] | None = None
) -> PixelClassifier:
    """How a fitted model codes pixels: by its own answers or a decision's; see `classify_image`."""
    labels, abstains = map_labels(model, decision)
    legend = make_legend(labels, abstains or reject is not None, colours)
    far = None if reject is None else typicality_threshold(model, legend, reject)
    return PixelClassifier(legend, scorer(model, legend, decision), far)


@dataclass(frozen=True)
class ProbabilityBands:
    """What a file of probabilities holds: of every class a band, or one of the highest; in percent, or as shares."""

    every: bool
    percent: bool

    @property
    def dtype(self) -> str:
        return "uint8" if self.percent else "float32"

    @property
    def nodata(self) -> float:
        return 255 if self.percent else float("nan")

    def bytes_of(self, n_classes: int) -> int:
        """What a pixel takes."""
        return np.dtype(self.dtype).itemsize * (n_classes if self.every else 1)

    def blank(self, n_classes: int, n_pixels: int) -> Array:
        """The bands with no value anywhere."""
        return np.full((n_classes if self.every else 1, n_pixels), self.nodata, dtype=self.dtype)

    def of(self, posterior: Array) -> Array:
        """The bands of some pixels from the probabilities of their classes, a row each."""
        found = posterior.T if self.every else posterior.max(axis=1)[None]
        return np.rint(100 * found.astype(np.float32)) if self.percent else found


def probability_values(model: Any, pixels: Array, valid: Array, files: Sequence[ProbabilityBands]) -> list[Array]:
    """The bands of each file, shape (bands, n)."""
    out = [file.blank(len(model.classes_), len(valid)) for file in files]
    for rows, where in _rows(pixels, valid) if files else ():
        posterior = np.asarray(model.predict_proba(rows))
        for file, bands in zip(files, out, strict=True):
            bands[:, where] = file.of(posterior)
    return out
