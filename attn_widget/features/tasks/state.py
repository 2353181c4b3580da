"""State of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class State:
    """State of a training between two batches."""

    epoch: int  # epochs that are done
    step: int  # batches of the running epoch that are done
    # [n, classes]; what this epoch gave for each training text, before it learnt from it; NaN = not yet.
    logits: NDArray[np.float32]
    history: list[dict[str, Any]]  # a record for each epoch that is done
    # The epoch (1-based) with the highest `attn_widget.features.tasks.metrics.rank`; 0 before there is one.
    best: int = 0
    finished: bool = False
