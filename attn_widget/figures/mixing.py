"""Mixing from token to token: norms, mixing and ALTI (docs/influence.md, section 1).

All sums run in float64, and the vectors of one block of keys are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.rollout import rollout

BLOCK_BYTES = 4_000_000  # of the vectors of a block of keys
CACHED_BYTES = 200_000  # of the vectors of one key, a block of queries: what a core's cache holds


@dataclass(frozen=True)
class AttentionBlock:
    """The arrays of one layer's attention block, from its weights to its output.

    The output is ``y = norm(sum_h A^h V^h W_O^h + b_O + x)``, or where the norm stands inside the residual (``inner``)
    ``y = norm(sum_h A^h V^h W_O^h + b_O) + x``.
    """

    weights: Float32  # [H, n, n]
    values: Float32  # [H, n, head_dim]; with their bias
    projection: Float32  # [H, head_dim, d]; ``W_O``, a block for each head
    bias: Float32  # [d]; ``b_O``; it belongs to no token
    residual: Float32  # [n, d]; ``x``, what is added to the attention's output
    # gain, shift: [d]; ``gamma`` and ``beta`` of the norm; 1 and 0 where none follows the sum.
    gain: Float32
    shift: Float32
    # Added to the variance in LayerNorm (inside, to the mean square in RMSNorm); None where nothing is normalized.
    epsilon: float | None
    inner: bool = False  # the norm is an RMSNorm of attention alone

    def center(self, vectors: Float64) -> Float64:
        """``gain * (u - mean(u))`` of vectors [..., d]: the norm without its division by ``s``."""
        if self.epsilon is not None and not self.inner:
            vectors = vectors - vectors.mean(axis=-1, keepdims=True)
        return vectors * self.gain

    @cached_property
    def sums(self) -> Float64:
        """Input of the norm, float64 [n, d]."""
        context = self.weights @ self.values
        flat = context.transpose(1, 0, 2).reshape(self.weights.shape[1], -1).astype(np.float64)
        inner = flat @ self.projection.reshape(flat.shape[1], -1).astype(np.float64)
        return inner + self.bias if self.inner else inner + self.bias + self.residual

    @cached_property
    def spread(self) -> Float64:
        """``s``, the standard deviation (or root mean square) that the norm divides by, float64 [n]; 1 without one."""
        if self.epsilon is None:
            return np.ones(self.weights.shape[1])
        squares = (self.sums**2).mean(axis=-1) if self.inner else self.sums.var(axis=-1)
        return np.sqrt(squares + self.epsilon)

    @cached_property
    def kept(self) -> Float64:
        """The centered residual, float64 [n, d]; one that no norm divides, times ``s``."""
        residual = self.residual.astype(np.float64)
        return residual * self.spread[:, None] if self.inner else self.center(residual)

    @cached_property
    def whole(self) -> Float64:
        """The output times ``s``, without the shift, float64 [n, d]."""
        return self.center(self.sums) + self.kept if self.inner else self.center(self.sums)

    @cached_property
    def outputs(self) -> Float64:
        """``y``, float64 [n, d]."""
        return self.whole / self.spread[:, None] + self.shift

    @cached_property
    def carried(self) -> Float64:
        """The centered ``v_j^h W_O^h``, float64 [H, n, d]."""
        return self.values.astype(np.float64) @ self.center(self.projection.astype(np.float64))

    @cached_property
    def own(self) -> Float64:
        """The centered ``z_ii``, float64 [n, d]: what a position keeps of itself."""
        diagonal = np.einsum("hii->hi", self.weights).astype(np.float64)
        return np.einsum("hi,hid->id", diagonal, self.carried) + self.kept


@dataclass(frozen=True)
class OutputDecomposition:
    """A position's output ``y_i`` of an attention block as a sum over tokens.

    ``vectors.sum(axis=0) + bias + shift = output``.

    Attributes
    ----------
    layer, query : int
    vectors : float32 [n, d]
        ``g_i(z_ij)``: what token ``j`` gives.
    bias : float32 [d]
        ``g_i(b_O)``, of the output projection's bias.
    shift : float32 [d]
        ``beta`` of the norm.
    output : float32 [d]
        ``y_i``, by the model's own norm.
    """

    layer: int
    query: int
    vectors: Float32
    bias: Float32
    shift: Float32
    output: Float32

    @property
    def norms(self) -> Float32:
        """Lengths of `vectors`, float32 [n]: a row of ``mixing``."""
        return np.linalg.norm(self.vectors, axis=1)

    @property
    def gap(self) -> float:
        """Distance of the sum from the output, relative to the output's length."""
        total = self.vectors.sum(axis=0, dtype=np.float64) + self.bias + self.shift
        return float(np.linalg.norm(total - self.output) / np.linalg.norm(self.output))

    def __repr__(self) -> str:
        n = len(self.vectors)
        return f"OutputDecomposition(layer={self.layer}, query={self.query}, {n} tokens)"


def head_norms(weights: Float32, values: Float32, projection: Float32) -> Float32:
    """``||A^h_ij v_j^h W_O^h||`` of every head, float32 [H, n, n].

    ``weights``: float32 [H, n, n]. ``values``: float32 [H, n, head_dim]. ``projection``: float32 [H, head_dim, d].

    References
    ----------
    Kobayashi, Kuribayashi, Yokoi & Inui (2020), Attention is Not Only a Weight, EMNLP.

    Examples
    --------
    >>> import numpy as np
    >>> half, values = np.full((1, 2, 2), 0.5, np.float32), np.array([[[3], [4]]], np.float32)
    >>> head_norms(half, values, np.ones((1, 1, 1), np.float32))[0].tolist()
    [[1.5, 2.0], [1.5, 2.0]]
    """
    lengths = np.linalg.norm(values @ projection, axis=-1)
    return weights * lengths[:, None, :]


def layer_norms(weights: Float32, values: Float32, projection: Float32) -> Float32:
    """``||sum_h A^h_ij v_j^h W_O^h||``, float32 [n, n]: the norm of the heads' sum.

    Parameters and reference as in `head_norms`.
    """
    carried = values.astype(np.float64) @ projection.astype(np.float64)
    return summed_norms(weights, carried).astype(np.float32)


def summed_norms(weights: Float32, carried: Float64) -> Float64:
    """``||sum_h A^h_ij t_j^h||``, float64 [n, n], by the Gram matrix of the heads' vectors for each key.

    ``||sum_h a_h t_h||^2 = sum_hk a_h a_k <t_h, t_k>``, so no vector of a pair is ever formed.

    ``weights``: float32 [H, n, n]. ``carried``: float64 [H, n, d].
    """
    heads, n, n_keys = weights.shape
    norms = np.empty((n, n_keys))
    for keys in blocks(n_keys, 8 * heads * (2 * n + carried.shape[-1])):
        vectors = carried[:, keys].transpose(1, 0, 2)
        grams = vectors @ vectors.transpose(0, 2, 1)
        shares = weights[:, :, keys].transpose(2, 1, 0).astype(np.float64)
        squares = np.einsum("jih,jih->ij", shares @ grams, shares)
        norms[:, keys] = np.sqrt(np.maximum(squares, 0))
    return norms


def mixing(block: AttentionBlock) -> Float32:
    """``||g_i(z_ij)||``, float32 [n, n]: token ``j``'s part of the block's output at ``i``.

    ``z_ij = sum_h A^h_ij v_j^h W_O^h``, plus the residual where ``i = j``; ``g_i`` is the norm that
    follows, linear once its standard deviation is known.

    References
    ----------
    Kobayashi, Kuribayashi, Yokoi & Inui (2021), Incorporating Residual and Normalization Layers into
    Analysis of Masked Language Models, EMNLP.
    """
    norms = summed_norms(block.weights, block.carried)
    np.fill_diagonal(norms, np.linalg.norm(block.own, axis=-1))
    return (norms / block.spread[:, None]).astype(np.float32)


def mixing_ratio(block: AttentionBlock) -> Float32:
    """Share of each output that comes from other positions, float32 [n], 0 to 1.

    ``||sum_{j != i} g_i(z_ij)|| / (||sum_{j != i} g_i(z_ij)|| + ||g_i(z_ii)||)``. Reference as in `mixing`.
    """
    others = block.whole - block.center(block.bias.astype(np.float64)) - block.own
    context = np.linalg.norm(others, axis=-1)
    total = context + np.linalg.norm(block.own, axis=-1)
    return np.divide(context, total, out=np.zeros_like(total), where=total > 0).astype(np.float32)


def alti(block: AttentionBlock) -> Float32:
    """``max(0, ||y_i||_1 - ||y_i - g_i(z_ij)||_1)`` with rows divided by their sums, float32 [n, n].

    References
    ----------
    Ferrando, Gallego & Costa-jussa (2022), Measuring the Mixing of Contextual Information in the
    Transformer, EMNLP.
    """
    n = block.weights.shape[1]
    outputs = block.outputs.astype(np.float32)
    lengths = np.abs(block.outputs).sum(axis=-1)
    carried = block.carried.transpose(1, 0, 2).astype(np.float32)
    own = (block.own / block.spread[:, None]).astype(np.float32)
    shares = (block.weights / block.spread[None, :, None]).transpose(2, 1, 0)
    shares = np.ascontiguousarray(shares, dtype=np.float32)
    left = np.empty((n, n), dtype=np.float32)
    for rows in blocks(n, 4 * outputs.shape[-1], CACHED_BYTES):
        targets = outputs[rows]
        parts = np.empty(targets.shape, dtype=np.float32)
        for key in range(n):
            np.matmul(shares[key, rows], carried[key], out=parts)
            if rows.start <= key < rows.stop:
                parts[key - rows.start] = own[key]
            np.subtract(targets, parts, out=parts)
            np.abs(parts, out=parts)
            parts.sum(axis=-1, out=left[rows, key])
    nearer = np.maximum(lengths[:, None] - left, 0)
    given = (block.weights != 0).any(axis=0)
    np.fill_diagonal(given, True)
    return rows_normalized(np.where(given, nearer, 0))


def decompose(block: AttentionBlock, query: int) -> tuple[Float32, Float32]:
    """``g_i(z_ij)`` [n, d] and ``g_i(b_O)`` [d] of one query ``i``, float32."""
    shares = block.weights[:, query].astype(np.float64)
    vectors = np.einsum("hj,hjd->jd", shares, block.carried)
    vectors[query] = block.own[query]
    spread = block.spread[query]
    bias = block.center(block.bias.astype(np.float64)) / spread
    return (vectors / spread).astype(np.float32), bias.astype(np.float32)


def rows_normalized(matrix: Float32 | Float64) -> Float32:
    """Rows divided by their sums, float32; a row of zeros stays.

    >>> import numpy as np
    >>> rows_normalized(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    wide = np.asarray(matrix, dtype=np.float64)
    totals = wide.sum(axis=-1, keepdims=True)
    return np.divide(wide, totals, out=np.zeros_like(wide), where=totals > 0).astype(np.float32)


def mixing_rollout(matrices: Iterable[Float32], *, add_identity: bool) -> Iterator[Float32]:
    """Rollout of a mixing quantity after each layer: the product of its row-normalized matrices.

    ``matrices``, iterable of float32 [n, n]: first layer first. ``add_identity``: whether each matrix becomes
    ``0.5 M + 0.5 I`` first: for ``norms``, which leave the residual out. Returns float32 [n, n]: rows sum to 1.
    """
    steps = (rows_normalized(matrix) for matrix in matrices)
    if add_identity:
        yield from rollout(steps)
        return
    rolled: Float64 | None = None
    for step in steps:
        rolled = step.astype(np.float64) if rolled is None else step @ rolled
        yield rolled.astype(np.float32)


def blocks(n: int, bytes_each: int, together: int | None = None) -> Iterator[slice]:
    """Slices of ``n`` items, each as many as `together` bytes (`BLOCK_BYTES`) hold, at least one."""
    size = max(1, (BLOCK_BYTES if together is None else together) // max(1, bytes_each))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
