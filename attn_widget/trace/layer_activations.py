"""Inside one layer: real tensors by hooks, in a forward pass of their own.

Names follow docs/definitions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from attn_widget.checks import index_in
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import Block, layer_modules
from attn_widget.trace.forward import run_base
from attn_widget.trace.hooks import (
    Floats,
    Recorded,
    ends_of,
    hooked,
    joined,
    recording,
    unknown_layers,
    uses_of,
)

EXPERTS = "The feed-forward network is a mixture of experts, whose activations are not shown."


@dataclass(frozen=True)
class LayerParts:
    """Everything that one layer computes besides attention weights. All float32.

    Post-norm (BERT): ``attention_sum = layer_input + attention_output``,
    ``attention_norm = LayerNorm(attention_sum)``, ``ffn_sum = attention_norm + ffn_output``,
    ``ffn_norm = layer_output = LayerNorm(ffn_sum)``.

    Pre-norm (ModernBERT, most decoders): ``attention_norm = LayerNorm(layer_input)`` enters attention,
    ``attention_sum = layer_input + attention_output``, ``ffn_norm = LayerNorm(attention_sum)``
    enters the FFN, ``layer_output = ffn_sum = attention_sum + ffn_output``. With a parallel residual (GPT-J, GPT-NeoX)
    ``ffn_norm`` is of ``layer_input``. Where norms stand inside the residual (Gemma 2 and 3, OLMo 2), ``attention_output``
    and ``ffn_output`` are after these norms, and OLMo 2 has no others: its ``attention_norm`` is ``attention_output``.

    Attributes
    ----------
    layer : int
    pre_norm : bool
    layer_input, layer_output : [n, d]
    attention_output : [n, d]
        What attention adds to the residual: its output projection, or the norm of that.
    attention_sum, attention_norm : [n, d]
        First residual sum; output of the norm that belongs to attention.
    ffn_activation : [n, intermediate_size]
        After the activation function (and gate), before the second linear map; without columns where the FFN is a
        mixture of experts.
    head_outputs : [n, n_heads * head_dim]
        ``A v`` of all heads side by side, which the output projection reads.
    ffn_output : [n, d]
        What the feed-forward network adds to the residual.
    ffn_sum, ffn_norm : [n, d]
        Second residual sum; output of the norm that belongs to the FFN.
    notes : tuple of str
        Where this family differs from the picture of one attention and one FFN.

    In MobileBERT's bottleneck, ``d`` is the narrower width from ``attention_output`` to ``ffn_norm``.
    """

    layer: int
    pre_norm: bool
    layer_input: Floats
    attention_output: Floats
    attention_sum: Floats
    attention_norm: Floats
    ffn_activation: Floats
    ffn_output: Floats
    ffn_sum: Floats
    ffn_norm: Floats
    layer_output: Floats
    head_outputs: Floats
    notes: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(part, "nbytes", 0) for part in vars(self).values())


def inside(encoder: Encoder, encoding: Encoding, layer: int) -> LayerParts:
    """Run the model once more and keep what layer ``layer`` computes.

    ``layer``: 0 to L - 1. Raises `InputError`: no such layer. Raises `NotAvailableError`: a family whose layers are
    not known.

    >>> import numpy as np
    >>> from attn_widget.model.loading import load
    >>> encoder = load(progress=False)
    >>> parts = inside(encoder, encoder.encode("the cat sat"), 2)
    >>> bool(np.allclose(parts.attention_sum, parts.layer_input + parts.attention_output, atol=1e-5))
    True
    """
    layer = index_in(layer, encoder.n_layers, "layer")
    parts: list[LayerParts] = []
    visit_layers(encoder, encoding, parts.append, [layer])
    return parts[0]


def visit_layers(
    encoder: Encoder,
    encoding: Encoding,
    visit: Callable[[LayerParts], None],
    wanted: Collection[int] | None = None,
) -> None:
    """Run the model once more and show what each layer computes to ``visit``, first layer first.

    Only one layer's parts are in memory at a time; only those of ``wanted`` layers, if given.

    Raises `NotAvailableError`: a family whose layers are not known.
    """
    wanted = range(encoder.n_layers) if wanted is None else wanted
    with encoder.lock, ExitStack() as stack:  # hooks and pass are of one network
        block, layers = encoder.family.block, layer_modules(encoder.family, encoder.traced)
        if block is None or layers is None:
            raise unknown_layers(encoder)
        names = _names(block)
        for module, uses in uses_of(layers).items():
            if any(layer in wanted for layer in uses):
                parts = {key: module.get_submodule(name) for key, name in names.items()}
                seen = stack.enter_context(recording(parts))
                stack.enter_context(
                    hooked([module], after=_at_end(uses, block, seen, wanted, visit))
                )
        run_base(encoder, encoding, last=max(wanted, default=0))


def _at_end(
    uses: list[int],
    block: Block,
    seen: Recorded,
    wanted: Collection[int],
    visit: Callable[[LayerParts], None],
) -> Callable[..., None]:
    """Hook for the end of a layer, when all of its parts are done too."""
    turns = iter(uses)

    def finish(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        index = next(turns)
        if index in wanted:
            entered, made = ends_of(args, kwargs, output)
            seen["layer", "in"], seen["layer", "out"] = [entered], [made]
            visit(_layer_parts(index, block, seen, block.scales_of(module)))
        for calls in seen.values():
            calls.clear()

    return finish


def _layer_parts(layer: int, block: Block, seen: Recorded, scales: list[Any]) -> LayerParts:
    def part(key: str, side: str) -> Floats:
        return joined(seen[key, side])

    entered, attended = part("layer", "in"), part("attention_added", "out") * scales[0]
    if block.parallel or block.ffn_norm == block.ffn_added:  # no module reads the first sum
        attention_sum = entered + attended
    else:
        attention_sum = part("ffn_norm" if block.pre_norm else "attention_norm", "in")
    activation = part("ffn_output", "in")
    return LayerParts(
        layer=layer,
        pre_norm=block.pre_norm,
        layer_input=entered,
        attention_output=attended,
        attention_sum=attention_sum,
        attention_norm=part("attention_norm", "out"),
        ffn_activation=activation[:, :0] if block.experts else activation,
        ffn_output=part("ffn_added", "out") * scales[1],
        ffn_sum=part("layer", "out") if block.pre_norm else part("ffn_norm", "in"),
        ffn_norm=part("ffn_norm", "out"),
        layer_output=part("layer", "out"),
        head_outputs=part("attention_output", "in"),
        notes=block.notes,
    )


def _names(block: Block) -> dict[str, str]:
    keys = ("attention_output", "attention_norm", "ffn_output", "ffn_norm")
    attention_added, ffn_added = block.adds
    names = {key: getattr(block, key) for key in keys}
    return {**names, "attention_added": attention_added, "ffn_added": ffn_added}
