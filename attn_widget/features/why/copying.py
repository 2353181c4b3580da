"""Copying scores: whether a head raises the logits of the tokens that it looks at, by its weights alone."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from attn_widget.features.why.components import final_norm, gain_of
from attn_widget.figures.arrays import Float32
from attn_widget.influence.attention_block import layers_of, linear_weight
from attn_widget.model.families import submodule
from attn_widget.trace.capture import ATTENTION, capturing
from attn_widget.trace.forward import inference_mode
from attn_widget.trace.heads_off import PieceKind, visiting
from attn_widget.trace.hooks import hooked
from attn_widget.trace.qkv import grouped
from attn_widget.trace.run import Run

ENTRIES_AT_ONCE = 4096  # of the vocabulary


@torch.no_grad()
def copying_scores(run: Run) -> Float32:
    """Sum of the eigenvalues of each head's path from a token to the logits, over the sum of their sizes, float32 [L, H].

    A head that looks at token ``t`` adds ``e_t W`` to the logits, ``W = diag(g) W_V W_O diag(f) U^T``: the norms' scales
    ``g`` and ``f`` with their subtraction of the mean where they subtract it, and their divisors, which are positive
    and differ from token to token, left out. The eigenvalues of ``E W`` [vocabulary, vocabulary] other than 0 are those of
    ``W_O diag(f) U^T E diag(g) W_V`` [head_dim, head_dim].

    Raises `NotAvailableError`: an encoder, or a model whose norms follow the residual sums.

    References
    ----------
    Elhage et al. (2021), A Mathematical Framework for Transformer Circuits, "Detecting copying heads".
    """
    norm = final_norm(run, "Copying scores are")
    encoder, block = run.encoder, run.encoder.family.block
    assert block is not None
    pairs = _outputs_by_inputs(run, norm)
    scores: list[Float32] = []
    for module, values in zip(layers_of(run), _value_maps(run), strict=False):
        entering = pairs
        if (
            block.attention_norm != block.attention_added
        ):  # OLMo 2's attention reads the stream itself
            gain, centered = gain_of(run, module.get_submodule(block.attention_norm), len(pairs))
            entering = (pairs - pairs.mean(dim=1, keepdim=True) if centered else pairs) * gain
        weight = linear_weight(module.get_submodule(block.attention_output)).double()
        written = weight.view(encoder.n_heads, -1, weight.shape[-1])
        if block.attention_added is not None:
            written = (
                written * gain_of(run, module.get_submodule(block.attention_added), len(pairs))[0]
            )
        eigenvalues = torch.linalg.eigvals(written @ entering @ values)
        sizes = eigenvalues.abs().sum(dim=-1)
        score = eigenvalues.real.sum(dim=-1) / sizes  # NaN of a head whose weights are 0
        scores.append(score.cpu().numpy().astype(np.float32))
    return np.stack(scores)


def _outputs_by_inputs(run: Run, final: Any) -> Any:
    """``diag(f) U^T E``, float64 [d, d]: the sum over the vocabulary of a token's output times its input vector."""
    encoder, network = run.encoder, run.encoder.network
    inputs = network.get_input_embeddings().weight
    outputs = network.get_output_embeddings().weight
    names = encoder.family.embeddings
    norm = None if names is None else submodule(network.base_model, names.norm)  # BLOOM's
    size = min(len(inputs), len(outputs))
    width = outputs.shape[1]
    total = torch.zeros(width, width, dtype=torch.float64, device=outputs.device)
    for start in range(0, size, ENTRIES_AT_ONCE):
        rows = slice(start, min(start + ENTRIES_AT_ONCE, size))
        entering = inputs[rows] if norm is None else norm(inputs[rows])
        total += outputs[rows].double().T @ entering.double()
    gain, centered = gain_of(run, final, width)
    total *= gain[:, None]
    return total - total.mean(dim=0) if centered else total


def _value_maps(run: Run) -> list[Any]:
    """The maps from what attention reads to the values of each head, float64 [H, d, head_dim], a layer each.

    Families keep them in as many ways as there are (fused, interleaved, grouped), but a token that stands alone
    attends to itself, so one pass over such tokens has them: each reads a unit vector, and the last one reads 0.
    """
    encoder = run.encoder.without(())
    block, width = encoder.family.block, encoder.hidden_size
    assert block is not None
    read = torch.zeros(width + 1, 1, width, device=encoder.device, dtype=encoder.dtype)
    read[:width, 0].fill_diagonal_(1)
    found: list[Any] = []

    def keep(vectors: Any) -> None:
        """Take [H, d + 1, head_dim]."""
        wide = vectors.double()
        found.append(wide[:, :-1] - wide[:, -1:])

    def visit(kind: PieceKind, _layer: int, tensor: Any) -> None:
        if kind == "state" and block.attention_norm == block.attention_added:
            tensor[...] = read
        elif kind == "head" and not run.trace.has_qkv:
            keep(tensor[:, 0].transpose(0, 1))

    def record(_module: Any, _query: Any, _key: Any, value: Any, _mask: Any, _kwargs: Any) -> None:
        keep(grouped(value[:, :, 0].transpose(0, 1), encoder.n_heads))

    def instead(_module: Any, _args: Any, _kwargs: Any, output: Any) -> Any:
        return read.view_as(output)

    ones = torch.ones(width + 1, 1, dtype=torch.long, device=encoder.device)
    inputs = {name: ones * (name == "attention_mask") for name in run.encoding.arrays}
    with ExitStack() as stack:
        stack.enter_context(inference_mode(encoder, ATTENTION if run.trace.has_qkv else None))
        stack.enter_context(visiting(encoder, visit))
        if block.attention_norm != block.attention_added:
            layers = layers_of(run)
            norms = [layer.get_submodule(block.attention_norm) for layer in layers]
            stack.enter_context(hooked(norms, after=instead))
        if run.trace.has_qkv:
            stack.enter_context(capturing(encoder, record))
        encoder.network.base_model(**inputs)
    return found
