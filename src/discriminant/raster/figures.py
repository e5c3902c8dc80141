"""Figures of samples, separability and areas with their errors; and small pictures of images and maps."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ColumnError, DegenerateDataError, DiscriminantWarning
from ..estimators.discriminant import LinearDiscriminantAnalysis
from ..figures import theme
from ..figures.points import LabelledPoints, add_points, box, shown_rows
from .accuracy import AreaAdjusted
from .class_map import Legend, map_legend
from .colours import class_colours, on_white, rgb
from .image import Array, Image, extra, no_georeference_warning, open_image
from .samples import Samples
from .separability import SCALE, ClassSeparability

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_BINS = 40
#: Numbers in the cells of a larger matrix could not be read; they stand in the hover texts.
_MOST_WRITTEN = 16
#: The longer side of a picture, in pixels.
_SIDE = 900
#: Of more bands than this, the first have histograms.
_MOST_PANELS = 24
#: Values outside these percentiles are drawn as the darkest or the brightest.
_STRETCH = (2.0, 98.0)


def signatures(samples: Samples, colours: Mapping[Any, str] | None = None) -> Figure:
    """The mean of each class in each band, with a standard deviation to either side: its spectral signature.

    Parameters
    ----------
    samples : Samples
        Whose statistics are drawn.
    colours : dict, optional
        Colours by class, such as those of a map; others have the colour that their name stands for.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each class.
    """
    found = samples.statistics
    words = f"Mean of each class in each band, ± one standard deviation; {theme.counted(samples.n_pixels)} pixels."
    alt = f"a line of means over the bands for each of {len(found.classes)} classes, with standard deviations."
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
    made.update_xaxes(**theme.axis("band", tickvals=places.tolist(), ticktext=names))
    return made.update_yaxes(**theme.axis("value"))


def histograms(samples: Samples, colours: Mapping[Any, str] | None = None) -> Figure:
    """The distribution of the values of each class in each band, a panel for each band.

    Parameters
    ----------
    samples : Samples
        Whose values are counted, band by band.
    colours : dict, optional
        Colours by class, such as those of a map; others have the colour that their name stands for.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel for each band, classes overlaid.
    """
    from plotly.subplots import make_subplots

    names = [theme.written(band) for band in samples.band_names[:_MOST_PANELS]]
    p, unseen = len(names), len(samples.band_names) - len(names)
    made = make_subplots(rows=p, cols=1, subplot_titles=names, vertical_spacing=min(0.08, 0.35 / p))
    words = "Share of the pixels of each class." + (
        f" The first {p} bands; {unseen} more are not drawn." if unseen else ""
    )
    alt = f"{p} bands below each other, in each the histograms of {len(samples.classes)} classes."
    made.update_layout(
        theme.layout("Histograms by band and class", words, height=120 + 190 * p, least_lines=3, alt=alt)
    )
    shades = _shades(samples, colours)
    for j in range(p):
        edges = _edges(samples.X[:, j])
        for k, label in enumerate(samples.classes):
            own = samples.X[samples.y == label, j]
            share = np.histogram(own, edges)[0] / len(own)
            made.add_scatter(
                x=(edges[1:] + edges[:-1]) / 2, y=share, mode="lines", line=theme.line(k, width=1.8, color=shades[k]),
                name=theme.written(label), legendgroup=str(k), showlegend=j == 0, row=j + 1, col=1,
                hovertemplate=f"{theme.written(label)}: %{{y:.1%}} near %{{x:.4g}}<extra></extra>",
            )  # fmt: skip
        made.update_yaxes(**theme.axis("share", tickformat=".0%", rangemode="tozero"), row=j + 1, col=1)
    return made.update_xaxes(**theme.axis("value"), row=p, col=1)


def _edges(values: Array) -> Array:
    """Edges of bins: a bin for each value where there are few whole ones, else evenly spaced."""
    low, high = float(values.min()), float(values.max())
    if values.dtype.kind in "iu" and high - low < _BINS:
        return np.arange(low, high + 2) - 0.5
    return np.linspace(low, high if high > low else low + 1, _BINS + 1)


def band_scatter(
    samples: Samples, first: str | None = None, second: str | None = None, colours: Mapping[Any, str] | None = None
) -> Figure:
    """The pixels in the plane of two bands, coloured by class.

    Parameters
    ----------
    samples : Samples
        Pixels of two bands or more.
    first, second : str, optional
        Bands; None for the first two.
    colours : dict, optional
        Colours by class, such as those of a map; others have the colour that their name stands for.

    Returns
    -------
    plotly.graph_objects.Figure
        Points.
    """
    names = samples.band_names
    if len(names) < 2:
        raise ColumnError(f"A scatter needs two bands, the image has one: {names[0]!r}. See histograms.")
    bands = (names[0] if first is None else first, names[1] if second is None else second)
    for band in bands:
        if band not in names:
            raise ColumnError(f"There is no band {band!r}. Bands: {', '.join(names)}.")
    plane = samples.X[:, [names.index(band) for band in bands]].astype(np.float64)
    return _scatter(samples, plane, list(bands), "Samples in two bands", colours)


def discriminant_scatter(samples: Samples, colours: Mapping[Any, str] | None = None) -> Figure:
    """The pixels along the two directions that separate the classes best, coloured by class.

    Parameters
    ----------
    samples : Samples
        Of at least three classes and two bands; two classes have one such direction.
    colours : dict, optional
        Colours by class, such as those of a map; others have the colour that their name stands for.

    Returns
    -------
    plotly.graph_objects.Figure
        Points, and the axes in words.
    """
    if min(len(samples.classes) - 1, len(samples.bands)) < 2:
        raise DegenerateDataError(
            f"{len(samples.classes)} classes in {len(samples.bands)} bands have fewer than two discriminant axes. "
            "See band_scatter or histograms."
        )
    with warnings.catch_warnings():
        # Bands that depend on each other leave the axes as they are.
        warnings.simplefilter("ignore", DiscriminantWarning)
        plane = LinearDiscriminantAnalysis().fit(samples.X, samples.y).transform(samples.X)[:, :2]
    names = ["first discriminant axis", "second discriminant axis"]
    return _scatter(samples, plane, names, "Samples in discriminant axes", colours)


def _shades(samples: Samples, colours: Mapping[Any, str] | None) -> list[str]:
    """The colour of each class, dark enough to be seen as a line."""
    chosen = {str(label): colour for label, colour in (colours or {}).items()}
    return [on_white(colour) for colour in class_colours(samples.classes.tolist(), chosen)]


def _scatter(samples: Samples, plane: Array, names: list[str], title: str, colours: Mapping[Any, str] | None) -> Figure:
    codes = np.searchsorted(samples.classes, samples.y)
    points = LabelledPoints(plane, codes, samples.classes, names)
    words = f"{theme.counted(samples.n_pixels)} pixels.{shown_rows(samples.n_pixels)}"
    alt = f"pixels of {len(samples.classes)} classes as points of a plane, {names[1]} against {names[0]}."
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
    """The Jeffries-Matusita distance of every two classes, from 0 to 2, as a matrix.

    Parameters
    ----------
    found : ClassSeparability

    Returns
    -------
    plotly.graph_objects.Figure
        A matrix of cells.
    """
    theme.expect(found, (ClassSeparability,), "separability_matrix", "Make one: raster.class_separability(samples).")
    names = [theme.written(label) for label in found.distances.classes]
    values = found.distances.jeffries_matusita.copy()
    np.fill_diagonal(values, np.nan)
    closest = found.pairs[0]
    nearest = f"{theme.written(closest.first)} and {theme.written(closest.second)}, {closest.jeffries_matusita:.2f}"
    words = f"Jeffries-Matusita distance: {SCALE}. Closest: {nearest}."
    alt = f"a table of {len(names)} by {len(names)} classes, coloured by how well each pair can be told apart."
    made = theme.figure("Separability of the classes", words, height=max(420, 150 + 46 * len(names)), alt=alt)
    places = list(range(len(names)))
    text = [["" if np.isnan(value) else f"{value:.2f}" for value in row] for row in values]
    hover = [[f"{names[i]} and {names[j]}: {text[i][j]}" for j in places] for i in places]
    made.add_heatmap(
        z=values, x=places, y=places, zmin=0, zmax=2, xgap=2, ygap=2, hoverongaps=False,
        colorscale=[[0, theme.colour(4)], [0.5, "#f7e6d8"], [1, "#ffffff"]],
        colorbar={"title": {"text": "Jeffries-Matusita", "side": "right"}, "outlinewidth": 0},
        text=text, texttemplate="%{text}" if len(names) <= _MOST_WRITTEN else "",
        customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    axis = theme.axis("class", tickvals=places, ticktext=names, showgrid=False, ticks="")
    return made.update_xaxes(**axis).update_yaxes(**axis, autorange="reversed")


def area_estimates(found: AreaAdjusted, unit: str = "") -> Figure:
    """The area of each class as the map shows it, and as the reference sample estimates it, with intervals.

    Parameters
    ----------
    found : AreaAdjusted
    unit : str, default=""
        Of the areas, such as "ha".

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
    theme.expect(found, (AreaAdjusted,), "area_estimates", "Make one: raster.area_adjusted_accuracy(...).")
    names = [theme.written(label) for label in found.classes]
    words = f"Estimated from a sample stratified by map class, with {100 * found.level:g} % intervals."
    alt = f"{len(names)} classes below each other, each with its mapped area and the estimate with its interval."
    made = theme.figure("Areas on the map and on the ground", words, height=max(380, 180 + 50 * len(names)), alt=alt)
    places = np.arange(len(names))
    low, high = np.array([(*found.interval("area", label),) for label in found.classes]).T
    made.add_scatter(
        x=found.class_map_areas.tolist(), y=places, mode="markers", name="counted on the map",
        marker={"symbol": "line-ns-open", "size": 18, "color": theme.INK, "line": {"width": 2}},
        hovertemplate="on the map: %{x:,.1f}<extra></extra>",
    )  # fmt: skip
    made.add_scatter(
        x=found.area, y=places, mode="markers", name="estimated", marker=theme.marker(0, size=9),
        error_x={"type": "data", "array": high - found.area, "arrayminus": found.area - low, "thickness": 1.6},
        customdata=np.column_stack((low, high)),
        hovertemplate="estimated: %{x:,.1f} (%{customdata[0]:,.1f} to %{customdata[1]:,.1f})<extra></extra>",
    )  # fmt: skip
    made.update_yaxes(**theme.axis("class", tickvals=places.tolist(), ticktext=names, autorange="reversed"))
    return made.update_xaxes(**theme.axis(f"area ({theme.written(unit)})" if unit else "area", rangemode="tozero"))


def shown_bands(image: Image) -> tuple[int, ...]:
    """The places of the bands that are drawn as red, green and blue, or of the one that is drawn in grey.

    They are those of these names; else the third, second and first of four or more, as most satellites order them.
    """
    names = [name.lower() for name in image.band_names]
    if {"red", "green", "blue"} <= set(names):
        return tuple(names.index(name) for name in ("red", "green", "blue"))
    if image.n_bands < 3:
        return (0,)
    return (2, 1, 0) if image.n_bands > 3 else (0, 1, 2)


def image_picture(image: Image, side: int = _SIDE) -> bytes:
    """A picture of an image as PNG, each band stretched to its own range; pixels without a value are transparent."""
    values, valid = _thinned(image, shown_bands(image), side)
    shades = np.stack([_stretched(band, valid) for band in values])
    if len(shades) == 1:
        shades = shades.repeat(3, axis=0)
    return png(np.concatenate((shades, 255 * valid[None].astype(np.uint8))))


def map_picture(path: str | os.PathLike[str], side: int = _SIDE) -> tuple[bytes, Legend]:
    """A picture of a class map in the colours of its legend as PNG, and the legend."""
    legend = map_legend(path)
    with open_image(path) as image:
        codes, valid = _thinned(image, (0,), side)
    entries = sorted(legend.entries, key=lambda entry: entry.code)
    known, colours = np.array([entry.code for entry in entries]), np.array([rgb(entry.colour) for entry in entries])
    place = np.minimum(np.searchsorted(known, codes[0]), len(known) - 1)
    drawn = valid & (known[place] == codes[0])
    shades = np.concatenate((colours[place].transpose(2, 0, 1), np.full((1, *drawn.shape), 255)))
    return png(np.where(drawn, shades, 0).astype(np.uint8)), legend


def _thinned(image: Image, bands: Sequence[int], side: int) -> tuple[Array, Array]:
    """Every n-th row and column of some bands of an image, read window by window."""
    step = max(1, -(-max(image.shape) // side))
    height, width = (-(-length // step) for length in image.shape)
    values = np.zeros((len(bands), height, width), dtype=image.dtype)
    valid = np.zeros((height, width), dtype=bool)
    for window in image.windows():
        array, seen = image.read(window)
        top, left = -window.row_off % step, -window.col_off % step
        chosen = array[list(bands), top::step, left::step]
        row, column = (window.row_off + top) // step, (window.col_off + left) // step
        where = (slice(row, row + chosen.shape[1]), slice(column, column + chosen.shape[2]))
        values[:, *where], valid[where] = chosen, seen[top::step, left::step]
    return values, valid


def _stretched(band: Array, valid: Array) -> Array:
    if not valid.any():
        return np.zeros(band.shape, dtype=np.uint8)
    low, high = np.percentile(band[valid].astype(np.float64), _STRETCH)
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
