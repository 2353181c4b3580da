"""One forward pass, seen from inside: an encoder and an encoding to a trace.

The model runs on its fast attention kernel; the attention function registered here records queries,
keys, values and mask on the way. Families that do not dispatch to it are seen by their softmax.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from attn_widget.checks import check_callable
from attn_widget.errors import NotAvailableError
from attn_widget.model import bert
from attn_widget.model.families import layer_modules
from attn_widget.trace import KeptLogits, LayerQKV, Outputs, QKVTrace, Trace, WeightsTrace
from attn_widget.trace.finite import check_head, check_scores, check_states

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.encoding import Encoding

ATTENTION = "attn_widget"
Progress = Callable[[int, int], None]
# Bytes of logits that all traces keep together (512 tokens of 32,768 entries), where the head of the
# model can run by itself.
KEPT_LOGITS = KeptLogits(64 * 2**20)
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
    NotFiniteError
        A layer, or the classifier above them, gave NaN or infinite numbers.
    InputTypeError
        ``progress`` cannot be called.

    Examples
    --------
    >>> from attn_widget.model.encoder import load
    >>> encoder = load(progress=False)
    >>> trace = capture(encoder, encoder.encode("the cat sat on the mat"))
    >>> trace.weights(3, 5).sum(axis=1).round(5).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    check_callable(progress, "progress")
    with encoder.lock:
        mechanism = encoder.family.mechanism or _supported(encoder.network)
        run = _capture_dispatched if mechanism == "dispatch" else _capture_softmax
        started = time.perf_counter()
        trace = run(encoder, encoding, progress)
        encoder.speed.measured(encoding.n_tokens, time.perf_counter() - started)
    if progress is not None:
        progress(encoder.n_layers, encoder.n_layers)
    return trace


def _supported(model: Any) -> str:
    """How to see the attention of an unknown family: those without SDPA do not dispatch either."""
    return "dispatch" if getattr(model, "_supports_sdpa", False) else "softmax"


# The registered attention function


class _Recorder:
    """What the registered attention function was called with, layer by layer."""

    def __init__(self, n_layers: int, progress: Progress | None) -> None:
        self.layers: list[LayerQKV] = []
        self._n_layers = n_layers
        self._progress = progress

    def begin_layer(self) -> None:
        if self._progress is not None:
            self._progress(min(len(self.layers), self._n_layers), self._n_layers)


def _noting(attention: bert.Attention) -> bert.Attention:
    """``attention``, with a note of what it was called with while this thread is capturing."""

    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any
    ) -> tuple[Any, None]:
        recorder: _Recorder | None = getattr(_active, "recorder", None)
        if recorder is not None:
            recorder.begin_layer()
            recorder.layers.append(_layer(module, query, key, value, attention_mask, kwargs))
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
    seen: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for layer in layers:
        key = tuple(None if m is None else m.data_ptr() for m in (layer.allowed, layer.bias))
        if layer.bias is None and layer.allowed is None:
            continue
        if key not in seen:
            seen[key] = _split(layer.allowed, layer.bias)
        layer.allowed, layer.bias = seen[key]


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
    with running(encoder, ATTENTION):
        _active.recorder = recorder
        try:
            outputs = _forward(encoder, encoding)
        finally:
            _active.recorder = None
    n = encoding.n_tokens
    layers = [layer for layer in recorder.layers if layer.query.shape[1] == layer.key.shape[1] == n]
    if not layers or len({layer.query.shape for layer in layers}) != 1:
        raise _unseen(encoder)
    check_scores(encoder, encoding.tokens, layers)
    _normalized(layers)
    return QKVTrace(encoding.tokens, layers, outputs)


def _unseen(encoder: Encoder) -> NotAvailableError:
    return NotAvailableError(
        f"The attention of {encoder.name} ({encoder.family.name}) cannot be read: it is not an "
        "n x n matrix for each head and layer.",
        "Use a model with full attention, or bring the weights yourself: from_attentions().",
    )


# Families that compute attention on their own


class _SoftmaxTap(TorchFunctionMode):
    """Keeps input and output of every softmax over [1, H, n, n]."""

    def __init__(self, n_tokens: int, n_layers: int, progress: Progress | None) -> None:
        super().__init__()
        self.n_tokens = n_tokens
        self.n_layers = n_layers
        self.progress = progress
        self.seen: list[tuple[Any, Any]] = []

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
        return result


def _capture_softmax(encoder: Encoder, encoding: Encoding, progress: Progress | None) -> Trace:
    if getattr(encoder.network.base_model.config, "talking_head", False):
        raise NotAvailableError(
            f"{encoder.name} mixes its heads after the softmax: no head has weights of its own."
        )
    tap = _SoftmaxTap(encoding.n_tokens, encoder.n_layers, progress)
    with running(encoder, "eager"), _projections(encoder) as parts, tap:
        outputs = _forward(encoder, encoding)
    if len({scores.shape for scores, _ in tap.seen}) != 1 or len(tap.seen) != encoder.n_layers:
        raise _unseen(encoder)
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
    found: list[list[Any]] = []
    projections = encoder.family.projections
    layers = layer_modules(encoder.family, encoder.network)
    if projections is None or layers is None:
        yield found
        return
    thread = threading.get_ident()
    with ExitStack() as stack:
        for layer in layers:
            outputs: list[Any] = [None] * len(projections.names)
            found.append(outputs)
            for i, name in enumerate(projections.names):

                def keep(
                    _m: Any, _args: Any, output: Any, outputs: list[Any] = outputs, i: int = i
                ) -> None:
                    # DeBERTa-v2 sends relative positions through the same map, afterwards.
                    if outputs[i] is None and threading.get_ident() == thread:
                        outputs[i] = output[0]

                handle = layer.get_submodule(name).register_forward_hook(keep)
                stack.callback(handle.remove)
        yield found


def _queries_keys_values(encoder: Encoder, parts: list[list[Any]]) -> dict[str, Any]:
    """The recorded maps as queries, keys and values [H, n, head_dim] by layer."""
    projections, heads = encoder.family.projections, encoder.n_heads
    if projections is None or not parts:
        return {}
    config = encoder.network.base_model.config
    terms = 1 + len(getattr(config, "pos_att_type", None) or ())  # DeBERTa: each term has a share
    found: dict[str, list[Any]] = {"queries": [], "keys": [], "values": [], "scaling": []}
    layers = layer_modules(encoder.family, encoder.network) or []
    for layer, outputs in zip(layers, parts, strict=True):
        if len(outputs) == 1:
            n = outputs[0].shape[0]
            chunks = outputs[0].view(n, heads, -1).transpose(0, 1).chunk(3, dim=-1)
        else:
            chunks = [out.view(out.shape[0], heads, -1).transpose(0, 1) for out in outputs]
        for name, chunk, bias in zip(found, chunks, projections.biases, strict=False):
            if bias is not None:
                holder = layer.get_submodule(projections.names[0].rpartition(".")[0])
                chunk = chunk + getattr(holder, bias).detach().view(heads, 1, -1)
            found[name].append(chunk.float().cpu().numpy())
        found["scaling"].append((chunks[0].shape[-1] * terms) ** -0.5)
    return found


# The pass itself


@contextmanager
def running(encoder: Encoder, attention: str | None = None) -> Generator[None]:
    """The model in evaluation mode, without gradients; afterwards everything is as it was.

    Parameters
    ----------
    attention : str, optional
        Attention implementation for the time being.
    """
    with encoder.lock, torch.no_grad():
        modules = list(encoder.network.modules())
        training = [module for module in modules if module.training]
        owners = [
            module
            for module in modules
            if hasattr(getattr(module, "config", None), "_attn_implementation")
        ]
        configs = {id(module.config): module.config for module in owners}
        before = [(config, config._attn_implementation) for config in configs.values()]
        for module in training:
            module.training = False
        try:
            if attention is not None:
                for config, _ in before:
                    config._attn_implementation = attention
            yield
        finally:
            for config, implementation in before:
                config._attn_implementation = implementation
            for module in training:
                module.training = True


def on_device(encoder: Encoder, inputs: dict[str, Any]) -> dict[str, Any]:
    """Input tensors where the model is."""
    return {name: tensor.to(encoder.device) for name, tensor in inputs.items()}


@contextmanager
def _hidden_states(encoder: Encoder) -> Generator[list[Any]]:
    """Record, by hooks, the input of every layer that is known, and the base model's output."""
    states: list[Any] = []
    layers = layer_modules(encoder.family, encoder.network) or []
    thread = threading.get_ident()

    def keep_input(_module: Any, args: Any, kwargs: Any) -> None:
        if threading.get_ident() == thread:
            states.append((args[0] if args else kwargs["hidden_states"])[0])

    def keep_output(_module: Any, _args: Any, output: Any) -> None:
        if threading.get_ident() == thread:
            states.append(output[0][0])

    with ExitStack() as stack:
        for layer in {id(layer): layer for layer in layers}.values():
            handle = layer.register_forward_pre_hook(keep_input, with_kwargs=True)
            stack.callback(handle.remove)
        stack.callback(encoder.network.base_model.register_forward_hook(keep_output).remove)
        yield states


def _forward(encoder: Encoder, encoding: Encoding) -> Outputs:
    model = encoder.network
    large = encoding.n_tokens * encoder.vocab_size * 4 > KEPT_LOGITS.limit
    again = encoder.has_mlm and encoder.family.mlm is not None
    later = large and again
    known = layer_modules(encoder.family, model) is not None
    with _hidden_states(encoder) as states:
        found = (model.base_model if later and not encoder.has_nsp else model)(
            **on_device(encoder, encoding.inputs),
            output_attentions=False,
            output_hidden_states=not known,
            return_dict=True,
        )
    last = states[-1]
    outputs = Outputs(hidden_states=states if known else _own_hidden_states(found))
    check_states(encoder, encoding.tokens, outputs.hidden_states or [last])
    if again:
        outputs.compute_logits = lambda rows: mlm_logits(encoder, last[rows])
    if encoder.has_mlm and not later:
        outputs.logits = _mlm_output(found)[0]
        if again:
            KEPT_LOGITS.add(outputs)
    if encoder.has_nsp:
        outputs.nsp_logits = _array(found.get("seq_relationship_logits", found.get("logits")))
    if encoder.classifier == "question_answering":
        outputs.classifier_logits = _array(torch.stack([found.start_logits, found.end_logits], -1))
    elif encoder.classifier is not None:
        outputs.classifier_logits = _array(found.logits)
    check_head(encoder, outputs.nsp_logits, "next-sentence head")
    check_head(encoder, outputs.classifier_logits, "classifier")
    return outputs


def _own_hidden_states(found: Any) -> list[Any] | None:
    """The hidden states that the model itself reports."""
    states = found.get("hidden_states")
    return None if states is None else [state[0] for state in states]


def _mlm_output(found: Any) -> Any:
    return found["prediction_logits" if "prediction_logits" in found else "logits"]


def _array(tensor: Any) -> Any:
    return tensor[0].float().cpu().numpy()


def mlm_logits(encoder: Encoder, hidden: Any) -> Any:
    """The masked-LM head alone.

    Parameters
    ----------
    hidden : float tensor [..., d]
        Last hidden states, where the model is.

    Returns
    -------
    tensor [..., vocabulary], in the model's type

    Raises
    ------
    NotAvailableError
        No such head, or its place in this family is not known.
    """
    head = encoder.family.mlm
    if not encoder.has_mlm or head is None:
        raise NotAvailableError(f"{encoder.name} has no masked-LM head that can run by itself.")
    with running(encoder):
        return head(encoder.network, hidden)


def forward_ids(
    encoder: Encoder,
    input_ids: Any,
    *,
    token_type_ids: Any = None,
    attention_mask: Any = None,
    positions: Any = None,
) -> Any:
    """Masked-LM logits of a batch, without capturing; for masked predictions.

    Parameters
    ----------
    input_ids : int64 tensor [B, n]
    token_type_ids, attention_mask : int64 tensor [B, n] or [1, n], optional
        As in ``Encoding.inputs``.
    positions : int64 tensor [B], optional
        One position of each text; the head then runs on those alone.

    Returns
    -------
    tensor [B, vocabulary] with ``positions``, else [B, n, vocabulary]

    Raises
    ------
    NotAvailableError
        No masked-LM head.
    """
    if not encoder.has_mlm:
        raise NotAvailableError(f"{encoder.name} has no masked-LM head, so it predicts no tokens.")
    extra = {"token_type_ids": token_type_ids, "attention_mask": attention_mask}
    inputs = {"input_ids": input_ids}
    inputs.update({name: t.expand_as(input_ids) for name, t in extra.items() if t is not None})
    with running(encoder):
        inputs = on_device(encoder, inputs)
        picked = slice(None)
        if positions is not None:
            picked = (torch.arange(len(input_ids)), positions)
            if encoder.family.mlm is not None:
                hidden = encoder.network.base_model(**inputs, return_dict=True)[0]
                return encoder.family.mlm(encoder.network, hidden[picked])
        return _mlm_output(encoder.network(**inputs, return_dict=True))[picked]
