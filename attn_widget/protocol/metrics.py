"""The metrics of all heads for the page: their keys, tau, and the scale that each is read on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.metrics import Metrics, metric_scale

if TYPE_CHECKING:
    from attn_widget.trace import Trace


def possible_keys(trace: Trace) -> list[NDArray[np.int_]]:
    """How many keys each query may attend to, int [n] for each layer."""
    n = trace.n_tokens
    masks = [trace.allowed(layer) for layer in range(trace.n_layers)]
    return [np.full(n, n) if mask is None else mask.sum(axis=1) for mask in masks]


def describe_metrics(trace: Trace, metrics: Metrics) -> dict[str, Any]:
    """``keys``, ``tau`` and ``scale`` (docs/protocol.md)."""
    scale = metric_scale(possible_keys(trace), metrics.tau)
    return {"keys": list(metrics.keys), "tau": metrics.tau, "scale": scale}
