"""The metrics of all heads for the page: their keys, tau, and the scale that each is read on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Tau
from attn_widget.figures.metrics import KEYS, metric_scale
from attn_widget.trace import Trace
from attn_widget.trace.windows.masks import keys_per_query


def possible_keys(trace: Trace) -> list[NDArray[np.int_]]:
    """Number of keys that each query may attend to, int [n] for each layer."""
    n, m = trace.n_tokens, trace.n_keys
    masks = [trace.mask(layer) for layer in range(trace.n_layers)]
    counts: dict[int, NDArray[np.int_]] = {}  # layers of a kind share their mask
    for mask in masks:
        if id(mask) not in counts:
            counts[id(mask)] = np.full(n, m) if mask is None else keys_per_query(mask)
    return [counts[id(mask)] for mask in masks]


def describe_metrics(trace: Trace, tau: Tau) -> dict[str, Any]:
    """``keys``, ``tau`` and ``scale`` (docs/protocol.md)."""
    return {"keys": list(KEYS), "tau": tau, "scale": metric_scale(possible_keys(trace), tau)}
