"""From which token an earlier head read what it brings to a score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from attn_widget.features.qk.kept import Kept
from attn_widget.features.qk.reading import Reading, called
from attn_widget.features.qk.recorded import Recorded
from attn_widget.features.qk.split import Part
from attn_widget.features.qk.stream import steps
from attn_widget.features.why.linearized import Linearized
from attn_widget.features.why.passes import differentiable
from attn_widget.figures.arrays import Float64
from attn_widget.trace.base import to_numpy


def slopes(
    kept: Kept, layer: int, head: int, query: int, coefficients: Float64
) -> dict[str, list[Any]]:
    """By side: the slope of the contrast by what each layer below writes by its output projection, arrays [n, d].

    ``coefficients``, float64 [m]: of the products ``q . k``: the contrast's, times what a product adds to the
    score.
    """
    run, known = kept.run, kept.plain
    encoder = run.encoder
    layers = kept.layers()
    module, below = layers[layer], [*steps(encoder, layers[:layer])]
    with differentiable(encoder, "eager"):
        hidden = known.hidden(layer).detach().clone().requires_grad_()
        mode = Reading(
            torch.ones(()).to(hidden), 0, torch.zeros(()).to(hidden), None, forward=False
        )
        q, k, _ = called(mode, encoder, module, *known.with_hidden(layer, hidden))
        read = torch.from_numpy(coefficients).to(k)
        of_key = ((k[head] * read[:, None]).sum(dim=0) * q[head, query].detach()).sum()
        of_query = ((k[head].detach() * read[:, None]).sum(dim=0) * q[head, query]).sum()
        found: dict[str, list[Any]] = {}
        for side, value in (("query", of_query), ("key", of_key)):
            (slope,) = torch.autograd.grad(value, hidden, retain_graph=True)
            found[side] = [slope]
        entered = _entered(known, below)
        for step, (stream, written) in zip(below[::-1], entered[::-1], strict=True):
            for side, slope in found.items():
                if step.kind == "norm":
                    slope[-1] = _back(step.module, stream, slope[-1])
                elif step.kind == "attention":
                    inner = slope[-1]
                    if step.module is not None:
                        inner = _back(step.module, written, inner)
                    found[side] = [*slope[:-1], inner[0], slope[-1]]
    return {side: [to_numpy(slope) for slope in of[:-1][::-1]] for side, of in found.items()}


def _entered(known: Recorded, below: Any) -> list[tuple[Any, Any]]:
    """The stream before each step, and what attention writes before its own norm."""
    stream: Any = known.hidden(0)
    entered: list[tuple[Any, Any]] = []
    with torch.no_grad():
        for step in below:
            written: Any = None
            if step.kind == "attention" and step.module is not None:
                heads = known.heads[step.layer]
                written = step.output(heads.reshape(1, heads.shape[0], -1))
            entered.append((stream, written))
            if step.kind == "norm":
                norm: Any = step.module
                stream = norm(stream)
            else:
                of = known.ffn if step.kind == "ffn" else known.attention
                stream = stream + of[step.layer]
    return entered


def _back(module: Any, stream: Any, slope: Any) -> Any:
    vectors = stream.detach().requires_grad_()
    with Linearized(torch.ones(()).to(vectors)):
        left = module(vectors)
    return torch.autograd.grad(left, vectors, slope)[0]


def by_source(kept: Kept, layer: int, slope: Any) -> Float64:
    """Part of each head of a layer, split by the token that it read, float64 [H, m].

    ``slope``, array [n, d]: of the contrast, by what the layer's output projection writes.
    """
    weights, values, projection = kept.projected(layer)
    moving = np.flatnonzero(slope.any(axis=1))  # of a query, its own row alone
    reads = projection @ slope[moving].T  # [H, head_dim, rows]
    read = weights[:, moving].swapaxes(1, 2) * (values @ reads)
    return read.sum(axis=2, dtype=np.float64)


def named(
    kept: Kept, parts: tuple[Part, ...], of_layers: list[Any], place: int
) -> tuple[Part, ...]:
    """Heads with the token from which most of their part was read, among those that they read at ``place``."""
    largest: dict[tuple[int, int], int] = {}
    for layer, slope in enumerate(of_layers):
        sizes = np.abs(by_source(kept, layer, slope))
        sizes[kept.projected(layer)[0][:, place] == 0] = -1
        largest.update({(layer, head): int(at) for head, at in enumerate(sizes.argmax(axis=1))})
    return tuple(
        replace(part, source=largest[part.layer, part.head])
        if part.layer is not None and part.head is not None
        else part
        for part in parts
    )
