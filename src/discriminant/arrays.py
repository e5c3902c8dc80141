"""Types of inputs and of internal arrays: matrices, random states and classifiers.

Docstrings state shapes and value types where they matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    import narwhals.stable.v2 as nw
    from narwhals.typing import IntoFrame
    from scipy.sparse import csr_array, sparray, spmatrix

Array: TypeAlias = np.ndarray[Any, Any]

#: Rows of features: arrays, nested sequences, SciPy sparse matrices, or frames of any library.
MatrixLike: TypeAlias = "ArrayLike | sparray | spmatrix | IntoFrame"

#: A SciPy sparse matrix of any format.
SparseMatrix: TypeAlias = "sparray | spmatrix"

#: Numbers that are computed with: a dense array or a SciPy sparse matrix.
NumericMatrix: TypeAlias = "Array | SparseMatrix"

#: Rows as kernels and rules take them: a C-contiguous array or a CSR matrix.
RowBlock: TypeAlias = "Array | csr_array"

#: A frame of any library, as narwhals reads it.
Frame: TypeAlias = "nw.DataFrame[Any]"

#: One number per class, in class order or by class label.
PerClass: TypeAlias = "ArrayLike | Mapping[Any, float]"

#: Values of ``random_state``, as in scikit-learn.
RandomState: TypeAlias = "int | np.random.RandomState | np.random.Generator | None"

#: One label per row, or per class.
LabelsLike: TypeAlias = "ArrayLike | Iterable[Hashable]"

#: The label of a class.
Label: TypeAlias = "str | int | float | bool | np.generic"


class Classifier(Protocol):
    """A fitted classifier with scikit-learn's interface, of this or another package."""

    classes_: Array
    n_features_in_: int

    def predict(self, X: MatrixLike) -> Array:
        """The predicted class of each row."""


class ProbabilisticClassifier(Classifier, Protocol):
    """A classifier with posterior probabilities."""

    def predict_proba(self, X: MatrixLike) -> Array:
        """The posterior probability of each class for each row."""
