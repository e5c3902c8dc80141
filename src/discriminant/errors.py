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
    └── NotReadyError             (RuntimeError) a model fed by partial_fit that needs more rows first

    DiscriminantWarning           (UserWarning)
    ├── CollinearityWarning                      columns that are linear functions of others
    └── SeparationWarning                        classes for which maximum likelihood has no finite solution

Each message says what was expected, what came and what to do.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any


class DiscriminantError(Exception):
    """Base of every error raised on purpose by this package."""


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

    def __init__(self, message: str, witness: Any) -> None:
        super().__init__(message)
        self.witness = witness

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.witness)


class NotReadyError(DiscriminantError, RuntimeError):
    """A model fed by ``partial_fit`` has not seen enough rows to predict."""


class DiscriminantWarning(UserWarning):
    """Base of every warning this package gives."""


class CollinearityWarning(DiscriminantWarning):
    """Some columns are linear functions of others within the classes."""


class SeparationWarning(DiscriminantWarning):
    """The classes are separated: maximum likelihood has no finite solution."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the caller's line outside this package."""
    package = __name__.partition(".")[0]
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
