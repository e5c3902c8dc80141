"""Every error and warning this package raises.

::

    DiscriminantError
    ├── InputError                (ValueError)   what came in cannot be read as rows, labels or weights
    │   ├── DtypeError            (TypeError)    a value that is not a number where one is needed
    │   ├── ColumnError                          columns missing, unseen, reordered or of the wrong kind
    │   ├── LabelError                           labels or classes
    │   ├── WeightError                          sample weights
    │   └── ModelFileError                       a model file that is damaged, altered, too new or none at all
    ├── ParameterError            (ValueError)   a parameter of an estimator
    ├── DegenerateDataError       (ValueError)   readable data from which this model cannot be estimated
    │   └── NotSeparableError                    no hyperplane separates the classes; its ``witness`` proves it
    ├── NotReadyError             (RuntimeError) a model fed by partial_fit that needs more rows first
    └── DependencyError           (ImportError)  a package this one needs is missing, too old or broken

    DiscriminantWarning           (UserWarning)
    ├── CollinearityWarning                      columns that are linear functions of others
    │   └── AliasWarning                         the same where predictions do not depend on it
    └── SeparationWarning                        classes for which maximum likelihood has no finite solution

Each message says what was expected, what came and what to do. A message is made of parts: text, and the settings and
models it speaks of, which Python and the command line write each in their own way::

    raise InputError(f"{name} misses values. Choose ", Setting("missing", "indicator"), ".")

is told as ``missing='indicator'`` in Python and as ``--missing indicator`` on the command line.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_NO_VALUE: Any = object()


@dataclass(frozen=True)
class Setting:
    """A parameter that a message speaks of, perhaps with a value it advises."""

    parameter: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        """Whether a value is advised."""
        return self.value is not _NO_VALUE

    def __str__(self) -> str:
        return f"{self.parameter}={self.value!r}" if self.has_value else self.parameter


@dataclass(frozen=True)
class Model:
    """A model that a message speaks of, by the name of its class."""

    name: str

    def __str__(self) -> str:
        return self.name


Part = str | Setting | Model


class Message:
    """Text with the settings and models it speaks of."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def told(self, spelled: Callable[[Setting | Model], str] = str) -> str:
        """The text, with settings and models as ``spelled`` writes them; by default as in Python."""
        return "".join(part if isinstance(part, str) else spelled(part) for part in self.parts)

    def __str__(self) -> str:
        return self.told()


class DiscriminantError(Message, Exception):
    """Base of every error raised on purpose by this package."""

    def __init__(self, *parts: Part) -> None:
        Message.__init__(self, *parts)
        Exception.__init__(self, str(self))

    def __reduce__(self) -> Any:
        return type(self), self.parts, vars(self)


class InputError(DiscriminantError, ValueError):
    """What came in cannot be read as rows, labels or weights."""


class DtypeError(InputError, TypeError):
    """A value that is not a number stands where one is needed."""


class ColumnError(InputError):
    """Columns are missing, unseen, in another order, or of the wrong kind."""


class LabelError(InputError):
    """Labels that cannot be classes, or classes that do not fit the model."""


class WeightError(InputError):
    """Sample weights that cannot be read as row counts."""


class ModelFileError(InputError):
    """A file that is not a whole, unaltered model file this version can read, or a model that cannot be stored."""


class ParameterError(DiscriminantError, ValueError):
    """A parameter of an estimator has a value it cannot have."""


class DegenerateDataError(DiscriminantError, ValueError):
    """The data are readable, but this model cannot be estimated from them."""


class NotSeparableError(DegenerateDataError):
    """No hyperplane separates two classes; ``witness`` proves it."""

    def __init__(self, *parts: Part, witness: Any = None) -> None:
        super().__init__(*parts)
        self.witness = witness


class NotReadyError(DiscriminantError, RuntimeError):
    """A model fed by ``partial_fit`` has not seen enough rows to predict."""


class DependencyError(DiscriminantError, ImportError):
    """A package that this one needs is missing, too old or broken."""


class DiscriminantWarning(Message, UserWarning):
    """Base of the warnings this package gives; ``origin`` is the line of the package it comes from."""

    def __init__(self, *parts: Part) -> None:
        Message.__init__(self, *parts)
        UserWarning.__init__(self, str(self))


class CollinearityWarning(DiscriminantWarning):
    """Some columns are linear functions of others within the classes."""


class AliasWarning(CollinearityWarning):
    """Some columns can be computed from others: single coefficients have no meaning, predictions are the same."""


class SeparationWarning(DiscriminantWarning):
    """The classes are separated: maximum likelihood has no finite solution."""


def warn(message: str | Message, category: type[Warning]) -> None:
    """Warn, pointing at the caller's line outside this package.

    The warning, also one of another library's category, has the ``message`` with its parts, and its ``origin``.
    """
    package = __name__.partition(".")[0]
    depth, frame = 2, sys._getframe(1)
    told = message if isinstance(message, Message) else Message(message)
    warning: Any = category(*told.parts) if issubclass(category, Message) else category(str(told))
    warning.message, warning.origin = told, (frame.f_code.co_filename, frame.f_lineno)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(warning, stacklevel=depth)
