"""Forward passes from vectors that enter the first layer, and batches of changed texts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attn_widget.errors import NotFiniteError
from attn_widget.figures.arrays import Float64
from attn_widget.influence.attention_block import layer_of
from attn_widget.trace.forward import Progress, inference_mode

if TYPE_CHECKING:
    from attn_widget.influence.bound_target import BoundTarget
    from attn_widget.model.encoder import Encoder
    from attn_widget.trace.run import Run

TOKENS_AT_ONCE = 4096  # of one batch of texts


def first_vectors(run: Run) -> torch.Tensor:
    """The vectors ``e_j`` that enter the first layer, tensor [1, n, d] where the model is.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known.
    """
    layer_of(run, 0)
    states = run.trace.hidden_states
    assert states is not None  # of every run
    return torch.from_numpy(np.array(states[:1])).to(run.encoder.device, run.encoder.dtype)


@contextmanager
def entering(run: Run, vectors: torch.Tensor) -> Generator[None]:
    """The first layer reads ``vectors`` [B, n, d] whatever the embeddings give. Hold the encoder's lock."""
    thread = threading.get_ident()
    turns = 0

    def replace(_module: Any, args: Any, kwargs: Any) -> Any:
        nonlocal turns
        if threading.get_ident() != thread:
            return None
        turns += 1
        if (turns - 1) % uses:  # ALBERT: the module serves as a later layer
            return None
        if args:
            return (vectors, *args[1:]), kwargs
        return args, {**kwargs, "hidden_states": vectors}

    module = layer_of(run, 0)
    uses = sum(layer_of(run, layer) is module for layer in range(run.encoder.n_layers))
    handle = module.register_forward_pre_hook(replace, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def differentiable(encoder: Encoder, attention: str, *, biases: bool = False) -> Generator[None]:
    """Evaluation mode with gradients, but none of weights; of biases where asked for."""
    parameters = dict(encoder.network.named_parameters())
    with inference_mode(encoder, attention), torch.enable_grad():
        before = {name: p.requires_grad for name, p in parameters.items()}
        try:
            for name, parameter in parameters.items():
                parameter.requires_grad_(biases and name.endswith("bias"))
            yield
        finally:
            for name, parameter in parameters.items():
                parameter.requires_grad_(before[name])


def fast_attention(encoder: Encoder) -> str:
    """The fastest attention implementation that the family has."""
    return "eager" if encoder.family.mechanism == "softmax" else "sdpa"


def value_of(run: Run, bound: BoundTarget) -> float:
    """The target's value in a run, by the logits that the run has left."""
    if bound.kind == "token":
        logits = run.trace.logits_tensor([bound.position])
    else:
        nsp = bound.kind == "next_sentence"
        kept = run.trace.nsp_logits if nsp else run.trace.classifier_logits
        assert kept is not None  # `bind` has refused such a model
        logits = torch.from_numpy(
            np.atleast_2d(kept if bound.position is None else kept[bound.position])
        )
    return float(finite(run, bound.of(logits))[0])


def values_of_masked(
    run: Run,
    bound: BoundTarget,
    groups: Sequence[Sequence[int]],
    progress: Progress | None = None,
) -> Float64:
    """The target's value with each group of positions masked, float64 [groups]; batched."""
    return _of_masked(run, bound, bound.of, groups, progress)


def probabilities_of_masked(
    run: Run,
    bound: BoundTarget,
    groups: Sequence[Sequence[int]],
    progress: Progress | None = None,
) -> Float64:
    """The target's probability with each group of positions masked, float64 [groups]; batched."""
    return _of_masked(run, bound, bound.probability_of, groups, progress)


def _of_masked(
    run: Run,
    bound: BoundTarget,
    read: Callable[[torch.Tensor], torch.Tensor],
    groups: Sequence[Sequence[int]],
    progress: Progress | None,
) -> Float64:
    encoder, inputs = run.encoder, run.encoding.inputs
    batches: list[Float64] = []
    size = max(1, TOKENS_AT_ONCE // run.trace.n_tokens)
    mask = encoder.mask_token_id
    assert mask is not None  # the caller has asked
    for start in range(0, len(groups), size):
        chosen = groups[start : start + size]
        batch = {name: tensor.repeat(len(chosen), 1) for name, tensor in inputs.items()}
        for row, positions in enumerate(chosen):
            batch["input_ids"][row, list(positions)] = mask
        with inference_mode(encoder):
            batches.append(finite(run, read(bound.logits(encoder, batch))))
        if progress is not None:
            progress(start + len(chosen), len(groups))
    return np.concatenate(batches) if batches else np.zeros(0)


def finite(run: Run, values: torch.Tensor) -> Float64:
    """Values [B] as float64; see `check_finite`."""
    return check_finite(run, values.detach().double().cpu().numpy())


def check_finite(run: Run, array: Float64) -> Float64:
    """``array``, if it holds numbers alone.

    Raises
    ------
    NotFiniteError
        One of them is NaN or infinite.
    """
    if not np.isfinite(array).all():
        raise NotFiniteError(
            f"{run.encoder.name} gives {array[~np.isfinite(array)][0]} for this target.",
            "Its weights hold NaN, or overflow.",
        )
    return array
