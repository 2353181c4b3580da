"""How far figures move when a model's matrices are rounded to float16, measured on one text."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis


def rounding_of(analysis: Analysis) -> dict[str, float]:
    """Largest differences on the text of ``analysis``; zeros for a model whose matrices are float16 already.

    Returns
    -------
    dict of str to float
        ``weight``: of attention weights; ``rollout``: of the rollout through all layers; ``score``: of scaled
        scores.

    Examples
    --------
    >>> from attn_widget import analyze
    >>> rounding_of(analyze("the cat sat", tagger=None, progress=False))
    {'weight': 0.0, 'rollout': 0.0, 'score': 0.0}
    """
    import torch

    from attn_widget.analysis.texts import analyze

    assert analysis.run is not None
    encoder = analysis.run.encoder
    matrices = [one for one in encoder.model.parameters() if one.ndim > 1]
    if all(torch.equal(one.half().to(one.dtype), one) for one in matrices):
        return {"weight": 0.0, "rollout": 0.0, "score": 0.0}
    model: Any = copy.deepcopy(encoder.model)
    with torch.no_grad():
        for one in model.parameters():
            if one.ndim > 1:
                one.copy_(one.half())
    text, pair = analysis.text, analysis.text_pair
    assert text is not None  # of every run
    given: dict[str, Any] = {"tagger": None, "truncation": True, "progress": False}
    first = analyze(text, pair, model=(encoder.model, encoder.tokenizer), **given)
    other = analyze(text, pair, model=(model, encoder.tokenizer), **given)
    layers, heads = first.n_layers, first.n_heads

    def apart(a: Any, b: Any) -> float:
        return float(np.abs(a - b).max())

    every = [(layer, head) for layer in range(layers) for head in range(heads)]
    return {
        "weight": max(apart(first.attention(*at), other.attention(*at)) for at in every),
        "rollout": apart(first.rollout(layers - 1), other.rollout(layers - 1)),
        "score": max(apart(first.trace.scores(*at), other.trace.scores(*at)) for at in every),
    }
