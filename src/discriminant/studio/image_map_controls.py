"""The controls of the map on the Image page: model, layer, decision rule, and the mask of pixels that are left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from nicegui import ui

from ..results import percent
from .frame import FileChooser, Slider, Work, set_text, step, text

if TYPE_CHECKING:
    from ..raster.masks import Mask
    from ..raster.models import MapRule
    from .image_page import ImagePage

_MODELS: Final = {
    "auto": "Auto (regularised discriminant analysis, tuned on held-out areas)",
    "maximum-likelihood": "Maximum likelihood",
    "lda": "Linear discriminant analysis",
    "minimum-distance": "Minimum distance to class means",
    "gaussian-nb": "Gaussian naive Bayes",
    "logistic": "Logistic regression",
}
#: Largest minimum patch size: a tile is computed with a margin of twice as many pixels.
MAX_PATCH: Final = 100
#: Smoothings of the map, as in `image_work.SMOOTHINGS`.
_SMOOTHINGS: Final = {
    "": "None",
    "auto": "Bayesian (automatic)",
    "majority-3": "Majority filter, 3 x 3 pixels",
    "majority-5": "Majority filter, 5 x 5 pixels",
    "majority-9": "Majority filter, 9 x 9 pixels",
}
_LAYERS: Final = {
    "map": "Classes",
    "probability": "Probability of the most probable class",
    "unlike": "Pixels unlike any class",
}
MASK_KINDS: Final = (".tif", ".tiff", ".png")
#: What a mask leaves out; the keys are those of `raster.masks.PRESETS`, or describe other values.
_MASKED: Final = {
    "sentinel2-scl": "Sentinel-2 scene classification (SCL): clouds, shadow, no data",
    "landsat-qa": "Landsat QA_PIXEL: clouds, shadow, fill",
    "sentinel2-qa60": "Sentinel-2 QA60: clouds, cirrus",
    "": "All values but 0",
    "given": "These values or bits",
}


class MapControls:
    """The choices that determine the map."""

    def __init__(self, page: ImagePage) -> None:
        self.page = page
        with step("Map", 3):
            self.model = ui.select(_MODELS, value="auto", label="Model").props("dense outlined")
            self.layer = ui.select(_LAYERS, value="map", label="Layer").props("dense outlined")
            self.reject = ui.checkbox("Reject pixels unlike any class")
            self.smoothing = ui.select(_SMOOTHINGS, value="", label="Smoothing").props("dense outlined")
            self.patch = ui.number("Minimum patch size, pixels", value=1, min=1, step=1, format="%d", max=MAX_PATCH)
            self.patch.props("dense outlined debounce=400")
            ui.button("Mask clouds or other pixels", icon="cloud_off", on_click=self._ask).props("outline dense")
            self.masked = text("", "remark").props("aria-live=polite")
            self.opacity = Slider("Opacity of the map", 0, 100, 60).moved(self._set_opacity)
            self.opacity.show("60 %")
            self.swipe = Slider("Swipe position", 0, 100, 100).moved(self.set_swipe)
            self.swipe.show("100 %")
        for control in (self.model, self.reject, self.smoothing, self.patch):
            control.on_value_change(page.learn)
        self.layer.on_value_change(page.show_map)

    def rule(self) -> MapRule:
        """The decision rule of the map, without its smoothing, which may be chosen by held-out areas."""
        from ..raster.models import MapRule
        from .image_work import REJECT

        return MapRule(reject=REJECT if self.reject.value else None, min_pixels=max(int(self.patch.value or 1), 1))

    def _set_opacity(self) -> None:
        self.opacity.show(f"{self.opacity.value:.0f} %")
        self.page.call("setOpacity", self.opacity.value / 100)

    def swiped(self, share: float) -> None:
        """Follow the divider that was dragged on the image."""
        self.swipe.set(round(100 * share))
        self.set_swipe()

    def set_swipe(self) -> None:
        """Show the map on the left of the divider only."""
        self.swipe.show(f"{self.swipe.value:.0f} %")
        self.page.call("swipe", self.swipe.value / 100)

    def show_mask(self) -> None:
        """Show which mask is in use, and the share of the pixels that it leaves out."""
        work = self.page.state.work
        words = ""
        if work is not None and work.mask is not None:
            words = f"Mask {Path(work.mask.path).name}: {percent(work.masked_share)} of the pixels are left out."
        set_text(self.masked, words)

    def _ask(self) -> None:
        if self.page.state.work is None:
            self.page.drawing.fail("No image is open. Open an image first.")
        else:
            MaskDialog(self.page)


class MaskDialog:
    """A dialog that opens a raster whose values or bits mark the pixels to leave out."""

    def __init__(self, page: ImagePage) -> None:
        self.page, self._path = page, None if page.work.mask is None else Path(page.work.mask.path)
        with ui.dialog(value=True) as self._dialog, ui.card().classes("dialog"):
            self._dialog.props["aria-label"] = "Mask"
            self._dialog.on("hide", self._dialog.delete)
            text("Mask", tag="h2")
            text(
                "A raster of the same place, such as the cloud or quality band of the scene. Masked pixels have no "
                "class and no hectares, and are not used for training.",
                "remark",
            )
            self._work = Work("Reading the mask")
            FileChooser(page.visitors, self._opened, self._work).build("a raster", ",".join(MASK_KINDS))
            if beside := page.files_beside(MASK_KINDS):
                found = ui.select({str(path): path.name for path in beside}, label="or choose a file beside the image")
                found.props("dense outlined").on_value_change(lambda event: self._opened(Path(event.value), ""))
            self._chosen = text("", "remark").props("aria-live=polite")
            self._kind = ui.select(_MASKED, value="sentinel2-scl", label="Pixels that are left out")
            self._kind.props("dense outlined")
            self._values = ui.input("Values, such as 3,8-10, or bits, such as bits 3,4").props("dense outlined")
            self._values.bind_visibility_from(self._kind, "value", lambda kind: kind == "given")
            with ui.row():
                self._use = ui.button("Use the mask", on_click=self._set).props("unelevated dense")
                remove = ui.button("Remove the mask", on_click=self._remove).props("outline dense")
                ui.button("Cancel", on_click=self._dialog.close).props("flat dense")
            remove.visible = self._path is not None
        self._show()

    def _show(self) -> None:
        self._use.set_enabled(self._path is not None)
        set_text(self._chosen, "" if self._path is None else f"Mask: {self._path.name}")

    async def _opened(self, path: Path, _: str) -> None:
        self._path = path
        self._show()

    async def _set(self) -> None:
        from ..raster.masks import Mask

        path, kind = self._path, self._kind.value
        if path is None:
            return
        masked = (self._values.value or "").strip() if kind == "given" else kind or None
        mask = await self._work.run(lambda: Mask(str(path), masked))
        if mask is not None:
            await self._apply(mask)

    async def _remove(self) -> None:
        await self._apply(None)

    async def _apply(self, mask: Mask | None) -> None:
        work = self.page.work
        if await self._work.run(work.use_mask, mask) is not None:
            self._dialog.close()
            self.page.show()
            await self.page.learn()
