"""The tab Predict of the Table page: predictions for the rows of another file, and the decision that they follow."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui

from ..results import percent
from .frame import FileChooser, Work, report_html, table, text, visitor
from .ranking_controls import COSTS
from .visitors import Visitors

if TYPE_CHECKING:
    from ..workflow.exploring import WrittenPredictions
    from ..workflow.stored import StoredModel
    from .table_work import Compared

KINDS: Final = ".csv,.tsv,.txt,.parquet,.xlsx,.xls,.ods,.json,.jsonl,.feather,.arrow,.gz"


class PredictPanel:
    """A file to predict, the counts beside the decision, the first rows, and the download.

    ``before`` has the file that was predicted last: the panel of another model or decision predicts it again.
    """

    def __init__(
        self,
        visitors: Visitors,
        predict: Callable[[Path, Path], WrittenPredictions],
        decided: Sequence[tuple[str, str]],
        before: list[Path],
    ) -> None:
        self.visitors, self.predict, self.decided, self.before = visitors, predict, decided, before

    def build(self) -> None:
        """Lay out the file to open on one side and the decision on the other."""
        text("Open a table with the columns of the training data to predict the class of each row.")
        with ui.element("div").classes("side"):
            with ui.element("div"):
                with ui.element("div").classes("narrow"):
                    self.work = Work("Predicting")
                    FileChooser(self.visitors, self._answer, self.work).build("a table to predict", KINDS)
                self.counts = ui.element("div").props("aria-live=polite")
            report_html(table(["Decision in effect", ""], self.decided, "Decision in effect"))
        self.rows = ui.element("div")
        for path in self.before:
            ui.timer(0, partial(self._answer, path, path.name), once=True)

    async def _answer(self, path: Path, label: str) -> None:
        for place in (self.counts, self.rows):
            place.clear()
        target = self.visitors.folder(visitor()) / "predictions.csv"
        found = await self.work.run(self.predict, path, target)
        if found is None or self.counts.is_deleted:
            return
        self.before[:] = [path]
        with self.counts:
            text(f"Predictions for {Path(label).name}")
            _counts(found)
            ui.button(
                "Download predictions", icon="download", on_click=lambda: ui.download.file(target, "predictions.csv")
            ).props("unelevated")
        with self.rows:
            _first_rows(found)


def decision_of(compared: Compared, name: str) -> list[tuple[str, str]]:
    """A model of a comparison and the decision, as names and values, and where it was set."""
    shares, chosen = compared.table.class_shares(), compared.decision
    if chosen is None:
        return [
            ("Model", name),
            ("Predicted class", "the most probable one" + (" (threshold 0.5)" if len(shares) == 2 else "")),
            ("Costs", "1 for every error"),
            ("Prevalence", "as in the training data"),
            ("Set in", f"default; to change it, open {COSTS} (step 3) or the tab Costs and thresholds"),
        ]
    label = str(chosen.label)
    share = f"{percent(shares[chosen.label])}, as in the training data"
    is_of_ranking = chosen == compared.ranking.decision(shares)
    return [
        ("Model", name),
        ("Threshold", f"{label} is predicted where its probability is at least {chosen.applied_threshold:.3g}"),
        ("Costs", f"{chosen.cost_ratio:.3g} for a missed {label}, 1 for any other error"),
        (f"Prevalence of {label}", share if chosen.share is None else percent(chosen.share)),
        ("Set in", f"{COSTS} (step 3)" if is_of_ranking else "the tab Costs and thresholds"),
    ]


def decision_of_file(stored: StoredModel) -> list[tuple[str, str]]:
    """The decision of a model file, as names and values."""
    decision = getattr(stored.model, "decision_", None)
    given = {name: getattr(decision, name, None) for name in ("costs", "priors", "thresholds", "reject_cost")}
    rule = "the most probable one" if given["costs"] is None else "the one of minimum expected cost"
    parts = [(name.replace("_", " ").capitalize(), _written(value)) for name, value in given.items() if value]
    return [("Predicted class", rule), *parts, ("Set in", "the model file")]


def _written(value: Any) -> str:
    """Costs, priors or thresholds by class."""
    if not isinstance(value, dict):
        return _cell(value)
    parts = [
        f"{name}: {_cell(own)}"
        if not isinstance(own, dict)
        else ", ".join(f"{_cell(cost)} for a true {name} predicted as {action}" for action, cost in own.items())
        for name, own in value.items()
    ]
    return "; ".join(parts)


def _counts(found: WrittenPredictions) -> None:
    """The number of rows of each prediction, and the notes."""
    rows = [(label, f"{n:,}") for label, n in found.counts.items()]
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in found.notes)
    counts = table(["Prediction", "Rows"], rows, "Predictions", 1)
    report_html(counts + (f'<ul class="notes" aria-label="Notes">{notes}</ul>' if notes else ""))


def _first_rows(found: WrittenPredictions) -> None:
    if found.head:
        text(f"First {len(found.head)} rows", tag="h3")
        names = list(found.head[0])
        report_html(table(names, [[_cell(row[name]) for name in names] for row in found.head], "First rows"))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
