"""The Table page: from a file to a comparison, a decision, an explanation and predictions."""

from __future__ import annotations

import html
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from ..errors import InputError
from ..results import several
from .bundled import BUNDLED, write_bundled
from .frame import (
    Choices,
    Copies,
    FileChooser,
    Job,
    Latest,
    Tabs,
    Work,
    bring_into_view,
    load_libraries,
    opened,
    step,
    text,
    visitor,
)
from .narrow import fold, settings_bar
from .predict_panel import KINDS, PredictPanel, decision_of, decision_of_file
from .ranking_controls import RankingControls
from .visitors import Visitors

if TYPE_CHECKING:
    from ..workflow.exploring import WrittenPredictions
    from .project import Project
    from .table_work import Compared, ModelFile, Table, TableFile

_MODEL_KIND: Final = ".dsc"
PROJECT_KIND: Final = ".dproject"
#: The models that can be compared; results show the names in parentheses.
_MODELS: Final = {
    "ridge": "Ridge logistic regression (ridge)",
    "lasso": "Lasso logistic regression (lasso)",
    "lda": "Linear discriminant analysis (lda)",
    "rda": "Regularised discriminant analysis (rda)",
    "qda": "Quadratic discriminant analysis (qda)",
    "logistic": "Logistic regression, maximum likelihood (logistic)",
    "naive-bayes": "Naive Bayes (naive-bayes)",
    "svm-calibrated": "Support vector machine, calibrated (svm-calibrated)",
    "least-squares-calibrated": "Least squares, calibrated (least-squares-calibrated)",
    "auto": "Tuned average of model families (auto)",
}
#: The models of the first comparison; the page shows why some of them do not suit a table.
DEFAULT_MODELS: Final = ("ridge", "lda", "rda", "naive-bayes", "svm-calibrated")


@dataclass
class State:
    """The file that a tab works on: a table with what was computed from it, or a model file."""

    file: TableFile | None = None
    types: dict[str, str] = field(default_factory=dict)  #: the declared types of columns
    project: Project | None = None  #: the project that is being restored
    table: Table | None = None
    comparing: Job[Compared] | None = None  #: of ``table``
    compared: Compared | None = None
    model: str = ""
    stored: ModelFile | None = None

    def start(self, file: TableFile | None = None, stored: ModelFile | None = None) -> None:
        """Replace the file; nothing that belonged to the previous one stays."""
        if self.comparing is not None:
            self.comparing.cancel()
        if file is not self.file:
            self.types = {}
        self.file, self.stored, self.project = file, stored, None
        self.table = self.compared = self.comparing = None
        self.model = ""


def install(visitors: Visitors, file: Path | None) -> None:
    """Add the page to the server."""

    @ui.page("/")
    async def table() -> None:
        page = await opened("/", TablePage, visitors)
        if page is None:
            return
        if page.state.file is None and file is not None and not _is_image(file):
            await page.open(file, str(file))
        else:
            page.restore()
            await page.follow_comparison()


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in (".tif", ".tiff", ".png", ".jpg", ".jpeg")


class TablePage:
    """The controls on the left, the results on the right."""

    def __init__(self, visitors: Visitors) -> None:
        self.visitors, self.state, self._asked = visitors, State(), Latest(self._read)
        self.tabs: Tabs | None = None
        self.changed: ui.html | None = None  #: the mark of results of other settings
        with ui.element("div").classes("rail") as self.rail:
            with settings_bar():
                self.compare_now = ui.button("Compare", on_click=self._compare).props("unelevated dense")
            with step("Data", 1):
                self._data_controls()
            with step("Target", 2):
                self.target = ui.select([], label="Target column", with_input=True).props("dense outlined")
                self.drop = ui.select([], label="Excluded columns", multiple=True, with_input=True)
                self.drop.props("dense outlined use-chips")
                self.reading = Work("Reading the table")
                self.target.on_value_change(self._asked)
                self.drop.on_value_change(self._asked)
            with step("Models", 3):
                self._model_controls()
            with step("Results", 4):
                self._result_controls()
            self.copies = Copies()
        with ui.element("div").classes("stage"):
            self.stage = ui.element("div")
        with self.stage, ui.element("div").classes("welcome"):
            text("Classify the rows of a table", tag="h1")
            text(
                "Open a table that has a column of classes. The studio describes the data, compares models on held-out "
                "data, and shows the costs of a decision, the reasons for a prediction, and the changes that would "
                "alter it."
            )
            text(
                "All data stay on the machine that runs the studio. "
                "Every result can be copied as Python code and as a command.",
                "remark",
            )
        self._enable()

    def _data_controls(self) -> None:
        self.opening = Work("Reading")
        kinds = f"{KINDS},{_MODEL_KIND},{PROJECT_KIND}"
        with ui.row().classes("opened") as self.current:
            self.opened = text("", "remark")
            ui.button("Open another", on_click=lambda: self._offer_files(True)).props("flat dense")
        with ui.element("div").classes("step") as self.chooser:
            FileChooser(self.visitors, self.open, self.opening).build("a table, model or project", kinds, again=True)
            bundled = ui.select(list(BUNDLED), label="or open an example table").props("dense outlined")
            bundled.on_value_change(lambda event: self._open_bundled(event.value))
        self._offer_files(True)

    def _offer_files(self, offered: bool) -> None:
        """Show the controls that open a file, or else the open one."""
        self.chooser.visible, self.current.visible = offered, not offered

    def _model_controls(self) -> None:
        self.models = Choices(_MODELS, list(DEFAULT_MODELS), "Models to compare")
        self.models.props("dense outlined")
        self.ranked = RankingControls()
        self.compare = ui.button("Compare", on_click=self._compare).props("unelevated")
        self.comparing = Work("Comparing")
        for control in (self.models, self.ranked.metric, self.ranked.label, self.ranked.cost):
            control.on_value_change(self._mark_changed)

    def _result_controls(self) -> None:
        self.chosen = ui.select([], label="Model").props("dense outlined")
        self.chosen.on_value_change(self._choose_model)
        with ui.row().classes("buttons"):
            self.report = self._download("Report", self._report)
            self.keep = self._download("Model file", self._save)
            self.project = ui.button("Save project", on_click=self._save_project, icon="download")
            self.project.props("outline dense")
        self.writing = Work("Writing")

    def _download(self, name: str, act: Callable[[], Any]) -> ui.button:
        button = ui.button(name, on_click=act, icon="download").props("outline dense")
        button.props["aria-label"] = f"Download {name}"
        return button

    def _enable(self) -> None:
        """Enable the controls that the state has values for."""
        file, table, compared = self.state.file, self.state.table, self.state.compared
        needs = {self.target: file, self.drop: file, self.compare: table, self.compare_now: table, self.project: table}
        of_comparison = {self.chosen: compared, self.report: compared, self.keep: compared}
        for control, needed in (needs | of_comparison).items():
            control.set_enabled(needed is not None)

    async def _open_bundled(self, name: str | None) -> None:
        if name:
            path = await self.opening.run(write_bundled, name, self.visitors.folder(visitor()))
            if path is not None:
                await self.open(path, path.name)

    async def open(self, path: Path, label: str) -> None:
        """Open a table with its likely target, a model file, or a project."""
        await self.opening.run(load_libraries)

        from .table_work import ModelFile, TableFile

        if path.suffix.lower() == PROJECT_KIND:
            await self._open_project(path)
            return
        if path.suffix.lower() == _MODEL_KIND:
            stored = await self.opening.run(ModelFile.opened, path, label)
            if stored is not None:
                self.state.start(stored=stored)
                self._clear()
                self._show_stored(stored)
            return
        file = await self.opening.run(TableFile.opened, path, label)
        if file is not None:
            self.state.start(file)
            self._clear()
            self._show_file(file, file.likely_target, ())
            await self._asked()

    async def _open_project(self, path: Path) -> None:
        """Restore the table, the choices and the comparison of a project."""
        from .project import open_project
        from .table_work import TableFile

        folder = self.visitors.new_folder(visitor())
        found = await self.opening.run(open_project, path, folder, self.visitors.max_upload_bytes)
        file = None if found is None else await self.opening.run(TableFile.opened, found[0], found[0].name)
        if found is None or file is None:
            return
        project = found[1]
        self.state.start(file)
        self.state.types, self.state.project = dict(project.types), project
        self._clear()
        self._show_file(file, project.target, tuple(project.drop))
        await self._asked()

    def _clear(self) -> None:
        """Remove the results of the previous file or target from the page."""
        self.stage.clear()
        self.tabs = self.changed = None
        self.copies.panel.visible = False
        self.chosen.set_options([], value=None)
        if self.state.file is None:
            self.target.set_options([], value=None)
            self.drop.set_options([], value=[])
        for work in (self.reading, self.comparing, self.writing):
            work.fail("")
        self._enable()

    def _show_file(self, file: TableFile, target: str, drop: tuple[str, ...]) -> None:
        self.opened.set_content(f"<b>{html.escape(file.path.name)}</b>, {several(len(file.columns), 'column')}")
        self._offer_files(False)
        self.target.set_options(list(file.columns), value=target)
        self.drop.set_options([name for name in file.columns if name != target], value=list(drop))
        self._enable()

    async def _read(self) -> None:
        """Read the table for the chosen target and columns, unless that has been done."""
        from .table_work import TARGET_TYPES, Table

        state, file, target, now = self.state, self.state.file, self.target.value, self.state.table
        drop = tuple(name for name in self.drop.value or () if name != target)
        declared = {name: kind for name, kind in state.types.items() if name not in drop}
        types = {name: kind for name, kind in declared.items() if name != target or kind in TARGET_TYPES}
        wanted = file, target, drop, types
        if file is None or target is None or (now and (now.file, now.target, now.drop, now.types) == wanted):
            return
        tab = self.tabs.value if self.tabs is not None and now is not None and now.target == target else "Data"
        if now is not None:
            state.start(file)
            self._clear()
        table = await self.reading.run(Table.read, file, target, drop, self.models.value, types)
        if table is not None and state.file is file:
            state.table = table
            self._offer_models(table)
            self._enable()
            self._show(tab)
            bring_into_view(self.stage)
            await self._restore_project(table)

    async def _restore_project(self, table: Table) -> None:
        """Compare the models of a project again, and take over its decision."""
        project = self.state.project
        if project is None:
            return
        self.models.set_value([name for name in project.models if name in self.models.options])
        try:
            self.ranked.show(project.ranking(table), table)
        except InputError as error:
            self.opening.fail(error)
        if project.model:
            await self._compare()

    async def _apply_types(self, chosen: dict[str, str]) -> None:
        """Read the table with other types of columns."""
        from .column_panel import types_of

        self.state.types, drop = types_of(chosen)
        self.drop.set_value(drop)
        await self._asked()

    def _offer_models(self, table: Table) -> None:
        """Offer the ordinal model if the names of the classes have a known order, and the classes to miss."""
        self.ranked.offer(table)
        offered, order = dict(_MODELS), table.known_order
        if order is not None:
            offered["ordinal"] = f"Ordinal logistic regression, {' < '.join(map(str, order))} (ordinal)"
        self.models.set_options(offered, value=[name for name in self.models.value if name in offered])

    async def _compare(self) -> None:
        from .table_work import compared

        state = self.state
        if state.table is not None and state.comparing is None:
            models = tuple(self.models.value)
            ranking = self.ranked.ranking(state.table)
            state.comparing = Job(compared, state.table, models, state.compared, ranking, cancellable=True)
            await self.follow_comparison()

    async def follow_comparison(self) -> None:
        """Show a running comparison and its result, also after a reload of the page."""
        state, job = self.state, self.state.comparing
        if job is None:
            return
        self.compare.disable()
        self.compare_now.disable()
        found = await self.comparing.follow(job)
        if state.comparing is job:  # else another file was opened, or another page has done this
            state.comparing = None
            if found is not None:
                state.table, state.compared, state.model = found.table, found, found.comparison.best_model
                found = self._restored(found)
        if self.stage.is_deleted:
            return
        self._enable()
        if found is not None and state.compared is found:
            self.restore(tab="Comparison")
            bring_into_view(self.stage)

    def _restored(self, found: Compared) -> Compared:
        """The comparison with the decision and the model of the project that is being restored."""
        state, project = self.state, self.state.project
        state.project = None
        if project is None:
            return found
        try:
            state.compared = project.restored(found)
        except InputError as error:
            self.opening.fail(error)
        state.model = project.model if project.model in found.made else state.model
        return state.compared or found

    def restore(self, tab: str = "Data") -> None:
        """Show what this tab works on."""
        state = self.state
        if state.stored is not None:
            self._show_stored(state.stored)
        if state.file is None:
            return
        table = state.table
        self._show_file(state.file, table.target if table else state.file.likely_target, table.drop if table else ())
        if table is not None:
            self._offer_models(table)
        if state.compared is not None:
            names = [name for name in state.compared.comparison.ranking if name in state.compared.made]
            self.chosen.set_options(names, value=state.model)
            self.models.set_value(list(state.compared.made))
            self.ranked.show(state.compared.ranking, table)
        self._show(tab)

    async def _choose_model(self, event: ValueChangeEventArguments) -> None:
        compared = self.state.compared
        if compared is None or event.value in (None, self.state.model):
            return
        if await self.writing.run(compared.data, event.value) is not None and self.state.compared is compared:
            self.state.model = event.value
            self._update()

    async def _choose_class(self, label: Hashable) -> None:
        """Show curves, thresholds and calibration of the other one of two classes."""
        compared = self.state.compared
        if compared is None or label == compared.positive:
            return
        other = compared.with_positive(label)
        if await self.writing.run(other.data, self.state.model) is not None and self.state.compared is compared:
            self.state.compared = other
            self._update()

    async def _report(self) -> None:
        path, compared = self.visitors.folder(visitor()) / "report.html", self.state.compared
        if compared is None:
            return
        written = await self.writing.run(compared.write_report, self.state.model, path)
        if written is not None:
            ui.download.file(path, "report.html")

    async def _save(self) -> None:
        path, compared = self.visitors.folder(visitor()) / f"{self.state.model}.dsc", self.state.compared
        if compared is None:
            return
        written = await self.writing.run(compared.save, self.state.model, path)
        if written is not None:
            ui.download.file(path, path.name)

    async def _save_project(self) -> None:
        from .project import Project

        table, folder = self.state.table, self.visitors.folder(visitor())
        if table is None:
            return
        ranking = self.ranked.ranking(table)
        project = Project.of(table, list(self.models.value), ranking, self.state.compared, self.state.model)
        path = folder / f"{table.file.path.stem}{PROJECT_KIND}"
        if await self.writing.run(project.write, table.file.path, path) is not None:
            ui.download.file(path, path.name)

    def _show_stored(self, stored: ModelFile) -> None:
        """Show a model file, and predict with it."""
        from . import table_panels

        self.opened.set_content(f"<b>{html.escape(stored.path.name)}</b>, a model file")
        self._offer_files(False)
        fold(self.rail)
        self.copies.show(*stored.code())
        self.stage.clear()
        with self.stage:
            text(f"Model {stored.path.name}", tag="h1")
            Tabs(
                {
                    "Model": lambda: table_panels.stored(stored),
                    "Predict": lambda: PredictPanel(
                        self.visitors, stored.predict, decision_of_file(stored.stored), []
                    ).build(),
                },
                "Model",
            )
        self._enable()

    def _show(self, first: str = "Data") -> None:
        """Show the results in tabs; each is built when it is opened."""
        table = self.state.table
        if table is None:
            return
        panels = self._panels(table)
        self.stage.clear()
        with self.stage:
            text(f"Classification of “{table.target}”", tag="h1")
            self.changed = text("Settings changed: press Compare to update the results.", "warning")
            self.changed.props("role=status")
            self.tabs = Tabs(panels, first if first in panels else "Data", self._opened_tab)
        self._mark_changed()
        fold(self.rail)
        self._enable()

    def _mark_changed(self) -> None:
        """Mark results that belong to other models, another measure or other costs than the chosen ones."""
        table, found = self.state.table, self.state.compared
        if table is not None and self.changed is not None:
            chosen = set(self.models.value), self.ranked.ranking(table)
            self.changed.visible = found is not None and (set(found.made), found.ranking) != chosen

    def _give_costs(self) -> None:
        self.ranked.open(self.rail)

    def _open_tab(self, name: str) -> None:
        if self.tabs is not None:
            self.tabs.open(name)

    def _opened_tab(self, name: str) -> None:
        """Build a tab that shows one row again: the other tab may have changed the row."""
        if self.tabs is not None and name in ("Explain", "What if"):
            self.tabs.forget(name)

    def _update(self) -> None:
        """Show another model or positive class in the same tabs."""
        if self.tabs is not None and self.state.table is not None:
            self.tabs.replace(self._panels(self.state.table))

    def _panels(self, table: Table) -> dict[str, Callable[[], Any]]:
        """The functions that build the tabs; the code to copy is shown beside them."""
        from . import table_panels
        from .column_panel import ColumnPanel
        from .what_if import WhatIf

        compared, name = self.state.compared, self.state.model
        self.copies.show(*(table.code() if compared is None else compared.code(name)))
        data = {
            "Data": lambda: table_panels.data(table),
            "Columns": lambda: ColumnPanel(table, self._apply_types).build(),
        }
        if compared is None:
            return data

        def changed() -> None:
            """Build the tabs that depend on the decision again, when they are opened."""
            self.copies.show(*compared.code(name))
            if self.tabs is not None:
                self.tabs.forget("Predict")

        def predict(source: Path, target: Path) -> WrittenPredictions:
            return compared.predict(name, source, target)

        return data | {
            "Comparison": lambda: table_panels.comparison(compared, name, self._give_costs, self._open_tab),
            "Costs and thresholds": lambda: table_panels.Decide(compared, name, changed, self._choose_class).build(),
            "Explain": lambda: table_panels.explanation(compared, name, self._open_tab),
            "Validate": lambda: table_panels.validation(compared, name),
            "Effects": lambda: table_panels.effects(compared, name),
            "What if": lambda: WhatIf(compared.in_use(name), compared.scenario).build(),
            "Predict": lambda: PredictPanel(
                self.visitors, predict, decision_of(compared, name), compared.predicted
            ).build(),
        }
