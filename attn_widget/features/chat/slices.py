"""Slices of a chat."""

from __future__ import annotations

from attn_widget.analysis import Analysis
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request, head_of, layer_of
from attn_widget.trace.forward import Progress


@answers("turns")
def turns(analysis: Analysis, request: Request) -> Answer:
    """Attention between the turns, of one head or the mean of a layer's."""
    layer, head = layer_of(analysis, request), head_of(analysis, request)
    return {}, {"shares": analysis.chat.attention_by_turn(layer, head)}


@answers("turn_contributions", slow=True)
def turn_contributions(analysis: Analysis, _request: Request, progress: Progress | None) -> Answer:
    """Contributions of the turns to each written token."""
    found = analysis.chat.contributions(progress=progress)
    data = {
        "positions": [*found.positions],
        "tokens": [*found.tokens],
        "ids": found.ids.tolist(),
        "gap": found.gap,
    }
    return data, {
        "values": found.values,
        "shares": found.shares,
        "bias": found.bias,
        "logit": found.logits,
        "first": found.first,
    }
