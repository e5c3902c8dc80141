"""Files of the Image page: areas, the class map, and the report."""

from __future__ import annotations

import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicegui import ui

from .frame import Work, step, visitor

if TYPE_CHECKING:
    from .image_page import ImagePage


class Downloads:
    """Buttons that write a file and download it."""

    def __init__(self, page: ImagePage) -> None:
        self.page = page
        with step("Download", 4):
            with ui.row().classes("buttons"):
                for name, act in (
                    ("GeoJSON", partial(self._areas, "geojson")), ("GeoPackage", partial(self._areas, "gpkg")),
                    ("Map", self._map), ("Report", self._report),
                ):  # fmt: skip
                    button = ui.button(name, on_click=act, icon="download").props("outline dense")
                    button.props["aria-label"] = f"Download {name}"
            self.writing = Work("Writing")

    async def _areas(self, ending: str) -> None:
        if self.page.state.work is None:
            self.writing.fail("No image is open. Open an image first.")
            return
        path = self.page.visitors.folder(visitor()) / f"{self.page.work.path.stem}.{ending}"
        if await self.writing.run(self.page.work.save_areas, path):
            ui.download.file(path, path.name)

    async def _made_map(self) -> Any:
        """Write the class map of the whole image to the visitor's folder."""
        work = self.page.state.work
        if work is None or work.trained is None:
            self.writing.fail(
                "No image is open. Open an image first."
                if work is None
                else "Draw areas of at least two classes first."
            )
            return None
        path = self.page.visitors.folder(visitor()) / f"{work.path.stem}-map.tif"
        rule = work.trained.rule
        return await self.writing.run(lambda progress: work.write_map(path, rule, progress), cancellable=True)

    async def _map(self) -> None:
        made = await self._made_map()
        if made is not None:
            packed = made.path.with_suffix(".zip")
            await self.writing.run(_pack, packed, made.files)
            ui.download.file(packed, packed.name)

    async def _report(self) -> None:
        made = await self._made_map()
        if made is None:
            return
        from .image_check import report_parts

        work, check = self.page.work, self.page.state.check
        path = self.page.visitors.folder(visitor()) / "image-report.html"
        if await self.writing.run(lambda: work.write_report(path, made, **report_parts(work, check, made))):
            ui.download.file(path, "report.html")


def _pack(path: Path, files: tuple[Path, ...]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            packed.write(file, file.name)
    return path
