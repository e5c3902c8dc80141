"""From the options of a command to a labelled table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from threading import Event
from typing import TYPE_CHECKING, Any, Self

from ..errors import ParameterError
from .running import in_options

if TYPE_CHECKING:
    from ..tables import TableReader, TrainingTable


#: Large blocks: between two of them a thread has to wait for its turn.
_HASHED_BYTES = 1 << 24


@dataclass(frozen=True)
class Asked:
    """How a table was asked for on the command line."""

    data: str
    target: str | None = None
    drop: Sequence[str] = ()
    types: Sequence[str] = ()
    missing: str = "indicator"
    weights: str | None = None
    groups: str | None = None
    rare: int = 5
    max_levels: int = 50
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    ragged: str = "refuse"

    def table(self, types: dict[str, str] | None = None) -> TableReader:
        """The table itself; ``types`` say what columns are unless the command line does."""
        from ..tables import open_table

        return open_table(
            self.data,
            delimiter=self.delimiter,
            header=self.header,
            encoding=self.encoding,
            decimal=self.decimal,
            types={**(types or {}), **pairs("--types", self.types)} or None,
            on_ragged=self.ragged,
        )

    def words(self) -> list[str]:
        """The arguments that ask for this table again, to fit a model to it."""
        words = [self.data]
        for given in fields(self)[1:]:
            value, option = getattr(self, given.name), f"--{given.name.replace('_', '-')}"
            if value == given.default:
                continue
            if given.name == "groups":  # a model is fitted to all groups, and not to their names
                option = "--drop"
            if isinstance(value, bool):
                words.append(option if value else f"--no-{given.name}")
                continue
            for one in [str(value)] if isinstance(value, (str, int)) else value:
                words += [option, one]
        return words

    def training(self, model: str | None = None) -> Labelled:
        """The table with its rows coded and labelled; a model that will be fitted to it is loaded on the way."""
        from .models import known_model

        if model is not None:
            known_model(model)
        with _Beside() as beside:
            # While this thread loads libraries the file is hashed, while it reads the file the model is loaded.
            hashed = beside.begin(_file_hash, self.data)
            from ..tables import read_training

            table = self.table()
            beside.begin(_load, model)
            training = read_training(
                table,
                self.target,
                missing=self.missing,  # type: ignore[arg-type]
                drop=list(self.drop),
                weights=self.weights,
                groups=self.groups,
                max_levels=self.max_levels,
                rare=self.rare,
            )
            return Labelled(self, table, training, hashed.result() or table.fingerprint)


class _Beside:
    """Work on other threads that an error of this one does not wait for: it is told to stop, and left alone."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2)
        self._unwanted = Event()

    def begin(self, work: Callable[[Any, Event], Any], about: Any) -> Future[Any]:
        return self._threads.submit(work, about, self._unwanted)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self._unwanted.set()
        self._threads.shutdown(wait=error is None, cancel_futures=error is not None)


@dataclass(frozen=True)
class Labelled:
    """A table and what was read from it."""

    asked: Asked
    table: TableReader
    training: TrainingTable
    sha256: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.training.schema.names

    @property
    def class_rows(self) -> dict[Any, int]:
        """Rows of each class."""
        import numpy as np

        target, codes = self.training.schema.target, self.training.codes
        assert target is not None
        return dict(zip(target.classes, np.bincount(codes, minlength=len(target.classes)).tolist(), strict=True))

    @property
    def source(self) -> dict[str, Any]:
        """What table it was: values that go with results and into model files."""
        target = self.training.schema.target
        return {
            "data": self.table.label,
            "sha256": self.sha256,
            "rows": len(self.training.y),
            "rows_left_out": self.training.n_dropped,
            "lines_skipped": self.table.skipped,
            "target": None if target is None else target.name,
            "columns": len(self.names),
        }

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What is worth knowing about the table."""
        found = [finding.to_dict() for finding in self.training.findings]
        return [{**finding, "message": in_options(finding["message"])} for finding in found]


def _file_hash(data: str, unwanted: Event) -> str | None:
    """The SHA-256 of a file; None for standard input, for what cannot be read and when nobody wants it any more."""
    digest, block = hashlib.sha256(), bytearray(_HASHED_BYTES)
    try:
        with open(data, "rb", buffering=0) as file:
            while size := file.readinto(block):
                if unwanted.is_set():
                    return None
                digest.update(memoryview(block)[:size])
    except OSError:
        return None
    return digest.hexdigest()


def _load(model: str | None, unwanted: Event) -> None:
    """Load what fitting takes, down to the compiled kernels, by a fit to a table that is next to nothing."""
    import numpy as np

    import discriminant.storage

    from .models import MODELS

    if model is None or unwanted.is_set():
        return
    kind = getattr(discriminant, MODELS[model])
    if not unwanted.is_set():
        angle = np.arange(60.0)
        kind().fit(np.column_stack([np.sin(angle), np.cos(angle)]), angle % 3 > 0)


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Options of the form ``NAME=VALUE`` as a dict; the value is what follows the last ``=``."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.rpartition("=")
        if not sign or not name:
            raise ParameterError(f"{option} takes NAME=VALUE, got {text!r}.")
        found[name] = value
    return found


def class_named(text: Any, classes: Sequence[Any]) -> Any:
    """The class that is written like this, or the text itself where none is."""
    return next((label for label in classes if str(label) == str(text)), text)


def told_findings(findings: Sequence[dict[str, Any]]) -> list[str]:
    """Findings in words, the grave ones first."""
    ordered = sorted(findings, key=lambda finding: finding["severity"] != "warning")
    return [finding["message"] for finding in ordered]
