"""Errors of figures when a model's matrices are rounded for the engine, measured on texts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from attn_widget.analysis.texts import analyze
from attn_widget.model.encoder import Encoder

Texts = Sequence[tuple[str, str | None]]


def rounding_of(encoder: Encoder, texts: Texts) -> dict[str, float]:
    """Largest differences on texts; zeros for a model whose matrices are float16 already.

    Returns: ``weight``: of attention weights; ``rollout``: of the rollout through all layers; ``score``: of scaled
    scores.

    >>> from attn_widget import load
    >>> rounding_of(load(progress=False), [("the cat sat", None)])
    {'weight': 0.0, 'rollout': 0.0, 'score': 0.0}
    """
    if are_halves(encoder):
        return {"weight": 0.0, "rollout": 0.0, "score": 0.0}
    other = rounded(encoder)
    errors = np.max([differences(encoder, other, *text) for text in texts], axis=0)
    return dict(zip(("weight", "rollout", "score"), map(float, errors), strict=True))


def are_halves(encoder: Encoder) -> bool:
    """True if float16 holds every matrix of the model."""
    import torch

    matrices = [parameter for parameter in encoder.model.parameters() if parameter.ndim > 1]
    return all(torch.equal(matrix.half().to(matrix.dtype), matrix) for matrix in matrices)


def rounded(encoder: Encoder) -> Encoder:
    """``encoder`` with the matrices that the engine reads."""
    import torch

    model: Any = copy.deepcopy(encoder.model)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.copy_(parameter.half())
    encoder = encoder.unpinned()
    rounded_encoder: Encoder = object.__new__(type(encoder))
    rounded_encoder.__dict__.update(encoder.__dict__)
    rounded_encoder.traced, rounded_encoder._root = model, rounded_encoder  # pyright: ignore[reportPrivateUsage]
    return rounded_encoder


def differences(exact: Encoder, rounded: Encoder, text: str, pair: str | None) -> list[float]:
    """Largest differences of weights, rollout and scores between two models on a text."""
    options: dict[str, Any] = {"tagger": None, "truncation": True, "progress": False}
    first, second = (analyze(text, pair, model=each, **options) for each in (exact, rounded))
    every = [(layer, head) for layer in range(exact.n_layers) for head in range(exact.n_heads)]

    def apart(a: Any, b: Any) -> float:
        return float(np.abs(a - b).max())

    return [
        max(apart(first.attention(*at), second.attention(*at)) for at in every),
        apart(first.rollout(exact.n_layers - 1), second.rollout(exact.n_layers - 1)),
        max(apart(first.trace.scores(*at), second.trace.scores(*at)) for at in every),
    ]
