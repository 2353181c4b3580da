"""Decomposition of a target: one backward pass of the network, linearized at the run."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attn_widget.errors import NotAvailableError
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.features.why.passes import (
    differentiable,
    embedding_shift,
    entering,
    fast_attention,
    first_vectors,
)
from attn_widget.figures.arrays import Float64
from attn_widget.influence.attention_block import layer_of
from attn_widget.model.encoder import Encoder, HeadMeans
from attn_widget.trace.hooks import hooked
from attn_widget.trace.run import Run
from attn_widget.trace.softmax_tap import SOFTMAX

# Functions of each number by itself, which are a ratio times it: activations, and the bounds of queries, keys and values.
ACTIVATIONS = (
    *(functional.gelu, functional.relu, functional.silu, functional.elu, functional.leaky_relu),
    *(functional.relu6, functional.hardtanh, functional.mish, functional.selu, functional.prelu),
    *(functional.softplus, functional.hardswish, functional.celu),
    *(torch.relu, torch.Tensor.relu, torch.tanh, torch.Tensor.tanh),
    *(torch.clamp, torch.Tensor.clamp, torch.clip, torch.Tensor.clip),
)
# Outside of a module that is an activation, these are gates: a factor of something else.
GATES = (torch.sigmoid, torch.Tensor.sigmoid, functional.sigmoid)

# Square roots of LayerNorms and RMSNorms that model files write out.
ROOTS = (torch.sqrt, torch.rsqrt, torch.Tensor.sqrt, torch.Tensor.rsqrt)
# Modules that are activations of several operations, besides those of transformers.activations.
OWN_ACTIVATIONS = ("BloomGelu",)
# Modules that `torch.nn` keeps with its activations and that are no functions of each number by itself.
NOT_ELEMENTWISE = (
    nn.MultiheadAttention,
    nn.Softmax,
    nn.Softmax2d,
    nn.LogSoftmax,
    nn.Softmin,
    nn.GLU,
)
ROUNDED = 8  # times the unit of a model's type: what rounding may take of a sum
LARGEST_GAP = 0.01  # of what is summed: a sum that misses more is no decomposition


class Decomposed(NamedTuple):
    """Contributions to a target, which add up to it.

    Attributes
    ----------
    values : float64 [n]
        Of each token; of an encoder-decoder, of the target's tokens that the decoder reads.
    bias : float
        Of all biases together.
    source : float64 [m] or None
        Of an encoder-decoder, those of the source's tokens.
    """

    values: Float64
    bias: float
    source: Float64 | None = None


def decomposition(run: Run, bound: BoundTarget) -> Decomposed:
    """Contributions of each token, and of all biases together, to the target.

    With the attention weights, every LayerNorm's standard deviation and the ratios ``(act(z) - act(0)) / z`` held
    as the run has them, the target is linear in the vectors ``e_j`` that enter the first layer:
    ``c_j = <d s / d e_j, e_j>``, and ``sum_j c_j + bias = s``. In a gated feed-forward network
    ``act(z) * u`` the gate ``act(z)`` is held. Of a similarity, ``e_j`` is without the shift of the embeddings' norm,
    which belongs to the bias. Of an encoder-decoder, the vectors that enter the first layers of encoder and decoder.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known, or whose feed-forward networks are mixtures of experts.

    References
    ----------
    Modarressi, Fayyaz, Aghazadeh, Yaghoobzadeh & Pilehvar (2023), DecompX: Explaining Transformers
    Decisions by Propagating Token Decomposition, ACL: the same numbers, propagated forward.
    """
    encoder = run.encoder

    def values() -> Any:
        return bound.value(encoder, run.encoding.inputs)

    (found,) = decompositions(run, values, embedding=bound.kind == "similarity")
    return found


def check_linear(run: Run) -> None:
    """Refuse a model that is not linear in the vectors that enter its first layer, whatever is held.

    Raises
    ------
    NotAvailableError
        As `decomposition`.
    """
    layer_of(run, 0)
    block = run.encoder.family.block
    if block is not None and block.experts:
        raise NotAvailableError(
            f"The feed-forward networks of {run.encoder.name} are mixtures of experts, which are not linear with their "
            "gates held, so no sum over tokens gives the target."
        )


def decompositions(
    run: Run, values_of: Callable[[], Any], *, embedding: bool = False
) -> Iterator[Decomposed]:
    """The `decomposition` of each of several numbers that one pass gives, one backward pass each.

    Parameters
    ----------
    values_of : callable
        Runs the network; gives the numbers, tensor [k].
    embedding : bool
        The numbers are similarities.
    """
    encoder = run.encoder
    runs = [run, run.of("encoder")] if encoder.parts else [run]
    check_linear(run)
    vectors = [first_vectors(run).requires_grad_() for run in runs]
    biases = [*biases_of(encoder, embedding=embedding), constant := torch.ones(())]
    # The biases belong to every run of the network: a second decomposition would set them back too soon.
    with encoder.lock, with_gradients(biases):
        with linearized(runs, vectors, fast_attention(encoder), constant):
            values = values_of()
        for index, value in enumerate(values):
            more = index + 1 < len(values)
            slopes: Any = torch.autograd.grad(
                value, [*vectors, *biases], allow_unused=True, retain_graph=more
            )
            yield _decomposed(encoder, slopes, vectors, biases, embedding)


def _decomposed(
    encoder: Encoder, slopes: Any, vectors: list[Any], biases: list[Any], embedding: bool
) -> Decomposed:
    bias = sum(
        float((slope.double() * parameter.detach().double()).sum())
        for slope, parameter in zip(slopes[len(vectors) :], biases, strict=True)
        if slope is not None
    )
    entered = [vector.detach().double() for vector in vectors]
    # A similarity asks what input tokens bring (docs/similarity.md), and the shift of the embeddings' norm is no token's.
    shift = embedding_shift(encoder) if embedding else None
    if shift is not None:
        entered[0] = entered[0] - shift.double()
        bias += float((slopes[0].double() * shift.double()).sum())
    sums = [
        (slope.double() * vector).sum(dim=-1)[0].cpu().numpy()
        for slope, vector in zip(slopes, entered, strict=False)
    ]
    return Decomposed(sums[0], float(bias), *sums[1:])


def biases_of(encoder: Encoder, *, embedding: bool = False) -> list[Any]:
    """Everything that adds to the target and comes from no token; with ``embedding``, the head's biases too."""
    biases = [p for name, p in encoder.network.named_parameters() if name.endswith("bias")]
    buffers = encoder.network.named_buffers()  # BART adds one of them to its logits
    biases += [held for name, held in buffers if name.endswith("final_logits_bias")]
    if embedding and encoder.embedding is not None:
        biases += encoder.embedding.biases()
    means = encoder.ablation
    return [*biases, means.tensor] if encoder.heads_off and isinstance(means, HeadMeans) else biases


@contextmanager
def linearized(
    runs: Sequence[Run], vectors: Sequence[torch.Tensor], attention: str, constant: torch.Tensor
) -> Generator[None]:
    """The network, linear in ``vectors`` [1, n, d] that enter the first layer: the same values, other gradients.

    Several runs are of the parts of an encoder-decoder. Hold the encoder's lock, and let the biases have gradients.

    Parameters
    ----------
    constant : float tensor []
        1, of the biases: what activations give of 0 (a sigmoid 0.5) is a multiple of it.
    """
    with ExitStack() as stack:
        stack.enter_context(differentiable(runs[0].encoder, attention, biases=True))
        for run, entered in zip(runs, vectors, strict=True):
            stack.enter_context(entering(run, entered))
        stack.enter_context(_held_activations(runs, constant))
        stack.enter_context(_Linearized(constant))
        yield


@contextmanager
def with_gradients(tensors: list[Any]) -> Generator[None]:
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

    def __init__(self, constant: torch.Tensor) -> None:
        super().__init__()
        self.constant = constant

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if func is functional.scaled_dot_product_attention:
            query, key, *rest = args
            return func(query.detach(), key.detach(), *rest, **named)
        if func is functional.layer_norm:
            return _layer_norm(*args, **named)
        if func is functional.normalize:
            return _normalized(*args, **named)
        result = func(*args, **named)
        # torch.erf is of a GELU that is written out.
        if func in SOFTMAX or func in ROOTS or func in GATES or func is torch.erf:
            return result.detach()
        if func in ACTIVATIONS and result.requires_grad:
            given, *more = args or [named.pop("input")]
            return _in_proportion(
                given, result, lambda zeros: func(zeros, *more, **named), self.constant
            )
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


def _normalized(
    vectors: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None
) -> Any:
    """As an embedding head calls it, without ``out``: the length is held."""
    assert out is None
    return vectors / vectors.detach().norm(p, dim, keepdim=True).clamp_min(eps)


def _in_proportion(
    vectors: Any, result: Any, function: Callable[[Any], Any], constant: torch.Tensor
) -> Any:
    """``function(vectors)`` as what it gives of 0, which is a bias, and ``vectors`` times a ratio that is held."""
    before, after = vectors.detach(), result.detach()
    of_zero = function(torch.zeros_like(before)).detach()
    ratio = torch.where(before == 0, torch.zeros_like(after), (after - of_zero) / before)
    linear = vectors * ratio
    if not bool(of_zero.any()):
        return linear
    return linear + of_zero * constant.to(of_zero)


def check_closes(gap: float | None, what: str, run: Run) -> None:
    """Refuse a sum that does not give what it is a sum of: something in the network is not linear with what is held.

    Parameters
    ----------
    gap : float or None
        Relative to what is summed.
    what : str
        Of the message: ``"The contributions by 'decomposition'"``.
    """
    rounded = ROUNDED * torch.finfo(run.encoder.dtype).eps
    if gap is not None and not gap <= max(LARGEST_GAP, rounded):
        raise NotAvailableError(
            f"{what} miss {100 * gap:.3g}% of what they add up to, because {run.encoder.name} computes something that is "
            "not linear with its attention, norms and activations held.",
            "Ask for occlusion, or for the effects of heads, which rest on no such sum.",
        )


@contextmanager
def _held_activations(runs: Sequence[Run], constant: torch.Tensor) -> Generator[None]:
    """Activations that are modules: those of several operations, and the gates of feed-forward networks."""
    gates: set[Any] = set()
    for run in runs:
        block, layers = run.encoder.family.block, range(run.encoder.n_layers)
        if block is not None and block.gate is not None:
            gates |= {layer_of(run, i).get_submodule(block.gate) for i in layers}

    def hold(module: Any, args: Any, _kwargs: Any, output: Any) -> Any:
        if module in gates:
            return output.detach()
        return _in_proportion(args[0], output, module.forward, constant)

    def held(module: Any) -> bool:
        kind = type(module)
        is_activation = (
            kind.__module__ == "transformers.activations"
            or kind.__name__ in OWN_ACTIVATIONS
            or (
                kind.__module__ == "torch.nn.modules.activation"
                and not isinstance(module, NOT_ELEMENTWISE)
            )
        )
        return is_activation or module in gates

    with hooked(filter(held, runs[0].encoder.network.modules()), after=hold):
        yield
