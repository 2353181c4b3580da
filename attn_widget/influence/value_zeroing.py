"""Value zeroing: each layer computed again without what one token gives (docs/influence.md, section 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32
from attn_widget.figures.mixing import rows_normalized
from attn_widget.influence.attention_block import layers_of
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import layer_modules
from attn_widget.model.numpy_modules import Module
from attn_widget.trace.forward import Progress, inference_mode, run_base
from attn_widget.trace.hooks import hidden_of, hooked, with_hidden
from attn_widget.trace.run import Run

TOKENS_AT_ONCE = 2048  # of a batch of copies of the layer's input
WEIGHTS_AT_ONCE = 16_000_000  # attention weights of such a batch: 64 MB


def value_zeroing(
    run: Run, layers: Sequence[int], progress: Progress | None = None
) -> Iterator[Float32]:
    """``1 - cos(h_i, h_i without j)`` of each layer, rows divided by their sums, float32 [n, n], or [n, m] across texts.

    ``h`` is the layer's output, and "without ``j``" means that the layer's own modules run again on
    the same input while ``v_j`` is zero in all heads: column ``j`` of the weights is, which is the same.

    ``layers``: in ascending order. ``progress``: called with ``(copies done, copies)``; an exception that it raises
    cancels the work.

    References
    ----------
    Mohebbi, Zuidema, Chrupala & Alishahi (2023), Quantifying Context Mixing in Transformers, EACL.
    """
    encoder = run.encoder
    modules = {*layers_of(run, encoder.traced)}
    if encoder.heads_off and len(modules) < encoder.n_layers:
        raise NotAvailableError(
            f"The layers of {encoder.name} share their modules, so one of them cannot run by itself "
            "with heads switched off."
        )
    n, n_keys = run.trace.n_tokens, run.trace.n_keys
    calls = _layer_calls(run, max(layers, default=0))
    widest = max(n, n_keys)
    size = max(1, min(TOKENS_AT_ONCE // n, WEIGHTS_AT_ONCE // (encoder.n_heads * n * widest)))
    done = 0
    for layer in layers:
        module, args, kwargs = calls[layer]
        distances = np.zeros((n, n_keys))
        mask = run.trace.mask(layer)
        with inference_mode(encoder, eager(encoder), network=encoder.traced):
            for start in range(0, n_keys, size):
                keys = list(range(start, min(start + size, n_keys)))
                changed = None if mask is None else mask[:, keys].T
                outputs = _outputs(encoder, module, args, kwargs, keys, changed)
                distances[:, keys] = _cosine_distances(outputs[0], outputs[1:]).T
                done += len(keys)
                if progress is not None:
                    progress(done, n_keys * len(layers))
        if mask is not None:  # copies of a batch differ in their last digits
            distances[~mask[:]] = 0
        yield rows_normalized(distances)


def _layer_calls(run: Run, last: int) -> list[tuple[Any, Any, dict[str, Any]]]:
    """The module of each layer up to ``last`` with the arguments that one forward pass gives it."""
    encoder = run.encoder
    calls: list[tuple[Any, Any, dict[str, Any]]] = []

    def keep(module: Any, args: Any, kwargs: Any) -> None:
        calls.append((module, args, dict(kwargs)))

    layers = layer_modules(encoder.family, encoder.traced) or ()
    with encoder.lock, hooked(layers, before=keep):
        run_base(encoder, run.encoding, eager(encoder), last=last)
    return calls


def eager(encoder: Encoder) -> str | None:
    """The attention implementation whose softmax is in sight; the network in numpy needs none."""
    return None if isinstance(encoder.traced, Module) else "eager"


def _outputs(
    encoder: Encoder,
    module: Any,
    args: Any,
    kwargs: dict[str, Any],
    keys: list[int],
    changed: Any,
) -> Any:
    """A layer's output [1 + keys, n, d], as it is and without the value of each of ``keys``.

    ``changed``, bool [keys, n]: rows that attend to the key, None for all; only these are of use. A layer of a decoder that
    reads a source attends twice: first to the text itself, then to the source.
    """
    copies = 1 + len(keys)
    hidden = _copies(hidden_of(args, kwargs), copies)
    positional, named = with_hidden(hidden, args, dict(kwargs))
    if named.get("alibi") is not None:  # BLOOM: heads of the copies in a row
        named["alibi"] = named["alibi"].repeat(copies, 1, 1)
    # XGLM wants a mask for each text.
    positional = tuple(_copies(x, copies) if _is_mask(x) else x for x in positional)
    named = {name: _copies(x, copies) if _is_mask(x) else x for name, x in named.items()}
    if isinstance(module, Module):
        with _zero_values(module, keys):
            output = module(*positional, **named)
    else:
        import torch

        from attn_widget.trace.changed_rows import ChangedRows
        from attn_widget.trace.softmax_tap import ZeroColumns

        softmaxes = 2 if encoder.part in ("decoder", "cross") else 1
        turn = 1 if encoder.part == "cross" else 0
        with ExitStack() as stack:
            if changed is not None:
                rows = np.concatenate([np.ones_like(changed[:1]), changed])
                stack.enter_context(ChangedRows(torch.from_numpy(rows).to(encoder.device)))
            tap = stack.enter_context(ZeroColumns(encoder.n_heads, keys, turn))
            output = module(*positional, **named)
        if tap.seen != softmaxes:
            raise NotAvailableError(
                f"{type(module).__name__} does not show one n x n matrix of weights for each head, "
                "so no value can be zeroed."
            )
    return output[0] if isinstance(output, tuple) else output


def _is_mask(argument: Any) -> bool:
    """True for a tensor or an array [1, 1 or H, n, n], shared by all copies."""
    return getattr(argument, "ndim", 0) == 4 and len(argument) == 1


def _copies(tensor: Any, copies: int) -> Any:
    """The one text of a tensor or an array [1, n, d] as often as asked for."""
    shape = (copies, *tensor.shape[1:])
    return (
        np.broadcast_to(tensor, shape) if isinstance(tensor, np.ndarray) else tensor.expand(shape)
    )


def _zero_values(layer: Module, keys: list[int]) -> AbstractContextManager[None]:
    """Zero values of token ``keys[b]`` in copy ``b + 1``, in a network in numpy."""

    def zero(_module: Any, _args: Any, _kwargs: Any, values: Any) -> None:
        values[range(1, len(keys) + 1), keys] = 0

    return hooked([layer.get_submodule("attention.self.value")], after=zero)


def _cosine_distances(whole: Any, without: Any) -> Any:
    """``1 - cos`` of vectors [n, d] and [copies, n, d], float64 [copies, n], without cancellation."""
    if isinstance(whole, np.ndarray):
        first, second = (
            vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
            for vectors in (whole.astype(np.float64), without.astype(np.float64))
        )
        return np.square(first - second).sum(axis=-1) / 2
    from torch.nn.functional import normalize

    first = normalize(whole.double(), dim=-1)
    second = normalize(without.double(), dim=-1)
    return ((first - second).square().sum(dim=-1) / 2).cpu().numpy()
