"""One plain pass: how each layer is called, and what is written into the residual stream."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from attn_widget.influence.attention_block import layers_of
from attn_widget.trace.forward import inference_mode, on_device
from attn_widget.trace.heads_off import PieceKind, visiting
from attn_widget.trace.hooks import hidden_of, hooked, uses_of, with_hidden
from attn_widget.trace.qkv import grouped
from attn_widget.trace.run import Run
from attn_widget.trace.softmax_tap import SOFTMAX, SoftmaxMode

PRODUCTS = (
    *(torch.matmul, torch.bmm, torch.Tensor.matmul, torch.Tensor.bmm, torch.Tensor.__matmul__),
)


@dataclass
class Recorded:
    """Calls and vectors of a plain pass."""

    # List of (args, kwargs) [L]; of each layer.
    calls: list[tuple[Any, Any]] = field(default_factory=lambda: [])
    # List of tensor [n, H, head_dim]; each layer's ``A v``.
    heads: list[Any] = field(default_factory=lambda: [])
    values: list[Any] = field(default_factory=lambda: [])  # list of tensor [H, n, head_dim]
    # attention, ffn: list of tensor [n, d]; what they add to the residual stream.
    attention: list[Any] = field(default_factory=lambda: [])
    ffn: list[Any] = field(default_factory=lambda: [])

    def hidden(self, layer: int) -> Any:
        """A layer's input, tensor [1, n, d]."""
        return hidden_of(*self.calls[layer])

    def with_hidden(self, layer: int, hidden: Any) -> tuple[Any, Any]:
        """A layer's arguments with other hidden states."""
        return with_hidden(hidden, *self.calls[layer])


class _Values(TorchFunctionMode):
    """Keeps what the weights of each softmax are multiplied with."""

    def __init__(self, n_heads: int, values: list[Any]) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.values = values
        self.waits = False

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in SOFTMAX:
            scores = args[0] if args else (kwargs or {})["input"]
            self.waits = scores.ndim > 2  # else of a router to experts
        elif func in PRODUCTS and self.waits:
            self.waits = False
            value = args[1].detach()
            self.values.append(grouped(value.reshape(-1, *value.shape[-2:]), self.n_heads).clone())
        return func(*args, **(kwargs or {}))


def recorded(run: Run) -> Recorded:
    """Run the text once more. Of an encoder-decoder the calls alone are kept."""
    encoder = run.encoder
    whole = Recorded(calls=[(None, None)] * encoder.n_layers)
    modules = layers_of(run)
    turns = {module: cycle(uses) for module, uses in uses_of(modules).items()}

    def keep_call(module: Any, args: Any, kwargs: Any) -> None:
        hidden = hidden_of(args, kwargs).detach().clone()
        whole.calls[next(turns[module])] = with_hidden(hidden, args, kwargs)

    def keep(kind: PieceKind, _layer: int, tensor: Any) -> None:
        into = {"head": whole.heads, "attention": whole.attention, "mlp": whole.ffn}.get(kind)
        if into is not None:
            into.append(tensor[0].clone())  # Falcon adds to it in place

    with inference_mode(encoder, "eager"), ExitStack() as stack:
        if not encoder.parts:
            stack.enter_context(visiting(encoder, keep))
            stack.enter_context(_Values(encoder.n_heads, whole.values))
            stack.enter_context(SoftmaxMode(encoder.n_heads))
        stack.enter_context(hooked(modules, before=keep_call))
        encoder.network.base_model(**on_device(encoder, run.encoding.inputs))
    return whole
