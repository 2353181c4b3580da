"""The forward pass itself: its locks and device, hidden states, logits."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.host.model_failures import named_failures
from attn_widget.host.threads import one_blas_thread, torch_threads
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import Part, layer_modules, states_module, submodule
from attn_widget.model.numpy_bert import BertForPreTraining as NumpyBert
from attn_widget.model.numpy_modules import Module
from attn_widget.trace import LogitsCache, Outputs
from attn_widget.trace.base import to_numpy
from attn_widget.trace.finite import check_head, check_states
from attn_widget.trace.heads_off import heads_off, patched
from attn_widget.trace.hooks import hidden_of, hooked

Progress = Callable[[int, int], None]


# Bytes of logits that all traces keep together (256 tokens of 32,768 entries), where the head of the
# model can run by itself.
LOGITS_CACHE = LogitsCache(32 * 2**20)


@contextmanager
def inference_mode(
    encoder: Encoder, attention: str | None = None, *, network: Any = None
) -> Generator[None]:
    """The model in evaluation mode, without gradients; afterwards everything is as it was.

    Heads that ``encoder`` has switched off stay off, and pieces that it carries stay in. No cache of keys and values
    is kept: a second pass of a layer would append to it.

    ``attention``: attention implementation for the time being; ``sdpa`` is eager where the model caps its scores,
    and eager is ``sdpa`` where it is another function; see `_has_another_eager`. ``network``: ``encoder.network``
    unless given; `Encoder.traced` for a pass that is recorded.
    """
    network = encoder.network if network is None else network
    with encoder.lock, _no_grad(network):
        encoder.check_weights()
        # A network in numpy has one config for all of its modules, and is never trained.
        modules: list[Any] = [network] if isinstance(network, Module) else list(network.modules())
        training = [module for module in modules if module.training]
        owners = [
            module
            for module in modules
            if hasattr(getattr(module, "config", None), "_attn_implementation")
        ]
        configs = {id(module.config): module.config for module in owners}
        before = [(config, config._attn_implementation) for config in configs.values()]
        caching = [config for config in configs.values() if getattr(config, "use_cache", False)]
        for module in training:
            module.training = False
        try:
            for config, implementation in before:
                chosen = implementation if attention is None else attention
                # Below version 5.21 of transformers, sdpa leaves the cap out in silence.
                if chosen == "sdpa" and getattr(config, "attn_logit_softcapping", None):
                    chosen = "eager"
                elif chosen == "eager" and _has_another_eager(config):
                    chosen = "sdpa"
                config._attn_implementation = chosen
            for config in caching:
                config.use_cache = False
            with heads_off(encoder, network), patched(encoder, network):
                yield
        finally:
            for config, implementation in before:
                config._attn_implementation = implementation
            for config in caching:
                config.use_cache = True
            for module in training:
                module.training = True


def _has_another_eager(config: Any) -> bool:
    """True where the eager attention of `transformers` is not the one that the model was trained with and runs by default.

    That of Falcon adds ALiBi twice, and that of Gemma masks later tokens that the model is set to attend to. `SoftmaxMode`
    sees the fused kernel as well.
    """
    flags = {"falcon": "alibi", "gemma": "use_bidirectional_attention"}
    flag = flags.get(getattr(config, "model_type", ""))
    return flag is not None and bool(getattr(config, flag, None))


def _no_grad(network: Any) -> Any:
    """Context of a pass without gradients: in numpy, one thread."""
    if isinstance(network, Module):
        return one_blas_thread()
    import torch

    return torch.no_grad()


@contextmanager
def threads_for(encoder: Encoder, inputs: dict[str, Any]) -> Generator[None]:
    """A pass with as many of torch's threads as its texts, ``inputs`` [B, n] or [B, n, d], can feed."""
    texts = [x for x in inputs.values() if getattr(x, "ndim", 0) in (2, 3)]
    if isinstance(encoder.traced, Module) and not any(hasattr(x, "numel") for x in texts):
        yield
        return
    with torch_threads() as choose:
        rows = max((x.shape[0] * x.shape[1] for x in texts), default=encoder.max_length)
        choose(rows * encoder.hidden_size)
        yield


def inputs_of(encoder: Encoder, encoding: Encoding) -> dict[str, Any]:
    """A text as `Encoder.traced` reads it: arrays, or tensors where the model is."""
    if isinstance(encoder.traced, Module):
        return dict(encoding.arrays)
    return on_device(encoder, encoding.inputs)


def on_device(encoder: Encoder, inputs: dict[str, Any]) -> dict[str, Any]:
    """Input tensors where the model is."""
    return {name: tensor.to(encoder.device) for name, tensor in inputs.items()}


def copies_of(inputs: dict[str, Any], count: int) -> dict[str, Any]:
    """The tensors [1, ...] of one input for a batch of ``count``; a number stays one."""
    return {
        name: tensor.expand(count, *tensor.shape[1:]) if tensor.ndim else tensor
        for name, tensor in inputs.items()
    }


class _DoneError(Exception):
    """The last layer that is of interest is done."""


def run_base(
    encoder: Encoder, encoding: Encoding, attention: str | None = None, *, last: int | None = None
) -> None:
    """A pass of `Encoder.traced`, for those who have hooks on it; it ends after layer ``last`` where no two share a module."""
    layers = layer_modules(encoder.family, encoder.traced) or []
    ends = layers[last : last + 1] if last is not None and len({*layers}) == len(layers) else []

    def stop(*_call: Any) -> None:
        raise _DoneError

    with (
        suppress(_DoneError),
        inference_mode(encoder, attention, network=encoder.traced),
        hooked(ends, after=stop),
    ):
        encoder.traced.base_model(**inputs_of(encoder, encoding))


@contextmanager
def _hidden_states(encoder: Encoder) -> Generator[list[Any]]:
    """Record, by hooks, the input of every layer that is known, and the base model's output."""
    states: list[Any] = []
    layers = layer_modules(encoder.family, encoder.traced) or []
    last = states_module(encoder.family, encoder.traced)
    projected = submodule(encoder.traced.base_model, encoder.family.projected)

    def keep_input(_module: Any, args: Any, kwargs: Any) -> None:
        states.append(hidden_of(args, kwargs)[0])

    def keep_output(_module: Any, _args: Any, _kwargs: Any, output: Any) -> None:
        states.append(output[0][0])

    layers = layers if projected is None else [*layers, projected]
    outputs = [last] if projected is None else []
    with hooked(layers, before=keep_input), hooked(outputs, after=keep_output):
        yield states


def forward(encoder: Encoder, encoding: Encoding) -> Outputs:
    model = encoder.traced
    large = encoding.n_tokens * encoder.vocab_size * 4 > LOGITS_CACHE.limit
    again = encoder.has_lm and encoder.family.lm is not None
    later = large and again
    has_layers = layer_modules(encoder.family, model) is not None
    inputs = inputs_of(encoder, encoding)
    with (
        threads_for(encoder, inputs),
        _hidden_states(encoder) as states,
        named_failures(model, f"{encoder.name} ({encoder.family.name})"),
    ):
        output = (model.base_model if later and not encoder.has_nsp else model)(
            **inputs,
            output_attentions=False,
            output_hidden_states=not has_layers,
            return_dict=True,
        )
    last = states[-1]
    outputs = Outputs(hidden_states=states if has_layers else _own_hidden_states(output))
    check_states(encoder, encoding.tokens, outputs.hidden_states or [last])
    if again:
        outputs.compute_logits = lambda rows: lm_logits(encoder, last[rows])
    if encoder.has_lm and not later:
        outputs.logits = _lm_output(output)[0]
        if again:
            LOGITS_CACHE.add(outputs)
    if encoder.has_nsp:
        outputs.nsp_logits = _array(output.get("seq_relationship_logits", output.get("logits")))
    if encoder.classifier == "question_answering":
        ends = [_array(output.start_logits), _array(output.end_logits)]
        outputs.classifier_logits = np.stack(ends, axis=-1)
    elif encoder.classifier is not None:
        outputs.classifier_logits = _array(output.logits)
    check_head(encoder, outputs.nsp_logits, "next-sentence head")
    check_head(encoder, outputs.classifier_logits, "classifier")
    return outputs


def forward_parts(encoder: Encoder, encoding: Encoding) -> dict[Part, Outputs]:
    """One pass of an encoder-decoder over both texts: what each part leaves."""
    source = encoder.of("encoder")
    with _hidden_states(source) as states:
        written = forward(encoder.of("decoder"), encoding.of("decoder"))
    check_states(source, encoding.of("encoder").tokens, states)
    return {"encoder": Outputs(hidden_states=states), "decoder": written, "cross": Outputs()}


def _own_hidden_states(output: Any) -> list[Any] | None:
    """The hidden states that the model itself reports; None where they are several for each token (Gemma 3n)."""
    states: Any = output.get("hidden_states") or ()
    single = bool(states) and all(state.dim() == 3 for state in states)
    return [state[0] for state in states] if single else None


def _lm_output(output: Any) -> Any:
    return output["prediction_logits" if "prediction_logits" in output else "logits"]


def _array(tensor: Any) -> Any:
    return to_numpy(tensor[0])


def lm_logits(encoder: Encoder, hidden: Any) -> Any:
    """The language-model head alone.

    ``hidden``, float tensor [..., d], where the model is, or float32 array: last hidden states. Returns tensor
    [..., vocabulary], in the model's type; of an array, an array.
    """
    head = encoder.family.lm
    if not encoder.has_lm or head is None:
        raise NotAvailableError(
            f"{encoder.name} has no language-model head that can run by itself."
        )
    in_numpy = isinstance(hidden, np.ndarray)
    if in_numpy and not isinstance(encoder.traced, NumpyBert):
        import torch

        # The run was made before the model of `transformers` was asked for, which has taken its place.
        tensor = torch.from_numpy(hidden).to(encoder.device, encoder.dtype)
        return to_numpy(lm_logits(encoder, tensor))
    network = encoder.traced if in_numpy else encoder.network
    with inference_mode(encoder, network=network):
        return head(network, hidden)


def forward_ids(
    encoder: Encoder,
    input_ids: Any,
    *,
    token_type_ids: Any = None,
    attention_mask: Any = None,
    positions: Any = None,
) -> Any:
    """Logits of the language-model head for a batch, without capturing; for masked predictions.

    ``input_ids``: int64 tensor [B, n], or array where `Encoder.traced` is in numpy. ``token_type_ids``,
    ``attention_mask``, the same, [B, n] or [1, n]: as in ``Encoding.inputs`` or ``Encoding.arrays``. ``positions``,
    the same, [B]: one position of each text; the head then runs on those alone. Returns tensor or array
    [B, vocabulary] with ``positions``, else [B, n, vocabulary].
    """
    arrays = isinstance(input_ids, np.ndarray)
    network = encoder.traced if arrays else encoder.network
    if not encoder.has_lm:
        raise NotAvailableError(f"{encoder.name} {encoder.lacks_lm}, so it predicts no tokens.")
    extra = {"token_type_ids": token_type_ids, "attention_mask": attention_mask}
    inputs = {"input_ids": input_ids}
    expand: Any = np.broadcast_to if arrays else lambda tensor, shape: tensor.expand(shape)
    for name, given in extra.items():
        if given is not None:
            inputs[name] = expand(given, input_ids.shape)
    with inference_mode(encoder, network=network):
        inputs = inputs if arrays else on_device(encoder, inputs)
        picked = slice(None)
        if positions is not None:
            picked = (range(len(input_ids)), positions)
            if encoder.family.lm is not None:
                hidden = network.base_model(**inputs, return_dict=True)[0]
                return encoder.family.lm(network, hidden[picked])
        return _lm_output(network(**inputs, return_dict=True))[picked]


def unseen(encoder: Encoder) -> NotAvailableError:
    return NotAvailableError(
        f"The attention of {encoder.name} ({encoder.family.name}) cannot be read: it is not an "
        "n x n matrix for each head and layer.",
        "Use a model with full attention, or bring the weights yourself: from_attentions().",
    )
