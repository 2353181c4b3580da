"""Value zeroing: each layer computed again without what one token gives (docs/influence.md, section 1)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32
from attn_widget.figures.mixing import rows_normalized
from attn_widget.influence.attention_block import layer_of
from attn_widget.model.families import layer_modules
from attn_widget.trace.class_gradients import SOFTMAX
from attn_widget.trace.forward import inference_mode, on_device

if TYPE_CHECKING:
    from attn_widget.trace.forward import Progress
    from attn_widget.trace.run import Run

TOKENS_AT_ONCE = 2048  # of a batch of copies of the layer's input
WEIGHTS_AT_ONCE = 16_000_000  # attention weights of such a batch: 64 MB


def value_zeroing(
    run: Run, layers: Sequence[int], progress: Progress | None = None
) -> Iterator[Float32]:
    """``1 - cos(h_i, h_i without j)`` of each layer, rows divided by their sums, float32 [n, n].

    ``h`` is the layer's output, and "without ``j``" means that the layer's own modules run again on
    the same input while ``v_j`` is zero in all heads: column ``j`` of the weights is, which is the same.

    Parameters
    ----------
    run : Run
    layers : sequence of int
        In ascending order.
    progress : callable, optional
        Called with ``(copies done, copies)``; an exception that it raises cancels the work.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known, or whose attention cannot be changed.

    References
    ----------
    Mohebbi, Zuidema, Chrupala & Alishahi (2023), Quantifying Context Mixing in Transformers, EACL.
    """
    encoder = run.encoder
    modules = {layer_of(run, layer) for layer in range(encoder.n_layers)}
    if encoder.heads_off and len(modules) < encoder.n_layers:
        raise NotAvailableError(
            f"The layers of {encoder.name} share their modules, so one of them cannot run by itself "
            "with heads switched off."
        )
    n = run.trace.n_tokens
    calls = _layer_calls(run)
    size = max(1, min(TOKENS_AT_ONCE // n, WEIGHTS_AT_ONCE // (encoder.n_heads * n * n)))
    done = 0
    for layer in layers:
        module, args, kwargs = calls[layer]
        distances = np.zeros((n, n))
        with inference_mode(encoder, "eager"):
            whole = _output(module, args, kwargs, 1, None)[0]
            for start in range(0, n, size):
                keys = list(range(start, min(start + size, n)))
                without = _output(module, args, kwargs, len(keys), keys)
                distances[:, keys] = _cosine_distances(whole, without).T
                done += len(keys)
                if progress is not None:
                    progress(done, n * len(layers))
        yield rows_normalized(distances)


class _ZeroColumns(TorchFunctionMode):
    """Zeroes column ``keys[b]`` of the attention weights of copy ``b``."""

    def __init__(self, keys: list[int]) -> None:
        super().__init__()
        self.keys = keys
        self.seen = 0

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in SOFTMAX and result.dim() == 4 and result.shape[0] == len(self.keys):
            self.seen += 1
            result = result.clone()
            for copy, key in enumerate(self.keys):
                result[copy, :, :, key] = 0
        return result


def _layer_calls(run: Run) -> list[tuple[Any, Any, dict[str, Any]]]:
    """Every layer's module with the arguments that one forward pass gives it."""
    encoder = run.encoder
    calls: list[tuple[Any, Any, dict[str, Any]]] = []
    thread = threading.get_ident()

    def keep(module: Any, args: Any, kwargs: Any) -> None:
        if threading.get_ident() == thread:
            calls.append((module, args, dict(kwargs)))

    with encoder.lock, ExitStack() as stack:
        for module in set(layer_modules(encoder.family, encoder.network) or ()):
            handle = module.register_forward_pre_hook(keep, with_kwargs=True)
            stack.callback(handle.remove)
        with inference_mode(encoder, "eager"):
            encoder.network.base_model(**on_device(encoder, run.encoding.inputs))
    return calls


def _output(module: Any, args: Any, kwargs: dict[str, Any], copies: int, keys: Any) -> Any:
    """A layer's output [copies, n, d] for copies of its input, without the values of ``keys``."""
    positional = list(args)
    named = dict(kwargs)
    if positional:
        positional[0] = positional[0].expand(copies, -1, -1)
    else:
        named["hidden_states"] = named["hidden_states"].expand(copies, -1, -1)
    if keys is None:
        output = module(*positional, **named)
    else:
        with _ZeroColumns(keys) as tap:
            output = module(*positional, **named)
        if tap.seen != 1:
            raise NotAvailableError(
                f"{type(module).__name__} does not show one n x n matrix of weights for each head, "
                "so no value can be zeroed."
            )
    return output[0] if isinstance(output, tuple) else output


def _cosine_distances(whole: Any, without: Any) -> Any:
    """``1 - cos`` of vectors [n, d] and [copies, n, d], float64 [copies, n], without cancellation."""
    first = torch.nn.functional.normalize(whole.double(), dim=-1)
    second = torch.nn.functional.normalize(without.double(), dim=-1)
    return ((first - second).square().sum(dim=-1) / 2).cpu().numpy()
