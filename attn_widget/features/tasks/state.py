"""State of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class State:
    """State of a training between two batches.

    Attributes
    ----------
    epoch : int
        Epochs that are done.
    step : int
        Batches of the running epoch that are done.
    logits : float32 [n, classes]
        What this epoch gave for each training text, before it learnt from it; NaN = not yet.
    history : list of dict
        A record for each epoch that is done.
    best : int
        The epoch (1-based) with the highest `attn_widget.features.tasks.metrics.rank`; 0 before there is one.
    finished : bool
    """

    epoch: int
    step: int
    logits: NDArray[np.float32]
    history: list[dict[str, Any]]
    best: int = 0
    finished: bool = False
