"""Codes and probabilities of the pixels of an image, window by window.

With smoothing or a minimum mapping unit a pixel depends on its neighbourhood. Windows are then read with a margin, so
that the result does not depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Classifier
from ..decision.posteriors import Posterior
from ..decision.rules import ABSTAIN
from ..errors import ParameterError
from .class_map import Legend
from .image import Image
from .models import MapRule, Scorer, pixel_classifier, share_scorer, with_rejection
from .smoothing import highest, one_hot, sieve_margin, sieved, widened, within

if TYPE_CHECKING:
    from rasterio.windows import Window


@dataclass(frozen=True, eq=False)
class WindowCodes:
    """The pixels of a window: values (bands, height, width), where they are valid, codes, and smoothed shares."""

    values: Array
    valid: Array
    codes: Array
    subclass_codes: Array
    shares: Array | None
    n_masked: int


@dataclass(frozen=True, eq=False)
class PixelMap:
    """A model and its decision rule, applied to the windows of an image.

    ``legend`` is that of the map, ``subclass_legend`` that of the classes of the model; they differ with macro-classes.
    """

    model: Classifier
    rule: MapRule
    legend: Legend
    subclass_legend: Legend
    macro_codes: Array | None
    score: Scorer

    @classmethod
    def of(cls, model: Classifier, rule: MapRule, colours: Mapping[Any, str] | None = None) -> PixelMap:
        """The map of a fitted model."""
        smoothing = rule.smoothing
        if smoothing is not None and smoothing.needs_probabilities and not hasattr(model, "predict_proba"):
            raise ParameterError(
                f"{type(model).__name__} does not predict probabilities to smooth. Use the method 'majority'."
            )
        below, score = pixel_classifier(model, rule, colours)
        if rule.macro is None:
            return cls(model, rule, below, below, None, score)
        legend, codes = rule.macro.legend(below, colours)
        return cls(model, rule, legend, below, codes, score)

    @property
    def margin(self) -> int:
        """The distance in pixels up to which a pixel depends on others."""
        own = 0 if self.rule.smoothing is None else self.rule.smoothing.margin
        return own + sieve_margin(self.rule.min_pixels)

    def codes(self, pixels: Array, valid: Array) -> Array:
        """The codes of pixels by themselves: without smoothing and minimum mapping unit."""
        below = self.score(pixels, valid)
        return below if self.macro_codes is None else self.macro_codes[below]

    def of_window(self, image: Image, window: Window) -> WindowCodes:
        """The codes of a window, and its smoothed shares if there is a smoothing."""
        outer = widened(window, self.margin, image.shape) if self.margin else window
        values, valid = image.read(outer)
        shares, below = self._codes(values, valid, outer)
        codes = below if self.macro_codes is None else self.macro_codes[below]
        if self.rule.min_pixels > 1:
            codes = sieved(codes, self.legend.nodata, self.rule.min_pixels)
        rows, columns = within(window, outer)
        own = np.ascontiguousarray(codes[rows, columns])
        part = None if shares is None else shares[:, rows, columns]
        masked = image.masked_pixels(window)
        return WindowCodes(values[:, rows, columns], valid[rows, columns], own, below[rows, columns], part, masked)

    def _codes(self, values: Array, valid: Array, outer: Window) -> tuple[Array | None, Array]:
        """Smoothed shares, and codes of subclasses."""
        flat, seen = np.ascontiguousarray(values.reshape(len(values), -1)), valid.ravel()
        smoothing = self.rule.smoothing
        if smoothing is None:
            return None, self.score(flat, seen).reshape(valid.shape)
        if smoothing.needs_probabilities:
            shares = self._shares(flat, seen).reshape(-1, *valid.shape)
        else:
            labels = [entry.code for entry in self.subclass_legend.entries]
            shares = one_hot(self.score(flat, seen).reshape(valid.shape), np.array(labels))
        smoothed = smoothing.smoothed(shares, valid, outer.row_off, outer.col_off)
        codes = self._decided(smoothed.reshape(len(smoothed), -1), flat, seen).reshape(valid.shape)
        return (smoothed if smoothing.needs_probabilities else None), codes

    def _decided(self, shares: Array, pixels: Array, valid: Array) -> Array:
        """Codes of subclasses by smoothed shares, shape (K, n)."""
        legend, rule = self.subclass_legend, self.rule
        by_majority = rule.smoothing is not None and not rule.smoothing.needs_probabilities
        if rule.decision is None or by_majority:
            entries = legend.entries if by_majority else legend.classes
            codes = highest(shares, valid, np.array([entry.code for entry in entries], legend.dtype), legend.nodata)
        else:
            codes = self._by_cost(shares, valid)
        if rule.reject is None or by_majority:
            return np.asarray(codes)
        return with_rejection(lambda *_: codes, self.model, legend, rule.reject)(pixels, valid)

    def _by_cost(self, shares: Array, valid: Array) -> Array:
        assert self.rule.decision is not None
        codes = np.full(len(valid), self.subclass_legend.nodata, dtype=self.subclass_legend.dtype)
        posterior = shares[:, valid].T.astype(np.float64)
        posterior /= posterior.sum(axis=1, keepdims=True)
        decided = self.rule.decision.decide(Posterior(posterior, self.model.classes_, self._priors))
        codes[valid] = [self._code_of_label[label] for label in np.asarray(decided).tolist()]
        return codes

    @cached_property
    def _shares(self) -> Scorer:
        return share_scorer(self.model)

    @property
    def _priors(self) -> Array | None:
        return getattr(self.model, "priors_", None)

    @cached_property
    def _code_of_label(self) -> dict[Any, int]:
        found = {entry.label: entry.code for entry in self.subclass_legend.classes}
        if self.subclass_legend.rejected is not None:
            found.setdefault(ABSTAIN, self.subclass_legend.rejected.code)
        return found
