"""Errors and warnings of this package, and the messages they carry.

::

    DiscriminantError
    ├── InputError                (ValueError)   input that is not valid as rows, labels or weights
    │   ├── DtypeError            (TypeError)    a value that is not a number where one is required
    │   ├── ColumnError                          columns missing, unseen, reordered or of the wrong kind
    │   ├── LabelError                           labels or classes
    │   ├── WeightError                          sample weights
    │   └── ModelFileError                       a file that is not a valid model file, or of a newer version
    ├── ParameterError            (ValueError)   an invalid parameter value
    ├── DegenerateDataError       (ValueError)   valid data from which this model cannot be estimated
    │   └── NotSeparableError                    no hyperplane separates the classes; its ``witness`` proves it
    ├── NotReadyError             (RuntimeError) a model that needs more rows from partial_fit before it predicts
    └── DependencyError           (ImportError)  a required package is missing, too old or broken

    DiscriminantWarning           (UserWarning)
    ├── CollinearityWarning                      columns that are linear functions of others
    │   └── AliasWarning                         collinear columns that do not change predictions
    └── SeparationWarning                        separated classes: maximum likelihood has no finite solution

A message states the problem and its place, what is expected, and the remedy. It consists of parts: text, and references
to settings and models, which Python and the command line spell differently::

    raise InputError(f"{name} has missing values. Use ", Setting("missing", "indicator"), ".")

is rendered as ``missing='indicator'`` in Python and as ``--missing indicator`` on the command line.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

_NO_VALUE: Final = object()


@dataclass(frozen=True)
class Setting:
    """A reference to a parameter in a message, optionally with a recommended value."""

    parameter: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        """Whether a value is recommended."""
        return self.value is not _NO_VALUE

    def __str__(self) -> str:
        return f"{self.parameter}={self.value!r}" if self.has_value else self.parameter


@dataclass(frozen=True)
class Model:
    """A reference to a model class in a message."""

    name: str

    def __str__(self) -> str:
        return self.name


Part = str | Setting | Model


class Message:
    """Text with references to settings and models."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def render(self, spell: Callable[[Setting | Model], str] = str) -> str:
        """The text, with settings and models spelled by ``spell`` (default: Python syntax)."""
        return "".join(part if isinstance(part, str) else spell(part) for part in self.parts)

    def __str__(self) -> str:
        return self.render()


class DiscriminantError(Message, Exception):
    """Base class of the errors of this package."""

    def __init__(self, *parts: Part) -> None:
        Message.__init__(self, *parts)
        Exception.__init__(self, str(self))

    def __reduce__(self) -> tuple[type[DiscriminantError], tuple[Part, ...], dict[str, Any]]:
        return type(self), self.parts, vars(self)


class InputError(DiscriminantError, ValueError):
    """Input that is not valid as rows, labels or weights."""


class DtypeError(InputError, TypeError):
    """A value that is not a number where one is required."""


class ColumnError(InputError):
    """Columns that are missing, unseen, reordered or of the wrong kind."""


class LabelError(InputError):
    """Labels that are not valid classes, or classes that the model does not have."""


class WeightError(InputError):
    """Invalid sample weights."""


class ModelFileError(InputError):
    """A file that is not a valid model file of this or an earlier version, or a model that cannot be stored."""


class ParameterError(DiscriminantError, ValueError):
    """An invalid parameter value."""


class DegenerateDataError(DiscriminantError, ValueError):
    """Valid data from which this model cannot be estimated."""


class NotSeparableError(DegenerateDataError):
    """No hyperplane separates two classes; ``witness`` proves it."""

    def __init__(self, *parts: Part, witness: Any = None) -> None:
        super().__init__(*parts)
        self.witness = witness


class NotReadyError(DiscriminantError, RuntimeError):
    """A model that needs more rows from ``partial_fit`` before it can predict."""


class DependencyError(DiscriminantError, ImportError):
    """A required package that is missing, too old or broken."""


class DiscriminantWarning(Message, UserWarning):
    """Base class of the warnings of this package; ``origin`` is the file and line that issued it."""

    def __init__(self, *parts: Part) -> None:
        Message.__init__(self, *parts)
        UserWarning.__init__(self, str(self))


class CollinearityWarning(DiscriminantWarning):
    """Some columns are linear functions of others within the classes."""


class AliasWarning(CollinearityWarning):
    """Some columns are linear functions of others: predictions are unaffected, coefficients are not unique."""


class SeparationWarning(DiscriminantWarning):
    """The classes are separated: maximum likelihood has no finite solution."""


def warn(message: str | Message, category: type[Warning]) -> None:
    """Issue a warning that points at the caller's line outside this package.

    Warnings of any category, including those of other libraries, keep the ``message`` with its parts and an ``origin``.
    """
    package = __name__.partition(".")[0]
    depth, frame = 2, sys._getframe(1)
    whole = message if isinstance(message, Message) else Message(message)
    warning: Any = category(*whole.parts) if issubclass(category, Message) else category(str(whole))
    warning.message, warning.origin = whole, (frame.f_code.co_filename, frame.f_lineno)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(warning, stacklevel=depth)
