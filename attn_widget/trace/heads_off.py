"""Changed runs: heads switched off, and pieces of another run put in."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from attn_widget.errors import NotAvailableError
from attn_widget.model.encoder import HeadMeans
from attn_widget.model.families import layer_modules

if TYPE_CHECKING:
    from attn_widget.model.encoder import Ablation, Encoder
    from attn_widget.model.families import Block

# (layer, what all heads hand on [B, n, H, head_dim], which may be changed in place) -> nothing
Change = Callable[[int, Any], None]
PieceKind = Literal["head", "attention", "mlp", "state"]
# (kind, layer, tensor [B, n, ...], which may be changed in place) -> nothing
Visit = Callable[[PieceKind, int, Any], None]


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of another run that takes the place of the run's own.

    Attributes
    ----------
    kind : {"head", "attention", "mlp", "state"}
        A head's ``A v``; what attention, or the feed-forward network, adds to the residual stream; the
        hidden state that enters a layer (``layer == L``: that leaves the last one).
    layer : int
    head : int or None
    positions : list of int
    values : tensor [positions, head_dim or d]
    """

    kind: PieceKind
    layer: int
    head: int | None
    positions: list[int]
    values: Any

    def put(self, into: Any) -> None:
        """Change a tensor [..., n, d] or [..., n, H, head_dim] in place."""
        values = self.values.to(into.device, into.dtype)
        if self.head is None:
            into[..., self.positions, :] = values
        else:
            into[..., self.positions, self.head, :] = values


def carrying(encoder: Encoder, n_tokens: int, pieces: Iterable[Piece]) -> Encoder:
    """The same model with pieces of another run put in, where a text has ``n_tokens``."""
    patched = object.__new__(type(encoder))
    patched.__dict__.update(encoder.__dict__)
    before = () if encoder.patch is None or encoder.patch[0] != n_tokens else encoder.patch[1]
    patched.patch = (n_tokens, (*before, *pieces))
    return patched


@contextmanager
def patched(encoder: Encoder) -> Generator[None]:
    """Passes of ``encoder`` run with the pieces that it carries, where the text has their length.

    Hold its lock.
    """
    if encoder.patch is None:
        yield
        return
    n_tokens, pieces = encoder.patch

    def visit(kind: PieceKind, layer: int, tensor: Any) -> None:
        if tensor.shape[1] == n_tokens:
            for piece in pieces:
                if (piece.kind, piece.layer) == (kind, layer):
                    piece.put(tensor)

    with visiting(encoder, visit):
        yield


@contextmanager
def visiting(encoder: Encoder, visit: Visit) -> Generator[None]:
    """Let ``visit`` read, and change, the parts of every layer that `Piece` names. Hold the encoder's lock.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known.
    """

    def visited(kind: PieceKind, layer: int, tensor_in: Any) -> Any:
        tensor = tensor_in.clone()
        visit(kind, layer, tensor)
        return tensor

    def hooks(module: Any, block: Block, uses: list[int]) -> Generator[Any]:
        enters, heads, attends, feeds, leaves = (_turns(uses) for _ in range(5))

        def state(_module: Any, args: Any, kwargs: Any) -> Any:
            if (layer := enters()) is None:
                return None
            if args:
                return (visited("state", layer, args[0]), *args[1:]), kwargs
            changed = visited("state", layer, kwargs["hidden_states"])
            return args, {**kwargs, "hidden_states": changed}

        def head(_module: Any, args: Any) -> Any:
            if (layer := heads()) is None:
                return None
            vectors = args[0].clone()
            visit("head", layer, vectors.view(*vectors.shape[:-1], encoder.n_heads, -1))
            return (vectors, *args[1:])

        def attention(_module: Any, _args: Any, output: Any) -> Any:
            layer = attends()
            return None if layer is None else visited("attention", layer, output)

        def mlp(_module: Any, _args: Any, output: Any) -> Any:
            layer = feeds()
            return None if layer is None else visited("mlp", layer, output)

        def last(_module: Any, _args: Any, output: Any) -> Any:
            if leaves() != encoder.n_layers - 1:
                return None
            if isinstance(output, tuple):
                return (visited("state", encoder.n_layers, output[0]), *output[1:])
            return visited("state", encoder.n_layers, output)

        projection = module.get_submodule(block.attention_output)
        yield module.register_forward_pre_hook(state, with_kwargs=True)
        yield projection.register_forward_pre_hook(head)
        yield projection.register_forward_hook(attention)
        yield module.get_submodule(block.ffn_output).register_forward_hook(mlp)
        yield module.register_forward_hook(last)

    with _hooked(encoder, hooks, "its layers is not known, so nothing can be patched."):
        yield


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
            switch_off(given[:, :, head], encoder.ablation, layer, head)

    with changing_heads(encoder, change):
        yield


def switch_off(handed: Any, ablation: Ablation, layer: int, head: int) -> None:
    """Change a head's ``A v`` [..., n, head_dim] in place."""
    if isinstance(ablation, HeadMeans):
        handed.copy_(ablation.tensor[layer, head].to(handed.device).expand_as(handed))
    elif ablation == "zero":
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

    def hooks(module: Any, block: Block, uses: list[int]) -> Generator[Any]:
        turn = _turns(uses)

        def replace(_module: Any, args: Any) -> Any:
            if (layer := turn()) is None:
                return None
            vectors = args[0].clone()
            change(layer, vectors.view(*vectors.shape[:-1], encoder.n_heads, -1))
            return (vectors, *args[1:])

        projection = module.get_submodule(block.attention_output)
        yield projection.register_forward_pre_hook(replace)

    missing = "its output projection is not known, so no head can be switched off."
    with _hooked(encoder, hooks, missing):
        yield


def _turns(uses: list[int]) -> Callable[[], int | None]:
    """Which layer a module computes: one call after another, and None in other threads."""
    thread = threading.get_ident()
    layers = itertools.cycle(uses)
    return lambda: next(layers) if threading.get_ident() == thread else None


@contextmanager
def _hooked(
    encoder: Encoder, hooks: Callable[[Any, Block, list[int]], Iterable[Any]], missing: str
) -> Generator[None]:
    """Hooks on the modules of all layers, removed at the end; a shared module is several layers."""
    layers, block = layer_modules(encoder.family, encoder.network), encoder.family.block
    if layers is None or block is None:
        raise NotAvailableError(f"Where {encoder.family.name} keeps {missing}")
    uses_of: dict[Any, list[int]] = {}
    for index, layer in enumerate(layers):
        uses_of.setdefault(layer, []).append(index)
    with ExitStack() as stack:
        for module, uses in uses_of.items():
            for handle in hooks(module, block, uses):
                stack.callback(handle.remove)
        yield
