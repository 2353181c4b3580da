"""The classifier's head for the engine of a page: a few more weights (js/src/features/engine/page/answers/classes.ts)."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError

# Heads by the class of the model, and where their tensors are. "pooler." is inside the encoder.
KINDS = {
    "MeanPoolingForSequenceClassification": ("mean", ("norm.", "classifier.")),
    "TextCNNForSequenceClassification": ("cnn", ("convolutions.", "classifier.")),
    "BertForSequenceClassification": ("first", ("pooler.", "classifier.")),
}


def class_reader(analysis: Analysis) -> dict[str, Any] | None:
    """The head of the classifier that ran ``analysis``, for a page; None without a classifier.

    Returns: ``kind`` is "mean", "first" or "cnn"; ``labels``, ``activation`` and ``note`` are those of the answer;
    ``tensors`` have a shape, and float32 in base64.
    """
    classes = analysis.model.classification
    if analysis.run is None or classes is None:
        return None
    model = analysis.run.encoder.model
    name = type(model).__name__
    if name not in KINDS:
        raise NotAvailableError(
            f"The engine of a page has no head like {name}.",
            f"It has those of {', '.join(KINDS)}.",
        )
    kind, places = KINDS[name]
    inside = f"{model.base_model_prefix}."
    tensors: dict[str, Any] = {}
    for full, tensor in model.state_dict().items():
        short = full.removeprefix(inside)
        if short.startswith(places) and not short.startswith("encoder."):
            values = tensor.detach().float().cpu().numpy().astype("<f4")
            data = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
            tensors[short.replace("pooler.dense", "pooler")] = {
                "shape": list(values.shape),
                "data": data,
            }
    return {
        "kind": kind,
        "labels": list(classes.labels),
        "activation": classes.activation,
        "note": classes.note,
        "tensors": tensors,
    }
