"""Contributions by gradients: gradient x input, integrated gradients, gradients of attention."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch

from attn_widget.errors import NotAvailableError
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.features.why.passes import (
    TOKENS_AT_ONCE,
    differentiable,
    entering,
    fast_attention,
    finite,
    first_vectors,
)
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.model.families import layer_modules
from attn_widget.trace.forward import Progress, copies_of, inference_mode, on_device
from attn_widget.trace.hooks import hidden_of, hooked
from attn_widget.trace.run import Run
from attn_widget.trace.softmax_tap import SoftmaxMode

STEPS = 64  # of the path; doubled until the gap is small
MAX_STEPS = 1024
SHORT = 64  # tokens of a text for which gradients by vectors and by weights come from one pass
SMALL_GAP = 0.01  # of the difference that the contributions add up to


def gradient_x_input(run: Run, bound: BoundTarget) -> Float64:
    """``<d s / d e_j, e_j>`` with the vectors ``e_j`` that enter the first layer, float64 [n]."""
    if _shared(run, bound):
        with suppress(NotAvailableError):
            return _of_one_pass(run, bound).inputs
    encoder = run.encoder
    vectors = first_vectors(run).requires_grad_()
    with differentiable(encoder, fast_attention(encoder)), entering(run, vectors):
        value = bound.value(encoder, run.encoding.inputs)[0]
        (slope,) = torch.autograd.grad(value, [vectors])
    return _times(slope, vectors)


def _times(slope: torch.Tensor, vectors: torch.Tensor) -> Float64:
    return (slope.double() * vectors.detach().double()).sum(dim=-1)[0].cpu().numpy()


def integrated_gradients(
    run: Run, bound: BoundTarget, progress: Progress | None = None
) -> tuple[Float64, float, float]:
    """Gradients along the straight path from the masked text to the text.

    ``contributions``, float64 [n]: they add up to the difference of the target's values, up to the gap.
    ``baseline``: the target's value of the baseline: every token of the text masked, special tokens kept. ``gap``:
    ``|sum of contributions - difference| / |difference|``: at most 1%, or as small as 1024 steps make it.

    References
    ----------
    Sundararajan, Taly & Yan (2017), Axiomatic Attribution for Deep Networks, ICML.
    """
    encoder = run.encoder
    if all(token.special or token.id == encoder.mask_token_id for token in run.trace.tokens):
        raise NotAvailableError(
            "Every word of the text is masked already, so integrated gradients have no path from a "
            "masked text to this one."
        )
    vectors = first_vectors(run)
    baseline = _masked_vectors(run)
    inputs = run.encoding.inputs

    def values(batch: torch.Tensor) -> torch.Tensor:
        copies = copies_of(inputs, len(batch))
        with entering(run, batch):
            return bound.value(encoder, copies)

    size = max(1, TOKENS_AT_ONCE // run.trace.n_tokens)
    with differentiable(encoder, fast_attention(encoder)):
        with torch.no_grad():
            ends = finite(run, torch.cat([values(vectors), values(baseline)]))
        difference = float(ends[0] - ends[1])
        steps = STEPS
        while True:
            own = along_path(values, baseline, vectors, steps, size)
            gap = abs(float(own.sum()) - difference) / max(abs(difference), 1e-9)
            if progress is not None:
                progress(steps, MAX_STEPS)
            if gap <= SMALL_GAP or steps >= MAX_STEPS:
                return own, float(ends[1]), gap
            steps *= 2


def along_path(
    values: Callable[[torch.Tensor], torch.Tensor],
    start: torch.Tensor,
    end: torch.Tensor,
    steps: int,
    at_once: int,
) -> Float64:
    """Mean slope on the way from ``start`` to ``end`` [1, n, d], by Gauss and Legendre, times the way: float64 [n]."""
    nodes, shares = (torch.from_numpy(found) / 2 for found in np.polynomial.legendre.leggauss(steps))  # fmt: skip
    nodes, shares = (found.to(end.device)[:, None, None] for found in (nodes + 0.5, shares))
    mean = torch.zeros_like(end[0], dtype=torch.float64)
    for first in range(0, steps, at_once):
        part = slice(first, first + at_once)
        points = (start + nodes[part].to(end.dtype) * (end - start)).requires_grad_()
        (slopes,) = torch.autograd.grad(values(points).sum(), [points])
        mean += (shares[part] * slopes).sum(dim=0)
    return (mean * (end - start)[0]).sum(dim=-1).detach().cpu().numpy()


def attention_gradient(run: Run, bound: BoundTarget) -> Float32:
    """``mean_h (d s / d A * A)+`` rolled over the layers, averaged over the rows that the head reads.

    ``R <- R + M_l R`` from ``R = I``; the 1 that a position starts with is taken off again. Unsigned,
    float32 [n].

    References
    ----------
    Chefer, Gur & Wolf (2021), Generic Attention-model Explainability for Interpreting Bi-Modal and
    Encoder-Decoder Transformers, ICCV.
    """
    if _shared(run, bound):
        return _of_one_pass(run, bound).attention
    return _rolled(run, bound, weights_and_slopes(run, bound))


def _rolled(run: Run, bound: BoundTarget, pairs: list[tuple[Float64, Float64]]) -> Float32:
    n = run.trace.n_tokens
    rolled = np.eye(n)
    for weights, slopes in pairs:
        step = np.maximum(weights * slopes, 0).mean(axis=0)
        rolled = rolled + step @ rolled
    rows = list(bound.rows)
    return (rolled[rows].mean(axis=0) - np.eye(n)[rows].mean(axis=0)).astype(np.float32)


class _OfOnePass(NamedTuple):
    """Two methods for one target, which share their pass and most of its way back."""

    of: BoundTarget
    inputs: Float64  # [n]; gradient_x_input
    attention: Float32  # [n]; attention_gradient


_latest: WeakKeyDictionary[Run, _OfOnePass] = WeakKeyDictionary()


def _shared(run: Run, bound: BoundTarget) -> bool:
    """True for a short text, whose weights of all layers are no burden, and a target that its fields tell from others."""
    return run.trace.n_tokens <= SHORT and bound.other is None


def _of_one_pass(run: Run, bound: BoundTarget) -> _OfOnePass:
    """Both methods; the latest target's are kept, for a page asks for both of them."""
    found = _latest.get(run)
    if found is None or found.of != bound:
        pairs, inputs = _slopes(run, bound)
        found = _latest[run] = _OfOnePass(bound, inputs, _rolled(run, bound, pairs))
    return found


def weights_and_slopes(run: Run, bound: BoundTarget) -> list[tuple[Float64, Float64]]:
    """Attention weights of each layer, and the target's derivative by them: float64 [H, n, n] each."""
    return _slopes(run, bound)[0]


def _slopes(run: Run, bound: BoundTarget) -> tuple[list[tuple[Float64, Float64]], Float64]:
    """`weights_and_slopes`, and what they leave for the vectors that enter: `gradient_x_input`."""
    encoder = run.encoder
    vectors = first_vectors(run).requires_grad_()  # so that every softmax is part of the graph
    tap = _Weights(encoder.n_heads, run.trace.n_tokens)
    with differentiable(encoder, "eager"), entering(run, vectors):
        with tap:
            value = bound.value(encoder, run.encoding.inputs)[0]
        if len(tap.seen) != encoder.n_layers:
            raise NotAvailableError(
                f"The weights of {encoder.name} ({encoder.family.name}) cannot be followed: they are "
                "not one n x n matrix for each head and layer."
            )
        *slopes, entering_slope = torch.autograd.grad(value, [*tap.seen, vectors])
    n = run.trace.n_tokens
    pairs = [
        (w.detach()[0, ..., :n].double().cpu().numpy(), slope[0, ..., :n].double().cpu().numpy())
        for w, slope in zip(tap.seen, slopes, strict=True)
    ]
    return pairs, _times(entering_slope, vectors)


class _Weights(SoftmaxMode):
    """Keeps what every softmax over [1, H, n, n] gives, as part of the graph."""

    def __init__(self, n_heads: int, n_tokens: int) -> None:
        super().__init__(n_heads)
        self.n_tokens = n_tokens
        self.seen: list[torch.Tensor] = []

    def after(self, weights: torch.Tensor) -> torch.Tensor:
        n = self.n_tokens
        if weights.dim() == 4 and weights.shape[2:] in ((n, n), (n, n + 1)):
            self.seen.append(weights)  # the last of n + 1 is a learned sink
        return weights


def _masked_vectors(run: Run) -> torch.Tensor:
    """Input of the first layer with every token of the text masked, tensor [1, n, d]."""
    encoder = run.encoder
    if encoder.mask_token_id is None:
        raise NotAvailableError(
            f"{encoder.name} has no mask token, so there is no masked text to start from."
        )
    inputs = {name: tensor.clone() for name, tensor in run.encoding.inputs.items()}
    words = [i for i, token in enumerate(run.trace.tokens) if not token.special]
    inputs["input_ids"][0, words] = encoder.mask_token_id
    first = (layer_modules(encoder.family, encoder.network) or [])[0]
    vectors: list[torch.Tensor] = []

    def keep(_module: Any, args: Any, kwargs: Any) -> None:
        vectors.append(hidden_of(args, kwargs))

    with inference_mode(encoder), hooked([first], before=keep):
        encoder.network.base_model(**on_device(encoder, inputs))
    return vectors[0]
