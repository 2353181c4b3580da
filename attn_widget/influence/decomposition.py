"""Decomposition of a target: one backward pass of the network, linearized at the run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attn_widget.figures.arrays import Float64
from attn_widget.influence.attention_block import layer_of
from attn_widget.influence.passes import differentiable, entering, fast_attention, first_vectors
from attn_widget.model.encoder import HeadMeans
from attn_widget.trace.class_gradients import SOFTMAX

if TYPE_CHECKING:
    from attn_widget.influence.bound_target import BoundTarget
    from attn_widget.model.encoder import Encoder
    from attn_widget.trace.run import Run

ACTIVATIONS = (
    *(functional.gelu, functional.relu, functional.silu, functional.elu, functional.leaky_relu),
    *(torch.relu, torch.Tensor.relu, torch.tanh, torch.Tensor.tanh),
)


def decomposition(run: Run, bound: BoundTarget) -> tuple[Float64, float]:
    """Contributions of each token, and of all biases together, to the target: float64 [n] and the bias.

    With the attention weights, every LayerNorm's standard deviation and the ratios ``act(z) / z`` held
    as the run has them, the target is linear in the vectors ``e_j`` that enter the first layer:
    ``c_j = <d s / d e_j, e_j>``, and ``sum_j c_j + bias = s``. In a gated feed-forward network
    ``act(z) * u`` the gate ``act(z)`` is held.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known.

    References
    ----------
    Modarressi, Fayyaz, Aghazadeh, Yaghoobzadeh & Pilehvar (2023), DecompX: Explaining Transformers
    Decisions by Propagating Token Decomposition, ACL: the same numbers, propagated forward.
    """
    encoder = run.encoder
    vectors = first_vectors(run).requires_grad_()
    attention = fast_attention(encoder)
    biases = _biases(encoder)
    # The biases belong to every run of the network: a second decomposition would set them back too soon.
    with encoder.lock, _with_gradients(biases):
        with (
            differentiable(encoder, attention, biases=True),
            entering(run, vectors),
            _held_activations(run),
            _Linearized(),
        ):
            value = bound.value(encoder, run.encoding.inputs)[0]
        slopes: Any = torch.autograd.grad(value, [vectors, *biases], allow_unused=True)
    own = (slopes[0].double() * vectors.detach().double()).sum(dim=-1)[0]
    bias = sum(
        float((slope.double() * parameter.detach().double()).sum())
        for slope, parameter in zip(slopes[1:], biases, strict=True)
        if slope is not None  # pyright: ignore[reportUnnecessaryComparison]: allow_unused gives None
    )
    return own.cpu().numpy(), float(bias)


def _biases(encoder: Encoder) -> list[Any]:
    """Everything that adds to the target and comes from no token."""
    biases = [p for name, p in encoder.network.named_parameters() if name.endswith("bias")]
    means = encoder.ablation
    return [*biases, means.tensor] if encoder.heads_off and isinstance(means, HeadMeans) else biases


@contextmanager
def _with_gradients(tensors: list[Any]) -> Generator[None]:
    before = [tensor.requires_grad for tensor in tensors]
    try:
        for tensor in tensors:
            tensor.requires_grad_()
        yield
    finally:
        for tensor, had in zip(tensors, before, strict=True):
            tensor.requires_grad_(had)


class _Linearized(TorchFunctionMode):
    """Holds what makes the network nonlinear: each operation gives the same number, and a linear gradient."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if func is functional.scaled_dot_product_attention:
            query, key, *rest = args
            return func(query.detach(), key.detach(), *rest, **named)
        if func is functional.layer_norm:
            return _layer_norm(*args, **named)
        result = func(*args, **named)
        if func in SOFTMAX or func is torch.sqrt:  # the second: DeBERTa's own LayerNorm
            return result.detach()
        if func in ACTIVATIONS:
            return _in_proportion(args[0] if args else named["input"], result)
        return result


def _layer_norm(
    vectors: Any, _shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    centered = vectors - vectors.mean(dim=-1, keepdim=True)
    variance = centered.detach().square().mean(dim=-1, keepdim=True)
    result = centered / (variance + eps).sqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


def _in_proportion(vectors: Any, result: Any) -> Any:
    """``result`` as ``given`` times a ratio that is held; where ``given`` is 0, so is ``result``."""
    before, after = vectors.detach(), result.detach()
    return vectors * torch.where(before == 0, torch.zeros_like(after), after / before)


@contextmanager
def _held_activations(run: Run) -> Generator[None]:
    """Activations that are modules: those of several operations, and the gates of feed-forward networks."""
    encoder = run.encoder
    block = encoder.family.block
    gates: set[Any] = set()
    if block is not None and block.gate is not None:
        gates = {layer_of(run, i).get_submodule(block.gate) for i in range(encoder.n_layers)}

    def hold(module: Any, args: Any, output: Any) -> Any:
        return output.detach() if module in gates else _in_proportion(args[0], output)

    with ExitStack() as stack:
        for module in encoder.network.modules():
            if module in gates or type(module).__module__ == "transformers.activations":
                stack.callback(module.register_forward_hook(hold).remove)
        yield
