"""Project files of the Table page: a ZIP archive with the table and the choices that were made for it, without code."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import InputError
from ..files import whole_file
from ..workflow.exploring import ClassDecision
from .table_work import Compared, Ranking, Scenario
from .visitors import safe_name

if TYPE_CHECKING:
    from .table_work import Table

KIND: Final = ".dproject"
_CHOICES: Final = "project.json"
_DATA: Final = "data/"
#: The version of the choices; a later one may not be readable.
_FORMAT: Final = 1


@dataclass(frozen=True)
class Project:
    """The choices of the Table page, as plain values; classes are given by their place in the order of the classes."""

    target: str
    drop: list[str]
    types: dict[str, str]
    models: list[str]
    metric: str | None = None
    cost: list[float] | None = None  #: the class whose misses cost more, and the cost ratio
    model: str = ""  #: the chosen model; empty before a comparison
    positive: int | None = None
    decision: dict[str, Any] | None = None
    scenario: dict[str, Any] | None = None

    @classmethod
    def of(cls, table: Table, models: list[str], ranking: Ranking, compared: Compared | None, model: str) -> Project:
        """The choices for a table, and what was decided after the comparison."""
        place = {label: k for k, label in enumerate(table.classes)}
        cost = [float(place[ranking.label]), ranking.cost_ratio] if ranking.metric == "cost" else None
        choices = table.target, list(table.drop), dict(table.types), models, ranking.metric, cost
        if compared is None:
            return cls(*choices)
        positive, chosen = compared.positive, compared.decision
        decision = None
        if chosen is not None:
            decision = {name: getattr(chosen, name) for name in ("cost_ratio", "share", "threshold")}
            decision["label"] = place[chosen.label]
        scenario = asdict(compared.scenario)
        return cls(*choices, model, None if positive is None else place[positive], decision, scenario)

    def write(self, source: Path, path: Path) -> Path:
        """Write the project with a copy of its table."""
        choices = json.dumps({"format": _FORMAT, **asdict(self)}, indent=1)
        with whole_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_CHOICES, choices)
            archive.write(source, _DATA + source.name)
        return path

    def ranking(self, table: Table) -> Ranking:
        """The measure that ranks the models."""
        if self.cost is None:
            return Ranking(self.metric)
        place, ratio = self.cost
        return Ranking(self.metric, _class(table, int(place)), ratio)

    def restored(self, compared: Compared) -> Compared:
        """The comparison with the positive class, the decision and the changed row of the project."""
        table = compared.table
        if self.positive is not None and _class(table, self.positive) != compared.positive:
            compared = compared.with_positive(_class(table, self.positive))
        compared.decision = None
        if self.decision is not None:
            own = {**self.decision, "label": _class(table, self.decision["label"])}
            compared.decision = ClassDecision(shares=table.class_shares(), **own)
        if self.scenario is not None:
            compared.scenario = Scenario(**self.scenario)
        return compared


def _class(table: Table, place: int) -> Any:
    """The class at a place in the order of the classes."""
    if not 0 <= place < len(table.classes):
        raise InputError(
            f"The project refers to class {place}, but its table has {len(table.classes)} classes. Choose the costs "
            "and the decision again."
        )
    return table.classes[place]


def open_project(path: Path, folder: Path, max_bytes: int) -> tuple[Path, Project]:
    """The table of a project, unpacked into a folder, and its choices."""
    try:
        with zipfile.ZipFile(path) as archive:
            choices: Mapping[str, Any] = json.loads(archive.read(_CHOICES))
            data = next(info for info in archive.infolist() if info.filename.startswith(_DATA))
            if data.file_size > max_bytes:
                raise InputError(
                    f"The table of the project {path.name} exceeds the upload limit of {max_bytes >> 20:,} MB. Raise "
                    "--upload-limit."
                )
            if choices["format"] != _FORMAT:
                raise InputError(
                    f"The project {path.name} has format {choices['format']!r}; this version reads format {_FORMAT}. "
                    "Open it with the version of discriminant that wrote it."
                )
            project = Project(**{name: value for name, value in choices.items() if name != "format"})
            target = folder / safe_name(data.filename)
            with whole_file(target) as part:
                Path(part).write_bytes(archive.read(data))
    except (zipfile.BadZipFile, KeyError, StopIteration, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path.name} is not a project of the studio. Expected a file that was downloaded with the button Save "
            "project. Download it again."
        ) from None
    return target, project
