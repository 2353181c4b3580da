"""Attention of models that do not dispatch it: read where they call softmax."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attn_widget.errors import NotAvailableError
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import layer_modules
from attn_widget.trace import Trace, WeightsTrace
from attn_widget.trace.forward import Progress, forward, inference_mode, unseen
from attn_widget.trace.hooks import hooked
from attn_widget.trace.qkv import large_negative

# CodeGen divides its scores by the root of head_dim after the mask was added.
LARGEST_DIVISOR = 64
SOFTMAX = (functional.softmax, torch.softmax, torch.Tensor.softmax)


class SoftmaxMode(TorchFunctionMode):
    """Passes the scores and the weights of every softmax through `before` and `after`, which may replace them.

    Both get [B, H, n, m], also of a model that keeps texts and heads in one dimension (XGLM).
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads

    def before(self, scores: torch.Tensor) -> torch.Tensor:
        return scores

    def after(self, weights: torch.Tensor) -> torch.Tensor:
        return weights

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if func is functional.scaled_dot_product_attention:
            return self._attend(*args, **named)
        if func not in SOFTMAX:
            return func(*args, **named)
        scores = args[0] if args else named.pop("input")
        if scores.dim() == 3 and scores.shape[0] % self.n_heads == 0:
            scores = self.before(scores.unflatten(0, (-1, self.n_heads))).flatten(0, 1)
            weights = func(scores, *args[1:], **named)
            return self.after(weights.unflatten(0, (-1, self.n_heads))).flatten(0, 1)
        return self.after(func(self.before(scores), *args[1:], **named))

    def _attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        """The fused kernel's output, by a softmax."""
        assert dropout_p == 0  # of every model in evaluation mode
        if enable_gqa:
            times = query.shape[1] // key.shape[1]
            key, value = (tensor.repeat_interleave(times, dim=1) for tensor in (key, value))
        factor: float = query.shape[-1] ** -0.5 if scale is None else scale
        scores = query @ key.transpose(-2, -1) * factor
        if is_causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -torch.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        return self.after(self.before(scores).softmax(dim=-1)) @ value


class _SoftmaxTap(SoftmaxMode):
    """Keeps input and output of every softmax over [1, H, n, n], and counts those of other sizes."""

    def __init__(
        self, n_tokens: int, n_layers: int, n_heads: int, progress: Progress | None
    ) -> None:
        super().__init__(n_heads)
        self.n_tokens, self.n_layers = n_tokens, n_layers
        self.progress = progress
        self.scores: list[torch.Tensor] = []
        self.weights: list[torch.Tensor] = []
        self.others = 0

    def before(self, scores: torch.Tensor) -> torch.Tensor:
        if self._is_seen(scores):
            if self.progress is not None:
                self.progress(min(len(self.scores), self.n_layers), self.n_layers)
            self.scores.append(scores[0])
        elif scores.dim() == 4 and scores.shape[:2] == (1, self.n_heads):
            self.others += 1
        return scores

    def after(self, weights: torch.Tensor) -> torch.Tensor:
        if self._is_seen(weights):
            self.weights.append(weights[0])
        return weights

    def _is_seen(self, matrices: torch.Tensor) -> bool:
        n = self.n_tokens
        return matrices.dim() == 4 and matrices.shape[0] == 1 and matrices.shape[2:] == (n, n)


def capture_softmax(encoder: Encoder, encoding: Encoding, progress: Progress | None) -> Trace:
    if getattr(encoder.network.base_model.config, "talking_head", False):
        raise NotAvailableError(
            f"{encoder.name} mixes its heads after the softmax: no head has weights of its own."
        )
    tap = _SoftmaxTap(encoding.n_tokens, encoder.n_layers, encoder.n_heads, progress)
    with inference_mode(encoder, "eager"), _projections(encoder) as parts, tap:
        outputs = forward(encoder, encoding)
    # A layer that pools its tokens (Funnel) leaves a gap: those after it would get its number.
    whole = len({scores.shape for scores in tap.scores}) == 1 and not tap.others
    if not whole or len(tap.scores) != encoder.n_layers:
        raise unseen(encoder)
    causal = _is_causal(tap.weights)
    masked = [
        _without_mask(scores, weights, causal)
        for scores, weights in zip(tap.scores, tap.weights, strict=True)
    ]
    return WeightsTrace(
        encoding.tokens,
        [weights.float().cpu().numpy() for weights in tap.weights],
        scores=[scores for scores, _ in masked],
        allowed=[allowed for _, allowed in masked],
        outputs=outputs,
        reason=f"{encoder.family.name} does not show them",
        **_queries_keys_values(encoder, parts),
    )


class ZeroColumns(SoftmaxMode):
    """Zeroes column ``keys[b]`` of the attention weights of copy ``b + 1``, in the softmax number ``turn``; copy 0 is whole."""

    def __init__(self, n_heads: int, keys: list[int], turn: int = 0) -> None:
        super().__init__(n_heads)
        self.keys = keys
        self.turn = turn
        self.seen = 0

    def after(self, weights: torch.Tensor) -> torch.Tensor:
        if weights.dim() == 4 and weights.shape[0] == len(self.keys) + 1:
            if self.seen == self.turn:
                weights = weights.clone()
                for copy, key in enumerate(self.keys, 1):
                    weights[copy, :, :, key] = 0
            self.seen += 1
        return weights


def _is_causal(weights: list[torch.Tensor]) -> bool:
    """True if no query looks at a later key, in any head and layer: whatever the model's mask is made of."""
    n = weights[0].shape[-1]
    later = torch.ones(n, n, dtype=torch.bool, device=weights[0].device).triu(1)
    return n > 1 and not any(bool(matrices[:, later].any()) for matrices in weights)


def _without_mask(scores: Any, weights: Any, causal: bool) -> tuple[Any, Any]:
    """Scores [H, n, n] with ``-inf`` where the mask forbids a cell in all heads, and the cells that it allows."""
    possible = scores > torch.finfo(scores.dtype).min / LARGEST_DIVISOR
    possible = possible.any(dim=0)
    if causal:
        possible = possible.tril()
    low = large_negative(scores, possible)
    if low is not None and not bool(weights[:, low].any()):
        possible &= ~low
    found = scores.float()
    if bool(possible.all()):
        return found.cpu().numpy(), None
    return found.masked_fill(~possible, -torch.inf).cpu().numpy(), possible.cpu().numpy()


@contextmanager
def _projections(encoder: Encoder) -> Generator[list[list[Any]]]:
    """Record what the maps to queries, keys and values give in each layer, by hooks."""
    captured: list[list[Any]] = []
    projections = encoder.family.projections
    layers = layer_modules(encoder.family, encoder.network)
    if projections is None or layers is None:
        yield captured
        return
    with ExitStack() as stack:
        for layer in layers:
            outputs: list[Any] = [None] * len(projections.names)
            captured.append(outputs)
            for i, name in enumerate(projections.names):
                keep = partial(_keep_first, outputs, i)
                stack.enter_context(hooked([layer.get_submodule(name)], after=keep))
        yield captured


def _keep_first(
    outputs: list[Any], i: int, _module: Any, _args: Any, _kwargs: Any, output: Any
) -> None:
    if outputs[i] is None:  # DeBERTa-v2 sends relative positions through the same map, afterwards
        outputs[i] = output[0]


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
