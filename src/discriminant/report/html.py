"""The report as one HTML file: text, tables, figures and sliders, with nothing to fetch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..storage.writing import write_whole
from .answer import answer_part, title_of
from .coefficients_part import coefficients_part
from .conclusions import conclusions_part
from .data_part import data_part
from .drawing import Drawing
from .errors_part import calibration_part, confusion_part, roc_part
from .glossary import WORDS
from .material import Material, gather
from .models_part import models_part
from .numbers import count, several
from .regions_part import regions_part
from .reproduction import reproduction_part
from .thresholds import thresholds_part


@dataclass(frozen=True)
class Part:
    """One numbered part of the report: its address on the page, its heading, and what makes its content."""

    name: str
    heading: str
    content: Any


#: The parts in the order in which they are read.
PARTS = (
    Part("answer", "The answer", answer_part),
    Part("data", "The data", data_part),
    Part("models", "The models compared", models_part),
    Part("coefficients", "What the winner has learned", coefficients_part),
    Part("confusion", "Where it is right and wrong", confusion_part),
    Part("roc", "How well its scores rank rows", roc_part),
    Part("calibration", "Whether its probabilities come true", calibration_part),
    Part("thresholds", "Costs and thresholds", thresholds_part),
    Part("regions", "Decision regions", regions_part),
    Part("conclusions", "What would change the conclusion", conclusions_part),
    Part("reproduction", "How to reproduce this", reproduction_part),
)


def write_report(
    path: str | os.PathLike[str],
    comparison: Any,
    training: Any,
    *,
    evaluation: Any = None,
    model: Any = None,
    model_name: str | None = None,
    costs: Any = None,
    learning_curve: Any = None,
    command: str | None = None,
    random_state: Any = 0,
    title: str | None = None,
) -> Path:
    """Write what was found as one HTML file that opens without a network, and return its path.

    Parameters
    ----------
    path : str or path
        The file; it appears whole or not at all.
    comparison : Comparison or None
        What `compare` returned; None for the report of one model that was evaluated.
    training : TrainingTable, (X, y), (X, y, names) or None
        The rows the models were fitted to.
    evaluation : Evaluation, optional
        Of the winner on rows it has not seen. Default: of the comparison's held-out rows where their posteriors were
        kept; else the winner is fitted once more to each fold's other rows.
    model : fitted classifier, optional
        The winner, fitted to all rows: for coefficients and decision regions.
    model_name : str, optional
        Which of the models compared it is. Default: the best.
    costs : array, dict or frame, optional
        Rows true classes, columns actions, as for `Decision`.
    learning_curve : LearningCurve, optional
        Of the winner: whether more rows would help.
    command : str, optional
        What made the report, for those who want to make it again.
    random_state : int
        The one that dealt the folds.
    title : str, optional

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis, compare
    >>> from discriminant.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(f"{folder}/iris.html", compare({"LDA": model}, X, y), (X, y), model=model.fit(X, y))
    ...     text = path.read_text(encoding="utf-8")
    >>> "LDA gives the right class for 98.0 % of rows it has not seen" in text
    True
    """
    material = gather(comparison, training, evaluation, model, model_name, costs, learning_curve, command, random_state)
    write_whole(path, render(material, title).encode("utf-8"))
    return Path(path)


def render(material: Material, title: str | None = None) -> str:
    """The page as text."""
    from plotly.offline import get_plotlyjs

    contents = {part.name: part.content(material) for part in PARTS}
    drawings = [value for content in contents.values() for value in content.values() if isinstance(value, Drawing)]
    return (
        environment()
        .get_template("report.html")
        .render(
            title=title or title_of(material),
            subtitle=_subtitle(material),
            parts=[{"name": part.name, "heading": part.heading, "content": contents[part.name]} for part in PARTS],
            figures={one.place: one.figure for one in drawings if one.figure is not None},
            words=dict(sorted(WORDS.items(), key=lambda item: item[1][0].lower())),
            plotly=get_plotlyjs(),
        )
    )


def _subtitle(material: Material) -> str:
    today = datetime.now(UTC)
    n_rows = material.evaluation.n_rows if material.rows is None else len(material.rows.y)
    facts = [f"{count(n_rows)} rows", several(len(material.classes), "class", "classes")]
    if material.comparison is not None:
        facts.append(several(len(material.comparison.ranking) - 1, "model") + " and a baseline")
    return " · ".join([*facts, f"{today.day} {today:%B %Y}"])


def environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("discriminant.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False, "separators": (",", ":")}
    return made
