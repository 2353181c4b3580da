"""The network, linear at a run: attention weights, norm divisors and activation ratios are held."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attn_widget.features.why.passes import differentiable, entering
from attn_widget.influence.attention_block import layers_of
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

# Sums that model files write out.
ADDED = (
    *(torch.add, torch.Tensor.add, torch.Tensor.add_),
    *(torch.Tensor.__add__, torch.Tensor.__radd__, torch.Tensor.__iadd__),
)
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


@contextmanager
def linearized(
    runs: Sequence[Run], vectors: Sequence[torch.Tensor], attention: str, constant: torch.Tensor
) -> Generator[None]:
    """The network, linear in ``vectors`` [1, n, d] that enter the first layer: the same values, other gradients.

    Several runs are of the parts of an encoder-decoder. Hold the encoder's lock, and let the biases have gradients.

    ``constant``, float tensor []: 1, of the biases: what activations give of 0 (a sigmoid 0.5) is a multiple of it.
    """
    with ExitStack() as stack:
        stack.enter_context(differentiable(runs[0].encoder, attention, biases=True))
        for run, entered in zip(runs, vectors, strict=True):
            stack.enter_context(entering(run, entered))
        stack.enter_context(held_activations(activations_of(runs), constant))
        stack.enter_context(Linearized(constant))
        yield


class Linearized(TorchFunctionMode):
    """Holds what makes the network nonlinear: each operation gives the same number, and a linear derivative.

    Derivatives by what enters are taken backward, where biases are parameters with gradients of their own, or forward
    (``forward=True``): then each bias is a multiple of ``constant``, whose tangent says where it belongs.

    ``constant``, float tensor [] or [n, 1]: 1, of each token or of all.
    """

    def __init__(self, constant: torch.Tensor, *, forward: bool = False) -> None:
        super().__init__()
        self.constant = constant
        self.forward = forward

    def moves(self, value: Any) -> bool:
        """True of a tensor that has a tangent; backward, of one that has a gradient."""
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return False
        if not self.forward:
            return value.requires_grad
        return forward_ad.unpack_dual(value).tangent is not None

    def bias(self, bias: Any) -> Any:
        """A bias [..., d] as it is added to vectors that move."""
        return bias * self.constant.to(bias) if self.forward else bias

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if func is functional.scaled_dot_product_attention:
            query, key, *rest = args
            return func(query.detach(), key.detach(), *rest, **named)
        if func is functional.layer_norm:
            return self._layer_norm(*args, **named)
        if func is functional.normalize:
            return _normalized(*args, **named)
        if self.forward and func in (functional.linear, torch.addmm, *ADDED):
            return self._added(func, args, named)
        result = func(*args, **named)
        # torch.erf is of a GELU that is written out.
        if func in SOFTMAX or func in ROOTS or func in GATES or func is torch.erf:
            return result.detach()
        if func in ACTIVATIONS and self.moves(result):
            given, *more = args or [named.pop("input")]
            return _in_proportion(
                given, result, lambda zeros: func(zeros, *more, **named), self.constant
            )
        return result

    def _layer_norm(
        self, vectors: Any, _shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
    ) -> Any:
        centered = vectors - vectors.mean(dim=-1, keepdim=True)
        variance = centered.detach().square().mean(dim=-1, keepdim=True)
        divisor = (variance + eps).sqrt()
        if self.forward:  # one product for all copies instead of two
            result = centered * ((1 if weight is None else weight) / divisor)
        else:
            result = centered / divisor if weight is None else centered / divisor * weight
        if bias is None:
            return result
        return result + (self.bias(bias) if self.moves(vectors) else bias)

    def _added(self, func: Any, args: Any, named: dict[str, Any]) -> Any:
        """A sum: what does not move and is the same for every token is a bias of what does."""
        if func is functional.linear:
            names = ("input", "weight", "bias")
            given = {**dict(zip(names, args, strict=False)), **named}
            if given.get("bias") is None or not self.moves(given["input"]):
                return func(*args, **named)
            return func(given["input"], given["weight"]) + self.bias(given["bias"])
        if func is torch.addmm:
            bias, vectors, weight = args
            return (
                vectors @ weight + self.bias(bias) if self.moves(vectors) else func(*args, **named)
            )
        if not named:
            for vectors, bias in (args, args[::-1]):
                if self.moves(vectors) and _same_for_all(bias) and not self.moves(bias):
                    return vectors + self.bias(bias)
        return func(*args, **named)


def _same_for_all(added: Any) -> bool:
    """True of a tensor of numbers [..., 1, d], which is added to every token."""
    if not isinstance(added, torch.Tensor) or not added.is_floating_point() or added.ndim == 0:
        return False
    return added.ndim == 1 or added.shape[-2] == 1


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


class Activations(NamedTuple):
    """Activations that are modules: those of several operations, and the gates of feed-forward networks."""

    modules: list[Any]
    gates: set[Any]


def activations_of(runs: Sequence[Run]) -> Activations:
    gates: set[Any] = set()
    for run in runs:
        block = run.encoder.family.block
        if block is not None and block.gate is not None:
            gates |= {layer.get_submodule(block.gate) for layer in layers_of(run)}

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

    return Activations([*filter(held, runs[0].encoder.network.modules())], gates)


@contextmanager
def held_activations(activations: Activations, constant: torch.Tensor) -> Generator[None]:
    """Each activation is a ratio times what it is given, and each gate a number, as the run has them."""
    given: list[Any] = []

    def take(_module: Any, args: Any, kwargs: Any) -> Any:
        given.append(args[0])
        return (args[0].detach(), *args[1:]), kwargs

    def hold(module: Any, _args: Any, _kwargs: Any, output: Any) -> Any:
        vectors = given.pop()
        if module in activations.gates:
            return output.detach()
        return _in_proportion(vectors, output, module.forward, constant)

    modules = activations.modules
    with _written_out(modules), hooked(modules, before=take, after=hold):
        yield


@contextmanager
def _written_out(modules: Sequence[Any]) -> Generator[None]:
    """BLOOM's own activation as a function: its class of `torch.autograd` has no forward derivative."""
    own = [module for module in modules if type(module).__name__ in OWN_ACTIVATIONS]
    try:
        for module in own:
            module.forward = import_module(type(module).__module__).bloom_gelu_forward
        yield
    finally:
        for module in own:
            module.__dict__.pop("forward", None)
