"""The type by which arrays are annotated: shapes and types of values are said in words, where they matter."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
