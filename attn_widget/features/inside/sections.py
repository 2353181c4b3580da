"""Figures of the model for the command line's JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from attn_widget.analysis import Analysis


def hidden_states(analysis: Analysis) -> Callable[[], Any]:
    return lambda: asdict(analysis.model.hidden_path)


def residuals(analysis: Analysis) -> Callable[[], Any]:
    return lambda: asdict(analysis.model.residuals)


def parameters(analysis: Analysis) -> Callable[[], Any]:
    return lambda: analysis.model.parameters
