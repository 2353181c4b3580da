"""Forward passes from vectors that enter the first layer, and batches of changed texts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch

from attn_widget.errors import NotAvailableError, NotFiniteError
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.figures.arrays import Float64
from attn_widget.influence.attention_block import layer_of, layers_of
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import layer_modules, submodule
from attn_widget.trace.changed_rows import ChangedRows
from attn_widget.trace.forward import Progress, inference_mode, on_device
from attn_widget.trace.hooks import hooked, with_hidden
from attn_widget.trace.run import Run
from attn_widget.trace.softmax_tap import SoftmaxMode
from attn_widget.trace.windows.masks import looks_back

TOKENS_AT_ONCE = 4096  # of one batch of texts
WEIGHTS_AT_ONCE = 16_000_000  # attention weights of a layer in such a batch: 64 MB


def first_vectors(run: Run) -> torch.Tensor:
    """The vectors ``e_j`` that enter the first layer, tensor [1, n, d] where the model is.

    Raises `NotAvailableError`: a family whose layers are not known.
    """
    layer_of(run, 0)
    states = run.trace.hidden_states
    assert states is not None  # of every run
    return torch.from_numpy(np.array(states[:1])).to(run.encoder.device, run.encoder.dtype)


def embedding_shift(encoder: Encoder) -> torch.Tensor | None:
    """The part of the vectors that enter the first layer that no token brings, tensor [d].

    The shift of the embeddings' norm, through the projection to the hidden size and with its bias where there is one. None
    where the family has no such parameters, or they are not known.
    """
    names, base = encoder.family.embeddings, encoder.network.base_model
    if names is None:
        return None
    norm, projection = submodule(base, names.norm), submodule(base, names.projection)
    shift = getattr(norm, "bias", None)
    if projection is None:
        return None if shift is None else shift.detach()
    if shift is None:
        bias = getattr(projection, "bias", None)
        return None if bias is None else bias.detach()
    with torch.no_grad():
        return projection(shift)


def entering(run: Run, vectors: torch.Tensor) -> AbstractContextManager[None]:
    """The first layer reads ``vectors`` [B, n, d] whatever the embeddings give. Hold the encoder's lock."""
    return entering_first(layers_of(run), vectors)


@contextmanager
def entering_first(modules: Sequence[Any], vectors: torch.Tensor) -> Generator[None]:
    """`entering` the first of a network's layers."""
    turns = 0
    uses = sum(module is modules[0] for module in modules)

    def replace(_module: Any, args: Any, kwargs: Any) -> Any:
        nonlocal turns
        turns += 1
        if (turns - 1) % uses:  # ALBERT: the module serves as a later layer
            return None
        return with_hidden(vectors, args, kwargs)

    with hooked(modules[:1], before=replace):
        yield


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
    """The fastest attention implementation that the family has: capped scores and learned sinks need its own."""
    own = encoder.family.mechanism == "softmax" or not _has_fast(encoder.network)
    return "eager" if own else "sdpa"


def _has_fast(network: Any) -> bool:
    return bool(getattr(network, "_supports_sdpa", True))


def value_of(run: Run, bound: BoundTarget) -> float:
    """The target's value in a run, by the logits that the run has left."""
    return float(finite(run, bound.of(logits_of(run, bound)))[0])


def probability_of(run: Run, bound: BoundTarget) -> float:
    """The target's probability in a run, by the logits that the run has left."""
    return float(finite(run, bound.probability_of(logits_of(run, bound)))[0])


def logits_of(run: Run, bound: BoundTarget) -> torch.Tensor:
    """The logits [1, C] that a run has left of the target's head; of a similarity, itself."""
    if bound.kind == "similarity":
        states = run.trace.hidden_states
        assert states is not None  # of every run
        hidden = torch.from_numpy(np.array(states[-1:])).to(run.encoder.device, run.encoder.dtype)
        with inference_mode(run.encoder):
            inputs = on_device(run.encoder, run.encoding.inputs)
            return bound.similarities(run.encoder, hidden, inputs)
    if bound.kind == "token":
        return torch.as_tensor(run.trace.logits_tensor([bound.position]))
    nsp = bound.kind == "next_sentence"
    stored = run.trace.nsp_logits if nsp else run.trace.classifier_logits
    assert stored is not None  # `bind` has refused such a model
    return torch.from_numpy(
        np.atleast_2d(stored if bound.position is None else stored[bound.position])
    )


def of_masked(
    run: Run,
    bound: BoundTarget,
    read: Callable[[torch.Tensor], torch.Tensor],
    groups: Sequence[Sequence[int]],
    progress: Progress | None,
) -> Float64:
    """``read`` of the target's logits with each group of positions masked, or of a decoder knocked out, float64 [groups].

    ``read`` is `BoundTarget.of` or `BoundTarget.probability_of`. Texts are run in batches.
    """
    encoder, inputs = run.encoder, run.encoding.inputs
    batches: list[Float64] = []
    n = run.trace.n_tokens
    size = max(1, TOKENS_AT_ONCE // n)
    if encoder.predicts == "next":
        size = max(1, min(size, WEIGHTS_AT_ONCE // (encoder.n_heads * n * n)))
    for start in range(0, len(groups), size):
        chosen = groups[start : start + size]
        if encoder.predicts == "next":
            logits = _knocked_out(run, bound, chosen)
        else:
            batch = {name: tensor.repeat(len(chosen), 1) for name, tensor in inputs.items()}
            mask = encoder.mask_token_id
            assert mask is not None  # the caller has asked
            for row, positions in enumerate(chosen):
                batch["input_ids"][row, list(positions)] = mask
            with inference_mode(encoder):
                logits = bound.logits(encoder, batch)
        batches.append(finite(run, read(logits)))
        if progress is not None:
            progress(start + len(chosen), len(groups))
    return np.concatenate(batches) if batches else np.zeros(0)


def before_target(run: Run, bound: BoundTarget, words: list[list[int]]) -> list[list[int]]:
    """The words that the target can depend on: in a causal run, those before its last position."""
    if not _is_causal(run):
        return words
    return [pieces for pieces in words if pieces[0] < max(bound.rows)]


def _is_causal(run: Run) -> bool:
    return all(looks_back(run.trace.mask(layer)) for layer in range(run.trace.n_layers))


def _knocked_out(run: Run, bound: BoundTarget, groups: Sequence[Sequence[int]]) -> torch.Tensor:
    """Logits of copies of the text, in each of which no other token looks at a group of positions, in any layer.

    A token without a stand-in (a mask token) is taken out of what the others read: attention knock-out. Copy 0 of the batch is
    the text as it is: in a causal run the others have its rows up to the first position that is out, which
    reads itself as before.

    References
    ----------
    Geva, Bastings, Filippova & Globerson (2023), Dissecting Recall of Factual Associations in Auto-Regressive Language
    Models, EMNLP.
    """
    encoder, n, copies = run.encoder, run.trace.n_tokens, 1 + len(groups)
    forbidden = torch.zeros(copies, n, n, dtype=torch.bool, device=encoder.device)
    changed = torch.ones(copies, n, dtype=torch.bool, device=encoder.device)
    # A head that is off may give each position its mean over all of them.
    causal = _is_causal(run) and not encoder.heads_off
    for row, positions in enumerate(groups, 1):
        for key in positions:
            forbidden[row, :, key] = True
            forbidden[row, key, key] = False
        if causal:
            changed[row, : min(positions, default=n) + 1] = False
            changed[row, max(bound.rows) + 1 :] = False  # which the target does not see
    batch = {name: tensor.repeat(copies, 1) for name, tensor in run.encoding.inputs.items()}
    tap, rows = _Forbidding(encoder.n_heads, forbidden), ChangedRows(changed)
    layers = layer_modules(encoder.family, encoder.network) or []
    with inference_mode(encoder, "eager"), rows, rows.in_feed_forwards(encoder, layers), tap:
        logits = bound.logits(encoder, batch)
    if tap.seen != encoder.n_layers:
        raise NotAvailableError(
            f"The weights of {encoder.name} ({encoder.family.name}) cannot be followed: they are not one n x n matrix for "
            "each head and layer, so no token can be knocked out."
        )
    return logits[1:]


class _Forbidding(SoftmaxMode):
    """Takes cells [B, n, n] out of the softmax of every head and layer; a learned sink's column stays."""

    def __init__(self, n_heads: int, forbidden: torch.Tensor) -> None:
        super().__init__(n_heads)
        self.forbidden = forbidden
        self.seen = 0

    def before(self, scores: torch.Tensor) -> torch.Tensor:
        copies, n, _ = self.forbidden.shape
        if scores.dim() == 4 and (scores.shape[0], scores.shape[2]) == (copies, n):
            self.seen += 1
            scores = scores.clone()
            scores[..., :n].masked_fill_(self.forbidden[:, None], -torch.inf)
        return scores


def finite(run: Run, values: torch.Tensor) -> Float64:
    """Values [B] as float64; see `check_finite`."""
    return check_finite(run, values.detach().double().cpu().numpy())


def check_finite(run: Run, array: Float64) -> Float64:
    """``array``, if it holds numbers alone."""
    if not np.isfinite(array).all():
        raise NotFiniteError(
            f"{run.encoder.name} gives {array[~np.isfinite(array)][0]} for this target.",
            "Its weights hold NaN, or overflow.",
        )
    return array
