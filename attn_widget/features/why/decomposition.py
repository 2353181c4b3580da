"""Decomposition of a target: one backward pass of the network, linearized at the run."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from attn_widget.errors import NotAvailableError
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.features.why.linearized import linearized
from attn_widget.features.why.passes import (
    embedding_shift,
    fast_attention,
    first_vectors,
)
from attn_widget.figures.arrays import Float64
from attn_widget.influence.attention_block import layer_of
from attn_widget.model.encoder import Encoder, HeadMeans
from attn_widget.trace.run import Run

ROUNDED = 8  # times the unit of a model's type: what rounding may take of a sum
LARGEST_GAP = 0.01  # of what is summed: a sum that misses more is no decomposition


class Decomposed(NamedTuple):
    """Contributions to a target, which add up to it."""

    # [n]; of each token; of an encoder-decoder, of the target's tokens that the decoder reads.
    values: Float64
    bias: float  # of all biases together
    # [m] or None; of an encoder-decoder, those of the source's tokens.
    source: Float64 | None = None


def decomposition(run: Run, bound: BoundTarget) -> Decomposed:
    """Contributions of each token, and of all biases together, to the target.

    With the attention weights, every LayerNorm's standard deviation and the ratios ``(act(z) - act(0)) / z`` held
    as the run has them, the target is linear in the vectors ``e_j`` that enter the first layer:
    ``c_j = <d s / d e_j, e_j>``, and ``sum_j c_j + bias = s``. In a gated feed-forward network
    ``act(z) * u`` the gate ``act(z)`` is held. Of a similarity, ``e_j`` is without the shift of the embeddings' norm,
    which belongs to the bias. Of an encoder-decoder, the vectors that enter the first layers of encoder and decoder.

    Raises `NotAvailableError`: a family whose layers are not known, or whose feed-forward networks are mixtures of
    experts.

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

    Raises `NotAvailableError`: as `decomposition`.
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

    ``values_of``: runs the network; gives the numbers, tensor [k]. ``embedding``: the numbers are similarities.
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
def with_gradients(tensors: list[Any]) -> Generator[None]:
    before = [tensor.requires_grad for tensor in tensors]
    try:
        for tensor in tensors:
            tensor.requires_grad_()
        yield
    finally:
        for tensor, had in zip(tensors, before, strict=True):
            tensor.requires_grad_(had)


def check_closes(gap: float | None, what: str, run: Run) -> None:
    """Refuse a sum that does not give what it is a sum of: something in the network is not linear with what is held.

    ``gap``: relative to what is summed. ``what``: of the message: ``"The contributions by 'decomposition'"``.
    """
    rounded = ROUNDED * torch.finfo(run.encoder.dtype).eps
    if gap is not None and not gap <= max(LARGEST_GAP, rounded):
        raise NotAvailableError(
            f"{what} miss {100 * gap:.3g}% of what they add up to, because {run.encoder.name} computes something that is "
            "not linear with its attention, norms and activations held.",
            "Ask for occlusion, or for the effects of heads, which rest on no such sum.",
        )
