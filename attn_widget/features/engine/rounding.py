"""Errors of figures when a model's matrices are rounded for the engine, measured on texts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from attn_widget.analysis.texts import analyze
from attn_widget.features.engine.packing import dequantized
from attn_widget.model.encoder import Encoder

Texts = Sequence[tuple[str, str | None]]

# More texts that a light model is measured on: questions, lists, names, numbers, rare words.
SAMPLES = (
    "The doctor asked the nurse to help her with the patient.",
    "When the bank closed, she walked along the bank of the river.",
    "Why did her brother not answer the telephone last night?",
    "Time flies like an arrow; fruit flies like a banana.",
    "In 1969, Neil Armstrong was the first man who walked on the moon.",
    "The keys to the old cabinet in the hall are not on the table.",
    "It was not a bad film, but the acting was wooden and the ending dull.",
    "Paris, London, Rome, Berlin and Madrid are capitals of Europe.",
    "Photosynthesis turns carbon dioxide and water into glucose and oxygen.",
    "\u201cI never said that,\u201d he whispered, and she laughed.",
    "A small boat sailed slowly over the calm water towards the harbor. It was late, and the crew was silent.",
    "The price rose by 12.5% to $3,400, its highest in ten years.",
)


def rounding_of(encoder: Encoder, texts: Texts, *, light: bool = False) -> dict[str, Any]:
    """Largest differences on texts; zeros for a model whose matrices are float16 already.

    Parameters
    ----------
    encoder : Encoder
    texts : sequence of (str, str or None)
        A light model is measured on `SAMPLES` as well.
    light : bool
        Matrices of 8 bits; of float16 otherwise.

    Returns
    -------
    dict
        ``weight``: of attention weights; ``rollout``: of the rollout through all layers; ``score``: of scaled
        scores. Of a light model also ``bits`` and the number of ``texts``.

    Examples
    --------
    >>> from attn_widget import load
    >>> rounding_of(load(progress=False), [("the cat sat", None)])
    {'weight': 0.0, 'rollout': 0.0, 'score': 0.0}
    """
    if light:
        texts = [*texts, *((text, None) for text in SAMPLES)]
    elif are_halves(encoder):
        return {"weight": 0.0, "rollout": 0.0, "score": 0.0}
    other = rounded(encoder, light=light)
    errors = np.max([differences(encoder, other, *text) for text in texts], axis=0)
    named: dict[str, Any] = dict(
        zip(("weight", "rollout", "score"), map(float, errors), strict=True)
    )
    return {**named, "bits": 8, "texts": len(texts)} if light else named


def are_halves(encoder: Encoder) -> bool:
    """True if float16 holds every matrix of the model."""
    import torch

    matrices = [parameter for parameter in encoder.model.parameters() if parameter.ndim > 1]
    return all(torch.equal(matrix.half().to(matrix.dtype), matrix) for matrix in matrices)


def rounded(encoder: Encoder, *, light: bool) -> Encoder:
    """``encoder`` with the matrices that the engine reads."""
    import torch

    model: Any = copy.deepcopy(encoder.model)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim < 2:
                continue
            if light and "position_embeddings" not in name and "token_type" not in name:
                parameter.copy_(torch.from_numpy(dequantized(parameter.float().cpu().numpy())))
            else:
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
