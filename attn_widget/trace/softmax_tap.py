"""Attention of models that do not dispatch it: read where they call softmax."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from attn_widget.errors import NotAvailableError
from attn_widget.model.families import layer_modules
from attn_widget.trace import Trace, WeightsTrace
from attn_widget.trace.forward import Progress, forward, inference_mode, unseen

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.encoding import Encoding


class _SoftmaxTap(TorchFunctionMode):
    """Keeps input and output of every softmax over [1, H, n, n], and counts those of other sizes."""

    def __init__(
        self, n_tokens: int, n_layers: int, n_heads: int, progress: Progress | None
    ) -> None:
        super().__init__()
        self.n_tokens = n_tokens
        self.n_layers, self.n_heads = n_layers, n_heads
        self.progress = progress
        self.seen: list[tuple[Any, Any]] = []
        self.others = 0

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in (torch.nn.functional.softmax, torch.softmax, torch.Tensor.softmax):
            scores = args[0] if args else (kwargs or {})["input"]
            n = self.n_tokens
            if scores.dim() == 4 and scores.shape[0] == 1 and scores.shape[2:] == (n, n):
                if self.progress is not None:
                    self.progress(min(len(self.seen), self.n_layers), self.n_layers)
                self.seen.append((scores[0], result[0]))
            elif scores.dim() == 4 and scores.shape[:2] == (1, self.n_heads):
                self.others += 1
        return result


def capture_softmax(encoder: Encoder, encoding: Encoding, progress: Progress | None) -> Trace:
    if getattr(encoder.network.base_model.config, "talking_head", False):
        raise NotAvailableError(
            f"{encoder.name} mixes its heads after the softmax: no head has weights of its own."
        )
    tap = _SoftmaxTap(encoding.n_tokens, encoder.n_layers, encoder.n_heads, progress)
    with inference_mode(encoder, "eager"), _projections(encoder) as parts, tap:
        outputs = forward(encoder, encoding)
    # A layer that pools its tokens (Funnel) leaves a gap: those after it would get its number.
    whole = len({scores.shape for scores, _ in tap.seen}) == 1 and not tap.others
    if not whole or len(tap.seen) != encoder.n_layers:
        raise unseen(encoder)
    pairs = [(scores.float().cpu().numpy(), w.float().cpu().numpy()) for scores, w in tap.seen]
    return WeightsTrace(
        encoding.tokens,
        [weights for _, weights in pairs],
        scores=[scores for scores, _ in pairs],
        outputs=outputs,
        reason=f"{encoder.family.name} does not show them",
        **_queries_keys_values(encoder, parts),
    )


@contextmanager
def _projections(encoder: Encoder) -> Generator[list[list[Any]]]:
    """Record what the maps to queries, keys and values give in each layer, by hooks."""
    captured: list[list[Any]] = []
    projections = encoder.family.projections
    layers = layer_modules(encoder.family, encoder.network)
    if projections is None or layers is None:
        yield captured
        return
    thread = threading.get_ident()
    with ExitStack() as stack:
        for layer in layers:
            outputs: list[Any] = [None] * len(projections.names)
            captured.append(outputs)
            for i, name in enumerate(projections.names):

                def keep(
                    _m: Any, _args: Any, output: Any, outputs: list[Any] = outputs, i: int = i
                ) -> None:
                    # DeBERTa-v2 sends relative positions through the same map, afterwards.
                    if outputs[i] is None and threading.get_ident() == thread:
                        outputs[i] = output[0]

                handle = layer.get_submodule(name).register_forward_hook(keep)
                stack.callback(handle.remove)
        yield captured


def _queries_keys_values(encoder: Encoder, parts: list[list[Any]]) -> dict[str, Any]:
    """The recorded maps as queries, keys and values [H, n, head_dim] by layer."""
    projections, heads = encoder.family.projections, encoder.n_heads
    if projections is None or not parts:
        return {}
    config = encoder.network.base_model.config
    terms = 1 + len(getattr(config, "pos_att_type", None) or ())  # DeBERTa: each term has a share
    arrays: dict[str, list[Any]] = {"queries": [], "keys": [], "values": [], "scaling": []}
    layers = layer_modules(encoder.family, encoder.network) or []
    for layer, outputs in zip(layers, parts, strict=True):
        if len(outputs) == 1:
            n = outputs[0].shape[0]
            chunks = outputs[0].view(n, heads, -1).transpose(0, 1).chunk(3, dim=-1)
        else:
            chunks = [out.view(out.shape[0], heads, -1).transpose(0, 1) for out in outputs]
        for name, chunk, bias in zip(arrays, chunks, projections.biases, strict=False):
            if bias is not None:
                holder = layer.get_submodule(projections.names[0].rpartition(".")[0])
                chunk = chunk + getattr(holder, bias).detach().view(heads, 1, -1)
            arrays[name].append(chunk.float().cpu().numpy())
        arrays["scaling"].append((chunks[0].shape[-1] * terms) ** -0.5)
    return arrays
