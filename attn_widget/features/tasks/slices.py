"""Slices of the view Task: the first token's attention, its effect on the classes, and texts to compare with."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.comparison_texts import comparison_text_of
from attn_widget.analysis.first_token import last_layers
from attn_widget.errors import SliceError
from attn_widget.protocol.handlers import Answer, Arrays, answers
from attn_widget.protocol.request import Request, head_of, integer
from attn_widget.protocol.slices.attention import opened_classes


@answers("first_token")
def first_token(analysis: Analysis, request: Request) -> Answer:
    look = analysis.model.first_token(head_of(analysis, request), words=False)
    return {"layers": list(look.layers)}, {"weights": look.weights}


@answers("class_gradient")
def class_gradient(analysis: Analysis, request: Request) -> Answer:
    classes = analysis.model.classification
    label = integer(request, "label", 0, 1 if classes is None else len(classes.labels))
    head = head_of(analysis, request)
    layers = last_layers(analysis.trace.n_layers)
    every = analysis.model.class_gradient(label)[layers.start :]
    return {"layers": list(layers)}, {
        "gradient": every.sum(1) if head == "mean" else every[:, head]
    }


@answers("beside", needs_tagger=True)
def compare_with(analysis: Analysis, _request: Request) -> Answer:
    """The text itself and its comparison texts: rows of words one after the other."""
    own = comparison_text_of(analysis)
    if own is None:
        raise SliceError("This model does not classify texts.")
    every = (own, *analysis.model.compare_with)
    texts = [
        {
            "text": analysis.text,
            "text_pair": analysis.text_pair,
            "words": list(analysis.first_token.positions),
            "before": list(analysis.before),
            "segments": list(analysis.segments),
        }
        for analysis in every
    ]
    opened = [opened_classes(analysis.classification) for analysis in every]
    arrays: Arrays = {
        name: np.concatenate([classes[name] for classes in opened])
        for name in ("logits", "probabilities")
    }
    arrays["weights"] = np.concatenate([analysis.first_token.weights for analysis in every], axis=1)
    arrays["special"] = np.stack([analysis.first_token.special for analysis in every])
    return {"texts": texts, "layers": list(own.first_token.layers)}, arrays
