"""Classifiers of images: by their names in remote sensing, and from the bands of pixels to codes and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from ..data.checks import check_number
from ..decision.posteriors import posterior
from ..decision.rules import ABSTAIN, Decision
from ..errors import ParameterError, Setting
from ..estimators.base import RuleClassifier
from ..estimators.registry import known_name, new_model
from ..kernels import pixels as kernels
from ..results import plain
from ..rules import DiagonalRule, LinearRule, QuadraticRule
from ..theory.distributions import class_gaussians
from .class_map import Legend, make_legend

Array = np.ndarray[Any, Any]
#: From pixels (bands, n) and where they hold values (n,) to codes (n,).
Scorer = Callable[[Array, Array], Array]

#: Maximum likelihood, and those models of the registry that are used for images.
NAMES = ("maximum-likelihood", "qda", "lda", "minimum-distance", "logistic", "gaussian-nb", "svm")
_WITH_PRIORS = ("maximum-likelihood", "qda", "lda", "gaussian-nb")
#: Models without a kernel of their own see this many pixels at a time, as rows of float64.
_CHUNK = 1 << 16


def image_model(name: str, classes: Sequence[Any], priors: Mapping[Any, float] | None = None) -> Any:
    """The classifier that goes by this name, not yet fitted.

    Parameters
    ----------
    name : str
        ``maximum-likelihood``: normal classes with a covariance each, all equally likely beforehand; with ``priors``
        the most probable class (MAP). ``qda``: the same with the shares of the samples as priors. ``lda``: one
        covariance for all classes. ``minimum-distance``: the nearest class mean. ``gaussian-nb``: bands independent
        within classes. ``logistic``: logistic regression with a weak penalty. ``svm``: support vector machine.
    classes : list
        The classes that are going to be told apart.
    priors : dict, default None
        How frequent each class is on the ground, by name.

    Returns
    -------
    A classifier of this package.

    Examples
    --------
    >>> image_model("maximum-likelihood", ["forest", "water"])
    QuadraticDiscriminantAnalysis(priors=[0.5, 0.5])
    """
    model = new_model("qda" if known_name(name, NAMES) == "maximum-likelihood" else name)
    if priors is not None:
        if name not in _WITH_PRIORS:
            raise ParameterError(f"{name} does not look at priors. Leave them out, or use {', '.join(_WITH_PRIORS)}.")
        return model.set_params(priors={plain(label): share for label, share in priors.items()})
    if name == "maximum-likelihood":
        return model.set_params(priors=[1 / len(classes)] * len(classes))
    # Areas that can be told apart without error would have infinite coefficients without any penalty.
    return model.set_params(alpha=1e-4) if name == "logistic" else model


@dataclass(frozen=True)
class PixelClassifier:
    """What gives pixels the codes they have on a map: the model or a decision, and then what is not typical."""

    legend: Legend
    score: Scorer
    reject_atypical: Callable[[Array, Array], None] | None

    def codes(self, pixels: Array, valid: Array) -> Array:
        """The codes of pixels (bands, n), of which some hold values (n,)."""
        found = self.score(pixels, valid)
        if self.reject_atypical is not None:
            self.reject_atypical(pixels, found)
        return found


def pixel_classifier(
    model: Any, decision: Decision | None = None, reject: float | None = None, colours: Mapping[Any, str] | None = None
) -> PixelClassifier:
    """How a fitted model codes pixels: by its own predictions or a decision's; see `classify_image`."""
    actions = getattr(model, "actions_", None) if decision is None else decision.actions_for(model.classes_)
    labels = [plain(label) for label in (model.classes_ if actions is None else actions)]
    abstains = actions is not None and ABSTAIN in labels
    classes = [label for label in labels if label != ABSTAIN] if abstains else labels
    legend = make_legend(classes, abstains or reject is not None, colours)
    atypical = None if reject is None else _atypicality_filter(model, legend, reject)
    return PixelClassifier(legend, _scorer(model, legend, decision), atypical)


def _scorer(model: Any, legend: Legend, decision: Decision | None) -> Scorer:
    """How pixels get their codes: by a kernel where the model is a plain rule, else by the model's own predictions."""
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


def _by_prediction(predict: Callable[[Array], Array], legend: Legend) -> Scorer:
    codes = {entry.label: entry.code for entry in legend.classes}
    if legend.rejected is not None:
        codes.setdefault(ABSTAIN, legend.rejected.code)

    def score(pixels: Array, valid: Array) -> Array:
        out = np.full(len(valid), legend.nodata, dtype=legend.dtype)
        for rows, where in _rows(pixels, valid):
            labels = np.asarray(predict(rows)).tolist()
            out[where] = np.fromiter(map(codes.__getitem__, labels), legend.dtype, len(labels))
        return out

    return score


def _rows(pixels: Array, valid: Array) -> Iterator[tuple[Array, Array]]:
    """The pixels that hold values as rows of numbers, and where they stand, some at a time."""
    places = np.flatnonzero(valid)
    for start in range(0, len(places), _CHUNK):
        where = places[start : start + _CHUNK]
        yield np.ascontiguousarray(pixels[:, where].T, dtype=np.float64), where


def _atypicality_filter(model: Any, legend: Legend, share: float) -> Callable[[Array, Array], None]:
    """What takes the class from pixels that are not typical of it, where a class keeps this share of its own.

    The squared Mahalanobis distance of a pixel from the mean of its class is chi-square distributed with as many
    degrees of freedom as bands, if the class is normal (Campbell 1984; Foody et al. 1992).
    """
    check_number("reject", share, 0, 1, open_below=True)
    if share == 1:
        raise ParameterError(
            Setting("reject"), " must be a share below 1, such as 0.99: with 1 no pixel is too far, got 1."
        )
    gaussians = class_gaussians(model)
    assert legend.rejected is not None
    class_of_code = np.full(1 + int(np.iinfo(legend.dtype).max), -1, dtype=np.int64)
    codes = {entry.label: entry.code for entry in legend.classes}
    for k, label in enumerate(gaussians):
        if label in codes:
            class_of_code[codes[label]] = k
    means = np.stack([gaussian.mean for gaussian in gaussians.values()])
    spheres = np.stack([gaussian.inverse_root.T for gaussian in gaussians.values()])
    limit, rejected = float(chi2.ppf(share, means.shape[1])), np.dtype(legend.dtype).type(legend.rejected.code)

    def reject(pixels: Array, codes: Array) -> None:
        kernels.reject_far(pixels, means, spheres, class_of_code, limit, rejected, codes)

    return reject


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

    def of(self, posteriors: Array) -> Array:
        """The bands of some pixels from the probabilities of their classes, a row each."""
        found = posteriors.T if self.every else posteriors.max(axis=1)[None]
        return np.rint(100 * found.astype(np.float32)) if self.percent else found


def probability_values(model: Any, pixels: Array, valid: Array, files: Sequence[ProbabilityBands]) -> list[Array]:
    """The bands of each file, shape (bands, n)."""
    n_classes = len(model.classes_)
    out = [np.full((n_classes if file.every else 1, len(valid)), file.nodata, dtype=file.dtype) for file in files]
    for rows, where in _rows(pixels, valid) if files else ():
        posteriors = np.asarray(model.predict_proba(rows))
        for file, bands in zip(files, out, strict=True):
            bands[:, where] = file.of(posteriors)
    return out
