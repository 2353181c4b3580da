"""Changed runs: heads switched off, and pieces of another run put in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.model.encoder import Ablation, Encoder, HeadMeans
from attn_widget.model.families import Block, Part, layer_modules
from attn_widget.trace.base import copy_of, to_numpy
from attn_widget.trace.hooks import hidden_of, hooked, uses_of, with_hidden

# (layer, what all heads hand on [B, n, H, head_dim], which may be changed in place) -> nothing
Change = Callable[[int, Any], None]
PieceKind = Literal["head", "attention", "mlp", "state"]
# (kind, layer, tensor [B, n, ...], which may be changed in place) -> nothing
Visit = Callable[[PieceKind, int, Any], None]


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of another run that takes the place of the run's own."""

    # {"head", "attention", "mlp", "state"}; a head's ``A v``; what attention, or the feed-forward network, adds to
    # the residual stream; the hidden state that enters a layer (``layer == L``: that leaves the last one).
    kind: PieceKind
    layer: int
    head: int | None
    positions: list[int]
    values: Any  # tensor [positions, head_dim or d]
    n_tokens: int  # length of the text that it is put into; texts of another length are left alone
    # {"encoder", "decoder", "cross"} or None; of an encoder-decoder: whose layer this is.
    part: Part | None = None

    def put(self, into: Any) -> None:
        """Change a tensor [..., n, d] or [..., n, H, head_dim] in place."""
        values = self.values
        values = (
            to_numpy(values) if isinstance(into, np.ndarray) else values.to(into.device, into.dtype)
        )
        if self.head is None:
            into[..., self.positions, :] = values
        else:
            into[..., self.positions, self.head, :] = values


def carrying(encoder: Encoder, pieces: Iterable[Piece]) -> Encoder:
    """The same model with pieces of another run put in."""
    patched = object.__new__(type(encoder))
    patched.__dict__.update(encoder.__dict__)
    patched.patch = (*(encoder.patch or ()), *pieces)
    return patched


@contextmanager
def patched(encoder: Encoder, network: Any) -> Generator[None]:
    """Passes of ``network`` run with the pieces that ``encoder`` carries, where a text has their length.

    Hold its lock.
    """
    pieces_of: dict[Part | None, list[Piece]] = {}
    for piece in encoder.patch or ():
        pieces_of.setdefault(piece.part, []).append(piece)
    with ExitStack() as stack:
        for part, pieces in pieces_of.items():

            def visit(
                kind: PieceKind, layer: int, tensor: Any, pieces: list[Piece] = pieces
            ) -> None:
                for piece in pieces:
                    if (piece.kind, piece.layer, piece.n_tokens) == (kind, layer, tensor.shape[1]):
                        piece.put(tensor)

            layers_of = encoder if part is None else encoder.of(part)
            stack.enter_context(visiting(layers_of, visit, network=network))
        yield


@contextmanager
def visiting(encoder: Encoder, visit: Visit, *, network: Any = None) -> Generator[None]:
    """Let ``visit`` read, and change, the parts of every layer that `Piece` names. Hold the encoder's lock.

    ``network``: ``encoder.network`` unless given. Raises `NotAvailableError`: a family whose layers are not known.
    """

    def visited(kind: PieceKind, layer: int, tensor_in: Any) -> Any:
        tensor = copy_of(tensor_in)
        visit(kind, layer, tensor)
        return tensor

    def added(kind: PieceKind, layer: int, output: Any) -> Any:
        if isinstance(output, tuple):  # experts, and how they were chosen
            return (visited(kind, layer, output[0]), *output[1:])
        return visited(kind, layer, output)

    def hooks(module: Any, block: Block, uses: list[int]) -> Generator[Any]:
        enters, heads, attends, feeds, leaves = (itertools.cycle(uses) for _ in range(5))
        shape: list[int] = []  # of the layer's input

        def state(_module: Any, args: Any, kwargs: Any) -> Any:
            changed = visited("state", next(enters), hidden_of(args, kwargs))
            shape[:] = changed.shape[:2]
            return with_hidden(changed, args, kwargs)

        def head(_module: Any, args: Any, kwargs: Any) -> Any:
            vectors = copy_of(args[0])
            visit("head", next(heads), by_head(vectors, encoder.n_heads))
            return (vectors, *args[1:]), kwargs

        def attention(_module: Any, _args: Any, _kwargs: Any, output: Any) -> Any:
            return added("attention", next(attends), output)

        def mlp(_module: Any, _args: Any, _kwargs: Any, output: Any) -> Any:
            if not isinstance(output, tuple) and output.ndim == 2:  # OPT
                return added("mlp", next(feeds), output.view(*shape, -1)).view_as(output)
            return added("mlp", next(feeds), output)

        def last(_module: Any, _args: Any, _kwargs: Any, output: Any) -> Any:
            if next(leaves) != encoder.n_layers - 1:
                return None
            return added("state", encoder.n_layers, output)

        attention_added, ffn_added = block.adds
        yield hooked([module], before=state)
        yield hooked([module.get_submodule(block.attention_output)], before=head)
        yield hooked([module.get_submodule(attention_added)], after=attention)
        yield hooked([module.get_submodule(ffn_added)], after=mlp)
        yield hooked([module], after=last)

    with _hooked(encoder, network, hooks, "its layers is not known, so nothing can be patched."):
        yield


@contextmanager
def heads_off(encoder: Encoder, network: Any) -> Generator[None]:
    """Passes of ``network`` run without the heads that ``encoder`` has switched off. Hold its lock.

    The same as zeroing the head's columns of ``W_O``, for ``"zero"``.
    """
    parts = [encoder.of(part) for part in encoder.parts] or [encoder]
    with ExitStack() as stack:
        for part in parts:
            if part.heads_off:
                change = _without(part.heads_off, encoder.ablation)
                stack.enter_context(changing_heads(part, change, network=network))
        yield


def _without(heads: Iterable[tuple[int, int]], ablation: Ablation) -> Change:
    heads_of: dict[int, list[int]] = {}
    for layer, head in heads:
        heads_of.setdefault(layer, []).append(head)

    def change(layer: int, given: Any) -> None:
        for head in heads_of.get(layer, ()):
            switch_off(given[:, :, head], ablation, layer, head)

    return change


def switch_off(handed: Any, ablation: Ablation, layer: int, head: int) -> None:
    """Change a head's ``A v`` [..., n, head_dim] in place."""
    if isinstance(ablation, HeadMeans):
        on_arrays = isinstance(handed, np.ndarray)
        means = ablation.values if on_arrays else ablation.tensor.to(handed.device)
        handed[...] = means[layer, head]
    elif ablation == "zero":
        handed[...] = 0
    else:
        handed[...] = handed.mean(-2)[..., None, :]


@contextmanager
def changing_heads(encoder: Encoder, change: Change, *, network: Any = None) -> Generator[None]:
    """Every layer's output projection reads what `change` makes of the heads' ``A v``.

    Raises `NotAvailableError`: a family whose layers are not known.
    """

    def hooks(module: Any, block: Block, uses: list[int]) -> Generator[Any]:
        turns = itertools.cycle(uses)

        def replace(_module: Any, args: Any, kwargs: Any) -> Any:
            vectors = copy_of(args[0])
            change(next(turns), by_head(vectors, encoder.n_heads))
            return (vectors, *args[1:]), kwargs

        yield hooked([module.get_submodule(block.attention_output)], before=replace)

    missing = "its output projection is not known, so no head can be switched off."
    with _hooked(encoder, network, hooks, missing):
        yield


def by_head(vectors: Any, n_heads: int) -> Any:
    """The same memory [..., n, d] as [..., n, H, head_dim]."""
    shape = (*vectors.shape[:-1], n_heads, -1)
    return vectors.reshape(shape) if isinstance(vectors, np.ndarray) else vectors.view(shape)


@contextmanager
def _hooked(
    encoder: Encoder,
    network: Any,
    hooks: Callable[[Any, Block, list[int]], Iterable[Any]],
    missing: str,
) -> Generator[None]:
    """Hooks on the modules of all layers, removed at the end; a shared module is several layers."""
    network = encoder.network if network is None else network
    layers, block = layer_modules(encoder.family, network), encoder.family.block
    if layers is None or block is None:
        raise NotAvailableError(f"Where {encoder.family.name} keeps {missing}")
    with ExitStack() as stack:
        for module, uses in uses_of(layers).items():
            for hook in hooks(module, block, uses):
                stack.enter_context(hook)
        yield
