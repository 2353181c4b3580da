"""Slices of an encoder-decoder: its other parts, and what cross-attention and the written tokens say."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.analysis.opening import Opening, opening
from attn_widget.errors import SliceError
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.request import Request, head_of, layer_of, one_of


@answers("part_paint")
def part_paint(analysis: Analysis, request: Request) -> Answer:
    """The pack of a part, with a head of it or the one that it opens on."""
    if analysis.part == "self":
        raise SliceError("This model reads one text, so its run has no other part.")
    part = analysis.of(one_of(request, "part", analysis.model.parts))
    if request.get("layer") is None and request.get("head") is None:
        chosen = opening(part)
    else:
        chosen = Opening(layer_of(part, request), head_of(part, request), None)
    streamed = comes_in_layers(part.trace)
    paint = first_paint(part, chosen.layer, chosen.head, streamed=streamed, live=True)
    return {"token": chosen.token}, {"paint": np.frombuffer(paint, np.uint8)}


@answers("alignment")
def alignment(analysis: Analysis, _request: Request) -> Answer:
    """Places in the source at which every head looks, and whether it goes through the source in order."""
    found = analysis.heads.monotony
    return {}, {"places": found.expected, "monotony": found.monotony}
