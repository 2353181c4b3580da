"""One forward pass, seen from inside: an encoder and an encoding to a trace.

The model runs on its fast attention kernel; the attention function registered here records queries,
keys, values and mask on the way. Families that do not dispatch to it are seen by their softmax.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from attn_widget.checks import check_callable
from attn_widget.checks.rounding import rounding
from attn_widget.errors import NotAvailableError
from attn_widget.host.memory import check_memory
from attn_widget.model import numpy_bert
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import attention_modules
from attn_widget.model.numpy_modules import Module
from attn_widget.trace import LayerQKV, QKVTrace, Trace
from attn_widget.trace.base import LONG_TOKENS
from attn_widget.trace.finite import check_scores
from attn_widget.trace.forward import Progress, forward, forward_parts, inference_mode, unseen
from attn_widget.trace.qkv import large_negative, softmax
from attn_widget.trace.windows.masks import RowSpans

ATTENTION = "attn_widget"
FLOAT_BYTES = 4
INNER_WIDTH = 4  # of a feed-forward network, in widths of the model
# Arguments of attention functions that our weights take account of, or that do not change them.
SLOW_ARGUMENTS = ("softcap", "s_aux")  # the fast kernel does neither
ARGUMENTS = (
    *("scaling", "is_causal", "position_bias", *SLOW_ARGUMENTS),
    *("dropout", "sliding_window", "position_ids", "cache_position", "use_cache", "deterministic"),
    *("output_attentions", "output_hidden_states", "output_router_logits", "return_dict"),
)
SLACK = 8  # times that rounding: kernels approximate exponentials too; another mechanism is off by far more
_active = threading.local()
Attention = Callable[..., tuple[Any, Any]]
CausalMasks = dict[tuple[int, int, Any], Any]  # (queries, keys, device) -> bool tensor [1, 1, n, n]


def capture(encoder: Encoder, encoding: Encoding, *, progress: Progress | None = None) -> Trace:
    """Run the model once and keep what attention was computed from.

    ``encoder``: its model is left as it was: mode, attention implementation, hooks. ``progress``: called with
    ``(layers done, n_layers)`` as each layer begins to attend and at the end, on this thread; an exception that it
    raises ends the pass and comes out of here. Returns: of an encoder-decoder that of ``encoder.part``, whose
    ``parts`` has all three. A `QKVTrace`, or a `WeightsTrace` for DeBERTa, MPNet and others that compute attention
    on their own. Raises `NotAvailableError`: the model's attention can be seen neither way. Raises
    `NotEnoughMemoryError`: a long text whose run the free memory will not do; the message says what would fit.
    Raises `NotFiniteError`: a layer, or the classifier above them, gave NaN or infinite numbers. Raises
    `InputTypeError`: ``progress`` cannot be called.

    >>> from attn_widget.model.loading import load
    >>> encoder = load(progress=False)
    >>> trace = capture(encoder, encoder.encode("the cat sat on the mat"))
    >>> trace.weights(3, 5).sum(axis=1).round(5).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    check_callable(progress, "progress")
    with encoder.lock:
        held = holds_weights(encoder)
        run = _capture_softmax if held else _capture_dispatched
        run = _capture_parts if encoder.parts else run
        lengths = [encoding.of(part).n_tokens for part in encoder.parts]
        longest = max(lengths, default=encoding.n_tokens)
        if longest > LONG_TOKENS and encoder.device.type == "cpu":
            windows = "" if encoder.parts else "Or read it in windows: windows=(size, overlap)."
            needed = taken_by(encoder, held=held)
            check_memory("The forward pass", needed, longest, windows)
        trace = run(encoder, encoding, progress)
    if progress is not None:
        total = sum(part.n_layers for part in _parts(encoder)) or encoder.n_layers
        progress(total, total)
    return trace


def _parts(encoder: Encoder) -> list[Encoder]:
    return [encoder.of(part) for part in encoder.parts]


def taken_by(encoder: Encoder, *, held: bool) -> Callable[[int], float]:
    """Bytes that a run takes by its number of tokens; ``held``: with the weights and scores of all heads."""
    kept = kept_by(encoder, held=held)

    def needed(n: int) -> float:
        inner = 2 * n * INNER_WIDTH * encoder.hidden_size  # activations of one feed-forward network
        matrices = (
            2 * (encoder.n_heads if held else 1) * n**2
        )  # held: of the layer that runs; else masks
        return kept(n) + (inner + matrices) * FLOAT_BYTES

    return needed


def kept_by(encoder: Encoder, *, held: bool) -> Callable[[int], float]:
    """The part of `taken_by` that the trace keeps."""
    layers, heads, width = encoder.n_layers, encoder.n_heads, encoder.hidden_size

    def needed(n: int) -> float:
        vectors = layers * n * (3 * heads * encoder.head_dim + width)
        return (vectors + (2 * layers * heads * n**2 if held else 0)) * FLOAT_BYTES

    return needed


def holds_weights(encoder: Encoder) -> bool:
    """True if a run keeps weights and scores of all heads, and no vectors that they follow from."""
    return (encoder.family.mechanism or _supported(encoder.traced)) != "dispatch"


def _supported(model: Any) -> str:
    """Advice for an unknown family: files that dispatch have an eager function of their own."""
    supports = getattr(model, "_supports_sdpa", False)
    return "dispatch" if supports or own_eager(model) is not None else "softmax"


def own_eager(module: Any) -> Any | None:
    """The attention function of a model's own file: it does all that its family does."""
    return getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)


class _Recorder:
    """Arguments of the registered attention function, by layer."""

    def __init__(self, n_layers: int, progress: Progress | None) -> None:
        self.layers: list[LayerQKV] = []
        self.modules: list[Any] = []  # which called it
        self._causal_masks: CausalMasks = {}
        self._n_layers = n_layers
        self._progress = progress

    def begin_layer(self) -> None:
        if self._progress is not None:
            self._progress(min(len(self.layers), self._n_layers), self._n_layers)

    def record(
        self, module: Any, query: Any, key: Any, value: Any, mask: Any, kwargs: dict[str, Any]
    ) -> None:
        self.begin_layer()
        self.layers.append(_layer(module, query, key, value, mask, kwargs, self._causal_masks))
        self.modules.append(module)

    def compare(self, module: Any, output: Any) -> None:
        """Refuse a layer whose attention gave [1, n, H, head_dim] other than weights times values give."""
        layer = self.layers[-1]
        if isinstance(output, np.ndarray) or output.shape[1] != layer.query.shape[1]:
            return
        import torch

        row = layer.query.shape[1] // 2  # a middle one: it has keys before it and after it
        expected, allowed = _one_row(layer, row)
        found = output[0, row].float()
        # The expected row is computed in float32, whatever the model's precision.
        allowed *= SLACK * max(1, torch.finfo(output.dtype).eps / torch.finfo(torch.float32).eps)
        if bool(torch.isfinite(found).all()) and float((found - expected).abs().max()) > allowed:
            raise NotAvailableError(
                f"The attention of {type(module).__name__} does more than weigh its values by a softmax of scores, so "
                "that its weights are not known.",
                "Bring the weights yourself: from_attentions().",
            )


class _Visitor(NamedTuple):
    """Hands the arguments of the registered attention function on."""

    record: Callable[[Any, Any, Any, Any, Any, dict[str, Any]], None]

    def compare(self, module: Any, output: Any) -> None:
        """Its weights are not kept."""


@contextmanager
def capturing(
    encoder: Encoder, record: Callable[[Any, Any, Any, Any, Any, dict[str, Any]], None]
) -> Generator[None]:
    """Call ``record`` with the arguments of each layer's attention function, on this thread."""
    with _recorded(encoder.network, _Visitor(record)):
        yield


@contextmanager
def _recorded(network: Any, recorder: _Recorder | _Visitor) -> Generator[None]:
    """Show ``recorder`` every call of the registered attention function on this thread."""
    _register_for(network)
    _active.recorder = recorder
    _active.whole_masks = not getattr(network, "_supports_sdpa", True)
    try:
        yield
    finally:
        _active.recorder, _active.whole_masks = None, False


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


def _noting(attention: Attention) -> Attention:
    """``attention``, with a note of what it was called with while this thread is capturing."""

    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any
    ) -> tuple[Any, None]:
        recorder: _Recorder | _Visitor | None = getattr(_active, "recorder", None)
        if recorder is not None:
            recorder.record(module, query, key, value, attention_mask, kwargs)
        output = attention(module, query, key, value, attention_mask, **kwargs)
        if recorder is not None:
            recorder.compare(module, output[0])
        return output

    return attend


def _fast_or_own(fast: Attention) -> Attention:
    """``fast``, and a model's own function where that cannot do what it asks for."""

    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        if all(kwargs.get(name) is None for name in SLOW_ARGUMENTS):
            return fast(module, query, key, value, attention_mask, **kwargs)
        eager = own_eager(module)
        if eager is None:
            raise NotAvailableError(
                f"The file of {type(module).__name__} has no attention function of its own."
            )
        mask = _added(module, query, key, attention_mask, kwargs)
        return eager(module, query, key, value, mask, **kwargs)

    return attend


def _added(module: Any, query: Any, key: Any, mask: Any, kwargs: dict[str, Any]) -> Any:
    """The mask as numbers that are added to the scores; None stands for a causal one, which eager does not know."""
    if mask is None:
        mask = _causal(module, query, key, kwargs)
    if mask is None or mask.is_floating_point():
        return mask
    import torch

    forbidden = torch.finfo(query.dtype).min
    return torch.zeros(mask.shape, dtype=query.dtype, device=query.device).masked_fill(
        ~mask, forbidden
    )


def _causal(
    module: Any, query: Any, key: Any, kwargs: dict[str, Any], made: CausalMasks | None = None
) -> Any:
    """The mask [1, 1, n, n] that a missing one stands for; None where every cell is possible.

    Layers that are given the same ``made`` share one: a long text's takes megabytes.
    """
    n_queries, n_keys = query.shape[2], key.shape[2]
    causal = kwargs.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)
    if not causal or n_queries == 1:
        return None
    import torch

    made = {} if made is None else made
    at = (n_queries, n_keys, query.device)
    if at not in made:
        every = torch.ones(1, 1, n_queries, n_keys, dtype=torch.bool, device=query.device)
        made[at] = every.tril()
    return made[at]


numpy_bert.ATTENTION_FUNCTIONS[ATTENTION] = _noting(numpy_bert.attention)


def _register_for(network: Any) -> None:
    """Make the registered attention function known to what dispatches to it in ``network``."""
    if isinstance(network, Module):
        return
    from attn_widget.model import bert

    if isinstance(network, bert.BertForPreTraining):
        bert.ATTENTION_FUNCTIONS.setdefault(ATTENTION, _noting(bert.sdpa))
    else:
        _register()


@cache
def _register() -> None:
    """Tell `transformers`, once one of its models is to be seen."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    def mask(*args: Any, **options: Any) -> Any:
        """A model without SDPA always gets its mask: its modules need not say that they are causal (BigBird-Pegasus)."""
        if getattr(_active, "whole_masks", False):
            options.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
        return sdpa_mask(*args, **options)

    AttentionInterface.register(ATTENTION, _noting(_fast_or_own(sdpa_attention_forward)))
    AttentionMaskInterface.register(ATTENTION, mask)


def _layer(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    kwargs: dict[str, Any],
    causal_masks: CausalMasks | None = None,
) -> LayerQKV:
    unknown = sorted(
        name for name, given in kwargs.items() if name not in ARGUMENTS and given is not None
    )
    if unknown:
        raise NotAvailableError(
            f"{type(module).__name__} passes {unknown[0]!r} to its attention, and what that does to the weights is not "
            "known.",
            "Bring the weights yourself: from_attentions().",
        )
    scaling = kwargs.get("scaling")
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    allowed = bias = None
    n_keys = key.shape[2]
    if mask is None:
        causal = _causal(module, query, key, kwargs, causal_masks)
        allowed = None if causal is None else causal[0]
    else:
        # LayoutLM gives one row for all queries.
        rows = mask[0, :, :, :n_keys].expand(-1, query.shape[2], -1)
        allowed, bias = (None, rows) if mask.is_floating_point() else (rows, None)
    position_bias = kwargs.get("position_bias")
    if position_bias is not None:
        bias = position_bias[0] if bias is None else bias + position_bias[0]
    sinks = kwargs.get("s_aux")
    return LayerQKV(
        _own(query),
        _own(key),
        _own(value),
        float(scaling),
        allowed,
        bias,
        softcap=kwargs.get("softcap"),
        sinks=None if sinks is None else sinks.detach().clone(),  # weights, which training changes
    )


def _one_row(layer: LayerQKV, row: int) -> tuple[Any, float]:
    """The output of a query by our weights, tensor [H, head_dim], and how far rounding moves it."""
    import torch

    heads, _, head_dim = layer.query.shape
    query: Any = layer.query
    key: Any = layer.key
    value: Any = layer.value
    keys, values = key.float(), value.float()
    groups, n_keys, _ = keys.shape
    # The heads of a group together: nothing is repeated, and products of one row by a matrix are the fastest.
    query = (query[:, row].float() * layer.scaling).reshape(groups, -1, head_dim)
    scores = torch.bmm(query, keys.transpose(1, 2)).view(heads, n_keys)
    largest = float(torch.bmm(query.abs(), keys.abs().transpose(1, 2)).max())
    if layer.softcap is not None:
        scores = (scores / layer.softcap).tanh() * layer.softcap
    if layer.bias is not None:
        scores = scores + layer.bias[:, row].float()
    if layer.allowed is not None:
        scores = scores.masked_fill(~layer.allowed[:, row], -torch.inf)
    weights = softmax(scores[:, None], layer.sinks).view(groups, -1, n_keys)
    least, most = values.aminmax()
    # A score that is off by e moves its weight by up to the share e.
    shares = rounding(1.0, n_keys) + 2 * rounding(largest, head_dim)
    output = torch.bmm(weights, values).view(heads, -1)
    return output, max(-float(least), float(most)) * shares


def _own(tensor: Any) -> Any:
    """The first text of a batch; copied when it is a slice of something larger."""
    first = tensor[0]
    if isinstance(first, np.ndarray):
        return np.ascontiguousarray(first)
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
        import torch

        finite = bias > torch.finfo(bias.dtype).min / 2
        low = large_negative(bias, finite.any(dim=0))
        if low is not None:
            finite = finite & ~low
        allowed = finite if allowed is None else allowed & finite
        bias = torch.where(finite, bias, 0).float()
        bias = bias if bias.any() else None
    return (None if allowed is None or bool(allowed.all()) else allowed), bias


def _capture_softmax(encoder: Encoder, encoding: Encoding, progress: Progress | None) -> Trace:
    from attn_widget.trace.softmax_tap import capture_softmax  # it brings torch

    return capture_softmax(encoder, encoding, progress)


@contextmanager
def _recording(encoder: Encoder, n_layers: int, progress: Progress | None) -> Generator[_Recorder]:
    """Records every call of the registered attention function while open."""
    recorder = _Recorder(n_layers, progress)
    with (
        inference_mode(encoder, ATTENTION, network=encoder.traced),
        _recorded(encoder.traced, recorder),
    ):
        yield recorder


def _capture_dispatched(encoder: Encoder, encoding: Encoding, progress: Progress | None) -> Trace:
    with _recording(encoder, encoder.n_layers, progress) as recorder:
        outputs = forward(encoder, encoding)
    n = encoding.n_tokens
    layers = recorder.layers
    whole = all(layer.query.shape[1] == layer.key.shape[1] == n for layer in layers)
    # A layer without a matrix of its own would leave a gap: those after it would get its number.
    if not whole or len(layers) != encoder.n_layers or len({x.query.shape for x in layers}) != 1:
        raise unseen(encoder)
    check_scores(encoder, encoding.tokens, layers)
    _normalized(layers)
    return QKVTrace(encoding.tokens, layers, outputs)


def _capture_parts(encoder: Encoder, encoding: Encoding, progress: Progress | None) -> Trace:
    """One pass of an encoder-decoder, seen from all three of its parts; the trace of ``encoder.part``."""
    parts = _parts(encoder)
    with _recording(encoder, sum(part.n_layers for part in parts), progress) as recorder:
        outputs = forward_parts(encoder, encoding)
    called = dict(zip(recorder.modules, recorder.layers, strict=True))
    traces: dict[str, Trace] = {}
    for part in parts:
        assert part.part is not None
        queries = encoding.of(part.part).tokens
        keys = encoding.of("encoder").tokens if part.part == "cross" else None
        modules = attention_modules(part.family, encoder.traced)
        layers = [called[module] for module in modules if module in called]
        sizes = (len(queries), len(queries if keys is None else keys))
        whole = all((x.query.shape[1], x.key.shape[1]) == sizes for x in layers)
        if not whole or len(layers) != part.n_layers or len(called) != len(recorder.layers):
            raise unseen(encoder)
        check_scores(part, queries, layers)
        _normalized(layers)
        traces[part.part] = QKVTrace(queries, layers, outputs[part.part], keys)
    for trace in traces.values():
        trace.parts = traces
    assert encoder.part is not None
    return traces[encoder.part]
