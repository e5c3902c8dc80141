"""The classes of a labelled table, and names of ordered classes.

From these names an order is proposed; it is never applied without being asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from ..arrays import Array
from ..data import encode_labels, exact_array
from ..errors import InputError, LabelError, Message, Setting
from ..results import Finding, percent, quoted, several, shown
from .column_findings import declared
from .labels import Target, respelled
from .learning import LearningOptions
from .levels import same_spellings, spelling_words, with_other_cases

#: A column with more distinct values, and few rows of each, holds no classes.
MAX_CLASSES: Final = 20
MIN_ROWS_PER_CLASS: Final = 5
#: Classes are imbalanced if the smallest has less than this part of an equal share of the rows.
MAX_IMBALANCED_PART: Final = 0.2


def learn_target(
    labels: Array, name: str | None, label: str, options: LearningOptions, n_missing: int = 0, rows: Array | None = None
) -> tuple[Target, Array, list[Finding]]:
    """The target, the class code of each label, and the findings about the classes.

    The labels of a column of declared type are the classes without changes. The code of a class that is left out is -1.
    ``rows`` are the rows of each label, by default one.
    """
    is_declared = name in options.types
    if not labels.size:
        raise InputError(f"Target {name!r} of {label} is missing in every row. Give another column.")
    findings = []
    if n_missing:
        rows_dropped = several(n_missing, "row without a class is", "rows without a class are")
        message = f"Target {name!r}: {rows_dropped} dropped."
        findings.append(Finding("warning", "missing target", name, message))
    if labels.dtype.kind == "f":
        if not is_declared:
            _refuse_floats(labels, name, labels.size if rows is None else int(rows.sum()))
        labels = np.array(list(map(str, labels.tolist())))
    distinct, codes = encode_labels(labels, labels.size)
    class_rows = np.bincount(codes, rows, len(distinct)).astype(np.int64)
    n_rows = int(class_rows.sum())
    spellings, found = ({}, []) if is_declared else _class_spellings(distinct, class_rows, name)
    names = respelled(distinct, spellings)
    left_out, rare = _rare_classes(names, class_rows, name, options.drop_classes_below)
    findings += found + rare
    kept = ~np.isin(names, exact_array(left_out))
    classes, place = encode_labels(names[kept], int(np.count_nonzero(kept)))
    class_of = np.full(len(names), -1, dtype=np.int32)
    class_of[kept] = place
    counts = np.bincount(place, class_rows[kept], len(classes)).astype(np.int64)
    if classes.size > MAX_CLASSES and n_rows < MIN_ROWS_PER_CLASS * classes.size:
        raise _not_classes(classes, labels, name, n_rows)
    if len(classes) < 2:
        raise LabelError(
            f"Target {name!r} has only one class, {shown(classes[0])}. Expected two or more: check the column, and "
            "whether rows of other classes were filtered out."
        )
    findings += [*_single_rows(classes[counts == 1], name), *imbalance_findings(classes.tolist(), counts)]
    kind = {"b": "boolean", "i": "integer", "u": "integer"}.get(classes.dtype.kind, "text")
    target = Target(name, kind, tuple(classes.tolist()), tuple(spellings.items()), left_out)  # type: ignore[arg-type]
    return target, class_of[codes], findings


def _refuse_floats(labels: Array, name: str | None, n_rows: int) -> NoReturn:
    """Raise an error: float labels are measurements, or integers that lost digits."""
    if not (np.isfinite(labels) & (labels == np.rint(labels))).all():
        raise _not_classes(np.unique(labels), labels, name, n_rows)
    largest = labels[np.abs(labels).argmax()]
    raise InputError(
        f"Target {name!r} has integers such as {largest:.0f} stored as floats, which lose digits above 2**53. Store "
        "them as integers or as text."
    )


def _single_rows(classes: Array, name: str | None) -> list[Finding]:
    """The finding about classes with one row."""
    if not classes.size:
        return []
    which = "Class" if classes.size == 1 else "Classes"
    rows, them = ("has one row", "it") if classes.size == 1 else ("have one row each", "them")
    message = f"{which} {quoted(classes.tolist())}{_of(name)} {rows}, too few to fit or test. Drop {them} with "
    return [Finding("warning", "single-row class", name, Message(message, Setting("drop_classes_below", 2), "."))]


def _of(name: str | None) -> str:
    return "" if name is None else f" of {name!r}"


def _rare_classes(names: Array, counts: Array, name: str | None, least: int) -> tuple[tuple[Any, ...], list[Finding]]:
    """The classes with fewer than ``least`` rows, which are left out, and the finding about them."""
    distinct, place = np.unique(names, return_inverse=True)
    left_out = distinct[np.bincount(place, counts) < least]
    if not left_out.size:
        return (), []
    if len(left_out) > len(distinct) - 2:
        advice = Setting("drop_classes_below")
        raise LabelError(f"Fewer than two classes{_of(name)} have at least {least} rows. Decrease ", advice, ".")
    message = f"Classes{_of(name)} with fewer than {least} rows are dropped: {quoted(left_out.tolist())}."
    return tuple(left_out.tolist()), [Finding("warning", "rare class", name, message)]


def _class_spellings(distinct: Array, rows: Array, name: str | None) -> tuple[dict[str, str], list[Finding]]:
    """Other spellings of classes, and the finding about them."""
    if distinct.dtype.kind != "U":
        return {}, []
    counts = dict(zip(distinct.tolist(), rows.tolist(), strict=True))
    spellings, findings = same_spellings(counts), []
    if len(counts) - len(spellings) < 2:
        spellings = {}  # the spellings are all that distinguishes the classes
    if spellings:
        message = f"Target {name!r} has several spellings of one class, merged: {spelling_words(spellings)}. To keep "
        advice = Message(message, "them separate, give ", declared(str(name), "category"), ".")
        findings.append(Finding("warning", "spellings", name, advice))
    return dict(with_other_cases(spellings, counts)), findings


def imbalance_findings(classes: Sequence[Hashable], counts: Sequence[float] | Array) -> list[Finding]:
    """A warning if a class has less than a fifth of the rows that it would have if classes were equally large."""
    shares = np.asarray(counts, dtype=np.float64) / np.sum(counts)
    least, most = int(np.argmin(shares)), int(np.argmax(shares))
    if shares[least] >= MAX_IMBALANCED_PART / len(shares):
        return []
    message = (
        f"Imbalanced classes: {shown(classes[least])} has {percent(shares[least])} of the rows, "
        f"{shown(classes[most])} {percent(shares[most])}. Use recall or balanced accuracy instead of accuracy, or give "
        "misclassification costs."
    )
    return [Finding("warning", "imbalance", None, message)]


def _not_classes(values: Array, labels: Array, name: str | None, n_rows: int) -> InputError:
    examples = quoted(values[:3].tolist())
    is_few = values.size <= min(MAX_CLASSES, labels.size / MIN_ROWS_PER_CLASS)
    if is_few and np.isfinite(values.astype(np.float64)).all():
        message = f"Target {name!r} has non-integer values ({values.size:,} distinct), such as {examples}. Expected "
        return InputError(message, "classes: if these numbers are classes, give ", declared(str(name), "category"), ".")
    what = "continuous" if labels.dtype.kind in "fiu" else "like free text or an identifier"
    return InputError(
        f"Target {name!r} looks {what}: {values.size:,} distinct values in {n_rows:,} rows, such as {examples}. "
        "Expected a few classes: bin the values first, or give another column."
    )


#: Scales from the lowest to the highest level; names of one position are alternatives, separated by "|".
SCALES: Final = (
    "none|absent, minimal|very slight, slight|very mild, mild|light, moderate|medium, severe|serious|heavy, very severe"
    "|critical, fatal",
    "very low, low, medium low, medium|moderate|average|normal, medium high, high, very high",
    "very small|xs, small|s, medium|m, large|l, very large|xl, xxl",
    "strongly disagree, disagree, somewhat disagree|slightly disagree, neutral|neither agree nor disagree|undecided, "
    "somewhat agree|slightly agree, agree, strongly agree",
    "very dissatisfied, dissatisfied, neutral|neither satisfied nor dissatisfied, satisfied, very satisfied",
    "never, rarely|seldom, sometimes|occasionally, often|frequently, usually, always",
    "never, monthly, weekly, daily",
    "very poor|very bad, poor|bad, fair|average|ok, good, very good, excellent",
    "very unlikely, unlikely, neutral, likely, very likely",
    "unacceptable, insufficient|fail, sufficient|pass, satisfactory, good, very good|merit, excellent|distinction",
    "beginner|novice, intermediate, advanced, expert",
    "primary, secondary, tertiary",
    "stage 0, stage i|stage 1, stage ii|stage 2, stage iii|stage 3, stage iv|stage 4",
    "i, ii, iii, iv, v",
    "first, second, third, fourth, fifth",
)


def proposed_order(classes: Sequence[Any]) -> list[Any] | None:
    """The classes in the order of a known scale; None if they are not on one, or are fewer than three.

    >>> proposed_order(["High", "Low", "Medium"])
    ['Low', 'Medium', 'High']
    >>> proposed_order(["cat", "dog", "fish"]) is None
    True
    """
    named = {" ".join(str(label).casefold().replace("_", " ").replace("-", " ").split()): label for label in classes}
    if len(classes) < 3 or len(named) < len(classes):
        return None
    for scale in SCALES:
        position = {name.strip(): place for place, names in enumerate(scale.split(",")) for name in names.split("|")}
        places = [position.get(name) for name in named]
        if None not in places and len(set(places)) == len(places):
            return [named[name] for name in sorted(named, key=lambda name: position[name])]
    return None
