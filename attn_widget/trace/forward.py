"""The forward pass itself: its locks and device, hidden states, logits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch

from attn_widget.errors import NotAvailableError
from attn_widget.host.model_failures import named_failures
from attn_widget.model.families import layer_modules
from attn_widget.trace import LogitsCache, Outputs
from attn_widget.trace.finite import check_head, check_states
from attn_widget.trace.heads_off import heads_off, patched

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.encoding import Encoding

Progress = Callable[[int, int], None]


# Bytes of logits that all traces keep together (256 tokens of 32,768 entries), where the head of the
# model can run by itself.
LOGITS_CACHE = LogitsCache(32 * 2**20)


@contextmanager
def inference_mode(encoder: Encoder, attention: str | None = None) -> Generator[None]:
    """The model in evaluation mode, without gradients; afterwards everything is as it was.

    Heads that ``encoder`` has switched off stay off, and pieces that it carries stay in.

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
            with heads_off(encoder), patched(encoder):
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


def forward(encoder: Encoder, encoding: Encoding) -> Outputs:
    model = encoder.network
    large = encoding.n_tokens * encoder.vocab_size * 4 > LOGITS_CACHE.limit
    again = encoder.has_mlm and encoder.family.mlm is not None
    later = large and again
    known = layer_modules(encoder.family, model) is not None
    with (
        _hidden_states(encoder) as states,
        named_failures(model, f"{encoder.name} ({encoder.family.name})"),
    ):
        output = (model.base_model if later and not encoder.has_nsp else model)(
            **on_device(encoder, encoding.inputs),
            output_attentions=False,
            output_hidden_states=not known,
            return_dict=True,
        )
    last = states[-1]
    outputs = Outputs(hidden_states=states if known else _own_hidden_states(output))
    check_states(encoder, encoding.tokens, outputs.hidden_states or [last])
    if again:
        outputs.compute_logits = lambda rows: mlm_logits(encoder, last[rows])
    if encoder.has_mlm and not later:
        outputs.logits = _mlm_output(output)[0]
        if again:
            LOGITS_CACHE.add(outputs)
    if encoder.has_nsp:
        outputs.nsp_logits = _array(output.get("seq_relationship_logits", output.get("logits")))
    if encoder.classifier == "question_answering":
        outputs.classifier_logits = _array(
            torch.stack([output.start_logits, output.end_logits], -1)
        )
    elif encoder.classifier is not None:
        outputs.classifier_logits = _array(output.logits)
    check_head(encoder, outputs.nsp_logits, "next-sentence head")
    check_head(encoder, outputs.classifier_logits, "classifier")
    return outputs


def _own_hidden_states(output: Any) -> list[Any] | None:
    """The hidden states that the model itself reports."""
    states = output.get("hidden_states")
    return None if states is None else [state[0] for state in states]


def _mlm_output(output: Any) -> Any:
    return output["prediction_logits" if "prediction_logits" in output else "logits"]


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
    with inference_mode(encoder):
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
    with inference_mode(encoder):
        inputs = on_device(encoder, inputs)
        picked = slice(None)
        if positions is not None:
            picked = (torch.arange(len(input_ids)), positions)
            if encoder.family.mlm is not None:
                hidden = encoder.network.base_model(**inputs, return_dict=True)[0]
                return encoder.family.mlm(encoder.network, hidden[picked])
        return _mlm_output(encoder.network(**inputs, return_dict=True))[picked]


def unseen(encoder: Encoder) -> NotAvailableError:
    return NotAvailableError(
        f"The attention of {encoder.name} ({encoder.family.name}) cannot be read: it is not an "
        "n x n matrix for each head and layer.",
        "Use a model with full attention, or bring the weights yourself: from_attentions().",
    )
