"""Names for the array types that the analysis passes around."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bool: TypeAlias = NDArray[np.bool_]
Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
Int32: TypeAlias = NDArray[np.int32]

Head: TypeAlias = "int | Literal['mean']"
Tau: TypeAlias = "float | Literal['uniform']"
