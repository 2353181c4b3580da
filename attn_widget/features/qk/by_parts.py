"""A layer's input as a sum over what wrote it: embeddings, earlier heads, feed-forward networks, biases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.func import jvp, vmap

from attn_widget.errors import NotEnoughMemoryError
from attn_widget.features.qk.recorded import Recorded
from attn_widget.features.qk.split import BIAS, Kind, Part, Split
from attn_widget.features.qk.stream import check_parts, steps
from attn_widget.features.why.linearized import Linearized
from attn_widget.influence.attention_block import layers_of, linear_weight
from attn_widget.model.families import submodule
from attn_widget.trace.embeddings import EmbeddingParts, embedding_parts
from attn_widget.trace.forward import inference_mode
from attn_widget.trace.run import Run

MOST_BYTES = 2**30  # of the vectors of all parts
SAME = 1e-4  # of the largest number: the embeddings' parts give what enters the first layer


class _Stack:
    """Parts of the stream, tensors [k, 1, n, d], the biases' last."""

    def __init__(self, whole: Any, parts: Any, biases: Any) -> None:
        self.whole = whole
        self.biases = biases  # [1, 1, n, d]
        self.parts = [parts]

    def add(self, whole: Any, parts: Any, biases: Any = 0) -> None:
        self.whole = self.whole + whole
        self.parts.append(parts)
        self.biases = self.biases + biases

    def through(self, function: Callable[[Any], Any]) -> None:
        moved = through(function, self.whole, torch.cat([*self.parts, self.biases]))
        self.whole = function(self.whole)
        self.parts, self.biases = [moved[:-1]], moved[-1:]


def through(function: Callable[[Any], Any], whole: Any, parts: Any) -> Any:
    """Parts [P, 1, n, d] of ``whole`` as they leave a norm or a map; the last of them has its biases."""
    constant = torch.ones(()).to(whole)
    biases = torch.zeros(len(parts)).to(whole)
    biases[-1] = 1

    def held(vectors: Any, ones: Any) -> Any:
        with Linearized(ones, forward=True):
            return function(vectors)

    return vmap(lambda *moved: jvp(held, (whole, constant), moved)[1])(parts, biases)


@torch.no_grad()
def split_by_parts(run: Run, known: Recorded, layer: int) -> Split:
    """Sum of parts that a layer reads: all that wrote into the residual stream below it.

    Raises `NotAvailableError`: as `attn_widget.features.qk.stream.check_parts`. Raises `NotEnoughMemoryError`: a
    long text of a large model.
    """
    check_parts(run)
    encoder, first = run.encoder, known.hidden(0)
    count = layer * (encoder.n_heads + 1) + 4
    needed = count * first[0].numel() * first.element_size()
    if needed > MOST_BYTES:
        raise NotEnoughMemoryError(
            f"The {count} parts below layer {layer} are {needed / 1e9:.1f} GB at {first.shape[1]} tokens.",
            "Ask for a lower layer, or for a part of the text.",
        )
    with inference_mode(encoder, "eager"):
        parts, stack = _embedded(run, first)
        for step in steps(encoder, layers_of(run)[:layer]):
            at = step.layer
            if step.kind == "norm":
                stack.through(step.module)
            elif step.kind == "ffn":
                ffn = known.ffn[at][None] * step.scale
                stack.add(ffn, ffn[None])
                parts.append(Part("ffn", layer=at))
            else:
                vectors = known.heads[at]
                weight = linear_weight(step.output) * step.scale
                weight = weight.view(vectors.shape[1], vectors.shape[2], -1)
                heads = torch.einsum("nhk,hkd->hnd", vectors, weight)[:, None]
                biases = torch.zeros_like(heads[:1])
                if step.output.bias is not None:
                    biases = biases + step.output.bias * step.scale
                if step.module is not None:
                    whole = heads.sum(dim=0) + biases[0]
                    moved = through(step.module, whole, torch.cat([heads, biases]))
                    heads, biases = moved[:-1], moved[-1:]
                stack.add(known.attention[at][None] * step.scale, heads, biases)
                parts += [Part("head", layer=at, head=head) for head in range(len(heads))]
    hidden = torch.cat([*stack.parts, stack.biases])
    constant = torch.zeros(len(hidden)).to(hidden)
    constant[-1] = 1
    return Split((*parts, BIAS), hidden, constant)


def _embedded(run: Run, first: Any) -> tuple[list[Part], _Stack]:
    """Word, position and segment, if their sum gives what enters the first layer; else one part."""
    one = [Part("embedding")], _Stack(first, first[None], torch.zeros_like(first[None]))
    names, base = run.encoder.family.embeddings, run.encoder.network.base_model
    several = [] if names is None else [names.position, names.segment]
    if names is None or all(submodule(base, name) is None for name in several):
        return one
    named = _named(embedding_parts(run.encoder, run.encoding))
    parts = torch.stack([torch.from_numpy(np.array(value))[None] for _, value in named]).to(first)
    summed = parts.sum(dim=0)
    stack = _Stack(summed, parts, torch.zeros_like(parts[:1]))
    for name in (names.norm, names.projection):
        module = submodule(base, name)
        if module is not None:
            stack.through(module)
    if not torch.allclose(stack.whole, first, atol=SAME * float(first.abs().max())):
        return one
    return [Part(kind) for kind, _ in named], stack


def _named(found: EmbeddingParts) -> list[tuple[Kind, Any]]:
    given: list[tuple[Kind, Any]] = [
        ("word", found.token),
        ("position", found.position),
        ("segment", found.segment),
    ]
    return [(kind, value) for kind, value in given if value is not None]
