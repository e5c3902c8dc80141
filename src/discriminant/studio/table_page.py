"""The Table page: from a file to a comparison, a decision, an explanation and predictions."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicegui import ui

from ..results import several
from .bundled import BUNDLED, write_bundled
from .frame import Copies, FileChooser, Latest, Tabs, Work, load_libraries, opened, report_html, step, text, visitor
from .frame import table as table_html
from .visitors import Visitors

if TYPE_CHECKING:
    from .table_work import Compared, StoredTableModel, Table, TableFile

KINDS = ".csv,.tsv,.txt,.parquet,.xlsx,.xls,.ods,.json,.jsonl,.feather,.arrow,.gz"
_MODEL_KIND = ".dsc"
_MODELS = {
    "ridge": "Logistic regression, ridge",
    "lasso": "Logistic regression, lasso",
    "lda": "Linear discriminant analysis",
    "rda": "Regularised discriminant analysis",
    "qda": "Quadratic discriminant analysis",
    "logistic": "Logistic regression, maximum likelihood",
    "naive-bayes": "Naive Bayes",
    "svm-calibrated": "Support vector machine, calibrated",
    "least-squares-calibrated": "Least squares, calibrated",
    "auto": "Auto: families, tuned and pooled",
}
#: What is compared by default; those that do not suit a table are left out with their reason.
_USUAL = ("ridge", "lda", "rda", "naive-bayes", "svm-calibrated")


@dataclass
class State:
    """What a tab works on."""

    file: TableFile | None = None
    table: Table | None = None
    compared: Compared | None = None
    model: str = ""
    stored: StoredTableModel | None = None


def install(visitors: Visitors, file: Path | None) -> None:
    """Make the page known to the server."""

    @ui.page("/")
    async def table() -> None:
        page = await opened("/", TablePage, visitors)
        if page is None:
            return
        if page.state.file is None and file is not None and not _is_image(file):
            await page.open(file, str(file))
        else:
            page.restore()


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in (".tif", ".tiff", ".png", ".jpg", ".jpeg")


class TablePage:
    """The controls on the left, what came of them on the right."""

    def __init__(self, visitors: Visitors) -> None:
        self.visitors, self.state, self._asked = visitors, State(), Latest(self._read)
        with ui.element("div").classes("rail"):
            self._data_controls()
            self._question_controls()
            self._model_controls()
            self._result_controls()
            self.copies = Copies()
        with ui.element("div").classes("stage"):
            self.stage = ui.element("div")
        self._welcome()
        self._enable()

    def _data_controls(self) -> None:
        with step("Data", 1):
            opening = Work("Reading")
            self.opening = opening
            kinds = f"{KINDS},{_MODEL_KIND}"
            FileChooser(self.visitors, self.open, opening).build("a table or a model file", kinds, again=True)
            bundled = ui.select(list(BUNDLED), label="or take a bundled table").props("dense outlined")
            bundled.on_value_change(lambda event: self._open_bundled(event.value))
            self.bundled = bundled
            self.opened = text("", "remark")

    def _question_controls(self) -> None:
        with step("Question", 2):
            self.target = ui.select([], label="Which column is to be predicted?").props("dense outlined")
            self.drop = ui.select([], label="Columns to leave out", multiple=True).props("dense outlined use-chips")
            self.reading = Work("Reading the table")
            self.target.on_value_change(self._asked)
            self.drop.on_value_change(self._asked)

    def _model_controls(self) -> None:
        with step("Models", 3):
            self.models = ui.select(_MODELS, value=list(_USUAL), label="Models to compare", multiple=True)
            self.models.props("dense outlined")
            self.compare = ui.button("Compare", on_click=self._compare).props("unelevated")
            self.comparing = Work("Comparing")

    def _result_controls(self) -> None:
        with step("Result", 4):
            self.chosen = ui.select([], label="Model to look at").props("dense outlined")
            self.chosen.on_value_change(self._look_at)
            self.positive = ui.select([], label="Positive class").props("dense outlined")
            self.positive.on_value_change(self._judge_by)
            with ui.row().classes("buttons"):
                self.report = self._download("Report", self._report)
                self.keep = self._download("Model file", self._save)
            self.writing = Work("Writing")

    def _download(self, name: str, act: Callable[[], Any]) -> Any:
        button = ui.button(name, on_click=act, icon="download").props("outline dense")
        button.props["aria-label"] = f"Download {name}"
        return button

    def _welcome(self) -> None:
        with self.stage, ui.element("div").classes("welcome"):
            text("See what a table can tell", tag="h1")
            text(
                "Drop a table with a column of classes. The studio says what is in it, compares models on rows they "
                "have not seen, and shows what each decision costs, why it was taken and what would turn it."
            )
            text("Everything stays on this machine. What you see can be copied as Python and as a command.", "remark")

    def _enable(self) -> None:
        """Controls are ready where what they need is there."""
        file, table, compared = self.state.file, self.state.table, self.state.compared
        of_two = None if compared is None or compared.positive is None else compared
        for control, there in (
            (self.target, file), (self.drop, file), (self.compare, table), (self.chosen, compared),
            (self.positive, of_two), (self.report, compared),
            (self.keep, compared),
        ):  # fmt: skip
            control.set_enabled(there is not None)

    async def _open_bundled(self, name: str | None) -> None:
        if name:
            path = await self.opening.run(write_bundled, name, self.visitors.folder(visitor()))
            if path is not None:
                await self.open(path, path.name)

    async def open(self, path: Path, label: str) -> None:
        """Open a file and read it with its likely target; a model file answers tables that are given to it."""
        await self.opening.run(load_libraries)

        from .table_work import StoredTableModel, TableFile

        if path.suffix.lower() == _MODEL_KIND:
            stored = await self.opening.run(StoredTableModel.loaded, path, label)
            if stored is not None:
                self.state.stored, self.state.file = stored, None
                self.state.table = self.state.compared = None
                self._show_stored(stored)
            return
        file = await self.opening.run(TableFile.opened, path, label)
        if file is None:
            return
        self.state.file, self.state.table, self.state.compared = file, None, None
        self.state.stored = None
        self._show_file(file, file.likely_target, ())
        await self._asked()

    def _show_file(self, file: TableFile, target: str, drop: tuple[str, ...]) -> None:
        self.opened.set_content(f"<b>{html.escape(file.path.name)}</b>, {several(len(file.columns), 'column')}")
        self.target.set_options(list(file.columns), value=target)
        self.drop.set_options([name for name in file.columns if name != target], value=list(drop))
        self._enable()

    async def _read(self) -> None:
        """Read the table for the question that is asked now, unless it is the one that was asked."""
        from .table_work import Table

        file, target, now = self.state.file, self.target.value, self.state.table
        drop = tuple(name for name in self.drop.value or () if name != target)
        if file is None or target is None or (now and (now.file, now.target, now.drop) == (file, target, drop)):
            return
        table = await self.reading.run(Table.read, file, target, drop, self.models.value)
        if table is None:
            return
        self.state.table, self.state.compared = table, None
        self._enable()
        self._show()

    async def _compare(self) -> None:
        from .table_work import Table

        table = self.state.table
        if table is None or self.comparing.is_running:
            return
        if table.models != tuple(self.models.value):
            table = await self.comparing.run(Table.read, table.file, table.target, table.drop, self.models.value)
            if table is None:
                return
            self.state.table = table
        self.compare.disable()
        found = await self.comparing.run(table.compared, cancellable=True)
        self.compare.enable()
        if found is not None:
            self.state.compared, self.state.model = found, found.comparison.best_model
            await self.comparing.run(found.data, self.state.model)
            self.restore(tab="Comparison")

    def restore(self, tab: str = "Data") -> None:
        """Show what this tab works on."""
        state = self.state
        if state.stored is not None:
            self._show_stored(state.stored)
        if state.file is None:
            return
        table = state.table
        self._show_file(state.file, table.target if table else state.file.likely_target, table.drop if table else ())
        if state.compared is not None:
            names = [name for name in state.compared.comparison.ranking if name in state.compared.made]
            self.chosen.set_options(names, value=state.model)
            self.models.set_value(list(state.compared.made))
            two = state.compared.positive is not None
            self.positive.set_options(state.compared.table.classes if two else [], value=state.compared.positive)
        self._show(tab)

    async def _look_at(self, event: Any) -> None:
        compared = self.state.compared
        if compared is None or event.value in (None, self.state.model):
            return
        if await self.writing.run(compared.data, event.value) is not None:
            self.state.model = event.value
            self._show(self.tabs.value)

    async def _judge_by(self, event: Any) -> None:
        """Another positive class: its curves, thresholds and errors of calibration are shown."""
        compared = self.state.compared
        if compared is None or event.value in (None, compared.positive):
            return
        turned = compared.with_positive(event.value)
        if await self.writing.run(turned.data, self.state.model) is not None:
            self.state.compared = turned
            self._show(self.tabs.value)

    async def _report(self) -> None:
        compared = self.state.compared
        assert compared is not None
        path = self.visitors.folder(visitor()) / "report.html"
        if await self.writing.run(compared.write_report, self.state.model, path):
            ui.download.file(path, "report.html")

    async def _save(self) -> None:
        compared = self.state.compared
        assert compared is not None
        path = self.visitors.folder(visitor()) / f"{self.state.model}.dsc"
        if await self.writing.run(compared.save, self.state.model, path):
            ui.download.file(path, path.name)

    def _show_stored(self, stored: StoredTableModel) -> None:
        """A model of a file: what it is, and answers to tables."""
        from . import table_panels

        self.opened.set_content(f"<b>{html.escape(stored.path.name)}</b>, a model file")
        self.copies.show(*stored.code())
        self.stage.clear()
        with self.stage:
            text(f"The model of {stored.path.name}", tag="h1")
            Tabs({"Model": lambda: table_panels.stored(stored), "Predict": self._predict_panel}, "Model")
        self._enable()

    def _predict_panel(self) -> None:
        """Another file, answered by the model."""
        text("Rows of another file, with the columns that were learned from, get an answer each.")
        with ui.element("div").classes("narrow"):
            self.predicting = Work("Predicting")
            FileChooser(self.visitors, self._predict, self.predicting).build("a table without classes", KINDS)
        self.predicted = report_html("")

    async def _predict(self, path: Path, _: str) -> None:
        compared, stored = self.state.compared, self.state.stored
        target = self.visitors.folder(visitor()) / "predictions.csv"
        if stored is not None:
            found = await self.predicting.run(stored.predict, path, target)
        else:
            assert compared is not None
            found = await self.predicting.run(compared.predict, self.state.model, path, target)
        if found is not None:
            rows = [(label, f"{n:,}") for label, n in found.items()]
            self.predicted.set_content(table_html(["Prediction", "Rows"], rows, "Predictions", 1))
            ui.download.file(target, "predictions.csv")

    def _show(self, first: str = "Data") -> None:
        """The results, in tabs; each is built when it is looked at."""
        from . import table_panels
        from .what_if import WhatIf

        table, compared = self.state.table, self.state.compared
        if table is None:
            return
        panels: dict[str, Callable[[], None]] = {"Data": lambda: table_panels.data(table)}
        python, command = table.code()
        if compared is not None:
            name = self.state.model
            panels["Comparison"] = lambda: table_panels.comparison(compared, name)
            panels["Decide"] = lambda: table_panels.Decide(compared, name).build()
            panels["Explain"] = lambda: table_panels.explanation(compared, name)
            panels["What if"] = lambda: WhatIf(compared, name).build()
            panels["Predict"] = lambda: self._predict_panel()
            python, command = compared.code(name)
        self.copies.show(python, command)
        self.stage.clear()
        with self.stage:
            text(f"How well can “{table.target}” be predicted?", tag="h1")
            self.tabs = Tabs(panels, first if first in panels else "Data")
        self._enable()
