"""Inside one layer: real tensors by hooks, in a forward pass of their own.

Names follow docs/definitions.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attn_widget.checks import index_in
from attn_widget.model.families import Block, layer_modules
from attn_widget.trace.hooks import (
    Floats,
    Recorded,
    ends_of,
    joined,
    recording,
    run_base,
    unknown_layers,
)

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.encoding import Encoding


@dataclass(frozen=True)
class LayerParts:
    """Everything that one layer computes besides attention weights. All float32.

    Post-norm (BERT): ``attention_sum = layer_input + attention_output``,
    ``attention_norm = LayerNorm(attention_sum)``, ``ffn_sum = attention_norm + ffn_output``,
    ``ffn_norm = layer_output = LayerNorm(ffn_sum)``.

    Pre-norm (ModernBERT): ``attention_norm = LayerNorm(layer_input)`` enters attention,
    ``attention_sum = layer_input + attention_output``, ``ffn_norm = LayerNorm(attention_sum)``
    enters the FFN, ``layer_output = ffn_sum = attention_sum + ffn_output``.

    Attributes
    ----------
    layer : int
    pre_norm : bool
    layer_input, layer_output : [n, d]
    attention_output : [n, d]
        The attention block's output projection, before the residual is added.
    attention_sum, attention_norm : [n, d]
        First residual sum; output of the norm that belongs to attention.
    ffn_activation : [n, intermediate_size]
        After the activation function (and gate), before the second linear map.
    ffn_output : [n, d]
        The feed-forward network's output, before the residual is added.
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
    notes: tuple[str, ...] = ()


def inside(encoder: Encoder, encoding: Encoding, layer: int) -> LayerParts:
    """Run the model once more and keep what layer ``layer`` computes.

    Parameters
    ----------
    layer : int
        0 to L - 1.

    Raises
    ------
    InputError
        No such layer.
    NotAvailableError
        A family whose layers are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from attn_widget.model.loading import load
    >>> encoder = load(progress=False)
    >>> parts = inside(encoder, encoder.encode("the cat sat"), 2)
    >>> bool(np.allclose(parts.attention_sum, parts.layer_input + parts.attention_output, atol=1e-5))
    True
    """
    layer = index_in(layer, encoder.n_layers, "layer")
    parts: list[LayerParts] = []
    _visit(encoder, encoding, [layer], parts.append)
    return parts[0]


def visit_layers(encoder: Encoder, encoding: Encoding, visit: Callable[[LayerParts], None]) -> None:
    """Run the model once more and show what each layer computes to ``visit``, first layer first.

    Only one layer's parts are in memory at a time.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known.
    """
    _visit(encoder, encoding, range(encoder.n_layers), visit)


def _visit(
    encoder: Encoder,
    encoding: Encoding,
    wanted: Collection[int],
    visit: Callable[[LayerParts], None],
) -> None:
    with encoder.lock:  # hooks and pass are of one network
        _visit_locked(encoder, encoding, wanted, visit)


def _visit_locked(
    encoder: Encoder,
    encoding: Encoding,
    wanted: Collection[int],
    visit: Callable[[LayerParts], None],
) -> None:
    block, layers = encoder.family.block, layer_modules(encoder.family, encoder.network)
    if block is None or layers is None:
        raise unknown_layers(encoder)
    thread = threading.get_ident()
    names = _names(block)

    def hook(indices: list[int], seen: Recorded) -> Any:
        """Called when a layer is done, and with it all of its parts."""
        turns = iter(indices)

        def finish(_module: Any, args: Any, kwargs: Any, output: Any) -> None:
            if threading.get_ident() != thread:
                return
            index = next(turns)
            if index in wanted:
                entered, made = ends_of(args, kwargs, output)
                seen["layer", "in"], seen["layer", "out"] = [entered], [made]
                visit(_layer_parts(index, block, seen))
            for calls in seen.values():
                calls.clear()

        return finish

    uses: dict[Any, list[int]] = {}  # a module that is shared is several layers
    for index, module in enumerate(layers):
        uses.setdefault(module, []).append(index)
    with ExitStack() as stack:
        for module, indices in uses.items():
            if any(index in wanted for index in indices):
                parts = {key: module.get_submodule(name) for key, name in names.items()}
                seen = stack.enter_context(recording(parts))
                handle = module.register_forward_hook(hook(indices, seen), with_kwargs=True)
                stack.callback(handle.remove)
        run_base(encoder, encoding)


def _layer_parts(layer: int, block: Block, seen: Recorded) -> LayerParts:
    def part(key: str, side: str) -> Floats:
        return joined(seen[key, side])

    return LayerParts(
        layer=layer,
        pre_norm=block.pre_norm,
        layer_input=part("layer", "in"),
        attention_output=part("attention_output", "out"),
        attention_sum=part("ffn_norm" if block.pre_norm else "attention_norm", "in"),
        attention_norm=part("attention_norm", "out"),
        ffn_activation=part("ffn_output", "in"),
        ffn_output=part("ffn_output", "out"),
        ffn_sum=part("layer", "out") if block.pre_norm else part("ffn_norm", "in"),
        ffn_norm=part("ffn_norm", "out"),
        layer_output=part("layer", "out"),
        notes=block.notes,
    )


def _names(block: Block) -> dict[str, str]:
    keys = ("attention_output", "attention_norm", "ffn_output", "ffn_norm")
    return {key: getattr(block, key) for key in keys}
