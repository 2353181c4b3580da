"""One forward pass, seen from inside: an encoder and an encoding to a trace.

The model runs on its fast attention kernel; the attention function registered here records queries,
keys, values and mask on the way. Families that do not dispatch to it are seen by their softmax.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from attn_widget.checks import check_callable
from attn_widget.errors import NotAvailableError
from attn_widget.host.memory import check_memory
from attn_widget.model import bert
from attn_widget.trace import LayerQKV, QKVTrace, Trace
from attn_widget.trace.base import LONG_TOKENS
from attn_widget.trace.finite import check_scores
from attn_widget.trace.forward import Progress, forward, inference_mode, unseen
from attn_widget.trace.softmax_tap import capture_softmax
from attn_widget.trace.windows.masks import RowSpans

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.encoding import Encoding

ATTENTION = "attn_widget"
FLOAT_BYTES = 4
INNER_WIDTH = 4  # of a feed-forward network, in widths of the model
_active = threading.local()


def capture(encoder: Encoder, encoding: Encoding, *, progress: Progress | None = None) -> Trace:
    """Run the model once and keep what attention was computed from.

    Parameters
    ----------
    encoder : Encoder
        Its model is left as it was: mode, attention implementation, hooks.
    encoding : Encoding
    progress : callable, optional
        Called with ``(layers done, n_layers)`` as each layer begins to attend and at the end, on
        this thread; an exception that it raises ends the pass and comes out of here.

    Returns
    -------
    Trace
        A `QKVTrace`, or a `WeightsTrace` for DeBERTa, MPNet and others that compute attention on
        their own.

    Raises
    ------
    NotAvailableError
        The model's attention can be seen neither way.
    NotEnoughMemoryError
        A long text whose run the free memory will not do; the message says what would fit.
    NotFiniteError
        A layer, or the classifier above them, gave NaN or infinite numbers.
    InputTypeError
        ``progress`` cannot be called.

    Examples
    --------
    >>> from attn_widget.model.loading import load
    >>> encoder = load(progress=False)
    >>> trace = capture(encoder, encoder.encode("the cat sat on the mat"))
    >>> trace.weights(3, 5).sum(axis=1).round(5).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    check_callable(progress, "progress")
    with encoder.lock:
        mechanism = encoder.family.mechanism or _supported(encoder.network)
        run = _capture_dispatched if mechanism == "dispatch" else capture_softmax
        if encoding.n_tokens > LONG_TOKENS and encoder.device.type == "cpu":
            windows = "Or read it in windows: windows=(size, overlap)."
            needed = taken_by(encoder, held=mechanism != "dispatch")
            check_memory("The forward pass", needed, encoding.n_tokens, windows)
        started = time.perf_counter()
        trace = run(encoder, encoding, progress)
        encoder.speed.measured(encoding.n_tokens, time.perf_counter() - started)
    if progress is not None:
        progress(encoder.n_layers, encoder.n_layers)
    return trace


def taken_by(encoder: Encoder, *, held: bool) -> Callable[[int], float]:
    """Bytes that a run takes by its number of tokens; ``held``: with the weights and scores of all heads."""
    layers, heads, width = encoder.n_layers, encoder.n_heads, encoder.hidden_size

    def needed(n: int) -> float:
        vectors = layers * n * (3 * heads * encoder.head_dim + width) * FLOAT_BYTES
        inner = 2 * n * INNER_WIDTH * width * FLOAT_BYTES  # activations of one feed-forward network
        matrices = 2 * n**2 * FLOAT_BYTES  # masks
        if held:
            matrices = (2 * layers + 2) * heads * n**2 * FLOAT_BYTES
        return vectors + inner + matrices

    return needed


def _supported(model: Any) -> str:
    """How to see the attention of an unknown family: those without SDPA do not dispatch either."""
    return "dispatch" if getattr(model, "_supports_sdpa", False) else "softmax"


class _Recorder:
    """Arguments of the registered attention function, by layer."""

    def __init__(self, n_layers: int, progress: Progress | None) -> None:
        self.layers: list[LayerQKV] = []
        self._n_layers = n_layers
        self._progress = progress

    def begin_layer(self) -> None:
        if self._progress is not None:
            self._progress(min(len(self.layers), self._n_layers), self._n_layers)

    def record(
        self, module: Any, query: Any, key: Any, value: Any, mask: Any, kwargs: dict[str, Any]
    ) -> None:
        self.begin_layer()
        self.layers.append(_layer(module, query, key, value, mask, kwargs))


class _Visitor(NamedTuple):
    """Hands the arguments of the registered attention function on."""

    record: Callable[[Any, Any, Any, Any, Any, dict[str, Any]], None]


@contextmanager
def capturing(
    encoder: Encoder, record: Callable[[Any, Any, Any, Any, Any, dict[str, Any]], None]
) -> Generator[None]:
    """Call ``record`` with the arguments of each layer's attention function, on this thread."""
    if not isinstance(encoder.network, bert.BertForPreTraining):
        _register()
    _active.recorder = _Visitor(record)
    try:
        yield
    finally:
        _active.recorder = None


def plain_attention(
    module: Any, query: Any, key: Any, mask: Any, kwargs: dict[str, Any]
) -> float | None:
    """The scaling of a layer that only scales, with no link forbidden or biased; None for others."""
    layer = _layer(module, query[:1], key[:1], key[:1], mask, kwargs)
    allowed, bias = _split(layer.allowed, layer.bias)
    same = query.shape == key.shape and (
        mask is None or len(mask) == 1 or bool((mask == mask[:1]).all())
    )
    return layer.scaling if allowed is None and bias is None and same else None


def _noting(attention: bert.Attention) -> bert.Attention:
    """``attention``, with a note of what it was called with while this thread is capturing."""

    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any
    ) -> tuple[Any, None]:
        recorder: _Recorder | _Visitor | None = getattr(_active, "recorder", None)
        if recorder is not None:
            recorder.record(module, query, key, value, attention_mask, kwargs)
        return attention(module, query, key, value, attention_mask, **kwargs)

    return attend


bert.ATTENTION_FUNCTIONS[ATTENTION] = _noting(bert.sdpa)


@cache
def _register() -> None:
    """Tell `transformers`, once one of its models is to be seen."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(ATTENTION, _noting(sdpa_attention_forward))
    AttentionMaskInterface.register(ATTENTION, sdpa_mask)


def _layer(
    module: Any, query: Any, key: Any, value: Any, mask: Any, kwargs: dict[str, Any]
) -> LayerQKV:
    if kwargs.get("softcap") is not None:
        raise NotAvailableError(
            f"{type(module).__name__} caps its scores, which the fast attention kernel cannot do."
        )
    scaling = kwargs.get("scaling")
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    allowed = bias = None
    n_queries, n_keys = query.shape[2], key.shape[2]
    causal = kwargs.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)
    if mask is None:
        if causal and n_queries > 1:
            allowed = torch.ones(n_queries, n_keys, dtype=torch.bool, device=query.device).tril()[
                None
            ]
    elif mask.dtype == torch.bool:
        allowed = mask[0, :, :, :n_keys]
    else:
        bias = mask[0, :, :, :n_keys]
    position_bias = kwargs.get("position_bias")
    if position_bias is not None:
        bias = position_bias[0] if bias is None else bias + position_bias[0]
    return LayerQKV(_own(query), _own(key), _own(value), float(scaling), allowed, bias)


def _own(tensor: Any) -> Any:
    """The first text of a batch; copied when it is a slice of something larger."""
    first = tensor[0]
    shared = first.untyped_storage().nbytes() > first.numel() * first.element_size()
    return first.clone() if shared else first


def _normalized(layers: list[LayerQKV]) -> None:
    """Masks as the trace wants them; layers that share a mask go on sharing it."""
    seen: dict[tuple[Any, ...], tuple[Any, Any, RowSpans | None]] = {}
    for layer in layers:
        key = tuple(None if m is None else m.data_ptr() for m in (layer.allowed, layer.bias))
        if layer.bias is None and layer.allowed is None:
            continue
        if key not in seen:
            allowed, bias = _split(layer.allowed, layer.bias)
            spans = _rule(allowed)
            seen[key] = (allowed if spans is None else None, bias, spans)
        layer.allowed, layer.bias, layer.spans = seen[key]


def _rule(allowed: Any) -> RowSpans | None:
    """The rule of a long text's mask: the matrix itself would take n^2 bytes."""
    if allowed is None or allowed.shape[0] > 1 or allowed.shape[-1] <= LONG_TOKENS:
        return None
    return RowSpans.of(allowed[0].cpu().numpy())


def _split(allowed: Any, bias: Any) -> tuple[Any, Any]:
    """Forbidden cells out of an additive mask; None for what changes nothing."""
    if bias is not None:
        finite = bias > torch.finfo(bias.dtype).min / 2
        allowed = finite if allowed is None else allowed & finite
        bias = torch.where(finite, bias, 0).float()
        bias = bias if bias.any() else None
    return (None if allowed is None or bool(allowed.all()) else allowed), bias


def _capture_dispatched(encoder: Encoder, encoding: Encoding, progress: Progress | None) -> Trace:
    if not isinstance(encoder.network, bert.BertForPreTraining):
        _register()
    recorder = _Recorder(encoder.n_layers, progress)
    with inference_mode(encoder, ATTENTION):
        _active.recorder = recorder
        try:
            outputs = forward(encoder, encoding)
        finally:
            _active.recorder = None
    n = encoding.n_tokens
    layers = recorder.layers
    whole = all(layer.query.shape[1] == layer.key.shape[1] == n for layer in layers)
    # A layer without a matrix of its own would leave a gap: those after it would get its number.
    if not whole or len(layers) != encoder.n_layers or len({x.query.shape for x in layers}) != 1:
        raise unseen(encoder)
    check_scores(encoder, encoding.tokens, layers)
    _normalized(layers)
    return QKVTrace(encoding.tokens, layers, outputs)
