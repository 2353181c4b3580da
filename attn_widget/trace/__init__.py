"""Trace: what one forward pass leaves, as float32 numpy arrays (``docs/architecture.md``)."""

from __future__ import annotations

from attn_widget.trace.base import Outputs, Trace
from attn_widget.trace.kept import KeptLogits
from attn_widget.trace.qkv import LayerQKV, QKVTrace
from attn_widget.trace.weights import WeightsTrace

__all__ = ["KeptLogits", "LayerQKV", "Outputs", "QKVTrace", "Trace", "WeightsTrace"]
