"""Heads switched off: what they hand to the output projection becomes zero, or its mean over positions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from attn_widget.errors import NotAvailableError
from attn_widget.model.families import layer_modules

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder

# (layer, what all heads hand on [B, n, H, head_dim], which may be changed in place) -> nothing
Change = Callable[[int, Any], None]


@contextmanager
def heads_off(encoder: Encoder) -> Generator[None]:
    """Passes of ``encoder`` run without the heads that it has switched off. Hold its lock.

    The same as zeroing the head's columns of ``W_O``, for ``"zero"``.
    """
    if not encoder.heads_off:
        yield
        return
    heads_of: dict[int, list[int]] = {}
    for layer, head in encoder.heads_off:
        heads_of.setdefault(layer, []).append(head)

    def change(layer: int, given: Any) -> None:
        for head in heads_of.get(layer, ()):
            switch_off(given[:, :, head], encoder.ablation)

    with changing_heads(encoder, change):
        yield


def switch_off(handed: Any, ablation: str) -> None:
    """Change a head's ``A v`` [..., n, head_dim] in place."""
    if ablation == "zero":
        handed.zero_()
    else:
        handed.copy_(handed.mean(dim=-2, keepdim=True).expand_as(handed))


@contextmanager
def changing_heads(encoder: Encoder, change: Change) -> Generator[None]:
    """Every layer's output projection reads what `change` makes of the heads' ``A v``.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known.
    """
    layers, block = layer_modules(encoder.family, encoder.network), encoder.family.block
    if layers is None or block is None:
        raise NotAvailableError(
            f"Where {encoder.family.name} keeps its output projection is not known, so no head can be "
            "switched off."
        )
    thread = threading.get_ident()

    def hook(uses: list[int]) -> Any:
        turns = 0

        def replace(_module: Any, args: Any) -> Any:
            nonlocal turns
            if threading.get_ident() != thread:
                return None
            layer = uses[turns % len(uses)]
            turns += 1
            given = args[0].clone()
            change(layer, given.view(*given.shape[:-1], encoder.n_heads, -1))
            return (given, *args[1:])

        return replace

    uses_of: dict[Any, list[int]] = {}  # a module that is shared is several layers
    for index, layer in enumerate(layers):
        uses_of.setdefault(layer, []).append(index)
    with ExitStack() as stack:
        for module, uses in uses_of.items():
            projection = module.get_submodule(block.attention_output)
            stack.callback(projection.register_forward_pre_hook(hook(uses)).remove)
        yield
