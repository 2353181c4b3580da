"""Components of a next token's logit: what each head, each MLP and the embedding write towards it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from attn_widget.checks.rounding import first_largest
from attn_widget.errors import NotAvailableError
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.features.why.decomposition import check_closes
from attn_widget.features.why.passes import value_of
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float32
from attn_widget.host.frames import Records
from attn_widget.influence.attention_block import epsilon_of, layer_of, linear_weight, scale_of
from attn_widget.model.families import final_norm_of
from attn_widget.trace.layer_activations import LayerParts
from attn_widget.trace.run import Run


@dataclass(frozen=True)
class Components(Records):
    """A next token's logit, or the difference of two, as a sum over the parts of the network.

    ``heads.sum() + mlps.sum() + embedding + bias = value``: with the divisor of the final norm held, the logit is
    linear in what is written into the residual stream.

    Attributes
    ----------
    target : Target
    heads : float32 [L, H]
    mlps : float32 [L]
    embedding : float
        Of the vector that enters the first layer.
    bias : float
        Of the biases of output projections, of the final norm and of the head.
    value : float
        What the model gave.
    """

    target: Target
    heads: Float32
    mlps: Float32
    embedding: float
    bias: float
    value: float

    @property
    def total(self) -> float:
        """The sum of all components."""
        summed = self.heads.sum(dtype=np.float64) + self.mlps.sum(dtype=np.float64)
        return float(summed) + self.embedding + self.bias

    @property
    def gap(self) -> float:
        """Distance of `total` from `value`, relative to the components without their signs."""
        summed = np.abs(self.heads).sum(dtype=np.float64) + np.abs(self.mlps).sum(dtype=np.float64)
        summed += abs(self.embedding) + abs(self.bias)
        return abs(self.total - self.value) / float(summed) if summed else float("inf")

    def to_records(self) -> list[dict[str, Any]]:
        """One record a component: ``part`` ("head", "mlp", "embedding" or "bias"), ``layer, head, contribution``."""
        records: list[dict[str, Any]] = [
            {"part": "head", "layer": layer, "head": head, "contribution": float(value)}
            for (layer, head), value in np.ndenumerate(self.heads)
        ]
        records += [
            {"part": "mlp", "layer": layer, "head": None, "contribution": float(value)}
            for layer, value in enumerate(self.mlps)
        ]
        ends = {"embedding": self.embedding, "bias": self.bias}
        return records + [
            {"part": part, "layer": None, "head": None, "contribution": value}
            for part, value in ends.items()
        ]

    def __repr__(self) -> str:
        layer, head = divmod(first_largest(np.abs(self.heads)), self.heads.shape[1])
        most = f"{self.heads[layer, head]:+.4f} by layer {layer}, head {head}"
        return f"Components({self.target} = {self.value:.4f}, most {most})"


NO_LINEAR_HEAD = "{} of a language-model head that reads the residual stream by a norm and one matrix: a decoder's."
OTHERS = "Ask for the contributions of tokens, or for the effects of heads."


def final_norm(run: Run, what: str) -> Any:
    """The norm between the residual stream and the matrix of a decoder's head.

    Raises `NotAvailableError`: an encoder, a family whose layers are not known, or one whose norms follow the
    residual sums. The message begins with ``what``.
    """
    encoder, network = run.encoder, run.encoder.network
    layer_of(run, 0)  # says why there are none
    block = encoder.family.block
    assert block is not None
    if encoder.predicts != "next" or encoder.family.lm is None or not encoder.has_lm:
        raise NotAvailableError(NO_LINEAR_HEAD.format(what), OTHERS)
    norm = final_norm_of(encoder.family, network)
    if encoder.family.projected is not None:
        raise NotAvailableError(
            f"{encoder.name} maps its last hidden states to another width before its head, which reads no residual stream."
        )
    if not block.pre_norm or norm is None:
        raise NotAvailableError(
            f"{encoder.name} normalizes its residual stream after each sum, so no part of it reaches the head unchanged."
        )
    return norm


def gain_of(run: Run, norm: Any, width: int) -> tuple[torch.Tensor, bool]:
    """The scale of a norm, float64 [d], and whether it subtracts the mean."""
    if isinstance(norm, nn.LayerNorm):
        weight: Any = norm.weight  # OPT and MPT may leave it out
        if weight is None:
            return torch.ones(width, dtype=torch.float64, device=run.encoder.device), True
        return weight.double(), True
    scale = scale_of(run, norm, width, epsilon_of(norm) or 0.0)
    return torch.from_numpy(scale).to(run.encoder.device, torch.float64), False


@torch.no_grad()
def components(
    run: Run,
    target: Target,
    bound: BoundTarget,
    visit_layers: Callable[[Callable[[LayerParts], None]], None],
) -> Components:
    """Direct logit attribution; see `attn_widget.analysis.Analysis.why.components`.

    ``visit_layers``: shows what each layer of the run computes, first layer first.

    Raises `NotAvailableError`: an encoder, whose head is not linear; a target that is no next token; a family whose
    layers are not known, or whose norms follow the residual sums.
    """
    if bound.kind != "token":
        raise NotAvailableError(NO_LINEAR_HEAD.format("Components are"), OTHERS)
    norm = final_norm(run, "Components are")
    position, heads, device = bound.position, run.encoder.n_heads, run.encoder.device
    assert position is not None  # of every token target
    attentions: list[Any] = []
    mlps: list[Any] = []
    by_head: list[Any] = []

    def keep(parts: LayerParts) -> None:
        rows = (parts.attention_output, parts.ffn_output, parts.head_outputs)
        added, fed, vectors = (
            torch.from_numpy(part[position]).to(device).double() for part in rows
        )
        attentions.append(added)
        mlps.append(fed)
        by_head.append(_written(run, parts.layer, vectors.view(heads, -1)))

    visit_layers(keep)
    states = run.trace.hidden_states
    assert states is not None  # of every run
    embedding = torch.from_numpy(np.array(states[0, position])).to(mlps[0])
    stream = embedding + sum(attentions) + sum(mlps)
    reads, constant = _reads(run, bound, norm, stream)

    def towards(vectors: Any) -> Any:
        return (vectors @ reads).cpu().numpy().astype(np.float32)

    biases = sum(added - each.sum(dim=0) for added, each in zip(attentions, by_head, strict=True))
    found = Components(
        target=target,
        heads=np.stack([towards(each) for each in by_head]),
        mlps=np.stack([towards(each) for each in mlps]),
        embedding=float(embedding @ reads),
        bias=float(biases @ reads) + constant,
        value=value_of(run, bound),
    )
    check_closes(found.gap, "The components", run)
    return found


def _written(run: Run, layer: int, vectors: Any) -> Any:
    """The vectors that heads with ``A v`` [H, head_dim] at a position add to the residual stream, tensor [H, d]."""
    block, module = run.encoder.family.block, layer_of(run, layer)
    assert block is not None
    output = module.get_submodule(block.attention_output)
    weight = linear_weight(output).double()
    written = torch.einsum("hk,hkd->hd", vectors, weight.view(*vectors.shape, -1))
    if block.attention_added is None:
        return written
    norm = module.get_submodule(block.attention_added)
    summed = written.sum(dim=0)
    if output.bias is not None:
        summed = summed + output.bias.double()
    epsilon = epsilon_of(norm) or 0.0
    scale, _ = gain_of(run, norm, len(summed))
    return written * scale / (summed.square().mean() + epsilon).sqrt()


def _reads(run: Run, bound: BoundTarget, norm: Any, stream: Any) -> tuple[Any, float]:
    """The vector [d] whose product with a part of the stream is its component, and what comes from no part."""
    network, width = run.encoder.network, len(stream)
    epsilon = epsilon_of(norm) or 0.0
    head = network.get_output_embeddings()
    gain, centered = gain_of(run, norm, width)
    bias: Any = getattr(norm, "bias", None)
    shift = torch.zeros_like(stream) if bias is None else bias.double()
    entering = stream - stream.mean() if centered else stream
    spread = (entering.square().mean() + epsilon).sqrt()
    normed = entering * gain / spread + shift
    reads, constant = torch.zeros_like(stream), 0.0
    for sign, entry in ((1, bound.plus), (-1, bound.minus)):
        if entry is None:
            continue
        row = head.weight[entry].double()
        own = 0.0 if head.bias is None else float(head.bias[entry])
        slope = sign * _kept(network, float(normed @ row) + own)
        reads += slope * row
        constant += slope * own
    constant += float(shift @ reads)
    reads = reads * gain / spread
    return (reads - reads.mean() if centered else reads), constant


def _kept(network: Any, logit: float) -> float:
    """The share of a logit that Gemma's cap leaves, held."""
    cap = getattr(network.config, "final_logit_softcapping", None)
    return 1.0 if cap is None or logit == 0 else float(cap * np.tanh(logit / cap) / logit)
