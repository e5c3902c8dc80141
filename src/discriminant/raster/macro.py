"""Macro-classes: classes of a model that are merged in maps, reports and accuracies."""

from __future__ import annotations

import csv
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..data import label_array
from ..errors import InputError, ParameterError, Setting
from ..results import plain, shown
from .areas import Areas
from .class_map import Legend, make_legend
from .files import check_file
from .label_image import LabelImage

_DELIMITERS: Final = ",;\t"


@dataclass(frozen=True)
class MacroClasses:
    """The macro-class of each class of a model.

    A model is trained on subclasses, such as two kinds of crop with different spectra, which are merged in the map.

    Parameters
    ----------
    of : dict
        Macro-classes by class. Classes that are not listed are their own macro-class.

    See Also
    --------
    read_macro_classes : Reads them from a file.
    MapRule : Uses them for a map.

    Examples
    --------
    >>> from discriminant.raster import MacroClasses
    >>> merged = MacroClasses({"maize": "crop", "wheat": "crop"})
    >>> merged.labels(["maize", "forest", "wheat"]).tolist()
    ['crop', 'forest', 'crop']
    """

    of: Mapping[Any, Any]

    def check(self, classes: Sequence[Hashable]) -> None:
        """Raise an error if a listed class is not one of the model.

        Parameters
        ----------
        classes : list
            The classes of the model.
        """
        known = {str(plain(label)) for label in classes}
        unknown = [label for label in self.of if str(label) not in known]
        if unknown:
            raise ParameterError(
                Setting("macro"), f" has {shown(unknown[0])}, which is not a class of the model. Classes: "
                f"{', '.join(sorted(known))}.",
            )  # fmt: skip

    def labels(self, labels: Sequence[Hashable]) -> Array:
        """The macro-class of each label.

        Parameters
        ----------
        labels : list
            Classes; other labels, such as "rejected", are unchanged.

        Returns
        -------
        array
        """
        of = {str(label): macro for label, macro in self.of.items()}
        merged = [of.get(str(plain(label)), plain(label)) for label in labels]
        if len({type(label) for label in merged}) > 1:
            merged = [str(label) for label in merged]
        return label_array(merged)

    def names(self, names: Mapping[int, Hashable]) -> dict[int, Any]:
        """The macro-class of each code of a map.

        Parameters
        ----------
        names : dict
            The class of each code.

        Returns
        -------
        dict
        """
        return dict(zip(names, self.labels(list(names.values())).tolist(), strict=True))

    def reference(self, areas: Areas | LabelImage) -> Areas:
        """Reference areas with their macro-classes.

        Parameters
        ----------
        areas : Areas
            Polygons or points; an image of classes raises an error.

        Returns
        -------
        Areas
        """
        if isinstance(areas, LabelImage):
            raise InputError(
                f"{areas.source} is an image of classes, whose values are merged by their names: give the same name to "
                "several values with ", Setting("names"), ".",
            )  # fmt: skip
        return replace(areas, labels=self.labels(areas.labels.tolist()))

    def legend(self, subclasses: Legend, colours: Mapping[Any, str] | None = None) -> tuple[Legend, Array]:
        """The legend of a map of macro-classes, and its code for each code of the map of subclasses.

        Parameters
        ----------
        subclasses : Legend
            The legend of the map of subclasses.
        colours : dict, optional
            Colours by macro-class.

        Returns
        -------
        legend : Legend
        codes : array
            At the code of each subclass, of rejected pixels and of nodata.
        """
        macros = self.labels([entry.label for entry in subclasses.classes]).tolist()
        different = list(dict.fromkeys(macros))
        names = {str(label) for label in different}
        chosen = {label: colour for label, colour in (colours or {}).items() if str(label) in names}
        made = make_legend(sorted(different, key=str), subclasses.rejected is not None, chosen)
        code_of = {entry.label: entry.code for entry in made.classes}
        codes = np.full(subclasses.n_codes, made.nodata, dtype=made.dtype)
        codes[[entry.code for entry in subclasses.classes]] = [code_of[label] for label in macros]
        if subclasses.rejected is not None and made.rejected is not None:
            made = replace(made, rejected=replace(made.rejected, label=subclasses.rejected.label))
            codes[subclasses.rejected.code] = made.rejected.code if made.rejected is not None else made.nodata
        return made, codes


def read_macro_classes(path: str | os.PathLike[str]) -> MacroClasses:
    """Read macro-classes from a text file with two columns: class and macro-class.

    Parameters
    ----------
    path : path
        A file with commas, semicolons or tabs, without a header, or with the header ``class,macro``.

    Returns
    -------
    MacroClasses

    See Also
    --------
    MacroClasses : From a dict.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from discriminant.raster import read_macro_classes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "legend.csv")
    ...     _ = path.write_text("maize,crop\\nwheat,crop\\n")
    ...     read_macro_classes(path).of
    {'maize': 'crop', 'wheat': 'crop'}
    """
    name = os.fspath(path)
    check_file(name)
    with open(name, newline="", encoding="utf-8-sig") as file:
        text = file.read()
    delimiter = max(_DELIMITERS, key=text.count)
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), delimiter=delimiter) if any(row)]
    odd = [row for row in rows if len(row) != 2 or not all(row)]
    if odd or not rows:
        what = f"the line {delimiter.join(odd[0])!r}" if odd else "no lines"
        raise InputError(f"{name!r} has {what}. Expected two columns: class and macro-class, such as maize,crop.")
    if [cell.lower() for cell in rows[0]] == ["class", "macro"]:
        rows = rows[1:]
    found: dict[str, str] = {}
    for label, macro in rows:
        if found.setdefault(label, macro) != macro:
            raise InputError(f"{name!r} has two macro-classes for {label!r}: {found[label]!r}, {macro!r}. Keep one.")
    return MacroClasses(found)
