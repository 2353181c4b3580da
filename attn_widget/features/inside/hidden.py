"""Hidden states through the layers, residual bars and sinusoidal positions (docs/definitions.md, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attn_widget.errors import InputError
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.trace.layer_activations import LayerParts


@dataclass(frozen=True)
class HiddenPath:
    """Path of each token's hidden state from the embeddings to the last layer.

    Attributes
    ----------
    norms : float32 [L + 1, n]
        Euclidean length of the hidden state; row 0 is the embeddings' output.
    cosines : float32 [L, n]
        Cosine of a layer's output and its input; NaN for a zero vector.
    points : float32 [L + 1, n, 2]
        One principal component analysis over all layers and tokens at once, so that points of
        different layers can be compared.
    explained : float32 [2]
        Share of the variance that each of the two directions carries, in [0, 1].
    """

    norms: Float32
    cosines: Float32
    points: Float32
    explained: Float32


def hidden_path(hidden_states: Float32) -> HiddenPath:
    """Norms, cosines to the layer before, and a 2-D picture of hidden states.

    ``hidden_states``: float32 [L + 1, n, d]. Returns: the sign of a principal direction is chosen so that its
    largest coefficient is positive.

    >>> import numpy as np
    >>> path = hidden_path(np.array([[[3.0, 4.0]], [[6.0, 8.0]]], dtype=np.float32))
    >>> path.norms.tolist(), path.cosines.round(6).tolist()
    ([[5.0], [10.0]], [[1.0]])
    """
    if hidden_states.ndim != 3:
        raise InputError(
            f"Hidden states have shape {list(hidden_states.shape)}, expected [L + 1, n, d]."
        )
    norms = np.linalg.norm(hidden_states, axis=-1)
    dots = np.einsum("lnd,lnd->ln", hidden_states[1:], hidden_states[:-1], dtype=np.float64)
    lengths = norms[1:].astype(np.float64) * norms[:-1]
    cosines = dots / np.where(lengths > 0, lengths, np.nan)
    points, explained = _plane(
        hidden_states.reshape(-1, hidden_states.shape[-1]).astype(np.float64)
    )
    return HiddenPath(
        norms.astype(np.float32),
        cosines.astype(np.float32),
        points.reshape(*hidden_states.shape[:2], 2).astype(np.float32),
        explained.astype(np.float32),
    )


def _plane(rows: Float64) -> tuple[Float64, Float64]:
    """Projection of ``rows`` [m, d] on their first two principal directions, and their shares."""
    centered = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered)
    best = vectors[:, :-3:-1]
    if best.shape[1] < 2:  # one dimension has no second direction
        best = np.pad(best, ((0, 0), (0, 2 - best.shape[1])))
        values = np.concatenate([[0.0], values])
    strongest = np.abs(best).argmax(axis=0)
    best = best * np.where(best[strongest, [0, 1]] < 0, -1.0, 1.0)
    total = values.sum()
    shares = np.maximum(values[:-3:-1], 0) / total if total > 0 else np.zeros(2)
    return centered @ best, shares


def residual_ratio(before: Float32, after: Float32) -> Float32:
    """Change of each token by a sublayer: ``||after - before|| / ||before||``, float32 [n].

    ``before``, ``after``, float32 [n, d]: what enters the sublayer and what stands after its addition (and norm, in
    post-norm models).

    >>> import numpy as np
    >>> residual_ratio(np.array([[3.0, 4.0]], np.float32), np.array([[3.0, 9.0]], np.float32)).tolist()
    [1.0]
    """
    change = np.linalg.norm((after - before).astype(np.float64), axis=-1)
    length = np.linalg.norm(before.astype(np.float64), axis=-1)
    return (change / np.where(length > 0, length, np.nan)).astype(np.float32)


@dataclass(frozen=True)
class Residuals:
    """Change of each token by the two halves of each layer.

    Attributes
    ----------
    attention, ffn : float32 [L, n]
        ``||out - in|| / ||in||``, where ``in`` enters the half and ``out`` stands after its addition
        and, in post-norm models, its norm. NaN for a zero vector.
    """

    attention: Float32
    ffn: Float32


def residual_bars(layer: LayerParts) -> tuple[Float32, Float32]:
    """Change of each token by attention, and by the FFN, in one layer, float32 [n] each.

    What enters a half is its residual sum less what the half adds, so that it is right too where a
    bottleneck narrows the layer's input first (MobileBERT).
    """
    into_attention = layer.attention_sum - layer.attention_output
    into_ffn = layer.ffn_sum - layer.ffn_output
    out = (layer.attention_sum, layer.ffn_sum)
    if not layer.pre_norm:
        out = (layer.attention_norm, layer.ffn_norm)
    return residual_ratio(into_attention, out[0]), residual_ratio(into_ffn, out[1])


def residuals(bars: Sequence[tuple[Float32, Float32]]) -> Residuals:
    """The `residual_bars` of every layer, first layer first."""
    attention, ffn = zip(*bars, strict=True)
    return Residuals(np.stack(attention), np.stack(ffn))


def sinusoidal_positions(n: int, d: int) -> Float32:
    """The fixed position encodings of Vaswani et al. 2017, to compare with learned ones.

    ``PE(p, 2i) = sin(p / 10000^(2i/d))``, ``PE(p, 2i+1) = cos(p / 10000^(2i/d))``.

    ``n``: positions 0 to n - 1. ``d``: width; an odd one ends with a sine. Returns float32 [n, d].

    References
    ----------
    Vaswani et al., "Attention Is All You Need", NeurIPS 2017, section 3.5.

    Examples
    --------
    >>> sinusoidal_positions(2, 4)[1].tolist()
    [0.841..., 0.540..., 0.0099..., 0.9999...]
    """
    if n < 1 or d < 1:
        raise InputError(f"n is {n} and d is {d}, expected at least 1.")
    column = np.arange(d)
    angle = np.arange(n)[:, None] / 10000.0 ** ((column - column % 2) / d)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle)).astype(np.float32)
