"""The residual stream as steps, for those who follow its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from attn_widget.errors import NotAvailableError
from attn_widget.influence.attention_block import layer_of
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import submodule
from attn_widget.trace.run import Run

TOKENS_INSTEAD = "Ask by='tokens'."


@dataclass(frozen=True)
class Step:
    """One thing that happens to the residual stream."""

    layer: int
    # {"attention", "ffn", "norm"}; attention or the feed-forward network adds what it gives; a norm follows the
    # sum.
    kind: Literal["attention", "ffn", "norm"]
    # The norm; of attention the one that its output goes through before it is added.
    module: Any = None
    output: Any = None  # of attention: the map of all heads' ``A v``
    scale: Any = 1  # of attention and ffn: what multiplies what they give, float32 tensor [d] or 1


def check_parts(run: Run) -> None:
    """Refuse a model whose residual stream is not the sum of what its heads and feed-forward networks write.

    Raises `NotAvailableError`.
    """
    encoder = run.encoder
    first = layer_of(run, 0)
    if encoder.parts:
        raise NotAvailableError(
            f"{encoder.name} is an encoder-decoder, whose heads of cross-attention are no parts yet.",
            TOKENS_INSTEAD,
        )
    if submodule(first, "bottleneck") is not None:
        raise NotAvailableError(
            f"{encoder.name} computes attention behind a bottleneck, so its parts do not add up.",
            TOKENS_INSTEAD,
        )
    if getattr(encoder.network.base_model.config, "conv_kernel_size", 0):
        raise NotAvailableError(
            f"{encoder.name} adds a convolution to its first layer, which is no part.",
            TOKENS_INSTEAD,
        )


def steps(encoder: Encoder, layers: Sequence[Any]) -> Iterator[Step]:
    """Steps of the stream in the first ``layers``."""
    block = encoder.family.block
    assert block is not None  # `check_parts` has asked
    for below, module in enumerate(layers):
        inner: Any = submodule(module, block.attention_added)
        output: Any = module.get_submodule(block.attention_output)
        of_attention, of_ffn = (output.weight.new_tensor(x) for x in block.scales_of(module))
        yield Step(below, "attention", inner, output, of_attention)
        if not block.pre_norm:
            yield Step(below, "norm", module.get_submodule(block.attention_norm))
        yield Step(below, "ffn", scale=of_ffn)
        if not block.pre_norm:
            yield Step(below, "norm", module.get_submodule(block.ffn_norm))
