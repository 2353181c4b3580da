"""The modules of a network in numpy alone, with the interface of torch's that reading a run needs.

Names, parameters and hooks are those of ``torch.nn.Module``, so that what looks inside a network (`attn_widget.trace`)
looks inside this one too. There are no gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# erf(x) = x P(x^2) / Q(x^2) for |x| <= 4, beyond which it is 1 in float32; highest power first. The fit is Eigen's.
ERF_P = (
    *(-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05),
    *(-7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02),
)
ERF_Q = (
    *(-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03),
    *(-7.37332916720468e-03, -1.42647390514189e-02),
)
ERF_IS_ONE = 4.0
NUMBERS_AT_ONCE = 1 << 15  # of `gelu`: a core's cache holds its steps


class Handle:
    """A registered hook."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook

    def remove(self) -> None:
        self._hooks.remove(self._hook)


class Module:
    """A part of a network: its attributes are its parameters (arrays) and its parts (modules)."""

    training = False
    padding_idx: int | None = None

    def __init__(self) -> None:
        self._before: list[tuple[Any, bool]] = []
        self._after: list[tuple[Any, bool]] = []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`forward`, with the hooks before and after it, as torch calls them."""
        for hook, with_kwargs in tuple(self._before):
            changed = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if changed is not None:
                args, kwargs = changed if with_kwargs else (changed, kwargs)
        output = self.forward(*args, **kwargs)
        for hook, with_kwargs in tuple(self._after):
            changed = hook(self, args, kwargs, output) if with_kwargs else hook(self, args, output)
            output = output if changed is None else changed
        return output

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, with_kwargs: bool = False
    ) -> Handle:
        self._before.append((hook, with_kwargs))
        return Handle(self._before, (hook, with_kwargs))

    def register_forward_hook(
        self, hook: Callable[..., Any], *, with_kwargs: bool = False
    ) -> Handle:
        self._after.append((hook, with_kwargs))
        return Handle(self._after, (hook, with_kwargs))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        yield prefix, self
        for name, child in self.named_children():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def named_parameters(self) -> Iterator[tuple[str, Floats]]:
        """Every parameter once, where it stands first."""
        seen: set[int] = set()
        for prefix, module in self.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, np.ndarray) and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{prefix}.{name}" if prefix else name), value

    def parameters(self) -> Iterator[Floats]:
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Floats]]:
        return iter(())

    def buffers(self) -> Iterator[Floats]:
        return iter(())

    def get_submodule(self, name: str) -> Any:
        module: Any = self
        for part in name.split("."):
            module = getattr(module, part)
        return module


class ModuleList(Module):
    def __init__(self, modules: list[Any]) -> None:
        super().__init__()
        self._listed = modules

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((str(i), module) for i, module in enumerate(self._listed))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._listed)

    def __getitem__(self, index: int) -> Any:
        return self._listed[index]


class Linear(Module):
    def __init__(self, weight: Floats, bias: Floats) -> None:
        super().__init__()
        self.weight = weight
        self.bias = bias

    def forward(self, x: Floats) -> Floats:
        flat = x.reshape(-1, x.shape[-1]) @ self.weight.T
        flat += self.bias
        return flat.reshape(*x.shape[:-1], -1)


class Embedding(Module):
    def __init__(self, weight: Floats, padding_idx: int | None = None) -> None:
        super().__init__()
        self.weight = weight
        self.padding_idx = padding_idx
        self.num_embeddings = len(weight)

    def forward(self, ids: NDArray[np.int64]) -> Floats:
        return self.weight[ids]


class LayerNorm(Module):
    def __init__(self, weight: Floats, bias: Floats, eps: float) -> None:
        super().__init__()
        self.weight = weight
        self.bias = bias
        self.eps = float(eps)

    def forward(self, x: Floats) -> Floats:
        centered = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centered).mean(axis=-1, keepdims=True)
        variance += np.float32(self.eps)
        centered /= np.sqrt(variance)
        centered *= self.weight
        centered += self.bias
        return centered


def erf(x: Floats) -> Floats:
    """The error function, to a few units of float32.

    >>> from math import erf as exact
    >>> x = np.linspace(-6, 6, 1001, dtype=np.float32)
    >>> bool(np.abs(erf(x) - [exact(value) for value in x.tolist()]).max() < 2**-21)
    True
    """
    x = x.clip(-ERF_IS_ONE, ERF_IS_ONE)
    square = x * x
    above = _polynomial(ERF_P, square)
    above *= x
    above /= _polynomial(ERF_Q, square)
    return above


def _polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    first, *others = (np.float32(value) for value in coefficients)
    value = np.full_like(x, first)
    for coefficient in others:
        value *= x
        value += coefficient
    return value


def gelu(x: Floats) -> Floats:
    """``x (1 + erf(x / sqrt 2)) / 2``, the exact one."""
    flat = x.reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, len(flat), NUMBERS_AT_ONCE):
        part = flat[start : start + NUMBERS_AT_ONCE]
        half = erf(part * np.float32(0.5**0.5))
        half += 1
        half *= part
        np.multiply(half, np.float32(0.5), out=result[start : start + NUMBERS_AT_ONCE])
    return result.reshape(x.shape)


def softmax(scores: Floats) -> Floats:
    """The softmax of every row, in place of ``scores``."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores
