"""Figures of samples, separability and estimated areas; and pictures of images and maps."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..errors import ColumnError, DegenerateDataError, DiscriminantWarning
from ..estimators.discriminant import LinearDiscriminantAnalysis
from ..figures import theme
from ..figures.points import LabelledPoints, add_points, box, shown_rows
from .class_map import Legend, map_legend
from .colours import class_colours, on_white, rgb
from .files import extra, no_georeference_warning
from .image import Image, open_image
from .samples import Samples
from .separability import SCALE, ClassSeparability
from .stratified import AreaAdjusted

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

N_BINS: Final = 40
#: With more classes, numbers in the cells of a matrix are illegible and shown on hover only.
MAX_WRITTEN_CLASSES: Final = 16
#: The longer side of a picture, in pixels.
PICTURE_SIDE: Final = 900
#: Number of bands with histograms.
MAX_PANELS: Final = 24
#: Percentiles of a band that are drawn as black and white.
STRETCH: Final = (2.0, 98.0)

Colours = Mapping[Any, str] | None


def signatures(samples: Samples, colours: Colours = None) -> Figure:
    """Draw spectral signatures: the mean of each class in each band, with standard deviations.

    Parameters
    ----------
    samples : Samples
        The samples.
    colours : dict, optional
        Colours by class, such as those of a map. Default: the usual colours of class names.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each class.
    """
    found = samples.statistics
    words = f"Class mean in each band ± one standard deviation; {theme.counted(samples.n_pixels)} pixels."
    alt = f"class means over the bands as a line for each of {len(found.classes)} classes, with standard deviations."
    made = theme.figure("Spectral signatures", words, legend={"title": {"text": "class"}}, alt=alt)
    places, shades = np.arange(len(found.band_names)), _shades(samples, colours)
    for k, label in enumerate(found.classes):
        text = theme.written(label)
        made.add_scatter(
            x=places + 0.08 * (k / max(len(found.classes) - 1, 1) - 0.5),
            y=found.means[k], name=text, mode="lines+markers", line=theme.line(k, color=shades[k]),
            marker=theme.marker(k, size=8, color=shades[k]),
            error_y={"type": "data", "array": np.nan_to_num(found.sds[k]), "thickness": 1.2, "width": 3},
            customdata=np.column_stack((found.band_names, np.round(found.sds[k], 3).astype(str))),
            hovertemplate=f"{text}, %{{customdata[0]}}<br>%{{y:.4g}} ± %{{customdata[1]}}<extra></extra>",
        )  # fmt: skip
    names = [theme.written(band) for band in found.band_names]
    made.update_xaxes(**theme.axis("Band", tickvals=places.tolist(), ticktext=names))
    return made.update_yaxes(**theme.axis("Pixel value"))


def histograms(samples: Samples, colours: Colours = None) -> Figure:
    """Draw histograms of the values of each class in each band.

    Parameters
    ----------
    samples : Samples
        The samples.
    colours : dict, optional
        Colours by class, such as those of a map. Default: the usual colours of class names.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel for each band, with one line for each class.
    """
    names = [theme.written(band) for band in samples.band_names[:MAX_PANELS]]
    p, n_more = len(names), len(samples.band_names) - len(names)
    more = f" The first {p} of {p + n_more} bands." if n_more else ""
    alt = f"histograms of {len(samples.classes)} classes in {p} panels, one for each band."
    made = theme.panels(
        "Histograms by band and class", f"Share of the pixels of each class.{more}", [1.0] * p, 120 + 190 * p,
        alt, names, shared_xaxes=False, vertical_spacing=min(0.08, 0.35 / p),
    )  # fmt: skip
    shades = _shades(samples, colours)
    for j in range(p):
        edges = _edges(samples.X[:, j])
        for k, label in enumerate(samples.classes):
            own = samples.X[samples.y == label, j]
            made.add_scatter(
                x=(edges[1:] + edges[:-1]) / 2, y=np.histogram(own, edges)[0] / len(own), mode="lines",
                line=theme.line(k, width=1.8, color=shades[k]), name=theme.written(label), legendgroup=str(k),
                showlegend=j == 0, row=j + 1, col=1,
                hovertemplate=f"{theme.written(label)}: %{{y:.1%}} near %{{x:.4g}}<extra></extra>",
            )  # fmt: skip
    made.update_yaxes(**theme.axis("Share", tickformat=".0%", rangemode="tozero"))
    return made.update_xaxes(**theme.axis("Pixel value"), row=p, col=1)


def _edges(values: Array) -> Array:
    """Edges of bins: one bin for each value of few integers, else bins of equal width."""
    low, high = float(values.min()), float(values.max())
    if values.dtype.kind in "iu" and high - low < N_BINS:
        return np.arange(low, high + 2) - 0.5
    return np.linspace(low, high if high > low else low + 1, N_BINS + 1)


def band_scatter(
    samples: Samples, first: str | None = None, second: str | None = None, colours: Colours = None
) -> Figure:
    """Draw a scatter plot of two bands, coloured by class.

    Parameters
    ----------
    samples : Samples
        Samples with two bands or more.
    first, second : str, optional
        Names of bands. Default: the first two.
    colours : dict, optional
        Colours by class, such as those of a map. Default: the usual colours of class names.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    names = samples.band_names
    if len(names) < 2:
        raise ColumnError(f"A scatter plot requires two bands; the image has only {names[0]!r}. Use histograms.")
    bands = (names[0] if first is None else first, names[1] if second is None else second)
    for band in bands:
        if band not in names:
            raise ColumnError(f"No band is named {band!r}. Bands: {', '.join(names)}.")
    plane = samples.X[:, [names.index(band) for band in bands]].astype(np.float64)
    return _scatter(samples, plane, list(bands), "Scatter plot of two bands", colours)


def discriminant_scatter(samples: Samples, colours: Colours = None) -> Figure:
    """Draw a scatter plot of the first two discriminant directions, coloured by class.

    Parameters
    ----------
    samples : Samples
        Samples with at least three classes and two bands; two classes have only one discriminant direction.
    colours : dict, optional
        Colours by class, such as those of a map. Default: the usual colours of class names.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    if min(len(samples.classes) - 1, len(samples.bands)) < 2:
        raise DegenerateDataError(
            f"Two discriminant directions require three classes and two bands. Classes: {len(samples.classes)}, bands: "
            f"{len(samples.bands)}. Use band_scatter or histograms."
        )
    with warnings.catch_warnings():
        # Linearly dependent bands do not change the directions.
        warnings.simplefilter("ignore", DiscriminantWarning)
        plane = LinearDiscriminantAnalysis().fit(samples.X, samples.y).transform(samples.X)[:, :2]
    names = ["First discriminant direction", "Second discriminant direction"]
    return _scatter(samples, plane, names, "Scatter plot of the discriminant directions", colours)


def _shades(samples: Samples, colours: Colours) -> list[str]:
    """The colour of each class, dark enough for a line on white."""
    chosen = {str(label): colour for label, colour in (colours or {}).items()}
    return [on_white(colour) for colour in class_colours(samples.classes.tolist(), chosen)]


def _scatter(samples: Samples, plane: Array, names: list[str], title: str, colours: Colours) -> Figure:
    codes = np.searchsorted(samples.classes, samples.y)
    points = LabelledPoints(plane, codes, samples.classes, names)
    words = f"{theme.counted(samples.n_pixels)} pixels.{shown_rows(samples.n_pixels)}"
    alt = f"scatter plot of pixels of {len(samples.classes)} classes, {names[1]} against {names[0]}."
    made = theme.figure(title, words, legend={"title": {"text": "class"}}, alt=alt)

    def hover(i: int) -> str:
        place = f"row {samples.rows[i]}, column {samples.columns[i]}"
        return f"{theme.written(samples.y[i])}, area {samples.areas[i]}: {place}"

    pixels = np.column_stack([samples.areas, samples.columns, samples.rows])
    add_points(made, plane, points, hover, _shades(samples, colours), pixels)
    edges = box(plane)
    made.update_xaxes(**theme.axis(theme.written(names[0]), range=edges[:, 0].tolist()))
    return made.update_yaxes(**theme.axis(theme.written(names[1]), range=edges[:, 1].tolist()))


def separability_matrix(found: ClassSeparability) -> Figure:
    """Draw the matrix of Jeffries-Matusita distances between classes.

    Parameters
    ----------
    found : ClassSeparability

    Returns
    -------
    plotly.graph_objects.Figure
    """
    theme.expect(found, (ClassSeparability,), "separability_matrix")
    names = [theme.written(label) for label in found.distances.classes]
    values = found.distances.jeffries_matusita.copy()
    np.fill_diagonal(values, np.nan)
    closest = found.pairs[0]
    nearest = f"{theme.written(closest.first)} and {theme.written(closest.second)}, {closest.jeffries_matusita:.2f}"
    words = f"Jeffries-Matusita distance: {SCALE}. Least separable: {nearest}."
    alt = f"matrix of {len(names)} by {len(names)} classes, coloured by their Jeffries-Matusita distance."
    made = theme.figure("Class separability", words, height=max(420, 150 + 46 * len(names)), alt=alt)
    places = list(range(len(names)))
    text = [["" if np.isnan(value) else f"{value:.2f}" for value in row] for row in values]
    hover = [[f"{names[i]} and {names[j]}: {text[i][j]}" for j in places] for i in places]
    made.add_heatmap(
        z=values, x=places, y=places, zmin=0, zmax=2, xgap=2, ygap=2, hoverongaps=False,
        colorscale=[[0, theme.colour(4)], [0.5, "#f7e6d8"], [1, "#ffffff"]],
        colorbar={"title": {"text": "Jeffries-Matusita", "side": "right"}, "outlinewidth": 0},
        text=text, texttemplate="%{text}" if len(names) <= MAX_WRITTEN_CLASSES else "",
        customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    axis = theme.axis("Class", tickvals=places, ticktext=names, showgrid=False, ticks="")
    return made.update_xaxes(**axis).update_yaxes(**axis, autorange="reversed")


def area_estimates(found: AreaAdjusted, unit: str = "") -> Figure:
    """Draw the mapped and the estimated area of each class, with confidence intervals.

    Parameters
    ----------
    found : AreaAdjusted
    unit : str, default=""
        The unit of the areas, such as "ha".

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from discriminant.raster import area_adjusted_accuracy
    >>> found = area_adjusted_accuracy([[40, 10], [5, 45]], {"forest": 300, "water": 700}, ["forest", "water"])
    >>> area_estimates(found, "ha").data[1].x
    array([310., 690.])
    """
    theme.expect(found, (AreaAdjusted,), "area_estimates")
    names = [theme.written(label) for label in found.classes]
    words = f"Estimates from a sample stratified by map class, with {100 * found.level:g} % confidence intervals."
    alt = f"mapped area and estimated area with its confidence interval for {len(names)} classes."
    made = theme.figure("Mapped and estimated areas", words, height=max(380, 180 + 50 * len(names)), alt=alt)
    places = np.arange(len(names))
    low, high = np.array([(*found.interval("area", label),) for label in found.classes]).T
    made.add_scatter(
        x=found.class_map_areas.tolist(), y=places, mode="markers", name="mapped area",
        marker={"symbol": "line-ns-open", "size": 18, "color": theme.INK, "line": {"width": 2}},
        hovertemplate="mapped area: %{x:,.1f}<extra></extra>",
    )  # fmt: skip
    made.add_scatter(
        x=found.area, y=places, mode="markers", name="estimated area", marker=theme.marker(0, size=9),
        error_x={"type": "data", "array": high - found.area, "arrayminus": found.area - low, "thickness": 1.6},
        customdata=np.column_stack((low, high)),
        hovertemplate="estimated area: %{x:,.1f} (%{customdata[0]:,.1f} to %{customdata[1]:,.1f})<extra></extra>",
    )  # fmt: skip
    made.update_yaxes(**theme.axis("Class", tickvals=places.tolist(), ticktext=names, autorange="reversed"))
    return made.update_xaxes(**theme.axis(f"Area ({theme.written(unit)})" if unit else "Area", rangemode="tozero"))


def shown_bands(image: Image) -> tuple[int, ...]:
    """Indexes of the bands to draw as red, green and blue, or of the one to draw in grey.

    Bands with these names, else the third, second and first of four or more bands, the usual order of satellites.
    """
    names = [name.lower() for name in image.band_names]
    if {"red", "green", "blue"} <= set(names):
        return tuple(names.index(name) for name in ("red", "green", "blue"))
    if image.n_bands < 3:
        return (0,)
    return (2, 1, 0) if image.n_bands > 3 else (0, 1, 2)


def image_picture(image: Image, side: int = PICTURE_SIDE) -> bytes:
    """A picture of an image as PNG, each band stretched to its own range; invalid pixels are transparent."""
    values, valid = image.read(None, _picture_shape(image, side))
    shades = np.stack([_stretched(values[band], valid) for band in shown_bands(image)])
    shades = np.broadcast_to(shades, (3, *valid.shape))
    return png(np.concatenate((shades, 255 * valid[None].astype(np.uint8))))


def map_picture(path: str | os.PathLike[str], side: int = PICTURE_SIDE) -> tuple[bytes, Legend]:
    """A picture of a class map in the colours of its legend as PNG, and the legend."""
    legend = map_legend(path)
    with open_image(path) as image:
        codes, valid = image.read(None, _picture_shape(image, side))
    out = np.zeros((4, *valid.shape), dtype=np.uint8)
    for entry in legend.entries:
        out[:, valid & (codes[0] == entry.code)] = np.array([[*rgb(entry.colour), 255]]).T
    return png(out), legend


def _picture_shape(image: Image, side: int) -> tuple[int, int]:
    height, width = (-(-length * side // max(side, *image.shape)) for length in image.shape)
    return height, width


def _stretched(band: Array, valid: Array) -> Array:
    if not valid.any():
        return np.zeros(band.shape, dtype=np.uint8)
    low, high = np.percentile(band[valid].astype(np.float64), STRETCH)
    with np.errstate(invalid="ignore"):
        share = (np.where(valid, band, low) - low) / max(high - low, np.finfo(float).tiny)
    return np.rint(255 * np.clip(share, 0, 1)).astype(np.uint8)


def png(values: Array) -> bytes:
    """Bands of bytes, shape (bands, height, width), as PNG."""
    count, height, width = values.shape
    form = {"driver": "PNG", "count": count, "height": height, "width": width, "dtype": "uint8"}
    with no_georeference_warning(), extra("rasterio.io").MemoryFile() as memory:
        with memory.open(**form) as file:
            file.write(values)
        return bytes(memory.read())
