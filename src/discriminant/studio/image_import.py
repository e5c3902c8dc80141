"""Import of areas on the Image page: the content of a file is checked, and the user chooses layer and field."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nicegui import ui

from ..errors import InputError
from ..results import several
from .frame import FileChooser, Work, set_text, text

if TYPE_CHECKING:
    from ..raster.areas import Areas
    from .image_page import ImagePage

#: Endings of files of areas, and the drivers of GDAL that may read them: others can refer to other files.
KINDS: Final = (".geojson", ".json", ".gpkg", ".kml", ".zip")
_DRIVERS: Final = {"GeoJSON", "GPKG", "KML", "LIBKML", "ESRI Shapefile"}
_SIGNATURES: Final = {".gpkg": b"SQLite format 3", ".zip": b"PK\x03\x04"}
#: Endings of the files of a Shapefile; its index and metadata may be with it.
_SHAPEFILE: Final = {".shp", ".shx", ".dbf", ".prj", ".cpg", ".sbn", ".sbx", ".qpj", ".qix", ".qmd", ".xml", ".txt"}
#: Number of classes that are listed with their numbers of areas.
MAX_LISTED_CLASSES: Final = 12
#: Bytes of the unpacked files of an archive.
MAX_UNPACKED_BYTES: Final = 1 << 30
#: Fields that usually have the class, in order.
_USUAL_FIELDS: Final = ("class", "label", "landcover", "land_cover", "cover", "category", "type", "name")


def checked_fields(path: Path) -> dict[str, list[str]]:
    """The fields of each layer of a file of areas, whose content must fit its name."""
    from ..raster.areas import fields_by_layer
    from ..raster.files import extra

    if path.suffix.lower() not in KINDS or not _is_genuine(path):
        raise InputError(f"{path.name} is not a GeoJSON, GeoPackage, KML or zipped Shapefile. Save the areas as one.")
    if path.suffix.lower() == ".zip":
        _refuse_other_archives(path)
    found = fields_by_layer(str(path))
    driver = extra("pyogrio").read_info(str(path), layer=next(iter(found)))["driver"]
    if driver not in _DRIVERS:
        raise InputError(f"{path.name} has areas in the format {driver}. Save them as GeoJSON or GeoPackage.")
    return found


def _is_genuine(path: Path) -> bool:
    """Whether the content of a file fits its name; a virtual format of GDAL, which refers to other files, does not."""
    if path.suffix.lower() in _SIGNATURES:
        with path.open("rb") as file:
            return file.read(16).startswith(_SIGNATURES[path.suffix.lower()])
    content = path.read_bytes()
    return b"OGRVRT" not in content and content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"<")


def _refuse_other_archives(path: Path) -> None:
    """Raise an error unless an archive has the files of a Shapefile only."""
    try:
        with zipfile.ZipFile(path) as packed:
            files = [file for file in packed.infolist() if not file.is_dir()]
    except zipfile.BadZipFile:
        raise InputError(f"{path.name} is damaged. Expected a zipped Shapefile; pack it again.") from None
    endings = {Path(file.filename).suffix.lower() for file in files}
    if ".shp" not in endings or not endings <= _SHAPEFILE:
        raise InputError(
            f"{path.name} contains no Shapefile, or contains other files. Pack only .shp, .shx, .dbf and .prj."
        )
    if sum(file.file_size for file in files) > MAX_UNPACKED_BYTES:
        raise InputError(f"{path.name} is too large when unpacked. Save fewer areas.")


def usual_field(fields: list[str]) -> str | None:
    """The field that has the class by its name, else the first; None if there is no field.

    >>> usual_field(["id", "Class", "name"])
    'Class'
    """
    by_name = {field.lower(): field for field in reversed(fields)}
    return next((by_name[name] for name in _USUAL_FIELDS if name in by_name), fields[0] if fields else None)


class ImportDialog:
    """A dialog that opens a file of areas and adds them to those of the image."""

    def __init__(self, page: ImagePage) -> None:
        self.page, self._file = page, Path()
        self._layers: dict[str, list[str]] = {}
        with ui.dialog(value=True) as self._dialog, ui.card().classes("dialog"):
            self._dialog.props["aria-label"] = "Import training areas"
            self._dialog.on("hide", self._dialog.delete)
            text("Import training areas", tag="h2")
            text(
                "Polygons, lines or points with a class each, from GeoJSON, GeoPackage, KML or a zipped Shapefile. "
                "They are reprojected to the image and added to its areas.",
                "remark",
            )
            self._work = Work("Reading areas")
            FileChooser(page.visitors, self._opened, self._work).build("a file of areas", ",".join(KINDS))
            if beside := page.files_beside(KINDS):
                found = ui.select({str(path): path.name for path in beside}, label="or choose a file beside the image")
                found.props("dense outlined").on_value_change(lambda event: self._opened(Path(event.value), ""))
            self._place = ui.element("div").classes("work")
            self._place.visible = False
            with ui.row():
                self._done = ui.button("Import", on_click=self._add).props("unelevated dense")
                ui.button("Cancel", on_click=self._dialog.close).props("flat dense")
            self._done.visible = False

    async def _opened(self, path: Path, _: str) -> None:
        """Read the layers and fields; the areas of a single field are imported at once."""
        self._place.visible = self._done.visible = False
        layers = await self._work.run(checked_fields, path)
        if layers is None:
            return
        self._file, self._layers = path, layers
        layer, fields = next(iter(layers.items()))
        self._place.clear()
        with self._place:
            self._layer = ui.select(list(layers), value=layer, label="Layer").props("dense outlined")
            self._field = ui.select(fields, value=usual_field(fields), label="Field with the class")
            self._field.props("dense outlined")
            self._crs = ui.input("Coordinate system, if the file has none").props("dense outlined")
            self._crs.props["hint"] = "A code such as EPSG:32632"
            self._classes = text("", "remark").props("aria-live=polite")
        self._layer.visible = len(layers) > 1
        self._layer.on_value_change(self._layered)
        self._field.on_value_change(self._show_classes)
        self._place.visible = self._done.visible = True
        await (self._add() if len(layers) == len(fields) == 1 else self._show_classes())

    def _layered(self) -> None:
        """Offer the fields of the layer."""
        fields = self._layers[self._layer.value]
        self._field.set_options(fields, value=usual_field(fields))

    async def _read(self) -> Areas | None:
        """The areas, or None after an error."""
        from ..raster.areas import Areas, open_areas

        settings = self._field.value, self._layer.value, self._crs.value or None
        self._done.disable()
        found = await self._work.run(lambda: open_areas(str(self._file), *settings))
        self._done.enable()
        return found if isinstance(found, Areas) else None

    async def _show_classes(self) -> None:
        """Show the classes that the field has."""
        found = await self._read()
        set_text(self._classes, "" if found is None else counted(found))

    async def _add(self) -> None:
        found = await self._read()
        areas = None if found is None else await self._work.run(found.in_image, self.page.work.image)
        if areas is not None:
            self._dialog.close()
            await self.page.imported(areas)


def counted(areas: Areas) -> str:
    """The number of areas and of those of each class."""
    counts = Counter(map(str, areas.labels.tolist()))
    listed = [f"{label} ({n:,})" for label, n in counts.most_common(MAX_LISTED_CLASSES)]
    classes = several(len(counts), "class", "classes")
    more = "" if len(counts) <= MAX_LISTED_CLASSES else ", …"
    return f"{several(len(areas.labels), 'area')} of {classes}: {', '.join(listed)}{more}."
