"""Trace: what one forward pass leaves, as float32 numpy arrays (``docs/architecture.md``)."""

from __future__ import annotations

from attn_widget.trace.base import Outputs, Trace
from attn_widget.trace.logits_cache import LogitsCache
from attn_widget.trace.qkv import LayerQKV, QKVTrace
from attn_widget.trace.weights import WeightsTrace

__all__ = ["LayerQKV", "LogitsCache", "Outputs", "QKVTrace", "Trace", "WeightsTrace"]
