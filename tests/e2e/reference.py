"""What the embedded model does, computed by plain transformers with eager attention and numpy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForMaskedLM, AutoTokenizer

from attn_widget.checks.rounding import rounding

MODEL = Path(__file__).parents[2] / "attn_widget" / "mini"
TAU = 0.01
WEIGHT_ERROR = 1e-5  # docs/definitions.md, section 1


@dataclass(frozen=True)
class Reference:
    """One text through the model.

    weights, scores, products: float32 ``[layer, head, query, key]`` (``products`` are q . k without
    scaling); logits: float32 ``[token, vocabulary]``.
    """

    tokens: list[str]
    ids: list[int]
    weights: NDArray[np.float32]
    scores: NDArray[np.float32]
    products: NDArray[np.float32]
    logits: NDArray[np.float32]

    @property
    def score_error(self) -> float:
        """What two ways of float32 arithmetic make of a score: four products follow on each other in a layer."""
        return rounding(float(np.abs(self.scores).max()), 384, 4 * len(self.scores))

    @property
    def logit_error(self) -> float:
        """As `score_error`, of a logit."""
        return rounding(float(np.abs(self.logits).max()), 384, 4 * len(self.scores) + 2)

    def probabilities(self, position: int) -> NDArray[np.float64]:
        shifted = np.exp(self.logits[position].astype(np.float64) - self.logits[position].max())
        return shifted / shifted.sum()

    def metrics(self, layer: int, head: int) -> dict[str, float]:
        """The six metrics of docs/definitions.md, written out in float64."""
        a = self.weights[layer, head].astype(np.float64)
        return {
            "confidence_max": a.max(),
            "confidence_avg": float(np.mean([max(row) for row in a])),
            "focus_entropy": -sum(w * np.log(w) for w in a.flat if w > 0),
            "sparsity": sum(w < TAU for w in a.flat) / a.size,
            "distribution_median": float(np.median(a)),
            "uniformity": float(np.sqrt(np.mean((a - a.mean()) ** 2))),
        }


@cache
def reference(text: str) -> Reference:
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForMaskedLM.from_pretrained(
        MODEL, attn_implementation="eager", dtype=torch.float32
    ).eval()
    kept: dict[str, list[torch.Tensor]] = {"query": [], "key": []}
    for layer in model.base_model.encoder.layer:
        for name, outputs in kept.items():
            getattr(layer.attention.self, name).register_forward_hook(
                lambda _module, _inputs, output, outputs=outputs: outputs.append(output)
            )
    encoding = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        output = model(**encoding, output_attentions=True)
    heads = model.config.num_attention_heads
    # [layer, head, token, head_dim]
    queries, keys = (
        torch.stack([out[0].unflatten(-1, (heads, -1)).transpose(0, 1) for out in kept[name]])
        for name in ("query", "key")
    )
    products = queries @ keys.transpose(-1, -2)
    return Reference(
        tokens=tokenizer.convert_ids_to_tokens(encoding.input_ids[0]),
        ids=encoding.input_ids[0].tolist(),
        weights=torch.cat(output.attentions).numpy(),
        scores=(products / queries.shape[-1] ** 0.5).numpy(),
        products=products.numpy(),
        logits=output.logits[0].numpy(),
    )
