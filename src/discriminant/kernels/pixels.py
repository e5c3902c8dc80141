"""From the pixels of an image, band by band as they are read, straight to the codes of their classes.

Shapes: ``pixels`` (bands, n) of any number type, ``valid`` (n,) bool, ``centre`` (bands,), ``labels`` and ``constants``
(K,), ``out`` (n,) whole numbers. Pixels are taken in strips that stay in the first cache, and every inner loop runs
along a strip: no transposed float64 copy of the image is ever made.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel

_STRIP = 256


@kernel
def _centre_strip(pixels, start, width, centre, strip):  # type: ignore[no-untyped-def]
    """Write the strip's values, measured from the centre, as float64."""
    for j in range(centre.size):
        row, band, middle = strip[j], pixels[j, start : start + width], centre[j]
        for i in range(width):
            row[i] = band[i] - middle


@kernel
def _label_strip(valid, labels, winner, nodata, out):  # type: ignore[no-untyped-def]
    """Write the label of each winner; pixels that are not valid, or that no class won, have none."""
    for i in range(out.size):
        out[i] = labels[winner[i]] if valid[i] and winner[i] >= 0 else nodata


@summing_kernel
def linear_codes(pixels, valid, centre, coef, constants, labels, nodata, out):  # type: ignore[no-untyped-def]
    """Write the label of the class with the highest ``(x - centre) . coef_k + constant_k`` for every valid pixel."""
    n_bands, n = pixels.shape
    strip, score, best = np.empty((n_bands, _STRIP)), np.empty(_STRIP), np.empty(_STRIP)
    winner = np.empty(_STRIP, np.int64)
    for start in range(0, n, _STRIP):
        width = min(_STRIP, n - start)
        _centre_strip(pixels, start, width, centre, strip)
        best[:] = -np.inf
        winner[:] = -1
        for k in range(coef.shape[0]):
            score[:] = constants[k]
            for j in range(n_bands):
                factor, row = coef[k, j], strip[j]
                for i in range(width):
                    score[i] += factor * row[i]
            for i in range(width):
                better = score[i] > best[i]
                best[i] = score[i] if better else best[i]
                winner[i] = k if better else winner[i]
        _label_strip(valid[start : start + width], labels, winner, nodata, out[start : start + width])


@summing_kernel
def quadratic_codes(pixels, valid, centre, offsets, spheres, constants, labels, nodata, out):  # type: ignore[no-untyped-def]
    """Write the label of the class with the highest ``constant_k - |(x - centre) W_k - offset_k|^2 / 2``.

    ``spheres`` holds the W_k (bands, bands); triangular ones take half the time.
    """
    n_bands, n = pixels.shape
    strip, axis, length = np.empty((n_bands, _STRIP)), np.empty(_STRIP), np.empty(_STRIP)
    best, winner = np.empty(_STRIP), np.empty(_STRIP, np.int64)
    for start in range(0, n, _STRIP):
        width = min(_STRIP, n - start)
        _centre_strip(pixels, start, width, centre, strip)
        best[:] = -np.inf
        winner[:] = -1
        for k in range(offsets.shape[0]):
            length[:] = 0.0
            for r in range(offsets.shape[1]):
                axis[:] = -offsets[k, r]
                for j in range(n_bands):
                    factor, row = spheres[k, j, r], strip[j]
                    if factor != 0.0:
                        for i in range(width):
                            axis[i] += factor * row[i]
                for i in range(width):
                    length[i] += axis[i] * axis[i]
            for i in range(width):
                score = constants[k] - 0.5 * length[i]
                better = score > best[i]
                best[i] = score if better else best[i]
                winner[i] = k if better else winner[i]
        _label_strip(valid[start : start + width], labels, winner, nodata, out[start : start + width])


@summing_kernel
def reject_far(pixels, means, spheres, places, farthest, reject, codes):  # type: ignore[no-untyped-def]
    """Replace by ``reject`` the code of every pixel with ``|(x - mean_k) W_k|^2 > farthest_k``, k its own class.

    ``places`` gives the class k of each code, -1 for codes that stand for none. The W_k are upper triangular.
    """
    n_bands = means.shape[1]
    centred = np.empty(n_bands)
    for i in range(codes.size):
        k = places[codes[i]]
        if k < 0:
            continue
        for j in range(n_bands):
            centred[j] = pixels[j, i] - means[k, j]
        length = 0.0
        for r in range(n_bands):
            axis = 0.0
            for j in range(r + 1):
                axis += centred[j] * spheres[k, j, r]
            length += axis * axis
        if length > farthest[k]:
            codes[i] = reject
