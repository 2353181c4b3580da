"""Effect on the class logits if the first token looked longer somewhere: exact derivatives.

Attention itself is the same for every class: the model looks once. What differs is what a look does to
each class. ``d z_c / d S[l, h, 0, j]`` is the rate at which class ``c``'s logit changes with the scaled
score of head ``h`` in layer ``l`` from the first token to token ``j``, everything after it recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from attn_widget.errors import InputError, NotAvailableError
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.trace.base import Floats
from attn_widget.trace.forward import inference_mode, on_device
from attn_widget.trace.softmax_tap import SoftmaxMode


class _Scores(SoftmaxMode):
    """Keeps what enters every softmax over [1, H, n, n], as part of the graph."""

    def __init__(self, n_heads: int, n_tokens: int) -> None:
        super().__init__(n_heads)
        self.n_tokens = n_tokens
        self.seen: list[torch.Tensor] = []

    def before(self, scores: torch.Tensor) -> torch.Tensor:
        n = self.n_tokens
        if scores.dim() != 4 or scores.shape[0] != 1 or scores.shape[2:] != (n, n):
            return scores
        if not scores.requires_grad:  # the weights are frozen: the graph begins here
            scores = scores.detach().requires_grad_()
        self.seen.append(scores)
        return scores


def class_gradients(encoder: Encoder, encoding: Encoding, classes: Sequence[int]) -> Floats:
    """``d z_c / d S[l, h, 0, j]`` for some classes: one pass forward, one back for each class.

    ``encoder``: with a sequence classifier. Its model is left as it was; no gradient is kept on it. ``classes``:
    indices of the head's outputs. Returns float32 [len(classes), L, H, n]: in logits per unit of scaled score.
    Every ``[n]`` sums to 0: raising all scores alike changes nothing. A forbidden cell has 0.

    >>> from attn_widget.model.loading import load
    >>> encoder = load(progress=False)
    >>> class_gradients(encoder, encoder.encode("the cat sat"), [0])
    Traceback (most recent call last):
    ...
    attn_widget.errors.NotAvailableError: attn_widget/mini does not classify texts. ...
    """
    if encoder.classifier != "sequence":
        raise NotAvailableError(
            f"{encoder.name} does not classify texts.",
            "Load a checkpoint for sequence classification.",
        )
    tap = _Scores(encoder.n_heads, encoding.n_tokens)
    with inference_mode(encoder, "eager"), torch.enable_grad(), tap:
        logits = encoder.network(**on_device(encoder, encoding.inputs), return_dict=True).logits[0]
        if len(tap.seen) != encoder.n_layers or len({weights.shape for weights in tap.seen}) != 1:
            raise NotAvailableError(
                f"The scores of {encoder.name} ({encoder.family.name}) cannot be followed: they are "
                "not one n x n matrix for each head and layer."
            )
        gradients: list[Floats] = []
        for index, chosen in enumerate(classes):
            if not 0 <= chosen < len(logits):
                raise InputError(f"class is {chosen}, expected 0 to {len(logits) - 1}.")
            more = index + 1 < len(classes)
            slopes = torch.autograd.grad(logits[chosen], tap.seen, retain_graph=more)
            first = [slope[0, :, 0] for slope in slopes]
            gradients.append(torch.stack(first).float().cpu().numpy())
    return np.stack(gradients)
